"""A real language model by template, from one GGUF file: `python language_model.py FILE`."""

import csv
import sys

import attreval as av

TEMPLATE = "Review: {text}\nSentiment:"
WORDS = {"positive": " positive", "negative": " negative"}
TEXT = "The film was a tedious, overlong mess, though the music was lovely."
PRAISE = ("a lovely", "a moving", "a brilliant", "a charming")
BLAME = ("a tedious", "an awful", "a boring", "a terrible")
ENDS = ("story", "film", "evening", "performance", "play")

model = av.load(sys.argv[1], template=TEMPLATE, labels=WORDS)
found = av.explain(model, TEXT, ["occlusion_1", "lrp", "limsse_logit"], target="positive")
for method in found.methods:
    scores = {word: of_methods[method] for word, of_methods in found[0].words}
    print(method, {word: round(score, 2) for word, score in scores.items()})
    assert max(scores["tedious"], scores["mess"]) < 0 < scores["lovely"], method
found.save("language_model.html")
rows = [(f"It was {how} {end}.", "positive") for how in PRAISE for end in ENDS]
rows += [(f"It was {how} {end}.", "negative") for how in BLAME for end in ENDS]
predicted = av.explain(model, [text for text, _ in rows], "random").predicted
right = sum(said == label for said, (_, label) in zip(predicted, rows, strict=True))
print(f"{right} of {len(rows)} reviews told")
assert right > 0.8 * len(rows)
with open("reviews.csv", "w", newline="") as file:
    csv.writer(file).writerows([("text", "label"), *rows])
