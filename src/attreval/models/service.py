"""A function that is slow, noisy, paid for or fails at times: asked again, counted, and remembered.

What is kept on disk is a file of lines in a folder that the user names: of each text a hash and its
answer. No text stands there, though a short one could be guessed from its hash.
Letters used for shapes: n texts, K classes.
"""

import inspect
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPException
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from attreval.models.checks import TOLERANCE
from attreval.models.placing import lock_of

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # seconds before a text is asked about once more
LONGEST = 600.0  # seconds that a service may ask to be left alone (Retry-After)
TOGETHER = 16  # answers that a killed run loses at most
MOST_NOISE = 0.1  # the difference of two answers then varies by .14, which hides most words
AIM = MOST_NOISE / 2  # the noise that as many repeats as are advised would leave
SHIFT = 4  # times the difference of the same call: a text beside another is no longer noise
TRY_AGAIN = (408, 425, 429)  # HTTP: timeout, too early, too many requests; and all from 500 on
# errors of the system or of what was written, which are the same a second later
FINAL = (FileNotFoundError, PermissionError, ValueError)
TRANSIENT = ("Timeout", "ConnectionError", "TransportError")  # in names of classes, such as httpx's
UNANIMOUS = 0.23  # the noise of a vote where eight agreed: half a vote in nine is taken to differ
NOISE = "noise"  # what the measured noise is kept under
Answers = dict[str, list[float]]  # by the hash of a text


class NoAnswer(RuntimeError):
    """A service has not answered or must not be asked: no other text would fare better now."""


@dataclass(eq=False)
class Service:
    """A function from n texts to (n, K) numbers, asked so that little is lost, nothing paid twice.

    Attributes:
        ask: The function. What it gives has been looked at.
        name: Its name.
        repeats: How often each text is asked about; the mean is its answer.
        votes: Answers are votes, 1 for one class and 0 for the others. To their sum comes one vote
            more, shared equally by the classes, so that no share is 0 or 1.
        calls: Texts that it may be asked about, all in all. A text counts each time that it is
            handed over, also where no answer comes.
        keeps: The first answer about a text is the answer from then on.
        file: Where answers are kept beyond the life of this object; None for nowhere.
        asked: Texts handed over so far.
        kept: Answers by the hashes of their texts.
        together: Texts handed over at once: half as many after a failure, one more after an answer.
    """

    ask: Callable[[list], np.ndarray]
    name: str
    repeats: int = 1
    votes: bool = False
    calls: float = np.inf
    keeps: bool = False
    file: Path | None = None
    asked: int = 0
    kept: Answers = field(default_factory=dict, repr=False)
    together: float = np.inf

    def __call__(self, texts: list) -> np.ndarray:
        """(n, K) answers.

        Raises:
            NoAnswer: It has failed too often, or `calls` are used up.
        """
        if not self.keeps:
            return self.once(texts)
        keys = [sha256(json.dumps(text).encode()).hexdigest()[:32] for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.kept}
        wanted = list(new)
        while wanted:
            part = wanted[: max(1, TOGETHER // self.repeats)]
            rounds = [self.once([new[key] for key in part]) for _ in range(self.repeats)]
            total = np.sum(rounds, axis=0)
            extra = self.votes / total.shape[1]  # of the one vote more
            answers = (total + extra) / (self.repeats + self.votes)
            self.keep(dict(zip(part, answers.tolist(), strict=True)))
            wanted = wanted[len(part) :]
        return np.array([self.kept[key] for key in keys])

    @property
    def left(self) -> float:
        """Texts that it may still be asked about."""
        return max(0, self.calls - self.asked)

    def once(self, texts: list) -> np.ndarray:
        """(n, K) answers of one time, which are not kept, in as many calls as it takes."""
        found: list[np.ndarray] = []
        failed = 0
        while len(found) < len(texts):
            rest = texts[len(found) :]
            with lock_of(self):
                part = rest[: int(min(len(rest), self.together, self.left))]
                self.asked += len(part)
            if not part:
                raise NoAnswer(
                    f"{self.name} has been asked about {self.asked} texts, and calls={self.calls} "
                    f"allows no more; {self._kept_where()}, with a greater calls="
                )
            try:
                found.extend(self.ask(part))
            except Exception as error:
                time.sleep(self._pause(error, failed))
                failed += len(part) == 1
                self.together = max(1, len(part) // 2)
            else:
                failed = 0
                self.together += 1
        return np.array(found)

    def keep(self, answers: Answers) -> None:
        """Keep answers; the first of a text stays."""
        lines = []
        for key, answer in answers.items():
            if self.kept.setdefault(key, answer) is answer:
                lines.append(json.dumps([key, answer]))
        if self.file is not None and lines:
            with self.file.open("a", encoding="utf-8") as file:
                file.write("\n" + "\n".join(lines))  # what a killed run left unfinished ends here

    def _pause(self, error: Exception, failed: int) -> float:
        """Seconds to wait after an error; what is not to be tried again is raised.

        failed: how often the same text has failed before.
        """
        status, wait = read_error(error)
        if status is None and not is_transient(error):
            raise error
        again = status is None or status in TRY_AGAIN or status >= 500
        if not again or failed >= len(PAUSES) or (wait or 0) > LONGEST:
            raise NoAnswer(
                f"{self.name} failed in try {failed + 1} of a text with {type(error).__name__}: "
                f"{error}; {self._kept_where()}"
            ) from error
        return PAUSES[failed] if wait is None else wait

    def _kept_where(self) -> str:
        """What has not been lost, and how to go on."""
        if self.file is None:
            return "with cache=, a folder, answers are kept and the same lines go on from there"
        return (
            f"{len(self.kept)} answers are kept in {self.file.parent}: the same lines go on from "
            "there"
        )

    def measure_noise(self, texts: Sequence) -> float:
        """The standard deviation of a share, probability or value in an answer; 0 for none.

        Each text is asked about four times, twice alone and twice beside the others; that of the
        text and class where it is greatest counts.

        Raises:
            ValueError: A text gets other answers beside another than alone, or the noise is greater
                than MOST_NOISE.
        """
        if NOISE in self.kept:
            return self.kept[NOISE][0]
        rounds = []
        for _ in range(2):
            rounds.append(self.once(list(texts)))
            rounds.append(np.concatenate([self.once([text]) for text in texts]))
        answers = np.array(rounds)  # (4, n, K), by turns together and alone
        size = max(1.0, np.abs(answers).max())  # values may be large
        again = np.abs(answers[:2] - answers[2:]).max()
        shift = np.abs((answers[::2] - answers[1::2]).mean(axis=0)).max()
        if not self.votes and shift > max(TOLERANCE * size, SHIFT * again):
            raise ValueError(
                f"{self.name} gives a text other probabilities beside another than alone (they "
                f"differ by {shift:.2g}; allowed is {TOLERANCE:g}), the same ones each time, so "
                "there is nothing fixed to explain; give a function that asks about each text alone"
            )
        exact = np.ptp(answers, axis=0).max() <= TOLERANCE * size
        least = UNANIMOUS if self.votes else 0.0
        single = least if exact else float(answers.std(axis=0, ddof=1).max())
        noise = single / self.repeats**0.5
        if noise > MOST_NOISE * size:
            raise ValueError(
                f"{self.name} gives the same text other answers each time, by {noise:.2g} "
                f"(standard deviation of a probability; allowed is {MOST_NOISE:g}), so that there "
                f"is nothing to explain; repeats={ceil((single / AIM / size) ** 2)} asks about "
                "each text so often, and explains the mean"
            )
        if self.keeps:
            self.keep({NOISE: [noise]})
        return noise


def count_votes(
    function: Callable[[list], Any], labels: tuple[str, ...], texts: list
) -> np.ndarray:
    """(n, K) votes, a 1 in each row, from a function from texts to names of classes.

    ValueError for anything but a class a text.
    """
    said = np.asarray(function(texts)).astype(str)
    if said.shape != (len(texts),) or not {*said} <= {*labels}:
        raise ValueError(
            f"outputs='labels' takes one of {', '.join(labels)} for each of {len(texts)} "
            f"texts; got {said.tolist()!r:.80}"
        )
    return (said[:, None] == np.array(labels)).astype(float)


def open_cache(folder: str | Path, function: Any, said: dict) -> tuple[Path, Answers]:
    """The file of a folder that belongs to a function, and what it keeps.

    Args:
        folder: Made where it is not there.
        function: See `describe`.
        said: What else answers depend on.

    Raises:
        OSError: The folder cannot be made or read.
    """
    folder = Path(folder).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    about = json.dumps([said, describe(function)], sort_keys=True)
    file = folder / f"{sha256(about.encode()).hexdigest()[:16]}.jsonl"
    kept: Answers = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            key, answer = json.loads(line)
        except ValueError:  # a line that a killed run did not finish, or an empty one
            continue
        kept.setdefault(key, answer)
    return file, kept


def describe(function: Any) -> list:
    """What tells a function from another: name, source, and strings that it reads or belongs to.

    A prompt in a variable is seen so; a served model's weights and what other functions do are not.
    """
    inner = getattr(function, "func", function)  # of functools.partial
    inner = inner if inspect.isroutine(inner) else type(inner)
    code = getattr(inner, "__code__", None)
    try:
        source = inspect.getsource(inner)
    except (OSError, TypeError):  # typed in, or not in Python
        source = f"{code.co_code.hex()} {code.co_consts}" if code else ""
    read = dict(getattr(getattr(function, "__self__", function), "__dict__", {}))
    if code:
        around = inspect.getclosurevars(inner)
        read |= {**around.globals, **around.nonlocals}
    strings = {key: value for key, value in read.items() if isinstance(value, str)}
    return [inner.__qualname__, source, strings]


def is_transient(error: Exception) -> bool:
    """Whether an error without an HTTP status is of a connection, so that a second try may do."""
    names = " ".join(base.__name__ for base in type(error).__mro__)
    connection = isinstance(error, (OSError, HTTPException))
    connection |= any(word in names for word in TRANSIENT)
    return connection and not isinstance(error, FINAL)


def read_error(error: Exception) -> tuple[int | None, float | None]:
    """The HTTP status that an error tells of, and the seconds that the service asks to wait."""
    status = wait = None
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "code", "status"):
            found = getattr(holder, name, None)
            status = found if isinstance(found, int) else status
        headers = getattr(holder, "headers", None) or {}
        if (given := str(headers.get("Retry-After"))).replace(".", "", 1).isdecimal():
            wait = float(given)
    return status, wait
