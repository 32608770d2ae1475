"""Cards: all that METHODS and METRICS say of a method and of a metric, as Markdown.

A source such as `Zhao & Aletras 2023, section 4.3` becomes a citation where the bibliography has the work.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from math import inf

from attreval.api.coverage import LEVELS, place_of, where_computed, why_not
from attreval.api.method_names import ALIASES as METHOD_ALIASES
from attreval.methods import METHODS
from attreval.methods.method import FAMILIES, KINDS, Budget, Method
from attreval.metrics import METRICS
from attreval.metrics.metric import JUDGES, Metric
from compendium.site.markdown import escape
from compendium.site.reference.docstrings import code, first_line, inline

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
}
DIRECTIONS = {1: "higher", -1: "lower", 0: "neither direction"}
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
}
NO_JUDGE = "Metrics of no single paper"


def methods_markdown(works: Iterable[str]) -> str:
    """A card for each of METHODS, by what methods ask of the model. works: keys of the bibliography."""
    known, blocks = frozenset(works), ["# Which method on which model", coverage_markdown()]
    for kind in KINDS:
        cards = [method_card(m, known) for m in METHODS.values() if m.kind == kind]
        blocks += [f"# {KIND_TITLES[kind]}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def coverage_markdown() -> str:
    """A table of METHODS by family of models: applied, or a dash, and the reason that lies in the method."""
    heads = ["Method", *(name[0].upper() + name[1:] for name in FAMILY_NAMES.values()), "Why not"]
    rows = [heads, [":--", *[":-:"] * len(FAMILY_NAMES), ":--"]]
    for method in METHODS.values():
        reasons = {family: method.why_not(family) for family in FAMILY_NAMES}
        said = "; ".join(dict.fromkeys(reason for reason in reasons.values() if reason))
        cells = ["\N{EN DASH}" if reason else "yes" for reason in reasons.values()]
        rows.append([f"[{escape(method.title)}](#method-{method.name})", *cells, inline(said) or "applies to all"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def metrics_markdown(works: Iterable[str]) -> str:
    """A card for each of METRICS, by the judge that reports it. works: keys of the bibliography."""
    known, blocks = frozenset(works), ["# Which metric on which method", *judged_markdown()]
    for judge, title in {**JUDGES, "": NO_JUDGE}.items():
        cards = [metric_card(m, known) for m in METRICS.values() if m.judge == judge]
        blocks += [f"# {escape(title)}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def judged_markdown() -> list[str]:
    """Groups of METHODS that the same METRICS judge; where each metric judges each group, or which reason; reasons."""
    groups: dict[tuple[str, ...], list[Method]] = {}
    for method in METHODS.values():
        groups.setdefault(tuple(why_not(metric, method) for metric in METRICS.values()), []).append(method)
    letters = [chr(ord("A") + at) for at in range(len(groups))]
    members = [["Group", "Methods"], [":--", ":--"]]
    for letter, of in zip(letters, groups.values(), strict=True):
        names = ", ".join(f"[{escape(m.title)}](methods.qmd#method-{m.name})" for m in of)
        members.append([letter, names])
    reasons = list(dict.fromkeys(one for found in zip(*groups, strict=True) for one in found if one))
    rows = [["Metric", *letters, "Computed in"], [":--", *[":-:"] * len(groups), ":--"]]
    for at, metric in enumerate(METRICS.values()):
        why = [found[at] for found in groups]
        places = dict.fromkeys(where_computed(metric, m) for of in groups.values() for m in of)
        cells = [f"({1 + reasons.index(reason)})" if reason else "yes" for reason in why]
        where = inline(", ".join(place for place in places if place)) or "nowhere"
        rows.append([f"[{escape(metric.title)}](#metric-{metric.name})", *cells, where])
    tables = ["\n".join("| " + " | ".join(row) + " |" for row in table) for table in (members, rows)]
    return [*tables, "\n".join(f"{1 + at}. {inline(reason)}" for at, reason in enumerate(reasons))]


def method_card(method: Method, works: frozenset[str]) -> str:
    """The card of a method: what it computes, and its facts."""
    facts = {
        "Name": _names(method.name, [other for other, meant in METHOD_ALIASES.items() if meant == method.name]),
        "Scores": f"{LEVELS[method.level]}; {_sign(method)}",
        "Evaluations": f"{code(method.evaluations)} a text" + _sampled(method),
        "Limited by": ", ".join(f"{code(limit)} ({_default(limit)})" for limit in method.limits),
        "Random": _random(method),
        "Models": "all" if method.families == FAMILIES else ", ".join(FAMILY_NAMES[one] for one in method.families),
        "Requires": _requires(method),
        "In papers": "; ".join(
            f"{_paper(paper, works)}, {code(name)}" for paper, (_, name) in method.in_papers.items()
        ),
        "Source": cite(method.source, works),
        "Code": code(place_of(method.converse)),
    }
    return _card("method", method.name, method.title, inline(_says(method.converse)), facts)


def metric_card(metric: Metric, works: frozenset[str]) -> str:
    """The card of a metric: what it says, and its facts."""
    pairs = {"pair": "explanations by pairs", "token": ""}[metric.level]
    facts = {
        "Name": _names(metric.name, metric.also),
        "Better": DIRECTIONS[metric.sign],
        "Range": f"{metric.range[0]:g} and more" if metric.range[1] == inf else "{:g} to {:g}".format(*metric.range),
        "Needs": "; ".join(NEEDS[need] for need in metric.needs),
        "Judges": pairs,
        "Turned round": inline(metric.turned),
        "Hard twin": f"[{code(metric.hard)}](#metric-{metric.hard})" if metric.hard else "",
        "Computed in": _computed_in(metric),
        "Source": cite(metric.source, works),
        "Code": code(place_of(metric.function)),
    }
    return _card("metric", metric.name, metric.title, inline(metric.about), facts)


def cite(source: str, works: frozenset[str]) -> str:
    """A source as Markdown: works that the bibliography has as citations, the rest as it is."""
    blocks, at = [], 0
    for found in WORK.finditer(source):
        if (key := work_key(*found.groups())) in works:
            blocks += [_keep_spaces(source[at : found.start()]), f"@{key}"]
            at = found.end()
    return "".join([*blocks, _keep_spaces(source[at:])])


def work_key(surname: str, year: str) -> str:
    """The key of a work in the bibliography: its first author's surname in plain letters, and the year."""
    letters = unicodedata.normalize("NFKD", surname.lower())
    return re.sub(r"[^a-z]", "", letters) + year


def _keep_spaces(text: str) -> str:
    """Escaped text with the white space at its ends."""
    inner = text.strip()
    if not inner:
        return text
    return text[: len(text) - len(text.lstrip())] + inline(f"{inner}") + text[len(text.rstrip()) :]


def _card(prefix: str, name: str, title: str, about: str, facts: dict[str, str]) -> str:
    """A section: heading, what it says, and a list of facts; those that are empty are left out."""
    rows = "\n\n".join(f"{fact}\n:   {said}" for fact, said in facts.items() if said)
    return f"## {escape(title)} {{#{prefix}-{name}}}\n\n{about}\n\n::: {{.facts}}\n{rows}\n:::"


def _names(name: str, others: Iterable[str]) -> str:
    """The name, and what else it may be called by."""
    return code(name) + (f", also {', '.join(map(code, others))}" if others else "")


def _says(converse: Callable) -> str:
    """What a method computes: its own docstring's first line, or that of the file where it is one of a family."""
    return first_line(converse) if converse.__doc__ else first_line(importlib.import_module(converse.__module__))


def _sign(method: Method) -> str:
    return "the sign tells evidence for from evidence against" if method.signed else "without a sign"


def _sampled(method: Method) -> str:
    return "; may be answered in the faster precision" if method.sampled else ""


def _default(limit: str) -> str:
    """The value of a field of Budget, where nobody says otherwise."""
    found = Budget()
    for part in limit.split("."):
        found = getattr(found, part)
    return str(found)


def _random(method: Method) -> str:
    if not method.stochastic:
        return "no"
    others = [m.name for m in METHODS.values() if m.draws and m.draws == method.draws and m is not method]
    shared = ", ".join(f"[{code(name)}](#method-{name})" for name in others)
    return "draws numbers" + (f", the same as {shared}" if others else "")


def _requires(method: Method) -> str:
    """The packages that it requires, and what installs them."""
    named = ", ".join(map(code, method.requires))
    return named and f"{named}; {code(method.install)} installs what is missing"


def _paper(key: str, works: frozenset[str]) -> str:
    return f"@{key}" if key in works else code(key)


def _computed_in(metric: Metric) -> str:
    """Where the metric is asked of explanations of one's own, and whether the joint study compares it."""
    places = [] if metric.notebook else ["[`attreval.evaluate`](api.qmd#api-evaluate)"]
    return ", ".join([*places, *(["notebook 08_joint, where all methods stand before all metrics"] * metric.joint)])
