"""Rules of the repository that no linter checks."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import embaudit

PACKAGE = Path(__file__).parents[2] / "embaudit"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = sorted(set(embaudit.__all__) - {"__version__"})


def printed_by(script: str) -> str:
    """Run a script in a new interpreter and return its output."""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_resolves_and_is_documented(name):
    value = getattr(embaudit, name)
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
        assert inspect.getdoc(value)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_module_and_public_function_has_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    definitions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and "overload" not in {ast.unparse(one) for one in node.decorator_list}
    ]
    assert ast.get_docstring(tree), "the module"
    assert [one.name for one in definitions if not ast.get_docstring(one)] == []


def calls_in(path):
    """Return all calls in a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_runs_text_or_unpickles(path):
    functions = {ast.unparse(call.func) for call in calls_in(path)}
    assert not functions & {"eval", "exec", "pickle.load"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_lets_numpy_unpickle(path):
    for call in calls_in(path):
        for keyword in call.keywords:
            if keyword.arg == "allow_pickle":
                assert ast.unparse(keyword.value) == "False"


def test_nothing_draws_from_the_global_random_state():
    # The result would depend on what ran before.
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"np\.random\.(?!default_rng|Generator|BitGen)\w+\(", text)


def test_importing_the_package_loads_no_heavy_library():
    loaded = printed_by("import sys, embaudit; print(*sys.modules)").split()
    heavy = {"matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}
    assert heavy.isdisjoint(loaded)


def test_public_names_are_listed_before_one_of_them_is_used():
    listed = printed_by("import embaudit; print(*embaudit.__all__)").split()
    by_dir = printed_by("import embaudit; print(*dir(embaudit))").split()
    assert "audit" in listed
    assert set(listed) <= set(by_dir)


def test_a_star_import_brings_the_public_names():
    assert "function audit" in printed_by("from embaudit import *; print(audit)")


def test_no_two_test_files_have_the_same_name():
    # pytest imports them into one namespace.
    names = [path.name for path in (PACKAGE.parent / "tests").rglob("test_*.py")]
    assert {name for name in names if names.count(name) > 1} == set()
