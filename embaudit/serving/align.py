"""Aligning a retrained model with an old one, without changing a prediction.

Two runs of one training have other axes, so a cosine between a vector of the old and
one of the new model means nothing, even if both models predict the same. The new model
is brought into the coordinates of the old one:

1. The rows that both models hold are matched, as `embaudit.comparison.compare` does.
2. Both models are written in one form: the balanced one of the scores between shared
   rows, `P = U s^½, Q = V s^½`. It is unique up to a rotation, whatever the axes and
   their lengths were. Models that predict cosines, and tables of one side, keep their
   rows, because only a rotation keeps what they predict.
3. The orthogonal Procrustes rotation turns the shared rows of both sides of the new
   model towards those of the old one (Schönemann, 1966).
4. The map that leads from the stored rows of the old model to its form is undone.

On the left side this is one matrix L, on the right side one matrix D with `L Dᵀ = I` on
all directions that predictions see. So scores and biases stay. Netflix published the
idea in 2025 (arXiv 2508.07574).

Whether old and new vectors may then be mixed is measured on rows that did not take part
in the fit: the rotation of one half of the shared rows judges the other half.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.form import require_both_sides
from embaudit.comparison.matching import Match, match
from embaudit.comparison.result import Comparison
from embaudit.comparison.sameness import IDENTITY
from embaudit.comparison.verdict import OTHER_SPACE
from embaudit.core.checked import RNG, Flags, Floats, as_generator
from embaudit.core.plain import frame_of, plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import leading_places, tie_tolerance
from embaudit.core.words import counted, row_called
from embaudit.errors import InputError, must_be
from embaudit.linalg.mapped import RowMap
from embaudit.linalg.nearest import require_length
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size
from embaudit.serving.mixed_lists import MixedLists, Mixing, compare_lists
from embaudit.serving.rotation_fit import (
    fit_rotation,
    is_linear,
    measure_angles,
)

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5
"""Number of rows that are listed because they moved most."""
LARGEST_ANGLE = 180.0
"""Largest angle in degrees. It sets the scale on which angles tie."""
SMALLEST_TURN = 1.0
"""Mean angle in degrees between stored rows below which coordinates are the same."""
ANGLE_LEFT = 0.5
"""Largest share of the mean angle that an alignment leaves if it is worth its effort.

Even rows in the same coordinates come a little nearer by a fitted rotation."""


@dataclass(frozen=True, eq=False)
class AlignedSide:
    """One side of an aligned model, and the angles between its old and new rows."""

    role: SideName
    title: str
    """Title of a row, such as "item"."""
    n_shared: int
    """Rows that both models hold."""
    only_old: int
    """Rows that the new model lacks."""
    only_new: int
    """Rows that the old model lacks."""
    key: str
    """Kind of key by which rows were matched: ids, names or row numbers."""
    mean_before: float | None
    """Mean angle in degrees between an old row and the new row as stored.

    None if the models have different numbers of columns."""
    angles: Floats = field(repr=False)
    """(m,) angle in degrees between each old row and the aligned new row.

    NaN if one of the two is zero."""
    names: NDArray[Any] = field(repr=False)
    """(m,) titles, ids or numbers of the shared rows."""
    row_title: str = ""
    """Title that stands before the number of a row; empty if rows have names."""

    @property
    def mean_after(self) -> float:
        """Mean angle in degrees between an old row and the aligned new row."""
        return float(np.nanmean(self.angles))

    def most_turned(self) -> list[dict[str, Any]]:
        """Return the rows with the largest angles, largest first.

        Columns
        -------
        name : str
            Title, id or number of the row.
        angle : float
            Angle in degrees between its old and its aligned new vector.
        """
        with_angle = np.flatnonzero(np.isfinite(self.angles))
        # Angles that rounding leaves between equal rows tie with 0, so the tolerance is
        # one of the scale of all angles.
        tolerance = tie_tolerance(LARGEST_ANGLE)
        order = with_angle[leading_places(self.angles[with_angle], SHOWN, tolerance)]
        return [
            {
                "name": row_called(self.row_title, str(self.names[place])),
                "angle": float(self.angles[place]),
            }
            for place in order
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "title": self.title,
                "shared": self.n_shared,
                "only_old": self.only_old,
                "only_new": self.only_new,
                "matched_by": self.key,
                "mean_angle_before": self.mean_before,
                "mean_angle_after": self.mean_after,
                "most_turned": self.most_turned(),
            }
        )

    @property
    def sentence(self) -> str:
        """Say how far apart old and new rows are."""
        shared = counted(self.n_shared, f"shared {self.title}")
        after = f"{_degrees(self.mean_after)} apart on average"
        if self.mean_before is None:
            return f"After the alignment, old and new vectors of {shared} are {after}."
        return (
            f"Old and new vectors of {shared} are {after}; before the alignment they "
            f"were {_degrees(self.mean_before)} apart."
        )


def _degrees(angle: float) -> str:
    """Write an angle in degrees.

    Examples
    --------
    >>> _degrees(36.74), _degrees(4e-13)
    ('36.7°', '0.0°')
    """
    return f"{angle:.1f}°"


@dataclass(frozen=True, eq=False)
class Alignment(Result):
    """How a new model is brought into the coordinates of an old one."""

    columns: int
    """Number of columns of the aligned vectors, as many as the old model has."""
    keeps_cosines: bool
    """True if the new rows are only turned, so that their cosines stay.

    Otherwise the rows take the form of the old model: all scores stay, and cosines
    change."""
    is_exact: bool
    """True if old and aligned rows differ by less than float32 resolves.

    Only the parts of the rows count that the fit compares: see the next two fields."""
    ignores_lengths: bool
    """True if predictions divide rows by their lengths, so the fit ignores lengths."""
    has_unseen_directions: bool
    """True if predictions do not see a direction of the old rows, or hardly see it."""
    has_few_rows: bool
    """True if half of the shared rows are fewer than the dimensions."""
    sides: dict[SideName, AlignedSide]
    """The sides of the new model."""
    lists: tuple[MixedLists, ...]
    """Lists that mix old and new vectors, by direction."""
    shifts: tuple[SideName, ...]
    """Sides that are shifted to the mean row of the old model, which changes no
    probability of a softmax."""
    maps: dict[SideName, RowMap] = field(repr=False)
    """Map of the stored rows of each side of the new model to aligned vectors."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "columns": self.columns,
                "keeps_cosines": self.keeps_cosines,
                "is_exact": self.is_exact,
                "ignores_lengths": self.ignores_lengths,
                "has_unseen_directions": self.has_unseen_directions,
                "has_few_rows": self.has_few_rows,
                "sides": self.records(),
                "lists": [found.to_dict() for found in self.lists],
                "explanation": self.explain(),
            }
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one record per side.

        Columns
        -------
        role : {"left", "right"}
            The side.
        title : str
            Title of a row.
        shared : int
            Number of rows that both models hold.
        only_old, only_new : int
            Number of rows that one model lacks.
        matched_by : str
            Ids, names or row numbers.
        mean_angle_before : float
            Mean angle in degrees between old and new rows as stored; None for different
            numbers of columns.
        mean_angle_after : float
            Mean angle in degrees between old and aligned rows. Rows are judged by a
            rotation that was fitted to the other half of the shared rows.
        most_turned : list
            Rows with the largest angles.
        """
        return [side.to_dict() for side in self.sides.values()]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per side; `lists_frame` has the lists."""
        frame = frame_of(self.records())
        return frame.drop(columns="most_turned")

    def lists_frame(self) -> pd.DataFrame:
        """Return one row per direction of lists.

        Columns
        -------
        direction : str
            Queries and listed rows, such as "user → item".
        query, listed : {"left", "right"}
            Their sides.
        n_neighbours : int
            Length of the lists.
        n_lists, n_rows : int
            Number of queries, and of rows that they were drawn from.
        old_among_new : float
            Share of the new model's lists that old queries find among new rows, with
            the ends of its 95 % interval.
        new_among_old : float
            Share that new queries find among old rows.
        old_among_old : float
            Share that the old model lists itself.
        of_another : float
            Share that the new model lists for another query.
        may_be_mixed : {"yes", "no", "undecided"}
            Whether old and new vectors may be mixed.
        """
        return frame_of([found.to_dict() for found in self.lists])

    def __repr__(self) -> str:
        angles = [
            f"{side.title}s {_degrees(side.mean_after)}" for side in self.sides.values()
        ]
        return f"Alignment({', '.join(angles)} from the old vectors)"

    def _directions(self, mixing: Mixing) -> list[str]:
        """Return the directions of the lists with this answer."""
        return [found.title for found in self.lists if found.mixing is mixing]

    @property
    def conclusion(self) -> str:
        """Answer whether old and new vectors may be mixed."""
        compatible = self._directions(Mixing.YES)
        incompatible = self._directions(Mixing.NO)
        undecided = self._directions(Mixing.UNDECIDED)
        texts = []
        if compatible:
            texts.append(
                f"Old and new vectors may be mixed for {_all_of(compatible)} while "
                "you replace the old ones."
            )
        if incompatible:
            texts.append(
                f"Do not mix old and new vectors for {_all_of(incompatible)}: replace "
                "all at once."
            )
        if undecided:
            texts.append(
                "These rows do not decide whether old and new vectors may be mixed "
                f"for {_all_of(undecided)}: replace all at once."
            )
        return " ".join(texts)

    def explain(self) -> str:
        """Say whether old and new vectors may be mixed, and by which figures."""
        return "\n".join([self.conclusion, *self.details])

    @property
    def details(self) -> list[str]:
        """Sentences with the figures behind the conclusion, one for each part."""
        texts = [side.sentence for side in self.sides.values()]
        texts += [f"{found.title}: {found.sentence}" for found in self.lists]
        if self.is_exact:
            texts.append(self._equality)
        else:
            texts.append(
                "All figures are of rows that did not take part in the fit: each half "
                "of the shared rows is judged by the other half."
            )
        if self.has_few_rows and not self.is_exact:
            texts.append(
                "Half of the shared rows are fewer than the dimensions, so a fit to "
                "all of them may be better than these figures."
            )
        return texts

    @property
    def _equality(self) -> str:
        """Say that aligned vectors equal the old ones, apart from ignored parts."""
        equality = "Aligned vectors of shared rows equal the old ones up to rounding"
        exceptions = []
        if self.ignores_lengths:
            exceptions.append("their lengths")
        if self.has_unseen_directions:
            exceptions.append("some directions")
        if not exceptions:
            return f"{equality}."
        parts = " and ".join(exceptions)
        return f"{equality}, apart from {parts}, which predictions ignore."


def _all_of(names: list[str]) -> str:
    """Join the names of directions for a sentence.

    Examples
    --------
    >>> _all_of(["user → user", "user → item", "item → item"])
    'user → user, user → item and item → item'
    """
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def align(
    old: FactorModel,
    new: FactorModel,
    *,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    n_neighbours: int | None = None,
    rng: RNG = 0,
) -> Alignment:
    """Bring a retrained model into the coordinates of an old one.

    Parameters
    ----------
    old : FactorModel
        The model whose coordinates are kept.
    new : FactorModel
        The model to align, with the same sides.
    by_row, partial, same_numbers
        As for `compare`.
    n_neighbours : int, optional
        Length of the lists; 10 by default, but at most a third of the shared rows.
    rng : numpy Generator or int
        Draws the halves of the shared rows, and the lists.

    Raises
    ------
    InputError
        If the models have other sides, share fewer than 8 rows of a side, or rows that
        leave a direction open, or if the new model has more dimensions than the old
        one has columns.

    Examples
    --------
    >>> from embaudit.gauges import GeneralLinear
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 3)), draw.standard_normal((30, 3))
    >>> old = FactorModel.from_user_item(users, items)
    >>> new = GeneralLinear(3, max_condition=10.0).sample(rng=1).act(old)
    >>> found = align(old, new)
    >>> np.allclose(found.maps["right"](np.array(new.right)), old.right)
    True
    >>> print(found.conclusion)
    Old and new vectors may be mixed for user → user, item → item and user → item while
    you replace the old ones.
    """
    draw = as_generator(rng)
    _require_same_sides(old, new)
    for model in (old, new):
        if not model.link.unit_sides:
            require_ordinary_size(model)
    matches = {
        role: match(
            old,
            new,
            role,
            by_row=by_row,
            partial=partial,
            same_numbers=same_numbers,
        )
        for role in new.sides
    }
    require_length(n_neighbours, min(len(found) for found in matches.values()))
    fit = fit_rotation(old, new, matches, draw)
    sides: dict[SideName, AlignedSide] = {}
    directed: dict[SideName, Flags] = {}
    for role, found in matches.items():
        after, before = measure_angles(fit, role)
        sides[role] = _side(new, found, np.degrees(after), before)
        directed[role] = _rows_with_lists(new, found, after)
    directions: list[tuple[SideName, SideName]] = [(role, role) for role in new.sides]
    if len(new.sides) == 2:
        directions.append(("left", "right"))
    lists = tuple(
        compare_lists(fit, query, listed, directed, n_neighbours, draw)
        for query, listed in directions
    )
    n_dimensions = fit.new.n_firm
    return Alignment(
        columns=old.rank,
        keeps_cosines=not is_linear(old, new),
        is_exact=fit.is_exact,
        ignores_lengths=bool(old.link.unit_sides or new.link.unit_sides),
        has_unseen_directions=fit.old.n_firm < old.rank,
        has_few_rows=sum(len(found) for found in matches.values()) < 2 * n_dimensions,
        sides=sides,
        lists=lists,
        shifts=fit.shifts,
        maps={role: fit.row_map(role, fit.rotation) for role in new.sides},
    )


def _require_same_sides(old: FactorModel, new: FactorModel) -> None:
    """Refuse models of other sides, and heads whose inputs are missing."""
    for model in (old, new):
        is_table = model.compared is not None or model.link.name == "identity"
        if not is_table:
            require_both_sides(model, "aligned vectors")
    if old.sides != new.sides:
        needed, got = [
            " and ".join(f"{model.title(role)}s" for role in model.sides)
            for model in (old, new)
        ]
        raise must_be(
            "the model to align",
            f"a model of {needed}, like the other model",
            got,
            "read both models with the same sides",
        )


def _rows_with_lists(new: FactorModel, found: Match, angles: Floats) -> Flags:
    """Flag the shared rows that have a direction in both models, (m,).

    Rows that are set aside are left out, unless no row would remain.
    """
    has_direction = np.isfinite(angles)
    aside = new.side(found.role).aside
    if aside is None:
        return has_direction
    remaining = has_direction & ~aside[found.after]
    if not remaining.any():
        return has_direction
    return remaining


def _side(
    new: FactorModel, found: Match, angles: Floats, before: Floats | None
) -> AlignedSide:
    """Summarise the angles of one side.

    Parameters
    ----------
    new : FactorModel
        The aligned model.
    found : Match
        The shared rows.
    angles : array of shape (m,)
        Angles in degrees after the alignment.
    before : array of shape (m,), optional
        Angles in radians before the alignment.
    """
    if not np.isfinite(angles).any():
        raise must_be(
            f"the rows of the shared {new.title(found.role)}s",
            "nonzero in both models",
            "rows of zeros",
        )
    mean_before = None
    if before is not None:
        mean_before = float(np.degrees(np.nanmean(before)))
    return AlignedSide(
        role=found.role,
        title=new.title(found.role),
        n_shared=len(found),
        only_old=found.only_before,
        only_new=found.only_after,
        key=found.key,
        mean_before=mean_before,
        angles=angles,
        names=found.names,
        row_title=new.row_title(found.role),
    )


def with_mixable_lists(
    comparison: Comparison,
    old: FactorModel,
    new: FactorModel,
    *,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    n_neighbours: int | None = None,
    rng: RNG = 0,
) -> Comparison:
    """Add to a comparison for which lists an alignment lets an index keep old vectors.

    The models are aligned only if their rows are matched by ids, the vectors are
    related, and the rows suffice to find the axes. Nothing is added if the models are
    in the same coordinates already, or if they cannot be aligned.

    Parameters
    ----------
    comparison : Comparison
        The comparison of both models.
    old, new : FactorModel
        The first and the second model.
    by_row, partial, same_numbers, n_neighbours, rng
        As for `align`.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.gauges import Orthogonal
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 3)), draw.standard_normal((30, 3))
    >>> old = FactorModel.from_user_item(
    ...     users, items, user_ids=np.arange(40), item_ids=np.arange(30)
    ... )
    >>> new = Orthogonal(3).sample(rng=1).act(old)
    >>> with_mixable_lists(compare(old, new), old, new).mixable
    ('user → user', 'item → item', 'user → item')
    """
    if not _may_be_aligned(comparison):
        return comparison
    try:
        alignment = align(
            old,
            new,
            by_row=by_row,
            partial=partial,
            same_numbers=same_numbers,
            n_neighbours=n_neighbours,
            rng=rng,
        )
    except InputError:
        # For example, the new model has more dimensions than the old one.
        return comparison
    # Few rows turn towards each other by chance.
    if alignment.has_few_rows:
        return comparison
    sides = alignment.sides.values()
    if any(side.key != "ids" for side in sides):
        return comparison
    if not any(_is_turned(side) for side in sides):
        return comparison
    mixable = [lists.title for lists in alignment.lists if lists.mixing is Mixing.YES]
    return replace(comparison, mixable=tuple(mixable))


def _may_be_aligned(comparison: Comparison) -> bool:
    """Return True if a comparison does not rule out that an alignment helps."""
    if any(change.match.key != "ids" for change in comparison.changes.values()):
        return False
    if comparison.too_few_for or comparison.swapped:
        return False
    if comparison.same_up_to == IDENTITY:
        return False
    return comparison.verdict.word != OTHER_SPACE


def _is_turned(side: AlignedSide) -> bool:
    """Return True if old and new rows of a side need an alignment to be near."""
    if side.mean_before is None:
        return True
    if side.mean_before < SMALLEST_TURN:
        return False
    return side.mean_after <= ANGLE_LEFT * side.mean_before
