"""All claims judged again by what a run has kept of single texts: no corpora, no models, no torch.

So a claim that asks something else needs no run: a changed paper/claims.yml is judged in minutes.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from attreval.core.tables import read_csv
from compendium import corpora
from compendium.config import Profile, make_known
from compendium.papers.common.claims import Judged, scorecard
from compendium.papers.common.runs import drop_unlearned, unlearned_table
from compendium.papers.kamp2023 import claims as agreement
from compendium.papers.poerner2018 import claims as pointing
from compendium.papers.poerner2018.hits import read_common
from compendium.papers.sun2024 import claims as diagnosis
from compendium.papers.sun2024.agents import agents_learned
from compendium.papers.zhao2023 import claims as faithfulness
from compendium.papers.zhao2023.diagnosticity import pair_with_rivals
from compendium.project import Results, read_json
from compendium.workflow.parameters import NOTEBOOKS
from compendium.workflow.step import Step

DIGITS = 9  # to which a number is the same


def _judge_pointing(step: Step) -> Judged:
    hits = step.kept("instances").rename(columns={"measure": "metric", "value": "hit"})
    common = read_common(step.kept("common"))
    return pointing.judge_claims(step, hits, step.kept("otherwise"), common)


def _judge_faithfulness(step: Step) -> Judged:
    unlearned = unlearned_table(step, step.profile.explained_runs("faithfulness"))
    pairs = drop_unlearned(pair_with_rivals(step.kept("values"), step.profile), unlearned)
    return faithfulness.judge_claims(step, pairs, step.kept("curves"))


def _judge_diagnosis(step: Step) -> Judged:
    learned = agents_learned(step.kept("uninformed"), step.profile.bootstrap)
    return diagnosis.judge_claims(step, step.kept("values"), learned)


JUDGES = {
    "04_poerner2018": _judge_pointing,
    "05_kamp2023": lambda step: agreement.judge_claims(step, agreement.statistics_by_run(step)),
    "06_zhao2023": _judge_faithfulness,
    "07_sun2024": _judge_diagnosis,
}


def judge_again(run: Results) -> tuple[pd.DataFrame, list[str]]:
    """The scorecard of a run, made again, and the claims that come out otherwise than it says.

    Of the run its manifest, `tables` and `values` alone are read. Claims of a notebook that has
    kept no values, as in runs older than these, stand as they are.

    Raises:
        FileNotFoundError: the run has kept nothing of single texts, or not all that is needed.
    """
    run.existing(run.values, " and ".join(JUDGES))
    made_with = read_json(run.existing(run.root / "manifest.json", "01_data"))
    make_known(made_with["settings"])
    profile = Profile.model_validate(made_with["settings"], extra="ignore")
    corpora.RUN_HAD[:] = made_with["at_hand"]
    with TemporaryDirectory() as folder:
        alone = Results(Path(folder) / profile.name)
        shutil.copytree(run.tables, alone.tables)
        shutil.copytree(run.values, alone.values)
        for notebook, judge in JUDGES.items():
            if any(run.values.glob(f"{notebook}_*")):
                step = Step(notebook, NOTEBOOKS[notebook](), profile, alone)
                judged = judge(step)
                step.table("claims", judged.claims)
                step.table("claims_turned", judged.turned)
        said = [read_csv(*one.tables.glob("*_claims*.csv")) for one in (run, alone)]
        return scorecard(alone.tables), find_differing(*said)


def find_differing(stored: pd.DataFrame, again: pd.DataFrame) -> list[str]:
    """The claims of which two tables say another verdict, or another number."""
    stored, again = stored.infer_objects(), again.infer_objects()  # a file may have no row
    said = list(dict.fromkeys(["claim", "verdict", "holds", *stored.select_dtypes(float)]))
    both = stored[said].round(DIGITS).merge(again[said].round(DIGITS), how="outer", indicator=True)
    return both.claim[both["_merge"] != "both"].unique().tolist()
