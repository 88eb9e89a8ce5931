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

    def times(self, factor: float) -> Estimate:
        """Return the number and its interval, multiplied by a positive factor."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)
