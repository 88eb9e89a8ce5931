"""The first difference between the record of an audit and its recomputation."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from embaudit.core.checked import is_number
from embaudit.core.tolerances import ROUNDING, TIE
from embaudit.errors import escaped

LONGEST_TEXT = 120
"""Number of characters of a value that a difference quotes."""
OWN_SCALE = ("tolerance", "chance")
"""Keys of small numbers that are not rounding errors."""
NEIGHBOUR_LISTS = ("before", "after")
"""Keys of neighbour lists: pairs of a name and a cosine, by descending cosine."""
DRIFT = re.compile(
    r"(^|\.)drift\[\d+\]\.max_(abs|rel)$|^head\..*\.change$|^notes\[0\]\.value$"
)
"""Places of the drift of predictions, which the first note reports."""
FILE = re.compile(r"(^|\.)(source|files(\[\d+\])?)$|^options\.queries$")
"""Places of names of files, which can be in another folder."""
ABSENT = object()
"""Stands for the value of a key that one of two records does not have."""


@dataclass(frozen=True)
class Difference:
    """A place where the record of an audit differs from the recomputed audit."""

    place: str
    """Keys and positions that lead to the value, such as `notes[2].value`."""
    recorded: str
    """Value in the record."""
    recomputed: str
    """Value of the recomputation."""
    meaning: str = ""
    """Sentences that explain the difference; empty if the place explains it."""
    remedy: str = ""
    """Advice to the user, as a clause; empty if there is none."""

    def __str__(self) -> str:
        """Return the meaning, the two values and the remedy."""
        text = f"{self.place}: the file says {self.recorded}; it is {self.recomputed}"
        if self.remedy:
            text = f"{text}; {self.remedy}"
        if self.meaning:
            text = f"{self.meaning} {text}"
        return f"{text}."


def compare_records(
    recorded: Mapping[str, Any], recomputed: Mapping[str, Any]
) -> tuple[int, Difference | None]:
    """Compare every number, text and key of two records of audits.

    Numbers have to agree up to a relative error of `TIE`. The drift of predictions is
    rounding, which differs between machines, so both values have to lie within the
    tolerance. Neighbours whose cosines tie can be in another order, and files can be in
    another folder.

    Returns
    -------
    n_numbers : int
        Number of numbers before the first difference, or of all numbers.
    difference : Difference or None
        The first difference; None if the records agree.

    Examples
    --------
    >>> old = {"drift": [], "head": None, "rms": 0.25, "files": ["old/m.npz"]}
    >>> new = {"drift": [], "head": None, "rms": 0.25, "files": ["new/m.npz"]}
    >>> compare_records(old, new)
    (1, None)
    >>> print(compare_records(old, new | {"rms": 0.5})[1])
    rms: the file says 0.25; it is 0.5.
    """
    n_numbers = 0
    for leaf in _leaves("", recorded, recomputed, _largest_tolerance(recomputed)):
        if not leaf.agrees:
            difference = Difference(
                escaped(leaf.place),
                quoted_value(leaf.recorded),
                quoted_value(leaf.recomputed),
            )
            return n_numbers, difference
        if is_number(leaf.recomputed):
            n_numbers += 1
    return n_numbers, None


def quoted_value(value: Any) -> str:
    """Write a value as JSON does.

    Long texts are cut, and only the number of entries is written for a list or object.

    Examples
    --------
    >>> quoted_value("linear 1"), quoted_value([1, 2]), quoted_value(ABSENT)
    ('"linear 1"', 'a list of 2', 'nothing')
    """
    if value is ABSENT:
        return "nothing"
    if isinstance(value, Mapping):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}..."
    return escaped(text)


@dataclass(frozen=True)
class _Leaf:
    """Two values at one place of two records."""

    place: str
    """Keys and positions that lead to the values."""
    recorded: Any
    """Value in the record; `ABSENT` if it does not have the key."""
    recomputed: Any
    """Value of the recomputation; `ABSENT` if it does not have the key."""
    tolerance: float
    """Largest drift of a prediction by rounding, at this place."""

    @property
    def agrees(self) -> bool:
        """True if the two values agree, up to rounding and up to folders."""
        if is_number(self.recorded) and is_number(self.recomputed):
            key = self.place.rpartition(".")[2]
            is_close = _are_close(self.recorded, self.recomputed, key=key)
            return is_close or self._is_rounding
        if isinstance(self.recorded, str) and isinstance(self.recomputed, str):
            if FILE.search(self.place):
                return Path(self.recorded).name == Path(self.recomputed).name
            return self.recorded == self.recomputed
        # True equals 1 in Python, but they are two values in JSON.
        same_type = type(self.recorded) is type(self.recomputed)
        return same_type and bool(self.recorded == self.recomputed)

    @property
    def _is_rounding(self) -> bool:
        """True if both numbers are drift of predictions within the tolerance."""
        return (
            DRIFT.search(self.place) is not None
            and 0 <= self.recorded <= self.tolerance
            and 0 <= self.recomputed <= self.tolerance
        )


def _leaves(
    place: str, recorded: Any, recomputed: Any, tolerance: float
) -> Iterator[_Leaf]:
    """Yield all pairs of values of two records, in the order of their keys.

    Neighbour lists are yielded as equal if they differ only in the order of neighbours
    with tied cosines.
    """
    if isinstance(recorded, Mapping) and isinstance(recomputed, Mapping):
        tolerance = recomputed.get("tolerance", tolerance)
        for key in dict.fromkeys([*recorded, *recomputed]):
            old, new = recorded.get(key, ABSENT), recomputed.get(key, ABSENT)
            if key in NEIGHBOUR_LISTS and _are_equal_up_to_ties(old, new):
                old = new
            inner_place = str(key)
            if place:
                inner_place = f"{place}.{key}"
            yield from _leaves(inner_place, old, new, tolerance)
    elif (
        isinstance(recorded, list)
        and isinstance(recomputed, list)
        and len(recorded) == len(recomputed)
    ):
        for position, (old, new) in enumerate(zip(recorded, recomputed, strict=True)):
            yield from _leaves(f"{place}[{position}]", old, new, tolerance)
    else:
        yield _Leaf(place, recorded, recomputed, tolerance)


def _are_close(recorded: float, recomputed: float, key: str = "") -> bool:
    """Return True if two numbers agree up to rounding."""
    absolute = ROUNDING
    if key in OWN_SCALE:
        absolute = 0.0
    return math.isclose(recorded, recomputed, rel_tol=TIE, abs_tol=absolute)


def _are_equal_up_to_ties(recorded: Any, recomputed: Any) -> bool:
    """Return True if two neighbour lists are equal up to the order of ties."""
    if not (_is_neighbour_list(recorded) and _is_neighbour_list(recomputed)):
        return False
    if len(recorded) != len(recomputed):
        return False
    for (_, old_cosine), (_, new_cosine) in zip(recorded, recomputed, strict=True):
        if not _are_close(old_cosine, new_cosine):
            return False
    # Neighbours with tied cosines form a run. The names of each run are compared as a
    # set. The runs of the recomputed list also divide the recorded list, because both
    # have the same cosines.
    runs = _runs_of_ties([cosine for _, cosine in recomputed])
    return _names_by_run(runs, recorded) == _names_by_run(runs, recomputed)


def _is_neighbour_list(value: Any) -> bool:
    """Return True for a list of pairs whose second entry is a number."""
    if not isinstance(value, list):
        return False
    return all(
        isinstance(entry, list) and len(entry) == 2 and is_number(entry[1])
        for entry in value
    )


def _runs_of_ties(cosines: Sequence[float]) -> list[int]:
    """Return the number of the run of tied cosines that each cosine belongs to.

    Examples
    --------
    >>> _runs_of_ties([0.9, 0.5, 0.5, 0.1]), _runs_of_ties([])
    ([0, 1, 1, 2], [])
    """
    if not cosines:
        return []
    runs = [0]
    for cosine, next_cosine in pairwise(cosines):
        is_tie = cosine - next_cosine <= TIE
        runs.append(runs[-1] if is_tie else runs[-1] + 1)
    return runs


def _names_by_run(runs: Sequence[int], entries: Sequence[Any]) -> list[tuple[int, str]]:
    """Return the names of neighbours with the run of each, sorted."""
    # A name can be a text or a number, so names are sorted by what `repr` writes.
    return sorted(
        (run, repr(name)) for run, (name, _) in zip(runs, entries, strict=True)
    )


def _largest_tolerance(record: Mapping[str, Any]) -> float:
    """Return the largest tolerance for the drift of a prediction."""
    drifts, head = list(record["drift"]), record["head"]
    if head is not None:
        drifts += [head["centred"], *head["equivalents"]]
    return max((float(drift["tolerance"]) for drift in drifts), default=0.0)
