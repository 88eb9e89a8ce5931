"""The rooms of the package in the layers of pyproject.toml, and their purposes."""

from __future__ import annotations

import ast
import re
import tomllib
from html import escape
from pathlib import Path

from card import card

ROOT = Path(__file__).parents[1]
WIDTH, MARGIN, HEIGHT, GAP = 760, 16, 30, 8
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def layers() -> list[list[str]]:
    """Read the layers of the package, from the command line down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [
        re.split(r" [|:] ", layer)
        for layer in settings["tool"]["importlinter"]["contracts"][0]["layers"]
    ]


def purpose(room: str) -> str:
    """Read what a room says of itself in the first lines of its docstring."""
    path = ROOT / "embaudit" / room
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def rooms() -> str:
    """Write a paragraph for each room."""
    names = [room for layer in layers() for room in layer if not room.startswith("_")]
    return "\n".join(f"- **{room}**: {purpose(room)}" for room in names)


def house_picture() -> str:
    """Draw a row of boxes for each layer."""
    boxes = [[room for room in layer if not room.startswith("_")] for layer in layers()]
    boxes = [layer for layer in boxes if layer]
    height = 2 * MARGIN + len(boxes) * (HEIGHT + GAP) - GAP
    label = "The rooms of embaudit in layers: each imports only from those below it"
    parts = card(WIDTH, height, label)
    parts.append(f'<g font-family="{FONT}" font-size="14" text-anchor="middle">')
    for row, layer in enumerate(boxes):
        width = (WIDTH - 2 * MARGIN + GAP) / len(layer) - GAP
        y = MARGIN + row * (HEIGHT + GAP)
        for column, room in enumerate(layer):
            x = MARGIN + column * (width + GAP)
            middle = x + width / 2
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" '
                'rx="5" fill="#e3ecf6"/>'
            )
            parts.append(
                f'<text x="{middle:.0f}" y="{y + 20}" fill="#1c1b19">'
                f"{escape(room)}</text>"
            )
    return "\n".join([*parts, "</g>", "</svg>\n"])
