"""Errors for files and folders that no reader takes.

The name and the first bytes of a file tell what it is, and the error says how to
convert it. Pickles are never opened.
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
from embaudit.io.conversions import TEMPLATES, conversion
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
"""Format and suffix of a file by its first bytes. It is read once it has the suffix."""
ADVICE = {suffix: row for row in TEMPLATES["advice"] for suffix in row["suffixes"]}
"""Entry of `foreign.toml` by suffix: what a file is (`what`), and the `remedy`."""
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
"""Suffixes of files that cannot be read while they are gzipped. Text can."""
FIRST_OF_HNSWLIB = bytes(8)
"""First bytes of an index of hnswlib: the offset of its lowest level, which is 0."""
DATA_OF_TENSORFLOW = re.compile(r"\.data-\d{5}-of-\d{5}$")
"""Ending of the names of the files with the numbers of a checkpoint of TensorFlow."""
LAST_OF_TENSORFLOW = bytes.fromhex("57fb808b247547db")
"""Last bytes of the index of such a checkpoint, which is a table of LevelDB."""
MOST_HEADER = 1024
"""Number of bytes of a file in Matrix Market that are searched for its first line."""
MOST_JSON = 2**26
"""Number of bytes of a file in a folder that are searched for the text in it."""
MOST_WIDTH = 10**6
"""Largest plausible number of dimensions of a vector in an index."""
OUT = "model.safetensors"
"""Name of the file of converted weights. Readers of a folder look for this name."""
PICKLED = (".kv", ".model", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib")
"""Suffixes of pickles: the first bytes of a pickle do not always tell what it is."""
CHECKPOINTS = ("pytorch_model.bin", "pytorch_model-00001-of-*.bin")
"""File names of checkpoints of transformers that are pickles."""
FIRST_OF_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""First bytes of pickles of the protocols 2 to 5."""


def refusal(
    path: Path, suffixes: Iterable[str], inside: Sequence[Path] = ()
) -> InputError:
    """Build the error for a file or folder of no known format, with a remedy.

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
        error = pickled_checkpoint(path) or folder_of_qdrant(path)
        if error is None:
            error = _folder_refusal(path, inside)
        return error
    suffix = path.suffix.lower()
    beginning = first_bytes(path)
    if suffix == ".dat" and b"\0" in beginning:
        # Text holds no zero byte, so these are numbers and no table of interactions.
        suffix = ".raw"
    if suffix in ADVICE:
        return _advised(path, suffix, "a model or vectors")
    for magic, (kind, ending) in MAGIC.items():
        if beginning.startswith(magic):
            return must_be(
                "the input",
                "a file whose suffix names its format",
                Sentence("{}, which is {}", File(path), kind),
                f"rename it so that it ends in {ending}",
            )
    return must_be(
        "the input",
        "a model in a format known by its suffix: " + " ".join(suffixes),
        path,
        Sentence(
            "write the vectors as .npy or .parquet, or say {} if it is one of these",
            Option("format", placeholder="NAME"),
        ),
    )


def _folder_refusal(path: Path, inside: Sequence[Path]) -> InputError:
    """Build the error for a folder of no known format."""
    if not any(path.iterdir()):
        return must_be(
            "the input",
            "a model or vectors",
            Sentence("{}, an empty folder", File(path)),
            "check the path",
        )
    remedy = "name a file with a model"
    if inside:
        remedy = f"name the file in it: {listed([str(file) for file in inside], 4)}"
    return must_be(
        "the input",
        "a model or vectors",
        Sentence("{}, a folder without a known model", File(path)),
        f"{remedy}; a folder can be read if it holds tables of vectors, a safetensors "
        "checkpoint, a store of vectors or an ALS model of Spark",
    )


def refuse_foreign(path: Path, *, needs: str = "a model or vectors") -> None:
    """Refuse a file or folder that has to be converted before embaudit can read it.

    The name or the first bytes tell what it is.

    Parameters
    ----------
    path : path
        The file or folder.
    needs : str
        What the caller wants to read from it, for the error.

    Raises
    ------
    InputError
        If it is a pickle, Matrix Market, an index of hnswlib, a checkpoint of
        TensorFlow, a folder of another tool or a gzipped file of another format. The
        error says what to run instead.
    """
    foreign = _foreign_folder(path) if path.is_dir() else _tensorflow_file(path)
    if foreign is not None:
        what, remedy = foreign
        raise must_be("the input", needs, Sentence("{}, {}", File(path), what), remedy)
    beginning = first_bytes(path, 256)
    suffix = path.suffix.lower()
    if suffix == ".gz" and plain_suffix(path) in BINARY:
        raise must_be(
            "the input",
            needs,
            Sentence("{}, a compressed file", File(path)),
            Sentence("unpack it with: gunzip {}", File(path)),
        )
    if plain_suffix(path) == ".mtx" or beginning.startswith(b"%%MatrixMarket"):
        raise _advised(path, ".mtx", needs)
    if suffix == ".bin" and beginning.startswith(FIRST_OF_HNSWLIB):
        raise _advised(path, ".hnsw", needs, " by its first bytes")
    # An integer of four bytes, such as the width of a network, can begin like a pickle,
    # but then a zero follows. In a pickle no zero can follow.
    is_pickle = beginning.startswith(FIRST_OF_PICKLES) and beginning[2:3] != b"\0"
    # PyTorch stores a pickle in a zip archive.
    is_file_of_torch = beginning.startswith(b"PK") and b"/data.pkl" in beginning
    if suffix in PICKLED or is_pickle or is_file_of_torch:
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
        What the caller wants to read from it.
    source : str
        Words such as " by its first bytes", unless the suffix tells the kind.
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
    """Return the number of dimensions by the header of an index of hnswlib.

    The header holds the byte offsets of the label and of the vector in each row. The
    vector of float32 ends where the label begins. "N" is returned if the header is cut
    off or the number is not plausible.
    """
    beginning = first_bytes(path, 48)
    if len(beginning) < 48:
        return "N"
    header = np.frombuffer(beginning, "<u8")
    offset_of_label, offset_of_vector = int(header[4]), int(header[5])
    width, remainder = divmod(offset_of_label - offset_of_vector, 4)
    if remainder != 0 or not 0 < width < MOST_WIDTH:
        return "N"
    return str(width)


def _foreign_folder(path: Path) -> tuple[str, str] | None:
    """Return what a folder of another tool is, and a remedy; None for other folders."""
    for name in ("saved_model.pb", "variables/variables.index"):
        if (path / name).exists():
            remedy = _remedy_for_tensorflow(path / "variables" / "variables")
            return "a SavedModel of TensorFlow", remedy
    if (path / "checkpoint").is_file():
        indexes = sorted(
            file for file in path.glob("*.index") if _tensorflow_file(file) is not None
        )
        if indexes:
            newest = max(indexes, key=lambda file: file.stat().st_mtime)
            remedy = _remedy_for_tensorflow(newest.with_suffix(""))
            return "a folder of checkpoints of TensorFlow", remedy
    for kind in TEMPLATES["folder"]:
        found = [file for marker in kind["markers"] for file in path.glob(marker)]
        if not found:
            continue
        # If many tools write a file of this name, a text in it decides.
        text = kind.get("contains", "").encode()
        if not text or text in first_bytes(found[0], MOST_JSON):
            return kind["what"], kind["remedy"].format(path=str(path))
    return None


def _tensorflow_file(path: Path) -> tuple[str, str] | None:
    """Return what a file of TensorFlow is, and a remedy; None for other files."""
    if path.name == "saved_model.pb":
        return _foreign_folder(path.parent)
    data = DATA_OF_TENSORFLOW.search(path.name)
    if data is not None:
        prefix = path.with_name(path.name[: data.start()])
    elif path.suffix == ".index" and _last_bytes(path, 8) == LAST_OF_TENSORFLOW:
        prefix = path.with_suffix("")
    else:
        return None
    return TEMPLATES["tensorflow"]["what"], _remedy_for_tensorflow(prefix)


def _remedy_for_tensorflow(prefix: Path) -> str:
    """Return the line that converts the checkpoint whose files begin with a prefix."""
    return str(TEMPLATES["tensorflow"]["remedy"].format(prefix=str(prefix)))


def _last_bytes(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(size, path.stat().st_size), os.SEEK_END)
        return file.read()


def pickled_checkpoint(folder: Path) -> InputError | None:
    """Return the error for a folder whose weights are pickles; None for other folders.

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
    """Return the error for a folder of Qdrant's local mode, whose points are pickles.

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
    """Build the error for a pickle, with the line that converts it."""
    return InputError(
        "{} must be a file of plain numbers; it is a pickle, which could run code; "
        "convert it {}.",
        File(path),
        conversion(path, out),
    )
