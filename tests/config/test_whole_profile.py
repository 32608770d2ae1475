"""What is decided over a whole profile: contradictions, variants, changes for one model."""

import pytest
import yaml
from reference import CHECKOUT, case
from reference.profiles import TASK, TINY

from compendium import config
from compendium.config import Profile
from compendium.config.reading import VARIANTS
from compendium.workflow.manifest import describe_samples

WORDS = {"architecture": "gru", "hidden": 4}


def make(
    task: str = "rotten_tomatoes", judges=("faithfulness",), explain=None, model=TINY, **more
) -> Profile:
    """A profile of one task."""
    spec = TASK | {"judges": list(judges), "explain": explain or {}}
    made = {"name": "test", "models": {"tiny": model}, "tasks": {task: spec}}
    return Profile.model_validate(made | {"explain": {"methods": ["random", "lime"]}} | more)


def test_a_judge_of_the_predicted_class_takes_no_explanations_of_the_gold_one():
    for judge, number in [("pointing", "04"), ("faithfulness", "06")]:
        words = (
            rf"task 'rotten_tomatoes' has the judge '{judge}' and explain.target 'gold': "
            rf".*notebook {number}.*"
        )
        with pytest.raises(ValueError, match=words + r"`explain: \{target: predicted\}`, or take"):
            make(judges=["agreement", judge], explain={"target": "gold"})
        with pytest.raises(ValueError, match=words):
            make(judges=[judge], **{"explain": {"target": "gold", "methods": ["random", "lime"]}})
        assert (
            make(judges=["agreement"], explain={"target": "gold"})
            .explaining_of("rotten_tomatoes")
            .target
            == "gold"
        )
        assert make(judges=[judge], explain={"target": "predicted"})


def test_what_one_model_is_not_judged_by_is_no_contradiction():
    task = TASK | {"judges": ["agreement", "faithfulness"], "explain": {"target": "gold"}}
    task |= {"of_model": {"tiny": {"judges": ["agreement"]}}}
    assert make(tasks={"rotten_tomatoes": task})
    del task["of_model"]
    # trained for another task, explained for none
    assert make(tasks={"rotten_tomatoes": task | {"explain_rows": 0}})
    with pytest.raises(ValueError, match="'faithfulness' and explain"):
        make(tasks={"rotten_tomatoes": task})


def test_a_method_must_apply_to_every_model_of_a_task():
    words = (
        r"explained by attention, of which none applies to its model 'tiny' \(recurrent\); these "
        r"do: .*lrp"
    )
    with pytest.raises(ValueError, match=words):
        make(explain={"methods": ["attention"]}, model=WORDS)
    assert make(explain={"methods": ["attention", "lrp"]}, model=WORDS)


def test_diagnosis_needs_two_texts_and_a_model_that_its_techniques_read():
    with pytest.raises(ValueError, match="has one text; diagnosis needs two, as in: snli"):
        make(judges=["diagnosis"])
    with pytest.raises(
        ValueError, match=r"technique 'attention' does not apply to the model 'tiny' \(recurrent\)"
    ):
        make("snli", ["diagnosis"], model=WORDS)
    with pytest.raises(
        ValueError, match=r"diagnosis.parts is 4, but diagnosis.rows is 3: .* at most 3 will do"
    ):
        make("snli", ["diagnosis"], diagnosis={"rows": 3, "parts": 4})


def test_agents_are_asked_of_tasks_that_there_are():
    asked = {"agents": {"rows": 9, "tasks": ["snli"]}}
    agents = make("snli", ["diagnosis"], diagnosis=asked).diagnosis.agents
    assert agents.rows_of("snli") == 9 and agents.rows_of("fever") == 0
    assert make(diagnosis={"agents": {"rows": 9}}).diagnosis.agents.rows_of("fever") == 9
    with pytest.raises(ValueError, match=r"diagnosis.agents: no task 'snli' .*: rotten_tomatoes"):
        make(diagnosis=asked)
    with pytest.raises(ValueError, match=r"joint: no task 'snli' .*: rotten_tomatoes"):
        make(joint={"tasks": {"snli": 3}})


def test_no_shard_may_be_empty_and_a_fixed_k_lies_among_those_that_are_measured():
    with pytest.raises(
        ValueError, match=r"explain.shards is 3, but explain_rows is 2: .* at most 2 will do"
    ):
        make(explain={"shards": 3})
    with pytest.raises(ValueError, match="fixed_k is 4, but k goes up to largest_k 3"):
        make(agreement={"largest_k": 3})


def test_one_study_of_seeds_chooses_the_run():
    study = {"task": "rotten_tomatoes", "model": "tiny", "seeds": [1, 2], "methods": ["lime"]}
    study |= {"train_rows": 4, "dev_rows": 2, "test_rows": 2, "explain_rows": 2}
    task = {"rotten_tomatoes": TASK | {"judges": ["agreement"], "seeds": [1, 2]}}
    both = {"tasks": task, "seed_study": study}
    assert make(**both) and make(agreement={"runs": "lowest_apd"}, seed_study=study)
    with pytest.raises(
        ValueError, match=r"the seeds \[1, 2\] and those of seed_study: leave seed_study out"
    ):
        make(**both, agreement={"runs": "lowest_apd"})
    said = [
        describe_samples(make(tasks=task, agreement={"runs": runs}))["agreement"]
        for runs in ("all", "lowest_apd")
    ]
    assert (
        "; 2 seeds. " in said[0]
        and "of 2 seeds the run with the lowest average pairwise difference" in said[1]
    )


def test_every_profile_of_the_project_loads():
    for name in config.profiles():
        profile = config.load_profile(str(CHECKOUT / "config" / f"{name}.yaml"))
        for task, model, _ in profile.explained_runs("pointing") + profile.explained_runs(
            "faithfulness"
        ):
            assert profile.explaining_of(task).target == "predicted", (task, model)


def test_each_value_of_the_paper_profile_that_the_papers_state_says_where():
    """What three papers print of training stands in a line of the profile with a comment."""
    text = (CHECKOUT / "config" / "paper.yaml").read_text(encoding="utf-8")
    plain = [line.strip() for line in text.splitlines() if "#" not in line]
    stated = "learning_rate batch_rows epochs patience clip embeddings gate hidden dropout"
    for name in stated.split():
        assert not [line for line in plain if line.startswith(f"{name}:")], name
    assert yaml.safe_load(text)["models"]["gru"]["embeddings"].endswith("300d.txt")


def load(folder, **more):
    """A profile of its own file, with more keys."""
    made = {
        "name": "mine",
        "models": {"tiny": TINY},
        "tasks": {"snli": TASK},
        "explain": {"methods": ["lime"]},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(made | more))
    return config.load_profile(str(folder / "mine.yaml"))


def test_a_variant_fills_in_all_that_it_names(tmp_path):
    """Each field is one of the schema, and the loaded profile says what the variant says."""
    for paper, name in [(p, v) for p, variants in VARIANTS.items() for v in variants]:
        found = load(tmp_path, variants={paper: name})
        assert found.variants == {paper: name}
        for section, fields in VARIANTS[paper][name].items():
            place = found
            for part in section.split("."):
                place = getattr(place, part)
            assert {field: getattr(place, field) for field in fields} == fields


def test_every_variant_of_a_paper_moves_something(tmp_path):
    named = [{paper: name} for paper, variants in VARIANTS.items() for name in variants]
    made = [
        load(tmp_path, variants=chosen).model_dump(exclude={"variants"}) for chosen in ({}, *named)
    ]
    assert len(set(map(str, made))) == len(made)


def test_variants_of_several_papers_meet_and_leave_other_keys_alone(tmp_path):
    found = load(
        tmp_path, variants={"kamp2023": "paper", "sun2024": "released"}, agreement={"fixed_k": 3}
    )
    assert (found.agreement.people, found.agreement.fixed_k) == ("share", 3)
    assert found.diagnosis.units.head_rank == -1 and found.diagnosis.units.unit == "word"


def test_what_a_variant_sets_is_no_key_of_a_profile(tmp_path):
    for more, words in [
        (
            {"agreement": {"ties": "random"}},
            r"agreement\.ties: is set by a variant .* kamp2023: released",
        ),
        (
            {"tasks": {"snli": TASK | {"explain": {"limsse_solver": "exact"}}}},
            r"tasks\.snli\.explain\.limsse_solver",
        ),
        ({"diagnosis": {"units": {"head_rank": 1}}}, r"diagnosis\.units\.head_rank"),
        (
            {"seed_study": {"explain": {"limsse_solver": "exact"}}},
            r"seed_study\.explain\.limsse_solver",
        ),
        (
            {"variants": {"kamp2024": "paper"}},
            "no paper 'kamp2024'; there are: poerner2018, kamp2023",
        ),
        (
            {"variants": {"kamp2023": "code"}},
            r"variants\.kamp2023: no variant 'code'; there are: released, paper",
        ),
        ({"variants": ["paper"]}, "paper and variant are needed"),
        ({"agreement": 3}, "agreement"),
        ({"agreement": 3, "variants": {"kamp2023": "paper"}}, "agreement"),
        ({"variants": {"kamp2023": ["paper"]}}, "no variant"),
    ]:
        with pytest.raises(ValueError, match=words):
            load(tmp_path, **more)


def changed(**more):
    """A profile whose task has two models, with changes for one of them."""
    task = TASK | {"models": ["tiny", "other"], "train_rows": 8, "of_model": {"other": more}}
    return make(
        models={"tiny": TINY, "other": TINY},
        tasks={"rotten_tomatoes": task | {"training": {"epochs": 2}}},
    )


def test_a_task_changes_for_one_of_its_models():
    also = {"imdb": {"rows": 2, "last_words": 3}}
    made = changed(train_rows=4, explain_rows=0, training={"tokens": 9}, also_train=also)
    models = ("tiny", "other")
    assert [made.task_of("rotten_tomatoes", model).train_rows for model in models] == [8, 4]
    assert [made.training_of("rotten_tomatoes", model).tokens for model in models] == [None, 9]
    assert made.training_of("rotten_tomatoes", "other").epochs == 2
    assert made.explained_runs("faithfulness") == [("rotten_tomatoes", "tiny", 1)]
    assert made.read_tasks() == ["rotten_tomatoes", "imdb"]
    assert changed(judges=["agreement"]).explained_runs("agreement") == [
        ("rotten_tomatoes", "other", 1)
    ]


def test_a_model_may_be_anothers_network_erased_in_another_way():
    def crossed(models=("tiny", "blank"), of_model=None, **of_blank):
        task = TASK | {"models": list(models), "of_model": of_model or {}}
        blank = {"same_as": "tiny", "erase": "pad"} | of_blank
        return make(models={"tiny": TINY, "blank": blank}, crossed={"rotten_tomatoes": task})

    made = crossed().crossed_profile()
    assert made.models["blank"] == made.models["tiny"].changed(same_as="tiny", erase="pad")
    assert made.trained_runs() == [("rotten_tomatoes", "tiny", 1)]
    assert len(made.explained_runs()) == 2
    for more, said in (
        ({"max_length": 9}, "but for `erase`: leave out max_length"),
        ({"same_as": "blank"}, "same as 'blank', which is none that is trained; there are: tiny"),
        ({"models": ["blank"]}, "has model 'blank', and not 'tiny', its network"),
        ({"of_model": {"blank": {"seeds": [2]}}}, r"whose seeds are \[1\]; got 2"),
    ):
        with case(more), pytest.raises(ValueError, match=said):
            crossed(**more)


def test_changes_for_one_model_are_checked():
    for more, words in [
        ({"shards": 2}, "unknown key 'shards'; allowed are: train_rows"),
        ({"training": {"tokns": 9}}, "unknown training key 'tokns'"),
        ({"train_rows": "many"}, "train_rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            changed(**more)


def test_a_model_of_a_task_may_have_seeds_of_its_own():
    given = config.load_profile("smoke").model_dump()
    given["tasks"]["rotten_tomatoes"] |= {"seeds": [1], "of_model": {"tiny": {"seeds": [1, 2]}}}
    given["tasks"]["rated_movies"]["seeds"] = [1, 2]
    profile = config.Profile.model_validate(given)
    runs = [run for run in profile.trained_runs() if run[0] == "rotten_tomatoes"]
    assert [run[1:] for run in runs] == [("tiny", 1), ("tiny", 2), ("tiny_masked", 1)]
    assert ("rated_movies", "tiny", 2) in profile.explained_runs("agreement")
    given["tasks"]["rated_movies"]["seeds"] = [3]
    with pytest.raises(ValueError, match=r"whose seeds are \[1, 2\]; got 3"):
        config.Profile.model_validate(given)
