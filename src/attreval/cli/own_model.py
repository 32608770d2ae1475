"""Commands for a model of one's own: demo, check, explain, evaluate, diff, list."""

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from attreval.cli.app import CATALOGUES, AsJson, command, option, print_json, print_rows

# of a catalogue, for machines and the site's cards: too long for a table of so many columns
LONG = {
    "function",
    "computed",
    "why_not",
    "missing",
    "computes",
    "defaults",
    "draws",
    "requires",
    "install",
    "outputs",
    "turned",
    "hard",
    "joint",
}
_own = partial(command, rich_help_panel="Your own model")
Model = Annotated[str, option("a folder, a hub name, or a GGUF file")]
Template = Annotated[
    str | None,
    option("ask a language model: what stands around {text}, such as '{text} It was'"),
]
Labels = Annotated[
    list[str] | None,
    option(
        "of a template, CLASS=WORDS to the letter, once for each class: --labels 'positive= great'"
    ),
]
Chat = Annotated[bool, option("the template is a user's message, by the chat template", "--chat")]
Erase = Annotated[
    str | None,
    option(
        "the token that erased ones become, such as ' ...'; else the mask token, or the one "
        "that is nearest to leaving tokens out"
    ),
]
Outputs = Annotated[
    Literal["classes", "independent", "value"] | None,
    option(
        "what the model's outputs are, where config.json does not say it: `classes` (a "
        "softmax), `independent` (a sigmoid each) or `value`"
    ),
]
Output = Annotated[str | None, option("the one to explain, of outputs that are no classes")]
Column = Annotated[str | None, option("of the table, where the texts stand; else `text`")]
PairColumn = Annotated[str | None, option("of the table, where second texts stand")]
Methods = Annotated[
    list[str] | None, option("names with commas between them, or `all`", "--methods", "--method")
]


def how_to_load(
    template: str | None,
    labels: list[str] | None,
    chat: bool,
    erase: str | None,
    outputs: str | None,
) -> dict:
    """The arguments of `attreval.load` that say how a model is asked."""
    given = labels or []
    if wrong := [one for one in given if "=" not in one]:
        raise ValueError(
            f"--labels {wrong[0]!r} is not of the form CLASS=WORDS, such as 'positive= great'"
        )
    words = dict(one.split("=", 1) for one in given)
    if len(words) < len(given):
        raise ValueError(f"--labels names a class twice: {', '.join(given)}")
    asked = {"template": template, "labels": words or None, "chat": chat}
    return asked | {"erase": erase, "outputs": outputs}


@_own("demo")
def demo_command(
    texts: Annotated[int, option("texts to explain, 2 or more", min=2)] = 40,
    out: Annotated[
        Path | None, option("keep it as an .html page or as an .svg picture of this")
    ] = None,
) -> None:
    """Watch a small network learn evidence that was planted, methods explain it, and metrics tell
    the truth or not.
    """
    import torch

    from attreval.demo import run_demo

    torch.set_num_threads(1)  # of so small a network they only wait for each other
    run_demo(texts, out)


@_own("check")
def check_command(
    model: Annotated[str, typer.Argument(help="a folder, a hub name, or a GGUF file")],
    template: Template = None,
    labels: Labels = None,
    chat: Chat = False,
    erase: Erase = None,
    outputs: Outputs = None,
    as_json: AsJson = False,
) -> None:
    """Say what a classifier of your own is, whether it is read as transformers reads it, and which
    methods apply.
    """
    from attreval.api.loading import load
    from attreval.methods.run import try_methods
    from attreval.models.loading import examine_model
    from attreval.models.threads import quickest_threads

    progress = ProgressLine()
    with quickest_threads(progress.say):
        progress.say(f"opening {model}")
        asked = how_to_load(template, labels, chat, erase, outputs)
        loaded: Any = load(model, 512, **asked)
        progress.say("comparing what it says with transformers")
        known = examine_model(loaded)
        methods = try_methods(loaded, progress.say)
    if as_json:
        print_json({"model": known, "methods": methods})
        return
    rows = list(known.items())
    refused: dict[str, list[str]] = {}
    for name, reason in methods.items():
        refused.setdefault(reason, []).append(name)
    rows.append(("methods that apply", ", ".join(refused.pop("", ["none"]))))
    for reason, names in refused.items():
        rows.append(("methods that do not", f"{', '.join(names)}: {reason}"))
    print_rows([{"what": what, "": how} for what, how in rows])


@_own("explain")
def explain_command(
    model: Model,
    text: Annotated[list[str] | None, option("a text; may be given several times")] = None,
    pair: Annotated[
        list[str] | None, option("the second text of a pair, one for each --text")
    ] = None,
    file: Annotated[
        Path | None,
        option("more texts: .txt with a text a line, or any table that `evaluate` reads"),
    ] = None,
    column: Column = None,
    pair_column: PairColumn = None,
    method: Methods = None,
    unit: Annotated[
        str, option("what has a score: a `word`, `token`, `sentence` or `paragraph`")
    ] = "word",
    window: Annotated[
        bool, option("explain a text too long for the model in pieces", "--window")
    ] = False,
    target: Annotated[str | None, option("the class to explain; else the one predicted")] = None,
    against: Annotated[str | None, option("explain why the target rather than this class")] = None,
    score: Annotated[
        str | None, option("of the class: its `logit`, or its `log_probability`")
    ] = None,
    output: Output = None,
    outputs: Outputs = None,
    samples: Annotated[
        int, option("texts that LIME and Shapley methods may ask for, 2 or more")
    ] = 500,
    max_length: Annotated[
        int | None, option("tokens read of a text; else all that the model reads")
    ] = None,
    template: Template = None,
    labels: Labels = None,
    chat: Chat = False,
    erase: Erase = None,
    out: Annotated[Path | None, option("write a .html, .json, .png or .svg file")] = None,
    words: Annotated[
        Path | None,
        option("write which words count over all texts: a .csv, .png or .svg file"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain what your own model says of your own texts, by any number of methods."""
    from attreval.api.explaining import check_samples, explain
    from attreval.api.explanations import WORD_ENDINGS, check_ending, check_unit
    from attreval.api.loading import load
    from attreval.api.method_names import find_methods
    from attreval.models.threads import quickest_threads
    from attreval.texts.files import read_texts
    from attreval.texts.given import join_pairs, read_segments

    # what is asked for wrongly is told before a model is loaded
    find_methods(method or None)
    check_unit(unit)
    check_samples(samples)
    if out is not None:
        check_ending(out)
    if words is not None:
        check_ending(words, WORD_ENDINGS)
    texts = join_pairs(text or [], pair or [])
    if file:
        texts += read_texts(file, column, pair_column)
    read_segments(texts)
    progress = ProgressLine()
    with quickest_threads(progress.say):
        loaded = load(model, max_length, **how_to_load(template, labels, chat, erase, outputs))
        try:
            found = explain(
                loaded,
                texts,
                method or None,
                unit=unit,
                window=window,
                target=target,
                against=against,
                output=output,
                score=cast(Any, score),
                samples=samples,
                notify=progress,
            )
        except BaseException as error:
            if kept := getattr(error, "found", None):
                _hand_out(kept, out, words, as_json)
            raise
    _hand_out(found, out, words, as_json)


def _hand_out(found: Any, out: Path | None, words: Path | None, as_json: bool) -> None:
    """Save, print or show explanations."""
    for path, save in ((out, found.save), (words, found.save_words)):
        if path is not None:
            print(save(path), file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print_json(found.to_json())
    elif out is None and words is None:
        from attreval.api.show.terminal import show

        show(found)


class ProgressLine:
    """Says on standard error how far a slow command is, every few seconds."""

    PAUSE = 3.0  # seconds

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()

    def say(self, line: str) -> None:
        """A line, unless the last one is not long ago."""
        now = time.monotonic()
        if now - self.last >= self.PAUSE:
            self.last = now
            print(line, file=sys.stderr, flush=True)

    def __call__(self, done: int, of: int, evaluations: int) -> None:
        minutes = (time.monotonic() - self.begun) * (of - done) / max(1, done) / 60
        left = f", about {max(1, round(minutes))} min left" if 0 < done < of else ""
        self.say(f"{done} of {of} texts explained, {evaluations} model evaluations{left}")


@_own("evaluate")
def evaluate_command(
    model: Model,
    data: Annotated[
        Path,
        option("labelled texts: csv, tsv, jsonl, Parquet, ERASER's, a `datasets` folder"),
    ],
    out: Annotated[Path, option("the folder that the report goes to")],
    text: Annotated[str, option("the column of the texts")] = "text",
    label: Annotated[str, option("the column of the labels")] = "label",
    pair: Annotated[str, option("the column of second texts")] = "",
    rationale: Annotated[str, option("the column of what people marked")] = "",
    split: Annotated[str, option("the column of splits; `test` is explained")] = "",
    id: Annotated[str, option("the column of names of texts")] = "",
    template: Template = None,
    labels: Labels = None,
    chat: Chat = False,
    erase: Erase = None,
    classes: Annotated[
        str, option("the model's classes in its order, with commas between them")
    ] = "",
    output: Output = None,
    outputs: Outputs = None,
    method: Methods = None,
    attributions: Annotated[
        list[Path] | None, option("a .jsonl or .parquet of scores made elsewhere")
    ] = None,
    texts: Annotated[int | None, option("texts to draw, at most")] = None,
    seed: Annotated[int, option("another one draws other texts first")] = 0,
    minutes: Annotated[
        float, option("begin no larger sample that would not end by then", min=0)
    ] = 10.0,
    cores: Annotated[
        int | None,
        option("threads to compute with; else one or all, what is quicker", min=1),
    ] = None,
) -> None:
    """Which explanation to trust for your own model and texts: a report with a recommendation and
    what it rests on.
    """
    from attreval.api.loading import load
    from attreval.api.method_names import find_methods
    from attreval.evaluation.run import MOST_TOKENS, evaluate_texts

    if find_methods(method or None) == ["random"]:
        raise ValueError(
            "random scores are always compared, and nothing else is named; name a method beside "
            "them"
        )
    asked: Any = model
    how = how_to_load(template, labels, chat, erase, outputs)
    if any(how.values()):
        asked = load(model, MOST_TOKENS, **how)
    try:
        evaluate_texts(
            asked,
            data,
            out,
            text=text,
            label=label,
            pair=pair,
            rationale=rationale,
            split=split,
            id=id,
            classes=[name.strip() for name in classes.split(",") if name.strip()],
            output=output,
            methods=method or None,
            attributions=attributions or [],
            texts=texts,
            seed=seed,
            minutes=minutes,
            cores=cores,
            say=lambda line: print(line, flush=True),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"; the same command goes on with the texts explained so far, in {out}"
        ) from None


@_own("diff")
def diff_command(
    old: Annotated[str, typer.Argument(help="a folder or a hub name")],
    new: Annotated[str, typer.Argument(help="the model that takes its place")],
    data: Annotated[Path, option(".txt with a text a line, or any table that `evaluate` reads")],
    column: Column = None,
    pair_column: PairColumn = None,
    again: Annotated[
        list[str] | None,
        option("a network trained anew on the old data; once for each"),
    ] = None,
    method: Annotated[
        list[str] | None,
        option("names with commas between them; all must agree", "--methods", "--method"),
    ] = None,
    level: Annotated[
        float, option("of texts beyond noise, the share that chance may bring")
    ] = 0.05,
    out: Annotated[
        list[Path] | None,
        option("a .html, .csv or .json file, once for each; else diff.html"),
    ] = None,
    fail_on: Annotated[
        Literal["beyond-noise"] | None,
        option("exit with status 3 where a reason moved beyond noise"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a retrained model with the old one: predictions that differ, and reasons that moved
    where they do not.
    """
    from attreval.api.explanations import check_ending
    from attreval.evaluation.difference import diff
    from attreval.evaluation.difference_page import ENDINGS
    from attreval.models.threads import quickest_threads
    from attreval.texts.files import read_texts

    if fail_on and not again:
        raise ValueError(
            "--fail-on beyond-noise needs --again FOLDER, a network trained anew on the old data: "
            "without one nothing tells what chance does"
        )
    places = out or [Path("diff.html")]
    for place in places:
        check_ending(place, ENDINGS)
    texts = read_texts(data, column, pair_column)
    progress = ProgressLine()
    with quickest_threads(progress.say):
        found = diff(old, new, texts, again or (), methods=method, level=level, notify=progress)
    for place in places:
        print(found.save(place), file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print_json(found.to_json())
    else:
        print(found)
    if fail_on and found.beyond_noise:
        sys.exit(3)


@command("list")
def list_what(
    what: Annotated[
        str,
        typer.Argument(
            help="methods or metrics; in a checkout also corpora, models, notebooks or profiles"
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say what there is; alone, what can be listed."""
    catalogues: dict[str, Callable[[], list[dict]]] = {}
    for module in CATALOGUES:
        catalogues |= importlib.import_module(module).CATALOGUES
    if not what:
        rows = [
            {"list": name, "what": (function.__doc__ or "").split(":")[0].rstrip(".")}
            for name, function in catalogues.items()
        ]
    else:
        what = "metrics" if what == "judges" else what
        if what not in catalogues:
            raise ValueError(f"there is no list of {what!r}; there are: {', '.join(catalogues)}")
        rows = catalogues[what]()
    if as_json:
        print_json(rows)
        return
    print_rows([{key: value for key, value in row.items() if key not in LONG} for row in rows])
    for row in rows:
        if row.get("missing"):
            print(f"{row['name']} {row['missing']}")
