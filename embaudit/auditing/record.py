"""The record of an audit: its JSON, its checks, and its declarations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embaudit._version import __version__
from embaudit.auditing.options import OPTION_NAMES, AuditOptions
from embaudit.core.checked import as_count
from embaudit.core.plain import SCHEMA_VERSION
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed_once
from embaudit.model.trainings import known_training

MAX_BYTES = 2**28
"""Largest size of a JSON that is parsed. An audit of 10,000 draws from each group
writes half as much.
"""
VERSIONS = {"embaudit_version": __version__, "schema_version": SCHEMA_VERSION}
"""Keys of the versions in a record, with their values for this version."""
REQUIRED_KEYS = frozenset({*VERSIONS, "seed", "input", "drift"})
"""Keys by which the record of an audit is recognised."""
REMEDY = (
    "write it with `embaudit audit MODEL --json FILE`, and name it before the model"
)
"""Advice if a file is not the record of an audit."""


def read_record(audited: Mapping[str, Any] | AnyPath) -> Mapping[str, Any]:
    """Return the record of an audit, which is read if a path is given.

    Raises
    ------
    InputError
        If the file is too large or damaged, has a number that is not finite, or is not
        the record of an audit.
    """
    if isinstance(audited, Mapping):
        record, name = audited, "the mapping"
    else:
        path = existing_file(audited, "the audit", f"check the path, or {REMEDY}")
        record, name = _parsed_file(path), str(path)
    if not _is_record(record):
        raise must_be(
            "the audit",
            "JSON that `embaudit audit` wrote",
            f"{name}, which has other content",
            REMEDY,
        )
    return record


def _parsed_file(path: Path) -> Any:
    """Parse a file of JSON.

    Raises
    ------
    InputError
        If the file is too large or damaged, or has a number that is not finite.
    """
    if path.stat().st_size > MAX_BYTES:
        raise must_be(
            "the audit",
            f"JSON of at most {MAX_BYTES // 2**20} MB",
            f"{path}, which is larger",
        )
    try:
        return parsed_once(path.read_bytes())
    except ValueError as error:
        got = str(path)
        if path.suffix == ".json":
            # The place of the damage helps only if the file was meant to be JSON.
            got = f"{path}: {error}"
        raise must_be("the audit", "JSON", got, REMEDY) from error


def _is_record(content: Any) -> bool:
    """Return True if the content of a JSON looks like the record of an audit."""
    if not isinstance(content, Mapping) or not set(content) >= REQUIRED_KEYS:
        return False
    return isinstance(content["input"], Mapping)


def options_of(record: Mapping[str, Any]) -> AuditOptions:
    """Return the options of an audit, which are checked like options of a caller.

    Raises
    ------
    InputError
        If an option is missing, unknown or invalid.
    """
    options = record.get("options")
    if not isinstance(options, Mapping) or set(options) != set(OPTION_NAMES):
        got = "none"
        if isinstance(options, Mapping) and options:
            got = ", ".join(map(str, options))
        raise must_be("the options of the audit", ", ".join(OPTION_NAMES), got, REMEDY)
    return AuditOptions(**options)


def seed_of(record: Mapping[str, Any]) -> int:
    """Return the seed of an audit.

    Raises
    ------
    InputError
        If it is not an integer of at least 0.
    """
    return as_count(record["seed"], "seed", least=0)


def parts_column(record: Mapping[str, Any]) -> str | None:
    """Return the column that names the part of each row, as an audit declares it.

    None if the audit compared no named parts, or if its options are damaged.

    Examples
    --------
    >>> parts_column({"options": {"by": "language"}}), parts_column({})
    ('language', None)
    """
    options = record.get("options")
    if not isinstance(options, Mapping):
        return None
    column = options.get("by")
    if not isinstance(column, str):
        return None
    return column


def declared_training(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of an audit that declare the training.

    Examples
    --------
    >>> declared_training({"options": {"objective": None, "compared": "dot"}})
    {'compared': 'dot'}
    """
    options = record.get("options")
    if not isinstance(options, Mapping):
        return {}
    declarations = {}
    for name in ("objective", "compared"):
        value = options.get(name)
        if isinstance(value, str):
            declarations[name] = value
    return declarations


def require_declared_training(
    record: Mapping[str, Any], *, objective: str | None, compared: str | None
) -> None:
    """Check that a repeated training agrees with the training that an audit declares.

    Options with the value None are not compared, because the caller did not repeat
    them. An audit without a declaration agrees with every training, because the
    training was an option of reading then.

    Raises
    ------
    InputError
        If an option differs from the same option of the audit, or if the audit lacks
        it. Two words for the same training agree.

    Examples
    --------
    >>> record = {"options": {"objective": None, "compared": "cosine"}}
    >>> require_declared_training(record, objective=None, compared="cosine")
    >>> require_declared_training(record, objective=None, compared="dot")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: compared must be as in the audit, which declares
    compared='cosine'; got 'dot'.
    """
    declarations = declared_training(record)
    if not declarations:
        return
    declaration_texts = [Option(name, value) for name, value in declarations.items()]
    places = " and ".join(["{}"] * len(declaration_texts))
    expected = Sentence(f"as in the audit, which declares {places}", *declaration_texts)
    for name, value in (("objective", objective), ("compared", compared)):
        if value is None:
            continue
        if not _are_same_training(value, declarations.get(name)):
            raise must_be(name, expected, repr(value))


def _are_same_training(word: str, declaration: str | None) -> bool:
    """Return True if two words are equal or stand for the same known training."""
    if word == declaration:
        return True
    training = known_training(word)
    return training is not None and training == known_training(declaration)
