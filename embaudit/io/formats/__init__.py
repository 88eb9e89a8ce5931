"""The formats embaudit reads and writes, a row each, and which of them a file is."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from embaudit.errors import InputError, must_be
from embaudit.io.files import AnyPath, as_path, first_bytes, plain_suffix
from embaudit.io.options import Request
from embaudit.io.refusals import refusal, refuse_foreign

MOST_TRIED = 100
"""Files of a folder that are tried at most, to name those that can be read."""


@dataclass(frozen=True)
class Format:
    """One file format."""

    name: str
    """Value of the option `format`."""
    suffixes: tuple[str, ...]
    """File name endings; "/" stands for a directory."""
    what: str
    """Source of such files."""
    holds: str
    """Contents of such files."""
    options: tuple[str, ...] = ()
    """The options of `load` it understands, besides those that every format takes."""
    module: str = field(default="", repr=False)
    """Module of its reader and writer."""
    needs: str = ""
    """The package it needs beside those that embaudit brings, called as its extra is;
    empty for none.
    """
    magic: bytes = field(default=b"", repr=False)
    """First bytes of its files, if these identify them under any name."""
    reads: bool = True
    """True if `load` reads it."""
    writes: bool = False
    """True if `save` writes it."""
    reader: str = field(default="contents", repr=False)
    """Name of the function in that module that reads it."""
    writer: str = field(default="write", repr=False)
    """Name of the one that writes it."""
    loses: frozenset[str] = field(default=frozenset(), repr=False)
    """Fields that `keeps` of that module names and this format has no room for."""

    @property
    def is_usable(self) -> bool:
        """Return whether what it needs is installed here."""
        return not self.needs or find_spec(PACKAGES[self.needs]) is not None


PACKAGES = {"faiss": "faiss", "gguf": "gguf", "hdf5": "h5py", "onnx": "onnx"}
"""Name of the module to import, by the extra that brings it."""
COLUMNS = ("vector_id", "vector", "bias", "ignore")
"""Options that say which column of a table is what."""
ARRAYS = (
    "left",
    "weight",
    "left_bias",
    "bias",
    "left_id_array",
    "id_array",
    "transpose",
    "ignore",
)
"""Options that say which of named arrays is what."""

# fmt: off
FORMATS = (
    Format("embaudit", (".npz",), "embaudit's own model file", "everything a model has", (), "native", writes=True),
    Format("implicit", (".npz",), "models saved by implicit", "users, items, biases", (), "implicit"),
    Format("npz", (".npz",), "named NumPy arrays", "factors, head, vectors", ARRAYS, "npy"),
    Format("npy", (".npy",), "one NumPy array, kept on disk", "vectors, others beside",
           ("left_bias_file", "bias_file", "transpose"), "npy", writes=True),
    Format("safetensors", (".safetensors",), "checkpoints in one file", "a head, factors or vectors", ARRAYS,
           "safetensors", writes=True),
    Format("shards", (".json", "/"), "checkpoints in a directory or in shards", "a head, factors or vectors", ARRAYS,
           "safetensors"),
    Format("spark", ("/",), "ALS models of Spark ML or MLlib", "users, items, ids", (), "spark"),
    Format("parquet", (".parquet", ".pq"), "ids and a column of lists, or numeric columns", "vectors, ids, biases",
           COLUMNS, "tables", writes=True),
    Format("feather", (".feather", ".arrow", ".ipc"), "the same in Arrow", "vectors, ids, biases", COLUMNS, "tables",
           writes=True, writer="write_feather"),
    Format("csv", (".csv",), "the same in text, as COPY into pgvector takes it", "vectors, ids, biases", COLUMNS,
           "tables", writes=True, writer="write_csv", loses=frozenset({"link", "objective"})),
    Format("tables", ("/",), "the same in many files: a folder, a pattern or a list", "vectors, ids, biases", COLUMNS,
           "tables"),
    Format("table", (".tsv", ".arrows"), "the same", "vectors, ids, biases", COLUMNS, "tables"),
    Format("json", (".json", ".jsonl", ".ndjson"), "lists, records or a map in JSON", "vectors, ids, biases", COLUMNS,
           "tables", reader="contents_of_json"),
    Format("hdf5", (".h5", ".hdf5", ".h5ad", ".keras"), "HDF5, AnnData, weights of Keras", "factors, head, vectors",
           ARRAYS, "hdf5", "hdf5"),
    Format("gguf", (".gguf",), "llama.cpp, Ollama: floats, Q8_0, Q4_0 and others", "a head, token vectors", ARRAYS,
           "gguf", "gguf", b"GGUF"),
    Format("word2vec", (".txt", ".vec", ".emb"), "word2vec, fastText, GloVe, node2vec", "vectors, ids", (), "word2vec",
           writes=True),
    Format("word2vec-binary", (".bin", ".w2v"), "word2vec in binary", "vectors, ids", (), "word2vec",
           writes=True, writer="write_binary"),
    Format("faiss", (".faiss", ".index"), "FAISS: Flat, IVFFlat, HNSWFlat", "vectors, ids", (), "faiss", "faiss",
           writes=True),
    Format("onnx", (".onnx",), "networks in ONNX", "a head", (), "onnx", "onnx"),
)
# fmt: on


def formats() -> tuple[Format, ...]:
    """List the formats; some need a package that is not always there.

    Examples
    --------
    >>> formats()[0].name
    'embaudit'
    """
    return FORMATS


def module_of(entry: Format) -> Any:
    """Import the reader and writer of a format.

    Raises
    ------
    InputError
        If it needs a package that is not installed.
    """
    if not entry.is_usable:
        remedy = f"install it: pip install 'embaudit[{entry.needs}]'"
        what = f"the package {PACKAGES[entry.needs]}, which {entry.name} files need,"
        raise must_be(what, "installed", "none", remedy)
    return import_module(f"embaudit.io.formats.{entry.module}")


def named(name: str) -> Format:
    """Find a format by its name.

    Raises
    ------
    InputError
        If there is none.
    """
    entry = next((candidate for candidate in FORMATS if candidate.name == name), None)
    if entry is None:
        raise must_be(
            "format", "one of " + ", ".join(f.name for f in FORMATS), repr(name)
        )
    return entry


def detected(path: Path) -> Format:
    """Determine the format of a file or directory by its name and content.

    Raises
    ------
    InputError
        If none reads it, with what would help.
    """
    refuse_foreign(path)
    beginning = first_bytes(path)
    for candidate in FORMATS:
        if candidate.magic and beginning.startswith(candidate.magic):
            return candidate
    suffix = "/" if path.is_dir() else plain_suffix(path)
    for candidate in FORMATS:
        # The suffix is enough for a reader that does not look at the content.
        if suffix in candidate.suffixes and getattr(
            module_of(candidate), "recognises", Path.exists
        )(path):
            return candidate
    word2vec = named("word2vec")
    if module_of(word2vec).is_word2vec(path):
        return word2vec
    suffixes = dict.fromkeys(s for f in FORMATS for s in f.suffixes if s != "/")
    raise refusal(path, suffixes, _readable_in(path) if path.is_dir() else ())


def _readable_in(folder: Path) -> list[Path]:
    """Return the files in a folder, and in the folders in it, that can be read without options.

    A vocabulary or a configuration has the suffix of a format and is no model, so each
    file is opened. At most 100 files are tried.
    """
    files = sorted(file for at in ("*", "*/*") for file in folder.glob(at))
    readable = []
    for file in [file for file in files if file.is_file()][:MOST_TRIED]:
        try:
            entry = detected(file)
            getattr(module_of(entry), entry.reader)(file, Request())
        except (InputError, OSError):
            continue
        readable.append(file)
    return readable


def writer_of(path: AnyPath) -> Format:
    """Determine the format of an output by its suffix.

    Raises
    ------
    InputError
        If none of that suffix can be written.
    """
    target = as_path(path, "the output")
    suffix = plain_suffix(target)
    for candidate in FORMATS:
        if (
            candidate.writes
            and suffix in candidate.suffixes
            and target.suffix.lower() != ".gz"
        ):
            return candidate
    suffixes = dict.fromkeys(s for f in FORMATS if f.writes for s in f.suffixes)
    raise must_be(
        "the output", "a file that ends in one of " + " ".join(suffixes), path
    )
