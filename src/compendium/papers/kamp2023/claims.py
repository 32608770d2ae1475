"""The claims of Kamp et al. (2023) on our runs, each with its interval and what chance gives.

Letters used for shapes: n texts, p numbers a text, j null worlds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attreval.core.seeds import Rng, generator
from compendium.config import AgreementSpec, BootstrapSpec, Profile, Run
from compendium.papers.common.claims import (
    LEAST_NULLS,
    Claim,
    Judged,
    Turn,
    Turning,
    quick_draws,
    read_claims,
    score,
    settle,
)
from compendium.papers.common.contrasts import (
    MeansOfWorld,
    Measured,
    SampleWeights,
    make_world,
    resample,
    stand,
)
from compendium.papers.common.contrasts import means as mean_values
from compendium.papers.common.runs import RUN, unlearned_table
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.tables import put_together, spell
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding, Verdict, untested
from compendium.papers.kamp2023.claim_statistics import (
    STATEMENTS,
    Means,
    named,
    published_values,
    values_of,
    with_exchanged_names,
)
from compendium.papers.kamp2023.readings import SIX, VotedText, read_runs, voters
from compendium.workflow.step import Step

# of the released code; with fewer, phrases of longer texts stay whole, and their tokens tie
SHAP_EVALUATIONS = 500
PREFERRED = ("esnli", "snli")  # the paper's texts, with people and without
OTHER_KS = (2, 3, 4, 5, 6)  # tokens, beside the 4 of the paper
PEAKS = {"released": "by the rule of the released code", "paper": "by the rule of the paper"}
SUMS = {
    "positive": "the sum of a method's gains without its losses",
    "signed": "the sum of a method's gains and losses",
}
DETAILS = spell("value low high null_scores null_names null_p q texts verdict")
Found = dict[str, Finding]  # by claim


def in_random_order(reading: VotedText, rng: Rng) -> VotedText:
    """The text with each method's scores in a random order: as long, as tied, of the same signs."""
    return replace(reading, scores={m: rng.permutation(s) for m, s in reading.scores.items()})


def values_and_worlds(
    readings: Sequence[VotedText], spec: AgreementSpec, worlds: int
) -> tuple[np.ndarray, np.ndarray]:
    """(n, p) numbers of each text, and (j, n, p) those of worlds of scores in a random order."""
    lengths = np.quantile([len(reading.tokens) for reading in readings], [1 / 3, 2 / 3])
    values = np.array([values_of(reading, spec, lengths) for reading in readings])
    null = np.empty((worlds, *values.shape))
    for at, reading in enumerate(readings):
        rng = generator("null", "scores", "agreement", reading.instance)
        for world in range(worlds):
            null[world, at] = values_of(in_random_order(reading, rng), spec, lengths)
    return values, null


def findings_of(
    values: np.ndarray,
    null: np.ndarray,
    profile: Profile,
    run: Run,
    settings: BootstrapSpec,
    spec: AgreementSpec,
) -> Found:
    """By claim: our number with its draws and null worlds.

    values: (n, p) of the run's texts; null: (j, n, p).
    """
    task, model, seed = run
    rng = generator("null", "names", "agreement", *run)
    renamed = with_exchanged_names(values, settings.nulls, rng)
    texts = range(len(values))
    sample = resample(texts, [0], settings.draws, "agreement", *run).sample(texts, [0] * len(texts))

    def world(sample: SampleWeights, of: np.ndarray) -> MeansOfWorld[Means]:
        return make_world([sample], lambda w: Means(mean_values(w[0], of), spec))

    nulls = {
        "scores": [world(sample.alone(), null)],
        "methods": [world(sample.alone(), renamed)],
        "": [],
    }
    basis = f"{task_title(task)}, {model}, seed {seed}: {len(values)} texts"
    about = replace(untested(""), texts=len(values), models=1, basis=basis)
    about = stand(about, "kamp2023", [task], [model], profile)
    measured = Measured(world(sample, values), nulls.__getitem__, about)
    marked = (~np.isnan(named(values)["people"][:, 0, 1])).sum()
    out = {}
    for claim, asked in STATEMENTS.items():
        found = measured.finding(asked)
        out[claim] = replace(found, texts=marked) if asked.of_people else found
    return out


def statistics_by_run(step: Step) -> dict[Run, Found]:
    """By run that explains by all six methods, and claim: our number and what it rests on."""
    profile = step.profile
    spec = profile.agreement
    settings = profile.bootstrap
    out = {}
    for run, readings in read_runs(step):
        if len(voters(readings)) < len(SIX):
            continue
        values, null = values_and_worlds(readings, spec, settings.nulls)
        found = findings_of(values, null, profile, run, settings, spec)
        void = "; ".join(unlearned_table(step, [run]).reason)
        out[run] = {claim: replace(one, reason=void) for claim, one in found.items()}
        given = profile.explaining_of(run[0]).shap_evaluations
        if given != SHAP_EVALUATIONS:
            metric = f"Partition SHAP of {given} evaluations, published {SHAP_EVALUATIONS}"
            out[run]["dynamic-k-shap"] = replace(out[run]["dynamic-k-shap"], metric=metric)
    return out


def claims_table(step: Step, measured: Mapping[Run, Found]) -> pd.DataFrame:
    """One row a claim of Kamp et al. 2023 with our value, its interval, its nulls and a verdict.

    A claim is decided on the first run that can test it: on the paper's texts where the profile has
    them, and on runs of enough texts before others.
    """
    order = sorted(measured, key=lambda run: [run[0] != task for task in PREFERRED])
    found = {}
    for claim in STATEMENTS if measured else ():
        tests = [measured[run][claim] for run in order if np.isfinite(measured[run][claim].value)]
        enough = [one for one in tests if one.texts >= LEAST_TEXTS and not one.reason]
        if tests:
            found[claim] = (enough or tests)[0]
    confidence = step.profile.bootstrap.confidence
    return score(read_claims("kamp2023"), found, confidence, published_values())


def claims_by_run(step: Step, measured: Mapping[Run, Found]) -> pd.DataFrame:
    """One row a claim and run, with the verdict that this run alone would give."""
    claims = read_claims("kamp2023")
    columns = ["claim", *RUN, *DETAILS]
    parts = [pd.DataFrame(columns=columns)]
    for run, found in measured.items():
        judged = score(claims, found, step.profile.bootstrap.confidence)
        parts.append(judged.assign(**dict(zip(RUN, run, strict=True))))
    return put_together(parts)[columns]


def turning(step: Step, measured: Mapping[Run, Found], judged: pd.DataFrame) -> Turning:
    """What a tested claim's number is by another run, fixed k, rule of peaks, sum, or sign."""
    basis = judged[judged.verdict != Verdict.UNTESTABLE].set_index("claim").basis
    run_of_basis = {one.basis: run for run, found in measured.items() for one in found.values()}
    own_run = {claim: run_of_basis[said] for claim, said in basis.items()}
    otherwise = {
        run: by_protocol(step, run, texts)
        for run, texts in read_runs(step)
        if run in own_run.values()
    }

    def turn(claim: Claim) -> Iterator[Turn]:
        own = own_run[claim.id]
        for run, found in measured.items():
            if run != own:
                task, model, seed = run
                how = f"{task_title(task)}, {model_title(model)}, seed {seed}"
                yield Turn("corpus", how, found.get(claim.id))
        for how, (opened, found) in otherwise[own].items():
            yield Turn("protocol", how, found.get(claim.id), open=opened)

    return turn


def judge_claims(step: Step, measured: Mapping[Run, Found]) -> Judged:
    """The verdicts on the claims of Kamp et al. 2023, and what turns each."""
    judged = claims_table(step, measured)
    turn = turning(step, measured, judged)
    return settle(read_claims("kamp2023"), judged, turn, step.profile.bootstrap.confidence)


def by_protocol(
    step: Step, run: Run, readings: Sequence[VotedText]
) -> dict[str, tuple[bool, Found]]:
    """The findings of a run by other protocols, and whether the rule is an open one.

    At other fixed k, by the other rule of peaks, by the other sum of Table 1, and unsigned.
    """
    spec = step.profile.agreement
    settings = quick_draws(step.profile.bootstrap)

    def ask(measured: tuple[np.ndarray, np.ndarray], changed: AgreementSpec) -> Found:
        return findings_of(*measured, step.profile, run, settings, changed)

    plain = values_and_worlds(readings, spec, LEAST_NULLS)
    out = {}
    for k in OTHER_KS:
        if spec.fixed_k != k <= spec.largest_k:
            out[f"{k} tokens as the fixed k"] = False, ask(plain, spec.changed(fixed_k=k))
    for improvement, how in SUMS.items():
        if improvement != spec.improvement:
            out[how] = True, ask(plain, spec.changed(improvement=improvement))
    for peaks, title in PEAKS.items():
        if peaks != spec.peaks:
            other = spec.changed(peaks=peaks)
            measured = values_and_worlds(readings, other, LEAST_NULLS)
            out[f"dynamic k {title}"] = True, ask(measured, other)
    unsigned = [
        replace(one, scores={m: np.abs(s) for m, s in one.scores.items()}) for one in readings
    ]
    measured = values_and_worlds(unsigned, spec, LEAST_NULLS)
    out["scores without their signs"] = False, ask(measured, spec)
    return out
