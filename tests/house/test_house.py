"""The house keeps its rules: documented names, no loose ends, nothing unpickled."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "embaudit"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in MODULES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}


def test_the_top_of_the_package_is_an_overview():
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 28


def is_public(node):
    public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    return public and not any("overload" in ast.dump(decorator) for decorator in node.decorator_list)


def test_every_module_and_public_function_is_documented():
    assert [path for path, tree in TREES.items() if not ast.get_docstring(tree)] == [], "a module says what it is"
    public = [(path, node) for path, tree in TREES.items() for node in tree.body if is_public(node)]
    assert [(path, node.name) for path, node in public if not ast.get_docstring(node)] == []


def test_no_loose_ends():
    for pattern in (
        r"\b(TODO|FIXME|XXX|HACK)\b",
        r"raise NotImplementedError",
        r"type: ignore(?!\[)",
        r"noqa(?!:)",
        r"allow_pickle=True",
        r"np\.random\.(seed|rand|randn|randint|normal|uniform)\(",
    ):
        assert [path for path, text in TEXTS.items() if re.search(pattern, text)] == [], pattern
    assert not {path.name for path in MODULES} & {"utils.py", "base.py", "helpers.py", "common.py"}


def test_no_test_is_left_out_for_a_package_that_the_lock_may_hold():
    for path in (PACKAGE.parent / "tests").rglob("*.py"):
        if "peers" not in path.parts and path != Path(__file__):
            assert "importorskip" not in path.read_text(encoding="utf-8"), path


def test_every_file_of_tests_has_a_name_of_its_own():
    names = [path.name for path in (PACKAGE.parent / "tests").rglob("test_*.py")]
    assert {name for name in names if names.count(name) > 1} == set()
