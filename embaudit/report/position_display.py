"""PositionDisplay: where a model sits between the canonical gauges, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical import EXPONENTS
from embaudit.canonical.habits import log_condition
from embaudit.report.display import BLUE, RED, TITLE, Display

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.canonical import Position

TICKS = {0.0: "0\nleft-whitened", 0.5: "½\nbalanced", 1.0: "1\nright-whitened"}


@dataclass(frozen=True, eq=False)
class PositionDisplay(Display):
    """How large a gauge lies between a model and each exponent of the canonical family.

    Parameters
    ----------
    exponents, conditions : array of shape (m,)
        Exponents from 0 to 1, and the condition number of the gauge from the model to each.
    exponent, condition : float
        The nearest exponent and the condition number that remains there.
    title : str
        Which model.

    Examples
    --------
    >>> from embaudit.canonical import position
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))
    >>> PositionDisplay.of(position(model), n_points=3).conditions.round(6)
    array([9., 3., 1.])
    """

    exponents: NDArray[np.float64]
    conditions: NDArray[np.float64]
    exponent: float
    condition: float
    title: str = ""

    @classmethod
    def of(cls, where: Position, *, n_points: int = 41) -> Self:
        """Compute the curve at evenly spaced exponents."""
        exponents = np.linspace(0, 1, n_points)
        conditions = np.exp([log_condition(where.form, e) for e in exponents])
        users, items = where.roles
        n_left, n_right = where.form.left.n_rows, where.form.right.n_rows
        title = f"{n_left:,} {users}s × {n_right:,} {items}s, {where.rank} dimensions"
        return cls(exponents, conditions, where.exponent, float(np.exp(where.distance)), title)

    def frame(self) -> pd.DataFrame:
        """Return one row an exponent: it, and κ of the gauge that leads there."""
        import pandas as pd

        return pd.DataFrame({"exponent": self.exponents, "condition_number": self.conditions})

    @property
    def caption(self) -> str:
        """What the picture shows."""
        return f"The size of the gauge from the model to each exponent of the canonical family: {self.title}."

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import LogFormatter

        ax.plot(self.exponents, self.conditions, color=BLUE, label="gauge from the model")
        label = f"nearest: {self.exponent:.2f}, κ = {self.condition:.3g}"
        ax.plot([self.exponent], [self.condition], "o", color=RED, label=label)
        ax.set(yscale="log", xlabel="exponent", ylabel="condition number κ of the gauge")
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set_xticks(list(EXPONENTS.values()), [TICKS[e] for e in EXPONENTS.values()])
        # 3 instead of 3 × 10⁰, and nothing that would overlap.
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
        ax.legend(loc="best")
