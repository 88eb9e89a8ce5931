"""`embaudit schema`: the JSON Schema of an audit."""

from __future__ import annotations

import sys

from embaudit.cli.app import app


@app.command()
def schema() -> None:
    """Print the JSON Schema of what audit writes with --json.

    While schema_version stays, fields are added, and none is renamed, retyped or left out.
    """
    from embaudit.report.schemas import schema as published

    sys.stdout.write(published())
