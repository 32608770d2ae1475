"""What is known of one explained text? Explanations, evidence and judges' scores, read from a run's results.

Only files are read; no model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from attreval import corpora
from attreval.config import Profile, Run
from attreval.core.project import Results
from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.tables import read_values
from attreval.core.units import Units, find_units
from attreval.explain import METHODS
from attreval.metrics.human_agreement import token_marks
from attreval.metrics.pointing_game import find_games
from attreval.metrics.unified.gold import read_gold
from attreval.metrics.unified.ranking import Feature, rank_features
from attreval.papers.common.evidence import borrowed_evidence, with_evidence
from attreval.papers.common.runs import load_attributions, load_tokens, load_typed_attributions, load_typed_tokens
from attreval.papers.common.sample import evaluated_instances, to_explain

MOST_PIECES = 12  # pairs, or pairs of spans, of one explanation
RUN = ["task", "model", "seed"]
SAID_BY = ("04_poerner2018", "06_zhao2023", "07_sun2024")  # notebooks that keep what they say of single instances
FACTS = ("methods", "methods_dynamic", "people")


@dataclass(frozen=True)
class Shown:
    """One explained instance of one run, as the page shows it; W words, n content tokens, A annotators.

    scores: (n,) by method, pairs and spans projected to tokens. pieces: by method the first pairs or spans with their
    scores, as places among the content tokens. marks: (A, n). evidence: (n,) bool by game. relations: what people
    related. judged: measure -> method -> value. facts: what notebook 05 says of the text as a whole.
    """

    run: Run
    instance: Instance
    tokens: Tokens
    target: int
    predicted: int
    probability: float
    scores: dict[str, np.ndarray]
    pieces: dict[str, list[tuple[Feature, float]]] = field(default_factory=dict)
    marks: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    evidence: dict[str, np.ndarray] = field(default_factory=dict)
    relations: tuple[Feature, ...] = ()
    judged: dict[str, dict[str, float]] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A run whose explanations are at hand: its instances, in the order of the task's table."""

    run: Run
    instances: list[Instance]


def find_sources(results: Results, profile: Profile) -> tuple[list[Source], list[str]]:
    """The runs that can be shown, and for each that cannot what is not at hand."""
    sources, gaps = [], []
    runs = dict.fromkeys([*profile.explained_runs(), *profile.explained_runs("diagnosis")])
    for run in sorted(runs, key=lambda one: list(corpora.TASKS).index(one[0])):
        task, model, seed = run
        name = f"{task}, {model}, seed {seed}"
        shards, parts = range(profile.explaining_of(task).shards), range(profile.diagnosis.parts)
        explained = all(results.attributions(*run, shard).exists() for shard in shards)
        typed = all(results.typed_attributions(*run, part).exists() for part in parts)
        read = [results.tokens(*run, shard) for shard in shards] if explained else []
        read += [results.typed_tokens(*run, part) for part in parts] if typed else []
        if not (explained or typed):
            gaps.append(f"{name}: no explanations")
        elif not corpora.table_path(task).exists():
            gaps.append(f"{name}: the table of the task is not here")
        elif not all(path.exists() for path in read):
            gaps.append(f"{name}: how the model reads the texts is not here")
        else:
            sources.append(
                Source(run, to_explain(profile, task, model) if explained else evaluated_instances(profile, task))
            )
    return sources, gaps


def read_judged(results: Results) -> pd.DataFrame:
    """What notebooks 04, 06 and 07 say of single instances; see tables.VALUE_SCHEMA."""
    return read_values(*(path for name in SAID_BY if (path := results.instances / f"{name}.parquet").exists()))


def read_shown(
    results: Results, profile: Profile, source: Source, places: Iterable[int], values: pd.DataFrame
) -> list[Shown]:
    """The instances of a run at these places. values: of read_judged."""
    task, model, seed = run = source.run
    chosen = [source.instances[place] for place in places]
    explained = load_if_there(load_attributions, results, profile, run)
    typed = load_if_there(load_typed_attributions, results, profile, run)
    tokens_of = load_if_there(load_typed_tokens, results, profile, run)
    tokens_of |= load_if_there(load_tokens, results, profile, run)
    lent = borrowed_evidence(task) if typed else {}
    predictions = read_predictions(results, profile, run)
    facts = read_facts(results, run)
    values = values[(values.task == task) & (values.model == model) & (values.seed == seed)]
    judged: dict[str, dict[str, dict[str, float]]] = {}
    for row in values[values.instance.isin([i.id for i in chosen])].itertuples():
        judged.setdefault(row.instance, {}).setdefault(row.measure, {})[row.method] = row.value
    out = []
    for instance in chosen:
        own, of_types = explained.get(instance.id, {}), typed.get(instance.id, {})
        records = {m: r for m, r in (of_types | own).items() if m in METHODS}
        if not records:
            continue
        tokens = tokens_of[instance.id]
        label, probability = predictions.get(instance.id, (-1, float("nan")))
        target = next(iter(records.values())).target
        units = find_units(tokens, profile.diagnosis.units.unit)
        gold = read_gold(with_evidence(instance, lent), tokens, units) if of_types else []
        shown = Shown(
            run,
            instance,
            tokens,
            target,
            label if label >= 0 else target,
            probability,
            {m: records[m].on_tokens(len(tokens))[tokens.content] for m in METHODS if m in records},
            {m: first_pieces(r, tokens, units, run) for m, r in records.items() if r.level != "token"},
            token_marks(instance, tokens) if len(instance.evidence.marks) else np.zeros((0, len(tokens.content))),
            read_evidence(profile, run, instance, tokens, label),
            tuple(on_content(p, tokens, units) for p in gold[0].pieces["high"]) if gold else (),
            judged.get(instance.id, {}),
            facts.get(instance.id, {}),
        )
        out.append(shown)
    return out


def load_if_there(load: Callable[..., dict], results: Results, profile: Profile, run: Run) -> dict:
    """What `load` gives by instance; empty where the run has none of these."""
    try:
        return load(results, profile, *run)
    except FileNotFoundError:
        return {}


def on_content(piece: Feature, tokens: Tokens, units: Units) -> Feature:
    """A piece of units as places among the content tokens."""
    place = {position: at for at, position in enumerate(tokens.content.tolist())}
    first, second = (tuple(place[p] for u in part for p in units.groups[u] if p in place) for part in piece)
    return first, second


def first_pieces(record: Attribution, tokens: Tokens, units: Units, run: Run) -> list[tuple[Feature, float]]:
    """The highest pairs or spans of an explanation in the order in which the diagnosis takes them."""
    ranking = rank_features(record, units, generator("ties", *run, record.instance, record.method))
    pairs = zip(ranking.features[:MOST_PIECES], ranking.scores, strict=False)
    return [(on_content(piece, tokens, units), float(score)) for piece, score in pairs]


def read_evidence(
    profile: Profile, run: Run, instance: Instance, tokens: Tokens, predicted: int
) -> dict[str, np.ndarray]:
    """Where the pointing game looks for the highest score, (n,) bool by game; empty for texts that are not played."""
    if "pointing" not in profile.task_of(*run[:2]).judges or predicted < 0:
        return {}
    word = tokens.word[tokens.content]
    covered = np.isin(np.arange(len(instance.words)), word)
    games = find_games(instance, predicted, covered, profile.pointing.affix)
    return {g.metric: g.evidence[word] & (word >= 0) for g in games if not g.discarded}


def read_predictions(results: Results, profile: Profile, run: Run) -> dict[str, tuple[int, float]]:
    """The predicted class and its probability by instance, as notebooks 03_explain and 07_sun2024_explanations say."""
    steps = [("07_sun2024_explanations", *run, part) for part in range(profile.diagnosis.parts)]
    steps += [("03_explain", *run, shard) for shard in range(profile.explaining_of(run[0]).shards)]
    rows = [row for step in steps for row in read_table(results.table("instances", *step)).to_dict("records")]
    return {row["instance"]: (int(row["predicted"]), float(row.get("probability", np.nan))) for row in rows}


def read_facts(results: Results, run: Run) -> dict[str, dict[str, float]]:
    """What notebook 05 says of each text of a run as a whole, by instance: agreement of its six methods, of people."""
    table = read_table(results.tables / "05_kamp2023_sentences.csv")
    if not len(table):
        return {}
    part = table[(table.task == run[0]) & (table.model == run[1]) & (table.seed == run[2])]
    return {row["instance"]: {n: row[n] for n in FACTS if pd.notna(row[n])} for row in part.to_dict("records")}


def read_table(path: Path) -> pd.DataFrame:
    """A CSV table, empty where it is not there."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame()
