"""Names are nouns of the field, and docstrings begin with an imperative or a noun phrase."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "embaudit"
PLAIN = sorted(path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
"""Rooms, and modules beside them: all keep the rules."""

PUBLISHED = {"BiasColumns.kept", "RoleChange.kept"}
"""Fields that are keys of published JSON."""

PRONOUN = re.compile(r"found|one|part|known|given|chosen|others|asked|kept|said|taken|seen")
RIDDLE = re.compile(r"(What|Which|Whether|Those|Tell|Say|Where|They|It)\b")
CONTINUED = re.compile(r"(Of|Those|That|Them)\b|\S+$")
LONGEST_WITHOUT_DOCSTRING = 10


def attribute_docstrings(body: list[ast.stmt]) -> Iterator[ast.Constant]:
    """Yield the strings that follow an assignment."""
    for pair in pairwise(body):
        match pair:
            case (ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str()) as text)):
                yield text


def names(node: ast.AST) -> Iterator[str]:
    """Yield the variable or the parameter that a node binds, those of loops and comprehensions among them."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.MatchAs(name=str(name)):
            yield name


def faults(text: str) -> Iterator[str]:
    """Yield a sentence for each name and docstring that breaks a rule."""
    tree, published = ast.parse(text), set[ast.AST]()
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        if any(PRONOUN.fullmatch(name) for name in names(node)) and node not in published:
            yield f"{line}: a variable is a pronoun: {', '.join(names(node))}"
        if isinstance(node, ast.ClassDef):
            fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            published |= {field for field in fields if f"{node.name}.{ast.unparse(field)}" in PUBLISHED}
        if isinstance(node, ast.Module | ast.ClassDef):
            for constant in attribute_docstrings(node.body):
                if RIDDLE.match(constant.value) or CONTINUED.match(constant.value):
                    yield f"{constant.lineno}: the docstring of an attribute names no thing: {constant.value}"
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            docstring = ast.get_docstring(node) or ""
            if RIDDLE.match(docstring):
                yield f"{line}: the docstring begins with a riddle: {docstring.splitlines()[0]}"
            is_long = isinstance(node, ast.FunctionDef) and node.end_lineno - line >= LONGEST_WITHOUT_DOCSTRING
            if is_long and not docstring and not node.name.startswith("__"):
                yield f"{line}: the function {node.name} is long and has no docstring"


def faults_of(room: str) -> list[str]:
    """Return the faults of a room, or of a module beside the rooms."""
    path = PACKAGE / room
    modules = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    texts = {module: module.read_text(encoding="utf-8") for module in modules}
    return [f"{module.relative_to(PACKAGE.parent)}:{fault}" for module, text in texts.items() for fault in faults(text)]


@pytest.mark.parametrize("room", PLAIN)
def test_names_and_docstrings_are_plain(room):
    assert not faults_of(room), "\n".join(faults_of(room))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('"""What a module holds."""', "1: the docstring begins with a riddle"),
        ('class A:\n    x: int\n    """Of them."""', "3: the docstring of an attribute"),
        ("rows = [one for one in range(3)]", "1: a variable is a pronoun: one"),
        ("def f(x, *, given): ...", "1: a variable is a pronoun: given"),
        ("def _f(x):" + "\n    x += 1" * 10, "1: the function _f is long"),
    ],
)
def test_each_rule_refuses_what_breaks_it(text, fault):
    assert [line.startswith(fault) for line in faults(text)] == [True]


def test_plain_words_pass():
    assert not [*faults('"""Rows of a model."""\nclass A:\n    rows: int\n    """Number of rows."""\n')]


if __name__ == "__main__":
    for room in PLAIN:
        print(f"{len(faults_of(room)):5} {room}")
