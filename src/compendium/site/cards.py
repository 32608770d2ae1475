"""Cards: all that is known of a method and of a metric, as Markdown, from the rows of `attreval list --json`.

A source such as `Zhao & Aletras 2023, section 4.3` becomes a citation where the bibliography has the work.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from attreval.api.catalogue import LEVELS, list_methods, list_metrics
from attreval.metrics.metric import JUDGES
from compendium.site.api_page import code, inline
from compendium.site.markdown import escape

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
NO_JUDGE = "Metrics of no single paper"


def methods_markdown(works: Iterable[str]) -> str:
    """A card for each method, by what methods ask of the model. works: keys of the bibliography."""
    rows, known = list_methods(), frozenset(works)
    blocks = ["# Which method on which model", coverage_markdown(rows)]
    for kind, title in KIND_TITLES.items():
        cards = [method_card(row, known, rows) for row in rows if row["kind"] == kind]
        blocks += [f"# {title}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def coverage_markdown(methods: list[dict]) -> str:
    """A table of methods by family of models: applied, or a dash, and the reason that lies in the method."""
    heads = ["Method", *(name[0].upper() + name[1:] for name in FAMILY_NAMES.values()), "Why not"]
    rows = [heads, [":--", *[":-:"] * len(FAMILY_NAMES), ":--"]]
    for row in methods:
        cells = ["yes" if family in row["models"] else "\N{EN DASH}" for family in FAMILY_NAMES]
        reasons = inline("; ".join(dict.fromkeys(row["why_not"].values()))) or "applies to all"
        rows.append([_link(row, "#method-"), *cells, reasons])
    return _pipes(rows)


def metrics_markdown(works: Iterable[str]) -> str:
    """A card for each metric, by the judge that reports it. works: keys of the bibliography."""
    rows, known = list_metrics(), frozenset(works)
    blocks = ["# Which metric on which method", *judged_markdown(list_methods(), rows)]
    for judge, title in {**JUDGES, "": NO_JUDGE}.items():
        cards = [metric_card(row, known) for row in rows if row["judge"] == judge]
        blocks += [f"# {escape(title)}", *cards] if cards else []
    return "\n\n".join(blocks) + "\n"


def judged_markdown(methods: list[dict], metrics: list[dict]) -> list[str]:
    """Groups of methods that the same metrics judge; where each metric judges each group, or which reason; reasons."""
    groups: dict[tuple[str, ...], list[dict]] = {}
    for method in methods:
        groups.setdefault(tuple(one["why_not"].get(method["name"], "") for one in metrics), []).append(method)
    letters = [chr(ord("A") + at) for at in range(len(groups))]
    members = [["Group", "Methods"], [":--", ":--"]]
    for letter, of in zip(letters, groups.values(), strict=True):
        members.append([letter, ", ".join(_link(method, "methods.qmd#method-") for method in of)])
    reasons = list(dict.fromkeys(one for found in zip(*groups, strict=True) for one in found if one))
    rows = [["Metric", *letters, "Computed in"], [":--", *[":-:"] * len(groups), ":--"]]
    for at, metric in enumerate(metrics):
        cells = [f"({1 + reasons.index(found[at])})" if found[at] else "yes" for found in groups]
        ordered = [metric["computed"].get(method["name"]) for of in groups.values() for method in of]
        where = inline(", ".join(dict.fromkeys(filter(None, ordered)))) or "nowhere"
        rows.append([_link(metric, "#metric-"), *cells, where])
    return [_pipes(members), _pipes(rows), "\n".join(f"{1 + at}. {inline(one)}" for at, one in enumerate(reasons))]


def _link(row: dict, start: str) -> str:
    """The title of a method or metric, leading to its card."""
    return f"[{escape(row['title'])}]({start}{row['name']})"


def _pipes(rows: list[list[str]]) -> str:
    """Cells that are Markdown already as a pipe table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def method_card(row: dict, works: frozenset[str], methods: Iterable[dict] = ()) -> str:
    """The card of a method: what it computes, and its facts. methods: all rows, for those that share its draws."""
    signed = "the sign tells evidence for from evidence against" if row["signed"] else "without a sign"
    shared = [one["name"] for one in methods if one["draws"] and one["draws"] == row["draws"] and one is not row]
    draws = "draws numbers" + (", the same as " if shared else "")
    draws += ", ".join(f"[{code(name)}](#method-{name})" for name in shared)
    requires = ", ".join(map(code, row["requires"]))
    facts = {
        "Name": _names(row),
        "Scores": f"{LEVELS[row['level']]}; {signed}",
        "Evaluations": f"{code(row['evaluations'])} a text"
        + ("; may be answered in the faster precision" if row["sampled"] else ""),
        "Limited by": ", ".join(f"{code(limit)} ({value})" for limit, value in row["defaults"].items()),
        "Random": draws if row["stochastic"] else "no",
        "Models": ", ".join(FAMILY_NAMES[one] for one in row["models"]) if row["why_not"] else "all",
        "Requires": requires and f"{requires}; {code(row['install'])} installs what is missing",
        "In papers": "; ".join(f"{_paper(paper, works)}, {code(name)}" for paper, name in row["in_papers"].items()),
        "Source": cite(row["source"], works),
        "Code": code(row["function"]),
    }
    return _card("method", row, inline(row["computes"]), facts)


def metric_card(row: dict, works: frozenset[str]) -> str:
    """The card of a metric: what it says, and its facts."""
    places = ["[`attreval.evaluate`](api.qmd#api-evaluate)"] if row["python"] else []
    places += ["notebook 08_joint, where all methods stand before all metrics"] if row["joint"] else []
    facts = {
        "Name": _names(row),
        "Better": "neither direction" if row["direction"] == "neither" else row["direction"].partition(" ")[0],
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
    blocks, at = [], 0
    for found in WORK.finditer(source):
        if (key := work_key(*found.groups())) in works:
            blocks += [inline(source[at : found.start()], at_start=False), f"@{key}"]
            at = found.end()
    return "".join([*blocks, inline(source[at:], at_start=not at)])


def work_key(surname: str, year: str) -> str:
    """The key of a work in the bibliography: its first author's surname in plain letters, and the year."""
    letters = unicodedata.normalize("NFKD", surname.lower())
    return re.sub(r"[^a-z]", "", letters) + year


def _card(prefix: str, row: dict, about: str, facts: dict[str, str]) -> str:
    """A section: heading, what it says, and a list of facts; those that are empty are left out."""
    rows = "\n\n".join(f"{fact}\n:   {said}" for fact, said in facts.items() if said)
    return f"## {escape(row['title'])} {{#{prefix}-{row['name']}}}\n\n{about}\n\n::: {{.facts}}\n{rows}\n:::"


def _names(row: dict) -> str:
    """The name, and what else it may be called by."""
    others = ", ".join(map(code, row["also"]))
    return code(row["name"]) + (f", also {others}" if others else "")


def _paper(key: str, works: frozenset[str]) -> str:
    """A paper as a citation, where the bibliography has it."""
    return f"@{key}" if key in works else code(key)
