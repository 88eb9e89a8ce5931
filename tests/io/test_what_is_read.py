"""What is read of small files and objects: `read.txt` has expressions, and below each of them what comes of it."""

from __future__ import annotations

import gzip
import json
import re
from importlib import import_module
from inspect import getsource
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
from expressions import assert_expressions, error_of, shown
from imitations import Tensor, imitation
from llama_files import LAYER, RMS, gguf_file
from pyarrow import feather, parquet
from safetensors.numpy import save
from scipy import special
from snapshots import as_locked

import embaudit as ea
from embaudit import io
from embaudit.io import codecs, given, refusals, saving
from embaudit.io.checkpoints import config
from embaudit.io.codecs import gguf
from embaudit.io.intake import Reading
from embaudit.io.objects import live, networks, recommenders
from embaudit.io.readers import layout, tables
from embaudit.io.tables import columns, interactions, rows, titles

KEPT = Path(__file__).with_name("read.txt")
MODULES = (refusals, live, networks, recommenders, layout, tables, gguf, given, config, saving, interactions, rows,
           titles, columns, io)  # fmt: skip
"""Where expressions find names; the last counts."""


def m(n: int, k: int = 3, start: int = 0, kind: str = "f4") -> Any:
    """Make a matrix of few different numbers, all of them fractions of two."""
    return (((np.arange(n * k) * 7 + start) % 11 - 5) / 4).reshape(n, k).astype(kind)


def hdf5(arrays: dict[str, Any], **attributes: Any) -> Any:
    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
            for place, text in attributes.items():
                (file[place].attrs if place in file else file.attrs).update(
                    text if place in file else {place: text}
                )

    return write


def table(columns: Any, **metadata: str) -> Any:
    made = (
        pa.Table.from_pandas(columns)
        if isinstance(columns, pd.DataFrame)
        else pa.table(columns)
    )
    made = made.replace_schema_metadata({**(made.schema.metadata or {}), **metadata})
    return lambda path: (
        parquet.write_table if ".p" in path.suffix else feather.write_feather
    )(made, path)


def known(module: str) -> dict[str, str]:
    """Return the names, endings and first bytes that a module has in its tables."""
    loaded, texts = import_module(f"embaudit.io.{module}"), {}
    for name in re.findall(
        r"^([A-Z_0-9]{2,})(?:: .*?)? = ", getsource(loaded), re.MULTILINE
    ):
        value = getattr(loaded, name)
        value = getattr(
            value,
            "pattern",
            sorted(value) if isinstance(value, set | frozenset) else value,
        )
        if not isinstance(value, int | float) and not re.search(
            " at 0x|<class", str(value)
        ):
            texts[name] = repr(value)
    return texts


def net(
    state: Any,
    forward: Any = None,
    of: str = "mine.Net",
    *inherited: str,
    **attributes: Any,
) -> Any:
    """Make a network; `self.at[name](rows)` in `forward` is what reaches a layer."""
    tensors, at = {name: Tensor(array) for name, array in state.items()}, {}

    def layer(_: Any, name: str) -> Any:
        def watch(hook: Any) -> Any:
            at[name] = lambda rows: hook(None, (Tensor(rows),))
            return SimpleNamespace(remove=lambda: at.pop(name))

        return SimpleNamespace(register_forward_pre_hook=watch)

    made = imitation(of, "torch.nn.modules.module.Module", *inherited, state_dict=lambda _: tensors, at=at,
                     get_submodule=layer, **({"forward": forward} if forward else {}), **attributes)  # fmt: skip
    type(made).__call__ = forward
    return made


NAMES = {
    **{name: value for module in MODULES for name, value in vars(module).items()}, **globals(),
    "gguf": lambda *tensors, **keys: lambda path: gguf_file(path, *tensors, **keys), "json": lambda **x: json.dumps(x),
    "gz": lambda text: gzip.compress(text.encode(), mtime=0), "npy": lambda array: lambda path: np.save(path, array),
    "npz": lambda **arrays: lambda path: np.savez(path, **arrays), "rms": RMS, "layer": LAYER, "space": SimpleNamespace,
    "open_arrays": lambda path: codecs.open_arrays(Path(path)), "softmax": lambda scores: special.softmax(scores, 1),
    "error_of": error_of,
    "sk": lambda module, name, **options: getattr(import_module(f"sklearn.{module}"), name)(**options),
    "tensors": lambda arrays, **metadata: save(arrays, metadata),
}  # fmt: skip


def write(path: Path, content: Any) -> None:
    """Write a file, or a folder of those in a dictionary."""
    if isinstance(content, dict):
        path.mkdir()
        for name, inner in content.items():
            write(path / name, inner)
    elif callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def described(result: Any) -> str:
    """Write what a model says and where it is from; of anything else what it holds."""
    if isinstance(result, tuple) and result and isinstance(result[0], ea.FactorModel):
        result = Reading(*result)
    if isinstance(result, io.Interactions):
        result = {**vars(result), "matrix": result.matrix.toarray()}
    if not isinstance(result, Reading):
        return f"{type(result).__name__} {getattr(result, 'dtype', '')} {shown(result)}"
    model, intake, norm = result.model, result.intake, result.model.final_norm
    fields = {name: getattr(model, name) for name in ("right", "left", *saving.LABELS)}
    lines = (
        []
        if intake is None
        else [intake.explain(), f"{intake.files}, {intake.training_source}"]
    )
    lines.append(
        f"{model!r}, {saving.text_of(model.link)}, {model.objective}, {'/'.join(model.roles)}, {model.offset:g}"
    )
    lines += [
        f"{name} {value.dtype.kind} {shown(value)}"
        for name, value in fields.items()
        if value is not None
    ]
    lines += (
        [f"predictions {shown(model.predictions()[:2])}"]
        if model.left_side is not None
        else []
    )
    if norm is not None:
        lines.append(
            f"{result.norm}: {norm.kind} {norm.epsilon:g} {shown(norm.gain)} {shown(norm.shift)}"
        )
    return "\n".join(lines)


@as_locked
def test_what_is_read(tmp_path: Path, monkeypatch: Any) -> None:
    numbers = count()

    def of(
        function: Any, files: dict[str, Any], *arguments: Any, **options: Any
    ) -> Any:
        (folder := tmp_path / str(next(numbers))).mkdir()
        monkeypatch.chdir(folder)
        for name, content in files.items():
            write(Path(name), content)
        return function(*[*files][:1], *arguments, **options)

    def again(model: Any, suffix: str) -> Any:
        of(ea.save, {}, model, f"v{suffix}")
        return io.read(f"v{suffix}")

    assert_expressions(KEPT, {**NAMES, "of": of, "again": again}, described)
