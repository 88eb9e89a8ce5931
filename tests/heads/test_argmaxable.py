"""Argmaxable labels against hulls, upper envelopes and searches; gauges do not change
them.
"""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import equivalent_head, random_head, seven_labels
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from embaudit.errors import InputError
from embaudit.heads import argmaxable, shared_halves
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel

SEEDS = st.integers(0, 2**32 - 1)


def upper_envelope(rows: np.ndarray, bias: np.ndarray) -> set[int]:
    """Find the labels on a facet of the hull of the points (w, b) that faces upwards.

    They have the largest logit for some finite input.
    """
    hull = ConvexHull(np.column_stack([rows, bias]))
    upward = hull.equations[:, -2] > 0
    return {int(i) for i in hull.simplices[upward].ravel()}


@given(seed=SEEDS, n=st.integers(5, 40), rank=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_argmaxable_labels_without_a_bias_are_the_vertices_of_the_hull(seed, n, rank):
    n = max(n, rank + 2)
    head = random_head(seed, n, rank)
    found = argmaxable(head)
    assert found.decided.all()
    assert set(np.flatnonzero(found.can_lead)) == set(ConvexHull(head.right).vertices)


@given(seed=SEEDS, n=st.integers(5, 40), rank=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_argmaxable_labels_with_a_bias_are_the_upper_hull_of_rows_and_bias(
    seed, n, rank
):
    head = random_head(seed, n, rank, bias=True)
    found = argmaxable(head)
    assert found.decided.all()
    assert set(np.flatnonzero(found.can_lead)) == upper_envelope(
        head.right, head.right_bias
    )


def test_a_bias_can_make_labels_argmaxable_that_lie_inside_the_hull():
    head = random_head(5, 30, 2)
    without = argmaxable(head).can_lead
    lifted = argmaxable(head.replace(right_bias=np.where(without, 0.0, 3.0))).can_lead
    assert not without.all()
    assert (lifted | ~without).all()
    assert lifted.sum() > without.sum()


@given(seed=SEEDS, bias=st.booleans())
@settings(max_examples=25, deadline=None)
def test_no_affine_gauge_changes_which_labels_are_argmaxable_or_their_lead(seed, bias):
    head = random_head(seed, 25, 3, bias=bias)
    before, after = argmaxable(head), argmaxable(equivalent_head(head, seed))
    assert (before.can_lead == after.can_lead).all()
    assert np.allclose(before.lead, after.lead, rtol=1e-6, atol=1e-9)


def test_affine_gauges_change_cosines_of_rows_of_centred_rows_and_of_differences():
    head = random_head(1, 25, 3)
    moved = equivalent_head(head, 1)
    pairs = all_pairs(25)
    for view in (lambda w: w, lambda w: w - w.mean(axis=0), lambda w: w[1:] - w[0]):
        few = pairs[pairs.max(axis=1) < 24]
        before, after = (
            FactorModel.from_vectors(view(m.right)).cosines("right", few)
            for m in (head, moved)
        )
        assert np.abs(after - before).mean() > 0.1


def test_a_shortened_row_keeps_every_cosine_and_loses_every_argmax():
    """Grivas's point in version 2 of Nielsen's paper."""
    long, short = seven_labels(), seven_labels(2.0)
    pairs = all_pairs(7)
    assert np.allclose(
        long.cosines("right", pairs), short.cosines("right", pairs), atol=1e-15
    )
    assert argmaxable(long).can_lead.tolist() == [True] * 7
    assert argmaxable(short).can_lead.tolist() == [
        True,
        True,
        False,
        True,
        True,
        True,
        True,
    ]
    inputs = np.random.default_rng(0).standard_normal((100_000, 2))
    assert 2 not in np.unique((inputs @ short.right.T).argmax(axis=1))
    # Just inside and outside the chord between its neighbours, 5/√2 from the origin.
    chord = 5 / np.sqrt(2)
    assert not argmaxable(seven_labels(chord * (1 - 1e-4))).can_lead[2]
    assert argmaxable(seven_labels(chord * (1 + 1e-4))).can_lead[2]


def test_a_sample_of_rows_competes_with_all_labels_and_says_so():
    head = random_head(7, 40, 2)
    everyone, some = argmaxable(head), argmaxable(head, rows=[3, 11, 20])
    assert (everyone.can_lead[[3, 11, 20]] == some.can_lead).all()
    assert some.is_sample
    assert not everyone.is_sample
    assert some.to_frame()["label"].tolist() == [3, 11, 20]
    assert some.to_dict()["n_asked"] == 3


@pytest.mark.parametrize("beyond", [0.0, 1e-5, 1e-3])
def test_long_rows_in_float32_lead_as_short_ones_in_float64(beyond):
    """The middle of a side of a polygon leads if it lies beyond the side.

    A distance a little above rounding is enough.
    """
    corners = np.exp(2j * np.pi * np.arange(12) / 12)
    points = np.r_[corners, (1 + beyond) * (corners + np.roll(corners, 1)) / 2]
    plane = np.linalg.qr(np.random.default_rng(0).standard_normal((300, 2)))[0].T
    rows = np.c_[points.real, points.imag]
    for head in (
        FactorModel.from_softmax(rows),
        FactorModel.from_softmax((rows @ plane).astype(np.float32)),
    ):
        assert argmaxable(head).can_lead.tolist() == [True] * 12 + [beyond > 0] * 12


@pytest.mark.parametrize(
    ("head", "options", "sentence"),
    [
        (
            FactorModel.from_vectors([[1.0], [2.0]]),
            {},
            "must be a softmax head for the geometry",
        ),
        (FactorModel.from_softmax([[1.0], [1.0]]), {}, "must not all be equal"),
        (random_head(0, 5, 2), {"rows": [5]}, "must be row numbers from 0 to 4; got 5"),
        (random_head(0, 5, 2), {"rows": [0.5]}, "rows must be a vector of integers"),
        (random_head(0, 5, 2), {"margin": 0.0}, "margin must be a positive number"),
    ],
)
def test_argmaxable_refuses(head, options, sentence):
    with pytest.raises(InputError, match=sentence):
        argmaxable(head, **options)


def test_shared_halves_refuse_a_pair_of_one_label():
    with pytest.raises(InputError, match="two different labels; got label 3 with itse"):
        shared_halves(random_head(0, 5, 2), [[1, 2], [3, 3]])


def with_twins(head: FactorModel, copies: dict[int, int]) -> FactorModel:
    """The head with some labels again, appended."""
    again = np.repeat(list(copies), list(copies.values()))
    bias = (
        None
        if head.right_bias is None
        else np.append(head.right_bias, head.right_bias[again])
    )
    return FactorModel.from_softmax(np.vstack([head.right, head.right[again]]), bias)


def test_a_twin_with_a_smaller_bias_never_leads_and_one_with_a_larger_bias_does():
    head = random_head(3, 12, 2, bias=True)
    best = int(np.flatnonzero(argmaxable(head).can_lead)[0])
    copied = with_twins(head, {best: 2})
    bias = np.array(copied.right_bias)
    bias[-2] += 0.1
    found = argmaxable(copied.replace(right_bias=bias))
    assert found.n_tied == 0
    assert found.can_lead[-2]
    assert found.cannot[[best, len(bias) - 1]].all()
    equal = argmaxable(copied)
    assert equal.to_frame()["argmaxable"].iloc[[best, -2, -1]].tolist() == ["tied"] * 3
    assert "3 only tied with equal labels" in repr(equal)
