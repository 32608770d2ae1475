"""How did training go?"""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt

from attreval.papers.common.style import use_style


def draw_training(curve: pd.DataFrame):
    """Loss on train and dev, and accuracy on dev, by epoch. curve: one row a check."""
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    left.plot(curve.epoch, curve.train_loss, marker="o", label="train")
    left.plot(curve.epoch, curve.dev_loss, marker="s", linestyle="--", label="dev")
    left.set(xlabel="epoch", ylabel="cross-entropy")
    left.legend()
    right.plot(curve.epoch, curve.dev_accuracy, marker="s", color="C1", linestyle="--")
    right.set(xlabel="epoch", ylabel="accuracy on dev")
    figure.tight_layout()
    return left
