"""captum (Kokhlikyan et al. 2020): Kernel SHAP, and ablation of one token at a time, at several
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

from measuring import Stopwatch, open_classifier, parser, read_texts, watch  # noqa: E402

BATCHES = (1, 16, 32)  # perturbations at once; 1 is captum's default


def measure(network, tokenizer, stopwatch: Stopwatch, texts, asked) -> None:
    """Every measurement that is wanted, at every batch; the best of them is picked when the table
    is made.
    """
    import torch
    from captum.attr import FeatureAblation, KernelShap

    def answer(ids, mask, segments, of):
        shape = (len(ids), -1)
        logits = network(
            input_ids=ids, attention_mask=mask.expand(shape), token_type_ids=segments.expand(shape)
        ).logits
        return logits.softmax(-1)[:, of]

    def explain(text, method, **named):
        read = tokenizer(*(part for part in text if part), return_tensors="pt", truncation=True).to(
            network.device
        )
        ids = read["input_ids"]
        special = tokenizer.get_special_tokens_mask(
            ids[0].tolist(), already_has_special_tokens=True
        )
        content = torch.tensor(special, device=ids.device) == 0
        # a special token goes with its neighbour: its baseline is itself, so it is never changed
        features = (content.cumsum(0) - 1).clamp(min=0)[None]
        baseline = torch.where(content, tokenizer.mask_token_id, ids[0])[None]
        rest = (read["attention_mask"], read.get("token_type_ids", torch.zeros_like(ids)))
        with torch.inference_mode():
            target = int(network(**read).logits[0].argmax())
            method(lambda rows: answer(rows, *rest, target)).attribute(
                ids, baselines=baseline, feature_mask=features, **named
            )

    for batch in BATCHES:
        setting = "default" if batch == 1 else f"batch {batch}"
        stopwatch.take(
            f"kernel_shap_{asked.budget}",
            setting,
            texts,
            lambda text, batch=batch: explain(
                text, KernelShap, n_samples=asked.budget, perturbations_per_eval=batch
            ),
        )
        stopwatch.take(
            "occlusion",
            setting,
            texts,
            lambda text, batch=batch: explain(text, FeatureAblation, perturbations_per_eval=batch),
        )


def main() -> None:
    """Read the arguments, measure, print lines."""
    asked = parser(__doc__).parse_args()
    network, tokenizer = open_classifier(asked)
    measure(
        network,
        tokenizer,
        Stopwatch("captum", asked, watch(network)),
        read_texts(asked.texts, asked.count),
        asked,
    )


if __name__ == "__main__":
    main()
