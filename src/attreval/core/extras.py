"""Packages that attreval does without until what they are for is asked: each comes with an
extra.
"""

from importlib import import_module
from typing import Any


def need(module: str, extra: str, why: str) -> Any:
    """A module, such as `captum.attr`, of a package that an extra of attreval brings.

    why: what is asked for, as the subject of "needs". ImportError, with the command that brings it,
    where it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{why} needs {package} ({error}): pip install 'attreval[{extra}]'", name=package
        ) from error
