"""What notebook 09 makes of a trial: its tables, its picture and its sentences."""

from dataclasses import replace

from matplotlib import pyplot as plt
from reference.trial_metrics import MADE

from attreval.trial.nulls import NULLS
from attreval.trial.worlds.planted import PLANTED_WORLDS
from compendium.config.judges import MetaSpec
from compendium.config.sections import BootstrapSpec
from compendium.papers.joint import planted


def test_tables_picture_and_sentences_of_a_trial(trial):
    held = trial.values
    known = replace(trial, values=held[held.metric.isin(["nc", *NULLS])])
    table = planted.matrix(known, BootstrapSpec(draws=100))
    verdicts = planted.trial_verdicts(table)
    assert verdicts.metric[0] == "nc" and verdicts.share.is_monotonic_decreasing
    assert table.title[table.metric == "nc"].unique().tolist() == ["NC"] and set(table.world) == set(MADE)
    axes = planted.draw_matrix(table, verdicts)
    shown = [text.get_text() for text in axes.texts]
    assert len(shown) == len(table) and "1.00" in shown and ".50" in shown
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert ticks[0] == "NC" and all(tick.endswith(planted.CROSS) for tick in ticks[1:])
    plt.close(axes.figure)
    said = str(planted.say_trial(verdicts))
    assert said.startswith("Of 1 metrics 0 surely put the truth first in every world")
    short = planted.short(table)
    assert short.metric.tolist() == ["nc"] and "NC. 1 of these 1 stay" in str(planted.say_short_list(short))
    values = planted.planted_values(known)
    assert (
        set(values.world) == set(PLANTED_WORLDS)
        and set(values.metric) == {"nc"}
        and "scaled" not in set(values.explainer)
    )


def test_a_profile_names_its_worlds():
    trial = planted.try_all(MetaSpec(instances=4, worlds=("one",)))
    assert set(trial.values.world) == {"one"} and set(NULLS) < set(trial.values.metric)
    assert set(planted.METHODS) < set(trial.values.explainer)
