"""Small example files that the tests of reading write and read."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from safetensors.numpy import save

from embaudit.errors import InputError

Content = str | bytes | dict[str, Any] | Callable[[Path], None]
"""Text, bytes, a folder as a dictionary, or a function that writes the file."""


def write(path: Path, content: Content) -> Path:
    """Write one file, or a folder with all its files, and return its path."""
    if isinstance(content, dict):
        path.mkdir()
        for name, inner in content.items():
            write(path / name, inner)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    return path


def write_all(folder: Path, files: dict[str, Content]) -> Path:
    """Write files into a folder and return the path of the first."""
    paths = [write(folder / name, content) for name, content in files.items()]
    return paths[0]


def gz(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def npy(array: Any) -> Content:
    return lambda path: np.save(path, array)


def npz(**arrays: Any) -> Content:
    return lambda path: np.savez(path, **arrays)


def safetensors(arrays: dict[str, Any], **metadata: str) -> bytes:
    return save(arrays, metadata)


def table(columns: dict[str, Any], **metadata: str) -> Content:
    """Write a table of Arrow as Parquet or Feather, whichever the file is called."""

    def write_table(path: Path) -> None:
        made = pa.table(columns).replace_schema_metadata(metadata)
        if path.suffix == ".parquet":
            parquet.write_table(made, path)
        else:
            feather.write_feather(made, str(path))

    return write_table


def hdf5(arrays: dict[str, Any], **attributes: Any) -> Content:
    """Write arrays by their paths; an attribute belongs to the group of its name."""

    def write_hdf5(path: Path) -> None:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
            for name, value in attributes.items():
                if isinstance(value, dict):
                    file[name].attrs.update(value)
                else:
                    file.attrs[name] = value

    return write_hdf5


def refusal(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the sentence with which a call is refused."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    return str(caught.value)
