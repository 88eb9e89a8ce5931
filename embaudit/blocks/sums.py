"""Sums of squares and products by block in float64, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats

Read: TypeAlias = Callable[[int, int], NDArray[Any]]
"""Function that reads the entries from a start to before a stop, in C order."""

PIECE_ENTRIES = 2**18
"""Number of entries that are read and summed at a time: 2 MiB in float64."""


class NotFiniteError(ValueError):
    """An entry of a tensor is NaN or infinite. Its argument is the side, "x" or "y"."""


def require_finite(x: Floats, y: Floats) -> None:
    """Raise NotFiniteError if an entry is NaN or infinite."""
    for side, entries in (("x", x), ("y", y)):
        if not np.isfinite(entries).all():
            raise NotFiniteError(side)


def block_sums(read_x: Read, read_y: Read, n_blocks: int, block_size: int) -> Floats:
    """Compute `Σ x²`, `Σ y²` and `Σ x y` over the entries of each block.

    Parameters
    ----------
    read_x, read_y : callable
        Read the entries of both tensors, which have the same shape.
    n_blocks, block_size : int
        The blocks follow each other in C order and have `block_size` entries each.

    Returns
    -------
    array of shape (3, n_blocks)
        Sums of `x²`, `y²` and `x y`; not finite if they exceed float64.

    Raises
    ------
    NotFiniteError
        If an entry is NaN or infinite.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
    >>> def read_x(start, stop):
    ...     return x[start:stop]
    >>> def read_y(start, stop):
    ...     return y[start:stop]
    >>> block_sums(read_x, read_y, n_blocks=2, block_size=2)
    array([[ 5., 25.],
           [ 2.,  2.],
           [ 3.,  7.]])
    """
    sums = np.zeros((3, n_blocks))
    for start, stop in _pieces(n_blocks, block_size):
        # A piece holds whole blocks, or a part of one block.
        blocks = slice(start // block_size, (stop + block_size - 1) // block_size)
        n = blocks.stop - blocks.start
        x = np.asarray(read_x(start, stop), dtype=np.float64).reshape(n, -1)
        y = np.asarray(read_y(start, stop), dtype=np.float64).reshape(n, -1)
        # A sum that exceeds float64 becomes infinite or NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            sums[0, blocks] += np.einsum("bi,bi->b", x, x)
            sums[1, blocks] += np.einsum("bi,bi->b", y, y)
            sums[2, blocks] += np.einsum("bi,bi->b", x, y)
        if not np.isfinite(sums[:, blocks]).all():
            require_finite(x, y)
    return sums


def _pieces(n_blocks: int, block_size: int) -> Iterator[tuple[int, int]]:
    """Yield start and stop of each piece: as many blocks as fit, or a part of one."""
    n_entries = n_blocks * block_size
    if block_size <= PIECE_ENTRIES:
        blocks_per_piece = PIECE_ENTRIES // block_size
        step = blocks_per_piece * block_size
        for start in range(0, n_entries, step):
            yield start, min(start + step, n_entries)
        return
    for block_start in range(0, n_entries, block_size):
        block_stop = block_start + block_size
        for start in range(block_start, block_stop, PIECE_ENTRIES):
            yield start, min(start + PIECE_ENTRIES, block_stop)
