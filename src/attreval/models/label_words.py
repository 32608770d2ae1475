"""A language model as a classifier: a class is as likely as its words to come behind a template.

The template's tokens stay out of the rows that are asked about: they are put around each row where
it enters the network, so that no method scores, erases or disturbs them, and no text is so long
that it takes their place. They are the same for every text: where a tokenizer would join the text's
last sign and the template's next, they stay apart.
Letters used for shapes: B rows, L tokens of texts, D embedding width, K classes.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attreval.core.alignment import fill_ids, place_tokens
from attreval.core.records import Instance, Tokens
from attreval.models import forward

PLACE = "{text}"
_PROBE = "a good film"


class _Place(IntEnum):
    """Where a token stands."""

    BEFORE = 0
    TEXT = 1
    BEHIND = 2
    PADDING = 3


class _Read(NamedTuple):
    """A token of a prompt, with the characters of the text that it covers."""

    place: _Place
    id: int
    start: int
    end: int


@dataclass(frozen=True)
class Prompt:
    """What stands around a text, and what may follow.

    Where each label word is one token, a class's output is its logit, else the sum of the log
    probabilities of its tokens. The class scores are these outputs' log-softmax.

    Attributes:
        template, words: As given, with the words of each class.
        chat: Whether the template is a user's message to the model.
        around: What the tokenizer reads before and behind the text.
        before, behind: Their tokens.
        spoken: K tuples of ids, of the label words.
        cap: What bounds logits, as in Gemma 2.
        kept: Keys and values of `before`, by dtype and device; None where none are kept.
    """

    template: str
    words: Mapping[str, str]
    chat: bool
    around: tuple[str, str]
    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    spoken: tuple[tuple[int, ...], ...] = ()
    cap: float | None = None
    kept: dict[tuple, Any] | None = field(default_factory=dict, compare=False, repr=False)

    @property
    def single(self) -> bool:
        """Whether each label is one token."""
        return all(len(word) == 1 for word in self.spoken)

    @property
    def begun(self) -> list[tuple[int, ...]]:
        """What may have been said of a label when its next token is asked for, each once."""
        begun = [word[:at] for word in self.spoken for at in range(len(word))]
        return list(dict.fromkeys(begun))

    @property
    def room(self) -> int:
        """Tokens that template and label words take of those that the network has positions for."""
        return len(self.before + self.behind) + max(map(len, self.begun))

    def encode(self, tokenizer: Any, text: str, tail: str = "") -> list[_Read]:
        """The tokens of the prompt; a space before the text belongs to its first token."""
        left, right = self.around
        encoded = tokenizer(
            left + text + right + tail,
            add_special_tokens=not self.chat,
            return_offsets_mapping=True,
            verbose=False,
        )
        sides = encoded.sequence_ids(0)
        while sides and sides[-1] is None:  # no end of text behind
            sides.pop()
        first = -int(left.endswith(" "))
        found = []
        for _, token, (start, end) in zip(
            sides, encoded["input_ids"], encoded["offset_mapping"], strict=False
        ):
            start -= len(left)
            end -= len(left)
            place = _Place.TEXT if start < len(text) else _Place.BEHIND
            if end <= first:
                place = _Place.BEFORE
            start, end = np.clip((start, end), 0, len(text)).tolist()
            found.append(_Read(place, token, start, end))
        return found

    def read(self, instance: Instance, tokenizer: Any, max_length: int) -> Tokens:
        """A text as it is read in the template, cut at its end.

        Args:
            instance: The text.
            tokenizer: Of the model.
            max_length: Tokens of the text, at most.

        Raises:
            ValueError: It is a pair, or gives no token.
        """
        if len(instance.segments) > 1:
            raise ValueError(
                f"instance {instance.id!r} is a pair of texts, and the template "
                f"{self.template!r} has a place for one"
            )
        (text,) = instance.segments
        found = self.encode(tokenizer, text)
        ids = [one.id for one in found if one.place == _Place.TEXT]
        ends = [(one.start, one.end) for one in found if one.place == _Place.TEXT]
        if self.before + self.behind != tuple(one.id for one in found if one.place != _Place.TEXT):
            # joined with the template: the text is read alone
            lead = " " * self.around[0].endswith(" ")
            alone = tokenizer(
                lead + text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            ids = alone["input_ids"]
            ends = [
                (max(start - len(lead), 0), max(end - len(lead), 0))
                for start, end in alone["offset_mapping"]
            ]
        if not ids:
            raise ValueError(
                f"instance {instance.id!r} has nothing to explain: its text {text!r:.80} gives "
                "no token; leave it out"
            )
        del ids[max_length:]
        sides = [0] * len(ids)
        offsets = np.column_stack([sides, ends[:max_length]])
        names = tokenizer.convert_ids_to_tokens(ids)
        return place_tokens(
            instance, ids, sides, offsets, names, fill_ids(tokenizer), tokenizer.unk_token_id
        )

    def attach(self, network: nn.Module, name: str) -> None:
        """Give a language model a head `score` that reads the label words' logits.

        Args:
            network: The language model, changed in place.
            name: Its name, for messages.

        Raises:
            ValueError: It has no output layer for tokens.
        """
        head: Any = network.get_output_embeddings()
        if not isinstance(head, nn.Linear):
            raise ValueError(
                f"{name} has no linear layer that gives the logits of tokens, of which those are "
                "taken"
            )
        network.score = head
        if self.single:
            rows = [word[0] for word in self.spoken]
            network.score = nn.Linear(
                head.in_features, len(rows), bias=head.bias is not None, dtype=head.weight.dtype
            )
            for own, whole in zip(network.score.parameters(), head.parameters(), strict=True):
                own.data = whole.data[rows].clone()

    def classify(
        self, network: nn.Module, mask: Tensor, ids: Any, embeddings: Any, entering: Any
    ) -> Tensor:
        """(B, K) outputs for ids of texts, or for embeddings of theirs; see forward.classify."""
        found = {}
        by_ids = embeddings is None and entering is None and not torch.is_grad_enabled()
        for said in self.begun:
            if by_ids and self.before and self.kept is not None:
                logits = self._go_on(network, said, mask, ids, self.kept)
            else:
                rows = self._surround(self.before, network, said, mask, ids, embeddings, entering)
                logits = forward.classify(network, **rows)
            found[said] = logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)
        if self.single:
            return found[()]
        likely = {said: logits.log_softmax(dim=-1) for said, logits in found.items()}
        scores = []
        for word in self.spoken:
            parts = [likely[word[:at]][:, token] for at, token in enumerate(word)]
            scores.append(torch.stack(parts).sum(dim=0))
        return torch.stack(scores, dim=1)

    def _go_on(
        self, network: Any, said: tuple[int, ...], mask: Tensor, ids: Tensor, kept: dict[tuple, Any]
    ) -> Tensor:
        """(B, K) logits of ids, from where the template before them has been read."""
        kind = (network.dtype, mask.device)
        if kind not in kept:
            with torch.inference_mode(False), torch.no_grad():
                begin = torch.tensor([self.before], device=mask.device)
                answer = network.base_model(input_ids=begin, use_cache=True)
            kept[kind] = answer.past_key_values
        past = deepcopy(kept[kind])
        past.batch_repeat_interleave(len(mask))
        rows = self._surround((), network, said, mask, ids, None, None)
        return forward.classify(network, rows["mask"], ids=rows["ids"], past=past)

    def _surround(
        self,
        before: tuple[int, ...],
        network: Any,
        said: tuple[int, ...],
        mask: Tensor,
        ids: Any,
        embeddings: Any,
        entering: Any,
    ) -> dict:
        """The rows behind `before` and inside the template, and behind them what is `said`.

        Only the texts' own vectors are changed by `entering`.
        """

        def repeat(row: Sequence[int]) -> Tensor:
            return torch.tensor(row, dtype=torch.int64, device=mask.device).expand(len(mask), -1)

        fixed = [_Place.BEFORE] * len(before) + [_Place.BEHIND] * len(self.behind + said)
        read = torch.where(mask.bool(), int(_Place.TEXT), int(_Place.PADDING))
        place = torch.cat([repeat(fixed), read], dim=1)
        order = place.argsort(dim=1, stable=True)

        def sort(x: Tensor, by: Tensor = order) -> Tensor:
            return x.gather(1, by if x.ndim == 2 else by[..., None].expand_as(x))

        def change(x: Tensor) -> Tensor:
            apart = sort(x, order.argsort(dim=1))
            own = entering(apart[:, len(fixed) :])
            return sort(torch.cat([apart[:, : len(fixed)], own], dim=1))

        made: dict = {
            "mask": (sort(place) < _Place.PADDING).long(),
            "entering": entering and change,
        }
        context = repeat(before + self.behind + said)
        if embeddings is None:
            return made | {"ids": sort(torch.cat([context, ids], dim=1))}
        vectors = network.get_input_embeddings()(context)
        return made | {"embeddings": sort(torch.cat([vectors, embeddings], dim=1))}

    def own_logits(self, network: nn.Module, one: Tokens) -> Tensor:
        """(1, K) outputs by the language model's own pass of the whole prompt, for checks."""
        prompt = [*self.before, *one.ids.tolist(), *self.behind]
        scores = []
        for word in self.spoken:
            device = next(network.parameters()).device
            given = torch.tensor([[*prompt, *word[:-1]]], device=device)
            answer = network(input_ids=given, attention_mask=torch.ones_like(given))
            logits = answer.logits[0, len(prompt) - 1 :]
            if not self.single:
                logits = logits.log_softmax(dim=-1)
            scores.append(logits[torch.arange(len(word)), list(word)].sum())
        return torch.stack(scores)[None]


def read_prompt(
    tokenizer: Any,
    template: str,
    words: Mapping[str, str],
    chat: bool,
    name: str,
    cap: float | None,
) -> Prompt:
    """A template and label words as a tokenizer reads them.

    Args:
        tokenizer: Of the model.
        template: With one place for the text.
        words: The label word of each class.
        chat: Whether the template is a user's message.
        name: Of the model, for messages.
        cap: What bounds logits.

    Raises:
        ValueError: The template has no place for the text, words are unknown, join the template or
            are the same tokens, or a chat is asked of a tokenizer without a chat template.
    """
    if chat and not getattr(tokenizer, "chat_template", None):
        raise ValueError(
            f"the tokenizer of {name} has no chat template; leave `chat` out, the template "
            "stands alone"
        )
    message = [{"role": "user", "content": template}]
    whole = (
        tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        if chat
        else template
    )
    left, *right = whole.split(PLACE)
    if len(right) != 1:
        raise ValueError(
            f"a template has one place for the text, {PLACE}, such as '{PLACE} It was'; got "
            f"{template!r}"
        )
    if len(words) < 2:
        raise ValueError(
            f"labels give two or more classes their words, such as {{'good': ' fine'}}; got "
            f"{dict(words)}"
        )
    prompt = Prompt(template, dict(words), chat, (left, right[0]), cap=cap)
    plain = prompt.encode(tokenizer, _PROBE)
    spoken = []
    for label, word in words.items():
        said = prompt.encode(tokenizer, _PROBE, word)
        spoken.append(tuple(one.id for one in said[len(plain) :]))
        if said[: len(plain)] != plain or not spoken[-1]:
            raise ValueError(
                f"the label word {word!r} of {label!r} joins what stands before it, "
                f"{whole[-20:]!r}: end the template "
                "without a space and begin the words with one (' great')"
            )
        if tokenizer.unk_token_id in spoken[-1]:
            raise ValueError(
                f"the tokenizer of {name} does not know the label word {word!r} of {label!r}"
            )
    if len(set(spoken)) < len(spoken):
        raise ValueError(
            f"two labels are the same tokens: {dict(words)}; each class needs a word of its own"
        )
    before = tuple(one.id for one in plain if one.place == _Place.BEFORE)
    behind = tuple(one.id for one in plain if one.place == _Place.BEHIND)
    return replace(prompt, before=before, behind=behind, spoken=tuple(spoken))
