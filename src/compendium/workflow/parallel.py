"""Work of one step side by side in several processes, and its finished parts on disk.

The numbers are those of one after the other, only sooner: each process runs the threads that the
profile fixes, so that no sum is taken in another order. A step that is interrupted goes on where it
was, one that ends removes its parts. A part is taken up again only where nothing that it depends on
has changed: the packages' code, the profile, the models and explanations of the run, and the task
tables.
"""

import ctypes
import hashlib
import json
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any

from attreval.core.records import Instance
from attreval.core.tables import note_seconds, write_whole
from compendium import project
from compendium.config import Profile, make_known
from compendium.corpora.own_tasks import digest_once
from compendium.imports import PACKAGES
from compendium.project import Results

READ = ("models", "attributions", "tokens")  # folders of results that parts are made from
# imported when a model is opened, at four seconds each time
LATE = ("torch._dynamo", "transformers.modeling_utils")
Notify = Callable[[int, int], None] | None


def end_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when its parent dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


def thread_variables(threads: int) -> dict[str, str]:
    """The environment in which libraries start with so many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    tokenizers = os.environ.get("TOKENIZERS_PARALLELISM", "false")
    return dict.fromkeys(names, str(threads)) | {"TOKENIZERS_PARALLELISM": tokenizers}


def map_side_by_side(
    work: Callable[..., Any],
    jobs: Sequence[tuple],
    workers: int,
    notify: Notify = None,
    settings: dict | None = None,
) -> list[Any]:
    """What `work(*job)` gives for each job, in order.

    Args:
        work: a function of a module.
        jobs: its arguments, of one job at least.
        workers: processes; 1 does all in this one.
        notify: called with how many jobs are done, and of how many.
        settings: of the profile, whose own corpora and attributions every process is to know.
    """
    if workers == 1:
        return _collect((work(*job) for job in jobs), len(jobs), notify)
    # forks of a server that has imported what the work needs, and that has no threads
    context = multiprocessing.get_context("forkserver")
    # `kept_or_made` is given its work as an argument
    modules = {part.__module__ for part in (work, *jobs[0]) if callable(part)}
    context.set_forkserver_preload(sorted(modules.union(LATE)))
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(settings or {},)
    ) as pool:
        futures = [pool.submit(work, *job) for job in jobs]
        return _collect((future.result() for future in futures), len(jobs), notify)


def _start_worker(settings: Mapping[str, Any]) -> None:
    end_with_parent()
    make_known(settings)


def _collect(found: Iterable[Any], total: int, notify: Notify) -> list[Any]:
    """All that is found, in order; calling notify(done, total) after each."""
    results = []
    for result in found:
        results.append(result)
        if notify:
            notify(len(results), total)
    return results


def part_paths(
    step: str, profile: Profile, results: Results, names: Sequence[tuple], of_models: bool = True
) -> list[Path]:
    """Where the parts of these names lie.

    of_models: whether they are made from models and explanations of the run; of a step on one
    model, from its own alone. TypeError for a name that does not say what it stands for.
    """
    files = [path for root in PACKAGES.values() for path in sorted(root.rglob("[!.]*.py"))]
    own = step.partition("-")[2]
    folders = {project.processed(): ""} | {results.root / name: own for name in READ if of_models}
    for folder, asked in folders.items():
        held = sorted(folder.rglob("[!.]*"))
        files += [path for path in held if path.is_file() and asked in str(path)]
    said = [f"{path.name} {digest_once(path)}" for path in files]
    state = hashlib.sha256("\n".join([profile.model_dump_json(), *said]).encode()).hexdigest()
    paths = []
    for name in names:
        text = json.dumps([state, name], default=_as_text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        paths.append(results.parts(step) / f"{digest}.pickle")
    return paths


def kept_or_made(path: Path, work: Callable[..., Any], *job: object) -> Any:
    """What `work(*job)` gives: from the path, or made and put there with what it cost."""
    if path.exists():
        return pickle.loads(path.read_bytes())
    before = time.process_time()
    found = work(*job)
    note_seconds(path, time.process_time() - before)
    with write_whole(path) as part:
        part.write_bytes(pickle.dumps(found))
    return found


def _as_text(thing: object) -> str:
    """What stands for a thing in a part's name; profile and results are in the state."""
    if isinstance(thing, Profile | Results):
        return type(thing).__name__
    if isinstance(thing, Instance):
        return thing.id
    if isinstance(thing, FunctionType):
        return f"{thing.__module__}.{thing.__qualname__}"
    raise TypeError(f"a part of a step cannot be named by a {type(thing).__name__}")
