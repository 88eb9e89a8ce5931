"""The command line: typer commands without logic of their own; what is heavy is imported when a command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run embaudit; exit 0 when all is well, 1 on findings, 2 on input that must be mended."""
    import embaudit.cli.commands  # noqa: F401
    from embaudit.cli.app import app
    from embaudit.errors import InputError

    try:
        app()
    except InputError as error:
        sys.stderr.write(f"embaudit: {error}\n")
        sys.exit(2)
