"""METRICS: every metric of this package, and all that is known of it.

Which direction is better stands here and nowhere else, and a name means one quantity with one direction: what is turned
round so that higher is better has a name of its own (`simplicity` is 1 less a share of `complexity`).
"""

from __future__ import annotations

from math import inf

from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.diagnosticity import diagnosticity, wins
from attreval.metrics.dynamic_k import local_maxima
from attreval.metrics.erasure import erase
from attreval.metrics.metric import Metric
from attreval.metrics.normalised_aopc import normalised_areas
from attreval.metrics.pairwise_difference import average_pairwise_difference
from attreval.metrics.phrases import phrase_f1
from attreval.metrics.planted.separation import separation
from attreval.metrics.pointing_game import point
from attreval.metrics.rank_correlation import tau_b
from attreval.metrics.registry_unified import UNIFIED_METRICS
from attreval.metrics.soft_erasure import soft_erase
from attreval.metrics.unified.complexity import simplicity

POERNER, KAMP = "Poerner et al. 2018, section 2", "Kamp et al. 2023, section 3"
ZHAO, ZHAO_SOFT = "DeYoung et al. 2020; Zhao & Aletras 2023, section 3.1", "Zhao & Aletras 2023, section 3.2"
ZHAO_WINS = "Zhao & Aletras 2023, section 4.5"
MODEL, MARKS = ("scores", "model"), ("scores", "marks")
UNIT = (0.0, 1.0)


def _game(name: str, title: str, about: str) -> Metric:
    """One game of the pointing game."""
    about = f"1 where the highest-scored word {about}; ties by expectation."
    return Metric(name, title, "pointing", POERNER, about, MARKS, UNIT, True, point, stored=name)


def _win(metric: str, title: str, about: str) -> Metric:
    """Whether a method beats random scores by one metric; its mean is diagnosticity."""
    name, title = f"win_{metric}", f"Beats random scores by {title}"
    return Metric(name, title, "faithfulness", ZHAO_WINS, about, MODEL, UNIT, True, wins, stored=name)


def _naopc(measure: str, about: str, higher_is_better: bool) -> Metric:
    """An erasure measure between the least and the greatest that any order of a text's tokens reaches."""
    title, about = f"{measure.capitalize()} (NAOPC)", f"{about}, between its least and its greatest for any order."
    source = "Edin et al. 2025"
    facts = (f"naopc_{measure}", title, "faithfulness", source, about, MODEL, UNIT, higher_is_better)
    return Metric(*facts, normalised_areas)


_EVERY = (
    Metric(
        "pointing",
        "Pointing",
        "pointing",
        POERNER,
        "1 where the highest-scored word lies where the evidence must be; ties by expectation.",
        MARKS,
        UNIT,
        True,
        point,
        joint=True,
    ),
    _game("hybrid", "Hit on the predicted class's fragment", "stands in a fragment of the predicted class"),
    _game("hit_target", "Hit on the subject", "is the verb's subject"),
    _game("hit_feat", "Hit on a noun of the right number", "is a noun that has the predicted number"),
    _game("manual", "Hit on a word that people marked", "was marked as evidence"),
    Metric(
        "agreement",
        "Agreement (fixed k)",
        "agreement",
        f"{KAMP}, eq. 1-2",
        "How far methods select the same k tokens: k over the size of the union; ties by expectation.",
        ("scores", "rivals"),
        UNIT,
        True,
        agreement_at_k,
        joint=True,
    ),
    Metric(
        "agreement_dynamic",
        "Agreement (dynamic k)",
        "agreement",
        "Kamp et al. 2023, section 4",
        "How far the local maxima of methods are the same tokens.",
        ("scores", "rivals"),
        UNIT,
        True,
        agreement_of,
        joint=True,
    ),
    Metric(
        "people",
        "People (fixed k)",
        "agreement",
        KAMP,
        "How far a method selects the k tokens that most people mark.",
        MARKS,
        UNIT,
        True,
        agreement_at_k,
        joint=True,
    ),
    Metric(
        "people_dynamic",
        "People (dynamic k)",
        "agreement",
        "Kamp et al. 2023, section 4",
        "How far a method's local maxima are those of the share of people who mark a token.",
        MARKS,
        UNIT,
        True,
        agreement_of,
        joint=True,
    ),
    Metric(
        "dynamic_k",
        "Dynamic k",
        "agreement",
        "Kamp et al. 2023, section 4",
        "How many tokens a profile of scores puts forward by itself: its local maxima.",
        ("scores",),
        (0.0, inf),
        None,
        local_maxima,
    ),
    Metric(
        "phrase_f1",
        "Phrases (F1)",
        "agreement",
        "after Kamp et al. 2023, section 6",
        "How far the phrases of a profile overlap those that people mark.",
        MARKS,
        UNIT,
        True,
        phrase_f1,
    ),
    Metric(
        "average_pairwise_difference",
        "Average pairwise difference",
        "agreement",
        "Kamp et al. 2023, appendix A",
        "How far explanations move with the training seed.",
        ("scores", "models"),
        (0.0, 2.0),
        False,
        average_pairwise_difference,
    ),
    Metric(
        "comprehensiveness",
        "Comprehensiveness",
        "faithfulness",
        ZHAO,
        "How far the class's probability falls when the top tokens are erased, mean over sizes of the rationale.",
        MODEL,
        (-1.0, 1.0),
        True,
        erase,
        stored="comprehensiveness",
    ),
    Metric(
        "sufficiency",
        "Sufficiency",
        "faithfulness",
        ZHAO,
        "How far it falls when only the top tokens stay, mean over sizes of the rationale.",
        MODEL,
        (-1.0, 1.0),
        False,
        erase,
        stored="sufficiency",
    ),
    _naopc("comprehensiveness", "How far the class's probability falls when the top tokens are erased", True),
    _naopc("sufficiency", "How far it falls when only the top tokens stay", False),
    Metric(
        "nc",
        "NC",
        "faithfulness",
        f"{ZHAO}, eq. 2",
        "Normalised comprehensiveness: comprehensiveness between 0 and 1, where 1 is what erasing the whole text does.",
        MODEL,
        UNIT,
        True,
        erase,
        stored="normalised_comprehensiveness",
        joint=True,
    ),
    Metric(
        "ns",
        "NS",
        "faithfulness",
        f"{ZHAO}, eq. 1",
        "Normalised sufficiency: sufficiency between 0 and 1, where 0 is what erasing the whole text leaves.",
        MODEL,
        UNIT,
        True,
        erase,
        stored="normalised_sufficiency",
        joint=True,
    ),
    Metric(
        "soft_nc",
        "Soft-NC",
        "faithfulness",
        f"{ZHAO_SOFT}, eq. 5",
        "Normalised comprehensiveness with vectors erased in part, in proportion to the scores.",
        MODEL,
        UNIT,
        True,
        soft_erase,
        stored="soft_nc",
        hard="nc",
    ),
    Metric(
        "soft_ns",
        "Soft-NS",
        "faithfulness",
        f"{ZHAO_SOFT}, eq. 4",
        "Normalised sufficiency with vectors kept in part, in proportion to the scores.",
        MODEL,
        UNIT,
        True,
        soft_erase,
        stored="soft_ns",
        hard="ns",
    ),
    Metric(
        "soft_nc_equal",
        "Soft-NC, equal means",
        "faithfulness",
        f"after {ZHAO_SOFT}",
        "Soft-NC with strengths whose mean is one half for every explanation, so that their order alone decides.",
        MODEL,
        UNIT,
        True,
        soft_erase,
        stored="soft_nc_equal",
        joint=True,
        hard="nc",
    ),
    Metric(
        "soft_ns_equal",
        "Soft-NS, equal means",
        "faithfulness",
        f"after {ZHAO_SOFT}",
        "Soft-NS with strengths whose mean is one half for every explanation, so that their order alone decides.",
        MODEL,
        UNIT,
        True,
        soft_erase,
        stored="soft_ns_equal",
        joint=True,
        hard="ns",
    ),
    _win("nc", "NC", "1 where the method's NC is above that of random scores; its mean is diagnosticity."),
    _win("soft_nc", "Soft-NC", "The same by Soft-NC."),
    _win("ns", "NS", "The same by NS."),
    _win("soft_ns", "Soft-NS", "The same by Soft-NS."),
    Metric(
        "diagnosticity",
        "Diagnosticity",
        "faithfulness",
        ZHAO_WINS,
        "The share of pairs (an explanation, random scores for the same text) in which the explanation wins.",
        MODEL,
        UNIT,
        True,
        diagnosticity,
        joint=True,
    ),
    Metric(
        "simplicity",
        "Simplicity",
        "",
        "Bhatt et al. 2020",
        "How few tokens hold a method's scores: 1 for one token, 0 where all count alike.",
        ("scores",),
        UNIT,
        True,
        simplicity,
        joint=True,
        turned="lower entropy: 1 - entropy / ln n",
    ),
    *UNIFIED_METRICS,
    Metric(
        "score_tau_b",
        "Rank correlation of scores",
        "",
        "Kendall 1945; after Neely et al. 2021",
        "How far two methods put the tokens of a text in the same order.",
        ("scores", "rivals"),
        (-1.0, 1.0),
        True,
        tau_b,
    ),
    Metric(
        "tau_b",
        "Rank correlation",
        "",
        "Kendall 1945",
        "How far two metrics put methods in the same order.",
        ("metrics",),
        (-1.0, 1.0),
        None,
        tau_b,
    ),
    Metric(
        "separation",
        "Separation",
        "",
        "after Chan et al. 2022",
        "How often a metric puts the true importances before other scores, where the truth is planted.",
        ("metrics", "truth"),
        UNIT,
        True,
        separation,
    ),
)
METRICS = {metric.name: metric for metric in _EVERY}
FAITHFULNESS = ("nc", "soft_nc", "ns", "soft_ns")  # those of Zhao & Aletras (2023), in the order of their tables
HARD_OF = {name: METRICS[name].hard for name in FAITHFULNESS if METRICS[name].hard}  # of soft metrics
STORED = {metric.stored: metric for metric in METRICS.values() if metric.stored}  # by the measure's name in instances
