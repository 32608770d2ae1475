"""The place of a method among the others, by judge and kind of network."""

import pandas as pd
import pytest

from compendium.config import Profile
from compendium.papers.joint import flips, lattice, values

BERT = {"layers": 2, "hidden": 4, "heads": 2, "tokenizer": "words"}
MODELS = {
    "gru": {"architecture": "gru", "hidden": 4},
    "gru_mean": {"same_as": "gru", "erase": "mean"},
    "qgru": {"architecture": "qgru", "hidden": 4},
    "cnn": {"architecture": "cnn", "hidden": 4},
    "bert": BERT,
    "bert_early": BERT | {"training": {"watch": "accuracy", "enough": 0.8}},
    "bart": BERT | {"architecture": "encoder_decoder", "start": "minilm", "tokenizer": "minilm"},
    "minilm": {"weights": "minilm"},
    "smollm2": {"weights": "smollm2"},
}
ROWS = dict.fromkeys(("train_rows", "dev_rows", "test_rows", "explain_rows"), 8)
PROFILE = Profile(
    name="made-up",
    models=MODELS,
    tasks={"sst2": ROWS | {"models": list(MODELS), "seeds": [1, 2]}},
    explain={"methods": ["random"]},
)
METHODS = ("deeplift", "gradient_l2", "occlusion_1")
# of each network the values of the methods under two judges
VALUES = {
    ("gru", 1): {"nc": (3, 1, 2), "ns": (3, 1, 2), "agreement": (2, 1, 3)},
    ("gru", 2): {"nc": (3, 1, 2), "agreement": (3, 1, 2)},
    ("gru_mean", 1): {"nc": (1, 2, 3)},
    ("minilm", 1): {"nc": (1, 2, 2), "agreement": (1, 3, 2)},
    ("cnn", 1): {"agreement": (3, 2, 1)},
    ("bert_early", 1): {"agreement": (3, 2, 1)},
}


@pytest.fixture
def places():
    rows = []
    for (model, seed), metrics in VALUES.items():
        for metric, means in metrics.items():
            rows.append(("sst2", model, seed, "x0", "random", metric, 9))
            for method, mean in zip(METHODS, means, strict=True):
                for text, apart in (("x0", 1), ("x1", -1)):
                    rows.append(("sst2", model, seed, text, method, metric, mean + apart))
    return flips.places_table(flips.network_places(*table_of_networks(rows), PROFILE))


def table_of_networks(rows):
    """The scores of rows, and the accuracies of their networks."""
    scores = pd.DataFrame(rows, columns=values.COLUMNS)
    networks = list(dict.fromkeys(scores.model))
    tested = {"task": "sst2", "model": networks, "layers": 1, "causal": False}
    return scores, pd.DataFrame(tested)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("gru", "recurrent"),
        ("qgru", "recurrent"),
        ("cnn", "convolutional"),
        ("bert", "transformer, not pretrained"),
        ("minilm", "pretrained encoder"),
        ("bart", "pretrained encoder-decoder"),
        ("smollm2", "pretrained decoder"),
    ],
)
def test_kinds_of_networks(model, kind):
    facts = lattice.facts_of(PROFILE, "sst2", model, 1, model == "smollm2")
    assert flips.kind_of_network(facts) == kind


def test_a_place_is_the_share_of_the_others_that_a_method_beats(places):
    assert set(places.kind) == {"recurrent", "pretrained encoder", "convolutional"}
    rows = places.set_index(["kind", "judge", "method"]).sort_index()
    deeplift = rows.loc["recurrent", "agreement", "deeplift"]
    assert deeplift[["networks", "place", "lowest", "highest"]].tolist() == [2, 0.75, 0.5, 1]
    # each judge counts alike, however many metrics it has
    assert rows.loc["recurrent", flips.ALL, "deeplift"].place == pytest.approx((0.75 + 1) / 2)
    tied = rows.loc["pretrained encoder", "faithfulness"].place
    assert tied.to_dict() == {"deeplift": 0, "gradient_l2": 0.75, "occlusion_1": 0.75}


def test_what_flips_is_said_and_coloured(places):
    turned = flips.flips_of(places)
    assert turned.to_dict() == pytest.approx(
        {"deeplift": -0.875, "occlusion_1": 0.0, "gradient_l2": 0.875}
    )
    said = flips.say_flips(places)
    assert "fall: DeepLIFT (-0.88); rise: Gradient (L2) (+0.88)" in said
    axes = flips.draw_flips(places)
    slopes = [
        line for line in axes.lines if len(line.get_xdata()) == 3 and line.get_marker() == "o"
    ]
    assert [line.get_color() for line in slopes] == [
        flips.LOOKS[look] for look in ("falls", "", "rises")
    ]
    assert slopes[0].get_ydata()[0] == pytest.approx(0.875)
    some = places[places.kind != flips.ENCODER]
    assert flips.say_flips(some).startswith("This run has no rows")
    assert flips.draw_flips(some).texts[0].get_text().startswith("no recurrent network and")


def test_what_no_judge_puts_below_half_on_any_kind_of_network_has_a_colour_of_its_own(places):
    def said(places):
        return flips.draw_flips(places).get_legend().texts[-1].get_text()

    assert said(places).endswith("task: none")
    high = places.assign(place=places.place.where(places.method != "occlusion_1", 0.7))
    assert said(high).endswith("task: Occlusion (1)")
    one_judge = high.judge.eq("faithfulness") & high.method.eq("occlusion_1")
    assert said(high.assign(place=high.place.mask(one_judge, 0.4))).endswith("task: none")
