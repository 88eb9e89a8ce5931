"""Summary of the ranges of a model in a few numbers that an audit prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.checked import RNG, as_list
from embaudit.core.results import Result
from embaudit.core.words import drawn_of, percent
from embaudit.gauges import Affine, Diagonal, GaugeGroup, GeneralLinear
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.sizes import require_model
from embaudit.ranges.cosine_range import CosineRange, cosine_range

BUDGETS = (1.25, 1.5, 2.0)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RangeSummary(Result):
    """The ranges of all pairs, or of pairs drawn without replacement, under one set of gauges."""

    role: Role
    group: str
    """"linear", "diagonal" or "affine"."""
    max_condition: float | None
    """The budget κ, None for none."""
    max_shift: float | None
    """The longest shift, 0 where nothing is shifted, None for any length."""
    n_pairs: int
    """Pairs behind the figures."""
    n_all_pairs: int
    """Pairs that have a cosine."""
    n_undefined: int
    """Pairs with a zero row, left out of all figures."""
    width_mean: float
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

    @property
    def found(self) -> CosineRange:
        """Return `ranges`; the earlier name of it."""
        return self.ranges

    def explain(self) -> str:
        """Describe how wide the ranges are, and how many signs are certain."""
        budget = "any condition" if self.max_condition is None else f"κ ≤ {self.max_condition:g}"
        if self.max_shift != 0:
            budget += " and any shift" if self.max_shift is None else f" and shifts up to {self.max_shift:.3g}"
        undefined = f"{self.n_undefined:,} more have no cosine. " if self.n_undefined else ""
        pairs = drawn_of(self.n_pairs, self.n_all_pairs, f"{self.role} pair")
        return (
            f"Under {self.group} gauges of {budget} the cosines of {pairs} have "
            f"ranges {self.width_mean:.2f} wide on average. {undefined}"
            f"{percent(self.sign_definite_share)} keep their sign and {percent(self.vacuous_share)} can be anything."
        )


def summarise(ranges: CosineRange, name: str) -> RangeSummary:
    """Reduce ranges to their summary."""
    has_range = ~np.isnan(ranges.lower)
    width = ranges.width[has_range]
    if not len(width):
        width = np.array([np.nan])

    def share(flags: Any) -> float:
        return float(flags[has_range].mean()) if has_range.any() else float("nan")

    return RangeSummary(
        role=ranges.role,
        group=name,
        max_condition=getattr(ranges.group, "max_condition", None),
        max_shift=getattr(ranges.group, "max_shift", 0.0),
        n_pairs=int(has_range.sum()),
        n_all_pairs=Pairs(ranges.role).n_pairs(ranges.model),
        n_undefined=ranges.n_undefined,
        width_mean=float(width.mean()),
        width_quantiles=dict(zip(QUANTILES, np.quantile(width, QUANTILES).tolist(), strict=True)),
        vacuous_share=share(ranges.is_vacuous),
        sign_definite_share=share(ranges.is_sign_definite),
        attained_share=share((ranges.lower_attained + ranges.upper_attained.astype(float)) / 2),
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
    """Summarise the ranges of randomly drawn pairs under linear, diagonal and affine gauges.

    Parameters
    ----------
    model : FactorModel
        The model.
    role : {"right", "left", "cross"}
        Which pairs.
    budgets : iterable of float or None
        Condition numbers; None asks for the range without a budget.
    shifts : iterable of float or None
        Lengths of shifts that may come before each linear budget, in the units of the rows; None for any length.
    side : {"right", "left"}
        Which side they shift.
    n_pairs : int
        How many pairs are drawn, without replacement, the same for all budgets; all where there are no more.
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
    ...     print(line.group, round(line.width_mean, 2), round(line.sign_definite_share, 2))
    linear 0.58 0.56
    diagonal 0.38 0.71
    """
    require_model(model)
    role = model.role(role)
    pairs = Pairs(role).sample(model, n_pairs, rng=rng)
    lengths = as_list(shifts, "shifts", "[0.5]")
    summaries = []
    for budget in as_list(budgets, "budgets", "[1.5, 2.0]"):
        groups: list[tuple[str, GaugeGroup]] = [
            ("linear", GeneralLinear(model.rank, max_condition=budget)),
            ("diagonal", Diagonal(model.rank, max_condition=budget)),
        ]
        groups += [("affine", Affine(model.rank, side=side, max_condition=budget, max_shift=r)) for r in lengths]
        summaries += [summarise(cosine_range(model, group, role=role, pairs=pairs), name) for name, group in groups]
    return summaries
