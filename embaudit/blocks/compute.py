"""Compare two sets of tensors block by block: the public function."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.blocks.cosines import BlockCosines
from embaudit.blocks.sources import as_source, is_single
from embaudit.blocks.sums import NotFiniteError, block_sums
from embaudit.core.checked import Floats, require_one_of
from embaudit.core.parallel import parallel_map
from embaudit.core.progress import track
from embaudit.core.tolerances import LARGEST_MAGNITUDE, SMALLEST_MAGNITUDE
from embaudit.core.words import counted, listed
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.arrays import UNNAMED, Readable, Shape

MAX_BLOCKS = 5_000_000
"""Largest number of blocks: their names and numbers take up to 1 GB."""
FEW_ENTRIES = 2**20
"""Number of entries below which starting threads takes longer than the sums."""
NAMED_PARTITIONS = ("tensors", "rows", "coordinates")
"""Partitions that are chosen by name."""
ALLOWED_BLOCKS = (
    "one of tensors, rows, coordinates, shell patterns of names such as 'layers.3.*', "
    "or labels of one array"
)
"""What `blocks` can be, for an error."""


@dataclass(frozen=True)
class SharedTensor:
    """One tensor that both sides have."""

    name: str
    shape: Shape
    x: Readable
    y: Readable
    name_in_x: str
    name_in_y: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    def dtypes(self) -> tuple[str, str]:
        """Return the type of the entries in x and in y."""
        in_x = self.x.tensors[self.name_in_x]
        in_y = self.y.tensors[self.name_in_y]
        return in_x.dtype, in_y.dtype

    def sums(self, n_blocks: int) -> Floats:
        """Compute the sums of squares and products of blocks of equal size."""
        read_x = self.x.open(self.name_in_x)
        read_y = self.y.open(self.name_in_y)
        try:
            return block_sums(read_x, read_y, n_blocks, self.size // n_blocks)
        except NotFiniteError as error:
            raise must_be(
                f"{self.name or 'every entry'} in {error}",
                "finite",
                "nan or infinity",
                "repair or drop it",
            ) from None


def _listed_names(names: Sequence[str]) -> str:
    shown = [repr(name) if name else "an array without a name" for name in names]
    return listed(shown, 3)


def _shared_names(
    x: Readable, y: Readable, missing: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the names of each shared tensor in x and in y, and notes on the others."""
    require_one_of(missing, "missing", ("error", "skip"))
    names_of_x, names_of_y = list(x.tensors), list(y.tensors)
    if len(names_of_x) == len(names_of_y) == 1 and (is_single(x) or is_single(y)):
        # An array without a name matches any other array that stands alone.
        return [(names_of_x[0], names_of_y[0])], []
    only_in: dict[str, list[str]] = {
        "x": [name for name in names_of_x if name not in y.tensors],
        "y": [name for name in names_of_y if name not in x.tensors],
    }
    unshared = {side: _listed_names(names) for side, names in only_in.items() if names}
    if unshared and missing == "error":
        got = [f"{names} in {side} only" for side, names in unshared.items()]
        raise must_be(
            "the keys of x and y",
            "the same",
            ", ".join(got),
            Sentence(
                "rename them, or compare only the shared keys with {}",
                Option("missing", "skip"),
            ),
        )
    shared = [(name, name) for name in names_of_x if name in y.tensors]
    if not shared:
        raise must_be("the number of keys in both x and y", "at least 1", 0)
    notes = [f"{side} alone has {names}: left out" for side, names in unshared.items()]
    return shared, notes


def _shared_tensors(
    x: Readable, y: Readable, missing: str
) -> tuple[list[SharedTensor], list[str]]:
    """Match the tensors of both sides by name; their shapes must be equal.

    The returned notes name skipped tensors and types that differ.
    """
    names, notes = _shared_names(x, y, missing)
    tensors = []
    for name_in_x, name_in_y in names:
        name = name_in_x or name_in_y
        shape, shape_in_y = x.tensors[name_in_x].shape, y.tensors[name_in_y].shape
        if shape != shape_in_y:
            raise must_be(
                f"x and y at {name!r}" if name else "x and y",
                "of the same shape",
                f"{shape} and {shape_in_y}",
                "transpose or slice one of them",
            )
        tensors.append(SharedTensor(name, shape, x, y, name_in_x, name_in_y))
    n_tensors = Counter(tensor.dtypes() for tensor in tensors)
    for (dtype_in_x, dtype_in_y), n in n_tensors.items():
        if dtype_in_x != dtype_in_y:
            verb = "is" if n == 1 else "are"
            notes.append(
                f"{counted(n, 'tensor')} {verb} {dtype_in_x} in x and {dtype_in_y} in y"
            )
    return tensors, notes


def _partition(blocks: Any, x: Readable, y: Readable, shape: Shape) -> str:
    """Decide what the blocks are: tensors, rows, coordinates, names or labels.

    `shape` is the shape of the first tensor, which decides for a single array.
    """
    if blocks is None:
        if not is_single(x):
            return "tensors"
        return "rows" if len(shape) > 1 else "coordinates"
    if isinstance(blocks, str):
        if blocks in NAMED_PARTITIONS:
            return blocks
        has_wildcard = any(sign in blocks for sign in "*?[")
        if has_wildcard:
            return "names"
    elif is_single(x) and is_single(y) and np.ndim(blocks):
        return "labels"
    elif isinstance(blocks, (list, tuple)) and _are_patterns(blocks):
        return "names"
    raise must_be("blocks", ALLOWED_BLOCKS, repr(blocks))


def _are_patterns(values: Sequence[Any]) -> bool:
    return len(values) > 0 and all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class Blocks:
    """Names, numbers of entries and sums of all blocks."""

    names: list[str]
    sizes: NDArray[np.intp]
    sums: Floats
    """`Σ x²`, `Σ y²` and `Σ x y` of each block, of shape (3, B)."""


def _by_tensor(tensors: Sequence[SharedTensor], partition: str) -> Blocks:
    """Cut each tensor into rows or coordinates, or take it as one block."""
    # A tensor without entries has no block.
    tensors = [tensor for tensor in tensors if tensor.size]
    counts = [_n_blocks(tensor, partition) for tensor in tensors]
    n_blocks = sum(counts)
    if n_blocks > MAX_BLOCKS:
        raise must_be(
            "the number of blocks",
            f"at most {MAX_BLOCKS:,}",
            f"{n_blocks:,}",
            "cut into larger blocks",
        )
    names: list[str] = []
    for tensor in tensors:
        names.extend(_block_names(tensor, partition))
    # The blocks of one tensor have the same size.
    sizes = [
        tensor.size // count for tensor, count in zip(tensors, counts, strict=True)
    ]
    sums = np.concatenate(_all_sums(tensors, counts), axis=1)
    return Blocks(names, np.repeat(sizes, counts), sums)


def _n_blocks(tensor: SharedTensor, partition: str) -> int:
    """Count the blocks of a tensor: its entries, its rows, or the whole tensor."""
    if partition == "coordinates":
        return tensor.size
    if partition == "rows" and len(tensor.shape) > 1:
        return tensor.shape[0]
    return 1


def _block_names(tensor: SharedTensor, partition: str) -> Iterator[str]:
    """Name the blocks of a tensor by their indices; a whole tensor by its name."""
    n_axes = len(tensor.shape)
    if partition == "coordinates" and n_axes > 1:
        for index in np.ndindex(tensor.shape):
            yield f"{tensor.name}[{', '.join(map(str, index))}]"
        return
    are_rows = partition == "rows" and n_axes > 1
    are_entries = partition == "coordinates" and n_axes == 1
    if are_rows or are_entries:
        for i in range(tensor.shape[0]):
            yield f"{tensor.name}[{i}]"
    else:
        yield tensor.name or "all"


def _all_sums(tensors: Sequence[SharedTensor], counts: Sequence[int]) -> list[Floats]:
    """Compute the sums of every tensor, in threads if that pays."""

    def sums(i: int) -> Floats:
        return tensors[i].sums(counts[i])

    numbers = range(len(tensors))
    results: Iterator[Floats] = map(sums, numbers)
    if sum(tensor.size for tensor in tensors) >= FEW_ENTRIES:
        results = parallel_map(sums, numbers, in_threads=True)
    return list(track(results, "comparing tensors", len(tensors)))


def _by_pattern(
    tensors: Sequence[SharedTensor], patterns: Sequence[str]
) -> tuple[Blocks, list[str]]:
    """Join all tensors whose name matches the same pattern first; others are "other".

    The returned notes name patterns that match no tensor.
    """
    all_names = [tensor.name for tensor in tensors]
    unused = [
        repr(pattern) for pattern in patterns if not _matches_any(pattern, all_names)
    ]
    if len(unused) == len(patterns):
        raise must_be(
            "blocks",
            "a list of patterns that match names",
            ", ".join(unused),
            f"the names are {_listed_names(all_names)}",
        )
    by_tensor = _by_tensor(tensors, "tensors")
    # Groups have the order of their first tensor.
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(by_tensor.names):
        groups.setdefault(_first_match(name, patterns), []).append(i)
    sums = [by_tensor.sums[:, members].sum(axis=1) for members in groups.values()]
    sizes = [by_tensor.sizes[members].sum() for members in groups.values()]
    notes = [f"no name matches {', '.join(unused)}"] if unused else []
    return Blocks(list(groups), np.array(sizes), np.stack(sums, axis=1)), notes


def _matches_any(pattern: str, names: Sequence[str]) -> bool:
    """Return True if a pattern matches any of the names; capitals matter."""
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _first_match(name: str, patterns: Sequence[str]) -> str:
    """Return the first pattern that matches a name, or "other"."""
    for pattern in patterns:
        if fnmatch.fnmatchcase(name, pattern):
            return pattern
    return "other"


def _by_label(x: Readable, y: Readable, labels: Any) -> Blocks:
    """Cut one array of each side by a label per entry, in order of first appearance."""
    flat = np.ravel(np.asarray(labels))
    if flat.dtype == object:
        flat = flat.astype(str)
    x_entries = np.ravel(x[UNNAMED]).astype(np.float64)
    y_entries = np.ravel(y[UNNAMED]).astype(np.float64)
    if len(flat) != len(x_entries):
        allowed = f"a list of {len(x_entries)} labels, one per entry"
        raise must_be("labels", allowed, len(flat))
    for side, entries in (("x", x_entries), ("y", y_entries)):
        if not np.isfinite(entries).all():
            raise must_be(
                f"every entry in {side}",
                "finite",
                "nan or infinity",
                "repair or drop it",
            )
    # np.unique sorts the labels; `order` brings them back in order of appearance.
    values, first, codes = np.unique(flat, return_index=True, return_inverse=True)
    order = np.argsort(first)
    terms = (x_entries**2, y_entries**2, x_entries * y_entries)
    sums = np.array([np.bincount(codes, term) for term in terms], dtype=np.float64)
    sizes = np.bincount(codes)[order]
    return Blocks([str(values[i]) for i in order], sizes, sums[:, order])


def _require_norms(sums: Floats) -> None:
    """Raise InputError unless both vectors have a norm from 1e-100 to 1e100."""
    for side, squares in (("x", sums[0]), ("y", sums[1])):
        norm = sqrt(squares.sum())
        if not SMALLEST_MAGNITUDE <= norm <= LARGEST_MAGNITUDE:
            raise must_be(
                f"the norm of {side}",
                f"from {SMALLEST_MAGNITUDE:g} to {LARGEST_MAGNITUDE:g}",
                f"{norm:.2g}",
                f"divide {side} by a constant, which changes no cosine; a zero vector "
                "has no cosine",
            )


def block_cosines(
    x: Any, y: Any, blocks: Any = None, *, missing: Literal["error", "skip"] = "error"
) -> BlockCosines:
    """Compare two vectors block by block and as a whole.

    The global cosine is ρ × the weighted mean of the local cosines, where ρ is the
    cosine of the two profiles of block norms. So the whole vectors can differ although
    every block agrees.

    Parameters
    ----------
    x, y : mapping, list, array, torch tensor or path
        Name → array (nested mappings are joined by dots), a list of arrays, one array,
        or a .safetensors, .safetensors.index.json, .npz or .npy file. Files are read in
        pieces, so the memory does not grow with them. An array without a name, as in a
        .npy file, matches any other array that stands alone.
    blocks : {"tensors", "rows", "coordinates"}, patterns or labels, optional
        What a block is. By default tensors of several arrays, rows of one matrix,
        coordinates of one vector. Shell patterns (a list, or text with commas) join the
        tensors whose names match. An array with a label for each entry cuts one array.
        Reshape the arrays for other cuts: the rows of `x.reshape(-1, 1024)` are chunks,
        those of `x.T` columns, those of `x.reshape(12, -1)` heads.
    missing : {"error", "skip"}
        What to do about keys that one side lacks. Skipped keys are named in `notes`.

    Returns
    -------
    BlockCosines
        The local cosines and weights of the blocks, and the global cosine.

    Raises
    ------
    InputError
        If keys or shapes differ, an entry is not finite, no name matches a pattern, or
        the norm of a side is not from 1e-100 to 1e100.

    Notes
    -----
    All sums are taken in float64. A block whose norm is below 1e-100 counts as zero.
    Source: Su, "Local and global cosine similarity" (kexue.fm 9931).

    Examples
    --------
    >>> block_cosines({"w": [[1.0, 0.0]], "b": [1.0]}, {"w": [[2.0, 0.0]], "b": [-1.0]})
    BlockCosines(2 blocks, 3 entries, by tensors: global 0.3162 = 0.9487 × 0.3333)
    >>> block_cosines([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], ["a", "b", "a"]).cosines
    array([0.6, 1. ])
    """
    source_x, source_y = as_source(x, "x"), as_source(y, "y")
    tensors, notes = _shared_tensors(source_x, source_y, missing)
    partition = _partition(blocks, source_x, source_y, tensors[0].shape)
    if partition == "labels":
        found = _by_label(source_x, source_y, blocks)
    elif partition == "names":
        patterns = blocks
        if isinstance(blocks, str):
            patterns = [pattern.strip() for pattern in blocks.split(",")]
        found, notes_on_patterns = _by_pattern(tensors, patterns)
        notes += notes_on_patterns
    else:
        found = _by_tensor(tensors, partition)
    _require_norms(found.sums)
    squares = found.sums[:2]
    # The sums are changed in place, because there can be millions of blocks.
    squares[squares < SMALLEST_MAGNITUDE**2] = 0
    return BlockCosines(found.names, found.sizes, found.sums, partition, tuple(notes))
