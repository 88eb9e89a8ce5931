"""The first screen of an audit as a picture: what the commands of the README print."""

from __future__ import annotations

import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from card import card

from embaudit.cli import main

ROOT = Path(__file__).parents[1]
COMMANDS = (
    (
        "embaudit fit data/simulated/interactions.csv --objective product "
        "--n-components 10 --alpha 10 --items data/simulated/items.csv --id item "
        "--title title --out model.npz"
    ),
    "embaudit audit model.npz",
)
"""The first commands of the README; the picture shows what the last one prints."""
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
NO_BREAK = "\u00a0"
WIDTH, LEFT, TOP, LINE, LETTER = 712, 20, 34, 18, 8.4
COLOURS = {"NO:": "#9cc2ff", "  embaudit": "#8fd6a4", "EMB": "#ffd479"}
"""How lines begin that are not white; on the card the contrast of each is above 7."""


def screen_picture() -> str:
    """Draw the lines that the audit prints."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("data").symlink_to(ROOT / "data")
        printed = [printed_by(command) for command in COMMANDS][-1]
    lines = [f"$ {COMMANDS[-1]}", *printed.rstrip().splitlines()]
    height = TOP + LINE * len(lines)
    label = "What embaudit audit prints: the answer, two neighbour lists, and a table"
    parts = card(WIDTH, height, label, fill="#1c1b19", edge="")
    parts.append(f'<g font-family="{FONT}" font-size="14">')
    for place, line in enumerate(lines):
        if line:
            y, length = TOP + LINE * place, LETTER * len(line)
            text = escape(line).replace(" ", NO_BREAK)
            parts.append(
                f'<text x="{LEFT}" y="{y}" textLength="{length:.0f}" '
                f'fill="{colour(line)}">{text}</text>'
            )
    return "\n".join([*parts, "</g>", "</svg>\n"])


def colour(line: str) -> str:
    """Choose the colour of a line by how it begins."""
    return next(
        (colour for start, colour in COLOURS.items() if line.startswith(start)),
        "#f4f2ee",
    )


def printed_by(command: str) -> str:
    """Run a command and return what it prints."""
    output, before = StringIO(), sys.argv
    sys.argv = shlex.split(command)
    try:
        with redirect_stdout(output), redirect_stderr(StringIO()):
            main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{command} ended with {end.code}") from end
    finally:
        sys.argv = before
    return output.getvalue()
