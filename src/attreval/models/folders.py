"""Opening a trained classifier with its tokenizer, or saying why not; nothing missing is made up.

Weights are read from safetensors only, never unpickled, and no code that lies beside them is run.
Classes are matched by name, and outputs are given names only where they have none of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from copy import deepcopy
from io import StringIO
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attreval.core.extras import need
from attreval.core.nearest import nearest
from attreval.models.outputs import OUTPUTS, Outputs, check_outputs
from attreval.texts.given import read_names

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
PROBLEMS: dict[str, Outputs] = {  # what `transformers` calls a model's outputs
    "single_label_classification": "classes",
    "multi_label_classification": "independent",
    "regression": "value",
}
NOT_FAST = (
    "; tokenizers of bytes and characters (ByT5, CANINE) have no fast form, so their models are "
    "not explained"
)
ONE = "score"  # what a single output without a name of its own is called
_TRUST = "trust_remote_code"


def find_model(name: Path | str) -> Path | str:
    """The folder or GGUF file of that name, or the name itself where it can only be of the hub.

    Names of the hub are `owner/name`, or `name`, with `@revision` (a commit) if one is asked for.

    Raises:
        FileNotFoundError: The folder is not there (names the nearest ones), or it is a file.
    """
    path = Path(name).expanduser()
    if path.is_dir() or isinstance(name, Path) or (is_gguf(path) and path.is_file()):
        return path
    if path.is_file():
        raise FileNotFoundError(f"{name} is a file; give the folder that it lies in, {path.parent}")
    here = path.is_absolute() or name.startswith((".", "~")) or "\\" in name or name.count("/") > 1
    if here or ("/" in name and path.parent.is_dir()):
        raise FileNotFoundError(
            f"no folder {name}{_nearest(path)}; a name of the hub has the form owner/name"
        )
    return name


def is_gguf(folder: Path | str) -> bool:
    """Whether it is named as a file of llama.cpp, with weights and tokenizer in one."""
    return isinstance(folder, Path) and folder.suffix.lower() == ".gguf"


def source_of(folder: Path | str) -> tuple[Path | str, dict]:
    """What `from_pretrained` is given: a folder or a name, and how it is opened."""
    how: dict = {_TRUST: False, "local_files_only": isinstance(folder, Path)}
    if not isinstance(folder, Path):
        name, _, revision = folder.partition("@")
        return name, how | {"revision": revision or "main"}
    if not is_gguf(folder):
        return folder, how
    for package in ("gguf", "accelerate"):
        need(package, "gguf", f"{folder.name}, a GGUF file,")
    return folder.parent, how | {"gguf_file": folder.name}


def as_plain(network: PreTrainedModel) -> PreTrainedModel:
    """The network as one that can be saved: transformers saves none that came from a GGUF file."""
    if not getattr(network, "is_quantized", False):
        return network
    config = deepcopy(network.config)
    del config.quantization_config
    plain = type(network)(config)
    plain.load_state_dict(network.state_dict())
    return plain


def _nearest(path: Path) -> str:
    """What there is instead: folders of like names, or the part of the path that is missing."""
    if not path.parent.is_dir():
        return f" (and no {path.parent} either)"
    folders = sorted(other.name for other in path.parent.iterdir() if other.is_dir())
    return nearest(path.name, folders)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Turn errors of transformers and safetensors into one line that names the model."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(
            f"the weights of {name} cannot be read: {error}; the file is cut off or damaged, "
            "copy or save it again"
        ) from None
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())
        if _TRUST in text:
            text = "it needs Python code that lies beside its weights, which is never run here"
        if isinstance(error, OSError) and not Path(name).exists():
            text = (
                f"there is no folder of that name here{_nearest(Path(name))}, and of the hub's "
                f"models: {text}"
            )
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"{name} cannot be loaded as a classifier of texts: {text[:300]}") from None


def open_network(folder: Path | str, speaks: bool = False) -> torch.nn.Module:
    """A classifier in float32, of which every weight is there, fits and is a finite number.

    Args:
        folder: A folder, a GGUF file, or a hub name.
        speaks: Open a language model (...ForCausalLM) in place of a classifier.

    Raises:
        ValueError, OSError: It is anything else: no configuration, another kind of model, a head
            that is none of texts, weights that are missing, of other sizes, cut off, pickled or not
            finite.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification

    kind = AutoModelForCausalLM if speaks else AutoModelForSequenceClassification
    name = str(folder)
    source, how = source_of(folder)
    if isinstance(folder, Path) and not is_gguf(folder):
        _refuse_files(folder)
    with _told(name):
        config = AutoConfig.from_pretrained(source, **how)
    if getattr(config, "quantization_config", None):
        raise ValueError(
            f"{name} holds quantised weights (quantization_config), and what is explained here are "
            "float32 weights; save it dequantised, or explain the model that it was made from"
        )
    if not speaks:
        _refuse_head(config, name)
    elif config.architectures and not _speaks(config.architectures):
        raise ValueError(
            f"{name} holds {', '.join(config.architectures)}, and a template and label words are "
            "of a language model (...ForCausalLM); leave them out where it is a trained classifier"
        )
    if getattr(config, "auto_map", None):
        warnings.warn(
            f"{name} brings Python code for its model (auto_map in config.json), which is never "
            f"run: it is read as the {config.model_type} of transformers, and is another model "
            "where its code does anything else",
            stacklevel=4,
        )
    # reading a GGUF file draws a bar, whatever transformers is told
    unbarred = redirect_stderr(StringIO()) if is_gguf(folder) else nullcontext()
    with _told(name), unbarred:
        network, found = kind.from_pretrained(
            source,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # told below, by name
            output_loading_info=True,
            **how,
        )
    if missing := sorted(found["missing_keys"]):
        raise ValueError(
            f"{name} holds no weights for {_some(missing)}: an encoder without its "
            "classification head, or a part of a "
            "model; a random head would say nothing. Save the whole trained classifier"
        )
    sizes = [
        f"{key} {tuple(there)}, config.json asks for {tuple(asked)}"
        for key, there, asked in sorted(found["mismatched_keys"])
    ]
    if sizes:
        raise ValueError(
            f"{name}: weights and configuration do not fit; the file has {_some(sizes)}"
        )
    if wrong := [
        key for key, weight in network.named_parameters() if not torch.isfinite(weight).all()
    ]:
        raise ValueError(
            f"{name} has weights that are NaN or infinite, in {_some(wrong)}: its training diverged"
        )
    return network


def _some(names: Sequence[str], most: int = 4) -> str:
    """The first few of a list."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _refuse_files(folder: Path) -> None:
    """Refuse a folder without configuration, adapter's library or safetensors."""
    from transformers.utils import is_peft_available

    if not (folder / "config.json").exists():
        adapter = (
            ": an adapter alone, merge it into its model"
            if (folder / "adapter_config.json").exists()
            else ""
        )
        raise FileNotFoundError(
            f"{folder} holds no config.json, so no model that transformers can load{adapter}"
        )
    elif (folder / "adapter_config.json").exists() and not is_peft_available():
        raise ValueError(
            f"{folder} holds a model and an adapter for it (adapter_config.json), which would be "
            "left out: peft is not installed. Install it (pip install peft), or save the two as "
            "one model (merge_and_unload)"
        )
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(
            path.name
            for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt")
            for path in folder.glob(pattern)
        )
        how = (
            f" but {_some(pickled)}, which is pickled and not opened here; save it once more "
            "where you trust it: "
            f"AutoModelForSequenceClassification.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
        )
        raise FileNotFoundError(
            f"{folder} holds no weights (*.safetensors)" + (how if pickled else "")
        )


def _speaks(kinds: Sequence[str]) -> bool:
    """Whether one of the architectures that a configuration names is a language model."""
    return any(kind.endswith(("ForCausalLM", "LMHeadModel")) for kind in kinds)


def _refuse_head(config: PretrainedConfig, name: str) -> None:
    """Refuse a network that is no classifier of texts."""
    kinds = config.architectures or []
    if kinds and not any("ForSequenceClassification" in kind for kind in kinds):
        prompted = (
            ", or ask it as a language model: give `template` and `labels`"
            if _speaks(kinds)
            else ""
        )
        raise ValueError(
            f"{name} holds {', '.join(kinds)}: a network without a head that classifies texts "
            "(...ForSequenceClassification); a random head would say nothing. Save the whole "
            "trained classifier, or give an encoder of sentences with its linear head to "
            f"attreval.wrap{prompted}"
        )


def read_outputs(config: Any, count: int, asked: Outputs | None, name: str) -> Outputs:
    """What a network's outputs are: what its configuration says, else what is asked.

    Where nobody says it, several outputs are classes, and a single one is a value, as of a
    reranker.

    Args:
        config: Of the network.
        count: How many outputs it has.
        asked: One of OUTPUTS, or None.
        name: Of the model, for messages.

    Raises:
        ValueError: Asked is no such word, is something else than the configuration says, or
            classes where there is one output.
    """
    check_outputs(asked)
    problem = getattr(config, "problem_type", None) or ""
    said = PROBLEMS.get(problem)
    if said and asked and said != asked:
        raise ValueError(
            f"outputs={asked!r} reads outputs as {OUTPUTS[asked]}, and {name} says that it is a "
            f"{problem} (problem_type in its configuration); leave outputs out, or mend "
            "problem_type where that is wrong"
        )
    usual: Outputs = "value" if count == 1 else "classes"
    found = said or asked or usual
    if found == "classes" and count < 2:
        raise ValueError(
            f"{name} has {count} output, and classes are two or more: outputs='value' reads it as "
            "a value, outputs='independent' as the logit of a probability, by a sigmoid"
        )
    return found


def open_tokenizer(folder: Path | str, network: torch.nn.Module) -> PreTrainedTokenizerFast:
    """The fast tokenizer of a network.

    Args:
        folder: A folder, or a hub name.
        network: The network, whose embeddings must cover its ids.

    Raises:
        ValueError, OSError: There is none, or it cannot say which characters a token covers, knows
            no words, or gives ids that the model has no embedding for.
    """
    from transformers import AutoTokenizer

    name = str(folder)
    source, how = source_of(folder)
    parted = isinstance(folder, Path) and not is_gguf(folder)
    if parted and not any(any(Path(folder).glob(pattern)) for pattern in TOKENIZER_FILES):
        raise FileNotFoundError(
            f"{name} holds no tokenizer ({', '.join(TOKENIZER_FILES)}): copy the tokenizer that "
            f"the model was trained with into the folder (tokenizer.save_pretrained){NOT_FAST}"
        )
    with _told(f"the tokenizer of {name}"):
        tokenizer = AutoTokenizer.from_pretrained(source, **how)
    if not tokenizer.is_fast:
        raise ValueError(
            f"the tokenizer of {name}, {type(tokenizer).__name__}, does not say which characters "
            "a token covers; save "
            f"the fast tokenizer of the model (tokenizer.json) in its folder{NOT_FAST}"
        )
    check_vocabulary(tokenizer, network, name)
    return tokenizer


def tokenizer_of(name: Path | str) -> PreTrainedTokenizerFast:
    """The tokenizer that lies in a folder or GGUF file, or is of the hub, as it is."""
    from transformers import AutoTokenizer

    source, how = source_of(find_model(name))
    return AutoTokenizer.from_pretrained(source, **how)


def check_vocabulary(tokenizer: Any, network: Any, name: str) -> None:
    """Raise ValueError for a tokenizer without words, or with more than the network knows."""
    vocabulary = tokenizer.get_vocab()
    special = set(tokenizer.all_special_tokens)
    if not vocabulary.keys() - special:
        raise ValueError(
            f"the tokenizer of {name} knows no words, only {_some(sorted(special), 8)}: its "
            "files are lost"
        )
    last = max(vocabulary, key=vocabulary.get)
    rows = len(network.get_input_embeddings().weight)
    if vocabulary[last] >= rows:
        raise ValueError(
            f"the tokenizer of {name} gives ids up to {vocabulary[last]} ({last!r}), the model "
            f"has {rows} embeddings: it is another model's tokenizer, or tokens were added "
            "without resize_token_embeddings"
        )


def own_names(config: Any, model: str) -> tuple[str, ...]:
    """The classes that a configuration names, in the order of their numbers.

    A single output that is only numbered is the score.

    Args:
        config: Of the network.
        model: Its name, for messages.

    Raises:
        ValueError: They are not numbered from 0; and as `check_names`.
    """
    given = getattr(config, "id2label", None) or {}
    named = sorted((int(k), name) for k, name in given.items())
    numbers = [k for k, _ in named]
    if numbers != list(range(len(named))):
        raise ValueError(
            f"{model} numbers its {len(named)} classes {', '.join(map(str, numbers))} (id2label "
            f"in config.json); they are numbered from 0 to {len(named) - 1}, as its outputs are"
        )
    names = check_names([name for _, name in named], model)
    return (ONE,) if len(names) == 1 and are_placeholders(names) else names


def estimator_names(
    estimator: Any, given: Sequence[str] | Mapping | None, single: bool
) -> list[str]:
    """Names of what an estimator of scikit-learn gives; those of its classes keep their order.

    Args:
        estimator: Its `classes_` are its own names, if it has any.
        given: A user's names in their place, or None.
        single: There is one number; of two classes it is the second's.
    """
    own = [str(name) for name in getattr(estimator, "classes_", ())]
    names = own if given is None else [str(name) for name in read_names(given)]
    names = own if sorted(names) == sorted(own) else names
    return names[1:] or [ONE] if single and len(names) in (0, 2) else names


def check_names(names: Sequence[object], model: str) -> tuple[str, ...]:
    """Names of classes as text.

    Args:
        names: The names.
        model: Its name, for messages.

    Raises:
        ValueError: One is no name, or two classes have the same, in any case.
    """
    plain = [str(name).strip().casefold() for name in names]
    for name, written in zip(names, plain, strict=True):
        named = isinstance(name, str | Integral) and not isinstance(name, bool) and written
        if not named or plain.count(written) > 1:
            why = f"two classes are called {name!r}" if named else f"{name!r} is no name"
            raise ValueError(
                f"{model} has classes {', '.join(map(repr, names))}: {why}. A class is asked for "
                "by its name, so each needs one of its own: mend id2label in config.json, or the "
                "names given in its place"
            )
    return tuple(map(str, names))


def rename_classes(config: Any, given: Sequence[str] | Mapping, model: str) -> tuple[str, ...]:
    """The names that a user gives to a network's outputs, in place of those of its configuration.

    Args:
        config: Of the network.
        given: The names, as `read_names` takes them.
        model: Its name, for messages.

    Raises:
        ValueError: As `read_names` and `check_names`; or these are the configuration's own names in
            another order.
    """
    names = check_names(read_names(given), model)
    own = getattr(config, "id2label", None) or {}
    plain = [str(own[k]).casefold() for k in sorted(own, key=int)]
    asked = [name.casefold() for name in names]
    if sorted(plain) == sorted(asked) and plain != asked:
        raise ValueError(
            f"labels say that the outputs of {model} are {', '.join(names)}, and id2label of its "
            f"configuration says {', '.join(plain)}; leave labels out where that is right, and "
            "mend the configuration where it is not"
        )
    return names


def match_labels(own: tuple[str, ...], wanted: tuple[str, ...], name: str) -> list[int] | None:
    """Where each wanted class stands among a network's own; None where the order is the same.

    Args:
        own: The network's names.
        wanted: The task's names.
        name: Of the model, for messages.

    Raises:
        ValueError: They have other names.
    """
    plain = [label.lower() for label in own]
    asked = [label.lower() for label in wanted]
    if plain == asked:
        return None
    if sorted(plain) != sorted(asked):
        how = (
            "name the model's classes, in its order and in the task's words, under `labels` of "
            "the model in the profile"
            if are_placeholders(own)
            else "give its classes the task's words under id2label in its config.json, each at "
            "its own number"
        )
        raise ValueError(
            f"the model {name} has classes {', '.join(own)}, the task has {', '.join(wanted)}; "
            f"{how}"
        )
    return [plain.index(label) for label in asked]


def are_placeholders(own: Sequence[str]) -> bool:
    """Whether outputs are only numbered: LABEL_0, LABEL_1, as transformers does, or 0, 1."""
    return all(label.upper() in (f"LABEL_{k}", str(k)) for k, label in enumerate(own))


def name_classes(own: tuple[str, ...], given: Sequence[str], name: str) -> tuple[str, ...]:
    """The names of a network's outputs, in its order, where a user says `given`.

    Outputs that are only numbered take the given names in their order. Classes that have names keep
    them, and must be the given ones in any order.

    Args:
        own: The network's names.
        given: The user's.
        name: Of the model, for messages.

    Raises:
        ValueError: The names do not match: to give a class another's name would turn every score
            around.
    """
    if are_placeholders(own):
        if len(given) != len(own):
            raise ValueError(
                f"the model {name} has {len(own)} classes, `labels` has {len(given)}: "
                f"{', '.join(given)}"
            )
        return check_names(given, name)
    if sorted(label.lower() for label in own) != sorted(label.lower() for label in given):
        raise ValueError(
            f"the model {name} names its classes {', '.join(own)}; `labels` says "
            f"{', '.join(given)}. Leave that out, "
            "or mend id2label in the model's config.json, each name at its own number"
        )
    return own
