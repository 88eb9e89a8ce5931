"""A function on its way to another process: large arrays in it stay where they lie, or are written down once."""

from __future__ import annotations

import hashlib
import io
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.executors.place import Place

LEAST = 1 << 16
"""Bytes from which on an array is not sent along but opened by the worker."""


@dataclass(frozen=True)
class Task:
    """A pickled function of one argument, opened once by each process that runs it."""

    pickled: bytes
    digest: str

    def __call__(self, item: Any) -> Any:
        """Return the function of an item."""
        return _opened(self)(item)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and other.digest == self.digest


@lru_cache(maxsize=4)
def _opened(task: Task) -> Callable[[Any], Any]:
    return pickle.loads(task.pickled)  # type: ignore[no-any-return]  # noqa: S301  (made by this program, not read)


@dataclass(frozen=True, eq=False)
class Store:
    """A folder that all workers reach, for arrays that lie in memory."""

    folder: Path
    _kept: dict[int, Place] = field(default_factory=dict)
    """Arrays that cannot change, by identity: written once however many passes read them."""

    def place(self, array: NDArray[Any], passing: list[Path]) -> Place:
        """Write an array unless it lies in a file; what may change is noted as passing."""
        known = Place.of(array) or self._kept.get(id(array))
        if known is not None:
            return known
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".npy", delete=False) as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        path = Path(file.name)
        found = Place.of(np.load(path, mmap_mode="r"))
        assert found is not None
        if array.flags.writeable:
            passing.append(path)
        else:
            self._kept[id(array)] = found
            weakref.finalize(array, self._forget, id(array), path)
        return found

    def _forget(self, key: int, path: Path) -> None:
        self._kept.pop(key, None)
        path.unlink(missing_ok=True)

    @contextmanager
    def task(self, function: Callable[[Any], Any]) -> Iterator[Task]:
        """Pack a function for the time of a pass.

        Examples
        --------
        >>> x = np.arange(20_000.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Store(Path(folder)).task(lambda i: float(x[i])) as task:
        ...         len(task.pickled) < 4_096, pickle.loads(pickle.dumps(task))(7)
        (True, 7.0)
        """
        passing: list[Path] = []
        try:
            text = _pickled(function, lambda array: self.place(array, passing))
            yield Task(text, hashlib.sha256(text).hexdigest())
        finally:
            for path in passing:
                path.unlink(missing_ok=True)


def _pickled(function: Callable[[Any], Any], placed: Callable[[NDArray[Any]], Place]) -> bytes:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, given: Any) -> Any:
            plain = isinstance(given, np.ndarray) and not given.dtype.hasobject
            if plain and given.nbytes >= LEAST:
                return Place.opened, (placed(given),)
            return super().reducer_override(given)

    text = io.BytesIO()
    Pickler(text).dump(function)
    return text.getvalue()
