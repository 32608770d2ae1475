"""Figures of Sun et al. (2024): what is there has a name, and what is not there is said to be missing."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt

from compendium.papers.sun2024.figures import figure_2, gain_figure


def written_in(figure) -> list[str]:
    """All that is written in panels and legends."""
    shown = [text.get_text() for axes in figure.axes for text in [*axes.texts, axes.title]]
    return shown + [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_properties_name_models_and_what_nobody_measured():
    rows = [("snli", "minilm", "token", "token agreement", 0.5), ("snli", "minilm", "span", "complexity", 2.0)]
    rows.append(("fever", "minilm_256", "token", "complexity", 3.0))
    columns = ["task", "model", "type", "property", "value"]
    summary = pd.DataFrame(rows, columns=columns).assign(technique="shapley", chance=0.1)
    summary = summary.assign(low=summary.value - 0.25, high=summary.value + 0.5)
    figure = figure_2(summary).figure
    complexity = figure.axes[2:]
    ends = [path.vertices[:, 1].tolist() for axes in complexity for path in axes.collections[1].get_paths()]
    assert ends == [[1.75, 2.5], [2.75, 3.5]] and complexity[0].get_ylim()[1] > 3.5, "intervals are drawn and fit"
    said = written_in(figure)
    assert said.count("nobody marked these") == 1 and not any("minilm" in text for text in said)
    assert {"SNLI, MiniLM", "FEVER, MiniLM (256 tokens)", "TokenEx", "SpanIntEx", "random"} <= set(said)
    assert "TokenIntEx" not in said
    plt.close(figure)


def test_gains_of_a_form_that_only_one_type_has_are_named():
    columns = ["technique", "type", "form", "gain", "low", "high"]
    rows = [("none", "none", "none", None, None, None), ("attention", "token", "symbol", 1.0, 0.5, 2.0)]
    rows.append(("attention", "span", "text", -1.0, -2.0, 0.0))
    figure = gain_figure(pd.DataFrame(rows, columns=columns)).figure
    assert written_in(figure) == ["explanation as symbol", "explanation as text", "TokenEx", "SpanIntEx"]
    plt.close(figure)
