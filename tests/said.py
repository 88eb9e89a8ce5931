"""Whole sentences behind what tests match a part of: refusals and readings, in `said.txt` of each folder."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from snapshots import section

from embaudit.errors import InputError
from embaudit.io.intake import Reading

LONG = re.compile(
    r"(?<![A-Za-z])[-+]?(?:\d[\d,]*\.\d+|\d[\d,]{3,}\d|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?"
)
"""Numbers that rounding or a machine may change."""
KEPT_APART = ("test_transcripts.py", "test_refusals.py", "test_texts.py", "test_kept_numbers.py",
              "test_parallel.py", "test_io_files.py", "test_what_is_read.py")  # fmt: skip
"""They have texts of their own, or sentences of other libraries."""


class Record:
    """What is said while a test runs, each line once, `#` for numbers that may change."""

    def __init__(self, folder):
        self.lines, self.folder = (
            {},
            re.compile(rf"{re.escape(str(folder))}/[^/\s]*(?:/|\b)"),
        )

    def add(self, said):
        self.lines[" ".join(LONG.sub("#", self.folder.sub("", said)).split())] = True

    def listen(self, monkeypatch):
        """Hear what every reading tells and each refusal that a test expects."""
        raises, made = pytest.raises, Reading.__init__

        @contextmanager
        def heard(*expected, **options):
            with raises(*expected, **options) as caught:
                yield caught
            if isinstance(caught.value, InputError):
                self.add(f"{type(caught.value).__name__}: {caught.value}")

        def make(reading, *args, **options):
            made(reading, *args, **options)
            self.add(
                f"{reading.intake.explain()} {reading.model!r}, {reading.model.objective}"
            )

        monkeypatch.setattr(pytest, "raises", heard)
        monkeypatch.setattr(Reading, "__init__", make)

    def compare(self, item):
        """Compare with what is kept of a test; of a new one, or in a folder without such a file, nothing is."""
        text = "".join(f"{line}\n" for line in self.lines if line)
        path = item.path.with_name("said.txt")
        kept = (
            section(path, f"{item.path.name}::{item.name}", text)
            if path.exists()
            else None
        )
        assert text == (text if kept is None else kept)
