"""Tiny classifiers of every architecture that people bring, with random weights and a tokenizer of
the usual form.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from attreval.models.placing import freeze
from attreval.models.transformer import Transformer
from reference.models import tiny_tokenizer

LABELS = ("no", "maybe", "yes")
_WIDTH = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
_BERT = {**_WIDTH, "max_position_embeddings": 64}
_ROBERTA = {**_BERT, "max_position_embeddings": 66}
_LLAMA = {**_BERT, "num_key_value_heads": 1, "head_dim": 8}
_BART = {"d_model": 16, "max_position_embeddings": 64, "forced_eos_token_id": None}
_BART |= {"encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 32}
_BART |= {"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32}
_T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
_GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
_XLNET = {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32}
# name -> transformers' class, the form of its tokenizer, its sizes
KINDS = {
    "bert": ("Bert", "wordpiece", _BERT),
    "distilbert": (
        "DistilBert",
        "wordpiece",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    ),
    "albert": ("Albert", "wordpiece", {**_BERT, "embedding_size": 8}),
    "electra": ("Electra", "wordpiece", {**_BERT, "embedding_size": 8}),
    "deberta_v2": (
        "DebertaV2",
        "wordpiece",
        {**_BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "mpnet": ("MPNet", "bytes", _ROBERTA),
    "roberta": ("Roberta", "bytes", {**_ROBERTA, "type_vocab_size": 1}),
    "xlm_roberta": ("XLMRoberta", "bytes", {**_ROBERTA, "type_vocab_size": 1}),
    "longformer": (
        "Longformer",
        "bytes",
        {**_ROBERTA, "type_vocab_size": 1, "attention_window": [8, 8]},
    ),
    "modernbert": (
        "ModernBert",
        "bytes",
        {**_BERT, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
    "modernbert_mean": ("ModernBert", "bytes", {**_BERT, "classifier_pooling": "mean"}),
    "xlnet": ("XLNet", "ends", _XLNET),
    "bart": ("Bart", "bytes", _BART),
    "t5": ("T5", "eos", _T5),
    "gpt2": ("GPT2", "bare", _GPT2),
    "gpt2_padded": ("GPT2", "padded", _GPT2),
    "llama": ("Llama", "bos", _LLAMA),
    "llama_padded": ("Llama", "padded", _LLAMA),
    "qwen2": ("Qwen2", "padded", _LLAMA),
    "qwen3": ("Qwen3", "bare", _LLAMA),
}
_FORMS = {  # special tokens by role, and what stands around one text and around two
    "bytes": (
        {
            "bos": "<s>",
            "pad": "<pad>",
            "cls": "<s>",
            "eos": "</s>",
            "sep": "</s>",
            "unk": "<unk>",
            "mask": "<mask>",
        },
        "<s> $A </s>",
        "<s> $A </s> </s> $B </s>",
    ),
    "ends": (
        {
            "pad": "<pad>",
            "bos": "<s>",
            "eos": "</s>",
            "cls": "<cls>",
            "sep": "<sep>",
            "unk": "<unk>",
            "mask": "<mask>",
        },
        "$A:0 <sep>:0 <cls>:2",
        "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
    ),
    "eos": ({"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}, "$A </s>", "$A </s> $B </s>"),
    "bare": ({"eos": "<end>"}, "$A", "$A $B"),
    "padded": ({"pad": "<|endoftext|>", "eos": "<|im_end|>"}, "$A", "$A $B"),
    "bos": ({"bos": "<s>", "eos": "</s>", "unk": "<unk>"}, "<s> $A", "<s> $A <s> $B"),
}
_WORDS = ("the", "film", "plot", "was", "is", "not", "good", "bad", "very", "slow", "a")


def byte_tokenizer(form: str, trim: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE that knows a few words and every byte, with the special tokens of a form (a
    key of _FORMS).
    """
    names, single, pair = _FORMS[form]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: i for i, name in enumerate(dict.fromkeys([*names.values(), *alphabet]))}
    merges = []
    for word in (f"Ġ{word}" for word in _WORDS):
        for end in range(2, len(word) + 1):
            merges.append((word[: end - 1], word[end - 1]))
            vocabulary.setdefault(word[:end], len(vocabulary))
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=list(dict.fromkeys(merges))))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    known = [(name, vocabulary[name]) for name in set(names.values())]
    steps = [processors.ByteLevel(trim_offsets=True)] if trim else []
    around = processors.TemplateProcessing(single=single, pair=pair, special_tokens=known)
    made.post_processor = processors.Sequence([*steps, around]) if trim else around
    typed = ["token_type_ids"] if form == "ends" else []
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_input_names=["input_ids", *typed, "attention_mask"],
        padding_side="left" if form == "ends" else "right",
        **{f"{role}_token": name for role, name in names.items()},
    )


def draw_large(network):
    """The network with weights from NumPy, large enough that what is read moves the logits."""
    rng = np.random.default_rng(3)
    with torch.no_grad():
        for weight in network.float().parameters():
            if weight.ndim > 1:
                weight.copy_(torch.from_numpy(rng.standard_normal(weight.shape) * 0.4))
    return network.eval()


def tiny_network(kind: str, **more):
    """(network, tokenizer) of a kind."""
    name, form, sizes = KINDS[kind]
    tokenizer = tiny_tokenizer() if form == "wordpiece" else byte_tokenizer(form)
    ids = {
        f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
        for role in ("pad", "bos", "eos", "cls", "sep")
    }
    if name in ("Bart", "T5"):
        ids["decoder_start_token_id"] = (
            tokenizer.eos_token_id if name == "Bart" else tokenizer.pad_token_id
        )
    config = getattr(hf, f"{name}Config")(
        vocab_size=len(tokenizer),
        **ids
        | sizes
        | {"id2label": dict(enumerate(LABELS)), "label2id": {n: k for k, n in enumerate(LABELS)}}
        | more,
    )
    torch.manual_seed(0)
    return draw_large(getattr(hf, f"{name}ForSequenceClassification")(config)), tokenizer


@functools.cache
def tiny_classifier(kind: str) -> Transformer:
    """A tiny classifier in memory, one a kind; do not change it."""
    network, tokenizer = tiny_network(kind)
    return Transformer(kind, freeze(network), tokenizer, LABELS, 64)


def save_tiny(kind: str, folder: Path, **more) -> Path:
    """A tiny classifier in a folder, as a user would bring it."""
    network, tokenizer = tiny_network(kind, **more)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


# name -> transformers' class, the form of its tokenizer, its sizes, of language models
SPEAKING = {
    "gpt2": ("GPT2", "bare", _GPT2),
    "llama": ("Llama", "bos", _LLAMA),
    "qwen3": ("Qwen3", "padded", _LLAMA),
    "gemma": ("Gemma", "bos", _LLAMA),
    "gemma2": ("Gemma2", "bos", {**_LLAMA, "final_logit_softcapping": 3.0}),
    "mistral": ("Mistral", "bos", _LLAMA),
}


def save_speaking(
    kind: str, folder: Path, tokenizer: PreTrainedTokenizerFast | None = None
) -> Path:
    """A tiny language model in a folder; weights as those of `tiny_network`."""
    name, form, sizes = SPEAKING[kind]
    tokenizer = tokenizer or byte_tokenizer(form)
    ids = {
        f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "bos", "eos")
    }
    torch.manual_seed(0)
    config = getattr(hf, f"{name}Config")(vocab_size=len(tokenizer), **ids, **sizes)
    draw_large(hf.AutoModelForCausalLM.from_config(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
