"""`embaudit schema`: the JSON Schema of an audit."""

from __future__ import annotations

import sys

from embaudit.cli.app import app


@app.command()
def schema() -> None:
    """Print the JSON Schema of the JSON that `embaudit audit` writes.

    As long as schema_version stays the same, fields are added, and no field is renamed,
    removed or changed in type.
    """
    from embaudit.report.schemas import schema as published

    sys.stdout.write(published())
