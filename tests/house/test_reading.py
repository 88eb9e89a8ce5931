"""What the package says to people is said in sentences that can be read at once."""

from __future__ import annotations

import ast
from itertools import chain
from pathlib import Path

from reading import sentences, too_long, words

import embaudit
from embaudit.auditing.texts import CODES, WORDS

ROOT = Path(embaudit.__file__).parent
LISTS = ROOT / "io" / "checkpoints" / "architectures.py"
"""Names of architectures, which nobody reads as a sentence."""
MODULES = sorted({*ROOT.rglob("*.py")} - {LISTS, *(ROOT / "testing").iterdir()})
REFUSALS = ("must_be", "InputError", "split")
"""Calls whose text is one sentence of parts that semicolons divide, or no sentence at all."""


def named(call):
    """Name what is called."""
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def passed_over(tree):
    """Texts that are no sentences of a report: docstrings, refusals, and the pieces of larger ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and named(node) in REFUSALS):
            yield from ast.walk(node)
        elif isinstance(node, ast.JoinedStr):
            yield from node.values


def texts(tree):
    """Texts of a module; what is filled in counts as one word."""
    skipped = {id(node) for node in passed_over(tree)}
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        written = [part.value if isinstance(part, ast.Constant) else "X" for part in parts]
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in skipped:
            yield "".join(part for part in written if isinstance(part, str))


def test_no_text_of_the_package_has_a_sentence_that_is_too_long():
    found = {path: too_long(*texts(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}
    assert {path: told for path, told in found.items() if told} == {}


def test_no_explanation_has_a_sentence_that_is_too_long():
    entries = [*CODES.values(), *WORDS.values()]
    assert too_long(*(text for entry in entries for text in (entry.heading, *chain(*entry.sections)))) == []


def test_sentences_end_where_a_reader_ends_them():
    text = "It is 0.5 long. `fix` mends it (Eq. 2; ALS). Then 3 % stay!\nκ = 1.5 bounds it? −1 is far."
    expected = ["It is 0.5 long.", "`fix` mends it (Eq. 2; ALS).", "Then 3 % stay!", "κ = 1.5 bounds it?", "−1 is far."]
    assert sentences(text) == expected
    assert [words(sentence) for sentence in expected] == [4, 6, 3, 4, 3]
