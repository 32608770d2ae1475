"""How often does each method point at the evidence, on every model that was explained for this judge?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from attreval import corpora
from attreval.config import Profile
from attreval.explain import METHODS
from attreval.metrics import pointing_game as pointing
from attreval.papers.common.runs import common_methods, load_attributions, load_tokens, read_shards
from attreval.papers.common.sample import to_explain
from attreval.papers.poerner2018.tables import NAMES, lay_out
from attreval.workflow.step import Step

NORMS = tuple(ours for paper, ours in NAMES.items() if paper.endswith("_L2"))  # the weak methods of the paper
COLUMNS = ("GRU", "QGRU", "LSTM", "QLSTM", "CNN", "MINILM")  # of the blocks, whether a profile has them or not
AGREEMENT = ("agreement_parsed", "agreement_ud", "agreement_linzen")


@dataclass(frozen=True)
class Block:
    """What the text speaks of: the first of these tasks that a profile has, one game, and one kind of prediction."""

    tasks: tuple[str, ...]
    metric: str = "hybrid"
    condition: str = "all"


BLOCKS = {
    "topics": Block(("hybrid_newsgroups", "hybrid_bbc")),
    "sentiment": Block(("hybrid_yelp", "hybrid_imdb")),
    "manual": Block(("manual_newsgroups",), "manual"),
    "subject": Block(AGREEMENT, "hit_target", "correct"),
    "number": Block(AGREEMENT, "hit_feat", "correct"),
    "number_wrong": Block(AGREEMENT, "hit_feat", "wrong"),
}


def pointing_hits(step: Step) -> pd.DataFrame:
    """One row a task, model, seed, instance, game and method; see `metrics.pointing_game.play`.

    architecture: what the paper's tables call the model.
    """
    profile, out = step.profile, []
    predictions = read_predictions(step)
    runs = profile.explained_runs("pointing")
    called = {task: architectures(profile, task) for task, _, _ in runs}
    show = step.progress("pointing")
    for done, (task, model, seed) in enumerate(runs):
        if profile.explaining_of(task).target != "predicted":
            raise ValueError(f"pointing judges explanations of the predicted class; {task!r} explains the gold one")
        records = load_attributions(step.results, profile, task, model, seed)
        methods = common_methods(records)
        tokens = load_tokens(step.results, profile, task, model, seed)
        for instance in to_explain(profile, task, model):
            rows = pointing.play(
                instance,
                tokens[instance.id],
                int(predictions[task, model, seed, instance.id]),
                {name: records[instance.id][name] for name in methods},
                profile.pointing.ties,
                profile.pointing.affix,
                (task, model, seed),
            )
            known = {"task": task, "model": model, "architecture": called[task][model], "seed": seed}
            out += [known | row for row in rows]
        show(done + 1, len(runs))
    return pd.DataFrame(out)


def by_instance(hits: pd.DataFrame) -> pd.DataFrame:
    """The hits as values of single instances, the measure being the game; discarded instances have none."""
    return hits.rename(columns={"metric": "measure", "hit": "value"})


def architectures(profile: Profile, task: str) -> dict[str, str]:
    """What tables call a task's models: by their architecture where that tells them apart, else by their names."""
    kinds = {name: profile.models[name].architecture for name in profile.tasks[task].models}
    kinds = {name: name if kind == "transformer" else kind for name, kind in kinds.items()}
    return {name: (kind if list(kinds.values()).count(kind) == 1 else name).upper() for name, kind in kinds.items()}


def read_predictions(step: Step) -> pd.Series:
    """The predicted class of every explained instance, by task, model, seed and instance."""
    table = read_shards(step, "instances", "pointing")
    return table.set_index(["task", "model", "seed", "instance"]).predicted


def summarise(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Pointing accuracy with its interval; see `metrics.pointing_game.summarise`."""
    keys = ("task", "model", "architecture")
    return pointing.summarise(hits, step.profile.bootstrap.draws, step.profile.bootstrap.level, keys)


def summarise_by_attractors(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """The same by the number of attractors, for the largest agreement task; empty where there is none."""
    asked = hits[hits.attractors.notna()]
    largest = asked.drop_duplicates(["task", "instance"]).task.value_counts()
    chosen = asked[asked.task == largest.index[0]] if len(largest) else asked
    return pointing.summarise_by_attractors(chosen, step.profile.bootstrap.draws, step.profile.bootstrap.level)


def write_blocks(step: Step, table: pd.DataFrame) -> None:
    """Write the blocks of Table 2 to read, each under the name that the text knows; see BLOCKS."""
    for name, block in BLOCKS.items():
        part = table[(table.metric == block.metric) & (table.condition == block.condition) & table.ours.notna()]
        task = next((task for task in block.tasks if task in set(part.task)), None)
        kinds = part[part.task == task].experiment
        found = lay_out(table, kinds.iloc[0], task, block.metric, block.condition) if len(kinds) else pd.DataFrame()
        first = ["method", *COLUMNS]
        found = found.reindex(columns=[*first, *(column for column in found.columns if column not in first)])
        step.table(f"table2_{name}", found)


def find_exceptions(summary: pd.DataFrame) -> pd.DataFrame:
    """On hybrid documents, the methods whose interval reaches down to what random scores: one row a task and model.

    Gradient norms are left out: they do not tell evidence for a class from evidence against it.
    """
    hybrid = summary[summary.metric == "hybrid"]
    chance = hybrid[hybrid.method == "random"].set_index(["task", "model"]).accuracy
    rest = hybrid[~hybrid.method.isin([*NORMS, *pointing.BASELINES])].copy()
    rest["random"] = [chance[task, model] for task, model in zip(rest.task, rest.model, strict=True)]
    columns = ["task", "model", "method", "accuracy", "low", "high", "random", "instances"]
    return rest[rest.low <= rest.random][columns].reset_index(drop=True)


def note_pointing(step: Step, summary: pd.DataFrame, exceptions: pd.DataFrame) -> None:
    """Keep what the text says of each block (see BLOCKS), and how many methods beat random on hybrid documents."""
    for name, block in BLOCKS.items():
        part = summary[(summary.metric == block.metric) & (summary.condition == block.condition)]
        task = next((task for task in block.tasks if task in set(part.task)), None)
        note_block(step, f"pointing.{name}", task, part[part.task == task])
    hybrid = summary[(summary.metric == "hybrid") & ~summary.method.isin([*NORMS, *pointing.BASELINES])]
    step.number("pointing.hybrid.cells", len(hybrid))
    step.number("pointing.hybrid.beat_random", len(hybrid) - len(exceptions))
    step.number("pointing.hybrid.exceptions", len(exceptions))
    for name in ("topics", "sentiment"):
        step.number(f"pointing.{name}.exceptions", int(exceptions.task.isin(BLOCKS[name].tasks).sum()))


def note_block(step: Step, name: str, task: str | None, part: pd.DataFrame) -> None:
    """Instances, discards, the best method, random, and gradient norms; `not measured` where a profile has no task."""
    missing = float("nan")
    means = part.groupby("method", sort=False).accuracy.mean()
    best = means.drop(list(pointing.BASELINES), errors="ignore")
    norms = means[[method for method in NORMS if method in means]]
    step.number(f"{name}.corpus", corpora.TASKS[task].short if task else missing)
    step.number(f"{name}.instances", int(part.instances.max()) if task else missing)
    step.number(f"{name}.discarded", float(part.drop_duplicates("model").discarded.mean()), 1, percent=True)
    step.number(f"{name}.right", float(part.drop_duplicates("model").right.mean()), 2)
    step.number(f"{name}.random", float(means.get("random", missing)), 2)
    step.number(f"{name}.last", float(means.get("last", missing)), 2)
    step.number(f"{name}.best_method", METHODS[best.idxmax()].title if len(best) else missing)
    step.number(f"{name}.best", float(best.max()) if len(best) else missing, 2)
    step.number(f"{name}.norms", float(norms.mean()) if len(norms) else missing, 2)
