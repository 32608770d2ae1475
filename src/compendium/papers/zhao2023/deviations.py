"""Deviations from the protocol of Zhao & Aletras (2023), by name: what each alters, and its title.

RELEASED: what the released code does otherwise, one thing at a time; `all` is that code. OURS: what
is ours. HARD: what could decide the level of NC and NS. SCALE: whoever is compared keeps equally
much of a text.
"""

from dataclasses import dataclass, field, replace

from attreval.metrics.protocol import Protocol


@dataclass(frozen=True)
class Deviation:
    """One deviation from the protocol. fields: of the protocol. methods: explanation methods that
    take others' place.

    permuted: the rival of a method's scores is a permutation of them, not random scores.
    """

    title: str
    fields: dict = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    permuted: bool = False
    queries_only: bool = False

    def apply(self, protocol: Protocol) -> Protocol:
        """The protocol with this deviation."""
        return replace(protocol, **self.fields)


RELEASED_METHODS = {  # method -> what the released code runs in its place, and how that differs
    "scaled_attention": ("scaled_attention_squared", "scaled attention: attention squared"),
    "gradient_x_input_absolute": (
        "gradient_x_input_shared",
        "gradient shared by all places of a token",
    ),
    "integrated_gradients_zero": (
        "integrated_gradients_released",
        "integrated gradients behind the embeddings",
    ),
    "deeplift": ("deeplift_released", "DeepLIFT of bare word embeddings"),
}
SWAPPED = {name: other for name, (other, _) in RELEASED_METHODS.items()}
RELEASED = {
    "inverted": Deviation("soft measures keep what scores low", {"inverted": True}),
    "norm": Deviation("sigmoid for Soft-NS, whole row for Soft-NC", {"norm": "released"}),
    "unprotected": Deviation("special tokens and query disturbed as well", {"protect": False}),
    "ratios": Deviation(
        "seven ratios, up to the whole text", {"ratios": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)}
    ),
    "drift": Deviation("baseline drifts with each number computed", {"drift": True}),
    "count_first": Deviation("[CLS] counts for the rationale's size", {"count_first": True}),
    "separator": Deviation("[SEP] takes a place in rankings", {"separator": True}),
    "query_erased": Deviation(
        "comprehensiveness erases the query", {"query_erased": True}, queries_only=True
    ),
    "ties_win": Deviation("a tie is a win", {"margin": 0.0, "ties": "win"}),
    **{
        f"swap_{name}": Deviation(title, methods={name: other})
        for name, (other, title) in RELEASED_METHODS.items()
    },
}
RELEASED["all"] = Deviation(
    "all of the above: the released code",
    {name: value for change in list(RELEASED.values()) for name, value in change.fields.items()},
    SWAPPED,
)
OURS = {
    "ties_half": Deviation("a tie is half a win", {"ties": "half"}),
    "content": Deviation("baseline keeps special tokens", {"baseline": "content"}),
    "mask": Deviation("erased tokens become the mask token", {"erased": "mask"}),
    "vector": Deviation("erased tokens become zero vectors", {"erased": "vector"}),
    "sigmoid": Deviation("scores through the sigmoid", {"norm": "sigmoid"}),
    "softmax": Deviation("scores through the softmax", {"norm": "softmax"}),
}
# the released code's first script takes ties as losses; two others count them as wins
STRICT = RELEASED["all"].fields | {"margin": 1e-6, "ties": "lose"}
HARD = {  # what could decide the level of NC and NS, one thing at a time, then together
    "none": Deviation("the main run's protocol"),
    "ties_half": OURS["ties_half"],
    "ties_win": RELEASED["ties_win"],
    "unclipped": Deviation("plain drops, neither clipped nor divided", {"clipped": False}),
    "content": OURS["content"],
    "mask": OURS["mask"],
    "pad": Deviation("erased tokens become the padding token", {"erased": "pad"}),
    **{
        name: RELEASED[name]
        for name in ("drift", "ratios", "count_first", "separator", "query_erased")
    },
    **{f"swap_{name}": RELEASED[f"swap_{name}"] for name in RELEASED_METHODS},
    "swaps": Deviation("all four methods as in the released code", methods=SWAPPED),
    **{
        f"sharper_{k}": Deviation(f"logits times {k}: a surer model", {"sharpness": float(k)})
        for k in (2, 4, 8)
    },
    "swaps_sharper": Deviation(
        "methods as in the released code, logits times 8", {"sharpness": 8.0}, SWAPPED
    ),
    "released": Deviation("the released code, a tie is a loss", STRICT, SWAPPED),
    "released_sharper": Deviation("the same, logits times 8", STRICT | {"sharpness": 8.0}, SWAPPED),
    "released_fixed": Deviation(
        "the same, logits times 8, no drift", STRICT | {"sharpness": 8.0, "drift": False}, SWAPPED
    ),
}
# more than one thing at a time
TOGETHER = (
    "swaps_sharper",
    "released",
    "released_sharper",
    "released_fixed",
)
SCALE = {  # whoever is compared keeps equally much of a text
    "permuted": Deviation("rival: own scores permuted", permuted=True),
    "calibrated": Deviation("masks of equal mean for all methods", {"norm": "calibrated"}),
    "rank": Deviation("scores replaced by their ranks", {"norm": "rank"}),
}
