"""What every metric gives every explanation of the same models and texts, higher is better.

Explanations of tokens: metrics are asked of what notebook 03 has stored; what notebooks 04 and 06
have kept of single texts is read, and the model is asked through the ledger what nobody has asked
it yet. Explanations of several types: what notebook 07_sun2024 has kept of single texts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Cost, Instance, Tokens
from attreval.metrics import METRICS
from attreval.metrics.erasure import predicted_class
from attreval.metrics.metric import Metric
from attreval.metrics.scored_text import RANDOM, ScoredText, Settings, without_asking
from attreval.models.questions import Conversation
from attreval.models.scorer import Scorer
from compendium.config import ModelSpec, Profile, Run
from compendium.papers.common import runs
from compendium.papers.common.tables import put_together, spell
from compendium.papers.common.trained_models import open_run
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust, discovery_rate
from compendium.papers.zhao2023.erasure import random_scores
from compendium.papers.zhao2023.settings import query_segment, rule_protocol
from compendium.project import Results
from compendium.workflow.instance_values import read_values
from compendium.workflow.step import Step

BATCHED_TEXTS = 4  # instances that share batches
COLUMNS = spell("task model seed instance method metric value")
STORED_BY = ("04_poerner2018", "06_zhao2023")
# soft erasure at equal mean strengths: raw ones would rank methods by how much of a text they keep
ERASURE = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")
GAMES = ("hybrid", "manual", "hit_target")  # of the pointing game, which notebook 04 alone plays
STORED_METRICS = dict.fromkeys(GAMES, "pointing") | {METRICS[name].stored: name for name in ERASURE}
JOINT = {name: metric for name, metric in METRICS.items() if metric.joint}
JUDGES = {name: metric.judge for name, metric in JOINT.items()}
# what explanations of tokens offer, of what metrics need
OFFERED = {"scores", "rivals", "random", "marks", "model"}
# in the order of the tables: what takes no model, what notebook 04 has stored, what takes one
OF_TOKENS = sorted(
    (m for m in JOINT.values() if not m.notebook and OFFERED.issuperset(m.needs)),
    key=lambda metric: ("model" in metric.needs, metric.name == "pointing"),
)

ATTENTIVE = ("transformer", "encoder_decoder")  # architectures
TRANSFORMERS = "transformers"  # pretrained ones; the three families of models
SCRATCH = "transformers from scratch"
WORDS = "recurrent and convolutional networks"
MIXED = "one of each"  # of WORDS and TRANSFORMERS
OF_TWO = {  # kinds of pairs whose models are of two families
    frozenset({WORDS, TRANSFORMERS}): MIXED,
    frozenset({WORDS, SCRATCH}): "one of each, from scratch",
    frozenset({SCRATCH, TRANSFORMERS}): "two transformers, one from scratch",
}

BY_CHANCE = "no more than by chance"
TOO_FEW = "too few texts"

Known = dict[tuple[str, str], float]  # (metric, method) -> value


def judged(scores: pd.DataFrame) -> pd.DataFrame:
    """What the papers' judges say of methods, random scores left out; by method and metric."""
    return scores[(scores.method != "random") & (scores.metric.map(JUDGES) != "")]


def family_of(model: ModelSpec) -> str:
    """The family of models that one belongs to: TRANSFORMERS, SCRATCH or WORDS."""
    if model.architecture not in ATTENTIVE:
        return WORDS
    return TRANSFORMERS if model.weights or model.start else SCRATCH


def shared_family(first: ModelSpec, second: ModelSpec) -> str:
    """The family of two models, or which kind of pair they are, where they are of two."""
    both = {family_of(first), family_of(second)}
    return OF_TWO[frozenset(both)] if len(both) > 1 else both.pop()


def judge_chance(table: pd.DataFrame, confidence: float, found: str) -> pd.DataFrame:
    """The table with q, its p at the false discovery rate of all rows, and a verdict.

    verdict: `found` where q is low, BY_CHANCE otherwise, TOO_FEW for fewer than LEAST_TEXTS texts.
    """
    q = adjust(table.p)
    said = np.where(q <= discovery_rate(confidence), found, BY_CHANCE)
    return table.assign(q=q, verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said))


def token_jobs(step: Step) -> list[tuple]:
    """What `score_instances` is to be called with, a few instances each.

    Of runs whose model has learned its task.
    """
    profile = step.profile
    taken = profile.joint_runs()
    unlearned = runs.unlearned_table(step, taken, of_papers=False)
    learned = runs.drop_unlearned(pd.DataFrame(taken, columns=runs.RUN), unlearned)
    jobs = []
    for run in learned.itertuples(index=False, name=None):
        starts = range(0, profile.joint_rows(*run[:2]), BATCHED_TEXTS)
        jobs += [(step.results, profile, run, start) for start in starts]
    return jobs


def score_instances(
    results: Results, profile: Profile, run: Run, start: int
) -> tuple[pd.DataFrame, dict[str, Cost]]:
    """(values as COLUMNS, some NaN; costs by account) of a few instances from `start`.

    Of their token explanations.
    """
    task, model, _ = run
    scorer = open_run(results, profile, run)
    records = runs.load_records_once(results, profile, *run)
    stored = read_stored_metrics(results, profile, *run)
    methods = runs.common_methods(records)
    borrowed = runs.borrowed_evidence(task)
    kept = {"pointing"}
    if profile.explaining_of(task).target == "predicted":  # the class that notebook 06 asks about
        kept.update(ERASURE)
    taken = runs.to_explain(profile, task, model)[: profile.joint_rows(task, model)]
    texts = []
    for instance in taken[start : start + BATCHED_TEXTS]:
        tokens = scorer.model.tokens(instance)
        explained = records[instance.id]
        of_text = stored.get(instance.id, {})
        known = {key: value for key, value in of_text.items() if key[0] in kept}
        target = next(iter(explained.values())).target
        marked = runs.with_evidence(instance, borrowed)
        scores = stored_scores(explained, methods, tokens)
        texts.append(score_text(profile, run, marked, tokens, scores, target, known))
    asked = profile.joint.asked_of(task, profile.rows_explained(task, model))
    return ask_of_run(scorer, run, texts[: max(0, asked - start)], texts), scorer.costs


def stored_scores(
    explained: Mapping[str, Attribution], methods: Iterable[str], tokens: Tokens
) -> dict[str, np.ndarray]:
    """Method -> the scores that it gives each content token of a text."""
    return {method: explained[method].on_content(tokens) for method in methods}


def score_text(
    profile: Profile,
    run: Run,
    instance: Instance,
    tokens: Tokens,
    scores: Mapping[str, np.ndarray],
    target: int | None,
    known: Known | None = None,
) -> ScoredText:
    """One text as metrics are asked about it, with random scores where none explained it."""
    names = (*run, instance.id)
    drawn = {} if RANDOM in scores else {RANDOM: random_scores(tokens, *names)}
    spec = profile.agreement
    settings = Settings(
        k=spec.fixed_k,
        peaks=spec.peaks,
        ties=spec.ties,
        people=spec.people,
        protocol=replace(rule_protocol(profile, run[0], "equal_means"), ties="half"),
        query=query_segment(run[0]),
        compared=ERASURE,
    )
    every = dict(scores) | drawn
    return ScoredText(instance, tokens, every, target, names, settings, found=dict(known or {}))


def ask_of_run(
    scorer: Scorer, run: Run, asked: Sequence[ScoredText], texts: Sequence[ScoredText]
) -> pd.DataFrame:
    """The values of a run's texts as COLUMNS; see `ask_metrics`."""
    rows = []
    for text, found in zip(texts, ask_metrics(scorer, asked, texts), strict=True):
        rows += [(*run, text.instance.id, *value) for value in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def ask_metrics(
    scorer: Scorer,
    asked: Sequence[ScoredText],
    texts: Sequence[ScoredText],
    metrics: Sequence[Metric] = OF_TOKENS,
) -> list[list[tuple[str, str, float]]]:
    """(method, metric, value) of each text; a method is an account of the ledger.

    asked: the texts of which the model is asked; of the others what is known already is said.
    """
    if hasattr(scorer.model, "refusal") and scorer.model.refusal("entry"):
        metrics = [metric for metric in metrics if not metric.disturbs]

    def ask_each(part: list[Metric], text: ScoredText, method: str) -> Conversation:
        for metric in part:
            yield from metric.ask(text, method)

    of_model = [metric for metric in metrics if "model" in metric.needs]
    # what compares with random scores comes last: nothing is asked twice
    for last in (False, True):
        part = [metric for metric in of_model if ("random" in metric.needs) == last]
        scorer.converse(
            (method, ask_each(part, text, method)) for text in asked for method in text.scores
        )
    return [list(_values_of(text, metrics)) for text in texts]


def _values_of(text: ScoredText, metrics: Sequence[Metric]) -> Iterator[tuple[str, str, float]]:
    """What is known of a text, or takes no model.

    Values of the model are left out where another class than the predicted one is explained, and
    where not every method has one: methods are compared on the same texts.
    """
    other_class = predicted_class(text) not in (None, text.target)
    for metric in metrics:
        found = {}
        if metric.name == "pointing":  # by the evidence and the rules of notebook 04
            played = [method for method in text.scores if ("pointing", method) in text.found]
            found = {method: text.found["pointing", method] for method in played}
        elif "marks" not in metric.needs or text.evidence.any():
            found = {method: without_asking(metric.ask(text, method)) for method in text.scores}
        of_model = "model" in metric.needs
        if not (of_model and (other_class or np.isnan(list(found.values())).any())):
            yield from ((method, metric.name, value) for method, value in found.items())


def stored_files(results: Results, *_: object) -> list[Path]:
    """What notebooks 04 and 06 have kept of single texts, as far as they have run."""
    paths = [results.kept("instances", notebook) for notebook in STORED_BY]
    return [path for path in paths if path.exists()]


@runs.kept_for_run(stored_files, 4)
def read_stored_metrics(results: Results, _: Profile, *run: *Run) -> dict[str, Known]:
    """Instance -> (metric, method) -> value: what notebooks 04 and 06 have kept of a run."""
    table = read_values(results, *STORED_BY)
    out: dict[str, Known] = {}
    for row in runs.of_run(table[table.measure.isin(STORED_METRICS)], run).itertuples():
        out.setdefault(row.instance, {})[STORED_METRICS[row.measure], row.method] = row.value
    return out


def keep_scores(step: Step, of_tokens: pd.DataFrame) -> pd.DataFrame:
    """Keep the values of token explanations, by text; give them with those of several types."""
    step.keep("instances", of_tokens.rename(columns={"metric": "measure"}))
    return _with_unified(step, of_tokens)


def read_scores(step: Step) -> pd.DataFrame:
    """The values that notebook 08_joint has kept, and those of several types."""
    return _with_unified(step, _read_kept(step, "08_joint"))


def _with_unified(step: Step, of_tokens: pd.DataFrame) -> pd.DataFrame:
    """Values by text, with a column granularity.

    Of tokens, and what notebook 07_sun2024 has kept of explanations of several types. Texts that
    are only shown are left out.
    """
    judged = of_tokens[~of_tokens.task.isin(step.profile.only_shown)]
    frames = [judged.assign(granularity="tokens")]
    if step.profile.explained_runs("diagnosis"):
        kept = _read_kept(step, "07_sun2024")
        frames.append(kept[kept.metric.isin(JOINT)].assign(granularity="unified"))
    return put_together(frames)


def _read_kept(step: Step, notebook: str) -> pd.DataFrame:
    """What a notebook has kept of single texts."""
    step.results.existing(step.results.kept("instances", notebook), notebook)
    return read_values(step.results, notebook).rename(columns={"measure": "metric"})
