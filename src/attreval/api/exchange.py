"""Explanations as others have them: files that every program reads, and the visual objects of captum and shap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attreval.methods.attribution_files import GivenScores, as_methods, read_attribution_file

if TYPE_CHECKING:
    import shap
    from captum.attr import visualization

    from attreval.api.explanation import Explanation


def as_rows(explained: Sequence[Explanation], methods: Sequence[str]) -> list[GivenScores]:
    """One row a text and method, as methods.attribution_files writes them."""
    rows = []
    for one in explained:
        spans = np.array([(u.segment, u.start, u.end) for u in one.units], dtype=np.int64).reshape(-1, 3)
        rows += [
            GivenScores(one.instance.segments, m, spans, one.scores(m), one.instance.id, one.target) for m in methods
        ]
    return rows


def read_scores(
    path: str | Path, explained: Sequence[Explanation], labels: Sequence[str]
) -> dict[str, list[np.ndarray]]:
    """By method of a .jsonl or .parquet file, (L,) scores of each text's tokens; texts are matched by their words.

    ValueError where a text has no scores in the file, or other classes were explained.
    """
    found: dict[str, list[np.ndarray]] = {}
    for name, method in as_methods(read_attribution_file(path), labels).items():
        for one in explained:
            full = np.zeros(len(one.tokens))
            full[one.tokens.content] = method.given(one.instance, one.tokens, labels.index(one.target)).values
            found.setdefault(name, []).append(full)
    return found


def to_captum(explained: Sequence[Explanation], method: str) -> list[visualization.VisualizationDataRecord]:
    """Records for captum.attr.visualization.visualize_text, scores divided by the largest of each text."""
    from captum.attr import visualization

    records = []
    for one in explained:
        scores = one.scores(method)
        largest = np.abs(scores).max(initial=0.0) or 1.0
        records.append(
            visualization.VisualizationDataRecord(
                word_attributions=scores / largest,
                pred_prob=one.probabilities[one.predicted],
                pred_class=one.predicted,
                true_class="",
                attr_class=one.target,
                attr_score=float(scores.sum()),
                raw_input_ids=[unit.text for unit in one.units],
                convergence_score=one.gaps.get(method, float("nan")),
            )
        )
    return records


def to_shap(explained: Sequence[Explanation], method: str) -> shap.Explanation:
    """A shap.Explanation for shap.plots.text: values and words of each text; base values are 0."""
    import shap

    values = _ragged([one.scores(method) for one in explained])
    words = _ragged([np.array([f"{unit.text} " for unit in one.units], dtype=object) for one in explained])
    return shap.Explanation(values=values, base_values=np.zeros(len(explained)), data=words)


def _ragged(rows: Sequence[np.ndarray]) -> np.ndarray:
    """(texts,) of arrays of any length."""
    out = np.empty(len(rows), dtype=object)
    out[:] = rows if len(rows) != 1 else [None]
    if len(rows) == 1:
        out[0] = rows[0]
    return out
