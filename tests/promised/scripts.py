"""Texts in ten scripts: words are whole, and the planted one counts."""

import numpy as np

import attreval as av

# script -> sentence of our own, the planted word in it, how many words it has
SENTENCES = {
    "Devanagari": ("यह फिल्म अच्छी थी", "अच्छी", 4),
    "Bengali": ("ছবিটি খুব ভালো ছিল", "ভালো", 4),
    "Tamil": ("இந்தப் படம் நன்றாக இருந்தது", "நன்றாக", 4),
    "Arabic": ("كَانَ الفِيلمُ جَيِّدًا جِدًّا", "جَيِّدًا", 4),
    "Hebrew": ("הַסֶּרֶט הָיָה טוֹב מְאֹד", "טוֹב", 4),
    "Cyrillic": ("этот фильм был хорошим", "хорошим", 4),
    "Hangul": ("그 영화는 정말 좋았다", "좋았다", 4),
    "Latin, decomposed": ("le cafe\u0301 e\u0301tait tre\u0300s bon", "cafe\u0301", 5),
    "Greek": ("η ταινία ήταν καλή", "καλή", 4),
    "emoji": ("we liked it 👩‍👩‍👧 so much", "👩‍👩‍👧", 6),
}
UNSPACED = {
    "Han": ("这部电影很好", "好", 6),
    "Kana": ("とても よい えいが", "よ", 8),
    "Thai": ("หนังดีมาก", "ดี", 0),
}

for script, (text, planted, count) in (SENTENCES | UNSPACED).items():

    def predict(texts: list[str], planted: str = planted) -> np.ndarray:
        """Whether the planted word is there."""
        there = np.array([0.1 + 0.8 * (planted in one) for one in texts])
        return np.stack([1 - there, there], axis=1)

    found = av.explain(av.wrap(predict, labels=["no", "yes"]), text, ["occlusion_1", "kernel_shap"])
    words = [unit.text for unit in found[0].units]
    assert not count or len(words) == count, (script, words)
    for method in found.methods:
        top = words[int(found[0].scores(method).argmax())]
        assert top == planted, (script, method, top)
    print(script, *words, sep=" | ")
    found.save(f"{script}.png")
    found.save(f"{script}.html")
