"""What the machine can do at most: matrix products, forward passes and gradients of the same
network, nothing else.

A rate is GFLOP/s for `gemm` and tokens a second for `forward` and `gradient`; random tokens, no
padding.
"""

from __future__ import annotations

from measuring import Counted, Stopwatch, joined, open_classifier, parser, read_texts

SHAPES = ((1024, 384, 1536), (2048, 2048, 2048))
BATCHES = (1, 8, 16, 32, 38, 64, 128, 256)
GRADIENT_BATCHES = (1, 8, 38)
LEAST_TOKENS = 4000  # read for one rate, so that a rate rests on a second or so


def measure(network, tokenizer, stopwatch: Stopwatch, texts: list[tuple[str, str]]) -> None:
    """All rates, at the mean length of the texts."""
    import torch

    device = network.device
    for m, k, n in SHAPES:
        a = torch.rand(m, k, device=device)
        b = torch.rand(k, n, device=device)
        products = max(1, int(2e10 / (2 * m * k * n)))
        multiply(a, b, 1)
        stopwatch.take_once(
            "gemm", f"{m}x{k}x{n}", products, lambda a=a, b=b, times=products: multiply(a, b, times)
        )
    lengths = [len(tokenizer(joined(*text), truncation=True)["input_ids"]) for text in texts]
    length = round(sum(lengths) / len(lengths))
    for what, batches in (("forward", BATCHES), ("gradient", GRADIENT_BATCHES)):
        for batch in batches:
            ids = torch.randint(0, network.config.vocab_size, (batch, length), device=device)
            passes = max(2, LEAST_TOKENS // (batch * length))
            run = forward if what == "forward" else gradient
            run(network, ids, 1, Counted())
            setting = f"batch {batch}"
            times = passes
            stopwatch.take_once(
                what,
                setting,
                batch * passes,
                lambda run=run, ids=ids, times=times: run(network, ids, times, stopwatch.counted),
            )


def multiply(a, b, times: int) -> None:
    """So many products of two matrices."""
    for _ in range(times):
        a @ b


def forward(network, ids, times: int, counted: Counted) -> None:
    """So many forward passes."""
    import torch

    with torch.inference_mode():
        for _ in range(times):
            network(input_ids=ids, attention_mask=torch.ones_like(ids))
    counted.rows += times * len(ids)
    counted.tokens += times * ids.numel()


def gradient(network, ids, times: int, counted: Counted) -> None:
    """So many gradients of the first logit with respect to the embeddings."""
    import torch

    for _ in range(times):
        vectors = network.get_input_embeddings()(ids).detach().requires_grad_()
        logits = network(inputs_embeds=vectors, attention_mask=torch.ones_like(ids)).logits
        torch.autograd.grad(logits[:, 0].sum(), vectors)
    counted.rows += times * len(ids)
    counted.tokens += times * ids.numel()


def main() -> None:
    """Read the arguments, measure, print lines."""
    asked = parser(__doc__).parse_args()
    network, tokenizer = open_classifier(asked)
    network.requires_grad_(False)
    measure(
        network,
        tokenizer,
        Stopwatch("floor", asked, Counted()),
        read_texts(asked.texts, asked.count),
    )


if __name__ == "__main__":
    main()
