"""One side of a model: a row for each entity, and what is known of the entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar, cast

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
    storage_of,
    with_seen_zeros,
)
from embaudit.errors import escaped, must_be
from embaudit.linalg.moments import Moments, moments, outlined
from embaudit.linalg.rows import row_norms
from embaudit.model.lazy_array import LazyArray

T = TypeVar("T")
SideName: TypeAlias = Literal["left", "right"]
"""The two sides of a model: users or inputs, items or labels."""
UNIT = 1e-3
"""Distance of the lengths of rows from 1 up to which they are unit rows: what rounding to a few digits leaves."""
FIRST = 1_000
"""Rows that are looked at before all of a large file."""
OPPOSITE: dict[SideName, SideName] = {"left": "right", "right": "left"}
"""The side that each one is multiplied with."""
Labels: TypeAlias = NDArray[Any] | None


def _as_labels(
    labels: ArrayLike, name: str, length: int, *, unique: bool
) -> NDArray[Any]:
    """Check labels, one a row, and return them as an array of text or numbers."""
    try:
        values = np.array(with_seen_zeros(labels))
    except ValueError as error:
        raise must_be(
            name, f"a list of {length}, one a row", "entries that are lists themselves"
        ) from error
    if values.shape != (length,):
        raise must_be(name, f"a list of {length}, one a row", f"shape {values.shape}")
    require_each(labels, name)
    values = _encodable(values.astype(str) if values.dtype == object else values)
    if unique:
        # np.unique sorts, so that the error names the same id whatever the order of the rows.
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) < length:
            first = distinct[counts > 1][0]
            raise must_be(
                name,
                "unique",
                f"{first!s} {counts[counts > 1][0]} times",
                "keep one row for each id",
            )
    return frozen(values)


def as_titles(roles: Any) -> tuple[str, str]:
    """Check what people call the two sides, and write it so that it stays on one line.

    Examples
    --------
    >>> as_titles(["user", "item"])
    ('user', 'item')
    >>> as_titles("item")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: roles must be two texts, such as ("user", "item"); got 'item'.
    """
    if (
        not isinstance(roles, (tuple, list))
        or len(roles) != 2
        or not all(isinstance(role, str) for role in roles)
    ):
        raise must_be("roles", 'two texts, such as ("user", "item")', repr(roles))
    return escaped(roles[0]), escaped(roles[1])


def _encodable(texts: NDArray[Any]) -> NDArray[Any]:
    """Keep halves of letters and zeros, which no file and no terminal takes, as escapes."""
    if texts.dtype.kind == "U":
        # An array of text is one of code points, four bytes each; the surrogates lie between 0xD800 and 0xDFFF.
        codes = np.ascontiguousarray(texts).view(
            np.dtype("u4").newbyteorder(texts.dtype.byteorder)
        )
        if ((codes >= 0xD800) & (codes < 0xE000)).any():
            return np.array(
                [
                    name.encode("utf-8", "backslashreplace").decode()
                    for name in texts.tolist()
                ]
            )
        # Zeros at the end of a text fill the room of the longest. Arrow and C cut texts
        # at any other zero.
        codes = codes.reshape(len(texts), -1)
        if ((codes[:, :-1] == 0) & (codes[:, 1:] != 0)).any():
            return np.array([name.replace("\0", "\\x00") for name in texts.tolist()])
    return texts


def _as_counts(counts: ArrayLike, name: str, length: int) -> Vector:
    numbers = as_vector(counts, name, length)
    if (numbers < 0).any():
        raise must_be(name, "numbers >= 0", f"{numbers[numbers < 0][0]:g}")
    return numbers


def _as_aside(aside: ArrayLike, name: str, length: int) -> Flags:
    flags = np.asarray(aside)
    if flags.dtype != np.bool_ or flags.shape != (length,):
        raise must_be(
            name,
            f"{length} values True or False, one a row",
            f"{flags.dtype} of shape {flags.shape}",
        )
    return frozen(flags)


def _index_of(rows: Any) -> Any:
    """Return what a data frame calls its rows, None for row numbers and for what is no data frame."""
    if type(rows).__module__.split(".")[0] != "pandas" or not hasattr(rows, "columns"):
        return None
    numbered = type(rows.index).__name__ == "RangeIndex" and (
        rows.index.start,
        rows.index.step,
    ) == (0, 1)
    return None if numbered else rows.index


def _are_unit(norms: Floats) -> bool:
    """Check that all rows that have a direction have length 1."""
    return bool((np.abs(norms[norms > 0] - 1) <= UNIT).all())


def _waits(field: str, value: Any) -> bool:
    """Check that a field may stay in its file until it is used; rows that are no matrix of numbers are refused now."""
    if not (isinstance(value, LazyArray) and value.is_deferred):
        return False
    return field != "rows" or (len(value.shape) == 2 and value.dtype.kind in "fiu")


class OnFirstUse(Generic[T]):
    """A field of a side; one that still lies in a file is read and checked where it is first asked for."""

    def __set_name__(self, side: type, name: str) -> None:
        self.name = name

    def __get__(self, side: Side, _owner: type | None = None) -> T:
        # Python asks here only for what the side does not hold yet.
        value = vars(side)[self.name] = side.checked(self.name, side.unread[self.name])
        return cast("T", value)


OPTIONAL: dict[str, Callable[[Any, str, int], Any]] = {
    "bias": as_vector,
    "ids": partial(_as_labels, unique=True),
    "names": partial(_as_labels, unique=False),
    "counts": _as_counts,
    "aside": _as_aside,
}
"""Optional fields of the rows, and their checks."""


@dataclass(frozen=True, eq=False, repr=False)
class Side:
    """The rows of one side, with biases, identifiers, titles and counts; sums over rows are computed once.

    Parameters
    ----------
    rows : array or data frame of shape (n, k)
        One vector an entity; the index of a data frame, unless it counts the rows, is taken for ids.
    title : str
        What people call one of them: user, item, input, label.
    bias : array of shape (n,), optional
        A bias that is given counts as free.
    ids : array of shape (n,), optional
        Unique identifiers.
    names : array of shape (n,), optional
        Titles to show to people; need not be unique.
    counts : array of shape (n,), optional
        Interactions behind each row.
    aside : array of bool of shape (n,), optional
        Rows that are set aside when neighbours are sampled, such as the special tokens of a language model.

    Raises
    ------
    InputError
        For non-finite entries, wrong lengths, duplicated ids, negative counts.

    Examples
    --------
    >>> side = Side([[3.0, 4.0], [0.0, 0.0]], "item", ids=["a", "b"])
    >>> side.norms, side.zero_rows, side.labels
    (array([5., 0.]), array([1]), array(['a', 'b'], dtype='<U1'))
    """

    title: str
    unread: Mapping[str, LazyArray]
    """The fields that still lie in a file."""
    rows = OnFirstUse[Matrix]()
    bias, ids, names = (
        OnFirstUse[Vector | None](),
        OnFirstUse[Labels](),
        OnFirstUse[Labels](),
    )
    counts, aside = OnFirstUse[Vector | None](), OnFirstUse[Flags | None]()

    def __init__(
        self,
        rows: ArrayLike | LazyArray,
        title: str,
        *,
        bias: ArrayLike | None = None,
        ids: ArrayLike | LazyArray | None = None,
        names: ArrayLike | LazyArray | None = None,
        counts: ArrayLike | LazyArray | None = None,
        aside: ArrayLike | None = None,
    ) -> None:
        """Check the rows and what belongs to them; what lies in a file is checked when it is first used."""
        ids = _index_of(rows) if ids is None else ids
        beside = dict(zip(OPTIONAL, (bias, ids, names, counts, aside), strict=True))
        self._hold(title, {"rows": rows, **beside}, {})

    def _hold(self, title: str, fresh: dict[str, Any], current: dict[str, Any]) -> Self:
        """Take what is given, checked unless it waits in a file, beside what is known."""
        # A field is checked and held under its name, or in `unread` while its file holds it; None where there is none.
        waiting = {name: value for name, value in fresh.items() if _waits(name, value)}
        unread = {
            name: value
            for name, value in current.get("unread", {}).items()
            if name not in fresh
        } | waiting
        held = {name: value for name, value in current.items() if name not in waiting}
        vars(self).update(held | {"title": escaped(title), "unread": unread})
        # What belongs to rows is checked against their number.
        for name in ("rows", *OPTIONAL):
            if name in fresh and name not in waiting:
                vars(self)[name] = self.checked(name, fresh[name])
        return self

    def checked(self, field: str, value: Any) -> Any:
        """Check what was given for a field, which a file may still hold."""

        def check(numbers: Any, title: str) -> Any:
            return (
                as_factors(numbers, title)
                if field == "rows"
                else OPTIONAL[field](numbers, title, len(self))
            )

        title = f"{self.title} {'factors' if field == 'rows' else field}"
        if isinstance(value, LazyArray):
            return value.checked(check, title)
        return None if value is None and field != "rows" else check(value, title)

    def _given(self, field: str) -> Any:
        """Return a field as it is held, be it in a file."""
        return vars(self)[field] if field in vars(self) else self.unread[field]

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed; only those are checked, and what was computed of the rows is kept."""
        title = changes.pop("title", self.title)
        # Copied in one step: another thread may meanwhile keep what it computed of these rows.
        current = vars(self).copy()
        if "aside" in changes:
            # Rows that are set aside decide which are eligible.
            current.pop("eligible_rows", None)
        # New rows start without what was computed of the old ones. Fields beside them were checked against the number
        # of rows: where that stays they are kept as they are, be they in a file, else they are checked anew.
        if "rows" in changes and changes["rows"] is not vars(self).get("rows", ...):
            new = object.__new__(type(self))._hold(
                title, {"rows": changes.pop("rows")}, {}
            )
            beside = {
                name: self._given(name) for name in OPTIONAL if name not in changes
            }
            if len(new) != len(self):
                return new._hold(title, beside | changes, vars(new))
            waiting = {
                name: x for name, x in beside.items() if isinstance(x, LazyArray)
            }
            held = {name: x for name, x in beside.items() if name not in waiting}
            current = vars(new) | held | {"unread": {**new.unread, **waiting}}
        changes.pop("rows", None)
        return object.__new__(type(self))._hold(title, changes, current)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns, which a file tells before its numbers are read."""
        rows, columns = self._given("rows").shape
        return int(rows), int(columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers in the rows."""
        return storage_of(self._given("rows").dtype)

    @property
    def given(self) -> frozenset[str]:
        """The fields that there are, be they still in a file."""
        return frozenset(
            name for name in ("rows", *OPTIONAL) if self._given(name) is not None
        )

    def __len__(self) -> int:
        return self.shape[0]

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
        """Rows that are not set aside; all of them where that would leave fewer than two with a direction."""
        everyone = np.arange(len(self))
        eligible = everyone if self.aside is None else np.flatnonzero(~self.aside)
        return eligible if np.count_nonzero(self.norms[eligible]) > 1 else everyone

    @cached_property
    def is_unit(self) -> bool:
        """True if some rows have a direction, and all of those have length 1."""
        # Rows that wait in a large file are looked through only if the first ones, as a rule, do not settle it.
        stored = self._given("rows")
        start = (
            stored.read()
            if isinstance(stored, LazyArray) and stored.on_disk
            else self.rows
        )
        if start is not None and not _are_unit(row_norms(np.asarray(start[:FIRST]))):
            return False
        return bool(self.norms.any()) and _are_unit(self.norms)

    @cached_property
    def median_length(self) -> float:
        """Median length of the rows that have a direction, 0 without any: what shifts are measured by."""
        return (
            float(np.median(self.norms[self.directed])) if len(self.directed) else 0.0
        )

    @cached_property
    def moments(self) -> Moments:
        """Mean row and Gram root of the rows as they are."""
        return moments(self.rows)

    @cached_property
    def outline(self) -> Moments:
        """`moments`; of very many long rows with a root in float32, to whiten with."""
        return outlined(self.rows) or self.moments

    @cached_property
    def unit_moments(self) -> Moments:
        """Mean row and Gram root of the rows divided by their lengths."""
        return moments(self.rows, normalise=True)

    @property
    def labels(self) -> NDArray[Any]:
        """Label of each row: its title, else its id, else its number."""
        if self.names is not None:
            return self.names
        return np.arange(len(self)) if self.ids is None else self.ids

    def take(self, rows: Indices) -> Self:
        """Return the side of some rows only."""
        rows = as_rows(rows, len(self))
        optional = {name: getattr(self, name) for name in OPTIONAL}
        return self.replace(
            rows=self.rows[rows],
            **{n: None if x is None else x[rows] for n, x in optional.items()},
        )


class Sided(Protocol):
    """Protocol of a model with two sides."""

    @property
    def left_side(self) -> Side | None:
        """Users or inputs, None where they are not at hand."""

    @property
    def right_side(self) -> Side:
        """Items or labels."""

    def side(self, role: SideName) -> Side:
        """Return one side."""


class OfSide(Generic[T]):
    """A field of one side, read from a model; None where the side is missing."""

    def __init__(self, role: SideName, field: str) -> None:
        self.side, self.field = f"{role}_side", field

    def __get__(self, model: Sided, _owner: type | None = None) -> T:
        return cast("T", getattr(getattr(model, self.side), self.field, None))
