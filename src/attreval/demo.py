"""`attreval demo`: a network learns planted evidence, methods explain it, metrics are held to it.

Texts are made of words that mean nothing for the class and of two to four that speak for or against
it, strongly or weakly, so what every word is worth is known. Which of two explanations of a text is
truer is then known as well, and with it whether a metric, which knows nothing of the truth, tells
them apart.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import combinations
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import torch
from rich.console import Console
from rich.table import Table

from attreval.api.evaluating import evaluate
from attreval.api.explaining import explain
from attreval.api.explanations import Explanations
from attreval.api.loading import wrap
from attreval.api.show.html import REPORT_STYLE, fragment, whole_page, wide_table
from attreval.api.show.terminal import print_explained, takes_colours
from attreval.core.bootstrap import bootstrap_mean, mean_of_known
from attreval.core.seeds import generator, seed_of
from attreval.methods import METHODS as KNOWN
from attreval.metrics import METRICS
from attreval.models.classifier import Classifier
from attreval.trial.measure import closeness
from attreval.trial.trained import new_bert

LABELS = ("bad", "good")
# for good
WORTHS = {
    "superb": 2,
    "moving": 2,
    "clever": 1,
    "fresh": 1,
    "stale": -1,
    "loud": -1,
    "dull": -2,
    "clumsy": -2,
}
_FILLERS = """
the a film plot story scene actor camera music city night with and of
in after before one two who finds her his old friend house road again
"""
FILLERS = tuple(_FILLERS.split())
STEPS = 200  # of training
BATCH = 32  # texts a step
TESTED = 200  # texts that accuracy is told by
METHODS = (
    "integrated_gradients",
    "lrp",
    "lime",
    "attention_rollout",
    "occlusion_1",
    "gradient_x_input",
)
CHOSEN = (
    "comprehensiveness",
    "sufficiency",
    "soft_nc",
    "soft_ns",
    "diagnosticity",
    "agreement_dynamic",
    "simplicity",
)
TRUTH = "planted truth"
PREFERS = "prefers the truer"
# texts in a terminal, on a page
SHOWN = 3
PAGE = 20
PICTURE = 100  # columns: a text on one line
READINGS = (
    "First row: how often an explanation orders two words of a text as the planted truth does. "
    "Below: what metrics say that know nothing of it; {} is the best method.",
    "Of two methods' explanations of a text, how often a metric prefers the truer one, with a 95 "
    "% interval over texts; tossing a coin gives .50.",
)


@dataclass(frozen=True)
class PlantedText:
    """A text, its label, and (n,) what each of its words counts for that label."""

    text: str
    label: int
    truth: np.ndarray


def plant_texts(count: int, *names: object) -> list[PlantedText]:
    """Texts of either class in turn; what is drawn derives from the names."""
    out = []
    for at in range(count):
        rng = generator("demo", *names, at)
        label = at % 2
        words = rng.choice(FILLERS, size=rng.integers(9, 15)).tolist()
        truth = np.zeros(0)
        while truth.sum() < 1:  # until they speak for the label
            truth = np.zeros(len(words))
            chosen = rng.choice(list(WORTHS), size=rng.integers(2, 5))
            places = rng.choice(len(words), size=len(chosen), replace=False)
            truth[places] = [WORTHS[word] * (1 if label else -1) for word in chosen]
        for place, word in zip(places, chosen, strict=True):
            words[place] = str(word)
        out.append(PlantedText(" ".join(words), label, truth))
    return out


def train_demo_network(say: Callable[[str], None] = print) -> Classifier:
    """A BERT of two layers, trained on planted texts; lines for `say` tell how good it is."""
    tested = plant_texts(TESTED, "test")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of so small a network they only wait for each other
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("demo", "weights"))
        network, tokenizer = new_bert([*FILLERS, *WORTHS], LABELS, 64)
        optimiser = torch.optim.AdamW(network.train().parameters(), lr=1e-3)
        for step in range(STEPS + 1):
            if step % (STEPS // 5) == 0:
                with torch.no_grad():
                    given = network.eval()(**_read(tokenizer, tested)).logits.argmax(dim=1).numpy()
                right = f"{np.mean(given == [one.label for one in tested]):4.0%}"
                say(f"  after {step * BATCH:5,} texts it is right on {right} of {TESTED} others")
                network.train()
            part = plant_texts(BATCH, "train", step)
            logits = network(**_read(tokenizer, part)).logits
            labels = torch.tensor([one.label for one in part])
            torch.nn.functional.cross_entropy(logits, labels).backward()
            optimiser.step()
            optimiser.zero_grad()
    torch.set_num_threads(threads)
    return wrap(network, tokenizer, LABELS)


def _read(tokenizer: Any, texts: Sequence[PlantedText]) -> dict:
    read = tokenizer([one.text for one in texts], padding=True, return_tensors="pt")
    return {name: read[name] for name in ("input_ids", "attention_mask")}


def find_truth(found: Explanations, texts: Sequence[PlantedText]) -> np.ndarray:
    """(n, methods) how close each explanation comes to the worth of words for its class."""
    rows = []
    for one, given in zip(found, texts, strict=True):
        worth = given.truth if one.target == LABELS[given.label] else -given.truth
        rows.append([closeness(one.scores(method), worth) for method in found.methods])
    return np.array(rows)


def judge_metrics(
    model: Classifier,
    found: Explanations,
    texts: Sequence[PlantedText],
) -> pd.DataFrame:
    """What each metric of CHOSEN says of each method, and whether it tells which is true.

    Args:
        model: that was explained.
        found: explanations of the texts, in the same order, by any methods.
        texts: whose truth is known.

    Returns:
        A row a metric, the truth first, with the mean over texts of every method. `prefers the
        truer`: of two methods, random scores left out, that are not equally true on a text, how
        often the metric prefers the truer one (a tie counts half, so that chance is one half), with
        a 95 % bootstrap interval over texts, `low` to `high`. `tells`: on which side of chance it
        lies.
    """
    truth = find_truth(found, texts)
    methods = list(found.methods)
    pairs = list(combinations([at for at, name in enumerate(methods) if name != "random"], 2))
    values = evaluate(model, found, list(CHOSEN), each_text=True)
    rows = [{"metric": TRUTH, **dict(zip(methods, truth.mean(axis=0), strict=True))}]
    for name, part in values.groupby("metric", sort=False):
        wide = part.pivot(index="text", columns="method", values="value")[methods].to_numpy()
        better = METRICS[name].sign * wide
        right = []
        for a, b in pairs:
            truer = np.sign(truth[:, a] - truth[:, b])
            preferred = np.sign(better[:, a] - better[:, b])
            right.append(np.where(truer == 0, np.nan, (truer * preferred + 1) / 2))
        of_texts = mean_of_known(np.array(right))
        mean, low, high = map(float, bootstrap_mean(of_texts, 1000, 0.95, "demo", name))
        tells = "yes" if low > 0.5 else "the opposite" if high < 0.5 else "by chance"
        judged = {PREFERS: mean, "low": low, "high": high, "tells": tells}
        means = dict(zip(methods, mean_of_known(wide), strict=True))
        rows.append({"metric": name, **means, **judged})
    return pd.DataFrame(rows)


def run_demo(count: int, out: Path | None, say: Callable[[str], None] = print) -> pd.DataFrame:
    """Train, explain, judge and show.

    Args:
        count: texts to explain.
        out: where to keep it, an .html page or an .svg picture of the terminal.
        say: is given each line of progress.

    Returns:
        What `judge_metrics` does.

    Raises:
        ValueError: `out` ends otherwise.
    """
    ending = "" if out is None else out.suffix.lower()
    if out is not None and ending not in (".html", ".svg"):
        raise ValueError(f"a demo is kept as .html or .svg; got {str(out)!r}")
    worths = ", ".join(f"{word} {worth:+d}" for word, worth in WORTHS.items())
    say(f"A network that knows nothing learns what words are worth: {worths}.")
    model = train_demo_network(say)
    texts = plant_texts(count, "explained")
    say(
        f"{len(METHODS)} methods and random scores explain what it says of {count} texts; "
        "metrics judge them.\n"
    )
    found = explain(model, [one.text for one in texts], [*METHODS, "random"])
    table = judge_metrics(model, found, texts)
    _draw(Console(highlight=False), found, table)
    if out is not None and ending == ".svg":
        forced: dict = {
            "force_terminal": True,
            "color_system": "truecolor",
            "no_color": False,
        }
        picture = Console(file=StringIO(), record=True, width=PICTURE, highlight=False, **forced)
        _draw(picture, found, table)
        drawn = picture.export_svg(title="attreval demo")
        local = re.sub(r"@font-face {.*?}\s*", "", drawn, flags=re.DOTALL)  # not from a CDN
        out.write_text(local, encoding="utf-8")
    elif out is not None:
        body = "".join(
            f"{_as_html(rows)}<p>{reading.format('bold')}</p>"
            for rows, reading in zip(_tabulate(table, "<b>{}</b>"), READINGS, strict=True)
        )
        title = "A planted truth, and who tells it"
        page = whole_page(title, body + fragment(found[:PAGE]), REPORT_STYLE)
        out.write_text(page, encoding="utf-8")
    if out is not None:
        say(f"kept as {out}")
    return table


def _draw(console: Console, found: Explanations, table: pd.DataFrame) -> None:
    """Texts and both tables, at most 80 columns wide; a star marks the best if nothing is bold."""
    coloured = takes_colours(console)
    print_explained(console, found[: SHOWN if coloured else 1])
    tables = _tabulate(table, "[bold]{}[/]" if coloured else "{}*")
    for (head, *rows), reading in zip(tables, READINGS, strict=True):
        shown = Table(*head, box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        for row in rows:
            shown.add_row(*row)
        console.print(shown)
        console.print(reading.format("bold" if coloured else "a star"), "", sep="\n", style="dim")


def _as_html(rows: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    head, *body = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    return wide_table(head.replace("td>", "th>"), (f"<tr>{row}</tr>" for row in body))


def _tabulate(table: pd.DataFrame, mark: str) -> tuple[list[list[str]], list[list[str]]]:
    """What metrics say of methods, and whether they tell the truth, each with its head.

    mark: how the best of a row is written, random scores left out.
    """
    names = [name for name in table if name in KNOWN]
    titles = [fill(KNOWN[name].title, 9, break_long_words=False) for name in names]
    means = [["", *titles]]
    judged = [["", PREFERS, "95 % interval", "tells it"]]
    for row in table.to_dict("records"):
        metric = METRICS.get(row["metric"])
        sign = metric.sign if metric else 1
        real = {name: sign * row[name] for name in names if name != "random"}
        best = max(real, key=real.__getitem__)
        cells = {name: _number(row[name]) for name in names}
        cells[best] = mark.format(cells[best])
        title = f"{metric.title} {'↑' if sign > 0 else '↓'}" if metric else TRUTH
        means.append([title, *cells.values()])
        if metric:
            interval = f"{_number(row['low'])} to {_number(row['high'])}"
            judged.append([metric.title, _number(row[PREFERS]), interval, row["tells"]])
    return means, judged


def _number(value: float) -> str:
    return f"{round(value, 2) + 0:.2f}"  # no -0.00
