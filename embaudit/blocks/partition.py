"""How tensors are cut into blocks: whole tensors, rows, columns, heads, chunks, coordinates, names, labels.

Every partition is one formula: read in C order, entry p of a tensor lies in block `(p // inner) % count`, or between
two given edges. So a tensor of any size is cut while it streams by.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import MOST_COUNT, as_count, as_list, is_integer
from embaudit.io.codecs.arrays import Shape


@dataclass(frozen=True)
class Layout:
    """Entry p of a tensor read in C order belongs to block `(p // inner) % count`.

    Examples
    --------
    >>> Layout(inner=2, count=3).cuts(1, 5)
    (0, array([0, 1, 3]))
    """

    inner: int
    """Entries in a row that share a block."""
    count: int
    """Blocks of the tensor."""

    @property
    def cycle(self) -> int:
        """Entries after which the blocks start again."""
        return self.inner * self.count

    def cuts(self, start: int, stop: int) -> tuple[int, NDArray[np.intp]]:
        """Return the first block of entries `start:stop`, which lie in one cycle, and where each block begins."""
        first = start // self.inner
        edges = np.arange(first, (stop - 1) // self.inner + 1, dtype=np.intp) * self.inner - start
        edges[0] = 0
        return first % self.count, edges


@dataclass(frozen=True, eq=False)
class EdgeLayout:
    """Entry p belongs to the block whose edges enclose it: `edges[b] <= p < edges[b + 1]`.

    Examples
    --------
    >>> EdgeLayout(np.array([0, 2, 5])).cuts(1, 5)
    (0, array([0, 1]))
    """

    edges: NDArray[np.intp]

    @property
    def count(self) -> int:
        """Blocks of the tensor."""
        return len(self.edges) - 1

    @property
    def cycle(self) -> int:
        """Entries of the tensor."""
        return int(self.edges[-1])

    def cuts(self, start: int, stop: int) -> tuple[int, NDArray[np.intp]]:
        """Return the first block of entries `start:stop` and where each block begins."""
        first, last = np.searchsorted(self.edges, [start, stop - 1], side="right") - 1
        edges = self.edges[first : last + 1] - start
        edges[0] = 0
        return int(first), edges


AnyLayout: TypeAlias = Layout | EdgeLayout


def _row_size(shape: Shape) -> int:
    return int(np.prod(shape[1:], dtype=np.int64))


class Partition:
    """One block a tensor; every other partition changes one of three answers."""

    title = "tensors"
    patterns: tuple[str, ...] = ()
    """Shell patterns that names are asked to match, if any."""

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """Return the patterns that match none of the names."""
        return [p for p in self.patterns if not any(fnmatch.fnmatchcase(name, p) for name in names)]

    def owner(self, tensor: str) -> str:
        """Return the name its blocks go by; tensors of one owner share their blocks."""
        return tensor

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:  # noqa: ARG002
        """Return how the entries of a tensor fall into blocks."""
        return Layout(inner=int(np.prod(shape, dtype=np.int64)), count=1)

    def label(self, owner: str, shape: Shape, block: int) -> str:  # noqa: ARG002
        """Return what to call one block."""
        return owner


class Rows(Partition):
    """One block for each index of the first axis; a vector or a number is one block."""

    title = "rows"

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:
        """Cut along the first axis."""
        return Layout(_row_size(shape), shape[0]) if len(shape) > 1 else super().layout(tensor, shape)

    def label(self, owner: str, shape: Shape, block: int) -> str:
        """Name a block `tensor[row]`."""
        return f"{owner}[{block}]" if len(shape) > 1 else owner


class Columns(Partition):
    """One block for each column, all axes but the first taken as one; a vector or a number is one block."""

    title = "columns"

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:
        """Cut along the other axes."""
        return Layout(1, _row_size(shape)) if len(shape) > 1 else super().layout(tensor, shape)

    def label(self, owner: str, shape: Shape, block: int) -> str:
        """Name a block `tensor[:, column]`."""
        if len(shape) < 2:
            return owner
        return f"{owner}[:, {', '.join(str(int(i)) for i in np.unravel_index(block, shape[1:]))}]"


class Coordinates(Partition):
    """Every single entry is a block: its local cosine is the sign of a product."""

    title = "coordinates"

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:  # noqa: ARG002
        """Cut everywhere."""
        return Layout(1, int(np.prod(shape, dtype=np.int64)))

    def label(self, owner: str, shape: Shape, block: int) -> str:
        """Name a block `tensor[i, j]`."""
        return f"{owner}[{', '.join(str(int(i)) for i in np.unravel_index(block, shape))}]" if shape else owner


@dataclass(frozen=True)
class Chunks(Partition):
    """Blocks of `size` entries in C order; the last of a tensor may be shorter."""

    size: int

    def __post_init__(self) -> None:
        as_count(self.size, "the size of a chunk", most=MOST_COUNT)

    @property
    def title(self) -> str:  # type: ignore[override]
        """The partition in words."""
        return f"chunks of {self.size}"

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:  # noqa: ARG002
        """Cut every `size` entries."""
        return Layout(self.size, -(-int(np.prod(shape, dtype=np.int64)) // self.size))

    def label(self, owner: str, shape: Shape, block: int) -> str:
        """Name a block by its flat range."""
        stop = min((block + 1) * self.size, int(np.prod(shape, dtype=np.int64)))
        return f"{owner}[{block * self.size}:{stop}]"


@dataclass(frozen=True)
class Heads(Partition):
    """Attention heads: one axis of the tensors that match `pattern` in `count` equal parts, other tensors whole.

    Parameters
    ----------
    count : int
        Heads; must divide the axis.
    axis : int
        0 for query, key and value projections stored (out, in), 1 for the output projection.
    pattern : str
        Shell pattern of the tensors that have heads.
    """

    count: int
    axis: int = 0
    pattern: str = "*"

    def __post_init__(self) -> None:
        as_count(self.count, "the number of heads", most=MOST_COUNT)
        if not isinstance(self.pattern, str):
            raise must_be("the pattern of the tensors that have heads", "text", repr(self.pattern))
        as_count(self.axis, "the axis of the heads", least=0, most=1)

    @property
    def title(self) -> str:  # type: ignore[override]
        """The partition in words."""
        return f"{self.count} heads"

    def _has_heads(self, tensor: str, shape: Shape) -> bool:
        return len(shape) > self.axis and fnmatch.fnmatchcase(tensor, self.pattern)

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:
        """Cut the axis into equal parts."""
        if not self._has_heads(tensor, shape):
            return super().layout(tensor, shape)
        if shape[self.axis] % self.count:
            raise must_be(
                f"axis {self.axis} of {tensor}",
                f"divisible by {self.count} heads",
                shape[self.axis],
                "name the tensors that have heads, Heads(count, pattern='*attention*')",
            )
        inner = int(np.prod(shape[self.axis :], dtype=np.int64)) // self.count
        return Layout(inner, self.count)

    def label(self, owner: str, shape: Shape, block: int) -> str:
        """Name a block `tensor/head 3`."""
        return f"{owner}/head {block}" if self._has_heads(owner, shape) else owner


@dataclass(frozen=True)
class Names(Partition):
    """Tensors that a function of their name sends to the same text are one block.

    Examples
    --------
    >>> layers = Names.from_patterns(["layers.3.*", "*bias"])
    >>> [layers.owner(name) for name in ("layers.3.weight", "layers.4.bias", "head.weight")]
    ['layers.3.*', '*bias', 'other']
    """

    function: Callable[[str], str]
    patterns: tuple[str, ...] = ()
    title = "names"

    @classmethod
    def from_patterns(cls, patterns: Sequence[str] | Mapping[str, str]) -> Names:
        """Group by the first shell pattern that matches; a mapping also says what to call each group."""
        titled = patterns if isinstance(patterns, Mapping) else {pattern: pattern for pattern in patterns}

        def first_match(name: str) -> str:
            return next((title for title, p in titled.items() if fnmatch.fnmatchcase(name, p)), "other")

        return cls(first_match, tuple(titled.values()))

    def owner(self, tensor: str) -> str:
        """Return the group of a tensor."""
        return str(self.function(tensor))


@dataclass(frozen=True, eq=False)
class Labels(Partition):
    """Blocks of one array: entries of the same label, in order of first appearance.

    Examples
    --------
    >>> order, edges, names = Labels(["b", "a", "b"]).sorting(3)
    >>> order.tolist(), edges.tolist(), names
    ([0, 2, 1], [0, 2, 3], ['b', 'a'])
    """

    labels: ArrayLike
    title = "labels"

    def sorting(self, size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], list[str]]:
        """Return the order that brings equal labels together, the edges between them and their names."""
        given = np.ravel(np.asarray(self.labels))
        if len(given) != size:
            raise must_be("labels", f"one for each of the {size} entries", len(given))
        if given.dtype == object:
            given = given.astype(str)
        values, first, index = np.unique(given, return_index=True, return_inverse=True)
        appearance = np.argsort(first)
        rank = np.empty_like(appearance)
        rank[appearance] = np.arange(len(values))
        edges = np.concatenate([[0], np.bincount(rank[index]).cumsum()]).astype(np.intp)
        return np.argsort(rank[index], kind="stable"), edges, [str(value) for value in values[appearance]]


@dataclass(frozen=True)
class Boundaries(Partition):
    """Blocks of one array: where a new block begins, as numpy.split takes it.

    Examples
    --------
    >>> order, edges, names = Boundaries([2]).sorting(5)
    >>> edges.tolist(), names
    ([0, 2, 5], ['[0:2]', '[2:5]'])
    """

    cuts: Sequence[int]
    title = "boundaries"

    def sorting(self, size: int) -> tuple[slice, NDArray[np.intp], list[str]]:
        """Return the order as it is, the edges, and the ranges as names."""
        cuts = as_list(self.cuts, "boundaries", "[2, 5]")
        edges = [0, *cuts, size]
        if not all(map(is_integer, cuts)) or any(a >= b for a, b in pairwise(edges)):
            raise must_be("boundaries", f"increasing positions from 1 to {size - 1}", cuts)
        names = [f"[{a}:{b}]" for a, b in pairwise(edges)]
        return slice(None), np.array(edges, dtype=np.intp), names


@dataclass(frozen=True, eq=False)
class Edges(Partition):
    """The blocks of one array already in order, between given edges (what labels and boundaries become)."""

    edges: NDArray[np.intp]
    names: Sequence[str]
    title: str = "labels"

    def layout(self, tensor: str, shape: Shape) -> AnyLayout:  # noqa: ARG002
        """Cut at the edges."""
        return EdgeLayout(self.edges)

    def label(self, owner: str, shape: Shape, block: int) -> str:  # noqa: ARG002
        """Name a block by its label."""
        return self.names[block]


PartitionLike: TypeAlias = Partition | str | int | Callable[[str], str] | Sequence[str] | Mapping[str, str]

_NAMED: dict[str, Callable[[], Partition]] = {
    "tensors": Partition,
    "rows": Rows,
    "columns": Columns,
    "coordinates": Coordinates,
}
_SIZED: dict[str, Callable[[int], Partition]] = {"chunks": Chunks, "heads": Heads}


def _from_text(text: str) -> Partition:
    if text in _NAMED:
        return _NAMED[text]()
    kind, _, number = text.partition(":")
    if kind in _SIZED and number.isdigit():
        return _SIZED[kind](int(number))
    if any(sign in text for sign in "*?["):
        return Names.from_patterns([part.strip() for part in text.split(",")])
    known = ", ".join([*_NAMED, "chunks:SIZE", "heads:COUNT"])
    raise must_be("partition", f"one of {known}, or patterns of names such as 'layers.3.*'", repr(text))


def as_partition(given: PartitionLike) -> Partition:
    """Understand a partition given in short.

    Parameters
    ----------
    given : Partition, str, int, function, or patterns
        A partition; "tensors", "rows", "columns", "coordinates", "chunks:1024", "heads:12" or shell patterns
        separated by commas; a chunk size; a function of the tensor's name; a list of patterns, or a mapping from
        titles to patterns.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> as_partition("chunks:1024").title
    'chunks of 1024'
    >>> as_partition("layers")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: partition must be one of tensors, rows, columns, coordinates, chunks:SIZE, ...
    """
    if isinstance(given, Partition):
        return given
    if isinstance(given, str):
        return _from_text(given)
    if is_integer(given):
        return Chunks(int(given))
    if callable(given):
        return Names(given)
    patterns: Any = given if isinstance(given, Mapping) else list(given) if isinstance(given, Sequence) else None
    if isinstance(given, Mapping) or (patterns and all(isinstance(part, str) for part in patterns)):
        return Names.from_patterns(patterns)
    raise InputError(
        f"partition must be a name, a chunk size, a function of names or patterns; got {type(given).__name__}; "
        "wrap the labels of single entries in Labels(...) and positions in Boundaries(...)."
    )
