"""A folder of sentence-transformers with a head of scikit-learn: `python … FOLDER`."""

import sys

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from sklearn.linear_model import LogisticRegression

import attreval as av

SENTENCES = (
    *("the {} film", "what a {} evening", "it was {}", "they gave a {} performance"),
    *(
        "we saw a {} play in the end",
        "the book is {} in all its parts",
        "a {} town",
        "how {} of them",
    ),
)
GOOD = ("superb", "wonderful", "delightful", "lovely", "excellent")
BAD = ("dull", "terrible", "tedious", "awful", "dreadful")

reader = Transformer(sys.argv[1], max_seq_length=64)
SentenceTransformer(modules=[reader, Pooling(reader.get_embedding_dimension())]).save("encoder")
encoder = SentenceTransformer("encoder")
texts = [one.format(word) for word in (*GOOD, *BAD) for one in SENTENCES]
labels = ["good"] * len(GOOD) * len(SENTENCES) + ["bad"] * len(BAD) * len(SENTENCES)
head = LogisticRegression(C=100).fit(encoder.encode(texts), labels)
model = av.wrap("encoder", head)
asked = [f"a {word} story about them" for word in (*GOOD, *BAD)]
methods = ["occlusion_1", "integrated_gradients", "lrp", "lime"]
found = av.explain(model, asked, methods)
expected = head.predict_proba(encoder.encode(asked))
said = [[one.probabilities[label] for label in head.classes_] for one in found]
assert np.allclose(said, expected, atol=1e-4)
for one in found:
    gap = one.gaps["integrated_gradients"]
    print(
        one.text,
        one.predicted,
        {m: one.units[int(one.scores(m).argmax())].text for m in methods},
        gap,
    )
for method in methods:
    tops = [one.units[int(one.scores(method).argmax())].text for one in found]
    right = sum(top in (*GOOD, *BAD) for top in tops)
    print(method, right, "of", len(tops), "with the telling word on top")
    assert right >= 0.8 * len(tops), method
print(av.evaluate(model, found, ["nc", "soft_nc", "comprehensiveness"]).round(2).to_string())
found.save("encoder.html")
