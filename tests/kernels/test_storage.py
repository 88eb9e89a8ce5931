"""What numbers were rounded to is read from them, and nothing is read from plain numbers."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.kernels.storage import BFLOAT16, FLOAT16, ByteRows, Grid, ShortFloats, storage_of

DRAWN = np.random.default_rng(0).standard_normal((80, 16))


def bfloat16(x):
    """Cut float32 to its upper half, rounded to nearest."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def bytes_of(x, axis):
    """Round to whole numbers up to 127, with a scale of the matrix or of each row."""
    scale = (np.abs(x).max(axis=axis, keepdims=True) / 127).astype(np.float32)
    return np.rint(x / scale).astype(np.int8).astype(np.float32) * scale


def told(x):
    found = storage_of(x, np.random.default_rng(0))
    return None if found is None else found.title


STORED = {
    "float16 numbers": DRAWN.astype(np.float16).astype(np.float32),
    "bfloat16 numbers": bfloat16(DRAWN),
    "bytes with a scale for each row": bytes_of(DRAWN, 1),
    "numbers of an even grid (step 0.3)": np.floor(np.clip(DRAWN, -2, 1.99) * 4) * 0.3 + 0.15,
}


@pytest.mark.parametrize("title", STORED)
def test_each_format_is_told_by_its_name(title):
    assert told(STORED[title]) == title


def test_bytes_with_one_scale_are_a_grid():
    x = bytes_of(np.tile(DRAWN, (2, 1)), None)
    assert told(x) == f"numbers of an even grid (step {np.abs(DRAWN).max() / 127:.2g})"


PLAIN = {
    "as drawn": DRAWN,
    "float32": DRAWN.astype(np.float32),
    "counts": np.random.default_rng(0).poisson(30, (80, 16)).astype(float),
    "half stars": np.random.default_rng(0).integers(1, 11, (80, 16)) / 2,
    "zeros and ones": (DRAWN > 0).astype(float),
    "axes": np.eye(80),
    "four values": np.random.default_rng(0).integers(4, size=(80, 16)) * 0.3,
    "a grid but for one number": np.where(np.arange(1280).reshape(80, 16) == 7, 0.31, np.rint(DRAWN * 4) * 0.3),
    "float16 but for one number": np.where(
        np.arange(1280).reshape(80, 16) == 7, 0.31, DRAWN.astype(np.float16).astype(float)
    ),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_of_plain_numbers_nothing_is_told(kind):
    assert told(PLAIN[kind]) is None


def test_few_numbers_tell_nothing():
    x = DRAWN.astype(np.float16)
    assert told(x[:16]) == "float16 numbers"
    x = np.array(x[:16])
    x[0, 0] = 0
    assert told(x) is None


def test_half_a_step_of_bfloat16_bytes_and_grids():
    assert BFLOAT16.half_steps(np.array([1.0, 2.0, 0.75])).tolist() == [2**-8, 2**-7, 2**-9]
    rows = np.array([[127.0, 1.0], [0.0, 12.7]])
    assert ByteRows().half_steps(rows) == pytest.approx(np.array([[0.5, 0.5], [0.05, 0.05]]))
    assert Grid(0.3).half_steps(np.ones((1, 2))).tolist() == [[0.15, 0.15]]


@pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16, ByteRows(), Grid(0.3)])
def test_no_row_lies_farther_from_what_was_rounded_to_it_than_its_length_allows(kind):
    x = np.random.default_rng(3).standard_normal((200, 7)) * 10.0 ** np.random.default_rng(4).integers(-8, 3, (200, 1))
    x[:4] = np.eye(4, 7) * [[1.0], [0.5], [1e-7], [2.0]]
    far = np.linalg.norm(kind.half_steps(x), axis=1)
    bound = kind.farthest(np.linalg.norm(x, axis=1), 7)
    assert (far <= bound * (1 + 1e-12)).all()
    assert (bound / far).min() < 2.7  # and not much less far, for some of them


@pytest.mark.parametrize(("kind", "x"), [(FLOAT16, [1.0]), (ByteRows(), [-3.0]), (Grid(0.3), [9.0]), (BFLOAT16, [0.0])])
def test_of_one_number_the_bound_is_met(kind, x):
    least = np.sqrt(1) * 2.0 ** (kind.least - 1) if isinstance(kind, ShortFloats) and x[0] else 0.0
    (far,) = kind.half_steps(np.array([x]))[0]
    assert kind.farthest(np.abs(x), 1) == pytest.approx(far + least, rel=1e-12)


@pytest.mark.parametrize("off", [0.009, 0.011])
def test_a_grid_may_be_missed_by_a_hundredth_of_a_step(off):
    levels = np.rint(DRAWN * 4)
    x = levels * 0.3
    x[levels == 3] += off * 0.3
    assert (Grid.of(x) is not None) == (off < 0.01)
