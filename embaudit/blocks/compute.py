"""Match the tensors of two sources, cut them into blocks, stream their sums; the same for a pair of embeddings."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from embaudit.blocks.cosines import BlockCosines, BlockNames
from embaudit.blocks.partition import (
    AnyLayout,
    Boundaries,
    Coordinates,
    Edges,
    Labels,
    Partition,
    PartitionLike,
    Rows,
    as_partition,
)
from embaudit.blocks.sources import as_source, file_of
from embaudit.blocks.sums import BlockSums, concatenate, sum_blocks
from embaudit.blocks.unnamed import is_single, named_alike, whole
from embaudit.errors import InputError, must_be
from embaudit.foundation.executors import spread
from embaudit.foundation.progress import track
from embaudit.foundation.typed import typed
from embaudit.foundation.words import counted, listed
from embaudit.io.codecs.arrays import UNNAMED, Arrays
from embaudit.io.codecs.memory import Memory
from embaudit.model import FactorModel
from embaudit.model.side import SideName

MAX_BLOCKS = 20_000_000
"""More would take gigabytes for the result alone."""

FEW_ENTRIES = 2**20
"""Below this starting threads takes longer than the sums."""


def _some(names: list[str]) -> str:
    return listed([repr(name) if name else "an array without a name" for name in names], 3)


def _matched(x: Arrays, y: Arrays, missing: str) -> tuple[list[str], list[str]]:
    """Return the names to compare and notes on what was left out."""
    if missing not in ("error", "skip"):
        raise must_be("missing", 'one of "error", "skip"', repr(missing))
    only_x = [name for name in x.tensors if name not in y.tensors]
    only_y = [name for name in y.tensors if name not in x.tensors]
    if (only_x or only_y) and missing == "error":
        sides = [f"only {side} has {_some(names)}" for side, names in (("x", only_x), ("y", only_y)) if names]
        remedy = "rename them, or compare what both have with missing='skip'"
        raise must_be("x and y", "of the same keys", ", ".join(sides), remedy)
    notes = [f"{side} alone has {_some(names)}: left out" for side, names in (("x", only_x), ("y", only_y)) if names]
    common = [name for name in x.tensors if name in y.tensors]
    if not common:
        raise must_be("x and y", "of at least one common key", "none")
    return common, notes


def _require_same_shapes(x: Arrays, y: Arrays, names: list[str]) -> None:
    for name in names:
        shapes = x.tensors[name].shape, y.tensors[name].shape
        if shapes[0] != shapes[1]:
            where = f"x and y at {name!r}" if name else "x and y"
            raise must_be(where, "of one shape", f"{shapes[0]} and {shapes[1]}", "transpose or slice one of them")


def _dtype_notes(x: Arrays, y: Arrays, names: list[str]) -> list[str]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for name in names:
        counts[x.tensors[name].dtype, y.tensors[name].dtype] += 1
    different = [(a, b, n) for (a, b), n in counts.items() if a != b]
    return [f"{counted(n, 'tensor')} {'is' if n == 1 else 'are'} {a} in x and {b} in y" for a, b, n in different]


def _default_partition(x: Arrays) -> Partition:
    """Choose the natural parts: coordinates of a vector, rows of a matrix, tensors of what holds several."""
    if not is_single(x):
        return Partition()
    return Coordinates() if len(x.tensors[UNNAMED].shape) <= 1 else Rows()


def _sorted_sources(x: Arrays, y: Arrays, partition: Labels | Boundaries) -> tuple[Arrays, Arrays, Partition]:
    """Bring entries of equal label together, so that labels become edges."""
    if not (is_single(x) and is_single(y)):
        raise must_be("x and y", f"one array each to be cut by {partition.title}", "named or several arrays")
    order, edges, names = partition.sorting(x.tensors[UNNAMED].size)
    left, right = (Memory({UNNAMED: whole(source)[order]}) for source in (x, y))
    return left, right, Edges(edges, names, partition.title)


def _unmatched_notes(partition: Partition, names: list[str]) -> list[str]:
    """Note patterns that match no name; refuse a partition of which none does."""
    idle = partition.unmatched(names)
    if idle and len(idle) == len(partition.patterns):
        remedy = f"the names are {_some(names)}"
        raise must_be("partition", "of patterns that match some name", ", ".join(map(repr, idle)), remedy)
    return [f"no name matches {', '.join(map(repr, idle))}"] if idle else []


def _block_sizes(layout: AnyLayout, size: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    if layout.cycle > size:  # chunks, the last one shorter
        sizes = np.full(layout.count, layout.cycle // layout.count)
        sizes[-1] -= layout.cycle - size
        return sizes
    if layout.cycle < size:
        return np.full(layout.count, size // layout.count)
    return np.diff([*(layout.cuts(0, size)[1]), size])


def _merged(parts: list[BlockSums], owner: str) -> BlockSums:
    if len(parts) == 1:
        return parts[0]
    if any(len(part.xx) > 1 for part in parts):
        raise InputError(f"tensors that share the name {owner!r} must be one block each.")
    return concatenate(parts).total()


def _compare(x: Arrays, y: Arrays, partition: Partition, notes: list[str], names: list[str]) -> BlockCosines:
    names = [name for name in names if x.tensors[name].size]
    layouts = {name: partition.layout(name, x.tensors[name].shape) for name in names}
    n_blocks = sum(layout.count for layout in layouts.values())
    if n_blocks > MAX_BLOCKS:
        raise must_be("the number of blocks", f"at most {MAX_BLOCKS:,}", f"{n_blocks:,}", "cut into larger blocks")

    def summed(name: str) -> tuple[str, BlockSums]:
        for file in files[name]:
            file.require()
        return name, sum_blocks(x, y, name, layouts[name])

    files = {name: [file for side in (x, y) if (file := file_of(side, name))] for name in names}
    groups: dict[str, list[str]] = defaultdict(list)
    sums: dict[str, BlockSums] = {}
    entries = sum(x.tensors[name].size for name in names)
    parts = map(summed, names) if entries < FEW_ENTRIES else spread(summed, names)
    for name, part in track(parts, "comparing tensors", len(names)):
        sums[name] = part
        groups[partition.owner(name)].append(name)
    merged = [_merged([sums[name] for name in group], owner) for owner, group in groups.items()]
    sizes = [
        np.sum([_block_sizes(layouts[name], x.tensors[name].size) for name in group], axis=0)
        for group in groups.values()
    ]
    starts = np.cumsum([0, *(len(part) for part in sizes)]).tolist()
    shapes = tuple(x.tensors[group[0]].shape for group in groups.values())
    labels = BlockNames(partition, tuple(groups), shapes, tuple(starts))
    return BlockCosines(concatenate(merged), np.concatenate(sizes), labels, tuple(notes))


@typed
def block_cosines(
    x: Any, y: Any, *, partition: PartitionLike | None = None, missing: Literal["error", "skip"] = "error"
) -> BlockCosines:
    """Compare two vectors block by block and as a whole.

    The global cosine is ρ × the weighted mean of the local cosines, where ρ is the cosine of the two profiles of
    block norms: every block can agree while the whole does not.

    Parameters
    ----------
    x, y : mapping, list, array, torch tensor or path
        Name → array (nested mappings are joined by dots), a list of arrays, one array, or a .safetensors,
        .safetensors.index.json, .npz or .npy file. Files are streamed: memory does not grow with them. An array
        without a name, as in a .npy file, matches any other array that stands alone, whatever that is called.
    partition : optional
        What a block is; see `as_partition`. By default tensors of what holds several, rows of one matrix,
        coordinates of one vector. `Labels` and `Boundaries` cut one array.
    missing : {"error", "skip"}
        What to do about keys that one side lacks; skipped ones are named in `notes`.

    Raises
    ------
    InputError
        If keys or shapes differ, an entry is not finite, a side is zero altogether, or no name matches the patterns
        of the partition.

    Notes
    -----
    Sums are taken in float64, pairwise and with compensation, whatever the arrays are stored as.
    Source: Su, "Local and global cosine similarity" (kexue.fm 9931).

    Examples
    --------
    >>> block_cosines({"w": [[1.0, 0.0]], "b": [1.0]}, {"w": [[2.0, 0.0]], "b": [-1.0]})
    BlockCosines(2 blocks, 3 entries, by tensors: global 0.3162 = 0.9487 × 0.3333)
    >>> block_cosines([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], partition=Labels(["a", "b", "a"])).cosines
    array([0.6, 1. ])
    """
    left, right = as_source(x, "x"), as_source(y, "y")
    chosen = _default_partition(left) if partition is None else as_partition(partition)
    left, right = named_alike(left, right)
    names, notes = _matched(left, right, missing)
    _require_same_shapes(left, right, names)
    notes += _dtype_notes(left, right, names) + _unmatched_notes(chosen, names)
    if isinstance(chosen, (Labels, Boundaries)):
        left, right, chosen = _sorted_sources(left, right, chosen)
    result = _compare(left, right, chosen, notes, names)
    for side, squares in (("x", result.sums.xx), ("y", result.sums.yy)):
        if not squares.any():
            raise must_be(side, "nonzero somewhere", "zeros only", "a zero vector has no cosine")
    return result


@typed
def explain_pair(
    vectors: FactorModel | ArrayLike, i: int, j: int, *, role: SideName | str = "right", groups: ArrayLike | None = None
) -> BlockCosines:
    """Tell which dimensions, or groups of dimensions, make the cosine of two items what it is.

    Parameters
    ----------
    vectors : FactorModel or array of shape (p, k)
        The items.
    i, j : int
        Two rows.
    role : {"left", "right"}
        Which side of a model.
    groups : array of shape (k,), optional
        A label for each dimension; every dimension by itself by default.

    Returns
    -------
    BlockCosines
        `contributions` add up to the cosine of the pair.

    Examples
    --------
    >>> result = explain_pair([[3.0, 0.0, 1.0], [3.0, 1.0, 0.0]], 0, 1, groups=["popularity", "taste", "taste"])
    >>> result.to_frame()["contribution"].round(3).to_dict()
    {'popularity': 0.9, 'taste': 0.0}
    """
    from embaudit.model import FactorModel

    model = vectors if isinstance(vectors, FactorModel) else FactorModel.from_vectors(vectors)
    factors = model.factors(role)
    for row in (i, j):
        if not 0 <= row < len(factors):
            raise must_be("the rows of a pair", f"from 0 to {len(factors) - 1}", row)
    return block_cosines(factors[i], factors[j], partition=Coordinates() if groups is None else Labels(groups))
