"""Chunks, written as a list of lists of tokens."""

from attreval.metrics.phrases import FUNCTION_WORDS


def kind_of(word):
    """mark, function or content."""
    if all(not letter.isalnum() for letter in word):
        return "mark"
    return "function" if word.lower() in FUNCTION_WORDS else "content"


def chunked(tokens):
    """Lists of words of each chunk."""
    words = []
    for token in tokens:
        if token.startswith("##") and words:
            words[-1].append(token)
        else:
            words.append([token])
    found = []
    for word in words:
        last = kind_of(found[-1][-1][0]) if found else None
        here = kind_of(word[0])
        if (
            last in ("content", "function")
            and here != "mark"
            and not (last == "content" and here == "function")
        ):
            found[-1].append(word)
        else:
            found.append([word])
    return [[token for word in chunk for token in word] for chunk in found]
