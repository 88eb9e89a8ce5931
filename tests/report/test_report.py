"""The terminal and the page show the same tables, sentences and definitions."""

from __future__ import annotations

from io import StringIO

import pandas as pd
import pytest
from browsing import read_text, text_of
from models import random_model
from rich.console import Console

import embaudit as ea
from embaudit.gauges import GROUPS
from embaudit.report.audit_document import MADE_BY, audit_document
from embaudit.report.tables import Table
from embaudit.report.terminal import brief, print_audit


@pytest.fixture(scope="module")
def result():
    """Return an audit of items whose names look like markup of terminals and HTML."""
    names = [f"[b]item {i}[/b] <i>" for i in range(30)]
    model = random_model(scales=([5, 3, 2, 1, 0.5], 1), right_names=names)
    return ea.audit(model, n_gauges=2, source="model.npz")


@pytest.fixture(scope="module")
def document(result):
    return audit_document(result, drawn=False)


def printed(result, width):
    console = Console(width=width, record=True, file=StringIO())
    print_audit(result, console)
    return console.export_text()


@pytest.fixture(scope="module")
def terminal(result):
    return printed(result, width=160)


@pytest.fixture(scope="module")
def html(result):
    return result.report().replace("\xa0", " ")


def plain(text):
    """Return a text without backticks and line breaks."""
    return " ".join(text.replace("`", "").split())


def assert_in_order(text, *parts):
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_terminal_shows_every_cell_of_every_table(document, terminal):
    cells = {cell for table in document.tables for row in table.rows for cell in row}
    assert {cell for cell in cells if cell not in terminal} == set()


def test_the_page_shows_every_column_but_that_of_changed_predictions(document, html):
    """The page has one sentence about changed predictions instead of a column."""
    page = text_of(html)
    for table in document.tables:
        for row in table.rows:
            for heading, cell in zip(table.headings, row, strict=True):
                assert plain(cell) in page or heading == "predictions moved", cell


def test_the_page_shows_every_sentence(result, html):
    page = plain(read_text(html))
    sections = audit_document(result).shown_sections
    sentences = [
        text for section in sections for text in (*section.paragraphs, *section.end)
    ]
    assert len(sentences) > 5
    for sentence in sentences:
        assert plain(sentence) in page


def test_a_notebook_shows_the_answer_then_the_reason_then_the_remedy(result):
    shown = text_of(result._repr_html_())
    because = result.answer.because
    assert_in_order(
        shown,
        f"{result.answer.word}. {because[0].upper()}{because[1:]}.",
        result.reasons[0].text,
        " ".join(result.findings[0].remedy.replace("`", " ").split()),
    )


def test_the_terminal_shows_the_answer_then_the_terms_then_the_tables(
    result, document, terminal
):
    terms = dict(document.words)
    assert terms.keys() >= {"gauge", "κ", "budget", "certified"}
    assert_in_order(
        " ".join(terminal.split()),
        str(result.answer),
        *(" ".join(f"{term}: {meaning}".split()) for term, meaning in terms.items()),
        document.tables[0].caption,
    )


def test_the_page_shows_the_answer_then_the_terms_then_the_verdict(
    result, document, html
):
    assert_in_order(
        " ".join(html.split()),
        result.answer.because[1:],
        *(f">{term}</dt><dd>{meaning}"[:60] for term, meaning in document.words),
        'id="verdict"',
    )


def test_the_words_of_an_audit_are_those_of_what_it_measured(document):
    rows = random_model(p=9, k=3).right
    compared = ea.FactorModel.from_vectors(rows, compared="cosine")
    of_vectors = audit_document(ea.audit(compared, quick=True), drawn=False)
    measured = {"certified", "range", "exponent", "whitened", "prediction cosine"}
    assert measured <= {word for word, _ in document.words}
    assert measured.isdisjoint(word for word, _ in of_vectors.words)


def test_a_narrow_terminal_shows_only_the_essential_columns(result, document):
    narrow = printed(result, width=60)
    # Commands keep the lines in which they can be pasted.
    lines = [line for line in narrow.splitlines() if not line.startswith("  ")]
    assert max(map(len, lines)) <= 60
    assert "sign flips" not in narrow

    of_items = document.tables[1]
    assert of_items.headings[0] == "equivalent models"
    assert "sign flips" in of_items.headings
    assert of_items.narrow().headings == (
        "equivalent models",
        "mean |Δcos|",
        "top-10 kept",
    )


def table(n_rows):
    names = [f"row {i}" for i in range(n_rows)]
    return Table("t", pd.DataFrame({"name": names, "x": range(n_rows)}))


@pytest.mark.parametrize(
    ("n_sentences", "n_rows", "n_shown"),
    [
        # 28 lines: a sentence, a blank line, the caption, the headings and 22 rows; two
        # lines are kept for the hint at --full.
        (1, 22, 22),
        (1, 23, 22),
        # The sentences fill the screen, but a table has three rows at least.
        (22, 9, 3),
    ],
)
def test_a_first_screen_shows_all_sentences_and_as_many_rows_as_fit(
    n_sentences, n_rows, n_shown
):
    sentences = ["A sentence."] * n_sentences
    lines = brief(sentences, [table(n_rows)]).splitlines()
    assert lines[:n_sentences] == sentences
    assert sum(line.startswith("row ") for line in lines) == n_shown


def test_a_first_screen_has_28_lines_at_most():
    assert len(brief(["A sentence."], [table(100)]).splitlines()) == 28


@pytest.mark.parametrize(
    ("n_rows", "last"), [(22, "row 21  21"), (23, "Everything: --full")]
)
def test_a_first_screen_names_the_option_full_only_if_rows_are_missing(n_rows, last):
    assert brief(["A sentence."], [table(n_rows)]).splitlines()[-1] == last


def test_a_first_screen_cuts_long_names_and_drops_columns_that_do_not_fit():
    frame = pd.DataFrame(
        {
            "name": ["n" * 36, "m" * 37],
            "a": ["1", "3" * 30],
            "b": ["2", "4" * 30],
        }
    )
    wide = Table("t", frame, formats={"a": str, "b": str}, essential=("b",))
    lines = brief(["S."], [wide]).splitlines()
    assert lines[3].split() == ["name", "b"]
    assert lines[4].split() == ["n" * 36, "2"]
    assert lines[5].split() == ["m" * 35 + "…", "4" * 30]
    assert lines[-1] == "Everything: --full"


def test_every_gauge_group_is_named_in_plain_words_above_a_list():
    missing = {group.kind for group in GROUPS} - set(MADE_BY)
    assert not missing, f"MADE_BY in report/audit_document.py lacks {missing}"
