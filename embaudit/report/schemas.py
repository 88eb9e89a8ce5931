"""The records that `--json` writes, and the JSON Schema (2020-12) of an audit.

While `schema_version` stays, fields are added, and none is renamed, retyped or left
out. So a program that reads the records of today reads those of later versions, if it
ignores fields that it does not know.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from embaudit._version import __version__
from embaudit.core.plain import SCHEMA_VERSION

if TYPE_CHECKING:
    from embaudit.core.results import Result


def record(result: Result) -> dict[str, Any]:
    """Return what `--json` writes of a result: its plain values, and who wrote them.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> written = record(block_cosines([1, 1], [1, 2]))
    >>> written["schema_version"], written["n_blocks"]
    (1, 2)
    """
    return {
        "embaudit_version": __version__,
        "schema_version": SCHEMA_VERSION,
        **result.to_dict(),
    }


def schema() -> str:
    """Return the JSON Schema of what `embaudit audit --json` writes, as text.

    Examples
    --------
    >>> import json
    >>> json.loads(schema())["title"]
    'embaudit audit'
    """
    return (files("embaudit.report") / "audit.schema.json").read_text(encoding="utf-8")
