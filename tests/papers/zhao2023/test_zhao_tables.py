"""What a protocol lays out, what diagnosticity averages to, and what the study makes of values that are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from reference import models
from reference.words import tiny_words

from attreval.config import Profile
from attreval.explain import methods_in
from attreval.metrics import diagnosticity
from attreval.metrics import soft_erasure as soft
from attreval.metrics.erasure import erase
from attreval.metrics.protocol import RELEASED, Protocol, find_layout
from attreval.metrics.registry import FAITHFULNESS, METRICS
from attreval.models.scorer import Scorer
from attreval.papers.common.published import reported
from attreval.papers.zhao2023 import claims, protocol_changes, tables
from attreval.papers.zhao2023 import diagnosticity as zhao_diagnosticity

PAIR = models.instance("the film was good , not bad", "good plot")


@pytest.mark.parametrize("by, table, rows", [("method", "table2", 5), ("dataset", "table3", 4)])
def test_published_cells_average_to_the_published_tables(by, table, rows):
    """The averages of Table 6 are those of Tables 2 and 3, to the digits that are printed; so is the average's sd."""
    cells = tables.published_cells().rename(columns={"dataset": "task"})
    found = diagnosticity.average_cells(cells, "task" if by == "dataset" else "method")
    name = "table2_diagnosticity_by_fa" if by == "method" else "table3_diagnosticity_by_dataset"
    printed = reported(f"zhao_{name}").set_index("metric")
    names = (
        {ours: theirs for theirs, ours in methods_in("zhao2023").items()}
        if by == "method"
        else {n: n for n in found.index[:-2]}
    )
    assert len(found) == rows + 2
    for metric, title in ((m, METRICS[m].title) for m in FAITHFULNESS):
        for row, value in found[metric].items():
            column = {"average": "avg"}.get(row) or names.get(row, row)
            np.testing.assert_allclose(value, printed.loc[title, column], atol=0.0011, err_msg=f"{title} {row}")


def test_all_published_cells_are_there():
    cells = tables.published_cells()
    assert len(cells) == 20 and cells.notna().all(axis=None)
    assert set(cells.dataset) == set(tables.PUBLISHED_TASKS.values())


def test_a_query_is_never_erased_and_its_separators_stay_in_the_baseline(tiny):
    tokens = tiny.tokens(PAIR)
    alone, asked = find_layout(tokens, Protocol()), find_layout(tokens, Protocol(), query=1)
    assert alone.erasable.sum() == len(tokens.content) and alone.base.all()
    of_query = tokens.offsets[:, 0] == 1
    assert not (asked.erasable & (of_query | tokens.special)).any() and asked.size == 7
    places = np.flatnonzero(tokens.special)
    assert list(np.flatnonzero(~asked.base)) == list(range(places[1], places[2] + 1))
    assert not asked.beside.any()
    released = find_layout(tokens, Protocol(query_erased=True), query=1)
    assert (released.beside == of_query).all()


def test_layouts_count_what_the_protocol_says(tiny):
    tokens = tiny.tokens(models.instance("the film was good"))
    assert find_layout(tokens, Protocol()).size == 4 and find_layout(tokens, Protocol(count_first=True)).size == 5
    assert list(find_layout(tokens, Protocol(separator=True)).scored) == [1, 2, 3, 4, 5]
    assert (find_layout(tokens, Protocol(baseline="content")).base == ~tokens.special).all()
    words = tiny_words("gru").tokens(models.instance("the film"))
    assert find_layout(words, Protocol(separator=True, count_first=True)).size == 2
    with pytest.raises(ValueError, match="no token can be erased: all 4"):
        find_layout(tiny.tokens(models.instance("good film")), Protocol(), query=0)


@pytest.mark.parametrize(
    "fields, words", [({"ratios": (0.0,)}, "ratios are shares"), ({"draws": 0}, "one draw"), ({"keep_rate": 1}, "mean")]
)
def test_protocols_refuse_what_means_nothing(fields, words):
    with pytest.raises(ValueError, match=words):
        Protocol(**fields)


def test_scores_must_fit_the_layout(tiny):
    tokens = tiny.tokens(PAIR)
    for scores, protocol in ((np.zeros(3), Protocol()), (np.zeros(len(tokens.content)), Protocol(separator=True))):
        with pytest.raises(ValueError, match=f"got {len(scores)} scores"):
            next(erase(tokens, scores, protocol=protocol))
    both, document = np.arange(9.0), np.arange(7.0)
    scorer = Scorer(tiny, precision="float64")
    found = scorer.converse(("x", erase(tokens, s, query=1)) for s in (both, document))
    np.testing.assert_array_equal(found[0].comprehensiveness, found[1].comprehensiveness)


def test_drift_lowers_the_baseline_call_by_call(tiny):
    tokens, scores = tiny.tokens(PAIR), np.arange(9.0)
    scorer = Scorer(tiny, precision="float64")
    plain, first, later = scorer.converse(
        ("x", erase(tokens, scores, protocol=Protocol(drift=drift), calls=calls))
        for drift, calls in ((False, 0), (True, 0), (True, 30))
    )
    room = max(0.0, plain.full - plain.erased)
    for r in range(5):
        for found, sunk in ((first, r), (later, 30 + r)):
            rest = 1 - max(0, plain.sufficiency[r])
            floor = 1 - room - 1e-4 * (1 + sunk)
            np.testing.assert_allclose(found.normalised_sufficiency[r], np.clip((rest - floor) / (1 - floor), 0, 1))
            drop = max(0, plain.comprehensiveness[r]) / (room + 1e-4 * sunk)
            np.testing.assert_allclose(found.normalised_comprehensiveness[r], min(1, drop))


def suite(tokens, scores, name, softly):
    """Hard erasure and, if asked, soft erasure of one attribution."""
    hard = yield from erase(tokens, scores)
    if softly:
        yield from soft.soft_erase(tokens, scores, hard.target, ("x", name), Protocol(draws=4))


def test_the_soft_suite_costs_two_batched_passes_at_most(tiny):
    """Six methods, two measures, four draws: beyond hard erasure of one text at most two more passes of the model."""
    tokens = tiny.tokens(models.instance("a very very brave plot was believable - was it not ? the film is good"))
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal(len(tokens.content)) for _ in range(6)]
    passes, evaluations = [], []
    for softly in (False, True):
        recorder = models.Recorder(tiny)
        scorer = Scorer(recorder, token_budget=65_536)  # what a GPU takes at once
        scorer.converse((f"m{i}", suite(tokens, s, i, softly)) for i, s in enumerate(rows))
        passes.append(len(recorder.batches))
        evaluations.append(sum(cost.unique for cost in scorer.costs.values()))
    assert passes[1] - passes[0] <= 2
    assert evaluations[1] - evaluations[0] == 6 * 2 * 4


def test_soft_erasure_is_the_same_in_any_company(tiny, texts):
    tokens = [tiny.tokens(one) for one in texts]
    scores = [np.random.default_rng(i).standard_normal(len(t.content)) for i, t in enumerate(tokens)]

    def talks(which):
        return [("x", soft.soft_erase(tokens[i], scores[i], 1, ("t", i), Protocol(draws=2))) for i in which]

    together = Scorer(tiny, 8192).converse(talks(range(6)))
    for i, expected in enumerate(together):
        (alone,) = Scorer(tiny, 1).converse(talks([i]))
        np.testing.assert_allclose(alone.sufficiency, expected.sufficiency, atol=1e-5)
        np.testing.assert_allclose(alone.comprehensiveness, expected.comprehensiveness, atol=1e-5)


TASK = {
    "train_rows": 8,
    "dev_rows": 8,
    "test_rows": 8,
    "explain_rows": 2,
    "models": ["tiny"],
    "judges": ["faithfulness"],
}
TINY = {"layers": 1, "hidden": 8, "heads": 1, "tokenizer": "minilm"}
PROFILE = Profile.model_validate(
    {
        "name": "test",
        "models": {"tiny": TINY},
        "tasks": {"rotten_tomatoes": TASK, "snli": TASK | {"faithfulness": {"control_rows": 1, "scale_rows": 2}}},
        "explain": {"methods": ["random", "attention"]},
        "bootstrap": {"draws": 50},
    }
)


class Stage:
    """As much of a step as the study looks at."""

    profile = PROFILE


def made_up(settings=("main",), instances=4, methods=("random", "attention", "deeplift"), seed=0):
    """Values as papers.zhao2023.erasure gives them."""
    rng, rows = np.random.default_rng(seed), []
    for setting in settings:
        for task in ("rotten_tomatoes", "snli"):
            for i in range(instances):
                for m in methods:
                    roles = ["own", "permuted"] if setting == "permuted" and m != "random" else ["own"]
                    rows += [(setting, task, "tiny", 1, str(i), m, role, *rng.random(9)) for role in roles]
    columns = ["setting", "task", "model", "seed", "instance", "method", "role", "nc", "ns", "soft_nc", "soft_ns"]
    return pd.DataFrame(rows, columns=[*columns, "soft_nc_sd", "soft_ns_sd", "keep_rate", "full", "erased"])


def test_pairs_are_with_random_scores_of_the_same_text():
    values = made_up()
    pairs = zhao_diagnosticity.pair_with_rivals(values, PROFILE)
    assert len(pairs) == 2 * 4 * 2 and set(pairs.method) == {"attention", "deeplift"}
    index = values.set_index(["task", "instance", "method"])
    for row in pairs.itertuples():
        for metric in FAITHFULNESS:
            own = index.loc[(row.task, row.instance, row.method), metric]
            rival = index.loc[(row.task, row.instance, "random"), metric]
            assert getattr(row, f"win_{metric}") == (own > rival)


def test_permuted_rivals_are_the_methods_own():
    values = made_up(("main", "permuted", "ties_half"))
    values.loc[values.setting == "ties_half", list(FAITHFULNESS)] = 0.25
    pairs = zhao_diagnosticity.pair_with_rivals(values, PROFILE)
    permuted = pairs[pairs.setting == "permuted"].iloc[0]
    index = values[values.setting == "permuted"].set_index(["task", "instance", "method", "role"])
    assert permuted.nc_rival == index.loc[(permuted.task, permuted.instance, permuted.method, "permuted"), "nc"]
    half = pairs[pairs.setting == "ties_half"]
    assert (half[[f"win_{m}" for m in FAITHFULNESS]] == 0.5).all(axis=None)


def test_cells_and_summaries_are_means_of_wins():
    pairs = zhao_diagnosticity.pair_with_rivals(made_up(instances=30), PROFILE)
    cells = zhao_diagnosticity.diagnosticity_cells(pairs, Stage)
    one = cells[(cells.task == "snli") & (cells.method == "deeplift") & (cells.metric == "ns")].iloc[0]
    part = pairs[(pairs.task == "snli") & (pairs.method == "deeplift")]
    np.testing.assert_allclose(one.diagnosticity, part.win_ns.mean())
    assert one.low <= one.diagnosticity <= one.high and one.instances == 30
    table = zhao_diagnosticity.summary_table(pairs, Stage, "method").set_index(["metric", "method"])
    np.testing.assert_allclose(
        table.loc[("ns", "deeplift"), "diagnosticity"], pairs[pairs.method == "deeplift"].win_ns.mean()
    )
    soft_row = table.loc[("soft_ns", "average")]
    np.testing.assert_allclose(soft_row.difference, pairs.win_soft_ns.mean() - pairs.win_ns.mean())
    assert soft_row.pairs == 120 and 0 < soft_row.rank_sum <= 1


def test_changes_are_measured_from_the_control_instances():
    values = made_up(("main", "control", "rank", "ties_win"), instances=20)
    same = values[values.setting == "control"].drop(columns="setting")
    values = pd.concat([values[values.setting != "ties_win"], same.assign(setting="ties_win")], ignore_index=True)
    pairs = zhao_diagnosticity.pair_with_rivals(values, PROFILE)
    table = protocol_changes.changes_table(pairs, Stage).set_index("setting")
    assert set(table.index) == {"rank", "ties_win"}
    base, rank = (zhao_diagnosticity.mean_diagnosticity(pairs[pairs.setting == s]) for s in ("control", "rank"))
    for metric in FAITHFULNESS:
        np.testing.assert_allclose(table.loc["rank", f"{metric}_change"], rank[f"win_{metric}"] - base[f"win_{metric}"])
        np.testing.assert_allclose(table.loc["ties_win", f"{metric}_change"], 0, atol=1e-12)


def test_keep_rates_say_who_wins_when_nothing_else_does():
    values = made_up(("main",), instances=40)
    values["soft_ns"] = values.keep_rate
    values["soft_nc"] = 1 - values.keep_rate
    table = protocol_changes.keep_rate_table(zhao_diagnosticity.pair_with_rivals(values, PROFILE)).set_index("method")
    assert (table.follows_ns == 1).all() and (table.follows_nc == 0).all()
    values["keep_rate"] = 0.5
    assert (
        protocol_changes.keep_rate_table(zhao_diagnosticity.pair_with_rivals(values, PROFILE)).follows_ns.isna().all()
    )


def test_claims_come_from_the_cells_that_they_speak_of():
    values = made_up(instances=30)
    values["nc"], values["soft_nc"] = np.where(values.method == "random", 0.5, 0.4), 0.5
    values.loc[values.method != "random", "soft_nc"] = 0.6
    pairs = zhao_diagnosticity.pair_with_rivals(values, PROFILE)
    cells = claims.resample(pairs, Stage)
    assert cells.values.shape == (51, 2, 2, 4) and cells.pairs == 120
    np.testing.assert_allclose(claims.mean_difference(cells, claims.SOFT_NC, claims.NC), 1.0)
    found = claims.with_interval(claims.mean_difference(cells, claims.SOFT_NC, claims.NC), Stage, "all")
    np.testing.assert_allclose([found["value"], found["low"], found["high"]], 1)
    assert cells.task("SST") == 0 and cells.task("AG") is None and claims.topic_trade_off(cells) is None
    wide = pairs[pairs.task == "snli"].groupby("method", sort=False)[["win_ns"]].mean()
    np.testing.assert_allclose(cells.values[0, 1, :, claims.NS], wide.win_ns)


def test_the_papers_own_tasks_are_what_its_averages_are_taken_over():
    assert claims.tasks_of_paper(["snli", "sst2", "ag_news"]) == ["sst2", "ag_news"]
    assert claims.tasks_of_paper(["snli", "bbc"]) == ["snli", "bbc"]
    assert tables.published_dataset("bbc") == "AG" and tables.published_dataset("yelp") is None


def test_every_change_of_the_released_code_is_in_all():
    every = RELEASED["all"]
    for name, change in RELEASED.items():
        assert set(change.fields.items()) <= set(every.fields.items()), name
        assert set(change.methods.items()) <= set(every.methods.items()), name
    assert replace(Protocol(), **every.fields).inverted


@pytest.mark.parametrize("first, second, most", [(40, 5, 20), (5, 40, 20), (30, 30, 21), (4, 3, 20), (50, 0, 20)])
def test_long_pairs_are_cut_at_the_longer_text(tiny, first, second, most):
    """Zhao & Aletras 2023: a document is cut, the query about it is not; for both kinds of models."""
    texts = [" ".join(["good"] * first), " ".join(["bad"] * second)][: 2 if second else 1]
    instance = models.instance(*texts)
    short = min(first, second)
    words = replace(tiny_words("gru"), max_length=most).tokens(instance)
    pieces = replace(tiny, max_length=most + 1 + len(texts)).tokens(instance)
    for tokens in (words, pieces):
        kept = np.bincount(tokens.offsets[tokens.content, 0], minlength=2)
        assert kept.sum() == min(most, first + second)
        assert kept.min() == min(short, most // 2) and (first == second or kept.argmax() == int(second > first))
        assert tokens.dropped == first + second - kept.sum()


def test_positions_do_not_depend_on_ids():
    """RoBERTa and MPNet skip padding ids when they count positions: an erased token must move no other."""
    from transformers import MPNetConfig, MPNetForSequenceClassification

    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    network = MPNetForSequenceClassification(MPNetConfig(**sizes, intermediate_size=16)).eval()
    model = replace(models.tiny_model(), network=network, labels=("a", "b"), copies={})
    seen = []
    network.mpnet.embeddings.position_embeddings.register_forward_hook(lambda m, given, out: seen.append(given[0]))
    pad = network.mpnet.embeddings.padding_idx
    for ids in ([[5, 6, 7, 8]], [[5, pad, pad, 8]]):
        model.logits(*(torch.tensor(x) for x in (ids, [[1] * 4], [[0] * 4])))
    assert (seen[0] == seen[1]).all() and seen[0][0].tolist() == [pad + 1 + i for i in range(4)]
    network.config.position_start = 0  # as in the released code of Zhao & Aletras
    model.logits(*(torch.tensor(x) for x in ([[5, 6]], [[1] * 2], [[0] * 2])))
    assert seen[-1][0].tolist() == [0, 1]


def test_training_texts_are_cut_and_what_is_saved_reads_on(tmp_path):
    from attreval.config import TrainingSpec
    from attreval.models.training import train

    model = models.untrained_model()
    texts = [models.instance(" ".join(["good" if i % 2 else "bad"] * 30), name=str(i), label=i % 2) for i in range(8)]
    recorder = []
    network = model.network
    network.register_forward_hook(
        lambda m, args, kwargs, out: recorder.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    spec = TrainingSpec(batch_rows=4, evaluations_per_epoch=1, precision="float32", tokens=10)
    train(model, texts, texts, spec, tmp_path / "model", ("test",))
    assert set(recorder) == {10}
    assert len(model.tokens(texts[0])) == 32


def changed(**more):
    """A profile whose task has two models, with changes for one of them."""
    task = TASK | {"models": ["tiny", "other"], "train_rows": 8, "of_model": {"other": more}}
    return Profile.model_validate(
        {
            "name": "test",
            "models": {"tiny": TINY, "other": TINY},
            "tasks": {"rotten_tomatoes": task | {"training": {"epochs": 2}}},
            "explain": {"methods": ["random"]},
        }
    )


def test_a_task_changes_for_one_of_its_models():
    made = changed(
        train_rows=4, explain_rows=0, training={"tokens": 9}, also_train={"imdb": {"rows": 2, "last_words": 3}}
    )
    assert made.task_of("rotten_tomatoes", "tiny").train_rows == 8
    assert made.task_of("rotten_tomatoes", "other").train_rows == 4
    assert made.training_of("rotten_tomatoes", "other").tokens == 9
    assert made.training_of("rotten_tomatoes", "other").epochs == 2
    assert made.training_of("rotten_tomatoes", "tiny").tokens is None
    assert made.explained_runs("faithfulness") == [("rotten_tomatoes", "tiny", 1)]
    assert made.read_tasks() == ["rotten_tomatoes", "imdb"]
    assert changed(judges=["agreement"]).explained_runs("agreement") == [("rotten_tomatoes", "other", 1)]


@pytest.mark.parametrize(
    "more, words",
    [
        ({"shards": 2}, "unknown key 'shards'; allowed are: train_rows"),
        ({"training": {"tokns": 9}}, "unknown training key 'tokns'"),
        ({"train_rows": "many"}, "train_rows"),
    ],
)
def test_changes_for_one_model_are_checked(more, words):
    with pytest.raises(ValueError, match=words):
        changed(**more)
