"""Pages in Markdown, split into blocks of code, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
}
ALONE = {
    page
    for page, path in PAGES.items()
    if path.read_text(encoding="utf-8").startswith("---\norphan: true\n")
}
"""Pages that say themselves that no other one leads to them."""
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?![\w.]*\w)")
ROUNDING = re.compile(r"\b\d(?:\.\d+)?e-\d+\b")


@dataclass(frozen=True)
class Block:
    """A block of code."""

    language: str
    """What stands behind its fence; of a directive its braces too."""
    text: str
    """Its lines."""

    @property
    def commands(self) -> list[tuple[str, str]]:
        """What is typed at each prompt, and the output that is shown below it."""
        typed = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        parts = [
            re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", one, re.DOTALL) for one in typed
        ]
        return [(part[1].replace("\\\n", " "), part[2]) for part in parts]


def blocks(text: str) -> list[Block]:
    """Find the blocks of code of a page."""
    return [
        Block(language.strip(), inside) for language, inside in FENCED.findall(text)
    ]


def prose(text: str) -> str:
    """Leave out blocks of code."""
    return FENCED.sub("", text)


def anchors(text: str) -> set[str]:
    """Find what a link to a page may end in: the headings, as forges and Sphinx write
    them.
    """
    headings = re.findall(r"^#{1,3} (.+)$", prose(text), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def links(text: str) -> list[str]:
    """Find where a page leads to, and the pictures it shows."""
    directives = re.findall(
        r"^```\{(?:image|figure|include)\} (\S+)", text, re.MULTILINE
    )
    return directives + re.findall(
        r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(text))
    )


def differences(shown: str, printed: str) -> list[str]:
    """Find what a page shows and a command did not print.

    Words are the same, figures but for rounding; a line of three dots stands for any
    lines.
    """
    lines = [_neutral(line) for line in printed.splitlines()]
    missing, start = [], 0
    for part in re.split(r"^\.\.\.$\n?", shown, flags=re.MULTILINE):
        wanted = [_neutral(line) for line in part.splitlines()]
        places = range(start, len(lines) - len(wanted) + 1)
        found = next(
            (at for at in places if _alike(wanted, lines[at : at + len(wanted)])), None
        )
        if found is None:
            missing.append(part)
        else:
            start = found + len(wanted)
    return missing


def _neutral(line: str) -> str:
    return ROUNDING.sub("(rounding)", line.rstrip())


def _alike(wanted: list[str], lines: list[str]) -> bool:
    one, other = ("\n".join(several) for several in (wanted, lines))
    if FIGURE.sub("#", one) != FIGURE.sub("#", other):
        return False
    before, after = (
        [float(figure.replace(",", "")) for figure in FIGURE.findall(text)]
        for text in (one, other)
    )
    return np.allclose(after, before, rtol=0.02, atol=0.011)
