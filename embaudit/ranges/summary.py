"""How wide the ranges of a model are, in a few numbers an audit can print."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.foundation.checked import RNG
from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.kernels.pairs import sample_pairs
from embaudit.ranges.cosine_range import CosineRange, cosine_range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from embaudit.gauges import GaugeGroup
    from embaudit.model import FactorModel, Role

BUDGETS = (1.25, 1.5, 2.0)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RangeSummary:
    """The ranges of sampled pairs under one set of gauges."""

    role: Role
    group: str
    """"linear" or "diagonal"."""
    max_condition: float | None
    """The budget κ, None for none."""
    n_pairs: int
    n_undefined: int
    """Pairs with a zero row, left out of everything below."""
    width_mean: float
    width_quantiles: dict[float, float]
    """Quantiles of the width by their order."""
    vacuous_share: float
    """Share of ranges from -1 to 1."""
    sign_definite_share: float
    """Share of pairs whose cosine keeps its sign under every gauge of the set."""
    attained_share: float
    """Share of ends that a gauge reaches, the others being limits."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for a report."""
        return asdict(self)


def summarise(found: CosineRange, name: str, max_condition: float | None) -> RangeSummary:
    """Reduce ranges to their summary."""
    known = ~np.isnan(found.lower)
    width = found.width[known]
    if not len(width):
        width = np.array([np.nan])

    def share(flags: Any) -> float:
        return float(flags[known].mean()) if known.any() else float("nan")

    return RangeSummary(
        role=found.role,
        group=name,
        max_condition=max_condition,
        n_pairs=len(found),
        n_undefined=found.n_undefined,
        width_mean=float(width.mean()),
        width_quantiles=dict(zip(QUANTILES, np.quantile(width, QUANTILES).tolist(), strict=True)),
        vacuous_share=share(found.is_vacuous),
        sign_definite_share=share(found.is_sign_definite),
        attained_share=share((found.lower_attained + found.upper_attained.astype(float)) / 2),
    )


def range_summary(
    model: FactorModel,
    *,
    role: Role | str = "right",
    budgets: Iterable[float | None] = BUDGETS,
    n_pairs: int = 10_000,
    rng: RNG = 0,
) -> list[RangeSummary]:
    """Summarise the ranges of randomly drawn pairs under linear and under diagonal gauges.

    Parameters
    ----------
    model : FactorModel
        The model.
    role : {"right", "left", "cross"}
        Which pairs.
    budgets : iterable of float or None
        Condition numbers; None asks for the range without a budget.
    n_pairs : int
        How many pairs, the same for all budgets.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    list of RangeSummary
        One for each budget and kind of gauge, linear before diagonal.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors(np.random.default_rng(0).normal(size=(50, 4)))
    >>> for line in range_summary(model, budgets=[1.5], n_pairs=1000, rng=0):
    ...     print(line.group, round(line.width_mean, 2), round(line.sign_definite_share, 2))
    linear 0.59 0.54
    diagonal 0.39 0.68
    """
    role = model.role(role)
    left = model.factors("left" if role == "cross" else role)
    columns = model.n_right if role == "cross" else None
    pairs = sample_pairs(len(left), n_pairs, n_columns=columns, rng=rng)
    summaries = []
    for budget in budgets:
        groups: dict[str, GaugeGroup] = {
            "linear": GeneralLinear(model.rank, max_condition=budget),
            "diagonal": Diagonal(model.rank, max_condition=budget),
        }
        for name, group in groups.items():
            summaries.append(summarise(cosine_range(model, group, role=role, pairs=pairs), name, budget))
    return summaries
