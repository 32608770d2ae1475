"""The pointing game by enumeration, and agreement by walking the tree."""

from fractions import Fraction

SINGULAR = ("VBZ", "NN")
PLURAL = ("VBP", "NNS")


def point(scores, evidence):
    """Mean hit over every choice among the highest scores."""
    highest = [at for at in range(len(scores)) if all(scores[at] >= other for other in scores)]
    return Fraction(sum(bool(evidence[at]) for at in highest), len(highest))


def word_scores(token_scores, word_of_token, words):
    """Sums over the tokens of each word, one by one; a word without a token is None."""
    out = [None] * words
    for score, word in zip(token_scores, word_of_token, strict=True):
        if word >= 0:
            out[word] = score if out[word] is None else out[word] + score
    return out


def hybrid_hit(scores, classes, predicted):
    """Poerner et al. 2018: 1 where the label of the pointed word is the predicted class; None where
    discarded.
    """
    read = [at for at, score in enumerate(scores) if score is not None]
    if predicted not in [classes[at] for at in read]:
        return None
    return point([scores[at] for at in read], [classes[at] == predicted for at in read])


def contrast(columns, better, worse, pick):
    """Mean over columns of one group's hits less the other's. columns: {method: [hit of each
    instance]} each.
    """
    found = []
    for hits in columns:
        means = {method: sum(values) / len(values) for method, values in hits.items()}
        sides = [[means[m] for m in group if m in means] for group in (better, worse)]
        if all(sides):
            one, other = (max(side) if pick == "best" else sum(side) / len(side) for side in sides)
            found.append(one - other)
    return sum(found) / len(found) if found else None


def feature(tag):
    """Poerner et al. 2018, section 4.2: the number that a tag has."""
    return 0 if tag in SINGULAR else 1 if tag in PLURAL else None


def agreements(words):
    """(subject, verb) pairs of [(tag, head, relation)]: of each noun subject, walk to the finite
    verb of its clause.
    """
    pairs = []
    for at, (tag, head, relation) in enumerate(words):
        if not relation.startswith("nsubj") or tag not in ("NN", "NNS") or head == at:
            continue
        verb = head
        for other in reversed(range(len(words))):
            if words[other][1] == head and words[other][2] in ("aux", "auxpass", "aux:pass", "cop"):
                verb = other
        if verb > at and words[verb][0] == {"NN": "VBZ", "NNS": "VBP"}[tag]:
            pairs.append((at, verb))
    return pairs


def attractors(tags, subject, verb):
    """Nouns in between of the other number."""
    other = {"NN": "NNS", "NNS": "NN"}[tags[subject]]
    return len([tag for tag in tags[subject + 1 : verb] if tag == other])
