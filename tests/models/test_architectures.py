"""Every architecture gives transformers' own logits however it is read; every method explains it or
says why not.
"""

import functools

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference.models import instance

from attreval.core.alignment import fill_ids, to_words, tokenize
from attreval.methods import METHODS, run
from attreval.methods.run import LEAST, explain_instances, try_methods
from attreval.metrics.erasure import erase
from attreval.models.loading import examine_model, load_classifier
from attreval.models.questions import Evaluate, SoftErasure
from attreval.models.scorer import Scorer

DECODERS = {"gpt2", "gpt2_padded", "llama", "llama_padded", "qwen2", "qwen3"}
PLAIN = {"bert", "distilbert", "electra", "mpnet", "roberta", "xlm_roberta"}
FIRST = {"attention", "scaled_attention", "scaled_attention_squared"}
HEADS = {"attention_head", "attention_head_pairs", "attention_head_spans", "attention_combined"}
LINKS = {"attention_attribution", "attention_attribution_spans", "gradients_combined"}
MIXED = {"attention_rollout", "value_zeroing"}
DEGENERATE = {
    "deeplift_complete"
}  # zero embeddings are states of zeros, which cannot be normalised
RELEASED = {"integrated_gradients_released", "deeplift_released"}
REFUSED = {
    **{kind: set() for kind in PLAIN},
    **dict.fromkeys(("albert", "deberta_v2"), HEADS),
    "modernbert": HEADS | DEGENERATE,
    **dict.fromkeys(("modernbert_mean", "xlnet"), FIRST | HEADS | MIXED | DEGENERATE),
    **dict.fromkeys(("gpt2", "gpt2_padded"), FIRST | HEADS | LINKS | MIXED),
    **dict.fromkeys(
        (DECODERS | {"longformer"}) - {"gpt2", "gpt2_padded"},
        FIRST | HEADS | LINKS | MIXED | DEGENERATE,
    ),
    "bart": RELEASED | MIXED,
    "t5": RELEASED | FIRST | HEADS | MIXED | DEGENERATE,
}
ALIKE = {
    "electra",
    "xlm_roberta",
    "gpt2_padded",
    "llama_padded",
}  # the layers of another kind, with other tokens
WHOLLY_TRIED = ("bert", "llama", "t5")
REFUSABLE = set().union(*REFUSED.values())
PROBES = {
    "gradient_x_input",
    "lrp",
    "lrp_cp",
    "gim",
    "deeplift",
    "occlusion_1",
    "omission_3",
}  # by how it is asked
IN_FLOAT32 = {"llama", "llama_padded", "t5", "longformer"}  # they compute norms or attention so
TEXTS = (instance("the film"), instance("a very slow plot , not good at all , was it ?", name="y"))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Tiny classifiers by kind, as they are loaded from folders."""

    @functools.cache
    def load(kind):
        folder = tmp_path_factory.mktemp("models") / kind
        return load_classifier(shapes.save_tiny(kind, folder), device="cpu", max_length=512)

    return load


def own(model, *segments):
    """(K,) logits of transformers' own forward pass of what its tokenizer gives, in float64."""
    given = model.tokenizer(
        *segments, return_tensors="pt", truncation=True, max_length=model.max_length
    )
    with torch.no_grad():
        return model.at("float64")(**given).logits[0].numpy()


def padded(model, texts):
    return Scorer(model).padded([(t.ids, t.segments) for t in map(model.tokens, texts)])


@pytest.mark.parametrize("kind", shapes.KINDS)
def test_each_way_of_reading_gives_its_own_logits(loaded, kind):
    model = loaded(kind)
    pair = instance("the film", "was not good")
    long = instance("the film was good " * 30)
    texts = [*TEXTS, pair, long]  # the last is cut where there are fewer positions
    expected = np.stack([own(model, *one.segments) for one in texts])
    assert np.ptp(expected, axis=0).max() > 1e-2  # the texts differ
    for batch in (texts, *([one] for one in texts)):
        ids, mask, segments = padded(model, batch)
        with torch.no_grad():
            by_ids = model.logits(ids, mask, segments, "float64")
            by_vectors = model.logits(
                None, mask, segments, "float64", embeddings=model.embed(ids, "float64")
            )
        rows = expected if len(batch) > 1 else expected[texts.index(batch[0])][None]
        for found in (by_ids, by_vectors):  # the attention of Longformer is computed in float32
            np.testing.assert_allclose(
                found.numpy(), rows, atol=1e-6 if kind == "longformer" else 1e-9
            )


@pytest.mark.parametrize("kind", [kind for kind in shapes.KINDS if kind not in ALIKE])
def test_every_method_explains_it_or_says_why(loaded, kind, monkeypatch):
    """All methods on an encoder, a decoder and an encoder-decoder; elsewhere what may be refused,
    and a few more.
    """
    model = loaded(kind)
    tried = [name for name, method in METHODS.items() if "transformer" in method.families]
    if kind not in WHOLLY_TRIED:
        tried = [name for name in tried if name in REFUSABLE | PROBES]
        monkeypatch.setattr(run, "METHODS", {name: METHODS[name] for name in tried})
    found = try_methods(model)
    assert set(found) == set(tried)
    assert {name for name, reason in found.items() if reason} == REFUSED[kind]
    assert all(len(reason) > 40 for reason in found.values() if reason)
    for name in sorted(REFUSED[kind])[:1]:
        with pytest.raises(ValueError, match=f"^x, {name}: "):
            explain_instances(Scorer(model), TEXTS, [name], LEAST)


@pytest.mark.parametrize("kind", ["bert", "bart", "gpt2_padded", "llama", "xlnet", "t5"])
def test_scores_do_not_depend_on_the_texts_beside(loaded, kind):
    names = [
        "gradient_x_input",
        "deeplift",
        "integrated_gradients",
        "integrated_gradients_zero",
        "lime",
    ]
    names += [
        name for name in ("lrp", "lrp_cp", "gim", "deeplift_complete") if name not in REFUSED[kind]
    ]
    model = loaded(kind)
    close = 1e-6 if kind in IN_FLOAT32 else 1e-9
    together = explain_instances(Scorer(model, precision="float64"), TEXTS, names, LEAST)
    for one, there in zip(TEXTS, together, strict=True):
        (alone,) = explain_instances(Scorer(model, precision="float64"), [one], names, LEAST)
        for name in names:
            scores = alone.attributions[name].scores
            assert np.abs(scores).max() > 0
            np.testing.assert_allclose(
                there.attributions[name].scores, scores, atol=close * np.abs(scores).max()
            )


@pytest.mark.parametrize("kind", sorted(DECODERS))
def test_an_erased_last_token_is_still_the_one_that_is_read(loaded, kind):
    """transformers would look for the last token that is no padding, and find another one."""
    model = loaded(kind)
    tokens = model.tokens(TEXTS[1])
    network = model.at("float64")
    erased = tokens.ids.copy()
    erased[-1] = tokens.pad_id
    rows = [(erased, tokens.segments), (tokens.ids[:2], tokens.segments[:2])]
    found = Scorer(model, precision="float64").logits(rows)[0]
    with torch.no_grad():
        states = network.model if hasattr(network, "model") else network.transformer
        expected = network.score(
            states(torch.from_numpy(erased)[None]).last_hidden_state[0, -1]
        ).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    "kind, pad, mask",
    [
        ("gpt2", "<end>", "<end>"),
        ("llama_padded", "<|endoftext|>", "<|endoftext|>"),
        ("llama", "</s>", "<unk>"),
    ]
    + [("t5", "<pad>", "<unk>"), ("roberta", "<pad>", "<mask>"), ("bert", "[PAD]", "[MASK]")],
)
def test_metrics_erase_to_padding_and_methods_to_the_mask_or_what_there_is(loaded, kind, pad, mask):
    """Not to the first id of the vocabulary, which is padding by chance alone; and check says
    which.
    """
    model = loaded(kind)
    tokens = model.tokens(TEXTS[1])
    tokenizer = model.tokenizer
    assert tokenizer.convert_ids_to_tokens([tokens.pad_id, tokens.mask_id]) == [pad, mask]
    assert (tokens.pad_id, tokens.mask_id) == fill_ids(tokenizer)
    asked = next(erase(tokens, np.arange(len(tokens.content)), (0.5,)))
    assert set(asked.ids[1]) == {tokens.pad_id}
    (said,) = [how for what, how in examine_model(model) if what == "metrics erase to"]
    assert said == repr(pad) + (
        "" if tokenizer.pad_token else ", since the tokenizer has no padding or mask token"
    )


def test_a_text_of_which_nothing_is_left_is_read_as_one_blank_token(loaded):
    model = loaded("gpt2")
    blank = np.array([fill_ids(model.tokenizer)[1]])
    none = np.zeros(0, np.int64)
    alone = Scorer(model).logits([(none, none)])
    with_others = Scorer(model).logits([(none, none), (blank, blank * 0)])
    np.testing.assert_allclose(alone[0], with_others[0], atol=1e-6)
    np.testing.assert_allclose(with_others[0], with_others[1], atol=1e-6)
    (found,) = explain_instances(Scorer(model), [instance("film")], ["omission_7"], LEAST)
    assert np.isfinite(found.attributions["omission_7"].scores).all()


@pytest.mark.parametrize("kind", [k for k in shapes.KINDS if k not in ("bart", "t5")])
def test_soft_erasure_of_nothing_changes_nothing(loaded, kind):
    model = loaded(kind)
    tokens = model.tokens(TEXTS[1])
    scorer = Scorer(model, precision="float64")
    (whole,) = scorer.answer([Evaluate(tokens.ids[None], tokens.segments)], [""])
    for kept in ("keep", "attend")[: 1 if kind in DECODERS or kind == "longformer" else 2]:
        strengths = np.ones((2, len(tokens)))
        strengths[1, 1] = 0.3
        question = SoftErasure(tokens.ids, tokens.segments, strengths, (1, 1), kept)
        (found,) = scorer.answer([question], [""])
        np.testing.assert_allclose(found[0], whole[0], atol=1e-6 if kind == "longformer" else 1e-9)
        assert np.abs(found[1] - whole[0]).max() > 1e-6


@pytest.mark.parametrize("kind", ["gpt2", "longformer", "bart"])
def test_what_cannot_be_disturbed_says_so(loaded, kind):
    tokens = loaded(kind).tokens(TEXTS[0])
    question = SoftErasure(tokens.ids, tokens.segments, np.ones((1, len(tokens))), (1,), "attend")
    with pytest.raises(
        ValueError, match=r"cannot be asked for this: (it is a decoder|its attention|a text)"
    ):
        Scorer(loaded(kind)).answer([question], [""])


@pytest.mark.parametrize("kind", ["xlm_roberta", "mpnet", "longformer", "bert", "gpt2", "xlnet"])
def test_a_text_is_cut_where_the_model_has_no_more_positions(loaded, kind):
    """RoBERTa and its like keep two positions for padding; XLNet and T5 have no limit."""
    model = loaded(kind)
    tokens = model.tokens(instance("the film was not good " * 120))
    assert (
        len(tokens) == model.max_length == (512 if kind == "xlnet" else 64) and tokens.dropped > 0
    )
    assert np.isfinite(Scorer(model).logits([(tokens.ids, tokens.segments)])).all()


@pytest.mark.parametrize("form", ["bytes", "bare", "bos"])
@pytest.mark.parametrize("trim", [True, False])
def test_words_keep_the_pieces_inside_a_character(form, trim):
    """Four bytes of one emoji are four tokens of one character: all belong to its word, whatever
    the offsets.
    """
    text = instance("good 😀 film 😀😀 é 你好 bad👍🏽s")
    tokens = tokenize(text, shapes.byte_tokenizer(form, trim), 200)
    assert tokens.dropped == 0
    pieces = np.bincount(tokens.word[tokens.content], minlength=len(text.words))
    expected = [len(f" {word}".encode()) for word in text.word_texts()]
    expected[0] = expected[2] = 1  # words that the tokenizer knows
    expected[6] = 1 + len("👍🏽s".encode())
    assert pieces.sum() == len(tokens.content)
    assert (np.abs(pieces - expected) <= 1).all()  # a white space may go to either side
    if trim:
        assert pieces.tolist() == expected
    scores = np.arange(float(len(tokens)))
    scores[tokens.special] = 0
    assert np.isclose(to_words(scores, tokens, text).sum(), scores.sum())


@pytest.mark.parametrize("kind", ["gpt2_padded", "llama", "qwen3", "bart"])
def test_a_path_through_a_decoder_adds_up(loaded, kind):
    """Completeness: the scores sum to the difference of the logits of text and baseline."""
    budget = LEAST.changed(path_steps=64, path_steps_most=1024, gap_tolerance=1e-4)
    for one in explain_instances(
        Scorer(loaded(kind), precision="float64"), TEXTS, ["integrated_gradients"], budget
    ):
        assert abs(one.attributions["integrated_gradients"].gap) < 1e-3
