"""The command `attreval demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attreval.cli.app import app, plain_errors


@app.command(rich_help_panel="Your own model")
@plain_errors
def demo(
    texts: Annotated[int, typer.Option(help="texts to explain, 2 or more", min=2)] = 40,
    out: Annotated[Path | None, typer.Option(help="keep it as an .html page or as an .svg picture of this")] = None,
) -> None:
    """Watch a small network learn evidence that was planted, methods explain it, and metrics tell the truth or not."""
    import torch

    from attreval.demo import run_demo

    torch.set_num_threads(1)  # of so small a network they only wait for each other
    run_demo(texts, out)
