"""Explained texts as a run has left them: attributions, human evidence, and metrics' values.

Only files are read; no model is loaded.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.tables import read_csv
from attreval.core.units import Units, find_units
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.pointing_game import find_games
from attreval.metrics.scored_text import token_marks
from attreval.metrics.unified.faithfulness import Feature, rank_features
from attreval.metrics.unified.plausibility import read_gold
from compendium import corpora
from compendium.config import Profile, Run
from compendium.papers.common.runs import (
    RUN,
    borrowed_evidence,
    evaluated_instances,
    load_attributions,
    load_tokens,
    load_typed_attributions,
    load_typed_tokens,
    of_run,
    to_explain,
    with_evidence,
)
from compendium.papers.kamp2023.readings import PEOPLE
from compendium.papers.poerner2018.hits import affix_of
from compendium.project import Results
from compendium.workflow.instance_values import read_values

MOST_FEATURES = 12  # pairs, or pairs of spans, of one explanation
# notebooks that keep metrics' values of single texts
VALUES_OF = ("04_poerner2018", "06_zhao2023", "07_sun2024")
TEXT_AGREEMENT = ["methods", "methods_dynamic", "people"]  # columns of notebook 05


@dataclass(frozen=True)
class ExplainedText:
    """One explained instance of one run; n content tokens, A annotators.

    scores: (n,) by method, pairs and spans projected to tokens. features: by method the first pairs
    or spans with their scores, as places among the content tokens. marks: (A, n). evidence: (n,)
    bool by game. relations: what people related. metrics: metric -> method -> value.
    text_agreement: of the six methods, and of people (notebook 05).
    """

    run: Run
    instance: Instance
    tokens: Tokens
    target: int
    predicted: int
    probability: float
    scores: dict[str, np.ndarray]
    features: dict[str, list[tuple[Feature, float]]]
    marks: np.ndarray
    evidence: dict[str, np.ndarray]
    metrics: dict[str, dict[str, float]]
    text_agreement: dict[str, float]
    relations: tuple[Feature, ...] = ()


def runs_to_show(results: Results, profile: Profile) -> tuple[dict[Run, list[Instance]], list[str]]:
    """The runs that can be shown with their instances, and what is missing of the others."""
    found = {}
    gaps = []
    runs = dict.fromkeys([*profile.explained_runs(), *profile.explained_runs("diagnosis")])
    tasks = list(corpora.TASKS)
    for run in sorted(runs, key=lambda one: tasks.index(one[0])):
        task, model, seed = run
        name = f"{task}, {model}, seed {seed}"
        shards = range(profile.explaining_of(task).shards)
        parts = range(profile.diagnosis.parts)
        explained = all(results.attributions(*run, shard).exists() for shard in shards)
        typed = all(results.typed_attributions(*run, part).exists() for part in parts)
        token_tables = [results.tokens(*run, shard) for shard in shards] if explained else []
        token_tables += [results.typed_tokens(*run, part) for part in parts] if typed else []
        if not (explained or typed):
            gaps.append(f"{name}: no explanations")
        elif not corpora.table_path(task).exists():
            gaps.append(f"{name}: the table of the task is not here")
        elif not all(path.exists() for path in token_tables):
            gaps.append(f"{name}: how the model reads the texts is not here")
        elif explained:
            found[run] = to_explain(profile, task, model)
        else:
            found[run] = evaluated_instances(profile, task)
    return found, gaps


def instance_values(results: Results, only_shown: Sequence[str]) -> pd.DataFrame:
    """What notebooks 04, 06 and 07 have measured on single instances; see instance_values.

    only_shown: tasks that 08_joint alone has measured.
    """
    joint = read_values(results, "08_joint")
    shown = joint[joint.task.isin(only_shown)]
    named = shown.assign(measure=[METRICS[name].stored or name for name in shown.measure])
    return pd.concat([read_values(results, *VALUES_OF), named], ignore_index=True)


def take_turns(counts: Mapping[Run, int], most: int) -> list[tuple[Run, int]]:
    """(run, place in the run's table) of the instances to show, in the order of taking them.

    Tasks take turns, and within a task its runs do, each with its next instance, until `most` are
    taken or none is left; tables lie in a random order, so the first instances of a run are a
    random sample. counts: by run.
    """
    turns_of_tasks: dict[str, list[tuple[Run, int]]] = {run[0]: [] for run in counts}
    for place in range(max(counts.values(), default=0)):
        for run in (run for run, count in counts.items() if place < count):
            turns_of_tasks[run[0]].append((run, place))
    rounds = zip_longest(*turns_of_tasks.values())
    return [turn for turns in rounds for turn in turns if turn][:most]


def texts_of_run(
    results: Results, profile: Profile, run: Run, chosen: Iterable[Instance], values: pd.DataFrame
) -> list[ExplainedText]:
    """These instances of a run, those that somebody has explained. values: of read_values."""
    tokens_of = _load_if_there(load_typed_tokens, results, profile, run)
    tokens_of |= _load_if_there(load_tokens, results, profile, run)
    explained = _load_if_there(load_attributions, results, profile, run)
    typed = _load_if_there(load_typed_attributions, results, profile, run)
    borrowed = borrowed_evidence(run[0]) if typed else {}
    predictions = _read_predictions(results, profile, run)
    agreement = _read_text_agreement(results, run)
    metrics: dict[str, dict[str, dict[str, float]]] = {}
    for row in of_run(values, run).itertuples():
        metrics.setdefault(row.instance, {}).setdefault(row.measure, {})[row.method] = row.value
    out = []
    for instance in chosen:
        name = instance.id
        found = typed.get(name, {}) | explained.get(name, {})
        records = {method: found[method] for method in METHODS if method in found}
        if not records:
            continue
        tokens = tokens_of[name]
        units = find_units(tokens, profile.diagnosis.units.unit)
        target = next(one.target for method, one in found.items() if method in METHODS)
        predicted, probability = predictions.get(name, (-1, np.nan))
        scores = {}
        features = {}
        for method, record in records.items():
            scores[method] = record.on_content(tokens)
            if record.level != "token":
                features[method] = _first_features(record, tokens, units, run)
        marks = np.zeros((0, len(tokens.content)))
        if len(instance.evidence.marks):
            marks = token_marks(instance, tokens)
        relations: tuple[Feature, ...] = ()
        if name in typed and (gold := read_gold(with_evidence(instance, borrowed), tokens, units)):
            pairs = gold[0].interactions["high"]
            relations = tuple(_on_content(pair, tokens, units) for pair in pairs)
        text = ExplainedText(
            run,
            instance,
            tokens,
            target,
            predicted if predicted >= 0 else target,
            probability,
            scores,
            features=features,
            marks=marks,
            evidence=_read_evidence(profile, run, instance, tokens, predicted),
            relations=relations,
            metrics=metrics.get(name, {}),
            text_agreement=agreement.get(name, {}),
        )
        out.append(text)
    return out


def _read_text_agreement(results: Results, run: Run) -> dict[str, dict[str, float]]:
    """What notebook 05 says of agreement on each text, by instance."""
    sentences = of_run(_read_table(results.tables / "05_kamp2023_sentences.csv"), run)
    found = {}
    for row in sentences.to_dict("records"):
        known = [name for name in TEXT_AGREEMENT if pd.notna(row[name])]
        found[row["instance"]] = {name: row[name] for name in known}
    return found


def read_means(results: Results, values: pd.DataFrame, runs: Iterable[Run]) -> dict[Run, dict]:
    """What the tables say of each run over all its instances, with how many these are.

    metrics: metric -> method -> (mean, instances); of all seeds, by notebook 08, where none keeps
    values of texts. pairs: (voter, voter) -> (agreement by k, instances). dynamic: the same at
    dynamic k. text_agreement: means of ExplainedText.text_agreement.

    values: see `read_values`. runs: that are shown.
    """
    out: dict[Run, dict] = {}

    def part(run: Iterable, name: str) -> dict:
        return out.setdefault(tuple(run), {}).setdefault(name, {})

    means = values.groupby([*RUN, "measure", "method"], sort=False).value.agg(["mean", "size"])
    for (*run, metric, method), mean, size in means.itertuples():
        of_metric = part(run, "metrics").setdefault(metric, {})
        of_metric[method] = (float(mean), int(size))
    joint = _read_table(results.tables / "08_joint_values.csv")
    for run, row in product(runs, joint.to_dict("records")):
        metric = row["metric"]
        known = metric in METRICS and not METRICS[metric].stored
        if known and run[:2] == (row["task"], row["model"]):
            of_metric = part(run, "metrics").setdefault(metric, {})
            of_metric[row["method"]] = (row["mean"], row["n"])
    for name in ("agreement_at_k", "with_people"):
        for row in _read_table(results.tables / f"05_kamp2023_{name}.csv").to_dict("records"):
            pair = (
                (row["method"], PEOPLE) if "method" in row else (row["method_a"], row["method_b"])
            )
            run = [row[column] for column in RUN]
            by_k, _ = part(run, "pairs").setdefault(pair, ({}, int(row["instances"])))
            by_k[int(row["k"])] = row["agreement"]
    for row in _read_table(results.tables / "05_kamp2023_dynamic.csv").to_dict("records"):
        run = [row[column] for column in RUN]
        count = int(row["instances"] - row["undefined"])
        part(run, "dynamic")[row["a"], row["b"]] = (row["dynamic"], count)
    sentences = _read_table(results.tables / "05_kamp2023_sentences.csv")
    for run, rows in sentences.groupby(RUN, sort=False) if len(sentences) else ():
        part(run, "text_agreement").update(rows[TEXT_AGREEMENT].mean().dropna().to_dict())
    return out


def _load_if_there(load: Callable[..., dict], results: Results, profile: Profile, run: Run) -> dict:
    """What `load` gives by instance; empty where the run has none of these."""
    try:
        return load(results, profile, *run)
    except FileNotFoundError:
        return {}


def _on_content(feature: Feature, tokens: Tokens, units: Units) -> Feature:
    """A feature of units as places among the content tokens."""
    place = {position: at for at, position in enumerate(tokens.content.tolist())}

    def places(part: Iterable[int]) -> tuple[int, ...]:
        positions = chain.from_iterable(units.groups[unit] for unit in part)
        return tuple(place[position] for position in positions if position in place)

    return places(feature[0]), places(feature[1])


def _first_features(
    record: Attribution, tokens: Tokens, units: Units, run: Run
) -> list[tuple[Feature, float]]:
    """The highest pairs or spans of an explanation, in the order in which the metrics take them."""
    ranking = rank_features(record, units, generator("ties", *run, record.instance, record.method))
    pairs = zip(ranking.features[:MOST_FEATURES], ranking.scores, strict=False)
    return [(_on_content(feature, tokens, units), float(score)) for feature, score in pairs]


def _read_evidence(
    profile: Profile, run: Run, instance: Instance, tokens: Tokens, predicted: int
) -> dict[str, np.ndarray]:
    """Where the pointing game looks for the highest score, (n,) bool by game, if it can be."""
    own = instance.evidence
    known = own.classes or own.tags or "pointing" in profile.task_of(*run[:2]).judges
    if not known or predicted < 0:
        return {}
    word = tokens.word[tokens.content]
    covered = np.isin(np.arange(len(instance.words)), word)
    games = find_games(instance, predicted, covered, affix_of(profile.pointing, run[0]))
    return {g.metric: g.evidence[word] & (word >= 0) for g in games if not g.discarded}


def _read_predictions(results: Results, profile: Profile, run: Run) -> dict[str, tuple[int, float]]:
    """The predicted class and its probability by instance, of 03_explain or else of 07."""
    steps = [("07_sun2024_explanations", *run, part) for part in range(profile.diagnosis.parts)]
    steps += [("03_explain", *run, shard) for shard in range(profile.explaining_of(run[0]).shards)]
    out = {}
    for step in steps:
        for row in _read_table(results.table("instances", *step)).to_dict("records"):
            out[row["instance"]] = (int(row["predicted"]), float(row.get("probability", np.nan)))
    return out


def _read_table(path: Path) -> pd.DataFrame:
    """A CSV table, empty where it is not there."""
    return read_csv(path) if path.exists() else pd.DataFrame()
