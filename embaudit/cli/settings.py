"""Settings of a project: `embaudit.toml`, or `[tool.embaudit]` in `pyproject.toml`.

They are options of `embaudit audit` without their dashes. Typer takes them as defaults
of the options, and checks them like values that were typed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from embaudit.core.words import nearest_to
from embaudit.errors import InputError, must_be

OWN, SHARED = "embaudit.toml", "pyproject.toml"
SETTINGS = "embaudit.settings"
"""Key of the settings in the `meta` of a context."""


@dataclass(frozen=True)
class Settings:
    """Options that a file sets. Options on the command line override them."""

    path: Path | None = None
    """The file; None without one."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values as the file holds them, by the names of the options without dashes."""

    def __str__(self) -> str:
        names = ", ".join(self.values) or "nothing"
        return (
            f"settings: {names} of {self.path}; options on the command line override "
            "this file."
        )

    @classmethod
    def near(cls, folder: Path) -> Settings:
        """Read the nearest file with settings, in a folder or above it.

        Files are not merged. In one folder `embaudit.toml` is read before
        `pyproject.toml`.

        Raises
        ------
        InputError
            If that file is damaged or a folder.
        """
        for place in (folder, *folder.parents):
            for name in (OWN, SHARED):
                path = place / name
                # If the folder were skipped, the audit would lack the settings that
                # somebody meant.
                if name == OWN and path.is_dir():
                    raise must_be(
                        str(path),
                        "a file",
                        "a folder",
                        "rename it, or put a file of settings in its place",
                    )
                values = _table(path) if path.is_file() else None
                if values is not None:
                    return cls(path, values)
        return cls()

    def defaults(
        self, context: typer.Context, options: Iterable[Any]
    ) -> dict[str, Any]:
        """Return the settings as defaults for the options of a command.

        Parameters
        ----------
        context : Context
            Context of the command.
        options : iterable of Parameter
            Options that may be set.

        Returns
        -------
        dict
            Values by the names of the parameters, as Typer takes a `default_map`.

        Raises
        ------
        InputError
            If a setting is no option, or has a value that the option does not take.
        """
        by_name = {}
        for option in options:
            if option.param_type_name == "option":
                by_name[max(option.opts, key=len).removeprefix("--")] = option
        values = {}
        for name, value in self.values.items():
            if name not in by_name:
                raise must_be(
                    f"a setting in {self.path}",
                    "an option of `embaudit audit` without its dashes",
                    repr(name),
                    nearest_to(name, by_name),
                )
            option = by_name[name]
            values[option.name] = self._default(context, option, name, value)
        return values

    def _default(
        self, context: typer.Context, option: Any, name: str, value: Any
    ) -> Any:
        """Check a setting as if it were typed, and return it as typed."""
        is_list = isinstance(value, list)
        items = value if is_list else [value]
        if not all(isinstance(item, str | int | float) for item in items) or (
            is_list and not option.multiple
        ):
            raise must_be(
                f"{name} in {self.path}",
                "a list of texts" if option.multiple else "a text, a number or a flag",
                repr(value),
            )
        texts = [str(item) for item in items]
        typed: Any = texts if option.multiple else texts[0]
        try:
            read = option.process_value(context, typed)
        except typer.BadParameter as error:
            reason = error.message.removesuffix(".")
            raise must_be(
                f"{name} in {self.path}",
                f"what --{name} takes ({reason})",
                repr(value),
            ) from error
        if isinstance(read, Path) and self.path is not None:
            # The path of a file is relative to the folder of the settings.
            return str(self.path.parent / read)
        return typed


def _table(path: Path) -> dict[str, Any] | None:
    """Read the settings of a file; None if a `pyproject.toml` has no table for them."""
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        if path.name == SHARED:  # another tool will report it
            return None
        raise InputError(
            f"{path} must be valid TOML; got {error}; correct the file."
        ) from error
    if path.name == OWN:
        return whole
    tool = whole.get("tool")
    table = tool.get("embaudit") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise must_be(f"tool.embaudit in {path}", "a table", repr(table))
    return table
