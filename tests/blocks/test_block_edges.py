"""Block sums of operands that differ in precision and in scale by hundreds of powers of ten."""

from __future__ import annotations

import math

import numpy as np
import pytest

import embaudit as ea
from embaudit.blocks import Labels, sums
from embaudit.blocks.compute import _merged
from embaudit.blocks.partition import as_partition
from embaudit.blocks.sources import _is_numbers, as_source
from embaudit.blocks.sums import SAFE, BlockSums, _exponents, _leading_exponent
from embaudit.blocks.thresholds import LocalThreshold, norm_change
from embaudit.errors import InputError

DRAW = np.random.default_rng(0)
WIDE, NARROW = DRAW.normal(size=(2, 600))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-160, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_operand_of_extreme_scale_beside_a_narrow_one(dtype, scale, turned):
    narrow = NARROW.astype(dtype)
    pair = [{"a": WIDE[:300] * scale, "b": WIDE[300:] * scale}, {"a": narrow[:300], "b": narrow[300:]}]
    found = ea.block_cosines(*(pair[::-1] if turned else pair))
    x, y = WIDE, narrow.astype(np.float64)
    cosine = x @ y / np.sqrt(x @ x * (y @ y))
    halves = [x[s] @ y[s] / np.sqrt(x[s] @ x[s] * (y[s] @ y[s])) for s in (slice(300), slice(300, None))]
    assert found.global_cosine == pytest.approx(cosine, rel=1e-12)
    np.testing.assert_allclose(found.cosines, halves, rtol=1e-12)


def test_narrow_operands_whose_squares_no_float32_holds():
    big, small = (NARROW * 1e30).astype(np.float32), (NARROW * 1e-30).astype(np.float32)
    assert ea.block_cosines({"a": big}, {"a": small}).global_cosine == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("square", "again"), [(1.5 / SAFE, False), (0.7 / SAFE, True), (0.7 * SAFE, False), (1.5 * SAFE, True)]
)
def test_blocks_are_read_again_where_squares_could_leave_the_range(square, again, monkeypatch):
    read = []
    monkeypatch.setattr(sums, "_exponents", lambda *given: (read.append(given[2]), _exponents(*given))[1])
    found = ea.block_cosines({"a": [np.sqrt(square), 0.0]}, {"a": [3.0, 4.0]})
    assert found.global_cosine == pytest.approx(0.6, rel=1e-15)
    assert read == ["a"] * again


def test_what_is_small_beside_the_sum_so_far_is_added_all_the_same(monkeypatch):
    """Four squares of 1/4 vanish beside 2^54; of a thousand such pieces a plain sum would lose all."""
    monkeypatch.setattr(sums, "PIECE", 4)
    x = np.full(4_004, 0.5)
    x[:4], y = [2.0**27, 0, 0, 0], np.cos(np.arange(4_004))
    xx, yy, xy = (math.fsum(one * other) for one, other in ((x, x), (y, y), (x, y)))
    assert xx - 2.0**54 == 1_000
    found = ea.block_cosines({"a": x}, {"a": y}).global_cosine
    np.testing.assert_allclose(found, xy / math.sqrt(xx * yy), rtol=2e-15)


def test_labels_of_several_kinds_are_told_apart_by_their_text():
    labels = np.array([1, "b", None, "1"], dtype=object)
    order, edges, names = Labels(labels).sorting(4)
    assert (order.tolist(), edges.tolist(), names) == ([0, 3, 1, 2], [0, 2, 3, 4], ["1", "b", "None"])


@pytest.mark.parametrize(("given", "name"), [(({}, {"a": [1.0]}), "x"), (({"a": [1.0]}, {}), "y")])
def test_what_has_no_array_is_named(given, name):
    with pytest.raises(InputError, match=rf"^{name} must be at least one array with an entry; got nothing"):
        ea.block_cosines(*given)


def test_the_block_of_largest_norm_leads():
    assert _leading_exponent(np.array([2.0**10, 1.0]), np.array([0, 4])) == 0
    assert _leading_exponent(np.array([2.0**6, 1.0]), np.array([0, 4])) == 4
    assert _leading_exponent(np.array([0.0, 1.0]), np.array([9, 4])) == 4
    assert _leading_exponent(np.array([1.0, 4.0]), np.array([0, 0])) == 0


@pytest.mark.parametrize("given", [[1.0, "a"], [[1.0], ["a"]], [[1.0, 2.0], [np.ones(2), 1.0]]], ids=str)
def test_lists_with_anything_but_numbers_are_no_array(given):
    assert not _is_numbers(given)
    assert _is_numbers([[1.0, True], [np.float32(2), 3]])


def test_partitions_of_mixed_parts_are_refused():
    with pytest.raises(ea.errors.InputError, match=r"^partition must be a name, .* got list; "):
        as_partition(["a", 3])
    assert as_partition(("a", "b")).patterns == ("a", "b")
    with pytest.raises(ea.errors.InputError, match=r"2\.5"):
        ea.block_cosines(np.ones(9), np.ones(9), partition=ea.blocks.Boundaries([1, 2.5]))


def test_lists_of_no_blocks_are_empty():
    found = ea.block_cosines(WIDE, NARROW)
    assert len(found.largest_gaps(limit=0)) == 0
    assert found.to_dict(limit=0)["blocks"] == []
    assert len(found.to_dict(limit=1)["blocks"]) == 1


def test_a_threshold_that_is_just_reachable_is_reached():
    found = norm_change(np.array([1.0]), np.array([0.5]), 0.5, "x")
    assert (found.before, found.distance, found.reachable) == (0.5, 0.0, (0.5, 0.5))
    assert norm_change(np.array([1.0]), np.array([0.5]), 0.4999, "x").distance is None
    at_right_angles = LocalThreshold(0.5, True, 0, 0, 0.0, 0.0, 0.0, 0.0)
    assert (at_right_angles.needed_for(0.0), at_right_angles.needed_for(1e-9)) == (0.0, None)
    assert at_right_angles.needed_for(-1e-9) == -1.0


def test_tensors_of_one_name_are_added_where_each_is_one_block():
    def sums(count):
        return BlockSums(*np.ones((3, count)), *np.zeros((2, count), dtype=np.int64))

    merged = _merged([sums(1), sums(1), sums(1)], "name")
    assert (merged.xx.tolist(), merged.yy.tolist(), merged.xy.tolist()) == ([3.0], [3.0], [3.0])
    with pytest.raises(ea.errors.InputError, match=r"^tensors that share the name 'name' must be one block each"):
        _merged([sums(1), sums(2)], "name")
    assert len(_merged([sums(2)], "name").xx) == 2


def test_a_vector_has_no_second_axis_of_heads():
    pair = [{"w": WIDE.reshape(20, 30), "b": WIDE[:20]}, {"w": NARROW.reshape(20, 30), "b": NARROW[:20]}]
    found = ea.block_cosines(*pair, partition=ea.blocks.Heads(3, axis=1))
    assert len(found) == 3 + 1


def test_only_what_has_tensors_and_opens_them_is_a_source():
    class Named(dict):
        tensors = "not those of a file"

    assert list(as_source(Named(a=[1.0, 2.0]), "x").tensors) == ["a"]
