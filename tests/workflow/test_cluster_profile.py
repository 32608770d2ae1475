"""The Slurm profile: steps ask for memory, time and processors; downloads stay at home.

And a profile of one's own in the workflow: its file and its model's folder are inputs, and any path
can be given.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from reference import CHECKOUT

from attreval.core.tables import write_json
from compendium.workflow.run_notebook import MARK
from compendium.workflow.run_snakemake import ProgressReport, name_cores
from compendium.workflow.steps import STEPS

FOLDER = CHECKOUT / "workflow" / "profiles" / "slurm"
PROFILE = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))
SNAKEFILE = (CHECKOUT / "workflow" / "Snakefile").read_text(encoding="utf-8")
STEP = {step.rule: step for step in STEPS}
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^rule |^for |\Z)", re.MULTILINE | re.DOTALL)
# that run something besides the steps
OWN = {rule: text for rule, text in RULE.findall(SNAKEFILE) if "shell:" in text}
RULES = {*STEP, *OWN}
LOCAL = re.findall(
    r"\w+", re.search(r"^localrules:\n(.*?)\n\n", SNAKEFILE, re.MULTILINE | re.DOTALL).group(1)
)
PROOF = re.search(
    r"<<'YAML'\n(.*?\n)YAML", (FOLDER / "prove.sh").read_text(encoding="utf-8"), re.DOTALL
).group(1)


def ask(rule, what, attempt, threads=4):
    """What the profile asks for a rule at that attempt, a number or Python, as Snakemake does."""
    given = PROFILE["set-resources"][rule][what]
    return (
        given if isinstance(given, int) else eval(given, {"attempt": attempt, "threads": threads})
    )


def test_every_rule_has_resources_and_no_other_name_has():
    assert set(PROFILE["set-resources"]) == RULES and len(RULES) > 10


def test_a_step_asks_for_memory_and_time_and_for_more_when_it_failed():
    for rule in sorted(STEP):
        for what, least in (("mem_mb", 2000), ("runtime", 10)):
            first = ask(rule, what, 1)
            second = ask(rule, what, 2)
            assert least <= first and second == 2 * first
        if STEP[rule].side_by_side:  # processes side by side need memory each
            assert ask(rule, "mem_mb", 1, threads=4) > ask(rule, "mem_mb", 1, threads=2)
        assert PROFILE["retries"] >= 1


def test_what_downloads_and_what_renders_runs_where_the_workflow_was_started():
    fetching = {rule for rule, text in OWN.items() if "attreval fetch" in text}
    assert fetching and set(LOCAL) == fetching | {"everything", "site"} == {*OWN, "everything"}
    assert {rule for rule in RULES if PROFILE["set-resources"][rule].get("downloads")} == fetching
    assert PROFILE["resources"] == {"downloads": 1}  # one after the other: tasks share archives


def test_no_step_is_given_another_number_of_threads_than_its_profile_says():
    """Sums in another order are other floats: tables would differ from those of one machine."""
    assert set(PROFILE["set-threads"]) <= set(LOCAL)
    largest = yaml.safe_load((CHECKOUT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    assert PROFILE["cores"] >= largest["threads"] * largest["workers"]


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """What Snakemake would run for an own profile on cuda, with a space and a quote in its path."""
    place = tmp_path_factory.mktemp("planned")
    folder = place / "it's mine"
    write_json(folder / "model" / "config.json", {"id2label": {"0": "neg", "1": "pos"}})
    (folder / "model" / "model.safetensors").write_bytes(b"")
    (folder / "my texts.csv").write_text("text,label\ngood,pos\nbad,neg\n")
    mine = yaml.safe_load(PROOF) | {"name": "My-Run.2", "device": "cuda"}
    mine["models"]["mine"] = {"weights": "model"}
    mine["corpora"] = {"reviews": {"file": "my texts.csv", "labels": ["neg", "pos"]}}
    rows = {"train_rows": 0, "dev_rows": 0, "test_rows": 4, "explain_rows": 2}
    mine["tasks"]["reviews"] = {"models": ["mine"]} | rows
    pointing = {"explain_rows": 1, "judges": ["pointing"], "explain": {"shards": 1}}
    mine["tasks"]["hybrid_reviews"] = {"models": ["mine"]} | pointing
    (folder / "a profile.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    settings = {
        key: value
        for key, value in PROFILE.items()
        if key != "executor" and not key.startswith("slurm")
    }
    (place / "here.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if key != "ATTREVAL_CORPORA"}
    env |= {"ATTREVAL_HOME": str(CHECKOUT), "ATTREVAL_DATA": str(place / "data")}
    env |= {"ATTREVAL_RESULTS": str(place / "results"), "PYTHONPATH": str(CHECKOUT / "src")}
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(CHECKOUT / "workflow" / "Snakefile"),
        "-n",
        "-p",
    ]
    command += [
        "--profile",
        str(place / "here.yaml"),
        "--directory",
        str(place),
        "--nolock",
        "--nocolor",
    ]
    command += ["--config", f"profile={folder / 'a profile.yaml'}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_an_own_file_and_an_own_model_are_inputs_of_the_workflow(planned):
    jobs = planned.split("\nrule ")
    (train,) = [job for job in jobs if job.startswith("train:") and "processed/folder-" in job]
    inputs = train.partition("input:")[2].partition("output:")[0]
    assert "processed/folder-" in inputs and "processed/reviews-" in inputs
    tables = [
        job.partition("output:")[2]
        for job in planned.split("rule ")
        if job.startswith("fetch_table:")
    ]
    assert all(
        any(f"processed/{name}-" in made for made in tables)
        for name in ("reviews", "hybrid_reviews")
    )
    assert "/results/My-Run.2/" in train
    assert """it'"'"'s mine/a profile.yaml'""" in train  # quoted for the shell


def test_snakemake_reads_the_profile_and_a_profile_on_cuda_asks_for_a_gpu(planned):
    jobs = re.findall(
        r"^(?:local)?rule (\w+):\n(.*?)(?=^\[|^\w|\Z)", planned, re.MULTILINE | re.DOTALL
    )
    asked = {rule: re.search(r"resources: (.*)", text).group(1) for rule, text in jobs}
    counted = set(re.findall(r"^(\w+) +\d+$", planned, re.MULTILINE)) - {"total"}
    # its own count of jobs, so that none was read over
    assert counted and set(asked) == counted, planned
    assert (
        "mem_mb=4000" in asked["train"]
        and "runtime=60" in asked["train"]
        and "gpu=1" in asked["train"]
    )
    assert "mem_mb=6000" in asked["faithfulness"]  # two processes
    assert (
        "downloads=1" in asked["fetch_table"]
        and "gpu" not in asked["fetch_table"] + asked["overview"]
    )


def test_with_a_clusters_profile_this_machines_processors_are_no_limit():
    assert name_cores(None, []) == ["--cores", str(len(os.sched_getaffinity(0)))]
    assert name_cores(None, ["--keep-going"]) == name_cores(None, [])
    assert name_cores(None, ["--profile", "workflow/profiles/slurm"]) == []
    assert name_cores(None, ["--executor=slurm"]) == []
    assert name_cores(3, ["--profile", "x"]) == ["--cores", "3"]


def test_a_failure_on_a_node_is_told_with_its_reason_and_its_log(tmp_path, capsys):
    log = tmp_path / "7.log"

    def explain(text):
        log.write_text(text, encoding="utf-8")
        report = ProgressReport()
        report.read_line(f"    log: {log} (check log file(s) for error details)")
        return report.explain_failure(tmp_path / "all.log")

    said = explain(
        f"{MARK}02_train: starting\n{MARK}error: 02_train failed\nslurmstepd: error: later\n"
    )
    assert "error: 02_train failed" in said and str(log) in said and "starting" not in said
    assert "exceeded memory" in explain(
        "Provided nodes\nslurmstepd: error: Step 7.0 exceeded memory limit\n"
    )


def test_the_readmes_line_names_the_profile_that_is_there():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (named,) = set(re.findall(r"--profile (workflow/\S+)", readme))
    assert (CHECKOUT / named / "config.yaml").is_file() and "docs/cluster.md" in readme
    assert PROFILE["executor"] == "slurm"
    assert (
        '\nslurm = ["snakemake-executor-plugin-slurm' in (CHECKOUT / "pyproject.toml").read_text()
    )


@pytest.mark.workflow
@pytest.mark.skipif(
    not os.environ.get("ATTREVAL_SLURM"),
    reason="ATTREVAL_SLURM=1 lets it start a Slurm of its own, as root",
)
def test_a_run_through_slurm_leaves_the_same_tables():
    """The proof itself, ten minutes as root; it may install packages (docs/cluster.md)."""
    assert shutil.which("slurmctld") and os.geteuid() == 0, "needs slurm-wlm, munge and root"
    env = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run([str(FOLDER / "prove.sh")], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "PROVED" in done.stdout, (
        done.stdout[-3000:] + done.stderr[-3000:]
    )
