"""Which scores of a judge does the explorer show beside a text, what are they called, and which way is better?"""

from __future__ import annotations

from dataclasses import dataclass

PAPERS = {
    "poerner2018": "Pointing (Poerner et al. 2018)",
    "kamp2023": "Agreement (Kamp et al. 2023)",
    "zhao2023": "Faithfulness (Zhao & Aletras 2023)",
    "sun2024": "Diagnosis (Sun et al. 2024)",
}


@dataclass(frozen=True)
class Measure:
    """A score that a judge gives to one method on one instance.

    name: as in results/<profile>/instances. about: what it says.
    """

    name: str
    paper: str
    title: str
    higher_is_better: bool
    about: str


MEASURES = (
    Measure(
        "hybrid",
        "poerner2018",
        "Hit on the predicted class's fragment",
        True,
        "1 where the highest-scored word stands in a fragment of the predicted class; ties by expectation.",
    ),
    Measure(
        "hit_target",
        "poerner2018",
        "Hit on the subject",
        True,
        "1 where the highest-scored word is the verb's subject; ties by expectation.",
    ),
    Measure(
        "hit_feat",
        "poerner2018",
        "Hit on a noun of the right number",
        True,
        "1 where the highest-scored word is a noun that has the predicted number; ties by expectation.",
    ),
    Measure(
        "manual",
        "poerner2018",
        "Hit on a word that people marked",
        True,
        "1 where the highest-scored word was marked as evidence; ties by expectation.",
    ),
    Measure(
        "comprehensiveness",
        "zhao2023",
        "Comprehensiveness",
        True,
        "How far the class's probability falls when the top tokens are erased, mean over sizes of the rationale.",
    ),
    Measure(
        "sufficiency",
        "zhao2023",
        "Sufficiency",
        False,
        "How far it falls when only the top tokens stay, mean over sizes of the rationale.",
    ),
    Measure(
        "normalised_comprehensiveness",
        "zhao2023",
        "Comprehensiveness, normalised (NC)",
        True,
        "Comprehensiveness between 0 and 1, where 1 is what erasing the whole text does.",
    ),
    Measure(
        "normalised_sufficiency",
        "zhao2023",
        "Sufficiency, normalised (NS)",
        True,
        "Sufficiency between 0 and 1, where 0 is what erasing the whole text leaves.",
    ),
    Measure(
        "soft_nc", "zhao2023", "Soft-NC", True, "The same with vectors erased in part, in proportion to the scores."
    ),
    Measure("soft_ns", "zhao2023", "Soft-NS", True, "The same with vectors kept in part, in proportion to the scores."),
    Measure(
        "win_nc",
        "zhao2023",
        "Beats random scores by NC",
        True,
        "1 where the method's NC is above that of random scores; its mean is diagnosticity.",
    ),
    Measure("win_soft_nc", "zhao2023", "Beats random scores by Soft-NC", True, "The same by Soft-NC."),
    Measure("win_ns", "zhao2023", "Beats random scores by NS", True, "The same by NS."),
    Measure("win_soft_ns", "zhao2023", "Beats random scores by Soft-NS", True, "The same by Soft-NS."),
    Measure(
        "unified_comprehensiveness",
        "sun2024",
        "Prediction changes without the pieces",
        True,
        "How often the predicted class changes when the first pieces are masked, mean over numbers of pieces.",
    ),
    Measure(
        "unified_sufficiency",
        "sun2024",
        "Prediction changes with only the pieces",
        False,
        "How often it changes when all but the first pieces are masked.",
    ),
    Measure(
        "unit_agreement",
        "sun2024",
        "People's tokens, average precision",
        True,
        "How well the explanation ranks the tokens that people marked.",
    ),
    Measure(
        "interaction_agreement",
        "sun2024",
        "People's relations, average precision",
        True,
        "How well it ranks the relations that people gave.",
    ),
    Measure(
        "complexity",
        "sun2024",
        "Complexity (entropy)",
        False,
        "How evenly importance is spread over the pieces, in nats; lower is simpler.",
    ),
    Measure(
        "simulated",
        "sun2024",
        "An agent predicts the model",
        True,
        "1 where an agent that sees the explanation predicts what the model does; it is tested on other texts.",
    ),
)
