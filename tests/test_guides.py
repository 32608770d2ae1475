"""The guides hold what they promise: the code of CONTRIBUTING.md runs, and the places that it names are there."""

import re
import textwrap

import numpy as np
import pytest
from reference import CHECKOUT

from attreval.methods.method import Budget
from attreval.models.scorer import Scorer
from attreval.texts.rows import Counts, Row

GUIDE = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)]


@pytest.fixture(scope="module")
def written():
    """What the guide's blocks define, run one after the other."""
    names = {}
    for block in BLOCKS:
        exec(block, names)
    return names


def test_the_method_of_the_guide_explains_a_text(written, tiny, texts):
    tokens = tiny.tokens(texts[0])
    talk = written["gradient_max"].converse(tokens, 0, Budget(), np.random.default_rng(0))
    (scores,) = Scorer(tiny).converse([("gradient_max", talk)])
    assert scores.values.shape == (len(tokens.content),) and (scores.values > 0).all()


def test_the_metric_of_the_guide_finds_a_planted_truth(written):
    verdict = written["verdicts"].iloc[0]
    assert verdict.metric == "squared_mass" and verdict.random > 0.5
    assert written["squared_mass"].about == "The share of squared positive scores that lies where the evidence must be."


def test_the_builder_of_the_guide_yields_rows(written, tmp_path):
    (tmp_path / "poems.tsv").write_text("winter\tmade-up line\nsummer\t \n", encoding="utf-8")
    counts = Counts()
    rows = list(written["build_haiku"]({"haiku/poems.tsv": tmp_path / "poems.tsv"}, counts))
    assert rows == [Row("haiku/0", "test", ("made-up line",), 1)] and counts.dropped["empty"] == 1


@pytest.mark.parametrize(
    "guide",
    [
        *("README.md", "CONTRIBUTING.md"),
        *(f"docs/{name}.md" for name in ("map", "notebooks", "own_model", "asked", "trial")),
    ],
)
def test_every_file_that_a_guide_names_is_there(guide):
    text = re.sub(r"```python.*?```", "", (CHECKOUT / guide).read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {
        name for name in re.findall(r"`([\w./]+/[\w./]*)`", text) if not re.search(r"\.(ipynb|csv|parquet|html)$", name)
    }
    named |= set(re.findall(r"\]\(([\w./-]+)\)", text))
    roots = ((CHECKOUT / guide).parent, CHECKOUT, CHECKOUT / "src" / "attreval", CHECKOUT / "src" / "compendium")
    made = ("_site/", "results/", ".venv/", "path/")
    gone = [name for name in named if not name.startswith(made) and not any((root / name).exists() for root in roots)]
    assert named and not gone
