"""A refusal says what the file is and what would help."""

from __future__ import annotations

import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from embaudit.errors import File, InputError, must_be
from embaudit.io import formats, load
from embaudit.io.remote import naming


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load(path)
    return str(error.value)


def test_an_index_of_hnswlib_is_refused_with_advice_to_export_its_vectors(
    tmp_path: Path,
) -> None:
    """An index begins with an offset of 0 and the number of rows it has room for."""
    path = tmp_path / "index.bin"
    path.write_bytes(bytes(8) + (100).to_bytes(8, "little") + b"\x07" * 40)
    assert (
        f"got {path}, an index of hnswlib by its first bytes; export the vectors in Python: "
        in refused(path)
    )


def test_a_file_of_words_with_the_suffix_of_an_index_is_read(tmp_path: Path) -> None:
    path = tmp_path / "index.bin"
    path.write_bytes(b"1 2\na " + np.array([1.0, 2.0], "<f4").tobytes())
    assert load(path).right.tolist() == [[1.0, 2.0]]


def test_a_format_whose_package_is_not_installed_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    (tmp_path / "v.faiss").write_bytes(b"IxF2")
    sentence = (
        "which faiss files need, must be installed; got none; install it: "
        "pip install 'embaudit[faiss]'."
    )
    assert sentence in refused(tmp_path / "v.faiss")
    unusable = [each.name for each in formats() if not each.is_usable]
    assert unusable == ["faiss"]


def pickled(*names: str, texts: tuple[str, ...] = ()) -> bytes:
    """Return a pickle that names classes and holds texts, as those of PyTorch do.

    It only names the classes: reading it would create nothing.
    """
    content = b"\x80\x02"
    for name in names:
        content += b"c" + name.replace(" ", "\n").encode() + b"\n0"
    for text in texts:
        content += b"X" + len(text).to_bytes(4, "little") + text.encode() + b"0"
    return content + b"N."


def write_checkpoint(path: Path, content: bytes) -> None:
    """Write a file of PyTorch: a zip archive with a pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)


def conversion(name: str, loaded: str, trust: str = "") -> str:
    """Return the advice for a checkpoint of PyTorch."""
    return (
        "convert it in Python: import safetensors.torch, torch; "
        f"state = torch.load('{name}', map_location='cpu', {loaded}; "
        "safetensors.torch.save_file({k: v.contiguous().clone() for k, v in "
        f"state.items()}}, 'model.safetensors'){trust}, or "
        "embaudit.io.from_object(model) with the live model."
    )


TENSORS = (
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch FloatStorage",
)
"""Classes that PyTorch loads with weights_only=True."""


@pytest.mark.parametrize(
    ("texts", "loaded"),
    [
        (("0.weight",), "weights_only=True)"),
        (("epoch", "state_dict"), "weights_only=True)['state_dict']"),
        (("epoch", "model", "optimizer"), "weights_only=True)['model']"),
        # "model" is an entry of a training only if an epoch or an optimizer is, too.
        (("model", "other"), "weights_only=True)"),
        (("model_state_dict",), "weights_only=True)['model_state_dict']"),
    ],
)
def test_the_advice_for_a_checkpoint_takes_the_weights_from_the_entry_that_holds_them(
    tmp_path: Path, texts: tuple[str, ...], loaded: str
) -> None:
    path = tmp_path / "c.pt"
    write_checkpoint(path, pickled(*TENSORS, texts=texts))
    assert refused(path) == (
        f"{path} must be a file of plain numbers; it is a pickle, which could run code; "
        + conversion("c.pt", loaded)
    )


@pytest.mark.parametrize(
    ("name", "other_class", "texts", "loaded"),
    [
        ("m.bin", "torch.nn.modules.linear Linear", (), ").state_dict()"),
        ("h.ckpt", "argparse Namespace", ("state_dict",), ")['state_dict']"),
    ],
)
def test_the_advice_for_a_checkpoint_with_other_classes_warns_that_loading_runs_code(
    tmp_path: Path, name: str, other_class: str, texts: tuple[str, ...], loaded: str
) -> None:
    path = tmp_path / name
    write_checkpoint(path, pickled(*TENSORS, other_class, texts=texts))
    trust = " (which runs the code in the file: only if you trust who made it)"
    assert refused(path).endswith(
        conversion(name, f"weights_only=False{loaded}", trust)
    )


PARTS = (
    "import glob, safetensors.torch, torch; state = {{k: v for part in sorted(glob.glob({parts!r})) for k, v in "
    "torch.load(part, map_location='cpu', weights_only=True).items()}}; safetensors.torch.save_file({{k: "
    "v.contiguous().clone() for k, v in state.items()}}, {out!r})."
)
"""Advice for a checkpoint in parts; `tests/peers` runs it."""


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Return the two files of a checkpoint in parts."""
    paths = [tmp_path / f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    for path in paths:
        path.write_bytes(pickled(*TENSORS))
    return paths


def test_the_advice_for_one_part_of_a_checkpoint_converts_all_parts(
    parts: list[Path],
) -> None:
    advice = PARTS.format(parts="pytorch_model-*-of-00002.bin", out="model.safetensors")
    assert refused(parts[1]).endswith(f"convert it in Python: {advice}")


def test_the_advice_for_a_folder_of_parts_names_the_folder(
    tmp_path: Path, parts: list[Path]
) -> None:
    advice = PARTS.format(
        parts=str(tmp_path / "pytorch_model-*-of-00002.bin"),
        out=str(tmp_path / "model.safetensors"),
    )
    assert refused(tmp_path) == (
        f"{parts[0]} must be a file of plain numbers; it is a pickle, which could run "
        f"code; convert it in Python: {advice}"
    )


@pytest.mark.parametrize(
    ("file", "is_prefixed"),
    [
        ("shards", False),
        ("shards/part-0.csv", False),
        ("shards-of-users", True),
        ("old/shards", True),
    ],
)
def test_an_error_is_prefixed_unless_it_names_the_file_or_a_file_in_it(
    file: str, is_prefixed: bool
) -> None:
    error = InputError("{} must be whole.", File(file))
    with pytest.raises(InputError) as refused, naming("shards"):
        raise error
    prefix = "shards: " if is_prefixed else ""
    assert str(refused.value) == f"{prefix}{file} must be whole."
    assert refused.value.files == (("shards", file) if is_prefixed else (file,))


def test_files_that_an_error_names_survive_pickling() -> None:
    error = must_be(Path("a.npz"), "a file that exists", Path("b.npz"))
    copied = pickle.loads(pickle.dumps(error))
    assert copied.files == ("a.npz", "b.npz")
    assert str(copied) == "a.npz must be a file that exists; got b.npz."
