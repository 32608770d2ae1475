"""What can be asked of a model, a file a type of question: what it asks, and how the ledger has it answered."""

from attreval.models.questions.attention import AttentionAnswer, AttentionPath
from attreval.models.questions.cell_parts import CellParts
from attreval.models.questions.head_importance import HeadImportance
from attreval.models.questions.logits import Evaluate, Windows, softmax
from attreval.models.questions.path_gradient import DEEPLIFT, LRP, MEAN, ZERO, PathAnswer, PathGradient, Rule
from attreval.models.questions.question import Conversation, Question, Row
from attreval.models.questions.soft_erasure import SoftErasure

__all__ = [
    "DEEPLIFT",
    "LRP",
    "MEAN",
    "ZERO",
    "AttentionAnswer",
    "AttentionPath",
    "CellParts",
    "Conversation",
    "Evaluate",
    "HeadImportance",
    "PathAnswer",
    "PathGradient",
    "Question",
    "Row",
    "Rule",
    "SoftErasure",
    "Windows",
    "softmax",
]
