"""Texts that are kept for people to read, whole or in sections: `make kept` writes them anew; read what changed."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embaudit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


ANEW = bool(os.environ.get("UPDATE_SCREENS"))
"""Whether texts are written anew; one process writes them."""
SECTION = re.compile(r"^== (.*)\n((?:(?!== ).*\n)*)", re.MULTILINE)
REFUSED = Path(__file__).with_name("refused.txt")
LOCK = (Path(__file__).parents[1] / "requirements.lock").read_text(encoding="utf-8")

LOCKED = all(f"\n{name}=={version(name)} " in LOCK for name in ("matplotlib", "typer"))
"""Whether this is what the lock file says; others put ticks, usage and some sentences otherwise."""


@cache
def sections(path: Path) -> dict[str, str]:
    """Return the sections of a text by their titles."""
    return (
        dict(SECTION.findall(path.read_text(encoding="utf-8"))) if path.exists() else {}
    )


def write_sections(path: Path, texts: Mapping[str, str]) -> None:
    """Write the sections that hold something, in their order."""
    path.write_text(
        "".join(f"== {title}\n{text}" for title, text in texts.items() if text),
        encoding="utf-8",
    )


def section(path: Path, title: str, text: str) -> str | None:
    """Return a section as it is kept; where it is written anew, put this text there, in the order of titles."""
    kept = sections(path)
    if ANEW and kept.get(title, "") != text:
        kept[title] = text
        write_sections(path, dict(sorted(kept.items())))
    return kept.get(title)


def assert_section(path: Path, title: str, text: str) -> None:
    """Compare a section of a text that many cases share."""
    assert text == section(path, title, text)


def assert_refused(name: str, calls: Iterable[Callable[[], object]]) -> None:
    """Compare the errors of calls, a line each, with a section of `refused.txt`; others may write values otherwise."""
    lines = []
    for call in calls:
        with pytest.raises(InputError) as refused:
            call()
        lines.append(f"{type(refused.value).__name__}: {refused.value}\n")
    if LOCKED:
        assert_section(REFUSED, name, "".join(lines))
