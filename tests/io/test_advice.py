"""A refusal says what the file is and what would help."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import formats, load


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load(path)
    return str(error.value)


def test_an_index_of_hnswlib_is_not_read_as_words(tmp_path: Path) -> None:
    path = tmp_path / "index.bin"
    path.write_bytes(bytes(8) + (100).to_bytes(8, "little") + b"\x07" * 40)
    assert (
        f"got {path}, an index of hnswlib by its first bytes; export the vectors in Python: "
        in refused(path)
    )
    path.write_bytes(b"1 2\na " + np.array([1.0, 2.0], "<f4").tobytes())
    assert load(path).n_right == 1


def test_a_package_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    (tmp_path / "v.faiss").write_bytes(b"IxF2")
    said = (
        "which faiss files need, must be installed; got none; install it: "
        "pip install 'embaudit[faiss]'."
    )
    assert said in refused(tmp_path / "v.faiss")
    assert [one.name for one in formats() if not one.is_usable] == ["faiss"]


SAVED = "safetensors.torch.save_file({k: v.contiguous().clone() for k, v in state.items()}, 'model.safetensors')"


def pickled(*names: str, texts: tuple[str, ...] = ()) -> bytes:
    """Ask for classes by name and hold texts, as PyTorch's pickles do; nothing of it can be run."""
    asked = b"".join(b"c" + name.replace(" ", "\n").encode() + b"\n0" for name in names)
    held = b"".join(
        b"X" + len(text).to_bytes(4, "little") + text.encode() + b"0" for text in texts
    )
    return b"\x80\x02" + asked + held + b"N."


TENSORS = (
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch FloatStorage",
)


@pytest.mark.parametrize(
    ("name", "content", "loaded", "trust"),
    [
        ("s.pt", pickled(*TENSORS, texts=("0.weight",)), "weights_only=True)", ""),
        ("l.ckpt", pickled(*TENSORS, texts=("epoch", "state_dict")), "weights_only=True)['state_dict']", ""),
        ("e.pth", pickled(*TENSORS, texts=("epoch", "model", "optimizer")), "weights_only=True)['model']", ""),
        ("f.pth", pickled(*TENSORS, texts=("model", "other")), "weights_only=True)", ""),
        ("d.pth", pickled(*TENSORS, texts=("model_state_dict",)), "weights_only=True)['model_state_dict']", ""),
        ("m.bin", pickled(*TENSORS, "torch.nn.modules.linear Linear"), "weights_only=False).state_dict()",
         " (which runs the code in the file: only if you trust who made it)"),
        ("h.ckpt", pickled(*TENSORS, "argparse Namespace", texts=("state_dict",)), "weights_only=False)['state_dict']",
         " (which runs the code in the file: only if you trust who made it)"),
    ],
)  # fmt: skip
def test_the_conversion_of_a_file_of_torch_is_for_what_is_in_it(
    tmp_path: Path, name: str, content: bytes, loaded: str, trust: str
) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    assert refused(path) == (
        f"{path} must be a file of plain numbers; it is a pickle, which could run code; convert it in Python: import "
        f"safetensors.torch, torch; state = torch.load('{name}', map_location='cpu', {loaded}; {SAVED}{trust}, or "
        "embaudit.io.from_object(model) with the live model."
    )


PARTS = (
    "import glob, safetensors.torch, torch; state = {{k: v for part in sorted(glob.glob({parts!r})) for k, v in "
    "torch.load(part, map_location='cpu', weights_only=True).items()}}; safetensors.torch.save_file({{k: "
    "v.contiguous().clone() for k, v in state.items()}}, {out!r})."
)
"""Advice for a checkpoint in parts; `tests/peers` runs it."""


def test_all_parts_of_a_checkpoint_are_converted_together(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"pytorch_model-0000{number}-of-00002.bin").write_bytes(
            pickled(*TENSORS)
        )
    told = PARTS.format(parts="pytorch_model-*-of-00002.bin", out="model.safetensors")
    assert refused(tmp_path / "pytorch_model-00002-of-00002.bin").endswith(
        f"convert it in Python: {told}"
    )
    whole = PARTS.format(
        parts=str(tmp_path / "pytorch_model-*-of-00002.bin"),
        out=str(tmp_path / "model.safetensors"),
    )
    first = tmp_path / "pytorch_model-00001-of-00002.bin"
    assert refused(tmp_path) == (
        f"{first} must be a file of plain numbers; it is a pickle, which could run code; convert it in Python: {whole}"
    )
