"""The evaluation ledger: everything asks the model here, and nothing is computed twice.

For every type of question (models.questions) one loop drops what is known or asked twice, counts
the cost, sorts by length, fills batches by a token budget, runs them and remembers the answers.
Letters used for shapes: n rows, L tokens, K classes.
"""

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import torch

from attreval.core.records import Cost
from attreval.models.classifier import Classifier
from attreval.models.placing import evaluating
from attreval.models.questions import Computation, Conversation, Evaluate, Question, Row
from attreval.models.questions.question import Item, Pass, Passes
from attreval.models.threads import run_timed


def pad_rows(rows: Sequence[Row], pad_id: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(n, L) ids, mask and segments of rows of any lengths, padded at the end."""
    shape = (len(rows), max(len(ids) for ids, _ in rows))
    ids = np.full(shape, pad_id)
    mask = np.zeros(shape, np.int64)
    segments = np.zeros(shape, np.int64)
    for i, (row, sides) in enumerate(rows):
        ids[i, : len(row)] = row
        segments[i, : len(row)] = sides
        mask[i, : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(segments)


def cut_batches(
    lengths: Sequence[int], budget: int, batch: float = 24, step: float = 0
) -> list[range]:
    """Cut rows into the batches that cost least, padding included, by dynamic programming.

    A batch costs its padded tokens, as much as `batch` tokens more, and `step` more for each token
    of its longest row.

    Args:
        lengths: Of the rows, falling.
        budget: Padded tokens in a batch, at most; a batch of one row may have more.
        batch, step: See above.

    Returns:
        The rows of each batch.
    """
    sizes = np.maximum(1, np.asarray(lengths, dtype=np.int64))
    least = np.zeros(len(sizes) + 1)  # of the first j rows
    cut = [0]  # where the last batch of the first j rows starts
    for end, shortest in enumerate(sizes, start=1):
        most = max(1, budget // shortest)
        start = np.arange(max(0, end - most), end)
        rows = end - start
        costs = least[start] + batch + sizes[start] * (step + rows)
        costs[(sizes[start] * rows > budget) & (rows > 1)] = np.inf
        cut.append(int(start[costs.argmin()]))
        least[end] = costs.min()
    ends = [len(sizes)]
    while ends[-1]:
        ends.append(cut[ends[-1]])
    return list(itertools.starmap(range, itertools.pairwise(reversed(ends))))


# measured: on a processor small batches stay in its cache, on a GPU large ones fill it
_FAST_BUDGETS = {"cpu": 1024, "cuda": 65536}
# measured on a processor: a layer that walks through the text wants many rows for each of its steps
_STEPWISE_BUDGETS = {"cpu": 16384, "cuda": 262144}
_STEPWISE = ("recurrent", "quasi")
# measured on a processor, forward and backward alike: what a batch costs, as `cut_batches` counts;
# of transformers least squares over 16 shapes of batches of MiniLM
_COSTS = {
    "convolutional": {"batch": 128, "step": 0},
    **{family: {"batch": 0, "step": 6} for family in _STEPWISE},
}
_TRANSFORMER_COSTS = {"batch": 24, "step": 0}


class Scorer:
    """The ledger of one model.

    Args:
        model: The classifier.
        token_budget: Padded tokens in a batch; None takes what is fast on the model's device. It
            falls to half of a batch that a GPU's memory cannot hold.
        precision: For exact questions.
        sampled_precision: For questions marked `sampled`.
        notify: Called with the number of evaluations just made.
    """

    def __init__(
        self,
        model: Classifier,
        token_budget: int | None = None,
        precision: str = "float32",
        sampled_precision: str | None = None,
        notify: Callable[[int], None] | None = None,
    ):
        self.model = model
        self.notify = notify or (lambda evaluations: None)
        fast = _STEPWISE_BUDGETS if model.family in _STEPWISE else _FAST_BUDGETS
        device = torch.device(model.device).type
        self.token_budget = token_budget or fast.get(device, 1024)
        self.batch_costs = _COSTS.get(model.family, _TRANSFORMER_COSTS)
        if device != "cpu":  # the fewest batches, whatever is padded: a GPU is not full before
            self.batch_costs = {"batch": self.token_budget, "step": 0}
        self.precision = precision
        self.sampled_precision = sampled_precision or precision
        self.answers: dict[Hashable, Any] = {}
        self.costs: dict[str, Cost] = {}

    def forget(self) -> None:
        """Drop the remembered answers (not the counts), between instances that share no rows."""
        self.answers.clear()

    def book(self, account: str, cost: Cost) -> None:
        """Add a cost to an account."""
        self.costs[account] = self.costs.get(account, Cost()) + cost

    def logits(
        self, rows: Sequence[Row], precision: str | None = None, account: str = ""
    ) -> np.ndarray:
        """(n, K) float64 logits of rows, each distinct row computed once.

        Args:
            rows: Ids and segments of each.
            precision: Another than the ledger's.
            account: What the cost is booked on.
        """
        ids = [ids for ids, _ in rows]
        segments = [segments for _, segments in rows]
        (found,) = self.answer([Evaluate(ids, segments, precision=precision)], [account])
        return found

    def padded(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(n, L) ids, mask and segments of rows, where the model is."""
        return tuple(x.to(self.model.device) for x in pad_rows(rows, self.model.pad_id))

    def answer(
        self, questions: Sequence[Question | Computation], accounts: Sequence[str]
    ) -> list[Any]:
        """The answers to questions of one type, in shared batches.

        An item is booked as unique on who asks first. A network is in evaluation mode meanwhile,
        and no other thread asks it.

        Args:
            questions: All of one type.
            accounts: What each is booked on.
        """
        if questions and isinstance(questions[0], Computation):
            return questions[0].together(questions)
        network = getattr(self.model, "network", None)
        with nullcontext() if network is None else evaluating(network):
            return self._ask(cast(Sequence[Question], questions), accounts)

    def _ask(self, alike: Sequence[Question], accounts: Sequence[str]) -> list[Any]:
        """See `answer`."""
        fresh: dict[Hashable, Item] = {}
        asked = []
        for question, account in zip(alike, accounts, strict=True):
            try:
                items = question.items(self)
            except ValueError as error:  # of which text, by which method
                whose = f"{account.replace(chr(31), ', ')}: " if account else ""
                raise ValueError(f"{whose}{error}") from None
            new = {
                item.key: item
                for item in items
                if item.key not in self.answers and item.key not in fresh
            }
            evaluations = sum(len(item.groups) for item in items)
            cost = Cost(
                requested=evaluations,
                unique=sum(len(item.groups) for item in new.values()),
                requested_tokens=sum(len(item.groups) * len(item.row[0]) for item in items),
                unique_tokens=sum(len(item.groups) * len(item.row[0]) for item in new.values()),
                gradients=evaluations if question.takes_gradients else 0,
            )
            self.book(account, cost)
            if known := question.shortcut(self, items, new):
                self.answers.update(known)
                self.notify(len(known.keys() & new.keys()))
                new = {key: item for key, item in new.items() if key not in known}
            fresh |= new
            asked.append([item.key for item in items])
        if fresh:
            self._run(type(alike[0]), fresh.values())
        found = []
        for question, keys in zip(alike, asked, strict=True):
            answers = [self.answers[key] for key in keys]
            found.append(question.assemble(answers, self.model))
        return found

    def _run(self, kind: type[Question], items: Iterable[Item]) -> None:
        """Run the passes of items by group, the longest first, and remember complete answers."""
        missing = {item.key: len(item.groups) for item in items}
        points: dict[tuple, list[Pass]] = {}  # (group, point) -> passes
        for item in items:
            for number, group in enumerate(item.groups):
                points.setdefault((group, item.point(number)), []).append((item, number))
        # (group, passes of a point) -> passes of each point
        alike: dict[tuple, list[list[Pass]]] = {}
        for (group, _), passes in points.items():
            alike.setdefault((group, len(passes)), []).append(passes)
        firsts = list(dict.fromkeys(group[0] for group, _ in alike))
        for group, count in sorted(alike, key=lambda one: firsts.index(one[0][0])):
            rows = sorted(alike[group, count], key=_length, reverse=True)
            lengths = list(map(_length, rows))
            for batch in cut_batches(lengths, self.token_budget, **self.batch_costs):
                part = rows[batch.start : batch.stop]
                outputs = self._run_batch(kind, group, part)
                for (item, number), output in zip(itertools.chain(*part), outputs, strict=True):
                    item.add(number, output)
                    missing[item.key] -= 1
                    if not missing[item.key]:
                        self.answers[item.key] = item.answer()
                self.notify(len(outputs))

    def _run_batch(self, kind: type[Question], group: tuple, points: list[list[Pass]]) -> list[Any]:
        """Run passes of points, longest first; halve the batch where a GPU's memory runs out."""

        def run() -> list[Any]:
            return list(kind.run(self, group, list(itertools.chain(*points))))

        try:
            if not hasattr(self.model, "network"):  # a function may be slow, or paid for
                return run()
            tokens = len(points) * _length(points[0])
            return run_timed(self.model.device, kind, tokens, run)
        except torch.OutOfMemoryError:  # a small card, or one that others fill
            if len(points) == 1:
                raise
        middle = len(points) // 2
        self.token_budget = min(self.token_budget, _length(points[0]) * middle)
        first = self._run_batch(kind, group, points[:middle])
        return first + self._run_batch(kind, group, points[middle:])

    def converse(self, conversations: Iterable[tuple[str, Conversation]]) -> list[Any]:
        """Run conversations side by side, sharing batches and answers.

        Args:
            conversations: Pairs of the account to book on, and a generator that yields Questions or
                Computations and is sent their answers.

        Returns:
            What each conversation returns, in order.
        """
        pairs = list(conversations)
        results = [None] * len(pairs)
        waiting: dict[int, Question | Computation] = {}

        def step(i: int, answer: Any) -> None:
            try:
                waiting[i] = pairs[i][1].send(answer)
            except StopIteration as stop:
                results[i] = stop.value

        for i in range(len(pairs)):
            step(i, None)
        while waiting:
            asked = dict(waiting)
            waiting.clear()
            answered: dict[int, Any] = {}
            for kind in dict.fromkeys(map(type, asked.values())):
                part = [i for i, question in asked.items() if type(question) is kind]
                questions = [asked[i] for i in part]
                accounts = [pairs[i][0] for i in part]
                answered |= zip(part, self.answer(questions, accounts), strict=True)
            for i in asked:
                step(i, answered[i])
        return results


def _length(passes: Passes) -> int:
    """How many tokens the row of a point has, whose passes these are."""
    item, _ = passes[0]
    return len(item.row[0])
