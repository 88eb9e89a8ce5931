"""Match the tensors of two sources by name, cut them into blocks, stream their sums; the same for a pair of rows."""

from __future__ import annotations

import fnmatch
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from embaudit.blocks.cosines import BlockCosines, BlockNames
from embaudit.blocks.sources import as_source, file_of, is_single
from embaudit.blocks.sums import BlockSums, SharedTensor, concatenate
from embaudit.core.checked import LARGEST, is_integer, require_one_of
from embaudit.core.parallel import parallel_map, require_state
from embaudit.core.progress import track
from embaudit.core.words import counted, listed
from embaudit.errors import must_be
from embaudit.io.codecs.arrays import UNNAMED, Memory, Readable, Shape
from embaudit.model import FactorModel
from embaudit.model.side import SideName

MAX_BLOCKS = 20_000_000
"""Largest number of blocks: more would take gigabytes for the result alone."""
FEW_ENTRIES = 2**20
"""Number of entries below which starting threads takes longer than the sums."""
CUTS = ("tensors", "rows", "coordinates")
"""Ways to cut that have a name."""
BLOCKS = "one of tensors, rows, coordinates, shell patterns of names such as 'layers.3.*', or labels of one array"


def _listed_names(names: Sequence[str]) -> str:
    return listed(
        [repr(name) if name else "an array without a name" for name in names], 3
    )


def _matched(
    x: Readable, y: Readable, missing: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the tensors of both sides, by the name they share, and notes on those left out."""
    require_one_of(missing, "missing", ("error", "skip"))
    if len(x.tensors) == len(y.tensors) == 1 and (is_single(x) or is_single(y)):
        # An array that stands alone has no name and matches any other that stands alone.
        (in_x,), (in_y,) = x.tensors, y.tensors
        return {in_x or in_y: (in_x, in_y)}, []
    only_x = [name for name in x.tensors if name not in y.tensors]
    only_y = [name for name in y.tensors if name not in x.tensors]
    alone = [
        (side, _listed_names(names))
        for side, names in (("x", only_x), ("y", only_y))
        if names
    ]
    if alone and missing == "error":
        remedy = "rename them, or compare what both have with --missing=skip"
        raise must_be(
            "x and y",
            "of the same keys",
            ", ".join(f"only {side} has {n}" for side, n in alone),
            remedy,
        )
    common = {name: (name, name) for name in x.tensors if name in y.tensors}
    if not common:
        raise must_be("x and y", "of at least one common key", "none")
    return common, [f"{side} alone has {names}: left out" for side, names in alone]


def _by_label(x: Readable, y: Readable, labels: Any) -> tuple[Readable, Readable]:
    """Cut one array of each side into named ones, by a label for each entry, in order of first appearance."""
    flat = np.ravel(np.asarray(labels))
    sides = [source[UNNAMED].reshape(-1) for source in (x, y)]
    if len(flat) != len(sides[0]):
        raise must_be(
            "labels", f"one for each of the {len(sides[0])} entries", len(flat)
        )
    flat = flat.astype(str) if flat.dtype == object else flat
    # np.unique sorts the labels: `appearance` brings them back into the order in which they first stand.
    values, first, index = np.unique(flat, return_index=True, return_inverse=True)
    # Entries of one label side by side, in their order in the array; then one array a label.
    order, cuts = np.argsort(index, kind="stable"), np.bincount(index).cumsum()[:-1]
    parts = [np.split(side[order], cuts) for side in sides]
    appearance = np.argsort(first)
    left, right = (
        Memory({str(values[i]): pieces[i] for i in appearance}) for pieces in parts
    )
    return left, right


def _cut(blocks: Any, x: Readable, y: Readable, shape: Shape) -> tuple[str, Any]:
    """Return how to cut, in a word, and the patterns or labels that go with it."""
    if blocks is None:
        return (
            "tensors"
            if not is_single(x)
            else "rows"
            if len(shape) > 1
            else "coordinates"
        ), None
    if isinstance(blocks, str):
        if blocks in CUTS:
            return blocks, None
        if any(sign in blocks for sign in "*?["):
            return "names", [pattern.strip() for pattern in blocks.split(",")]
    elif is_single(x) and is_single(y) and np.ndim(blocks):
        return "labels", blocks
    elif (
        isinstance(blocks, (list, tuple))
        and blocks
        and all(isinstance(pattern, str) for pattern in blocks)
    ):
        return "names", blocks
    raise must_be("blocks", BLOCKS, repr(blocks))


def _owners(
    patterns: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the first pattern that matches each name, and a note on patterns that match none."""
    idle = [
        repr(p)
        for p in patterns
        if not any(fnmatch.fnmatchcase(name, p) for name in names)
    ]
    if len(idle) == len(patterns):
        remedy = f"the names are {_listed_names(names)}"
        raise must_be(
            "blocks", "of patterns that match some name", ", ".join(idle), remedy
        )
    owners = {
        name: next((p for p in patterns if fnmatch.fnmatchcase(name, p)), "other")
        for name in names
    }
    return owners, [f"no name matches {', '.join(idle)}"] * bool(idle)


def _sums(tensors: dict[str, SharedTensor]) -> dict[str, BlockSums]:
    """Sum up every tensor, on all cores where that pays."""
    files = {
        name: [
            file
            for source, own in zip((t.x, t.y), t.names, strict=True)
            if (file := file_of(source, own))
        ]
        for name, t in tensors.items()
    }

    def summed(name: str) -> BlockSums:
        for file in files[name]:
            require_state(*file)
        return tensors[name].sums()

    few = sum(tensor.size for tensor in tensors.values()) < FEW_ENTRIES
    parts = map(summed, tensors) if few else parallel_map(summed, tensors)
    return dict(
        zip(tensors, track(parts, "comparing tensors", len(tensors)), strict=True)
    )


def _require_norms(result: BlockCosines) -> None:
    """Raise InputError unless both norms are above 0 and fit into float64."""
    for side, squares in zip("xy", result.sums.products[:2], strict=True):
        if not squares.any():
            raise must_be(
                side, "nonzero somewhere", "zeros only", "a zero vector has no cosine"
            )
    for side in "xy":
        try:
            getattr(result, f"{side}_norm")
        except OverflowError as error:
            raise must_be(
                f"the norm of {side}",
                f"at most {LARGEST:.2g}",
                "more, which float64 cannot hold",
                f"divide {side} by a constant, which changes no cosine",
            ) from error


def block_cosines(
    x: Any, y: Any, blocks: Any = None, *, missing: Literal["error", "skip"] = "error"
) -> BlockCosines:
    """Compare two vectors block by block and as a whole.

    The global cosine is ρ × the weighted mean of the local cosines, where ρ is the cosine of the two profiles of
    block norms: every block can agree while the whole does not.

    Parameters
    ----------
    x, y : mapping, list, array, torch tensor or path
        Name → array (nested mappings are joined by dots), a list of arrays, one array, or a .safetensors,
        .safetensors.index.json, .npz or .npy file. Files are streamed: memory does not grow with them. An array
        without a name, as in a .npy file, matches any other array that stands alone.
    blocks : {"tensors", "rows", "coordinates"}, patterns or labels, optional
        What a block is. By default tensors of several arrays, rows of one matrix, coordinates of one vector. Shell
        patterns (a list, or text with commas) join tensors whose names match; an array with a label for each entry
        cuts one array. Other cuts are a reshape of the arrays away: `x.reshape(-1, 1024)` by rows has chunks, `x.T`
        columns, `x.reshape(12, -1)` heads.
    missing : {"error", "skip"}
        What to do about keys that one side lacks; skipped ones are named in `notes`.

    Raises
    ------
    InputError
        If keys or shapes differ, an entry is not finite, a side is zero altogether, or no name matches a pattern.

    Notes
    -----
    Sums are taken in float64, pairwise and across pieces exactly, whatever the arrays are stored as.
    Source: Su, "Local and global cosine similarity" (kexue.fm 9931).

    Examples
    --------
    >>> block_cosines({"w": [[1.0, 0.0]], "b": [1.0]}, {"w": [[2.0, 0.0]], "b": [-1.0]})
    BlockCosines(2 blocks, 3 entries, by tensors: global 0.3162 = 0.9487 × 0.3333)
    >>> block_cosines([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], ["a", "b", "a"]).cosines
    array([0.6, 1. ])
    """
    left, right = as_source(x, "x"), as_source(y, "y")
    names, notes = _matched(left, right, missing)
    shapes: dict[str, Shape] = {}
    dtypes: Counter[tuple[str, str]] = Counter()
    # Shapes must be the same on both sides; that types differ is only said.
    for name, (in_x, in_y) in names.items():
        a, b = left.tensors[in_x], right.tensors[in_y]
        if a.shape != b.shape:
            where = f"x and y at {name!r}" if name else "x and y"
            raise must_be(
                where,
                "of one shape",
                f"{a.shape} and {b.shape}",
                "transpose or slice one of them",
            )
        shapes[name] = a.shape
        dtypes[a.dtype, b.dtype] += 1
    different = [(a, b, n) for (a, b), n in dtypes.items() if a != b]
    notes += [
        f"{counted(n, 'tensor')} {'is' if n == 1 else 'are'} {a} in x and {b} in y"
        for a, b, n in different
    ]
    cut, parts = _cut(blocks, left, right, next(iter(shapes.values())))
    owners: dict[str, str] = {}
    if cut == "labels":
        left, right = _by_label(left, right, parts)
        names = {name: (name, name) for name in left.tensors}
        shapes = {name: tensor.shape for name, tensor in left.tensors.items()}
    elif cut == "names":
        owners, unmatched = _owners(parts, list(names))
        notes += unmatched
    # Entries of a block, of tensors that have any; a vector is one row.
    shapes = {name: shape for name, shape in shapes.items() if prod(shape)}
    inner = {
        name: 1
        if cut == "coordinates"
        else prod(shape[1:])
        if cut == "rows" and len(shape) > 1
        else prod(shape)
        for name, shape in shapes.items()
    }
    tensors = {
        name: SharedTensor(left, right, names[name], count)
        for name, count in inner.items()
    }
    n_blocks = sum(tensor.count for tensor in tensors.values())
    if n_blocks > MAX_BLOCKS:
        raise must_be(
            "the number of blocks",
            f"at most {MAX_BLOCKS:,}",
            f"{n_blocks:,}",
            "cut into larger blocks",
        )
    sums = _sums(tensors)
    # Either each tensor brings its blocks, or all tensors of a pattern add up to one.
    if owners:
        groups: dict[str, list[str]] = defaultdict(list)
        for name in tensors:
            groups[owners[name]].append(name)
        lined_up = [
            concatenate([sums[name] for name in group]).total()
            for group in groups.values()
        ]
        sizes = np.array(
            [sum(tensors[name].size for name in group) for group in groups.values()]
        )
        block_names = BlockNames(
            cut, tuple(groups), ((),) * len(groups), tuple(range(len(groups) + 1))
        )
    else:
        lined_up = list(sums.values())
        sizes = np.concatenate(
            [np.full(tensor.count, tensor.inner) for tensor in tensors.values()]
        )
        starts = np.cumsum([0, *(tensor.count for tensor in tensors.values())]).tolist()
        block_names = BlockNames(
            cut, tuple(tensors), tuple(shapes.values()), tuple(starts)
        )
    result = BlockCosines(concatenate(lined_up), sizes, block_names, tuple(notes))
    _require_norms(result)
    return result


def explain_pair(
    vectors: FactorModel | ArrayLike,
    i: int,
    j: int,
    *,
    role: SideName | str = "right",
    groups: ArrayLike | None = None,
) -> BlockCosines:
    """Split the cosine of two items into the contributions of dimensions, or of groups of dimensions.

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
    model = (
        vectors
        if isinstance(vectors, FactorModel)
        else FactorModel.from_vectors(vectors)
    )
    factors = model.factors(role)
    for row in (i, j):
        if not is_integer(row) or not 0 <= row < len(factors):
            raise must_be(
                "the rows of a pair", f"from 0 to {len(factors) - 1}", repr(row)
            )
    return block_cosines(
        factors[i], factors[j], None if groups is None else np.asarray(groups)
    )
