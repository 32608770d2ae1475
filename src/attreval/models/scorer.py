"""The evaluation ledger: everything that asks the model a question asks it here, and nothing is computed twice.

A question is a block of rows of token ids (`Evaluate`), a path of word embeddings (`PathGradient`), what each token
left in a gated model's cells (`Decompose`), attention weights (`AttentionPath`), what heads matter (`HeadScores`), or a
text disturbed (`Disturb`). The ledger drops duplicates, sorts by length, fills batches by a token budget, runs them,
remembers the answers and counts the cost.
Letters used for shapes: n rows, L tokens, D embedding width, K classes, m path nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from attreval.core.records import Cost
from attreval.models.questions import (
    AttentionPath,
    Conversation,
    Decompose,
    Disturb,
    Evaluate,
    HeadScores,
    PathAnswer,
    PathGradient,
    Question,
    Row,
    Windows,
)
from attreval.models.questions.attention import attentions
from attreval.models.questions.head_importance import head_scores
from attreval.models.questions.soft_erasure import disturbed


def pad_rows(rows: Sequence[Row], pad_id: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(n, L) ids, mask and segments of rows of any lengths, padded at the end."""
    shape = (len(rows), max(len(ids) for ids, _ in rows))
    ids, mask, segments = np.full(shape, pad_id), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for i, (row, sides) in enumerate(rows):
        ids[i, : len(row)], segments[i, : len(row)], mask[i, : len(row)] = row, sides, 1
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(segments)


def cut_batches(lengths: Sequence[int], budget: int) -> list[range]:
    """Cut rows sorted by falling length into batches of at most `budget` padded tokens, at least a row each."""
    out, start = [], 0
    while start < len(lengths):
        count = max(1, budget // max(1, lengths[start]))
        out.append(range(start, min(start + count, len(lengths))))
        start = out[-1].stop
    return out


# measured: on a processor small batches stay in its cache, on a GPU large ones fill it
FAST_BUDGETS = {"cpu": 1024, "cuda": 65536}
# measured on a processor: a layer that walks through the text wants many rows for each of its steps
STEPWISE_BUDGETS = {"cpu": 16384, "cuda": 262144}


class Scorer:
    """The ledger of one model.

    token_budget: padded tokens in a batch; None takes what is fast on the model's device.
    precision: for exact questions. sampled_precision: for questions marked `sampled`. notify: called with the number
    of evaluations just made.
    """

    def __init__(
        self,
        model,
        token_budget: int | None = None,
        precision: str = "float32",
        sampled_precision: str | None = None,
        notify: Callable[[int], None] | None = None,
    ):
        self.model, self.notify = model, notify
        fast = STEPWISE_BUDGETS if getattr(model, "family", None) in ("recurrent", "quasi") else FAST_BUDGETS
        self.token_budget = token_budget or fast.get(torch.device(model.device).type, 1024)
        self.precision, self.sampled_precision = precision, sampled_precision or precision
        self.answers: dict[Hashable, Any] = {}
        self.costs: dict[str, Cost] = {}

    def forget(self) -> None:
        """Drop the remembered answers (not the counts): call it between instances that share no rows."""
        self.answers.clear()

    def book(self, account: str, cost: Cost) -> None:
        """Add a cost to an account."""
        self.costs[account] = self.costs.get(account, Cost()) + cost

    def logits(self, rows: Sequence[Row], precision: str | None = None, account: str = "") -> np.ndarray:
        """(n, K) float64 logits of rows of ids and segments, each distinct row computed once."""
        return self.evaluate([rows], [precision or self.precision], [account])[0]

    def evaluate(
        self,
        blocks: Sequence[Sequence[Row]],
        precisions: Sequence[str],
        accounts: Sequence[str],
        hints: Sequence[Windows | None] = (),
    ) -> list[np.ndarray]:
        """Logits of several blocks of rows in shared batches; a distinct row is booked as unique on who asks first.

        hints: for each block, what is known about its rows.
        """
        fresh: dict[Hashable, Row] = {}
        keyed = []
        for rows, precision, account, hint in zip(
            blocks, precisions, accounts, hints or [None] * len(blocks), strict=True
        ):
            keys = [(precision, ids.tobytes(), segments.tobytes()) for ids, segments in rows]
            new = {k: row for k, row in zip(keys, rows, strict=True) if k not in self.answers and k not in fresh}
            asked, computed = sum(len(ids) for ids, _ in rows), sum(len(ids) for ids, _ in new.values())
            self.book(account, Cost(len(rows), len(new), asked, computed))
            fresh |= self.erase(hint, keys, new, precision)
            keyed.append(keys)
        for precision in dict.fromkeys(precisions):
            order = sorted((k for k in fresh if k[0] == precision), key=lambda k: -len(fresh[k][0]))
            for batch in cut_batches([len(fresh[k][0]) for k in order], self.token_budget):
                part = [order[i] for i in batch]
                ids, mask, segments = self.padded([fresh[k] for k in part])
                with torch.inference_mode():
                    out = self.model.logits(ids, mask, segments, precision)
                self.answers.update(zip(part, out.double().cpu().numpy(), strict=True))
                if self.notify:
                    self.notify(len(part))
        width = len(self.model.labels)
        return [np.stack([self.answers[k] for k in keys]) if keys else np.zeros((0, width)) for keys in keyed]

    def blocks(self, questions: Sequence[Evaluate], accounts: Sequence[str]) -> list[np.ndarray]:
        """(n, K) logits for each question."""
        precisions = [self.sampled_precision if q.sampled else self.precision for q in questions]
        return self.evaluate([q.rows() for q in questions], precisions, accounts, [q.windows for q in questions])

    def erase(self, hint: Windows | None, keys: list, new: dict, precision: str) -> dict:
        """Answer what a hint and the model make cheap among the new rows; give the others back."""
        windows = max(1, len(hint.ids) - hint.size + 1) if hint else 0
        erased = [key for key in keys[-windows:] if key in new] if windows else []
        if len(erased) < getattr(self.model, "reuse_from", np.inf):
            return new
        ids = torch.from_numpy(hint.ids).to(self.model.device)
        with torch.inference_mode():
            logits = self.model.erased(ids, hint.size, hint.blank, precision).double().cpu().numpy()
        self.answers.update(zip(keys[-windows:], logits, strict=True))
        if self.notify:
            self.notify(len(erased))
        return {key: row for key, row in new.items() if key not in self.answers}

    def cut(self, lengths: Sequence[int]) -> list[range]:
        """Batches of rows of these lengths, sorted by falling length."""
        return cut_batches(lengths, self.token_budget)

    def padded(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(n, L) ids, mask and segments of rows, where the model is."""
        return tuple(x.to(self.model.device) for x in pad_rows(rows, self.model.pad_id))

    def paths(self, questions: Sequence[PathGradient], accounts: Sequence[str]) -> list[PathAnswer]:
        """Answers to path questions, each distinct one computed once; batches mix instances by token budget."""
        fresh: dict[Hashable, PathGradient] = {}
        for question, account in zip(questions, accounts, strict=True):
            key, m = question.key(), len(question.nodes)
            tokens = m * len(question.ids)
            known = key in self.answers or key in fresh
            self.book(account, Cost(m, 0 if known else m, tokens, 0 if known else tokens, gradients=m))
            if not known:
                fresh[key] = question
        with torch.no_grad():
            ends = {key: self.ends(q) for key, q in fresh.items()}
        sums = {key: np.zeros(end.shape) for key, (end, _) in ends.items()}
        values = {key: np.zeros(len(q.nodes)) for key, q in fresh.items()}
        for kind in dict.fromkeys((q.rule, q.where) for q in fresh.values()):
            rows = [(key, i) for key, q in fresh.items() if (q.rule, q.where) == kind for i in range(len(q.nodes))]
            rows.sort(key=lambda r: -len(fresh[r[0]].ids))
            for batch in cut_batches([len(fresh[key].ids) for key, _ in rows], self.token_budget):
                part = [rows[i] for i in batch]
                found = zip(part, *self.path_gradients(part, fresh, ends), strict=True)
                for (key, node), gradient, value in found:
                    sums[key] += fresh[key].weights[node] * gradient
                    values[key][node] = value
                if self.notify:
                    self.notify(len(part))
        for key, (end, start) in ends.items():
            self.answers[key] = PathAnswer(sums[key], (end - start).double().cpu().numpy(), values[key])
        return [self.answers[q.key()] for q in questions]

    def ends(self, question: PathGradient) -> tuple[torch.Tensor, torch.Tensor]:
        """(L, D) word embeddings at the end of the path and at its start."""
        end, base = self.embeddings(question.ids), question.baseline
        if base is None:
            return end, torch.zeros_like(end)
        kept = torch.from_numpy(base >= 0).to(end.device)[:, None]
        return end, self.embeddings(np.maximum(base, 0)) * kept

    def embeddings(self, ids: np.ndarray) -> torch.Tensor:
        """(L, D) word embeddings of (L,) ids."""
        return self.model.embed(torch.from_numpy(ids)[None].to(self.model.device), self.precision)[0]

    def path_gradients(self, part, questions, ends) -> tuple[list[np.ndarray], list[float]]:
        """One (L, D) gradient, or relevance by a rule, and one value for each (key, node) of one batch.

        The questions of a batch have the same `rule` and `where`.
        """
        asked = [questions[key] for key, _ in part]
        rule, where = asked[0].rule, asked[0].where
        width, first = max(len(q.ids) for q in asked), ends[part[0][0]][0]
        points = torch.zeros((len(part), width, first.shape[1]), dtype=first.dtype, device=first.device)
        nodes = torch.tensor([q.nodes[i] for q, (_, i) in zip(asked, part, strict=True)], dtype=first.dtype)
        nodes = nodes.to(first.device)[:, None, None]
        for b, (key, _) in enumerate(part):
            end, start = ends[key]
            points[b, : len(end)] = end if where == "entry" else start + nodes[b, 0] * (end - start)
        points.requires_grad_(True)
        _, mask, segments = self.padded([(q.ids, q.segments) for q in asked])
        targets = torch.tensor([q.target for q in asked], device=first.device)
        if rule and self.model.family == "transformer":
            gradient = self.model.relevance(points, mask, segments, targets, rule, where)
            value = torch.full((len(part),), torch.nan)
        else:
            more = {"rule": rule} if rule else {}
            if where != "words":
                more["entering"] = (lambda x: points) if where == "bare" else (lambda x: nodes * x)
            with torch.enable_grad():
                out = self.model.logits(None, mask, segments, self.precision, embeddings=points, **more)
                probable = torch.softmax(out, dim=-1)
                wanted = torch.tensor([q.of == "probability" for q in asked], device=first.device)[:, None]
                value = torch.where(wanted, probable, out).gather(1, targets[:, None])[:, 0]
                (gradient,) = torch.autograd.grad(value.sum(), points)
        gradient, value = gradient.detach().double().cpu().numpy(), value.detach().double().cpu().numpy()
        return [gradient[b, : len(q.ids)] for b, q in enumerate(asked)], list(value)

    def decompositions(self, questions: Sequence[Decompose], accounts: Sequence[str]) -> list[np.ndarray]:
        """(L, K) parts of the class scores, for each question; each distinct one computed once."""
        fresh: dict[Hashable, Decompose] = {}
        for question, account in zip(questions, accounts, strict=True):
            key = question.key()
            known = key in self.answers or key in fresh
            self.book(account, Cost(1, 1 - known, len(question.ids), 0 if known else len(question.ids)))
            fresh |= {} if known else {key: question}
        for gate in (True, False):
            order = sorted((k for k, q in fresh.items() if q.output_gate == gate), key=lambda k: -len(fresh[k].ids))
            for batch in cut_batches([len(fresh[k].ids) for k in order], self.token_budget):
                part = [order[i] for i in batch]
                ids, mask, _ = self.padded([(fresh[k].ids, fresh[k].segments) for k in part])
                with torch.inference_mode():
                    out = self.model.decompose(ids, mask, self.precision, gate).double().cpu().numpy()
                self.answers.update((k, parts[: len(fresh[k].ids)]) for k, parts in zip(part, out, strict=True))
        return [self.answers[q.key()] for q in questions]

    def converse(self, conversations: Iterable[tuple[str, Conversation]]) -> list[Any]:
        """Run conversations side by side, sharing batches and answers; return what each returns, in order.

        A conversation is a generator that yields a Question and is sent its answer. The str is the account to book on.
        """
        talks = list(conversations)
        results: list[Any] = [None] * len(talks)
        waiting: dict[int, Question] = {}

        def step(i: int, answer) -> None:
            try:
                waiting[i] = talks[i][1].send(answer)
            except StopIteration as stop:
                results[i] = stop.value

        for i in range(len(talks)):
            step(i, None)
        while waiting:
            asked, waiting = waiting, {}
            answered = []
            for kind, answer in (
                (Evaluate, self.blocks),
                (PathGradient, self.paths),
                (Decompose, self.decompositions),
                (AttentionPath, partial(attentions, self)),
                (HeadScores, partial(head_scores, self)),
                (Disturb, partial(disturbed, self)),
            ):
                part = [i for i, question in asked.items() if isinstance(question, kind)]
                found = answer([asked[i] for i in part], [talks[i][0] for i in part])
                answered += zip(part, found, strict=True)
            for i, answer in sorted(answered, key=lambda x: x[0]):
                step(i, answer)
        return results
