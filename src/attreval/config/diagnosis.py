"""What a profile may say about the diagnosis of Sun et al. (2024); unknown keys are errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Technique = Literal["shapley", "attention", "gradients"]
Count = Annotated[int, Field(ge=1)]
SpanRule = Literal["louvain", "louvain_first_level", "greedy_modularity", "label_propagation", "strongest_link"]


class Part(BaseModel):
    """A part of the section; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PiecesSpec(Part):
    """How units, pairs and spans are made and scored: see explain.method.Pieces, whose fields these are."""

    unit: Literal["word", "subword"] = "word"
    subword_pairs: Literal["mean", "max"] = "mean"
    shapley_samples: int = Field(4096, ge=2)
    head_rank: int = 0
    head_matrix: Literal["transposed", "code"] = "transposed"
    head_state: Literal["after", "before"] = "after"
    attention_rule: Literal["gauss", "riemann"] = "gauss"
    attention_steps: int = Field(8, ge=1)
    attention_steps_most: int = Field(32, ge=1)
    attention_tolerance: float = Field(0.01, gt=0)
    attention_clip: bool = True
    span_rule: SpanRule = "louvain"
    louvain_drop_last: bool = False


class AgentsSpec(Part):
    """Agents that learn to predict the model's predictions, with and without explanations.

    rows: test instances, cut by `split` into what agents train on, stop on and are tested on; 0 for no agents. pieces:
    how many pairs of spans are shown, and of the other types as many units as these hold. training: what to change in
    the task's training. seeds: of agents; their results are averaged.
    """

    rows: int = Field(4000, ge=0)
    techniques: list[Technique] = ["shapley", "attention", "gradients"]
    types: list[Literal["token", "pair", "span", "combined"]] = ["token", "pair", "span", "combined"]
    forms: list[Literal["symbol", "text"]] = ["symbol", "text"]
    pieces: Count = 3
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    training: dict[str, Any] = {}
    seeds: list[int] = [1]

    @model_validator(mode="after")
    def whole_split(self):
        if abs(sum(self.split) - 1) > 1e-9 or min(self.split) <= 0:
            raise ValueError(f"split must be three shares above 0 that sum to 1; got {self.split}")
        return self


class OracleSpec(Part):
    """Short instances on which every coalition is asked. rows: how many; units: of at most so many units.

    samples: budgets at which Bivariate Shapley is compared with the exact values.
    """

    rows: int = Field(20, ge=0)
    units: int = Field(10, ge=2, le=16)
    samples: list[Count] = [64, 256]


class DiagnosisSpec(Part):
    """Token, pair and span explanations under four properties (Sun et al. 2024).

    rows: test instances explained by every technique; parts: into how many steps explaining is cut. thresholds: numbers
    of pairs of spans to look at, all from 1 to `most_pieces` where empty. random_draws: of the random baselines.
    match: when a piece is one that people gave, see metrics.unified.plausibility; annotators: see metrics.unified.gold; random_scores: see
    metrics.unified.complexity. span_rules: other ways to make spans, compared with Louvain's.
    """

    rows: Count = 400
    parts: Count = 1
    techniques: list[Technique] = ["shapley", "attention", "gradients"]
    pieces: PiecesSpec = PiecesSpec()
    thresholds: list[Count] = []
    most_pieces: Count = 10
    random_draws: Count = 5
    match: Literal["overlap", "exact", "iou50", "token_pairs"] = "overlap"
    annotators: Literal["union", "majority", "each"] = "union"
    random_scores: Literal["uniform", "exponential"] = "uniform"
    span_rules: list[SpanRule] = ["louvain", "louvain_first_level", "greedy_modularity", "label_propagation"]
    agents: AgentsSpec = AgentsSpec()
    oracle: OracleSpec = OracleSpec()

    @model_validator(mode="after")
    def agents_are_explained(self):
        if unknown := [name for name in self.agents.techniques if name not in self.techniques]:
            raise ValueError(f"agents ask for {unknown[0]!r}; explained by: {', '.join(self.techniques)}")
        return self
