"""Draw the subpackages in the layers of pyproject.toml, and list their purposes."""

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


def purpose(name: str) -> str:
    """Read the first paragraph of the docstring of a subpackage or module."""
    path = ROOT / "embaudit" / name
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def subpackages() -> str:
    """Write a list with the purpose of each subpackage."""
    names = [name for layer in layers() for name in layer if not name.startswith("_")]
    return "\n".join(f"- **{name}**: {purpose(name)}" for name in names)


def layers_picture() -> str:
    """Draw a row of boxes for each layer."""
    boxes = [[name for name in layer if not name.startswith("_")] for layer in layers()]
    boxes = [layer for layer in boxes if layer]
    height = 2 * MARGIN + len(boxes) * (HEIGHT + GAP) - GAP
    label = "The layers of embaudit: a subpackage imports only from the layers below it"
    parts = card(WIDTH, height, label)
    parts.append(f'<g font-family="{FONT}" font-size="14" text-anchor="middle">')
    for row, layer in enumerate(boxes):
        width = (WIDTH - 2 * MARGIN + GAP) / len(layer) - GAP
        y = MARGIN + row * (HEIGHT + GAP)
        for column, name in enumerate(layer):
            x = MARGIN + column * (width + GAP)
            middle = x + width / 2
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" '
                'rx="5" fill="#e3ecf6"/>'
            )
            parts.append(
                f'<text x="{middle:.0f}" y="{y + 20}" fill="#1c1b19">'
                f"{escape(name)}</text>"
            )
    return "\n".join([*parts, "</g>", "</svg>\n"])
