"""What is installed: the same versions in the lock and in its hashes, every archive checked, however one installs."""

from __future__ import annotations

import importlib.util
import re

import pytest
from reference import CHECKOUT

LOCK, HASHES = CHECKOUT / "requirements.lock", CHECKOUT / "requirements.sha256"
spec = importlib.util.spec_from_file_location("lock_hashes", CHECKOUT / "workflow" / "lock_hashes.py")
lock_hashes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lock_hashes)


def pins(path):
    """`name==version` of each line that has one."""
    return re.findall(r"^([\w.-]+==[^\s\\]+)", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_version_of_the_lock_has_hashes_but_torch():
    locked = pins(LOCK)
    assert len(locked) > 150 and len(set(locked)) == len(locked)
    assert pins(HASHES) == [pin for pin in locked if not pin.startswith("torch==")]
    blocks = re.split(r"^(?=[\w.-]+==)", HASHES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", block) for block in blocks)
    assert "://" not in HASHES.read_text(encoding="utf-8"), "names of archives' hosts say nothing a hash does not"


@pytest.mark.parametrize("recipe", ["Makefile", "Dockerfile", "apptainer.def"])
def test_every_way_to_install_checks_them(recipe):
    text = (CHECKOUT / recipe).read_text(encoding="utf-8")
    hashed = text.index("--no-deps --require-hashes --requirement")
    assert hashed < text.index("requirements.lock\n", hashed), "torch, and what its build needs, come last"


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a-1.0-py3-none-any.whl", True),
        ("a-1.0-py2.py3-none-any.whl", True),
        ("a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("a-1.0-1-cp39-abi3-macosx_11_0_arm64.whl", True),
        ("a-1.0-cp312-abi3-win_amd64.whl", False),
        ("a-1.0-cp310-cp310-manylinux_2_28_x86_64.whl", False),
        ("a-1.0-pp311-pypy311_pp73-manylinux_2_28_x86_64.whl", False),
        ("a-1.0-py2-none-any.whl", False),
    ],
)
def test_archives_that_python_3_11_cannot_install_are_left_out(name, fits):
    assert lock_hashes.allowed(name) == fits


def test_an_archive_is_named_once_and_a_source_counts():
    def one(name, digest):
        return {"url": f"x/{name}", "hashes": {"sha256": digest}}

    wheels = [one("a-1.0-py3-none-any.whl", "b"), one("a-1.0-cp310-cp310-win_amd64.whl", "c")]
    assert lock_hashes.archives({"wheels": wheels, "sdist": one("a-1.0.tar.gz", "a")}) == ["a", "b"]
    assert lock_hashes.archives({"wheels": wheels[1:]}) == []
