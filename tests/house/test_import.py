"""Importing embaudit must cost next to nothing; what is heavy loads when it is used."""

from __future__ import annotations

import subprocess
import sys

import embaudit


def test_import_loads_nothing_heavy() -> None:
    loaded = {name.split(".")[0] for name in loaded_by("import embaudit")}
    assert not {"scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "numpy"} & set(loaded)


def test_every_public_name_resolves() -> None:
    assert [name for name in dir(embaudit) if getattr(embaudit, name) is None] == []


def loaded_by(script: str) -> set[str]:
    run = [sys.executable, "-c", f"import sys; before = set(sys.modules); {script}; print(*set(sys.modules) - before)"]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


def test_the_command_starts_with_next_to_nothing_so_that_ctrl_c_meets_it_at_work() -> None:
    assert loaded_by("from embaudit.cli import main") <= {"__future__", "embaudit", "embaudit.cli"}


def test_every_way_to_list_the_names_works_before_one_is_used() -> None:
    names = "import embaudit; print(*embaudit.__all__); print(*dir(embaudit)); from embaudit import *; print(audit)"
    run = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True)
    listed, by_dir, _ = run.stdout.splitlines()
    assert listed.split() == embaudit.__all__
    assert set(by_dir.split()) == set(embaudit.__all__)
