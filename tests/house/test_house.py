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
KNOWN_CIRCLES = {
    ("embaudit.auditing.head_findings", "embaudit.auditing.head_report"),
    ("embaudit.canonical.positions", "embaudit.canonical.words"),
    ("embaudit.comparison.compare", "embaudit.comparison.tables"),
    ("embaudit.comparison.compare", "embaudit.comparison.words"),
    ("embaudit.io.live", "embaudit.io.live_heads"),
    ("embaudit.remedy.vectors", "embaudit.remedy.words"),
}
"""Modules that import each other today; this may only shrink."""


@pytest.fixture(params=MODULES, ids=NAMES)
def module(request):
    return request.param


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def dotted(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(tree):
    """Yield the module and the name of every import of the package: at the top, late or for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("embaudit"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.rpartition(".")[::2]) for alias in node.names if "embaudit." in alias.name)


@pytest.fixture(scope="module")
def imports():
    """Map every module to those it imports; a name that a package hands on counts for the module that defines it."""
    trees = {dotted(path): ast.parse(path.read_text()) for path in MODULES}
    found = {name: list(imported(tree)) for name, tree in trees.items()}
    packages = {dotted(path) for path in MODULES if path.name == "__init__.py"}
    handed_on = {(name, alias): module for name in packages for module, alias in found[name]}

    def origin(module, name):
        if f"{module}.{name}" in trees:
            return f"{module}.{name}"
        return origin(handed_on[module, name], name) if (module, name) in handed_on else module

    return {name: {origin(*pair) for pair in found[name]} - {name} for name in trees if name not in packages}


def circles(imports):
    """Pairs of modules that import each other; a result and its page in the report may."""
    return {
        (one, other)
        for one in imports
        for other in imports[one]
        if one < other and one in imports.get(other, ())
        if one.startswith("embaudit.report.") == other.startswith("embaudit.report.")
    }


def test_no_two_modules_import_each_other(imports):
    assert circles(imports) == KNOWN_CIRCLES


def test_circles_are_found_wherever_the_imports_stand():
    late = {"a": {"b"}, "b": {"a", "embaudit.report.page"}, "embaudit.report.page": {"b"}, "c": {"a"}}
    assert circles(late) == {("a", "b")}
    source = "if TYPE_CHECKING:\n    from embaudit.x import X\ndef f():\n    import embaudit.y\n"
    assert set(imported(ast.parse(source))) == {("embaudit.x", "X"), ("embaudit", "y")}


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
