"""Language models as classifiers: their own logits of label words, an untouched template, a planted
keyword.
"""

import functools
import json

import numpy as np
import pytest
import torch
import transformers as hf
from numpy.testing import assert_allclose
from reference import architectures as shapes
from reference import case
from reference.models import instance
from tokenizers import Tokenizer

import attreval as av
from attreval.methods import METHODS
from attreval.methods.run import LEAST, try_methods
from attreval.models import label_words
from attreval.models.loading import load_language_model
from attreval.models.questions import SoftErasure
from attreval.models.scorer import Scorer

SINGLE = {"yes": " good", "no": " bad"}
SEVERAL = {"yes": " good", "no": " bad film", "maybe": " not very"}
TEMPLATES = ("{text} It was", "Review: {text}\nIt was")
TEXTS = ("the film was not good.", "Is a very slow plot !")


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Folders of tiny language models by kind."""
    return functools.cache(
        lambda kind: shapes.save_speaking(kind, tmp_path_factory.mktemp("speaking") / kind)
    )


def load(folder, template=TEMPLATES[1], labels=SINGLE, **more):
    return av.load(folder, template=template, labels=labels, device="cpu", **more)


def own(network, tokenizer, prompt, labels):
    """(K,) by transformers: logarithms of the labels' probabilities among them, from logits of the
    next token, or from sums of log probabilities where a label has several.
    """
    start = tokenizer(prompt)["input_ids"]
    scores = []
    for word in labels.values():
        said = tokenizer(prompt + word)["input_ids"]
        assert said[: len(start)] == start
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([said[:-1]])).logits[0, len(start) - 1 :]
        logits = logits if labels is SINGLE else logits.log_softmax(dim=-1)
        scores.append(sum(float(logits[j, k]) for j, k in enumerate(said[len(start) :])))
    return torch.tensor(scores, dtype=torch.float64).log_softmax(dim=0).tolist()


def read(model, texts):
    tokens = [model.tokens(instance(*([one] if isinstance(one, str) else one))) for one in texts]
    return tokens, Scorer(model, precision="float64").logits([(t.ids, t.segments) for t in tokens])


def test_class_scores_are_the_language_models_own(folder_of):
    """In float64, of two texts in one batch, by ids and by embeddings."""
    for kind in shapes.SPEAKING:
        network = hf.AutoModelForCausalLM.from_pretrained(folder_of(kind), dtype=torch.float64)
        tokenizer = hf.AutoTokenizer.from_pretrained(folder_of(kind))
        for template, labels in zip(TEMPLATES, (SEVERAL, SINGLE), strict=True):
            with case(kind, template):
                model = load(folder_of(kind), template, labels)
                prompts = [template.replace("{text}", one) for one in TEXTS]
                expected = [own(network.eval(), tokenizer, one, labels) for one in prompts]
                tokens, found = read(model, TEXTS)
                assert_allclose(found, expected, atol=1e-9)
                assert np.ptp(found, axis=0).max() > 1e-2
                assert not any(one.special.any() for one in tokens)
                rows = [(one.ids, one.segments) for one in tokens]
                ids, *more = Scorer(model).padded(rows)
                vectors = model.embed(ids, "float64")
                with torch.no_grad():
                    by_vectors = model.logits(None, *more, "float64", embeddings=vectors)
                assert_allclose(by_vectors, expected, atol=1e-9)


def test_nothing_touches_the_template(folder_of, monkeypatch):
    """Methods and metrics change the text inside it: whatever enters the network begins and ends as
    the template.
    """
    classify = label_words.forward.classify
    rows = []
    kept_template = []

    def spy(network, mask, segments=None, ids=None, embeddings=None, entering=None, past=None):
        table = network.get_input_embeddings().weight
        begun = model.prompt.before if past else ()  # read once, and kept
        for at, kept in enumerate(mask.bool()):
            if ids is not None:
                rows.append([*begun, *ids[at][kept].tolist()])
            else:
                same = (table == embeddings[at][kept][:, None]).all(dim=2)
                rows.append(same.float().argmax(dim=1).tolist())
        kept_template.append(past is not None)
        return classify(network, mask, segments, ids, embeddings, entering, past)

    names = ["lime", "omission_7", "limsse_logit", "integrated_gradients_zero", "gradient_x_input"]
    for kind, labels in (("gpt2", SINGLE), ("llama", SEVERAL)):
        with case(kind), monkeypatch.context() as patch:
            model = load(folder_of(kind), labels=labels)
            patch.setattr(label_words.forward, "classify", spy)
            rows.clear()
            found = av.explain(model, ["the film was not good", "so slow"], names, samples=20)
            av.evaluate(model, found)
            prompt = model.prompt
            ends = [[*prompt.behind, *words] for words in prompt.begun]
            assert len(rows) > 100 and True in kept_template and False in kept_template
            for row in rows:
                assert row[: len(prompt.before)] == [*prompt.before]
                assert any(row[-len(end) :] == end for end in ends)
            # nothing is left of the text
            assert any(len(row) == len(prompt.before + prompt.behind) for row in rows)


def test_soft_erasure_of_all_words_leaves_the_template(folder_of):
    model = load(folder_of("llama"))
    prompt = model.prompt
    one = model.tokens(instance(TEXTS[0]))
    question = SoftErasure(one.ids, one.segments, np.zeros((1, len(one))), (1,))
    (found,) = Scorer(model, precision="float64").answer([question], [""])
    network = model.at("float64")
    count = len(prompt.before)
    fixed = torch.tensor([prompt.before + prompt.behind])
    vectors = network.get_input_embeddings()(fixed).detach()
    gone = torch.zeros((1, len(one), vectors.shape[2]), dtype=vectors.dtype)
    whole = torch.cat([vectors[:, :count], gone, vectors[:, count:]], dim=1)
    with torch.no_grad():
        logits = network(inputs_embeds=whole).logits[0, -1]
    expected = logits[[word[0] for word in prompt.spoken]].log_softmax(dim=0)
    assert_allclose(found[0], expected, atol=1e-9)


def test_a_long_text_is_cut_and_the_template_stays(folder_of):
    model = load(folder_of("gpt2"), "Review: {text} It was", SEVERAL)
    text = "the film was not very slow " * 30
    (tokens,), logits = read(model, [text])
    assert len(tokens) + model.prompt.room == 64 and tokens.dropped > 0
    prompt = f"Review: {text[: tokens.offsets[-1, 2]]} It was"
    expected = own(model.at("float64"), model.tokenizer, prompt, SEVERAL)
    assert_allclose(logits[0], expected, atol=1e-9)
    with pytest.raises(ValueError, match="shorten the template"):
        load(folder_of("gpt2"), "{text} It was" + " very" * 70)


def test_what_the_tokenizer_would_join_with_the_template_stays_apart(tmp_path):
    made = json.loads(shapes.byte_tokenizer("bare").backend_tokenizer.to_str())
    made["model"]["vocab"][".."] = len(made["model"]["vocab"])
    made["model"]["merges"].append([".", "."])
    joining = Tokenizer.from_str(json.dumps(made))
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=joining, eos_token="<end>")
    folder = shapes.save_speaking("gpt2", tmp_path / "joining", tokenizer)
    (plain, joined), _ = read(load(folder, "{text}. It was"), ["the film", "the film."])
    assert joined.texts == (*plain.texts, ".") and joined.offsets[-1].tolist() == [0, 8, 9]


def test_a_chat_template_makes_the_template_a_users_message(tmp_path):
    tokenizer = shapes.byte_tokenizer("padded")
    said = "<|endoftext|>{{ m['role'] }}: {{ m['content'] }}<|im_end|>"
    chat = "{% for m in messages %}" + said + "{% endfor %}"
    tokenizer.chat_template = chat + "{% if add_generation_prompt %}a:{% endif %}"
    folder = shapes.save_speaking("qwen3", tmp_path / "chat", tokenizer)
    model = load(folder, "How is this? {text}", chat=True)
    prompt = f"<|endoftext|>user: How is this? {TEXTS[0]}<|im_end|>a:"
    expected = own(model.at("float64"), tokenizer, prompt, SINGLE)
    assert_allclose(read(model, TEXTS)[1][0], expected, atol=1e-9)


def test_what_applies_to_decoders_applies(folder_of):
    model = load_language_model(folder_of("llama"), TEMPLATES[1], SINGLE, device="cpu")
    attention = {name for name, m in METHODS.items() if m.kind == "attention"}
    refused = {name for name, reason in try_methods(model).items() if reason}
    assert refused == attention | {"gradients_combined"}
    budget = LEAST.changed(path_steps=64, path_steps_most=512)
    found = av.explain(model, TEXTS[0], ["integrated_gradients"], budget=budget)
    assert abs(found[0].gaps["integrated_gradients"]) < 1e-2


def test_what_makes_no_classifier_is_refused(folder_of):
    for asked, said in (
        ({"template": "It was"}, "one place for the text"),
        ({"template": "{text} and {text}"}, "one place for the text"),
        ({"labels": {"yes": " good"}}, "two or more classes their words"),
        ({"labels": ["yes", "no"]}, "both a `template` with {text} and `labels`"),
        ({"template": None}, "both a `template`"),
        ({"labels": {"yes": "good", "no": "good"}}, "two labels are the same tokens"),
        ({"labels": {"yes": " good", "no": ""}}, "'' of 'no' joins what stands before it"),
        ({"template": "{text} is ", "labels": {"yes": "good", "no": "bad"}}, "joins what stands"),
        ({"chat": True}, "has no chat template"),
    ):
        with case(asked), pytest.raises(ValueError, match=said):
            load(folder_of("gpt2"), **asked)


def test_a_pair_has_no_place_in_a_template(folder_of):
    with pytest.raises(ValueError, match=r"text 0, the prediction: .* is a pair of texts"):
        av.explain(load(folder_of("gpt2")), ("the film", "slow"), "lime")


def test_a_classifier_needs_no_template_and_a_language_model_does(folder_of, tmp_path):
    with pytest.raises(ValueError, match="or ask it as a language model"):
        av.load(folder_of("gpt2"))
    with pytest.raises(ValueError, match="holds GPT2ForSequenceClassification"):
        load(shapes.save_tiny("gpt2", tmp_path / "gpt2"))


def test_where_kept_keys_and_values_would_lead_elsewhere_the_template_is_read_anew(
    folder_of, monkeypatch
):
    classify = label_words.forward.classify

    def astray(network, mask, segments=None, ids=None, embeddings=None, entering=None, past=None):
        found = classify(network, mask, segments, ids, embeddings, entering, past)
        return found + (past is not None) * torch.arange(found.shape[1])

    monkeypatch.setattr(label_words.forward, "classify", astray)
    model = load(folder_of("llama"))
    assert model.prompt.kept is None
    monkeypatch.undo()
    same = load(folder_of("llama"))
    assert same.prompt.kept
    assert_allclose(read(model, TEXTS)[1], read(same, TEXTS)[1], atol=1e-9)
