"""Every command, imported so that it registers itself with the application."""

from embaudit.cli import audit, demo, fit, formats, gauge  # noqa: F401
