"""MovementDisplay: how far cosines move from a model to each of its equivalents, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be
from embaudit.model import Pairs
from embaudit.report.display import BLUE, INK, RowDisplay, legend_above, name_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.auditing import Audit
    from embaudit.model import Role
    from embaudit.movements import Movement

SHOWN = (0.05, 0.25, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class MovementDisplay(RowDisplay):
    """The middle 90 % and 50 % of |Δcos| over pairs, and its mean, a row for each name; models of one name share it.

    Parameters
    ----------
    quantiles : array of shape (m, 4)
        The quantiles 5 %, 25 %, 75 % and 95 % of |Δcos|.
    means : array of shape (m,)
        Its mean.
    label : str
        What the axis shows.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> MovementDisplay.of(movement(model, Gauge.diagonal([1.0, 4.0]).act(model))).means.round(3)
    array([0.277])
    """

    quantiles: NDArray[np.float64]
    means: NDArray[np.float64]
    label: str

    @classmethod
    def of(cls, moved: Movement) -> Self:
        """Show one movement."""
        return cls._of_rows([""], [moved], moved.role)

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Show the movement to every equivalent model, of the first role measured by default."""
        evidence = audit.evidence
        known = [record.role for record in evidence.movement[0]] if evidence.movement else []
        if not known or role not in (None, *known):
            raise must_be("role", "one of " + ", ".join(known), repr(role))
        index = 0 if role is None else known.index(role)
        title = Pairs(known[index]).titled(evidence.model)
        moved = [records[index] for records in evidence.movement]
        return cls._of_rows([e.name for e in evidence.equivalents], moved, title)

    @classmethod
    def of_families(cls, families: Mapping[str, Sequence[Movement]], title: str) -> Self:
        """Show the models of each family in one row; those without a cosine are left out."""
        moved = [(name, one) for name, many in families.items() for one in many if np.isfinite(one.mean_abs)]
        return cls._of_rows([name for name, _ in moved], [one for _, one in moved], title)

    @classmethod
    def _of_rows(cls, names: Sequence[str], moved: Sequence[Movement], title: str) -> Self:
        quantiles = np.array([[record.quantiles[level] for level in SHOWN] for record in moved])
        means = np.array([record.mean_abs for record in moved])
        about = f"how far cosines of {title} pairs move, a row for each kind of equivalent model"
        return cls(names, about, quantiles, means, f"|Δcos| of {title} pairs")

    def frame(self) -> pd.DataFrame:
        """Return one row an equivalent model: its name, mean |Δcos| and four quantiles."""
        import pandas as pd

        quantiles = {f"q{level:g}": values for level, values in zip(SHOWN, self.quantiles.T, strict=True)}
        return pd.DataFrame({"model": list(self.names), "mean": self.means, **quantiles})

    def _draw(self, ax: Any) -> None:
        rows = list(dict.fromkeys(self.names))
        places = np.array([rows.index(name) for name in self.names])
        low, lower, upper, high = self.quantiles.reshape(-1, len(SHOWN)).T
        # Models that lie over each other add up to about the colour of one.
        shades = [(BLUE, 0.6 / self.names.count(name) ** 0.7) for name in self.names]
        ax.hlines(places, low, high, colors=shades, lw=1.2, label="middle 90 % of pairs")
        ax.hlines(places, lower, upper, colors=shades, lw=6, label="middle 50 %")
        ax.plot(self.means, places, "o", ms=4, color=INK, label="mean")
        name_rows(ax, rows)
        ax.set(xlim=(0, None), xlabel=self.label)
        legend_above(ax)
