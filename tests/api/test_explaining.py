"""av.explain: texts to scores, classes and contrasts, names of methods, and what is refused with a
reason.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from reference import models, words

import attreval as av
from attreval.api.explanations import COLUMNS
from attreval.api.method_names import ALIASES, DEFAULT, find_methods
from attreval.core.alignment import to_words
from attreval.evaluation.run import BUDGET
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer

TEXTS = [
    "the film was very good .",
    ("the brave film", "not unbelievably bad !"),
    "an unbelievable plot",
]
QUICK = ["gradient_x_input", "occlusion_1"]


def test_importing_the_package_loads_nothing_heavy_and_names_its_verbs():
    code = (
        "import sys, attreval; print([m for m in ('torch', 'transformers', 'pandas', 'numpy') if "
        "m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
    assert {"load", "wrap", "explain", "evaluate"} <= set(dir(av))
    with pytest.raises(AttributeError, match="no 'explane'; there are: load"):
        _ = av.explane


def test_scores_are_those_of_the_methods(tiny):
    found = av.explain(tiny, TEXTS, ["gradient_x_input", "lime"], samples=40, unit="token")
    for one in found:
        instance = models.instance(*one.instance.segments, name=one.instance.id)
        budget = Budget(lime_samples=40)
        (other,) = explain_instances(
            Scorer(tiny), [instance], found.methods, budget, ("own",), target="predicted"
        )
        assert one.predicted == tiny.labels[other.predicted] == one.target
        assert one.probabilities[one.predicted] == pytest.approx(
            other.probabilities.max(), abs=1e-6
        )
        for method in found.methods:
            np.testing.assert_allclose(
                one.scores(method), other.attributions[method].scores, atol=1e-5
            )


def test_words_hold_what_their_pieces_hold(tiny):
    by_token = av.explain(tiny, TEXTS, QUICK, unit="token")
    by_word = by_token.by("word")
    for pieces, whole in zip(by_token, by_word, strict=True):
        for method in QUICK:
            full = np.zeros(len(pieces.tokens))
            full[pieces.tokens.content] = pieces.scores(method)
            np.testing.assert_allclose(
                whole.scores(method), to_words(full, pieces.tokens, pieces.instance), atol=1e-12
            )
    (whole,), (each,) = (
        av.explain(tiny, TEXTS[2], "kernel_shap", unit=unit, samples=64)
        for unit in ("word", "token")
    )
    shared, own = (
        np.ptp(one.attributions["kernel_shap"].on_tokens(8)[3:6]) for one in (whole, each)
    )
    assert shared < 1e-9 < 1e-4 < own  # whole words are the players, or each of the pieces
    assert [u.text for u in by_token[2].units] == ["a", "n", "un", "believ", "able", "plot"]
    assert [word for word, _ in by_word.words()[2]] == ["an", "unbelievable", "plot"]
    found = [(u.text, u.segment, u.start, u.end) for u in by_word[1].units[3:5]]
    assert found == [("not", 1, 0, 3), ("unbelievably", 1, 4, 16)]


def test_a_table_with_a_row_a_text_method_and_word(tiny):
    found = av.explain(tiny, TEXTS, QUICK)
    table = found.to_pandas()
    assert tuple(table.columns) == COLUMNS and len(table) == 2 * sum(
        len(one.units) for one in found
    )
    for row in table.itertuples():
        one = found[row.text]
        assert one.instance.segments[row.segment][row.start : row.end] == row.word
        assert one.scores(row.method)[row.position] == row.score
    assert found.predicted == [one.predicted for one in found] and len(found.tokens) == 3
    assert all(sum(p.values()) == pytest.approx(1) for p in found.probabilities)
    assert [one.text for one in found[1:]] == TEXTS[1:] and len(found[:2]) == 2


def test_each_text_has_a_target_of_its_own_and_scores_the_same_in_any_company(tiny):
    methods = ["lime", "random", "gradient_x_input", "integrated_gradients"]
    targets = ["no", None, 2, "YES", "1", "no"]
    texts = [*TEXTS, *TEXTS[:1] * 3]
    done = []
    found = av.explain(
        tiny, texts, methods, target=targets, samples=30, notify=lambda *said: done.append(said[:2])
    )
    assert [one.target for one in found] == ["no", found[1].predicted, "yes", "yes", "maybe", "no"]
    assert done[-1] == (6, 6)
    for text, target, one in zip(texts, targets, found, strict=True):
        (alone,) = av.explain(tiny, [text], methods, target=target, samples=30)
        for method in methods:
            np.testing.assert_allclose(one.scores(method), alone.scores(method), atol=1e-5)
    for method in methods:
        np.testing.assert_array_equal(found[5].scores(method), found[0].scores(method))
    gold = [models.instance(TEXTS[0], name="t", label=2)]
    (other,) = explain_instances(Scorer(tiny), gold, ["gradient_x_input"], target="gold")
    scores = found.by("token")[3].scores("gradient_x_input")
    np.testing.assert_allclose(scores, other.attributions["gradient_x_input"].scores, atol=1e-5)


FEW = Budget(units=UnitSettings(shapley_samples=64))
# the last is `attreval evaluate`'s
BUDGETS = (
    None,
    FEW,
    FEW.changed(units=FEW.units.changed(unit="word")),
    BUDGET,
)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("samples", [None, 64])
def test_players_are_what_is_scored_whatever_may_be_spent(tiny, budget, samples):
    for unit, players in (("word", 3), ("token", 6)):
        (found,) = av.explain(
            tiny, TEXTS[2], "kernel_shap", unit=unit, budget=budget, samples=samples
        )
        assert len(found.attributions["kernel_shap"].features) == players
    sentences = FEW.changed(units=FEW.units.changed(unit="sentence"))
    (found,) = av.explain(
        tiny, "A good film. A bad plot.", "kernel_shap", budget=sentences, samples=samples
    )
    assert len(found.attributions["kernel_shap"].features) == 2


LINEAR = [
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_zero",
    "occlusion_1",
    "omission_1",
]
LINEAR += ["deeplift", "lrp", "lrp_cp", "gim", "limsse_logit", "scaled_attention"]
OF_WORDS = ["lrp", "deeplift", "decomposition", "gradient_x_input"]
READERS = [(models.tiny_model(), LINEAR), (words.tiny_words("qlstm"), OF_WORDS)]


@pytest.mark.parametrize("model, methods", READERS, ids=["transformer", "words"])
def test_a_contrast_is_the_difference_of_two_logits(model, methods):
    """All of these are linear in the logits, so the scores of the contrast are the difference of
    scores.
    """
    budget = Budget(path_steps=8, path_steps_most=8, limsse_samples=20, limsse_solver="exact")
    first, second, both = (
        av.explain(model, TEXTS, methods, budget=budget, unit="token", **asked)
        for asked in ({"target": "no"}, {"target": "yes"}, {"target": "no", "against": "yes"})
    )
    for one, other, contrast in zip(first, second, both, strict=True):
        for method in methods:
            expected = one.scores(method) - other.scores(method)
            np.testing.assert_allclose(contrast.scores(method), expected, atol=2e-4, err_msg=method)
        assert contrast.question == "why no rather than yes" and contrast.predicted == one.predicted
        assert abs(contrast.gaps.get("integrated_gradients", 0)) < 0.1


def test_probabilities_of_a_contrast_are_of_one_class_given_either(tiny):
    (found,) = av.explain(tiny, "good film", "kernel_shap", target="no", against="yes", samples=64)
    tokens = found.tokens
    rows = [tokens.ids, np.where(tokens.special, tokens.ids, tokens.mask_id)]
    logits = Scorer(tiny).logits([(row, tokens.segments) for row in rows])
    p = 1 / (1 + np.exp(logits[:, 2] - logits[:, 0]))
    assert found.scores("kernel_shap").sum() == pytest.approx(p[0] - p[1], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("LIME", ["lime"]),
        ("ig", ["integrated_gradients"]),
        ("Integrated Gradients", ["integrated_gradients"]),
        ("integrated-gradients", ["integrated_gradients"]),
        ("occlusion", ["occlusion_1"]),
        ("lime,occlusion-1 , LIME", ["lime", "occlusion_1"]),
        (["shap", "KernelSHAP"], ["partition_shap", "kernel_shap"]),
        (None, list(DEFAULT)),
        ("all", methods_for("transformer")),
    ],
)
def test_methods_go_by_many_names(name, found):
    assert find_methods(name, "transformer") == found
    assert all(find_methods(one) == [one] == find_methods(METHODS[one].title) for one in found)


def test_scores_are_found_by_every_name_that_was_asked_for(tiny):
    assert set(ALIASES.values()) <= set(METHODS) and not set(ALIASES) & set(METHODS)
    found = av.explain(tiny, np.array(["good film"]), ["ig", "occlusion_1"], samples=10)
    assert np.array_equal(found[0].scores("IG"), found[0].scores("integrated_gradients"))
    assert found.to_captum("ig")[0].convergence_score == found[0].gaps["integrated_gradients"]
    assert type(found[0].text) is str
    with pytest.raises(
        ValueError, match="'lime' has not explained this text; there are: integrated_gradients"
    ):
        found[0].scores("lime")


@pytest.mark.parametrize(
    ("texts", "asked", "said"),
    [
        (["good", ""], {}, "text 1 is empty"),
        (["good", " \t\n "], {}, "text 1 is empty"),
        (["good", ("film", "")], {}, "text 1, part 1 of the pair, is empty"),
        (["good", None], {}, "text 1 is None"),
        (["good", float("nan")], {}, "text 1 is nan"),
        (["good", ("a", "b", "c")], {}, "text 1 is .*a pair a tuple of two strings"),
        ([], {}, "no text to explain"),
        (5, {}, "a string, a tuple of two for a pair, or a list of these; got a int"),
        ({"text": "good"}, {}, "or a list of these; got a dict"),
        (pd.DataFrame({"text": ["good"]}), {}, "got a DataFrame: give one of its columns"),
        (["good", "\u200b"], {}, "text 1, the prediction: .*gives no token"),
        (["good"], {"methods": "limee"}, "unknown method 'limee'; .*; did you mean 'lime'"),
        (["good"], {"methods": "foo"}, "unknown method 'foo'; `attreval list methods`"),
        (["good"], {"methods": []}, "no method is named"),
        (["good"], {"methods": [3]}, "asked for by its name; got 3"),
        (["good"], {"methods": "decomposition"}, "does not apply to transformer models"),
        (["good"], {"samples": 0}, "2 or more; got 0"),
        (["good"], {"samples": -5}, "2 or more; got -5"),
        (["good"], {"samples": True}, "2 or more; got True"),
        (["good"], {"unit": "chapter"}, "there are: word, token, sentence, paragraph"),
        (["good"], {"target": "perhaps"}, "no class 'perhaps'; it has 3: 0 no, 1 maybe, 2 yes"),
        (["good"], {"target": 3}, "no class 3"),
        (["good"], {"target": -1}, "no class -1"),
        (["good", "bad"], {"target": ["no"]}, "one for each of 2 texts; got 1"),
        (["good"], {"target": "no", "against": "no"}, "against='no' is also the target for text 0"),
        (
            ["good"],
            {"methods": "attention_head", "target": 0, "against": 1},
            "text 0, the method attention_head: ",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused_with_a_reason(tiny, texts, asked, said):
    with pytest.raises(ValueError, match=said):
        av.explain(tiny, texts, **({"methods": "random"} | asked))


def test_what_the_model_makes_impossible_is_told(tiny):
    predicted = av.explain(tiny, "good", "random")[0].predicted
    with pytest.raises(
        ValueError, match=f"against='{predicted}' is what the model predicts of text 0"
    ):
        av.explain(tiny, "good", "random", against=predicted)
    broken = models.tiny_model()
    broken.network.classifier.bias.fill_(float("nan"))
    with pytest.raises(ValueError, match="text 0: the model's probabilities are no numbers"):
        av.explain(broken, "good", "random")
    for wrong in ("folder/model", torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match=r"from attreval.load\(folder\) or attreval.wrap"):
            av.explain(wrong, TEXTS, "lime")
        with pytest.raises(TypeError, match=r"got (the path 'folder/model'|a Linear)"):
            av.evaluate(wrong, av.explain(tiny, "good", "gradient_l2"))


class Falls(models.Recorder):
    """Fails where one word is read, by ids or by embeddings."""

    def __init__(self, model, word, by_ids):
        super().__init__(model)
        self.by_ids = by_ids
        self.word = model.tokenizer.convert_tokens_to_ids(word)

    def logits(self, ids, mask, segments, precision="float32", embeddings=None, **more):
        if self.by_ids and ids is not None and (ids == self.word).any():
            raise IndexError("no such place")
        if not self.by_ids and embeddings is not None:
            vector = self.model.network.get_input_embeddings().weight[self.word]
            if torch.isclose(embeddings, vector).all(dim=-1).any():
                raise IndexError("no such place")
        return self.model.logits(ids, mask, segments, precision, embeddings, **more)


@pytest.mark.parametrize(
    ("by_ids", "what"), [(True, "the prediction"), (False, "the method gradient_x_input")]
)
def test_a_crash_in_the_model_names_text_and_method(tiny, by_ids, what):
    # more than share batches
    texts = [
        *(f"good {'film ' * n}" for n in range(9)),
        "not bad",
        "bad",
    ]
    with pytest.raises(RuntimeError, match=f"^text 9, {what}: IndexError: no such place") as caught:
        av.explain(Falls(tiny, "bad", by_ids), texts, ["occlusion_1", "gradient_x_input"])
    assert isinstance(caught.value.__cause__, IndexError)


def test_sentences_are_players_and_sums(tiny):
    text = "A good film. A bad plot!\n\nNot so good"
    methods = ["kernel_shap", "occlusion_1", "bivariate_shapley"]
    tokens = av.explain(tiny, text, methods, unit="token", samples=64)
    for unit, sizes in (("sentence", [4, 4, 3]), ("paragraph", [8, 3])):
        found = av.explain(tiny, text, methods, unit=unit, samples=64)
        (one,) = found
        assert len(one.attributions["kernel_shap"].features) == len(sizes)
        ends = np.cumsum(sizes)[:-1]
        parts = np.split(replace(tokens[0], unit="word").scores("occlusion_1"), ends)
        assert one.scores("occlusion_1") == pytest.approx([part.sum() for part in parts])
        assert [len(shown.split()) for shown, _ in one.words] == {3: [3, 3, 3], 2: [6, 3]}[
            len(sizes)
        ]
        rows = found.to_pandas()
        assert list(rows[rows.method == "kernel_shap"].word) == [shown for shown, _ in one.words]
        assert [word["word"] for word in found.to_json()[0]["words"]] == [u.text for u in one.units]


def test_all_leaves_out_what_refuses_and_says_why(tiny):
    found = av.explain(tiny, "good", "all", target="no", against="yes", samples=10)
    assert "attention_head" not in found.methods and "lime" in found.methods
    assert "cannot tell two apart" in found[0].left_out["attention_head"]


def test_a_long_text_is_explained_in_pieces_for_one_class(tiny):
    sentence = "A good film and a bad plot. "
    long = sentence * 20 + "film " * 70
    ask = partial(av.explain, tiny, methods=["gradient_x_input", "lime"], samples=16)
    found = ask([long, "good"], window=True)
    (one, short) = found
    assert not one.unread and len(one.units) == 20 * 8 + 70 and not short.pieces
    texts = [long[start:end] for start, end, _ in one.pieces]
    assert all(text.endswith("plot.") for text in texts[:2]) and len(texts) > 3
    alone = ask(texts, target=one.target)
    for method in one.methods:
        each = np.concatenate([piece.scores(method) for piece in alone])
        assert one.scores(method) == pytest.approx(each, abs=1e-12)
    given = [piece.probabilities for piece in alone]
    assert [probabilities for *_, probabilities in one.pieces] == given
    assert one.probabilities[one.target] == pytest.approx(np.mean([p[one.target] for p in given]))
    assert one.target == one.predicted == max(one.probabilities, key=one.probabilities.get)
    said = ", ".join(f"{p[one.target]:.3f}" for p in given)
    assert f"probability {said}; it has not read the whole text" in found._repr_html_()
    assert [piece["start"] for piece in found.to_json()[0]["pieces"]] == [a for a, *_ in one.pieces]
    assert ask(long, window=True, target="no", unit="sentence")[0].target == "no"
    assert not ask("film " * 62, window=True)[0].pieces  # all that is read at once
    assert len(ask("film " * 63, window=True)[0].pieces) == 2
    with pytest.raises(ValueError, match="are not judged: the model reads none"):
        av.evaluate(tiny, found)


def test_ten_thousand_words_are_cut_counted_and_said(tiny):
    long = "good film " * 5000
    (found,) = av.explain(tiny, long, "gradient_x_input")
    assert len(found.units) == 62 and len(found.unread) == 9938
    assert found.unread[0].start == found.units[-1].end + 1
    assert "9938 of 10000 words were not read" in found._repr_html_()
    assert "text 0: 9938 of 10000 words were not read" in repr(av.explain(tiny, long, "random"))
    odd, seen = av.explain(tiny, ["good \ud800 film", "bad \N{GRINNING FACE}"], "gradient_x_input")
    # this tokenizer drops what it cannot read
    assert [u.text for u in odd.units] == [
        "good",
        "film",
    ]
    assert [u.text for u in odd.unread] == ["\N{REPLACEMENT CHARACTER}"]
    assert seen.units[1].text == "\N{GRINNING FACE}"


def test_progress_is_told_and_ends_at_all(tiny):
    heard = []
    av.explain(
        tiny,
        ["good"] * 3 + ["bad film"] * 8,
        "occlusion_1",
        notify=lambda *said: heard.append(said),
    )
    done = [said[0] for said in heard]
    evaluations = [said[2] for said in heard]
    assert heard[-1][:2] == (11, 11) and done == sorted(done) and evaluations == sorted(evaluations)
    # of two distinct texts: each whole, with each of its words erased
    assert evaluations[-1] == 2 + 3


def test_eight_threads_are_told_what_one_is(folder):
    """They share a module and a tokenizer; half of them wrap these anew, as a service might."""
    model = av.load(folder)
    methods = [name for name in methods_for("transformer") if name != "proxyspex"]
    texts = [(text, methods[k::8]) for text in TEXTS for k in range(8)]

    def ask(at: int) -> dict[str, np.ndarray]:
        text, some = texts[at]
        asked = av.wrap(model.network, model.tokenizer, model.labels) if at % 2 else model
        (found,) = av.explain(asked, [text], some, samples=16)
        assert (
            av.evaluate(asked, av.Explanations([found], model.labels), ["nc"], draws=2)["mean"]
            .notna()
            .all()
        )
        return {method: found.scores(method) for method in some}

    alone = [ask(at) for at in range(len(texts))]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(ask, range(len(texts))))
    for one, other in zip(alone, together, strict=True):
        for method in one:
            np.testing.assert_allclose(other[method], one[method], atol=1e-5, err_msg=method)


def test_memory_does_not_grow_from_call_to_call(tiny):
    def calls(count):
        for i in range(count):
            text = " ".join(["good", "bad", "film", "plot"][(i + j) % 4] for j in range(i % 5 + 1))
            av.explain(tiny, text, QUICK, samples=4)
        gc.collect()
        return len(gc.get_objects())

    before = calls(20)
    assert calls(40) - before < 40  # less than an object a call


def test_scores_made_elsewhere_stand_beside_ours(tiny):
    found = av.explain(tiny, TEXTS, QUICK)
    assert found.add("theirs", [np.arange(len(one.units)) for one in found]) is found
    assert found.methods == [*QUICK, "theirs"]
    found.add("pieces", [np.arange(len(one.tokens.content)) for one in found])
    for unit, name in (("word", "theirs"), ("token", "pieces")):
        for one in found.by(unit):
            np.testing.assert_allclose(one.scores(name), np.arange(len(one.units)), atol=1e-12)
    spans = [
        [(4, 8, 2.0)],
        [(1, 0, 3, -1.0), (0, 4, 9, 3.0)],
        [{"start": 3, "end": 15, "score": 5.0}],
    ]
    found.add("stretches", spans)
    assert [
        dict(found[t].words)[w]["stretches"]
        for t, w in enumerate(["film", "brave", "unbelievable"])
    ] == [2, 3, 5]
    assert [one.scores("stretches").sum() for one in found] == pytest.approx([2, 2, 5])
    assert np.count_nonzero(found[0].scores("stretches")) == 1


@pytest.mark.parametrize(
    ("name", "scores", "said"),
    [
        ("mine", [[1.0] * 4], "has 6 words .*; got 4 scores"),
        ("mine", [[1.0] * 6, [1.0]], "each of 1 texts; got scores for 2"),
        ("mine", [[1.0, float("nan"), 1, 1, 1, 1]], "number 1 is not"),
        ("mine", [["x"] * 6], "scores are numbers"),
        ("mine", [[(0, 99, 1.0)]], r"text 0: the span \[0, 0, 99\] is not in the text"),
        ("mine", [[(0, 5, 1.0), (3, 8, 1.0)]], "two scores hold character 3"),
        ("mine", [[(0, 1.0)]], "scores of characters are"),
        ("lime", [[1.0] * 6], "there are scores of 'lime' already"),
        ("random", [[1.0] * 6], "names random scores"),
    ],
)
def test_scores_that_do_not_fit_are_refused(tiny, name, scores, said):
    found = av.explain(tiny, TEXTS[0], "lime", samples=4)
    with pytest.raises(ValueError, match=said):
        found.add(name, scores)
    found.add("theirs", [[(4, 8, 1.0), (0, 4, 1.0)]])  # two that touch do not overlap


def test_scores_of_tokens_are_one_each(tiny):
    found = av.explain(tiny, TEXTS[0], "lime", samples=4)
    tokens = len(found[0].tokens)
    for wrong in ([[0.5] * (tokens - 1)], [[np.nan] * tokens], [0.5]):
        with pytest.raises(ValueError, match=f"it has {tokens} tokens, special ones included"):
            found.add_token_scores("mine", wrong)
    assert (
        found.add_token_scores("mine", [list(range(tokens))])[0].attributions["mine"].scores.max()
        == tokens - 2
    )


def test_json_holds_gaps_and_what_was_not_read(tiny, tmp_path):
    found = av.explain(tiny, ["good " * 70, "bad film"], "integrated_gradients,occlusion")
    said = json.loads(found.save(tmp_path / "new" / "x.json").read_text(encoding="utf-8"))
    assert [len(one["words"]) for one in said] == [62, 2] and [
        len(one["dropped"]) for one in said
    ] == [8, 0]
    assert list(said[1]["gaps"]) == ["integrated_gradients"]
    assert said[1]["words"][0]["scores"]["occlusion_1"] == found[1].scores("occlusion_1")[0]
    alone = av.explain(tiny, "bad film", found.methods)
    pd.testing.assert_frame_equal(found[1:].to_pandas(), alone.to_pandas(), atol=1e-5)


def test_what_was_explained_before_an_interruption_is_kept(tiny):
    texts = [f"film {at}" for at in range(20)]

    def stop(done, of, evaluations):
        if done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        av.explain(tiny, texts, "gradient_x_input", notify=stop)
    kept = stopped.value.found
    assert [one.text for one in kept] == texts[:8] and "8, in `found`" in stopped.value.__notes__[0]


def test_a_class_may_be_scored_by_its_log_probability(tiny):
    """Occlusion then tells how far it falls, which is what the probabilities say."""
    text = "the film was very good ."
    (one,) = av.explain(tiny, text, "occlusion_1", score="log_probability", unit="token")
    tokens = one.tokens
    rows = np.repeat(tokens.ids[None], len(tokens.content) + 1, axis=0)
    rows[np.arange(len(tokens.content)), tokens.content] = tokens.mask_id
    logits = torch.from_numpy(Scorer(tiny).logits([(row, tokens.segments) for row in rows]))
    logs = logits.log_softmax(dim=1)[:, tiny.labels.index(one.target)]
    np.testing.assert_allclose(one.scores("occlusion_1"), logs[-1] - logs[:-1], atol=1e-6)
    (other,) = av.explain(tiny, text, "occlusion_1", unit="token")
    assert np.abs(one.scores("occlusion_1") - other.scores("occlusion_1")).max() > 1e-3
    assert tiny.score == "logit"
    with pytest.raises(ValueError, match="score 'odds' is not known; there are: logit, log_prob"):
        av.explain(tiny, text, score="odds")
