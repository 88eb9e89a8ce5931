"""Results ask for the renderer that was set last, when they are first shown."""

from types import SimpleNamespace

import pytest

import embaudit
from embaudit.core.results import Result, set_renderer


class Answer(Result):
    def to_dict(self):
        return {"answer": 42, "error": None}

    def explain(self):
        return "The answer is 42."


@pytest.fixture
def package_renderer():
    """Restore the renderer of the package after the test."""
    yield
    set_renderer(embaudit._import_renderer)


def renderer_of(page):
    return lambda: SimpleNamespace(page=lambda result: f"{page}: {result}")


def test_the_renderer_that_was_set_last_shows_a_result(package_renderer):
    set_renderer(renderer_of("first"))
    assert Answer().report() == "first: The answer is 42."
    set_renderer(renderer_of("second"))
    assert Answer().report() == "second: The answer is 42."


def test_the_renderer_is_imported_when_it_is_needed(package_renderer):
    imported = []

    def import_renderer():
        imported.append("renderer")
        return renderer_of("page")()

    set_renderer(import_renderer)
    assert not imported
    Answer().report()
    Answer().report()
    assert imported == ["renderer"]


def test_the_table_of_a_result_has_one_row_and_nan_for_undefined_numbers():
    table = Answer().to_frame()
    assert table.shape == (1, 2)
    assert table["answer"][0] == 42
    assert table["error"].isna()[0]
