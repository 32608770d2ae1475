"""Cells of an executed notebook as Markdown, with pictures as separate files."""

from __future__ import annotations

import base64
import re

from compendium.site.markdown import CONTROL, fence
from compendium.site.notebook import Cell, Notebook

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PICTURES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}


def outputs_markdown(cell: Cell, folder: str, assets: dict[str, bytes], streams: bool) -> str:
    """A cell's outputs as Markdown blocks; pictures go into `assets` under `folder`/<key>.<ext>.

    `streams`: also show what was printed (a notebook page), or only results (an embed).
    """
    blocks, pictures = [], 0
    for output in cell.outputs:
        if output.output_type == "stream":
            if streams:
                blocks.append(_text_block(output.text, f"output {output.name}"))
            continue
        if output.output_type == "error":
            blocks.append(_text_block("\n".join(output.traceback), "output error"))
            continue
        data = output.data
        if kind := next((kind for kind in PICTURES if kind in data), None):
            pictures += 1
            name = f"{folder}/{cell.key}{f'-{pictures}' if pictures > 1 else ''}.{PICTURES[kind]}"
            text = "".join(data[kind])
            assets[name] = text.encode() if kind == "image/svg+xml" else base64.b64decode(text)
            width = output.metadata.get(kind, {}).get("width")
            size = f"{{width={int(width)}}}" if width else ""
            blocks.append(f"![{_bracket_safe(cell.options.get('fig-alt', ''))}]({name}){size}")
        elif "text/markdown" in data:
            blocks.append("".join(data["text/markdown"]))
        elif "text/plain" in data:
            blocks.append(_text_block("".join(data["text/plain"]), "output"))
    return "\n\n".join(blocks)


def _bracket_safe(text: str) -> str:
    """Plain text for the brackets of a Markdown picture."""
    return re.sub(r"([\\\[\]`*_$<>@~^&])", r"\\\1", " ".join(str(text).split()))


def _text_block(text: str, classes: str) -> str:
    """Printed text: terminal colours dropped, lines overwritten by a carriage return shown as they ended."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in ANSI.sub("", "".join(text)).split("\n")]
    body = CONTROL.sub("\ufffd", "\n".join(lines).strip("\n"))
    return fence(body, " ".join(f".{name}" for name in classes.split())) if body.strip() else ""


def notebook_markdown(notebook: Notebook, folder: str, assets: dict[str, bytes]) -> str:
    """A notebook as Markdown without title and option lines."""
    blocks, titled = [], False
    for cell in notebook.cells:
        if cell.kind == "markdown":
            source = cell.source
            if not titled and re.search(r"^#\s+", source, re.M):
                source, titled = re.sub(r"^#\s+.*$", "", source, count=1, flags=re.M), True
            blocks.append(source)
            continue
        code = fence(cell.source, f".{notebook.language}") if cell.source else ""
        shown = [block for block in (code, outputs_markdown(cell, folder, assets, streams=True)) if block]
        if shown:
            blocks.append(f"::::: {{#{cell.anchor} .cell}}\n\n" + "\n\n".join(shown) + "\n\n:::::")
    return "\n\n".join(blocks) + "\n"
