"""The guides: the code of CONTRIBUTING.md runs, and the places that it names are there."""

import os
import re
import subprocess
import sys
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
    assert (
        written["squared_mass"].about
        == "The share of squared positive scores that lies where the evidence must be."
    )


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
    text = re.sub(
        r"```python.*?```", "", (CHECKOUT / guide).read_text(encoding="utf-8"), flags=re.DOTALL
    )
    named = {
        name
        for name in re.findall(r"`([\w./]+/[\w./]*)`", text)
        if not re.search(r"\.(ipynb|csv|parquet|html)$", name)
    }
    named |= set(re.findall(r"\]\(([\w./-]+)\)", text))
    roots = (
        (CHECKOUT / guide).parent,
        CHECKOUT,
        CHECKOUT / "src" / "attreval",
        CHECKOUT / "src" / "compendium",
    )
    made = ("_site/", "results/", ".venv/", "path/")
    gone = [
        name
        for name in named
        if not name.startswith(made) and not any((root / name).exists() for root in roots)
    ]
    assert named and not gone


ONE_FILE = """
import sys
import attreval.methods
attreval.methods.__path__.append(sys.argv[1])  # as if the files lay in the packages
import attreval.metrics
attreval.metrics.__path__.append(sys.argv[2])
import numpy as np
import attreval as av
from reference import models
from attreval.core.records import Evidence
from attreval.api.catalogue import list_methods, list_metrics
from attreval.methods import METHODS, methods_for
from attreval.metrics import METRICS
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.separation import separation
from attreval.models.scorer import Scorer
from attreval.trial.measure import PLANTED_METRICS, try_metrics
from compendium.explorer import page
from compendium.papers.joint import values
from compendium.papers.planted import tables as planted
from compendium.site.reference import methods_markdown, metrics_markdown

placed = [name for name, one in METHODS.items() if one.order or name == "gradient_max"]  # without a contributor's own
assert placed[-2:] == ["gradients_combined", "gradient_max"], "a new method stands at the end"
assert [name for name in methods_for("recurrent") if name in placed][-1] == "gradient_max"
names = list(METRICS)
others = [name for name in names if METRICS[name].judge == "pointing" and name != "squared_mass"]
assert names.index("squared_mass") == names.index(others[-1]) + 1, "a new metric stands at the end of its judge"
assert "squared_mass" in page.SHOWN
tiny = models.tiny_model()
found = av.explain(tiny, ["the film was good", "a bad plot"], ["gradient_max", "gradient_l1"])
assert (found[0].attributions["gradient_max"].scores > 0).all()
table = av.evaluate(tiny, found, marks=[[0, 0, 0, 1], [0, 1, 0]], draws=5)
rows = table[table.metric == "squared_mass"]
assert rows.method.tolist() == ["gradient_max", "gradient_l1", "random"] and rows["mean"].between(0, 1).all()
(listed,) = [row for row in list_methods() if row["name"] == "gradient_max"]
assert listed["function"] == "methods/gradient_max.py::gradient_max" and listed["source"] == "Simonyan et al. 2014"
(listed,) = [row for row in list_metrics() if row["name"] == "squared_mass"]
assert listed["python"] == "evaluate" and set(listed["computed"].values()) == {"attreval.evaluate"}
assert "{#method-gradient_max}" in methods_markdown([]) and "{#metric-squared_mass}" in metrics_markdown([])
own = try_metrics({"squared_mass": PLANTED_METRICS["squared_mass"]}, 4, worlds=["one", "additive"]).values
assert planted.planted_verdicts(separation(own, 20, 0.95)).title.tolist() == ["Squared mass"]
marks = Evidence(marks=np.array([[0.0, 0, 0, 1]]))
both = models.instance("the film was good", evidence=marks), models.instance("a plot")
texts = [ScoredText(one, tiny.tokens(one), {"lime": np.ones(len(tiny.tokens(one).content))}, 0) for one in both]
of_marked, of_bare = values.ask_metrics(Scorer(tiny), [], texts)
assert [value for _, metric, value in of_marked if metric == "squared_mass"] == [0.25]
assert "squared_mass" not in {metric for _, metric, _ in of_bare}
print("everywhere")
"""  # noqa: E501


def test_the_guides_method_and_metric_are_one_file_each_and_reported_everywhere(tmp_path):
    places = [tmp_path / kind for kind in ("method", "metric")]
    for place, name in zip(places, ("gradient_max", "squared_mass"), strict=True):
        (code,) = [block for block in BLOCKS if f"@{place.name}(" in block]
        place.mkdir()
        (place / f"{name}.py").write_text(code, encoding="utf-8")
    given = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT / "src", CHECKOUT / "tests")))
    }
    words = [sys.executable, "-c", ONE_FILE, *map(str, places)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=given)
    assert done.stdout.strip() == "everywhere", done.stderr[-1500:]
