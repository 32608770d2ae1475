"""What does the model say of a text whose vectors are partly switched off, or that it attends to only in part?

Soft erasure (Zhao & Aletras 2023, section 3.2 and appendix C): every token's vector is disturbed where it enters the
encoder, by a strength of its own. What is drawn depends on a row's seed and length alone, so company changes nothing.
Letters used for shapes: n disturbed texts, B rows, L tokens, D embedding width, K classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from torch import Tensor

from attreval.core.records import Cost
from attreval.models.questions import Disturb

MASKED = -10000.0  # what an attention mask of 0 adds to a score in the released code


def draw_factors(kind: str, strengths: np.ndarray, seed: int, width: int) -> np.ndarray:
    """(L, D) float32 factors of one text's vectors from (L,) strengths.

    keep: 1 with the strength as probability, else 0, entry by entry. noise: 1 + strength * N(0, 1), entry by entry.
    """
    rng, shape = np.random.default_rng(seed), (len(strengths), width)
    if kind == "keep":
        return (rng.random(shape, dtype=np.float32) < strengths[:, None]).astype(np.float32)
    return (1 + strengths[:, None] * rng.standard_normal(shape, dtype=np.float32)).astype(np.float32)


def disturbed(scorer, questions: Sequence[Disturb], accounts: Sequence[str]) -> list[np.ndarray]:
    """(n, K) logits for each question, each distinct disturbed text computed once; batches mix questions."""
    fresh: dict[Hashable, tuple] = {}
    keyed = []
    for question, account in zip(questions, accounts, strict=True):
        precision = scorer.sampled_precision if question.sampled else scorer.precision
        keys = [(precision, *key) for key in question.row_keys()]
        rows = zip(keys, question.strengths, question.seeds, strict=True)
        new = {key: (question, s, seed) for key, s, seed in rows if key not in scorer.answers and key not in fresh}
        length = len(question.ids)
        scorer.book(account, Cost(len(keys), len(new), len(keys) * length, len(new) * length))
        fresh |= new
        keyed.append(keys)
    for precision, kind in dict.fromkeys(key[:2] for key in fresh):
        order = sorted((k for k in fresh if k[:2] == (precision, kind)), key=lambda k: -len(fresh[k][0].ids))
        for batch in scorer.cut([len(fresh[k][0].ids) for k in order]):
            part = [order[i] for i in batch]
            with torch.inference_mode():
                logits = disturb_batch(scorer, [fresh[k] for k in part], kind, precision)
            scorer.answers.update(zip(part, logits.double().cpu().numpy(), strict=True))
            if scorer.notify:
                scorer.notify(len(part))
    return [np.stack([scorer.answers[key] for key in keys]) for keys in keyed]


def disturb_batch(scorer, rows: list[tuple], kind: str, precision: str) -> Tensor:
    """(B, K) logits of rows of (question, (L,) strengths, seed)."""
    model = scorer.model
    ids, mask, segments = scorer.padded([(q.ids, q.segments) for q, _, _ in rows])
    if kind == "attend":
        bias = torch.zeros(ids.shape, dtype=torch.float64)
        for b, (_, strengths, _) in enumerate(rows):
            bias[b, : len(strengths)] = torch.from_numpy(MASKED * (1 - strengths))
        return model.logits(ids, mask, segments, precision, bias=bias[:, None, None].to(model.device))
    width = model.width
    factors = torch.ones((*ids.shape, width), dtype=torch.float32)
    for b, (_, strengths, seed) in enumerate(rows):
        factors[b, : len(strengths)] = torch.from_numpy(draw_factors(kind, strengths, seed, width))
    factors = factors.to(model.device)
    return model.logits(ids, mask, segments, precision, entering=lambda x: x * factors.to(x.dtype))


@contextmanager
def changed_output(module: torch.nn.Module, change):
    """While it lasts, what a module gives is changed on its way out; the hook never stays behind."""
    handle = module.register_forward_hook(lambda _, given, out: change(out))
    try:
        yield
    finally:
        handle.remove()


def changed_entry(network, change):
    """While it lasts, the vectors that enter the encoder are changed. Where `change` is None nothing is.

    They are word, position and type embeddings together, normalised. ValueError where the architecture does not say
    which module gives them.
    """
    if change is None:
        return nullcontext()
    base = network.base_model
    entry = getattr(base, "embeddings", None) or getattr(getattr(base, "encoder", None), "layernorm_embedding", None)
    if entry is None:
        raise ValueError(f"{type(network).__name__} has no module `embeddings` whose output enters its encoder")
    return changed_output(entry, change)
