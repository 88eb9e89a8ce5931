"""The line that a refusal of a TensorFlow file prints runs on such files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from peers.tensorflow_files import ITEMS, NAMES, write_all
from peers.trained import call_in_new_process, installed

from embaudit.errors import InputError
from embaudit.io import load

if installed("tensorflow") is None:
    pytest.skip("tensorflow is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that TensorFlow wrote."""
    folder = tmp_path_factory.mktemp("tensorflow")
    call_in_new_process(write_all, folder)
    return folder


@pytest.mark.parametrize("kind", NAMES)
def test_the_line_takes_the_table(folder: Path, tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError) as refused:
        load(folder / NAMES[kind])
    line = str(refused.value).partition(" in Python: ")[2].removesuffix(".")
    subprocess.run([sys.executable, "-c", line], cwd=tmp_path, check=True)
    model = load(tmp_path / "model.npz", kind="vectors")
    np.testing.assert_array_equal(model.right, ITEMS)
