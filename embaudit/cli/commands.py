"""Every command, imported so that it registers itself with the application."""

from embaudit.cli import audit, blocks, demo, fit, formats, gauge, simpson  # noqa: F401
