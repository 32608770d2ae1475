"""The staged parts of the reference pages, by file name; paper/api.qmd, methods.qmd and metrics.qmd include them."""

from __future__ import annotations

import re
from pathlib import Path

from compendium.site.reference.cards import methods_markdown, metrics_markdown
from compendium.site.reference.python import python_markdown


def reference_pages(bibliography: Path) -> dict[str, str]:
    """File name -> Markdown. bibliography: the BibTeX file whose works may be cited."""
    works = re.findall(r"^@\w+\{\s*([^,\s]+)", bibliography.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        "_api.md": python_markdown(),
        "_methods.md": methods_markdown(works),
        "_metrics.md": metrics_markdown(works),
    }
