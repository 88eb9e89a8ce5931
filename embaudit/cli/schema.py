"""`embaudit schema`: the JSON Schema of an audit, or of a threshold for a service."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

from typer import Argument

from embaudit.cli.app import app

Kind = StrEnum("Kind", [("AUDIT", "audit"), ("THRESHOLD", "threshold")])
"""Files that have a schema."""


@app.command()
def schema(
    of: Annotated[
        Kind,
        Argument(
            help="The file: audit, which audit --json writes, or threshold, which "
            "threshold --out FILE.json writes."
        ),
    ] = Kind.AUDIT,
) -> None:
    """Print the JSON Schema of the JSON that `embaudit audit` or `threshold` writes.

    As long as schema_version stays the same, fields are added, and no field is renamed,
    removed or changed in type.
    """
    from embaudit.report.schemas import schema as published
    from embaudit.report.schemas import threshold_schema

    if of is Kind.THRESHOLD:
        sys.stdout.write(threshold_schema())
    else:
        sys.stdout.write(published())
