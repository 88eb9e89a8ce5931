"""Copies of vectors that a user gives: models, arrays, and files of codes.

Codes are integers of 8 bits. A copy of int8 has one scale for each row, for each column
or for all numbers, and a copy of uint8 holds packed signs, unless a scale and an offset
say which numbers its codes stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.io import model_of
from embaudit.io.formats import detect_format
from embaudit.io.formats.faiss import decoded_vectors, opened
from embaudit.io.formats.safetensors import Safetensors
from embaudit.io.npy import Npy, Npz
from embaudit.io.objects.helpers import comes_from
from embaudit.io.options import is_path
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.procrustes import best_rotation
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.taken import taken_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Side, SideName
from embaudit.serving.copy_formats import CopiedRows, bytes_per_number

SCALES = ("scale", "scales")
OFFSETS = ("offset", "offsets")
ZERO_POINTS = ("zero_point", "zero_points")
IDS = ("ids", "id")
"""Names of the arrays next to codes."""
N_SAMPLED = 4096
"""Number of rows from which the axes of a copy are determined."""
CLEARLY_NEARER = 0.5
"""The best rotation counts only if it halves the median angle."""
SMALL_ANGLE = np.radians(10)
"""Median angle in radians below which a copy is taken to have the same axes."""


def given_copy(source: object, original: Side, role: SideName) -> CopiedRows:
    """Read a copy, with its rows in the order of the original.

    Parameters
    ----------
    source : FactorModel, array, mapping, path or object
        A model or what `embaudit.load` reads; a FAISS index or its file, also of codes;
        or codes: an array of int8, packed signs (uint8), or a mapping, `.npz` or
        `.safetensors` file of codes with their "scale", "offset" or "zero_point", and
        "ids".
    original : Side
        The vectors that were copied. A copy with ids is matched by them if the original
        has ids, too. Other copies hold the same rows in the same order.
    role : {"left", "right"}
        Side of a model of two sides.

    Raises
    ------
    InputError
        If the copy cannot be read, or holds other rows.
    """
    arrays = _arrays_of(source)
    index = _faiss_index(source)
    rows: Rows
    ids: NDArray[Any] | None
    if arrays is not None:
        rows, n_bytes, ids = _decoded(arrays, original)
    elif index is not None:
        where = Path(str(source)) if is_path(source) else "an index of FAISS"
        decoded = decoded_vectors(index, where)
        rows, n_bytes, ids = decoded.rows, decoded.bytes_per_vector, decoded.ids
    else:
        model = source if isinstance(source, FactorModel) else model_of(source)
        if model.left_side is None:
            role = "right"
        side = model.side(role)
        rows = side.rows
        n_bytes = side.rows.shape[1] * float(bytes_per_number(side.rows))
        ids = side.ids
    rows = taken_rows(rows, _places(ids, len(rows), original))
    return CopiedRows(rows, n_bytes, _axes(original.rows, rows))


def _arrays_of(source: object) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of a copy of codes by name; None for other sources."""
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(source, np.ndarray):
        arrays = {"codes": source}
    elif isinstance(source, Mapping):
        arrays = {str(name): np.asarray(array) for name, array in source.items()}
    elif is_path(source):
        arrays = _arrays_in_file(Path(str(source)))
    if not _has_codes(str(array.dtype) for array in arrays.values()):
        return None
    return arrays


def _arrays_in_file(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file if one of them can be codes; {} for other files."""
    file: Npy | Npz | Safetensors
    if not path.is_file():
        return {}
    if path.suffix == ".npy":
        file = Npy(path)
    elif path.suffix == ".npz":
        file = Npz(path)
    elif path.suffix == ".safetensors":
        file = Safetensors(path)
    else:
        return {}
    # The header states the types, so other files are not read.
    if not _has_codes(tensor.dtype for tensor in file.tensors.values()):
        return {}
    return {name: np.asarray(file[name]) for name in file.tensors}


def _faiss_index(source: object) -> Any:
    """Return a FAISS index, read from its file if needed; None for other sources."""
    if comes_from(source, ("faiss",), ("Index",)):
        return source
    if not is_path(source):
        return None
    path = Path(str(source))
    if not path.is_file() or detect_format(path).name != "faiss":
        return None
    return opened(path)


def _has_codes(types: Iterable[str]) -> bool:
    """Return True if one of the types of arrays is a type of codes."""
    return any(kind in ("int8", "uint8") for kind in types)


def _decoded(
    arrays: Mapping[str, NDArray[Any]], original: Side
) -> tuple[Rows, float, NDArray[Any] | None]:
    """Return the numbers that codes stand for, bytes per vector, and ids."""
    matrices = [
        name
        for name, array in arrays.items()
        if array.dtype in (np.int8, np.uint8) and array.ndim == 2
    ]
    if len(matrices) != 1:
        raise must_be(
            "a copy of codes",
            "one matrix of int8 or uint8, with a scale and ids next to it",
            counted(len(matrices), "matrix of codes", "matrices of codes"),
        )
    codes = arrays[matrices[0]]
    scale = _number_of(arrays, SCALES, codes.shape)
    offset = _number_of(arrays, OFFSETS, codes.shape)
    zero_point = _number_of(arrays, ZERO_POINTS, codes.shape)
    n_bytes = float(codes.shape[1])
    if scale is not None and scale.shape == (len(codes), 1):
        n_bytes += 4
    ids = next((arrays[name] for name in IDS if name in arrays), None)
    if ids is not None and ids.shape != (len(codes),):
        raise must_be(
            "the ids of codes",
            f"a list of one id per row of codes, of shape ({len(codes)},)",
            f"shape {ids.shape}",
        )
    width = original.rows.shape[1]
    is_raw = scale is None and offset is None and zero_point is None
    if codes.dtype == np.uint8 and is_raw:
        if codes.shape[1] != -(-width // 8):
            raise must_be(
                "a copy of uint8 without a scale",
                f"signs packed by numpy.packbits, {-(-width // 8):,} bytes per row",
                f"{codes.shape[1]:,} bytes per row",
                'give codes as {"codes": ..., "scale": ..., "zero_point": ...}',
            )

        def signs(block: Floats) -> Floats:
            bits = np.unpackbits(block.astype(np.uint8), axis=1)[:, :width]
            return np.asarray(bits * 2.0 - 1.0, dtype=np.float64)

        return Mapped(codes, signs, width), n_bytes, ids
    return _Scaled(codes, scale, offset, zero_point), n_bytes, ids


def _number_of(
    arrays: Mapping[str, NDArray[Any]], names: tuple[str, ...], shape: tuple[int, ...]
) -> Floats | None:
    """Return a scale or an offset as a matrix of one row, one column or one number."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    values = np.asarray(arrays[name], dtype=np.float64)
    n_rows, width = shape
    if values.size == 1:
        return values.reshape(1, 1)
    if values.ndim == 2 and values.shape in ((n_rows, 1), (1, width)):
        return values
    if values.ndim == 1 and n_rows != width:
        if len(values) == n_rows:
            return values[:, None]
        if len(values) == width:
            return values[None, :]
    raise must_be(
        f"the {name} of codes",
        f"one number, or of shape ({n_rows}, 1) or (1, {width})",
        f"shape {values.shape}",
    )


class _Scaled:
    """Codes with their scale and offset, decoded while they are read."""

    def __init__(
        self,
        codes: NDArray[Any],
        scale: Floats | None,
        offset: Floats | None,
        zero_point: Floats | None,
    ) -> None:
        self.codes = codes
        self.scale = scale
        self.offset = offset
        self.zero_point = zero_point
        self.shape: tuple[int, ...] = codes.shape
        self.dtype: np.dtype[Any] = np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, which: Any, /) -> Floats:
        def values_of_rows(values: Floats) -> Floats:
            """Return the values of the rows `which`, or the only row of values."""
            if len(values) == len(self.codes):
                values = np.asarray(values[which])
            return values

        numbers: Floats = np.asarray(self.codes[which], dtype=np.float64)
        if self.zero_point is not None:
            numbers = numbers - values_of_rows(self.zero_point)
        if self.scale is not None:
            numbers = numbers * values_of_rows(self.scale)
        if self.offset is not None:
            numbers = numbers + values_of_rows(self.offset)
        return numbers


def _places(ids: NDArray[Any] | None, n_rows: int, original: Side) -> Indices:
    """Return the row of the copy for each row of the original."""
    if ids is None or original.ids is None:
        if n_rows != len(original):
            raise must_be(
                "a copy",
                f"of the {counted(len(original), 'row')} of the original",
                counted(n_rows, "row"),
                "give both ids, or skip the same rows in both",
            )
        return np.arange(n_rows)
    original_ids = np.asarray(original.ids).astype(str)
    copy_ids = np.asarray(ids).astype(str)
    order = np.argsort(copy_ids)
    sorted_ids = copy_ids[order]
    repeated = np.flatnonzero(sorted_ids[1:] == sorted_ids[:-1])
    if len(repeated):
        # Any of the rows with one id could be the copy of the row of the original.
        raise must_be(
            "the ids of a copy",
            "unique",
            f"the id {str(sorted_ids[repeated[0]])!r} in several rows",
            "keep one row for each id",
        )
    sorted_places = np.searchsorted(copy_ids, original_ids, sorter=order)
    places = order[np.minimum(sorted_places, len(copy_ids) - 1)]
    missing = np.flatnonzero(copy_ids[places] != original_ids)
    if len(missing):
        raise must_be(
            "a copy",
            "of all rows of the original",
            f"no row with the id {str(original_ids[missing[0]])!r}",
            "skip the same rows in both",
        )
    return np.asarray(places)


def _axes(x: Rows, rows: Rows) -> Floats | None:
    """Return the axes of a copy whose rows were turned; None if they were not.

    A common rotation of all rows changes no cosine. It is the best one for a sample of
    the rows. Any rotation gives true bounds, and the best one gives the closest.
    """
    width, n_columns = x.shape[1], rows.shape[1]
    if n_columns > width:
        return None
    which = np.unique(np.linspace(0, len(x) - 1, min(len(x), N_SAMPLED)).astype(int))
    before = unit_rows(np.asarray(x[which], dtype=np.float64), none=0)
    after = unit_rows(np.asarray(rows[which], dtype=np.float64), none=0)
    rotation = best_rotation(after.T @ before, n_columns, width)
    angle = _median_angle(before[:, :n_columns], after)
    angle_after_rotation = _median_angle(before, after @ rotation)
    # Small angles need no rotation, and rounding must not decide about one.
    if angle < SMALL_ANGLE or angle_after_rotation > CLEARLY_NEARER * angle:
        return None
    return rotation


def _median_angle(rows: Floats, others: Floats) -> float:
    """Return the median angle in radians of pairs of unit rows, or of their parts."""
    cosines = np.einsum("ij,ij->i", rows, others)
    return float(np.median(np.arccos(np.clip(cosines, -1, 1))))
