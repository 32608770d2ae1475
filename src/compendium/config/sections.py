"""The sections of a profile about models, tasks, training, explaining and intervals."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from attreval.core.section import Count, Natural, Ratio, Section, Size
from attreval.methods import METHODS, methods_in
from attreval.methods.method import Budget

Precision = Literal["auto", "float32", "bfloat16"]
# shown: no judge; every metric of notebook 08_joint is kept for the explorer, and no table has it
Judge = Literal["pointing", "agreement", "faithfulness", "diagnosis", "shown"]
FAMILY = {
    "gru": "recurrent",
    "lstm": "recurrent",
    "qgru": "quasi",
    "qlstm": "quasi",
    "cnn": "convolutional",
}


class ModelSpec(Section):
    """A model: pretrained weights, or a small one from scratch.

    weights: a registry name, a local folder or a hub name. labels: the classes of weights that are
    used as they are, in index order, where their own names do not say. position_start: the first
    position, for RoBERTa and MPNet; the released code of Zhao & Aletras (2023) counts from 0.
    encoder_decoder: a small BART. start: the BERT-shaped encoder that lends it embeddings and its
    lowest layers.

    tokenizer: `words` for the words of the training set; else that of a registry name, folder or
    hub name, whose pieces a word-level architecture reads in place of words. embeddings: where
    words start from in a network that is no pretrained one, as wide as that: `glove` (of the
    registry, 50 wide), the input vectors of weights, or a text file of word vectors by its absolute
    path or its place in the folder that ATTREVAL_CORPORA names.

    Word-level architectures: hidden counts units a direction (filters of a cnn). kernel: words in a
    window (qgru, qlstm, cnn). vocabulary: words with the two reserved. order: see
    models.words.layers.

    training: what to change in the profile's training; a task's own changes go before. same_as: the
    model of that name, not trained again. erase: what its tokens are erased to, for methods and
    metrics alike; see models.erasing. The crossed design alone knows these two.
    """

    architecture: Literal[
        "transformer", "encoder_decoder", "gru", "lstm", "qgru", "qlstm", "cnn"
    ] = "transformer"
    weights: str | None = None
    tokenizer: str | None = None
    layers: Count | None = None
    hidden: int | None = Field(None, ge=4)
    heads: Count | None = None
    decoder_layers: Count = 1
    start: str | None = None
    max_length: int = Field(128, ge=8)
    labels: list[str] | None = None
    position_start: Natural | None = None
    bidirectional: bool = True
    embeddings: str | None = Field(None, min_length=1)
    embedding_size: Count = 300
    kernel: Count = 5
    dropout: float = Field(0.5, ge=0, lt=1)
    gate: Literal["logistic", "hard_sigmoid"] = "logistic"
    vocabulary: int = Field(50_000, ge=3)
    order: Literal["turn_first", "convolve_first"] = "turn_first"
    training: dict[str, Any] = {}
    same_as: str | None = None
    erase: Literal["mask", "pad", "mean"] | None = None

    @property
    def family(self) -> str:
        """One of methods.method.FAMILIES."""
        return FAMILY.get(self.architecture, "transformer")

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if self.same_as:
            return self
        if self.family != "transformer":
            alien = ("weights", "layers", "heads", "start", "position_start")
            given = [name for name in alien if getattr(self, name) is not None]
            if given or self.hidden is None:
                raise ValueError(
                    f"a {self.architecture} needs `hidden`, and no {', '.join(given) or 'weights'}"
                )
            return self
        if self.architecture == "encoder_decoder" and self.weights is not None:
            raise ValueError(
                "an encoder-decoder with `weights` of its own is a transformer; `start` names an "
                "encoder"
            )
        sizes = [self.layers, self.hidden, self.heads]
        small = self.weights is None
        if small == (None in sizes) or (small and self.tokenizer is None):
            raise ValueError(
                "give either `weights`, or all of `layers`, `hidden`, `heads` and `tokenizer`"
            )
        if self.weights and self.embeddings:
            raise ValueError("`weights` have input vectors of their own: leave out `embeddings`")
        if self.architecture == "transformer" and self.start:
            raise ValueError(
                "`start` is for an encoder_decoder; a transformer starts from `weights`"
            )
        return self


class AlsoTrain(Section):
    """Shortened instances that are added to train, of a task with the same labels, or the task.

    last_words: cut to so many. around_marks: for each number here one copy of the words that people
    marked and so many on either side of each, of the instances where they marked any.
    """

    rows: Count
    last_words: Count | None = None
    around_marks: list[Natural] = []

    @model_validator(mode="after")
    def shortened_in_one_way(self) -> Self:
        if (self.last_words is None) != bool(self.around_marks):
            raise ValueError("give `last_words`, or `around_marks` with a number for each copy")
        return self


class TaskSpec(Section):
    """How much of a corpus is used, and by which models.

    With `train_rows: 0` the weights are explained as they are. A task that is read by the models of
    another one (hybrid_bbc by those of bbc) has no train, dev and test rows. explain_rows 0: models
    are trained, for another task to use. judges: which judges look at the explanations. also_train:
    tasks to train on as well, the task itself among them. training, explain, faithfulness: what to
    change in the profile's for this task. of_model: what is otherwise for one of the models (rows,
    seeds, judges, also_train and training). examples: ids of test instances that are explained
    besides, to be shown. printed: texts that papers print (paper/reported/printed_examples.jsonl),
    explained besides for the class that the paper explains. optional: left out, and said to be,
    where its files from outside the registry are not at hand.
    """

    models: list[str] = Field(min_length=1)
    seeds: list[int] = [1]
    train_rows: Natural | None = None
    dev_rows: Natural | None = None
    test_rows: Count | None = None
    explain_rows: Natural
    judges: list[Judge] = ["agreement", "faithfulness"]
    also_train: dict[str, AlsoTrain] = {}
    training: dict[str, Any] = {}
    explain: dict[str, Any] = {}
    faithfulness: dict[str, Any] = {}
    of_model: dict[str, dict[str, Any]] = {}
    examples: list[str] = []
    printed: list[str] = []
    optional: bool = False

    @model_validator(mode="after")
    def known_changes(self) -> Self:
        for model, changes in self.of_model.items():
            if model not in self.models:
                raise ValueError(
                    f"of_model names {model!r}; the models are: {', '.join(self.models)}"
                )
            if unknown := [name for name in changes if name not in OF_MODEL]:
                raise ValueError(
                    f"of_model.{model}: unknown key {unknown[0]!r}; allowed are: "
                    f"{', '.join(OF_MODEL)}"
                )
        return self


ROWS = ("train_rows", "dev_rows", "test_rows")
OF_MODEL = (*ROWS, "explain_rows", "seeds", "judges", "also_train", "training")


class TrainingSpec(Section):
    """Fine-tuning: AdamW, linear warm-up and decay, early stopping on the loss on dev.

    averaging: decay of the running average of the weights that is checked and kept, 0 for the
    weights themselves. schedule `halving`: no warm-up, and half the rate after every `halve_after`
    checks on dev without a better one; `cosine`: a decay along half a cosine. watch: what is
    compared on dev. With weight_decay 0, AdamW is Adam. head_learning_rate: of what is no part of
    the pretrained encoder, where it learns at another rate. clip: largest norm of the gradient,
    null for none. tokens: cut train and dev texts to so many; what is tested and explained keeps
    the model's max_length. frozen_layers: an encoder's embeddings and so many of its lowest layers
    stay as they were pretrained; null for none. masked: half of each batch has a random share of
    its tokens masked, see models.training. enough: training ends with the first check on dev that
    is so accurate, and keeps that one.
    """

    epochs: Count = 1
    batch_rows: Count = 32
    learning_rate: Size = 1e-4
    head_learning_rate: Size | None = None
    clip: Size | None = 1.0
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.1, ge=0, le=1)
    evaluations_per_epoch: Count = 4
    patience: Count = 3
    schedule: Literal["linear", "cosine", "halving"] = "linear"
    halve_after: Count = 2
    watch: Literal["loss", "accuracy", "macro_f1"] = "loss"
    averaging: float = Field(0.0, ge=0, lt=1)
    precision: Precision = "auto"
    tokens: int | None = Field(None, ge=8)
    frozen_layers: Natural | None = None
    masked: bool = False
    enough: Ratio | None = None

    @model_validator(mode="after")
    def enough_of_what_is_watched(self) -> Self:
        if self.enough is not None and self.watch != "accuracy":
            raise ValueError(
                f"`enough` is an accuracy, and what is kept is chosen by {self.watch}: "
                "give `watch: accuracy`"
            )
        return self


def check_methods(names: list[str]) -> list[str]:
    """The names, each of a method that is known, and none twice; ValueError otherwise."""
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(f"unknown method {unknown[0]!r}; there are: {', '.join(METHODS)}")
    if len(set(names)) < len(names):
        raise ValueError("a method is named twice")
    return names


MethodNames = Annotated[list[str], AfterValidator(check_methods)]
METHODS_OF_TWO_PAPERS = [
    "random",
    *methods_in("kamp2023").values(),
    "occlusion_1",
    *methods_in("zhao2023").values(),
]


class ExplainSpec(Budget):
    """Which methods explain, in how many shards, and what they may spend."""

    methods: MethodNames = Field(list(dict.fromkeys(METHODS_OF_TWO_PAPERS)), min_length=1)
    target: Literal["predicted", "gold"] = "predicted"
    shards: Count = 1
    token_budget: Count | None = None
    perturbation_precision: Precision = "auto"


class BootstrapSpec(Section):
    """Percentile bootstrap over instances. nulls: worlds of each kind without any effect."""

    draws: Count = 1000
    confidence: float = Field(0.95, gt=0, lt=1)
    nulls: int = Field(99, ge=19)
