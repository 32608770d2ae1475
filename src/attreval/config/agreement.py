"""How a profile has agreement judged (Kamp et al. 2023), and what it trains to see how much seeds matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

STRICT = ConfigDict(extra="forbid", frozen=True)  # as config.Section, which imports this module


class AgreementSpec(BaseModel):
    """agreement@k for k = 1..largest_k, and dynamic k beside fixed_k, the mean number of tokens that people mark.

    peaks: the rule of dynamic k, see metrics.dynamic_k.PEAK_RULES. ties: by their `expectation`, or broken at `random` as
    the released code does. people: have a `top_k` of their own like any voter (the code), or vote by their `share`
    (the paper's words). improvement: what Table 1 adds up over a method's pairs: `positive` differences, `signed` ones,
    or their `mean`. lengths, length_tolerance: texts of so many tokens, give or take, are a group of Figure 6.
    tie_draws: random tie-breaks compared with the expectation. apd_itself: see metrics.pairwise_difference.
    """

    model_config = STRICT

    largest_k: int = Field(10, ge=1)
    fixed_k: int = Field(4, ge=1)
    peaks: Literal["released", "paper", "around", "plateau_ends"] = "released"
    ties: Literal["expectation", "random"] = "expectation"
    people: Literal["top_k", "share"] = "top_k"
    improvement: Literal["positive", "signed", "mean"] = "positive"
    lengths: list[int] = [10, 15, 20, 25, 30, 35, 40]
    length_tolerance: int = Field(0, ge=0)
    tie_draws: int = Field(5, ge=1)
    apd_itself: bool = True


class SeedStudySpec(BaseModel):
    """Models of one task that differ in nothing but their seeds, each explained on the same instances.

    training, explain: what to change in the profile's for these models.
    """

    model_config = STRICT

    task: str
    model: str
    seeds: list[int] = Field(min_length=2)
    train_rows: int = Field(ge=1)
    dev_rows: int = Field(ge=1)
    test_rows: int = Field(ge=1)
    explain_rows: int = Field(ge=1)
    methods: list[str] = Field(min_length=1)
    training: dict[str, Any] = {}
    explain: dict[str, Any] = {}

    @model_validator(mode="after")
    def distinct_seeds(self):
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"a seed is named twice: {self.seeds}")
        return self

    def check(self, models: Mapping, known: Mapping) -> None:
        """Raise ValueError where the study asks for a task or a model that there is not."""
        if self.task not in known or known[self.task].trained_on:
            own = ", ".join(name for name, task in known.items() if not task.trained_on)
            raise ValueError(f"seed_study: no models are trained on {self.task!r}; they are on: {own}")
        if self.model not in models:
            raise ValueError(f"seed_study asks for model {self.model!r}; defined are: {', '.join(models)}")
