"""Tables, contrasts and claims of Sun et al. (2024), on values made up here."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from pydantic import ValidationError
from reference import contrasts as slow
from reference import models
from reference.steps import Recorder

from attreval.core.records import Attribution, Evidence
from attreval.methods import METHODS, TECHNIQUES, TYPES
from compendium import config, corpora
from compendium.config import AgentsSpec, BootstrapSpec, DiagnosisSpec, ModelSpec
from compendium.papers.common.claims import read_claims
from compendium.papers.common.runs import with_evidence
from compendium.papers.sun2024 import claims as sun_claims
from compendium.papers.sun2024 import properties as sun_properties
from compendium.papers.sun2024 import tables as sun_tables
from compendium.papers.sun2024.contrasts import (
    TypeContrast,
    contrast_types,
    count_cells,
    mean_of_cells,
)
from compendium.papers.sun2024.figures import figure_2, gain_figure
from compendium.papers.sun2024.properties import Properties
from compendium.project import Results

KINDS = {"one": "encoder", "two": "encoder-decoder"}
CELL = {
    "task": "t",
    "model": "one",
    "kind": "encoder",
    "technique": "shapley",
    "form": "-",
    "agent": 0,
    "property": "sufficiency",
}
RUN = ("snli", "tiny", 1)
CHANGES = [*sun_properties.TEXT, "technique", "type", "k", "units", *sun_properties.CHANGES]


@st.composite
def tables(draw):
    """Rows as contrast_values gives them, some missing."""
    number = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    rows = []
    types = product(KINDS.items(), ("shapley", "attention"), ("token", "pair", "span"))
    for (model, kind), technique, of_type in types:
        about = {"model": model, "kind": kind, "technique": technique, "type": of_type}
        for instance in range(draw(st.integers(0, 3))):
            values = {"value": draw(number), "chance": draw(number)}
            rows.append(CELL | about | values | {"instance": f"i{instance}"})
    return rows


SETTINGS = BootstrapSpec(draws=40, confidence=0.9, nulls=19)
ASKED = (
    TypeContrast(("sufficiency",), "span", ("token", "pair")),
    TypeContrast(("sufficiency",), "span", ("token",), kinds=("encoder",)),
    TypeContrast(("sufficiency",), "token", ("random",)),
    TypeContrast(("sufficiency",), "shapley", ("attention",), across="technique"),
)


@given(rows=tables(), asked=st.sampled_from(ASKED))
def test_a_contrast_equals_its_slow_twin(rows, asked):
    frame = pd.DataFrame(rows, columns=sun_claims.COLUMNS)
    found = contrast_types(frame, asked, SETTINGS)
    expected = slow.contrast(
        [row for row in rows if row["kind"] in (asked.kinds or KINDS.values())], asked
    )
    if expected is None:
        assert found is None
    else:
        low, high = found.finding.interval(0.9)
        assert (found.positive, found.cells) == expected[1:]
        assert found.finding.value == pytest.approx(expected[0]) and low <= high


def typed(values, texts=10, prop="comprehensiveness", chance=0.5):
    """Rows of one cell in which every text says the same of a type."""
    about = (
        {"instance": f"i{i}", "type": kind, "value": v}
        for i in range(texts)
        for kind, v in values.items()
    )
    return pd.DataFrame([CELL | {"property": prop, "chance": chance} | one for one in about])


def test_several_others_become_one_number():
    frame = typed({"span": 0.9, "token": 0.7, "pair": 0.5})
    for pick, lead in (("mean", 0.3), ("best", 0.2), ("least", 0.4)):
        asked = TypeContrast(("comprehensiveness",), "span", ("token", "pair"), pick=pick)
        assert contrast_types(frame, asked, SETTINGS).finding.value == pytest.approx(lead)
        assert mean_of_cells(frame.drop_duplicates("type"), asked) == pytest.approx(lead)


def test_what_training_agents_anew_does_is_in_the_interval():
    gains = {1: 0.4, 2: -0.2, 3: 0.1}
    one = pd.concat(
        typed({"span": 0.5 + gain, "token": 0.5}, 40).assign(agent=seed)
        for seed, gain in gains.items()
    )
    asked = TypeContrast(("comprehensiveness",), "span", ("token",))
    found = contrast_types(one, asked, SETTINGS).finding
    low, high = found.interval(0.9)
    assert found.value == pytest.approx(0.1) and (found.texts, found.seeds) == (40, 3)
    assert low < -0.05 and high > 0.2, "every text says the same, and the agents do not"


def test_an_explanation_and_random_tokens_change_places():
    asked = TypeContrast(("comprehensiveness",), "token", ("random",))
    found = contrast_types(typed({"token": 0.9}, 40), asked, SETTINGS).finding
    assert found.value == pytest.approx(0.4) and abs(found.by_scores.mean()) < 0.1
    each = found.by_scores / 0.4 * 40  # every text gives + or -
    np.testing.assert_allclose(each, 2 * np.rint(each / 2), atol=1e-9)


def test_the_share_of_cells_in_which_a_type_is_first():
    frame = pd.concat(
        typed({"span": 0.9, "token": 0.7}, prop=name)
        for name in ("comprehensiveness", "complexity")
    )
    asked = TypeContrast(
        ("comprehensiveness", "complexity"), "span", ("token",), pick="best", count=True
    )
    found = contrast_types(frame, asked, SETTINGS)  # lower is better for complexity
    assert found.finding.value == 0.5 and found.cells == 2
    assert mean_of_cells(frame.drop_duplicates(["property", "type"]), asked) == 0.5
    one = replace(asked, properties=("comprehensiveness",))
    assert contrast_types(frame, one, SETTINGS).finding.value == 1
    last = replace(one, better="token", worse=("span",), pick="least")
    assert contrast_types(frame, last, SETTINGS).finding.value == 0
    assert contrast_types(frame, replace(asked, techniques=("attention",)), SETTINGS) is None


def test_of_equal_types_each_is_first_as_often():
    rng = np.random.default_rng(0)
    cells = [
        typed({"span": 0, "token": 0, "pair": 0}, 40).assign(
            technique=f"t{at}", value=rng.random(120)
        )
        for at in range(300)
    ]
    asked = TypeContrast(("comprehensiveness",), "span", ("token", "pair"), pick="best", count=True)
    found = contrast_types(pd.concat(cells), asked, BootstrapSpec(draws=5, nulls=19)).finding
    assert found.value == pytest.approx(1 / 3, abs=0.1)
    assert found.by_names.mean() == pytest.approx(1 / 3, abs=0.03)


def test_what_is_comprehensive_against_what_is_plausible():
    rng = np.random.default_rng(0)
    rows = []
    cells = list(product(("shapley", "attention"), ("token", "pair", "span")))
    signs = {"comprehensiveness": 1, "token agreement": -1}
    for i, (technique, kind), name in product(range(40), cells, signs):
        about = {"technique": technique, "type": kind, "property": name, "instance": f"i{i}"}
        value = signs[name] * cells.index((technique, kind)) + 0.1 * rng.normal()
        rows.append(CELL | about | {"value": value})
    found = sun_claims.trade_off(Recorder(), pd.DataFrame(rows))
    assert found.value == pytest.approx(-1) and abs(found.by_names.mean()) < 0.3
    nothing = pd.DataFrame(rows).query("property == 'comprehensiveness'")
    assert "nobody marked" in sun_claims.trade_off(Recorder(), nothing).reason


def test_agents_that_have_not_learned_decide_nothing():
    learned = pd.DataFrame(
        [{"task": "t", "model": "one", "learned": False, "reason": "no better than chance"}]
    )
    told = typed({"span": 0.9, "token": 0.7, "pair": 0.5}, 40, "simulatability").assign(
        form="symbol"
    )
    both = pd.concat([typed({"span": 0.9, "token": 0.7}), told], ignore_index=True)
    step = Recorder()
    step.profile = step.profile.model_copy(update={"bootstrap": SETTINGS})
    reasons = sun_claims.claims_table(step, both, learned).set_index("claim").reason
    assert (
        reasons["spans-help-agents"]
        == reasons["text-for-encoders"]
        == "t, one: no better than chance"
    )
    assert reasons["tokens-comprehensive"].startswith("10 texts decide nothing")
    learned = learned.assign(learned=True)
    alone = sun_claims.claims_table(step, both, learned).set_index("claim").reason
    assert alone["spans-help-agents"] == sun_claims.ONE_AGENT, (
        "what training anew does is not in the interval"
    )
    two_agents = step.profile.diagnosis.changed(agents=AgentsSpec(seeds=[1, 2]))
    step.profile = step.profile.model_copy(update={"diagnosis": two_agents})
    asked = sun_claims.claims_table(step, both, learned).set_index("claim")
    assert asked.value["spans-help-agents"] == 1


def test_every_claim_of_the_paper_can_be_asked_and_is_counted_in_its_tables():
    """What claims.yml reports is what the published tables say, wherever they show it."""
    claims = read_claims("sun2024")
    shown = 0
    counted = {
        row.claim: (row.held, row.cells) for row in sun_claims.published_claims().itertuples()
    }
    for claim in claims:
        if not claim.contrast:
            assert claim.why_not or claim.id == "comprehensive-against-plausible"
            continue
        asked = claim.ask(TypeContrast)
        named = (asked.better, *asked.worse)
        known = {
            "type": {*TYPES, "random"},
            "technique": set(TECHNIQUES),
            "form": {"symbol", "text"},
        }[asked.across]
        properties = asked.properties
        assert set(named) <= known and set(properties) <= set(sun_tables.PROPERTIES), claim.id
        held, cells = counted[claim.id]
        if len(properties) > 1 or (claim.expect.near is not None and not asked.count):
            continue
        if cells:
            held = cells - held if claim.expect.below is not None else held
            assert claim.reported.endswith(f"{held} of {cells} cells"), claim.id
            shown += 1
        else:
            assert properties[0] in ("comprehensiveness", "sufficiency"), (
                "only these are in a figure alone"
            )
    assert shown >= 13
    with pytest.raises(
        ValueError, match="claim x: a contrast has no 'side'; it has: properties, better"
    ):
        claims[0].model_copy(update={"id": "x", "contrast": {"side": 1}}).ask(TypeContrast)


def test_the_papers_own_statements_against_its_tables():
    """Integrated gradients make the most helpful spans in one of four; spans help most in ten of
    twelve, not nine.
    """
    frame = sun_tables.published_cells()
    best = TypeContrast(
        ("simulatability",), "span", ("token", "pair"), pick="best", forms=("symbol",)
    )
    assert count_cells(frame, best) == (10, 12)
    asked = (("simulatability",), "gradients", ("shapley", "attention"), "technique", "best")
    technique = TypeContrast(*asked, types=("span",), forms=("symbol",))
    assert count_cells(frame, technique) == (1, 4)
    assert len(frame) == 60 + 72 + 36


def test_models_are_told_apart_by_kind():
    known = {
        ("transformer", "facebook/bart-base"): "encoder-decoder",
        ("encoder_decoder", None): "encoder-decoder",
    }
    for (architecture, weights), kind in (known | {("transformer", "x"): "encoder"}).items():
        assert (
            sun_tables.model_family(SimpleNamespace(architecture=architecture, weights=weights))
            == kind
        )


def changes():
    """Two instances, one technique, two types, two thresholds, and random units drawn twice."""
    rows = []
    for instance, k in product(("a", "b"), (1, 2)):
        for technique, kind, without in (
            ("shapley", "token", k == 2),
            ("shapley", "span", instance == "a"),
        ):
            rows.append((*RUN, instance, technique, kind, k, 3, float(without), 0.0, 0.1 * k, 0.2))
        rows += [
            (*RUN, instance, "random", "random", k, 3, draw, 1.0, 0.0, 0.0) for draw in (0.0, 1.0)
        ]
    return pd.DataFrame(rows, columns=CHANGES)


def faithfulness_means(changes):
    return sun_tables.measured_means(SimpleNamespace(changes=changes), "faithfulness", Recorder())


def test_changes_are_averaged_over_pieces_and_then_over_texts():
    # a threshold counts once
    uneven = pd.concat([changes(), changes().query("instance == 'a' and k == 1")])
    for frame in (changes(), uneven):
        table = faithfulness_means(frame).set_index(["technique", "type", "measure"])["mean"]
        kinds = (("shapley", "token"), ("shapley", "span"), ("random", "random"))
        assert [table[*kind, "comprehensiveness"] for kind in kinds] == [0.5] * 3
        assert table["shapley", "token", "drop_without"] == pytest.approx(0.15)


def test_the_summary_sets_each_type_beside_what_chance_gives():
    def part(*rows):
        columns = ["task", "model", "seed", "technique", "type", "measure", "mean"]
        frame = pd.DataFrame([("snli", "tiny", *row) for row in rows], columns=columns)
        return frame.assign(low=frame["mean"] - 1, high=frame["mean"] + 1)

    entropy = part((1, "shapley", "token", "entropy", 1.5), (1, "shapley", "token", "random", 2.0))
    known = product((1, 2), (("shapley", 0.7), ("random", 0.6)))
    agreement = part(*((seed, name, "span", "token", value) for seed, (name, value) in known))
    gains = [
        ("snli", "tiny", "shapley", "span", form, gain, 1.0, 4.0)
        for form, gain in (("symbol", 2.5), ("text", 9))
    ]
    agents = pd.DataFrame(gains, columns=[*sun_tables.KEYS, "form", "gain", "low", "high"])
    specs = {"tiny": ModelSpec(weights="x")}
    parts = {
        "faithfulness": faithfulness_means(changes()),
        "agreement": agreement,
        "complexity": entropy,
    }
    found = sun_tables.property_means(parts, agents, specs).set_index(["property", "type"])
    expected = {  # value and chance, and the ends: a mean over seeds has no interval of one of them
        ("comprehensiveness", "token"): (0.5, 0.5, None),
        ("complexity", "token"): (1.5, 2.0, (0.5, 2.5)),
        ("token agreement", "span"): (0.7, 0.6, (np.nan, np.nan)),
        ("simulatability", "span"): (2.5, 0.0, (1.0, 4.0)),
    }
    for cell, (value, chance, ends) in expected.items():
        row = found.loc[cell]
        assert (row.value, row.chance) == (value, chance)
        assert ends is None or (row.low, row.high) == pytest.approx(ends, nan_ok=True)
    assert "random" not in set(found.technique) and set(found.kind) == {"encoder"}
    laid = sun_tables.beside_published(found.reset_index(), specs).set_index("property")
    assert laid.token["complexity"] == "1.50 [2.08]" and laid.pair["complexity"] == "– [1.72]"
    assert laid.loc["token agreement", ["span", "chance"]].tolist() == ["70.0 [75.6]", "60.0"]
    assert laid.span["simulatability"] == "2.5 [3.2]"
    assert list(laid.index) == list(sun_tables.PROPERTIES)
    some = sun_tables.beside_published(found.reset_index(), specs, sun_tables.PERCENT)
    assert tuple(some.property) == sun_tables.PERCENT


def test_models_are_laid_out_with_what_each_property_rests_on(tmp_path):
    step = Recorder()
    step.results = Results(tmp_path)
    step.results.tables.mkdir()
    for model in ("tiny", "tiny_bart"):
        pd.DataFrame({"macro_f1": [0.5]}).to_csv(
            tmp_path / "tables" / f"02_train-snli-{model}-s1_accuracy.csv"
        )
    run = dict(zip(("task", "model", "seed"), RUN, strict=True))
    spans = [
        run | {"instance": i, "technique": t}
        for i, t in (("a", "shapley"), ("a", "attention"), ("b", "shapley"))
    ]
    spans.append(run | {"instance": "a", "technique": "gradients"})
    agreement = pd.DataFrame(
        [run | {"instance": "a", "token": 0.5}, run | {"instance": "b", "token": math.nan}]
    )
    properties = Properties(
        changes(), agreement, pd.DataFrame(spans), pd.DataFrame(columns=[*run, "instance"])
    )
    agents = pd.DataFrame([{"task": "snli", "model": "tiny", "train": 12, "tested": 6}])
    found = sun_tables.tables_1_and_2(step, properties, agents).set_index("model")
    assert found.f1.to_dict() == {"tiny": "50.0 [88.4]", "tiny_bart": "50.0 [85.4]"}
    assert found.loc["tiny", ["explained", "with_spans", "annotated"]].tolist() == [4, 1, 1]
    assert found.agents_train.tolist() == [12, 0] and found.agents_tested.tolist() == [6, 0]


def test_rules_are_set_against_as_many_single_units():
    kinds = (("span", 0.0), ("token", 1.0))
    known = product((("a", 1), ("b", 1), ("b", 2)), ("louvain", "other"), kinds)
    rows = [
        (*RUN, i, "shapley", rule, kind, k, 4, 2 * k, value, 1.0)
        for (i, k), rule, (kind, value) in known
    ]
    names = [
        "technique",
        "rule",
        "type",
        "k",
        "pieces",
        "units",
        "comprehensiveness",
        "sufficiency",
    ]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "instance", *names])
    found = sun_tables.span_rule_means(frame).set_index("rule").loc["louvain"]
    assert (found.instances, found.pieces, found.units) == (2, 4, 2.5)
    assert (found.comprehensiveness_beyond_units, found.sufficiency_beyond_units) == (-1, 0)


def an_instance(tiny):
    """A pair with highlights, its records by every method, and the settings that made them."""
    one = models.instance("the brave film", "was not bad", name="snli/test/7")
    tokens = tiny.tokens(one)
    rng = np.random.default_rng(0)
    positions = [(int(p),) for p in tokens.content]
    pairs = [(a[0], b[0]) for a in positions[:3] for b in positions[3:]]
    spans = [
        tuple(p[0] for p in positions[:2] + positions[3:5]),
        (positions[2][0], positions[5][0]),
    ]
    features = {"token": positions, "pair": pairs, "span": spans, "combined": spans[:1]}
    records = {}
    for kind, method in (pair for methods in TECHNIQUES.values() for pair in methods.items()):
        some = tuple(features[kind])
        records[method] = Attribution(
            one.id, method, 0, METHODS[method].level, some, rng.random(len(some))
        )
    return one, records, DiagnosisSpec(units={"unit": "word"}, random_draws=3)


def test_a_case_is_judged_without_the_model(tiny):
    one, records, settings = an_instance(tiny)
    marks = np.zeros((1, 6))
    marks[0, [1, 4]] = 1
    lent = {one.segments: replace(one, id="esnli/test/7", evidence=Evidence(marks=marks))}
    own = replace(one, evidence=Evidence(marks=np.ones((1, 6))))
    assert with_evidence(own, lent) is own and with_evidence(one, {("other", "texts"): own}) is one
    case = sun_properties.rank_instance(one, records, tiny, settings, RUN, lent)
    assert case.gold[0].units["low"] == {1, 4} and set(case.rankings) == set(TECHNIQUES)
    rows = list(sun_properties.agreement_rows(case, settings, RUN))
    assert {r[:2] for r in rows} == {
        *product(TECHNIQUES, TYPES),
        *product(["random"], ("token", "pair", "span")),
    }
    for technique, kind, people, token, interaction in rows:
        assert people == 1 and 0 <= token <= 1, technique
        assert math.isnan(interaction) == (kind == "token")
    assert str(rows) == str(list(sun_properties.agreement_rows(case, settings, RUN)))
    for _, _, k, found, random, highest in sun_properties.complexity_rows(case, settings):
        assert k == 2 and 0 <= found <= highest + 1e-12 and random <= highest


def test_a_case_without_marks_or_spans_has_nothing_to_agree_on(tiny):
    one, records, settings = an_instance(tiny)
    case = sun_properties.rank_instance(one, records, tiny, settings, RUN, {})
    assert case.gold == [] and list(sun_properties.agreement_rows(case, settings, ("x",))) == []
    for methods in TECHNIQUES.values():
        empty = Attribution(one.id, methods["span"], 0, "span", (), np.zeros(0))
        records |= {
            methods["span"]: empty,
            methods["combined"]: replace(empty, method=methods["combined"]),
        }
    case = sun_properties.rank_instance(one, records, tiny, settings, RUN, {})
    assert case.rankings == {} and list(sun_properties.complexity_rows(case, settings)) == []


def test_evidence_is_lent_where_its_files_are(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path / "data"))
    found = {"esnli/esnli_dev.csv": [], "esnli/esnli_test.csv": ["esnli"]}
    for name, tasks in (found | {"spanex/snli_extended.jsonl": ["spanex_snli", "esnli"]}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        assert corpora.evidence_tasks("snli") == tasks
    assert corpora.evidence_tasks("rotten_tomatoes") == []
    assert config.load_profile("smoke").read_tasks()[-2:] == ["spanex_snli", "esnli"]


def test_settings_that_do_not_go_say_why():
    for settings, said in (
        ({"techniques": ["lime"]}, "'shapley', 'attention' or 'gradients'"),
        ({"techniques": ["shapley"], "agents": {"techniques": ["attention"]}}, "agents ask for"),
        ({"agents": {"split": [1.0, 0.0, 0.0]}}, "three shares above 0 that sum to 1"),
    ):
        with pytest.raises(ValidationError, match=said):
            DiagnosisSpec(**settings)


def test_as_many_random_units_are_as_many(tiny):
    """By default random units are as many as techniques have on average; `each` adds those of every
    technique.
    """
    one, records, settings = an_instance(tiny)
    wide = records["attention_head_spans"]
    records["attention_head_spans"] = replace(
        wide, features=(tuple(sorted(sum(wide.features, ()))),), scores=[1.0]
    )
    frames = {}
    for sizes in ("mean", "each"):
        asked = settings.changed(random_sizes=sizes, span_rules=[])
        case = sun_properties.rank_instance(one, records, tiny, asked, RUN, {})
        sets = sun_properties.explained_sets(case, asked, RUN)
        assert all(len(chosen) == key[3] for key, chosen in sets)
        rows = [(*RUN, one.id, *key, float(len(chosen)), 0.0, 0.0, 0.0) for key, chosen in sets]
        frames[sizes] = pd.DataFrame(rows, columns=CHANGES)
    assert frames["each"].query("type not in @TECHNIQUES").equals(frames["mean"]), (
        "the mean's own draws stay"
    )
    spans = frames["mean"].query("type == 'span'").groupby("technique").units.mean()
    exact = sun_properties.chance_changes(frames["each"]).set_index("technique")
    rough = sun_properties.chance_changes(frames["mean"]).set_index("technique")
    assert (
        exact.exact.all()
        and exact.units.to_dict() == spans.to_dict() == exact.comprehensiveness.to_dict()
    )
    assert not rough.exact.any() and rough.units.to_dict() != spans.to_dict()
    means = faithfulness_means(frames["each"])
    parts = {"faithfulness": means, "agreement": means.iloc[:0], "complexity": means.iloc[:0]}
    agents = pd.DataFrame(columns=[*sun_tables.KEYS, "form", "gain", "low", "high"])
    found = sun_tables.property_means(parts, agents, {"tiny": ModelSpec(weights="x")})
    chance = found[found.property == "comprehensiveness"].groupby("technique").chance.unique()
    assert {name: values.tolist() for name, values in chance.items()} == {
        n: [v] for n, v in spans.to_dict().items()
    }


def test_a_task_that_nobody_marked_leaves_the_numbers_of_others_numbers():
    marked = pd.DataFrame([{"task": "snli", "token": 0.5}])
    found = sun_properties.put_together([marked.iloc[:0].astype(object), marked])
    assert found.token.dtype == float and len(found) == 1
    assert list(sun_properties.put_together([marked.iloc[:0]])) == list(marked)


def written_in(axes):
    """All that is written in panels and legends of a figure, which is closed."""
    plt.close(axes.figure)
    shown = [text for axes in axes.figure.axes for text in [*axes.texts, axes.title]]
    legends = [text for legend in axes.figure.legends for text in legend.get_texts()]
    return [text.get_text() for text in shown + legends]


def test_properties_name_models_and_what_nobody_measured():
    rows = [
        ("snli", "minilm", "token", "token agreement", 0.5),
        ("snli", "minilm", "span", "complexity", 2.0),
        ("fever", "minilm_256", "token", "complexity", 3.0),
    ]
    summary = pd.DataFrame(rows, columns=["task", "model", "type", "property", "value"])
    summary = summary.assign(technique="shapley", chance=0.1)
    axes = figure_2(summary.assign(low=summary.value - 0.25, high=summary.value + 0.5))
    complexity = axes.figure.axes[2:]
    paths = [path for one in complexity for path in one.collections[1].get_paths()]
    assert [path.vertices[:, 1].tolist() for path in paths] == [[1.75, 2.5], [2.75, 3.5]]
    assert complexity[0].get_ylim()[1] > 3.5, "intervals fit"
    said = written_in(axes)
    assert said.count("nobody marked these") == 1 and not any("minilm" in text for text in said)
    named = {"SNLI, MiniLM", "FEVER, MiniLM (256 tokens)", "TokenEx", "SpanIntEx", "random"}
    assert named <= set(said) and "TokenIntEx" not in said


def test_gains_of_a_form_that_only_one_type_has_are_named():
    columns = ["technique", "type", "form", "gain", "low", "high"]
    rows = [
        ("none", "none", "none", None, None, None),
        ("attention", "token", "symbol", 1.0, 0.5, 2.0),
        ("attention", "span", "text", -1.0, -2.0, 0.0),
    ]
    titles = ["explanation as symbol", "explanation as text"]
    axes = gain_figure(pd.DataFrame(rows, columns=columns))
    assert written_in(axes) == [*titles, "TokenEx", "SpanIntEx"]
