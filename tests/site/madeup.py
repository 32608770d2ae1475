"""A made-up run beside a copy of the real pages: all they ask for, with senseless numbers."""

import base64
import io
import json
import re
import shutil
import string
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import matplotlib
import nbformat
import pytest
import yaml

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from reference import CHECKOUT
from reference.files import write_csv

from compendium.papers.common.claims import COLUMNS, KINDS, read_claims, say_range
from compendium.papers.common.verdicts import Verdict
from compendium.site.pandoc_route import site as site_module

PROJECT = CHECKOUT
TASKS = ("snli", "rotten_tomatoes")
PLAIN = ("random", "gradient_l2", "occlusion_1", "lime")


@contextmanager
def only_pages(*stems):
    """Let the route without Quarto write pages of these names; the others stay empty."""

    def make_some(make):
        return lambda site, path, files: make(site, path, files) if path.stem in stems else ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_module, "_text_page", make_some(site_module._text_page))
        patch.setattr(site_module, "_notebook_page", make_some(site_module._notebook_page))
        yield


def copy_pages(home: Path) -> None:
    """The real _quarto.yml, pages, bibliography and table declarations, without anything staged."""
    home.mkdir(parents=True)
    (home / "notebooks").mkdir()
    for name in ("_quarto.yml", "index.qmd", "CITATION.cff"):
        shutil.copy(PROJECT / name, home / name)
    staged = shutil.ignore_patterns("notebooks", "tables", "reference")
    shutil.copytree(PROJECT / "paper", home / "paper", ignore=staged)
    shutil.copytree(PROJECT / "_extensions", home / "_extensions")


def make_run(home: Path, profile: str = "smoke") -> None:
    """Results that hold every notebook cell, number and table that the pages name."""
    results = home / "results" / profile
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(home.rglob("*.qmd")))
    text += (home / "_quarto.yml").read_text(encoding="utf-8")
    make_notebooks(results / "notebooks", text)
    make_numbers(results / "numbers", text)
    make_tables(results / "tables", home / "paper" / "tables.yml")
    make_claims(results / "tables")
    declare_numbers(results, home / "paper" / "numbers.yml")
    facts = {
        "profile": profile,
        "attreval": "0.0.0",
        "commit": "0123456789abcdef",
        "date": "2001-02-03T04:05:06",
    }
    (results / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")


def make_notebooks(folder: Path, text: str) -> None:
    """A notebook for every one that is embedded, and one that is not."""
    cells = defaultdict(list)
    for name, label in dict.fromkeys(
        re.findall(r"embed (?:paper/)?notebooks/(?:controls_)?([\w.-]+)\.ipynb#([\w-]+)", text)
    ):
        cells[name].append(label)
    cells["02_train-snli"] = ["curve"]
    folder.mkdir(parents=True)
    for number, (name, labels) in enumerate(sorted(cells.items())):
        nbformat.write(make_notebook(name, labels, number), folder / f"{name}.ipynb")


def make_notebook(name: str, labels: list[str], number: int):
    """An executed notebook: prose with a formula, a table, printed text, a picture a label."""
    v4 = nbformat.v4
    wide = "".join(f"<th>column_{at}</th>" for at in range(12))
    rows = "".join(f"<tr><th>{m}</th>{f'<td>0.{i}</td>' * 12}</tr>" for i, m in enumerate(PLAIN))
    html = "<style scoped>td {color: red}</style><table border='1' class=\"dataframe\">"
    html += f"<thead><tr><th></th>{wide}</tr></thead><tbody>{rows}</tbody></table>"
    table = v4.new_output(
        "execute_result", {"text/html": html, "text/plain": "a table"}, execution_count=2
    )
    warned = v4.new_output("stream", name="stderr", text="/some/machine/path: warning")
    said = v4.new_output(
        "stream", name="stdout", text="step 1\rstep 2\n\x1b[31mdone\x1b[0m <b>&amp; well</b>\n"
    )
    first = (
        f"# Made-up notebook {number}: {name}\n\nWhat does $x_{number}$ ask? These:\n- one\n- "
        "two @nobody\n\n## Load"
    )
    cells = [
        v4.new_markdown_cell(first),
        v4.new_code_cell("profile = 'madeup'", metadata={"tags": ["parameters"]}),
        v4.new_code_cell(
            "#| echo: true\nprint('a' * 200)  # " + "long " * 40, outputs=[warned, said]
        ),
        v4.new_code_cell("frame", outputs=[table]),
    ]
    for label in labels:
        made = v4.new_output("display_data", {"image/png": draw(label), "text/plain": "<Figure>"})
        options = f"#| label: {label}\n" + (
            f"#| fig-alt: Lines of {label}, made up\n" if number % 2 else ""
        )
        cells.append(v4.new_code_cell(f"{options}plot()", outputs=[made]))
    for at, cell in enumerate(cells):
        cell.id = f"cell{at}"
    times = {"input_path": "/some/machine/path", "start_time": "2001-02-03"}
    cells[1].metadata["papermill"] = times
    return v4.new_notebook(
        cells=cells, metadata={"language_info": {"name": "python"}, "papermill": times}
    )


@cache
def draw(label: str) -> str:
    """A small picture as base64 PNG."""
    figure, axes = plt.subplots(figsize=(7, 3.6), dpi=120)
    for slope, method in enumerate(PLAIN, 1):
        axes.plot(range(1, 11), [1 - 1 / (slope + k) for k in range(10)], label=method)
    axes.set(title=label, xlabel="k", ylabel="made up")
    axes.legend(frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, metadata={"Software": None})
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()


def make_numbers(folder: Path, text: str) -> None:
    """A number for every key that a page names: 1, 2, 3 ... thousandths, or a method's name."""
    folder.mkdir(parents=True)
    keys = sorted(
        {
            key
            for key in re.findall(r"\{\{<\s*var\s+(\S+)\s*>\}\}", text)
            if not key.startswith("run.")
        }
    )
    numbers = {}
    for at, key in enumerate(keys, 1):
        words = {"pair": "gradient_l2 – lime", "method": "occlusion_1"}.get(key.rsplit("_", 1)[-1])
        numbers[key] = {"value": at / 1000, "text": words or f"{at / 1000:.3f}"}
    numbers["agreement.k"] = {"value": 4, "text": "4"}
    (folder / "all.json").write_text(json.dumps(numbers), encoding="utf-8")


def declare_numbers(results: Path, declared: Path) -> None:
    """Make each declared number a cell of one made-up table, since real ones have many columns."""
    noted = results / "numbers" / "all.json"
    numbers = json.loads(noted.read_text(encoding="utf-8"))
    moved = {
        key: numbers.pop(key)["text"]
        for key in yaml.safe_load(declared.read_text()) or {}
        if key in numbers
    }
    noted.write_text(json.dumps(numbers), encoding="utf-8")
    rows = [("key", "text"), ("words", "keep the column one of texts"), *moved.items()]
    write_csv(results / "tables" / "00_madeup.csv", rows)
    places = {key: {"table": "00_madeup", "where": {"key": key}, "column": "text"} for key in moved}
    declared.write_text(yaml.safe_dump(places), encoding="utf-8")


def make_tables(folder: Path, declared: Path) -> None:
    """A file for every declared source, with the columns that its tables' format strings name."""
    folder.mkdir(parents=True)
    numbers = json.loads((folder.parent / "numbers" / "all.json").read_text(encoding="utf-8"))
    files = {}
    for table in yaml.safe_load(declared.read_text(encoding="utf-8")).values():
        kinds = {column: "text" for column in table.get("where", {})}
        kinds |= {column.strip("-"): "text" for column in table.get("sort", [])}
        for column in table["columns"]:
            for _, name, form, _ in string.Formatter().parse(column["text"]):
                if name:
                    kinds[name] = "number" if form or kinds.get(name) == "number" else "text"
        rows = []
        for at, (task, method) in enumerate((task, method) for task in TASKS for method in PLAIN):
            row = {
                name: (at + 1) / 7 if kind == "number" else method for name, kind in kinds.items()
            }
            wanted = {
                name: key[0] if isinstance(key, list) else key
                for name, key in table.get("where", {}).items()
            }
            known = {
                name: numbers[key]["text"] if key in numbers else key
                for name, key in wanted.items()
            }
            rows.append(row | known | ({"task": task} if "task" in row else {}))
        if spread := table.get("spread"):
            names = [name for name, kind in kinds.items() if kind == "number"]
            rows = [unspread(row, kinds, name, spread) for row in rows for name in names]
        source = table["source"] if isinstance(table["source"], str) else table["source"][0]
        before = files.setdefault(source.replace("*", "any"), [{} for _ in rows])
        files[source.replace("*", "any")] = [
            old | new for old, new in zip(before, rows, strict=True)
        ]
    for name, rows in files.items():
        write_csv(folder / name, rows)


def make_claims(folder: Path) -> None:
    """The claims of each paper, one with each verdict, in place of those of `make_tables`."""
    for path in folder.glob("*_claims.csv"):
        path.unlink()
    for number, paper in enumerate(("poerner2018", "kamp2023", "zhao2023", "sun2024"), 4):
        claims = read_claims(paper, PROJECT / "paper" / "claims.yml")[: len(Verdict) + 1]
        rows = [
            dict.fromkeys(COLUMNS, "") | make_claim(claim, at) for at, claim in enumerate(claims)
        ]
        write_csv(
            folder / f"0{number}_{paper}_claims.csv",
            [{name: row[name] for name in COLUMNS} for row in rows],
        )


def make_claim(claim, at: int) -> dict:
    """A row of a claims table whose number is made up, as far as its verdict has one."""
    verdict = list(Verdict)[at % len(Verdict)]
    row = {
        "claim": claim.id,
        "paper": claim.paper,
        "statement": claim.statement,
        "reported": claim.reported,
    }
    row |= {"claimed": say_range(claim.expect), "verdict": verdict, "words": claim.words}
    row |= {"null_world": claim.null_world, "kind": KINDS[1 if at == len(Verdict) else 0]}
    if verdict == Verdict.UNTESTABLE:
        return row | {"reason": "3 texts of rotten_tomatoes decide nothing"}
    row |= {"value": 0.2 + at / 100, "low": 0.1, "high": 0.5, "null_scores": 0.01, "texts": 40}
    return row | {"corpus": "stand-in", "model": "stand-in", "metric": "as published"}


def unspread(row: dict, kinds: dict, name: str, spread: dict) -> dict:
    """One cell of a wide row as a row of a long table."""
    keys = [*spread["rows"], *spread.get("over", [])]
    return {key: row.get(key, "1") for key in keys} | {
        spread["by"]: name,
        spread["value"]: row[name],
    }
