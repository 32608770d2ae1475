"""Words over many texts: planted ones come first, with the sign that was planted."""

from __future__ import annotations

import numpy as np
import pytest

import attreval as av

WORTHS = {"lovely": 2.0, "fine": 1.0, "tedious": -2.0, "dull": -1.0}
PLAIN = ["the", "film", "was", "a", "cast", "it"]


def predict(texts):
    """Probabilities by the worths of words, whatever their case."""
    worths = [sum(WORTHS.get(word, 0.0) for word in text.lower().split()) for text in texts]
    positive = 1 / (1 + np.exp(-np.array(worths) - 0.1))
    return np.column_stack([1 - positive, positive])


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(3)
    texts = []
    for at in range(60):
        own = [*rng.choice(PLAIN, rng.integers(3, 30)), *rng.choice(list(WORTHS), 2, replace=False)]
        rng.shuffle(own)
        texts.append(" ".join(word.upper() if at % 7 == 0 else word for word in own))
    texts += [texts[0], "once lovely"]
    model = av.wrap(predict, labels=["bad", "good"])
    made = av.explain(model, texts, ["occlusion_1", "random"], target="good")
    return made.add("noise", [rng.normal(size=len(one.units)) for one in made])


def test_planted_words_come_first_with_their_sign(found):
    table = found.vocabulary("occlusion_1")
    assert list(table.columns) == ["class", "method", "word", "texts", "score", "low", "high"]
    assert list(table.word[:2]) == ["lovely", "fine"] and list(table.word[-2:]) == [
        "dull",
        "tedious",
    ]
    assert {*table["class"]} == {"good"} and {*table.method} == {"occlusion_1"}
    by_word = table.set_index("word")
    assert by_word.low["fine"] > 0 > by_word.high["dull"]
    different = {one.text.lower() for one in found}
    for word in by_word.index:
        assert by_word.texts[word] == sum(word in text.split() for text in different)
    shares = {}  # by hand
    for one in found:
        largest = np.abs(one.scores("occlusion_1")).max()
        own = [
            s
            for u, s in zip(one.units, one.scores("occlusion_1"), strict=True)
            if u.text.lower() == "fine"
        ]
        if own:
            shares[one.text] = np.mean(own) / largest
    assert by_word.score["fine"] == pytest.approx(np.mean(list(shares.values())))
    assert "once" not in by_word.index and "once" in {*found.vocabulary(least=1).word}


def test_a_word_without_effect_has_an_interval_across_nothing(found):
    table = found.vocabulary("noise")
    plain = table[table.word.isin(PLAIN)]
    assert (plain.low < plain.high).all() and ((plain.low < 0) & (plain.high > 0)).mean() > 0.6
    assert {*found.vocabulary().method} == {"occlusion_1", "random", "noise"}


def test_words_are_written_as_a_table_or_a_picture(found, tmp_path):
    assert found.save_words(tmp_path / "words.csv").read_text().startswith("class,method,word,")
    assert found.save_words(tmp_path / "words.png", "occlusion_1").read_bytes()[1:4] == b"PNG"
    said = found.save_words(tmp_path / "words.svg", "occlusion_1").read_text()
    assert "by occlusion_1" in said and "lovely" in said
    with pytest.raises(ValueError, match=r"saved as \.csv, \.png, \.svg"):
        found.save_words(tmp_path / "words.html")
    with pytest.raises(ValueError, match="no word stands in enough texts"):
        found[:1].save_words(tmp_path / "words.png")
    assert found[:1].vocabulary().empty
