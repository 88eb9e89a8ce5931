"""Kinds of ids: which name the same things, and how many must match for a join."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, Option, Sentence, must_be

BY_ROW = Sentence(
    "join by row order with {} if both have the same order of rows",
    Option("by_row", True),
)
"""Advice on rows without ids in common."""
LEAST_SHARE = 0.5
"""Share of matched rows below which a join is refused unless it is declared partial."""


def are_row_numbers(ids: NDArray[Any]) -> bool:
    """Return True if ids count the rows from 0 on, as numbers or as text.

    Examples
    --------
    >>> [are_row_numbers(np.array(ids)) for ids in ([0, 1, 2], ["0", "1"])]
    [True, True]
    >>> [are_row_numbers(np.array(ids)) for ids in ([1, 2, 3], [1, 0], ["a", "b"])]
    [False, False, False]
    """
    numbers = np.arange(len(ids))
    if ids.dtype.kind not in "iu":
        ids, numbers = ids.astype(np.str_), numbers.astype(np.str_)
    return bool(np.array_equal(ids, numbers))


def comparable(
    first: NDArray[Any], second: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both ids as text, unless both are integers.

    Text files hold numbers as text.

    Examples
    --------
    >>> comparable(np.array([1, 2]), np.array(["2"]))
    (array(['1', '2'], dtype='<U21'), array(['2'], dtype='<U1'))
    """
    if {first.dtype.kind, second.dtype.kind} <= set("iu"):
        return first, second
    return first.astype(np.str_), second.astype(np.str_)


def require_one_kind(
    first: NDArray[Any],
    second: NDArray[Any],
    names: tuple[str, str],
    *,
    what: str,
    otherwise: Sentence = BY_ROW,
) -> None:
    """Raise InputError if the row numbers of one side would be joined with other ids.

    Row numbers can be ids, too. They count as ids if the other side has all of them, or
    has no other ids.

    Parameters
    ----------
    first, second : array of shape (n,) and (m,)
        The ids of two sides of a join.
    names : (str, str)
        Names of the two sides, for the error.
    what : str
        Noun of the ids, such as "item ids".
    otherwise : Sentence
        Advice if the ids cannot be changed.

    Raises
    ------
    InputError
        If exactly one side has row numbers, and the other side has other ids and lacks
        some of the row numbers.

    Examples
    --------
    >>> names = "the model", "movies.csv"
    >>> require_one_kind(np.arange(3), np.array([1, 2, 70]), names, what="item ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item ids must be of one kind on both sides; got row
    numbers 0 to 2 in the model and ...
    >>> require_one_kind(np.arange(3), np.array([1, 2]), names, what="item ids")
    """
    # Two sides with row numbers join by row. If neither side has row numbers, the
    # caller counts how many ids match.
    if are_row_numbers(first) == are_row_numbers(second):
        return
    if are_row_numbers(first):
        numbers, ids = comparable(first, second)
        numbered, named = names
    else:
        numbers, ids = comparable(second, first)
        named, numbered = names
    # Users 0 to 9 in both tables have row numbers as ids. Only ids beyond the row
    # numbers show that the two sides are numbered differently.
    foreign = ids[~np.isin(ids, numbers)]
    if len(foreign) and not np.isin(numbers, ids).all():
        got = (
            f"row numbers 0 to {len(numbers) - 1} in {numbered} and ids such as "
            f"{foreign[0]} in {named}"
        )
        raise must_be(
            what,
            "of one kind on both sides",
            got,
            Sentence("give both sides the same ids, or {}", otherwise),
        )


def require_most(
    n_matched: int, n_rows: int, noun: str, source: str, *, partial: bool
) -> None:
    """Raise InputError if less than half of the rows match, unless `partial` is True.

    Examples
    --------
    >>> require_most(5, 10, "items", "movies.csv", partial=False)
    >>> require_most(4, 10, "items", "movies.csv", partial=True)
    >>> require_most(4, 10, "items", "movies.csv", partial=False)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: at least half of the items must be found in movies.csv;
    got 4 of 10; check the ids, ...
    """
    if not partial and n_matched < LEAST_SHARE * n_rows:
        remedy = Sentence(
            "check the ids, or keep only the rows that match with {}",
            Option("partial", True),
        )
        raise must_be(
            f"at least half of the {noun}",
            f"found in {source}",
            f"{n_matched:,} of {n_rows:,}",
            remedy,
        )


def require_lengths(
    first: int, second: int, names: tuple[str, str], *, what: str
) -> None:
    """Raise InputError if two sides that are joined by row have different lengths.

    Examples
    --------
    >>> require_lengths(3, 4, ("the model", "movies.csv"), what="items")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the number of items joined by row must be the same on
    both sides; got 3
    in the model and 4 in ...
    """
    if first != second:
        got = f"{first:,} in {names[0]} and {second:,} in {names[1]}"
        raise must_be(
            f"the number of {what} joined by row",
            "the same on both sides",
            got,
            "join them by id",
        )


def without_ids(
    noun: str, model: str, other: str, *, option: str = "ids", when: str = ""
) -> InputError:
    """Build the error of a join that needs ids.

    Parameters
    ----------
    noun : str
        Noun of a row.
    model, other : str
        Names of the model without ids and of the table that is joined with it.
    option : str
        Keyword of the option that gives ids.
    when : str
        A clause that says where the option is given.

    Examples
    --------
    >>> str(without_ids("item", "the model", "movies.csv"))
    'item ids must be in the model, so that its rows can be found in movies.csv; got no
    ids; add them with ids, or ...'
    """
    given = Sentence("add them with {}", Option(option))
    if when:
        given = Sentence("{} {}", given, when)
    remedy = Sentence("{}, or {}", given, BY_ROW)
    return must_be(
        f"{noun} ids",
        f"in {model}, so that its rows can be found in {other}",
        "no ids",
        remedy,
    )
