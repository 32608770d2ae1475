"""What is kept of single texts says as much as what it was made from, without a word of them."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from attreval.metrics.phrases import find_chunks
from compendium import corpora, project
from compendium.config import load_profile
from compendium.papers.kamp2023 import readings
from compendium.papers.kamp2023.readings import SIX, VotedText
from compendium.papers.poerner2018.hits import WordsInCommon, common_table, read_common
from compendium.site.again import find_differing
from compendium.workflow.parameters import NOTEBOOKS
from compendium.workflow.step import Step

TOKENS = st.lists(st.sampled_from(["the", "of", "man", "##kind", ".", ",", "'s", "film"]))
RUN = ("snli", "tiny", 1)


def step_at(folder, notebook):
    return Step(notebook, NOTEBOOKS[notebook](), load_profile("smoke"), project.Results(folder))


def test_readings_are_kept_without_their_tokens(tmp_path, monkeypatch):
    """Also of texts that nobody marked; what is not of the paper's methods stays away."""
    rng = np.random.default_rng(0)
    made = []
    for at, words in enumerate(("an odd film .", "the man of the sea , and its end")):
        tokens = tuple(words.split())
        scores = {m: rng.standard_normal(len(tokens)) for m in ("random", *reversed(SIX))}
        made.append(VotedText(f"t{at}", tokens, scores, np.eye(len(tokens))[: 2 * at]))
    step = step_at(tmp_path, "05_kamp2023")
    monkeypatch.setattr(readings, "agreement_runs", lambda step: [RUN])
    with monkeypatch.context() as patch:
        patch.setattr(readings, "read_run", lambda step, run: made)
        step.keep("readings", readings.readings_table(step))
    held = pq.read_table(step.files[0]).to_pandas().astype(str).to_numpy().ravel()
    assert not [cell for cell in held if "film" in cell or "sea" in cell]
    ((run, kept),) = readings.read_runs(step)
    assert run == RUN and [one.instance for one in kept] == ["t0", "t1"]
    for own, other in zip(made, kept, strict=True):
        assert list(other.scores) == [*reversed(SIX)]
        assert all((other.scores[m] == own.scores[m]).all() for m in SIX)
        assert np.array_equal(other.marks, own.marks)
        assert set(other.tokens) <= {"the", "word", "."}
        assert find_chunks(other.tokens).tolist() == find_chunks(own.tokens).tolist()


@given(TOKENS)
def test_stand_ins_are_cut_into_the_same_chunks(tokens):
    chunks = find_chunks(tokens)
    assert find_chunks(list(readings._cut_alike(chunks))).tolist() == chunks.tolist()


def test_words_in_common_are_read_as_they_were(tmp_path):
    step = step_at(tmp_path, "04_poerner2018")
    made = [
        WordsInCommon(RUN, name, ["lrp", "lime"], np.eye(2) / n, n)
        for n, name in ((3, "a"), (7, "b"))
    ]
    step.keep("common", common_table(made))
    for own, kept in zip(made, read_common(step.kept("common")), strict=True):
        assert kept[:3] == own[:3] and kept.words == own.words
        assert np.array_equal(kept.shares, own.shares)


def test_claims_that_come_out_otherwise_are_named():
    rows = {"claim": ["a", "b", "c", "c"], "verdict": ["reproduced", "contradicted", None, None]}
    rows |= {"holds": [None, None, "open", "open"], "value": [0.5, np.nan, 0.25, 0.75]}
    stored = pd.DataFrame(rows)
    assert find_differing(stored, stored.assign(value=stored.value + 1e-13)) == []
    assert find_differing(stored, stored.assign(value=[0.5, np.nan, 0.25, 0.75 + 1e-8])) == ["c"]
    assert find_differing(stored, stored.assign(value=[np.nan, 0, 0.25, 0.75])) == ["a", "b"]
    assert find_differing(stored, stored.replace("reproduced", "inconclusive")) == ["a"]
    assert find_differing(stored, stored[1:]) == ["a"]


def test_what_the_run_had_at_hand_is_at_hand(monkeypatch):
    monkeypatch.setattr(corpora, "RUN_HAD", ["esnli", "spanex_snli"])
    assert corpora.at_hand("spanex_snli") and not corpora.at_hand("snli")
    assert corpora.evidence_tasks("snli") == ["spanex_snli", "esnli"]
