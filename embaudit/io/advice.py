"""Advice for a file that no reader takes: what it is, by its name and first bytes, and what settles it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from embaudit.errors import InputError, must_be
from embaudit.io.files import first_bytes, plain_suffix
from embaudit.io.pickles import pickled_checkpoint

MAGIC = {
    b"PAR1": ("Parquet", ".parquet"),
    b"ARROW1": ("Arrow", ".feather"),
    b"\x93NUMPY": ("a NumPy array", ".npy"),
    b"\x89HDF\r\n\x1a\n": ("HDF5", ".h5"),
    b"IxF": ("a FAISS index", ".faiss"),
}
"""First bytes of files of known formats; renaming one helps."""
_VECTORS = "export the vectors in Python: numpy.save('vectors.npy', {})"
_ANNOY = _VECTORS.format("[index.get_item_vector(i) for i in range(index.get_n_items())]")
_HNSW = _VECTORS.format("index.get_items(sorted(index.get_ids_list()))")
_FIT = "factorize it first: `embaudit fit {path} --objective product`"
_UNPACK = "unpack it, and give what is in it"
ADVICE = {
    ".ann": ("an index of Annoy", _ANNOY),
    ".annoy": ("an index of Annoy", _ANNOY),
    ".hnsw": ("an index of hnswlib", _HNSW),
    ".usearch": ("an index of USearch", _VECTORS.format("index.get(index.keys)")),
    ".dat": ("a table of interactions by its name", _FIT),
    ".data": ("a table of interactions by its name", _FIT),
    ".inter": ("a table of interactions by its name", _FIT),
    ".mat": ("a file of MATLAB", "convert it in Python: numpy.savez('model.npz', **{{k: v for k, v in "
             "scipy.io.loadmat('{path}').items() if k[0] != '_'}})"),
    ".pb": ("a graph of TensorFlow", "save the live model's weights in Python: numpy.savez('model.npz', W=..., b=...)"),
    ".tflite": ("a graph of TensorFlow Lite", "save the live model's weights in Python: numpy.savez('model.npz', ...)"),
    ".zip": ("an archive", _UNPACK), ".tar": ("an archive", _UNPACK), ".tgz": ("an archive", _UNPACK),
    ".7z": ("an archive", _UNPACK), ".zst": ("a packed file", _UNPACK), ".bz2": ("a packed file", _UNPACK),
    ".xz": ("a packed file", _UNPACK),
}  # fmt: skip
"""By suffix: what a file is, and what to do."""
_MARKET = (
    "convert it in Python: import scipy.io; m = scipy.io.mmread({path!r}); numpy.save('vectors.npy', m) for a matrix; "
    "pandas.DataFrame({{'user': m.row, 'item': m.col, 'rating': m.data}}).to_csv('interactions.csv', index=False) for "
    "a sparse one"
)
ZEROS = bytes(8)
"""First bytes of an index of hnswlib: the offset of its lowest level."""


def refusal(path: Path, suffixes: Iterable[str]) -> InputError:
    """Build the error for a file or folder of no known format: what would help.

    Examples
    --------
    >>> print(refusal(Path("index.ann"), (".npz", ".npy")))
    the input must be a model or vectors; got index.ann, an index of Annoy; export the vectors in Python: \
numpy.save('vectors.npy', [index.get_item_vector(i) for i in range(index.get_n_items())]).
    """
    if path.is_dir():
        pickled = pickled_checkpoint(path)
        if pickled is not None:
            return pickled
        remedy = "name the file in it; folders are read of safetensors checkpoints and of ALS models of Spark"
        return must_be("the input", "a model or vectors", f"{path}, a folder without a model that is known", remedy)
    suffix = path.suffix.lower()
    if suffix in ADVICE:
        what, remedy = ADVICE[suffix]
        return must_be("the input", "a model or vectors", f"{path}, {what}", remedy.format(path=path))
    hint = _by_content(path)
    if hint is not None:
        kind, ending = hint
        remedy = f"rename it so that it ends in {ending}"
        return must_be("the input", "a file whose name tells its format", f"{path}, which is {kind}", remedy)
    remedy = "write the vectors as .npy or .parquet, or name its format with --format if it is one of these"
    return must_be("the input", "a model in a format known by its suffix: " + " ".join(suffixes), path, remedy)


def _by_content(path: Path) -> tuple[str, str] | None:
    beginning = first_bytes(path)
    return next((hint for magic, hint in MAGIC.items() if beginning.startswith(magic)), None)


def refuse_unread(path: Path) -> None:
    """Refuse formats that are converted first, whatever a file of them is called.

    Raises
    ------
    InputError
        Of Matrix Market or an index of hnswlib, with the conversion to run instead.
    """
    refuse_matrix_market(path, needs="a model or vectors")
    if path.suffix.lower() == ".bin" and first_bytes(path, len(ZEROS)) == ZEROS:
        raise must_be("the input", "a model or vectors", f"{path}, an index of hnswlib by its first bytes", _HNSW)


def refuse_matrix_market(path: Path, *, needs: str) -> None:
    """Refuse a matrix of Matrix Market by its name or its first bytes, with the conversion to run instead.

    Parameters
    ----------
    path : path
        The file.
    needs : str
        What is to be read from it.

    Raises
    ------
    InputError
        If it is one.
    """
    if plain_suffix(path) == ".mtx" or first_bytes(path).startswith(b"%%MatrixMarket"):
        raise must_be("the input", needs, f"{path}, a matrix in Matrix Market", _MARKET.format(path=str(path)))
