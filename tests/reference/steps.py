"""A step that keeps what it is told, for tests of what notebooks note."""

from attreval import config


class Recorder:
    """What a study or a claim needs of a step: the smoke profile, and somewhere to put numbers."""

    def __init__(self):
        self.profile = config.load("smoke")
        self.numbers = {}

    def number(self, key, value, *_, **__):
        self.numbers[key] = value
