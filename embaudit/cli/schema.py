"""`embaudit schema`: the JSON Schemas of an audit, an adapter, and a threshold."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

from typer import Argument

from embaudit.cli.app import app

Kind = StrEnum(
    "Kind", [("AUDIT", "audit"), ("ADAPTER", "adapter"), ("THRESHOLD", "threshold")]
)
"""Files that have a schema."""


@app.command()
def schema(
    of: Annotated[
        Kind,
        Argument(
            help="The file: audit, which audit --json writes; adapter, which it writes "
            "for a low-rank adapter (LoRA); or threshold, which threshold --out "
            "FILE.json writes."
        ),
    ] = Kind.AUDIT,
) -> None:
    """Print the JSON Schema of the JSON that `embaudit audit` or `threshold` writes.

    As long as schema_version stays the same, fields are added, and no field is renamed,
    removed or changed in type.
    """
    from embaudit.report import schemas

    published = {
        Kind.AUDIT: schemas.schema,
        Kind.ADAPTER: schemas.adapter_schema,
        Kind.THRESHOLD: schemas.threshold_schema,
    }
    sys.stdout.write(published[of]())
