"""Large arrays lie in a file that has no name, and in memory where no disk has room."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from embaudit.linalg import scratch as module
from embaudit.linalg.scratch import scratch


def test_on_both_sides_of_what_is_held(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "HELD", 48)
    assert not isinstance(scratch((3, 4), np.float32), np.memmap)
    large = scratch((3, 5), np.float32)
    assert isinstance(large, np.memmap)
    assert (large.shape, large.dtype) == ((3, 5), np.float32)
    large[1] = 7
    assert large.sum() == 35
    assert list(tmp_path.iterdir()) == []


def test_without_room_it_is_held(monkeypatch):
    def full(*_, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "HELD", 0)
    for place, name in ((os, "posix_fallocate"), (tempfile, "TemporaryFile")):
        monkeypatch.setattr(place, name, full)
        found = scratch((3, 5), np.float32)
        assert not isinstance(found, np.memmap)
        assert (found.shape, found.dtype) == ((3, 5), np.float32)
