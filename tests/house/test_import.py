"""Importing embaudit must cost next to nothing; what is heavy loads when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import embaudit


def test_import_loads_nothing_heavy() -> None:
    script = "import sys, embaudit; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "numpy"} & set(loaded)


@pytest.mark.parametrize("name", dir(embaudit))
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(embaudit, name) is not None
