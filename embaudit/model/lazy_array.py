"""Arrays that stay in a file until they are used: their shape and type are known before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError

AT_ONCE = 1 << 26
"""Bytes up to which an array is read and checked while its file is opened, which takes no time that is felt."""


def _same(numbers: NDArray[Any] | None) -> NDArray[Any] | None:
    return numbers


@dataclass(frozen=True, eq=False)
class LazyArray:
    """One array of a file, read and checked on first use and then held; an error names the file and the array.

    Examples
    --------
    >>> rows = LazyArray("v.npz", "Q", (1, 2), np.dtype(float), lambda: np.ones((1, 2)), on_disk=True)
    >>> rows.is_deferred, rows.checked(lambda numbers, name: numbers, "item factors")
    (False, array([[1., 1.]]))
    """

    path: str
    """The file, or the URL it came from."""
    name: str
    """The array in the file; empty where it stands alone."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """Type of the stored numbers."""
    read: Callable[[], NDArray[Any] | None]
    """Reads it; None for what the file does not hold after all."""
    on_disk: bool
    """True while its numbers are still there, and not in memory."""
    _held: dict[str, Any] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to other processes as its numbers: how a file was opened does not travel."""
        numbers = self._held["numbers"] if "numbers" in self._held else self.read()
        read = partial(_same, numbers)
        return LazyArray, (
            self.path,
            self.name,
            self.shape,
            self.dtype,
            read,
            self.on_disk,
            self._held,
        )

    @property
    def is_deferred(self) -> bool:
        """True if it is so large that it is left alone until it is used."""
        return self.on_disk and prod(self.shape) * self.dtype.itemsize > AT_ONCE

    def checked(self, check: Callable[[NDArray[Any], str], Any], title: str) -> Any:
        """Return the result of a check of the array under its title; it is read and checked once.

        Raises
        ------
        InputError
            As the check does, with the file in front.
        """
        # The dictionary is shared by copies of a side, so that a file is read once for all of them.
        if "numbers" not in self._held:
            try:
                numbers = self.read()
                called = f"{title} ({self.name})" if self.name else title
                self._held["numbers"] = (
                    None if numbers is None else check(numbers, called)
                )
            except InputError as error:
                if self.path in str(error):
                    raise
                raise type(error)("{}: {}", self.path, error.sentence) from error
        return self._held["numbers"]
