"""`explain`: texts, methods and a model become explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, get_args

import numpy as np

from attreval.api.explanation import Explanation
from attreval.api.explanations import Explanations, check_unit
from attreval.api.loading import check_model
from attreval.api.method_names import asks_for_all, find_methods
from attreval.api.windows import explain_windows
from attreval.core.records import Instance
from attreval.core.units import STRETCHES
from attreval.methods.method import Budget
from attreval.methods.run import Explained, count_texts, explain_instances, predict
from attreval.models.classifier import Classifier, Contrast, OneOutput, Score
from attreval.models.outputs import OUTPUTS, outputs_of
from attreval.models.scorer import Scorer
from attreval.models.service import NoAnswer
from attreval.texts.data import index_of
from attreval.texts.given import Text, as_list, make_instances, read_segments

SAMPLES = 500
TOGETHER = 8  # texts that share batches


def explain(
    model: Classifier,
    texts: Text | Iterable[Text],
    methods: str | Sequence[str] | None = None,
    *,
    unit: str = "word",
    window: bool = False,
    target: str | int | Sequence[str | int | None] | None = None,
    against: str | int | None = None,
    score: Score | None = None,
    output: str | int | None = None,
    budget: Budget | None = None,
    samples: int | None = None,
    notify: Callable[[int, int, int], None] | None = None,
) -> Explanations:
    """Explain a model's answer on each text by each method.

    Random draws follow from the words of a text, so its scores are the same in any company.

    Args:
        model: see `load` and `wrap`.
        texts: a string, a tuple of two strings for a pair, or a list of these.
        methods: names of METHODS or what they are called elsewhere (`ig`, `shap`, `LIME`), `all`;
            None takes gradient x input, integrated gradients, occlusion and LIME.
        unit: scores of whole `word`s, `sentence`s or `paragraph`s, which are then the players of
            the Shapley methods, or of each `token`; players are sentences or paragraphs where the
            budget says so (`units.unit`).
        window: cut a text that the model cannot read whole, at ends of sentences, and explain each
            piece by itself; a word's score is then that of its piece (`pieces` of the explanation).
        target: the class to explain, by name or index, or a list, one for each text; None takes the
            one predicted.
        against: explain why that class rather than this one: the difference of their two logits, or
            for methods that go by probabilities the probability of the one given that it is one of
            the two. A method whose scores do not depend on the class gives the same.
        score: what methods that do not go by probabilities explain of the class: its `logit`, or
            its `log_probability`, in which what moves all classes alike has no part. None takes the
            logit of a trained classifier, the other of a language model or a function.
        output: of a model whose outputs are no classes (`load`), the one to explain, by name or
            index; it may be left out where there is one alone.
        budget: what methods may spend, and their choices.
        samples: texts that LIME, LIMSSE and the Shapley methods may ask for, 500 where neither is
            given.
        notify: called with (texts done, of, evaluations of the model so far), also while a text is
            being explained.

    Raises:
        ValueError: a text that is empty or no text, an unknown method or one that the model does
            not allow, an unknown class, output or score, or one where the model has the other.
        RuntimeError: the model fails; text and method are named. Or a function may not be asked
            about as many texts as the methods might need.

    What stops it, KeyboardInterrupt too, holds the texts explained before as `found`.
    """
    check_model(model)
    check_unit(unit)
    outputs = outputs_of(model)
    if outputs != "classes" and (target is not None or against is not None):
        raise ValueError(
            f"target and against name classes, and the model's outputs are {OUTPUTS[outputs]}; "
            "output= names the one to explain"
        )
    model = pick_output(score_by(model, score), output)
    names = find_methods(methods, model.family, outputs)
    every = asks_for_all(methods)
    rival = None if against is None else find_class(model.labels, against)
    spending = find_budget(budget, samples, unit)
    segments = read_segments(texts)
    goals = _find_goals(model.labels, target, len(segments))
    if window:
        ask = partial(
            explain,
            model,
            methods=methods,
            unit=unit,
            against=against,
            budget=budget,
            samples=samples,
            notify=notify,
        )
        return explain_windows(ask, model, segments, goals)
    asked = list(zip(segments, goals, strict=True))
    often = Counter(asked)  # in the order of the texts
    first = {one: at for at, one in reversed(list(enumerate(asked)))}
    if getattr(model, "service", None):
        _check_calls(model, make_instances(dict.fromkeys(segments), model), names, spending)
    found: dict[tuple, Explanation] = {}
    done = evaluations = 0

    def tell(texts: int, rows: int) -> None:
        """So many more texts are done, or rows answered by the model."""
        nonlocal done, evaluations
        done += texts
        evaluations += rows
        if notify:
            notify(done, len(segments), evaluations)

    question = _Question(model, names, spending, unit, rival, every, partial(tell, 0))
    for goal in dict.fromkeys(goal for _, goal in asked):
        distinct = [one for one in often if one[1] == goal]
        for start in range(0, len(distinct), TOGETHER):
            part = distinct[start : start + TOGETHER]
            some = make_instances([text for text, _ in part], model)
            places = [first[one] for one in part]
            try:
                found |= zip(part, question.explain(some, places, goal), strict=True)
                tell(sum(often[one] for one in part), 0)
            except BaseException as error:
                _keep(error, [found[one] for one in asked if one in found], model.labels)
                raise
    return Explanations([found[one] for one in asked], model.labels)


def _keep(error: BaseException, done: list[Explanation], labels: Sequence[str]) -> None:
    """Put the texts that are explained into what stops the others, as its `found`."""
    if done:
        vars(error)["found"] = Explanations(done, labels)
        error.add_note(f"texts explained before it: {len(done)}, in `found` of this exception")


def _find_goals(
    labels: Sequence[str], target: str | int | Sequence | None, texts: int
) -> list[int | None]:
    """For each text the index of the class to explain, None for the one predicted."""
    if target is None or isinstance(target, (str, int, np.integer)):
        given = [target] * texts
    else:
        given = as_list(target, "target is one class, or a list with one for each text")
    if len(given) != texts:
        raise ValueError(f"target is one class, or one for each of {texts} texts; got {len(given)}")
    return [None if one is None else find_class(labels, one) for one in given]


def _check_calls(model: Any, instances: list[Instance], methods: list[str], budget: Budget) -> None:
    """NoAnswer where a function may be asked about too few texts, and nothing would be kept."""
    needed = count_texts(model, instances, methods, budget)
    if needed and needed > model.service.left and model.service.file is None:
        raise NoAnswer(
            f"for {', '.join(methods)} of these texts {model.name} may be asked about {needed} "
            f"texts, and calls={model.service.calls} leaves {model.service.left}; allow more "
            "calls, name fewer texts, methods or samples, or give cache=, a folder where answers "
            "are kept"
        )


def find_class(labels: Sequence[str], wanted: str | int, what: str = "class") -> int:
    """The index of a class, given by name or number. ValueError for an unknown one."""
    if (at := index_of(wanted, labels)) is not None:
        return at
    raise ValueError(f"the model has no {what} {wanted!r}; it has {_list_names(labels)}")


def _list_names(labels: Sequence[str]) -> str:
    """How many classes or outputs there are, and the first of them with their numbers."""
    known = ", ".join(f"{k} {label}" for k, label in enumerate(labels[:20]))
    return f"{len(labels)}: {known}{' ...' if len(labels) > 20 else ''}"


def pick_output(model: Classifier, output: str | int | None) -> Classifier:
    """A model of classes as it is; of other outputs the one that is meant, alone.

    Raises:
        ValueError: an unknown output, none where there are several, or one of a model of classes.
    """
    if outputs_of(model) == "classes":
        if output is not None:
            raise ValueError(
                f"the model has classes ({_list_names(model.labels)}), of which one is predicted; "
                f"target={output!r} names the one to explain, not output"
            )
        return model
    if output is None and len(model.labels) > 1:
        raise ValueError(
            "output= names the one of the model's outputs to explain; it has "
            f"{_list_names(model.labels)}"
        )
    at = 0 if output is None else find_class(model.labels, output, "output")
    return model if isinstance(model, OneOutput) else OneOutput(model, at)


def explained_model(model: Classifier, explanations: Explanations) -> Classifier:
    """The model as it was explained: as it is, or one of its outputs.

    ValueError for a model with other outputs than were explained.
    """
    said = explanations[0].outputs
    if said != outputs_of(model):
        raise ValueError(
            f"the explanations are of {OUTPUTS[said]}, and the model's outputs are "
            f"{OUTPUTS[outputs_of(model)]}; take the model that was explained"
        )
    return pick_output(model, None if said == "classes" else explanations[0].target)


def score_by(model: Any, score: Score | None) -> Classifier:
    """The classifier with another score of its classes; None leaves it as it is.

    ValueError for an unknown score, and for the logit of a model that has none.
    """
    if score is None or score == getattr(model, "score", "logit"):
        return model
    if outputs_of(model) != "classes":
        raise ValueError(f"score={score!r} is of classes; explained is an output as it is")
    if score not in get_args(Score):
        raise ValueError(f"score {score!r} is not known; there are: {', '.join(get_args(Score))}")
    if not hasattr(model, "network"):
        raise ValueError(
            f"{model.name} has no logits: its class scores are logarithms of its probabilities"
        )
    other = copy(model)
    other.score = score
    return other


def check_samples(samples: int | None) -> None:
    """Raise ValueError for what is no number of sampled texts."""
    if samples is None:
        return
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 2:
        raise ValueError(f"samples is a number of texts, 2 or more; got {samples!r}")


def find_budget(budget: Budget | None, samples: int | None, unit: str) -> Budget:
    """The budget with the number of samples and the players in it; longer ones stay players.

    Args:
        budget: None takes the usual one.
        samples: texts that sampling methods may ask for; None takes the budget's, or SAMPLES where
            there is none.
        unit: what has a score.
    """
    spending = budget or Budget()
    check_samples(samples)
    players = "subword" if unit == "token" else unit
    if players in STRETCHES or spending.units.unit not in STRETCHES:
        spending = spending.changed(units=spending.units.changed(unit=players))
    if samples is None and budget is not None:
        return spending
    most = int(samples or SAMPLES)
    units = spending.units.changed(shapley_samples=most)
    return spending.changed(
        lime_samples=most, limsse_samples=most, shap_evaluations=max(4, most), units=units
    )


@dataclass(frozen=True)
class _Question:
    """What is asked of every text.

    every: all methods are asked for, and those that refuse are left out. answered: is told how many
    rows the model has answered.
    """

    model: Classifier
    methods: list[str]
    budget: Budget
    unit: str
    rival: int | None
    every: bool
    answered: Callable[[int], None]

    def explain(
        self, instances: list[Instance], places: list[int], goal: int | None
    ) -> list[Explanation]:
        """Explain a few texts. places: theirs among all texts, for messages."""
        labels = self.model.labels
        left_out: dict[str, str] = {}
        made: dict[int, Explained] = {}
        probabilities = self._predict(instances, places)
        targets = self._find_targets(probabilities, places, goal)
        for target in dict.fromkeys(targets):
            model: Any = self.model
            label = target
            if self.rival is not None:
                model = Contrast(self.model, target, self.rival)
                label = 0
            mine = [i for i, k in enumerate(targets) if k == target]
            of_class = [replace(instances[i], label=label) for i in mine]
            heard = self._ask(model, of_class, [places[i] for i in mine], left_out)
            made |= zip(mine, heard, strict=True)
        explanations = []
        for i, p in enumerate(probabilities):
            attributions = {
                method: replace(one, target=targets[i])
                for method, one in made[i].attributions.items()
                if method not in left_out
            }
            explanations.append(
                Explanation(
                    instance=instances[i],
                    tokens=made[i].tokens,
                    predicted=labels[int(p.argmax())],
                    probabilities=dict(zip(labels, p.tolist(), strict=True)),
                    target=labels[targets[i]],
                    against=None if self.rival is None else labels[self.rival],
                    unit=self.unit,
                    attributions=attributions,
                    left_out=left_out,
                    outputs=outputs_of(self.model),
                    noise=getattr(self.model, "noise", 0.0),
                )
            )
        return explanations

    def _predict(self, instances: list[Instance], places: list[int]) -> np.ndarray:
        """(n, K) probabilities, or values. ValueError where these are no numbers."""

        def ask(some: list[Instance]) -> np.ndarray:
            return predict(Scorer(self.model), [self.model.tokens(one) for one in some])

        try:
            with np.errstate(invalid="ignore"):  # what is no number is told below
                probabilities = ask(instances)
        except NoAnswer:
            raise
        except Exception as error:
            for place, instance in zip(places, instances, strict=True):
                try:
                    ask([instance])
                except Exception as cause:
                    raise _name_culprit(cause, place, "the prediction") from cause
            raise RuntimeError(
                f"texts {places[0]} to {places[-1]} together, the prediction: {error}"
            ) from error
        if not np.isfinite(probabilities).all():
            at = places[int((~np.isfinite(probabilities)).any(axis=1).argmax())]
            raise ValueError(
                f"text {at}: the model's probabilities are no numbers; its weights may hold NaN"
            )
        return probabilities

    def _find_targets(
        self, probabilities: np.ndarray, places: list[int], goal: int | None
    ) -> list[int]:
        """The class to explain of each text. ValueError where it is the one to contrast it with."""
        predicted = probabilities.argmax(axis=1).tolist()
        targets = predicted if goal is None else [goal] * len(predicted)
        if self.rival is not None and self.rival in targets:
            at = places[targets.index(self.rival)]
            what = "is what the model predicts of" if goal is None else "is also the target for"
            raise ValueError(
                f"against={self.model.labels[self.rival]!r} {what} text {at}; a contrast needs two "
                "classes: name another target"
            )
        return targets

    def _ask(
        self,
        model: Classifier,
        instances: list[Instance],
        places: list[int],
        left_out: dict[str, str],
    ) -> list[Explained]:
        """Ask methods. left_out: where all methods are asked, those that refuse, and why."""
        able = [method for method in self.methods if method not in left_out]
        asked = (self.budget, ("own",), "gold")
        try:
            scorer = Scorer(model, notify=self.answered)
            return explain_instances(scorer, instances, able, *asked, group=TOGETHER)
        except NoAnswer:
            raise
        except Exception as error:
            for method, (place, instance) in product(able, zip(places, instances, strict=True)):
                try:
                    explain_instances(Scorer(model), [instance], [method], *asked)
                except Exception as cause:
                    if not self.every or not isinstance(cause, ValueError):
                        raise _name_culprit(cause, place, f"the method {method}") from cause
                    left_out[method] = str(cause)
                    return self._ask(model, instances, places, left_out)
            raise RuntimeError(f"texts {places[0]} to {places[-1]} together: {error}") from error


def _name_culprit(cause: Exception, place: int, what: str) -> Exception:
    """The same error, naming the text that caused it."""
    if type(cause) in (ValueError, OSError):
        return type(cause)(f"text {place}, {what}: {cause}")
    name = "" if isinstance(cause, RuntimeError) else f"{type(cause).__name__}: "
    return RuntimeError(f"text {place}, {what}: {name}{cause}")
