"""Language models as classifiers: their own logits of label words, an untouched template, a planted
keyword.
"""

import functools
import json

import numpy as np
import pytest
import torch
import transformers as hf
from reference import architectures as shapes
from reference import case
from reference.models import instance

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


def own(network, tokenizer, prompt, words):
    """(K,) by transformers: logits of the next token, or sums of log probabilities where a label
    has several.
    """
    start = tokenizer(prompt)["input_ids"]
    scores = []
    for word in words:
        said = tokenizer(prompt + word)["input_ids"]
        assert said[: len(start)] == start
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([said[:-1]])).logits[0, len(start) - 1 :]
        logits = logits if words == tuple(SINGLE.values()) else logits.log_softmax(dim=-1)
        scores.append(sum(float(logits[j, k]) for j, k in enumerate(said[len(start) :])))
    return scores


def read(model, texts):
    tokens = [model.tokens(instance(*([one] if isinstance(one, str) else one))) for one in texts]
    return tokens, Scorer(model, precision="float64").logits([(t.ids, t.segments) for t in tokens])


def test_class_scores_are_the_language_models_own(folder_of):
    """In float64, of two texts in one batch, by ids and by embeddings."""
    for template, labels in (
        (TEMPLATES[0], SEVERAL),
        (TEMPLATES[1], SINGLE),
    ):
        for kind in shapes.SPEAKING:
            with case(template, labels, kind):
                folder = folder_of(kind)
                model = av.load(folder, template=template, labels=labels, device="cpu")
                network = hf.AutoModelForCausalLM.from_pretrained(
                    folder, dtype=torch.float64
                ).eval()
                tokenizer = hf.AutoTokenizer.from_pretrained(folder)
                expected = [
                    own(network, tokenizer, template.replace("{text}", one), tuple(labels.values()))
                    for one in TEXTS
                ]
                tokens, found = read(model, TEXTS)
                np.testing.assert_allclose(found, expected, atol=1e-9)
                assert np.ptp(found, axis=0).max() > 1e-2 and not any(
                    one.special.any() for one in tokens
                )
                ids, mask, segments = Scorer(model).padded([(t.ids, t.segments) for t in tokens])
                with torch.no_grad():
                    by_vectors = model.logits(
                        None, mask, segments, "float64", embeddings=model.embed(ids, "float64")
                    )
                np.testing.assert_allclose(by_vectors.numpy(), expected, atol=1e-9)


def test_nothing_touches_the_template(folder_of, monkeypatch):
    """Methods and metrics change the text inside it: whatever enters the network begins and ends as
    the template.
    """
    for kind, labels in (
        ("gpt2", SINGLE),
        ("llama", SEVERAL),
    ):
        with case(kind, labels):
            model = av.load(
                folder_of(kind), template="Review: {text}\nIt was", labels=labels, device="cpu"
            )
            before = [*model.prompt.before]
            behind = [*model.prompt.behind]
            classify = label_words.forward.classify
            rows = []

            def spy(network, mask, segments=None, ids=None, embeddings=None, entering=None):
                table = network.get_input_embeddings().weight
                for at, kept in enumerate(mask.bool()):
                    if ids is not None:
                        rows.append(ids[at][kept].tolist())
                    else:
                        rows.append(
                            [
                                int((table == x).all(dim=1).float().argmax())
                                for x in embeddings[at][kept]
                            ]
                        )
                return classify(network, mask, segments, ids, embeddings, entering)

            monkeypatch.setattr(label_words.forward, "classify", spy)
            names = [
                "lime",
                "omission_7",
                "kernel_shap",
                "limsse_logit",
                "integrated_gradients_zero",
                "gradient_x_input",
            ]
            found = av.explain(model, ["the film was not good", "so slow"], names, samples=20)
            av.evaluate(model, found)
            said = [list(words) for words in model.prompt.begun]
            assert len(rows) > 100
            for row in rows:
                assert row[: len(before)] == before and any(
                    row[-len(behind + words) :] == behind + words for words in said
                )
            assert any(
                len(row) == len(before + behind) for row in rows
            )  # nothing is left of the text


def test_soft_erasure_of_all_words_leaves_the_template(folder_of):
    model = av.load(
        folder_of("llama"), template="Review: {text}\nIt was", labels=SINGLE, device="cpu"
    )
    one = model.tokens(instance(TEXTS[0]))
    question = SoftErasure(one.ids, one.segments, np.zeros((1, len(one))), (1,))
    (found,) = Scorer(model, precision="float64").answer([question], [""])
    network = model.at("float64")
    count = len(model.prompt.before)
    vectors = network.get_input_embeddings()(
        torch.tensor([model.prompt.before + model.prompt.behind])
    ).detach()
    gone = torch.zeros((1, len(one), vectors.shape[2]), dtype=vectors.dtype)
    with torch.no_grad():
        logits = network(
            inputs_embeds=torch.cat([vectors[:, :count], gone, vectors[:, count:]], dim=1)
        ).logits[0, -1]
    np.testing.assert_allclose(
        found[0], logits[[word[0] for word in model.prompt.spoken]].numpy(), atol=1e-9
    )


def test_a_long_text_is_cut_and_the_template_stays(folder_of):
    model = av.load(
        folder_of("gpt2"), template="Review: {text} It was", labels=SEVERAL, device="cpu"
    )
    text = "the film was not very slow " * 30
    (tokens,), logits = read(model, [text])
    assert len(tokens) + model.prompt.room == 64 and tokens.dropped > 0
    prompt = f"Review: {text[: tokens.offsets[-1, 2]]} It was"
    expected = own(model.at("float64"), model.tokenizer, prompt, tuple(SEVERAL.values()))
    np.testing.assert_allclose(logits[0], expected, atol=1e-9)
    with pytest.raises(ValueError, match=r"template and label words take .* shorten the template"):
        av.load(folder_of("gpt2"), template="{text} It was" + " very" * 70, labels=SINGLE)


def test_what_the_tokenizer_would_join_with_the_template_stays_apart(folder_of, tmp_path):
    made = json.loads(shapes.byte_tokenizer("bare").backend_tokenizer.to_str())
    made["model"]["vocab"][".."] = len(made["model"]["vocab"])
    made["model"]["merges"].append([".", "."])
    from tokenizers import Tokenizer

    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(made)), eos_token="<end>"
    )
    folder = shapes.save_speaking("gpt2", tmp_path / "joining", tokenizer)
    model = av.load(folder, template="{text}. It was", labels=SINGLE, device="cpu")
    (plain, joined), _ = read(model, ["the film", "the film."])
    assert joined.texts == (*plain.texts, ".") and joined.offsets[-1].tolist() == [0, 8, 9]


def test_a_chat_template_makes_the_template_a_users_message(tmp_path):
    tokenizer = shapes.byte_tokenizer("padded")
    chat = (
        "{% for m in messages %}<|endoftext|>{{ m['role'] }}: {{ m['content'] }}<|im_end|>{% "
        "endfor %}"
    )
    tokenizer.chat_template = chat + "{% if add_generation_prompt %}a:{% endif %}"
    folder = shapes.save_speaking("qwen3", tmp_path / "chat", tokenizer)
    model = av.load(folder, template="How is this? {text}", labels=SINGLE, chat=True, device="cpu")
    message = [{"role": "user", "content": f"How is this? {TEXTS[0]}"}]
    prompt = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    assert prompt.endswith("good.<|im_end|>a:")
    expected = own(model.at("float64"), tokenizer, prompt, tuple(SINGLE.values()))
    np.testing.assert_allclose(read(model, TEXTS)[1][0], expected, atol=1e-9)


def test_what_applies_to_decoders_applies(folder_of):
    model = load_language_model(folder_of("llama"), TEMPLATES[1], SINGLE, device="cpu")
    attention = {name for name, m in METHODS.items() if m.kind == "attention"} | {
        "gradients_combined"
    }
    assert {name for name, reason in try_methods(model).items() if reason} == attention
    budget = LEAST.changed(path_steps=64, path_steps_most=512)
    found = av.explain(model, TEXTS[0], ["integrated_gradients"], budget=budget)
    assert abs(found[0].gaps["integrated_gradients"]) < 1e-2


def test_what_makes_no_classifier_is_refused(folder_of):
    for asked, said in (
        ({"template": "It was"}, r"a template has one place for the text, \{text\}"),
        ({"template": "{text} and {text}"}, "one place for the text"),
        ({"labels": {"yes": " good"}}, "two or more classes their words"),
        ({"labels": ["yes", "no"]}, "both a `template` with {text} and `labels`"),
        ({"template": None}, "both a `template`"),
        ({"labels": {"yes": "good", "no": "good"}}, "two labels are the same tokens"),
        (
            {"labels": {"yes": " good", "no": ""}},
            "the label word '' of 'no' joins what stands before it",
        ),
        (
            {"template": "{text} is ", "labels": {"yes": "good", "no": "bad"}},
            "joins what stands before it, '.* is '",
        ),
        ({"chat": True}, "has no chat template"),
    ):
        with case(asked, said), pytest.raises(ValueError, match=said):
            av.load(folder_of("gpt2"), **({"template": "{text} It was", "labels": SINGLE} | asked))


def test_a_pair_has_no_place_in_a_template(folder_of):
    model = av.load(folder_of("gpt2"), template="{text} It was", labels=SINGLE, device="cpu")
    with pytest.raises(ValueError, match=r"text 0, the prediction: .* is a pair of texts"):
        av.explain(model, ("the film", "slow"), "lime")


def test_a_classifier_needs_no_template_and_a_language_model_does(folder_of, tmp_path):
    with pytest.raises(
        ValueError, match="or ask it as a language model: give `template` and `labels`"
    ):
        av.load(folder_of("gpt2"))
    with pytest.raises(
        ValueError, match="holds GPT2ForSequenceClassification, and a template and label words are"
    ):
        av.load(shapes.save_tiny("gpt2", tmp_path / "gpt2"), template="{text} is", labels=SINGLE)
