"""Forty deliberate breakages of the code, each of which some test must catch: how much does the
suite see?

`python tests/breakages.py` tries all, `NAME...` some, `--list` prints them. Each is tried in a copy
of the checkout of its own, in which one text of one file is replaced, with the tests that are named
for it; first, and in a copy too, all these tests must pass as things are (`--trust` leaves that
out). The status is 1 if any breakage survives. Files of src and tests are found by the end of their
path, wherever their package lies.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parents[1]
LINKED = "results/reference"  # large, and read only
TIMEOUT = 900  # seconds that the tests of one breakage may take

# a name, what it would mean to a user; the file of src and the tests; old text (-), new text (+)
ENTRIES = r"""
# ig-special-tokens: integrated gradients give special tokens a share, and the words no longer sum to what is owed
methods/integrated_gradients.py methods/test_methods.py
- base = np.where(tokens.special, tokens.ids, fill)
+ base = np.full_like(tokens.ids, fill)
# gradient-norm: dimensions of a gradient cancel out in what is called its L1 norm
methods/gradients.py methods/test_methods.py
- np.abs(answer.gradient).sum(axis=1)
+ np.abs(answer.gradient.sum(axis=1))
# occlusion-short-texts: a window longer than the text counts as long as the text, so short texts score too high
methods/occlusion.py methods/test_methods.py
- effect / size
+ effect / len(window)
# lime-distance: LIME weighs its samples by another distance than the cosine
methods/lime.py methods/test_methods.py
- 100 * (1 - np.sqrt(masks.mean(axis=1)))
+ 100 * (1 - masks.mean(axis=1))
# limsse-momentum: LIMSSE descends by plain momentum, so what has not converged is not the released code's
methods/limsse.py methods/test_descent.py
- weights + MOMENTUM * step - RATE * slope
+ weights + step
# shapley-middle-size: coalitions of half the units, their own complements, weigh twice in Shapley values
methods/shapley.py methods/test_shapley.py
- np.where(2 * sizes == n, 1, 2)
+ np.full(len(sizes), 2)
# rollout-order: attention rollout multiplies the layers from the wrong end
methods/attention.py methods/test_rollout.py
- in layers[::-1]
+ in layers
# seeds-of-texts: all texts get the same random scores and samples
methods/run.py golden/test_golden.py
- generator(*names, instance.id, method.draws or name)
+ generator(*names, method.draws or name)
# rationale-size: a rationale of 14 % of fifty tokens holds eight, by rounding of floats
metrics/erasure.py metrics/test_agreement_and_erasure.py
- ceil(round(ratio * n, 9))
+ ceil(ratio * n)
# soft-direction: Soft-NS keeps what matters least and Soft-NC removes it
metrics/soft_erasure.py metrics/test_soft_erasure.py
- chance = importance if kept else 1 - importance
+ chance = 1 - importance if kept else importance
# agreement-ties: a voter selects every token that is tied at the border
metrics/agreement.py metrics/test_agreement_and_erasure.py
- ties = [(one.tied, one.left) for one
+ ties = [(one.tied, int(one.tied.sum())) for one
# pointing-ties: of equal highest scores the first is pointed at, in place of the expectation
metrics/pointing_game.py metrics/test_pointing_game.py
- float(evidence[scores == scores.max()].mean())
+ float(evidence[scores == scores.max()][0])
# pieces-to-words: a word scores what its last piece scores, in place of the sum
core/units.py metrics/test_unified.py
- out[at[feature[0]]] += value
+ out[at[feature[0]]] = value
# tau-ties: rank correlations of judges with ties are too low (tau-a in place of tau-b)
metrics/rank_correlation.py metrics/test_rank_correlation.py
- np.sqrt((left**2).sum(axis=-1) * (right**2).sum(axis=-1))
+ np.full(left.shape[:-1], float(left.shape[-1]))
# direction-naopc: normalised sufficiency is said to be better when high
metrics/normalised_aopc.py metrics/test_registry.py
- higher_is_better=False
+ higher_is_better=True
# p-one-sided: p-values of claims are one-sided, half of what they should be
common/verdicts.py common/test_verdicts.py
- 2 * (fewer + 1)
+ 1 * (fewer + 1)
# p-unadjusted: p-values are not adjusted for the number of claims, so too many are contradicted or reproduced
common/verdicts.py common/test_verdicts.py
- out[known] = false_discovery_control(p[known])
+ out[known] = p[known]
# interval-ends: 95 % intervals are 90 % intervals
core/bootstrap.py metrics/test_agreement_and_erasure.py
- [(1 - confidence) / 2, (1 + confidence) / 2]
+ [1 - confidence, confidence]
# cross-fitting: the best of many methods is chosen by the texts that its value is read from
common/contrasts.py common/test_resampling.py
- fit = mean([one.weights * (one.folds != fold) for one in samples])
+ fit = mean([one.weights * (one.folds == fold) for one in samples])
# null-names: names are exchanged alike in all texts, so what chance gives spreads far too widely
common/contrasts.py common/test_resampling.py
- rng.random((worlds, n, m)).argsort(axis=2)
+ np.repeat(rng.random((worlds, 1, m)), n, axis=1).argsort(axis=2)
# precision-key: an answer in the faster precision is given to those who ask for the exact one
questions/logits.py models/test_scorer.py
- key = (precision, ids.tobytes(), segments.tobytes())
+ key = (ids.tobytes(), segments.tobytes())
# padding-cnn: what a CNN says of a text depends on the length of its neighbours in the batch
words/layers.py models/test_word_models.py
- g.masked_fill(~mask, 0).max(dim=0)
+ g.max(dim=0)
# best-checkpoint: where accuracy is watched, the worst checkpoint of a training is kept
models/unfinished.py models/test_word_models.py
- score = 1 - getattr(dev, watch)
+ score = getattr(dev, watch)
# write-in-place: a run that is cut off while it writes leaves half a table under the final name
core/tables.py core/test_tables.py
-         yield part
-         with part.open("rb") as handle:
-             os.fsync(handle.fileno())
-         os.replace(part, path)
+         yield path
# parts-of-other-settings: after a changed parameter an interrupted step goes on with parts made by the old one
workflow/parallel.py workflow/test_parallel.py
- "\n".join([profile.model_dump_json(), *said])
+ "\n".join(said)
# imports-of-imports: a changed module that is imported by way of another does not make a step stale
compendium/imports.py workflow/test_staleness.py
- todo += _imported(path.read_text(encoding="utf-8"))[0]
+ todo += []
# var-missing: a number that is not there is silently left out of the text
shortcodes.py test_pandoc.py
-         if argument not in variables:
-             near = hint(argument, variables)
-             raise ReportError(f"no number {argument!r} in _variables.yml; {near}")
-         return variables[argument]
+         return variables.get(argument, "")
# float-numbers: tables are numbered on from the figures, and references to them are wrong
pandoc.py test_pandoc.py
- str(counts[kind])
+ str(sum(counts.values()))
# quote-at-the-end: words of a corpus are committed where they end what is written
quotes.py test_publishing.py
- range(len(stream) - size + 1)
+ range(len(stream) - size)
# stale-pages: notebooks and tables of an earlier run stay on the site
rendering.py test_site.py::test_staging_again_removes_what_is_stale
- elif path.name not in keep:
+ elif False:
# rival-is-oneself: the best rival of the recommended method is the method itself, so that none is ever better
evaluation/choice.py evaluation/test_page.py
- others = ~np.isin(names, [method, "random"])
+ others = ~np.isin(names, ["random"])
# judges-before-diagnosis: judges or models are compared before the diagnosis has said anything, or of its last run
workflow/steps.py workflow/test_staleness.py
- graph.executed("07_sun2024", _judging("diagnosis")(graph))
+ graph.executed("07_sun2024", [])
# explanation-of-another: an evaluated text carries the label and marks of no text
evaluation/judged.py evaluation/test_evaluate.py
- Judged(replace(one, instance=instance), of_text, seconds)
+ Judged(one, of_text, seconds)
# runs-of-a-place: places of a method over many runs are said to be of one
joint/standing.py joint/test_standing.py
- counts = {metric: len(found) for metric, found in runs.items()}
+ counts = {metric: 1 for metric in runs}
# illegible-counts: published values that cannot be read count as the others do
site/beside.py site/test_beside.py
- counted = here[here.counts]
+ counted = here
# hardest-world: which planted model is the hardest depends on explainers that nobody needs to tell from the truth
planted/sentences.py trial/test_verdict.py
- rows = cells[cells.explainer.isin(NEEDED)]
+ rows = cells
# why-untested: a claim that too few texts could test does not say so
zhao2023/claims.py zhao2023/test_zhao_tables.py
- why = [f"no task of {LEAST_TEXTS} texts or more tests it"]
+ why = []
# whose-deeplift: what is claimed of DeepLIFT is asked of the first method
zhao2023/claim_statistics.py papers/test_turned_claims.py papers/test_null_worlds.py
- at = cells.methods.index("deeplift")
+ at = 0
# agreement-of-one: agreement of methods is always that of one token, whatever k a claim is about
kamp2023/claim_statistics.py papers/test_turned_claims.py papers/test_null_worlds.py
- for pair in pairs], k].T)
+ for pair in pairs], 1].T)
# spans-in-the-explorer: the explorer shows no pairs and spans
explorer/read.py explorer/test_explorer.py notebooks/test_explorer_tables.py
- features[method] = _first_features(record, tokens, units, run)
+ pass
"""  # noqa: E501


class Breakage(NamedTuple):
    name: str
    meaning: str
    file: str
    tests: list[str]
    old: str
    new: str


def read_entries() -> dict[str, Breakage]:
    """The breakages by name."""
    out = {}
    for entry in re.split("^# ", ENTRIES, flags=re.MULTILINE)[1:]:
        title, places, *lines = entry.splitlines()
        name, _, meaning = title.partition(": ")
        file, *tests = places.split()
        old, new = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
        out[name] = Breakage(name, meaning, file, tests, old, new)
    return out


def locate(folder: str, end: str) -> str:
    """The one path below a folder of the checkout that ends so. SystemExit where there is none, or
    several.
    """
    found = [p.relative_to(HOME).as_posix() for p in (HOME / folder).rglob(Path(end).name)]
    found = [path for path in found if f"/{path}".endswith(f"/{end}")]
    if len(found) != 1:
        raise SystemExit(
            f"breakages: looked for one {folder}/**/{end}, found {', '.join(found) or 'none'}"
        )
    return found[0]


def place(breakage: Breakage) -> tuple[str, list[str]]:
    """The file to be broken, whose old text stands there once, and the tests. SystemExit where it
    does not.
    """
    file = locate("src", breakage.file)
    times = (HOME / file).read_text(encoding="utf-8").count(breakage.old)
    if times != 1:
        raise SystemExit(
            f"breakages: {breakage.name} looked once for {breakage.old!r} in {file}, found it "
            f"{times} times"
        )
    named = (test.partition("::") for test in breakage.tests)
    return file, [locate("tests", end) + colons + node for end, colons, node in named]


@contextmanager
def copied():
    """A copy of the checkout, without what git ignores."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        listed, cwd=HOME, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="breakage-") as folder:
        copy = Path(folder) / "repo"
        for name in names:
            if name and (HOME / name).is_file() and not name.startswith(LINKED):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(HOME / name, copy / name)
        if (HOME / LINKED).exists():
            (copy / LINKED).parent.mkdir(parents=True, exist_ok=True)
            (copy / LINKED).symlink_to(HOME / LINKED)
        yield copy


def run_tests(copy: Path, tests: list[str], timeout: float, *more: str) -> tuple[int, str]:
    """pytest's status (-1: it took too long), and what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATTREVAL_")}
    env = kept | {
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'tests'}",
        "HYPOTHESIS_PROFILE": "first",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *more, *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=env, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return -1, f"not done after {timeout:.0f} seconds"
    return done.returncode, done.stdout + done.stderr


def attempt(breakage: Breakage) -> tuple[bool, str]:
    """Whether the tests catch it, and a line that says so."""
    file, tests = place(breakage)
    with copied() as copy:
        path = copy / file
        path.write_text(
            path.read_text(encoding="utf-8").replace(breakage.old, breakage.new), encoding="utf-8"
        )
        status, printed = run_tests(copy, tests, TIMEOUT)
    failed = re.search(r"^FAILED (.+?)(?= - |$)", printed, re.MULTILINE)
    # anything else says nothing of the code: no test ran to its end
    caught = status == 1 and failed is not None
    why = "" if status in (0, 1) else f" (status {status}: {printed.strip()[-300:]})"
    said = f"caught by {failed.group(1)}" if caught else f"SURVIVED {' '.join(tests)}{why}"
    return caught, f"{breakage.name:24} {file:48} {said}"


def main() -> int:
    """The status: 1 if any breakage survives."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="breakages to try; all where none is named"
    )
    parser.add_argument(
        "--list", action="store_true", help="print names, files and meanings, and try nothing"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many side by side")
    parser.add_argument(
        "--trust", action="store_true", help="do not check that the tests pass as things are"
    )
    given = parser.parse_args()
    entries = read_entries()
    if unknown := [name for name in given.names if name not in entries]:
        parser.error(f"no breakage {unknown[0]!r}; there are: {', '.join(entries)}")
    chosen = [entries[name] for name in given.names or entries]
    places = [place(breakage) for breakage in chosen]
    if given.list:
        for breakage, (file, _) in zip(chosen, places, strict=True):
            print(f"{breakage.name:24} {file:48} {breakage.meaning}")
        return 0
    if not given.trust:
        tests = sorted({test for _, tests in places for test in tests})
        with copied() as copy:
            status, printed = run_tests(
                copy, tests, TIMEOUT * 2, "-n", str(given.jobs), "--dist", "loadfile"
            )
        if status:
            raise SystemExit(
                f"{printed[-3000:]}\nbreakages: these tests must pass before anything is broken"
            )
        print(f"{len(tests)} test files pass as things are", flush=True)
    survived = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for caught, line in pool.map(attempt, chosen):
            survived += not caught
            print(line, flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} caught")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
