"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from attreval.config.checks import explain_error
from attreval.config.files import path_of, profiles
from attreval.config.profile import Profile, Run, load
from attreval.config.sections import ExplainSpec, Judge

__all__ = ["ExplainSpec", "Judge", "Profile", "Run", "explain_error", "load", "path_of", "profiles"]
