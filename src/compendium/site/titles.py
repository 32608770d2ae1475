"""What the site calls methods, tasks, models and metrics, where a table or a sentence has their keys."""

from __future__ import annotations

import re
from functools import lru_cache

from compendium.papers.common.style import MODELS

# A metric's key is often a plain word; only a column of this name holds it for sure.
METRIC_FIELDS = ("metric", "measure", "property", "judge")
DASH = "–"
CELL = re.compile(r"<(td|th)([^>]*)>([^<]*)</\1>")
NOTHING = ("nan", "none", "nat", "&lt;na&gt;", "")


@lru_cache(maxsize=1)
def titles_by_kind() -> dict[str, dict[str, str]]:
    """The titles of methods, tasks and models, each by key."""
    from attreval.methods import METHODS
    from compendium.corpora import TASKS

    methods = {name: method.title for name, method in METHODS.items()} | {"random_drawn": "Random (one drawn word)"}
    return {"methods": methods, "tasks": {name: task.short for name, task in TASKS.items()}, "models": MODELS}


def titles() -> dict[str, str]:
    """The titles of methods, tasks and models by key."""
    of = titles_by_kind()
    return of["methods"] | of["tasks"] | of["models"]


def title_of(field: str, value):
    """A cell of a table as the site shows it: a title in place of a key, also of one inside a text."""
    if not isinstance(value, str):
        return value
    if field in METRIC_FIELDS and value in _metric_titles():
        return _metric_titles()[value]
    return titles().get(value) or in_words(value)


def in_words(text: str) -> str:
    """A text with titles in place of the keys of tasks, models and methods; keys that are English words stay."""
    return _words().sub(lambda found: _keys_in_text().get(found[0], found[0]), text)


@lru_cache(maxsize=1)
def _words() -> re.Pattern:
    """A whole title, which stays as it is, or what may be a key: not in a path, an address or a longer name."""
    return re.compile(rf"{'|'.join(map(re.escape, titles().values()))}|(?<![\w/.-])[a-z]\w*(?![\w/-])")


@lru_cache(maxsize=1)
def _keys_in_text() -> dict[str, str]:
    """The keys that nobody would write in a sentence: those with an underscore, and those of tasks and models."""
    from compendium.corpora import TASKS

    sure = {*TASKS, *MODELS} - {"tiny"}
    return {key: title for key, title in titles().items() if "_" in key or key in sure}


@lru_cache(maxsize=1)
def _metric_titles() -> dict[str, str]:
    from attreval.metrics import METRICS

    return {name: metric.title for name, metric in METRICS.items()}


def html_with_titles(html: str) -> str:
    """A table of pandas with titles for keys, and for a missing value a dash that says so."""
    known = titles() | {key: title for key, title in _metric_titles().items() if "_" in key}

    def cell(found: re.Match) -> str:
        tag, attributes, text = found.groups()
        if tag == "td" and text.strip().lower() in NOTHING:
            return f'<td{attributes} title="no value: not measured here, or it does not apply">{DASH}</td>'
        return f"<{tag}{attributes}>{known.get(text.strip(), text)}</{tag}>"

    return CELL.sub(cell, html)
