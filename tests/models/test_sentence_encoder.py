"""An encoder of sentences with a linear head is one network, to be explained as any other."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference.models import draw_weights, tiny_model
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import attreval as av
from attreval.methods.run import try_methods
from attreval.models.questions import DEEPLIFT_COMPLETE, LRP
from attreval.models.scorer import Scorer, pad_rows
from attreval.models.transformer_lrp import unaccounted
from attreval.texts.given import make_instances

sentences = pytest.importorskip("sentence_transformers")
modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")

NAMES = ["good", "bad", "slow"]
WORDS = ["the", "a", "film", "plot", "was", "is", "not", "very", "good", "bad", "slow", "brave"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(3, 9))) for _ in range(60)]
COUNTS = np.array([[text.split().count(word) for word in NAMES] for text in TEXTS])
TWO = np.where(COUNTS[:, 0] > 0, "pos", "neg")
THREE = np.array(["none", "one", "more"])[COUNTS[:, 0].clip(max=2)]
MANY = (COUNTS > 0).astype(int)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT without a head."""
    path = tmp_path_factory.mktemp("encoder")
    tiny = tiny_model()
    tiny.network.bert.save_pretrained(path)
    tiny.tokenizer.save_pretrained(path)
    return str(path)


def encoder_of(folder, pooling="mean", *behind, longest=20):
    body = modules.Transformer(folder, max_seq_length=longest)
    pool = modules.Pooling(32, pooling)
    return sentences.SentenceTransformer(modules=[body, pool, *behind], device="cpu")


def projected(folder, pooling="mean"):
    """An encoder with a layer of its own, and embeddings of length 1."""
    dense = modules.Dense(32, 16)
    draw_weights(dense, 5)
    return encoder_of(folder, pooling, dense, modules.Normalize())


def logits_of(model, texts):
    """(n, K) logits of texts in one padded batch."""
    tokens = map(model.tokens, make_instances([(text,) for text in texts]))
    return Scorer(model).logits([(one.ids, one.segments) for one in tokens])


OF_LOGS = SGDClassifier(loss="log_loss", random_state=0)
HEADS = {  # head, what it learned, the names given; what its outputs are, and their names
    "two": (LogisticRegression(), TWO, None, "classes", ("neg", "pos")),
    "three": (LogisticRegression(), THREE, None, "classes", ("more", "none", "one")),
    "turned": (LogisticRegression(), TWO, ["pos", "neg"], "classes", ("neg", "pos")),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), THREE, None, "classes", None),
    "margin": (LinearSVC(), TWO, None, "value", ("pos",)),
    "margins": (LinearSVC(), THREE, None, "value", ("more", "none", "one")),
    "one by one": (
        SGDClassifier(loss="log_loss", random_state=0),
        THREE,
        None,
        "independent",
        None,
    ),
    "at once": (OneVsRestClassifier(LogisticRegression()), MANY, NAMES, "independent", None),
    "number": (Ridge(), COUNTS[:, 0] * 1.0, None, "value", ("score",)),
}


@pytest.mark.parametrize("what", HEADS)
def test_logits_are_those_of_the_head_on_the_embeddings(folder, what):
    head, learned, labels, outputs, names = HEADS[what]
    for encoder in (encoder_of(folder), projected(folder, "cls")):
        embedded = encoder.encode(TEXTS).astype(np.float64)
        head.fit(embedded, learned)
        model = av.wrap(encoder, head, labels)
        assert model.outputs == outputs and model.max_length == 20
        assert names is None or model.labels == names
        if hasattr(head, "decision_function"):
            expected = head.decision_function(embedded)
        else:
            expected = head.predict(embedded)
        logits = logits_of(model, TEXTS)
        expected = expected.reshape(len(TEXTS), -1)
        if outputs == "classes" and expected.shape[1] == 1:
            assert_allclose(logits[:, 0], -logits[:, 1], atol=1e-6)  # either class has evidence
            logits = 2 * logits[:, 1:]
        size = max(1, np.abs(expected).max())
        assert_allclose(logits / size, expected / size, atol=1e-5)
        assert np.ptp(expected) > 1e-2
    if outputs != "value":
        more = {} if outputs == "classes" else {"output": model.labels[0]}
        (found,) = av.explain(model, TEXTS[0], "random", **more)
        p = head.predict_proba(embedded[:1])
        if what != "one by one":  # whose sigmoids it makes sum to 1
            assert found.probabilities[model.labels[0]] == pytest.approx(p[0, 0], abs=1e-5)


def test_a_head_is_read_as_is_asked_or_refused(folder):
    encoder = encoder_of(folder)
    embedded = encoder.encode(TEXTS)
    two = LogisticRegression().fit(embedded, TWO)
    three = LogisticRegression().fit(embedded, THREE)
    margins = LinearSVC().fit(embedded, THREE)
    for head, asked, names in (
        (two, "value", ("pos",)),
        (two, "independent", ("pos",)),
        (three, "value", ("more", "none", "one")),
        (margins, "classes", ("more", "none", "one")),
    ):
        model = av.wrap(encoder, head, outputs=asked)
        assert (model.outputs, model.labels) == (asked, names)
    forest = RandomForestClassifier(5).fit(embedded, TWO)
    bent = SVC().fit(embedded, TWO)
    for head, more, said in (
        (three, {"outputs": "independent"}, "are not probabilities .* can be classes, value"),
        (forest, {}, "RandomForestClassifier has no decision_function; a function of texts"),
        (bent, {}, "SVC is no linear map of embeddings"),
        (three, {"labels": ["a", "b"]}, r"gives 3 numbers, and there are 2 names \(a, b\)"),
    ):
        with pytest.raises(ValueError, match=said):
            av.wrap(encoder, head, **more)
    prompted = encoder_of(folder)
    prompted.prompts = {"query": "not very good: "}
    prompted.default_prompt_name = "query"
    with pytest.raises(ValueError, match="the encoder's own embeddings give other logits"):
        av.wrap(prompted, two)
    spare = encoder_of(folder, "mean", type("Mine", (modules.Dropout,), {})())
    with pytest.raises(ValueError, match="made of Transformer, Pooling, Mine; explained are"):
        av.wrap(spare, two)


def test_a_folder_and_a_model_of_setfit_are_opened(folder, tmp_path):
    encoder = projected(folder)
    encoder.save(str(tmp_path / "saved"))
    head = LogisticRegression().fit(encoder.encode(TEXTS), TWO)
    by_folder = av.wrap(str(tmp_path / "saved"), head)
    plain = encoder_of(folder)
    unit = plain.encode(TEXTS, normalize_embeddings=True)
    other = LogisticRegression(C=50).fit(unit, MANY[:, 0])
    parts = {"model_body": plain, "model_head": other, "labels": ["bad", "good"]}
    setfit = av.wrap(SimpleNamespace(**parts, normalize_embeddings=True))
    assert setfit.labels == ("bad", "good")
    assert_allclose(2 * logits_of(setfit, TEXTS)[:, 1], other.decision_function(unit), atol=1e-4)
    expected = head.decision_function(encoder.encode(TEXTS))
    assert_allclose(2 * logits_of(by_folder, TEXTS)[:, 1], expected, atol=1e-5)


@pytest.fixture(scope="module")
def wrapped(folder):
    """An encoder that pools by the mean, with three classes; do not change it."""
    encoder = projected(folder)
    head = LogisticRegression(C=100).fit(encoder.encode(TEXTS), THREE)
    return av.wrap(encoder, head)


def test_gradients_are_those_of_the_whole_network(wrapped):
    (found,) = av.explain(wrapped, TEXTS[0], "gradient_x_input", target="one", unit="token")
    ids = torch.tensor(found.tokens.ids)[None]
    vectors = wrapped.embed(ids).detach().requires_grad_(True)
    states = wrapped.network.base_model(inputs_embeds=vectors).last_hidden_state
    dense = wrapped.network.steps[1].linear
    pooled = torch.tanh(dense(states.mean(dim=1)))
    unit = pooled / pooled.norm()
    z = (unit @ wrapped.network.weight.T + wrapped.network.bias)[0, 2]
    (slope,) = torch.autograd.grad(z, vectors)
    wanted = (slope * vectors).detach().sum(dim=2)[0].numpy()[found.tokens.content]
    assert_allclose(found.scores("gradient_x_input"), wanted, atol=1e-5)
    assert np.abs(wanted).max() > 1e-2


def test_relevance_is_complete_and_padding_changes_nothing(wrapped):
    tokens = [wrapped.tokens(one) for one in make_instances([(text,) for text in TEXTS[:4]])]
    rows = [(one.ids, one.segments) for one in tokens]
    ids, mask, segments = pad_rows(rows, wrapped.pad_id)
    vectors = wrapped.embed(ids, "float64")
    assert unaccounted(wrapped, vectors, mask, segments) < 1e-9  # LRP: all reaches words or biases
    targets = torch.zeros(len(rows), dtype=torch.long)
    scores = wrapped.relevance(vectors, mask, segments, targets, DEEPLIFT_COMPLETE)
    ends = [
        wrapped.logits(None, mask, segments, "float64", embeddings=x)[:, 0]
        for x in (vectors, torch.zeros_like(vectors))
    ]
    assert_allclose(scores.sum(dim=(1, 2)), (ends[0] - ends[1]).detach(), atol=1e-8)
    together = wrapped.relevance(vectors, mask, segments, targets, LRP)
    for at, one in enumerate(tokens):
        alone = pad_rows(rows[at : at + 1], wrapped.pad_id)
        given = (wrapped.embed(alone[0], "float64"), *alone[1:], targets[:1])
        (relevance,) = wrapped.relevance(*given, LRP)
        assert_allclose(relevance, together[at, : len(one)], atol=1e-9)
    assert len({len(one) for one in tokens}) > 1


def test_methods_apply_by_what_the_pooling_reads(folder, wrapped):
    """Of a mean no method asks the first token; where that is read, its last layer may be alone."""
    tried = try_methods(wrapped)
    why = {name: reason for name, reason in tried.items() if reason}
    assert {"attention", "attention_rollout", "value_zeroing", "attention_head"} <= {*why}
    assert all("not read off a first token" in reason for reason in why.values())
    applied = {"lrp", "deeplift_complete", "integrated_gradients", "attention_attribution"}
    assert not any(tried[name] for name in applied)
    assert not wrapped.first_alone and not wrapped.refusal("entry")
    encoder = encoder_of(folder, "cls")
    model = av.wrap(encoder, LogisticRegression().fit(encoder.encode(TEXTS), TWO))
    refused = [name for name, reason in try_methods(model).items() if reason]
    assert model.first_alone and all(name.startswith("attention_head") for name in refused[:3])
    assert "attention" not in refused
    found = av.explain(model, TEXTS[:2], ["occlusion_1", "lime"], samples=30)
    assert {"nc", "soft_nc_equal"} <= {*av.evaluate(model, found).metric}


def test_the_last_token_is_read_of_padded_rows(folder):
    encoder = encoder_of(folder, "lasttoken")
    embedded = encoder.encode(TEXTS)
    head = LogisticRegression(C=10, max_iter=1000).fit(embedded, TWO)
    model = av.wrap(encoder, head)
    assert_allclose(2 * logits_of(model, TEXTS)[:, 1], head.decision_function(embedded), atol=1e-4)
    assert "it is a decoder" in model.refusal("attention")
