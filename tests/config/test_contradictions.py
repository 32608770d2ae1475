"""Contradictions of a profile: found when it is loaded, with task, what came, and what would do."""

from __future__ import annotations

import pytest
import yaml
from reference import CHECKOUT
from reference.profiles import TASK, TINY

from compendium import config
from compendium.config import Profile
from compendium.workflow.samples import describe_samples

WORDS = {"architecture": "gru", "hidden": 4}


def make(task: str = "rotten_tomatoes", judges=("faithfulness",), explain=None, model=TINY, **more) -> Profile:
    """A profile of one task."""
    spec = TASK | {"judges": list(judges), "explain": explain or {}}
    made = {
        "name": "test",
        "models": {"tiny": model},
        "tasks": {task: spec},
        "explain": {"methods": ["random", "lime"]},
    }
    return Profile.model_validate(made | more)


@pytest.mark.parametrize("judge, number", [("pointing", "04"), ("faithfulness", "06")])
def test_a_judge_of_the_predicted_class_takes_no_explanations_of_the_gold_one(judge, number):
    words = rf"task 'rotten_tomatoes' has the judge '{judge}' and explain.target 'gold': .*notebook {number}.*"
    with pytest.raises(ValueError, match=words + r"`explain: \{target: predicted\}`, or take"):
        make(judges=["agreement", judge], explain={"target": "gold"})
    with pytest.raises(ValueError, match=words):
        make(judges=[judge], **{"explain": {"target": "gold", "methods": ["random", "lime"]}})
    assert make(judges=["agreement"], explain={"target": "gold"}).explaining_of("rotten_tomatoes").target == "gold"
    assert make(judges=[judge], explain={"target": "predicted"})


def test_what_one_model_is_not_judged_by_is_no_contradiction():
    task = TASK | {"judges": ["agreement", "faithfulness"], "explain": {"target": "gold"}}
    task |= {"of_model": {"tiny": {"judges": ["agreement"]}}}
    assert make(tasks={"rotten_tomatoes": task})
    del task["of_model"]
    assert make(tasks={"rotten_tomatoes": task | {"explain_rows": 0}})  # trained for another task, explained for none
    with pytest.raises(ValueError, match="'faithfulness' and explain"):
        make(tasks={"rotten_tomatoes": task})


def test_a_method_must_apply_to_every_model_of_a_task():
    words = r"explained by attention, of which none applies to its model 'tiny' \(recurrent\); these do: .*lrp"
    with pytest.raises(ValueError, match=words):
        make(explain={"methods": ["attention"]}, model=WORDS)
    assert make(explain={"methods": ["attention", "lrp"]}, model=WORDS)


def test_diagnosis_needs_two_texts_and_a_model_that_its_techniques_read():
    with pytest.raises(ValueError, match="has one text; diagnosis needs two, as in: snli"):
        make(judges=["diagnosis"])
    with pytest.raises(ValueError, match=r"technique 'attention' does not apply to the model 'tiny' \(recurrent\)"):
        make("snli", ["diagnosis"], model=WORDS)
    with pytest.raises(ValueError, match=r"diagnosis.parts is 4, but diagnosis.rows is 3: .* at most 3 will do"):
        make("snli", ["diagnosis"], diagnosis={"rows": 3, "parts": 4})


def test_no_shard_may_be_empty():
    with pytest.raises(ValueError, match=r"explain.shards is 3, but explain_rows is 2: .* at most 2 will do"):
        make(explain={"shards": 3})


def test_a_fixed_k_lies_among_those_that_are_measured():
    with pytest.raises(ValueError, match="fixed_k is 4, but k goes up to largest_k 3"):
        make(agreement={"largest_k": 3})


def test_one_study_of_seeds_chooses_the_run():
    study = {"task": "rotten_tomatoes", "model": "tiny", "seeds": [1, 2], "methods": ["lime"]}
    study |= {"train_rows": 4, "dev_rows": 2, "test_rows": 2, "explain_rows": 2}
    task = {"rotten_tomatoes": TASK | {"judges": ["agreement"], "seeds": [1, 2]}}
    both = {"tasks": task, "seed_study": study}
    assert make(**both) and make(agreement={"runs": "lowest_apd"}, seed_study=study)
    with pytest.raises(ValueError, match=r"the seeds \[1, 2\] and those of seed_study: leave seed_study out"):
        make(**both, agreement={"runs": "lowest_apd"})
    said = [describe_samples(make(tasks=task, agreement={"runs": runs}))["agreement"] for runs in ("all", "lowest_apd")]
    assert "; 2 seeds. " in said[0] and "of 2 seeds the run with the lowest average pairwise difference" in said[1]


@pytest.mark.parametrize("name", config.profiles())
def test_every_profile_of_the_project_loads(name):
    profile = config.load(str(CHECKOUT / "config" / f"{name}.yaml"))
    for task, model, _ in profile.explained_runs("pointing") + profile.explained_runs("faithfulness"):
        assert profile.explaining_of(task).target == "predicted", (task, model)


def test_each_value_of_the_paper_profile_that_the_papers_state_says_where():
    """What Poerner (12), Kamp (B) and Zhao (A) print of training stands in a line with a comment."""
    text = (CHECKOUT / "config" / "paper.yaml").read_text(encoding="utf-8")
    plain = [line.strip() for line in text.splitlines() if "#" not in line]
    for name in (
        "learning_rate",
        "batch_rows",
        "epochs",
        "patience",
        "clip",
        "embeddings",
        "gate",
        "hidden",
        "dropout",
    ):
        assert not [line for line in plain if line.startswith(f"{name}:")], name
    assert yaml.safe_load(text)["models"]["gru"]["embeddings"].endswith("300d.txt")
