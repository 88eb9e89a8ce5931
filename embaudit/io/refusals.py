"""Refusals of files that no reader takes.

The name and the first bytes of a file tell what it is, and the sentence says what to
do. Pickles are never opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.conversions import SENTENCES, conversion
from embaudit.io.files import first_bytes, plain_suffix
from embaudit.io.json_text import parsed
from embaudit.io.unpacked import open_bytes

MAGIC = {
    b"PAR1": ("Parquet", ".parquet"),
    b"ARROW1": ("Arrow", ".feather"),
    b"\x93NUMPY": ("a NumPy array", ".npy"),
    b"\x89HDF\r\n\x1a\n": ("HDF5", ".h5"),
    b"IxF": ("a FAISS index", ".faiss"),
}
"""First bytes of files of known formats; renaming one helps."""
ADVICE = {suffix: row for row in SENTENCES["advice"] for suffix in row["suffixes"]}
"""By suffix: what a file is, and what to do."""
BINARY = (
    ".npz",
    ".npy",
    ".h5",
    ".hdf5",
    ".h5ad",
    ".keras",
    ".parquet",
    ".pq",
    ".feather",
    ".arrow",
    ".ipc",
    ".arrows",
    ".safetensors",
    ".gguf",
    ".faiss",
    ".index",
    ".onnx",
)
"""Suffixes of files that cannot be read gzipped, as text can."""
ZEROS = bytes(8)
"""First bytes of an index of hnswlib: the offset of its lowest level."""
DATA_OF_TENSORFLOW = re.compile(r"\.data-\d{5}-of-\d{5}$")
"""Ending of the names of the files with the numbers of a checkpoint of TensorFlow."""
END_OF_INDEX = bytes.fromhex("57fb808b247547db")
"""Last bytes of the index of such a checkpoint, which is a table of LevelDB."""
MOST_HEADER = 1024
"""Bytes of the first line of Matrix Market, at most."""
MOST_JSON = 2**26
"""Bytes of a description of a model that are searched."""
MOST_WIDTH = 10**6
"""Dimensions of a vector in an index, at most."""
OUT = "model.safetensors"
"""File name of converted weights, which readers of a folder look for."""
PICKLED = (".kv", ".model", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib")
"""Suffixes of pickles, whose first bytes do not always tell that they are some."""
CHECKPOINTS = ("pytorch_model.bin", "pytorch_model-00001-of-*.bin")
"""File names of checkpoints that were saved before safetensors."""
BEGINNINGS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
"""Pickles of protocol 2 and later."""


def refusal(
    path: Path, suffixes: Iterable[str], inside: Sequence[Path] = ()
) -> InputError:
    """Build the error for a file or folder of no known format: what would help.

    Parameters
    ----------
    path : path
        The file or folder.
    suffixes : iterable of str
        Suffixes of the files that are read.
    inside : sequence of path
        Files in the folder that can be read.

    Examples
    --------
    >>> print(refusal(Path("index.tar"), (".npz", ".npy")))
    the input must be a model or vectors; got index.tar, an archive; unpack it, and give
    what is in it.
    """
    if path.is_dir():
        pickled = pickled_checkpoint(path) or folder_of_qdrant(path)
        if pickled is not None:
            return pickled
        return _folder_refusal(path, inside)
    suffix = path.suffix.lower()
    beginning = first_bytes(path)
    if suffix == ".dat" and b"\0" in beginning:
        # Text holds no such byte.
        suffix = ".raw"
    if suffix in ADVICE:
        return _advised(path, suffix, "a model or vectors")
    for magic, (kind, ending) in MAGIC.items():
        if beginning.startswith(magic):
            return must_be(
                "the input",
                "a file whose name tells its format",
                Sentence("{}, which is {}", File(path), kind),
                f"rename it so that it ends in {ending}",
            )
    suggestion = Sentence(
        "write the vectors as .npy or .parquet, or say {} if it is one of these",
        Option("format", placeholder="NAME"),
    )
    return must_be(
        "the input",
        "a model in a format known by its suffix: " + " ".join(suffixes),
        path,
        suggestion,
    )


def _folder_refusal(path: Path, inside: Sequence[Path]) -> InputError:
    """Build the error for a folder of no known format."""
    needs = "a model or vectors"
    if not any(path.iterdir()):
        got = Sentence("{}, an empty folder", File(path))
        return must_be("the input", needs, got, "check the path")
    remedy = "name a file with a model"
    if inside:
        remedy = f"name the file in it: {listed([str(file) for file in inside], 4)}"
    return must_be(
        "the input",
        needs,
        Sentence("{}, a folder without a model that is known", File(path)),
        f"{remedy}; a folder can be read if it holds tables of vectors, a safetensors "
        "checkpoint, a store of vectors or an ALS model of Spark",
    )


def refuse_foreign(path: Path, *, needs: str = "a model or vectors") -> None:
    """Refuse a file or folder that has to be converted before embaudit can read it.

    Its name or its first bytes tell the kind.

    Parameters
    ----------
    path : path
        The file.
    needs : str
        What is to be read from it.

    Raises
    ------
    InputError
        If it is a pickle, Matrix Market, an index of hnswlib, a checkpoint of
        TensorFlow, a folder of another tool or a packed file of another format. The
        sentence says what to run instead.
    """
    foreign = _foreign_folder(path) if path.is_dir() else _tensorflow_file(path)
    if foreign is not None:
        what, remedy = foreign
        raise must_be("the input", needs, Sentence("{}, {}", File(path), what), remedy)
    beginning, suffix = first_bytes(path, 256), path.suffix.lower()
    if suffix == ".gz" and plain_suffix(path) in BINARY:
        raise must_be(
            "the input",
            needs,
            Sentence("{}, a packed file", File(path)),
            Sentence("unpack it with: gunzip {}", File(path)),
        )
    if plain_suffix(path) == ".mtx" or beginning.startswith(b"%%MatrixMarket"):
        raise _advised(path, ".mtx", needs)
    if suffix == ".bin" and beginning.startswith(ZEROS):
        raise _advised(path, ".hnsw", needs, " by its first bytes")
    # No pickle goes on with a zero; an integer of four bytes may, such as the width of
    # a network.
    is_pickle = beginning.startswith(BEGINNINGS) and beginning[2:3] != b"\0"
    # PyTorch keeps a pickle in a zip archive.
    is_archive = beginning.startswith(b"PK") and b"/data.pkl" in beginning
    if suffix in PICKLED or is_pickle or is_archive:
        raise _pickle_refusal(path)


def _advised(path: Path, suffix: str, needs: str, source: str = "") -> InputError:
    """Build the error for a file of a kind that has to be converted.

    Parameters
    ----------
    path : path
        The file.
    suffix : str
        The suffix that files of its kind have.
    needs : str
        What is to be read from it.
    source : str
        Where the kind is known from, unless its suffix tells it.
    """
    advice = ADVICE[suffix]
    remedy = advice["remedy"]
    words = {"path": str(path)}
    if suffix == ".hnsw":
        words["width"] = _width_of_hnswlib(path)
    if suffix == ".mat" and first_bytes(path).startswith(b"MATLAB 7.3"):
        remedy = advice["newest"]
    if suffix == ".mtx":
        with suppress(OSError), open_bytes(path) as file:
            if b" coordinate " in file.readline(MOST_HEADER):
                remedy = advice["sparse"]
    got = Sentence("{}, {}{}", File(path), advice["what"], source)
    return must_be("the input", needs, got, remedy.format(**words))


def _width_of_hnswlib(path: Path) -> str:
    """Return the number of dimensions by the header of an index, or "N".

    The header holds the places of the label and of the vector in each row, in bytes.
    The vector of float32 lies before the label. "N" stands for an implausible number.
    """
    beginning = first_bytes(path, 48)
    if len(beginning) < 48:
        return "N"
    header = np.frombuffer(beginning, "<u8")
    label, vector = int(header[4]), int(header[5])
    width, remainder = divmod(label - vector, 4)
    return str(width) if 0 < width < MOST_WIDTH and not remainder else "N"


def _foreign_folder(path: Path) -> tuple[str, str] | None:
    """Return what a folder of another tool is, and what to do; None for others."""
    for name in ("saved_model.pb", "variables/variables.index"):
        if (path / name).exists():
            return "a SavedModel of TensorFlow", _from_tensorflow(
                path / "variables" / "variables"
            )
    if (path / "checkpoint").is_file():
        indexes = sorted(
            file for file in path.glob("*.index") if _tensorflow_file(file) is not None
        )
        if indexes:
            last = max(indexes, key=lambda file: file.stat().st_mtime)
            return "a folder of checkpoints of TensorFlow", _from_tensorflow(
                last.with_suffix("")
            )
    for row in SENTENCES["folder"]:
        found = [file for marker in row["markers"] for file in path.glob(marker)]
        # Some names say too little.
        content = row.get("contains", "").encode()
        if found and (not content or content in first_bytes(found[0], MOST_JSON)):
            return row["what"], row["remedy"].format(path=str(path))
    return None


def _tensorflow_file(path: Path) -> tuple[str, str] | None:
    """Return what a file of TensorFlow is, and what to do; None for other files."""
    if path.name == "saved_model.pb":
        return _foreign_folder(path.parent)
    data = DATA_OF_TENSORFLOW.search(path.name)
    if data is not None:
        prefix = path.with_name(path.name[: data.start()])
    elif path.suffix == ".index" and _last_bytes(path, 8) == END_OF_INDEX:
        prefix = path.with_suffix("")
    else:
        return None
    return SENTENCES["tensorflow"]["what"], _from_tensorflow(prefix)


def _from_tensorflow(prefix: Path) -> str:
    return str(SENTENCES["tensorflow"]["remedy"].format(prefix=str(prefix)))


def _last_bytes(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(size, path.stat().st_size), os.SEEK_END)
        return file.read()


def pickled_checkpoint(folder: Path) -> InputError | None:
    """Return the refusal of a folder whose weights are pickles; None for other folders.

    Examples
    --------
    >>> pickled_checkpoint(Path("no-such-folder")) is None
    True
    """
    for name in CHECKPOINTS:
        for checkpoint in sorted(folder.glob(name)):
            return _pickle_refusal(checkpoint, out=str(folder / OUT))
    return None


def folder_of_qdrant(folder: Path) -> InputError | None:
    """Return the refusal of a folder of Qdrant's local mode, whose points are pickles.

    None is returned for other folders.

    Examples
    --------
    >>> folder_of_qdrant(Path("no-such-folder")) is None
    True
    """
    settings = folder / "meta.json"
    if not (settings.is_file() and (folder / "collection").is_dir()):
        return None
    name = "NAME"
    text = settings.read_text(encoding="utf-8", errors="replace")
    try:
        collections = [*parsed(text)["collections"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        collections = []
    if len(collections) == 1:
        name = collections[0]
    return must_be(
        "the input",
        "the address of a Qdrant server",
        Sentence("{}, a folder of pickles, which could run code", File(folder)),
        "if you trust it, convert it in Python: ea.io.save(ea.load("
        f"QdrantClient(path={str(folder)!r}), collection={name!r}), 'vectors.npz')",
    )


def _pickle_refusal(path: Path, *, out: str = OUT) -> InputError:
    """Build the error for a pickle, which names the line that converts it."""
    return InputError(
        "{} must be a file of plain numbers; it is a pickle, which could run code; "
        "convert it {}.",
        File(path),
        conversion(path, out),
    )
