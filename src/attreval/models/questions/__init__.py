"""What can be asked of a model, a file per type of question, and how it is answered."""

# ruff: noqa: F401 - what is imported here is what this package offers

from attreval.models.outputs import follow, softmax
from attreval.models.questions.attention import AttentionAnswer, AttentionPath
from attreval.models.questions.inside import CellParts, HeadImportance, ValueZeroing
from attreval.models.questions.logits import Evaluate, Windows
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
    PropagationRule,
    choose_start,
)
from attreval.models.questions.question import Computation, Conversation, Question, Row
from attreval.models.questions.soft_erasure import SoftErasure
