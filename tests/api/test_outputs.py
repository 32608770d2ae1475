"""Outputs that are no classes (several labels at once, one logit, a regression): one is explained,
and judged.
"""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers as hf
from numpy.testing import assert_allclose
from reference import coalitions
from reference.models import draw_weights, tiny_model
from typer.testing import CliRunner

import attreval as av
from attreval.api.other_scores import explain_neighbours, explain_randomised
from attreval.api.show.shown import describe_text
from attreval.cli import app
from attreval.methods import METHODS, methods_for
from attreval.metrics import METRICS
from attreval.models.loading import examine_model

LABELS = ("toxic", "rude", "kind")
TEXT = "the film was very good ."
PAIR = ("the brave film", "not bad")
GRADIENTS = ["gradient_x_input", "integrated_gradients"]


def network_of(outputs: int, problem: str | None, seed: int = 0):
    """A network of so many outputs, and its tokenizer; of one and the same seed all but the head is
    the same.
    """
    tiny = tiny_model(seed)
    config = hf.BertConfig(**tiny.network.config.to_dict() | {"problem_type": problem})
    config.num_labels = outputs
    if outputs == 3:
        config.id2label = dict(enumerate(LABELS))
    network = hf.BertForSequenceClassification(config)
    draw_weights(network, seed)
    network.bert.load_state_dict(tiny.network.bert.state_dict())
    return network.eval(), tiny.tokenizer


@pytest.fixture(scope="module")
def toxic():
    """Three labels at once; do not change it."""
    return av.wrap(*network_of(3, "multi_label_classification"))


@pytest.fixture(scope="module")
def reranker():
    """One logit, of which nothing is said; do not change it."""
    return av.wrap(*network_of(1, None))


def logits_of(model, ids, segments):
    """(n, K) logits by the network itself."""
    given = {"input_ids": torch.tensor(ids), "token_type_ids": torch.tensor(segments)}
    with torch.no_grad():
        return model.network(**given).logits.double().numpy()


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def test_one_of_several_labels_is_explained_as_brute_force_explains_it(toxic):
    (found,) = av.explain(toxic, TEXT, ["kernel_shap", "occlusion_1"], output="rude", unit="token")
    tokens = found.tokens
    n = len(tokens.content)
    kept = np.arange(2**n)[:, None] >> np.arange(n) & 1 == 1
    rows = np.repeat(tokens.ids[None], 2**n, axis=0)
    rows[:, tokens.content] = np.where(kept, rows[:, tokens.content], tokens.mask_id)
    z = logits_of(toxic, rows, np.broadcast_to(tokens.segments, rows.shape))[:, 1]
    values = sigmoid(z)
    expected = coalitions.shapley_by_subsets(values, n)
    assert_allclose(found.scores("kernel_shap"), expected, atol=1e-6)
    assert_allclose(found.scores("kernel_shap").sum(), values[-1] - values[0], atol=1e-6)
    lost = [z[-1] - z[2**n - 1 - 2**at] for at in range(n)]
    assert_allclose(found.scores("occlusion_1"), lost, atol=1e-5)
    assert found.probabilities == {"rude": pytest.approx(values[-1], abs=1e-6)}
    assert found.target == found.predicted == "rude" and found.outputs == "independent"
    assert av.explain(toxic, TEXT, "random", output=1)[0].target == "rude"


def test_a_value_is_followed_as_it_is(reranker):
    found = av.explain(reranker, [TEXT, PAIR], "kernel_shap", samples=2000)
    for one in found:
        blank = np.where(one.tokens.special, one.tokens.ids, one.tokens.mask_id)
        rows = np.stack([one.tokens.ids, blank])
        z = logits_of(reranker, rows, np.stack([one.tokens.segments] * 2))[:, 0]
        assert_allclose(one.scores("kernel_shap").sum(), z[0] - z[1], atol=1e-5)
        assert one.probabilities == {"score": pytest.approx(z[0], abs=1e-5)}
    assert reranker.labels == ("score",) and reranker.outputs == "value"


def test_gradients_and_relevance_are_those_of_the_output(toxic):
    methods = ["gradient_x_input", "lrp", "deeplift_complete", "attention_head"]
    (found,) = av.explain(toxic, TEXT, methods, output="kind", unit="token")
    ids = torch.from_numpy(found.tokens.ids)[None]
    vectors = toxic.embed(ids).requires_grad_(True)
    mask = torch.ones_like(ids)
    out = toxic.network(inputs_embeds=vectors, attention_mask=mask).logits[0, 2]
    (slope,) = torch.autograd.grad(out, vectors)
    content = found.tokens.content
    wanted = (slope * vectors).detach().sum(dim=2)[0].numpy()[content]
    assert_allclose(found.scores("gradient_x_input"), wanted, atol=1e-5)
    plain = av.wrap(toxic.network, toxic.tokenizer)
    plain.outputs = "classes"
    (same,) = av.explain(plain, TEXT, methods, target=2, unit="token")
    for method in methods:
        assert_allclose(found.scores(method), same.scores(method), atol=1e-6, err_msg=method)


def test_a_probability_and_the_second_of_two_classes_are_explained_and_judged_alike():
    """Logits (0, z) of classes, and the logit z alone."""
    alone, tokenizer = network_of(1, None)
    both, _ = network_of(2, None)
    with torch.no_grad():
        alone.classifier.bias += 2  # so that the second class is predicted
        both.classifier.weight.copy_(torch.cat([torch.zeros(1, 32), alone.classifier.weight]))
        both.classifier.bias.copy_(torch.cat([torch.zeros(1), alone.classifier.bias]))
    classes = av.wrap(both, tokenizer, ["no", "score"])
    single = av.wrap(alone, tokenizer, outputs="independent")
    texts = [TEXT, PAIR, "the plot was slow"]
    methods = [name for name in methods_for("transformer") if METHODS[name].outputs[1:]]
    one, two = [av.explain(m, texts, methods, samples=40) for m in (single, classes)]
    assert set(two.predicted) == {"score"} == set(one.predicted)
    for mine, theirs in zip(one, two, strict=True):
        for method in methods:
            given = mine.scores(method), theirs.scores(method)
            assert_allclose(*given, atol=2e-4, err_msg=method)
    links = [av.explain(m, PAIR, "attention_attribution")[0] for m in (single, classes)]
    given = [one.scores("attention_attribution") for one in links]
    assert_allclose(*given, atol=1e-5)
    names = [m.name for m in METRICS.values() if not m.notebook and "model" in m.needs]
    names = [n for n in names if METRICS[n].outputs[1:] and not {"infill"} & {*METRICS[n].needs}]
    assert len(names) > 20
    chosen = [av.explain(m, texts, ["occlusion_1", "lime"], samples=40) for m in (single, classes)]
    judged = [
        av.evaluate(m, found, names) for m, found in zip((single, classes), chosen, strict=True)
    ]
    assert_allclose(judged[0]["mean"], judged[1]["mean"], atol=2e-3)


def test_what_needs_a_class_or_a_probability_is_left_out_or_refused(toxic, reranker):
    of_class = {"flip_share", "flip_first"}
    of_share = {"nc", "ns", "soft_nc", "soft_ns_equal", "diagnosticity", "effective_complexity"}
    of_any = ["comprehensiveness", "sufficiency", "aopc", "insertion", "naopc_sufficiency"]
    of_any += ["faithfulness_correlation", "f_fidelity_plus", "infidelity"]
    for model, refused, fine in (
        (toxic, of_class, [*of_any, *of_share]),
        (reranker, of_class | of_share, of_any),
    ):
        found = av.explain(model, [TEXT, "not bad"], "occlusion_1", output=0)
        usual = {*av.evaluate(model, found).metric}
        assert not usual & refused and {"comprehensiveness", "simplicity"} <= usual
        assert ("nc" in usual) == (model is toxic)
        assert {*av.evaluate(model, found, fine).metric} == {*fine}
        for name in refused:
            with pytest.raises(ValueError, match=f"'{name}' needs (classes|a probability)"):
                av.evaluate(model, found, name)
        everything = av.explain(model, TEXT, "all", output=0, samples=8)[0]
        assert not everything.left_out and "limsse_class" not in everything.methods
        with pytest.raises(ValueError, match="'limsse_class' needs classes of which"):
            av.explain(model, TEXT, "limsse_class", output=0)


def test_the_drop_of_the_output_is_judged_as_brute_force_says(toxic, reranker):
    """Comprehensiveness erases 1, 1, 1, 2 and 3 of 6 tokens."""
    for model, output, link in ((toxic, 1, sigmoid), (reranker, 0, lambda z: z)):
        found = av.explain(model, TEXT, "occlusion_1", unit="token", output=output)
        tokens = found[0].tokens
        order = tokens.content[np.argsort(-found[0].scores("occlusion_1"))]
        rows = np.repeat(tokens.ids[None], 4, axis=0)
        for size in (1, 2, 3):
            rows[size, order[:size]] = tokens.pad_id
        values = link(logits_of(model, rows, np.stack([tokens.segments] * 4))[:, output])
        drops = values[0] - values
        table = av.evaluate(model, found, "comprehensiveness").set_index("method")
        expected = (3 * drops[1] + drops[2] + drops[3]) / 5
        assert table["mean"]["occlusion_1"] == pytest.approx(expected, abs=1e-5)
        assert abs(expected) > 1e-3


def test_what_is_named_must_be_what_the_model_has(toxic, reranker):
    classes = tiny_model()
    found = av.explain(toxic, TEXT, "random", output="toxic")
    for call, said in (
        (lambda: av.explain(toxic, TEXT), "output= names the one .* 0 toxic, 1 rude, 2 kind"),
        (lambda: av.explain(toxic, TEXT, output="evil"), "no output 'evil'; it has 3: 0 toxic"),
        (lambda: av.explain(toxic, TEXT, target="toxic"), "target and against name classes"),
        (lambda: av.explain(reranker, TEXT, against=0), "target and against name classes"),
        (lambda: av.explain(classes, TEXT, output="no"), "target='no' names the one to explain"),
        (lambda: av.evaluate(reranker, found), "are of probabilities .* model's outputs are value"),
        (lambda: av.evaluate(classes, found), "model's outputs are classes"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_an_output_is_shown_by_its_name_and_number(toxic, reranker, tmp_path):
    of_label = av.explain(toxic, TEXT, GRADIENTS, output="toxic")
    of_value = av.explain(reranker, [PAIR], GRADIENTS)
    (p,) = of_label[0].probabilities.values()
    (value,) = of_value[0].probabilities.values()
    assert describe_text(of_label[0]) == f"toxic with probability {p:.3f}"
    assert describe_text(of_value[0]) == f"score {value:.4g}"
    for found in (of_label, of_value):
        shown = found.save(tmp_path / "shown.html").read_text()
        assert describe_text(found[0]) in shown and "predicted" not in shown
    (said,) = of_value.to_json()
    assert said["outputs"] == "value" and said["probabilities"] == {"score": value}


def test_attributions_of_an_output_come_back_from_files_and_go_to_others(toxic, reranker, tmp_path):
    for model, name in ((toxic, "kind"), (reranker, "score")):
        found = av.explain(model, [TEXT, "not bad"], ["kernel_shap"], output=name, samples=500)
        path = found.save(tmp_path / f"{name}.jsonl")
        again = av.explain(model, [TEXT, "not bad"], "random", output=name)
        scores = [one.scores("kernel_shap") for one in found]
        theirs = path.read_text().replace("kernel_shap", "theirs")
        path.write_text(theirs)
        for one, wanted in zip(again.add_file(path), scores, strict=True):
            assert_allclose(one.scores("theirs"), wanted, atol=1e-12)
        shap = found.to_shap("kernel_shap")
        for at, one in enumerate(found):
            whole = one.probabilities[name]
            assert shap.base_values[at] + shap.values[at].sum() == pytest.approx(whole)
        record = found.to_captum("kernel_shap")[0]
        assert record.attr_class == name and record.pred_prob == found[0].probabilities[name]
    other = av.explain(toxic, TEXT, "random", output="rude")
    with pytest.raises(ValueError, match=r"explains the class 'kind'; there are: rude"):
        other.add_file(tmp_path / "kind.jsonl")


def test_disturbed_texts_and_shuffled_models_are_asked_about_the_same_output(toxic):
    found = av.explain(toxic, TEXT, "gradient_x_input", output="kind")
    near = explain_neighbours(toxic, found, 2)
    drawn = explain_randomised(toxic, found, 2)
    table = av.evaluate(
        toxic,
        found,
        ["max_sensitivity", "parameter_randomisation"],
        neighbours=near,
        randomised=drawn,
    )
    assert {*table.metric} == {"max_sensitivity", "parameter_randomisation"}
    rival = av.explain(toxic, TEXT, "gradient_x_input", output="toxic")
    assert not np.allclose(
        explain_neighbours(toxic, rival, 2)[0]["gradient_x_input"], near[0]["gradient_x_input"]
    )


def save(folder, outputs, problem):
    network, tokenizer = network_of(outputs, problem)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_folder_says_what_its_outputs_are(tmp_path):
    for outputs, problem, asked, read, labels in (
        (3, None, None, "classes", LABELS),
        (3, None, "independent", "independent", LABELS),
        (3, "multi_label_classification", None, "independent", LABELS),
        (3, "regression", None, "value", LABELS),
        (1, "regression", None, "value", ("score",)),
        (1, None, None, "value", ("score",)),
        (1, None, "independent", "independent", ("score",)),
    ):
        model = av.load(save(tmp_path / f"{outputs}{problem}", outputs, problem), outputs=asked)
        assert (model.outputs, model.labels) == (read, labels)
    for name, asked, said in (
        ("3multi_label_classification", "classes", "is a multi_label_classification"),
        ("1regression", "independent", "leave outputs out, or mend problem_type"),
        ("1None", "classes", "has 1 output, and classes are two or more: outputs='value'"),
        ("1None", "sigmoid", "outputs 'sigmoid' are not known; there are: classes, "),
    ):
        with pytest.raises(ValueError, match=said):
            av.load(tmp_path / name, outputs=asked)
    for name, said in (
        (
            "1None",
            "1: score; read as values (config.json does not say it: --outputs independent or",
        ),
        ("3regression", "kind; read as values (problem_type regression in config.json)"),
    ):
        assert said in examine_model(av.load(tmp_path / name))["outputs"]


def test_the_commands_take_an_output(tmp_path):
    folder = str(save(tmp_path / "labels", 3, "multi_label_classification"))
    asked = ["explain", "--model", folder, "--text", "not bad", "--method", "random"]
    done = CliRunner().invoke(app, [*asked, "--output", "rude", "--json"])
    assert json.loads(done.stdout)[0]["target"] == "rude"
    assert "output= names the one" in CliRunner().invoke(app, asked).output
    one = str(save(tmp_path / "one", 1, None))
    asked[2] = one
    done = CliRunner().invoke(app, [*asked, "--outputs", "independent", "--json"])
    assert 0 < json.loads(done.stdout)[0]["probabilities"]["score"] < 1


WORDS = ("the", "film", "was", "very", "good", "bad", "slow", "brave", "plot", "not")


def test_texts_without_labels_are_evaluated_for_an_output(tmp_path):
    rng = np.random.default_rng(0)
    texts = "\n".join(["text", *(" ".join(rng.choice(WORDS, 5)) for _ in range(12))])
    (tmp_path / "texts.csv").write_text(texts)
    methods = ["--methods", "occlusion_1,gradient_l2"]
    for outputs, problem, name, said in (
        (3, "multi_label_classification", "toxic", "the probability of toxic falls when"),
        (1, None, "score", "the value of score falls when"),
    ):
        folder = str(save(tmp_path / name, outputs, problem))
        out = tmp_path / f"report {name}"
        asked = ["evaluate", "--model", folder, "--data", str(tmp_path / "texts.csv")]
        asked += [*methods, "--out", str(out), "--output", name]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        assert f"12 texts, output {name}, 2 methods" in done.stdout
        page = (out / "report.html").read_text()
        assert said in page and f"explained is the output {name}" in page
        assert "the model is right on" not in page and "labelled" not in page
        assert ("Not asked: NC, NS" in page) == (name == "score")
        settings = json.loads((out / "settings.json").read_text())
        assert (settings["output"], settings["label"]) == (name, "")
        shown = (out / "texts.html").read_text()
        assert CliRunner().invoke(app, asked).exit_code == 0  # by what is kept of each text
        assert (out / "texts.html").read_text() == shown


def test_a_pipeline_is_its_model_and_tokenizer():
    for outputs, problem, read in (
        (3, None, "classes"),
        (3, "multi_label_classification", "independent"),
        (1, None, "independent"),
        (1, "regression", "value"),
    ):
        network, tokenizer = network_of(outputs, problem)
        pipeline = hf.pipeline("text-classification", model=network, tokenizer=tokenizer)
        model = av.wrap(pipeline)
        name = model.labels[-1]
        more = {} if read == "classes" else {"output": name}
        (found,) = av.explain(model, TEXT, "random", **more)
        theirs = {row["label"]: row["score"] for row in pipeline(TEXT, top_k=None)}
        own = "LABEL_0" if outputs == 1 else name
        assert model.outputs == read
        assert found.probabilities[name] == pytest.approx(theirs[own], abs=1e-5)
    with pytest.raises(ValueError, match="a pipeline for fill-mask is not its model alone"):
        av.wrap(SimpleNamespace(task="fill-mask", model=network, tokenizer=tokenizer))
    with pytest.raises(ValueError, match="DataParallel is around another module; give its"):
        av.wrap(torch.nn.DataParallel(network), tokenizer)


def test_pieces_of_a_long_text_are_said_of_outputs_too(toxic, reranker):
    long = "A good film and a bad plot. " * 20
    for model, more, how in (
        (toxic, {"output": "rude"}, "rude with probability"),
        (reranker, {}, "score"),
    ):
        (found,) = av.explain(model, long, "occlusion_1", window=True, **more)
        name = found.target
        shape = ".3f" if more else ".4g"
        each = ", ".join(f"{numbers[name]:{shape}}" for *_, numbers in found.pieces)
        assert len(found.pieces) > 1
        assert f"model says {how} {each}; it has not read the whole text" in found._repr_html_()
