"""CertifiedCurveDisplay: which share of the neighbour lists is certain to stay, drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be
from embaudit.report.display import Display

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from embaudit.attacks import Attack
    from embaudit.ranges import CertifiedNeighbours


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(eq=False)
class CertifiedCurveDisplay(Display):
    """The certified curve of a model, with attacks from the other side.

    Parameters
    ----------
    kappas : array of shape (m,)
        Condition numbers.
    certified : array of shape (m,)
        Share of list entries that no linear gauge of that condition displaces: a lower bound of what stays.
    attack_kappas, survived : array of shape (a,)
        Budgets of attacks and the share of entries each left in place: upper bounds of what stays.
    title : str
        Which lists.

    Attributes
    ----------
    line_
        The curve that `plot` drew.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.ranges import certified_neighbours
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> CertifiedCurveDisplay.of(certified_neighbours(model, n=1), kappas=[1.1, 2.0]).certified.round(3)
    array([0.667, 0.667])
    """

    kappas: NDArray[np.float64]
    certified: NDArray[np.float64]
    attack_kappas: NDArray[np.float64] = field(default_factory=_nothing)
    survived: NDArray[np.float64] = field(default_factory=_nothing)
    title: str = ""

    @classmethod
    def of(cls, found: CertifiedNeighbours, *, kappas: ArrayLike | None = None, attacks: Iterable[Attack] = ()) -> Self:
        """Compute the curve at some condition numbers (1 to 4 by default); attacks on other objectives are ignored."""
        from embaudit.attacks import Attack

        attacks = list(attacks)
        if not all(isinstance(attack, Attack) for attack in attacks):
            raise must_be("attacks", "a list of Attack", repr(attacks), "worst_gauge finds one")
        grid = np.geomspace(1, 4, 121) if kappas is None else np.asarray(kappas, dtype=np.float64)
        points = [
            (attack.group.max_condition, 1 - attack.achieved)  # type: ignore[attr-defined]
            for attack in attacks
            if attack.objective == "neighbours"
        ]
        budgets, survived = np.array(sorted(points)).reshape(-1, 2).T
        title = f"top {found.n} lists of {len(found.rows):,} {found.role} rows"
        return cls(grid, found.curve(grid), budgets, survived, title)

    def _draw(self, ax: Any) -> None:
        (self.line_,) = ax.plot(self.kappas, self.certified, label="certified to stay")
        if len(self.attack_kappas):
            color = self.line_.get_color()
            ax.plot(self.attack_kappas, self.survived, "v", color=color, label="left by the worst gauge found")
        ax.set(
            ylim=(-0.02, 1.02),
            xlabel="condition number κ of the gauge",
            ylabel="share of list entries",
            title=self.title,
        )
        ax.legend(loc="upper right")
