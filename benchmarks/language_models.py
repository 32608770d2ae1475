"""Cost beside inseq and captum's attribution of language models: one model, the same texts.

`python benchmarks/language_models.py FILE.gguf` in an environment that has `attreval[gguf,captum]`
and inseq. What is asked: why " positive" behind a review. Processor seconds of one thread, medians
of interleaved repeats; the peers score the template's tokens, too, and ours the text's alone.
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable

import inseq
import torch
from captum.attr import FeatureAblation, LLMAttribution, TextTokenInput
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

import attreval as av
from attreval.methods.method import Budget

TEMPLATE = "Review: {text}\nSentiment:"
WORDS = {"positive": " positive", "negative": " negative"}
TEXTS = (
    "The film was a tedious, overlong mess, though the music was lovely.",
    "I would gladly watch this again!",
    "Nothing about the second half works as the first one promised.",
)
NODES = 50
REPEATS = 3


def main(path: str) -> None:
    """Print a table."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder, _, name = path.rpartition("/")
    network = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    network.eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = av.load(path, template=TEMPLATE, labels=WORDS, device="cpu")
    theirs = LLMAttribution(FeatureAblation(network), tokenizer)
    gradients = inseq.load_model(network, "integrated_gradients", tokenizer=tokenizer)
    blanked = inseq.load_model(network, "occlusion", tokenizer=tokenizer)
    budget = Budget(path_steps=NODES, path_steps_most=NODES)

    def ours(method: str) -> None:
        for text in TEXTS:
            av.explain(model, text, method, target="positive", budget=budget)

    def ablate() -> None:
        for text in TEXTS:
            asked = TextTokenInput(TEMPLATE.format(text=text), tokenizer)
            theirs.attribute(asked, target=WORDS["positive"], num_trials=1)

    def ask_inseq(loaded: inseq.AttributionModel, **more: int) -> None:
        for text in TEXTS:
            prompt = TEMPLATE.format(text=text)
            loaded.attribute(prompt, prompt + WORDS["positive"], show_progress=False, **more)

    runs: dict[str, Callable[[], None]] = {
        "integrated gradients, ours": lambda: ours("integrated_gradients"),
        "integrated gradients, inseq": lambda: ask_inseq(gradients, n_steps=NODES),
        "occlusion, ours": lambda: ours("occlusion_1"),
        "occlusion, inseq": lambda: ask_inseq(blanked),
        "ablation, captum": ablate,
    }
    print_seconds(runs)
    read = [model.tokens(one.instance) for one in av.explain(model, list(TEXTS), "random")]
    print(f"tokens of the texts: {[len(one) for one in read]}; template: {model.prompt.room}")


def print_seconds(runs: dict[str, Callable[[], None]]) -> None:
    """Run everything in turns, and print medians."""
    seconds: dict[str, list[float]] = {what: [] for what in runs}
    for run in runs.values():  # libraries are imported here
        run()
    for what, run in list(runs.items()) * REPEATS:
        begun = time.process_time()
        run()
        seconds[what].append(time.process_time() - begun)
    for what, found in seconds.items():
        print(f"{what:32} {statistics.median(found):7.2f} s  {min(found):.2f} to {max(found):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
