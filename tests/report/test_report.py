"""The terminal and the page show the same tables, sentences and definitions."""

from __future__ import annotations

from io import StringIO

import pytest
from browsing import read_text, text_of
from models import random_model
from rich.console import Console

import embaudit as ea
from embaudit.report.audit_document import audit_document
from embaudit.report.document import Grid, definitions
from embaudit.report.page import coded
from embaudit.report.terminal import brief, print_audit


@pytest.fixture(scope="module")
def result():
    names = [f"[b]item {i}[/b] <i>" for i in range(30)]
    model = random_model(scales=([5, 3, 2, 1, 0.5], 1), right_names=names)
    return ea.audit(model, n_gauges=2, source="model.npz")


def grids(result):
    return audit_document(result, drawn=False).grids


def printed(result, width):
    console = Console(width=width, record=True, file=StringIO())
    print_audit(result, console)
    return console.export_text()


def test_every_table_and_sentence_is_in_the_terminal_and_on_the_page(result):
    terminal, html = printed(result, 160), result.report().replace("\xa0", " ")
    for grid in grids(result):
        for cell in (cell for row in grid.rows for cell in row):
            assert cell in terminal, cell
            assert cell in html or grid.headings[-1].endswith("moved"), cell
    sections = audit_document(result).shown_sections
    for sentence in (
        text for section in sections for text in (*section.paragraphs, *section.end)
    ):
        assert read_text(str(coded(sentence))) in read_text(html)
    embedded = text_of(result._repr_html_())
    because = result.answer.because
    answer = f"{result.answer.word}. {because[0].upper()}{because[1:]}."
    others = (
        result.reasons[0].text,
        " ".join(result.findings[0].remedy.replace("`", " ").split()),
    )
    assert (
        embedded.index(answer) < embedded.index(others[0]) < embedded.index(others[1])
    )
    words = " ".join(terminal.split())
    assert words.index(str(result.answer)) < words.index(grids(result)[0].caption)


def test_terms_are_defined_between_the_answer_and_the_first_table(result):
    words = audit_document(result, drawn=False).words
    assert {"gauge", "κ", "budget", "certified"} <= {word for word, _ in words}
    terminal, html = (
        " ".join(printed(result, 160).split()),
        " ".join(result.report().split()),
    )
    told = [" ".join(f"{word}: {meaning}".split()) for word, meaning in words]
    listed = [f">{word}</dt><dd>{meaning}"[:60] for word, meaning in words]
    for text, starts, answer, first in (
        (terminal, told, str(result.answer), grids(result)[0].caption),
        (html, listed, result.answer.because[1:], 'id="verdict"'),
    ):
        places = [text.index(start) for start in starts]
        assert places == sorted(places)
        assert text.index(answer) < places[0]
        assert places[-1] < text.index(first)
    alone = ea.FactorModel.from_vectors([[1.0]])
    assert list(definitions(alone, ["gauged by roles"])) == [
        ("role", "which cosines are meant: item-item, user-user or user-item.")
    ]


def test_a_narrow_terminal_gets_only_the_essential_columns(result):
    text = printed(result, 60)
    assert "mean |Δcos|" in text.replace("\n", " ") or "mean" in text
    assert "sign flips" not in text
    assert max(len(line) for line in text.splitlines()) <= 60
    first = next(grid for grid in grids(result) if grid.essential)
    assert first.narrow().headings[0] == first.headings[0]
    assert len(first.narrow().headings) < len(first.headings)


def table(rows, name="row", **fields):
    return Grid(
        "t",
        "",
        ("name", "x"),
        tuple((f"{name} {i}", str(i)) for i in range(rows)),
        **fields,
    )


@pytest.mark.parametrize(
    ("said", "rows", "shown", "more"),
    [(1, 22, 22, False), (1, 23, 22, True), (22, 9, 3, True)],
)
def test_a_first_screen_has_all_sentences_and_as_many_rows_as_fit(
    said, rows, shown, more
):
    lines = brief(["A sentence."] * said, [table(rows)]).splitlines()
    assert lines[:said] == ["A sentence."] * said
    assert sum(line.startswith("row ") for line in lines) == shown
    assert (lines[-1] == "Everything: --full") == more
    assert len(lines) <= 28 or said > 20


def test_a_first_screen_cuts_long_names_and_drops_columns_that_do_not_fit():
    wide = Grid(
        "t",
        "",
        ("name", "a", "b"),
        (("n" * 36, "1", "2"), ("m" * 37, "3" * 30, "4" * 30)),
        essential=("b",),
    )
    lines = brief(["S."], [wide]).splitlines()
    assert lines[3].split() == ["name", "b"]
    assert lines[4].split() == ["n" * 36, "2"]
    assert lines[5].split() == ["m" * 35 + "…", "4" * 30]
    assert lines[-1] == "Everything: --full"
