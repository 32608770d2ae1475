"""What README promises, as a newcomer would try it: a wheel in an empty environment, an empty home,
another folder.

`make promises`, or `python tests/promises.py` with the Python to try. It needs nothing but the
standard library, takes the eleven packages from the registry, and prints how long each step took; a
step that fails ends it with status 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
CORPUS = """
import csv
from attreval import demo

demo.train_network().save("model")
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
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "work"
        home = Path(folder) / "home"
        place.mkdir()
        home.mkdir()
        kept = {
            name: os.environ[name]
            for name in os.environ
            if name.startswith(("PIP_", "SSL_", "LANG", "LC_"))
        }
        surroundings = kept | {"HOME": str(home), "PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1"}

        def step(what: str, *words: object) -> None:
            start = time.monotonic()
            done = subprocess.run(
                [*map(str, words)], cwd=place, env=surroundings, capture_output=True, text=True
            )
            print(f"{time.monotonic() - start:6.1f} s  {what}", flush=True)
            if done.returncode:
                sys.exit(f"{what}: status {done.returncode}\n{done.stdout}\n{done.stderr}")

        wheels = Path(folder) / "wheels"
        env = Path(folder) / "env"
        print(f"Python {sys.version.split()[0]}")
        step("an empty environment", sys.executable, "-m", "venv", env)
        python = env / "bin" / "python"
        command = env / "bin" / "attreval"
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        step("the wheel", *pip, "wheel", "--no-deps", "--wheel-dir", wheels, CHECKOUT)
        step(
            "installed",
            *pip,
            "install",
            "--constraint",
            CHECKOUT / "requirements.torch",
            *wheels.glob("*.whl"),
        )
        step("import attreval", python, "-c", "import attreval")
        step("attreval --help", command, "--help")
        step("attreval demo", command, "demo", "--out", "demo.html")
        step("a model and texts of one's own", python, "-c", CORPUS)
        step("attreval check", command, "check", "model")
        step(
            "attreval explain",
            command,
            "explain",
            "--model",
            "model",
            "--text",
            "the superb film",
            "--out",
            "one.html",
        )
        step(
            "attreval evaluate",
            command,
            "evaluate",
            "--model",
            "model",
            "--data",
            "my.csv",
            "--out",
            "report",
        )
        step("a pipeline of scikit-learn", python, "-c", PIPELINE)
        step("a language model by template", python, "-c", CAUSAL)
        (place / "my_metric.py").write_text(METRIC, encoding="utf-8")
        step("attreval trial of a metric", command, "trial", "my_metric.py", "--out", "metric.html")
        step("the worlds' texts", command, "trial", "--export", "worlds")
        step("scores of one's own for them", python, "-c", THEIRS)
        step(
            "attreval trial of attributions",
            command,
            "trial",
            "--attributions",
            "theirs.jsonl",
            "--out",
            "method.html",
        )
        made = (
            "demo.html",
            "one.html",
            "report/report.html",
            "report/values.csv",
            "metric.html",
            "method.html",
        )
        for name in made:
            if not (place / name).is_file():
                sys.exit(f"{name} was not written")
    print("all kept")


if __name__ == "__main__":
    main()
