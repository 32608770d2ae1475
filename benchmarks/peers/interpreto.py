"""interpreto (Poché et al. 2025): its methods on tokens, and its insertion and deletion, at several
batches.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# this folder holds files named like the packages that they measure
sys.path[:] = [
    place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent
]

from measuring import WARM_UP, Stopwatch, open_classifier, parser, read_texts, watch  # noqa: E402

BATCHES = (4, 16, 38)  # 4 is interpreto's default
STEPS = 10  # of insertion and deletion
NODES = 50  # of integrated gradients


def measure(network, tokenizer, stopwatch: Stopwatch, texts, asked) -> None:
    """Every measurement that is wanted, at every batch; the best of them is picked when the table
    is made.
    """
    from interpreto import Granularity, IntegratedGradients, KernelShap, Lime, Occlusion, Saliency
    from interpreto.attributions.metrics import Deletion, Insertion

    tasks = {
        f"lime_{asked.budget}": (Lime, {"n_perturbations": asked.budget}),
        f"kernel_shap_{asked.budget}": (KernelShap, {"n_perturbations": asked.budget}),
        "occlusion": (Occlusion, {}),
        "saliency": (Saliency, {}),
        "integrated_gradients": (IntegratedGradients, {"n_perturbations": NODES}),
    }

    def read(text):
        parts = [part for part in text if part]
        return tokenizer(*parts, return_tensors="pt", truncation=True, return_offsets_mapping=True)

    for batch in BATCHES:
        setting = "default" if batch == 4 else f"batch {batch}"
        for what, (kind, named) in tasks.items():
            method = kind(
                network, tokenizer, batch_size=batch, granularity=Granularity.TOKEN, **named
            )
            stopwatch.take(what, setting, texts, lambda text, method=method: method(read(text)))
        if stopwatch.wants("insertion_deletion"):
            explainer = Saliency(
                network, tokenizer, batch_size=batch, granularity=Granularity.TOKEN
            )
            curves = [
                kind(network, tokenizer, batch_size=batch, n_perturbations=STEPS)
                for kind in (Insertion, Deletion)
            ]
            for of in ([WARM_UP], texts):
                explained = [explainer(read(text)) for text in of]

                def draw(explained=explained, curves=curves):
                    for one in explained:
                        for curve in curves:
                            curve(one)

                draw() if of == [WARM_UP] else stopwatch.take_once(
                    "insertion_deletion", setting, len(of), draw
                )


def main() -> None:
    """Read the arguments, measure, print lines."""
    asked = parser(__doc__).parse_args()
    network, tokenizer = open_classifier(asked)
    measure(
        network,
        tokenizer,
        Stopwatch("interpreto", asked, watch(network)),
        read_texts(asked.texts, asked.count),
        asked,
    )


if __name__ == "__main__":
    main()
