"""Runs that no profile of the project has: few methods, none of a paper's, marks on few texts or by
few people.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference.profiles import TASK, TINY

from attreval.core.records import Attribution, Evidence
from attreval.models.scorer import Scorer
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.runs import PrintedText, marked_corpus
from compendium.papers.kamp2023 import agreement, figures, readings, sentences, tables
from compendium.papers.kamp2023.readings import make_reading
from compendium.papers.zhao2023 import erasure
from compendium.papers.zhao2023 import tables as zhao_tables

RUN = ("snli", "tiny", 1)


def attributions(instance, tokens, methods):
    features = tuple((int(t),) for t in tokens.content)
    rng = np.random.default_rng(len(features))
    return {
        m: Attribution(instance.id, m, 0, "token", features, rng.standard_normal(len(features)))
        for m in methods
    }


@pytest.fixture
def step():
    given = {
        "agreement": {"largest_k": 3, "length_tolerance": 9, "fixed_k": 2},
        "bootstrap": {"draws": 20},
    }
    given |= {"name": "own", "models": {"tiny": TINY}}
    given |= {"tasks": {"snli": TASK | {"explain_rows": 4, "judges": ["agreement"]}}}
    profile = Profile.model_validate(given)
    return SimpleNamespace(profile=profile, results=None, progress=lambda what: lambda *_: None)


def explained_by(monkeypatch, texts, model, methods):
    """The texts explained by these methods, as notebook 05 reads them."""
    tokens = {i.id: model.tokens(i) for i in texts}
    records = {i.id: attributions(i, tokens[i.id], methods) for i in texts}
    found = [make_reading(i, tokens[i.id], records[i.id]) for i in texts]
    monkeypatch.setattr(readings, "read_run", lambda step, run: found)
    monkeypatch.setattr(readings, "agreement_runs", lambda step: [RUN])
    return tokens, records


def test_agreement_of_few_methods_is_told_and_drawn_as_far_as_it_goes(
    step, monkeypatch, tiny, texts
):
    """One method, and two that are none of the paper's six: tables, and figures that say why."""
    for methods in (["lime"], ["deeplift", "attention"]):
        explained_by(monkeypatch, texts, tiny, methods)
        pairs = agreement.agreement_table(step)
        assert len(pairs) == 3 * (len(methods) - 1)
        most = agreement.most_methods(pairs)
        drawn = [figures.figure_all_pairs(most)]
        drawn.append(figures.figure_pair_matrix(agreement.matrix_at_k(most, 2), 2))
        for axes in drawn:
            shown = [text.get_text() for text in axes.texts]
            assert ("fewer than two methods explain the texts" in shown) == (len(methods) == 1)
        compared = agreement.dynamic_against_fixed(step)
        improved = tables.with_published_improvement(agreement.improvement_table(step, compared))
        assert list(tables.table_1(improved))[:2] == ["task", "method"]
        told = agreement.sentence_table(step)
        lengths = agreement.length_table(step)
        six = any(m in readings.SIX for m in methods)
        assert len(told) == (len(texts) if six else 0) and lengths.empty == (not six)
        assert "methods" in told and "agreement" in lengths
        found = {
            "agreement": pairs,
            "groups": agreement.group_table(step),
            "lengths": lengths,
            "dynamic": compared,
            "with_people": tables.human_agreement_table(step),
            "dynamic_k": agreement.dynamic_k_table(step),
            "predicted_k": tables.predicted_k_table(step),
        }
        said = sentences.agreement_summary(step, **found)
        assert {"shown_k", "fixed_k"} <= set(said.quantity)


def mark(instance, people_=1):
    marks = np.zeros((people_, len(instance.words)))
    marks[:, 0] = 1
    return replace(instance, evidence=Evidence(marks=marks))


def test_marks_on_some_texts_only_are_described_for_these(step, monkeypatch, tiny, texts):
    """Marks on test but not on dev, on a few texts of a user's file, by one person or several."""
    test_only = {"dev": list(texts[:2]), "test": [mark(texts[2])]}
    some_texts = {"dev": list(texts[:2]), "test": [mark(texts[2]), texts[3]]}
    other_people = {"dev": [mark(texts[0], 2)], "test": [mark(texts[1], 1)]}
    monkeypatch.setattr(tables, "read_about", lambda path: {"dropped": {}})
    for splits in (test_only, some_texts, other_people):
        monkeypatch.setattr(corpora, "load_task", lambda task, split, of=splits: of[split])
        marked = [i for part in splits.values() for i in part if len(i.evidence.marks)]
        assert marked_corpus("snli") == marked
        tokens, _ = explained_by(monkeypatch, marked, tiny, ["lime", "gradient_l1"])
        monkeypatch.setattr(tables, "load_tokens", lambda *_, part, of=tokens: of)
        table = tables.annotation_table(step).set_index("quantity").value
        assert table["instances"] == len(marked) and table["words_mean"] == 1
        same_people = splits is not other_people
        assert ("words_1" in table) == same_people, "two people are not those of another text"


MEASURES = ("comprehensiveness", "sufficiency")


def test_the_best_method_has_most_comprehensiveness_and_least_sufficiency():
    """Random scores are nobody, also where they are alone."""
    means = {"lime": (0.1, 0.2), "deeplift": (0.3, 0.1), "random": (0.9, 0.0)}
    area = pd.DataFrame(means, index=MEASURES).T.rename_axis("method").reset_index()
    area = area.melt("method", var_name="measure", value_name="mean")
    area = area.assign(task="snli", instances=7)
    best = zhao_tables.best_methods(area).set_index("measure")
    assert best.method.to_dict() == dict.fromkeys(MEASURES, "deeplift")
    assert best["mean"].tolist() == [0.3, 0.1] and best.random.tolist() == [0.9, 0.0]
    assert zhao_tables.best_methods(area[area.method == "random"]).empty


def test_a_printed_text_is_erased_and_coloured_by_the_papers_method_and_by_random_scores(
    step, monkeypatch, tiny, texts
):
    """Where `random` did not explain, its scores are drawn as erasure draws them."""
    one = texts[0]
    tokens = tiny.tokens(one)
    step.profile.tasks["snli"].judges.append("faithfulness")
    empty, said = zhao_tables.table_4(step)
    assert empty.empty and said.data == zhao_tables.NOT_READ
    step.profile.tasks["snli"].printed.append("zhao2023/AG")
    method = "integrated_gradients_zero"
    monkeypatch.setattr(erasure, "open_run", lambda *_: Scorer(tiny))
    for methods in ([method], [method, "random"]):
        records = attributions(one, tokens, methods)
        printed = PrintedText(one, tokens, records, 1)
        monkeypatch.setattr(zhao_tables, "load_printed", lambda *_, p=printed: p)
        table, _ = zhao_tables.table_4(step)
        assert table.method.tolist() == [method, "random"] and set(table.predicted) == {"neutral"}
        assert table.published_nc.tolist() == [0.186, 0.194]
        own = records[method].scores
        values = erasure.erase_printed(step, RUN, printed).set_index("method")
        assert table.nc.tolist() == values.nc[[method, "random"]].tolist()
        shown = zhao_tables._in_colour(RUN, printed, method)
        drawn = erasure.random_scores(tokens, *RUN, one.id)
        rival = records["random"].scores if "random" in methods else drawn
        sums = [scores.sum() for scores in shown.rows.values()]
        assert sums == pytest.approx([own.sum(), rival.sum()])
