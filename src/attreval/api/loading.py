"""A classifier of one's own: from a folder or a hub, or a module that is in memory already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attreval.models.classifier import Classifier

if TYPE_CHECKING:
    from torch import nn

ENDLESS = 1_000_000  # tokenizers that know no limit say a greater number
OUTPUTS = ("probabilities", "labels")
WITHOUT_LIMIT = 4096  # tokens read where neither network nor tokenizer names a limit


def load(
    folder: str | Path,
    max_length: int | None = None,
    device: str = "auto",
    *,
    template: str | None = None,
    labels: Mapping[str, str] | None = None,
    chat: bool = False,
) -> Classifier:
    """A trained classifier from a folder that `transformers` or this package wrote, or from a hub.

    With a template, a causal language model: `load("gpt2", template="{text} It was",
    labels={"positive": " great", "negative": " terrible"})`. A class is as likely as its word is to
    come next, among the words given: class scores are these tokens' logits, or the sums of their
    log probabilities where a word has several tokens. The template is
    context: its tokens have no scores, are never erased, and a long text is cut, not the template.

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

    Raises:
        FileNotFoundError: a path that is not there.
        OSError, ValueError: what is there is no classifier, or no language model where there is a
            template; a template or labels that its tokenizer does not tell apart.
    """
    from attreval.models.folders import find_model
    from attreval.models.loading import load_classifier, load_language_model

    check_length(max_length)
    place = find_model(str(folder.absolute()) if isinstance(folder, Path) else folder)
    asked = ENDLESS if max_length is None else max_length
    if template is None and labels is None and not chat:
        model = load_classifier(place, device=device, max_length=asked)
    elif (
        template is None
        or not isinstance(labels, Mapping)
        or not all(isinstance(x, str) for x in labels.values())
    ):
        raise ValueError(
            "a language model is given both a `template` with {text} and `labels`, class -> its "
            f"words, such as {{'good': ' fine'}}; got {template!r} and {labels!r}"
        )
    else:
        model = load_language_model(place, template, labels, chat, device=device, max_length=asked)
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
    outputs: str = "probabilities",
    repeats: int = 1,
    calls: float = float("inf"),
    cache: str | Path | None = None,
) -> Classifier:
    """A classifier made from a module and its tokenizer, or from any function of texts.

    A function, such as `predict_proba` of a scikit-learn pipeline or a call of a service, takes a
    list of n strings (tuples of two for pairs) and returns (n, K) probabilities. Methods and
    metrics that ask about changed texts alone apply; those that need gradients, attention or word
    vectors are refused by name. Class scores are logarithms of probabilities.

    A function is asked about two texts at once, alone and together, and twice. If it answers
    otherwise each time, how much is kept as the model's `noise`, the standard deviation of a
    probability; explanations remark on scores that it may have put in order. The first answer about
    a text is then the answer as long as the model lives, or the cache. After an error of a
    connection, 429 or 5xx it is asked again, about half as many texts at once, after 1, 2, ... 32
    seconds or what Retry-After says; other errors are not tried again. `model.service.asked` counts
    the texts asked about.

    Args:
        module: a function, or a Hugging Face sequence classifier, or a module with its `config`,
            `get_input_embeddings`, `base_model`, `dtype` and `forward`, which takes `input_ids` or
            `inputs_embeds` with an `attention_mask` and returns `.logits`, (B, K). It is asked in
            evaluation mode, and left as it is: it may go on training in between.
        tokenizer: a fast Hugging Face tokenizer; None for a function.
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
        outputs: of a function, `probabilities`, or `labels` where it gives one class name a text.
            A text's probabilities are then the shares of votes in `repeats` answers, with one vote
            more that the classes share equally, so that none is 0 or 1.
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
    if tokenizer is None:
        from attreval.models.text_function import wrap_function

        if max_length is not None:
            raise ValueError(
                f"a function reads the whole text; leave out max_length, which is {max_length}"
            )
        check_asking(outputs, repeats, calls)
        return wrap_function(
            module, labels, tokenize, mask, outputs, cache, repeats=repeats, calls=calls
        )
    asked = (repeats, calls, outputs) != (1, float("inf"), OUTPUTS[0])
    if asked or any(one is not None for one in (tokenize, mask, cache)):
        raise ValueError(
            "`tokenize` and `mask` are of a function from texts, as are `calls`, `cache`, "
            "`repeats` and outputs='labels'; a module with its tokenizer needs none of them"
        )
    from attreval.models.checks import check_readings
    from attreval.models.folders import (
        NOT_FAST,
        check_vocabulary,
        own_names,
        refuse_problem,
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
    module = cast("nn.Module", module)
    needed = ("config", "get_input_embeddings", "base_model", "dtype")
    if lacking := [what for what in needed if not hasattr(module, what)]:
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
    refuse_problem(module.config, name)
    if labels is None:
        names = own_names(module.config, name)
    else:
        names = rename_classes(module.config, labels, name)
    model = Transformer(name, module, tokenizer, names, max_length or ENDLESS)
    model.max_length = min(model.max_length, _longest(model))
    model.refusals.update(check_readings(model))
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


def check_asking(outputs: str, repeats: int, calls: float) -> None:
    """Raise ValueError for a way to ask a function that there is not."""
    if outputs not in OUTPUTS:
        raise ValueError(f"outputs={outputs!r} is not known; there are: {', '.join(OUTPUTS)}")
    if min(repeats, calls) < 1:
        raise ValueError(f"repeats and calls are 1 or more; got {repeats} and {calls}")


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
