"""Which scores of a judge does the explorer show beside a text, what are they called, and which way is better?"""

from __future__ import annotations

from dataclasses import dataclass

JUDGES = {
    "pointing": "Pointing (Poerner et al. 2018)",
    "agreement": "Agreement (Kamp et al. 2023)",
    "faithfulness": "Faithfulness (Zhao & Aletras 2023)",
    "diagnosis": "Diagnosis (Sun et al. 2024)",
}


@dataclass(frozen=True)
class Measure:
    """A score that a judge gives to one method on one instance.

    name: as in results/<profile>/instances. better: 1 where higher is better, -1 where lower is. about: what it says.
    """

    name: str
    judge: str
    title: str
    better: int
    about: str


MEASURES = (
    Measure(
        "hybrid",
        "pointing",
        "Hit on the predicted class's fragment",
        1,
        "1 where the highest-scored word stands in a fragment of the predicted class; ties by expectation.",
    ),
    Measure(
        "hit_target",
        "pointing",
        "Hit on the subject",
        1,
        "1 where the highest-scored word is the verb's subject; ties by expectation.",
    ),
    Measure(
        "hit_feat",
        "pointing",
        "Hit on a noun of the right number",
        1,
        "1 where the highest-scored word is a noun that has the predicted number; ties by expectation.",
    ),
    Measure(
        "manual",
        "pointing",
        "Hit on a word that people marked",
        1,
        "1 where the highest-scored word was marked as evidence; ties by expectation.",
    ),
    Measure(
        "comprehensiveness",
        "faithfulness",
        "Comprehensiveness",
        1,
        "How far the class's probability falls when the top tokens are erased, mean over sizes of the rationale.",
    ),
    Measure(
        "sufficiency",
        "faithfulness",
        "Sufficiency",
        -1,
        "How far it falls when only the top tokens stay, mean over sizes of the rationale.",
    ),
    Measure(
        "normalised_comprehensiveness",
        "faithfulness",
        "Comprehensiveness, normalised (NC)",
        1,
        "Comprehensiveness between 0 and 1, where 1 is what erasing the whole text does.",
    ),
    Measure(
        "normalised_sufficiency",
        "faithfulness",
        "Sufficiency, normalised (NS)",
        1,
        "Sufficiency between 0 and 1, where 0 is what erasing the whole text leaves.",
    ),
    Measure(
        "soft_nc", "faithfulness", "Soft-NC", 1, "The same with vectors erased in part, in proportion to the scores."
    ),
    Measure(
        "soft_ns", "faithfulness", "Soft-NS", 1, "The same with vectors kept in part, in proportion to the scores."
    ),
    Measure(
        "win_nc",
        "faithfulness",
        "Beats random scores by NC",
        1,
        "1 where the method's NC is above that of random scores; its mean is diagnosticity.",
    ),
    Measure("win_soft_nc", "faithfulness", "Beats random scores by Soft-NC", 1, "The same by Soft-NC."),
    Measure("win_ns", "faithfulness", "Beats random scores by NS", 1, "The same by NS."),
    Measure("win_soft_ns", "faithfulness", "Beats random scores by Soft-NS", 1, "The same by Soft-NS."),
    Measure(
        "unified_comprehensiveness",
        "diagnosis",
        "Prediction changes without the pieces",
        1,
        "How often the predicted class changes when the first pieces are masked, mean over numbers of pieces.",
    ),
    Measure(
        "unified_sufficiency",
        "diagnosis",
        "Prediction changes with only the pieces",
        -1,
        "How often it changes when all but the first pieces are masked.",
    ),
    Measure(
        "unit_agreement",
        "diagnosis",
        "People's tokens, average precision",
        1,
        "How well the explanation ranks the tokens that people marked.",
    ),
    Measure(
        "interaction_agreement",
        "diagnosis",
        "People's relations, average precision",
        1,
        "How well it ranks the relations that people gave.",
    ),
    Measure(
        "complexity",
        "diagnosis",
        "Complexity (entropy)",
        -1,
        "How evenly importance is spread over the pieces, in nats; lower is simpler.",
    ),
    Measure(
        "simulated",
        "diagnosis",
        "An agent predicts the model",
        1,
        "1 where an agent that sees the explanation predicts what the model does; it is tested on other texts.",
    ),
)
