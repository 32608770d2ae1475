"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from attreval.config.checks import explain_error
from attreval.config.files import path_of, profiles
from attreval.config.profile import Profile, Run, load
from attreval.config.sections import (
    BootstrapSpec,
    ExplainSpec,
    FaithfulnessSpec,
    Judge,
    ModelSpec,
    PointingSpec,
    Section,
    TaskSpec,
    TrainingSpec,
)

__all__ = [
    "BootstrapSpec",
    "ExplainSpec",
    "FaithfulnessSpec",
    "Judge",
    "ModelSpec",
    "PointingSpec",
    "Profile",
    "Run",
    "Section",
    "TaskSpec",
    "TrainingSpec",
    "explain_error",
    "load",
    "path_of",
    "profiles",
]
