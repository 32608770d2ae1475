"""Variants: the choices in which a paper's text or its released code departs from the defaults here, by name.

A profile names one variant a paper (`variants: {kamp2023: released}`); the fields below are set by no other key, so
that a run is either the compendium's reading, or a named other one, and never a mixture that nobody published.
Where paper and code disagree, and on which page, is in docs/decisions.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

# paper -> variant -> section -> field -> value
VARIANTS: dict[str, dict[str, dict[str, dict[str, Any]]]] = {
    "poerner2018": {
        "released": {
            "pointing": {"ties": "first", "affix": "code"},
            "explain": {
                "limsse_sampling": "exhaustive",
                "limsse_solver": "descent",
                "decomposition_output_gate": False,
            },
        },
        "paper": {
            "pointing": {"ties": "expectation", "affix": "paper"},
            "explain": {"limsse_sampling": "random", "limsse_solver": "exact", "decomposition_output_gate": True},
        },
    },
    "kamp2023": {
        "released": {
            "agreement": {
                "ties": "random",
                "peaks": "released",
                "people": "top_k",
                "improvement": "positive",
                "apd_itself": True,
            }
        },
        "paper": {
            "agreement": {
                "ties": "expectation",
                "peaks": "paper",
                "people": "share",
                "improvement": "signed",
                "apd_itself": False,
            }
        },
    },
    "zhao2023": {"released": {"faithfulness": {"protocol": "released"}}},
    "sun2024": {
        "released": {  # of the code that it builds on; it has none of its own
            section: {
                "head_rank": -1,
                "head_matrix": "code",
                "head_state": "before",
                "louvain_drop_last": True,
                "span_rule": "louvain_first_level",
            }
            for section in ("diagnosis.units", "explain.units")
        },
    },
}


# section.field -> the paper whose variants set it
SET_BY = {
    f"{section}.{field}": paper
    for paper, variants in VARIANTS.items()
    for sections in variants.values()
    for section, fields in sections.items()
    for field in fields
}


def apply_variants(found: dict[str, Any]) -> dict[str, Any]:
    """A profile as read, with the fields of the variants that it names filled in.

    Raises ValueError for an unknown paper or variant, and for a field that only a variant may set.
    """
    chosen = found.get("variants") or {}
    if not isinstance(chosen, dict):
        raise ValueError(f"variants: paper and variant are needed, such as {{kamp2023: released}}; got {chosen!r}")
    for paper, name in chosen.items():
        if paper not in VARIANTS:
            raise ValueError(f"variants: no paper {paper!r}; there are: {', '.join(VARIANTS)}")
        if name not in list(VARIANTS[paper]):
            raise ValueError(f"variants.{paper}: no variant {name!r}; there are: {', '.join(VARIANTS[paper])}")
    for place in _list_keys(found):
        # a task and the study of seeds may change a section for themselves
        if paper := SET_BY.get(re.sub(r"^(tasks\.[^.]+|seed_study)\.", "", place)):
            names = ", ".join(f"{paper}: {name}" for name in VARIANTS[paper])
            raise ValueError(f"{place}: is set by a variant of the paper, not by itself; variants are {names}")
    filled = deepcopy(found)
    for paper, name in chosen.items():
        for section, fields in VARIANTS[paper][name].items():
            place = filled
            for part in section.split("."):
                place = place.setdefault(part, {}) if isinstance(place, dict) else place
            if isinstance(place, dict):  # what is no mapping, the schema refuses
                place.update(fields)
    return filled


def _list_keys(found: Any, within: str = "") -> Iterator[str]:
    """The dotted place of every key of a profile as read."""
    for key, value in found.items() if isinstance(found, dict) else ():
        yield f"{within}{key}"
        yield from _list_keys(value, f"{within}{key}.")
