"""One side of a model: one row per entity, with biases, ids, titles and counts."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    Flags,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_factors,
    as_rows,
    as_vector,
    frozen,
    require_each,
    with_seen_zeros,
)
from embaudit.core.tolerances import EXACT_SHAPE
from embaudit.errors import escaped, must_be
from embaudit.linalg.moments import Moments, moments
from embaudit.linalg.rows import row_norms

SideName: TypeAlias = Literal["left", "right"]
"""The two sides of a model: users or inputs, items or labels."""
OPPOSITE: dict[SideName, SideName] = {"left": "right", "right": "left"}
"""The other side of a product, for each side."""
Labels: TypeAlias = NDArray[Any] | None
"""Ids or titles of rows, if there are any."""


def _as_labels(
    labels: ArrayLike, name: str, length: int, *, unique: bool
) -> NDArray[Any]:
    """Check labels, one per row, and return them as an array of texts or numbers."""
    try:
        values = np.array(with_seen_zeros(labels))
    except ValueError as error:
        raise must_be(
            name,
            f"a list of {length}, one per row",
            "entries that are lists themselves",
        ) from error
    if values.shape != (length,):
        raise must_be(name, f"a list of {length}, one per row", f"shape {values.shape}")
    require_each(labels, name)
    if values.dtype == object:
        values = values.astype(str)
    values = _encodable(values)
    if unique:
        _require_unique(values, name)
    return frozen(values)


def _require_unique(ids: NDArray[Any], name: str) -> None:
    """Raise InputError if two rows have one id."""
    # Ids of a table are often in order. Comparing neighbours is faster than sorting.
    if ids.dtype.kind in "iuU" and (ids[:-1] < ids[1:]).all():
        return
    # np.unique sorts, so the error names the same id whatever the order of the rows.
    distinct, counts = np.unique(ids, return_counts=True)
    is_repeated = counts > 1
    if is_repeated.any():
        first, count = distinct[is_repeated][0], counts[is_repeated][0]
        remedy = "keep one row for each id"
        raise must_be(name, "unique", f"{first!s} in {count} rows", remedy)


def as_titles(roles: Any) -> tuple[str, str]:
    """Check the titles of the two sides, and write control characters as escapes.

    Examples
    --------
    >>> as_titles(["user", "item"])
    ('user', 'item')
    >>> as_titles("item")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: roles must be two texts, such as ("user", "item"); got
    'item'.
    """
    if (
        not isinstance(roles, (tuple, list))
        or len(roles) != 2
        or not all(isinstance(role, str) for role in roles)
    ):
        raise must_be("roles", 'two texts, such as ("user", "item")', repr(roles))
    return escaped(roles[0]), escaped(roles[1])


def _encodable(texts: NDArray[Any]) -> NDArray[Any]:
    """Write lone surrogates, which UTF-8 cannot encode, and zeros as escapes."""
    if texts.dtype.kind != "U":
        return texts
    # NumPy stores a text as code points of four bytes each.
    code_point = np.dtype("u4").newbyteorder(texts.dtype.byteorder)
    codes = np.ascontiguousarray(texts).view(code_point)
    is_surrogate = (codes >= 0xD800) & (codes < 0xE000)
    if is_surrogate.any():
        encoded = [name.encode("utf-8", "backslashreplace") for name in texts.tolist()]
        return np.array([name.decode() for name in encoded])
    # NumPy fills texts with zeros up to the length of the longest one. Arrow and C cut
    # a text at any other zero.
    codes = codes.reshape(len(texts), -1)
    is_inner_zero = (codes[:, :-1] == 0) & (codes[:, 1:] != 0)
    if is_inner_zero.any():
        return np.array([name.replace("\0", "\\x00") for name in texts.tolist()])
    return texts


def _as_counts(counts: ArrayLike, name: str, length: int) -> Vector:
    """Check numbers of interactions, one per row."""
    numbers = as_vector(counts, name, length)
    if (numbers < 0).any():
        raise must_be(name, "numbers >= 0", f"{numbers[numbers < 0][0]:g}")
    return numbers


def _as_aside(aside: ArrayLike, name: str, length: int) -> Flags:
    """Check flags, one per row."""
    flags = np.asarray(aside)
    if flags.dtype != np.bool_ or flags.shape != (length,):
        raise must_be(
            name,
            f"{length} values True or False, one per row",
            f"{flags.dtype} of shape {flags.shape}",
        )
    return frozen(flags)


def _index_of(rows: Any) -> Any:
    """Return the index of a data frame of pandas.

    Return None for other objects, and for an index that only counts the rows.
    """
    # The package is recognised by its name, so that pandas is not imported for arrays.
    if type(rows).__module__.split(".")[0] != "pandas" or not hasattr(rows, "columns"):
        return None
    index = rows.index
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return None
    return index


OPTIONAL: dict[str, Callable[[Any, str, int], Any]] = {
    "bias": as_vector,
    "ids": partial(_as_labels, unique=True),
    "names": partial(_as_labels, unique=False),
    "counts": _as_counts,
    "aside": _as_aside,
}
"""Optional fields of a side and the function that checks each."""
ROW_FIELDS = tuple(f"{side}_{field}" for field in OPTIONAL for side in OPPOSITE)
"""Optional fields of both sides as a model names them, such as `left_bias`."""


def checked_field(field: str, values: Any, name: str, n_rows: int) -> Any:
    """Check one array of a side and return it read-only.

    Parameters
    ----------
    field : str
        "rows", or a key of `OPTIONAL`.
    values : array_like
        The array.
    name : str
        Name of the array in an error.
    n_rows : int
        Number of rows of the side.
    """
    if field == "rows":
        return as_factors(values, name)
    return OPTIONAL[field](values, name, n_rows)


@dataclass(frozen=True, eq=False, repr=False)
class Side:
    """The rows of one side of a model, with biases, identifiers, titles and counts.

    Sums over the rows are computed at their first use and kept.

    Parameters
    ----------
    rows : array or data frame of shape (n, k)
        One vector per entity. A memory map stays on disk. The index of a data frame is
        taken for ids, unless it counts the rows.
    title : str
        What people call one row: user, item, input, label.
    bias : array of shape (n,), optional
        A bias that is given counts as free.
    ids : array of shape (n,), optional
        Unique identifiers.
    names : array of shape (n,), optional
        Titles to show to people; they need not be unique.
    counts : array of shape (n,), optional
        Number of interactions behind each row.
    aside : array of bool of shape (n,), optional
        Rows that are set aside when neighbours are sampled, such as the special tokens
        of a language model.

    Raises
    ------
    InputError
        For non-finite entries, wrong lengths, duplicated ids, negative counts.

    Examples
    --------
    >>> side = Side([[3.0, 4.0], [0.0, 0.0]], "item", ids=["a", "b"])
    >>> side.norms, side.zero_rows, side.labels
    (array([5., 0.]), array([1]), array(['a', 'b'], dtype='<U1'))
    >>> side.replace(title="label").title
    'label'
    """

    rows: Matrix
    title: str
    _: KW_ONLY
    bias: Vector | None = None
    ids: NDArray[Any] | None = None
    names: NDArray[Any] | None = None
    counts: Vector | None = None
    aside: Flags | None = None

    def __post_init__(self) -> None:
        """Check the arrays and hold them read-only."""
        title = escaped(self.title)
        rows = as_factors(self.rows, f"{title} factors")
        checked: dict[str, Any] = {"title": title, "rows": rows}
        for field in OPTIONAL:
            values = getattr(self, field)
            if field == "ids" and values is None:
                values = _index_of(self.rows)
            if values is not None:
                name = f"{title} {field}"
                checked[field] = checked_field(field, values, name, len(rows))
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Only changed fields are checked: ids of many rows take long to check. If the
        number of rows changes, all fields are checked against it.

        Raises
        ------
        InputError
            If a changed field is not valid, or another one no longer fits.

        Examples
        --------
        >>> side = Side([[1.0], [2.0]], "item", ids=["a", "b"])
        >>> side.replace(names=["x", "y"]).labels.tolist()
        ['x', 'y']
        """
        unknown = {*changes} - {field.name for field in fields(self)}
        if unknown:
            raise TypeError(f"a side has no field {', '.join(sorted(unknown))}")
        title = escaped(changes.get("title", self.title))
        changed: dict[str, Any] = {"title": title}
        values = dict(changes)
        if "rows" in changes:
            changed["rows"] = as_factors(changes["rows"], f"{title} factors")
            if len(changed["rows"]) != len(self):
                return replace(self, **changes)
            if values.get("ids", self.ids) is None:
                values["ids"] = _index_of(changes["rows"])
        for field in OPTIONAL:
            if values.get(field) is not None:
                name = f"{title} {field}"
                changed[field] = checked_field(field, values[field], name, len(self))
            elif field in values:
                changed[field] = None
        # Sums over the rows, which the side keeps next to its fields, are not copied.
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        copied = copy(self)
        vars(copied).clear()
        copied.__setstate__(state | changed)
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Hold the arrays of a deep copy, or of an unpickled side, read-only, too.

        Otherwise sums over the rows, and forms of a model, could become stale.
        """
        for field, value in state.items():
            if isinstance(value, np.ndarray):
                value = frozen(value)
            object.__setattr__(self, field, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n_rows, n_columns = self.rows.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers in the rows."""
        return self.rows.dtype

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def norms(self) -> Floats:
        """(n,) lengths of the rows."""
        return frozen(row_norms(self.rows))

    @cached_property
    def zero_rows(self) -> Indices:
        """Rows that have no direction, hence no cosine."""
        return np.flatnonzero(self.norms == 0)

    @cached_property
    def directed(self) -> Indices:
        """Rows that have a direction."""
        return np.flatnonzero(self.norms > 0)

    @cached_property
    def eligible_rows(self) -> Indices:
        """Rows that are not set aside.

        All rows are eligible if fewer than two of these have a direction.
        """
        all_rows = np.arange(len(self))
        if self.aside is None:
            return all_rows
        eligible = np.flatnonzero(~self.aside)
        if np.count_nonzero(self.norms[eligible]) < 2:
            return all_rows
        return eligible

    @cached_property
    def is_unit(self) -> bool:
        """True if some rows have a direction, and all of those have length 1."""
        lengths = self.norms[self.directed]
        return len(lengths) > 0 and bool((np.abs(lengths - 1) <= EXACT_SHAPE).all())

    @cached_property
    def median_length(self) -> float:
        """Median length of the rows that have a direction, the unit of shifts.

        It is 0 if all rows are zero.
        """
        if len(self.directed) == 0:
            return 0.0
        return float(np.median(self.norms[self.directed]))

    @cached_property
    def moments(self) -> Moments:
        """Mean row and Gram root of the rows as they are."""
        return moments(self.rows)

    @cached_property
    def unit_moments(self) -> Moments:
        """Mean row and Gram root of the rows divided by their lengths."""
        return moments(self.rows, normalise=True)

    @property
    def labels(self) -> NDArray[Any]:
        """Label of each row: its title, else its id, else its number."""
        if self.names is not None:
            return self.names
        if self.ids is not None:
            return self.ids
        return np.arange(len(self))

    def take(self, rows: Indices) -> Self:
        """Return the side of some rows only."""
        rows = as_rows(rows, len(self))
        taken: dict[str, Any] = {"rows": self.rows[rows]}
        for field in OPTIONAL:
            values = getattr(self, field)
            if values is not None:
                taken[field] = values[rows]
        return replace(self, **taken)


class Sided(Protocol):
    """Protocol of a model with two sides."""

    @property
    def left_side(self) -> Side | None:
        """Users or inputs; None if this side is missing."""

    @property
    def right_side(self) -> Side:
        """Items or labels."""

    def side(self, role: SideName) -> Side:
        """Return one side."""
