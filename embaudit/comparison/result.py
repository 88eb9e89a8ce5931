"""Result of a comparison of two models: the numbers, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import PARTS, RoleChange
from embaudit.comparison.thresholds import CarriedThreshold
from embaudit.comparison.verdict import Verdict, judge
from embaudit.core.checked import as_count, is_number, require_one_of
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import down
from embaudit.errors import must_be
from embaudit.model import SideName
from embaudit.movements.neighbourhoods import Neighbourhood

if TYPE_CHECKING:
    import pandas as pd

MIN_ALLOWANCE, MAX_ALLOWANCE = 0.01, 0.05
"""How far a share may be below that of a second seed, at least and at most."""


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
    """The smallest gauge group that carries one model's factors into the other's as
    well as any."""
    condition_number: float
    """κ of that gauge: how much it can move cosines."""
    fits: bool
    """True if it leaves nothing of the factors, as far as predictions see them, that
    float32 could show."""
    n_states: int = 0
    """Random states that stood before the final norms of two heads; 0 where the models
    have inputs or users."""
    too_few_for: int = 0
    """Dimensions for which the rows are too few to find what a gauge explains (null in
    JSON); 0 where they suffice."""
    same_up_to: str | None = None
    """Group of a gauge that is proven to carry all rows of one model to the other.

    It is "identity" if only rounding differs, and None if no gauge is proven."""
    own_limits: Mapping[str, float] = field(default_factory=dict)
    """Least values of `shares_kept` that the caller gave."""
    reference: Mapping[str, float] | None = None
    """`shares_kept` of the reference run, compared with the first model."""
    allow_swapped: bool = False
    """True if rows may have the vector of another row."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "verdict": self.verdict.word or None,
                "reason": self.verdict.reason,
                "same_up_to": self.same_up_to,
                "limits": dict(self.limits),
                "reference": None if self.reference is None else dict(self.reference),
                "group": self.group,
                "condition_number": self.condition_number,
                "fits": self.fits,
                "explained": self.explained,
                "n_states": self.n_states,
                "too_few_for": self.too_few_for,
                "agreement": self.agreement,
                "changes": self.changes_by_side,
                "moved_most": self.most_moved,
                "thresholds": self.thresholds,
                "neighbours": self.neighbours,
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        changes = []
        for role, change in self.changes.items():
            text = f"{self.title(role)} cosines moved {change.mean_total:.3f}"
            if not self.too_few_for:
                text += f" ({change.mean_remainder:.3f} beyond the gauge)"
            changes.append(text)
        gauge = f"{self.group} gauge of condition {self.condition_number:.4g}"
        if self.too_few_for:
            gauge = "gauge not known"
        return f"Comparison({gauge}; {', '.join(changes)})"

    @property
    def limits(self) -> dict[str, float]:
        """Least values of `shares_kept`: those of the reference, then those of the caller.

        The reference is another run of the first model with another seed. What it keeps
        is a matter of chance, so a share may lose twice as much and 0.01 in addition,
        but at most 0.05 more. The number of rows is no matter of a seed.
        """
        limits = {}
        shares = self.shares_kept()
        for name, share in (self.reference or {}).items():
            if name in shares and name != "shared":
                allowance = min(MAX_ALLOWANCE, MIN_ALLOWANCE + (1 - share))
                limits[name] = down(share - allowance, 3)
        return limits | dict(self.own_limits)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the second model can replace the first one, in a word with its reason."""
        return judge(self)

    @property
    def explained(self) -> bool:
        """True if the predictions are the same and the gauge carries one model into the other."""
        return self.fits and self.agreement is not None and self.agreement.same

    def title(self, role: SideName) -> str:
        """Return what people call a side."""
        require_one_of(role, "role", ("left", "right"))
        return self.roles[role == "right"]

    def moved_most(self, role: SideName = "right", n: int = 10) -> pd.DataFrame:
        """Return the entities whose cosines changed most: name, total, and its parts; none that stayed."""
        require_one_of(role, "role", self.changes)
        frame = self.changes[role].to_frame()
        if self.too_few_for:
            frame[["gauge", "remainder"]] = float("nan")
        return frame[frame["total"] > FLOAT32_TIE].head(as_count(n, "n", least=0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each side compared; the mean change and shares of lists kept with their 95 % intervals."""
        import pandas as pd

        return pd.DataFrame(self.changes_by_side)

    @property
    def changes_by_side(self) -> list[dict[str, Any]]:
        """One record a side.

        Columns
        -------
        role : {"left", "right"}
            Side whose cosines are compared.
        shared : int
            Entities that both models have.
        only_before : int
            Entities that only the first has.
        only_after : int
            Entities that only the second has.
        mean_abs_change : float
            Mean absolute change of a cosine.
        mean_abs_gauge : float
            Part of the change that the gauge takes away.
        mean_abs_unseen : float
            Part of the change that comes from dimensions that no prediction sees.
        mean_abs_remainder : float
            Part of the change that is left between the gauged model and the other one.
        pearson : float
            Correlation of the cosines before and after.
        pearson_without_gauge : float
            Correlation of the cosines once the gauge is taken out.
        n_neighbours : int
            Length of the neighbour lists.
        kept : float
            Share of neighbours that are the same before and after.
        lost_to_gauge : float
            Share that is no longer lost once the gauge is applied.
        lost_to_unseen : float
            Share that is lost to dimensions that no prediction sees.
        lost_to_learning : float
            Share that is lost even once the gauge is applied.
        predicted_kept : float
            Share of neighbours by prediction cosine that are still near by it; None
            where a side is missing.
        n_displaced : int
            Entities whose vector in the second model is another one's in the first.
        weighted_by : {"interactions", "slots", "equal"}
            How rows count in the three shares that follow: by their interactions, by
            their slots in users' lists of ten, or equally.
        weighted_shared : float
            Share of the first model's entities that the second has, weighted.
        weighted_kept : float
            `kept`, weighted.
        weighted_predicted_kept : float
            `predicted_kept`, weighted; None where a side is missing.
        mean_abs_change_ci_low : float
            Lower end of the 95 % interval of `mean_abs_change`.
        mean_abs_change_ci_high : float
            Upper end of that interval.
        kept_ci_low : float
            Lower end of the 95 % interval of `kept`.
        kept_ci_high : float
            Upper end of that interval.
        predicted_kept_ci_low : float
            Lower end of the 95 % interval of `predicted_kept`.
        predicted_kept_ci_high : float
            Upper end of that interval.
        unexplained_rotation : float, optional
            Share of the held-out rows' spread that the best rotation leaves.
        unexplained_diagonal : float, optional
            Share of the held-out rows' spread that the best diagonal gauge leaves.
        unexplained_linear : float, optional
            Share of the held-out rows' spread that the best linear gauge leaves.
        unexplained_affine : float, optional
            Share of the held-out rows' spread that the best affine gauge leaves.
        """
        return [self._change(role) for role in self.changes]

    @property
    def most_moved(self) -> dict[SideName, pd.DataFrame]:
        """By side, the entities whose cosines changed most.

        Columns
        -------
        name : str
            Name of the entity.
        total : float
            Mean absolute change of its cosines.
        gauge : float
            Part of the change that the gauge takes away.
        unseen : float
            Part of the change that comes from dimensions that no prediction sees.
        remainder : float
            Part of the change that is left between the gauged model and the other one;
            the three add up to the total.
        """
        return {
            role: self.moved_most(role).astype({"name": str}) for role in self.changes
        }

    @property
    def thresholds(self) -> dict[SideName, tuple[CarriedThreshold, ...]]:
        """Thresholds on a cosine that carry over, for each side compared."""
        return {role: change.thresholds for role, change in self.changes.items()}

    @property
    def neighbours(self) -> dict[SideName, tuple[Neighbourhood, ...]]:
        """By side, neighbours of a few rows side by side."""
        return {role: change.examples for role, change in self.changes.items()}

    def _change(self, role: SideName) -> dict[str, Any]:
        """Return the means, shares and intervals of one side as a row."""
        change = self.changes[role]
        ends = {
            "mean_abs_change": change.interval("total"),
            "kept": change.interval("kept"),
        }
        unknown = float("nan"), float("nan")
        ends["predicted_kept"] = (
            unknown
            if change.predicted_kept is None
            else change.interval("predicted_kept")
        )
        row = {
            "role": role,
            "shared": len(change.match),
            "only_before": change.match.only_before,
            "only_after": change.match.only_after,
            "mean_abs_change": change.mean_total,
            **{
                f"mean_abs_{reason}": getattr(change, f"mean_{reason}")
                for reason in PARTS[1:]
            },
            "pearson": change.correlation,
            "pearson_without_gauge": change.gauged_correlation,
            "n_neighbours": change.n_neighbours,
            **change.neighbour_shares,
            "predicted_kept": change.predicted_kept,
            "n_displaced": change.n_displaced,
            "weighted_by": change.weighted_by,
            "weighted_shared": change.weighted_shared,
            "weighted_kept": change.weighted_kept,
            "weighted_predicted_kept": change.weighted_predicted_kept,
            **{
                f"{name}_ci_{end}": x
                for name, pair in ends.items()
                for end, x in zip(("low", "high"), pair, strict=True)
            },
            **{
                f"unexplained_{group}": value
                for group, value in change.unexplained.items()
            },
        }
        # Too few rows tell nothing about a gauge: neither its part nor what it leaves.
        words = ("gauge", "remainder", "learning") if self.too_few_for else ()
        return {
            name: float("nan") if any(word in name for word in words) else x
            for name, x in row.items()
        }

    def shares_kept(self) -> dict[str, float]:
        """Return the numbers that a gate may limit: of each the least over the sides.

        Rows are weighed by their interactions, or by their slots in users' lists if the
        model holds no counts, so that a few popular items count for what people see.

        Returns
        -------
        dict of str to float
            `shared`, the share of the first model's rows that the second has; `kept`,
            the share of former neighbours by cosine that stayed; and if both models
            predict, `top`, the share of each left row's best ten that stayed,
            `predicted`, the share of former neighbours by prediction cosine that
            stayed, `scores`, the correlation of scores within a row, and `rows`, the
            share of rows whose scores are like those before (see `Agreement.unlike`).
        """
        return {name: min(pairs)[0] for name, pairs in self.kept_by_side.items()}

    @property
    def kept_by_side(self) -> dict[str, list[tuple[float, str]]]:
        """Values of each of `shares_kept`, each with the title of its side; empty for the scores of both."""
        sides = [(change, self.title(role)) for role, change in self.changes.items()]
        values = {"shared": [(x.weighted_shared, title) for x, title in sides]}
        values["kept"] = [(x.weighted_kept, title) for x, title in sides]
        values["predicted"] = [
            (x.weighted_predicted_kept, title)
            for x, title in sides
            if x.weighted_predicted_kept is not None
        ]
        if self.agreement is not None:
            unlike = self.agreement.weighted_unlike
            rows = zip(unlike, self.roles[-len(unlike) :], strict=True)
            values["top"] = [(self.agreement.ranking_overlap, self.roles[0])]
            values["scores"] = [(self.agreement.score_correlation, "")]
            values["rows"] = [(1 - share, title) for share, title in rows]
        return {name: pairs for name, pairs in values.items() if pairs}

    @property
    def swapped(self) -> dict[str, int]:
        """Number of entities whose vector another entity had in the first model, for the sides that have any."""
        counts = {
            self.title(role): change.n_displaced
            for role, change in self.changes.items()
        }
        return {title: count for title, count in counts.items() if count}

    def below(self, limits: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Return value and limit of each of `shares_kept` that is below its limit.

        Raises
        ------
        InputError
            For a name that is none of these, or that this comparison has no number for;
            or a limit out of its range.

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
            raise must_be(
                "limits", 'numbers by name, such as {"kept": 0.7}', repr(limits)
            )
        for name, limit in limits.items():
            if name not in values:
                raise must_be(
                    "the name of a limit",
                    "one of " + ", ".join(values),
                    repr(name),
                    _absent(name),
                )
            least, remedy = -1 if name == "scores" else 0, "0.7 asks for seven in ten"
            if not (is_number(limit) and least <= limit <= 1):
                raise must_be(
                    f"the limit of {name}",
                    f"a number from {least} to 1",
                    repr(limit),
                    remedy,
                )
        return {
            name: (values[name], limit)
            for name, limit in limits.items()
            if not values[name] >= limit
        }

    def failures(self) -> list[str]:
        """List the limits that are not reached, by side, and swapped rows.

        Swapped rows count if there are limits, unless `allow_swapped` is True.
        """
        failures = []
        for name in self.below(self.limits):
            limit = self.limits[name]
            for value, title in self.kept_by_side[name]:
                # A value that is NaN does not reach its limit.
                if value >= limit:
                    continue
                side = f" ({title}s)" if title else ""
                text = f"{name} {_below(value, limit)}{side} is below {limit}"
                if self.reference is not None and name not in self.own_limits:
                    text += f" (second seed: {self.reference[name]:.2f})"
                failures.append(text)
        if self.limits and not self.allow_swapped:
            for title, count in self.swapped.items():
                failures.append(
                    f"{count:,} {title}s have the vector of another {title}"
                )
        return failures

    def explain(self) -> str:
        """Describe the verdict, the change and the next step in plain words."""
        return " ".join(self.statements)

    @property
    def statements(self) -> tuple[str, ...]:
        """Paragraphs of `explain`: the verdict first, the next step last."""
        return tuple(text for text in (*self.paragraphs, self.next_step) if text)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Paragraphs on what was compared and what changed; the verdict comes first."""
        from embaudit.comparison.words import paragraphs

        return paragraphs(self)

    @property
    def next_step(self) -> str:
        """What to do next; empty if there is nothing to do."""
        from embaudit.comparison.words import next_step

        return next_step(self)


def _absent(name: str) -> str:
    both = name in ("predicted", "scores", "rows", "top")
    return (
        "without both sides of both models nothing is predicted"
        if both
        else "write for example kept=0.7"
    )


def _below(value: float, limit: float) -> str:
    """Write a number with two decimals, or as many as show that it is below a limit."""
    for digits in range(2, 18):
        text = f"{value:.{digits}f}"
        if float(text) < limit:
            return text
    return str(value)
