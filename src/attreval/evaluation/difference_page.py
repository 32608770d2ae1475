"""The page of `attreval diff`: what was found, reasons side by side, and the words that moved."""

from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from attreval import __version__
from attreval.api.explanation import Explanation
from attreval.api.explanations import check_ending
from attreval.api.show.html import REPORT_STYLE, fragment, whole_page
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
    "How far reasons move by chance is not known: with --again FOLDER, a network trained anew on "
    "the old data with another seed, it is told which moved further."
)
ABOUT_TEXTS = (
    "Named is the word whose share of the influence in the text changed most: its score divided by "
    "the sum of all absolute scores, below 0 where it counts against the class. q: the share of "
    "false alarms to expect among the texts with a q as small (Benjamini and Hochberg)."
)
ABOUT_WORDS = (
    "Change: of a word's share, for the class predicted; mean over methods and the texts that hold "
    "it, with a 95 % interval over texts. Beyond noise: the interval excludes 0, and the change, "
    "from each network of the old data, is larger than any word's between two of these. By one "
    "network trained anew chance brings some words that far; three leave hardly any."
)


def save(found: Difference, path: Path) -> Path:
    """Write the page, the table of texts, or all as JSON, as the ending says (ENDINGS)."""
    check_ending(path, ENDINGS)
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
    by = join_words([title(method) for method in found.methods])
    if not found.again:
        said.append(WITHOUT)
    else:
        judged = int(found.texts.p.notna().sum())
        beyond = int(found.texts.beyond.sum())
        anew = f"network{'s' * (found.again > 1)} trained anew on the old data"
        noise = f"between the old model and {found.again} {anew}, by {by}"
        if beyond:
            said.append(
                f"Of the {judged} that stand and could be compared, the reason moved further than "
                f"{noise}, on {beyond}; at most {found.level:.0%} of these by chance."
            )
        else:
            said.append(
                f"On none of the {judged} that stand and could be compared did the reason surely "
                f"move further than {noise}."
            )
    words = found.words[found.words.beyond] if found.again else found.words
    if len(words):
        how = "changed beyond noise" if found.again else "changed most"
        named = [
            f"{row.word} ({row.change:+.2f} where {row[1]} is predicted)"
            for row in words[:3].itertuples()
        ]
        said.append(f"Words whose share of the influence {how}: {join_words(named)}.")
    return " ".join(said)


def difference_page(found: Difference) -> str:
    """The page as HTML that needs nothing else; every word that is not ours is escaped."""
    old, new = found.names
    facts = (
        f"Old: {old}; new: {new}; {len(found.texts)} texts. attreval {__version__}, {date.today()}."
    )
    movers = found.movers
    shown = movers[movers.beyond] if movers.beyond.any() else movers
    heading = f"From {Path(old).name} to {Path(new).name}" if old != new else f"{old}, asked twice"
    body = [
        f'<p class="note">{escape(facts)}</p>',
        f'<div class="answer"><p><strong>{escape(str(found))}</strong></p></div>',
        "<h2>The same prediction for another reason</h2>",
        _side_by_side(found, shown),
        "<h2>Words that gained or lost influence</h2>",
        _word_table(found),
        f'<p class="note">{ABOUT_WORDS}</p>',
        "<h2>Another prediction</h2>",
        _side_by_side(found, found.flips),
    ]
    return whole_page(heading, "\n".join(body), REPORT_STYLE + STYLE)


def _side_by_side(found: Difference, rows: pd.DataFrame) -> str:
    """The first of some texts, under the old model and under the new one."""
    if rows.empty:
        return "<p>None.</p>"
    captions: dict[int, str] = {}
    pairs: list[Explanation] = []
    for row in rows[:SHOWN].itertuples():
        old = found.explanations[0][row.Index]
        new = found.explanations[1][row.Index]
        captions[id(old)] = f"Old: {describe_text(old)}"
        captions[id(new)] = f"New: {describe_text(new)}{_how_far(row, found)}"
        pairs += [old, new]
    note = f"{len(rows)} texts; {SHOWN} at most are shown, and the table has all. {ABOUT_TEXTS}"
    return f'<p class="note">{note}</p>{fragment(pairs, lambda one: captions[id(one)])}'


def _how_far(row: Any, found: Difference) -> str:
    """What became of the word whose share changed most, by the first method that has one."""
    for method in found.methods:
        word = getattr(row, f"{method}_word")
        before = getattr(row, f"{method}_before")
        after = getattr(row, f"{method}_after")
        if not pd.isna(before):
            chance = "" if pd.isna(row.q) else f" (q = {row.q:.2g})"
            return f"; {word} went from {before:+.2f} to {after:+.2f} by {title(method)}{chance}"
    return ""


def _word_table(found: Difference) -> str:
    """The words whose influence changed most, those beyond noise first."""
    words = found.words.sort_values("beyond", ascending=False, kind="stable")[:SHOWN]
    if words.empty:
        return "<p>No word stands in enough texts.</p>"
    words = words.replace({"beyond": {True: "yes", False: ""}})
    shown = words.to_html(index=False, float_format="{:+.2f}".format, border=0)
    return f'<div class="wide">{shown}</div>'
