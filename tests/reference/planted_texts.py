"""Classifiers of any architecture that one planted word of a text decides, trained on the spot, and
files of texts.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from attreval.models.scorer import pad_rows
from attreval.models.transformer import Transformer
from reference.architectures import tiny_network
from reference.models import instance

LABELS = ("dull", "fine")
SIGNS = ("bad", "good")
FILLERS = ("the", "film", "plot", "was", "is", "very", "slow", "a")
MOST_STEPS = 1000  # of training
FARTHEST = 0.1  # of a probability from the right one, for the rule to count as learned


def make_texts(number: int, seed: int = 0) -> list[tuple[list[str], int, int]]:
    """(words, label, place of the word that decides) of each text; labels in turn."""
    rng = np.random.default_rng(seed)
    out = []
    for at in range(number):
        words = rng.choice(FILLERS, size=rng.integers(5, 11)).tolist()
        place = int(rng.integers(len(words)))
        words[place] = SIGNS[at % 2]
        out.append((words, at % 2, place))
    return out


def train_planted(
    kind: str, folder: Path, pairs: bool = False, labels=LABELS, learned: bool = True
) -> Path:
    """A folder with a classifier of a kind that goes by the planted word and by nothing else.

    pairs: it reads two texts. learned: otherwise its weights are as they were drawn. RuntimeError
    where it did not learn the rule: see `teach`.
    """
    names = dict(enumerate(labels))
    network, tokenizer = tiny_network(
        kind, id2label=names, label2id={name: k for k, name in names.items()}
    )
    torch.manual_seed(0)
    for weight in network.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.1)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        network.config.pad_token_id = tokenizer.pad_token_id
    if learned:
        teach(Transformer(kind, network, tokenizer, tuple(labels), 64), pairs)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def teach(model: Transformer, pairs: bool) -> None:
    """Train until all probabilities on other texts are within FARTHEST of the rule; RuntimeError
    after MOST_STEPS.

    The rule: sure of the class where the planted word can be read, whatever else can, and undecided
    where it cannot. A network that learned from whole texts alone may say one class wherever it
    does not read the other's word; then the planted word is no evidence in half of the texts.
    """
    optimiser = torch.optim.AdamW(model.network.requires_grad_(True).parameters(), lr=3e-3)
    for step in range(MOST_STEPS):
        logits, wanted = ask_erased(model, make_texts(32, seed=1 + step), pairs, step)
        torch.nn.functional.cross_entropy(logits, wanted).backward()
        optimiser.step()
        optimiser.zero_grad()
        if step % 20 == 19:
            with torch.no_grad():
                logits, wanted = ask_erased(model, make_texts(400, seed=0), pairs, 0)
            farthest = (logits.softmax(dim=1) - wanted).abs().max()
            if farthest <= FARTHEST:
                return
    raise RuntimeError(
        f"after {MOST_STEPS} steps a probability is {farthest:.2f} off the rule of the planted word"
    )


def ask_erased(
    model: Transformer, texts, pairs: bool, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, 2) logits of texts in part erased to the padding or the mask token, and the probabilities
    that are right.

    The planted word is erased from half of them; of the other tokens none, all, or a share drawn at
    random.
    """
    rng = np.random.default_rng(seed)
    rows = []
    wanted = []
    for words, label, place in texts:
        tokens = model.tokens(instance(*[FILLERS[1]] * pairs, " ".join(words)))
        gone = rng.random(len(tokens)) < rng.choice([0, rng.random(), 1])
        read = rng.random() < 0.5
        gone[tokens.word == place + pairs] = not read
        to = rng.choice([tokens.pad_id, tokens.mask_id])
        rows.append((np.where(gone & ~tokens.special, to, tokens.ids), tokens.segments))
        wanted.append(np.eye(2)[label] if read else [0.5, 0.5])
    return model.logits(*pad_rows(rows, model.pad_id), whole=True), torch.tensor(
        np.array(wanted), dtype=torch.float32
    )


def write_texts(path: Path, number: int = 60) -> list[tuple[list[str], int, int]]:
    """Texts as csv with 0/1 marks, tsv with pairs, jsonl with character spans, or Parquet without
    marks, by ending.
    """
    texts = make_texts(number, seed=99)
    rows = []
    for words, label, place in texts:
        start = len(" ".join(words[:place])) + bool(place)
        marks = [int(at == place) for at in range(len(words))]
        spans = [[start, start + len(words[place])]]
        rows.append(
            {"review": " ".join(words), "stars": LABELS[label], "marks": marks, "spans": spans}
        )
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerow(["review", "stars", "why", "before"])
            writer.writerows(
                [row["review"], row["stars"], json.dumps(row["marks"]), FILLERS[1]] for row in rows
            )
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pd.DataFrame(rows)[["review", "stars"]].to_parquet(path)
    return texts


def write_given(path: Path, texts, pairs: bool = False) -> Path:
    """Attributions of the texts by the planted words, and by nonsense."""
    rng = np.random.default_rng(5)
    with path.open("w", encoding="utf-8") as lines:
        for words, _, place in texts:
            text = [FILLERS[1], " ".join(words)] if pairs else " ".join(words)
            tokens = [FILLERS[1], *words] if pairs else words
            planted = [0.0] * pairs + [
                float(at == place) + 0.01 * rng.random() for at in range(len(words))
            ]
            for method, scores in (
                ("planted words", planted),
                ("nonsense", rng.random(len(tokens)).tolist()),
            ):
                lines.write(
                    json.dumps({"text": text, "method": method, "tokens": tokens, "scores": scores})
                    + "\n"
                )
    return path
