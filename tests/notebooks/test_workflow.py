"""The smoke profile through the whole workflow: papermill and snakemake on small data."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from reference import CHECKOUT

from compendium import config
from compendium.papers.common.claims import scorecard
from compendium.project import Results
from compendium.site.verify import State, compare_runs, compare_tables, turned_verdicts
from compendium.workflow.run_snakemake import lock_results

pytestmark = pytest.mark.workflow
QUICK = CHECKOUT / "results" / "reference" / "quick"
# what smoke says of planted models, and its claims
KEPT = Results(CHECKOUT / "tests" / "golden" / "smoke")
DRIFT = (
    0.02  # by which a value of the smoke profile may differ from one kind of processor to another
)
# one claim in so many may move by more: of six texts, a near-tie that is rounded the other way does
# that
MOVED = 5
TEXT_TABLE = re.compile(r'class="(scores|coloured-text)"')


def test_every_step_leaves_what_it_should(finished):
    names = sorted(p.stem for p in finished.results.glob("notebooks/*.ipynb"))
    profile = config.load_profile(str(finished.home / "config" / "smoke.yaml"))
    expected = [
        "01_data",
        "03_overview",
        "04_poerner2018",
        "05_kamp2023",
        "05_kamp2023_seeds",
        "06_zhao2023",
    ]
    expected += [f"02_train-{t}-{m}-s{s}" for t, m, s in profile.trained_runs()]
    for t, m, s in profile.explained_runs():
        expected += [
            f"03_explain-{t}-{m}-s{s}-{shard}" for shard in range(profile.explaining_of(t).shards)
        ]
    expected += ["07_sun2024", "08_joint", "08_joint_models", "08_joint_settings"]
    expected += ["08_joint_crossed", "09_planted"]
    for t, m, s in profile.explained_runs("diagnosis"):
        expected += [f"07_sun2024_agents-{t}-{m}-s{s}", f"07_sun2024_explanations-{t}-{m}-s{s}-0"]
    assert names == sorted(expected) and len(names) > 20
    assert (finished.home / "_site" / "index.html").exists()
    manifest = json.loads((finished.results / "manifest.json").read_text())
    assert sorted(manifest["steps"]) == names
    assert all(
        step["seconds"] > 0 < step["processor_seconds"] for step in manifest["steps"].values()
    )
    assert set(manifest["corpora"]) == set(profile.tasks)
    for name, step in manifest["steps"].items():
        assert step["files"] and all(
            (finished.results / file).exists() for file in step["files"]
        ), name
    assert (
        not list(finished.results.rglob("*.part*")) and not (finished.results / "failed").exists()
    )


def test_the_run_says_how_far_it_is(finished):
    said = (finished.home / "said.txt").read_text()
    assert re.search(r"(\d+) steps to run", said) and re.search(r"step 1 of \d+ done", said)
    assert "explaining: 3 of 3" in said or "03_explain-snli-tiny-s1-0: done" in said
    assert "_site/index.html" in said


def test_tables_hold_what_the_profile_asks_for(finished):
    names = (
        "05_kamp2023_agreement_at_k",
        "05_kamp2023_seeds_apd",
        "05_kamp2023_dynamic",
        "06_zhao2023_curves",
    )
    agreement, apd, dynamic, curves = (
        pd.read_csv(finished.results / "tables" / f"{name}.csv") for name in names
    )
    profile = yaml.safe_load((finished.home / "config" / "smoke.yaml").read_text())
    methods = profile["explain"]["methods"]
    pairs = len(methods) * (len(methods) - 1) // 2
    assert (
        len(agreement) == 3 * pairs * profile["agreement"]["largest_k"]
        and (agreement.instances == 6).all()
    )
    assert agreement.agreement.between(0.5, 1).all()
    assert agreement.agreement.between(agreement.low - 1e-12, agreement.high + 1e-12).all()
    assert list(apd.seed) == [1, 2] and apd.apd.nunique() == 1 and apd.chosen.sum() == 1
    assert (
        set(dynamic[dynamic.b == "people"].task) == {"rated_movies"}
        and dynamic.dynamic.between(1 / 2, 1).all()
    )
    assert set(curves.ratio) == {0.1, 0.5} and set(curves.method) == set(methods)
    same = agreement[
        (agreement.method_a == "gradient_l1")
        & (agreement.method_b == "gradient_l2")
        & (agreement.k == 5)
    ]
    assert (
        same.agreement > 0.6
    ).all()  # two norms of one gradient rank nearly alike, whatever the model


def test_no_claim_has_drifted_from_the_committed_scorecard(finished):
    """Kept by `attreval claims --profile smoke --json > tests/golden/smoke/claims.json`."""
    rows = json.loads((KEPT.root / "claims.json").read_text(encoding="utf-8"))
    kept = pd.DataFrame(rows).set_index("claim")
    found = scorecard(finished.results / "tables").set_index("claim")
    assert list(found.index) == list(kept.index)
    # models that learn nothing are void for a part
    assert len(kept) > 50 and found.value.notna().mean() > 0.4
    for name in ("value", "low", "high"):
        ours = found[name].astype(float)
        theirs = kept[name].astype(float)
        assert list(ours.isna()) == list(theirs.isna()), name
        moved = found.index[~np.isclose(ours, theirs, rtol=0, atol=DRIFT, equal_nan=True)]
        assert len(moved) <= len(kept) // MOVED, f"{name} moved: {list(moved)}"
    assert not turned_verdicts(rows, Results(finished.results), KEPT)


def test_what_is_the_same_everywhere_is_as_committed(finished):
    """Data and algebra beside the committed run of quick, where smoke has the same corpora and
    networks of that kind; planted tables, which hang on how many texts are planted, beside
    tests/golden/smoke.
    """
    tables = finished.results / "tables"
    data = compare_tables(tables / "01_data_corpora.csv", QUICK / "tables" / "01_data_corpora.csv")
    name = "04_poerner2018_same_word.csv"
    algebra = compare_tables(tables / name, QUICK / "tables" / name)
    algebra = algebra[algebra.column != "instances"]
    for cells, count in ((data, 56), (algebra, 4)):
        known = cells[cells.here.notna()]
        assert len(known) == count and set(known.state) == {State.EQUAL}, known.to_string()
    planted = compare_runs(Results(finished.results), KEPT, ["09_planted_*"])
    assert planted.as_committed, planted.otherwise.to_string()
    assert len(planted.cells) > 1000


def test_executed_notebooks_show_figures_and_no_errors(finished):
    for path in finished.results.glob("notebooks/*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
        assert not [o for o in outputs if o.output_type in ("error", "stream")], path.name
        shown = [o.get("data", {}) for o in outputs]
        assert any(
            "image/png" in data or TEXT_TABLE.search(data.get("text/html", "")) for data in shown
        ), path.name


def test_a_second_run_has_nothing_to_do(finished):
    before = {p: p.stat().st_mtime_ns for p in finished.results.rglob("*.csv")}
    done = finished.run("attreval.cli", "run", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing to do" in done.stdout
    assert before == {p: p.stat().st_mtime_ns for p in finished.results.rglob("*.csv")}


def plan(copy) -> str:
    """What snakemake would run."""
    return copy.run(
        *(
            "snakemake",
            "--snakefile",
            str(copy.home / "workflow" / "Snakefile"),
            "--directory",
            str(copy.home),
        ),
        *("--config", "profile=smoke", "--cores", "1", "--dry-run", "--nolock"),
    ).stdout


def test_a_changed_parameter_runs_again_what_depends_on_it_and_nothing_else(finished):
    path = finished.home / "config" / "smoke.yaml"
    old = path.read_text()
    try:
        path.write_text(old.replace("largest_k: 5", "largest_k: 4"))
        planned = plan(finished)
    finally:
        path.write_text(old)
    assert "rule agreement" in planned and "rule site" in planned
    assert "rule seeds" in planned  # it reads the agreement settings too
    assert not any(
        f"rule {name}:" in planned
        for name in ("train", "explain", "faithfulness", "data", "fetch_table")
    )


def wait_for_line(process, pattern: str, seconds: float = 900) -> list[str]:
    """The lines of output up to one that matches, or all where none does."""
    lines = []
    end = time.monotonic() + seconds
    for line in process.stdout:
        lines.append(line)
        if re.search(pattern, line):
            break
        if time.monotonic() > end:
            raise TimeoutError(pattern)
    return lines


# what is waited for, and how many seconds after it everything is killed
POINTS = ((r"02_train.*starting", 1.5), (r"08_joint: starting", 3.0))


def test_what_is_lost_is_made_again_with_the_same_bytes_wherever_the_run_is_killed(finished):
    """kill -9 of everything: while training, and while comparing, a moment after that started."""
    whole = finished.tables("smoke")
    record = finished.results / "steps" / "04_poerner2018.json"
    (finished.results / "tables" / "04_poerner2018_claims.csv").unlink()
    shutil.rmtree(finished.results / "models" / "agreement_parsed-lstm-s1")
    with lock_results(
        finished.results
    ):  # a dry run stands beside a run that is at work, and changes nothing
        asked = finished.run("attreval.cli", "run", "--profile", "smoke", "--", "-n")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert (
        "pointing_game" in asked.stdout
        and "a dry run: nothing was run" in asked.stdout
        and record.exists()
    )
    said = ""
    killed = 0
    for pattern, wait in POINTS:
        command = finished.command("attreval.cli", "run", "--profile", "smoke")
        given = {"cwd": finished.home, "env": finished.env, "text": True, "start_new_session": True}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **given
        )
        lines = wait_for_line(process, pattern)
        if lines[-1:] and re.search(pattern, lines[-1]):
            time.sleep(wait)
            killed += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said += "".join(lines)
    assert killed == len(POINTS), said
    assert "04_poerner2018: files of an earlier run are gone" in said
    for path in finished.results.rglob(
        "*.parquet"
    ):  # whatever is there under its final name is whole
        pd.read_parquet(path)
    done = finished.run("attreval.cli", "run", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    resumed = finished.tables("smoke")
    assert sorted(resumed) == sorted(whole) and len(whole) > 100
    assert not [name for name in whole if resumed[name] != whole[name]]
    assert (finished.home / "_site" / "index.html").exists()


def test_papermill_alone_runs_a_notebook(finished, tmp_path):
    out = tmp_path / "out.ipynb"
    asked = {
        "profile": "smoke",
        "task": "snli",
        "model": "tiny",
        "instances": 2,
        "shard": 0,
        "methods": ["lime"],
    }
    given = ("--no-progress-bar", "-y", json.dumps(asked))
    done = finished.run("papermill", "notebooks/03_explain.ipynb", str(out), *given)
    assert done.returncode == 0, done.stderr
    assert out.exists()
    assert (finished.results / "tables" / "03_explain-snli-tiny-s1-0-custom_cost.csv").exists()


MINE = """
name: mine
models:
  own: {{ weights: {folder}, max_length: 64, labels: [contradiction, entailment, neutral] }}
tasks:
  snli: {{ models: [own], train_rows: 0, dev_rows: 0, test_rows: 32, explain_rows: 4 }}
explain: {{ methods: [random, gradient_l2], perturbation_precision: float32 }}
"""


def test_a_profile_of_ones_own(finished, tmp_path):
    """Weights as they are, their classes named and put in the task's order."""
    profile = tmp_path / "mine.yaml"
    folder = shutil.copytree(finished.results / "models" / "snli-tiny-s1", tmp_path / "own")
    about = json.loads((folder / "config.json").read_text())
    # classes without names: `labels` names them
    numbered = {str(k): f"LABEL_{k}" for k in range(3)}
    about |= {"id2label": numbered, "label2id": {name: int(k) for k, name in numbered.items()}}
    (folder / "config.json").write_text(json.dumps(about))
    profile.write_text(MINE.format(folder=folder))
    given = ("-p", f"profile={profile}", "-p", "task=snli", "-p", "model=own")
    done = finished.run("attreval.cli", "notebook", "02_train", *given)
    assert done.returncode == 0, done.stderr
    made = finished.home / "results" / "mine" / "tables" / "02_train-snli-own-s1_confusion.csv"
    counts = pd.read_csv(made, index_col="gold")
    theirs = pd.read_csv(
        finished.results / "tables" / "02_train-snli-tiny-s1_confusion.csv", index_col="gold"
    )
    assert list(counts.columns) == list(theirs.columns) and counts.to_numpy().sum() == 32


def test_a_notebook_runs_in_jupyter_from_its_own_folder(finished):
    """As in JupyterLab: the kernel starts in notebooks/, with the parameters that stand there.

    Only the profile is another, since the corpora of the one that stands there need not have been
    fetched.
    """
    source = finished.home / "notebooks" / "01_data.ipynb"
    own = source.with_name("own.ipynb")
    text = source.read_text()
    assert text.count('profile = \\"quick\\"') == 1
    own.write_text(text.replace('profile = \\"quick\\"', 'profile = \\"smoke\\"'))
    done = finished.run("pytest", "--nbmake", "-p", "no:cacheprovider", "-q", str(own))
    own.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
