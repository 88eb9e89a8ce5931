"""Files that are pickles: refused, because reading one runs the code in it, with the conversion to run instead."""

from __future__ import annotations

import pickletools
import re
import zipfile
import zlib
from pathlib import Path

from embaudit.errors import InputError
from embaudit.io.files import first_bytes

_GENSIM = 'in Python: KeyedVectors.load("{name}").save_word2vec_format("vectors.txt")'
_TENSORS = "safetensors.torch.save_file({{k: v.contiguous().clone() for k, v in state.items()}}, {out!r})"
_TORCH = (
    "in Python: import safetensors.torch, torch; "
    "state = torch.load({name!r}, map_location='cpu', weights_only={safe}){part}; "
    f"{_TENSORS}{{trust}}, or embaudit.io.from_object(model) with the live model"
)
_PARTS = (
    "in Python: import glob, safetensors.torch, torch; "
    "state = {{k: v for part in sorted(glob.glob({parts!r})) for k, v in "
    "torch.load(part, map_location='cpu', weights_only=True).items()}}; " + _TENSORS
)
_TRUST = " (which runs the code in the file: only if you trust who made it)"
OUT = "model.safetensors"
"""File name of converted weights, which readers of a folder look for."""
STATES = ("state_dict", "model_state_dict", "model_state", "model", "net", "network")
"""Under which keys training loops keep weights beside other things; Lightning under the first."""
BESIDE = ("epoch", "optimizer", "optimizer_state_dict", "step", "iteration", "scheduler")
"""Keys of what they keep there, too."""
PLAIN = re.compile(r"collections OrderedDict|torch\._utils _rebuild_\w+|torch \w+Storage|torch(\._tensor)? \w+")
"""Imports of a pickle that holds weights alone."""
_LIVE = "in Python, where the model is loaded: embaudit.save(embaudit.io.from_object(model), 'model.npz')"
CONVERSIONS = {
    ".kv": _GENSIM,
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".ckpt": _TORCH,
    ".pkl": _LIVE,
    ".pickle": _LIVE,
    ".joblib": _LIVE,
    ".model": "in Python, if gensim wrote it: embaudit.save(embaudit.io.from_object("
    "gensim.models.Word2Vec.load({name!r})), 'model.npz'), which keeps words and contexts",
}
PART = re.compile(r"-\d{5}-of-(?P<last>\d{5})\.bin$")
"""Ending of the file name of one shard of a checkpoint."""
CHECKPOINTS = ("pytorch_model.bin", "pytorch_model-00001-of-*.bin")
"""File names of checkpoints that were saved before safetensors."""
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
    """Return whether a file is a pickle, or PyTorch's zip archive around one, whatever its name says."""
    beginning = first_bytes(path, 256)
    # No pickle goes on with a zero; an integer of four bytes may, such as the width of a network.
    if beginning.startswith(BEGINNINGS):
        return beginning[2:3] != b"\0"
    return beginning.startswith(b"PK") and b"/data.pkl" in beginning


def pickled_checkpoint(folder: Path) -> InputError | None:
    """Refuse a folder whose weights are pickles; None where there are none.

    Examples
    --------
    >>> pickled_checkpoint(Path("no-such-folder")) is None
    True
    """
    checkpoint = next((path for name in CHECKPOINTS for path in sorted(folder.glob(name))), None)
    return None if checkpoint is None else _refusal(checkpoint, name=str(checkpoint), out=str(folder / OUT))


def _refusal(path: Path, *, name: str | None = None, out: str = OUT) -> InputError:
    """Build the error that names the conversion."""
    name, shard = name or path.name, PART.search(path.name)
    remedy = CONVERSIONS.get(path.suffix.lower(), _TORCH if path.suffix == ".bin" else _LIVE)
    words: dict[str, object] = {"name": name, "out": out}
    if shard is not None:
        parts = f"{path.name[: shard.start()]}-*-of-{shard['last']}.bin"
        remedy, words = _PARTS, {**words, "parts": str(Path(name).parent / parts)}
    elif remedy is _TORCH:
        words |= _of_torch(path)
    return InputError(
        f"{path} must be a file of plain numbers; it is a pickle, which could run code; convert it "
        f"{remedy.format(**words)}."
    )


def _of_torch(path: Path) -> dict[str, object]:
    """Determine from the names in a file of PyTorch, which are read and not followed, how its weights are had."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            operations = [(code.name, value) for code, value, _ in pickletools.genops(archive.read(name))]
    # Older files are no archives.
    except (OSError, ValueError, StopIteration, RuntimeError, zipfile.BadZipFile, zlib.error):
        operations = []
    imports = [str(value) for code, value in operations if code == "GLOBAL"]
    texts = {value for code, value in operations if "UNICODE" in code}
    # Only beside other things is a short key no layer.
    sure = STATES if texts.intersection(BESIDE) else STATES[:2]
    key = next((candidate for candidate in sure if candidate in texts), None)
    safe = all(PLAIN.fullmatch(candidate) for candidate in imports)
    shard = f"[{key!r}]" if key is not None else "" if safe else ".state_dict()"
    return {"safe": safe, "part": shard, "trust": "" if safe else _TRUST}
