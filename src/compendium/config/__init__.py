"""Profiles: one validated schema for config/*.yaml; an unknown key or profile is an error that names the allowed."""

from compendium.config.judges import (
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
from compendium.config.profile import Profile, Run
from compendium.config.reading import load, path_of, profiles
from compendium.config.sections import (
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
