"""Two trained models over the same entities: what a gauge explains, and what the second one learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.comparison.agreement import Agreement, agreement
from embaudit.comparison.change import (
    EXPLAINED,
    TIED,
    Fold,
    RoleChange,
    folds,
    held_out_error,
    role_change,
    serving,
    whole,
)
from embaudit.comparison.matching import match
from embaudit.comparison.seen import Pairing, pairing
from embaudit.comparison.words import explain
from embaudit.errors import InputError, must_be
from embaudit.foundation.plain import plain
from embaudit.foundation.progress import track
from embaudit.foundation.results import Result
from embaudit.model.sizes import require_ordinary_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from embaudit.comparison.matching import Match
    from embaudit.gauges.group import RNG
    from embaudit.model import FactorModel, SideName

ROWS = 50_000
"""Shared entities of a side that are looked at; more are sampled."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """What changed between two models, split into what a gauge explains and the rest."""

    roles: tuple[str, str]
    """What people call the two sides."""
    changes: dict[SideName, RoleChange]
    """One for each side compared."""
    agreement: Agreement | None
    """How far the predictions agree; None where a side is missing."""
    group: str
    """The smallest gauge group that carries one model's factors into the other's as well as any."""
    condition_number: float
    """κ of that gauge: how much it can move cosines."""
    fits: bool
    """Whether it leaves nothing of the factors, as far as predictions see them, that float32 could show."""

    def __repr__(self) -> str:
        moved = ", ".join(
            f"{self.title(role)} cosines moved {c.mean_total:.3f} ({c.mean_remainder:.3f} beyond the gauge)"
            for role, c in self.changes.items()
        )
        return f"Comparison({self.group} gauge of condition {self.condition_number:.4g}; {moved})"

    @property
    def explained(self) -> bool:
        """Whether the predictions are known to be the same, and the gauge carries one model into the other."""
        return self.fits and self.agreement is not None and self.agreement.same

    def title(self, role: SideName) -> str:
        """Return what people call a side."""
        return dict(zip(("left", "right"), self.roles, strict=True))[role]

    def moved_most(self, role: SideName = "right", n: int = 10) -> pd.DataFrame:
        """Return the entities whose cosines changed most: name, total, and its parts; none that stayed."""
        if role not in self.changes:
            raise must_be("role", "one of " + ", ".join(self.changes), repr(role))
        frame = self.changes[role].to_frame()
        return frame[frame["total"] > TIED].head(n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each side compared."""
        import pandas as pd

        return pd.DataFrame([self._record(role) for role in self.changes])

    def _record(self, role: SideName) -> dict[str, Any]:
        change = self.changes[role]
        return {
            "role": role,
            "shared": len(change.match),
            "only_before": change.match.only_before,
            "only_after": change.match.only_after,
            "mean_abs_change": change.mean_total,
            "mean_abs_gauge": change.mean_gauge,
            "mean_abs_unseen": change.mean_unseen,
            "mean_abs_remainder": change.mean_remainder,
            "pearson": change.correlation,
            "pearson_without_gauge": change.gauged_correlation,
            "n_neighbours": change.n_neighbours,
            **change.neighbour_shares,
            **{f"unexplained_{group}": value for group, value in change.unexplained.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON can hold them."""
        from dataclasses import asdict

        predictions = None
        if self.agreement is not None:
            predictions = {**asdict(self.agreement), "kl_warning": self.agreement.kl_warning}
        moved = {
            role: [plain(row | {"name": str(row["name"])}) for row in self.moved_most(role).to_dict("records")]
            for role in self.changes
        }
        return {
            "group": self.group,
            "condition_number": self.condition_number,
            "fits": self.fits,
            "explained": self.explained,
            "agreement": predictions,
            "changes": [plain(self._record(role)) for role in self.changes],
            "moved_most": moved,
            "explanation": self.explain(),
        }

    def explain(self) -> str:
        """Say in plain words what changed, and what to do next."""
        return explain(self)


def compare(
    before: FactorModel,
    after: FactorModel,
    *,
    roles: Sequence[SideName] | None = None,
    n_neighbours: int = 10,
    rng: RNG = 0,
) -> Comparison:
    """Compare two trained models: how far a gauge explains why their cosines differ.

    Entities are matched by id. On one half of them the best rotation, diagonal, general linear and affine gauge are
    fitted, on the other half they are judged, and the other way round; only gauges that keep the predictions count. The
    change of a cosine is what the gauge takes away of it, what dimensions do that no prediction sees, and a remainder.

    Parameters
    ----------
    before, after : FactorModel
        Two models over the same entities; their ranks may differ.
    roles : sequence of {"left", "right"}, optional
        Sides to report; all that both models have by default. The gauge is fitted on all of them anyway.
    n_neighbours : int
        Length of the neighbour lists, looked up within each half.
    rng : numpy Generator or int
        Draws the halves, pairs and rows; the same seed gives the same numbers.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If a side is missing, fewer than 8 entities are shared, or every score of a model vanishes.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> found = compare(model, Gauge.diagonal([5.0, 1.0]).act(model))
    >>> found.group, round(found.condition_number, 6), found.explained
    ('diagonal', 5.0, True)
    """
    draw = np.random.default_rng(rng)
    chosen = _roles(before, after, roles)
    if not n_neighbours >= 1:
        raise must_be("n_neighbours", "at least 1", n_neighbours)
    for model in (before, after):
        require_ordinary_size(model)
    # All sides at hand are fitted: one alone would leave the other, and with it the predictions, out of sight.
    sides = _roles(before, after, None)
    matches = {role: _limited(match(before, after, role), draw) for role in sides}
    found = pairing(before, after, matches)
    predictions = agreement(before, after, matches["left"], matches["right"], rng=draw) if len(sides) == 2 else None
    parts, fits = _gauges(found, predictions, draw)
    steps = track(chosen, "comparing cosines", len(chosen))
    changes = {role: role_change(role, matches[role], found, parts, n=n_neighbours, rng=draw) for role in steps}
    largest = max(parts, key=lambda fold: list(fold.fits).index(fold.chosen))
    return Comparison(before.roles, changes, predictions, largest.chosen, largest.gauge.condition_number, fits)


def _gauges(found: Pairing, predictions: Agreement | None, draw: np.random.Generator) -> tuple[list[Fold], bool]:
    """Fit the gauges, on halves or, where the predictions are the same and halves hold too few rows, on all."""
    options = (found.groups, found.shifts)
    parts = folds(found.fitted, draw, *options)
    if _fits(found, parts):
        return parts, True
    if predictions is not None and predictions.same:
        together = whole(found.fitted, *options)
        if _fits(found, together):
            return together, True
    return serving(found, parts, draw), False


def _fits(found: Pairing, parts: list[Fold]) -> bool:
    largest = max(parts, key=lambda fold: list(fold.fits).index(fold.chosen)).chosen
    return bool(np.mean([held_out_error(role, found.fitted, parts)[largest] for role in found.fitted]) <= EXPLAINED)


def _roles(before: FactorModel, after: FactorModel, roles: Sequence[SideName] | None) -> tuple[SideName, ...]:
    both = tuple(side for side in before.sides if side in after.sides)
    if roles is None:
        return both
    for role in roles:
        before.factors(role), after.factors(role)
    if not roles or len(set(roles)) < len(roles):
        raise InputError(f"roles must name each side once; got {list(roles)}.")
    return tuple(roles)


def _limited(found: Match, rng: np.random.Generator) -> Match:
    if len(found) <= ROWS:
        return found
    return found.take(np.sort(rng.choice(len(found), ROWS, replace=False)))
