"""Result of a comparison of two models: the numbers, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.comparison.change import OUTCOMES, PARTS, TIED
from embaudit.core.checked import as_count
from embaudit.core.plain import record
from embaudit.core.results import Result
from embaudit.errors import must_be
from embaudit.model import SideName

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.comparison.agreement import Agreement
    from embaudit.comparison.change import RoleChange
    from embaudit.comparison.rounded import Rounded


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Change between two models, split into the part that a gauge explains and the rest."""

    roles: tuple[str, str]
    """Titles of the two sides, such as "user" and "item"."""
    changes: dict[SideName, RoleChange]
    """One for each side compared."""
    agreement: Agreement | None
    """Agreement of the predictions; None where a side is missing."""
    group: str
    """The smallest gauge group that carries one model's factors into the other's as well as any."""
    condition_number: float
    """κ of that gauge: how much it can move cosines."""
    fits: bool
    """True if it leaves nothing of the factors, as far as predictions see them, that float32 could show."""
    n_states: int = 0
    """Random states that stood before the final norms of two heads; 0 where the models have inputs or users."""
    too_few_for: int = 0
    """Dimensions for which the rows are too few to find what a gauge explains; 0 where they suffice."""
    can_be_any: bool = False
    """True if some gauge turns any rows of one side into any, as they are too few."""
    rounded: Rounded | None = None
    """Differences against the steps of rounding; None where neither model is rounded."""

    def __repr__(self) -> str:
        moved = ", ".join(
            f"{self.title(role)} cosines moved {c.mean_total:.3f}"
            + ("" if self.too_few_for else f" ({c.mean_remainder:.3f} beyond the gauge)")
            for role, c in self.changes.items()
        )
        by = f"{self.group} gauge of condition {self.condition_number:.4g}"
        return f"Comparison({'gauge not known' if self.too_few_for else by}; {moved})"

    @property
    def explained(self) -> bool:
        """True if the predictions are the same and the gauge carries one model into the other."""
        return self.fits and self.agreement is not None and self.agreement.same

    def title(self, role: SideName) -> str:
        """Return what people call a side."""
        if role not in ("left", "right"):
            raise must_be("role", 'one of "left", "right"', repr(role))
        return self.roles[role == "right"]

    def moved_most(self, role: SideName = "right", n: int = 10) -> pd.DataFrame:
        """Return the entities whose cosines changed most: name, total, and its parts; none that stayed."""
        if role not in self.changes:
            raise must_be("role", "one of " + ", ".join(self.changes), repr(role))
        frame = self.changes[role].to_frame()
        if self.too_few_for:
            frame[["gauge", "remainder"]] = float("nan")
        return frame[frame["total"] > TIED].head(as_count(n, "n", least=0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each side compared; mean changes and shares of neighbours with their 95 % intervals."""
        import pandas as pd

        return pd.DataFrame([self._record(role) for role in self.changes])

    def _record(self, role: SideName) -> dict[str, Any]:
        """Return the means, shares and intervals of one side as a row."""
        change = self.changes[role]
        names = dict(zip(PARTS, ("change", "gauge", "unseen", "remainder"), strict=True))
        ends = {f"mean_abs_{title}": change.interval(name) for name, title in names.items()}
        ends |= {name: change.interval(name) for name in OUTCOMES}
        unknown = float("nan"), float("nan")
        ends["predicted_kept"] = unknown if change.predicted_kept is None else change.interval("predicted_kept")
        row = {
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
            "predicted_kept": change.predicted_kept,
            "n_displaced": change.n_displaced,
            **{
                f"{name}_ci_{end}": x
                for name, pair in ends.items()
                for end, x in zip(("low", "high"), pair, strict=True)
            },
            **{f"unexplained_{group}": value for group, value in change.unexplained.items()},
        }
        # Too few rows tell nothing about a gauge: neither its part nor what it leaves.
        words = ("gauge", "remainder", "learning") if self.too_few_for else ()
        return {name: float("nan") if any(word in name for word in words) else x for name, x in row.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON can hold them."""
        agreement, changes = self.agreement, self.changes.items()
        return record(
            self,
            *("group", "condition_number", "fits", "explained", "n_states", "too_few_for", "rounded"),
            agreement=agreement and record(agreement, kl_warning=agreement.kl_warning),
            changes=[self._record(role) for role in self.changes],
            moved_most={role: self.moved_most(role).astype({"name": str}) for role in self.changes},
            thresholds={role: change.thresholds for role, change in changes},
            neighbours={role: change.examples for role, change in changes},
            explanation=self.explain(),
        )

    def shares_kept(self) -> dict[str, float]:
        """Return what a gate may ask of: of neighbour lists the least over the sides, and the scores' correlation.

        Returns
        -------
        dict of str to float
            `kept`, the share of former neighbours by cosine that stayed; and where both models predict, `predicted`,
            that of neighbours by prediction cosine, `scores`, the correlation of scores within a row, and `rows`, the
            share of rows whose scores are like those before (see `Agreement.unlike`).
        """
        values = {"kept": min(change.neighbour_shares["kept"] for change in self.changes.values())}
        predicted = [x.predicted_kept for x in self.changes.values() if x.predicted_kept is not None]
        values |= {"predicted": min(predicted)} if predicted else {}
        if self.agreement is None:
            return values
        return values | {"scores": self.agreement.score_correlation, "rows": 1 - max(self.agreement.unlike)}

    def below(self, limits: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Return value and limit of each of `shares_kept` that is below its limit.

        Raises
        ------
        InputError
            For a name that is none of these, or that this comparison has no number for; or a limit above 1.

        Examples
        --------
        >>> import embaudit as ea, numpy as np
        >>> x = np.random.default_rng(0).standard_normal((2, 90, 3))
        >>> changed = ea.compare(ea.FactorModel.from_vectors(x[0]), ea.FactorModel.from_vectors(x[1]))
        >>> list(changed.below({"kept": 0.7})), changed.below({"kept": 0.0})
        (['kept'], {})
        """
        values = self.shares_kept()
        if not isinstance(limits, Mapping):
            raise must_be("limits", 'numbers by name, such as {"kept": 0.7}', repr(limits))
        for name, limit in limits.items():
            if name not in values:
                raise must_be("the name of a limit", "one of " + ", ".join(values), repr(name), _absent(name))
            if not -1 <= limit <= 1:
                raise must_be(f"the limit of {name}", "at most 1", limit, "0.7 asks for seven in ten")
        return {name: (values[name], limit) for name, limit in limits.items() if not values[name] >= limit}

    def explain(self) -> str:
        """Describe in plain words the change, and the next step."""
        return " ".join(self.statements)

    @property
    def statements(self) -> tuple[str, ...]:
        """Sentences of `explain`; the last one names the next step, if there is one."""
        from embaudit.comparison.words import statements

        return statements(self)


def _absent(name: str) -> str:
    both = name in ("predicted", "scores", "rows")
    return "without both sides of both models nothing is predicted" if both else "write for example kept=0.7"
