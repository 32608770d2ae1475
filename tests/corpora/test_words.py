"""Every word lies in its text, none is empty or white space, and nothing else is left out."""

import re

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from attreval.texts.words import words_of as own_words
from compendium.corpora.table import word_bounds, words_of_segments, writable

anything = st.text("abDn't.,-!?12 \t\n\u00a0\u2028é\u0301好م\N{GRINNING FACE}\0", max_size=40)


def texts_of(text):
    return [text[a:b] for a, b in next(word_bounds([text]))]


@given(anything)
def test_words_hold_every_character_that_is_not_white_space_once(text):
    words = next(word_bounds([text]))
    assert (words[:, 0] < words[:, 1]).all()
    assert (words[1:, 0] >= words[:-1, 1]).all()
    assert not any(text[a:b].isspace() for a, b in words)
    covered = np.zeros(len(text), dtype=int)
    for a, b in words:
        covered[a:b] += 1
    assert all(count == 1 for count, char in zip(covered, text, strict=True) if not char.isspace())


@given(st.lists(anything, max_size=6))
def test_a_text_has_the_same_words_alone_and_among_others(texts):
    together = [words.tolist() for words in word_bounds(texts)]
    assert together == [next(word_bounds([text])).tolist() for text in texts]


def test_known_texts():
    for text, words in (
        ("", []),
        (" \t\n ", []),
        ("The cat didn't sleep.", ["The", "cat", "did", "n't", "sleep", "."]),
        ("one\ttwo\n\nthree", ["one", "two", "three"]),
        ("well-made", ["well", "-", "made"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("nul \0 inside", ["nul", "\0", "inside"]),
        (writable("a \ud83d b"), ["a", "\N{REPLACEMENT CHARACTER}", "b"]),
    ):
        assert texts_of(text) == words
        assert len(words_of_segments([text, " "])) == len(words)


def found_words(text):
    return [text[a:b] for _, a, b in own_words((text,))]


def test_each_character_is_a_word_where_no_spaces_are_written():
    text = "我很喜欢 K-pop。この映画は good"
    assert found_words(text) == [*"我很喜欢", "K-pop", *"。この映画は", "good"]


# a space parts the words that are meant
SENTENCES = {
    "Hindi": "यह फिल्म बहुत अच्छी थी ।",
    "Bengali": "ছবিটি খুব ভালো লেগেছে ।",
    "Tamil": "இந்தப் படம் மிகவும் அருமை .",
    "Arabic": "الفِيلْمُ جَمِيلٌ جِدًّا ، لَكِنَّهُ طَوِيلٌ",
    "Persian": "فیلم را می\u200cخواهم ببینم ؟",
    "Hebrew": "הַסֶּרֶט הָיָה טוֹב , אמר רמטכ״ל בבית־ספר",
    "French": "Le cafe\u0301 e\u0301tait tre\u0300s bon ,  l'apre\u0300s-midi",
    "Vietnamese": "Phim na\u0300y ra\u0302\u0301t hay",
    "Korean": "이 영화는 정말 좋았다 .",
    "Korean letters": "\u110b\u1175 \u110b\u1167\u11bc\u1112\u116a\u1102\u1173\u11ab",
    "Russian": "Фильм был очень хорош , но длинный",
    "emoji": "👩\u200d👩\u200d👧 🇫🇷 🇩🇪 👍🏽 ❤️ !",
    "tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f good",
    "Thai": "ไ ม่ ส นุ ก เ ล ย",
    "Khmer": "ខ្ញុំ ចូ ល ចិ ត្ត",
    "Burmese": "ဒီ ဇာ တ် ကား ကော င်း တ ယ်",
    "Japanese": "こ の 映 画 は よ か\u3099 っ た 。",
    "Chinese": "這 部 電 影 很 好 ！",
}


@pytest.mark.parametrize("script", SENTENCES)
def test_words_of_every_script_are_whole(script):
    words = SENTENCES[script].split()
    assert found_words(SENTENCES[script]) == words
    if script in ("Thai", "Khmer", "Burmese", "Japanese", "Chinese", "emoji"):
        assert found_words("".join(words)) == words


signs = st.characters() | st.sampled_from("👩🏽🇫🇷\u200d\u0301\u0e34\u0e33\u0600क\u094dि\u1161 \n")


@given(st.text(signs))
def test_words_cover_what_is_seen_and_cut_no_cluster(text):
    bounds = {0, *np.cumsum([len(one) for one in regex.findall(r"\X", text)])}
    words = own_words((text,))[:, 1:]
    assert {*words.ravel().tolist()} <= bounds
    assert (words[1:, 0] >= words[:-1, 1]).all()
    seen = {at for a, b in words for at in range(a, b)}
    assert all(text[at].isspace() for at in {*range(len(text))} - seen)
    assert not any(text[a:b].isspace() for a, b in words)


@given(st.text(st.characters(max_codepoint=255)))
def test_latin_words_are_what_the_stored_runs_hold(text):
    stored = re.compile(r"\w+(?:['\u2019.\-]\w+)*|[^\w\s]")
    assert found_words(text) == stored.findall(text)
