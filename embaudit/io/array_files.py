"""Files of named arrays, opened by their headers."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import File, Sentence, must_be
from embaudit.io.files import existing_path
from embaudit.io.formats.safetensors import Safetensors, recognises
from embaudit.io.npy import Npy, Npz
from embaudit.io.refusals import refuse_foreign


def open_arrays(path: Path) -> Safetensors | Npz | Npy:
    """Open a file of named arrays, or a directory that holds a checkpoint.

    Only headers are read.

    Raises
    ------
    InputError
        If it is absent, empty, a pickle, damaged, or of another kind.
    """
    refuse_foreign(path)
    path = existing_path(path)
    if recognises(path):
        return Safetensors(path)
    if path.suffix.lower() in (".npz", ".npy"):
        return Npz(path) if path.suffix.lower() == ".npz" else Npy(path)
    if path.is_dir():
        remedy = (
            "name a file in it, such as model.safetensors.index.json for a checkpoint "
            "in several parts"
        )
        raise must_be(
            "the path", "a file", Sentence("the folder {}", File(path)), remedy
        )
    allowed = "a .safetensors, .safetensors.index.json, .npz or .npy file"
    remedy = "save it as safetensors; a pickle may run any code, so it is not opened"
    raise must_be(path.name, allowed, f"suffix {path.suffix!r}", remedy)
