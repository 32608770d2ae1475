"""An explanation method: a conversation with the model that ends in scores, and its facts.

Written in a file of this package, it is a member of METHODS (see `attreval.methods`), and so
`attreval.explain` and `attreval.evaluate`, lists and cards, the contracts, and profiles that name
it all know it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import Field

from attreval.core.records import Instance, Tokens
from attreval.core.section import Count, Natural, Ratio, Section, Size
from attreval.core.seeds import Rng
from attreval.models.outputs import ANY
from attreval.models.questions import Conversation

Converse = Callable[[Tokens, int, "Budget", Rng], Conversation]

SpanRule = Literal[
    "louvain", "louvain_first_level", "greedy_modularity", "label_propagation", "strongest_link"
]
PathBaseline = Literal["pad", "mask", "unknown", "zero", "mean"]
WindowRule = Literal["cut", "cut_right", "mean", "whole"]
NETWORKS = ("transformer", "recurrent", "quasi", "convolutional")
# a function from texts to probabilities can be asked for nothing else
FAMILIES = (*NETWORKS, "function")
ASKS_FOR = {  # by kind, what only a network has
    "gradient": "gradients",
    "attention": "attention weights",
    "propagation": "the layers that a class score is handed back through",
}
# by what they ask of the model, in the order in which tables name them
KINDS = ("gradient", "perturbation", "attention", "propagation", "baseline", "given")


class UnitSettings(Section):
    """How units, pairs and spans are made and scored (Sun et al. 2024).

    Attributes:
        unit: `word`, `subword`, or for long texts `sentence` or `paragraph`.
        subword_pairs: a pair of words scores the `mean` or the `max` of its pairs of subwords.
        shapley_samples: coalitions, at most.
        head_rank: 0 the most important head, -1 the least.
        head_matrix, head_state: see questions.HeadImportance.
        head_choice: the head that matters most for the explained class (`per_class`, the paper's),
            for all classes on average (`class_mean`), or for any class and text (`one_for_all`).
        attention_rule: nodes on the way of attention weights from 0, `gauss` or `riemann` (left
            sums).
        attention_steps: how many nodes; doubled up to `attention_steps_most` while a layer misses
            what it owes by more than `attention_tolerance`.
        attention_clip: whether what is negative is cut off.
        span_rule: see spans.RULES.
        louvain_drop_last: see spans.pair_graph.
    """

    unit: Literal["word", "subword", "sentence", "paragraph"] = "subword"
    subword_pairs: Literal["mean", "max"] = "mean"
    shapley_samples: int = Field(default=4096, ge=2)
    head_rank: int = 0
    head_matrix: Literal["transposed", "code"] = "transposed"
    head_state: Literal["after", "before"] = "after"
    head_choice: Literal["per_class", "class_mean", "one_for_all"] = "per_class"
    attention_rule: Literal["gauss", "riemann"] = "gauss"
    attention_steps: Count = 8
    attention_steps_most: Count = 32
    attention_tolerance: Size = 0.01
    attention_clip: bool = True
    span_rule: SpanRule = "louvain"
    louvain_drop_last: bool = False


class Budget(Section):
    """What methods may spend, and the choices that they leave open.

    Attributes:
        path_steps: nodes on a gradient path; doubled up to `path_steps_most` while the completeness
            gap exceeds `gap_tolerance` of the sum owed (or of one logit, where that is more).
        path_baseline: what content tokens are where a path of integrated gradients starts: the
            padding, mask or unknown token, zero vectors, or the mean of all word embeddings;
            `auto`: padding, or what questions.choose_start finds where padding cannot be; methods
                that name their baseline keep it.
        lime_samples: perturbed texts, the full one included.
        lime_reliability: at which `lime_gaussian_process` stops, which reads at most as many texts
            as LIME.
        shap_evaluations: texts that Partition SHAP may read, the whole and the masked one included.
        riemann_steps: points of the averaged gradients of Poerner et al. (2018).
        limsse_samples: substrings, at most.
        limsse_sampling, limsse_solver: see methods.limsse.
        limsse_draw: another number gives other substrings.
        decomposition_output_gate: see questions.CellParts.
        windows: of occlusion and omission at a text's borders. `cut`: as many windows hold a token
            there as elsewhere, those that reach over a border cut short; `cut_right`: at the right
            border alone, what lacks at the left one counts 0; `mean`: whole windows, of which a
            token's are averaged; `whole`: they alone, what lacks counts 0.
        units: what methods of units, pairs and spans go by.
    """

    path_steps: Count = 50
    path_steps_most: Count = 800
    gap_tolerance: Size = 0.02
    path_baseline: PathBaseline | Literal["auto"] = "auto"
    lime_samples: int = Field(default=5000, ge=2)
    lime_kernel_width: Size = 25.0
    lime_reliability: Ratio = 0.9
    shap_evaluations: int = Field(default=500, ge=4)
    riemann_steps: Count = 50
    limsse_samples: Count = 3000
    limsse_sampling: Literal["exhaustive", "random"] = "exhaustive"
    limsse_solver: Literal["descent", "exact"] = "descent"
    limsse_epochs: Count = 1000
    limsse_draw: Natural = 0
    decomposition_output_gate: bool = True
    windows: WindowRule = "cut"
    units: UnitSettings = UnitSettings()


@dataclass(frozen=True)
class Scores:
    """What a method returns.

    Attributes:
        values: One score per feature.
        features: Token positions of each feature; the content tokens in order where None.
        gap, reliability, special, note: See records.Attribution.
    """

    values: np.ndarray
    gap: float = np.nan
    features: tuple[tuple[int, ...], ...] | None = None
    reliability: float = np.nan
    special: float = np.nan
    note: str = ""


def on_content(tokens: Tokens, values: np.ndarray, **facts: Any) -> Scores:
    """Scores of the content tokens from values of all tokens, with the share of the special ones.

    Args:
        tokens: The text.
        values: (L,) one value per token.
        facts: Other fields of Scores.
    """
    return Scores(values[tokens.content], special=tokens.special_share(values), **facts)


def join_notes(*notes: str) -> str:
    """Notes on scores as one, without the empty ones."""
    return "; ".join(filter(None, notes))


class CostFunction(Protocol):
    """How many model evaluations a method asks for; the upper end where that is a range."""

    def __call__(self, length: int, content: int, budget: Budget, layers: int = 1) -> int:
        """The evaluations that one text takes.

        Args:
            length: L, the tokens that the model reads.
            content: n, the tokens that are scored.
            budget: What the method may spend.
            layers: Layers of the model.
        """


@dataclass(frozen=True)
class FixedCost:
    """The cost of a method that asks for the same number of evaluations of any text."""

    evaluations: int

    def __call__(self, length: int, content: int, budget: Budget, layers: int = 1) -> int:
        return self.evaluations


ASKS_NOTHING = FixedCost(0)


@dataclass(frozen=True)
class Method:
    """One way to explain a prediction, and all that is known of it.

    Attributes:
        name: In code, tables and texts.
        title: In figures and cards.
        converse: (tokens, target, budget, rng) -> generator that yields questions to the Scorer and
            returns Scores. The first line of its docstring says on cards what it computes.
        evaluations: How many model evaluations it asks for, in words, over L tokens and n content
            tokens.
        source: The paper and section it comes from.
        kind: One of KINDS.
        signed: Whether a score's sign tells evidence for from evidence against.
        level: What it scores: a `token` or unit, a `pair` or a `span` pair.
        families: Models it applies to; by default all that can answer questions of its kind.
        outputs: Of models, see models.outputs, that it explains.
        sampled: Whether it asks questions that may be answered in the faster precision.
        limits: Fields of Budget that bound how much it asks; empty where the text's length does.
        stochastic: Whether it draws random numbers.
        draws: Methods with the same `draws` get the same random numbers, and so ask the same
            questions.
        in_papers: Paper -> its row in the paper's list of methods, and its name there.
        given: (instance, tokens, target) -> Scores made elsewhere; the model is asked nothing.
        lacking: Why it does not apply to the other families; may be empty where they have no
            attention, or where there are none.
        requires: Packages without which it cannot run.
        extra: The extra of attreval that brings them.
        of: What its scores are differences of: a `logit` or a `probability`; empty where they are
            no differences of answers.
        order: Its place among all methods, which tables keep; those without one come last, by name.
        cost: `evaluations` as a function; see CostFunction.
    """

    name: str
    title: str
    converse: Converse
    evaluations: str
    source: str
    kind: str
    signed: bool = True
    level: str = "token"
    families: tuple[str, ...] = FAMILIES
    outputs: tuple[str, ...] = ANY
    sampled: bool = False
    limits: tuple[str, ...] = ()
    stochastic: bool = False
    draws: str = ""
    in_papers: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    given: Callable[[Instance, Tokens, int], Scores] | None = None
    lacking: str = ""
    requires: tuple[str, ...] = ()
    extra: str = ""
    of: str = ""
    order: int = 0
    cost: CostFunction = ASKS_NOTHING

    @property
    def install(self) -> str:
        """The command that installs what it requires."""
        return f"pip install 'attreval[{self.extra}]'"

    def missing(self) -> str:
        """Which required packages are missing, and how to install them; empty where none is."""
        gone = [name for name in self.requires if find_spec(name) is None]
        return f"needs {' and '.join(gone)}, not installed: {self.install}" if gone else ""

    def why_not(self, family: str) -> str:
        """Why it does not apply to a family of models; empty where it does."""
        if family in self.families:
            return ""
        if family not in NETWORKS:
            return f"they give probabilities of texts alone, and it asks for {ASKS_FOR[self.kind]}"
        return self.lacking or "they have no attention weights"

    def limited(self, budget: Budget, size: int) -> Budget:
        """A budget for `size` evaluations; a path gets a fixed number of nodes."""
        own = dict.fromkeys((name for name in self.limits if "." not in name), size)
        units = {name.removeprefix("units."): size for name in self.limits if "." in name}
        return budget.changed(units=budget.units.changed(**units), **own)


def method(
    title: str,
    *,
    source: str,
    kind: str,
    evaluations: str,
    cost: CostFunction | int | None = None,
    name: str = "",
    **facts: Any,
) -> Callable[[Converse], Method]:
    """A decorator that turns a conversation into a Method.

    Args:
        title: The method's title.
        source: The paper and section it comes from.
        kind: One of KINDS.
        evaluations: How many evaluations it asks for, in words.
        cost: The same as a function (see CostFunction) or a number; may be left out where
            `evaluations` is a number.
        name: Where it is not the function's.
        facts: Other fields of Method.

    Raises:
        ValueError: There is no cost, and `evaluations` is not a number.

    Example:
        >>> @method("Zero", source="ours", kind="baseline", evaluations="0")
        ... def zero(tokens, target, budget, rng):
        ...     return Scores(np.zeros(len(tokens.content)))
        ...     yield
        >>> zero.name, zero.cost(9, 7, Budget())
        ('zero', 0)
    """
    if cost is None and not evaluations.isdecimal():
        raise ValueError(
            f"{title!r} asks for {evaluations!r} evaluations, which is not a number; give cost=, "
            "a number or a function (length, content, budget, layers=1) -> evaluations"
        )
    known = cost if callable(cost) else FixedCost(int(evaluations if cost is None else cost))
    facts.setdefault("families", NETWORKS if kind in ASKS_FOR else FAMILIES)

    def make(converse: Converse) -> Method:
        named = name or converse.__name__
        return Method(named, title, converse, evaluations, source, kind, cost=known, **facts)

    return make
