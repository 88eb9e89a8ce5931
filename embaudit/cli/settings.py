"""Settings of a project for its audits: `embaudit.toml`, or `[tool.embaudit]` in `pyproject.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from embaudit.core.words import nearest_to
from embaudit.errors import InputError, must_be


class FailOn(StrEnum):
    """From which severity on a finding makes the command exit 1."""

    ISSUE = "issue"
    TIP = "tip"
    NEVER = "never"


OWN, SHARED = "embaudit.toml", "pyproject.toml"
NUMBER, COUNT, TEXT, TEXTS, FLAG = (
    "a number",
    "a whole number",
    "a text",
    "a list of texts",
    "true or false",
)
SEED, LEVEL = "a whole number >= 0", f"one of {', '.join(FailOn)}"
KINDS: dict[str, type | tuple[type, ...]] = {
    NUMBER: (int, float), COUNT: int, TEXT: str, TEXTS: list, FLAG: bool, SEED: int,
    LEVEL: str,
}  # fmt: skip
KEYS = {
    "objective": TEXT, "role": TEXT, "groups": TEXTS, "max-condition": NUMBER, "soft-cap": NUMBER, "normalised": FLAG,
    "norm": TEXT, "norm-kind": TEXT, "n-neighbours": COUNT, "n-pairs": COUNT, "n-gauges": COUNT, "rng": SEED,
    "fail-on": LEVEL, "ignore": TEXTS, "baseline": TEXT,
}  # fmt: skip
"""Options of `embaudit audit` that may be set, and what they must be."""


@dataclass(frozen=True)
class Settings:
    """Options of `embaudit audit` that a file sets; options on the command line override this file."""

    path: Path | None = None
    """The file; None without one."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """By the names of the parameters of the command."""
    ignore: tuple[str, ...] = ()
    """Codes that do not count."""

    def __str__(self) -> str:
        named = [name.replace("_", "-") for name in self.values]
        keys = ", ".join([*named, *["ignore"] * bool(self.ignore)]) or "nothing"
        return f"settings: {keys} of {self.path}; options on the command line override this file."

    @classmethod
    def near(cls, folder: Path) -> Settings:
        """Read the nearest file with settings, in a folder or above it.

        Raises
        ------
        InputError
            If that file is damaged or a folder, or sets what is no option.
        """
        # The nearest folder decides, and in it our own file before the shared one.
        # Files are not merged.
        for place in (folder, *folder.parents):
            for name in (OWN, SHARED):
                path = place / name
                # Passed over in silence, it would leave an audit without the settings
                # that somebody meant.
                if name == OWN and path.is_dir():
                    raise must_be(
                        str(path),
                        "a file",
                        "a folder",
                        "rename it, or put a file of settings in its place",
                    )
                values = _table(path) if path.is_file() else None
                if values is not None:
                    settings = dict(_checked(path, values))
                    return cls(
                        path, ignore=tuple(settings.pop("ignore", ())), values=settings
                    )
        return cls()


NONE = Settings()
CURRENT: ContextVar[Settings] = ContextVar("CURRENT", default=NONE)
"""Settings of the command that runs."""


def _table(path: Path) -> Any:
    """Read the settings of a file; None where a `pyproject.toml` has none of ours."""
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        if path.name == SHARED:  # some other tool will tell
            return None
        raise InputError(f"{path} must be TOML; got {error}; mend it.") from error
    if path.name == OWN:
        return whole
    tool = whole.get("tool")
    return tool.get("embaudit") if isinstance(tool, dict) else None


def _checked(path: Path, values: Any) -> Iterator[tuple[str, Any]]:
    """Yield each setting as its command takes it."""
    if not isinstance(values, dict):
        raise must_be(f"tool.embaudit in {path}", "a table", repr(values))
    for name, value in values.items():
        if name not in KEYS:
            raise must_be(
                f"a setting in {path}",
                f"one of {', '.join(KEYS)}",
                repr(name),
                nearest_to(name, KEYS),
            )
        kind = KEYS[name]
        # Python takes true for a whole number, which nobody means in a file.
        right = isinstance(value, KINDS[kind]) and (
            kind is FLAG or not isinstance(value, bool)
        )
        right = (
            right
            and not (kind is SEED and value < 0)
            and (kind is not LEVEL or value in tuple(FailOn))
        )
        texts = value if kind is TEXTS and right else ()
        if not right or not all(isinstance(text, str) for text in texts):
            raise must_be(f"{name} in {path}", kind, repr(value))
        if name == "baseline":
            # The path of a file is relative to the folder of the settings.
            value = str(path.parent / value)
        yield name.replace("-", "_"), value
