"""The sections of a profile that say how explanations are judged, a block a paper."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from attreval.core.section import Count, Natural, Ratio, Section, Size
from attreval.methods import METHODS
from attreval.methods.method import SpanRule, UnitSettings
from compendium.config.sections import MethodNames

Technique = Literal["shapley", "attention", "gradients"]
AgentType = Literal["token", "pair", "span", "combined"]


class PointingSpec(Section):
    """The pointing game of Poerner et al. (2018).

    ties: by expectation, or to the first, as the original. affix: see metrics.pointing_game.
    """

    ties: Literal["expectation", "first"] = "expectation"
    affix: Literal["code", "paper", "both"] = "code"


class AgreementSpec(Section):
    """Agreement of methods (Kamp et al. 2023).

    agreement@k for k = 1..largest_k, and dynamic k beside fixed_k, the mean number of tokens that
    people mark.

    Of Kamp et al. (2023). peaks: the rule of dynamic k, see metrics.dynamic_k.PEAK_RULES. ties: by
    their `expectation`, or broken at `random` as the released code does. people: have a `top_k` of
    their own like any voter (the code), or vote by their `share` (the paper's words). improvement:
    what Table 1 adds up over a method's pairs: `positive` differences, or `signed` ones.
    length_tolerance: texts within so many tokens of a length are a group of Figure 6.
    tie_draws: random tie-breaks compared with the expectation. apd_itself: see metrics.agreement.
    runs: what tables of agreement are of: `all` runs, or of a model's several seeds only the one
        with the `lowest_apd`, with which the paper explains.
    """

    largest_k: Count = 10
    fixed_k: Count = 4
    peaks: Literal["released", "paper", "around", "plateau_ends"] = "released"
    ties: Literal["expectation", "random"] = "expectation"
    people: Literal["top_k", "share"] = "top_k"
    improvement: Literal["positive", "signed"] = "positive"
    length_tolerance: Natural = 0
    tie_draws: Count = 5
    apd_itself: bool = True
    runs: Literal["all", "lowest_apd"] = "all"

    @model_validator(mode="after")
    def fixed_k_is_measured(self) -> Self:
        if self.fixed_k > self.largest_k:
            raise ValueError(
                f"fixed_k is {self.fixed_k}, but k goes up to largest_k {self.largest_k} only; "
                "raise that"
            )
        return self


class SeedStudySpec(Section):
    """Models of one task that differ in their seeds alone, explained on the same instances.

    training, explain: what to change in the profile's for these models.
    """

    task: str
    model: str
    seeds: list[int] = Field(min_length=2)
    train_rows: Count
    dev_rows: Count
    test_rows: Count
    explain_rows: Count
    methods: MethodNames = Field(min_length=1)
    training: dict[str, Any] = {}
    explain: dict[str, Any] = {}

    @model_validator(mode="after")
    def distinct_seeds(self) -> Self:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"a seed is named twice: {self.seeds}")
        return self

    def check(self, models: Mapping, known: Mapping) -> None:
        """Raise ValueError where the study asks for a task or a model that there is not."""
        if self.task not in known or known[self.task].trained_on:
            own = ", ".join(name for name, task in known.items() if not task.trained_on)
            raise ValueError(
                f"seed_study: no models are trained on {self.task!r}; they are on: {own}"
            )
        if self.model not in models:
            raise ValueError(
                f"seed_study asks for model {self.model!r}; defined are: {', '.join(models)}"
            )


class FaithfulnessSpec(Section):
    """Hard erasure at these ratios, and soft erasure with `draws` random masks.

    methods: whose scores are erased softly.

    Of Zhao & Aletras (2023). norm: how scores become strengths of soft erasure, see
    metrics.soft_erasure. ties: whether a tie with the rival is a loss, half a win or a win. rival:
    `random` scores, or a method's own scores `permuted`.
    protocol: the paper's, or that of the released code, which sets all of these. On how many of a
    task's first instances is measured besides: released_rows: the released code, on all where it is
    null; driver_rows: what decides the level of hard measures, as far as that asks the model;
    scale_rows: whether the scale of scores decides, by rivals and masks of equal scale;
    control_rows: everything else that could be done otherwise (the released code, other norms, the
        paper's alternatives). noise_variances: of the multiplicative noise.
    """

    ratios: list[Ratio] = [0.01, 0.05, 0.1, 0.2, 0.5]
    methods: MethodNames = [
        "random",
        "attention",
        "scaled_attention",
        "gradient_x_input_absolute",
        "integrated_gradients_zero",
        "deeplift",
    ]
    draws: Count = 4
    norm: Literal["minmax", "sigmoid", "softmax", "rank", "calibrated"] = "minmax"
    ties: Literal["lose", "half", "win"] = "lose"
    rival: Literal["random", "permuted"] = "random"
    protocol: Literal["paper", "released"] = "paper"
    released_rows: Natural | None = None
    driver_rows: Natural = 0
    scale_rows: Natural = 0
    control_rows: Natural = 0
    noise_variances: list[Size] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0]

    @model_validator(mode="after")
    def compared_with_random_and_no_mixture(self) -> Self:
        if "random" not in self.methods:
            raise ValueError("methods need `random`: diagnosticity is a comparison with it")
        own = {"norm": "minmax", "ties": "lose", "rival": "random"}
        mixed = [name for name, default in own.items() if getattr(self, name) != default]
        if self.protocol == "released" and mixed:
            raise ValueError(
                f"protocol: released sets {mixed[0]} itself; leave it out, or take the paper's "
                "protocol"
            )
        return self


def check_tasks(section: str, named: Iterable[str], tasks: Collection[str]) -> None:
    """Raise ValueError where a section names a task that the profile has not."""
    for name in named:
        if name not in tasks:
            raise ValueError(
                f"{section}: no task {name!r} in this profile; there are: {', '.join(tasks)}"
            )


class AgentsSpec(Section):
    """Agents that learn to predict the model's predictions, with and without explanations.

    rows: test instances, cut by `split` into what agents train on, stop on and are tested on; 0 for
    no agents. tasks: that have agents, all where empty. training: what to change in the task's
    training. seeds: of agents; intervals are over texts and agents.
    """

    rows: Natural = 4000
    tasks: list[str] = []
    techniques: list[Technique] = ["shapley", "attention", "gradients"]
    types: list[AgentType] = ["token", "pair", "span", "combined"]
    forms: list[Literal["symbol", "text"]] = ["symbol", "text"]
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    training: dict[str, Any] = {}
    seeds: list[int] = [1]

    def rows_of(self, task: str) -> int:
        return self.rows if task in (self.tasks or [task]) else 0

    @model_validator(mode="after")
    def whole_split(self) -> Self:
        if abs(sum(self.split) - 1) > 1e-9 or min(self.split) <= 0:
            raise ValueError(f"split must be three shares above 0 that sum to 1; got {self.split}")
        return self


class OracleSpec(Section):
    """Short instances on which every coalition is asked, and compared with Bivariate Shapley.

    rows: how many. units: the most that one has. samples: budgets that are compared.
    """

    rows: Natural = 20
    units: int = Field(10, ge=2, le=16)
    samples: list[Count] = [64, 256]


class DiagnosisSpec(Section):
    """Token, pair and span explanations under four properties (Sun et al. 2024).

    rows: test instances explained by every technique; parts: into how many steps explaining is cut.
    units: how units, pairs and spans are made; here of words, where nothing else is said.
    thresholds: numbers of pairs of spans to look at, all from 1 to `most_pieces` where empty.
    random_draws: of the random baselines. random_sizes: how many units random explanations mask,
    the `mean` over techniques (the paper leaves it open), or besides, for every technique and k, as
    many as `each` does. match: when a piece is one that people gave, see
    metrics.unified.plausibility; annotators: see metrics.unified.plausibility; random_scores: see
    metrics.unified.complexity. span_rules: other ways to make spans, compared with Louvain's.
    """

    rows: Count = 400
    parts: Count = 1
    techniques: list[Technique] = ["shapley", "attention", "gradients"]
    units: UnitSettings = UnitSettings(unit="word")
    thresholds: list[Count] = []
    most_pieces: Count = 10
    random_draws: Count = 5
    random_sizes: Literal["mean", "each"] = "mean"
    match: Literal["overlap", "exact", "iou50", "token_pairs"] = "overlap"
    annotators: Literal["union", "majority", "each"] = "union"
    random_scores: Literal["uniform", "exponential"] = "uniform"
    span_rules: list[SpanRule] = [
        "louvain",
        "louvain_first_level",
        "greedy_modularity",
        "label_propagation",
    ]
    agents: AgentsSpec = AgentsSpec()
    oracle: OracleSpec = OracleSpec()

    @field_validator("units", mode="before")
    @classmethod
    def of_words(cls, given: object) -> object:
        return {"unit": "word"} | given if isinstance(given, dict) else given

    @model_validator(mode="after")
    def agents_are_explained(self) -> Self:
        if unknown := [name for name in self.agents.techniques if name not in self.techniques]:
            raise ValueError(
                f"agents ask for {unknown[0]!r}; explained by: {', '.join(self.techniques)}"
            )
        return self


class BudgetsSpec(Section):
    """How much must sampled methods spend?

    tasks: for each task the methods that are asked, of its first model. rows: instances. sizes:
    what a method may spend each time; sizes_of: otherwise for a task. seeds: of the draws.
    """

    tasks: dict[str, list[str]] = {}
    rows: Count = 5
    sizes: list[Annotated[int, Field(ge=2)]] = [32, 64, 128, 256, 512]
    sizes_of: dict[str, list[Annotated[int, Field(ge=2)]]] = {}
    seeds: int = Field(2, ge=2)


class LimitsSpec(Section):
    """What any order of tokens reaches when they are erased, see metrics.normalised_aopc.

    tasks: for each task on how many of its first test instances of at most `words` words, for all
    of its models. methods: that explain them, as far as they apply to a model.
    """

    tasks: dict[str, Count] = {}
    words: Count = 9
    methods: MethodNames = [
        "random",
        "gradient_l2",
        "gradient_x_input",
        "integrated_gradients",
        "occlusion_1",
        "omission_1",
        "attention",
        "scaled_attention",
    ]


class TwinsSpec(Section):
    """Models of a task that are trained alike but for `masked` and the seeds of their names.

    plain, masked: of each kind one or more; two of a kind tell masking from the seed. rows: test
    instances that all explain and are asked about; tested: on which their accuracy is taken.
    """

    plain: list[str] = Field(min_length=1)
    masked: list[str] = Field(min_length=1)
    rows: Count
    tested: Count = 200


class MaskedSpec(Section):
    """Erasure asked of models that have learned from masked texts.

    twins: by task. methods: that explain them.
    """

    twins: dict[str, TwinsSpec] = {}
    methods: MethodNames = LimitsSpec.model_fields["methods"].default


class JointSpec(Section):
    """Every method before every judge.

    tasks: for each task on how many of its first instances judges are asked; where it is empty,
    `rows` of every task that is explained. asked: instances of a task that may need new model
    calls, all where it is not named. path_baselines: on how many of a task's first instances
    integrated gradients start from every baseline, with its first model.
    """

    tasks: dict[str, Count] = {}
    rows: Count = 100
    asked: dict[str, Natural] = {}
    budgets: BudgetsSpec = BudgetsSpec()
    limits: LimitsSpec = LimitsSpec()
    masked: MaskedSpec = MaskedSpec()
    path_baselines: dict[str, Count] = {}

    def check(self, tasks: Collection[str]) -> None:
        """Raise ValueError where the study names a task or a method that there is not."""
        budgets = (*self.budgets.tasks, *self.budgets.sizes_of)
        named = (*self.limits.tasks, *self.masked.twins, *self.path_baselines)
        check_tasks("joint", (*self.tasks, *self.asked, *budgets, *named), tasks)
        for name in chain.from_iterable(self.budgets.tasks.values()):
            if name not in METHODS or not METHODS[name].limits:
                limited = ", ".join(m.name for m in METHODS.values() if m.limits)
                raise ValueError(
                    f"joint.budgets: {name!r} has no budget to vary; these have: {limited}"
                )

    def rows_of(self, task: str, explained: int) -> int:
        """How many of the explained instances of a task go before all judges; 0 for none."""
        return min(explained, self.tasks.get(task, 0) if self.tasks else self.rows)

    def asked_of(self, task: str, explained: int) -> int:
        """On how many of them the model is asked."""
        rows = self.rows_of(task, explained)
        return min(rows, self.asked.get(task, rows))


class MetaSpec(Section):
    """Judging the judges: texts of each world, and draws of the explainers that are random.

    worlds: their names; without them all that need no corpus, and with `corpora` all.
    """

    instances: int = Field(60, ge=4)
    draws: Count = 1
    worlds: tuple[str, ...] = ()
    corpora: bool = False
