"""The pictures of the scorecard, which no notebook draws: it takes the claims of all papers."""

from __future__ import annotations

from pathlib import Path

from compendium.papers.common.claims import scorecard
from compendium.papers.common.scorecard import PAPERS, draw_overview, draw_paper, read_titles, write_picture
from compendium.papers.common.style import draw_nothing
from compendium.site.gaps import NOT_HERE


def draw_scorecards(tables: Path, folder: Path) -> list[Path]:
    """Write scorecard and scorecard-<paper>, as PNG and SVG, into `folder`; return the paths.

    tables: a run's CSV files. A paper whose claims the run has not judged gets a picture that says so.
    """
    found = scorecard(tables) if any(tables.glob("[!.]*_claims.csv")) else None
    nothing = f"This picture is {NOT_HERE}."
    overview = draw_nothing(nothing) if found is None else draw_overview(found, read_titles())
    paths = write_picture(overview, folder / "scorecard")
    for paper in PAPERS:
        judged = found is not None and (found.paper == paper).any()
        paths += write_picture(
            draw_paper(found, paper) if judged else draw_nothing(nothing), folder / f"scorecard-{paper}"
        )
    return paths
