"""Our side of the benchmark: the tasks of every peer, asked of this package's ledger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from measuring import WARM_UP, Counted, Stopwatch, parser, read_texts

from attreval.core.records import Instance
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import Explained, explain_instances
from attreval.metrics.erasure import erase
from attreval.metrics.protocol import Protocol
from attreval.metrics.rank_correlation import tau_b
from attreval.models.questions import Evaluate
from attreval.models.scorer import Scorer
from compendium.corpora.table import words_of_segments

SIX = (
    "gradient_l1",
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_plain",
    "lime",
    "partition_shap",
)
# of the runs over many texts
SMALL = Budget(path_steps=4, path_steps_most=4, lime_samples=20, shap_evaluations=20)
TENTHS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))  # ferret's shares of a text
TOGETHER = 8  # texts that share batches, as `attreval run` explains them


class Ledger(Scorer):
    """The ledger, which also adds up what was computed in all."""

    def __init__(self, model):
        super().__init__(model)
        self.counted = Counted()

    def book(self, account, cost):
        """Add a cost to an account, and to the sum of all."""
        super().book(account, cost)
        self.counted.rows += cost.unique
        self.counted.tokens += cost.unique_tokens
        self.counted.gradient_tokens += cost.unique_tokens if cost.gradients else 0


def instances(texts: Sequence[tuple[str, str]]) -> list[Instance]:
    """Texts and pairs as the package reads them."""
    parts = [tuple(part for part in text if part) for text in texts]
    return [
        Instance(str(at), segments, 0, words_of_segments(segments))
        for at, segments in enumerate(parts)
    ]


def budget(evaluations: int) -> Budget:
    """So many evaluations for every method that samples."""
    units = UnitSettings(shapley_samples=evaluations)
    return Budget(lime_samples=evaluations, shap_evaluations=evaluations, units=units)


def judge_by_erasure(tokens, target: int, scores: Sequence[np.ndarray]):
    """Comprehensiveness, sufficiency and tau against leaving one token out, of several scores of
    one text.
    """
    content = tokens.content
    kept = [np.delete(np.arange(len(tokens)), at) for at in content]
    rows = [tokens.ids[None], np.stack([tokens.ids[row] for row in kept])]
    sides = [tokens.segments[None], np.stack([tokens.segments[row] for row in kept])]
    full = (yield Evaluate(rows[0], sides[0], of="probability"))[0, target]
    without = (yield Evaluate(rows[1], sides[1], of="probability"))[:, target]
    found = []
    for values in scores:
        erased = yield from erase(tokens, values, TENTHS)
        found.append(
            (
                erased.comprehensiveness.mean(),
                erased.sufficiency.mean(),
                float(tau_b(full - without, values)),
            )
        )
    return found


def insert_and_delete(tokens, scores: np.ndarray):
    """The curves of ten steps that take the highest tokens first, put back or masked."""
    found = yield from erase(tokens, scores, TENTHS, protocol=Protocol(erased="mask"))
    return found.comprehensiveness, found.sufficiency


def erased(one: Explained):
    """`judge_by_erasure` of a text by all methods that explained it."""
    return judge_by_erasure(
        one.tokens, one.predicted, [a.scores for a in one.attributions.values()]
    )


def curves(one: Explained):
    """`insert_and_delete` of a text by its gradient."""
    return insert_and_delete(one.tokens, one.attributions["gradient_l1"].scores)


def measure(
    ledger: Ledger, watch: Stopwatch, texts: list[tuple[str, str]], evaluations: int, growth=()
) -> None:
    """Take every measurement that is wanted. texts: of which the first are taken for the tasks, all
    for growth.
    """
    counted = texts[: watch.asked.count]
    taken = instances(counted)
    short = instances([WARM_UP])

    def ask(methods, of, by=Budget()):  # noqa: B008 - frozen
        ledger.forget()
        return explain_instances(ledger, of, methods, by, group=TOGETHER)

    def take(what, run, of=taken):
        if watch.wants(what):
            run(short)
            watch.take_once(what, "default", len(of), lambda: run(of))

    def judged(explained, talk):
        ledger.forget()
        ledger.converse(("", talk(one)) for one in explained)

    for method in SIX:
        take(method, lambda of, method=method: ask([method], of))
    take("six", lambda of: ask(SIX, of))
    if watch.wants("faithfulness"):
        judged(ask(SIX, short, SMALL), erased)
        explained = ask(SIX, taken, SMALL)  # what is judged need not be dear
        watch.take_once("faithfulness", "default", len(taken), lambda: judged(explained, erased))
    sampled = budget(evaluations)
    for method in ("lime", "kernel_shap"):
        take(f"{method}_{evaluations}", lambda of, method=method: ask([method], of, sampled))
    take("occlusion", lambda of: ask(["occlusion_1"], of))
    take("saliency", lambda of: ask(["gradient_x_input"], of))
    if watch.wants("insertion_deletion"):
        judged(ask(["gradient_l1"], short), curves)
        explained = ask(["gradient_l1"], taken)
        watch.take_once(
            "insertion_deletion", "default", len(taken), lambda: judged(explained, curves)
        )
    for number in growth:
        many = instances(texts[:number])
        take(f"growth_{number}", lambda of: ask(SIX, of, SMALL), many)


def main() -> None:
    """Read the arguments, measure, print lines."""
    import torch

    from attreval.models.loading import load_classifier

    asked = parser("Our side of the benchmark.").parse_args()
    torch.set_num_threads(asked.threads)
    ledger = Ledger(load_classifier(asked.model, device=asked.device))
    texts = read_texts(asked.texts, max([asked.count, *asked.growth]))
    measure(ledger, Stopwatch("ours", asked, ledger.counted), texts, asked.budget, asked.growth)


if __name__ == "__main__":
    main()
