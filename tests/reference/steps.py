"""A stand-in of a step, for tests of what studies make of a profile."""

from attreval import config


class Recorder:
    """What a study or a claim needs of a step: the smoke profile."""

    def __init__(self):
        self.profile = config.load("smoke")
