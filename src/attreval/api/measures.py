"""MEASURES: which of METRICS can be asked of explanations at hand, and how they are asked of one text.

Metrics judge the scores of tokens; those of pairs and spans are shared out over their tokens. Wins against random
scores count a tie as half, so that chance is one half. Letters used for shapes: n content tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from attreval.api.explanation import RANDOM
from attreval.core.alignment import to_words
from attreval.core.records import Instance, Tokens
from attreval.core.runs import true_runs
from attreval.core.seeds import generator
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.diagnosticity import diagnosticity
from attreval.metrics.dynamic_k import local_maxima, select
from attreval.metrics.erasure import erase, rank_tokens
from attreval.metrics.human_agreement import relevance, token_marks
from attreval.metrics.normalised_aopc import find_limits
from attreval.metrics.phrases import find_phrases, phrase_f1
from attreval.metrics.pointing_game import point
from attreval.metrics.protocol import Protocol
from attreval.metrics.rank_correlation import tau_b
from attreval.metrics.registry import FAITHFULNESS, METRICS
from attreval.metrics.soft_erasure import soft_erase, soft_values
from attreval.metrics.unified.complexity import entropy, simplicity

SOFT_DRAWS = 4
TIES_HALF = Protocol(ties="half")
SOFT = {  # metrics of soft erasure -> the rule by which scores become strengths
    "soft_nc": "minmax",
    "soft_ns": "minmax",
    "soft_nc_equal": "calibrated",
    "soft_ns_equal": "calibrated",
}
HARD = {
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "nc": "normalised_comprehensiveness",
    "ns": "normalised_sufficiency",
}
# metrics that find what a text allows -> the measure that they place there; hundreds of rows of a text, so only by name
LIMITED = {f"naopc_{measure}": measure for measure in ("comprehensiveness", "sufficiency")}
WINS = {f"win_{name}": (name,) for name in FAITHFULNESS} | {"diagnosticity": FAITHFULNESS}
ALIASES = {
    "normalised_comprehensiveness": "nc",
    "normalised_sufficiency": "ns",
    "soft_comprehensiveness": "soft_nc",
    "soft_sufficiency": "soft_ns",
    "soft_comprehensiveness_equal": "soft_nc_equal",
    "soft_sufficiency_equal": "soft_ns_equal",
    "entropy": "complexity",
    "rank_correlation": "score_tau_b",
    "plausibility": "people",
    "human_agreement": "people",
}
WHAT_IT_IS = {  # needs of METRICS that explanations at hand do not meet, in words
    "rivals": "scores of another method beside it and the random ones",
    "marks": "marks of people: give marks=, of each text the words or characters that are evidence",
    "relations": "relations that people gave between parts of a pair, which only a corpus has",
    "agent": "agents that are trained on explanations: see `attreval run`",
    "models": "the same explanations of models trained with other seeds",
    "metrics": "values of several metrics, not explanations",
    "truth": "models whose truth is planted",
}


@dataclass(frozen=True)
class Heard:
    """One text as metrics hear it.

    scores: method -> (n,), `random` among them. target: the class explained, None for a contrast. names: what random
    draws derive from. k: tokens that a method selects where their number is fixed.
    """

    instance: Instance
    tokens: Tokens
    scores: Mapping[str, np.ndarray]
    target: int | None
    names: tuple
    k: int

    @property
    def rivals(self) -> dict[str, list[str]]:
        """Method -> the methods that it is compared with: all others but random scores."""
        return {m: [other for other in self.scores if other not in (m, RANDOM)] for m in self.scores}


def of_rivals(text: Heard, compare: Callable[[str, str], float]) -> dict[str, float]:
    """Method -> the mean of a comparison with every rival; NaN where none says a number."""
    return {m: _mean(compare(m, other) for other in others) for m, others in text.rivals.items()}


def _mean(values: Iterable[float]) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _peaks(scores: np.ndarray) -> np.ndarray:
    """(n,) bool, the tokens that a dynamic k selects."""
    return select(local_maxima(scores), len(scores))


def _agreement(text: Heard) -> dict[str, float]:
    return of_rivals(text, lambda a, b: agreement_at_k([text.scores[a], text.scores[b]], text.k))


def _agreement_dynamic(text: Heard) -> dict[str, float]:
    chosen = {m: _peaks(scores) for m, scores in text.scores.items()}
    return of_rivals(text, lambda a, b: agreement_of([chosen[a], chosen[b]]))


def _score_tau_b(text: Heard) -> dict[str, float]:
    return of_rivals(text, lambda a, b: float(tau_b(text.scores[a], text.scores[b])))


def _each(function: Callable[[np.ndarray], float]) -> Callable[[Heard], dict[str, float]]:
    """A metric that hears one method's scores alone."""
    return lambda text: {m: float(function(scores)) for m, scores in text.scores.items()}


def _with_people(function: Callable[[Heard, np.ndarray, np.ndarray], float]) -> Callable[[Heard], dict[str, float]]:
    """A metric that hears one method's scores and (n,) shares of people; nothing is said where nobody marked a word."""

    def ask(text: Heard) -> dict[str, float]:
        marked = len(text.instance.evidence.marks) and relevance(token_marks(text.instance, text.tokens))
        if not np.any(marked):
            return {}
        return {m: float(function(text, scores, marked)) for m, scores in text.scores.items()}

    return ask


def _point(text: Heard, scores: np.ndarray, share: np.ndarray) -> float:
    """Whether the highest word that was read is one that somebody marked."""
    full = np.zeros(len(text.tokens))
    full[text.tokens.content] = scores
    read = np.unique(text.tokens.word[text.tokens.word >= 0])
    evidence = (text.instance.evidence.marks > 0).any(axis=0)
    return point(to_words(full, text.tokens, text.instance)[read], evidence[read])


def _phrase_f1(text: Heard, scores: np.ndarray, share: np.ndarray) -> float:
    """Phrases of a profile against runs of tokens that at least half of the people mark."""
    return phrase_f1(find_phrases(scores), list(true_runs(share >= 0.5)))


PURE: dict[str, Callable[[Heard], dict[str, float]]] = {
    "agreement": _agreement,
    "agreement_dynamic": _agreement_dynamic,
    "score_tau_b": _score_tau_b,
    "simplicity": _each(simplicity),
    "complexity": _each(entropy),
    "dynamic_k": _each(lambda scores: len(local_maxima(scores))),
    "people": _with_people(lambda text, scores, share: agreement_at_k([scores, share], text.k)),
    "people_dynamic": _with_people(lambda text, scores, share: agreement_of([_peaks(scores), _peaks(share)])),
    "pointing": _with_people(_point),
    "phrase_f1": _with_people(_phrase_f1),
}
MEASURES: tuple[str, ...] = tuple(name for name in METRICS if name in {*PURE, *HARD, *LIMITED, *SOFT, *WINS})


def find_metrics(names: str | Sequence[str] | None, methods: Sequence[str], marked: bool, contrast: bool) -> list[str]:
    """The metrics that are meant, each once; all that can be asked, but LIMITED, where none is named.

    methods: that are judged, without random scores. marked: whether marks are given. contrast: two classes are told
    apart. Raises ValueError for an unknown metric, with the nearest, and for one that needs what is not there.
    """
    if names is None:
        usual = [name for name in MEASURES if name not in LIMITED]
        return [name for name in usual if not _lacks(name, methods, marked, contrast)]
    found = []
    for name in [names] if isinstance(names, str) else names:
        plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
        plain = plain if plain in METRICS else ALIASES.get(plain, plain)
        if plain not in METRICS:
            near = get_close_matches(plain, [*METRICS, *ALIASES], n=2)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(f"unknown metric {name!r}{hint or ';'} `attreval list metrics` lists all")
        if lacking := _lacks(plain, methods, marked, contrast):
            raise ValueError(f"the metric {name!r} needs {lacking}")
        found.append(plain)
    if not found:
        raise ValueError(f"no metric is named; there are: {', '.join(MEASURES)}")
    return list(dict.fromkeys(found))


def _lacks(name: str, methods: Sequence[str], marked: bool, contrast: bool) -> str:
    """What a metric needs and does not have, in words; empty where it has all."""
    there = {"scores", "model", *(["marks"] if marked else []), *(["rivals"] if len(methods) > 1 else [])}
    if lacking := [need for need in METRICS[name].needs if need not in there]:
        return WHAT_IT_IS[lacking[0]]
    if name not in MEASURES:
        return (
            f"what explanations of tokens do not tell ({METRICS[name].about}); of their kind there are: "
            + ", ".join(MEASURES)
        )
    if contrast and name not in PURE:
        return "explanations of one class; these tell two classes apart, and erasure follows one class's probability"
    return ""


def ask_model(text: Heard, wanted: Sequence[str]) -> Iterator:
    """The conversation with the model about one text: returns method -> metric -> value, and the class predicted.

    wanted: metrics of HARD, LIMITED, SOFT and WINS. An explanation of another class than the predicted one gets NaN.
    """
    needed = {part for name in wanted for part in WINS.get(name, (name,))}
    found: dict[str, dict[str, float]] = {}
    predicted = None
    for method, scores in text.scores.items():
        names = (*text.names, method)
        hard = yield from erase(text.tokens, scores, None, generator("ties", *names))
        predicted = hard.target
        values = {name: float(getattr(hard, stored).mean()) for name, stored in HARD.items()}
        for norm in dict.fromkeys(rule for name, rule in SOFT.items() if name in needed):
            protocol = Protocol(norm=norm, draws=SOFT_DRAWS)
            soft = soft_values(hard, (yield from soft_erase(text.tokens, scores, hard.target, names, protocol)))
            end = "_equal" if norm == "calibrated" else ""
            values |= {f"soft_nc{end}": soft.comprehensiveness, f"soft_ns{end}": soft.sufficiency}
        found[method] = values
    if set(LIMITED) & set(wanted):
        ranked = [rank_tokens(scores, generator("ties", *text.names, m)) for m, scores in text.scores.items()]
        limits = yield from find_limits(text.tokens, orders=ranked)
        for values in found.values():
            values |= {name: limits.place(measure, values[measure]) for name, measure in LIMITED.items()}
    for method, values in found.items():
        for name, parts in WINS.items():
            if name in wanted:
                own, rival = ([found[m][part] for part in parts] for m in (method, RANDOM))
                values[name] = diagnosticity(own, rival, TIES_HALF)
    if text.target != predicted:
        found = {m: dict.fromkeys(values, float("nan")) for m, values in found.items()}
    return {m: {name: values[name] for name in wanted} for m, values in found.items()}, predicted
