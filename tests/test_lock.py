"""What is installed: on Python 3.11 to 3.14 one version of each package, each archive checked.

That each has a wheel there, `make lock` asks the registry.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from itertools import chain, product

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from reference import CHECKOUT

PYTHONS = ["3.11.0", "3.11.7", "3.12.1", "3.13.0", "3.14.0"]
MACHINES = {"x86_64": "linux", "aarch64": "linux", "arm64": "darwin"}


def read(name):
    return (CHECKOUT / name).read_text(encoding="utf-8")


LOCK = read("requirements.lock")
PINS = [Requirement(line.removesuffix(" \\")) for line in re.findall(r"^\w.*", LOCK, re.MULTILINE)]
(TORCH,) = re.findall(r"^torch==.*", read("requirements.torch"), re.MULTILINE)
PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CUDA = re.search(r"^CUDA := (.*)", read("Makefile"), re.MULTILINE)[1].split()


def surroundings(python, machine):
    """What markers ask for, on another Python and machine."""
    system = MACHINES[machine]
    python_is = {"python_full_version": python, "implementation_version": python}
    python_is |= {"python_version": python.rpartition(".")[0], "implementation_name": "cpython"}
    python_is |= {"platform_python_implementation": "CPython", "os_name": "posix"}
    machine_is = {"sys_platform": system, "platform_system": system.title()}
    return python_is | machine_is | {"platform_machine": machine}


def chosen(around):
    """The version of each package that pip takes there."""
    pins = [*PINS, Requirement(TORCH)]
    taken = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(around)]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in taken}
    assert len(versions) == len(taken), "two versions of one package"
    return versions


def fits(need, versions):
    """Whether one of these versions is what is needed."""
    return (name := canonicalize_name(need.name)) in versions and versions[name] in need.specifier


def asked():
    """What pyproject.toml asks for, for the tests too."""
    waiting = [PROJECT["dependencies"], EXTRAS["test"]]
    found = []
    while waiting:
        for need in map(Requirement, waiting.pop()):
            if need.name == PROJECT["name"]:
                waiting += [EXTRAS[name] for name in need.extras]
            else:
                found.append(need)
    return found


def test_the_library_asks_for_twelve_packages_and_names_all_that_it_imports():
    assert len(PROJECT["dependencies"]) == 12
    lines = (*PROJECT["dependencies"], *chain(*EXTRAS.values()))
    named = {Requirement(line).name for line in lines}
    sources = (CHECKOUT / "src" / "attreval").rglob("*.py")
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    pattern = r"^ *(?:from (\w+)\S* import|import (\w+)(?: as \w+|[\w.]*)(?:  #.*)?$)"
    found = re.findall(pattern, code, re.MULTILINE)
    imported = {one or other for one, other in found} - set(sys.stdlib_module_names)
    packages = {"sklearn": "scikit-learn"}
    brought = {"attreval", "compendium", "numba", "threadpoolctl"}  # the last by shap, scikit-learn
    brought.add("tokenizers")  # by transformers
    assert imported >= {"torch", "captum"}
    assert {packages.get(one, one) for one in imported} - brought <= named


def test_every_version_has_hashes_and_torch_has_none():
    blocks = re.split(r"^(?=\w)", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(PINS) > 150
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", block) for block in blocks)
    assert all(str(pin.specifier).startswith("==") for pin in PINS)
    assert "torch" not in {pin.name for pin in PINS}
    assert "://" not in LOCK, "names of archives' hosts say nothing a hash does not"


@cache
def installed(name):
    """The version of an installed package and what it needs; None if it is not installed here."""
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None  # only on another Python or machine
    return package.version.partition("+")[0], [Requirement(line) for line in package.requires or ()]


def test_there_is_one_version_of_all_that_is_asked_for_by_us_and_by_what_is_installed():
    for python, machine in product(PYTHONS, MACHINES):
        around = surroundings(python, machine)
        versions = chosen(around)
        assert not [need for need in asked() if not fits(need, versions)], (python, machine)
        seen = set()
        waiting = []
        for need in asked():
            waiting += [(canonicalize_name(need.name), extra) for extra in ("", *need.extras)]
        while waiting:
            if (one := waiting.pop()) in seen:
                continue
            seen.add(one)
            name, extra = one
            if (found := installed(name)) is None or found[0] != versions[name]:
                continue
            for need in found[1]:
                other = canonicalize_name(need.name)
                wanted = not need.marker or need.marker.evaluate({**around, "extra": extra})
                if wanted and other not in CUDA:
                    assert fits(need, versions), f"{name} asks for {need} on {python}, {machine}"
                    waiting += [(other, more) for more in ("", *need.extras)]
        assert len(seen) > 150


def test_every_way_to_install_checks_them():
    for recipe in ("Makefile", "Dockerfile", "apptainer.def"):
        text = read(recipe)
        checked = r"--no-deps --require-hashes --requirement \S*requirements\.lock\n?"
        last = r"--requirement \S*requirements\.torch\n"
        after = text[re.search(checked, text).end() :]
        assert re.search(last, after), f"{recipe}: torch comes last"


@pytest.fixture
def other_pythons(tmp_path, monkeypatch):
    """Makes interpreters that say that they are of another version, alone on the PATH."""
    for tool in ("make", "sh", "grep"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
        (tmp_path / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PYTHON", raising=False)

    def add(name, version, instead="pass"):
        code = f"import sys; sys.version_info = {version}; {instead}; exec(sys.argv[1])"
        script = f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$2"\n'
        (tmp_path / name).write_text(script, encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    return add


NO_VENV = "import importlib.util as u; u.find_spec = lambda name: None"


def setup(tmp_path, *options):
    """Ask make for an environment elsewhere."""
    command = ["make", *options, f"{tmp_path}/venv/.ready", f"VENV={tmp_path}/venv"]
    above = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of the make that runs the tests
    given = {name: value for name, value in os.environ.items() if name not in above}
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, env=given)


def test_another_python_is_looked_for(other_pythons, tmp_path):
    other_pythons("python3", (3, 10, 13))
    other_pythons("python3.13", (3, 13, 0), NO_VENV)
    other_pythons("python3.12", (3, 12, 1))
    assert f"\npython3.12 -m venv {tmp_path}/venv\n" in setup(tmp_path, "-n").stdout


def test_a_python_that_will_not_do_is_refused_in_one_line(other_pythons, tmp_path):
    for version in ((3, 10, 13), (3, 15, 0)):
        other_pythons("python3", version)
        done = setup(tmp_path)
        found = f"{'.'.join(map(str, version))} at {sys.executable}"
        wanted = f"Python 3.11 to 3.14 is needed; found {found}; set PYTHON=...\n"
        assert done.returncode and done.stderr.startswith(wanted) and not done.stdout
        assert not (tmp_path / "venv").exists()
    other_pythons("python3", (3, 11, 2), NO_VENV)
    assert "apt install python3.11-venv\n" in setup(tmp_path).stderr
