"""A head of several labels at once and a reranker: small networks that learn planted words here."""

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

import attreval as av

SENTENCE = "the a film was shown in town on monday and people went to see it with friends"
FILLERS = SENTENCE.split()
PLANTED = {"insult": "idiot", "threat": "revenge", "praise": "superb"}
TOPICS = {"colour": ("red", "green"), "animal": ("horse", "rabbit")}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
EXAMPLES = [one for several in TOPICS.values() for one in several]
VOCABULARY = [*SPECIAL, *FILLERS, *PLANTED.values(), *TOPICS, *EXAMPLES]
rng = np.random.default_rng(0)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Whole words, between [CLS] and [SEP]."""
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    named = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=raw, **named)


def learn(folder: str, texts: list[tuple], goals: list, **more: object) -> None:
    """Train a small BERT whose outputs are sigmoids of their own, and save it."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    shape = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=len(VOCABULARY), **shape, intermediate_size=96, **more)
    network = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    wanted = torch.tensor(goals, dtype=torch.float32).reshape(len(texts), -1)
    for _ in range(700):
        some = torch.randint(len(texts), (64,)).tolist()
        sides = [list(side) for side in zip(*(texts[at] for at in some), strict=True)]
        read = tokenizer(*sides, padding=True, return_tensors="pt")
        loss = binary_cross_entropy_with_logits(network(**read).logits, wanted[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{folder}: loss {loss.item():.3f}")
    assert loss < 0.1, "what was planted has not been learned"
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def plant(*words: str, erased: int = 0) -> str:
    """Some fillers with the words among them, and tokens that stand for erased ones."""
    said = [*rng.choice(FILLERS, 5), *rng.choice(["[MASK]", "[PAD]"], erased), *words]
    return " ".join(rng.permutation(said))


def top_word(one: av.Explanation, method: str) -> str:
    """The word of greatest score."""
    return one.units[int(one.scores(method).argmax())].text


def try_labels() -> None:
    """One of several labels is explained, and judged by how far its probability falls."""
    kinds = [[name for name in PLANTED if rng.random() < 0.4] for _ in range(800)]
    texts = [(plant(*(PLANTED[name] for name in chosen), erased=2),) for chosen in kinds]
    goals = [[name in chosen for name in PLANTED] for chosen in kinds]
    learn(
        "labels",
        texts,
        goals,
        problem_type="multi_label_classification",
        id2label=dict(enumerate(PLANTED)),
    )
    model = av.load("labels")
    both = [plant("idiot", "superb") for _ in range(12)]
    methods = ["occlusion_1", "lime", "kernel_shap"]
    for label, word in (("insult", "idiot"), ("praise", "superb")):
        found = av.explain(model, both, methods, output=label)
        for method in methods:
            assert np.mean([top_word(one, method) == word for one in found]) > 0.8, (label, method)
    found.save("labels.html")
    table = av.evaluate(model, found).set_index(["metric", "method"])["mean"]
    print(table.unstack(0).round(2).to_string())
    assert table["comprehensiveness", "occlusion_1"] > table["comprehensiveness", "random"] + 0.1


def try_reranker() -> None:
    """The score of a passage for a question is explained as a value."""
    pairs = [
        (topic, plant(rng.choice([*EXAMPLES, "it"]), erased=2))
        for topic in TOPICS
        for _ in range(600)
    ]
    goals = [[any(one in passage for one in TOPICS[topic])] for topic, passage in pairs]
    learn("reranker", pairs, goals, num_labels=1)
    model = av.load("reranker")
    asked = [("colour", plant("red")), ("animal", plant("rabbit"))]
    methods = ["occlusion_1", "kernel_shap", "integrated_gradients"]
    found = av.explain(model, asked, methods)
    other = av.explain(model, [("animal", asked[0][1])], "random")
    assert found[0].probabilities["score"] > other[0].probabilities["score"] + 1
    for one, word in zip(found, ("red", "rabbit"), strict=True):
        passage = {
            unit.text: one.scores("occlusion_1")[at]
            for at, unit in enumerate(one.units)
            if unit.segment
        }
        assert max(passage, key=passage.__getitem__) == word
    print(found[0].text, found[0].probabilities)


try_labels()
try_reranker()
