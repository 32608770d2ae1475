"""A language model as a classifier: a text stands in a template, and a class is as likely as its words to come next.

The template's tokens stay out of the rows that are asked about: they are put around each row where it enters the
network, so that no method scores, erases or disturbs them, and no text is so long that it takes their place. They are
the same for every text: where a tokenizer would join the text's last sign and the template's next, they stay apart.
Letters used for shapes: B rows, L tokens of texts, D embedding width, K classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attreval.core.alignment import fill_ids, place_tokens
from attreval.core.records import Instance, Tokens
from attreval.models import forward

PLACE, _PROBE = "{text}", "a good film"
_BEFORE, _TEXT, _BEHIND, _PADDING = range(4)  # where a token stands


@dataclass(frozen=True)
class Prompt:
    """What stands around a text, and what may follow.

    template, words: as given, with the words of each class; chat: the template is a user's message to the model.
    around: what the tokenizer reads before and behind the text. before, behind: their tokens. spoken: K tuples of ids,
    of the label words. Where each is one token their logits are the class scores, else the sums of their log
    probabilities. cap: what bounds logits, as in Gemma 2.
    """

    template: str
    words: Mapping[str, str]
    chat: bool
    around: tuple[str, str]
    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    spoken: tuple[tuple[int, ...], ...] = ()
    cap: float | None = None

    @property
    def single(self) -> bool:
        """Whether each label is one token."""
        return all(len(word) == 1 for word in self.spoken)

    @property
    def begun(self) -> list[tuple[int, ...]]:
        """What may have been said of a label when its next token is asked for, each once."""
        return list(dict.fromkeys(word[:at] for word in self.spoken for at in range(len(word))))

    @property
    def room(self) -> int:
        """Tokens that template and label words take of those that the network has positions for."""
        return len(self.before + self.behind) + max(map(len, self.begun))

    def encode(self, tokenizer: Any, text: str, tail: str = "") -> list[tuple[int, int, int, int]]:
        """(place, id, start, end) of each token of the prompt, in characters of the text.

        A space before the text belongs to its first token.
        """
        left, right = self.around
        encoded = tokenizer(
            left + text + right + tail, add_special_tokens=not self.chat, return_offsets_mapping=True, verbose=False
        )
        sides, first = encoded.sequence_ids(0), -int(left.endswith(" "))
        until = max((at + 1 for at, side in enumerate(sides) if side is not None), default=0)  # no end of text behind
        found = []
        for k, ends in zip(encoded["input_ids"][:until], encoded["offset_mapping"], strict=False):
            a, b = (end - len(left) for end in ends)
            place = _BEFORE if b <= first else _TEXT if a < len(text) else _BEHIND
            found.append((place, k, max(a, 0), max(min(b, len(text)), 0)))
        return found

    def read(self, instance: Instance, tokenizer: Any, max_length: int) -> Tokens:
        """A text as it is read in the template, cut at its end. ValueError for a pair, and for a text of no token."""
        if len(instance.segments) > 1:
            raise ValueError(
                f"instance {instance.id!r} is a pair of texts, and the template {self.template!r} has a place for one"
            )
        (text,), lead = instance.segments, " " * self.around[0].endswith(" ")
        found = self.encode(tokenizer, text)
        rows = [row[1:] for row in found if row[0] == _TEXT]
        if self.before + self.behind != tuple(row[1] for row in found if row[0] != _TEXT):  # joined with the template
            alone = tokenizer(lead + text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            ends = [[max(end - len(lead), 0) for end in pair] for pair in alone["offset_mapping"]]
            rows = [(k, a, b) for k, (a, b) in zip(alone["input_ids"], ends, strict=True)]
        if not rows:
            raise ValueError(
                f"instance {instance.id!r} has nothing to explain: its text {text!r:.80} gives no token; leave it out"
            )
        ids, starts, ends = np.array(rows[:max_length]).T
        offsets = np.stack([np.zeros_like(ids), starts, ends], axis=1)
        names, fills = tokenizer.convert_ids_to_tokens(ids.tolist()), fill_ids(tokenizer)
        return place_tokens(instance, ids, np.zeros_like(ids), offsets, names, fills, tokenizer.unk_token_id)

    def attach(self, network: nn.Module, name: str) -> None:
        """Give a language model a head `score`, from which the label words' logits are read as a classifier's are.

        ValueError for a network without an output layer for tokens.
        """
        head: Any = network.get_output_embeddings()
        if not isinstance(head, nn.Linear):
            raise ValueError(f"{name} has no linear layer that gives the logits of tokens, of which those are taken")
        network.score = head
        if self.single:
            rows = [word[0] for word in self.spoken]
            network.score = nn.Linear(head.in_features, len(rows), bias=head.bias is not None, dtype=head.weight.dtype)
            for own, whole in zip(network.score.parameters(), head.parameters(), strict=True):
                own.data = whole.data[rows].clone()

    def classify(self, network: nn.Module, mask: Tensor, ids: Any, embeddings: Any, entering: Any) -> Tensor:
        """(B, K) class scores of (B, L) ids of texts, or of (B, L, D) embeddings of theirs; see forward.classify."""
        found = {}
        for said in self.begun:
            logits = forward.classify(network, **self._surround(network, said, mask, ids, embeddings, entering))
            found[said] = logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)
        if self.single:
            return found[()]
        parts = [[found[w[:j]].log_softmax(dim=-1)[:, w[j]] for j in range(len(w))] for w in self.spoken]
        return torch.stack([torch.stack(part).sum(dim=0) for part in parts], dim=1)

    def _surround(
        self, network: Any, said: tuple[int, ...], mask: Tensor, ids: Any, embeddings: Any, entering: Any
    ) -> dict[str, Any]:
        """The rows inside the template, behind which some of a label is said; only their own vectors are changed."""
        fixed = [_BEFORE] * len(self.before) + [_BEHIND] * len(self.behind + said)
        place, context = (
            torch.tensor(x, dtype=torch.int64, device=mask.device).expand(len(mask), -1)
            for x in (fixed, self.before + self.behind + said)
        )
        place = torch.cat([place, torch.where(mask.bool(), _TEXT, _PADDING)], dim=1)
        order = place.argsort(dim=1, stable=True)

        def sort(x: Tensor, by: Tensor = order) -> Tensor:
            return x.gather(1, by if x.ndim == 2 else by[..., None].expand_as(x))

        def change(x: Tensor) -> Tensor:
            apart = sort(x, order.argsort(dim=1))
            return sort(torch.cat([apart[:, : len(fixed)], entering(apart[:, len(fixed) :])], dim=1))

        made: dict[str, Any] = {"mask": (sort(place) < _PADDING).long(), "entering": entering and change}
        if embeddings is None:
            return made | {"ids": sort(torch.cat([context, ids], dim=1))}
        vectors = network.get_input_embeddings()(context)
        return made | {"embeddings": sort(torch.cat([vectors, embeddings], dim=1))}

    def own_logits(self, network: nn.Module, one: Tokens) -> Tensor:
        """(1, K) class scores of one text by the language model's own forward pass of the whole prompt, for checks."""
        prompt, scores = [*self.before, *one.ids.tolist(), *self.behind], []
        for word in self.spoken:
            given = torch.tensor([[*prompt, *word[:-1]]], device=next(network.parameters()).device)
            logits = network(input_ids=given, attention_mask=torch.ones_like(given)).logits[0, len(prompt) - 1 :]
            logits = logits if self.single else logits.log_softmax(dim=-1)
            scores.append(logits[torch.arange(len(word)), list(word)].sum())
        return torch.stack(scores)[None]


def read_prompt(
    tokenizer: Any, template: str, words: Mapping[str, str], chat: bool, name: str, cap: float | None = None
) -> Prompt:
    """A template and label words as a tokenizer reads them.

    ValueError for a template without a place for the text, words that are not told apart by their tokens, that are
    unknown or join the template, and a chat where the tokenizer has no chat template.
    """
    if chat and not getattr(tokenizer, "chat_template", None):
        raise ValueError(f"the tokenizer of {name} has no chat template; leave `chat` out, the template stands alone")
    message = [{"role": "user", "content": template}]
    whole = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True) if chat else template
    left, *right = whole.split(PLACE)
    if len(right) != 1:
        raise ValueError(f"a template has one place for the text, {PLACE}, such as '{PLACE} It was'; got {template!r}")
    if len(words) < 2:
        raise ValueError(f"labels give two or more classes their words, such as {{'good': ' fine'}}; got {dict(words)}")
    prompt = Prompt(template, dict(words), chat, (left, right[0]), cap=cap)
    plain, spoken = prompt.encode(tokenizer, _PROBE), []
    for label, word in words.items():
        said = prompt.encode(tokenizer, _PROBE, word)
        spoken.append(tuple(row[1] for row in said[len(plain) :]))
        if said[: len(plain)] != plain or not spoken[-1]:
            raise ValueError(
                f"the label word {word!r} of {label!r} joins what stands before it, {whole[-20:]!r}: end the template "
                "without a space and begin the words with one (' great')"
            )
        if tokenizer.unk_token_id in spoken[-1]:
            raise ValueError(f"the tokenizer of {name} does not know the label word {word!r} of {label!r}")
    if len(set(spoken)) < len(spoken):
        raise ValueError(f"two labels are the same tokens: {dict(words)}; each class needs a word of its own")
    before, behind = (tuple(row[1] for row in plain if row[0] == place) for place in (_BEFORE, _BEHIND))
    return replace(prompt, before=before, behind=behind, spoken=tuple(spoken))
