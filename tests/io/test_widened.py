"""Numbers of half precision are widened exactly, on disk where they are many, and in memory where no disk has room."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from embaudit.io.codecs import widened as module
from embaudit.io.codecs.safetensors import Safetensors, widen_bfloat16
from embaudit.io.codecs.widened import widened

ROWS = np.random.default_rng(0).standard_normal((37, 5)).astype(np.float16)
WIDE = ROWS.astype(np.float32)


def floats(raw):
    return raw.astype(np.float32)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "HELD", 4 * ROWS.size - 1)
    monkeypatch.setattr(module, "row_blocks", lambda n, _k: (slice(i, min(i + 8, n)) for i in range(0, n, 8)))


def test_what_is_held_lies_in_memory(monkeypatch):
    monkeypatch.setattr(module, "HELD", 4 * ROWS.size)
    found = widened(ROWS, floats)
    assert not isinstance(found, np.memmap)
    assert (found == WIDE).all()


@pytest.mark.usefixtures("small")
def test_what_is_not_lies_in_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = widened(ROWS, floats)
    assert isinstance(found, np.memmap)
    assert found.dtype == np.float32
    assert (found == WIDE).all()
    assert not found.flags.writeable
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_where_there_is_no_room_it_is_held(tmp_path, monkeypatch):
    def full(**_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    found = widened(ROWS, floats)
    assert not isinstance(found, np.memmap)
    assert (found == WIDE).all()


@pytest.mark.usefixtures("small")
def test_vectors_are_held():
    assert not isinstance(widened(np.ones(1000, dtype=np.float16), floats), np.memmap)


@pytest.mark.usefixtures("small")
def test_tensors_of_checkpoints_are_widened_so(tmp_path: Path):
    save_file({"w": ROWS}, tmp_path / "m.safetensors")
    found = Safetensors(tmp_path / "m.safetensors")["w"]
    assert isinstance(found, np.memmap)
    assert (found == WIDE).all()
    upper = (WIDE.view(np.uint32) >> 16).astype(np.uint16)
    assert (widened(upper, widen_bfloat16) == (upper.astype(np.uint32) << 16).view(np.float32)).all()
