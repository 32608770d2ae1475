"""The reference pages, as Markdown: cards of methods and metrics, and the Python interface.

A card is all that is known of one, from the rows of `attreval list --json`. A source such as `Zhao
& Aletras 2023, section 4.3` becomes a citation where the bibliography has the work. The page of the
interface has every public name with its signature and docstring, and the records it takes.
"""

import inspect
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain
from string import ascii_uppercase
from textwrap import dedent, indent
from typing import Annotated, Any, get_args, get_origin

import attreval
from attreval.api import evaluating, explaining, explanation, explanations, loading
from attreval.api.catalogue import LEVELS, list_methods, list_metrics
from attreval.core.section import Section
from attreval.methods import METHODS
from attreval.methods.method import Budget, Method, UnitSettings
from attreval.metrics import METRICS
from attreval.metrics.metric import JUDGES, NO_JUDGE, Metric
from compendium.site.markdown import escape, pipe_rows

WORK = re.compile(r"([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)(?: & [A-Z][\w'’-]+| et al\.)? (\d{4}[a-z]?)")
KIND_TITLES = {
    "gradient": "Gradients",
    "perturbation": "Perturbed texts",
    "attention": "Attention weights",
    "propagation": "Propagation through layers",
    "baseline": "Baselines",
    "given": "Made elsewhere",
}
FAMILY_NAMES = {
    "transformer": "transformers",
    "recurrent": "GRU and LSTM",
    "quasi": "QGRU and QLSTM",
    "convolutional": "CNN",
    "function": "functions of texts",
}
NEEDS = {
    "scores": "the scores of the explanation",
    "rivals": "explanations by other methods",
    "random": "random scores for the same text",
    "marks": "tokens that people marked, or where the evidence is known to be",
    "relations": "pairs of tokens or spans that people related",
    "model": "answers of the model",
    "agent": "an agent that learns to predict the model",
    "models": "models of several training seeds",
    "metrics": "values of metrics",
    "truth": "a truth that was planted",
    "texts": "other texts, explained by the same method",
    "neighbours": "scores of the same text, slightly disturbed",
    "randomised": "scores by models whose weights were drawn anew",
    "infill": "a masked language model that writes erased tokens anew",
}
CODE = re.compile(r"(`[^`]+`)")
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Source|Note|Example):[ \t]*$", re.M)
LISTED = ("Args", "Attributes", "Raises")  # sections of `name: what it is`
ENTRY = re.compile(r"^([\w.*]+(?:, [\w.*]+)*)(?: \([^)]*\))?:\s+", re.M)
CONSTANT = re.compile(r"\b[A-Z][A-Z_]{2,}\b")
WIDTH = 74  # characters that a listing shows without scrolling


def methods_markdown(works: Iterable[str]) -> str:
    """A card for each method, by what methods ask of the model. works: keys of the bibliography."""
    rows = list_methods()
    known = frozenset(works)
    blocks = ["# Which method on which model", coverage_markdown(rows)]
    for kind, title in KIND_TITLES.items():
        cards = [method_card(row, known, rows) for row in rows if row["kind"] == kind]
        blocks += [f"# {title}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def coverage_markdown(methods: list[dict]) -> str:
    """A table of methods by family of models: `yes` or a dash, and the method's reason."""
    heads = ["Method", *(name[0].upper() + name[1:] for name in FAMILY_NAMES.values()), "Why not"]
    rows = [heads, [":--", *[":-:"] * len(FAMILY_NAMES), ":--"]]
    for row in methods:
        cells = ["yes" if family in row["models"] else "\N{EN DASH}" for family in FAMILY_NAMES]
        reasons = inline("; ".join(dict.fromkeys(row["why_not"].values()))) or "applies to all"
        rows.append([_link(row, "#method-"), *cells, reasons])
    return pipe_rows(rows)


def metrics_markdown(works: Iterable[str]) -> str:
    """A card for each metric, by the judge that reports it. works: keys of the bibliography."""
    rows = list_metrics()
    known = frozenset(works)
    blocks = ["# Which metric on which method", *judged_markdown(list_methods(), rows)]
    for judge, title in {**JUDGES, "": NO_JUDGE}.items():
        cards = [metric_card(row, known) for row in rows if row["judge"] == judge]
        blocks += [f"# {escape(title)}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def judged_markdown(methods: list[dict], metrics: list[dict]) -> list[str]:
    """Groups of methods that the same metrics judge; metrics by group, or why not; the reasons."""
    groups: dict[tuple[str, ...], list[dict]] = {}
    for method in methods:
        why_not = tuple(metric["why_not"].get(method["name"], "") for metric in metrics)
        groups.setdefault(why_not, []).append(method)
    letters = ascii_uppercase[: len(groups)]
    members = [["Group", "Methods"], [":--", ":--"]]
    for letter, of in zip(letters, groups.values(), strict=True):
        members.append([letter, ", ".join(_link(method, "methods.qmd#method-") for method in of)])
    reasons = list(dict.fromkeys(filter(None, chain.from_iterable(zip(*groups, strict=True)))))
    rows = [["Metric", *letters, "Computed in"], [":--", *[":-:"] * len(groups), ":--"]]
    for at, metric in enumerate(metrics):
        cells = [f"({1 + reasons.index(found[at])})" if found[at] else "yes" for found in groups]
        of_all = chain.from_iterable(groups.values())
        ordered = dict.fromkeys(metric["computed"].get(method["name"]) for method in of_all)
        where = inline(", ".join(filter(None, ordered))) or "nowhere"
        rows.append([_link(metric, "#metric-"), *cells, where])
    numbered = "\n".join(f"{1 + at}. {inline(one)}" for at, one in enumerate(reasons))
    return [pipe_rows(members), pipe_rows(rows), numbered]


def _link(row: dict, start: str) -> str:
    return f"[{escape(row['title'])}]({start}{row['name']})"


def method_card(row: dict, works: frozenset[str], methods: Iterable[dict] = ()) -> str:
    """The card of a method: what it computes, and its facts.

    methods: all rows, for those that share its draws.
    """
    signed = "without a sign"
    if row["signed"]:
        signed = "the sign tells evidence for from evidence against"
    shared = [
        f"[{code(one['name'])}](#method-{one['name']})"
        for one in methods
        if one["draws"] and one["draws"] == row["draws"] and one is not row
    ]
    draws = "draws numbers"
    if shared:
        draws += f", the same as {', '.join(shared)}"
    requires = ", ".join(map(code, row["requires"]))
    papers = [
        f"{f'@{key}' if key in works else code(key)}, {code(name)}"
        for key, name in row["in_papers"].items()
    ]
    limits = [f"{code(limit)} ({value})" for limit, value in row["defaults"].items()]
    models = ", ".join(FAMILY_NAMES[one] for one in row["models"])
    sampled = "; may be answered in the faster precision" if row["sampled"] else ""
    facts = {
        "Name": _names(row),
        "Scores": f"{LEVELS[row['level']]}; {signed}",
        "Evaluations": f"{code(row['evaluations'])} a text{sampled}",
        "Limited by": ", ".join(limits),
        "Random": draws if row["stochastic"] else "no",
        "Models": models if row["why_not"] else "all",
        "Requires": requires and f"{requires}; {code(row['install'])} installs what is missing",
        "In papers": "; ".join(papers),
        "Source": cite(row["source"], works),
        "Code": code(row["function"]),
    }
    return _card("method", row, inline(row["computes"]), facts)


def metric_card(row: dict, works: frozenset[str]) -> str:
    """The card of a metric: what it says, and its facts."""
    better = row["direction"].partition(" ")[0]
    places = []
    if row["python"]:
        places.append("[`attreval.evaluate`](api.qmd#api-evaluate)")
    if row["joint"]:
        places.append("notebook 08_joint, where all methods stand before all metrics")
    facts = {
        "Name": _names(row),
        "Better": {"neither": "neither direction"}.get(better, better),
        "Range": row["range"].replace("to inf", "and more"),
        "Needs": "; ".join(NEEDS[need] for need in row["needs"]),
        "Judges": "explanations by pairs" if row["level"] == "pair" else "",
        "Turned round": inline(row["turned"]),
        "Hard twin": row["hard"] and f"[{code(row['hard'])}](#metric-{row['hard']})",
        "Computed in": ", ".join(places),
        "Source": cite(row["source"], works),
        "Code": code(row["function"]),
    }
    return _card("metric", row, inline(row["about"]), facts)


def cite(source: str, works: frozenset[str]) -> str:
    """A source as Markdown: works that the bibliography has as citations, the rest as it is."""
    blocks = []
    at = 0
    for found in WORK.finditer(source):
        surname, year = found.groups()  # of the first author, which is in plain letters in a key
        key = re.sub(r"[^a-z]", "", unicodedata.normalize("NFKD", surname.lower())) + year
        if key in works:
            blocks += [inline(source[at : found.start()], at_start=False), f"@{key}"]
            at = found.end()
    return "".join([*blocks, inline(source[at:], at_start=not at)])


def _card(prefix: str, row: dict, about: str, facts: dict[str, str]) -> str:
    """A section: heading, what it says, and a list of facts; those that are empty are left out."""
    rows = "\n\n".join(f"{fact}\n:   {said}" for fact, said in facts.items() if said)
    head = f"## {escape(row['title'])} {{#{prefix}-{row['name']}}}"
    return f"{head}\n\n{about}\n\n::: {{.facts}}\n{rows}\n:::"


def _names(row: dict) -> str:
    others = ", ".join(map(code, row["also"]))
    return code(row["name"]) + (f", also {others}" if others else "")


def inline(text: str, at_start: bool = True) -> str:
    """Plain text as one line of Markdown, with code in backquotes. at_start: see escape."""
    flat = re.sub(r"\s+", " ", text)
    first, *parts = CODE.split(flat.strip() if at_start else flat)
    blocks = [escape(first, at_start)]
    if at_start and first.endswith(" "):  # code follows
        blocks.append(" ")
    blocks += [escape(part, False) if at % 2 else part for at, part in enumerate(parts)]
    return "".join(blocks)


def code(text: str) -> str:
    """Text as inline code, with as many backquotes around it as it needs."""
    longest = max(["", *re.findall("`+", text)], key=len)
    fence = longest + "`"
    room = " " if longest else ""
    return f"{fence}{room}{text}{room}{fence}"


def docstring_markdown(documented: object) -> str:
    """A docstring in Google style as Markdown: paragraphs, and a list of terms for each section."""
    before, *parts = SECTION.split(inspect.cleandoc(documented.__doc__ or ""))
    blocks = _paragraphs(before)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        # what is indented, then paragraphs that are not
        section, *after = re.split(r"\n(?=\S)", body, maxsplit=1)
        if title in LISTED:
            _, *entries = ENTRY.split(dedent(section))
            mark = "Raises " if title == "Raises" else ""
            for named, said in zip(entries[::2], entries[1::2], strict=True):
                names = ", ".join(map(code, named.split(", ")))
                blocks.append(f"{mark}{names}\n:   {inline(said)}")
        else:
            blocks.append(f"{title}\n:   " + "\n\n    ".join(_paragraphs(dedent(section))))
        blocks += _paragraphs("".join(after))
    return "\n\n".join(blocks)


def _paragraphs(text: str) -> list[str]:
    return [inline(paragraph) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def constants(function: Callable) -> str:
    """A sentence for each tuple that a function's docstring names by its constant."""
    values = getattr(inspect.unwrap(function), "__globals__", {})
    said = []
    for name in dict.fromkeys(CONSTANT.findall(function.__doc__ or "")):
        if isinstance(values.get(name), tuple):
            held = ", ".join(code(str(one)) for one in values[name])
            said.append(f"{code(name)}: {held}.")
    return "\n\n".join(said)


def signature(name: str, called: Callable) -> str:
    """`name(argument: type = default, ...) -> type`, an argument a line where one is too short."""
    found = inspect.signature(called)
    given = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    arguments = []
    for one in given:
        if one.kind is one.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        arguments.append(_argument(one))
    unknown = found.return_annotation is inspect.Signature.empty or inspect.isclass(called)
    returned = "" if unknown else f" -> {_type(found.return_annotation)}"
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returned}"


def _argument(parameter: inspect.Parameter) -> str:
    """One argument with its type and default; of a record of settings, the type alone."""
    text = parameter.name
    default = parameter.default
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if default is inspect.Parameter.empty:
        return text
    shown = f"{type(default).__name__}()" if isinstance(default, Section) else repr(default)
    return f"{text} = {'...' if shown.startswith('<') else shown}"


def _type(annotation: Any) -> str:
    """A type as the source writes it, without the bounds of settings."""
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    if inspect.isclass(annotation):
        return annotation.__name__
    return inspect.formatannotation(annotation)


MODULES = (loading, explaining, evaluating, explanation, explanations)
ORDER = [module.__name__ for module in MODULES]
RECORDS = (Budget, UnitSettings, Method, Metric)


def public_names() -> dict[str, Any]:
    """What `attreval` offers, by name, in the order in which it is used."""
    offered = {name: getattr(attreval, name) for name in attreval.__all__ if name[0] != "_"}

    def place(name: str) -> tuple[int, str]:
        module = getattr(offered[name], "__module__", "")
        return ORDER.index(module) if module in ORDER else len(ORDER), name

    return {name: offered[name] for name in sorted(offered, key=place)}


def python_markdown() -> str:
    """The page's body: functions, what they give, the records that they take, and registries."""
    functions = ["# Functions"]
    classes = ["# What they give"]
    records = ["# Registries and their records"]
    for name, one in public_names().items():
        if inspect.isclass(one):
            members = [_member(name, part, member) for part, member in public_members(one).items()]
            classes.append(_section(name, docstring_markdown(one), *members))
        else:
            listing = f"```python\n{signature(f'attreval.{name}', one)}\n```"
            functions.append(_section(name, listing, docstring_markdown(one), constants(one)))
    for name, registry, kind in (("METHODS", METHODS, "Method"), ("METRICS", METRICS, "Metric")):
        page = name.lower()  # with the cards
        told = f"`from attreval.{page} import {name}`: name to [{code(kind)}](#api-{kind})"
        told += f", {len(registry)} of them"
        records.append(_section(name, f"{told}; each has a [card]({page}.qmd)."))
    for record in RECORDS:
        name = record.__name__
        lines = f"from {record.__module__} import {name}\n\n{signature(name, record)}"
        records.append(_section(name, f"```python\n{lines}\n```", docstring_markdown(record)))
    return "\n\n".join([*functions, *classes, *records]) + "\n"


def _section(name: str, *blocks: str) -> str:
    """A section that others can link to, of those blocks that are not empty."""
    return "\n\n".join(filter(None, [f"## {name} {{#api-{name}}}", *blocks]))


def public_members(documented: type) -> dict[str, Any]:
    """The public properties and methods that a class defines itself."""
    return {
        name: member
        for name, member in vars(documented).items()
        if name[0] != "_" and (isinstance(member, property) or inspect.isfunction(member))
    }


def _member(owner: str, name: str, member: Any) -> str:
    """A property or method: its signature as the term, its docstring below."""
    is_property = isinstance(member, property)
    function = member.fget if is_property else member
    shown = signature(name, function)
    if is_property:
        shown = name + shown.removeprefix(f"{name}()").replace(" -> ", ": ")
    term = f"[{code(' '.join(shown.split()))}]{{#api-{owner}-{name}}}"
    told = "\n\n".join(filter(None, [docstring_markdown(function), constants(function)]))
    return f"{term}\n:   {indent(told, '    ').lstrip()}"
