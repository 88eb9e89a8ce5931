"""An array that stands alone has no name: what it is called by a file does not count."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from embaudit.io.codecs.arrays import UNNAMED, Arrays, Located, Read


def is_single(source: Arrays) -> bool:
    """Whether a source is one array without a name, in memory or in a .npy file."""
    return list(source.tensors) == [UNNAMED]


class _Named:
    """The one array of a source under another name."""

    def __init__(self, source: Arrays, name: str) -> None:
        self._source = source
        self.tensors = {name: source.tensors[UNNAMED]}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._source[UNNAMED]

    def file(self, name: str) -> Path | None:  # noqa: ARG002
        """Return the file that the array lies in; None for one in memory."""
        return self._source.file(UNNAMED) if isinstance(self._source, Located) else None

    def open(self, name: str) -> AbstractContextManager[Read]:  # noqa: ARG002
        """Read the array."""
        return self._source.open(UNNAMED)


def named_alike(x: Arrays, y: Arrays) -> tuple[Arrays, Arrays]:
    """Give an array without a name the name of the one array on the other side.

    Examples
    --------
    >>> from embaudit.blocks.sources import as_source
    >>> x, y = named_alike(as_source([1.0, 2.0], "x"), as_source({"bias": [3.0, 4.0]}, "y"))
    >>> list(x.tensors), list(y.tensors)
    (['bias'], ['bias'])
    """
    (first, *more), (other, *others) = x.tensors, y.tensors
    if more or others or first == other or UNNAMED not in (first, other):
        return x, y
    return (_Named(x, other), y) if is_single(x) else (x, _Named(y, first))


def whole(source: Arrays) -> NDArray[Any]:
    """Read the one array of a source, flat.

    Examples
    --------
    >>> from embaudit.blocks.sources import as_source
    >>> whole(as_source([[1.0, 2.0], [3.0, 4.0]], "x"))
    array([1., 2., 3., 4.])
    """
    return source[UNNAMED].reshape(-1)
