"""Numbers of lists that hold a row by chance, if all rows are equally popular.

The null hypothesis is equal popularity: each of m queries lists n of N rows, every set
of n rows is equally likely, and the lists of different queries are independent. Then
the number of lists that hold a given row is binomial with m trials and the probability
n/N, and a row is in no list with the probability (1 − n/N)^m.
"""

from __future__ import annotations

import math

SURE = 0.99
"""Probability with which no row is in more lists than `most_by_chance`."""
MOST_UNREACHED = 0.05
"""Queries are enough if chance leaves at most this share of the rows in no list."""


def unreached_by_chance(n_lists: int, n: int, n_rows: int) -> float:
    """Return the expected share of the rows that no list holds: `(1 − n/N)^m`.

    Parameters
    ----------
    n_lists : int
        Number of lists m.
    n : int
        Length n of a list, below N.
    n_rows : int
        Number of rows N.

    Examples
    --------
    >>> round(unreached_by_chance(1_000, 10, 10_000), 3)
    0.368
    """
    return math.exp(n_lists * math.log1p(-n / n_rows))


def deviation_by_chance(n_lists: int, n: int, n_rows: int) -> float:
    """Return the standard deviation of the number of rows that no list holds.

    Let p be the probability that one given row is in no list, and p₂ the probability
    that two given rows both are in no list. The variance is
    `N p (1 − p) + N (N − 1) (p₂ − p²)`. A list holds neither of two given rows with the
    probability `(1 − n/N) (1 − n/(N − 1))`.

    Examples
    --------
    One list of one row leaves exactly N − 1 rows out.

    >>> deviation_by_chance(1, 1, 10), round(deviation_by_chance(100, 10, 1_000), 2)
    (0.0, 9.84)
    """
    one = unreached_by_chance(n_lists, n, n_rows)
    both = 0.0
    if n < n_rows - 1:
        both = one * math.exp(n_lists * math.log1p(-n / (n_rows - 1)))
    variance = n_rows * one * (1 - one) + n_rows * (n_rows - 1) * (both - one**2)
    # Rounding can leave a variance of 0 a little below 0.
    if variance < 1e-9 * n_rows * one:
        return 0.0
    return math.sqrt(variance)


def most_by_chance(n_lists: int, n: int, n_rows: int) -> int:
    """Return a number of lists that no row exceeds, with a probability of 99 %.

    It is the smallest c with `N P(X > c) <= 0.01` for the binomial number X of lists
    that hold one row. By the bound of Bonferroni the probability that some row is in
    more than c lists is at most 1 %.

    Examples
    --------
    >>> most_by_chance(1_000, 10, 10_000), most_by_chance(3, 10, 10_000)
    (9, 2)
    """
    from scipy.stats import binom

    return int(binom.isf((1 - SURE) / n_rows, n_lists, n / n_rows))


def lists_needed(n: int, n_rows: int) -> int:
    """Return the smallest number of lists that by chance miss at most 5 % of the rows.

    It is about 3 N/n.

    Examples
    --------
    >>> lists_needed(10, 10_000), unreached_by_chance(2_995, 10, 10_000) < 0.05
    (2995, True)
    """
    return math.ceil(math.log(MOST_UNREACHED) / math.log1p(-n / n_rows))
