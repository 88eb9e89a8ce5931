"""Each step of the test of unit rows by itself: spans, shared forms, second metrics, and what cannot be decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.canonical import pinned
from embaudit.canonical.lifts import Span, packed, span_of
from embaudit.canonical.pinned import _counted, _moved, pinned_test
from embaudit.canonical.second_metric import _advanced, certificate, second_metrics, shared_form
from embaudit.errors import InputError
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel, Softmax

UNIT = Softmax(unit_rows=True)


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def span(x):
    return span_of(x, np.eye(x.shape[1]))


# --- spans -------------------------------------------------------------------------------------------------------


# --- proofs ------------------------------------------------------------------------------------------------------


def test_a_shared_form_is_positive_and_lies_in_both_spans():
    left, right = rows(8, 4), rows(8, 4, 1)
    spans = span(left), span(right)
    form = shared_form(*spans, 4)
    values = np.linalg.eigvalsh(form)
    assert values[0] > 1e-3 * values[-1] > 0
    assert certificate(*spans, 4) == pytest.approx(values[0] / values[-1])
    for side in spans:
        np.testing.assert_allclose(side.held @ (side.held.T @ packed(form)), packed(form), atol=1e-9)
    assert shared_form(span(rows(12, 4)), spans[1], 4) is None
    apart = span(np.eye(2)[:1]), span(np.eye(2)[1:])
    assert shared_form(*apart, 2) is None
    assert certificate(*apart, 2) == 0.0


def test_second_metrics_keep_every_length_on_both_sides():
    x, y = unit_rows(rows(5, 4)), unit_rows(rows(4, 4, 1))
    found = second_metrics(span(x), span(y), 4, np.random.default_rng(0), 3.0)
    assert found
    for metric in found:
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", x, metric, x), 1, atol=1e-12)
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", y, np.linalg.inv(metric), y), 1, atol=1e-12)
        values = np.linalg.eigvalsh(metric)
        assert 0 < values[-1] <= 9 * values[0]
    assert max(np.abs(metric - np.eye(4)).max() for metric in found) > 0.1
    assert second_metrics(span(x), span(y), 4, np.random.default_rng(0), 1.0 + 1e-9) == []
    conditions = np.sort([np.sqrt(np.linalg.cond(metric)) for metric in found])
    for most, kept in ((conditions[-1] * 1.001, len(found)), (conditions[-1] * 0.999, len(found) - 1)):
        assert len(second_metrics(span(x), span(y), 4, np.random.default_rng(0), most)) == kept


def test_a_step_is_halved_until_a_fifth_of_the_least_value_is_left():
    eye = np.eye(2)
    np.testing.assert_allclose(_advanced(eye, -0.75 * eye), 0.25 * eye)
    np.testing.assert_allclose(_advanced(eye, -0.9 * eye), 0.55 * eye)
    np.testing.assert_allclose(_advanced(4 * eye, -3.5 * eye), 2.25 * eye)
    np.testing.assert_array_equal(_advanced(eye, -1e20 * eye), eye)


# --- equal models ------------------------------------------------------------------------------------------------


def test_movements_are_of_pairs_that_have_a_cosine(monkeypatch):
    before = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    after = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert vars(_moved(before, after)) == {"mean_abs": 0.6, "max_abs": 0.6, "n_pairs": 1}
    nothing = {"mean_abs": 0.0, "max_abs": 0.0, "n_pairs": 0}
    assert vars(_moved(before[:1], after[:1])) == nothing
    assert vars(_moved(before[2:].repeat(2, axis=0), after[2:].repeat(2, axis=0))) == nothing
    three = np.vstack([before[:2], [[1.0, 1.0]]])
    assert _moved(three, three).n_pairs == 3
    monkeypatch.setattr(pinned, "PAIRS", 2)
    assert _moved(three, three).n_pairs == 2
    # As many as there are are not drawn, but taken: 0 becomes 1, √½ and √½ become -1 and -1.
    monkeypatch.setattr(pinned, "PAIRS", 3)
    found = _moved(three, np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]))
    assert found.mean_abs == pytest.approx((1 + 2 * (1 + np.sqrt(0.5))) / 3, rel=1e-12)


def test_a_head_of_too_many_numbers_is_counted_or_left_open(monkeypatch):
    for module in ("pinned", "lifts"):
        monkeypatch.setattr(f"embaudit.canonical.{module}.LARGEST", 4)
        monkeypatch.setattr(f"embaudit.canonical.{module}.LARGEST_SHOWN", 8)
    two = pinned_test(FactorModel(None, rows(2, 2), link=UNIT))
    assert (two.status, two.rank, two.needed) == ("free", 2, 3)
    assert two.because == "2 items fix at most as many numbers of a gauge"
    assert _counted(FactorModel(None, rows(3, 2), link=UNIT)) is None
    assert _counted(FactorModel(None, np.outer([1.0, 2.0], [1.0, 1.0]), link=UNIT)) is None
    line = pinned_test(FactorModel(None, np.outer([1.0, 2.0], [1.0, 1.0]), link=UNIT))
    assert (line.status, line.because, line.rank) == (
        "undecided",
        "up to 8 numbers of a gauge a proof by one side is tried, up to 4 all else, and this one has 5",
        0,
    )
    alone = pinned_test(FactorModel(None, rows(3, 3), link="cosine"))
    assert (alone.status, alone.needed) == ("undecided", 6)
    assert alone.because == line.because.replace("has 5", "has 6")


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(InputError, match="the link must be one that divides rows by their length; got identity"):
        pinned_test(FactorModel.from_vectors(np.eye(2)))
    for bad in (1.0, 0.5):
        with pytest.raises(InputError, match=rf"max_condition must be a number above 1; got {bad}"):
            pinned_test(FactorModel(None, np.eye(2), link=UNIT), max_condition=bad)
    assert Span(3, 3, False, None, None).is_full is False


@pytest.mark.parametrize(("residual", "verdict"), [(0.0, "free"), (1e-9, "undecided")])
def test_a_witness_of_a_head_that_misses_its_probabilities_shows_nothing(monkeypatch, residual, verdict):
    with_movement = pinned._with_movement

    def moved(model, found):
        shown = with_movement(model, found)
        return None if shown is None else replace(shown, residual=residual)

    monkeypatch.setattr(pinned, "_with_movement", moved)
    axes = np.vstack([np.eye(3), -np.eye(3)])
    assert pinned_test(FactorModel(None, axes, link=UNIT)).status == verdict
    monkeypatch.setattr(pinned, "_with_movement", lambda *_: None)
    assert pinned_test(FactorModel(None, axes, link=UNIT)).status == "undecided"
