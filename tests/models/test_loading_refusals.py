"""What lies in a folder is a whole classifier of texts, or is refused with the reason; nothing is
made up.
"""

import json
import os
import shutil

import pytest
import torch
import transformers as hf
from reference import architectures as shapes
from reference import case
from reference.models import instance
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from attreval.cli import app
from attreval.methods import METHODS
from attreval.methods.run import LEAST, explain_instances
from attreval.models import checks, forward
from attreval.models.folders import find_model, name_classes
from attreval.models.loading import examine_model, load_classifier
from attreval.models.scorer import Scorer

DENSE = "bert.encoder.layer.1.output.dense.weight"
BIAS = "bert.pooler.dense.bias"


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


def weigh(folder, name, tensor):
    """Replace one tensor of the weights; None takes it out."""
    weights = load_file(folder / "model.safetensors") | {name: tensor}
    weights = {key: weight for key, weight in weights.items() if weight is not None}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def cut(folder, size):
    os.truncate(folder / "model.safetensors", size)


def name_all(folder, names):
    configure(
        folder, id2label=dict(enumerate(names)), label2id={name: k for k, name in enumerate(names)}
    )


def behead(folder, kind, **changes):
    """Save the network as one of another kind, whose head is not that of a classifier of texts."""
    kind.from_pretrained(folder).save_pretrained(folder)
    configure(folder, **changes)


def pickle_weights(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def take_tokenizer(folder):
    for path in folder.glob("*token*"):
        path.unlink()


def know(folder, *words):
    """Leave the tokenizer its special tokens and these words."""
    path = folder / "tokenizer.json"
    given = json.loads(path.read_text())
    special = {token["content"]: token["id"] for token in given["added_tokens"]}
    given["model"]["vocab"] = special | {word: len(special) + i for i, word in enumerate(words)}
    path.write_text(json.dumps(given))


def learn(folder, word):
    """Teach the tokenizer a word that the network has no embedding for."""
    _, tokenizer = shapes.tiny_network("bert")
    tokenizer.add_tokens([word])
    tokenizer.save_pretrained(folder)


def tokenize_slowly(folder):
    take_tokenizer(folder)
    (folder / "vocab.json").write_text(json.dumps({"<unk>": 0, "a</w>": 1, "b</w>": 2}))
    (folder / "merges.txt").write_text("#version\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CTRLTokenizer"}))


SMALL = {"hidden_size": 16, "num_hidden_layers": 1}


def save_characters(folder):
    config = hf.CanineConfig(**SMALL, num_attention_heads=2, num_hash_buckets=64)
    hf.CanineForSequenceClassification(config).save_pretrained(folder)
    hf.CanineTokenizer().save_pretrained(folder)


def save_mixing(folder):
    """FNet mixes all tokens of a row, padding or not."""
    _, tokenizer = shapes.tiny_network("bert")
    sizes = {"intermediate_size": 32, "max_position_embeddings": 64, "pad_token_id": 0}
    torch.manual_seed(0)
    config = hf.FNetConfig(vocab_size=len(tokenizer), **SMALL, **sizes)
    hf.FNetForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


NO_FIT = r"dense.weight \(16, 31\), config.json asks for \(16, 32\)"
SPOILT = (
    (lambda f: behead(f, hf.BertForMaskedLM), "BertForMaskedLM"),
    (lambda f: behead(f, hf.BertModel, architectures=None), "holds no weights for"),
    (lambda f: weigh(f, DENSE, None), f"holds no weights for {DENSE}: "),
    (lambda f: weigh(f, DENSE, torch.zeros(16, 31)), NO_FIT),
    (lambda f: weigh(f, BIAS, torch.full((16,), torch.nan)), f"NaN or infinite, in {BIAS}"),
    (lambda f: weigh(f, BIAS, torch.full((16,), torch.inf)), f"NaN or infinite, in {BIAS}"),
    (lambda f: cut(f, 20_000), "cut off or damaged"),
    (lambda f: cut(f, 0), "cut off or damaged"),
    (pickle_weights, "pytorch_model.bin, which is pickled"),
    (lambda f: name_all(f, "abcde"), r"classifier.bias \(3,\), config.json asks for \(5,\)"),
    (lambda f: name_all(f, "aab"), "two classes are called 'a'"),
    (lambda f: name_all(f, ["a", None, "b"]), "None is no name"),
    (lambda f: name_all(f, [3.5, "a", "b"]), "3.5 is no name"),
    (lambda f: configure(f, id2label={0: "a", 2: "b", 3: "c"}), "its 3 classes 0, 2, 3"),
    (lambda f: configure(f, id2label=["a", "b", "c"]), "cannot be loaded as a classifier"),
    (lambda f: configure(f, quantization_config={"quant_method": "fp8"}), "holds quantised weigh"),
    (take_tokenizer, "holds no tokenizer"),
    (know, "knows no words, only"),
    # its normaliser puts all in lower case
    (lambda f: know(f, "ZZ", "YY"), r"turns every word into \[UNK\]"),
    (lambda f: learn(f, "later"), r"gives ids up to \d+ \('later'\)"),
    (tokenize_slowly, "CTRLTokenizer, does not say which characters"),
    (save_characters, "have no fast form"),
    (save_mixing, "change with what stands beside a text in a batch"),
)


def test_what_is_no_whole_classifier_is_refused_in_a_line(bert, tmp_path):
    for number, (spoil, said) in enumerate(SPOILT):
        folder = shutil.copytree(bert, tmp_path / f"{number}")
        spoil(folder)
        with case(said):
            with pytest.raises((ValueError, OSError), match=said) as error:
                load(folder)
            assert "\n" not in str(error.value)


def test_code_beside_the_weights_is_not_run(bert):
    run = bert / "ran"
    configure(bert, auto_map={"AutoModelForSequenceClassification": "own.Own"})
    with pytest.warns(UserWarning, match="brings Python code for its model"):
        load(bert)
    configure(bert, auto_map={"AutoConfig": "own.Own"}, model_type="own")
    (bert / "own.py").write_text(f"open({str(run)!r}, 'w')\n")
    with pytest.raises(ValueError, match="needs Python code that lies beside its weights"):
        load(bert)
    assert not run.exists()


def test_an_adapter_that_would_be_left_out(bert, monkeypatch):
    (bert / "adapter_config.json").write_text("{}")
    monkeypatch.setattr("transformers.utils.is_peft_available", lambda: False)
    with pytest.raises(ValueError, match=r"an adapter for it .*peft is not installed"):
        load(bert)


def test_a_misspelt_folder_is_not_asked_of_the_hub(bert, monkeypatch):
    monkeypatch.chdir(bert.parent)
    shutil.copytree(bert, "models/roberta")
    meant = r"no folder .*brt; did you mean 'bert'\?"
    for name, said in (
        ("./brt", meant),
        (str(bert.parent / "brt"), meant),
        (f"../{bert.parent.name}/brt", meant),
        ("models/robeta", r"no folder models/robeta; did you mean 'roberta'\?"),
        ("a/b/c", r"no folder a/b/c \(and no a/b either\)"),
        ("models/roberta/config.json", "is a file; give the folder"),
        ("models", "models holds no config.json"),
    ):
        with pytest.raises(FileNotFoundError, match=said):
            load(name)
    assert find_model("owner/name") == "owner/name" and find_model("name") == "name"


def test_a_name_of_the_hub_may_hold_a_revision(monkeypatch):
    asked = []

    def refuse(name, revision, **how):
        asked.append((name, revision))
        raise OSError("no network")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", refuse)
    for name in ("owner/name@4f1c2d", "owner/name"):
        with pytest.raises(OSError, match="no network"):
            load(name)
    assert asked == [("owner/name", "4f1c2d"), ("owner/name", "main")]


def test_outputs_that_are_only_numbered_take_names_and_others_keep_theirs():
    numbered = ("LABEL_0", "LABEL_1")
    for names in (numbered, ("0", "1")):
        assert name_classes(names, ["bad", "good"], "m") == ("bad", "good")
    assert name_classes(("Bad", "good"), ["good", "bad"], "m") == ("Bad", "good")
    for own, given, said in (
        (("pos", "neg"), ["good", "bad"], "names its classes pos, neg"),
        (numbered, ["good", "good"], "two classes are called 'good'"),
        (numbered, ["a", "b", "c"], "has 2 classes, `labels` has 3"),
    ):
        with pytest.raises(ValueError, match=said):
            name_classes(own, given, "m")


def test_an_architecture_that_is_not_read_rightly_is_refused(tmp_path, monkeypatch):
    """GPT-2 as if it were an encoder, which takes the last of a padded row; alone it would be
    right.
    """
    folder = shapes.save_tiny("gpt2_padded", tmp_path / "gpt2")
    assert load(folder).refusal("embeddings") == ""
    with monkeypatch.context() as patch:
        patch.setattr(forward, "reads_last_token", lambda network: False)
        model = load(folder)  # by ids transformers still finds its last token
        text = [instance("the film")]
        with pytest.raises(ValueError, match=r"gradient_l1: .*differ from those by ids"):
            explain_instances(Scorer(model), text, ["gradient_l1"], LEAST)
        assert len(explain_instances(Scorer(model), text, ["occlusion_1"], LEAST)) == 1
        said = examine_model(model)["gradients by word embeddings"]
        assert said.startswith("its logits by word embeddings differ")
    monkeypatch.setattr(forward, "first_position", lambda network: 3)
    with pytest.raises(ValueError, match=r"not transformers' \(ids alone and "):
        load(shapes.save_tiny("bert", tmp_path / "bert"))


def test_rounding_is_told_from_another_number(bert, monkeypatch):
    """A network that rounds by more than the tolerance in float32 is read again in float64."""
    plain = forward.classify
    asked = []

    def rounded(network, mask, *rows):
        asked.append(network.dtype)
        return plain(network, mask, *rows) + 1e-3 * len(mask) * (network.dtype == torch.float32)

    monkeypatch.setattr(forward, "classify", rounded)
    model = load(bert)
    assert model.refusals == {"embeddings": ""} and "float64" not in model.copies
    assert torch.float64 in asked


def test_a_full_gpu_says_nothing_of_a_model(bert, monkeypatch):
    model = load(bert)
    plain = checks.PROBES["lrp"]

    def full(model):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setitem(checks.PROBES, "lrp", plain._replace(ask=full))
    with pytest.raises(torch.OutOfMemoryError):
        model.refusal("lrp")
    monkeypatch.setitem(checks.PROBES, "lrp", plain)
    assert model.refusal("lrp") == ""
    for reading in ("own_logits", "_read"):
        with monkeypatch.context() as patch, pytest.raises(torch.OutOfMemoryError):
            patch.setattr(checks, reading, lambda *of: full(model))
            checks.compare_readings(model)


def test_check_says_what_a_model_is(bert, capsys):
    done = CliRunner().invoke(app, ["check", "--json", str(bert)])
    said = json.loads(done.stdout)
    assert said["model"]["classes"] == "3: no, maybe, yes" and said["model"]["padding"] == "'[PAD]'"
    known = {name for name, method in METHODS.items() if "transformer" in method.families}
    assert set(said["methods"]) == known and not any(said["methods"].values())
    (bert / "model.safetensors").unlink()
    assert CliRunner().invoke(app, ["check", str(bert)]).exit_code == 1
