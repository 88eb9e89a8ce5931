"""Which rows a heatmap shows, in which order, and how this is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from embaudit.core.checked import RNG, as_count, as_generator, as_list
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.evaluation.truth import labels_in
from embaudit.io import join_texts
from embaudit.io.tables.ids import split_column
from embaudit.linalg.pairs import cosine_matrix
from embaudit.linalg.rows import sample_rows
from embaudit.movements.neighbourhoods import find_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from embaudit.core.checked import Floats, Indices
    from embaudit.model import FactorModel, Side, SideName

MOST_ROWS = 1_000
"""Rows of a heatmap at most: their cosines are held as a matrix, and take seconds to put in order."""


@dataclass(frozen=True, eq=False)
class Taken:
    """Rows of a side in the order of a picture."""

    rows: Indices
    """(m,) their numbers."""
    groups: tuple[str, ...]
    """(m,) the group of each, "" where it has none; empty without groups."""
    said: str
    """Which rows these are, and how they are ordered."""


class Groups(NamedTuple):
    """The group of every row."""

    of: tuple[str, ...]
    """The first label of each, "" where it has none."""
    first: bool
    """Whether a row has more than one label."""


def groups_of(side: Side, groups: str | Iterable[Any]) -> Groups:
    """Read one group for every row of a side: the first of its labels.

    Parameters
    ----------
    side : Side
    groups : sequence of length n, or str
        A label for each row, "Comedy|Drama" for two; or "movies.csv:genres", a table and its column, joined by the
        ids of the side.

    Raises
    ------
    InputError
        If there are more or fewer labels than rows, or the table cannot be read.

    Examples
    --------
    >>> from embaudit.model import Side
    >>> groups_of(Side([[1.0], [2.0], [3.0]], "item"), ["Comedy|Drama", None, 7])
    Groups(of=('Comedy', '', '7'), first=True)
    """
    if isinstance(groups, str):
        path, column = split_column(groups)
        if column is None:
            remedy = "pass a label for each row, or such a text"
            raise must_be("groups", "FILE:COLUMN, such as movies.csv:genres", repr(groups), remedy)
        given: list[Any] = list(join_texts(side, path, title=column, partial=True).texts)
    else:
        given = as_list(groups, "groups", '["Comedy", "Drama"]')
    if len(given) != len(side):
        raise must_be("groups", f"a label for each of {len(side):,} {side.title}s, or FILE:COLUMN", f"{len(given):,}")
    labels = [() if value is None else labels_in(str(value)) for value in given]
    return Groups(tuple(each[0] if each else "" for each in labels), any(len(each) > 1 for each in labels))


def taken_rows(
    model: FactorModel,
    role: SideName,
    *,
    groups: str | Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    rng: RNG = 0,
) -> Taken:
    """Take the rows named, or draw some; by group and within it by interactions or length, else the like together.

    Raises
    ------
    InputError
        If fewer than two rows are left, or more than 1,000 are asked for.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.0, 0.0]])
    >>> found = taken_rows(model, "right", groups=["b", "a", "b", "a"])
    >>> found.rows, found.groups
    (array([1, 2, 0]), ('a', 'b', 'b'))
    >>> found.said
    'all 3 items with a direction and a group, by group, then by length'
    """
    side = model.side(role)
    labels = None if groups is None else groups_of(side, groups)
    of_all = None if labels is None else labels.of
    size = as_count(n_rows, "n_rows", least=2, most=MOST_ROWS)
    names = as_list(show, "show", '["Heat"]')
    rows, said = _named(model, role, names) if names else _drawn(side, of_all, size, rng)
    if len(rows) < 2:
        raise must_be(f"{side.title} factors", "two rows or more to show", counted(len(rows), "row"))
    if labels is None:
        order = leaf_order(cosine_matrix(np.asarray(side.rows[rows], dtype=np.float64)))
        return Taken(rows[order], (), f"{said}, like beside like in the first panel")
    weights, word = (side.norms, "length") if side.counts is None else (side.counts, "interactions")
    order = _grouped(np.array(labels.of)[rows], weights[rows])
    by = "group (the first label of each)" if labels.first else "group"
    return Taken(rows[order], tuple(labels.of[row] for row in rows[order]), f"{said}, by {by}, then by {word}")


def _named(model: FactorModel, role: SideName, show: Sequence[str]) -> tuple[Indices, str]:
    rows = np.unique(find_rows(model, role, show))
    if len(rows) > MOST_ROWS:
        raise must_be("show", f"at most {MOST_ROWS:,} rows", f"{len(rows):,}")
    return rows, f"{counted(len(rows), model.title(role))} named"


def _drawn(side: Side, groups: tuple[str, ...] | None, size: int, rng: RNG) -> tuple[Indices, str]:
    """Draw from the rows with a direction, and a label where there are some; nobody asks about those set aside."""
    pool = side.asked[side.norms[side.asked] > 0]
    if groups is not None:
        pool = np.array([row for row in pool.tolist() if groups[row]], dtype=np.intp)
    rows = sample_rows(pool, size, as_generator(rng))
    of = f"{counted(len(pool), side.title)} with a direction{'' if groups is None else ' and a group'}"
    of += " that are not set aside" if len(side.asked) < len(side) else ""
    return rows, f"all {of}" if len(rows) == len(pool) else f"{len(rows):,} of {of}, drawn at random"


def _grouped(groups: NDArray[Any], weights: NDArray[Any]) -> Indices:
    """Order rows by group, numbers by value, those without one last; within a group the heaviest first."""
    known = sorted(set(groups.tolist()), key=lambda group: (not group, *_value(group)))
    place = {group: at for at, group in enumerate(known)}
    return np.lexsort((-weights, np.array([place[group] for group in groups.tolist()])))


def _value(group: str) -> tuple[float, str]:
    try:
        return float(group), group
    except ValueError:
        return float("inf"), group


def leaf_order(cosines: Floats) -> Indices:
    """Order rows so that like stands beside like: the optimal leaf order of average linkage; rows without cosine last.

    Examples
    --------
    >>> leaf_order(cosine_matrix(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.1]]))).tolist()
    [2, 3, 0, 1]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    known = ~np.isnan(np.diag(cosines))
    rows = np.flatnonzero(known)
    if len(rows) > 2:
        apart = squareform(np.maximum(1 - cosines[np.ix_(rows, rows)], 0), checks=False)
        rows = rows[leaves_list(linkage(apart, "average", optimal_ordering=True))]
    return np.concatenate([rows, np.flatnonzero(~known)])
