"""The report: a folder with a page that needs nothing else, tables and scores."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval import __version__
from attreval.api.evaluating import usual_metrics
from attreval.api.explanation import RANDOM, Explanation
from attreval.api.show.html import REPORT_STYLE, fragment, page, whole_page, wide_table
from attreval.api.show.shown import css, describe_text
from attreval.core.bootstrap import LEAST_TEXTS, bootstrap_mean, percentile_interval
from attreval.core.tables import write_csv, write_text
from attreval.evaluation import findings
from attreval.evaluation.choice import MARGIN
from attreval.evaluation.findings import (
    CONFIDENCE,
    JUDGE_TITLES,
    LARGE_GAP,
    MOST_LARGE,
    Evaluation,
    title,
)
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import FEWEST, correlate_means
from attreval.models.outputs import OUTPUTS

SHOWN = 6  # texts to look at
MOST_SHOWN = 100  # texts in texts.html
ARROWS = {1: "", -1: " \N{DOWNWARDS ARROW}", 0: ""}
WHY_NOT = {
    "pointing": "documents whose evidence is known are made from single texts of several classes, "
    "and from no attributions that were made elsewhere",
    "people": "no column of the data holds what people marked (`--rationale`)",
}
CLASS = "the class's probability"  # what metrics say that they follow
MARKER = "about-this-folder.txt"
MARK_TEXT = """Written by `attreval evaluate`: report.html is the report, texts.html shows texts in colour.
All here but this file is replaced when the command runs again with this folder as --out; what `kept` holds of
explained texts is taken up again.
"""  # noqa: E501
ABOUT_METHODS = (
    '<p class="note">Score: 0 for random scores, 1 for the best of each metric, the mean by '
    "weight. Best: share of drawn samples in which it has the highest score. Price: model "
    "evaluations a text; for methods that sample, what they were given here "
    "(<code>settings.json</code>). Bold: recommended. Arrow: lower is better. Intervals: "
    "<code>means.csv</code>, <code>methods.csv</code>; single texts: <code>values.csv</code>.</p>"
)
ABOUT_WEIGHTS = (
    '<p class="note">Metrics of one judge share its vote. Error: standard error of the difference '
    "of two methods, where random scores have 0 and the best 1. Reliability: how well these texts "
    f"tell a difference of {MARGIN:.2f}, the square of that over itself and the square of the "
    "error. Trial: in which share of the worlds whose truth is known the metric surely puts it "
    "first (<code>attreval trial</code>; people count as 1); where it does not in most, it has no "
    "vote. Weight: in proportion to the reliability; none on fewer than "
    f"{LEAST_TEXTS} texts.</p>"
)
ABOUT_CORRELATIONS = (
    '<p class="note">Rank correlation of the methods\' means (tau-b, random scores left out): 1 '
    "the same order, -1 the opposite one. Framed where the interval over drawn texts leaves out "
    "0; the pointer shows it.</p>"
)
STYLE = """
.answer strong{font-size:1.35rem}.wide th,.wide td{white-space:nowrap}.wide th{vertical-align:bottom}
.wide thead th{white-space:normal;min-width:4rem;max-width:7rem;font-weight:600}
tr.chosen{font-weight:700}tr.random{opacity:.7;font-style:italic}.sure{outline:2px solid;outline-offset:-3px}
.bar{display:inline-block;height:.6rem;background:var(--bar);border-radius:.2rem;vertical-align:middle}
"""  # noqa: E501


def check_report_folder(out: Path) -> None:
    """Raise ValueError for a folder with files that no report has left, so that none is lost."""
    if not out.exists():
        return
    if not out.is_dir():
        raise ValueError(f"--out is a folder for the report; {out} is a file")
    found = sorted(path.name for path in out.iterdir())
    if found and MARKER not in found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise ValueError(
            f"--out {out} holds {found[0]}{more}, and is no folder of a report ({MARKER}): files "
            "are replaced there, so name a new folder"
        )


@contextmanager
def hold_folder(out: Path, settings: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder of a report, and keep other calls out while this one writes to it.

    Args:
        out: the folder.
        settings: the arguments that the same evaluation is asked for with; kept in it.

    Raises:
        ValueError: another call holds the folder.
    """
    import fcntl

    out.mkdir(parents=True, exist_ok=True)
    with (out / MARKER).open("a+", encoding="utf-8") as marker:
        try:  # the system lets go of it, however a call ends
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another call writes its report to --out {out} at the moment: wait for it, or "
                "name another folder"
            ) from None
        marker.truncate(0)
        marker.write(MARK_TEXT)
        marker.flush()
        said = json.dumps(settings, indent=1, ensure_ascii=False)
        write_text(out / "settings.json", said + "\n")
        yield


def write_report(found: Evaluation, out: Path) -> None:
    """Write report.html into a folder, with tables (csv), scores.parquet and texts.html."""
    write_csv(out / "values.csv", found.values)
    write_csv(out / "methods.csv", found.choice)
    write_csv(out / "means.csv", found.means)
    write_csv(out / "judges.csv", found.judges.reset_index())
    found.explanations.save(out / "scores.parquet")
    write_text(out / "texts.html", page(found.explanations[:MOST_SHOWN]))
    write_text(out / "report.html", report_page(found))


def report_page(found: Evaluation) -> str:
    """The page as HTML; every word that is not ours is escaped."""
    heading = f"Which explanation to trust: {found.title}"
    facts = (
        f"{len(found.judged)} of {found.size} texts, drawn at random; {describe_model(found)}. "
        f"attreval {__version__}, {date.today()}."
    )
    best_two = found.best_two
    shown = [
        replace(one, attributions={name: one.attributions[name] for name in best_two})
        for one in _most_different(found)
    ]

    def describe(one: Explanation) -> str:
        """What the model says of a text, and its label where it needs one."""
        labelled = f"; labelled {found.labels[one.instance.label]}"
        return describe_text(one) + (labelled if found.outputs == "classes" else "")

    body = [
        f'<p class="note">{escape(facts)}</p>',
        f'<div class="answer"><p><strong>{escape(findings.recommendation(found))}</strong></p>',
        *(f"<p>{escape(said)}</p>" for said in (findings.certainty(found), findings.price(found))),
        "</div>",
        "<h2>What spoke against it</h2>",
        _list(findings.list_objections(found)),
        "<h2>Every method before every metric</h2>",
        _method_table(found),
        ABOUT_METHODS,
        "<h2>How much each metric counts</h2>",
        _weight_table(found),
        ABOUT_WEIGHTS,
        "<h2>Texts to look at</h2>",
        f'<p class="note">Where {escape(" and ".join(map(title, best_two)))} differ most; by '
        "every method: "
        '<a href="texts.html">texts in colour</a>, <code>scores.parquet</code>.</p>',
        fragment(shown, describe),
        "<h2>Do the metrics agree?</h2>",
        _correlation_table(found),
        "<h2>What this does not say</h2>",
        _list(limits(found)),
    ]
    return whole_page(heading, "\n".join(body), REPORT_STYLE + STYLE)


def describe_model(found: Evaluation) -> str:
    """The model's classes and how often it is right, or what its output is on the texts."""
    if found.outputs == "classes":
        classes = ", ".join(found.labels[:12]) + (" …" if len(found.labels) > 12 else "")
        right, _, majority = model_accuracy(found)
        return (
            f"classes {classes}; the model is right on {right:.1%} of them (most frequent class: "
            f"{majority:.1%})"
        )
    (name,) = found.labels
    numbers = [one.explanation.probabilities[name] for one in found.judged]
    return (
        f"explained is the output {name}, of {OUTPUTS[found.outputs]}: {min(numbers):.4g} to "
        f"{max(numbers):.4g} on these texts"
    )


def model_accuracy(found: Evaluation) -> tuple[float, float, float]:
    """The model's accuracy on the texts, its lower bound, and the share of the largest class."""
    gold = np.array([row.label for row in found.rows])
    predicted = [found.labels.index(one.explanation.predicted) for one in found.judged]
    right = np.array(predicted) == gold
    mean, low, _ = bootstrap_mean(right, findings.DRAWS, CONFIDENCE, "accuracy")
    return float(mean), float(low), float(np.bincount(gold).max() / len(gold))


def limits(found: Evaluation) -> list[str]:
    """What was not asked, and what a reader should know of the model and the texts."""
    out = [
        f"Not asked: {JUDGE_TITLES[judge]}, since {why}."
        for judge, why in WHY_NOT.items()
        if judge not in found.choice
    ]
    if found.dropped:
        told = findings.join_words([f"{count} ({why})" for why, count in found.dropped.items()])
        out.append(f"Rows of the data that could not be used: {told}.")
    out += limits_of_model(found)
    cut = np.array([one.explanation.tokens.dropped for one in found.judged])
    if (cut > 0).any():
        out.append(
            f"{(cut > 0).sum()} of {len(cut)} texts have words that the model does not read, "
            f"{cut.sum()} in all; it takes {found.max_length} tokens, or its tokenizer knows none "
            "for them. They have no scores."
        )
    if found.noise:
        out.append(
            f"The model's answers have noise: asked about a text again, a probability varies by "
            f"{found.noise:.2g} (standard deviation, measured on two texts). Each answer here was "
            "drawn once, and all methods share it, so that intervals over texts contain the noise. "
            "More texts make them narrower; the noise itself gets less where each text is asked "
            "about several times (repeats= of attreval.wrap)."
        )
    for method, share in found.missed.items():
        if share:
            advice = "it is not recommended" if share > MOST_LARGE else "read those with care"
            out.append(
                f"{title(method)} misses more than {LARGE_GAP:.0%} of the sum that its scores "
                f"owe on {share:.0%} of texts; {advice}."
            )
    moved = [
        np.nan_to_num(list(one.values["nc"].values())).any()
        for one in found.judged
        if "nc" in one.values
    ]
    if moved and not all(moved):
        out.append(
            f"On {1 - np.mean(moved):.0%} of texts NC is 0 for all methods and random scores: "
            "the model is as sure when all words are erased, so erasure cannot tell "
            "methods apart there."
        )
    if found.given:
        out.append(
            "Hybrid documents were not made, since what was made elsewhere has no scores of them."
        )
    out.append(
        "Agreement with other methods and simplicity are shown without a vote: they do not say "
        "who is right."
    )
    return out


def limits_of_model(found: Evaluation) -> list[str]:
    """Whether the model tells classes apart, or what cannot be asked of outputs that are none."""
    if found.outputs != "classes":
        asked = [METRICS[name] for name in usual_metrics()]
        gone = [metric.title for metric in asked if found.outputs not in metric.outputs]
        left_out = [f"Not asked: {', '.join(gone)}, which need a probability."] if gone else []
        return [*left_out, "Labels were not looked at: whether the model is right is not known."]
    right, low, majority = model_accuracy(found)
    if majority == 1:
        return [
            "All texts have one label: whether the model tells its classes apart is not known here."
        ]
    if low > majority:
        return []
    return [
        f"The model is right on {right:.0%} of {len(found.rows)} texts, the most frequent class is "
        f"{majority:.0%}: explanations of a model that has not learned the task say little."
    ]


def table(found: Evaluation) -> pd.DataFrame:
    """One row a method, the best first: score with interval, price, and the mean of each metric.

    What was not measured on the texts themselves is of the documents made from them. Metrics with a
    vote come first, then those that methods are compared by.
    """
    wide = found.means.drop_duplicates(["method", "metric"]).pivot(
        index="method", columns="metric", values="mean"
    )
    order = sorted(
        (name for name in METRICS if name in wide),
        key=lambda m: (m not in found.judges.index, not METRICS[m].joint),
    )
    rows = found.choice.set_index("method")[
        ["score", "low", "high", "best", "leading", "requested"]
    ]
    return rows.join(wide[order])


def _most_different(found: Evaluation) -> list[Explanation]:
    """The texts on which the scores of the best two methods are least alike, by rank."""

    def likeness(one: Explanation) -> float:
        scores = [one.scores(name) for name in found.best_two]
        if len(scores) < 2 or len(scores[0]) < 3 or any(np.ptp(x) == 0 for x in scores):
            return 1.0
        return float(spearmanr(*scores).statistic)

    return sorted((one.explanation for one in found.judged), key=likeness)[:SHOWN]


def _list(sentences: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(said)}</li>" for said in sentences) + "</ul>"


def _method_table(found: Evaluation) -> str:
    rows = table(found)
    metrics = [METRICS[name] for name in rows.columns if name in METRICS]
    heads = [("Method", ""), ("Score", ""), ("", ""), ("Best", ""), ("Price", "")]
    what = {"classes": CLASS, "value": f"the value of {found.labels[0]}"}
    followed = what.get(found.outputs, f"the probability of {found.labels[0]}")
    heads += [(f"{m.title}{ARROWS[m.sign]}", m.about.replace(CLASS, followed)) for m in metrics]
    head = "".join(
        f'<th scope="col" title="{escape(about)}">{escape(text)}</th>' for text, about in heads
    )
    body = []
    for method, row in rows.iterrows():
        kind = "chosen" if method == found.best.method else RANDOM if method == RANDOM else ""
        cells = [
            f"{row.score:.2f} [{row.low:.2f}, {row.high:.2f}]",
            f'<span class="bar" style="width:{5 * max(0.0, row.score):.2f}rem"></span>',
            "" if method == RANDOM else f"{row.best:.0%}",
            "–" if method in found.given else f"{row.requested:,.0f}",
        ]
        for metric in metrics:
            value = row[metric.name]
            cells.append("–" if pd.isna(value) else f"{value:.2f}")
        named = f'<th scope="row">{escape(title(method))}</th>'
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        body.append(f'<tr class="{kind}">{named}{values}</tr>')
    return wide_table(head, body)


def _weight_table(found: Evaluation) -> str:
    rows = found.judges.rename(lambda metric: METRICS[metric].title).replace(
        {"judge": JUDGE_TITLES}
    )
    shown = rows[["judge", "texts", "error", "reliability", "trial", "weight"]].rename_axis(None)
    return f'<div class="wide">{shown.to_html(float_format="{:.2f}".format, border=0)}</div>'


def _correlation_table(found: Evaluation) -> str:
    """Kendall's tau-b of each pair of metrics that methods are compared by, coloured by size."""
    drawn = found.drawn
    names = [name for name in drawn.means if METRICS[name].joint]
    taus = {(a, b): correlate_means(drawn, a, b) for a, b in combinations(names, 2)}
    known = [pair for pair, found in taus.items() if not np.isnan(found.tau)]
    names = [name for name in names if any(name in pair for pair in known)]
    if len(names) < 2:
        return (
            f"<p>To compare the orders of two metrics takes {FEWEST} methods that both have "
            "scored.</p>"
        )
    head = "".join(f'<th scope="col">{escape(METRICS[name].title)}</th>' for name in names[:-1])
    body = []
    for at, b in enumerate(names[1:], 1):
        cells = []
        for a in names[:at]:
            tau, draws, _ = taus[a, b]
            low, high = percentile_interval(draws, CONFIDENCE)
            sure = ' class="sure"' if low > 0 or high < 0 else ""
            style = f'style="background:{css(tau)}" title="{low:.2f} to {high:.2f}"'
            cells.append("<td>–</td>" if np.isnan(tau) else f"<td{sure} {style}>{tau:.2f}</td>")
        body.append(f'<tr><th scope="row">{escape(METRICS[b].title)}</th>{"".join(cells)}</tr>')
    return wide_table(f"<th></th>{head}", body) + ABOUT_CORRELATIONS
