"""Variants of a paper: named, whole, and the only way to set what they set."""

from __future__ import annotations

import pytest
import yaml
from reference.profiles import TASK, TINY

from compendium import config
from compendium.config.variants import VARIANTS


def load(folder, **more):
    """A profile of its own file, with more keys."""
    made = {"name": "mine", "models": {"tiny": TINY}, "tasks": {"snli": TASK}, "explain": {"methods": ["lime"]}}
    (folder / "mine.yaml").write_text(yaml.safe_dump(made | more))
    return config.load(str(folder / "mine.yaml"))


@pytest.mark.parametrize("paper, name", [(p, v) for p, variants in VARIANTS.items() for v in variants])
def test_a_variant_fills_in_all_that_it_names(tmp_path, paper, name):
    """Each field is one that the schema has, and says in the loaded profile what the variant says."""
    found = load(tmp_path, variants={paper: name})
    assert found.variants == {paper: name}
    for section, fields in VARIANTS[paper][name].items():
        place = found
        for part in section.split("."):
            place = getattr(place, part)
        assert {field: getattr(place, field) for field in fields} == fields


def test_every_variant_of_a_paper_moves_something(tmp_path):
    plain = load(tmp_path).model_dump(exclude={"variants"})
    made = {}
    for paper, names in VARIANTS.items():
        for name in names:
            made[paper, name] = load(tmp_path, variants={paper: name}).model_dump(exclude={"variants"})
            assert made[paper, name] != plain, (paper, name)
    assert len({str(found) for found in made.values()}) == len(made)


def test_variants_of_several_papers_meet_and_leave_other_keys_alone(tmp_path):
    found = load(tmp_path, variants={"kamp2023": "paper", "sun2024": "released"}, agreement={"fixed_k": 3})
    assert (found.agreement.people, found.agreement.fixed_k) == ("share", 3)
    assert found.diagnosis.units.head_rank == -1 and found.diagnosis.units.unit == "word"


@pytest.mark.parametrize(
    "more, words",
    [
        ({"agreement": {"ties": "random"}}, r"agreement\.ties: is set by a variant .* kamp2023: released"),
        ({"tasks": {"snli": TASK | {"explain": {"limsse_solver": "exact"}}}}, r"tasks\.snli\.explain\.limsse_solver"),
        ({"diagnosis": {"units": {"head_rank": 1}}}, r"diagnosis\.units\.head_rank"),
        ({"seed_study": {"explain": {"limsse_solver": "exact"}}}, r"seed_study\.explain\.limsse_solver"),
        ({"variants": {"kamp2024": "paper"}}, "no paper 'kamp2024'; there are: poerner2018, kamp2023"),
        ({"variants": {"kamp2023": "code"}}, r"variants\.kamp2023: no variant 'code'; there are: released, paper"),
        ({"variants": ["paper"]}, "paper and variant are needed"),
        ({"agreement": 3}, "agreement"),
        ({"agreement": 3, "variants": {"kamp2023": "paper"}}, "agreement"),
        ({"variants": {"kamp2023": ["paper"]}}, "no variant"),
    ],
)
def test_what_a_variant_sets_is_no_key_of_a_profile(tmp_path, more, words):
    with pytest.raises(ValueError, match=words):
        load(tmp_path, **more)
