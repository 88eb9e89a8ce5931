"""Sums that cancel, shares that are just reached, and pairs of blocks tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.blocks import block_cosines
from embaudit.blocks.partition import Columns, Heads, Labels, Rows
from embaudit.blocks.sources import as_source
from embaudit.blocks.sums import _exact
from embaudit.blocks.thresholds import _along_path, _front, _on_two_blocks
from embaudit.blocks.unnamed import UNNAMED, is_single, named_alike, whole
from embaudit.errors import InputError


@pytest.mark.parametrize(("n", "total"), [(10**6 - 1, 1.0), (10**6, 0.0)])
def test_fewer_than_a_million_sums_are_rounded_once(n, total):
    values = np.zeros(n)
    values[[0, 1, 2]] = 1e17, 1.0, -1e17
    assert _exact(values, np.zeros(1, dtype=np.int64)) == total


def test_no_cosine_of_profiles_is_above_1():
    draw = np.random.default_rng(0)
    passed = 0
    for _ in range(200):
        x = np.abs(draw.standard_normal((5, 3)))
        found = block_cosines(x, 3.7 * x, partition="rows")
        own, whole = found.sums.weights()
        passed += own.sum() / whole > 1
        assert 1 - 1e-15 <= found.norm_cosine <= 1
    assert passed, "what there is to cut off"


@pytest.mark.parametrize(("share", "listed"), [(0.25, 1), (0.5, 2), (0.5 + 1e-9, 3), (0.75, 3), (1.0, 4), (None, 4)])
def test_blocks_are_listed_until_their_share_is_reached(share, listed):
    found = block_cosines([[1.0]] * 4, [[-1.0]] * 4)
    frame = found.largest_gaps(share=share)
    assert len(frame) == listed
    assert frame["gap_share"].tolist() == [0.25] * listed
    assert frame["cumulative_share"].tolist() == [0.25 * (i + 1) for i in range(listed)]
    assert len(found.largest_gaps(share=share, limit=1)) == 1
    assert len(block_cosines([[1.0]] * 4, [[2.0]] * 4).largest_gaps(share=share)) == (4 if share is None else 0)


def best_of_all_pairs(a, g, t):
    """Of single blocks at or above the threshold, and of mixtures of one with a block below it, just at it."""
    psi = np.linspace(0, np.pi / 2, 40_001)
    best = a[g >= t].max()
    for i in np.flatnonzero(g >= t):
        for j in np.flatnonzero(g < t):
            at = np.abs(np.cos(psi) * g[i] + np.sin(psi) * g[j] - t) < 1e-4
            best = max(best, (np.cos(psi) * a[i] + np.sin(psi) * a[j])[at].max(initial=0))
    return best


def test_where_no_path_leads_there_the_best_of_two_blocks_is_that_of_all_pairs():
    fronts = []
    for seed in range(400):
        draw = np.random.default_rng(seed)
        a, g = draw.uniform(0.02, 1, 4), draw.uniform(-0.95, -0.05, 4)
        a /= np.linalg.norm(a)
        t = float(draw.uniform(g.min(), g.max()))
        if _along_path(a, g, t) is None:
            found = _on_two_blocks(a, g, t)
            fronts.append(len(_front(a, g)))
            assert np.linalg.norm(found) == pytest.approx(1.0)
            assert found.min() >= 0
            assert np.count_nonzero(found) <= 2
            assert found @ g >= t - 1e-9
            assert a @ found == pytest.approx(best_of_all_pairs(a, g, t), abs=1e-3)
    assert set(fronts) >= {2, 3, 4}
    assert len(fronts) > 40


def test_no_block_of_the_front_is_beaten_in_both():
    draw = np.random.default_rng(3)
    a, g = draw.integers(6, size=(2, 30)).astype(float)
    front = set(_front(a, g).tolist())
    for i in range(30):
        beaten = ((a >= a[i]) & (g >= g[i]) & ((a > a[i]) | (g > g[i]))).any()
        assert not (beaten and i in front)
        assert beaten or any(a[j] == a[i] and g[j] == g[i] for j in front)
    assert len({(a[i], g[i]) for i in front}) == len(front)


def test_what_no_blocks_come_of_is_refused():
    for make, words in (
        (lambda: Heads(0), "the number of heads must be an integer from 1 to "),
        (lambda: Heads(2, 2), "the axis of the heads must be an integer from 0 to 1; got 2."),
        (lambda: Heads(2, pattern=3), "the pattern of the tensors that have heads must be text; got 3."),
        (lambda: Labels(["a", "b"]).sorting(3), "labels must be one for each of the 3 entries; got 2."),
        (lambda: as_source({"a": {"b": [1.0]}, "a.b": [2.0]}, "x"),
         "the names in x must be unique once nested keys are joined by a dot; got one of them twice."),
        (lambda: as_source({"a": []}, "x"), "x must be at least one array with an entry; got nothing."),
        (lambda: as_source({"a": np.array([1j])}, "x"),
         "tensor 'a' must be an array of real numbers; got dtype complex128."),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            make()
        assert str(refused.value).startswith(words)


def test_lists_of_numbers_are_one_array_and_lists_of_lists_several():
    def found(given):
        source = as_source(given, "x")
        return {name: source[name].tolist() for name in source.tensors}

    assert found([[1.0, 2.0], [3.0]]) == {"0": [1.0, 2.0], "1": [3.0]}
    assert found([[1.0, 2.0], [3.0, 4.0]]) == {UNNAMED: [[1.0, 2.0], [3.0, 4.0]]}
    assert found({"a": {"b": [1, 2]}, "c": [[1.0], np.ones(2)]}) == {"a.b": [1, 2], "c.0": [1.0], "c.1": [1.0, 1.0]}


def test_one_array_takes_the_name_of_the_other():
    one, named = as_source([[1.0, 2.0]], "x"), as_source({"bias": [3.0, 4.0]}, "y")
    two = as_source({"a": [1.0], "b": [2.0]}, "z")
    for x, y in ((one, named), (named, one)):
        first, second = named_alike(x, y)
        assert list(first.tensors) == list(second.tensors) == ["bias"]
        wanted = [1.0, 2.0] if x is one else [3.0, 4.0], [3.0, 4.0] if x is one else [1.0, 2.0]
        assert (np.ravel(first["bias"]).tolist(), np.ravel(second["bias"]).tolist()) == wanted
    given = named_alike(one, named)[0]
    with given.open("bias") as read, one.open(UNNAMED) as unnamed:
        assert type(read) is type(unnamed)
    assert (is_single(one), is_single(named)) == (True, False)
    assert whole(one).tolist() == [1.0, 2.0]
    for pair in ((one, two), (two, one), (one, one), (named, two), (named, named)):
        assert named_alike(*pair) == pair


@pytest.mark.parametrize(("partition", "second"), [(Rows(), "w[1]"), (Columns(), "w[:, 1]")])
def test_a_vector_is_one_block_of_its_own_name(partition, second):
    assert [partition.label("w", shape, 1) for shape in ((), (4,), (4, 2))] == ["w", "w", second]
