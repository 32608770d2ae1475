"""Other libraries at court: a world whose model `transformers` opens, what is exported of it, and
values that somebody's metric gave.
"""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from attreval.cli import app
from attreval.metrics.separation import MUST
from attreval.trial import load_world
from attreval.trial.exact import decides_alone
from attreval.trial.exchange import export_worlds
from attreval.trial.measure import explain_tokens, known_worlds
from attreval.trial.run import headline, run_trial
from attreval.trial.worlds import trained

SEED = 11
TEXTS = 8
BERT = "backdoor_bert"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    written = export_worlds(folder, [BERT, "one"], TEXTS, SEED, None)
    assert [path.name for path in written] == ["texts.jsonl", "scores.jsonl", BERT]
    return folder


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_exported_model_is_that_of_the_world(exported):
    """And another training by the same seed gives the same."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    trained.backdoor_model.cache_clear()
    made = load_world(BERT, SEED, TEXTS)
    tokenizer = AutoTokenizer.from_pretrained(exported / BERT)
    network = AutoModelForSequenceClassification.from_pretrained(exported / BERT)
    texts = [row for row in read(exported / "texts.jsonl") if row["world"] == BERT]
    given = tokenizer([" ".join(row["words"]) for row in texts], return_tensors="pt")
    with torch.no_grad():
        logits = network(**given).logits
    rows = [torch.from_numpy(np.stack([text.tokens.ids for text in made.texts]))]
    ours = made.model.logits(*rows, torch.ones_like(rows[0]), torch.zeros_like(rows[0]))
    torch.testing.assert_close(logits, ours, atol=1e-5, rtol=0)
    named = [network.config.id2label[at] for at in logits.argmax(dim=1).tolist()]
    assert named == [row["target"] for row in texts]


def test_the_bert_goes_by_the_trigger_and_is_made_by_name_alone():
    made = load_world(BERT, SEED, TEXTS)
    assert min(made.measured.values()) > 0.9
    assert all(decides_alone(made.model, text) for text in made.texts)
    assert BERT not in known_worlds(None, None) and known_worlds([BERT], None) == [BERT]


def test_exported_scores_are_those_that_the_trial_judges(exported):
    rows = read(exported / "scores.jsonl")
    for name in (BERT, "one"):
        for by in explain_tokens(load_world(name, SEED, TEXTS)):
            mine = [row for row in rows if (row["world"], row["method"]) == (name, by.who)]
            assert len(mine) == TEXTS
            for row, scores in zip(mine, by.scores, strict=True):
                np.testing.assert_array_equal(row["scores"], scores)
    assert {"lime", "occlusion_1"} <= {row["method"] for row in rows}


def values_of(result, name, **more):
    """The lines of a file with what a metric gave in a trial."""
    table = result.trial.values
    for row in table[table.metric == name].itertuples():
        line = {"world": row.world, "seed": SEED, "id": row.text, "method": row.explainer}
        yield line | {"metric": name, "value": row.value} | more


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tried(**given):
    return run_trial(say=lambda line: None, **given)


@pytest.fixture(scope="module")
def ours():
    return tried(metrics=["nc"], worlds=["one", "rules"], texts=TEXTS, seed=SEED)


def test_values_of_a_metric_get_its_own_verdict(ours, tmp_path):
    path = write(tmp_path / "values.jsonl", values_of(ours, "nc"))
    result = tried(metrics=["ns"], values=path)
    assert result.own == ("nc",) and result.worlds == ("one", "rules")
    rows = [one.matrix[one.matrix.metric == "nc"] for one in (result, ours)]
    rows = [one.drop(columns="evaluations").reset_index(drop=True) for one in rows]
    pd.testing.assert_frame_equal(*rows)
    assert headline(result)[0].startswith("nc: ")
    told = CliRunner().invoke(app, ["trial", "--values", str(path), "--metric", "ns", "--out", "-"])
    assert told.exit_code == 0 and f"--seed {SEED}" in told.output and "nc: " in told.output


def test_the_direction_is_the_files_and_what_is_missing_counts_against_a_metric(ours, tmp_path):
    rows = list(values_of(ours, "nc", higher_is_better=False))
    turned = tried(metrics=["ns"], values=write(tmp_path / "turned.jsonl", rows)).matrix
    was = ours.matrix[ours.matrix.metric == "nc"].auc.to_numpy()
    np.testing.assert_allclose(turned[turned.metric == "nc"].auc, 1 - was)
    rows = [row for row in values_of(ours, "nc") if row["method"] in ("oracle", *MUST)]
    rows[0]["value"] = None
    del rows[1]
    few = tried(metrics=["ns"], values=write(tmp_path / "few.jsonl", rows)).matrix
    row = few[(few.metric == "nc") & (few.world == "one")].iloc[0]
    assert row.known == 1 - 2 / TEXTS and "gives no value on 25% of texts" in row.why
    assert np.isnan(row.decoy) and np.isnan(row.adversarial)


WRONG = [  # a change of the first row -> what is said of it
    ({"world": "two"}, "row 1: unknown world 'two'; there are: one"),
    ({"metric": None}, "row 1: no metric; it has: world, seed"),
    ({"value": "high"}, "row 1: `value` is a number, or null where there is none; got 'high'"),
    ({"higher_is_better": "no"}, "row 1: `higher_is_better` is true or false"),
    ({"higher_is_better": False}, "row 2: `higher_is_better` is true or false, the same for all"),
    ({"id": "one 11 1"}, "row 2: a second value of 'nc' for 'oracle' on 'one 11 1'"),
    ({"id": "one 11 99"}, "is for 'oracle' on 'one 11 99', which this trial has not"),
    ({"method": "grad"}, "is for 'grad' on 'one 11 0', which this trial has not"),
    ({"seed": 3}, "holds texts of 2 seeds"),
    ({"value": float("inf")}, "metric 'nc' gives inf for oracle on 'one 11 0'"),
]


def test_values_that_do_not_fit_are_told(ours, tmp_path):
    known = list(values_of(ours, "nc"))
    path = tmp_path / "values.jsonl"
    for change, said in WRONG:
        write(path, [known[0] | change, *known[1:]])
        with pytest.raises(ValueError) as told:
            tried(metrics=["ns"], values=path, texts=TEXTS)
        assert said in str(told.value), told.value
    write(path, [row for row in known if row["method"] != "reversed"])
    with pytest.raises(ValueError, match="'nc' has no value for 'reversed' in 'one'; a verdict"):
        tried(metrics=["ns"], values=path)
    write(path, known)
    with pytest.raises(ValueError, match="the metric 'nc' has the name of one"):
        tried(metrics=["nc"], values=path)
    with pytest.raises(
        FileNotFoundError, match="values are jsonl with world, seed, id, method and"
    ):
        tried(values=tmp_path / "none.jsonl")
