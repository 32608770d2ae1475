"""Partition SHAP (Lundberg & Lee 2017): what tokens add when phrases are taken apart step by step.

Owen values down a tree of the text's phrases, by shap's own explainer, with the tree and settings
that Kamp et al. (2023) had from ferret 0.4.1. Tokens outside a coalition become the mask token;
special tokens stay.

shap calls the model itself, so it runs in a thread that waits while it asks. Only one of the two
ever runs: the conversation waits for the library's next question, the library for its answer. So
what the library draws from NumPy's global generator can be its own, whoever else is talking to the
ledger.
Letters used for shapes: L tokens, n content tokens, K classes, c coalitions.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import ceil
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import Conversation, Evaluate, Question

Work = Callable[[Callable[[Question], Any]], Any]
_AT_ONCE = 5  # coalitions asked for before the tree is looked at again, as in shap's text masker
_SEPARATOR = "[SEP]"
_LETTER = re.compile("[A-Za-z]")
# of a tokenizer, for a word's start or continuation
_MARK = re.compile("^(##|\u0120|\u2581)(?=.)", re.DOTALL)


class _Abandoned(BaseException):
    """Raised inside the library's call when the conversation has ended without it."""


def converse_by_calls(work: Work, rng: Rng) -> Conversation:
    """The conversation of a call that puts its questions by calling `ask`.

    An exception in `work` is raised here, and one that ends the conversation ends the thread too.

    Args:
        work: The call, `work(ask)`.
        rng: Seeds what `work` draws from NumPy's global generator; nobody else's draws move.

    Returns:
        What `work` returns.
    """
    requests: SimpleQueue = SimpleQueue()
    replies: SimpleQueue = SimpleQueue()
    thread = Thread(target=_run_library, args=(work, requests, replies), daemon=True)
    own = np.random.RandomState(rng.integers(2**32)).get_state()
    try:
        with _global_draws(own) as after:
            thread.start()
            kind, value = requests.get()
        while kind == "asks":
            answer = yield value
            with _global_draws(after[0]) as after:
                replies.put(answer)
                kind, value = requests.get()
    finally:
        if thread.is_alive():
            replies.put(_Abandoned())
            thread.join()
    if kind == "raises":
        raise value
    return value


def _run_library(work: Work, requests: SimpleQueue, replies: SimpleQueue) -> None:
    """The library's side: do the work, and report what it asks, returns or raises."""

    def ask(question: Question) -> Any:
        requests.put(("asks", question))
        answer = replies.get()
        if isinstance(answer, _Abandoned):
            raise answer
        return answer

    try:
        requests.put(("returns", work(ask)))
    except _Abandoned:
        pass
    except BaseException as error:
        requests.put(("raises", error))


@contextmanager
def _global_draws(state: Any) -> Iterator[list[Any]]:
    """Let NumPy's global generator go on from `state`; gives a list that takes its last state."""
    after: list[Any] = []
    outside = np.random.get_state()  # noqa: NPY002 - that is where libraries draw
    np.random.set_state(state)  # noqa: NPY002 - that is where libraries draw
    try:
        yield after
    finally:
        after.append(np.random.get_state())  # noqa: NPY002
        np.random.set_state(outside)  # noqa: NPY002 - that is where libraries draw


@dataclass(frozen=True)
class _Masker:
    """A shap masker that hands the coalitions themselves, (c, n) bool, to the model function."""

    shape: tuple[int, int]
    clustering: np.ndarray
    immutable_outputs: bool = True

    def __call__(self, mask: np.ndarray, *_: Any) -> tuple[np.ndarray]:
        return (mask[None],)


@method(
    "Partition SHAP",
    source="Lundberg & Lee 2017; Kamp et al. 2023",
    kind="perturbation",
    of="probability",
    evaluations="about min(2/3 n^2 + 4/3, shap_evaluations)",
    cost=lambda length, content, budget, layers=1: min(
        ceil(2 / 3 * content**2 + 4 / 3), budget.shap_evaluations
    ),
    order=11,
    sampled=True,
    limits=("shap_evaluations",),
    stochastic=True,
    in_papers={"kamp2023": (1, "PartitionSHAP")},
    requires=("shap",),
    extra="shap",
)
def partition_shap(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) Owen values of the class probability; the gap is their sum less p(text) - p(all masked).

    A phrase that the evaluations do not suffice to take apart gives each of its tokens the same
    share.
    """
    content = tokens.content

    def ask_for(coalitions: np.ndarray, ask: Callable[[Question], Any]) -> np.ndarray:
        """(c, K) probabilities of the texts that keep only these tokens."""
        ids = np.repeat(tokens.ids[None], len(coalitions), axis=0)
        ids[:, content] = np.where(coalitions, tokens.ids[content], tokens.mask_id)
        return ask(Evaluate(ids, tokens.segments, sampled=True, of="probability"))

    def work(ask: Callable[[Question], Any]) -> tuple[np.ndarray, float]:
        nothing = np.zeros(len(content), bool)
        ends = ask_for(np.stack([nothing, ~nothing]), ask)

        def probabilities(coalitions: np.ndarray) -> np.ndarray:
            if len(coalitions) == 1 and len(set(coalitions[0])) == 1:
                return ends[int(coalitions[0, 0])][None]
            return ask_for(coalitions, ask)

        owed = ends[1] - ends[0]
        values = owed[None]
        if len(content) > 1:
            values = owen_values(probabilities, tokens, budget.shap_evaluations)
        scores = values[:, target]
        return scores, scores.sum() - owed[target]

    values, gap = yield from converse_by_calls(work, rng)
    return Scores(values, gap=float(gap))


def owen_values(
    probabilities: Callable[[np.ndarray], np.ndarray], tokens: Tokens, evaluations: int
) -> np.ndarray:
    """Owen values of a function of coalitions, by shap's explainer down the phrases.

    Args:
        probabilities: From (c, n) bool coalitions to (c, K) probabilities.
        tokens: The text.
        evaluations: Coalitions, at most.

    Returns:
        (n, K) values.
    """
    shap = load_shap()
    n = len(tokens.content)
    explainer = shap.PartitionExplainer(probabilities, _Masker((1, n), phrase_tree(tokens)))
    settings = {
        "main_effects": False,
        "error_bounds": False,
        "outputs": None,
        "silent": True,
        "batch_size": _AT_ONCE,
    }
    return explainer.explain_row(np.zeros(n), max_evals=evaluations, **settings)["values"]


@cache
def load_shap() -> Any:
    """The shap package as plain Python: compiling its loops takes seconds, running them little."""
    import numba

    config: Any = numba.config
    compiled = config.DISABLE_JIT
    config.DISABLE_JIT = 1
    try:
        with warnings.catch_warnings():
            # of matplotlib, about its colours
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            import shap.explainers
            import shap.maskers._text
    finally:
        config.DISABLE_JIT = compiled
    return shap


def phrase_tree(tokens: Tokens) -> np.ndarray:
    """(n - 1, 4) hierarchical clustering of the content tokens: two parts, height, size.

    Tokens come first, then clusters. shap merges neighbouring groups by punctuation, connectives
    and size, the two texts of a pair last. Special tokens guide that and are then taken out: they
    are never masked, so they would only spend evaluations.
    """
    texts, places = name_leaves(tokens)
    whole = load_shap().maskers._text.partition_tree(texts, [_SEPARATOR])
    n = sum(place is not None for place in places)
    cluster: list[int | None] = list(places)  # of each node of shap's tree, the node of ours
    sizes = [1] * n
    rows = []
    for merged in whole[:, :2].astype(int):
        parts = [part for part in (cluster[node] for node in merged) if part is not None]
        if len(parts) < 2:
            cluster.append(parts[0] if parts else None)
            continue
        size = sum(sizes[part] for part in parts)
        cluster.append(len(sizes))
        sizes.append(size)
        rows.append((*parts, size / n, size))
    return np.array(rows, dtype=float)


def name_leaves(tokens: Tokens) -> tuple[list[str], list[int | None]]:
    """What shap's rules read: a string per leaf, and its content token, None for special tokens.

    A piece that continues a word begins with ##, whatever the tokenizer's own mark; special tokens
    at either end are empty, one between two texts is a separator, and one is put there where the
    model has none.
    """
    texts: list[str] = []
    places: list[int | None] = []
    number = 0
    last = tokens.content[-1]
    for t in range(len(tokens)):
        if tokens.special[t]:
            texts.append(_SEPARATOR if places and 0 < t < last and number else "")
            places.append(None)
            continue
        before = t - 1 if t and not tokens.special[t - 1] else None
        if before is not None and tokens.offsets[before, 0] != tokens.offsets[t, 0]:
            texts.append(_SEPARATOR)
            places.append(None)
            before = None
        piece = _MARK.sub("", tokens.texts[t])
        if (
            before is not None
            and tokens.offsets[before, 2] == tokens.offsets[t, 1]
            and _LETTER.match(piece)
        ):
            last_letter = _MARK.sub("", tokens.texts[before])[-1:]
            if re.fullmatch(r"\w", last_letter):
                piece = f"##{piece}"
        texts.append(piece)
        places.append(number)
        number += 1
    return texts, places
