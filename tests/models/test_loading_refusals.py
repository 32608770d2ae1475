"""What lies in a folder is a whole classifier of texts, or is refused with the reason; nothing is made up."""

import json
import shutil

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference.models import instance
from safetensors.torch import load_file, save_file
from transformers import (
    BertForMaskedLM,
    BertForTokenClassification,
    BertModel,
    CanineConfig,
    CanineForSequenceClassification,
    CanineTokenizer,
)

from attreval.methods import METHODS
from attreval.methods.applicable import LEAST
from attreval.methods.run import explain
from attreval.models import forward
from attreval.models.class_names import name_classes
from attreval.models.examine import examine_model
from attreval.models.folders import find_model
from attreval.models.loading import load_classifier
from attreval.models.scorer import Scorer


@pytest.fixture
def bert(tmp_path):
    """The folder of a tiny classifier, to be broken."""
    return shapes.save_tiny("bert", tmp_path / "bert")


def load(folder, **more):
    return load_classifier(str(folder), device="cpu", max_length=64, **more)


def configure(folder, **changes):
    """Change entries of config.json; None takes one out."""
    path = folder / "config.json"
    given = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in given.items() if value is not None}))


def change_weights(folder, change):
    """Change the weights, a name -> tensor table."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("made", [BertModel, BertForMaskedLM, BertForTokenClassification])
@pytest.mark.parametrize("named", [True, False])
def test_a_network_without_a_head_gets_no_random_one(bert, made, named):
    torch.manual_seed(0)
    made.from_pretrained(bert).save_pretrained(bert)
    if not named:
        configure(bert, architectures=None)
    with pytest.raises(ValueError, match=made.__name__ if named else "holds no weights for .*(classifier|pooler)"):
        load(bert)


def test_weights_that_are_missing_or_do_not_fit(bert):
    change_weights(bert, lambda weights: weights.pop("bert.encoder.layer.1.output.dense.weight"))
    with pytest.raises(ValueError, match=r"holds no weights for bert.encoder.layer.1.output.dense.weight: "):
        load(bert)
    change_weights(bert, lambda w: w.update({"bert.encoder.layer.1.output.dense.weight": torch.zeros(16, 31)}))
    with pytest.raises(ValueError, match=r"output.dense.weight \(16, 31\), config.json asks for \(16, 32\)"):
        load(bert)


def test_more_labels_than_the_head_has(bert):
    configure(bert, id2label={str(k): f"c{k}" for k in range(5)}, label2id={f"c{k}": k for k in range(5)})
    with pytest.raises(ValueError, match=r"classifier.bias \(3,\), config.json asks for \(5,\)"):
        load(bert)


def test_weights_that_are_cut_off(bert):
    whole = (bert / "model.safetensors").read_bytes()
    for size in (len(whole) // 2, 100, 0):
        (bert / "model.safetensors").write_bytes(whole[:size])
        with pytest.raises(OSError, match=r"cannot be read: .*cut off or damaged") as error:
            load(bert)
        assert "\n" not in str(error.value)


def test_pickled_weights_are_not_opened(bert):
    torch.save(load_file(bert / "model.safetensors"), bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    with pytest.raises(OSError, match=r"no weights \(\*.safetensors\) but pytorch_model.bin, which is pickled .*save"):
        load(bert)


def test_code_beside_the_weights_is_not_run(bert):
    run = bert / "ran"
    configure(bert, auto_map={"AutoConfig": "own.Own"}, model_type="own")
    (bert / "own.py").write_text(f"open({str(run)!r}, 'w')\n")
    with pytest.raises(ValueError, match="needs Python code that lies beside its weights, which is never run"):
        load(bert)
    assert not run.exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(bert, value):
    change_weights(bert, lambda weights: weights["bert.pooler.dense.bias"].fill_(value))
    with pytest.raises(ValueError, match=r"NaN or infinite, in bert.pooler.dense.bias"):
        load(bert)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"problem_type": "regression"}, "is a regression"),
        ({"problem_type": "multi_label_classification"}, "several labels at once"),
        ({"num_labels": 1}, "has 1 output: a value or the logit of one sigmoid"),
        ({"num_labels": 1, "problem_type": "regression"}, "is a regression"),
    ],
)
def test_a_head_that_gives_no_classes_of_which_one_is_right(tmp_path, config, reason):
    names = {"id2label": {0: "x"}, "label2id": {"x": 0}} if "num_labels" in config else {}
    shapes.save_tiny("bert", tmp_path, **config | names)
    with pytest.raises(ValueError, match=f"{reason}.* two or more classes of which one is right"):
        load(tmp_path)


def test_a_folder_without_its_tokenizer(bert):
    for path in bert.glob("*token*"):
        path.unlink()
    with pytest.raises(OSError, match=r"holds no tokenizer \(tokenizer.json, vocab.txt.*copy the tokenizer"):
        load(bert)


@pytest.mark.parametrize("words", [(), ("ZZ", "YY")])
def test_a_tokenizer_that_knows_no_words(bert, words):
    """Only special tokens; or words that its own normaliser, which puts all in lower case, never gives it."""
    path = bert / "tokenizer.json"
    given = json.loads(path.read_text())
    special = {token["content"]: token["id"] for token in given["added_tokens"]}
    given["model"]["vocab"] = special | {word: len(special) + i for i, word in enumerate(words)}
    path.write_text(json.dumps(given))
    with pytest.raises(ValueError, match=r"turns every word into \[UNK\]" if words else "knows no words, only"):
        load(bert)


def test_a_vocabulary_larger_than_the_embedding(bert):
    _, tokenizer = shapes.tiny_network("bert")
    tokenizer.add_tokens(["later"])
    tokenizer.save_pretrained(bert)
    with pytest.raises(ValueError, match=r"gives ids up to \d+ \('later'\), the model has \d+ embeddings"):
        load(bert)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({0: "a", 1: "a", 2: "b"}, "two classes are called 'a'"),
        ({0: "a", 1: None, 2: "b"}, "None is no name"),
        ({0: 3.5, 1: "a", 2: "b"}, "3.5 is no name"),
        ({0: "a", 2: "b", 3: "c"}, "numbers its 3 classes 0, 2, 3 .*from 0 to 2"),
        (["a", "b", "c"], "cannot be loaded as a classifier"),
    ],
)
def test_classes_that_cannot_be_asked_for_by_name(bert, names, said):
    configure(bert, id2label=names)
    with pytest.raises(ValueError, match=said):
        load(bert)


def test_an_adapter_that_would_be_left_out(bert, monkeypatch):
    (bert / "adapter_config.json").write_text("{}")
    monkeypatch.setattr("transformers.utils.is_peft_available", lambda: False)
    with pytest.raises(ValueError, match=r"an adapter for it .*peft is not installed"):
        load(bert)


def test_code_of_a_known_kind_of_model_is_left_out_with_a_word(bert):
    configure(bert, auto_map={"AutoModelForSequenceClassification": "own.Own"})
    with pytest.warns(UserWarning, match="brings Python code for its model .*read as the bert of transformers"):
        load(bert)


def test_models_of_characters_are_told_that_they_are_not_explained(tmp_path):
    config = CanineConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_hash_buckets=64)
    for made in (CanineForSequenceClassification(config), CanineTokenizer()):
        made.save_pretrained(tmp_path)
    with pytest.raises(OSError, match=r"characters \(ByT5, CANINE\) have no fast form"):
        load(tmp_path)


def test_a_tokenizer_without_character_offsets(bert):
    for path in bert.glob("*token*"):
        path.unlink()
    (bert / "vocab.json").write_text(json.dumps({"<unk>": 0, "a</w>": 1, "b</w>": 2}))
    (bert / "merges.txt").write_text("#version\n")
    (bert / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CTRLTokenizer"}))
    with pytest.raises(ValueError, match="CTRLTokenizer, does not say which characters a token covers"):
        load(bert)


def test_a_misspelt_folder_is_not_asked_of_the_hub(bert, monkeypatch):
    monkeypatch.chdir(bert.parent)
    for name in ("./brt", str(bert.parent / "brt"), f"../{bert.parent.name}/brt"):
        with pytest.raises(FileNotFoundError, match=r"no folder .*brt; did you mean .*bert\?"):
            load(name)
    (bert.parent / "models").mkdir()
    shutil.move(bert, bert.parent / "models" / "roberta")
    with pytest.raises(FileNotFoundError, match=r"no folder models/robeta; did you mean models/roberta\?"):
        load("models/robeta")
    with pytest.raises(FileNotFoundError, match=r"no folder a/b/c \(and no a/b either\)"):
        load("a/b/c")
    with pytest.raises(FileNotFoundError, match=r"is a file; give the folder that it lies in, models/roberta"):
        load("models/roberta/config.json")
    with pytest.raises(FileNotFoundError, match=r"models holds no config.json"):
        load("models")
    assert find_model("owner/name") == "owner/name" and find_model("name") == "name"


def test_outputs_that_are_only_numbered_take_names_and_others_keep_theirs():
    numbered = ("LABEL_0", "LABEL_1")
    assert name_classes(numbered, ["bad", "good"], "m") == ("bad", "good")
    assert name_classes(("0", "1"), ["bad", "good"], "m") == ("bad", "good")
    assert name_classes(("Bad", "good"), ["good", "bad"], "m") == ("Bad", "good")
    with pytest.raises(ValueError, match="names its classes pos, neg; `labels` says good, bad"):
        name_classes(("pos", "neg"), ["good", "bad"], "m")
    with pytest.raises(ValueError, match="two classes are called 'good'"):
        name_classes(numbered, ["good", "good"], "m")
    with pytest.raises(ValueError, match="has 2 classes, `labels` has 3"):
        name_classes(numbered, ["a", "b", "c"], "m")


def test_classes_in_another_order_are_matched_by_name(bert):
    plain, turned = load(bert), load(bert, labels=("yes", "no", "maybe"))
    tokens = plain.tokens(instance("the film was good"))
    row = [(tokens.ids, tokens.segments)]
    np.testing.assert_allclose(Scorer(turned).logits(row)[0], Scorer(plain).logits(row)[0][[2, 0, 1]], atol=1e-7)


def test_an_architecture_that_is_not_read_rightly_is_refused(tmp_path, monkeypatch):
    """GPT-2 as if it were an encoder, which takes the last of a padded row; alone it would be right."""
    folder = shapes.save_tiny("gpt2_padded", tmp_path / "gpt2")
    assert load(folder).refusal("embeddings") == ""
    monkeypatch.setattr(forward, "reads_last_token", lambda network: False)
    model = load(folder)  # by ids transformers still finds its last token
    with pytest.raises(
        ValueError, match=r"gradient_l1: .*by word embeddings differ from those by ids \(embeddings in a b"
    ):
        explain(Scorer(model), [instance("the film")], ["gradient_l1"], LEAST)
    assert len(explain(Scorer(model), [instance("the film")], ["occlusion_1"], LEAST)) == 1
    (said,) = [how for what, how in examine_model(model) if what == "gradients by word embeddings"]
    assert said.startswith("its logits by word embeddings differ")
    monkeypatch.undo()
    monkeypatch.setattr(forward, "first_position", lambda network: 3 if network.config.model_type == "bert" else None)
    with pytest.raises(
        ValueError, match=r"BertForSequenceClassification, cannot be .*not transformers' \(ids alone and "
    ):
        load(shapes.save_tiny("bert", tmp_path / "bert"))


def test_rounding_is_told_from_another_number(bert, monkeypatch):
    """A network that rounds by more than the tolerance in float32 is read again in float64."""
    plain = forward.classify
    asked = []

    def rounded(network, mask, *rows):
        asked.append(network.dtype)
        noise = 1e-3 * len(mask) if network.dtype == torch.float32 else 0.0
        return plain(network, mask, *rows) + noise

    monkeypatch.setattr(forward, "classify", rounded)
    model = load(bert)
    assert model.refusals == {"embeddings": ""} and torch.float64 in asked and "float64" not in model.copies


def test_an_architecture_whose_padding_is_not_masked_is_refused(tmp_path):
    """FNet mixes all tokens of a row, padding or not."""
    from transformers import FNetConfig, FNetForSequenceClassification

    _, tokenizer = shapes.tiny_network("bert")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32, "max_position_embeddings": 64}
    torch.manual_seed(0)
    network = FNetForSequenceClassification(FNetConfig(vocab_size=len(tokenizer), pad_token_id=0, **sizes))
    for made in (network, tokenizer):
        made.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"FNet.* change with what stands beside a text in a batch"):
        load(tmp_path)


def test_check_says_what_a_model_is(bert, capsys):
    from typer.testing import CliRunner

    from attreval.cli import app

    done = CliRunner().invoke(app, ["check", "--json", str(bert)])
    said = json.loads(done.stdout)
    assert said["model"]["classes"] == "3: no, maybe, yes" and said["model"]["padding"] == "'[PAD]'"
    known = {name for name, method in METHODS.items() if "transformer" in method.families}
    assert set(said["methods"]) == known and not any(said["methods"].values())
    (bert / "model.safetensors").unlink()
    assert CliRunner().invoke(app, ["check", str(bert)]).exit_code == 1
