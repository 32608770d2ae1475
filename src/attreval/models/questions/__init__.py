"""What can be asked of a model, a file a type of question: what it asks, and how the ledger has it answered."""

from attreval.models.questions.attention import AttentionAnswer, AttentionPath
from attreval.models.questions.cell_parts import CellParts
from attreval.models.questions.head_importance import HeadImportance
from attreval.models.questions.logits import Evaluate, Windows, softmax
from attreval.models.questions.path_gradient import (
    CP_LRP,
    DEEPLIFT,
    DEEPLIFT_COMPLETE,
    GIM,
    LRP,
    MEAN,
    ZERO,
    PathAnswer,
    PathGradient,
    Rule,
    choose_start,
)
from attreval.models.questions.question import Computation, Conversation, Question, Row
from attreval.models.questions.soft_erasure import SoftErasure
from attreval.models.questions.value_zeroing import ValueZeroing

__all__ = [
    "CP_LRP",
    "DEEPLIFT",
    "DEEPLIFT_COMPLETE",
    "GIM",
    "LRP",
    "MEAN",
    "ZERO",
    "AttentionAnswer",
    "AttentionPath",
    "CellParts",
    "Computation",
    "Conversation",
    "Evaluate",
    "HeadImportance",
    "PathAnswer",
    "PathGradient",
    "Question",
    "Row",
    "Rule",
    "SoftErasure",
    "ValueZeroing",
    "Windows",
    "choose_start",
    "softmax",
]
