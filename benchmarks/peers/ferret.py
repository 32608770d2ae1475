"""ferret (Attanasio et al. 2023): the six methods that Kamp et al. (2023) had from it, and its
faithfulness.

A pair is joined to one text: ferret reads single texts only.
With --scores FILE nothing is measured by the protocol of the table: what LIME and Partition SHAP
say of each text is written, a JSON line a text, with its price.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# this folder holds files named like the packages that they measure
sys.path[:] = [
    place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent
]

from measuring import (  # noqa: E402
    WARM_UP,
    Counted,
    Stopwatch,
    joined,
    open_classifier,
    parser,
    read_texts,
    watch,
)

LIME = "lime"
SHAP = "partition_shap"


def explainers(network, tokenizer) -> dict:
    """ferret's explainers by our names of methods."""
    from ferret import GradientExplainer, IntegratedGradientExplainer, LIMEExplainer, SHAPExplainer

    return {
        "gradient_l1": GradientExplainer(network, tokenizer, multiply_by_inputs=False),
        "gradient_x_input": GradientExplainer(network, tokenizer, multiply_by_inputs=True),
        "integrated_gradients": IntegratedGradientExplainer(
            network, tokenizer, multiply_by_inputs=True
        ),
        "integrated_gradients_plain": IntegratedGradientExplainer(
            network, tokenizer, multiply_by_inputs=False
        ),
        LIME: LIMEExplainer(network, tokenizer),
        SHAP: SHAPExplainer(network, tokenizer),
    }


def limits(
    samples: int | None, evaluations: int | None, steps: int | None, seed: int
) -> dict[str, dict]:
    """What each explainer is called with; None leaves ferret's default."""
    path = {"call_args": {"n_steps": steps}} if steps else {}
    return {
        LIME: {
            "init_args": {"random_state": seed},
            "call_args": {"num_samples": samples} if samples else {},
        },
        SHAP: {
            "init_args": {"seed": seed},
            "call_args": {"max_evals": evaluations} if evaluations else {},
        },
        "integrated_gradients": path,
        "integrated_gradients_plain": path,
    }


def predict(network, tokenizer, text: str) -> int:
    """The class that is explained: the one predicted of the whole text."""
    import torch

    with torch.no_grad():
        read = tokenizer(text, return_tensors="pt", truncation=True).to(network.device)
        return int(network(**read).logits[0].argmax())


def ask(explainer, text: str, target: int, how: dict):
    """An explanation; bars go nowhere. `how` is copied: LIMEExplainer takes num_samples out of what
    it is given.
    """
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        return explainer(text, target, **deepcopy(how))


def measure(network, tokenizer, stopwatch: Stopwatch, texts, asked) -> None:
    """Every measurement that is wanted, in the order of the table."""
    from ferret import (
        AOPC_Comprehensiveness_Evaluation,
        AOPC_Sufficiency_Evaluation,
        Benchmark,
        TauLOO_Evaluation,
    )

    made = explainers(network, tokenizer)
    given = limits(asked.samples, asked.evaluations, None, asked.seed + asked.repeat)
    small = limits(20, 20, 4, asked.seed)
    judge = Benchmark(
        network,
        tokenizer,
        explainers=list(made.values()),
        evaluators=[
            kind(network, tokenizer)
            for kind in (
                AOPC_Comprehensiveness_Evaluation,
                AOPC_Sufficiency_Evaluation,
                TauLOO_Evaluation,
            )
        ],
    )
    counted = texts[: asked.count]

    def explain(text, names, how):
        whole = joined(*text)
        target = predict(network, tokenizer, whole)
        return target, [ask(made[name], whole, target, how.get(name, {})) for name in names]

    for name in made:
        stopwatch.take(
            name, "default", counted, lambda text, name=name: explain(text, [name], given)
        )
    stopwatch.take("six", "default", counted, lambda text: explain(text, list(made), given))
    if stopwatch.wants("faithfulness"):
        for of in ([WARM_UP], counted):
            explained = [explain(text, list(made), small) for text in of]

            def judge_all(explained=explained):
                for target, found in explained:
                    judge.evaluate_explanations(found, target, show_progress=False)

            judge_all() if of == [WARM_UP] else stopwatch.take_once(
                "faithfulness", "default", len(of), judge_all
            )
    for number in asked.growth:
        stopwatch.take(
            f"growth_{number}",
            "default",
            texts[:number],
            lambda text: explain(text, list(made), small),
        )


def write_scores(network, tokenizer, counted: Counted, texts, asked) -> None:
    """One JSON line a text: tokens, ids, offsets, scores of LIME and Partition SHAP, seed, budgets,
    and the price.
    """
    made = explainers(network, tokenizer)
    given = limits(asked.samples, asked.evaluations, None, asked.seed)
    for name in (LIME, SHAP):
        ask(made[name], joined(*WARM_UP), 0, given[name])
    with asked.scores.open("w", encoding="utf-8") as out:
        for text, other in texts:
            whole = joined(text, other)
            read = tokenizer(whole, truncation=True, return_offsets_mapping=True)
            target = predict(network, tokenizer, whole)
            line = {
                "text": text,
                "other": other,
                "read": whole,
                "target": target,
                "tokens": tokenizer.convert_ids_to_tokens(read["input_ids"]),
                "ids": read["input_ids"],
                "offsets": read["offset_mapping"],
                "seed": asked.seed,
                "samples": asked.samples,
                "evaluations": asked.evaluations,
            }
            for name in (LIME, SHAP):
                before = Counted(**asdict(counted))
                start = time.process_time()
                scores = ask(made[name], whole, target, given[name]).scores
                line[name] = {
                    "scores": [float(score) for score in scores],
                    "seconds": time.process_time() - start,
                    "rows": counted.rows - before.rows,
                    "evaluated_tokens": counted.tokens - before.tokens,
                }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()


def main() -> None:
    """Read the arguments, then measure, or write scores."""
    arguments = parser(__doc__)
    arguments.add_argument(
        "--scores", type=Path, help="write the scores of LIME and Partition SHAP there instead"
    )
    arguments.add_argument(
        "--samples", type=int, help="LIME's num_samples; ferret's default is min(L^2, 5000)"
    )
    arguments.add_argument("--evaluations", type=int, help="SHAP's max_evals; its default is 500")
    arguments.add_argument("--seed", type=int, default=0)
    asked = arguments.parse_args()
    network, tokenizer = open_classifier(asked)
    counted = watch(network)
    texts = read_texts(asked.texts, max([asked.count, *asked.growth]))
    if asked.scores:
        write_scores(network, tokenizer, counted, texts[: asked.count], asked)
    else:
        measure(network, tokenizer, Stopwatch("ferret", asked, counted), texts, asked)


if __name__ == "__main__":
    main()
