"""The command `attreval trial`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from attreval.cli.app import command, option, print_rows


@command("trial", rich_help_panel="Metrics")
def trial_command(
    file: Annotated[
        Path | None, typer.Argument(help="a Python file with a metric of your own (@metric)")
    ] = None,
    metric: Annotated[
        list[str] | None,
        option("a metric to try beside it, once for each; `all` for all"),
    ] = None,
    world: Annotated[list[str] | None, option("a world, once for each; else all")] = None,
    attributions: Annotated[
        Path | None,
        option("a .jsonl of scores that a method of your own gave the texts of --export"),
    ] = None,
    values: Annotated[
        Path | None,
        option("a .jsonl of what metrics elsewhere gave the scores of --export"),
    ] = None,
    texts: Annotated[int | None, option("texts of each world; else 30", min=8)] = None,
    seed: Annotated[int | None, option("of the worlds; else drawn anew", min=0)] = None,
    out: Annotated[
        Path | None, option("write an .html page; else trial.html, `-` for none")
    ] = None,
    board: Annotated[
        Path | None,
        option("write a submission for the board (board/README.md), a .jsonl"),
    ] = None,
    export: Annotated[
        Path | None,
        option("only write the worlds into a folder: texts, scores, models of transformers"),
    ] = None,
    corpora: Annotated[str | None, option("a folder of corpora; else ATTREVAL_CORPORA")] = None,
) -> None:
    """May a metric be trusted? Try it, or attributions of your own, in worlds whose truth
    is known.
    """
    if out is not None and out.suffix != ".html" and str(out) != "-":
        raise ValueError(f"a trial is kept as .html; got {str(out)!r}")
    if board is not None and board.suffix != ".jsonl":
        raise ValueError(f"a submission is a .jsonl; got {str(board)!r}")
    if export is not None and (file or metric or attributions or values):
        raise ValueError(
            "--export only writes worlds; leave out the metrics, --attributions and --values"
        )
    import torch

    from attreval.core.tables import write_text

    torch.set_num_threads(1)  # of so small networks they only wait for each other
    if export is not None:
        from attreval.trial.exchange import export_worlds
        from attreval.trial.run import TEXTS, draw_seed

        seed = draw_seed() if seed is None else seed
        written = export_worlds(export, world, texts or TEXTS, seed, corpora)
        print(f"seed {seed}", *written, sep="\n")
        return
    from attreval.trial.page import trial_page
    from attreval.trial.run import headline, run_trial

    say = partial(print, flush=True)
    result = run_trial(file, metric, world, attributions, texts, seed, corpora, say, values)
    print()
    rows = [
        {
            "metric": row["metric"],
            "verdict": row["verdict"],
            "worlds": f"{row['passed']} of {row['worlds']}",
            "score": f"{row['score']:.2f}",
            "worst": f"{row['worst']:.2f} ({row['in']})",
            "fooled by": row["fooled_by"],
            "moved by": row["moved_by"],
        }
        for row in result.verdicts.to_dict("records")
    ]
    print_rows(rows)
    print("", *headline(result), sep="\n")
    if board is not None:
        from attreval.trial.board import write_submission

        write_submission(board, result)
        print(f"submission: {board}")
    if str(out) != "-":
        page = out or Path("trial.html")
        write_text(page, trial_page(result))
        print(f"kept as {page}")
