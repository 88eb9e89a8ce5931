"""Where tensors come from: mappings, lists and arrays in memory, and files read a piece at a time.

Files are read with plain reads, not through a memory map: mapped pages count as memory of the process, so two
checkpoints of some gigabytes would look, and under a limit be, as large as they are.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from embaudit.blocks.partition import Shape
from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

UNNAMED = ""
"""The name of an array that stands alone: whatever its file is called, it matches another one."""

Read: TypeAlias = "Callable[[int], NDArray[Any]]"
"""Return the next so many entries of a tensor in C order, as real numbers numpy computes with."""


@dataclass(frozen=True)
class Tensor:
    """One named array of a source, not yet read."""

    shape: Shape
    dtype: str
    """What it is stored as, in words of numpy; "bfloat16" where that is it."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=np.int64))


class Source(Protocol):
    """Named tensors that can each be read from its beginning, as often as needed."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """Names, shapes and dtypes, in the order of the source."""
        ...

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Begin to read one tensor."""
        ...


def _require_real(name: str, kind: str, dtype: str) -> None:
    if kind not in "fiub":
        raise must_be(f"tensor {name!r}", "an array of real numbers", f"dtype {dtype}")


def widen_bfloat16(raw: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Read the upper halves of float32 numbers, which is what bfloat16 is.

    Examples
    --------
    >>> widen_bfloat16(np.array([0x3F80, 0xC000], dtype=np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    wide = raw.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


class MemorySource:
    """Arrays or torch tensors in memory."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self.tensors = {name: self._describe(name, array) for name, array in arrays.items()}

    @staticmethod
    def _describe(name: str, array: Any) -> Tensor:
        dtype = str(array.dtype).removeprefix("torch.")
        try:
            kind = "f" if dtype == "bfloat16" else np.dtype(dtype).kind
        except TypeError:  # a dtype of another library that numpy has no numbers for
            kind = "V"
        _require_real(name, kind, dtype)
        return Tensor(tuple(int(n) for n in array.shape), dtype)

    @contextmanager
    def open(self, name: str) -> Iterator[Read]:
        """Read pieces of one array; only a piece is ever copied."""
        array, position = self._arrays[name], 0
        flat = _flat(array)

        def read(count: int) -> NDArray[Any]:
            nonlocal position
            piece = flat[position : position + count]
            position += count
            return _as_numpy(piece)

        yield read


def _flat(array: Any) -> Any:
    """Return something to slice in C order without copying the whole array."""
    if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
        return array.flat
    return array.reshape(-1)


def _as_numpy(piece: Any) -> NDArray[Any]:
    if hasattr(piece, "detach"):
        piece = piece.detach().cpu()
        piece = piece.float() if str(piece.dtype) == "torch.bfloat16" else piece
        return np.asarray(piece.numpy())
    array = np.asarray(piece)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


_SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    **{f"{sign}{bits}": f"{'u' * (sign == 'U')}int{bits}" for sign in "IU" for bits in (8, 16, 32, 64)},
    "BOOL": "bool",
}


def _stored(dtype: str) -> np.dtype[Any]:
    """Return the little-endian numpy type whose bytes the file holds."""
    return np.dtype("<u2") if dtype == "bfloat16" else np.dtype(dtype).newbyteorder("<")


class SafetensorsSource:
    """A safetensors file: an eight-byte length, a JSON header, then the bytes of the tensors.

    Reference: https://huggingface.co/docs/safetensors (format).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.tensors: dict[str, Tensor] = {}
        self._offsets: dict[str, int] = {}
        header, base = self._header()
        for name, entry in header.items():
            if name != "__metadata__":
                self._register(name, entry, base)

    def _header(self) -> tuple[dict[str, Any], int]:
        size = self._path.stat().st_size
        with self._path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= size - 8:
                raise must_be(str(self._path), "a safetensors file", f"a header of {length} bytes in {size}")
            try:
                header = json.loads(file.read(length))
            except ValueError as error:
                raise must_be(str(self._path), "a safetensors file", "a header that is no JSON") from error
        if not isinstance(header, dict):
            raise must_be(str(self._path), "a safetensors file", "a header that names no tensors")
        return header, 8 + length

    def _register(self, name: str, entry: dict[str, Any], base: int) -> None:
        try:
            code, shape, (start, stop) = entry["dtype"], tuple(int(n) for n in entry["shape"]), entry["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise must_be(str(self._path), "a safetensors file", f"a header that does not describe {name!r}") from error
        dtype = _SAFETENSORS.get(code)
        if dtype is None:
            raise must_be(f"tensor {name!r} of {self._path}", "of dtype " + ", ".join(_SAFETENSORS), code, "convert it")
        tensor = Tensor(shape, dtype)
        if stop - start != tensor.size * _stored(dtype).itemsize or base + stop > self._path.stat().st_size:
            raise must_be(str(self._path), "a whole safetensors file", f"cut-off or misplaced bytes of {name!r}")
        self.tensors[name], self._offsets[name] = tensor, base + start

    @contextmanager
    def open(self, name: str) -> Iterator[Read]:
        """Read pieces of one tensor from its place in the file."""
        dtype = self.tensors[name].dtype
        with self._path.open("rb", buffering=0) as file:
            file.seek(self._offsets[name])
            yield lambda count: _decode(_read_exactly(file, count, _stored(dtype), name), dtype)


def _decode(raw: NDArray[Any], dtype: str) -> NDArray[Any]:
    return widen_bfloat16(raw) if dtype == "bfloat16" else raw


def _read_exactly(file: IO[bytes], count: int, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Fill a new array from a file; a single read may return less than was asked for."""
    array = np.empty(count, dtype=dtype)
    view, done = memoryview(array.view(np.uint8).data), 0
    while done < len(view):
        got = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise InputError(f"tensor {name!r} ends after {done} of {len(view)} bytes; the file is cut off.")
        done += got
    return array


class ShardedSource:
    """Several safetensors files named by an index such as model.safetensors.index.json."""

    def __init__(self, index: Path) -> None:
        try:
            homes: dict[str, str] = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        except (ValueError, KeyError, TypeError) as error:
            raise must_be(str(index), "an index of safetensors files with a weight_map", "something else") from error
        shards = {file: SafetensorsSource(existing(index.parent / file)) for file in sorted(set(homes.values()))}
        self._homes = {name: shards[file] for name, file in homes.items()}
        absent = [name for name, shard in self._homes.items() if name not in shard.tensors]
        if absent:
            raise must_be(str(index), "an index of tensors its files hold", f"{absent[0]!r}, which is in none")
        self.tensors = {name: shard.tensors[name] for name, shard in self._homes.items()}

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read one tensor from the file that holds it."""
        return self._homes[name].open(name)


class NumpySource:
    """The arrays of a .npz archive, compressed or not, or the one array of a .npy file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._archive = path.suffix == ".npz"
        names = self._members() if self._archive else [UNNAMED]
        self._order: dict[str, bool] = {}
        self.tensors = {name: self._describe(name) for name in names}

    def _members(self) -> list[str]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        except zipfile.BadZipFile as error:
            raise must_be(str(self._path), "an .npz archive of arrays", "another kind of file") from error

    @contextmanager
    def _stream(self, name: str) -> Iterator[IO[bytes]]:
        if not self._archive:
            with self._path.open("rb") as file:
                yield file
            return
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(f"{name}.npy") as member:
                yield member
        except (zipfile.BadZipFile, zlib.error) as error:
            raise must_be(f"array {name!r} of {self._path}", "readable", "damaged bytes") from error

    def _describe(self, name: str) -> Tensor:
        with self._stream(name) as file:
            shape, self._order[name], dtype = _npy_header(
                file, f"array {name!r} of {self._path}" if name else str(self._path)
            )
        _require_real(name or self._path.name, dtype.kind, str(dtype))
        return Tensor(shape, dtype.name)

    @contextmanager
    def open(self, name: str) -> Iterator[Read]:
        """Read pieces of one array; an array in column order has to be held whole."""
        with self._stream(name) as file:
            if self._order[name]:
                with MemorySource({name: np.lib.format.read_array(file, allow_pickle=False)}).open(name) as read:
                    yield read
                return
            _, _, dtype = _npy_header(file, name)
            yield lambda count: _read_exactly(file, count, dtype, name)


def _npy_header(file: IO[bytes], name: str) -> tuple[Shape, bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, column_order, dtype = header(file)
    except ValueError as error:
        raise must_be(name, "an array in numpy's file format", "something else") from error
    return shape, column_order, dtype


def existing(path: Path) -> Path:
    """Return a path that is there, or say that it is not."""
    if path.is_dir():
        remedy = "name a file in it, such as model.safetensors.index.json for a checkpoint in several parts"
        raise must_be("the path", "a file", f"the folder {path}", remedy)
    if not path.is_file():
        raise must_be("the path", "an existing file", str(path))
    return path


def _from_path(path: Path) -> Source:
    name = existing(path).name
    if name.endswith(".safetensors.index.json"):
        return ShardedSource(path)
    if path.suffix == ".safetensors":
        return SafetensorsSource(path)
    if path.suffix in (".npz", ".npy"):
        return NumpySource(path)
    remedy = "save it as safetensors; a pickle may run any code, so it is not opened"
    raise must_be(name, "a .safetensors, .safetensors.index.json, .npz or .npy file", f"suffix {path.suffix!r}", remedy)


def _is_numbers(given: Any) -> bool:
    """Tell whether nested lists hold plain numbers only."""
    if isinstance(given, (list, tuple)):
        return all(_is_numbers(part) for part in given)
    return isinstance(given, (int, float, np.number, np.bool_))


def _as_leaf(given: Any) -> Any | None:
    """Return an array-like with shape and dtype, or None where `given` holds several."""
    if hasattr(given, "detach") or (hasattr(given, "dtype") and hasattr(given, "reshape")):
        return given
    if isinstance(given, Mapping) or (isinstance(given, Sequence) and not isinstance(given, str)):
        if not isinstance(given, Mapping) and given and _is_numbers(given):
            try:
                return np.asarray(given)
            except ValueError:  # rows of different lengths: several arrays
                return None
        return None
    return np.asarray(given)


def _leaves(given: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    leaf = _as_leaf(given)
    if leaf is not None:
        yield prefix, leaf
        return
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    for key, value in pairs:
        yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))


def as_source(given: Any, name: str) -> Source:
    """Understand what holds the tensors.

    Parameters
    ----------
    given : mapping, list, array, torch tensor, path or Source
        Nested mappings and lists are walked, keys joined by a dot.
    name : str
        What to call it in an error.

    Raises
    ------
    InputError
        If a file is absent or of another kind, or nothing is in it.

    Examples
    --------
    >>> as_source({"layer": {"weight": [[1.0, 2.0]], "bias": [0.5]}}, "x").tensors["layer.weight"]
    Tensor(shape=(1, 2), dtype='float64')
    """
    if isinstance(given, (str, os.PathLike)):
        source = _from_path(Path(given))
    elif hasattr(given, "tensors") and hasattr(given, "open"):
        source = given
    else:
        pairs = list(_leaves(given, ""))
        arrays = dict(pairs)
        if len(arrays) < len(pairs):
            raise must_be(f"the names in {name}", "unique once nested keys are joined by a dot", "one of them twice")
        source = MemorySource(arrays)
    if not any(tensor.size for tensor in source.tensors.values()):
        raise must_be(name, "at least one array with an entry", "nothing")
    return source
