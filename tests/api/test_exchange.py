"""Explanations that go elsewhere and come back: files, captum's records, shap's objects."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import attreval as av
from attreval.models.scorer import Scorer

TEXTS = ["the film was good .", ("a slow plot", "the film is not bad .")]
METHODS = ["gradient_x_input", "occlusion_1"]


@pytest.fixture
def found(tiny):
    return av.explain(tiny, TEXTS, METHODS)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_is_saved_comes_back_as_a_method(tiny, found, tmp_path, ending):
    path = found.save(tmp_path / f"mine.{ending}")
    renamed = tmp_path / f"theirs.{ending}"
    if ending == "jsonl":
        renamed.write_text(
            path.read_text()
            .replace('"gradient_x_input"', '"theirs"')
            .replace('"occlusion_1"', '"others"')
        )
    else:
        names = {"gradient_x_input": "theirs", "occlusion_1": "others"}
        pd.read_parquet(path).replace({"method": names}).to_parquet(renamed)
    found.add_file(renamed)
    for one in found:
        assert np.allclose(one.scores("theirs"), one.scores("gradient_x_input"))
        assert np.allclose(one.scores("others"), one.scores("occlusion_1"))
    table = av.evaluate(tiny, found, ["nc"], draws=10).set_index("method")["mean"]
    assert np.isclose(table["theirs"], table["gradient_x_input"]) and "others" in table
    with pytest.raises(ValueError, match="already"):
        found.add_file(path)


def test_a_file_that_does_not_speak_of_these_texts_is_refused(tiny, found, tmp_path):
    path = found[:1].save(tmp_path / "one.jsonl")
    path.write_text(
        path.read_text().replace("gradient_x_input", "theirs").replace("occlusion_1", "others")
    )
    with pytest.raises(ValueError, match=r"'theirs' has no scores for the text \('a slow plot'"):
        found.add_file(path)
    other = next(label for label in tiny.labels if label != found[0].target)
    path.write_text(
        path.read_text().replace(f'"target": "{found[0].target}"', f'"target": "{other}"')
    )
    with pytest.raises(ValueError, match=f"explains the class '{other}'"):
        found[:1].add_file(path)


def test_captum_and_shap_show_our_scores(found):
    from captum.attr import visualization

    records = found.to_captum("occlusion_1")
    assert [len(r.word_attributions) for r in records] == [len(one.units) for one in found]
    assert all(np.abs(r.word_attributions).max() == 1 for r in records)
    assert "film" in visualization.format_word_importances(
        records[0].raw_input_ids, records[0].word_attributions
    )
    made = found.to_shap("occlusion_1")
    assert all(
        np.array_equal(a, one.scores("occlusion_1"))
        for a, one in zip(made.values, found, strict=True)
    )
    assert "".join(made.data[0]).split() == [unit.text for unit in found[0].units]
    single = found[:1].to_shap("occlusion_1")
    assert single.values.shape == (1,) and single[0].values.shape == (len(found[0].units),)


def test_shap_adds_our_scores_up_to_what_the_model_says(tiny):
    texts = ["the film, was good", ("a slow plot", "not  bad .")]
    found = av.explain(tiny, texts, ["partition_shap", "kernel_shap", "occlusion_1"], samples=600)
    blank = tiny_blank(tiny, found)
    for method in found.methods:
        made = found.to_shap(method)
        for one, base, values, words, asked in zip(
            found, made.base_values, made.values, made.data, blank, strict=True
        ):
            assert base + values.sum() == pytest.approx(one.probabilities[one.target], abs=1e-9)
            assert "".join(words).rstrip() == " ".join(one.instance.segments)
            if method != "occlusion_1":
                assert base == pytest.approx(asked, abs=1e-5)
    contrast = av.explain(tiny, texts[0], "kernel_shap", target=0, against=1, samples=600)
    first, second = (contrast[0].probabilities[label] for label in tiny.labels[:2])
    made = contrast.to_shap("kernel_shap")
    assert made.base_values[0] + made.values[0].sum() == pytest.approx(
        first / (first + second), abs=1e-9
    )


def tiny_blank(model, found):
    """The probability of the explained class where every word is masked, of each text."""
    rows = [(np.where(t.special, t.ids, t.mask_id), t.segments) for t in found.tokens]
    probabilities = softmax(Scorer(model).logits(rows), axis=1)
    return [p[model.labels.index(one.target)] for p, one in zip(probabilities, found, strict=True)]
