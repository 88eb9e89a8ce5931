"""Pairs drawn without replacement: all where there are no more, each as probable as the others, the same by a seed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from embaudit.errors import InputError
from embaudit.linalg.pairs import all_pairs, draw_pairs, n_pairs
from embaudit.model import FactorModel, Pairs


def numbers(pairs, n_rows, n_columns):
    """The place of each pair among all."""
    every = all_pairs(n_rows) if n_columns is None else np.indices((n_rows, n_columns)).reshape(2, -1).T
    places = {tuple(pair): at for at, pair in enumerate(every.tolist())}
    return [places[tuple(pair)] for pair in pairs.tolist()]


@given(st.integers(2, 40), st.none() | st.integers(1, 40), st.integers(0, 900), st.integers(0, 2**32))
def test_different_pairs_are_drawn_in_order_and_all_where_there_are_no_more(n_rows, n_columns, size, seed):
    pairs = draw_pairs(n_rows, size, n_columns=n_columns, rng=seed)
    found, total = numbers(pairs, n_rows, n_columns), n_pairs(n_rows, n_columns)
    assert found == sorted(set(found))
    assert len(found) == min(size, total)
    np.testing.assert_array_equal(pairs, draw_pairs(n_rows, size, n_columns=n_columns, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize(("n_rows", "n_columns"), [(7, None), (4, 5)])
def test_each_set_of_pairs_is_as_probable(n_rows, n_columns):
    draw, total = np.random.default_rng(0), n_pairs(n_rows, n_columns)
    drawn = [numbers(draw_pairs(n_rows, 8, n_columns=n_columns, rng=draw), n_rows, n_columns) for _ in range(4_000)]
    counts = np.bincount(np.ravel(drawn), minlength=total)
    # Counts of different pairs vary less than independent ones: by the share that is left out.
    assert (
        stats.chi2(total - 1).sf(((counts - 8 * 4_000 / total) ** 2).sum() / (8 * 4_000 / total) / (1 - 8 / total))
        > 0.01
    )
    together = np.mean([0 in one and 1 in one for one in drawn])
    assert together == pytest.approx(8 * 7 / total / (total - 1), abs=0.02)


def test_a_draw_from_very_many_takes_memory_for_itself_alone():
    tracemalloc.start()
    pairs = draw_pairs(2_000_000, 100_000, rng=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(np.unique(pairs, axis=0)) == 100_000
    assert pairs[:, 0].mean() == pytest.approx(2_000_000 / 3, rel=0.01)
    assert peak < 20e6


def test_pairs_of_a_model_are_drawn_of_its_sides():
    model = FactorModel.from_user_item(np.ones((3, 2)), np.ones((5, 2)))
    assert [len(Pairs(role).sample(model, 8)) for role in ("left", "right", "cross")] == [3, 8, 8]
    assert len(Pairs("cross").sample(model, 15)) == 15
    # Rows of zeros are in no pair.
    model = FactorModel.from_user_item([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert [Pairs(role).n_pairs(model) for role in ("left", "right", "cross")] == [0, 3, 3]
    assert Pairs("right").sample(model, 9).tolist() == [[0, 2], [0, 3], [2, 3]]
    assert Pairs("cross").sample(model, 9).tolist() == [[0, 0], [0, 2], [0, 3]]


def test_bad_draws_are_one_sentence():
    with pytest.raises(InputError, match=r"^the number of rows must be at least 2 to form a pair; got 1\.$"):
        draw_pairs(1, 5)
    with pytest.raises(InputError, match=r"^the number of pairs must be an integer from 0 to 100000000; got -1\.$"):
        draw_pairs(3, -1)
