"""Small wrong changes of a source text: what a slip of the hand would write, one at a time.

Each mutant replaces one piece of the text; a test suite that is worth its name notices it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
SPELT = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
TURNED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*")}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin"}


@dataclass(frozen=True)
class Mutant:
    """One wrong change."""

    path: str
    """File, from the project's root."""
    line: int
    """Where it is."""
    start: int
    """First character of what is replaced."""
    end: int
    """One past the last."""
    old: str
    """What stands there."""
    new: str
    """What is put there."""

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        old, new = (" ".join(piece.split())[:70] for piece in (self.old, self.new))
        return f"{self.path}:{self.line}  {old}  →  {new or '(nothing)'}"


class _Source:
    """A text and where its lines begin; positions of the syntax tree count bytes, not characters."""

    def __init__(self, text: str) -> None:
        self.text, self.lines = text, text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def mutants(path: str, text: str) -> list[Mutant]:
    """List every mutant of a file.

    Docstrings, annotations, imports, exports, messages of errors and whether `zip` checks lengths stay as they are.
    """
    source, found = _Source(text), []
    for node in _code(ast.parse(text)):
        for start, end, new in _changes(node, source):
            if text[start:end] != new:
                found.append(Mutant(path, node.lineno, start, end, text[start:end], new))  # type: ignore[attr-defined]
    return found


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk through what is executed."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Import | ast.ImportFrom | ast.arg | ast.Raise):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.AnnAssign) and child.value is None:
            continue
        if isinstance(child, ast.keyword) and child.arg == "strict":
            continue
        if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__":
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        yield child
        # Positions inside a formatted string are not those of the file before Python 3.12.
        if not isinstance(child, ast.JoinedStr):
            yield from _code(child)


def _changes(node: ast.AST, source: _Source) -> Iterator[tuple[int, int, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield _between(node.left, node.comparators[0], SPELT[type(node.ops[0])], COMPARED[type(node.ops[0])], source)
    elif isinstance(node, ast.BinOp) and type(node.op) in TURNED:
        yield _between(node.left, node.right, *TURNED[type(node.op)], source)
    elif isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield _between(node.values[0], node.values[1], old, new, source)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.span(node)[0], source.span(node.operand)[0], ""
    elif isinstance(node, ast.Constant):
        yield from _constants(node, source)
    elif isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in SWAPPED:
            end = source.span(node)[1]
            yield end - len(name), end, SWAPPED[name]
    elif isinstance(node, ast.JoinedStr):
        yield *source.span(node), '""'
    else:
        yield from _statements(node, source)


def _statements(node: ast.AST, source: _Source) -> Iterator[tuple[int, int, str]]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield *source.span(node.test), f"not ({source.text[slice(*source.span(node.test))]})"
    elif isinstance(node, ast.Expr | ast.AugAssign):
        yield *source.span(node), "pass"
    elif isinstance(node, ast.Return | ast.keyword) and _can_be_dropped(node):
        yield *source.span(node.value), "None"  # type: ignore[arg-type]


def _can_be_dropped(node: ast.Return | ast.keyword) -> bool:
    return (
        node.value is not None if isinstance(node, ast.Return) else bool(node.arg) and isinstance(node.value, ast.Name)
    )


def _between(left: ast.AST, right: ast.AST, old: str, new: str, source: _Source) -> tuple[int, int, str]:
    """Replace the operator that stands between two operands."""
    start, end = source.span(left)[1], source.span(right)[0]
    at = start + source.text[start:end].index(old.split()[0])
    return at, at + len(old), new


def _constants(node: ast.Constant, source: _Source) -> Iterator[tuple[int, int, str]]:
    start, end = source.span(node)
    value = node.value
    if isinstance(value, bool):
        yield start, end, repr(not value)
    elif isinstance(value, int):
        yield start, end, repr(value + 1)
    elif isinstance(value, float):
        yield start, end, repr(value * 10 if value else 1.0)
    elif isinstance(value, str) and value.strip() and source.text[start:end][:1] in "\"'":
        yield start, end, '""' if len(value) > 3 else '"XX"'
