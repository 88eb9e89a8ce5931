"""CertifiedCurveDisplay: which share of the neighbour lists is certain to stay, drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be
from embaudit.report.display import BLUE, RED, TITLE, Display

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from embaudit.attacks import Attack
    from embaudit.auditing import Audit
    from embaudit.model import Role
    from embaudit.ranges import CertifiedNeighbours


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


def _title(found: CertifiedNeighbours, rows: str) -> str:
    """Say which lists these are, and beside which shifts they are certified."""
    shifts = "any shift" if found.max_shift is None else f"shifts up to {found.max_shift:.3g}"
    return f"top {found.n} lists of {len(found.rows):,} {rows}{'' if found.max_shift == 0 else f', beside {shifts}'}"


@dataclass(frozen=True, eq=False)
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
        return cls(grid, found.curve(grid), budgets, survived, _title(found, f"{found.role} rows"))

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Take the lists that an audit certified against all gauges that are free, and the attacks on them.

        Raises
        ------
        InputError
            If no lists of that side were certified.
        """
        from embaudit.auditing.limits import holds_shifts

        limits, model = audit.evidence.limits, audit.evidence.model
        known = {one.role: one for one in limits.certificates if holds_shifts(model, one.role, one.group)}
        if not known or role not in (None, *known):
            raise must_be("role", "one of " + (", ".join(known) or "those with certified lists (none)"), repr(role))
        about = next(iter(known)) if audit.evidence.role not in known else audit.evidence.role
        chosen = known[about if role is None else role]
        attacks = [attack for attack in limits.attacks if attack.role == chosen.role]
        shown = cls.of(chosen.found, attacks=attacks)
        return replace(shown, title=_title(chosen.found, f"{model.title(chosen.role)}s"))

    def frame(self) -> pd.DataFrame:
        """Return one row a point: what it is ("certified" or "left by an attack"), κ and the share of entries."""
        import pandas as pd

        kinds = ["certified"] * len(self.kappas) + ["left by an attack"] * len(self.attack_kappas)
        kappas = np.concatenate([self.kappas, self.attack_kappas])
        return pd.DataFrame({"kind": kinds, "kappa": kappas, "share": np.concatenate([self.certified, self.survived])})

    @property
    def caption(self) -> str:
        """What the picture shows."""
        return f"The share of neighbours that is certain to stay, against the condition number κ: {self.title}."

    def _draw(self, ax: Any) -> None:
        ax.plot(self.kappas, self.certified, color=BLUE, label="proven to stay")
        if len(self.attack_kappas):
            ax.plot(self.attack_kappas, self.survived, "v", color=RED, label="left by the worst gauge found")
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(ylim=(-0.02, 1.02), xlabel="condition number κ of the gauge", ylabel="share of list entries")
        ax.legend(loc="upper right")
