"""Records that `--json` writes, and their JSON Schemas (2020-12), published with the package.

While `schema_version` stays, fields are added, and none is renamed, retyped or left out: what reads today's records
reads those of later versions. Nothing here forbids fields that it does not know.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from embaudit._version import __version__
from embaudit.core.words import nearest_to
from embaudit.errors import must_be

if TYPE_CHECKING:
    from embaudit.core.results import Result

NAMES = ("audit", "blocks", "compare", "evaluate", "simpson")
"""The commands that write JSON."""
VERSION = 1
"""`schema_version` of what does not say its own."""


def record(result: Result) -> dict[str, Any]:
    """Return what `--json` writes of a result: its plain values, and who wrote them in which form.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> written = record(block_cosines([1, 1], [1, 2]))
    >>> written["schema_version"], written["n_blocks"]
    (1, 2)
    """
    return {
        "embaudit_version": __version__,
        "schema_version": getattr(result, "SCHEMA_VERSION", VERSION),
        **result.to_dict(),
    }


def schema(name: str) -> str:
    """Return the JSON Schema of what a command writes, as text.

    Raises
    ------
    InputError
        For a command that writes no JSON.

    Examples
    --------
    >>> import json
    >>> json.loads(schema("blocks"))["title"]
    'embaudit blocks'
    >>> schema("adit")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a schema must be that of audit, blocks, compare, evaluate or simpson; got 'adit'; the
    nearest one is audit.
    """
    if name not in NAMES:
        names = f"that of {', '.join(NAMES[:-1])} or {NAMES[-1]}"
        raise must_be("a schema", names, repr(name), nearest_to(name, NAMES))
    return files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
