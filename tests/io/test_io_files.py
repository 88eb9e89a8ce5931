"""Writing whole or not at all."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import load, save, written_whole


class StoppedError(RuntimeError):
    """What goes wrong half way."""


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_exception_leaves_everything_as_it_was(tmp_path: Path, old: bytes | None) -> None:
    target = tmp_path / "out"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(StoppedError), written_whole(target, force=True) as file:  # noqa: PT012
        file.write(b"half")
        raise StoppedError
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old])


DRAW = np.random.default_rng(0)
MODEL = FactorModel.from_vectors(DRAW.normal(size=(7, 3)), ids=[f"item{i}" for i in range(7)])


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
    with pytest.raises(InputError, match="pickled, which could run code"):
        load(path)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("a.kv", "save_word2vec_format"), ("a.pth", "weights_only=True"), ("a.pt", "safetensors"),
     ("a.pkl", "from_object"),      ("a.joblib", "from_object"), ("a.bin", "safetensors"), ("a.npz", "from_object"),
     ("a.txt", "from_object")],
)  # fmt: skip
def test_pickles_are_refused_with_the_conversion(tmp_path: Path, name: str, remedy: str) -> None:
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Mine(), protocol=4))
    with pytest.raises(InputError, match="pickle, which could run code") as error:
        load(path)
    assert remedy in str(error.value)


def test_a_newer_version_says_what_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(MODEL, path)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["embaudit_format"] = np.array(2)
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="at most 1; got 2; upgrade embaudit"):
        load(path)
    del arrays["right"]
    arrays["embaudit_format"] = np.array(1)
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="an array named right"):
        load(path)
