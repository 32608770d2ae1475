"""Packages that attreval does without until what they are for is asked: each comes with an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str, extra: str, why: str) -> Any:
    """A module of a package that an extra brings.

    Args:
        module: As it is imported, such as `captum.attr`.
        extra: The extra of attreval that brings its package.
        why: What is asked for, as the subject of "needs".

    Raises:
        ImportError: It is not installed; the message has the command that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{why} needs {package} ({error}): pip install 'attreval[{extra}]'", name=package) from error
