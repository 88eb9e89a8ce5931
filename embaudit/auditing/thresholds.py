"""From which numbers on what was measured is reported; what is proven or shown depends on none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from embaudit.errors import must_be
from embaudit.foundation.checked import is_number
from embaudit.foundation.words import nearest_to


@dataclass(frozen=True)
class Threshold:
    """A number from which a finding is reported, or graver."""

    name: str
    """As settings write it."""
    code: str
    """The finding that it decides on."""
    default: float
    """Where nobody says otherwise."""
    words: str
    """What is compared with it."""
    least: float
    """The smallest at which what is said of it is still true; the largest is 1."""

    def __str__(self) -> str:
        return f"{self.name}, {self.default:g} unless set: {self.words}."

    def checked(self, value: object) -> float:
        """Refuse what is outside its range."""
        if not (is_number(value) and self.least <= value <= 1):  # type: ignore[operator]
            raise must_be(f"the threshold {self.name}", f"a number from {self.least:g} to 1", value)
        return float(value)  # type: ignore[arg-type]


THRESHOLDS: Mapping[str, Threshold] = MappingProxyType(
    {
        one.name: one
        for one in (
            Threshold("copies", "EMB401", 0.01, "share of the rows with a copy from which that is told", 0.001),
            Threshold("many-copies", "EMB401", 0.25, "share from which it is an issue; below, it is a tip", 0.001),
            Threshold("tail", "EMB402", 0.1, "how far apart the shares of neighbours that stay have to be", 0.05),
            Threshold("common-direction", "EMB403", 0.5, "mean cosine of two rows from which that is told", 0.2),
            Threshold("hubs", "EMB404", 0.1, "share of all places from which the rows that fill it are hubs", 0.05),
            Threshold("lengths", "EMB405", 0.95, "rank correlation, of either sign, from which that is told", 0.9),
            Threshold("few-dimensions", "EMB406", 0.9, "share of the squared cosines that the few carry", 0.5),
        )
    }
)
"""Every threshold by its name."""
DEFAULTS: Mapping[str, float] = MappingProxyType({name: one.default for name, one in THRESHOLDS.items()})
"""What counts where nobody says otherwise."""


def thresholds_of(own: Mapping[str, float]) -> Mapping[str, float]:
    """Return all thresholds, some of them one's own.

    Raises
    ------
    InputError
        For a name that is none, with the nearest one, and for a number outside its range.

    Examples
    --------
    >>> thresholds_of({"hubs": 0.3})["hubs"], thresholds_of({})["hubs"]
    (0.3, 0.1)
    >>> thresholds_of({"hub": 0.3})
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a threshold must be one of copies, many-copies, tail, common-direction, hubs, lengths,
    few-dimensions; got 'hub'; the nearest one is hubs.
    """
    if not isinstance(own, Mapping):
        raise must_be("thresholds", 'a mapping of names to numbers, such as {"hubs": 0.2}', repr(own))
    for name in own:
        if name not in THRESHOLDS:
            raise must_be("a threshold", f"one of {', '.join(THRESHOLDS)}", repr(name), nearest_to(name, THRESHOLDS))
    return {**DEFAULTS, **{name: THRESHOLDS[name].checked(value) for name, value in own.items()}}
