"""PositionDisplay: where a model sits between the canonical gauges, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical import EXPONENTS, canonical_form, position
from embaudit.canonical.habits import log_condition

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from embaudit.model import FactorModel

TICKS = {0.0: "0\nleft-whitened", 0.5: "½\nbalanced", 1.0: "1\nright-whitened"}


@dataclass(eq=False)
class PositionDisplay:
    """How large a gauge lies between a model and each exponent of the canonical family.

    Parameters
    ----------
    exponents, conditions : array of shape (m,)
        Exponents from 0 to 1, and the condition number of the gauge from the model to each.
    exponent, condition : float
        The nearest exponent and the condition number that remains there.
    balancedness : array of shape (r,)
        Eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, largest first.
    title : str
        Which model.

    Attributes
    ----------
    ax_, figure_, line_
        What `plot` drew.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))
    >>> PositionDisplay.from_model(model, n_points=3).conditions.round(6)
    array([9., 3., 1.])
    """

    exponents: NDArray[np.float64]
    conditions: NDArray[np.float64]
    exponent: float
    condition: float
    balancedness: NDArray[np.float64]
    title: str = ""

    @classmethod
    def from_model(cls, model: FactorModel, *, n_points: int = 41) -> Self:
        """Compute the curve at evenly spaced exponents.

        Raises
        ------
        InputError
            If a side is missing.
        """
        form = canonical_form(model)
        where = position(model, form=form)
        grid = np.linspace(0, 1, n_points)
        conditions = np.exp([log_condition(form, e) for e in grid])
        users, items = model.roles
        title = f"{model.n_left:,} {users}s × {model.n_right:,} {items}s, rank {model.rank}"
        balance = np.asarray(where.balancedness, dtype=np.float64)
        return cls(grid, conditions, where.exponent, float(np.exp(where.distance)), balance, title)

    def plot(self, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the condition number against the exponent, with a mark at the nearest one.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Label of the curve.
        **kwargs
            Passed to `Axes.plot` for the curve.
        """
        axes = ax if ax is not None else _new_axes()
        (self.line_,) = axes.plot(self.exponents, self.conditions, label=name or "gauge from the model", **kwargs)
        label = f"nearest: {self.exponent:.2f}, κ = {self.condition:.3g}"
        axes.plot([self.exponent], [self.condition], "o", color=self.line_.get_color(), label=label)
        axes.set(yscale="log", xlabel="exponent", ylabel="condition number κ of the gauge", title=self.title)
        axes.set_xticks(list(EXPONENTS.values()), [TICKS[e] for e in EXPONENTS.values()])
        _plain_numbers(axes)
        axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def plot_balancedness(self, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the balancedness spectrum relative to its geometric mean: flat where weight decay pinned the gauge.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Label of the curve.
        **kwargs
            Passed to `Axes.plot`.
        """
        from matplotlib.ticker import MaxNLocator

        axes = ax if ax is not None else _new_axes()
        relative = self.balancedness / np.exp(np.log(self.balancedness).mean())
        ranks = np.arange(1, len(relative) + 1)
        (self.line_,) = axes.plot(ranks, relative, "o-", label=name or "this model", **kwargs)
        axes.axhline(1, color="grey", linestyle=":", label="balanced")
        axes.set(yscale="log", xlabel="direction", ylabel="right over left share (1 = even)", title=self.title)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _plain_numbers(axes)
        axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def _plain_numbers(axes: Axes) -> None:
    """Write 3 instead of 3 × 10⁰, and leave out what would overlap."""
    from matplotlib.ticker import LogFormatter

    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
