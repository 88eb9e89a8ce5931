"""Rows of two models that are the same entity, as they are and as far as predictions see them.

What a left row holds in a direction that no right row has, and the other way round,
moves its cosines and no score. A gauge is fitted on the rest, in which `P Qᵀ` is the
same.
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
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.ids import (
    BY_ROW,
    require_lengths,
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
    """(m,) what to call them."""
    only_before: int
    """Entities that the second model lacks."""
    only_after: int
    """Entities that the first model lacks."""
    key: str
    """Kind of key that tells which rows are one entity: ids, names that occur once, or
    row numbers."""
    has_names: bool = False
    """True if entities have names beside ids and numbers."""
    shared: float = 1.0
    """Share of the first model's entities that the second has, also where only some of
    them are here."""

    def __len__(self) -> int:
        return len(self.before)

    def take(self, rows: Indices) -> Match:
        """Keep some of the shared entities."""
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
) -> Match:
    """Match the rows of a side by id, without ids by names that occur once, or by their order.

    Parameters
    ----------
    by_row : bool, optional
        Whether the rows are the same entities in the same order, so that ids are not
        looked at; by default where neither model has ids. Rows without ids that are
        equal in both models need not be declared so.
    partial : bool
        Whether less than half of the smaller side may match; entities under one id with
        two titles are left out then.

    Raises
    ------
    InputError
        If ids are missing where they are to match, are of two kinds or name other
        entities, or too few are shared; by row if the numbers of rows differ.

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
    # Rows that are the same in both models are the same entities, such as inputs that
    # two heads were given.
    if by_row or (bare and (by_row is None or _equal(sides))):
        key, (first, second) = "row numbers", _in_order(sides, bare=bare)
    else:
        key = (
            "names" if bare and all(side.names is not None for side in sides) else "ids"
        )
        first, second = _by_key(sides, key, OPTIONS[role], partial=partial)
    if len(first) < MIN_SHARED:
        title = before.title(role)
        raise must_be(
            f"the {title}s that both models hold",
            f"at least {MIN_SHARED}",
            len(first),
            _same_data(sides),
        )
    names, has_names = np.asarray(before.names(role))[first], sides[0].names is not None
    only_before, only_after = (len(side) - len(first) for side in sides)
    return Match(
        role,
        first,
        second,
        names,
        only_before,
        only_after,
        key,
        has_names,
        len(first) / len(sides[0]),
    )


def _equal(sides: tuple[Side, Side]) -> bool:
    """Check that both models hold the same rows without names in the same order."""
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


def _in_order(sides: tuple[Side, Side], *, bare: bool) -> tuple[Indices, Indices]:
    n_before, n_after = map(len, sides)
    what = f"{sides[0].title}s"
    if bare and n_before != n_after:
        raise must_be(
            f"{what} without ids",
            "as many in both models",
            f"{n_before} and {n_after}",
            "add ids, to match them by",
        )
    require_lengths(n_before, n_after, MODELS, what=what)
    return np.arange(n_before), np.arange(n_before)


def _same_data(sides: tuple[Side, Side]) -> str:
    if any(side.ids is None for side in sides):
        return "compare the same data"
    first, second = (repr(np.asarray(side.ids)[:1].tolist()[0]) for side in sides)
    return f"compare the same data, under the same ids: the first model's start with {first}, the second's with {second}"


def _by_key(
    sides: tuple[Side, Side], key: str, option: str, *, partial: bool
) -> tuple[Indices, Indices]:
    """Return the rows of the entities that have one id, or a name of their own, on both sides, and no other title."""
    title, (first, second) = (
        sides[0].title,
        (side.names if key == "names" else side.ids for side in sides),
    )
    if first is None and second is None:
        raise without_ids(title, *MODELS, option=option, when=LOADED)
    if first is None or second is None:
        which = "second" if second is None else "first"
        raise InputError(
            "{} ids must be in both models or in neither; the {} has none; add them to "
            "it with {} {}, or {}.",
            title,
            which,
            Option(option),
            LOADED,
            BY_ROW,
        )
    require_one_kind(
        np.asarray(first), np.asarray(second), MODELS, what=f"{title} {key}"
    )
    rows_before, rows_after = _shared(first, second)
    if key == "ids" and len(rows_before) >= MIN_SHARED:
        same = _same_titles(sides, rows_before, rows_after)
        if not (partial or same.all()):
            raise _other_titles(sides, rows_before[~same], rows_after[~same])
        rows_before, rows_after = rows_before[same], rows_after[same]
    if len(rows_before) >= MIN_SHARED:
        smaller = min(map(len, sides))
        require_most(
            len(rows_before),
            smaller,
            f"{title}s of the smaller model",
            "the other",
            partial=partial,
        )
    return rows_before, rows_after


def _same_titles(
    sides: tuple[Side, Side], rows_before: Indices, rows_after: Indices
) -> NDArray[np.bool_]:
    """Flag entities whose titles agree up to capitals; a row called by its id has none."""
    if any(side.names is None for side in sides):
        return np.ones(len(rows_before), dtype=bool)
    first, second = (
        np.char.lower(np.asarray(side.names)[rows].astype(str))
        for side, rows in zip(sides, (rows_before, rows_after), strict=True)
    )
    untitled = np.char.lower(np.asarray(sides[0].ids)[rows_before].astype(str))
    return np.asarray((first == second) | (first == untitled) | (second == untitled))


def _other_titles(
    sides: tuple[Side, Side], rows_before: Indices, rows_after: Indices
) -> InputError:
    title = sides[0].title
    names = [
        str(np.asarray(side.names)[rows[0]])
        for side, rows in zip(sides, (rows_before, rows_after), strict=True)
    ]
    shared = np.asarray(sides[0].ids)[rows_before[0]]
    got = f"{len(rows_before):,} with two, such as {names[0]!r} and {names[1]!r} for {shared}"
    remedy = Sentence(
        "compare models of the same ids, or leave these out with {}",
        Option("partial", True),
    )
    return must_be(
        f"the {title}s of one id", "of one title in both models", got, remedy
    )


def _shared(first: Any, second: Any) -> tuple[Indices, Indices]:
    """Return the rows of the keys that occur once in either model and in both, in the order of the first one.

    Numbers are read as text where the other model's keys are text, as formats of text
    leave them.
    """
    before, after = np.asarray(first), np.asarray(second)
    if {before.dtype.kind, after.dtype.kind} - set("iu"):
        before, after = before.astype(np.str_), after.astype(np.str_)
    once = []
    for keys in (before, after):
        _, rows, counts = np.unique(keys, return_index=True, return_counts=True)
        once.append(np.sort(rows[counts == 1]))
    own, other = (keys[rows] for keys, rows in zip((before, after), once, strict=True))
    _, rows, counterparts = np.intersect1d(
        own, other, assume_unique=True, return_indices=True
    )
    order = np.argsort(rows)
    return once[0][rows[order]], once[1][counterparts[order]]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Shared rows of two models, and what a gauge between them may do."""

    raw: Rows
    """Rows before and after, of length 1 where a model predicts cosines."""
    visible: Rows
    """Rows as far as predictions see them, in fewer dimensions where there are unseen
    ones."""
    groups: tuple[str, ...]
    """Gauge groups that keep the predictions."""
    shifts: tuple[SideName, ...]
    """Sides that a translation may move."""
    forward: bool
    """True if the gauge carries the first model to the second; the other way where the
    second has a lower rank."""
    first: dict[SideName, Indices]
    """(m,) the row that stands for each in lists: the first of those that duplicate it
    in both models."""
    bases: tuple[Floats, Floats]
    """Orthonormal directions that predictions see, in the columns of either model."""

    def seen_rows(
        self, before: FactorModel, after: FactorModel, match: Match, block: slice
    ) -> tuple[Floats, Floats]:
        """Return some matched rows as (source, target) of a gauge, as predictions see them."""
        rows_before = _rows(before, match.role, match.before[block])
        rows_after = _rows(after, match.role, match.after[block])
        old = _in(rows_before, self.bases[0])
        new = _in(rows_after, self.bases[1])
        if self.forward:
            return old, new
        return new, old

    @property
    def fitted(self) -> Rows:
        """The seen rows as (source, target) of the gauge."""
        return (
            self.visible
            if self.forward
            else {role: (y, x) for role, (x, y) in self.visible.items()}
        )


def pairing(
    before: FactorModel, after: FactorModel, matches: dict[SideName, Match]
) -> Pairing:
    """Gather the shared rows in float64, and what predictions see of them."""
    raw = {
        role: (_rows(before, role, m.before), _rows(after, role, m.after))
        for role, m in matches.items()
    }
    for role, (x, y) in raw.items():
        count = int((x.any(axis=1) & y.any(axis=1)).sum())
        if count < MIN_SHARED:
            what = f"the shared {before.title(role)}s that are not zero in both models"
            raise must_be(
                what, f"at least {MIN_SHARED}", count, "a row of zeros has no cosine"
            )
    # A gauge can be fitted on what predictions see alone: the rest of a row may be
    # anything in an equivalent model.
    shifts = tuple(side for side in before.free_shifts if side in after.free_shifts)
    basis_before, basis_after = (
        seen_directions(model, shifts) for model in (before, after)
    )
    visible = {
        role: (_in(x, basis_before), _in(y, basis_after))
        for role, (x, y) in raw.items()
    }
    cosines = Equivalence.COSINES in (before.predicts, after.predicts)
    # A scale for each column means something only where the columns of both models are
    # the stored ones.
    aligned = basis_before.shape[1] == basis_after.shape[1] and all(
        _picks_columns(basis) for basis in (basis_before, basis_after)
    )
    groups = [
        g for g in GROUPS if (g != "diagonal" or aligned) and (g != "affine" or shifts)
    ]
    groups = ["rotation"] if cosines else groups
    # A gauge leads from the lower rank to the higher one: the other way it would drop
    # directions (docs/theory.md, "There are no others").
    forward = basis_before.shape[1] <= basis_after.shape[1]
    first = {
        role: _duplicated(before.factors(role)[m.before], after.factors(role)[m.after])
        for role, m in matches.items()
    }
    bases = (basis_before, basis_after)
    return Pairing(raw, visible, tuple(groups), shifts, forward, first, bases)


def _duplicated(before: Matrix, after: Matrix) -> Indices:
    """Return for each row the first one that duplicates it in both models: what one of them tells apart are two."""
    first, itself = (
        twins(FactorModel.from_vectors(before)).first,
        np.arange(len(before)),
    )
    if (first == itself).all():
        return itself
    groups = np.column_stack([first, twins(FactorModel.from_vectors(after)).first])
    _, first, group = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[group.ravel()])


def _rows(model: FactorModel, role: SideName, places: Indices) -> NDArray[np.float64]:
    rows = np.asarray(model.factors(role)[places], dtype=np.float64)
    return model.product_rows(role, rows)


def _picks_columns(basis: NDArray[np.float64]) -> bool:
    return bool(((basis == 0) | (basis == 1)).all())


def _in(x: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    return (
        x if basis.shape[0] == basis.shape[1] and _picks_columns(basis) else x @ basis
    )
