"""The package stays within its size: lines of code, counted without docstrings, comments and blank lines."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_CODE = 27_100
MOST_TESTS = 30_000
LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> int:
    """Count the lines that hold a token other than a comment or a docstring."""
    lines: set[int] = set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            continue
        # A string that begins a statement is a docstring, of a module, a class, a function or an attribute.
        docstring = token.type == tokenize.STRING and before in LAYOUT
        if not docstring and token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
        before = token.type
    return len(lines)


def rooms() -> Counter[str]:
    """Count the lines of code of each room; `python tests/house/test_size.py` prints them."""
    counts: Counter[str] = Counter()
    for path in sorted((ROOT / "embaudit").rglob("*.py")):
        parts = path.relative_to(ROOT / "embaudit").parts
        counts[parts[0] if len(parts) > 1 else "(top)"] += code_lines(path.read_text(encoding="utf-8"))
    return counts


def test_comments_docstrings_and_blank_lines_are_no_code():
    text = '"""Module."""\n\n# Why.\nx = """two\nlines"""\n\n\ndef f():\n    """Doc."""\n    return (\n        x\n    )'
    assert code_lines(text) == 2 + 1 + 3


def test_the_package_is_no_larger_than_agreed():
    assert sum(rooms().values()) <= MOST_CODE, rooms()


def test_the_tests_are_no_larger_than_agreed():
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py"))
    assert lines <= MOST_TESTS


if __name__ == "__main__":
    for room, count in rooms().most_common():
        print(f"{count:6,} {room}")
    print(f"{sum(rooms().values()):6,} in all")
