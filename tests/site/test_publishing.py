"""The committed copy of a run: small, whole, and without a word of any corpus."""

import base64
import io
import json
import re
import shutil
from functools import cache
from types import SimpleNamespace

import matplotlib
import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from nbformat import v4
from reference import CHECKOUT, files

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from PIL import Image

from attreval.core.records import Instance
from attreval.core.tables import write_csv, write_instances, write_json
from compendium import config, corpora, project
from compendium.papers.common.claims import read_claims, score
from compendium.site import publish
from compendium.site import quotes as proof
from compendium.site.committed import (
    ELSEWHERE,
    LEAD,
    committed,
    shrink_png,
    shrink_svg,
    write_links,
)
from compendium.site.fidelity import fidelity_markdown, main_runs, reason_of
from compendium.site.publish import publish_run
from compendium.site.quotes import WINDOW, find_quotes, letters, printed_by_papers
from compendium.workflow.steps import expected_steps

SECRET = "Forty purple herons waited 3 long minutes before the lighthouse keeper's unlikely supper."
SHORT = "Nobody sold the seventh violin."
PRINTED = (
    "Two umbrellas crossed the frozen harbour while a patient orchestra tuned its copper kettles."
)
PROFILE = {
    "name": "quick",
    "models": {"small": {"layers": 1, "hidden": 8, "heads": 2, "tokenizer": "minilm"}},
    "tasks": {
        "snli": {
            "models": ["small"],
            "train_rows": 1,
            "dev_rows": 1,
            "test_rows": 2,
            "explain_rows": 2,
        }
        | {"judges": ["agreement"], "examples": ["snli/test/printed"]}
    },
    "explain": {"methods": ["lime"]},
}


def texts():
    """(id, segments), as a task table gives them."""
    return [("a/secret", (SECRET, SHORT)), ("a/printed", (PRINTED, "A kettle."))]


QUOTES = [
    SECRET,
    SECRET.upper(),
    " ".join(SECRET.split()[2:10]),
    letters(SECRET)[:WINDOW],
    f"before {SHORT} after",
]
QUOTES.append("\n".join(f"{at} {word} {0.1 * at:.2f}" for at, word in enumerate(SECRET.split())))
QUOTES.append(" ".join(part for word in SECRET.split() for part in (word[:3], f"##{word[3:]}")))
FEW = ["Forty purple herons waited", "the seventh violin", "A kettle.", "", "0.5 0.25"]


def test_a_quote_is_found_however_it_is_cut_up_and_a_few_words_are_none():
    for piece in [*QUOTES, *FEW]:
        found = find_quotes({"clean": ["nothing of it"], "here": ["", piece]}, texts())
        assert found == ({"here": ["a/secret"]} if piece in QUOTES else {})


def test_examples_that_a_paper_prints_may_be_quoted_by_whoever_has_them():
    others = [*texts(), ("b/same", (PRINTED,))]
    assert find_quotes({"here": [PRINTED]}, others) == {"here": ["a/printed"]}
    assert find_quotes({"here": [PRINTED], "there": [SECRET]}, others, [PRINTED]) == {
        "there": ["a/secret"]
    }


def test_what_a_paper_prints_may_be_quoted_by_a_profile_that_has_it_without_its_marks():
    tasks = {"hybrid_imdb": SimpleNamespace(examples=[], printed=["poerner2018/salmon"])}
    (text,) = printed_by_papers(SimpleNamespace(tasks=tasks))
    assert "<u>" not in text and "headed to the smoked salmon station" in text
    assert find_quotes({"here": [text]}, [("a/b", (text,))], [text]) == {}


def test_every_window_that_a_slow_search_finds_is_found():
    """The slow twin: each corpus window as a substring of each piece."""
    rng = np.random.default_rng(0)
    words = ["ab", "cde", "f", "ghij", "klmno", "pq"]
    corpus = [(f"t{at}", (" ".join(rng.choice(words, 30)),)) for at in range(12)]
    mixed = {f"p{at}": " ".join(corpus[at][1][0].split()[at : at + 14]) for at in range(12)}
    for name, piece in mixed.items():
        slow = set()
        for text, (segment,) in corpus:
            starts = np.cumsum([0, *map(len, segment.split())])[:-1]
            stream = letters(segment)
            windows = {stream[s : s + WINDOW] for s in starts if s + WINDOW <= len(stream)}
            slow |= {text} if any(window in letters(piece) for window in windows) else set()
        found = find_quotes({name: [piece]}, corpus).get(name, [])
        assert set(found) <= slow and bool(found) == bool(slow)


@cache
def draw(words: str):
    """A figure that shows words, as (png, svg)."""
    figure, axes = plt.subplots(figsize=(4, 2))
    for at, word in enumerate(words.split()):
        axes.text(at / 20, 0.123456, word)
    made = []
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(buffer, format=kind, dpi=200)
        made.append(buffer.getvalue())
    plt.close(figure)
    return made


def test_pictures_get_smaller_and_keep_what_they_show():
    png, svg = draw("one two three")
    small = shrink_png(png)
    half = shrink_png(png, part=2)
    assert (
        len(half) < len(small) < len(png)
        and Image.open(io.BytesIO(small)).size == Image.open(io.BytesIO(png)).size
    )
    before, after = (
        np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float) for data in (png, small)
    )
    assert np.abs(before - after).mean() < 2
    shrunk = shrink_svg(svg.decode())
    assert shrink_svg('<text x="1.2345">p = 0.9812</text>') == '<text x="1.2">p = 0.9812</text>'
    assert (
        len(shrunk) < len(svg)
        and shrink_svg(shrunk) == shrunk
        and re.search(r"one\b.*two\b.*three\b", shrunk, re.S)
    )
    named = set(re.findall(r' id="([^"]*)"', shrunk))
    assert (
        set(re.findall(r'(?:url\(|href=")#([\w-]+)', shrunk)) <= named and "0.123456" not in shrunk
    )


def notebook(*outputs):
    """An executed notebook as papermill leaves it."""
    cells = [v4.new_markdown_cell("# A title\n\n**Question.** Why?")]
    cells += [v4.new_code_cell("show()", outputs=[one]) for one in outputs]
    for at, cell in enumerate(cells):
        cell.id = str(at)
        cell.metadata["papermill"] = {"start_time": "now"}
    kept = {"papermill": {"output_path": "/home/somebody/x.ipynb"}, "widgets": {}}
    return v4.new_notebook(cells=cells, metadata=kept)


def shown(**data):
    return v4.new_output(
        "display_data", {kind.replace("_", "/"): held for kind, held in data.items()}
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A project with a made-up run of quick that quotes its corpus wherever a run could."""
    for name in ("ATTREVAL_RESULTS", "ATTREVAL_DATA", "ATTREVAL_CORPORA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    for name in ("notebooks", "config", "paper", "docs"):
        (tmp_path / name).mkdir()
    for path in (CHECKOUT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, tmp_path / "notebooks")
    shutil.copy(CHECKOUT / "paper" / "claims.yml", tmp_path / "paper")
    (tmp_path / "config" / "quick.yaml").write_text(yaml.safe_dump(PROFILE))
    listed = "| notebook | question |\n|---|---|\n| `05_kamp2023` | which tokens? |\n"
    (tmp_path / "docs" / "notebooks.md").write_text(listed)
    words = np.array([[0, 0, 3]])
    rows = [Instance("snli/test/printed", (PRINTED, "A kettle."), 0, words, split="test")]
    rows += [Instance("snli/test/secret", (SECRET, SHORT), 1, words, split="test")]
    write_instances(corpora.table_path("snli"), rows, {"task": "snli"})
    run = project.results("quick")
    for folder in (run.notebooks, run.tables, run.figures, run.steps):
        folder.mkdir(parents=True)
    claims = score(read_claims(path=CHECKOUT / "paper" / "claims.yml"), {})
    write_csv(run.tables / "05_kamp2023_claims.csv", claims[claims.paper == "kamp2023"])
    pngs = {}
    for name, said in (("plain", "k by method"), ("told", SECRET), ("paper", PRINTED)):
        pngs[name], svg = draw(said)
        (run.figures / f"05_kamp2023_{name}.png").write_bytes(pngs[name])
        (run.figures / f"05_kamp2023_{name}.svg").write_bytes(svg)
    down = "".join(
        f"<tr><td>0.{at}</td><td>{word}</td></tr>" for at, word in enumerate(SECRET.split())
    )
    spans = "".join(f"<span title='+0.1'>{word}</span> " for word in SECRET.split())
    held = [shown(text_html=spans, text_plain="<HTML>")]
    held += [
        shown(image_png=base64.b64encode(png).decode(), text_plain="<Image>")
        for png in pngs.values()
    ]
    held += [shown(image_png=base64.b64encode(draw("who knows")[0]).decode())]
    held.append(v4.new_output("stream", name="stderr", text="/root/some/path.py: warning"))
    quoting = (f"<p>{PRINTED}</p>", f"<p title='{SECRET}'>0.1</p>", f"<table>{down}</table>")
    held += [shown(text_html=html) for html in quoting]
    for step in expected_steps(config.load_profile("quick")):
        nbformat.write(notebook(*held if step == "05_kamp2023" else ()), run.executed(step))
        name, *given = step.split("-")
        asked = dict(zip(("task", "model", "seed"), given, strict=False))
        asked |= {"seed": int(given[2].removeprefix("s"))} if given else {}
        facts = {
            "step": step,
            "files": [],
            "seconds": 1.0,
            "processor_seconds": 60.0,
            "notebook": name,
        }
        write_json(
            run.record(step), facts | {"finished": "2001-02-03T04:05:06", "parameters": asked}
        )
    return tmp_path


def read_outputs(path):
    return [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", ())]


def test_a_run_is_committed_without_its_texts(home):
    place = publish_run("quick")
    outputs = read_outputs(place / "notebooks" / "05_kamp2023.ipynb")
    for quoting in (outputs[0], *outputs[-2:]):
        assert "<code>snli/test/secret</code>" in quoting.data["text/html"]
    assert SECRET not in json.dumps(outputs) and "herons" not in json.dumps(outputs)
    assert sorted(path.stem for path in (place / "figures").glob("*.png")) == [
        "05_kamp2023_paper",
        "05_kamp2023_plain",
    ]
    pngs = [base64.b64decode(o.data["image/png"]) for o in outputs if "image/png" in o.data]
    sizes = [Image.open(io.BytesIO(png)).size for png in pngs]
    assert sizes == [(400, 200)] * 2
    # in the place of what is left out
    said = [o.data["text/markdown"] for o in outputs if "text/markdown" in o.data]
    assert (
        said
        == ["*This figure shows a text of a corpus; it is left out of the committed copy.*"] * 2
    )
    assert outputs[-3].data["text/html"] == f"<p>{PRINTED}</p>" and len(outputs) == 8
    text = (place / "notebooks" / "05_kamp2023.ipynb").read_text()
    assert "papermill" not in text and "widgets" not in text and "/root" not in text
    assert "figure 05_kamp2023_told" in (place / "README.md").read_text()
    assert {"machine", "steps", "settings"} <= set(
        json.loads((place / "manifest.json").read_text())
    )


def test_texts_of_our_own_go_with_a_committed_run(home, monkeypatch):
    ours = {"runs": [{"texts": ["A text that nobody else has written before us, here and now."]}]}
    monkeypatch.setattr(publish, "gather_page", lambda run, everything: ours)
    place = publish_run("quick")
    assert json.loads((place / "explorer.json").read_text()) == ours
    ours["runs"][0]["texts"] = [SECRET]
    with pytest.raises(ValueError, match=r"explorer\.json quotes snli/test/secret"):
        publish_run("quick")


def test_committing_twice_changes_nothing(home):
    place = publish_run("quick")
    kept = {
        path: path.read_bytes()
        for path in [*place.rglob("*.*"), *home.glob("docs/*"), home / "docs/notebooks.md"]
    }
    assert publish_run("quick") == place and all(
        path.read_bytes() == data for path, data in kept.items()
    )
    assert sorted(place.parent.iterdir()) == [place]


def test_a_step_is_committed_by_itself(home):
    place = publish_run("quick")
    run = project.results("quick")
    before = {path: path.read_bytes() for path in place.rglob("*.*")}
    for rows in ([{"n": 1}], [{"n": 2}]):  # the second time it takes the place of the first
        write_csv(run.tables / "08_joint_new.csv", pd.DataFrame(rows))
        facts = json.loads(run.record("08_joint").read_text()) | {
            "files": ["tables/08_joint_new.csv"],
            "commit": "abc",
        }
        told = {
            "devices": {"cuda": 2},
            "note": "its networks are of `def`",
            "processor_seconds": 100.0,
        }
        write_json(run.record("08_joint"), facts | told)
        assert publish_run("quick", ["08_jo*t"]) == place
    assert (place / "tables" / "08_joint_new.csv").read_text().split() == ["n", "2"]
    changed = {path for path, data in before.items() if path.read_bytes() != data}
    assert changed == {place / "README.md", place / "manifest.json"}
    text = (place / "README.md").read_text()
    manifest = json.loads((place / "manifest.json").read_text())
    said = "- `abc`: `08_joint`; networks trained by device: cuda 2; its networks are of `def`\n"
    assert text.count(said) == 1 and text.startswith(before[place / "README.md"].decode()[:300])
    assert manifest["steps"]["08_joint"]["processor_seconds"] == 100
    assert manifest["processor_seconds"] == sum(
        step["processor_seconds"] for step in manifest["steps"].values()
    )
    of_another = "table 08_joint_models_across.csv: 6.2 MB"  # whose step's name begins alike
    write_json(place / "manifest.json", manifest | {"left_out": [of_another]})
    nbformat.write(notebook(shown(text_plain=SECRET)), run.executed("08_joint"))
    of_another = "table 08_joint_models_across.csv: 6.2 MB"  # whose step's name begins alike
    write_json(place / "manifest.json", manifest | {"left_out": [of_another]})
    nbformat.write(notebook(shown(text_plain=SECRET)), run.executed("08_joint"))
    publish_run("quick", ["08_joint"])
    assert of_another in (place / "README.md").read_text()
    assert (
        "08_joint, cell 2, output 1: words of snli/test/secret" in (place / "README.md").read_text()
    )
    with pytest.raises(FileNotFoundError, match="run notebook 09_nothing"):
        publish_run("quick", ["09_nothing"])


def test_a_step_of_a_run_that_is_not_committed_comes_alone(home):
    place = publish_run("quick", ["08_joint"])
    assert [path.stem for path in (place / "notebooks").iterdir()] == ["08_joint"]
    assert list(json.loads((place / "manifest.json").read_text())["steps"]) == ["08_joint"]


def test_what_the_profile_has_no_more_goes_when_a_step_is_committed(home):
    run = project.results("quick")
    shards = [f"03_explain-snli-small-s1-{shard}" for shard in range(3)]
    png = base64.b64encode(draw("who knows")[0]).decode()
    for name in shards:
        nbformat.write(notebook(shown(image_png=png)), run.executed(name))
        write_csv(run.tables / f"{name}_shares.csv", pd.DataFrame([{"n": 1}]))
        facts = json.loads(run.record(shards[0]).read_text())
        write_json(run.record(name), facts | {"step": name, "files": [f"tables/{name}_shares.csv"]})
    place = publish_run("quick")
    assert all(len([*place.rglob(f"{name}*")]) == 2 for name in shards)
    profile = home / "config" / "quick.yaml"
    sst2 = PROFILE["tasks"]["snli"] | {"optional": True, "examples": []}
    profile.write_text(yaml.safe_dump(PROFILE | {"tasks": PROFILE["tasks"] | {"sst2": sst2}}))
    publish_run("quick", ["08_joint"])  # a profile that is without a task cannot tell
    assert all(len([*place.rglob(f"{name}*")]) == 2 for name in shards)
    profile.write_text(yaml.safe_dump(PROFILE))
    publish_run("quick", ["08_joint"])
    assert [len([*place.rglob(f"{name}*")]) for name in shards] == [2, 0, 0]
    manifest = json.loads((place / "manifest.json").read_text())
    assert sorted(manifest["steps"]) == sorted(expected_steps(config.load_profile("quick")))
    said = [line for line in manifest["left_out"] if line.startswith("03_explain")]
    assert said == [f"{shards[0]}, cell 2, output 1: its picture"]


def test_which_tables_are_committed(home):
    """Not those that quote a text, or have a row for each single text, or are too large."""
    tables = project.results("quick").tables
    down = [{"token": word, "score": at} for at, word in enumerate(SECRET.split())]
    for name, rows in (
        ("cells", [{"text": SECRET, "n": 1}, {"text": "fine, indeed", "n": 2}]),
        ("down", down),
    ):
        files.write_csv(tables / f"05_kamp2023_{name}.csv", rows)
    (tables / "08_joint_values.csv").write_text("x\n" + ("." * 61_999 + "\n") * 100)
    for name in (
        "03_explain-snli-minilm-s1-0_instances",
        "07_sun2024_agents-snli-minilm-s1_predictions",
    ):
        (tables / f"{name}.csv").write_text("x\n1\n")
    long = '"a, b",4748496940.jpg#4r1c,0.12345678901234567,-1.2345678901e-05,1.0,12,0.00012345678\n'
    (tables / "05_kamp2023_agreement_at_k.csv").write_text("a,b,c,d,e,f,g\n" + long * 1000)
    place = publish_run("quick")
    kept = {"05_kamp2023_claims.csv", "05_kamp2023_agreement_at_k.csv"}
    assert {path.name for path in (place / "tables").iterdir()} == kept
    said = (place / "README.md").read_text()
    assert all(
        f"table 05_kamp2023_{name}.csv: words of snli/test/secret" in said
        for name in ("cells", "down")
    )
    assert (
        "table 08_joint_values.csv: 6.2 MB" in said and "_predictions.csv: a row for each" in said
    )
    short = (place / "tables" / "05_kamp2023_agreement_at_k.csv").read_text().splitlines()
    assert (
        short[1] == '"a, b",4748496940.jpg#4r1c,0.123457,-1.23457e-05,1.0,12,0.000123457'
        and len(short) == 1001
    )


def test_values_of_single_texts_are_committed_without_a_text(home):
    """To the digit where claims are made from them, and the claims; else in single precision."""
    run = project.results("quick")
    about = {"task": "snli", "model": "m", "seed": 1, "method": "lime", "measure": "nc"}
    table = pd.DataFrame(about | {"instance": ["a/1", "a/2"], "value": [1 / 3, 2.0]})
    for name in ("04_poerner2018_instances", "08_joint_instances"):
        run.values.mkdir(exist_ok=True)
        table.to_parquet(run.values / f"{name}.parquet")
    long = pd.DataFrame({"claim": ["x"] * 1000, "paper": "kamp2023", "value": 1 / 3})
    write_csv(run.tables / "05_kamp2023_claims_turned.csv", long)
    place = committed("quick")
    assert publish_run("quick") == place.root
    assert (place.tables / "05_kamp2023_claims_turned.csv").read_text().count(str(1 / 3)) == 1000
    exact = pd.read_parquet(place.kept("instances", "04_poerner2018"))
    assert exact.equals(table)
    short = pd.read_parquet(place.kept("instances", "08_joint"))
    assert short.value.tolist() == table.value.astype("float32").tolist() != table.value.tolist()
    words = SECRET.split()
    for column in (words, [words], [[words]]):
        pd.DataFrame({"said": column, "at": 1}).to_parquet(run.kept("readings", "05_kamp2023"))
        with pytest.raises(ValueError, match=r"values/05_kamp2023_readings.parquet quotes snli"):
            publish_run("quick")
    assert not place.kept("readings", "05_kamp2023").exists()


def test_what_is_left_names_file_and_place_and_nothing_is_committed(home, monkeypatch):
    before = publish_run("quick")
    kept = sorted(path.name for path in before.rglob("*"))
    monkeypatch.setattr(
        "compendium.site.committed.clean_notebook", lambda path, *_: (nbformat.read(path, 4), [])
    )
    with pytest.raises(ValueError, match=r"names a machine:\n  \w+.ipynb: /home/somebody"):
        publish_run("quick")
    monkeypatch.setattr(proof, "machine_facts", lambda files: [])
    words = r"quotes a corpus:\n  notebooks/05_kamp2023, cell 2, output 1 quotes snli/test/secret"
    with pytest.raises(ValueError, match=words):
        publish_run("quick")
    assert sorted(path.name for path in before.rglob("*")) == kept


def test_a_run_that_is_not_whole_is_refused(home):
    run = project.results("quick")
    run.executed("08_joint").unlink()
    record = json.loads(run.record("01_data").read_text())
    write_json(run.record("01_data"), record | {"files": ["tables/01_data_gone.csv"]})
    with pytest.raises(
        ValueError, match=r"not whole; these steps are missing: 01_data, 08_joint\b"
    ):
        publish_run("quick")


def test_without_the_tables_of_texts_nothing_is_committed(home):
    corpora.table_path("snli").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"nobody can tell .*attreval fetch --profile quick"
    ):
        publish_run("quick")
    with pytest.raises(ValueError, match="of profile 'smoke' no run is committed"):
        committed("smoke")


def test_links_lead_to_the_copies_and_make_nothing_stale(home):
    source = home / "notebooks" / "05_kamp2023.ipynb"
    times = source.stat().st_mtime_ns
    publish_run("quick")
    first = nbformat.read(source, 4).cells[0].source
    (link,) = re.findall(rf"{re.escape(LEAD)} \[quick\]\(([^)]*)\)", first)
    assert (source.parent / link).resolve().is_file() and source.stat().st_mtime_ns == times
    row = (
        "| `05_kamp2023` | which tokens? | "
        "[quick](../results/reference/quick/notebooks/05_kamp2023.ipynb) |"
    )
    assert row in (home / "docs" / "notebooks.md").read_text()
    assert write_links() == []
    copied = (
        home / "results" / "reference" / "quick" / "notebooks" / "05_kamp2023.ipynb"
    ).read_text()
    assert "../../../../notebooks/05_kamp2023.ipynb" in copied


def test_a_machine_is_told_by_its_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", "/here/is/it")
    said = [
        "/home/me/x",
        "see /here/is/it/data",
        "<p>a</p>",
        "https://a.org/home/b",
        "n/root of it",
    ]
    for at, text in enumerate(said):
        (tmp_path / f"{at}.md").write_text(text)
    assert [line[:4] for line in proof.machine_facts(sorted(tmp_path.iterdir()))] == [
        "0.md",
        "1.md",
    ]


ROW = {"verdict": "contradicted", "reason": None, "texts": 3, "q": 0.06}
ROW |= {"null_scores": 0.5, "null_names": None, "null_p": 0.2, "turned_by": None}


def test_reasons_are_what_turning_gave_and_what_the_null_gives():
    assert reason_of(ROW) == "not yet found"
    turned = {"turned_by": "1 of 3 changes: model GRU (0.100)"}
    assert reason_of(ROW | turned) == "Turned by 1 of 3 changes: model GRU (0.100)."
    assert reason_of(ROW | {"verdict": "reproduced"}) == "–"
    settled = turned | {"verdict": "reproduced"}
    edge = reason_of(ROW | settled | {"null_p": None})
    assert edge.startswith("The null is the edge of the range; beside it, random scores 0.500. ")
    assert edge.endswith("Turned by 1 of 3 changes: model GRU (0.100).")
    ruled = reason_of(ROW | settled | {"verdict": "depends on the rule", "rule": "released code"})
    assert ruled.startswith("Another conclusion by released code. Turned by 1 of 3")
    assert "(p = 0.06," in reason_of(ROW | {"verdict": "inconclusive"})
    by_chance = reason_of(ROW | {"verdict": "holds by chance too"})
    assert by_chance.startswith("20% of null worlds") and "random scores 0.500)" in by_chance


def test_every_claim_has_its_row_with_command_minutes_and_cell(home):
    publish_run("quick")
    text = fidelity_markdown()
    claims = json.loads((home / "results" / "reference" / "quick" / "claims.json").read_text())
    assert text == (home / "docs" / "fidelity.md").read_text() and all(
        f"`{row['claim']}`" in text for row in claims
    )
    assert text.count("`attreval run --profile quick -- --until agreement` | 1.0 / 3 |") == len(
        claims
    )
    assert "[05_kamp2023, What became of the conclusions](" in text


def test_a_manifest_of_another_schema_is_read_as_plain_data(home):
    """A setting renamed since the run was committed breaks neither docs/fidelity.md nor minutes."""
    path = publish_run("quick") / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["settings"]["a_name_of_old"] = manifest["settings"].pop("seed")
    manifest["settings"]["tasks"]["snli"]["of_old"] = 1
    path.write_text(json.dumps(manifest))
    assert "| 1.0 / 3 |" in fidelity_markdown()


def test_verdicts_of_another_machine_stay_beside(home):
    place = publish_run("quick")
    claim = json.loads((place / "claims.json").read_text())[0]
    there = {
        "claim": claim["claim"],
        "verdict": "reproduced",
        "processor": "A second one",
        "commit": "c",
        "date": "d",
    }
    write_json(place / ELSEWHERE, [there])
    publish_run("quick")
    assert json.loads((place / ELSEWHERE).read_text()) == [there]
    assert "(on A second one: reproduced)" in fidelity_markdown()


def test_each_paper_is_judged_by_the_first_run_that_has_its_claims():
    of = {paper: {f"of-{paper}": {"paper": paper}} for paper in ("zhao2023", "poerner2018")}
    claims = {"reference": of["poerner2018"], "quick": of["zhao2023"] | of["poerner2018"]}
    assert main_runs(claims) == {"poerner2018": "reference", "zhao2023": "quick"}
