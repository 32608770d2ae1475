"""What people will feed it: nothing, one word, thousands, all kinds of signs, wrong names and
labels.
"""

import numpy as np
import pytest
from reference import case
from reference.models import instance

from attreval.core.alignment import to_words
from attreval.methods import methods_for
from attreval.methods.run import LEAST, explain_instances
from attreval.metrics import erasure as faithfulness
from attreval.models.scorer import Scorer


def test_a_text_without_tokens_is_an_error(tiny):
    for segments in (("",), ("   \n\t ",), (" ", "\n")):
        with pytest.raises(ValueError, match="'empty' has nothing to explain"):
            explain_instances(Scorer(tiny), [instance(*segments, name="empty")], ["random"])


def test_one_side_may_be_empty(tiny):
    names = methods_for("transformer")
    (found,) = explain_instances(Scorer(tiny), [instance("", "good film")], names, LEAST)
    assert all(len(a.scores) == 2 for a in found.attributions.values())


ALL_KINDS = ("gradient_l2", "lrp", "occlusion_3", "lime", "partition_shap", "kernel_shap")
STRANGE = {
    "an emoji": "\N{GRINNING FACE}",
    "emoji, joined": "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET} good",
    "right to left": "مرح مر",
    "combining": "cafe\N{COMBINING ACUTE ACCENT} fi\N{COMBINING TILDE}lm",
    "wide signs": "電影 good",
    "not in the vocabulary": "ЖЩ ж",
    "a long word": "z" * 300,
    "control characters": "go\x00od\x07 \u200b film",
    "special tokens as text": "[CLS] good [SEP] [MASK]",
}


def test_strange_texts_are_explained(tiny):
    for what, text in STRANGE.items():
        one = instance(text)
        with case(what):
            (found,) = explain_instances(Scorer(tiny), [one], [*ALL_KINDS, "attention"], LEAST)
            tokens = found.tokens
            for record in found.attributions.values():
                assert len(record.scores) == len(tokens.content) >= 1
                of_words = to_words(record.on_tokens(len(tokens)), tokens, one)
                np.testing.assert_allclose(of_words.sum(), record.scores.sum(), atol=1e-9)
            erasing = faithfulness.erase(tokens, record.scores, [0.5])
            (erasure,) = Scorer(tiny).converse([("x", erasing)])
            assert np.isfinite(erasure.comprehensiveness).all()


def test_unknown_methods_and_targets_name_the_known(tiny, texts):
    with pytest.raises(ValueError, match="unknown method 'limes'; there are: random, gradient_l1"):
        explain_instances(Scorer(tiny), texts, ["limes"])
    with pytest.raises(ValueError, match="'best' is not known; there are: predicted, gold"):
        explain_instances(Scorer(tiny), texts, ["random"], target="best")


def test_target_gold_explains_the_label(tiny, texts):
    found = explain_instances(Scorer(tiny), texts, ["random"], target="gold")
    assert [e.attributions["random"].target for e in found] == [t.label for t in texts]
    predicted = explain_instances(Scorer(tiny), texts, ["random"])
    assert [e.attributions["random"].target for e in predicted] == [e.predicted for e in found]


def test_no_instances_and_no_methods(tiny, texts):
    assert explain_instances(Scorer(tiny), [], ["lime"]) == []
    assert explain_instances(Scorer(tiny), texts[:1], [])[0].attributions == {}
