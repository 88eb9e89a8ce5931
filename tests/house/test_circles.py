"""No two modules import each other: a result only finds its own words and pages late, when a method is asked."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules(root):
    """Map the dotted name of every module below a folder to its file; a package is its __init__."""
    files = sorted((root / "embaudit").rglob("*.py"))
    parts = {file: file.relative_to(root).with_suffix("").parts for file in files}
    return {".".join(p[:-1] if p[-1] == "__init__" else p): file for file, p in parts.items()}


def imports(tree):
    """Yield (module, name) of every import but those in the methods of a class, as type checkers see them too."""
    methods = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, ast.FunctionDef)
        for inner in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in methods:
            yield from ((node.module, alias.name) for alias in node.names)


def resolved(module, name, known):
    """Find the module that defines a name, through what packages pass on."""
    if f"{module}.{name}" in known:
        return f"{module}.{name}"
    if module in known and known[module].name == "__init__.py":
        for origin, passed in imports(ast.parse(known[module].read_text())):
            if passed == name and origin in known:
                return resolved(origin, name, known)
    return module


def graph(root):
    known = modules(root)
    return {
        module: {
            found
            for one in imports(ast.parse(file.read_text()))
            if one[0] in known and (found := resolved(*one, known)) != module
        }
        for module, file in known.items()
        if file.name != "__init__.py"
    }


def circle(root):
    try:
        TopologicalSorter(graph(root)).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_two_modules_import_each_other():
    assert circle(ROOT) == []
