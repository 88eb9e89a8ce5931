"""Result of a comparison of two models: the numbers, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import RoleChange
from embaudit.comparison.sameness import Sameness
from embaudit.comparison.thresholds import CarriedThreshold
from embaudit.comparison.verdict import Verdict, judge, meaning
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
"""Smallest and largest allowance below the share of a second seed."""
LEAST_VALUE = {"scores": -1.0}
"""Least value of the shares that can be negative, because they are correlations."""


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Change between two models, and the part of it that a gauge explains.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 2)), draw.normal(size=(30, 2))
    >>> model = ea.FactorModel.from_user_item(users, items)
    >>> found = ea.compare(model, ea.Gauge.diagonal([5.0, 1.0]).act(model))
    >>> found.same_up_to, found.explained
    ('diagonal', True)
    >>> found.to_frame()[["role", "shared", "predicted_kept"]]
        role  shared  predicted_kept
    0   left      40             1.0
    1  right      30             1.0
    """

    roles: tuple[str, str]
    """Titles of the two sides, such as "user" and "item"."""
    changes: dict[SideName, RoleChange]
    """One for each side compared."""
    agreement: Agreement | None
    """Agreement of the predictions; None if a side is missing."""
    group: str
    """The smallest gauge group that carries one model's factors to the other's as well
    as any other group."""
    condition_number: float
    """κ of that gauge, which limits how far it can move cosines."""
    fits: bool
    """True if the gauge leaves no difference of the seen factors that float32 could
    show."""
    n_states: int = 0
    """Number of random states before the final norms of two heads; 0 if the models have
    inputs or users."""
    too_few_for: int = 0
    """Number of dimensions for which the rows are too few to find the part of a gauge,
    which is null in JSON then; 0 if there are enough rows."""
    sameness: Sameness | None = None
    """Gauge that is proven to carry all rows of one model to the other; None if no
    gauge is proven."""
    mixable: tuple[str, ...] = ()
    """Directions of lists, such as "user → item", in which old and new vectors may be
    mixed once the second model is aligned with the first one.

    `embaudit compare` measures them with `embaudit.serving.with_mixable_lists`. Empty
    if they were not measured, or if the models need no alignment."""
    own_limits: Mapping[str, float] = field(default_factory=dict)
    """Smallest accepted values of `shares_kept` that the caller gave."""
    reference: Mapping[str, float] | None = None
    """`shares_kept` of the reference run, compared with the first model."""
    allow_swapped: bool = False
    """True if rows may have the vector of another row."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
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
                "mixable": list(self.mixable),
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
    def same_up_to(self) -> str | None:
        """Group of the gauge that is proven to carry one model to the other.

        It is "identity" if only rounding differs, and None if no gauge is proven.
        """
        if self.sameness is None:
            return None
        return self.sameness.group

    @property
    def limits(self) -> dict[str, float]:
        """Smallest accepted values of `shares_kept`.

        The limits of the caller replace those of the reference, which is another run of
        the first model with another seed. The share that such a run keeps depends on
        chance, so a share may lose twice as much and 0.01 in addition, but at most 0.05
        more. A seed does not change the number of rows, so "shared" gets no limit.
        """
        limits = {}
        shares = self.shares_kept()
        for name, share in (self.reference or {}).items():
            if name in shares and name != "shared":
                allowance = min(MAX_ALLOWANCE, MIN_ALLOWANCE + (1 - share))
                limit = down(share - allowance, 3)
                limits[name] = max(LEAST_VALUE.get(name, 0.0), limit)
        return limits | dict(self.own_limits)

    @cached_property
    def verdict(self) -> Verdict:
        """Answer whether the second model can replace the first, with a reason."""
        return judge(self)

    @property
    def explained(self) -> bool:
        """True if the predictions are the same and a gauge explains all changes."""
        return self.fits and self.agreement is not None and self.agreement.same

    def title(self, role: SideName) -> str:
        """Return the title of a side, such as "item"."""
        require_one_of(role, "role", ("left", "right"))
        return self.roles[role == "right"]

    def moved_most(self, role: SideName = "right", n: int = 10) -> pd.DataFrame:
        """Return the entities whose cosines changed most.

        The columns are name, total and its parts. Entities that did not move are left
        out.
        """
        require_one_of(role, "role", self.changes)
        frame = self.changes[role].to_frame()
        if self.too_few_for:
            frame[["gauge", "remainder"]] = float("nan")
        return frame[frame["total"] > FLOAT32_TIE].head(as_count(n, "n", least=0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per side.

        The mean change and the shares of lists that stay have 95 % intervals.
        """
        import pandas as pd

        return pd.DataFrame(self.changes_by_side)

    @property
    def changes_by_side(self) -> list[dict[str, Any]]:
        """One record per side.

        Columns
        -------
        role : {"left", "right"}
            Side whose cosines are compared.
        shared : int
            Number of entities that both models have.
        only_before : int
            Number of entities that only the first model has.
        only_after : int
            Number of entities that only the second model has.
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
            Share of neighbours by prediction cosine that are still near by it; None if
            a side is missing.
        n_displaced : int
            Number of entities that have the vector of another entity of the first
            model.
        weighted_by : {"interactions", "slots", "equal"}
            Weights of rows in the three shares that follow: their interactions, their
            slots in users' lists of ten, or equal weights.
        weighted_shared : float
            Share of the first model's entities that the second has, weighted.
        weighted_kept : float
            `kept`, weighted.
        weighted_predicted_kept : float
            `predicted_kept`, weighted; None if a side is missing.
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
        """The entities whose cosines changed most, by side.

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
        """Neighbours of a few rows in both models, by side."""
        return {role: change.examples for role, change in self.changes.items()}

    def _change(self, role: SideName) -> dict[str, Any]:
        """Return the means, shares and intervals of one side."""
        change = self.changes[role]
        shares = change.neighbour_shares
        predicted_interval = (float("nan"), float("nan"))
        if change.predicted_kept is not None:
            predicted_interval = change.interval("predicted_kept")
        record = {
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
            "kept": shares["kept"],
            "lost_to_gauge": shares["lost_to_gauge"],
            "lost_to_unseen": shares["lost_to_unseen"],
            "lost_to_learning": shares["lost_to_learning"],
            "predicted_kept": change.predicted_kept,
            "n_displaced": change.n_displaced,
            "weighted_by": change.weighted_by,
            "weighted_shared": change.weighted_shared,
            "weighted_kept": change.weighted_kept,
            "weighted_predicted_kept": change.weighted_predicted_kept,
        }
        for name, interval in (
            ("mean_abs_change", change.interval("total")),
            ("kept", change.interval("kept")),
            ("predicted_kept", predicted_interval),
        ):
            record[f"{name}_ci_low"], record[f"{name}_ci_high"] = interval
        for group, share in change.unexplained.items():
            record[f"unexplained_{group}"] = share
        if self.too_few_for:
            # Too few rows say neither what a gauge explains nor what remains.
            for name in (
                "mean_abs_gauge",
                "mean_abs_remainder",
                "pearson_without_gauge",
                "lost_to_gauge",
                "lost_to_learning",
            ):
                record[name] = float("nan")
        return record

    def shares_kept(self) -> dict[str, float]:
        """Return the numbers that a gate can limit, the smallest value of both sides.

        Rows are weighted by their interactions, or by their slots in users' lists if
        the model holds no counts. So a few popular items count as much as they fill
        lists.

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
        """Values of each of `shares_kept`, with the title of the side of each value.

        The title is empty for the scores, which belong to both sides.
        """
        sides = [(change, self.title(role)) for role, change in self.changes.items()]
        values = {
            "shared": [(change.weighted_shared, title) for change, title in sides],
            "kept": [(change.weighted_kept, title) for change, title in sides],
        }
        predicted = [
            (change.weighted_predicted_kept, title)
            for change, title in sides
            if change.weighted_predicted_kept is not None
        ]
        if predicted:
            values["predicted"] = predicted
        if self.agreement is not None:
            unlike = self.agreement.weighted_unlike
            titles = self.roles[-len(unlike) :]
            values["top"] = [(self.agreement.ranking_overlap, self.roles[0])]
            values["scores"] = [(self.agreement.score_correlation, "")]
            values["rows"] = [
                (1 - share, title) for share, title in zip(unlike, titles, strict=True)
            ]
        return values

    @property
    def swapped(self) -> dict[str, int]:
        """Number of entities that have the vector of another entity, by title.

        Sides without such entities are left out.
        """
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
            For a name that this comparison has no number for, or a limit out of its
            range.

        Examples
        --------
        >>> import embaudit as ea, numpy as np
        >>> x = np.random.default_rng(0).standard_normal((2, 90, 3))
        >>> models = [ea.FactorModel.from_vectors(rows) for rows in x]
        >>> changed = ea.compare(*models)
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
            least = LEAST_VALUE.get(name, 0.0)
            if not (is_number(limit) and least <= limit <= 1):
                raise must_be(
                    f"the limit of {name}",
                    f"a number from {least:g} to 1",
                    repr(limit),
                    "0.7 means seven out of ten",
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
        limits = self.limits
        for name in self.below(limits):
            limit = limits[name]
            for value, title in self.kept_by_side[name]:
                # A value that is NaN does not reach its limit.
                if value >= limit:
                    continue
                number = f"{name} {_below(value, limit)} ({meaning(name, title)})"
                text = f"{number} is below {limit}"
                if self.reference is not None and name not in self.own_limits:
                    text += f" (second seed: {self.reference[name]:.2f})"
                failures.append(text)
        if limits and not self.allow_swapped:
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
    """Say why a comparison has no number of a name, or how to write one."""
    if name in ("predicted", "scores", "rows", "top"):
        return (
            "this figure needs predictions, so load both sides of both models (inputs "
            "of heads with `--inputs FILE`, the left side of each model with "
            "`--left-file FILE`)"
        )
    return "write for example kept=0.7"


def _below(value: float, limit: float) -> str:
    """Write a number with two decimals, or as many as show that it is below a limit."""
    for digits in range(2, 18):
        text = f"{value:.{digits}f}"
        if float(text) < limit:
            return text
    return str(value)
