"""A number with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

from embaudit.core.words import percent_with_interval


@dataclass(frozen=True)
class Estimate:
    """A share or another number, with the ends of its interval.

    Examples
    --------
    >>> str(Estimate(0.25, 0.2, 0.31))
    '25 % (20 % to 31 %)'
    """

    value: float
    """The number; NaN if it is undefined."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end."""

    def __str__(self) -> str:
        """Write a share in percent."""
        return percent_with_interval(self.value, (self.low, self.high))

    def by_limit(self, limit: float) -> str:
        """Write a share with enough decimals to show on which side of a limit it lies.

        Examples
        --------
        >>> Estimate(0.53, 0.503, 0.557).by_limit(0.5)
        '53.0 % (50.3 % to 55.7 %)'
        """
        return percent_with_interval(self.value, (self.low, self.high), [limit])

    def times(self, factor: float) -> Estimate:
        """Return the number and its interval, multiplied by a positive factor."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)
