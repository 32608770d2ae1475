"""Any function from texts to probabilities is explained and judged by all that asks about texts
alone.
"""

import json

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import case, coalitions, models
from reference.functions import by_words, function_model, without
from scipy.special import logit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import attreval as av
from attreval.evaluation.texts import instance_of_row
from attreval.methods import METHODS, methods_for
from attreval.texts.rows import Row

TELLING = ["good", "great", "bad"]
WORDS = [*TELLING, "the", "film", "plot", "was", "slow", "dull", "fine"]
TEXT = "The film was good not so bad at all"


@pytest.fixture(scope="module")
def pipeline():
    """TF-IDF and logistic regression on texts of which a few words decide, its texts and labels."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(150)]
    worths = [t.count("good") + t.count("great") - t.count("bad") for t in texts]
    labels = ["pos" if worth > 0 else "neg" for worth in worths]
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels), texts, labels


def test_a_pipeline_is_explained_as_brute_force_explains_it(pipeline):
    """Occlusion and omission by each word, Shapley values over all 2^n texts."""
    predict = pipeline[0].predict_proba
    n = len(TEXT.split())
    whole = predict([TEXT])[0]
    names = ["occlusion_1", "omission_1", "kernel_shap"]
    for mask in (None, "UNK"):
        with case(mask):
            model = av.wrap(predict, labels=("neg", "pos"), mask=mask)
            (found,) = av.explain(model, TEXT, names, target="pos", samples=1000)
            assert_allclose(list(found.probabilities.values()), whole, atol=1e-12)
            for name, put in (("occlusion_1", mask), ("omission_1", None)):
                left = predict([without(TEXT, {at}, put) for at in range(n)])[:, 1]
                expected = np.log(whole[1]) - np.log(left)
                assert_allclose(found.scores(name), expected, atol=1e-9)
            gone = [{at for at in range(n) if not code >> at & 1} for code in range(2**n)]
            values = predict([without(TEXT, some, mask) for some in gone])[:, 1]
            expected = coalitions.shapley_by_subsets(values, n)
            assert_allclose(found.scores("kernel_shap"), expected, atol=1e-9)
            assert np.abs(expected).max() > 0.05


def test_words_put_together_again_are_the_text_to_the_letter():
    heard = set()

    def predict(texts):
        heard.update(texts)
        return by_words(texts)

    def explain(given, method, **more):
        model = av.wrap(predict, labels=("no", "yes"), **more)
        heard.clear()
        av.explain(model, given, method)
        return heard

    text = "  'Tis  good,\n not bad... "
    pair = (" a film ", "it's\tslow ?")
    single = {text, "  'Tis,\n not bad... ", "Tis  good,\n not bad... "}
    double = {pair, (" a", "it's\tslow ?"), (" a film ", "slow ?")}
    assert explain([text, pair], "random") == {text, pair}
    assert single | double <= explain([text, pair], "omission_1")
    masked = explain(("a film", "slow"), "occlusion_1", mask="_")
    assert {("_ film", "slow"), ("a _", "slow"), ("a film", "_")} <= masked


def test_every_method_of_texts_alone_explains_and_the_others_say_why_not():
    model = function_model()
    found = av.explain(model, ["the film was good", ("not bad", "so slow")], "all", samples=20)
    assert found.methods == methods_for("function") and not found[0].left_out
    assert {"lime", "kernel_shap", "limsse_class", "occlusion_3"} <= {*found.methods}
    assert av.explain(model, "good film").methods == ["occlusion_1", "lime"]
    others = [m for m in METHODS.values() if m.kind in ("gradient", "attention", "propagation")]
    assert len(others) > 30
    for method in others:
        said = f"'{method.name}' does not apply to function .* it asks for "
        with pytest.raises(ValueError, match=said):
            av.explain(model, "good film", method.name)


def test_metrics_that_disturb_vectors_are_left_out_or_refused_by_name():
    model = function_model()
    found = av.explain(model, ["the film was good", "not bad at all"], ["occlusion_1", "lime"])
    table = av.evaluate(model, found).set_index(["metric", "method"])["mean"]
    metrics = {*table.index.get_level_values(0)}
    assert {"nc", "ns", "comprehensiveness"} <= metrics and not {"soft_nc", "soft_ns"} & metrics
    assert table["comprehensiveness", "occlusion_1"] > 0
    with pytest.raises(ValueError, match="the metric 'soft_nc' disturbs vectors"):
        av.evaluate(model, found, ["nc", "soft_nc"])


def test_a_pipeline_and_labelled_texts_give_a_recommendation(pipeline, tmp_path):
    estimator, texts, labels = pipeline
    model = av.wrap(estimator.predict_proba)
    turned = av.wrap(estimator.predict_proba, labels=["pos", "neg"])
    assert model.labels == turned.labels == ("neg", "pos")  # its columns keep theirs
    found = av.evaluate_texts(model, {"text": texts, "label": labels}, tmp_path / "out", texts=12)
    judged = {"occlusion_1", "lime", "partition_shap", "limsse_logit", "random"}
    assert {*found.choice.method} == judged
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["model"] == "Pipeline.predict_proba"


def test_a_tokenizer_of_ones_own_makes_the_words():
    model = function_model(tokenize=lambda text: text.split("-"))
    tokens = model.tokens(models.instance("so slow-but good"))
    assert tokens.texts == ("so slow", "but good")
    found = av.explain(model, "so slow-but good", "omission")
    assert [word for word, _ in found[0].words] == ["so slow", "but good"]
    row = Row("1", "test", ("so slow-but good",), 0)
    assert instance_of_row(row, model).word_texts() == ["so slow", "but good"]
    for tokenize, said in (
        (lambda text: text.upper().split(), "`tokenize` gives 'SO', which does not come"),
        (lambda text: [], "gives no word"),
    ):
        with pytest.raises(ValueError, match=said):
            av.explain(function_model(tokenize=tokenize), "so slow", "lime")


def test_a_probability_of_zero_has_a_score():
    def predict(texts):
        return np.array([["good" in t, "good" not in t] for t in texts], float)

    names = ["occlusion_1", "kernel_shap"]
    (found,) = av.explain(av.wrap(predict, labels=["a", "b"]), "good film", names)
    good, film = found.scores("occlusion_1")
    assert good > 20 and film == 0
    assert list(found.remarks) == names[:1]
    assert "probability is 0, which counts as 1e-12" in found.remarks["occlusion_1"][0]


def test_what_gives_no_probabilities_is_refused():
    for predict, said in (
        (lambda texts: [{"a": 1.0}] * len(texts), "gives a list that is no table of numbers"),
        (lambda texts: np.full((len(texts), 3), 1 / 3), r"shape \(2, 3\) for 2 texts"),
        (lambda texts: np.full(len(texts), 0.5), r"shape \(2,\) for 2 texts"),
        (lambda texts: np.full((len(texts), 2), 0.6), r"gives \[0.6, 0.6\] for the text 'a good"),
        (lambda texts: np.array([[1.5, -0.5]] * len(texts)), r"gives \[1.5, -0.5\]"),
        (lambda texts: np.array([[np.nan, 1.0]] * len(texts)), r"gives \[nan, 1.0\]"),
        (lambda texts: [[1 / len(texts), 1 - 1 / len(texts)]] * len(texts), "beside another"),
    ):
        with case(said), pytest.raises(ValueError, match=said):
            av.wrap(predict, labels=["a", "b"])


def test_what_is_wrapped_wrongly_says_what_would_work(pipeline):
    estimator = pipeline[0]
    for wrong, more, said in (
        (estimator, {}, "got a Pipeline; give its method predict_proba"),
        (
            torch.nn.Linear(2, 2),
            {"labels": ["a", "b"]},
            "with its tokenizer, an encoder",
        ),
        (by_words, {}, r"needs labels=, 2 or more different names .*got \[\]"),
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


LINEAR = {
    "labels at once": (OneVsRestClassifier(LogisticRegression()), "predict_proba", "independent"),
    "a decision of two": (LinearSVC(), "decision_function", "value"),
    "a decision of three": (LinearSVC(), "decision_function", "value"),
    "a regression": (Ridge(), "predict", "value"),
}


@pytest.mark.parametrize("what", LINEAR)
def test_numbers_that_are_no_classes_are_explained_as_brute_force_explains_them(pipeline, what):
    """Occlusion is the fall of the log-odds or of the value; a single column has a name."""
    estimator, asked, outputs = LINEAR[what]
    _, texts, _ = pipeline
    counts = np.array([[text.count(word) for word in TELLING] for text in texts])
    goals = {
        "labels at once": (counts > 0).astype(int),
        "a decision of two": np.where(counts[:, 0] > 1, "pos", "neg"),
        "a decision of three": np.array(["none", "one", "more"])[counts[:, 0].clip(max=2)],
        "a regression": counts @ [1.0, 2.0, -3.0],
    }
    fitted = make_pipeline(TfidfVectorizer(), estimator).fit(texts, goals[what])
    function = getattr(fitted, asked)
    labels = TELLING if what == "labels at once" else None
    model = av.wrap(function, labels=labels, outputs=outputs)
    named = {"a decision of two": ("pos",), "a decision of three": ("more", "none", "one")}
    assert model.labels == {"labels at once": tuple(TELLING)}.get(what, named.get(what, ("score",)))
    at = len(model.labels) - 1
    name = model.labels[at]
    (found,) = av.explain(model, TEXT, ["occlusion_1", "kernel_shap"], output=name, samples=1000)

    def ask(gone):
        numbers = np.reshape(function([without(TEXT, some) for some in gone]), (len(gone), -1))
        return numbers[:, at]

    n = len(TEXT.split())
    whole = ask([set()])
    assert found.probabilities == {name: pytest.approx(whole[0])}
    score = logit if outputs == "independent" else float
    lost = [score(whole[0]) - score(one) for one in ask([{word} for word in range(n)])]
    assert_allclose(found.scores("occlusion_1"), lost, atol=1e-9)
    gone = [{word for word in range(n) if not code >> word & 1} for code in range(2**n)]
    expected = coalitions.shapley_by_subsets(ask(gone), n)
    assert_allclose(found.scores("kernel_shap"), expected, atol=1e-9)
    assert np.abs(expected).max() > 0.05
    judged = av.evaluate(model, av.explain(model, TEXT, "occlusion_1", output=name))
    assert ("nc" in {*judged.metric}) == (outputs == "independent")


def test_probabilities_of_zero_and_one_have_scores_of_one_size():
    def predict(texts):
        return np.array(["good" in text for text in texts], float)

    model = av.wrap(predict, outputs="independent")
    (found,) = av.explain(model, "good film", "occlusion_1")
    good, film = found.scores("occlusion_1")
    assert model.labels == ("score",) and film == 0
    assert good == pytest.approx(2 * logit(1 - 1e-12), rel=1e-6)


def test_a_refused_function_is_told_how_other_numbers_are_wrapped():
    for numbers, labels in (
        (np.zeros((9, 1)), ["a", "b"]),
        (np.zeros(9), ["a", "b"]),
        (np.full((9, 2), 0.9), ["a", "b"]),
        (np.full((9, 2), -1.0), ["a", "b"]),
        (np.zeros(9), None),
        (np.zeros(9), ["a"]),
    ):
        said = "outputs='independent' takes probabilities .*outputs='value' takes values"
        with pytest.raises(ValueError, match=said):
            av.wrap(lambda texts, numbers=numbers: numbers[: len(texts)], labels=labels)
    for numbers, outputs, labels, said in (
        (np.full((9, 2), 1.5), "independent", ["a", "b"], "probabilities lie between 0 and 1"),
        (np.full(9, np.nan), "value", None, "values are finite numbers"),
        (np.zeros((9, 2)), "value", None, r"needs labels=, 1 or more different names .* got \[\]$"),
        (np.zeros(9), "values", None, "outputs 'values' are not known"),
    ):
        with pytest.raises(ValueError, match=said):
            av.wrap(lambda texts, n=numbers: n[: len(texts)], labels=labels, outputs=outputs)


def test_a_function_of_pairs_alone_is_wrapped_and_one_that_fails_on_both_says_why():
    def compare(texts):
        return by_words([(first, second) for first, second in texts])

    (found,) = av.explain(av.wrap(compare, labels=["a", "b"]), [("a film", "good")], "occlusion_1")
    expected = av.explain(function_model(), [("a film", "good")], "occlusion_1")[0].words
    assert found.words == expected
    said = "asked about .'a good film'.*AttributeError: 'list' object has no attribute 'lower'; a"
    with pytest.raises(ValueError, match=said):
        av.wrap(lambda texts: texts.lower(), labels=["a", "b"])


def test_probabilities_rounded_to_two_digits_need_not_sum_to_one():
    def predict(texts):
        return [[0.33, 0.33, 0.33 + 0.02 * ("good" in text)] for text in texts]

    (found,) = av.explain(av.wrap(predict, labels=["a", "b", "c"]), "good film", "occlusion_1")
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.scores("occlusion_1") == pytest.approx([np.log(0.35 / 0.33), 0])


def test_a_tensor_that_still_learns_is_read():
    def predict(texts):
        return torch.tensor(by_words(texts), requires_grad=True)

    assert av.wrap(predict, labels=["a", "b"]).noise == 0
