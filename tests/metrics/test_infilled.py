"""Erasure by words that a masked language model writes: a slow twin, what is never written, and
refusals.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from reference import erasures, models
from reference.scored import ask, scored
from transformers import BertConfig, BertForMaskedLM

from attreval.metrics.erased_sets import REWRITTEN
from attreval.metrics.erasure import rationale_sizes
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import Settings
from attreval.metrics.walk import erasing_order
from attreval.models.infilling import load_infill

NAMES = ("infilled_comprehensiveness", "infilled_sufficiency")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A masked language model with random weights and the vocabulary of the tiny classifier."""
    place = tmp_path_factory.mktemp("masked")
    tokenizer = models.tiny_tokenizer()
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    network = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes))
    models.draw_weights(network, 5)
    network.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def infill(folder, tiny):
    return load_infill(folder, tiny.tokenizer)


def test_erased_places_alone_are_written_with_words_and_always_alike(tiny, infill):
    tokens = tiny.tokens(models.instance("the film was very good"))
    kept = np.random.default_rng(0).random((200, len(tokens))) < 0.5
    kept[:, tokens.special] = True
    rows = infill(tokens, kept)
    assert rows.shape == kept.shape and (np.where(kept, rows, tokens.ids) == tokens.ids).all()
    written = rows[~kept]
    assert (
        len(np.unique(written)) > 10 and not np.isin(written, tiny.tokenizer.all_special_ids).any()
    )
    np.testing.assert_array_equal(infill(tokens, kept), rows)


def test_words_are_drawn_as_the_language_model_weighs_them(tiny, folder, infill):
    tokens = tiny.tokens(models.instance("the film was good"))
    place = int(tokens.content[1])
    kept = np.ones((4000, len(tokens)), bool)
    kept[:, place] = False
    drawn = np.bincount(infill(tokens, kept)[:, place], minlength=len(tiny.tokenizer)) / len(kept)
    ids = np.where(kept[0], tokens.ids, tokens.mask_id)
    with torch.no_grad():
        logits = (
            BertForMaskedLM.from_pretrained(folder)
            .eval()(torch.tensor(ids)[None])
            .logits[0, place]
            .numpy()
        )
    logits[tiny.tokenizer.all_special_ids] = -np.inf
    chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert np.abs(drawn - chances).max() < 4 * 0.5 / np.sqrt(len(kept))


@pytest.mark.parametrize("scores", [[3, 1, 2, 0], [0, 0, 0, 0], [1]])
def test_both_metrics_equal_their_twin(tiny, exact, infill, scores):
    text = scored(
        tiny, " ".join(["film", "bad", "very", "good"][: len(scores)]), scores, infill=infill
    )
    network = tiny.at("float64")
    tokens = text.tokens
    order = erasing_order(text, "m")
    sizes = rationale_sizes(len(scores), Protocol().ratios)
    found = ask(exact, NAMES, text)
    k = int(erasures.logits(network, tokens.ids, tokens.segments).argmax())
    full = np.exp(erasures.logits(network, tokens.ids, tokens.segments))
    for name, without in zip(NAMES, (True, False), strict=True):
        kept = []
        for size in sizes:
            chosen = set(tokens.content[order[:size]].tolist())
            kept += [
                [tokens.special[p] or (p in chosen) != without for p in range(len(tokens))]
            ] * REWRITTEN
        z = [
            np.exp(erasures.logits(network, row, tokens.segments))
            for row in infill(tokens, np.array(kept))
        ]
        drops = [full[k] / full.sum() - one[k] / one.sum() for one in z]
        assert found[name] == pytest.approx(np.mean(drops), abs=1e-9)


def test_nothing_is_asked_without_an_infiller_and_nan_is_refused(tiny, exact, infill):
    assert np.isnan([*ask(exact, NAMES, scored(tiny, "good film", [1, 2])).values()]).all()
    for name in NAMES:
        with pytest.raises(ValueError, match="finite"):
            ask(exact, [name], scored(tiny, "good film", [1, np.nan], infill=infill))


def test_a_query_is_never_written_anew(tiny, exact, infill):
    seen = []
    text = scored(tiny, ("good film", "bad plot"), np.arange(4.0), settings=Settings(query=1))
    ask(
        exact,
        NAMES,
        replace(text, infill=lambda tokens, kept: seen.append(kept) or infill(tokens, kept)),
    )
    of_query = text.tokens.offsets[:, 0] == 1
    assert len(seen) == 2 and all(kept[:, of_query | text.tokens.special].all() for kept in seen)
    assert not all(kept.all() for kept in seen)


def test_another_vocabulary_and_a_folder_without_a_model_are_refused(tiny, folder, tmp_path):
    other = models.tiny_tokenizer()
    other.add_tokens(["zebra"])
    with pytest.raises(ValueError, match="another vocabulary than the classifier"):
        load_infill(folder, other)
    with pytest.raises(FileNotFoundError, match="no masked language model is in"):
        load_infill(tmp_path)
    tiny.network.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="is no masked language model"):
        load_infill(tmp_path)
