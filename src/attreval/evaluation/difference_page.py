"""The page of `attreval diff`: what was found, reasons side by side, and the words that moved."""

from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from attreval import __version__
from attreval.api.explanation import Explanation
from attreval.api.show.html import REPORT_STYLE, fragment, whole_page, wide_table
from attreval.api.show.shown import describe_text
from attreval.core.tables import write_csv, write_json, write_text
from attreval.evaluation.findings import join_words, title

Difference = Any  # of difference.py, which is not imported here: it saves itself by what is below
ENDINGS = (".html", ".csv", ".json")
SHOWN = 20  # texts of each kind, and words
STYLE = """
body{max-width:90rem}
.attreval-shown{display:grid;grid-template-columns:1fr 1fr;gap:0 2rem}
.attreval-shown>p,.attreval-shown>style{grid-column:1/-1}
.attreval-shown section{min-width:0}
@media(max-width:60rem){.attreval-shown{grid-template-columns:1fr}}
"""
WITHOUT = (
    "How far reasons move when nothing but chance is another is not known: --again FOLDER names a "
    "network trained anew on the old data with another seed, or several, and then what moved "
    "further than these is told, with a verdict."
)
ABOUT_MOVED = (
    "Named is the word whose share of the influence in the text changed most, by each method, and "
    "how much of all influence moved to other words. A share is a score over the sum of the sizes "
    "of all; it is below 0 where a word counts against the class. q: of texts with one as small or "
    "smaller, the share that chance may bring. "
)
TOLD = ("word", "before", "after", "moved")
ABOUT_WORDS = (
    "Change: of the share that a word has of the influence in a text, for the class predicted; "
    "mean over methods and over the texts that hold it, with a 95 % interval over texts. "
)
ABOUT_BEYOND = (
    "Beyond noise: the interval excludes 0, and no word of this class changed as much between any "
    "two networks of the old data, from which the new model is told apart one by one."
)


def check_place(path: Path) -> None:
    """Raise ValueError for a file that a comparison is not saved as."""
    if path.suffix not in ENDINGS:
        raise ValueError(
            f"a comparison is saved as {', '.join(ENDINGS)}; {path.name!r} ends in none of them"
        )


def save(found: Difference, path: Path) -> Path:
    """Write the page, the table of texts, or all as JSON, as the ending says (ENDINGS)."""
    check_place(path)
    if path.suffix == ".html":
        write_text(path, difference_page(found))
    elif path.suffix == ".csv":
        write_csv(path, found.texts)
    else:
        write_json(path, found.to_json())
    return path


def describe(found: Difference) -> str:
    """How many predictions differ, how many reasons moved beyond noise, and which words."""
    texts = len(found.texts)
    said = [f"{len(found.flips)} of {texts} predictions differ."]
    stands = texts - len(found.flips)
    by = join_words([title(method) for method in found.methods])
    if not found.again:
        said.append(f"Of the {stands} that stand, this says how far the reason moved, by {by}.")
        said.append(WITHOUT)
    else:
        judged = int(found.texts.p.notna().sum())
        beyond = int(found.texts.beyond.sum())
        noise = f"what training anew does ({found.again} network{'s' * (found.again > 1)}, {by})"
        if beyond:
            said.append(
                f"Of the {judged} that stand and could be compared, the reason moved beyond {noise}"
                f" on {beyond}; at most {found.level:.0%} of these are expected to be chance."
            )
        else:
            said.append(
                f"On none of the {judged} that stand and could be compared did the reason surely "
                f"move beyond {noise}."
            )
    words = found.words[found.words.beyond] if found.again else found.words
    if len(words):
        what = "Beyond noise changed" if found.again else "Most changed"
        named = [f"{row.word} ({row.change:+.2f} for {row[1]})" for row in words[:3].itertuples()]
        said.append(f"{what} the influence of {join_words(named)}.")
    return " ".join(said)


def difference_page(found: Difference) -> str:
    """The page as HTML that needs nothing else; every word that is not ours is escaped."""
    old, new = found.names
    facts = (
        f"Old: {old}; new: {new}; {len(found.texts)} texts. attreval {__version__}, {date.today()}."
    )
    movers = found.movers
    shown = movers[movers.beyond] if movers.beyond.any() else movers
    body = [
        f'<p class="note">{escape(facts)}</p>',
        f'<div class="answer"><p><strong>{escape(str(found))}</strong></p></div>',
        "<h2>The same prediction for another reason</h2>",
        _side_by_side(found, shown),
        "<h2>Words that gained or lost influence</h2>",
        _word_table(found),
        f'<p class="note">{escape(ABOUT_WORDS + ABOUT_BEYOND * bool(found.again))}</p>',
        "<h2>Another prediction</h2>",
        _side_by_side(found, found.flips),
    ]
    return whole_page(
        f"From {Path(old).name} to {Path(new).name}", "\n".join(body), REPORT_STYLE + STYLE
    )


def _side_by_side(found: Difference, rows: pd.DataFrame) -> str:
    """The first of some texts, under the old model and under the new one."""
    if rows.empty:
        return "<p>None.</p>"
    captions: dict[int, str] = {}
    pairs: list[Explanation] = []
    for row in rows[:SHOWN].itertuples():
        old, new = (explained[row.Index] for explained in found.explanations)
        captions[id(old)] = f"Old: {describe_text(old)}"
        captions[id(new)] = f"New: {describe_text(new)}{_how_far(row, found)}"
        pairs += [old, new]
    more = f" of {len(rows)}; the table has all" if len(rows) > SHOWN else ""
    note = f"{len(pairs) // 2}{more}. {ABOUT_MOVED}"
    return f'<p class="note">{note}</p>{fragment(pairs, lambda one: captions[id(one)])}'


def _how_far(row: Any, found: Difference) -> str:
    """How far a reason moved by each method that has converged, and q; empty for a flip."""
    told = []
    for method in found.methods:
        about = {what: getattr(row, f"{method}_{what}") for what in TOLD}
        if not pd.isna(about["moved"]):
            step = f"{about['word']} {about['before']:+.2f} to {about['after']:+.2f}"
            told.append(f"{step}, moved {about['moved']:.2f} ({title(method)})")
    if not pd.isna(row.q):
        told.append(f"q = {row.q:.2g}")
    return "".join(f"; {one}" for one in told)


def _word_table(found: Difference) -> str:
    """The words whose influence changed most, those beyond noise in bold and first."""
    words = found.words.sort_values("beyond", ascending=False, kind="stable")[:SHOWN]
    if words.empty:
        return "<p>No word stands in enough texts.</p>"
    heads = ["Word", "Class", "Texts", "Change", "Interval", *["Beyond noise"] * bool(found.again)]
    rows = []
    for label, row in zip(words["class"], words.itertuples(), strict=True):
        interval = f"{row.low:+.2f} to {row.high:+.2f}"
        cells = [row.word, label, row.texts, f"{row.change:+.2f}", interval]
        cells += ["yes" if row.beyond else ""] * bool(found.again)
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return wide_table("".join(f"<th>{head}</th>" for head in heads), rows)
