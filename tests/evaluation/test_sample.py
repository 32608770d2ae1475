"""Which texts are asked about."""

from attreval.evaluation.sample import make_documents, read_rows
from attreval.texts.data import Columns


def test_a_seed_draws_other_texts_first_and_mixes_other_documents():
    data = {"text": [f"A {k} film. It was {k} long." for k in "bcdefghijklm"], "label": ["good", "bad"] * 6}

    def draw(*seed: int) -> tuple[list, list]:
        rows, _ = read_rows(data, Columns(), ("good", "bad"), *seed)
        return [row.segments for row in rows], make_documents(rows, *seed)

    assert draw() == draw(0)
    (texts, documents), (others, other_documents) = draw(1), draw(2)
    assert texts != others and sorted(texts) == sorted(others) and documents != other_documents
