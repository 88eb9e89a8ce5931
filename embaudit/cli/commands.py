"""Every command, imported so that it registers itself with the application; the whole is put together once."""

from typer.main import get_command

# ruff: noqa: F401
from embaudit.cli import (
    audit,
    blocks,
    compare,
    demo,
    evaluate,
    explain,
    fit,
    fix,
    formats,
    gauge,
    reproduce,
    schema,
    simpson,
    verify,
)
from embaudit.cli.app import app

command = get_command(app)
