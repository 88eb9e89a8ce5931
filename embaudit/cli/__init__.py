"""The command line: typer commands without logic of their own; what is heavy is imported when a command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run embaudit; exit 0 when all is well, 1 on findings, 2 on input that must be mended."""
    from embaudit.cli.commands import command
    from embaudit.errors import InputError

    try:
        command()
    except InputError as error:
        sys.stderr.write(f"embaudit: {error}\n")
        sys.exit(2)
