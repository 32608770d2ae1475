"""Every architecture gives transformers' own logits however it is read; every method explains it or
says why not.
"""

import functools
from itertools import product

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import architectures as shapes
from reference import case
from reference.models import instance

import attreval as av
from attreval.core.alignment import to_words, tokenize
from attreval.methods import METHODS, run
from attreval.methods.run import LEAST, explain_instances, try_methods
from attreval.metrics.erasure import erase
from attreval.models.checks import probe_texts
from attreval.models.loading import examine_model, load_classifier
from attreval.models.questions import SoftErasure
from attreval.models.scorer import Scorer

DECODERS = {"gpt2", "gpt2_padded", "llama", "llama_padded", "qwen2", "qwen3"}
PLAIN = {"bert", "distilbert", "electra", "mpnet", "roberta", "xlm_roberta"}
FIRST = {"attention", "scaled_attention", "scaled_attention_squared"}
HEADS = {"attention_head", "attention_head_pairs", "attention_head_spans", "attention_combined"}
LINKS = {"attention_attribution", "attention_attribution_spans", "gradients_combined"}
MIXED = {"attention_rollout", "value_zeroing"}
# zero embeddings are states of zeros, which cannot be normalised
DEGENERATE = {"deeplift_complete"}
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
# the layers of another kind, with other tokens
ALIKE = {"electra", "xlm_roberta", "gpt2_padded", "llama_padded"}
WHOLLY_TRIED = ("bert", "llama", "t5")
REFUSABLE = set().union(*REFUSED.values())
PROBES = {"gradient_x_input", "lrp", "lrp_cp", "gim", "deeplift", "occlusion_1", "omission_3"}
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


def test_each_way_of_reading_gives_its_own_logits(loaded):
    pair = instance("the film", "was not good")
    long = instance("the film was good " * 30)  # it is cut where there are fewer positions
    texts = [*TEXTS, pair, long]
    for kind in shapes.KINDS:
        close = 1e-6 if kind == "longformer" else 1e-9  # its attention is computed in float32
        with case(kind):
            model = loaded(kind)
            expected = np.stack([own(model, *one.segments) for one in texts])
            assert np.ptp(expected, axis=0).max() > 1e-2  # the texts differ
            for at in (slice(None), *(slice(n, n + 1) for n in range(len(texts)))):
                ids, *more = padded(model, texts[at])
                vectors = model.embed(ids, "float64")
                with torch.no_grad():
                    by_ids = model.logits(ids, *more, "float64")
                    by_vectors = model.logits(None, *more, "float64", embeddings=vectors)
                assert_allclose(by_ids, expected[at], atol=close)
                assert_allclose(by_vectors, expected[at], atol=close)


def test_every_method_explains_it_or_says_why(loaded, monkeypatch):
    """All methods on an encoder, a decoder and an encoder-decoder; elsewhere a few more than what
    may be refused.
    """
    of_networks = {name: one for name, one in METHODS.items() if "transformer" in one.families}
    few = {name: one for name, one in of_networks.items() if name in REFUSABLE | PROBES}
    for kind in (kind for kind in shapes.KINDS if kind not in ALIKE):
        with case(kind):
            model = loaded(kind)
            tried = of_networks if kind in WHOLLY_TRIED else few
            monkeypatch.setattr(run, "METHODS", tried)
            found = try_methods(model)
            assert set(found) == set(tried)
            assert {name for name, reason in found.items() if reason} == REFUSED[kind]
            assert all(len(reason) > 40 for reason in found.values() if reason)
            for name in sorted(REFUSED[kind])[:1]:
                with pytest.raises(ValueError, match=f"^x, {name}: "):
                    explain_instances(Scorer(model), TEXTS, [name], LEAST)


def test_scores_do_not_depend_on_the_texts_beside(loaded):
    some = {"gradient_x_input", "deeplift", "integrated_gradients", "integrated_gradients_zero"}
    some |= {"lime", "lrp", "lrp_cp", "gim", "deeplift_complete"}
    for kind in ("bert", "bart", "gpt2_padded", "llama", "xlnet", "t5"):
        with case(kind):
            scorer = Scorer(loaded(kind), precision="float64")
            close = 1e-6 if kind in IN_FLOAT32 else 1e-9
            names = sorted(some - REFUSED[kind])
            together = explain_instances(scorer, TEXTS, names, LEAST)
            for one, there in zip(TEXTS, together, strict=True):
                (alone,) = explain_instances(scorer, [one], names, LEAST)
                for name in names:
                    scores = alone.attributions[name].scores
                    size = np.abs(scores).max()
                    assert size > 0
                    beside = there.attributions[name].scores
                    assert_allclose(beside, scores, atol=close * size)


def test_an_erased_last_token_is_still_the_one_that_is_read(loaded):
    """transformers would look for the last token that is no padding, and find another one."""
    for kind in sorted(DECODERS):
        with case(kind):
            model = loaded(kind)
            tokens = model.tokens(TEXTS[1])
            network = model.at("float64")
            erased = tokens.ids.copy()
            erased[-1] = tokens.pad_id
            rows = [(erased, tokens.segments), (tokens.ids[:2], tokens.segments[:2])]
            found = Scorer(model, precision="float64").logits(rows)[0]
            body = network.model if hasattr(network, "model") else network.transformer
            with torch.no_grad():
                states = body(torch.from_numpy(erased)[None]).last_hidden_state
                expected = network.score(states[0, -1]).numpy()
            assert_allclose(found, expected, atol=1e-9)


def test_metrics_erase_to_padding_and_methods_to_the_mask(loaded):
    model = loaded("bert")
    tokens = model.tokens(TEXTS[1])
    names = model.tokenizer.convert_ids_to_tokens
    assert names([tokens.pad_id, tokens.mask_id]) == ["[PAD]", "[MASK]"]
    asked = next(erase(tokens, np.arange(len(tokens.content)), (0.5,)))
    assert set(asked.ids[1]) == {tokens.pad_id}
    assert examine_model(model)["metrics erase to"] == "'[PAD]'"


def test_without_a_mask_token_they_erase_to_what_is_nearest_to_leaving_tokens_out(loaded):
    """Told by a plain loop in float64, of the two texts that every model is tried out with."""
    for kind in ("gpt2", "llama_padded", "t5"):
        with case(kind):
            model = loaded(kind)
            scorer = Scorer(model, precision="float64")

            def centred(ids, scorer=scorer):
                scores = scorer.logits([(np.array(ids), np.zeros(len(ids), np.int64))])[0]
                return scores - scores.mean()

            apart = dict.fromkeys(model.distances, 0.0)
            for text in probe_texts(model):
                inner = text.content.tolist()
                sets = [inner[::3], inner[1::3], inner[2::3], inner]
                sets = [gone for gone in sets if len(gone) < len(text)]
                for gone in sets:
                    left = centred([t for i, t in enumerate(text.ids) if i not in gone])
                    for one in apart:
                        filled = [one if i in gone else t for i, t in enumerate(text.ids)]
                        apart[one] += np.abs(centred(filled) - left).mean() / len(sets) / 2
            assert_allclose(list(model.distances.values()), list(apart.values()), atol=1e-5)
            nearest = min(apart, key=apart.get)
            tokens = model.tokens(TEXTS[1])
            assert len(apart) > 1 and tokens.mask_id == tokens.pad_id == nearest
            said = examine_model(model)["tokens are erased to"]
            token = model.tokenizer.convert_ids_to_tokens(nearest)
            assert said.startswith(f"{token!r}, nearest to leaving tokens out")


def test_what_tokens_are_erased_to_may_be_named(tmp_path):
    folder = shapes.save_tiny("gpt2", tmp_path / "gpt2")
    model = av.load(folder, erase=" good", device="cpu")
    tokens = model.tokens(TEXTS[1])
    assert model.tokenizer.convert_ids_to_tokens([tokens.mask_id, tokens.pad_id]) == ["Ġgood"] * 2
    with pytest.raises(ValueError, match="erase=' good film' is 2 tokens"):
        av.load(folder, erase=" good film", device="cpu")


def test_a_text_of_which_nothing_is_left_is_read_as_one_blank_token(loaded):
    scorer = Scorer(loaded("gpt2"))
    blank = np.array([scorer.model.erasing])
    none = np.zeros(0, np.int64)
    alone = scorer.logits([(none, none)])
    scorer.forget()
    with_others = scorer.logits([(none, none), (blank, blank * 0)])
    assert_allclose(with_others, np.repeat(alone, 2, axis=0), atol=1e-6)
    (found,) = explain_instances(scorer, [instance("film")], ["omission_7"], LEAST)
    assert np.isfinite(found.attributions["omission_7"].scores).all()


def test_soft_erasure_of_nothing_changes_nothing(loaded):
    for kind in (kind for kind in shapes.KINDS if kind not in ("bart", "t5")):
        close = 1e-6 if kind == "longformer" else 1e-9
        scorer = Scorer(loaded(kind), precision="float64")
        tokens = scorer.model.tokens(TEXTS[1])
        text = (tokens.ids, tokens.segments)
        whole = scorer.logits([text])[0]
        strengths = np.ones((2, len(tokens)))
        strengths[1, 1] = 0.3
        for how in ("keep",) if kind in DECODERS | {"longformer"} else ("keep", "attend"):
            with case(kind, how):
                (found,) = scorer.answer([SoftErasure(*text, strengths, (1, 1), how)], [""])
                assert_allclose(found[0], whole, atol=close)
                assert np.abs(found[1] - whole).max() > 1e-6


def test_what_cannot_be_disturbed_says_so(loaded):
    for kind, said in (("gpt2", "a decoder"), ("longformer", "its attention"), ("bart", "a text")):
        tokens = loaded(kind).tokens(TEXTS[0])
        whole = np.ones((1, len(tokens)))
        question = SoftErasure(tokens.ids, tokens.segments, whole, (1,), "attend")
        with pytest.raises(ValueError, match=f"cannot be asked for this: .*{said}"):
            Scorer(loaded(kind)).answer([question], [""])


def test_a_text_is_cut_where_the_model_has_no_more_positions(loaded):
    """RoBERTa and its like keep two positions for padding; XLNet and T5 have no limit."""
    for kind in ("xlm_roberta", "mpnet", "longformer", "bert", "gpt2", "xlnet"):
        with case(kind):
            model = loaded(kind)
            tokens = model.tokens(instance("the film was not good " * 120))
            assert len(tokens) == model.max_length == (512 if kind == "xlnet" else 64)
            assert tokens.dropped > 0
            assert np.isfinite(Scorer(model).logits([(tokens.ids, tokens.segments)])).all()


def test_words_keep_the_pieces_inside_a_character():
    """Four bytes of one emoji are four tokens of one character, whatever the offsets."""
    text = instance("good 😀 film 😀😀 é 你好 bad👍🏽s")
    expected = [len(f" {word}".encode()) for word in text.word_texts()]
    expected[0] = expected[2] = 1  # words that the tokenizer knows
    expected[6] = 1 + len("👍🏽s".encode())
    for form, trim in product(("bytes", "bare", "bos"), (True, False)):
        with case(form, trim):
            tokens = tokenize(text, shapes.byte_tokenizer(form, trim), 200)
            assert tokens.dropped == 0
            pieces = np.bincount(tokens.word[tokens.content], minlength=len(text.words))
            assert pieces.sum() == len(tokens.content)
            # without trimming a white space may go to either side
            assert np.abs(pieces - expected).max() <= 1 - trim
            scores = np.arange(float(len(tokens)))
            scores[tokens.special] = 0
            assert np.isclose(to_words(scores, tokens, text).sum(), scores.sum())


def test_a_path_through_a_decoder_adds_up(loaded):
    """Completeness: the scores sum to the difference of the logits of text and baseline."""
    budget = LEAST.changed(path_steps=64, path_steps_most=1024, gap_tolerance=1e-4)
    for kind in ("gpt2_padded", "llama", "qwen3", "bart"):
        scorer = Scorer(loaded(kind), precision="float64")
        for one in explain_instances(scorer, TEXTS, ["integrated_gradients"], budget):
            assert abs(one.attributions["integrated_gradients"].gap) < 1e-3, kind
