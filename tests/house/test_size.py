"""The package stays within its size: lines of code, counted without docstrings, comments and blank lines."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_CODE = 26_046
MOST_TESTS = 30_000
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> int:
    """Count the lines that hold a token other than a comment or a docstring of a module, class, function or field."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str())):
                held -= {*range(node.lineno, node.end_lineno + 1)}
    return len(held)


def rooms() -> Counter[str]:
    """Count the lines of code of each room; `python tests/house/test_size.py` prints them."""
    counts: Counter[str] = Counter()
    for path in sorted((ROOT / "embaudit").rglob("*.py")):
        parts = path.relative_to(ROOT / "embaudit").parts
        counts[parts[0] if len(parts) > 1 else "(top)"] += code_lines(path.read_text(encoding="utf-8"))
    return counts


def test_comments_docstrings_and_blank_lines_are_no_code():
    text = '"""Module."""\n\n# Why.\nx = """two\nlines"""\ndef f():\n """Doc."""\n return (\n  f"x"\n  "y"\n )'
    assert code_lines(text) == 2 + 1 + 4


def test_the_package_is_no_larger_than_agreed():
    assert sum(rooms().values()) <= MOST_CODE, rooms()


def test_the_tests_are_no_larger_than_agreed():
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py"))
    assert lines <= MOST_TESTS


if __name__ == "__main__":
    for room, count in rooms().most_common():
        print(f"{count:6,} {room}")
    print(f"{sum(rooms().values()):6,} in all")
