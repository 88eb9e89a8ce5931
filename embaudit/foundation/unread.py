"""Numbers that still lie in a file: their shape and type are known, and they are checked when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.remote import naming

AT_ONCE = 1 << 26
"""Bytes up to which an array is read and checked while its file is opened, which takes no time that is felt."""


def _same(numbers: NDArray[Any] | None) -> NDArray[Any] | None:
    return numbers


@dataclass(frozen=True, eq=False)
class Unread:
    """One array of a file, read on first use and then kept; an error names the file and the array.

    Examples
    --------
    >>> rows = Unread("v.npz", "Q", (1, 2), np.dtype(float), lambda: np.ones((1, 2)), on_disk=True)
    >>> rows.waits, rows.checked(lambda found, name: found, "item factors")
    (False, array([[1., 1.]]))
    """

    path: str
    """The file."""
    array: str
    """What the file calls the array; empty where it stands alone."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """As it is stored."""
    read: Callable[[], NDArray[Any] | None]
    """Reads it; None for what the file does not hold after all."""
    on_disk: bool
    """Whether its numbers are still there, and not in memory."""
    _known: dict[str, Any] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to other processes as its numbers: how a file was opened does not travel."""
        numbers = self._known["found"] if "found" in self._known else self.read()
        read = partial(_same, numbers)
        return Unread, (self.path, self.array, self.shape, self.dtype, read, self.on_disk, self._known)

    @property
    def waits(self) -> bool:
        """Whether it is so large that it is left alone until it is used."""
        return self.on_disk and prod(self.shape) * self.dtype.itemsize > AT_ONCE

    def checked(self, check: Callable[[NDArray[Any], str], Any], what: str) -> Any:
        """Return what a check makes of the array, which is called `what`; it is read and checked once.

        Raises
        ------
        InputError
            As the check does, and it names the file.
        """
        if "found" not in self._known:
            with naming(self.path):
                given = self.read()
                called = f"{what} ({self.array})" if self.array else what
                self._known["found"] = None if given is None else check(given, called)
        return self._known["found"]
