"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from attreval.config.judges import (
    AgentsSpec,
    AgreementSpec,
    BudgetsSpec,
    DiagnosisSpec,
    FaithfulnessSpec,
    JointSpec,
    MetaSpec,
    OracleSpec,
    PointingSpec,
    SeedStudySpec,
)
from attreval.config.profile import Profile, Run
from attreval.config.reading import load, path_of, profiles
from attreval.config.sections import (
    AlsoTrain,
    BootstrapSpec,
    ExplainSpec,
    Judge,
    ModelSpec,
    TaskSpec,
    TrainingSpec,
)

__all__ = [
    "AgentsSpec",
    "AgreementSpec",
    "AlsoTrain",
    "BootstrapSpec",
    "BudgetsSpec",
    "DiagnosisSpec",
    "ExplainSpec",
    "FaithfulnessSpec",
    "JointSpec",
    "Judge",
    "MetaSpec",
    "ModelSpec",
    "OracleSpec",
    "PointingSpec",
    "Profile",
    "Run",
    "SeedStudySpec",
    "TaskSpec",
    "TrainingSpec",
    "load",
    "path_of",
    "profiles",
]
