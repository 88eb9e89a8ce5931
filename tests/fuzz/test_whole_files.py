"""`inspect` announces what `read` then does, for a valid file of each format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from fuzz.seeds import LEFT, NAMES, RIGHT, SEEDS

from embaudit.errors import InputError
from embaudit.io import inspect, list_formats, read

HOLDS = {
    "own.npz": ("embaudit", LEFT, RIGHT, NAMES),
    "implicit.npz": ("implicit", LEFT, RIGHT, None),
    "packed.npz": ("npz", None, RIGHT, NAMES),
    "v.npy": ("npy", None, RIGHT, None),
    "v.safetensors": ("safetensors", None, RIGHT, None),
    "v.parquet": ("parquet", None, RIGHT, NAMES),
    "wide.parquet": ("parquet", None, RIGHT, NAMES),
    "v.feather": ("feather", None, RIGHT, None),
    "v.csv": ("csv", None, RIGHT, NAMES),
    "lists.csv": ("csv", None, RIGHT, NAMES),
    "v.arrows": ("table", None, RIGHT, None),
    "0.json": ("json", None, RIGHT, NAMES),
    "1.json": ("json", None, RIGHT, [name.upper() for name in NAMES]),
    "2.json": ("json", None, RIGHT, None),
    "v.jsonl": ("json", None, RIGHT, [name.upper() for name in NAMES]),
    "v.txt": ("word2vec", None, RIGHT, [name.replace(" ", "") for name in NAMES]),
    "v.vec.gz": ("word2vec", None, RIGHT, [name.replace(" ", "") for name in NAMES]),
    "v.bin": (
        "word2vec-binary",
        None,
        RIGHT,
        [name.replace(" ", "") for name in NAMES],
    ),
    "m.h5": ("hdf5", LEFT, RIGHT, None),
    "a.h5ad": ("hdf5", None, RIGHT, NAMES),
    "model.safetensors.index.json": (
        "shards",
        None,
        RIGHT,
        [f"t{i}" for i in range(5)],
    ),
    "m.onnx": ("onnx", None, None, None),
    "Fla.faiss": ("faiss", None, None, None),
    "IVF.faiss": ("faiss", None, None, None),
    "HNS.faiss": ("faiss", None, None, None),
    "m.gguf": ("gguf", None, None, NAMES),
}
"""The format, left rows, right rows and first names of each file; None is not checked.
"""
BY_NAME = {seed.name: seed for seed in SEEDS}
FOLDERS = {"spark", "tables"}
"""Formats of folders of files, which other tests read."""
READ_PACKED = (".csv", ".json", ".jsonl", ".txt", ".bin")
"""Suffixes of files that are also read while they are gzipped."""
SINGLE_FILES = [
    name
    for name in HOLDS
    if name in BY_NAME and not name.endswith((".gz", ".index.json"))
]


def test_every_format_of_files_has_a_whole_file() -> None:
    formats = {entry.name for entry in list_formats() if not entry.addresses}
    missing = sorted(formats - FOLDERS - {kind for kind, *_ in HOLDS.values()})
    assert not missing, f"fuzz/seeds.py and HOLDS above lack a file of {missing}"


@pytest.mark.parametrize("name", [name for name in HOLDS if name in BY_NAME])
def test_a_look_says_what_reading_makes_of_the_file(tmp_path: Path, name: str) -> None:
    kind, left, right, names = HOLDS[name]
    path = tmp_path / name
    BY_NAME[name].write(path)
    looked, found = inspect(path), read(path)
    assert looked.format == found.intake.format == kind
    # An objective may follow from the numbers, which a look does not read.
    roles = {(part.name, part.became) for part in looked.parts}
    assert {
        (part.name, part.became)
        for part in found.intake.parts
        if part.became != "objective"
    } == roles
    model = found.model
    assert (model.left is None) == (left is None)
    for given, expected in ((model.left, left), (model.right, right)):
        if expected is not None:
            np.testing.assert_allclose(given, expected, rtol=1e-6)
    if names is not None:
        assert model.names("right").tolist()[: len(names)] == names


@pytest.mark.parametrize("name", SINGLE_FILES)
def test_a_packed_file_is_read_or_is_to_be_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    BY_NAME[name].write(path)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    if path.suffix in READ_PACKED:
        np.testing.assert_array_equal(read(packed).model.right, read(path).model.right)
        return
    # The suffixes of such formats are listed in BINARY of embaudit/io/refusals.py.
    with pytest.raises(InputError, match="unpack it with: gunzip"):
        read(packed)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("config.json", "got a configuration; give its folder"),
        ("tokenizer.json", "got a tokenizer; give its folder"),
        ("map.json", "got a vocabulary; give the head, and this file with labels="),
        ("ratings.csv", "got interactions (userId, movieId, rating)"),
        ("ratings.dat", "a table of interactions by its name; factorize it first"),
        ("ratings.parquet", "got interactions (user, item, rating)"),
        ("titles.csv", "got movieId, title; choose the columns with vector=FIRST:LAST"),
        ("labels.json", "write vectors with json.dump"),
        ("counts.npy", "a matrix with one row per entity; got shape (6,)"),
        ("x.npz", "name two factors with left=A and weight=B"),
    ],
)
def test_files_that_lie_beside_a_model_are_told_apart(
    tmp_path: Path, name: str, part: str
) -> None:
    path = tmp_path / name
    BY_NAME[name].write(path)
    for reading in (inspect, read):
        with pytest.raises(InputError) as refused:
            reading(path)
        assert part in str(refused.value)
