"""Texts that are kept for people to read: `UPDATE_SCREENS=1` writes them anew; read what changed before it is kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?![\w.]*\w)")
ROUNDING = re.compile(r"\b\d+(?:\.\d+)?e-\d+\b")


def assert_snapshot(path: Path, text: str) -> None:
    """Compare a text with the one kept: words are the same, figures but for rounding."""
    text = ROUNDING.sub("1e-N", text)
    if os.environ.get("UPDATE_SCREENS"):
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    assert NUMBER.sub("#", text) == NUMBER.sub("#", kept)
    before, now = ([float(x.replace(",", "")) for x in NUMBER.findall(each)] for each in (kept, text))
    np.testing.assert_allclose(now, before, rtol=0.02, atol=0.011)
