"""The manifest names no host or user, and says for captions on what figures rest."""

import getpass
import os
import platform
import re

from reference import CHECKOUT

from compendium import config
from compendium.workflow.manifest import describe_machine, describe_samples


def test_hardware_and_system_are_told_and_nobody_is_named():
    found = describe_machine()
    assert {"system", "processor", "cores"} <= set(found) and platform.system() in found["system"]
    assert 1 <= found["cores"] <= os.cpu_count() and platform.machine() in found["processor"]
    said = " ".join(map(str, found.values())).lower()
    assert (
        platform.node().lower() not in said.split()
        and getpass.getuser().lower() not in said.split()
    )


def test_each_judge_names_its_models_texts_and_seeds():
    profile = config.load_profile("smoke")
    said = describe_samples(profile)
    for judge, text in said.items():
        runs = profile.explained_runs(judge)
        assert text.startswith("Profile smoke: ") and text.endswith(
            "Intervals: 95 % bootstrap over texts."
        )
        assert all(model in text for _, model, _ in runs)
        rows = (
            {profile.rows_explained(*run[:2]) for run in runs}
            if judge != "diagnosis"
            else {profile.diagnosis.rows}
        )
        assert all(f"{n} " in text for n in rows)


def test_models_that_share_texts_stand_together_and_a_judge_without_texts_says_so():
    profile = config.load_profile("quick")
    said = describe_samples(profile)
    assert "gru, lstm, qgru, qlstm and cnn on n = " in said["pointing"]
    none = profile.model_copy(update={"tasks": {}})
    assert describe_samples(none)["pointing"] == "Profile quick: no texts."


def test_every_figure_of_the_paper_says_on_what_it_rests():
    found = 0
    for path in sorted((CHECKOUT / "paper" / "sections").glob("*.qmd")):
        figures = re.findall(
            r"::: \{#(fig-[\w-]+)[^}]*\}(.*?)\n:::", path.read_text(encoding="utf-8"), re.S
        )
        for name, caption in figures:
            profile = re.search(
                r"var (run\.(profile|(sample|texts)_\w+)|(crossed|controls)\.networks|court\.\w+) ",
                caption,
            )
            assert profile, f"{path.name}: {name} names no profile"
            said = re.search(r"var run\.(sample|texts)_|n = |texts|interval", caption)
            assert said, f"{path.name}: {name} does not say how many texts"
            found += 1
    assert found > 20
