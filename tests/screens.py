"""Screens stored as plain text, so that a reviewer reads what a user reads."""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class PlainText(SingleFileSnapshotExtension):
    """Store each text in a file of its own, `__snapshots__/TEST_FILE/TEST.txt`."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT
