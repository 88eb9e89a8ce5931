"""What other rooms, other machines and other threads reach first: pages of results, copies of files, what fails."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from embaudit.errors import InputError
from embaudit.foundation.checked import as_vector
from embaudit.foundation.results import Drawn, Result


class Told(Drawn):
    """A result of two numbers."""

    def to_dict(self):
        return {"n": 3, "share": 0.5}

    def explain(self):
        return "Three, of which half."


def test_a_result_is_a_row_a_page_and_a_fragment(monkeypatch):
    frame = Told().to_frame()
    assert frame.to_dict("list") == {"n": [3], "share": [0.5]}
    monkeypatch.setattr("embaudit.report.page.page", lambda result: ("page", result))
    monkeypatch.setattr("embaudit.report.page.fragment", lambda result: ("fragment", result))
    told = Told()
    assert told.report() == ("page", told)
    assert told._repr_html_() == ("fragment", told)
    assert isinstance(told, Result)


def test_a_picture_is_drawn_on_the_axes_given(monkeypatch):
    asked = []

    def display(result, picture, **options):
        return SimpleNamespace(plot=lambda ax: asked.append((result, picture, options, ax)) or "drawn")

    monkeypatch.setattr("embaudit.report.displays.display", display)
    told = Told()
    assert told.plot() == told.plot("axes") == told._drawn("axes", "lists", most=3) == "drawn"
    assert asked == [(told, "", {}, None), (told, "", {}, "axes"), (told, "lists", {"most": 3}, "axes")]


def test_a_vector_is_of_its_length():
    assert as_vector([1, 2], "bias", 2).tolist() == [1.0, 2.0]
    for given, shape in (([1], "(1,)"), ([[1, 2]], "(1, 2)"), (3.0, "()")):
        with pytest.raises(InputError) as refused:
            as_vector(given, "bias", 2)
        assert str(refused.value) == f"bias must be a vector of 2 numbers; got shape {shape}."
