"""The Slurm profile: every step asks for memory, time and its own processors, and what downloads stays at home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from reference import CHECKOUT

from compendium.workflow.run_notebook import MARK
from compendium.workflow.run_snakemake import ProgressReport, name_cores
from compendium.workflow.steps import STEPS

FOLDER = CHECKOUT / "workflow" / "profiles" / "slurm"
PROFILE = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))
SNAKEFILE = (CHECKOUT / "workflow" / "Snakefile").read_text(encoding="utf-8")
STEP = {step.rule: step for step in STEPS}
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^rule |^for |\Z)", re.MULTILINE | re.DOTALL)
OWN = {
    rule: text for rule, text in RULE.findall(SNAKEFILE) if "shell:" in text
}  # that run something, besides the steps
RULES = {*STEP, *OWN}
LOCAL = re.findall(r"\w+", re.search(r"^localrules:\n(.*?)\n\n", SNAKEFILE, re.MULTILINE | re.DOTALL).group(1))
PROOF = re.search(r"<<'YAML'\n(.*?\n)YAML", (FOLDER / "prove.sh").read_text(encoding="utf-8"), re.DOTALL).group(1)


def ask(rule, what, attempt, threads=4):
    """What the profile asks for a rule at that attempt, as Snakemake reads it: a number, or Python."""
    given = PROFILE["set-resources"][rule][what]
    return given if isinstance(given, int) else eval(given, {"attempt": attempt, "threads": threads})


def test_every_rule_has_resources_and_no_other_name_has():
    assert set(PROFILE["set-resources"]) == RULES and len(RULES) > 10


@pytest.mark.parametrize("rule", sorted(STEP))
def test_a_step_asks_for_memory_and_time_and_for_more_when_it_failed(rule):
    for what, least in (("mem_mb", 2000), ("runtime", 10)):
        first, second = ask(rule, what, 1), ask(rule, what, 2)
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


def test_snakemake_reads_the_profile_and_a_profile_on_cuda_asks_for_a_gpu(tmp_path):
    (tmp_path / "mine.yaml").write_text(PROOF.replace("device: cpu", "device: cuda"), encoding="utf-8")
    settings = {key: value for key, value in PROFILE.items() if key != "executor" and not key.startswith("slurm")}
    (tmp_path / "here.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if key != "ATTREVAL_CORPORA"}
    env |= {"ATTREVAL_HOME": str(CHECKOUT), "ATTREVAL_DATA": str(tmp_path / "data")}
    env |= {"ATTREVAL_RESULTS": str(tmp_path / "results"), "PYTHONPATH": str(CHECKOUT / "src")}
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(CHECKOUT / "workflow" / "Snakefile"), "-n"]
    command += ["--profile", str(tmp_path / "here.yaml"), "--directory", str(tmp_path), "--nolock", "--nocolor"]
    command += ["--config", f"profile={tmp_path / 'mine.yaml'}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    jobs = re.findall(r"^(?:local)?rule (\w+):\n(.*?)(?=^\[|^\w|\Z)", done.stdout, re.MULTILINE | re.DOTALL)
    asked = {rule: re.search(r"resources: (.*)", text).group(1) for rule, text in jobs}
    counted = set(re.findall(r"^(\w+) +\d+$", done.stdout, re.MULTILINE)) - {"total"}
    assert counted and set(asked) == counted, done.stdout  # its own count of jobs, so that none was read over
    assert "mem_mb=4000" in asked["train"] and "runtime=60" in asked["train"] and "gpu=1" in asked["train"]
    assert "mem_mb=6000" in asked["faithfulness"]  # two processes
    assert "downloads=1" in asked["fetch_table"] and "gpu" not in asked["fetch_table"] + asked["overview"]


def test_with_a_clusters_profile_this_machines_processors_are_no_limit():
    assert name_cores(None, []) == ["--cores", str(len(os.sched_getaffinity(0)))]
    assert name_cores(None, ["--keep-going"]) == name_cores(None, [])
    assert name_cores(None, ["--profile", "workflow/profiles/slurm"]) == []
    assert name_cores(None, ["--executor=slurm"]) == []
    assert name_cores(3, ["--profile", "x"]) == ["--cores", "3"]


def test_a_failure_on_a_node_is_told_with_its_reason_and_its_log(tmp_path, capsys):
    log = tmp_path / "7.log"
    log.write_text(
        f"{MARK}02_train: starting\n{MARK}error: 02_train failed\nslurmstepd: error: later\n", encoding="utf-8"
    )
    report = ProgressReport()
    report.read_line(f"    log: {log} (check log file(s) for error details)")
    said = report.explain_failure(tmp_path / "all.log")
    assert "error: 02_train failed" in said and str(log) in said and "starting" not in said
    log.write_text("Provided nodes\nslurmstepd: error: Step 7.0 exceeded memory limit\n", encoding="utf-8")
    report = ProgressReport()
    report.read_line(f"    log: {log} (check log file(s) for error details)")
    assert "exceeded memory limit" in report.explain_failure(tmp_path / "all.log")


def test_the_readmes_line_names_the_profile_that_is_there():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (named,) = set(re.findall(r"--profile (workflow/\S+)", readme))
    assert (CHECKOUT / named / "config.yaml").is_file() and "docs/cluster.md" in readme
    assert PROFILE["executor"] == "slurm"
    assert re.search(
        r"^slurm = \[\"snakemake-executor-plugin-slurm", (CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE
    )


@pytest.mark.workflow
@pytest.mark.skipif(
    not os.environ.get("ATTREVAL_SLURM"), reason="ATTREVAL_SLURM=1 lets it start a Slurm of its own, as root"
)
def test_a_run_through_slurm_leaves_the_same_tables():
    """The proof itself: ten minutes, as root, and it may install packages of Debian; see docs/cluster.md."""
    assert shutil.which("slurmctld") and os.geteuid() == 0, "needs slurm-wlm, munge and root"
    env = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run([str(FOLDER / "prove.sh")], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "PROVED" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
