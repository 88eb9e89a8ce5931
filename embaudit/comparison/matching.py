"""Rows of two models that are the same entity, and the part that predictions see.

A component of a left row in a direction that no right row has moves cosines of the row
and no score, and the other way round. A gauge is fitted to the other directions, in
which `P Qᵀ` is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.row_span import seen_directions
from embaudit.comparison.fits import GROUPS, Rows
from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.core.words import counted
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.ids import (
    BY_ROW,
    comparable,
    require_most,
    require_one_kind,
    without_ids,
)
from embaudit.model.side import Side
from embaudit.movements.twins import twins

OPTIONS: dict[SideName, str] = {"left": "left_ids", "right": "ids"}
"""Options that give ids to a side that has none."""
LOADED = "when the model is read"
"""A comparison takes models, so that ids are given where they are read."""
MODELS = ("the first model", "the second model")
SAME_NUMBERS = Sentence(
    "declare {} if the same row number means the same entity in both models",
    Option("same_numbers", True),
)
"""Advice on two models with different numbers or types of ids."""
MIN_SHARED = 8
"""Fewest shared entities that can be fitted on one half and judged on the other."""


@dataclass(frozen=True, eq=False)
class Match:
    """The entities of one side that both models hold."""

    role: SideName
    """Side of the entities."""
    before: Indices
    """(m,) their rows in the first model."""
    after: Indices
    """(m,) their rows in the second model."""
    names: NDArray[Any]
    """(m,) their titles, else their ids or row numbers."""
    only_before: int
    """Entities that the second model lacks."""
    only_after: int
    """Entities that the first model lacks."""
    key: str
    """Kind of key that tells which rows are one entity: ids, names that occur once, or
    row numbers."""
    has_names: bool = False
    """True if entities have names in addition to ids and numbers."""
    shared: float = 1.0
    """Share of the first model's entities that the second has.

    It is about all entities, even if this match is a sample of the shared ones."""

    def __len__(self) -> int:
        return len(self.before)

    def take(self, rows: Indices) -> Match:
        """Return the match of a selection of the shared entities."""
        return replace(
            self,
            before=self.before[rows],
            after=self.after[rows],
            names=self.names[rows],
        )


def match(
    before: FactorModel,
    after: FactorModel,
    role: SideName,
    *,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
) -> Match:
    """Match the rows of a side by id.

    Rows without ids are matched by names that occur once, or by their order.

    Parameters
    ----------
    by_row : bool, optional
        True if the rows are the same entities in the same order, so ids are ignored.
        This is the default if neither model has ids. It need not be declared for rows
        without ids that are equal in both models.
    partial : bool
        True if less than half of the smaller side may match. Entities that have two
        titles under one id are skipped then.
    same_numbers : bool
        True if an entity has one number in both models, and new entities have new
        numbers. Rows without ids are matched by their row number then, although one
        model has more rows. Ids that count the rows are matched with other numbers.

        This cannot be assumed: the rows of a file from which some were removed, and
        ids from 0 on that a table wrote for its rows, match rows of other entities.

    Raises
    ------
    InputError
        If ids are missing, of two kinds or name other entities, or if fewer than 8
        entities are shared; if rows are matched by order, also if their numbers differ.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> one = FactorModel.from_vectors(np.eye(9), ids=list("abcdefghi"))
    >>> two = FactorModel.from_vectors(np.eye(9), ids=list("jihgfedcb"))
    >>> found = match(one, two, "right")
    >>> found.before[:3], found.after[:3], found.only_before, found.only_after
    (array([1, 2, 3]), array([8, 7, 6]), 1, 1)
    """
    sides = (before.side(role), after.side(role))
    bare = all(side.ids is None for side in sides)
    # Equal rows are the same entities, such as the inputs of two heads.
    by_number = bare and same_numbers
    if by_row or by_number or (bare and (by_row is None or _are_equal(sides))):
        key = "row numbers"
        first, second = _in_order(sides, bare=bare, same_numbers=same_numbers)
    else:
        key = "ids"
        if bare and all(side.names is not None for side in sides):
            key = "names"
        first, second = _by_key(
            sides, key, OPTIONS[role], partial=partial, same_numbers=same_numbers
        )
    if len(first) < MIN_SHARED:
        raise must_be(
            f"the number of {before.title(role)}s in both models",
            f"at least {MIN_SHARED}",
            len(first),
            _more_shared_rows(sides),
        )
    return Match(
        role=role,
        before=first,
        after=second,
        names=np.asarray(before.names(role))[first],
        only_before=len(sides[0]) - len(first),
        only_after=len(sides[1]) - len(first),
        key=key,
        has_names=sides[0].names is not None,
        shared=len(first) / len(sides[0]),
    )


def _are_equal(sides: tuple[Side, Side]) -> bool:
    """Return True if both models hold the same rows, without names, in one order."""
    first, second = sides
    return (
        first.names is None
        and second.names is None
        and first.shape == second.shape
        and all(
            np.array_equal(first.rows[block], second.rows[block])
            for block in row_blocks(*first.shape)
        )
    )


def _in_order(
    sides: tuple[Side, Side], *, bare: bool, same_numbers: bool
) -> tuple[Indices, Indices]:
    """Match rows by their order; if `same_numbers`, one model may have more rows."""
    n_before, n_after = len(sides[0]), len(sides[1])
    n_shared = min(n_before, n_after)
    if n_before != n_after and not same_numbers:
        title = f"{sides[0].title}s"
        what = f"the number of {title} that are joined by row"
        if bare:
            what = f"the number of {title} without ids"
        raise must_be(
            what,
            "the same in both models",
            f"{n_before:,} in the first model and {n_after:,} in the second",
            Sentence("add ids so that rows can be matched, or {}", SAME_NUMBERS),
        )
    return np.arange(n_shared), np.arange(n_shared)


def _more_shared_rows(sides: tuple[Side, Side]) -> str:
    """Say what to do if too few rows are shared."""
    smallest = min(sides, key=len)
    if len(smallest) < MIN_SHARED:
        return f"compare models of at least {MIN_SHARED} {smallest.title}s"
    if any(side.ids is None for side in sides):
        return "compare the same data"
    first, second = [np.asarray(side.ids)[:1].tolist()[0] for side in sides]
    return (
        "compare models of the same data with the same ids: the first id is "
        f"{first!r} in the first model and {second!r} in the second model"
    )


def _by_key(
    sides: tuple[Side, Side],
    key: str,
    option: str,
    *,
    partial: bool,
    same_numbers: bool,
) -> tuple[Indices, Indices]:
    """Return the rows of the entities that have one key in both models.

    An entity that has two titles under one id raises, or is skipped if `partial`.
    """
    title = sides[0].title
    first, second = sides[0].ids, sides[1].ids
    if key == "names":
        first, second = sides[0].names, sides[1].names
    if first is None and second is None:
        raise without_ids(title, *MODELS, option=option, when=LOADED)
    if first is None or second is None:
        which = "second" if second is None else "first"
        raise InputError(
            "{} ids must be in both models or in neither; got no ids in the {} model; "
            "add them with {} {}, or {}.",
            title,
            which,
            Option(option),
            LOADED,
            BY_ROW,
        )
    if not same_numbers:
        require_one_kind(
            np.asarray(first),
            np.asarray(second),
            MODELS,
            what=f"{title} {key}",
            otherwise=SAME_NUMBERS,
        )
    rows_before, rows_after = _shared(first, second)
    if key == "ids" and len(rows_before) >= MIN_SHARED:
        has_one_title = _has_one_title(sides, rows_before, rows_after)
        if not (partial or has_one_title.all()):
            raise _two_titles(
                sides, rows_before[~has_one_title], rows_after[~has_one_title]
            )
        rows_before = rows_before[has_one_title]
        rows_after = rows_after[has_one_title]
    if len(rows_before) >= MIN_SHARED:
        require_most(
            len(rows_before),
            min(len(side) for side in sides),
            f"{title}s of the smaller model",
            "the other",
            partial=partial,
        )
    return rows_before, rows_after


def _has_one_title(
    sides: tuple[Side, Side], rows_before: Indices, rows_after: Indices
) -> NDArray[np.bool_]:
    """Flag entities whose titles agree up to capitals.

    A title that repeats the id says nothing, so it agrees with every other title.
    """
    if any(side.names is None for side in sides):
        return np.ones(len(rows_before), dtype=bool)
    first = _lower_case(sides[0].names, rows_before)
    second = _lower_case(sides[1].names, rows_after)
    ids = _lower_case(sides[0].ids, rows_before)
    return np.asarray((first == second) | (first == ids) | (second == ids))


def _lower_case(texts: Any, rows: Indices) -> NDArray[Any]:
    return np.char.lower(np.asarray(texts)[rows].astype(str))


def _two_titles(
    sides: tuple[Side, Side], rows_before: Indices, rows_after: Indices
) -> InputError:
    """Return the error for entities that have two titles under one id."""
    title = sides[0].title
    first = str(np.asarray(sides[0].names)[rows_before[0]])
    second = str(np.asarray(sides[1].names)[rows_after[0]])
    shared = np.asarray(sides[0].ids)[rows_before[0]]
    got = (
        f"{counted(len(rows_before), 'id')} with two titles, such as {first!r} and "
        f"{second!r} for {shared}"
    )
    remedy = Sentence(
        "compare models with the same ids, or skip these ids with {}",
        Option("partial", True),
    )
    return must_be(
        f"the title of each {title} id", "the same in both models", got, remedy
    )


def _shared(first: Any, second: Any) -> tuple[Indices, Indices]:
    """Return the rows of the keys that both models hold exactly once.

    They are in the order of the first model. Numbers are compared as text if the keys
    of the other model are text, because text files hold numbers as text.
    """
    before, after = comparable(np.asarray(first), np.asarray(second))
    rows_before, rows_after = _unique_rows(before), _unique_rows(after)
    _, places, counterparts = np.intersect1d(
        before[rows_before],
        after[rows_after],
        assume_unique=True,
        return_indices=True,
    )
    order = np.argsort(places)
    return rows_before[places[order]], rows_after[counterparts[order]]


def _unique_rows(keys: NDArray[Any]) -> Indices:
    """Return the rows whose key occurs once, in their order."""
    _, rows, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.asarray(np.sort(rows[counts == 1]))


@dataclass(frozen=True, eq=False)
class Pairing:
    """Shared rows of two models, and the gauges that are allowed between them."""

    raw: Rows
    """Rows before and after, of length 1 if the model predicts cosines."""
    visible: Rows
    """Parts of the rows that predictions see, without the unseen dimensions."""
    groups: tuple[str, ...]
    """Gauge groups that keep the predictions."""
    shifts: tuple[SideName, ...]
    """Sides that a translation may move."""
    forward: bool
    """True if the gauge carries the first model to the second one, False if it carries
    the second model to the first one, because the second has a lower rank."""
    first: dict[SideName, Indices]
    """(m,) the row that stands for each row in lists: the first of the rows that
    duplicate it in both models."""
    bases: tuple[Floats, Floats]
    """Orthonormal directions that predictions see, in the columns of either model."""

    def seen_rows(
        self, before: FactorModel, after: FactorModel, match: Match, block: slice
    ) -> tuple[Floats, Floats]:
        """Return the seen part of matched rows as (source, target) of a gauge."""
        old = _rows(before, match.role, match.before[block])
        new = _rows(after, match.role, match.after[block])
        return self._directed(_in(old, self.bases[0]), _in(new, self.bases[1]))

    def whole_rows(
        self, before: FactorModel, after: FactorModel, match: Match, block: slice
    ) -> tuple[Floats, Floats]:
        """Return all dimensions of matched rows as (source, target) of a gauge."""
        old = _rows(before, match.role, match.before[block])
        new = _rows(after, match.role, match.after[block])
        return self._directed(old, new)

    def _directed(self, old: Floats, new: Floats) -> tuple[Floats, Floats]:
        if self.forward:
            return old, new
        return new, old

    @property
    def sees_all(self) -> bool:
        """True if predictions see every dimension of both models."""
        return all(basis.shape[0] == basis.shape[1] for basis in self.bases)

    @property
    def fitted(self) -> Rows:
        """The seen parts as (source, target) of the gauge."""
        return {role: self._directed(*pair) for role, pair in self.visible.items()}


def pairing(
    before: FactorModel, after: FactorModel, matches: dict[SideName, Match]
) -> Pairing:
    """Gather the shared rows in float64, and the parts that predictions see."""
    raw: Rows = {}
    for role, shared in matches.items():
        old = _rows(before, role, shared.before)
        new = _rows(after, role, shared.after)
        _require_directions(old, new, before.title(role))
        raw[role] = (old, new)
    # A gauge is fitted to the seen parts, because an equivalent model can have any
    # unseen part.
    shifts = tuple(side for side in before.free_shifts if side in after.free_shifts)
    bases = (seen_directions(before, shifts), seen_directions(after, shifts))
    visible: Rows = {}
    first: dict[SideName, Indices] = {}
    for role, shared in matches.items():
        old, new = raw[role]
        visible[role] = (_in(old, bases[0]), _in(new, bases[1]))
        first[role] = _first_duplicates(
            before.factors(role)[shared.before], after.factors(role)[shared.after]
        )
    return Pairing(
        raw=raw,
        visible=visible,
        groups=_gauge_groups(before, after, bases, shifts),
        shifts=shifts,
        # A map from the higher rank to the lower one would drop directions
        # (docs/theory.md, "There are no others").
        forward=bases[0].shape[1] <= bases[1].shape[1],
        first=first,
        bases=bases,
    )


def _require_directions(old: Floats, new: Floats, title: str) -> None:
    """Raise InputError if fewer than 8 rows have a direction in both models."""
    count = int(np.count_nonzero(old.any(axis=1) & new.any(axis=1)))
    if count < MIN_SHARED:
        raise must_be(
            f"the number of {title}s with a nonzero row in both models",
            f"at least {MIN_SHARED}",
            count,
            "a row of zeros has no cosine",
        )


def _gauge_groups(
    before: FactorModel,
    after: FactorModel,
    bases: tuple[Floats, Floats],
    shifts: tuple[SideName, ...],
) -> tuple[str, ...]:
    """Return the gauge groups that keep the predictions of both models."""
    if Equivalence.COSINES in (before.predicts, after.predicts):
        return ("rotation",)
    groups = list(GROUPS)
    # A scale for each column means something only if the columns of both models are
    # stored ones.
    has_one_rank = bases[0].shape[1] == bases[1].shape[1]
    if not (has_one_rank and all(_picks_columns(basis) for basis in bases)):
        groups.remove("diagonal")
    if not shifts:
        groups.remove("affine")
    return tuple(groups)


def _first_duplicates(before: Matrix, after: Matrix) -> Indices:
    """Return for each row the first row that duplicates it in both models.

    Rows that one model tells apart are no duplicates.
    """
    itself = np.arange(len(before))
    first_before = twins(FactorModel.from_vectors(before)).first
    if (first_before == itself).all():
        return itself
    first_after = twins(FactorModel.from_vectors(after)).first
    groups = np.column_stack([first_before, first_after])
    _, first, group = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[group.ravel()])


def _rows(model: FactorModel, role: SideName, places: Indices) -> NDArray[np.float64]:
    """Return float64 rows of a side as the link multiplies them."""
    rows = np.asarray(model.factors(role)[places], dtype=np.float64)
    return model.product_rows(role, rows)


def _picks_columns(basis: NDArray[np.float64]) -> bool:
    """Return True if the basis consists of columns of the identity."""
    return bool(((basis == 0) | (basis == 1)).all())


def _in(x: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Express rows in a basis."""
    if basis.shape[0] == basis.shape[1] and _picks_columns(basis):
        return x
    return x @ basis
