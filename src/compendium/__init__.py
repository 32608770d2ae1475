"""The study: corpora, papers, workflow and site on top of the library; it lives in a checkout."""

from importlib.util import find_spec


def add_commands() -> None:
    """Add the study's commands to `attreval`, where the extra `compendium` is installed."""
    if find_spec("snakemake"):
        from compendium import cli  # noqa: F401 (its commands join the app)
