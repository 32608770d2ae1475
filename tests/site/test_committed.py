"""What is committed holds together: claims, tables, docs/fidelity.md, links; no quotes."""

import json
import re

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from reference import CHECKOUT
from reference.judged_again import judge_alone

from compendium import corpora
from compendium.config import load_profile
from compendium.corpora.fetch.fetching import with_tables
from compendium.papers.common.claims import OF_THE_CLAIM, read_claims, scorecard
from compendium.papers.common.verdicts import decide_verdict, made_nulls
from compendium.site.committed import (
    COMMITTED,
    LEAD,
    claims_json,
    committed,
    committed_runs,
    link_line,
)
from compendium.site.fidelity import (
    NOT_FOUND,
    PAPERS,
    STEP_OF,
    fidelity_markdown,
    reason_of,
)
from compendium.site.quotes import corpus_texts, machine_facts, printed_by_papers, refuse_quotes
from compendium.site.rendering import EMBED

MOST_BYTES = 45_000_000


@pytest.fixture(autouse=True)
def checkout(monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))


@pytest.fixture
def runs(checkout):
    """The committed runs, by profile."""
    found = committed_runs()
    assert "quick" in found
    return found


def read(run, name):
    return json.loads((run.root / name).read_text(encoding="utf-8"))


def shown(runs):
    """(profile, claim) for the claims of each paper in the first run that has them."""
    out = []
    for paper in PAPERS:
        of_runs = [
            (p, [r for r in read(run, "claims.json") if r["paper"] == paper])
            for p, run in runs.items()
        ]
        profile, rows = next(((p, rows) for p, rows in of_runs if rows), ("", []))
        out += [(profile, row) for row in rows]
    return out


def test_claims_are_those_of_the_tables(runs):
    for run in runs.values():
        assert (run.root / "claims.json").read_text(encoding="utf-8") == claims_json(run.tables)
        # a claim that was added since waits for the next run to be published
        assert {row["claim"] for row in read(run, "claims.json")} <= {
            claim.id for claim in read_claims()
        }


def test_the_page_is_made_from_the_claims(runs):
    text = (CHECKOUT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    assert text == fidelity_markdown(), "docs/fidelity.md is not what `attreval publish` writes"
    judged = [row for _, row in shown(runs)]
    checks = sum(row["kind"] != "conclusion" for row in judged)
    assert (
        f"Verdicts on {len(judged) - checks} claims, beside {checks} checks:" in text
        and checks == 4
    )


def test_committed_verdicts_are_what_the_claims_say_of_the_committed_numbers(runs):
    """And nothing is reproduced that the mean of its null worlds supports as much."""
    claims = {claim.id: claim for claim in read_claims()}
    for run in filter(lambda run: read(run, "claims.json"), runs.values()):
        for row in scorecard(run.tables).to_dict("records"):
            claim = claims[row["claim"]]
            assert row["verdict"] == decide_verdict(claim.expect, claim.null_world, row, 0.95), (
                claim.id
            )
            stale = [
                name
                for name in OF_THE_CLAIM
                if getattr(claim, name) and row[name] != getattr(claim, name)
            ]
            assert not stale, f"{claim.id}: {stale}"
            for name in made_nulls(claim.null_world):
                as_much = claim.expect.as_much(row["value"], np.array([row[name]]))[0]
                assert not as_much or row["verdict"] != "reproduced", (
                    f"{claim.id}: {name} is {row[name]}"
                )


def test_the_page_lists_what_has_no_reason_yet(runs):
    text = (CHECKOUT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    lacking = [r["claim"] for _, r in shown(runs) if reason_of(r) == NOT_FOUND]
    assert f"No reason yet: {len(lacking)}." in text
    rows = [line for line in text.splitlines() if f"| {NOT_FOUND} |" in line]
    assert all(f"`{claim}`" in line for claim, line in zip(lacking, rows, strict=True))


def test_every_step_of_the_manifest_has_its_notebook_and_tables(runs):
    for run in runs.values():
        facts = read(run, "manifest.json")
        assert {path.stem for path in run.notebooks.glob("*.ipynb")} == set(facts["steps"])
        said = (run.root / "README.md").read_text(encoding="utf-8") + "\n".join(
            facts.get("left_out", [])
        )
        for step in facts["steps"].values():
            for name in step["files"]:
                stem = name.rpartition("/")[2].rpartition(".")[0]
                if "Figures are PNG alone" in said:
                    name = name.replace(".svg", ".png")
                assert (
                    not name.startswith(("tables/", "figures/", "values/"))
                    or (run.root / name).is_file()
                    or stem in said
                ), name


def test_nothing_committed_names_a_machine_or_is_too_large(runs):
    files = [path for run in runs.values() for path in run.root.rglob("*") if path.is_file()]
    assert machine_facts(files) == []
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


@pytest.mark.parametrize("profile", COMMITTED)
def test_claims_come_out_again_by_the_kept_values_alone(profile, runs, tmp_path):
    if profile not in runs or not any(runs[profile].values.glob("0[4-7]_*")):
        pytest.skip(f"the committed run of {profile} has kept no values that claims are made from")
    done = judge_alone(tmp_path, "--profile", profile, "--committed")
    assert done.returncode == 0, done.stderr
    told = [(row["claim"], row["verdict"]) for row in json.loads(done.stdout)]
    assert told == [(row["claim"], row["verdict"]) for row in read(runs[profile], "claims.json")]


def test_no_interval_excludes_its_own_estimate(runs):
    """In every table with the estimate before its bounds; three have something else there."""
    found = 0
    for path in [path for run in runs.values() for path in run.tables.glob("*.csv")]:
        table = pd.read_csv(path)
        if "low" in table and not path.stem.endswith(
            ("_seeds_apd", "_planted_matrix", "_claims_turned")
        ):
            value = table.columns[table.columns.get_loc("low") - 1]
            known = table[[value, "low", "high"]].dropna()
            assert (known[value].between(known.low - 1e-5, known.high + 1e-5)).all(), path.stem
            found += len(known)
    assert found > 10_000


def test_nothing_committed_quotes_a_corpus(runs):
    """Runs where the runs' texts are; `attreval publish` does the same before it writes."""
    checked = 0
    for name, run in runs.items():
        profile = load_profile(name)
        tasks = with_tables(tuple(profile.read_tasks()))
        if all(corpora.table_path(task.name).exists() for task in tasks):
            refuse_quotes(run.root, corpus_texts(profile), printed_by_papers(profile))
            checked += 1
    if not checked:
        pytest.skip("no committed run has all its tables of texts here")


def test_notebooks_and_their_table_link_to_the_copies(runs):
    table = (CHECKOUT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    for path in sorted((CHECKOUT / "notebooks").glob("0[!0]*.ipynb")):
        first = nbformat.read(path, as_version=4).cells[0].source
        links = link_line(path.stem, path.parent)
        assert first.endswith(f"{LEAD} {links}") and re.findall(r"\]\(([^)]*\.ipynb)\)", links)
        assert all((path.parent / link).exists() for link in re.findall(r"\]\(([^)]*)\)", links))
        assert f"| {link_line(path.stem, CHECKOUT / 'docs')} |" in table


def test_commands_name_rules_of_the_workflow():
    assert all(STEP_OF[paper].judge for paper in PAPERS)
    assert {paper for paper in PAPERS} == {claim.paper for claim in read_claims()}


def test_the_manifest_for_codecheckers_lists_what_the_pages_show_of_quick():
    """Each file is there, and nothing else is claimed: claims, printed tables, shown figures."""
    text = (CHECKOUT / "codecheck.yml").read_text(encoding="utf-8")
    said = yaml.safe_load(text)
    assert text.startswith("---\n")  # the specification asks for it
    assert said["version"] == "https://codecheck.org.uk/spec/config/2.0/"
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    assert said["paper"]["authors"] == [{"name": one["name"]} for one in cited["authors"]]
    paper = (CHECKOUT / "paper" / "index.qmd").read_text(encoding="utf-8")
    assert f"title: {said['paper']['title']}\n" in paper
    listed = [one["file"] for one in said["manifest"]]
    assert all((CHECKOUT / name).is_file() for name in listed) and len(listed) == len(set(listed))
    assert all(one["comment"] for one in said["manifest"])
    run = committed("quick")
    declared = yaml.safe_load((CHECKOUT / "paper" / "tables.yml").read_text(encoding="utf-8"))
    shown = [run.root / "claims.json"]
    for table in declared.values():
        sources = table["source"] if isinstance(table["source"], list) else [table["source"]]
        shown += [path for source in sources for path in run.tables.glob(source)]
    for page in (CHECKOUT / "index.qmd", *(CHECKOUT / "paper").rglob("*.qmd")):
        for stem, label in EMBED.findall(page.read_text(encoding="utf-8")):
            shown += run.figures.glob(f"{stem}_{label}.png")
    assert set(listed) == {path.relative_to(CHECKOUT).as_posix() for path in shown}


def test_what_is_at_work_is_in_no_commit():
    """Below results/reference only the committed folders are not ignored."""
    lines = (CHECKOUT / ".gitignore").read_text(encoding="utf-8").splitlines()
    kept = [
        line[len("!results/reference/") :].strip("/")
        for line in lines
        if line.startswith("!results/reference/")
    ]
    assert "results/reference/*" in lines and {"full", "quick", "README.md"} <= set(kept)
    assert (
        yaml.safe_load((CHECKOUT / "config" / "reference.yaml").read_text(encoding="utf-8"))["name"]
        == "reference"
    )
