"""A classifier of one's own: from a folder or a hub, or a module that is in memory already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from attreval.models.classifier import Classifier
from attreval.models.outputs import Outputs

if TYPE_CHECKING:
    from torch import nn

ENDLESS = 1_000_000  # tokenizers that know no limit say a greater number
WITHOUT_LIMIT = 4096  # tokens read where neither network nor tokenizer names a limit


def load(
    folder: str | Path,
    max_length: int | None = None,
    device: str = "auto",
    *,
    template: str | None = None,
    labels: Mapping[str, str] | None = None,
    chat: bool = False,
    erase: str | None = None,
    outputs: Outputs | None = None,
) -> Classifier:
    """A trained classifier from a folder that `transformers` or this package wrote, or from a hub;
    a language model also from a GGUF file.

    With a template, a causal language model: `load("gpt2", template="{text} It was",
    labels={"positive": " great", "negative": " terrible"})`. A class is as likely as its word is to
    come next, among the words given: class scores are logarithms of these probabilities. The
    template is context: its tokens have no scores, are never erased, and a long text is cut, not
    the template.

    Args:
        folder: a path, or a name.
        max_length: tokens read of a text, beside the template; None for all that the model has
            positions for.
        device: `auto` is CUDA where there is one, else the CPU.
        template: with one place for the {text}.
        labels: class -> what is said of it behind the template, to the letter, as a rule with a
            space before it.
        chat: the template is what a user says to the model, by the tokenizer's chat template, and
            labels begin the answer.
        erase: one token, such as `" ..."`, that erased tokens become; None for the mask token, or
            where there is none for the one that is nearest to leaving tokens out, see
            models/erasing.py.
        outputs: `classes`, of which one is right (a softmax); `independent` ones, each a
            probability (a sigmoid), as of several labels at once; or each a `value`, as of a
            regression or a reranker. None takes what `problem_type` of the configuration says;
            where it says nothing, several are classes, and a single one is a value.

    Raises:
        FileNotFoundError: a path that is not there.
        OSError, ValueError: what is there is no classifier, or no language model where there is a
            template; a template or labels that its tokenizer does not tell apart; other outputs
            than the configuration says.
    """
    from attreval.models.folders import find_model, is_gguf
    from attreval.models.loading import load_classifier, load_language_model

    check_length(max_length)
    place = find_model(str(folder.absolute()) if isinstance(folder, Path) else folder)
    asked = ENDLESS if max_length is None else max_length
    if template is None and labels is None and not chat and not is_gguf(place):
        model = load_classifier(
            place, device=device, max_length=asked, erase=erase, outputs=outputs
        )
    elif outputs is not None:
        raise ValueError("label words of a template are classes; leave outputs out")
    elif (
        template is None
        or not isinstance(labels, Mapping)
        or not all(isinstance(x, str) for x in labels.values())
    ):
        raise ValueError(
            "a language model (a GGUF file holds one) is given both a `template` with {text} and "
            "`labels`, class -> its words, such as {'good': ' fine'}; got "
            f"{template!r} and {labels!r}"
        )
    else:
        model = load_language_model(place, template, labels, chat, device, asked, erase)
    model.max_length = min(asked, model.max_length, _longest(model))
    return model


def wrap(
    module: nn.Module | Callable[..., Any],
    tokenizer: object | None = None,
    labels: Sequence[str] | Mapping | None = None,
    max_length: int | None = None,
    *,
    tokenize: Callable[[str], Iterable[str]] | None = None,
    mask: str | None = None,
    erase: str | None = None,
    outputs: Outputs | Literal["labels"] | None = None,
    repeats: int = 1,
    calls: float = float("inf"),
    cache: str | Path | None = None,
) -> Classifier:
    """A classifier made from a module and its tokenizer, or from any function of texts.

    A function, such as `predict_proba` of a scikit-learn pipeline or a call of a service, takes a
    list of n strings (tuples of two for pairs) and returns (n, K) probabilities. Methods and
    metrics that ask about changed texts alone apply; those that need gradients, attention or word
    vectors are refused by name. Class scores are logarithms of probabilities, those of an
    independent output its log-odds.

    A function is asked about two texts at once, alone and together, and twice. If it answers
    otherwise each time, how much is kept as the model's `noise`, the standard deviation of a
    probability; explanations remark on scores that it may have put in order. The first answer about
    a text is then the answer as long as the model lives, or the cache. After an error of a
    connection, 429 or 5xx it is asked again, about half as many texts at once, after 1, 2, ... 32
    seconds or what Retry-After says; other errors are not tried again. `model.service.asked` counts
    the texts asked about.

    Args:
        module: a function, a text-classification pipeline of transformers, whose model and
            tokenizer are taken, or a Hugging Face sequence classifier, or a module with its
            `config`, `get_input_embeddings`, `base_model`, `dtype` and `forward`, which takes
            `input_ids` or `inputs_embeds` with an `attention_mask` and returns `.logits`, (B, K).
            It is asked in evaluation mode, and left as it is: it may go on training in between.
            Or a SentenceTransformer, or its folder, with a head fitted on its embeddings; or a
            model of SetFit, which has both.
        tokenizer: a fast Hugging Face tokenizer; None for a function; of an encoder of sentences
            its linear head, an estimator of scikit-learn.
        labels: K class names in the order of the logits, or of a function's columns, or a mapping
            between names and numbers, such as `config.label2id`. None takes those of the
            configuration, or of the scikit-learn estimator whose method the function is. A table
            that a function gives, with names for its columns, is read by them.
        max_length: as for `load`; a function reads the whole text.
        tokenize: of a function, from a string to its words, in order and as they stand there; None
            takes runs of letters and digits, and single other characters.
        mask: of a function, the string that takes the place of a masked word, such as `[MASK]` or
            `...`; None leaves the word out. A text of which nothing is left is then the empty
            string.
        erase: of a module, as for `load`.
        outputs: as for `load`. Of a function, `independent` are (n, K) probabilities that need not
            sum to 1, `value` any finite numbers, such as those of `decision_function`; either may
            be (n,) where there is one, which then needs no label. Or `labels`, where it gives the
            name of one class a text, whose probabilities are then the shares of votes in `repeats`
            answers, with one vote more that the classes share equally, so that none is 0 or 1.
        repeats: how often a function is asked about each text; the mean is explained. Of labels 10
            or more.
        calls: texts that a function may be asked about, those that failed and each repeat included;
            beyond that is an error, and before it one where methods would need more and no cache
            would keep the answers.
        cache: a folder where a function's answers are kept, so that nothing is paid for twice:
            hashes of texts and probabilities, no text (though a short one might be guessed).
            Answers hold for the same labels, outputs, repeats, and a function of the same name,
            code and strings around it, such as a prompt; one folder for each served model keeps
            what code does not show apart. To forget them, delete the folder.

    Raises:
        ValueError: classes without a name of their own, labels without an order, or the
            configuration's in another order; or the module gives no such logits, or others in a
            padded batch than alone. Where it gives others by embeddings than by ids, methods that
            read it by embeddings refuse it, as they do for `load`. A function gives no
            probabilities that sum to 1, others beside another text than alone, or too noisy ones.
        RuntimeError: a function fails again and again, or `calls` are used up.
    """
    read = cast("Outputs | None", outputs)  # labels are refused below where no function gives them
    if hasattr(module, "model_head") or hasattr(tokenizer, "predict"):
        from attreval.models.sentence_encoder import check_logits, join_head

        network, names, read, logits = join_head(module, tokenizer, labels, read)
        model = _wrap_module(network, network.tokenizer, names, max_length, erase, read)
        check_logits(model, logits)
        return model
    if tokenizer is None and hasattr(module, "task") and hasattr(module, "model"):
        module, tokenizer, outputs = _open_pipeline(module, read)
    if tokenizer is None:
        from attreval.models.text_function import wrap_function

        if max_length is not None:
            raise ValueError(
                f"a function reads the whole text; leave out max_length, which is {max_length}"
            )
        if erase is not None:
            raise ValueError("`erase` is a token of a module's; of a function's words say `mask`")
        if min(repeats, calls) < 1:
            raise ValueError(f"repeats and calls are 1 or more; got {repeats} and {calls}")
        return wrap_function(
            module, labels, tokenize, mask, outputs, cache, repeats=repeats, calls=calls
        )
    asked = (repeats, calls) != (1, float("inf"))
    if outputs == "labels" or asked or any(one is not None for one in (tokenize, mask, cache)):
        raise ValueError(
            "`tokenize` and `mask` are of a function from texts, as are `calls`, `cache`, "
            "`repeats` and outputs='labels'; a module with its tokenizer needs none of them"
        )
    return _wrap_module(cast("nn.Module", module), tokenizer, labels, max_length, erase, outputs)


def _open_pipeline(pipeline: Any, outputs: Outputs | None) -> tuple[Any, object, Outputs | None]:
    """Model and tokenizer of a pipeline of transformers, and what the model's outputs are.

    ValueError where what it gives is not what its model does.
    """
    if pipeline.task != "text-classification":
        raise ValueError(
            f"a pipeline for {pipeline.task} is not its model alone; wrap a function of texts that "
            "calls it and returns a row of numbers for each text"
        )
    config = pipeline.model.config
    if config.num_labels == 1 and config.problem_type is None:
        outputs = outputs or "independent"  # a pipeline takes the sigmoid there
    return pipeline.model, pipeline.tokenizer, outputs


def _wrap_module(
    module: nn.Module,
    tokenizer: Any,
    labels: Sequence[str] | Mapping | None,
    max_length: int | None,
    erase: str | None,
    outputs: Outputs | None,
) -> Classifier:
    """A module with its tokenizer, see `wrap`."""
    from attreval.models.checks import check_readings
    from attreval.models.erasing import name_erasing
    from attreval.models.folders import (
        NOT_FAST,
        check_vocabulary,
        own_names,
        read_outputs,
        rename_classes,
    )
    from attreval.models.transformer import Transformer

    check_length(max_length)
    name = type(module).__name__
    if hasattr(module, "merge_and_unload"):
        raise ValueError(
            f"{name} is a model with an adapter of peft around it; give "
            "module.merge_and_unload(), the model with the adapter in its weights"
        )
    needed = ("config", "get_input_embeddings", "base_model", "dtype")
    if lacking := [what for what in needed if not hasattr(module, what)]:
        if hasattr(module, "module"):
            raise ValueError(f"{name} is around another module; give its .module")
        raise ValueError(
            f"{name} has no {', '.join(lacking)}; give a sequence classifier of transformers, or a "
            "module that has these, and forward(input_ids or inputs_embeds, attention_mask)"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} is no fast tokenizer, and only these say which characters "
            "a token covers; load one with AutoTokenizer.from_pretrained(..., use_fast=True)"
            f"{NOT_FAST}"
        )
    check_vocabulary(tokenizer, module, name)
    if labels is None:
        names = own_names(module.config, name)
    else:
        names = rename_classes(module.config, labels, name)
    read = read_outputs(module.config, len(names), outputs, name)
    model = Transformer(name, module, tokenizer, names, max_length or ENDLESS, outputs=read)
    model.max_length = min(model.max_length, _longest(model))
    model.refusals.update(check_readings(model))
    name_erasing(model, erase)
    return model


def check_model(model: object) -> None:
    """Raise TypeError for what is no classifier that `load` or `wrap` has made."""
    if not all(hasattr(model, name) for name in ("family", "labels", "tokens")):
        is_path = isinstance(model, str | Path)
        what = f"the path {str(model)!r}" if is_path else f"a {type(model).__name__}"
        raise TypeError(
            "a model comes from attreval.load(folder) or attreval.wrap(module, tokenizer); got "
            f"{what}"
        )


def check_length(max_length: int | None) -> None:
    """Raise ValueError for a number of tokens that no text fits into."""
    if max_length is not None and max_length < 3:
        raise ValueError(
            f"max_length counts tokens, special ones included, and is at least 3; got {max_length}"
        )


def _longest(model: Any) -> int:
    """How many tokens a model reads: by its network's positions, and by its tokenizer."""
    if model.family != "transformer" or model.prompt:
        return model.max_length
    limits = (model.longest, getattr(model.tokenizer, "model_max_length", ENDLESS))
    return min([limit for limit in limits if limit and limit < ENDLESS], default=WITHOUT_LIMIT)
