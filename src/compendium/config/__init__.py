"""Profiles: one validated schema for config/*.yaml; an unknown key is an error."""

# ruff: noqa: F401  (what others import from here)
from compendium.config.judges import (
    AgentsSpec,
    AgreementSpec,
    DiagnosisSpec,
    FaithfulnessSpec,
    PointingSpec,
)
from compendium.config.own import make_known
from compendium.config.profile import Profile, Run
from compendium.config.reading import load_profile, path_of, profiles
from compendium.config.sections import (
    AlsoTrain,
    BootstrapSpec,
    ExplainSpec,
    Judge,
    ModelSpec,
    TaskSpec,
    TrainingSpec,
)
