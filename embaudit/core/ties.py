"""Choices and comparisons that do not depend on floating-point rounding.

The last bits of a dot product depend on the processor, the BLAS library and the order
of the sum. So numbers that are equal in exact arithmetic, such as the cosines of
duplicate rows, come out with tiny differences. A plain `argmax`, `argsort` or `>=`
would turn such a difference into another row, list or sentence. The functions of this
module treat numbers that differ by less than a tolerance as equal, and choose the
smallest index among equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Flags, Floats, Indices, Matrix
from embaudit.core.tolerances import EPS, LEAST_COSINE_ROUNDING, TIE

T = TypeVar("T")


def tie_tolerance(values: ArrayLike) -> float:
    """Return the largest difference of equal numbers: TIE times the largest magnitude.

    Infinite values are ignored.

    Examples
    --------
    >>> tie_tolerance([-2.0, 1.0, np.inf]), tie_tolerance([])
    (2e-09, 0.0)
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    return TIE * float(sizes[np.isfinite(sizes)].max(initial=0.0))


def first_largest(values: ArrayLike, tolerance: float | None = None) -> int:
    """Return the index of the first value equal to the largest one in a tolerance.

    Parameters
    ----------
    values : array of shape (n,)
        Real numbers. NaN counts as smaller than any number.
    tolerance : float, optional
        Largest absolute difference of values that count as equal; by default
        `tie_tolerance(values)`.

    Examples
    --------
    >>> first_largest([1.0, 3.0, 3.0 + 1e-15]), first_largest([0.5, 0.6], tolerance=0.2)
    (1, 0)
    """
    values = _without_nan(values)
    if tolerance is None:
        tolerance = tie_tolerance(values)
    return int(np.argmax(values >= values.max() - tolerance))


def first_best(
    items: Sequence[T], key: Callable[[T], float], tolerance: float | None = None
) -> T:
    """Return the first item whose key equals the largest key, as in `first_largest`.

    Examples
    --------
    >>> first_best(["a", "bb", "cc"], key=len)
    'bb'
    """
    return items[first_largest([key(item) for item in items], tolerance)]


def largest_first(
    values: ArrayLike, tolerance: float | None = None
) -> NDArray[np.intp]:
    """Return the indices that sort values in descending order.

    Equal values keep the order of their indices. For this, the sorted values are cut
    into groups: a group begins with the largest value that is in no group yet, and
    holds all values that differ from it by at most the tolerance. So a value comes
    before a larger one only if the two differ by at most the tolerance.

    Parameters
    ----------
    values : array of shape (n,)
        Real numbers. NaN counts as smaller than any number.
    tolerance : float, optional
        Largest absolute difference of values that count as equal; by default
        `tie_tolerance(values)`.

    Examples
    --------
    >>> largest_first([1.0, 3.0, 3.0 + 1e-15, 2.0]).tolist()
    [1, 2, 3, 0]
    """
    values = _without_nan(values)
    if tolerance is None:
        tolerance = tie_tolerance(values)
    order = np.argsort(-values, kind="stable")
    groups = np.zeros(len(order), dtype=np.intp)
    group = 0
    largest = values[order[0]] if len(order) else np.nan
    for place, value in enumerate(values[order].tolist()):
        if value < largest - tolerance:
            group += 1
            largest = value
        groups[place] = group
    return np.asarray(order[np.lexsort((order, groups))], dtype=np.intp)


def leading_places(values: ArrayLike, n: int, tolerance: float) -> NDArray[np.intp]:
    """Return the indices of the `n` largest values, as `largest_first` sorts them.

    Only values that can be among them are sorted.

    Parameters
    ----------
    values : array of shape (m,)
        Real numbers without NaN.
    n : int
        Number of indices; fewer are returned if there are fewer values.
    tolerance : float
        Largest absolute difference of values that count as equal.

    Examples
    --------
    >>> leading_places([1.0, 3.0, 3.0 + 1e-15, 2.0], 3, 1e-9).tolist()
    [1, 2, 3]
    """
    values = np.asarray(values, dtype=np.float64)
    n = min(n, len(values))
    if n == 0:
        return np.zeros(0, dtype=np.intp)
    last_listed = np.partition(values, -n)[-n]
    candidates = np.flatnonzero(values >= last_listed - tolerance)
    return np.asarray(candidates[largest_first(values[candidates], tolerance)][:n])


def order_lists(indices: Indices, values: Floats, tolerance: float) -> Indices:
    """Sort the entries of many lists as `largest_first` does, ties by their indices.

    Parameters
    ----------
    indices : array of int (m, n)
        Row numbers of the entries of each list.
    values : array of shape (m, n)
        Their values, in descending order in each list, without NaN.
    tolerance : float
        Largest absolute difference of values that count as equal.

    Returns
    -------
    array of int (m, n)
        The indices of each list in their new order.

    Examples
    --------
    >>> indices, values = np.array([[7, 4, 9]]), np.array([[0.5, 0.5 - 1e-15, 0.2]])
    >>> order_lists(indices, values, tolerance=1e-9).tolist()
    [[4, 7, 9]]
    """
    groups = np.zeros(indices.shape, dtype=np.intp)
    largest = values[:, 0]
    for column in range(1, indices.shape[1]):
        starts = values[:, column] < largest - tolerance
        groups[:, column] = groups[:, column - 1] + starts
        largest = np.where(starts, values[:, column], largest)
    order = np.lexsort((indices, groups), axis=1)
    return np.asarray(np.take_along_axis(indices, order, axis=1))


def level_ties(values: Floats) -> Floats:
    """Make values of each row that equal each other within a tolerance exactly equal.

    Sorted values are cut where two neighbours differ by more than TIE times the largest
    finite magnitude of the row. Each value is replaced by the smallest one between the
    same two cuts.

    Parameters
    ----------
    values : array of shape (m, n)
        Numbers without NaN; a row can hold -inf once.

    Examples
    --------
    >>> level_ties(np.array([[0.5, 0.25 + 1e-15, 0.25, -np.inf]])).tolist()
    [[0.5, 0.25, 0.25, -inf]]
    """
    sizes = np.abs(values)
    tolerance = TIE * np.where(np.isfinite(sizes), sizes, 0).max(axis=1, keepdims=True)
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    starts = np.zeros(values.shape, dtype=np.intp)
    is_cut = np.diff(ascending, axis=1) > tolerance
    starts[:, 1:] = np.where(is_cut, np.arange(1, values.shape[1]), 0)
    starts = np.maximum.accumulate(starts, axis=1)
    result = np.empty_like(values)
    levels = np.take_along_axis(ascending, starts, axis=1)
    np.put_along_axis(result, order, levels, axis=1)
    return result


def above_and_tied(
    values: Matrix, last: Matrix, tolerance: float | Matrix
) -> tuple[Flags, Flags]:
    """Compare candidates of lists with the last entry of each list.

    The last entry itself is tied, so a full list has at least one tied candidate.

    Parameters
    ----------
    values : array of shape (m, c)
        Values of candidates by which the lists are ordered; -inf for a candidate that
        cannot be listed.
    last : array of shape (m, 1)
        Value of the last entry of each list. It is finite.
    tolerance : float or array of shape (m, c)
        Largest absolute difference of values that count as equal.

    Returns
    -------
    is_above, is_tied : array of shape (m, c)
        Flags of candidates whose values are larger than the last one, and of candidates
        whose values equal it.

    Examples
    --------
    >>> values = np.array([[0.9, 0.5, 0.5 - 1e-15, 0.2]])
    >>> is_above, is_tied = above_and_tied(values, np.array([[0.5]]), 1e-9)
    >>> is_above.tolist(), is_tied.tolist()
    ([[True, False, False, False]], [[False, True, True, False]])
    """
    gaps = values - last
    return np.asarray(gaps > tolerance), np.asarray(np.abs(gaps) <= tolerance)


def tied_chances(n_above: Indices, n_tied: Indices, length: int) -> Floats:
    """Return the chance of a candidate that ties with the last entry to be listed.

    All candidates above the last entry are listed. The tied candidates share the other
    places. If all orders of tied candidates are equally likely, the chance is

        (length − n_above) / n_tied.

    Parameters
    ----------
    n_above, n_tied : array of shape (m,)
        Number of candidates above the last entry of each list, and of candidates that
        tie with it, as `above_and_tied` flags them.
    length : int
        Number of places of a list.

    Returns
    -------
    array of shape (m,)
        1 if no candidate ties with the last entry, because then the list is not full.

    Examples
    --------
    >>> tied_chances(np.array([2, 1]), np.array([1, 10]), length=3)
    array([1. , 0.2])
    """
    n_places = length - n_above
    return np.asarray(np.clip(n_places / np.maximum(n_tied, 1), 0, 1))


def cosine_rounding(n_columns: int) -> float:
    """Bound the difference between two computed values of the same cosine.

    If only the order of the sums or the processor changes, a cosine of rows of k
    columns moves by at most 2 (k + 3) eps. The returned value is twice that bound and
    at least 1e-13, so that it also covers rows that were rotated. Neighbour lists use
    it instead of TIE, because cosines of near-copies that differ by 1e-11 do have an
    order.

    Examples
    --------
    >>> f"{cosine_rounding(2):.1e}", f"{cosine_rounding(4096):.1e}"
    ('1.0e-13', '3.6e-12')
    """
    return max(LEAST_COSINE_ROUNDING, 4 * (n_columns + 3) * EPS)


def reaches(value: float, limit: float) -> bool:
    """Return True if a number of size 1 is at least a limit, up to TIE.

    Examples
    --------
    >>> reaches(0.1 + 0.2 - 0.25, 0.05), reaches(0.04, 0.05), reaches(np.nan, 0.05)
    (True, False, False)
    """
    return bool(value >= limit - TIE)


def exceeds(value: float, limit: float) -> bool:
    """Return True if a number of size 1 is larger than a limit by more than TIE.

    Examples
    --------
    >>> exceeds(0.1 + 0.2, 0.3), exceeds(0.31, 0.3), exceeds(np.nan, 0.3)
    (False, True, False)
    """
    return bool(value > limit + TIE)


def _without_nan(values: ArrayLike) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.isnan(values), -np.inf, values)
