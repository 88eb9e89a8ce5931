"""Screens stored as plain text, so that reviewers read them as users do."""

from __future__ import annotations

import re

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class PlainText(SingleFileSnapshotExtension):
    """Store each text in a file of its own, `__snapshots__/TEST_FILE/TEST.txt`."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


TABLE = re.compile(r"^ +\w+-\w+.*\n(?:.+\n)+", re.MULTILINE)
"""The table of a first screen: it begins with the kinds of pairs and ends before a
blank line.
"""


def table_of(screen):
    """Return the table of what changes on a first screen."""
    (table,) = TABLE.findall(screen)
    return table


def without_table(screen):
    """Return a first screen with a line in place of its table.

    Stored screens are about other parts: `tests/report/test_first_screen_parts.py`
    checks tables.
    """
    assert TABLE.search(screen)
    return TABLE.sub("(the table of what changes)\n", screen)
