"""The labels an audit of a head looks at one by one, and the inputs on which their probabilities are verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from embaudit.core.checked import (
    MOST_COUNT,
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
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.ties import TIE, first_largest
from embaudit.errors import must_be
from embaudit.heads.coordinates import require_different, require_softmax
from embaudit.linalg.moments import Moments
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import row_norms, sample_rows
from embaudit.model import FactorModel
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.twins import twins

N_PROBES = 256
"""Inputs on which probabilities are verified."""
AT_MEAN = 1e-12
"""A row this near to the mean, beside its length, has no direction once the mean is removed."""
SURELY = 1e6
"""Factor of that share by which the lengths of a row and of the mean differ where they surely lie apart."""
ONE_DIRECTION = 1e-9
"""Rows whose cosine is this near to 1 make no telling pair."""
TELLING = 0.995
"""Cosine below which two digits read as less than 1.00."""
LOGIT_SPREAD = 4.0
"""Standard deviation of the logits of a typical label over probe inputs: some labels likely, none certain."""


@dataclass(frozen=True, eq=False)
class LabelSample:
    """A head cut down to some labels, in float64, with inputs to verify probabilities on.

    Probabilities among some of the labels (given that one of them is meant) are kept by a gauge whenever
    those among all are, and only odds enter both.
    """

    labels: Indices
    """Rows of the head, in order; all of them in a small one."""
    model: FactorModel
    """The head restricted to them, with inputs."""
    n_labels: int
    """Labels of the whole head."""
    summary: Moments
    """Mean row and root of the whole head, a root in float32 where rows are very many and long."""
    median_norm: float
    """Median length of a row of the whole head: the unit of shifts."""
    n_zero: int
    """Labels of the whole head without a direction, before or after the mean row is removed; they are in no panel."""
    n_aside: int = 0
    """Labels with a direction that are set aside; they are in no sample either."""
    at_mean: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Labels that have a direction as stored, but none once the mean row is removed;
    `n_zero` counts them."""

    @property
    def mean(self) -> Vector:
        """(k,) mean row of the whole head."""
        return self.summary.mean

    @property
    def is_sample(self) -> bool:
        """True if the head has more eligible labels than the sample."""
        return len(self.labels) + self.n_zero + self.n_aside < self.n_labels

    def place(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Find where in the panel two of its labels are."""
        if pair[0] == pair[1]:
            raise must_be("pair", "two different labels", f"label {pair[0]} twice")
        first, second = np.searchsorted(self.labels, pair)
        return int(first), int(second)


def probe_inputs(model: FactorModel, n: int = N_PROBES, *, rng: RNG = 0) -> Floats:
    """Draw inputs at the scale of a head, where none are at hand.

    Their entries are normal, with a spread that gives the logits of a label at the typical distance from the mean
    row a standard deviation of 4. Equivalence of two heads is linear in the inputs, so any k of them
    in general position verify it for all.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    n : int
        How many.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    array of shape (n, k)

    Raises
    ------
    InputError
        If the model is no softmax head, or its numbers are too large or too small to be multiplied.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[100.0, 0.0], [-100.0, 0.0]])
    >>> probe_inputs(head, 3, rng=0).shape, bool(np.abs(head.right @ probe_inputs(head).T).max() < 20)
    ((3, 2), True)
    """
    require_softmax(model, "probe inputs")
    require_ordinary_size(model)
    return _probes(
        model.right_side.moments, as_count(n, "n", most=MOST_COUNT), as_generator(rng)
    )


def _probes(summary: Moments, n: int, rng: np.random.Generator) -> Floats:
    distance = float(np.linalg.norm(summary.centred_root)) / np.sqrt(summary.n_rows)
    # Rows that are equal lie apart by the rounding of their mean.
    scale = (
        LOGIT_SPREAD / distance
        if distance > AT_MEAN * float(np.linalg.norm(summary.mean))
        else 1.0
    )
    return scale * rng.standard_normal((n, len(summary.mean)))


def make_panel(
    model: FactorModel,
    n_labels: int,
    rng: np.random.Generator,
    *,
    include: Sequence[int] = (),
) -> LabelSample:
    """Choose up to `n_labels` labels that have a direction, and inputs; sums over all rows are streamed.

    Labels of `include`, two or none, are taken in any case; those set aside are in no panel else.
    """
    require_softmax(model, "a head report")
    require_ordinary_size(model)
    require_different(model.right, "label rows")
    side = model.right_side
    # What a bias has beside the rows is found by all of them.
    norms, summary = (
        side.norms,
        side.outline if model.right_bias is None else side.moments,
    )
    alive = np.flatnonzero((norms > 0) & _are_away(model.right, norms, summary.mean))
    if len(norms) == 2 and not norms.all():
        remedy = "a binary head is rows 0 and w, and has no cosine to audit"
        raise must_be(
            "a head of two labels",
            "one of two rows with a direction",
            "a row of zeros",
            remedy,
        )
    if len(alive) < 2:
        raise must_be(
            "a head",
            "one of at least two labels with a direction",
            f"{len(alive)} of {len(norms)}",
        )
    if len(include) not in (0, 2) or not all(map(is_integer, include)):
        raise must_be("pair", "two row numbers", tuple(include))
    if not np.isin(include, alive).all():
        needed = (
            f"rows from 0 to {len(norms) - 1} that are neither zero nor the mean row"
        )
        raise must_be("pair", needed, tuple(include))
    eligible = np.intersect1d(alive, model.right_side.eligible_rows)
    # Two labels make the first pair: with fewer left, those set aside serve as well.
    eligible = eligible if len(eligible) > 1 else alive
    # Without replacement, and labels keep the order of the head.
    drawn = (
        eligible
        if len(eligible) <= n_labels
        else rng.choice(eligible, n_labels, replace=False)
    )
    labels = np.union1d(drawn, np.asarray(include, dtype=np.intp))
    return LabelSample(
        labels=labels,
        model=_with_inputs(only_labels(model, labels), summary, rng),
        n_labels=model.n_right,
        summary=summary,
        median_norm=side.median_length,
        n_zero=len(norms) - len(alive),
        at_mean=np.setdiff1d(side.directed, alive),
        n_aside=len(np.setdiff1d(alive, np.union1d(eligible, include))),
    )


def with_mean_rows(panel: LabelSample, model: FactorModel) -> LabelSample:
    """Add the labels that equal the mean row, for figures of the rows as stored.

    A sample is returned unchanged, because its figures are about its own pairs only.
    """
    if panel.is_sample or not len(panel.at_mean):
        return panel
    labels = np.union1d(panel.labels, panel.at_mean)
    return replace(
        panel,
        labels=labels,
        model=only_labels(model, labels),
        n_zero=panel.n_zero - len(panel.at_mean),
        at_mean=panel.at_mean[:0],
    )


def only_labels(model: FactorModel, labels: Indices) -> FactorModel:
    """Cut a head down to some labels, called as they are in the whole one.

    Examples
    --------
    >>> head = FactorModel.from_softmax(np.eye(3))
    >>> named = head.replace(right_names=["a", "b", "c"])
    >>> [only_labels(one, np.array([0, 2])).names("right").tolist() for one in (head, named)]
    [[0, 2], ['a', 'c']]
    """
    if len(labels) == model.n_right:
        return model
    panel = model.take(right=labels)
    # Labels without names keep their numbers.
    called = model.right_names is not None or model.right_ids is not None
    return panel if called else panel.replace(right_ids=labels)


def _with_inputs(
    head: FactorModel, summary: Moments, rng: np.random.Generator
) -> FactorModel:
    """Bring a head to float64 and to few inputs: some of its own, or drawn ones."""
    if head.left is not None:
        head = head.take(left=sample_rows(head.n_left, N_PROBES, rng))
    inputs = (
        _probes(summary, N_PROBES, rng)
        if head.left is None
        else np.asarray(head.left, dtype=np.float64)
    )
    return head.replace(left=inputs, right=np.asarray(head.right, dtype=np.float64))


def most_alike(panel: LabelSample) -> tuple[int, int]:
    """Find the pair of the panel with the largest cosine below 0.995, of labels without twins where there are some.

    Where there is none it is a pair of two groups of twins, or else one that is not one direction twice; where all
    rows share a direction it is the first two that differ.
    """
    x, groups = panel.model.right, twins(panel.model)
    everyone = np.arange(len(x))
    # First labels without duplicates below .995, then one of each group, then any below a cosine of 1.
    tried = (
        (np.flatnonzero(groups.alone), TELLING),
        (np.unique(groups.first), 1),
        (everyone, 1 - ONE_DIRECTION),
    )
    for rows, below in tried:
        pair = _nearest_pair(x[rows], below) if len(rows) > 1 else None
        if pair is not None:
            return int(rows[pair[0]]), int(rows[pair[1]])
    return 0, int(np.argmax((x != x[0]).any(axis=1)))


def _nearest_pair(x: Matrix, below: float) -> tuple[int, int] | None:
    """Find the pair with the largest cosine below a value; None where there is none."""
    n, most = 2, len(x) - 1
    while True:
        nearest = neighbours(x, min(n, most))
        cosines = np.where(nearest.cosines < below - TIE, nearest.cosines, -np.inf)
        # A list full of larger cosines does not tell the one sought.
        if n >= most or np.isfinite(cosines.max(axis=1)).all():
            break
        n *= 4
    row, column = divmod(first_largest(cosines.ravel(), TIE), cosines.shape[1])
    other = int(nearest.indices[row, column])
    return (min(row, other), max(row, other)) if np.isfinite(cosines).any() else None


def _are_away(x: Matrix, norms: Vector, mean: Vector) -> Flags:
    """Flag rows that lie apart from the mean; the distance of one that is longer or shorter need not be computed."""
    length = float(np.linalg.norm(mean))
    # ‖w − w̄‖ >= |‖w‖ − ‖w̄‖|: only rows about as long as the mean can lie at it.
    alike = np.flatnonzero(
        np.abs(norms - length) <= SURELY * AT_MEAN * np.maximum(norms, length)
    )
    away = np.ones(len(norms), dtype=bool)

    def fill(block: slice) -> None:
        rows = alike[block]
        away[rows] = (
            row_norms(np.asarray(x[rows], dtype=np.float64) - mean)
            > AT_MEAN * norms[rows]
        )

    list(parallel_map(fill, row_blocks(len(alike), x.shape[1]), in_threads=True))
    return away
