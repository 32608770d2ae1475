"""The report: one page that needs nothing but itself, with tables, notebooks and the explorer beside it."""

from __future__ import annotations

import base64
import shutil
from datetime import date
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from attreval import __version__
from attreval.core.tables import write_whole
from attreval.metrics.registry import METRICS
from compendium import project
from compendium.evaluation import findings
from compendium.evaluation.asked import MODEL, NAME, TASK, Asked
from compendium.evaluation.findings import Findings, read_findings, title

SHOWN = 6  # texts to look at
STYLE = """
:root{color-scheme:light dark;--line:#8884;--bar:#2171b5}
body{font:16px/1.55 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin-top:2.2rem}
.answer{border:1px solid var(--line);border-left:.4rem solid var(--bar);border-radius:.4rem;padding:.6rem 1.2rem}
.answer strong{font-size:1.35rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{vertical-align:bottom}thead th{white-space:normal;min-width:4rem;max-width:7rem;font-weight:600}
th:first-child,td:first-child{text-align:left}tr.chosen{font-weight:700}tr.random{opacity:.7;font-style:italic}
.bar{display:inline-block;height:.6rem;background:var(--bar);border-radius:.2rem;vertical-align:middle}
.text{margin:1rem 0 1.6rem}.text div{margin:.25rem 0;overflow-wrap:anywhere}
.text b{display:block;font-weight:600;font-size:.85rem}
.w{padding:.05em .1em;border-radius:.2em}.note{opacity:.75;font-size:.9rem}img{max-width:100%;background:#fff}
"""
HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head><body>
{body}
</body></html>
"""


def write_report(asked: Asked, out: Path, texts: int) -> Path:
    """Write report.html into a folder, with csv tables, executed notebooks and the explorer beside it."""
    found, results = read_findings(asked, texts), project.results(NAME)
    for kind, source in (("tables", results.tables), ("notebooks", results.notebooks)):
        shutil.rmtree(out / kind, ignore_errors=True)
        shutil.copytree(source, out / kind)
    shown = write_explorer(asked, out, found)
    page = out / "report.html"
    with write_whole(page) as part:
        part.write_text(make_page(found, shown, results.figures / "08_joint_correlations.png"), encoding="utf-8")
    return page


def write_explorer(asked: Asked, out: Path, found: Findings) -> list:
    """Write explorer.html; give the explained texts on which the best two methods differ most."""
    from compendium.config import load
    from compendium.explorer.page import gather_page, make_page
    from compendium.explorer.read import find_runs, read_texts, read_values_of_instances
    from compendium.workflow.manifest import make_manifest

    profile_path, results = str(out / "profile.yaml"), project.results(NAME)
    make_manifest(profile_path)
    with write_whole(out / "explorer.html") as part:
        part.write_text(make_page(gather_page(results)), encoding="utf-8")
    profile, run = load(profile_path), (TASK, MODEL, 1)
    instances = find_runs(results, profile)[0].get(run, [])
    texts = read_texts(results, profile, run, instances, read_values_of_instances(results))
    best_two = found.best_two
    if len(best_two) == 2:
        texts = sorted(texts, key=lambda text: _likeness(*(text.scores[name] for name in best_two)))
    return texts[:SHOWN]


def _likeness(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation of two methods' scores of a text; 1 where it cannot be told."""
    from scipy.stats import rankdata

    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 1.0
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def make_page(found: Findings, shown: list, figure: Path) -> str:
    """The page as HTML; every word that is not ours is escaped."""
    asked, model = found.asked, found.model
    heading = f"Which explanation to trust: {asked.title}"
    classes = ", ".join(asked.labels[:12]) + (" …" if len(asked.labels) > 12 else "")
    facts = (
        f"{found.texts} of {asked.size} texts, drawn at random; classes {classes}; the model is right on "
        f"{model.accuracy:.1%} of {int(model.test_rows)} texts (most frequent class: {model.majority:.1%}). "
        f"attreval {__version__}, {date.today().isoformat()}."
    )
    body = [
        f"<h1>{escape(heading)}</h1>",
        f'<p class="note">{escape(facts)}</p>',
        f'<div class="answer"><p><strong>{escape(findings.recommendation(found))}</strong></p>',
        *(f"<p>{escape(said)}</p>" for said in (findings.certainty(found), findings.price(found))),
        "</div>",
        "<h2>What spoke against it</h2>",
        _list(findings.objections(found)),
        "<h2>Every method before every metric</h2>",
        _method_table(found),
        '<p class="note">Score: share of other methods that a method beats, the mean over judges with a vote. Best: '
        "share of drawn samples in which it has the highest score. Price: model evaluations a text; for methods that "
        "sample, what they were given here (<code>profile.yaml</code>). Bold: recommended. "
        "With intervals: <code>tables/08_joint_values.csv</code>, <code>tables/08_joint_choice.csv</code>.</p>",
        "<h2>Texts to look at</h2>",
        '<p class="note">Where the best two methods differ most; all in the <a href="explorer.html">explorer</a>. '
        "Blue: for the class; orange: against it; violet: scores without a sign.</p>",
        *(_text(text, found) for text in shown),
        "<h2>Do the metrics agree?</h2>",
        _figure(figure),
        "<h2>What this does not say</h2>",
        _list(findings.limits(found)),
        '<p class="note">Executed notebooks: <code>notebooks/</code>; the profile that made them: '
        "<code>profile.yaml</code>.</p>",
    ]
    return HTML.format(title=escape(heading), style=STYLE, body="\n".join(body))


def _list(sentences: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(said)}</li>" for said in sentences) + "</ul>"


def _method_table(found: Findings) -> str:
    """One row a method, one column a metric."""
    rows = findings.table(found)
    metrics = [name for name in rows.columns if name in METRICS]
    header = ["Method", "Score", "", "Best", "Price", *(METRICS[name].title for name in metrics)]
    about = {METRICS[name].title: METRICS[name].about for name in metrics}
    cells = (f'<th scope="col" title="{escape(about.get(text, ""))}">{escape(text)}</th>' for text in header)
    head, body = f"<tr>{''.join(cells)}</tr>", []
    for method, row in rows.iterrows():
        kind = "chosen" if method == found.best.method else "random" if method == "random" else ""
        cells = [
            f"{row.score:.2f} [{row.low:.2f}, {row.high:.2f}]",
            f'<span class="bar" style="width:{5 * row.score:.2f}rem"></span>',
            "" if method == "random" else f"{row.best:.0%}",
            "–" if method in found.asked.given else f"{row.requested:,.0f}",
            *("–" if pd.isna(row[name]) else f"{row[name]:.2f}" for name in metrics),
        ]
        named = f'<th scope="row">{escape(title(method))}</th>'
        body.append(f'<tr class="{kind}">{named}{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(body)}</tbody></table></div>'


def _text(text, found: Findings) -> str:
    """One explained text, coloured by the best two methods, with a link to it in the explorer."""
    labels, names = found.asked.labels, found.best_two
    sure = f"{labels[text.predicted]} ({text.probability:.2f}); labelled {labels[text.instance.label]}"
    place = urlencode(
        {"task": TASK, "model": MODEL, "seed": 1, "text": text.instance.id, "a": names[0], "b": names[-1]}
    )
    rows = "".join(f"<div><b>{escape(title(name))}</b>{_coloured(text, name)}</div>" for name in names)
    link = f'<a href="explorer.html#{escape(place)}">in the explorer</a>'
    return f'<div class="text"><p class="note">predicted {escape(sure)} · {link}</p>{rows}</div>'


def _coloured(text, method: str) -> str:
    """The words of a text with the colours of a method's scores."""
    from attreval.api.show.colours import AGAINST, FOR, TINT, UNSIGNED, strengths
    from attreval.methods import METHODS

    signed, out = method not in METHODS or METHODS[method].signed, []
    shares = dict(zip(text.tokens.content.tolist(), strengths(text.scores[method]), strict=True))
    for segment, words in enumerate(text.instance.segments):
        at, parts = 0, []
        for position, share in shares.items():
            side, start, end = (int(one) for one in text.tokens.offsets[position])
            if side != segment or end <= at:
                continue
            colour = UNSIGNED if not signed else FOR if share > 0 else AGAINST
            tint = f"rgba({','.join(map(str, colour))},{TINT * abs(share):.2f})"
            parts += [escape(words[at:start]), f'<span class="w" style="background:{tint}">']
            parts += [escape(words[max(at, start) : end]), "</span>"]
            at = end
        unread = "…" if words[at:].strip() else ""
        out.append(f'<span dir="auto">{"".join(parts)}{unread}</span>')
    return " / ".join(out)


def _figure(path: Path) -> str:
    """A picture inside the page; nothing where there is none."""
    if not path.exists():
        return "<p>Too few methods or metrics to compare their orders.</p>"
    data = base64.b64encode(path.read_bytes()).decode()
    alt = "rank correlation over methods of each pair of metrics, with intervals"
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'
