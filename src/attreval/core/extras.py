"""Packages that attreval needs only for single features; most come with an extra."""

from importlib import import_module
from typing import Any


def need(module: str, extra: str, why: str) -> Any:
    """A module of a package that an extra of attreval brings.

    Args:
        module: Such as `captum.attr`.
        extra: The extra; empty where none brings it.
        why: What is asked for, as the subject of "needs".

    Raises:
        ImportError: It is not installed; says the command that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        brought = f"'attreval[{extra}]'" if extra else package
        raise ImportError(
            f"{why} needs {package} ({error}): pip install {brought}", name=package
        ) from error
