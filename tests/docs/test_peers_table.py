"""The documentation's table of other libraries is what the tests with these libraries last found."""

from __future__ import annotations

import pytest
from peers.table import BEGIN, COLUMNS, END, PAGE, rendered, replaced, stored


def test_the_table_of_other_libraries_is_that_of_their_last_run() -> None:
    held = stored()
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert replaced(text, rendered(held)) == text
    assert {column for library in held.values() for found in library["models"].values() for column in found} <= set(
        COLUMNS
    )


def test_nothing_that_was_found_wrong_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.table.MISSING", {"c": "it needs d", "e": "gone"})
    models = {"N": {"scores": "yes"}, "O": {"scores": "NO"}, "M": {"scores": "yes", "file": "NO"}}
    held = {"a": {"version": "1", "models": models},
            "B": {"version": None, "models": {"K": {"scores": "not installed"}}}}  # fmt: skip
    assert rendered(held) == (
        "| library | models | its own scores or vectors | its own files | ids and titles | written, read by others "
        "| audited live |\n"
        "|---|---|---|---|---|---|---|\n"
        "| a 1 | M, N, O | NO: O; yes: M, N | NO | – | – | – |\n"
        "| B – | K | not installed | – | – | – | – |\n\n"
        "Not tried: c (it needs d); e (gone)."
    )
    assert replaced(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"
