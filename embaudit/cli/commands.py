"""Every command, imported so that it registers itself with the application."""

from embaudit.cli import audit, blocks, compare, demo, evaluate, explain, fit, fix, formats, gauge, reproduce, simpson  # noqa: F401
