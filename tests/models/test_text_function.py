"""Any function from texts to probabilities is explained and judged by all that asks about texts
alone.
"""

import json

import numpy as np
import pytest
import torch
from reference import case, coalitions, models
from reference.functions import by_words, function_model, without

import attreval as av
from attreval.methods import METHODS, methods_for
from attreval.models.scorer import Scorer

WORDS = (
    "the",
    "film",
    "plot",
    "was",
    "slow",
    "dull",
    "fine",
    "great",
    "bad",
    "good",
    "actor",
    "music",
)
TEXT = "The film was good not so bad at all"


@pytest.fixture(scope="module")
def pipeline():
    """TF-IDF and logistic regression on texts of which a few words decide; its texts and labels
    beside it.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(150)]
    labels = [
        "pos" if sum(w in ("good", "great") for w in t.split()) > t.count("bad") else "neg"
        for t in texts
    ]
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels), texts, labels


def test_a_pipeline_is_explained_as_brute_force_explains_it(pipeline):
    """Occlusion and omission by each word, Shapley values over all 2^n texts."""
    for mask in [None, "UNK"]:
        with case(mask):
            predict = pipeline[0].predict_proba
            model = av.wrap(predict, labels=("neg", "pos"), mask=mask)
            (found,) = av.explain(
                model,
                TEXT,
                ["occlusion_1", "omission_1", "kernel_shap"],
                target="pos",
                samples=1000,
            )
            n = len(TEXT.split())
            whole = predict([TEXT])[0]
            np.testing.assert_allclose(list(found.probabilities.values()), whole, atol=1e-12)
            for name, put in (("occlusion_1", mask), ("omission_1", None)):
                left = predict([without(TEXT, {at}, put) for at in range(n)])
                np.testing.assert_allclose(
                    found.scores(name), np.log(whole[1]) - np.log(left[:, 1]), atol=1e-9
                )
            gone = [{at for at in range(n) if not code >> at & 1} for code in range(2**n)]
            values = predict([without(TEXT, some, mask) for some in gone])[:, 1]
            expected = coalitions.shapley_by_subsets(values, n)
            np.testing.assert_allclose(found.scores("kernel_shap"), expected, atol=1e-9)
            assert np.abs(expected).max() > 0.05


def test_words_put_together_again_are_the_text_to_the_letter():
    heard = []

    def predict(texts):
        heard.extend(texts)
        return by_words(texts)

    text = "  'Tis  good,\n not bad... "
    pair = (" a film ", "it's\tslow ?")
    model = av.wrap(predict, labels=("no", "yes"))
    heard.clear()
    tokens = [
        model.tokens(models.instance(*([one] if isinstance(one, str) else one)))
        for one in (text, pair)
    ]
    Scorer(model).logits([(t.ids, t.segments) for t in tokens])
    assert set(heard) == {text, pair}
    heard.clear()
    av.explain(model, [text, pair], "omission_1")
    single = {"  'Tis,\n not bad... ", "Tis  good,\n not bad... "}
    double = {(" a", "it's\tslow ?"), (" a film ", "slow ?")}
    assert single | double <= {*heard}
    masked = av.wrap(predict, labels=("no", "yes"), mask="_")
    heard.clear()
    av.explain(masked, ("a film", "slow"), "occlusion_1")
    assert {("_ film", "slow"), ("a _", "slow"), ("a film", "_")} <= {*heard}


def test_every_method_of_texts_alone_explains_and_the_others_say_why_not():
    model = function_model()
    found = av.explain(model, ["the film was good", ("not bad", "so slow")], "all", samples=20)
    assert found.methods == methods_for("function") and not found[0].left_out
    assert {"lime", "kernel_shap", "limsse_class", "occlusion_3"} <= {*found.methods}
    assert av.explain(model, "good film").methods == ["occlusion_1", "lime"]
    others = [m for m in METHODS.values() if m.kind in ("gradient", "attention", "propagation")]
    assert len(others) > 30
    for method in others:
        with pytest.raises(
            ValueError, match=f"'{method.name}' does not apply to function .* it asks for "
        ):
            av.explain(model, "good film", method.name)


def test_metrics_that_disturb_vectors_are_left_out_or_refused_by_name():
    model = function_model()
    found = av.explain(model, ["the film was good", "not bad at all"], ["occlusion_1", "lime"])
    table = av.evaluate(model, found)
    assert {"nc", "ns", "comprehensiveness"} <= {*table.metric} and not {"soft_nc", "soft_ns"} & {
        *table.metric
    }
    (nc,) = table[(table.metric == "comprehensiveness") & (table.method == "occlusion_1")]["mean"]
    assert nc > 0
    with pytest.raises(
        ValueError, match=r"the metric 'soft_nc' disturbs vectors .* a function from texts to prob"
    ):
        av.evaluate(model, found, ["nc", "soft_nc"])


def test_a_pipeline_and_labelled_texts_give_a_recommendation(pipeline, tmp_path):
    estimator, texts, labels = pipeline
    model = av.wrap(estimator.predict_proba)
    assert model.labels == ("neg", "pos")
    assert av.wrap(estimator.predict_proba, labels=["pos", "neg"]).labels == (
        "neg",
        "pos",
    )  # its columns keep theirs
    found = av.evaluate_texts(model, {"text": texts, "label": labels}, tmp_path / "out", texts=12)
    assert {*found.choice.method} == {
        "occlusion_1",
        "lime",
        "partition_shap",
        "limsse_logit",
        "random",
    }
    assert (
        json.loads((tmp_path / "out" / "settings.json").read_text())["model"]
        == "Pipeline.predict_proba"
    )


def test_a_tokenizer_of_ones_own_makes_the_words():
    model = function_model(tokenize=lambda text: text.split("-"))
    tokens = model.tokens(models.instance("so slow-but good"))
    assert tokens.texts == ("so slow", "but good")
    wrong = function_model(tokenize=lambda text: [word.upper() for word in text.split()])
    with pytest.raises(ValueError, match="`tokenize` gives 'SO', which does not come in 'so slow'"):
        av.explain(wrong, "so slow", "lime")
    with pytest.raises(ValueError, match="gives no word"):
        av.explain(function_model(tokenize=lambda text: []), "so slow", "lime")


def test_a_probability_of_zero_has_a_score():
    model = av.wrap(
        lambda texts: np.array([["good" in t, "good" not in t] for t in texts], float),
        labels=["a", "b"],
    )
    (found,) = av.explain(model, "good film", "occlusion_1")
    assert found.scores("occlusion_1")[0] > 20 and found.scores("occlusion_1")[1] == 0


def test_what_gives_no_probabilities_is_refused():
    for predict, said in (
        (lambda texts: [{"a": 1.0}] * len(texts), "gives a list that is no table of numbers"),
        (
            lambda texts: np.full((len(texts), 3), 1 / 3),
            r"shape \(2, 3\) for 2 texts; with 2 labels \(a, b\)",
        ),
        (lambda texts: np.full(len(texts), 0.5), r"shape \(2,\) for 2 texts"),
        (
            lambda texts: np.full((len(texts), 2), 0.6),
            r"gives \[0.6, 0.6\] for the text 'a good film'; .* sum to 1",
        ),
        (lambda texts: np.array([[1.5, -0.5]] * len(texts)), r"gives \[1.5, -0.5\]"),
        (lambda texts: np.array([[np.nan, 1.0]] * len(texts)), r"gives \[nan, 1.0\]"),
        (
            lambda texts: [[1 / len(texts), 1 - 1 / len(texts)]] * len(texts),
            "other probabilities beside another",
        ),
    ):
        with case(predict, said), pytest.raises(ValueError, match=said):
            av.wrap(predict, labels=["a", "b"])


def test_what_is_wrapped_wrongly_says_what_would_work(pipeline):
    estimator = pipeline[0]
    for wrong, more, said in (
        (estimator, {}, "got a Pipeline; give its method predict_proba"),
        (torch.nn.Linear(2, 2), {"labels": ["a", "b"]}, "a module is wrapped with its tokenizer"),
        (by_words, {}, r"needs labels=, two or more different names .*got \[\]"),
        (by_words, {"labels": ["a", "a"]}, "different names"),
        (by_words, {"labels": ["a", "b"], "max_length": 9}, "leave out max_length, which is 9"),
    ):
        with pytest.raises(ValueError, match=said):
            av.wrap(wrong, **more)
    tiny = models.tiny_model()
    with pytest.raises(ValueError, match="`tokenize` and `mask` are of a function"):
        av.wrap(tiny.network, tiny.tokenizer, mask="_")


def test_a_function_that_fails_later_is_told_with_its_text():
    def predict(texts):
        if any(text == "" for text in texts):
            raise KeyError("empty")
        return by_words(texts)

    model = av.wrap(predict, labels=["a", "b"])
    said = r"text 0, the method omission_7: .*predict, asked about .*KeyError: 'empty'"
    with pytest.raises(RuntimeError, match=said):
        av.explain(model, "good film", "omission_7")
