"""Labels that an audit of a head examines one by one, and inputs to verify them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.twins import twins

N_PROBES = 256
"""Inputs on which probabilities are verified."""
TELLING = 0.995
"""Cosine that is shown as less than 1.00 with two digits."""
LOGIT_SPREAD = 4.0
"""Standard deviation of a typical label's logits over probe inputs.

Then some labels are likely and none is certain.
"""


@dataclass(frozen=True, eq=False)
class LabelSample:
    """Some labels of a head in float64, with inputs to verify probabilities on.

    A gauge that keeps the probabilities of all labels keeps the probabilities among
    some of them, because only odds enter both.
    """

    labels: Indices
    """Row numbers in order; all labels of a small head."""
    model: FactorModel
    """The head restricted to these labels, with inputs."""
    n_labels: int
    """Labels of the whole head."""
    summary: Moments
    """Mean row and root of the whole head."""
    median_norm: float
    """Median length of a row of the whole head: the unit of shifts."""
    n_zero: int
    """Labels of the whole head that have no direction, stored or centred.

    They are in no sample.
    """
    n_aside: int = 0
    """Labels with a direction that are set aside; they are in no sample."""
    at_mean: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Labels with a direction as stored, but without one once the mean row is removed.

    `n_zero` counts them.
    """

    @property
    def mean(self) -> Vector:
        """(k,) mean row of the whole head."""
        return self.summary.mean

    @property
    def is_sample(self) -> bool:
        """True if the head has more eligible labels than the sample."""
        return len(self.labels) + self.n_zero + self.n_aside < self.n_labels

    def place(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Find the places of two labels in the sample."""
        if pair[0] == pair[1]:
            raise must_be("pair", "two different labels", f"label {pair[0]} twice")
        first, second = np.searchsorted(self.labels, pair)
        return int(first), int(second)


def probe_inputs(model: FactorModel, n: int = N_PROBES, *, rng: RNG = 0) -> Floats:
    """Draw inputs at the scale of a head that has no inputs of its own.

    Their entries are normal. Their spread gives the logits of a label at the typical
    distance from the mean row a standard deviation of 4. Equivalence of two heads is
    linear in the inputs, so any k inputs in general position verify it for all.

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
    return _probes(
        model.right_side.moments, as_count(n, "n", most=MOST_COUNT), as_generator(rng)
    )


def _probes(summary: Moments, n: int, rng: np.random.Generator) -> Floats:
    """Draw normal inputs whose logits have the standard deviation `LOGIT_SPREAD`."""
    distance = float(np.linalg.norm(summary.centred_root)) / np.sqrt(summary.n_rows)
    rounding = ROUNDING * float(np.linalg.norm(summary.mean))
    # The distances of equal rows from their mean are rounding, which has no scale.
    scale = LOGIT_SPREAD / distance if distance > rounding else 1.0
    return scale * rng.standard_normal((n, len(summary.mean)))


def make_panel(
    model: FactorModel,
    n_labels: int,
    rng: np.random.Generator,
    *,
    include: Sequence[int] = (),
) -> LabelSample:
    """Draw up to `n_labels` labels that have a direction, and choose inputs.

    The sample always holds the labels of `include`, two or none. It holds no other
    label that is set aside.
    """
    require_softmax(model, "a head report")
    require_ordinary_size(model)
    require_different(model.right, "label rows")
    side = model.right_side
    norms = side.norms
    summary = side.moments
    alive = np.flatnonzero((norms > 0) & _are_away(model.right, norms, summary.mean))
    if len(norms) == 2 and not norms.all():
        remedy = "a binary head has the rows 0 and w, which have no cosine"
        raise must_be(
            "the rows of a head of two labels",
            "nonzero",
            "a row of zeros",
            remedy,
        )
    if len(alive) < 2:
        raise must_be(
            "the number of labels with a nonzero row",
            "at least 2",
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
    if len(eligible) < 2:
        # A pair needs two labels, so labels that are set aside have to serve.
        eligible = alive
    drawn = eligible
    if len(eligible) > n_labels:
        drawn = rng.choice(eligible, n_labels, replace=False)
    # The union sorts labels in the order of the head.
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


def _with_inputs(
    head: FactorModel, summary: Moments, rng: np.random.Generator
) -> FactorModel:
    """Return a head in float64 with a few inputs, its own or drawn ones."""
    if head.left is None:
        inputs = _probes(summary, N_PROBES, rng)
    else:
        head = head.take(left=sample_rows(head.n_left, N_PROBES, rng))
        inputs = np.asarray(head.left, dtype=np.float64)
    return head.replace(left=inputs, right=np.asarray(head.right, dtype=np.float64))


def most_alike(panel: LabelSample) -> tuple[int, int]:
    """Find the pair of labels with the largest cosine that is not one direction twice.

    The first choice is a pair of labels without twins and with a cosine below 0.995,
    the second a pair of two groups of twins, the third any pair with a cosine below 1.
    If all rows share a direction, the pair is the first row and the first row that
    differs.
    """
    x, groups = panel.model.right, twins(panel.model)
    choices = (
        (np.flatnonzero(groups.alone), TELLING),
        (np.unique(groups.first), 1.0),
        (np.arange(len(x)), 1 - TIE),
    )
    for rows, below in choices:
        if len(rows) < 2:
            continue
        pair = _nearest_pair(x[rows], below)
        if pair is not None:
            return int(rows[pair[0]]), int(rows[pair[1]])
    return 0, int(np.argmax((x != x[0]).any(axis=1)))


def _nearest_pair(x: Matrix, below: float) -> tuple[int, int] | None:
    """Find the pair of rows with the largest cosine below a value; None without one."""
    n, most = 2, len(x) - 1
    while True:
        nearest = neighbours(x, min(n, most))
        cosines = np.where(nearest.cosines < below - TIE, nearest.cosines, -np.inf)
        # A list that holds only larger cosines is too short.
        if n >= most or np.isfinite(cosines.max(axis=1)).all():
            break
        n *= 4
    if not np.isfinite(cosines).any():
        return None
    row, column = divmod(first_largest(cosines.ravel(), TIE), cosines.shape[1])
    other = int(nearest.indices[row, column])
    return min(row, other), max(row, other)


def _are_away(x: Matrix, norms: Vector, mean: Vector) -> Flags:
    """Flag rows w that lie apart from the mean row: `‖w − w̄‖ > ROUNDING ‖w‖`.

    Because of `‖w − w̄‖ >= |‖w‖ − ‖w̄‖|`, only rows about as long as the mean row can
    lie at it, so distances are computed for these rows alone.
    """
    length = float(np.linalg.norm(mean))
    away = np.ones(len(norms), dtype=bool)
    # Norms themselves are rounded, so rows of nearly this norm are examined.
    alike = np.flatnonzero(
        np.abs(norms - length) <= FLOAT32_TIE * np.maximum(norms, length)
    )
    for block in row_blocks(len(alike), x.shape[1]):
        rows = alike[block]
        distances = row_norms(np.asarray(x[rows], dtype=np.float64) - mean)
        away[rows] = distances > ROUNDING * norms[rows]
    return away
