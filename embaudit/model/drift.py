"""Drift of the predictions between two models that claim to be equivalent.

A gauge is applied in floating point, so a score moves by rounding. With u the unit
roundoff of float64 and s that of the stored factors, the error of `P' = fl(P M)` is at
most `u k^(3/2) ‖p‖‖M‖`, and likewise for Q', so that

    |Δ score| <= 4 u k^(3/2) κ ‖p‖‖q‖ + 4 s ‖p'‖‖q'‖ + 4 u Σ|bias|.

Drift is compared with this bound instead of a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np

from embaudit.core.checked import RNG, Floats, Indices, as_generator, is_number
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import BALL_MARGIN, EPS
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.linalg.rows import CACHE_BYTES, WIDE, sample_rows
from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel
from embaudit.model.side import SideName
from embaudit.model.sizes import require_model

MAX_SCORES = 1_000_000
"""Most scores compared for one gauge; left rows are drawn if there are more."""
MANY = 100_000
"""Number of right rows above which a sample stands for all."""
COLUMNS = 10_000
"""Number of right rows drawn."""
LONG_ROWS = 256
"""Number of rows of each side that are compared if rows are long.

Mapping more of them would take longer than measuring movement.
"""


@dataclass(frozen=True)
class Drift(Result):
    """The largest change of the predictions at the level the model predicts.

    Examples
    --------
    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_user_item([[1.0, 2.0]], [[0.3, 0.4], [0.4, 0.3]])
    >>> gauge = ea.Gauge.diagonal([1.0, 3.0])
    >>> found = ea.drift(model, gauge.act(model), condition_number=3.0)
    >>> found.ok, found.level.title, found.max_abs <= found.tolerance
    (True, 'scores', True)
    """

    level: Equivalence
    """Level of the compared predictions: scores, probabilities, order or cosines."""
    max_abs: float
    """The largest change."""
    max_rel: float
    """Largest change over the largest prediction compared."""
    tolerance: float
    """Largest change that rounding can explain."""
    n_rows: int
    """Left rows compared."""
    exact: bool
    """True if all scores were compared."""
    n_columns: int | None = None
    """Right rows they were compared with; None for all of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "level": self.level,
                "max_abs": self.max_abs,
                "max_rel": self.max_rel,
                "tolerance": self.tolerance,
                "n_rows": self.n_rows,
                "exact": self.exact,
                "n_columns": self.n_columns,
                "ok": self.ok,
            }
        )

    @property
    def ok(self) -> bool:
        """True if rounding explains the change."""
        return self.max_abs <= self.tolerance

    def explain(self) -> str:
        """Describe how far the predictions moved, and whether rounding explains it."""
        cause = "which rounding explains" if self.ok else "more than rounding explains"
        rows = counted(self.n_rows, "left row")
        if self.exact and self.n_rows > 1:
            rows = f"all {rows}"
        if self.n_columns is not None:
            rows += f" and {counted(self.n_columns, 'right row')}"
        return (
            f"Over {rows} the predictions ({self.level.title}) moved by at most "
            f"{self.max_abs:.1e}, {cause} ({self.tolerance:.1e})."
        )


def rounding_bound(
    before: FactorModel, after: FactorModel, condition_number: float, rows: Indices
) -> float:
    """Bound the change of one score of `rows` that rounding alone can cause.

    Parameters
    ----------
    before, after : FactorModel
        The model before and after the gauge.
    condition_number : float
        κ of the gauge.
    rows : array of int
        Numbers of the compared left rows, or rows of one table.
    """
    # A gauge keeps the precision of each side, and the coarser one bounds the rounding.
    k = float(before.rank)
    scored = before.link.scored_role
    storage: float = max(
        float(np.finfo(x.dtype).eps) for x in (before.factors(scored), before.right)
    )
    # Rows of length 1 have scores of at most 1, so the bound needs no lengths.
    if scored in before.link.unit_sides:
        return float(4 * (EPS * k**1.5 * condition_number + storage))
    if before.link.compares == "hyperbolic":
        # Scores are at most 16/r² with r = 1 − ‖x‖² ≤ 2(1 − ‖x‖), and rounding of a row
        # changes r by a share of 1/r.
        longest = max(float(x.right_side.norms.max()) for x in (before, after))
        room = max(1 - longest**2, BALL_MARGIN)
        return float(64 * (EPS * k**1.5 + storage) / room**3)
    # ‖p‖‖q‖ of the longest rows, before and after. The biases of both models count,
    # because a shift changes them.
    sizes: list[float] = []
    biases = abs(before.offset)
    for model in (before, after):
        longest = 1.0
        if "right" not in model.link.unit_sides:
            longest = float(model.right_side.norms.max())
        sizes.append(float(model.side(scored).norms[rows].max()) * longest)
        if model.left_bias is not None:
            biases += float(np.abs(model.left_bias[rows]).max())
        if model.right_bias is not None:
            biases += float(np.abs(model.right_bias).max())
    # Rounding of k products, and of a map of condition κ before them, relative to the
    # largest product of lengths. Storage rounds once more.
    computing = 4 * EPS * (k**1.5 * condition_number * sizes[0] + biases)
    storing = 4 * storage * sizes[1]
    return float(before.link.sensitivity * (computing + storing))


@dataclass(frozen=True, eq=False)
class DriftSample:
    """The model of the rows whose predictions are compared.

    These are all rows if they have at most a million scores, and a sample otherwise. If
    rows are long, so that mapping each takes long, at most 256 rows of each side are
    compared. Of more than 100,000 right rows, 10,000 are compared.
    """

    model: FactorModel
    """Model of the sampled rows."""
    rows: dict[SideName, Indices]
    """Row numbers of each sampled side; all rows of other sides are compared."""

    @classmethod
    def draw(cls, model: FactorModel, rng: np.random.Generator) -> DriftSample:
        """Draw left rows, and right rows if there are very many.

        Examples
        --------
        >>> draw = np.random.default_rng(0)
        >>> users, items = draw.normal(size=(30, 2)), draw.normal(size=(100_001, 2))
        >>> sample = DriftSample.draw(FactorModel.from_user_item(users, items), draw)
        >>> sample.model.n_left, sample.model.n_right, sample.exact
        (30, 10000, False)
        """
        rows: dict[SideName, Indices] = {}
        for side, count in cls._counts(model).items():
            n_rows = len(model.side(side))
            if count < n_rows:
                rows[side] = sample_rows(n_rows, count, rng)
        if not rows:
            return cls(model, rows)
        return cls(model.take(**rows), rows)

    @staticmethod
    def _counts(model: FactorModel) -> dict[SideName, int]:
        """Return how many rows of each side to compare, at most; left rows first."""
        is_wide = model.rank > WIDE
        if model.compared is not None:
            # The same rows stand on both sides of their products.
            return {"right": LONG_ROWS if is_wide else isqrt(MAX_SCORES)}
        if is_wide:
            return {"left": LONG_ROWS, "right": LONG_ROWS}
        n_columns = COLUMNS if model.n_right > MANY else model.n_right
        return {"left": max(1, MAX_SCORES // n_columns), "right": n_columns}

    @classmethod
    def draw_several(
        cls, model: FactorModel, count: int, rng: np.random.Generator
    ) -> list[DriftSample]:
        """Draw `count` samples, or repeat one sample that serves all models.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0]])
        >>> first, second = DriftSample.draw_several(model, 2, np.random.default_rng(0))
        >>> first is second
        True
        """
        if count < 1:
            return []
        first = cls.draw(model, rng)
        if first.serves_all:
            return [first] * count
        return [first, *(cls.draw(model, rng) for _ in range(count - 1))]

    @property
    def exact(self) -> bool:
        """True if these are all rows."""
        return not self.rows

    @property
    def serves_all(self) -> bool:
        """True if one sample is compared with every equivalent model.

        This is so for all rows, and for long rows, which take long to map.
        """
        return self.exact or self.model.rank > WIDE

    @cached_property
    def scores(self) -> Floats:
        """Scores of these rows, at most a million."""
        return self.model.scores()

    def drift(self, after: FactorModel, condition_number: float) -> Drift:
        """Measure the largest change of predictions from these rows to `after`."""
        before, link = self.model, self.model.link
        require_same_rows(before, after)
        if not is_number(condition_number) or condition_number <= 0:
            raise must_be(
                "condition_number", "a number above 0", repr(condition_number)
            )
        # Scores for one model only are not kept, because audits hold a sample for each.
        old = self.scores if self.serves_all else before.scores()
        new = after.scores()
        # A million differences exceed the cache, so a few rows are compared at a time.
        gap = scale = 0.0
        for cells in row_blocks(*old.shape, budget=CACHE_BYTES):
            gap = max(gap, link.gap(old[cells], new[cells]))
            # A row without direction has no cosine to any other.
            scale = max(scale, float(np.nanmax(np.abs(old[cells]), initial=0.0)))
        return Drift(
            level=link.level,
            max_abs=gap,
            max_rel=gap / scale if scale else gap,
            tolerance=rounding_bound(
                before, after, condition_number, np.arange(len(old))
            ),
            n_rows=len(old),
            exact=self.exact,
            n_columns=len(self.rows["right"]) if "right" in self.rows else None,
        )


def require_same_rows(before: FactorModel, after: FactorModel) -> None:
    """Raise InputError unless both models have the same numbers of rows."""
    require_model(before, after)
    sides = [side for side in before.sides if side in after.sides]
    sizes = [[len(model.side(side)) for side in sides] for model in (before, after)]
    if sizes[0] != sizes[1]:
        raise must_be(
            "the model after",
            f"a model of {sizes[0]} rows, like the model before",
            f"{sizes[1]} rows",
            "use compare, which matches rows by ids",
        )


def drift(
    before: FactorModel, after: FactorModel, *, condition_number: float, rng: RNG = 0
) -> Drift:
    """Measure how far predictions move if a gauge turns `before` into `after`.

    Parameters
    ----------
    before, after : FactorModel
        The model and the model after the gauge, both with two sides or of one table.
    condition_number : float
        κ of the gauge, which scales the tolerance.
    rng : numpy Generator or int
        Draws the rows if there are more than a million scores; see `DriftSample`.

    Returns
    -------
    Drift
        The largest change, and the change that rounding can explain.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> model = FactorModel.from_user_item([[1.0, 2.0]], [[0.3, 0.4], [0.4, 0.3]])
    >>> gauge = Gauge.diagonal([1.0, 3.0])
    >>> drift(model, gauge.act(model), condition_number=gauge.condition_number).ok
    True
    >>> drift(model, model.replace(left=[[1.0, 2.1]]), condition_number=3.0).ok
    False
    >>> drift(model, model.take(right=np.array([0])), condition_number=3.0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the model after must be a model of [1, 2] rows, like the
    model before; got [1, 1] rows; use compare, which matches rows by ids.
    """
    require_same_rows(before, after)
    sample = DriftSample.draw(before, as_generator(rng))
    return sample.drift(after.take(**sample.rows), condition_number)
