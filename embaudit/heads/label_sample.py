"""Labels that an audit of a head examines one by one, and inputs for the head.

Sums over all labels, such as the mean row, are computed from the whole head. Pairs of
labels are too many in a large head, so they are measured in a sample of its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from embaudit.core.checked import (
    RNG,
    Flags,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_count,
    as_generator,
    is_integer,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.sizes import MOST_COUNT
from embaudit.core.ties import first_largest
from embaudit.core.tolerances import FLOAT32_TIE, ROUNDING, TIE
from embaudit.errors import must_be
from embaudit.heads.coordinates import require_different, require_softmax
from embaudit.linalg.moments import Moments
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import row_norms, sample_rows
from embaudit.model import FactorModel
from embaudit.model.side import Side
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.twins import twins

N_INPUTS = 256
"""Largest number of inputs on which probabilities are verified."""
LOGIT_SPREAD = 4.0
"""Standard deviation of a typical label's logits over drawn inputs.

Then some labels are likely and none is certain.
"""
ROUNDED_TO_ONE = 0.995
"""Smallest cosine that is printed as 1.00 with two decimals."""


@dataclass(frozen=True, eq=False)
class LabelSample:
    """Some labels of a head in float64, with inputs to verify probabilities on.

    A gauge that keeps the probabilities of all labels also keeps them among the sampled
    labels alone, because the odds of two labels depend on no other label.
    """

    labels: Indices
    """Row numbers of the sampled labels in ascending order."""
    model: FactorModel
    """The head restricted to these labels, with at most `N_INPUTS` inputs."""
    n_labels: int
    """Number of labels of the whole head."""
    summary: Moments
    """Mean row and root of the whole head."""
    median_norm: float
    """Median length of a row of the whole head: the unit of shifts."""
    n_zero: int
    """Number of labels of the whole head that are zero or equal the mean row.

    They are in no sample, because they have no direction, or none once the mean row is
    subtracted.
    """
    n_aside: int
    """Number of other labels that are in no sample because they are set aside."""
    at_mean: Indices
    """Row numbers of the labels that equal the mean row, unless it is zero."""

    @property
    def mean(self) -> Vector:
        """(k,) mean row of the whole head."""
        return self.summary.mean

    @property
    def is_sample(self) -> bool:
        """True if labels that could be in the sample were not drawn."""
        return len(self.labels) + self.n_zero + self.n_aside < self.n_labels

    def places(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Return the places in the sample of two of its labels.

        Raises
        ------
        InputError
            If it is the same label twice.
        """
        if pair[0] == pair[1]:
            raise must_be("pair", "two different labels", f"label {pair[0]} twice")
        first, second = np.searchsorted(self.labels, pair)
        return int(first), int(second)


# Inputs


def probe_inputs(model: FactorModel, n: int = N_INPUTS, *, rng: RNG = 0) -> Floats:
    """Draw inputs for a head that has none, to compare the probabilities of two heads.

    The entries of an input x are normal with mean 0 and one standard deviation σ. So
    the logits `w · x` of a label at distance d from the mean row differ from the mean
    logit by σ d. σ is chosen such that this is 4 for the root mean square distance:
    then some labels are likely and none is certain.

    Without a bias, the difference of two logits is linear in x. So two heads that agree
    on k inputs in general position agree on all inputs.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    n : int
        Number of inputs.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    array of shape (n, k)
        The inputs, in float64.

    Raises
    ------
    InputError
        If the model is not a softmax head, or its rows are too long or too short.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[100.0, 0.0], [-100.0, 0.0]])
    >>> inputs = probe_inputs(head, 3, rng=0)
    >>> inputs.shape, bool(np.abs(head.right @ inputs.T).max() < 20)
    ((3, 2), True)
    """
    require_softmax(model, "probe inputs")
    require_ordinary_size(model)
    count = as_count(n, "n", most=MOST_COUNT)
    return _normal_inputs(model.right_side.moments, count, as_generator(rng))


def _normal_inputs(summary: Moments, n: int, rng: np.random.Generator) -> Floats:
    """Draw n normal inputs, (n, k), of standard deviation σ = `LOGIT_SPREAD / d`.

    d is the root mean square distance of the label rows from their mean row.
    """
    distance = float(np.linalg.norm(summary.centred_root)) / np.sqrt(summary.n_rows)
    rounding = ROUNDING * float(np.linalg.norm(summary.mean))
    # The distances of equal rows from their mean are rounding errors, not a scale.
    deviation = LOGIT_SPREAD / distance if distance > rounding else 1.0
    return deviation * rng.standard_normal((n, len(summary.mean)))


def _with_inputs(
    head: FactorModel, summary: Moments, rng: np.random.Generator
) -> FactorModel:
    """Return a head with up to `N_INPUTS` of its inputs, or with drawn inputs."""
    if head.left is None:
        return head.replace(left=_normal_inputs(summary, N_INPUTS, rng))
    return head.take(left=sample_rows(head.n_left, N_INPUTS, rng))


# Labels


def draw_label_sample(
    model: FactorModel,
    n_labels: int,
    rng: np.random.Generator,
    *,
    pair: Sequence[int] | None = None,
) -> LabelSample:
    """Draw up to `n_labels` labels, and inputs unless the head has its own.

    Labels that are zero, equal the mean row or are set aside are not drawn. If fewer
    than two other labels are left, labels that are set aside are drawn, too.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    n_labels : int
        Number of labels to draw. A head of no more labels is taken as a whole.
    rng : numpy Generator
        Source of randomness.
    pair : sequence of two int, optional
        Two labels that are added to the drawn ones. They can be set aside.

    Raises
    ------
    InputError
        If the model is not a softmax head, if its rows are all equal, too long or too
        short, if fewer than two labels have a direction, or if a label of the pair has
        none.
    """
    require_softmax(model, "a head report")
    require_ordinary_size(model)
    require_different(model.right, "label rows")
    side = model.right_side
    directed = _directed_labels(side)
    _require_two_directions(side, directed)
    requested = _labels_of_pair(pair, directed, n_labels=len(side))

    eligible = np.intersect1d(directed, side.eligible_rows)
    if len(eligible) < 2:
        eligible = directed
    drawn = eligible
    if len(eligible) > n_labels:
        drawn = rng.choice(eligible, n_labels, replace=False)
    # The union of row numbers is sorted, so labels stay in the order of the head.
    labels = np.union1d(drawn, requested)
    head = _with_inputs(only_labels(model, labels), side.moments, rng)
    return LabelSample(
        labels=labels,
        model=_in_float64(head),
        n_labels=len(side),
        summary=side.moments,
        median_norm=side.median_length,
        n_zero=len(side) - len(directed),
        n_aside=len(np.setdiff1d(directed, np.union1d(eligible, requested))),
        at_mean=np.setdiff1d(side.directed, directed),
    )


def _directed_labels(side: Side) -> Indices:
    """Return the labels that have a direction, both as stored and centred."""
    differs = _differ_from_mean(side.rows, side.norms, side.moments.mean)
    return np.flatnonzero((side.norms > 0) & differs)


def _differ_from_mean(x: Matrix, norms: Vector, mean: Vector) -> Flags:
    """Flag rows w that differ from the mean row: `‖w − w̄‖ > ROUNDING ‖w‖`.

    Because of `‖w − w̄‖ >= |‖w‖ − ‖w̄‖|`, only rows about as long as the mean row can
    equal it, so distances are computed for these rows alone.
    """
    length = float(np.linalg.norm(mean))
    differs = np.ones(len(norms), dtype=bool)
    # Norms themselves are rounded, so rows of nearly this norm are examined.
    candidates = np.flatnonzero(
        np.abs(norms - length) <= FLOAT32_TIE * np.maximum(norms, length)
    )
    for block in row_blocks(len(candidates), x.shape[1]):
        rows = candidates[block]
        distances = row_norms(np.asarray(x[rows], dtype=np.float64) - mean)
        differs[rows] = distances > ROUNDING * norms[rows]
    return differs


def _require_two_directions(side: Side, directed: Indices) -> None:
    """Raise InputError unless at least two labels of a head have a direction."""
    if len(side) == 2 and len(side.zero_rows):
        raise must_be(
            "the rows of a head of two labels",
            "nonzero",
            "a row of zeros",
            "a binary head has the rows 0 and w, which have no cosine",
        )
    if len(directed) < 2:
        raise must_be(
            "the number of labels with a nonzero row",
            "at least 2",
            f"{len(directed)} of {len(side)}",
        )


def _labels_of_pair(
    pair: Sequence[int] | None, directed: Indices, *, n_labels: int
) -> Indices:
    """Check a requested pair, and return its labels; no labels without a pair.

    Raises
    ------
    InputError
        Unless the pair is two row numbers of labels that have a direction.
    """
    if pair is None:
        return np.empty(0, dtype=np.intp)
    if len(pair) != 2 or not all(map(is_integer, pair)):
        raise must_be("pair", "two row numbers", tuple(pair))
    if not np.isin(pair, directed).all():
        needed = f"rows from 0 to {n_labels - 1} that are neither zero nor the mean row"
        raise must_be("pair", needed, tuple(pair))
    return np.asarray(pair, dtype=np.intp)


def with_mean_rows(sample: LabelSample, model: FactorModel) -> LabelSample:
    """Add the labels that equal the mean row, for figures of the rows as stored.

    These labels have a direction as long as the mean row is not subtracted.

    Parameters
    ----------
    sample : LabelSample
        A sample of some labels is returned unchanged, because its figures are about
        pairs of its own labels only.
    model : FactorModel
        The head that the sample was drawn from.
    """
    if sample.is_sample or not len(sample.at_mean):
        return sample
    labels = np.union1d(sample.labels, sample.at_mean)
    head = replace(only_labels(model, labels), left_side=sample.model.left_side)
    return replace(
        sample,
        labels=labels,
        model=_in_float64(head),
        n_zero=sample.n_zero - len(sample.at_mean),
        at_mean=np.empty(0, dtype=np.intp),
    )


def only_labels(model: FactorModel, labels: Indices) -> FactorModel:
    """Restrict a head to some labels, which keep their names.

    Labels without names keep their numbers.

    Examples
    --------
    >>> head = FactorModel.from_softmax(np.eye(3))
    >>> named = head.replace(right_names=["a", "b", "c"])
    >>> only_labels(head, np.array([0, 2])).names("right").tolist()
    [0, 2]
    >>> only_labels(named, np.array([0, 2])).names("right").tolist()
    ['a', 'c']
    """
    if len(labels) == model.n_right:
        return model
    restricted = model.take(right=labels)
    if model.right_names is None and model.right_ids is None:
        return restricted.replace(right_ids=labels)
    return restricted


def _in_float64(head: FactorModel) -> FactorModel:
    """Return a head with its labels and inputs in float64."""
    return head.replace(
        left=np.asarray(head.left, dtype=np.float64),
        right=np.asarray(head.right, dtype=np.float64),
    )


# The pair of labels that an audit makes opposite and parallel


def most_alike(sample: LabelSample) -> tuple[int, int]:
    """Return the places of the two labels with the largest cosine below 1.

    Twins are labels of one direction, so their cosine of 1 says nothing. The pair is
    searched among

    1. labels without twins, with a cosine that is not printed as 1.00,
    2. one label of each group of twins,
    3. all labels.

    If all labels have one direction, the pair is the first label and the first label
    that differs from it.
    """
    rows = sample.model.right
    groups = twins(sample.model)
    pair = _nearest_pair(rows, np.flatnonzero(groups.alone), below=ROUNDED_TO_ONE)
    if pair is None:
        pair = _nearest_pair(rows, np.unique(groups.first), below=1.0)
    if pair is None:
        pair = _nearest_pair(rows, np.arange(len(rows)), below=1 - TIE)
    if pair is None:
        differs = (rows != rows[0]).any(axis=1)
        pair = (0, int(np.argmax(differs)))
    return pair


def _nearest_pair(
    x: Matrix, candidates: Indices, *, below: float
) -> tuple[int, int] | None:
    """Return the two candidate rows of x with the largest cosine below a value.

    The first of equal pairs is taken. Return None if there is no such pair.
    """
    if len(candidates) < 2:
        return None
    rows = x[candidates]
    length, longest = 2, len(rows) - 1
    while True:
        nearest = neighbours(rows, min(length, longest))
        cosines = np.where(nearest.cosines < below - TIE, nearest.cosines, -np.inf)
        # A list that holds only larger cosines is too short.
        if length >= longest or np.isfinite(cosines.max(axis=1)).all():
            break
        length *= 4
    if not np.isfinite(cosines).any():
        return None
    largest = first_largest(cosines.ravel(), TIE)
    row, entry = np.unravel_index(largest, cosines.shape)
    other = nearest.indices[row, entry]
    first, second = sorted((int(candidates[row]), int(candidates[other])))
    return first, second
