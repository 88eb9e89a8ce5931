"""Everything that an audit says, from texts.toml: findings, notes, answers, advice and words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Severity

_TEXTS: dict[str, Any] = tomllib.loads(
    files("embaudit.auditing").joinpath("texts.toml").read_text(encoding="utf-8")
)


def _entry_of(name: str, row: Mapping[str, Any]) -> Entry:
    """Make an entry of its table in texts.toml."""
    severities = tuple(Severity[title.upper()] for title in row.get("severities", ()))
    lists = {key: tuple(row[key]) for key in ("also", "pages") if key in row}
    fields = {key: text for key, text in row.items() if key != "says"}
    return Entry(name, **{**fields, **lists, "severities": severities})


WORDS = {name: _entry_of(name, row) for name, row in _TEXTS["words"].items()}
"""Words of reports that have to be explained."""
