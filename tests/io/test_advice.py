"""A refusal says what the file is and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy.io import mmwrite

from embaudit.errors import InputError
from embaudit.io import catalogue, formats, load
from embaudit.io.advice import ADVICE

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 7.0]])


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.ann", "an index of Annoy; export the vectors in Python: numpy.save('vectors.npy', "
         "[index.get_item_vector(i) for i in range(index.get_n_items())])."),
        ("a.hnsw", "an index of hnswlib; export the vectors in Python: numpy.save('vectors.npy', "
         "index.get_items(sorted(index.get_ids_list())))."),
        ("u.data", "a table of interactions by its name; factorize it first: embaudit fit PATH --objective product."),
        ("A.MAT", "a file of MATLAB; convert it in Python: numpy.savez('model.npz', **{k: v for k, v in "
         "scipy.io.loadmat('PATH').items() if k[0] != '_'})."),
        ("a.npz.zip", "an archive; unpack it, and give what is in it."),
    ],
)  # fmt: skip
def test_what_a_suffix_tells(tmp_path: Path, name: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"1\t2\t3\n")
    expected = f"the input must be a model or vectors; got {path}, {sentence}"
    assert refused(path) == expected.replace("PATH", str(path))


def test_every_advice_is_for_a_suffix_that_is_not_read() -> None:
    assert not set(ADVICE) & {suffix for one in formats() if one.reads for suffix in one.suffixes}


def test_an_index_of_hnswlib_is_not_read_as_words(tmp_path: Path) -> None:
    path = tmp_path / "index.bin"
    path.write_bytes(bytes(8) + (100).to_bytes(8, "little") + b"\x07" * 40)
    assert refused(path) == (
        f"the input must be a model or vectors; got {path}, an index of hnswlib by its first bytes; export the vectors "
        "in Python: numpy.save('vectors.npy', index.get_items(sorted(index.get_ids_list())))."
    )
    path.write_bytes(b"1 2\na " + np.array([1.0, 2.0], "<f4").tobytes())
    assert load(path).n_right == 1


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [(".npy", "a NumPy array"), (".parquet", "Parquet"), (".feather", "Arrow"), (".mtx", "Matrix Market")],
)
def test_renaming_is_advised_where_it_helps(tmp_path: Path, suffix: str, kind: str) -> None:
    table = pa.table({"id": list("abc"), "vector": ROWS.tolist()})
    write: dict[str, Any] = {
        ".npy": lambda path: np.save(path, ROWS),
        ".parquet": lambda path: parquet.write_table(table, path),
        ".feather": lambda path: feather.write_feather(table, str(path)),
        ".mtx": lambda path: mmwrite(path, ROWS),
    }
    path, other = tmp_path / f"v{suffix}", tmp_path / "v.vectors"
    write[suffix](path)
    path.rename(other)
    assert refused(other) == (
        f"the input must be a file whose name tells its format; got {other}, which is {kind}; rename it so that it "
        f"ends in {suffix}."
    )
    other.rename(path)
    np.testing.assert_array_equal(load(path).right, ROWS)


def test_what_is_not_known_is_not_to_be_renamed(tmp_path: Path) -> None:
    path = tmp_path / "a.xyz"
    path.write_text("1")
    assert refused(path).endswith(
        f"got {path}; write the vectors as .npy or .parquet, or name its format with format (--format) if it is one of "
        "these."
    )


def test_a_package_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    (tmp_path / "v.faiss").write_bytes(b"IxF2")
    assert refused(tmp_path / "v.faiss") == (
        f"{tmp_path / 'v.faiss'}: the package faiss, which faiss files need, must be installed; got none; install it: "
        "pip install 'embaudit[faiss]'."
    )
    assert {one.name for one in formats() if not one.is_usable} == {one.name for one in formats() if one.needs}
