"""Each step of the test of unit rows by itself: spans, shared forms, second metrics, and what cannot be decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.canonical import pinned
from embaudit.canonical.lifts import Span, lifted, n_forms, packed, span_of, symmetric, tangent
from embaudit.canonical.pinned import _counted, _half, _in_all_directions, _moved, _rows_space, pinned_test
from embaudit.canonical.second_metric import _advanced, certificate, cone_certificate, second_metrics, shared_form
from embaudit.errors import InputError
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel, Softmax

UNIT = Softmax(unit_rows=True)


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def span(x):
    return span_of(x, np.eye(x.shape[1]))


# --- spans -------------------------------------------------------------------------------------------------------


def test_forms_are_counted_packed_and_unpacked():
    assert [n_forms(k) for k in (1, 2, 5)] == [1, 3, 15]
    assert [n_forms(k, affine=True) for k in (1, 2, 5)] == [2, 5, 20]
    x, form = rows(4, 3), rows(3, 3, 1)
    form = form + form.T
    np.testing.assert_allclose(lifted(x) @ packed(form), np.einsum("ni,ij,nj->n", x, form, x))
    np.testing.assert_allclose(symmetric(packed(form), 3), form)
    both = np.stack([form, 2 * form])
    np.testing.assert_allclose(symmetric(packed(both), 3), both)


@pytest.mark.parametrize(("n", "k"), [(2, 3), (5, 3), (6, 3), (30, 3)])
@pytest.mark.parametrize("affine", [False, True])
def test_a_span_holds_all_rows_and_what_is_free_vanishes_on_them(n, k, affine):
    x = rows(n, k)
    found = span_of(x, np.eye(k), affine=affine)
    unit = unit_rows(x)
    forms = np.hstack([lifted(unit), unit]) if affine else lifted(unit)
    assert found.needed == n_forms(k, affine=affine)
    assert found.rank == np.linalg.matrix_rank(forms) == min(n, found.needed)
    assert found.is_full == (n >= found.needed)
    if found.is_full:
        assert (found.held, found.free) == (None, None)
        return
    np.testing.assert_allclose(forms @ found.free, 0, atol=1e-12)
    np.testing.assert_allclose(forms @ found.held @ found.held.T, forms, atol=1e-12)
    np.testing.assert_allclose(found.held.T @ found.held, np.eye(n), atol=1e-12)


def test_beyond_what_is_decomposed_only_a_full_span_is_told(monkeypatch):
    monkeypatch.setattr("embaudit.canonical.lifts.LARGEST", 5)
    short, full = span(rows(5, 3)), span(rows(9, 3))
    assert (short.rank, short.clear, short.held, short.free) == (0, False, None, None)
    assert full.is_full
    monkeypatch.setattr("embaudit.canonical.lifts.LARGEST", 6)
    assert span(rows(5, 3)).rank == 5
    monkeypatch.setattr("embaudit.canonical.lifts.LARGEST_SHOWN", 6)
    assert span(rows(9, 3)).is_full
    monkeypatch.setattr("embaudit.canonical.lifts.LARGEST", 5)
    monkeypatch.setattr("embaudit.canonical.lifts.LARGEST_SHOWN", 5)
    assert not span(rows(9, 3)).is_full


def test_a_span_that_is_neither_full_nor_short_is_not_clear():
    nearly = np.vstack([np.eye(2), [[1.0, 1e-9]]])
    found = span(nearly)
    assert not found.clear
    assert not found.is_full
    firm = span(np.vstack([np.eye(2), [[1.0, 1e-3]]]))
    assert firm.is_full
    narrow = span(np.vstack([np.eye(2), [[1.0, 1e-7]]]).astype(np.float32))
    assert not narrow.is_full


def test_what_vanishes_on_both_sides_is_tangent():
    left, right = rows(3, 4), rows(4, 4, 1)
    found = tangent(span(left), span(right))
    assert found.shape == (10 - 7, 10)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(lifted(np.vstack([left, right])) @ found.T, 0, atol=1e-12)
    assert tangent(span(rows(12, 4)), span(right)).shape == (0, 10)


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


def test_weights_that_are_not_negative_add_up_to_the_identity_or_do_not():
    corner, skew = np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]])
    assert cone_certificate(corner, 5 * corner, np.eye(2))
    assert not cone_certificate(corner, skew, np.eye(2))
    assert not cone_certificate(skew, corner, np.eye(2))
    assert cone_certificate(np.vstack([skew, [[-0.6, 0.8]]]), corner, np.eye(2))
    inside = np.vstack([np.eye(3)[:2], np.zeros((1, 3))])
    assert cone_certificate(inside, inside, np.eye(3)[:, :2])


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


def test_every_second_row_in_order_of_its_part_is_turned():
    assert _half(np.array([3.0, -5.0, 1.0, 4.0])).tolist() == [True, True, False, False]
    assert _half(np.array([1.0, 1.0, 1.0])).tolist() == [True, False, True]


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


def test_a_metric_of_some_directions_leaves_the_others_alone():
    basis = np.linalg.qr(rows(4, 2))[0]
    metric = np.array([[2.0, 0.5], [0.5, 1.0]])
    gauge = _in_all_directions(metric, basis)
    whole = basis @ metric @ basis.T + np.eye(4) - basis @ basis.T
    np.testing.assert_allclose(gauge.left @ gauge.left.T, whole, atol=1e-12)


def test_directions_of_rows_less_what_a_bias_takes_up():
    flat = np.array([[1.0, 2.0, 0.0], [1.0, 3.0, 0.0], [1.0, -1.0, 0.0]])
    model = FactorModel(flat, rows(5, 3), link=UNIT)
    np.testing.assert_allclose(np.abs(_rows_space(model, "left")[2]), 0, atol=1e-12)
    assert _rows_space(model, "left").shape == (3, 2)
    assert _rows_space(model.replace(right_bias=np.zeros(5)), "left").shape == (3, 1)
    assert _rows_space(model.replace(right_bias=np.zeros(5)), "right").shape == (3, 3)


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
        with pytest.raises(InputError, match=rf"max_condition must be above 1; got {bad}"):
            pinned_test(FactorModel(None, np.eye(2), link=UNIT), max_condition=bad)
    assert Span(3, 3, False, None, None).is_full is False


@pytest.mark.parametrize("most", [1.5, 3.0])
def test_a_witness_of_a_head_spends_its_condition(most):
    axes = np.vstack([np.eye(3), -np.eye(3)])
    found = pinned_test(FactorModel(None, axes, link=UNIT), max_condition=most)
    assert found.witness.condition_number == pytest.approx(most)
    assert found.largest == pytest.approx((most**2 - 1) / (most**2 + 1))


@pytest.mark.parametrize(("times", "seen"), [(16.5, 2), (15.5, 1)])
def test_directions_count_from_sixteen_times_the_rounding_of_the_longest(times, seen):
    """Whatever the length of that one."""
    for longest in (1.0, 2.0**20):
        x = np.diag([1.0, times * np.finfo(np.float32).eps]).astype(np.float32) * np.float32(longest)
        assert _rows_space(FactorModel.from_vectors(x), "right").shape == (2, seen)


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
