"""Files that are pickles: refused, because reading one runs the code in it, with the conversion to run instead."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import InputError

_GENSIM = 'in Python: KeyedVectors.load("{name}").save_word2vec_format("vectors.txt")'
_TORCH = (
    'in Python: safetensors.torch.save_file(torch.load("{name}", weights_only=True), "model.safetensors"), '
    "or embaudit.io.from_object(model) with the live model"
)
_LIVE = "in Python, where the model is at hand: embaudit.save(embaudit.io.from_object(model), 'model.npz')"
CONVERSIONS = {
    ".kv": _GENSIM,
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".ckpt": _TORCH,
    ".pkl": _LIVE,
    ".pickle": _LIVE,
    ".joblib": _LIVE,
    ".model": 'in Python: Word2Vec.load("{name}").wv.save_word2vec_format("vectors.txt") if gensim wrote it',
}
BEGINNINGS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
"""Pickles of protocol 2 and later."""


def refuse_pickles(path: Path) -> None:
    """Refuse what is named like a pickle or is one.

    Raises
    ------
    InputError
        With the conversion to run instead.
    """
    if path.suffix.lower() in CONVERSIONS or _looks_pickled(path):
        raise _refusal(path)


def _looks_pickled(path: Path) -> bool:
    """Whether a file is a pickle, or PyTorch's zip archive around one, whatever its name says."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        beginning = file.read(256)
    return beginning.startswith(BEGINNINGS) or (beginning.startswith(b"PK") and b"/data.pkl" in beginning)


def _refusal(path: Path) -> InputError:
    """Build the error that names the conversion."""
    remedy = CONVERSIONS.get(path.suffix.lower(), _TORCH if path.suffix == ".bin" else _LIVE).format(name=path.name)
    return InputError(
        f"{path} must be a file of plain numbers; it is a pickle, which could run code; convert it {remedy}."
    )
