"""What is installed: on Python 3.11 to 3.14 one version of each package, each archive checked,
whatever the way.
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

PYTHONS = ["3.11.0", "3.11.2", "3.11.7", "3.12.1", "3.13.0", "3.14.0"]
MACHINES = {
    "x86_64-manylinux_2_28": "linux",
    "aarch64-manylinux_2_28": "linux",
    "arm64-apple-darwin": "darwin",
}
FROM_SOURCE = ["connection-pool", "lime"]  # never had a wheel; neither is compiled
COMPILED = {"3.14.0": ["immutables"]}  # no version of it has a wheel there

LOCK = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
PINS = [Requirement(line.removesuffix(" \\")) for line in re.findall(r"^\w.*", LOCK, re.MULTILINE)]
(TORCH,) = re.findall(
    r"^torch==.*", (CHECKOUT / "requirements.torch").read_text(encoding="utf-8"), re.MULTILINE
)
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CUDA = re.search(
    r"^CUDA := (.*)", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
)[1].split()

everywhere = pytest.mark.parametrize(("python", "machine"), list(product(PYTHONS, MACHINES)))


def surroundings(python, machine):
    """What markers ask for, on another Python and machine."""
    system = MACHINES[machine]
    minor = python.rpartition(".")[0]
    return {
        **{
            "python_full_version": python,
            "python_version": minor,
            "implementation_version": python,
        },
        **{
            "sys_platform": system,
            "platform_system": system.title(),
            "platform_machine": machine.partition("-")[0],
        },
        **{
            "os_name": "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        },
    }


def chosen(around):
    """The version of each package that pip takes there."""
    taken = [
        pin
        for pin in [*PINS, Requirement(TORCH)]
        if pin.marker is None or pin.marker.evaluate(around)
    ]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in taken}
    assert len(versions) == len(taken), "two versions of one package"
    return versions


def fits(need, versions):
    """Whether one of these versions is what is needed."""
    return (name := canonicalize_name(need.name)) in versions and versions[name] in need.specifier


def asked():
    """What pyproject.toml asks for, for the tests too."""
    waiting = [PROJECT["dependencies"], extras()["test"]]
    found = []
    while waiting:
        for need in map(Requirement, waiting.pop()):
            ours = need.name == PROJECT["name"]
            waiting += [extras()[name] for name in need.extras] if ours else []
            found += [] if ours else [need]
    return found


def extras():
    """The packages of each extra, as they are written."""
    return PROJECT["optional-dependencies"]


def test_the_library_asks_for_eleven_packages_and_names_all_that_it_imports():
    assert len(PROJECT["dependencies"]) == 11
    named = {
        Requirement(line).name for line in (*PROJECT["dependencies"], *chain(*extras().values()))
    }
    code = "".join(
        path.read_text(encoding="utf-8") for path in (CHECKOUT / "src" / "attreval").rglob("*.py")
    )
    found = re.findall(
        r"^ *(?:from (\w+)\S* import|import (\w+)(?: as \w+|[\w.]*)(?:  #.*)?$)", code, re.MULTILINE
    )
    imported = {one or other for one, other in found} - set(sys.stdlib_module_names)
    packages = {"sklearn": "scikit-learn"}
    brought = {"attreval", "numba", "threadpoolctl", "compendium"}  # by shap and by scikit-learn
    assert (
        imported >= {"torch", "captum"}
        and {packages.get(one, one) for one in imported} - brought <= named
    )


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


@everywhere
def test_one_version_of_each_package_and_all_that_is_asked_for(python, machine):
    versions = chosen(surroundings(python, machine))
    assert [need for need in asked() if not fits(need, versions)] == []


@everywhere
def test_all_that_the_installed_versions_ask_for(python, machine):
    around = surroundings(python, machine)
    versions = chosen(around)
    seen = set()
    waiting = [
        (canonicalize_name(need.name), extra) for need in asked() for extra in ("", *need.extras)
    ]
    while waiting:
        if (one := waiting.pop()) in seen:
            continue
        seen.add(one)
        name, extra = one
        if (found := installed(name)) is None or found[0] != versions[name]:
            continue
        for need in found[1]:
            other = canonicalize_name(need.name)
            if other in CUDA or (
                need.marker and not need.marker.evaluate({**around, "extra": extra})
            ):
                continue
            assert fits(need, versions), f"{name} asks for {need}"
            waiting += [(other, more) for more in ("", *need.extras)]
    assert len(seen) > 150


@pytest.mark.parametrize("recipe", ["Makefile", "Dockerfile", "apptainer.def"])
def test_every_way_to_install_checks_them(recipe):
    text = (CHECKOUT / recipe).read_text(encoding="utf-8")
    hashed = re.search(r"--no-deps --require-hashes --requirement \S*requirements\.lock\n?", text)
    assert re.search(r"--requirement \S*requirements\.torch\n", text[hashed.end() :]), (
        "torch comes last"
    )


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
        (tmp_path / name).write_text(
            f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$2"\n', encoding="utf-8"
        )
        (tmp_path / name).chmod(0o755)

    return add


def setup(tmp_path, *options):
    """Ask make for an environment elsewhere."""
    command = ["make", *options, f"{tmp_path}/venv/.ready", f"VENV={tmp_path}/venv"]
    above = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of the make that runs the tests
    given = {name: value for name, value in os.environ.items() if name not in above}
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, env=given)


def test_another_python_is_looked_for(other_pythons, tmp_path):
    other_pythons("python3", (3, 10, 13))
    other_pythons(
        "python3.13", (3, 13, 0), "import importlib.util as u; u.find_spec = lambda name: None"
    )
    other_pythons("python3.12", (3, 12, 1))
    assert f"\npython3.12 -m venv {tmp_path}/venv\n" in setup(tmp_path, "-n").stdout


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 15, 0)])
def test_a_python_that_will_not_do_is_refused_in_one_line(other_pythons, tmp_path, version):
    other_pythons("python3", version)
    done = setup(tmp_path)
    found = ".".join(map(str, version))
    assert done.stderr.startswith(
        f"Python 3.11 to 3.14 is needed; found {found} at {sys.executable}; set PYTHON=...\n"
    )
    assert done.returncode and not done.stdout and not (tmp_path / "venv").exists()


def test_what_debian_lacks_is_named(other_pythons, tmp_path):
    other_pythons(
        "python3", (3, 11, 2), "import importlib.util as u; u.find_spec = lambda name: None"
    )
    assert "apt install python3.11-venv\n" in setup(tmp_path).stderr


@pytest.fixture(scope="module")
def uv(tmp_path_factory):
    """uv, which knows what other Pythons and machines may install."""
    folder = tmp_path_factory.mktemp("uv")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "uv"],
        check=True,
    )
    return folder / "bin" / "uv"


@pytest.mark.network
@pytest.mark.parametrize(
    ("python", "machine"), [("3.11.0", "x86_64-manylinux_2_28"), ("3.14.0", "arm64-apple-darwin")]
)
def test_every_version_has_a_wheel(uv, python, machine):
    """But the few that are named above."""
    wheels = ["--only-binary", ":all:"]
    for name in (*FROM_SOURCE, *COMPILED.get(python, ())):
        wheels += ["--no-binary", name]
    there = ["--python-version", python, "--python-platform", machine.replace("arm64", "aarch64")]
    command = [
        uv,
        "pip",
        "compile",
        "--quiet",
        "--no-header",
        "--no-annotate",
        "--no-deps",
        *there,
        *wheels,
        "-",
    ]
    pins = "\n".join(map(str, [*PINS, TORCH]))
    macos = {
        **os.environ,
        "MACOSX_DEPLOYMENT_TARGET": "14.0",
    }  # the oldest that torch has a build for
    done = subprocess.run(command, input=pins, capture_output=True, text=True, env=macos)
    assert done.returncode == 0, done.stderr
    assert len(re.findall("==", done.stdout)) == len(chosen(surroundings(python, machine)))
