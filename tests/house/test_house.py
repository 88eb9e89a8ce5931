"""The house keeps its rules: small files, short functions, documented names, nothing unpickled."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "embaudit"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]


@pytest.fixture(params=MODULES, ids=NAMES)
def module(request):
    return request.param


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_the_top_of_the_package_is_an_overview():
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 28


def test_files_and_functions_are_short_as_a_rule():
    texts = [path.read_text() for path in MODULES]
    assert statistics.median(text.count("\n") for text in texts) <= 125
    bodies = [body_lines(function) for text in texts for function in functions(ast.parse(text))]
    assert statistics.median(bodies) <= 4


def test_files_and_functions_are_small(module):
    text = module.read_text()
    assert text.count("\n") <= 400
    for function in functions(ast.parse(text)):
        assert body_lines(function) <= 40, function.name


def test_every_module_and_public_function_is_documented(module):
    tree = ast.parse(module.read_text())
    assert ast.get_docstring(tree), "a module says what it is"
    for node in tree.body:
        public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        overloaded = public and any("overload" in ast.dump(decorator) for decorator in node.decorator_list)
        if public and not overloaded:
            assert ast.get_docstring(node), node.name


def test_no_loose_ends(module):
    text = module.read_text()
    for pattern in (
        r"\b(TODO|FIXME|XXX|HACK)\b",
        r"raise NotImplementedError",
        r"type: ignore(?!\[)",
        r"noqa(?!:)",
        r"allow_pickle=True",
    ):
        assert not re.search(pattern, text), pattern
    assert not re.search(r"np\.random\.(seed|rand|randn|randint|normal|uniform)\(", text), "global randomness"
    assert module.name not in ("utils.py", "base.py", "helpers.py", "common.py")


def test_no_test_is_left_out_for_a_package_that_the_lock_may_hold():
    for path in (PACKAGE.parent / "tests").rglob("*.py"):
        if "peers" not in path.parts and path != Path(__file__):
            assert "importorskip" not in path.read_text(encoding="utf-8"), path


def test_every_file_of_tests_has_a_name_of_its_own():
    names = [path.name for path in (PACKAGE.parent / "tests").rglob("test_*.py")]
    assert {name for name in names if names.count(name) > 1} == set()
