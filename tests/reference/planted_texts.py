"""Classifiers of any architecture that one planted word of a text decides, trained on the spot, and files of texts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from reference.architectures import tiny_network

LABELS = ("dull", "fine")
SIGNS = ("bad", "good")
FILLERS = ("the", "film", "plot", "was", "is", "very", "slow", "a")


def make_texts(number: int, seed: int = 0) -> list[tuple[list[str], int, int]]:
    """(words, label, place of the word that decides) of each text; labels in turn."""
    rng, out = np.random.default_rng(seed), []
    for at in range(number):
        words = rng.choice(FILLERS, size=rng.integers(5, 11)).tolist()
        place = int(rng.integers(len(words)))
        words[place] = SIGNS[at % 2]
        out.append((words, at % 2, place))
    return out


def train_planted(kind: str, folder: Path, pairs: bool = False, steps: int = 120, labels=LABELS) -> Path:
    """A folder with a classifier of a kind that goes by the planted word. pairs: it reads two texts."""
    names = dict(enumerate(labels))
    network, tokenizer = tiny_network(kind, id2label=names, label2id={name: k for k, name in names.items()})
    torch.manual_seed(0)
    for weight in network.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.1)
    network.train().requires_grad_(True)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        network.config.pad_token_id = tokenizer.pad_token_id
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for step in range(steps):
        part = make_texts(32, seed=1 + step)
        texts = [" ".join(words) for words, _, _ in part]
        given = ([FILLERS[1]] * len(texts), texts) if pairs else (texts,)
        read = tokenizer(*given, padding=True, return_tensors="pt")
        logits = network(input_ids=read["input_ids"], attention_mask=read["attention_mask"]).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([label for _, label, _ in part])).backward()
        optimiser.step()
        optimiser.zero_grad()
    network.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_texts(path: Path, number: int = 60) -> list[tuple[list[str], int, int]]:
    """Texts as csv with 0/1 marks, tsv with pairs, jsonl with character spans, or Parquet without marks, by ending."""
    texts = make_texts(number, seed=99)
    rows = []
    for words, label, place in texts:
        start = len(" ".join(words[:place])) + bool(place)
        marks = [int(at == place) for at in range(len(words))]
        spans = [[start, start + len(words[place])]]
        rows.append({"review": " ".join(words), "stars": LABELS[label], "marks": marks, "spans": spans})
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerow(["review", "stars", "why", "before"])
            writer.writerows([row["review"], row["stars"], json.dumps(row["marks"]), FILLERS[1]] for row in rows)
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
            planted = [0.0] * pairs + [float(at == place) + 0.01 * rng.random() for at in range(len(words))]
            for method, scores in (("planted words", planted), ("nonsense", rng.random(len(tokens)).tolist())):
                lines.write(json.dumps({"text": text, "method": method, "tokens": tokens, "scores": scores}) + "\n")
    return path
