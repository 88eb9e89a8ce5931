"""The house keeps its rules: documented names, no loose ends, nothing unpickled."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from records import declared, open_records, records_of
from snapshots import assert_section

import embaudit

PACKAGE = Path(__file__).parents[2] / "embaudit"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in MODULES}


def test_the_top_of_the_package_is_an_overview():
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 28


def is_public(node):
    public = isinstance(
        node, ast.FunctionDef | ast.ClassDef
    ) and not node.name.startswith("_")
    return public and not any(
        "overload" in ast.dump(decorator) for decorator in node.decorator_list
    )


def test_every_module_and_public_function_is_documented():
    trees = {path: ast.parse(text) for path, text in TEXTS.items()}
    assert [
        path for path, tree in trees.items() if not ast.get_docstring(tree)
    ] == [], "a module says what it is"
    public = [
        (path, node)
        for path, tree in trees.items()
        for node in tree.body
        if is_public(node)
    ]
    assert [
        (path, node.name) for path, node in public if not ast.get_docstring(node)
    ] == []


def test_no_loose_ends():
    for pattern in (
        r"\b(TODO|FIXME|XXX|HACK)\b",
        r"raise NotImplementedError",
        r"type: ignore(?!\[)",
        r"noqa(?!:)",
        r"allow_pickle=True",
        r"np\.random\.(seed|rand|randn|randint|normal|uniform)\(",
    ):
        assert [
            path for path, text in TEXTS.items() if re.search(pattern, text)
        ] == [], pattern
    assert not {path.name for path in MODULES} & {
        "utils.py",
        "base.py",
        "helpers.py",
        "common.py",
    }


def test_no_test_is_left_out_for_a_package_that_the_lock_may_hold():
    for path in (PACKAGE.parent / "tests").rglob("*.py"):
        if "peers" not in path.parts and path != Path(__file__):
            assert "importorskip" not in path.read_text(encoding="utf-8"), path


def test_every_file_of_tests_has_a_name_of_its_own():
    names = [path.name for path in (PACKAGE.parent / "tests").rglob("test_*.py")]
    assert {name for name in names if names.count(name) > 1} == set()


ROOMS = sorted(
    found.name for found in pkgutil.iter_modules(embaudit.__path__) if found.ispkg
)
OPEN = {"_Subspace", "_Work", "Reading", "Stream"}
"""Records that change while they are at work, and those of a file that is read, which nobody compares."""


@pytest.mark.parametrize("room", [room for room in ROOMS if records_of(room)])
def test_records_are_closed(room):
    assert open_records(room) <= OPEN
    assert_section(Path(__file__).with_name("records.txt"), room, declared(room))


def test_import_loads_nothing_heavy() -> None:
    loaded = {name.split(".")[0] for name in loaded_by("import embaudit")}
    assert not {"scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "numpy"} & set(
        loaded
    )


def test_every_public_name_resolves() -> None:
    assert [name for name in dir(embaudit) if getattr(embaudit, name) is None] == []


def loaded_by(script: str) -> set[str]:
    run = [
        sys.executable,
        "-c",
        f"import sys; before = set(sys.modules); {script}; print(*set(sys.modules) - before)",
    ]
    return set(
        subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    )


def test_the_command_starts_with_next_to_nothing_so_that_ctrl_c_meets_it_at_work() -> (
    None
):
    assert loaded_by("from embaudit.cli import main") <= {
        "__future__",
        "embaudit",
        "embaudit.cli",
    }


def test_every_way_to_list_the_names_works_before_one_is_used() -> None:
    names = "import embaudit; print(*embaudit.__all__); print(*dir(embaudit)); from embaudit import *; print(audit)"
    run = subprocess.run(
        [sys.executable, "-c", names], capture_output=True, text=True, check=True
    )
    listed, by_dir, _ = run.stdout.splitlines()
    assert listed.split() == embaudit.__all__
    assert set(by_dir.split()) == set(embaudit.__all__)
