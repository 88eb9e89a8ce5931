"""Files are written completely or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load, open_output


class StoppedError(RuntimeError):
    """What goes wrong half way."""


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_exception_leaves_everything_as_it_was(
    tmp_path: Path, old: bytes | None
) -> None:
    target = tmp_path / "out"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(StoppedError), open_output(target, force=True) as file:  # noqa: PT012
        file.write(b"half")
        raise StoppedError
    assert [p.read_bytes() for p in tmp_path.iterdir()] == (
        [] if old is None else [old]
    )


class Mine:
    """An object whose unpickling would be seen."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("it was unpickled",))


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_pickled_arrays_are_not_opened(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    array = np.array([[Mine(), 1], [2, 3]], dtype=object)
    if name.endswith("npz"):
        np.savez(path, user_factors=array, item_factors=array)
    else:
        np.save(path, array)
    with pytest.raises(InputError, match="a pickle, which could run code"):
        load(path)
