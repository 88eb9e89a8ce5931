"""Ranges of cosines: the values that they can take while every prediction stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    RNG,
    Flags,
    Floats,
    as_list,
    as_numbers,
    frozen,
    is_integer,
    is_number,
    require_one_of,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import EPS, TIE
from embaudit.core.words import counted, drawn_of, percent
from embaudit.errors import EquivalenceError, InputError, must_be
from embaudit.gauges import (
    Affine,
    Diagonal,
    Gauge,
    GaugeGroup,
    GeneralLinear,
)
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import as_pairs_or_differences, pairs_or_all
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.sizes import require_model
from embaudit.ranges.affine import CrossRangeSolver, SameSideRangeSolver
from embaudit.ranges.diagonal import (
    BoundedDiagonalRangeSolver,
    CrossDiagonalRangeSolver,
    DiagonalRangeSolver,
)
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.range_solver import (
    AffineBudget,
    End,
    RangeSolver,
    paired_rows,
    ranges_of_pairs,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CosineRange(Result):
    """The interval each cosine can move in under a set of gauges.

    Every end is a supremum or infimum over the whole set, not over a sample. It is NaN
    if a row of the pair is zero.

    Parameters
    ----------
    lower, upper : array of shape (m,)
        The ends.
    lower_attained, upper_attained : array of bool of shape (m,)
        Whether a gauge of the set reaches the end; if not, gauges only approach it.
    pairs : array of shape (m, 2) or (m, 4)
        Row numbers; four of them stand for the differences `row_i - row_j` and
        `row_k - row_l`.
    group : GaugeGroup
        The set of gauges.
    role : {"left", "right", "cross"}
        Kind of the pairs.
    model : FactorModel
        The model that has these rows.

    Examples
    --------
    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0]])
    >>> group = ea.gauges.GeneralLinear(2, max_condition=2.0)
    >>> found = ea.cosine_range(model, group, pairs=[[0, 1]])
    >>> found.before.round(3), found.width.round(3), found.is_sign_definite
    (array([0.6]), array([0.882]), array([ True]))
    """

    lower: Floats
    upper: Floats
    lower_attained: Flags
    upper_attained: Flags
    pairs: NDArray[np.integer[Any]]
    group: GaugeGroup
    role: Role
    model: FactorModel

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "n_undefined": self.n_undefined,
                "group": str(self.group),
                "n_pairs": len(self),
                "ranges": self.first_ranges,
            }
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"CosineRange({len(self):,} {self.role} pairs, {self.group})"

    @property
    def before(self) -> Floats:
        """The cosines of the model as it is."""
        table = np.asarray(self.pairs, dtype=np.intp)
        x, y = Pairs(self.role).rows(self.model)
        no_gauge = SameSideRangeSolver(AffineBudget())
        return cosine_of(ranges_of_pairs(no_gauge, x, y, table).lower.tangent)

    @property
    def width(self) -> Floats:
        """Upper less lower end, from 0 to 2."""
        width: Floats = self.upper - self.lower
        return width

    @property
    def is_vacuous(self) -> Flags:
        """Flags of ranges that go from -1 to 1 and so say nothing."""
        return np.asarray(self.width >= 2 - TIE)

    @property
    def is_sign_definite(self) -> Flags:
        """Flags of pairs whose cosine keeps its sign under all gauges of the set."""
        return np.asarray((self.lower >= 0) | (self.upper <= 0))

    @property
    def n_undefined(self) -> int:
        """Number of pairs with a zero row, which have no cosine."""
        return int(np.isnan(self.lower).sum())

    def contains(self, cosines: ArrayLike) -> Flags:
        """Flag cosines that lie in their range up to 1e-9; False for NaN."""
        values = as_numbers(cosines, "cosines")
        return np.asarray((values >= self.lower - TIE) & (values <= self.upper + TIE))

    @property
    def first_ranges(self) -> pd.DataFrame:
        """The rows of `to_frame` that JSON holds, 1,000 at most."""
        return self.to_frame().head(1_000)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: row numbers, cosine, ends and whether attained."""
        import pandas as pd

        names = ("first", "second", "third", "fourth")[: self.pairs.shape[1]]
        numbers = dict(zip(names, self.pairs.T, strict=True))
        ranges = {
            "cosine": self.before,
            "lower": self.lower,
            "upper": self.upper,
            "lower_attained": self.lower_attained,
            "upper_attained": self.upper_attained,
        }
        return pd.DataFrame(numbers | ranges)

    def explain(self) -> str:
        """Describe how wide the ranges are, and how many signs are certain."""
        has_range = ~np.isnan(self.lower)
        if not has_range.any():
            pairs = counted(len(self), f"{self.role} pair")
            return f"No cosines: {pairs} with a zero vector."
        width = self.width[has_range].mean()
        sign_definite = percent(self.is_sign_definite[has_range].mean())
        vacuous = percent(self.is_vacuous[has_range].mean())
        undefined = (
            f" {self.n_undefined:,} more without a cosine." if self.n_undefined else ""
        )
        return (
            f"Under {self.group} the cosines of {has_range.sum():,} {self.role} pairs "
            f"have ranges {width:.2f} wide on average; {sign_definite} keep their sign "
            f"and {vacuous} can be anything.{undefined}"
        )

    def witness(self, pair: int, end: End, tol: float = 1e-7) -> Gauge:
        """Find a gauge of the set that takes one cosine to an end of its range.

        Parameters
        ----------
        pair : int
            Which pair: a position in `pairs`.
        end : {"lower", "upper"}
            Which end.
        tol : float
            How near the gauge comes to an end that is a limit. An end that is attained
            is reached up to rounding.

        Returns
        -------
        Gauge
            A member of `group`; acting on the model it keeps the predictions.

        Raises
        ------
        InputError
            If there is no such pair, it has no cosine, or no float64 gauge is known to
            come that near.

        Examples
        --------
        >>> from embaudit.gauges import GeneralLinear
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
        >>> group = GeneralLinear(2, max_condition=3.0)
        >>> found = cosine_range(model, group, pairs=[[0, 1]])
        >>> round(float(found.lower[0]), 9)
        -0.8
        >>> found.witness(0, "lower").act(model).cosines("right", [[0, 1]]).round(9)
        array([-0.8])
        """
        require_one_of(end, "end", ("lower", "upper"))
        if not (is_number(tol) and tol > 0):
            raise must_be("tol", "a number > 0", repr(tol))
        self._require_pair(pair)
        if end == "lower":
            goal, is_attained = self.lower[pair], self.lower_attained[pair]
        else:
            goal, is_attained = self.upper[pair], self.upper_attained[pair]
        if np.isnan(goal):
            raise InputError(
                f"pair {pair} has no range, because one of its rows is zero."
            )
        solver = range_solver_for(self.group, self.role, self.pairs.shape[1])
        x, y = self._rows_of(pair)
        # An end that is attained is reached up to rounding.
        distance = min(tol, EPS) if is_attained else tol
        gauge = solver.witness(x[0], y[0], end, distance)
        missed = abs(self.cosine_under(gauge, pair) - goal)
        if not missed <= tol:
            raise InputError(
                f"no gauge was found within {tol:g} of the {end} end of pair {pair}; "
                f"the best gauge misses it by {missed:.1e}, so choose a larger tol."
            )
        return gauge

    def _rows_of(self, pair: int) -> tuple[Floats, Floats]:
        """Return both rows of one pair, each as (1, k)."""
        left, right = Pairs(self.role).rows(self.model)
        return paired_rows(left, right, np.asarray(self.pairs[[pair]], dtype=np.intp))

    def _require_pair(self, pair: object) -> None:
        if not is_integer(pair) or not 0 <= pair < len(self):
            raise must_be(
                "pair",
                f"a position in pairs, an integer from 0 to {len(self) - 1}",
                repr(pair),
            )

    def cosine_under(self, gauge: Gauge, pair: int) -> float:
        """Return the cosine of one pair under a gauge, without changing other rows.

        Parameters
        ----------
        gauge : Gauge
            A gauge of as many dimensions as the model.
        pair : int
            Position of the pair in `pairs`.

        Returns
        -------
        float
            The cosine; NaN if a row of the pair is zero.

        Raises
        ------
        InputError
            If there is no such pair, or `gauge` is no gauge of this model.

        Examples
        --------
        >>> from embaudit.gauges import GeneralLinear
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
        >>> group = GeneralLinear(2, max_condition=3.0)
        >>> found = cosine_range(model, group, pairs=[[0, 1]])
        >>> found.cosine_under(Gauge.identity(2), 0)
        0.0
        """
        if not isinstance(gauge, Gauge) or gauge.rank != self.model.rank:
            allowed = f"a Gauge of {self.model.rank} dimensions"
            raise must_be("gauge", allowed, repr(gauge))
        self._require_pair(pair)
        sides = Pairs(self.role).sides
        x, y = self._rows_of(pair)
        if self.pairs.shape[1] == 2:
            first = gauge.apply(x, sides[0])
            second = gauge.apply(y, sides[-1])
        else:
            # A shift cancels in the difference of two rows.
            first = gauge.multiply(x, sides[0])
            second = gauge.multiply(y, sides[-1])
        return float(pair_cosines(first, second, np.array([[0, 0]]))[0])


def range_solver_for(group: GaugeGroup, role: Role, columns: int) -> RangeSolver:
    """Choose the solver for a set of gauges and a kind of pair.

    A table of pairs has 2 columns for pairs of rows and 4 for differences of rows.
    """
    # A shift moves no row of the other side, and no difference of two rows.
    shift: float | None = 0.0
    if role == "cross" or (role == group.side and columns == 2):
        shift = group.max_shift
    # Maps that only rotate the rows and scale them as a whole move no cosine, so sets
    # of such maps have the same ranges.
    budget = 1.0 if group.is_conformal else group.max_condition
    if budget == 1 or group.constraints == GeneralLinear.constraints:
        if role == "cross":
            return CrossRangeSolver(AffineBudget(group.side, budget, shift))
        return SameSideRangeSolver(AffineBudget(role, budget, shift))
    if group.constraints == Diagonal.constraints and shift == 0:
        if role == "cross":
            return CrossDiagonalRangeSolver(budget)
        if budget is None:
            return DiagonalRangeSolver(role)
        return BoundedDiagonalRangeSolver(role, budget)
    # For a set with other constraints, the solvers above would call ends attained that
    # no gauge of the set attains.
    raise must_be(
        "group",
        "a set of gauges whose range can be computed: Affine, Diagonal, "
        "GeneralLinear, Orthogonal or Translation",
        repr(group),
        "the range of a larger set is a bound",
    )


def require_gauges_of(model: FactorModel, group: GaugeGroup) -> None:
    """Raise an error if a set has another rank or changes predictions."""
    if not isinstance(group, GaugeGroup):
        raise must_be(
            "group",
            "a GaugeGroup",
            repr(group),
            "for example GeneralLinear(model.rank, max_condition=2)",
        )
    if group.rank != model.rank:
        raise InputError(
            f"the group must have the rank of the model; got {group.rank} for a model "
            f"of rank {model.rank}."
        )
    level = group.preserves_in(model)
    if level < model.predicts:
        raise EquivalenceError(
            f"the gauges of {group} must preserve the {model.predicts.title} that this "
            f"model predicts; got gauges that preserve {level.title}, so the new "
            "cosines would belong to a model with other predictions."
        )


def cosine_range(
    model: FactorModel,
    group: GaugeGroup,
    *,
    role: Role | str = "right",
    pairs: ArrayLike | None = None,
) -> CosineRange:
    """Compute how far each cosine can move while every prediction stays the same.

    Parameters
    ----------
    model : FactorModel
        The model.
    group : GaugeGroup
        The gauges that are allowed, usually within a budget. Without a budget, general
        linear gauges give any two rows that are not parallel any cosine between -1
        and 1.
    role : {"right", "left", "cross"}
        Right-right, left-left or left-right pairs, by this name or by the usual name
        of the side, for example "item".
    pairs : array of shape (m, 2) or (m, 4), or one pair, optional
        Row numbers; all pairs by default, up to 5 million. Four numbers i, j, k, l
        stand for the cosine of the differences `row_i - row_j` and `row_k - row_l` of
        one side, which no translation changes.

    Returns
    -------
    CosineRange
        The ends are exact, with one exception: for cross pairs under a bounded
        `Diagonal` the end towards 0 is a bound unless it is marked as attained, because
        finding the exact end is NP-hard. Rows whose half-angle tangent is at most 64
        eps count as parallel.

    Raises
    ------
    InputError
        If a pair is not in the model, the group is not a GaugeGroup of its rank, or
        its range is not known.
    EquivalenceError
        If the gauges would change what the model predicts.

    References
    ----------
    Householder, "The Theory of Matrices in Numerical Analysis", 1964, section 3.4
    (generalised Wielandt inequality).

    Examples
    --------
    >>> from embaudit.gauges import Diagonal, GeneralLinear
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0]])
    >>> found = cosine_range(model, GeneralLinear(2, max_condition=2.0), pairs=[[0, 1]])
    >>> found.lower, found.upper
    (array([0.]), array([0.88235294]))
    >>> found = cosine_range(model, Diagonal(2), pairs=[[0, 1]])
    >>> found.lower, found.upper, found.lower_attained
    (array([0.]), array([1.]), array([False]))
    """
    require_model(model)
    role = model.role(role)
    require_gauges_of(model, group)
    x, y = Pairs(role).rows(model)
    table = as_pairs_or_differences(
        pairs_or_all(pairs, *Pairs(role).shape(model)), len(x), len(y)
    )
    if role == "cross" and table.shape[1] == 4:
        raise must_be(
            "pairs", "of shape (m, 2) for cross pairs", f"shape {table.shape}"
        )
    ends = ranges_of_pairs(range_solver_for(group, role, table.shape[1]), x, y, table)
    return CosineRange(
        frozen(cosine_of(ends.lower.tangent)),
        frozen(cosine_of(ends.upper.tangent)),
        frozen(ends.lower.is_attained),
        frozen(ends.upper.is_attained),
        frozen(table),
        group,
        role,
        model,
    )


BUDGETS = (1.25, 1.5, 2.0)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RangeSummary(Result):
    """The ranges of all pairs, or of a sample of pairs, under one set of gauges.

    Pairs are drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> rows = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = ea.FactorModel.from_vectors(rows)
    >>> linear, diagonal = ea.range_summary(model, budgets=[1.5], n_pairs=1000)
    >>> linear.n_pairs, round(linear.width_mean, 2), round(diagonal.width_mean, 2)
    (1000, 0.58, 0.38)
    """

    role: Role
    """Kind of the pairs: item-item (right), user-user (left) or user-item (cross)."""
    group: str
    """"linear", "diagonal" or "affine"."""
    max_condition: float | None
    """The budget κ; None means that there is no bound."""
    max_shift: float | None
    """The longest shift, 0 for a set without shifts, None for any length."""
    n_pairs: int
    """Pairs behind the figures."""
    n_all_pairs: int
    """Pairs that have a cosine."""
    n_undefined: int
    """Pairs with a zero row, which count in no other figure."""
    width_mean: float
    """Mean width of a range."""
    width_quantiles: dict[float, float]
    """Quantiles of the width by their order."""
    vacuous_share: float
    """Share of ranges from -1 to 1."""
    sign_definite_share: float
    """Share of pairs whose cosine keeps its sign under every gauge of the set."""
    attained_share: float
    """Share of ends that a gauge reaches, the others being limits."""
    ranges: CosineRange = field(repr=False, compare=False)
    """The ranges themselves."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "group": self.group,
                "max_condition": self.max_condition,
                "max_shift": self.max_shift,
                "n_pairs": self.n_pairs,
                "n_all_pairs": self.n_all_pairs,
                "n_undefined": self.n_undefined,
                "width_mean": self.width_mean,
                "width_quantiles": self.width_quantiles,
                "vacuous_share": self.vacuous_share,
                "sign_definite_share": self.sign_definite_share,
                "attained_share": self.attained_share,
            }
        )

    def explain(self) -> str:
        """Describe how wide the ranges are, and how many signs are certain."""
        if not self.n_pairs:
            pairs = counted(self.n_undefined, f"{self.role} pair")
            return f"No cosines: {pairs} with a zero vector."
        if self.max_condition is None:
            budget = "any condition"
        else:
            budget = f"κ ≤ {self.max_condition:g}"
        if self.max_shift is None:
            budget = f"{budget} and any shift"
        elif self.max_shift != 0:
            budget = f"{budget} and shifts up to {self.max_shift:.3g}"
        undefined = (
            f"{self.n_undefined:,} more without a cosine. " if self.n_undefined else ""
        )
        pairs = drawn_of(self.n_pairs, self.n_all_pairs, f"{self.role} pair")
        return (
            f"Under {self.group} gauges of {budget} the cosines of {pairs} have "
            f"ranges {self.width_mean:.2f} wide on average. {undefined}"
            f"{percent(self.sign_definite_share)} keep their sign and "
            f"{percent(self.vacuous_share)} can be anything."
        )


def summarise(ranges: CosineRange, name: str) -> RangeSummary:
    """Reduce ranges to their summary.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[0.0, 0.0], [1.0, 0.0]])
    >>> found = cosine_range(model, Diagonal(2), pairs=[[0, 1]])
    >>> summary = summarise(found, "diagonal")
    >>> print(summary.explain(), summary.width_mean, summary.vacuous_share)
    No cosines: 1 right pair with a zero vector. nan nan
    """
    has_range = ~np.isnan(ranges.lower)
    width = ranges.width[has_range]
    if not len(width):
        width = np.array([np.nan])

    def share(flags: Any) -> float:
        return float(flags[has_range].mean()) if has_range.any() else float("nan")

    return RangeSummary(
        role=ranges.role,
        group=name,
        max_condition=ranges.group.max_condition,
        max_shift=ranges.group.max_shift,
        n_pairs=int(has_range.sum()),
        n_all_pairs=Pairs(ranges.role).n_pairs(ranges.model),
        n_undefined=ranges.n_undefined,
        width_mean=float(width.mean()),
        width_quantiles=dict(
            zip(QUANTILES, np.quantile(width, QUANTILES).tolist(), strict=True)
        ),
        vacuous_share=share(ranges.is_vacuous),
        sign_definite_share=share(ranges.is_sign_definite),
        attained_share=share(
            (ranges.lower_attained + ranges.upper_attained.astype(float)) / 2
        ),
        ranges=ranges,
    )


def range_summary(
    model: FactorModel,
    *,
    role: Role | str = "right",
    budgets: Iterable[float | None] = BUDGETS,
    shifts: Iterable[float | None] = (),
    side: SideName = "right",
    n_pairs: int = 10_000,
    rng: RNG = 0,
) -> list[RangeSummary]:
    """Summarise the ranges of random pairs under linear, diagonal and affine gauges.

    Parameters
    ----------
    model : FactorModel
        The model.
    role : {"right", "left", "cross"}
        Which pairs.
    budgets : iterable of float or None
        Condition numbers; None stands for the range without a budget.
    shifts : iterable of float or None
        Longest shifts before the linear gauges of each budget, in the units of the
        rows; None for any length.
    side : {"right", "left"}
        The side that is shifted.
    n_pairs : int
        Number of pairs, drawn without replacement and the same for all budgets; all
        pairs if there are no more.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    list of RangeSummary
        For each budget linear, diagonal, and one affine line for each shift.

    Examples
    --------
    >>> model = FactorModel.from_vectors(np.random.default_rng(0).normal(size=(50, 4)))
    >>> for line in range_summary(model, budgets=[1.5], n_pairs=1000, rng=0):
    ...     print(line.group, round(line.width_mean, 2))
    linear 0.58
    diagonal 0.38
    """
    require_model(model)
    require_one_of(side, "side", ("left", "right"))
    role = model.role(role)
    pairs = Pairs(role).sample(model, n_pairs, rng=rng)
    lengths = as_list(shifts, "shifts", "[0.5]")
    summaries = []
    for budget in as_list(budgets, "budgets", "[1.5, 2.0]"):
        groups: list[tuple[str, GaugeGroup]] = [
            ("linear", GeneralLinear(model.rank, max_condition=budget)),
            ("diagonal", Diagonal(model.rank, max_condition=budget)),
        ]
        for length in lengths:
            affine = Affine(
                model.rank, side=side, max_condition=budget, max_shift=length
            )
            groups.append(("affine", affine))
        for name, group in groups:
            ranges = cosine_range(model, group, role=role, pairs=pairs)
            summaries.append(summarise(ranges, name))
    return summaries
