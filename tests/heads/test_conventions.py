"""Equivalent forms of a head after a final norm, with different label cosines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.heads.conventions import (
    Convention,
    centred_form,
    conventions,
    folding,
    norm_evidence,
)
from embaudit.io.formats.safetensors import Safetensors
from embaudit.model import FactorModel, softmax_link
from embaudit.model.final_norm import FinalNorm

DRAW = np.random.default_rng(0)
ROWS, BIAS = DRAW.standard_normal((60, 6)), DRAW.standard_normal(60)
GAIN, SHIFT = np.array([1.0, -2.0, 0.5, 3.0, 1.5, 1.0]), np.linspace(-1, 1, 6)
HEAD = FactorModel.from_softmax(ROWS, BIAS)
LAYER = FinalNorm("layer", GAIN, SHIFT)


def probabilities(logits):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def evidence(head=HEAD, norm=LAYER, n=5, **options):
    chosen = {
        "labels": np.arange(head.n_right),
        "n_neighbours": n,
        "rng": np.random.default_rng(0),
    } | options
    return norm_evidence(head, norm, **chosen)


@pytest.fixture(scope="module")
def stories(shared_data):
    tensors = Safetensors(shared_data("lm-stories260K"))
    rows, gain = (
        np.asarray(tensors[f"model.{name}.weight"]) for name in ("embed_tokens", "norm")
    )
    return FactorModel.from_softmax(rows), FinalNorm("rms", gain)


@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize(
    "norm", [LAYER, FinalNorm("layer", GAIN), FinalNorm("rms", GAIN, SHIFT)]
)
def test_every_convention_predicts_what_the_stored_head_predicts(norm, bias):
    head = FactorModel.from_softmax(ROWS, bias)
    states = DRAW.standard_normal((40, 6)) * 3 + 1
    logits = norm.applied(states) @ ROWS.T + (0 if bias is None else bias)
    forms = {form.name: form for form in conventions(head, norm)}
    for name, form in forms.items():
        found = form.model(head, norm, norm.normalised(states))
        np.testing.assert_allclose(
            found.predictions(), probabilities(logits), rtol=1e-11
        )
        if name != "folded and centred":
            np.testing.assert_allclose(found.scores(), logits, atol=1e-12)
    assert ("folded, less ones" in forms) == norm.sums_to_zero


def test_a_head_that_divides_its_rows_by_their_lengths_takes_no_gain():
    unit = FactorModel.from_softmax(ROWS).replace(link=softmax_link(unit_rows=True))
    for call in (conventions, evidence):
        with pytest.raises(
            InputError,
            match=(
                "a head that keeps the lengths of its rows; got a head that divides"
            ),
        ):
            call(unit, LAYER)


def test_behind_an_rmsnorm_the_ones_vector_is_seen():
    norm = FinalNorm("rms", GAIN)
    assert [form.name for form in conventions(HEAD, norm)] == [
        "as stored",
        "folded",
        "folded and centred",
    ]
    np.testing.assert_allclose(
        centred_form(HEAD, norm).apply(ROWS),
        (ROWS - ROWS.mean(axis=0)) * GAIN,
        atol=1e-15,
    )
    states = norm.normalised(DRAW.standard_normal((9, 6)))
    with_ones = ROWS * GAIN + 1.0
    assert np.abs(states @ with_ones.T - states @ (ROWS * GAIN).T).max() > 1


def test_a_soft_cap_keeps_the_mean_row():
    capped = FactorModel.from_softmax(ROWS, link=softmax_link(soft_cap=5.0))
    assert [form.name for form in conventions(capped, LAYER)] == [
        "as stored",
        "folded",
        "folded, less ones",
    ]
    found = evidence(capped)
    assert found.verified
    assert {record.level.title for record in found.drift} == {"probabilities"}
    shifted = FactorModel.from_softmax(
        ROWS, link=softmax_link(soft_cap=5.0), embeddings=LAYER.applied(ROWS)
    )
    assert (
        np.abs(
            shifted.replace(right=ROWS - ROWS.mean(axis=0)).predictions()
            - shifted.predictions()
        ).max()
        > 1e-3
    )


def test_the_ones_vector_turns_a_cosine_around_and_no_logit_shows_it():
    k = 8
    first, second = np.eye(k)[0] - np.eye(k)[1], np.eye(k)[2] - np.eye(k)[3]
    ones, others = np.ones(k) / np.sqrt(k), DRAW.standard_normal((5, k))
    # Rows of cosine 0 get τ of their length along the ones vector, of one sign or of
    # opposite signs: ± τ²/(1 + τ²).
    heads = [
        np.vstack(
            [
                first + 3 * np.sqrt(2) * ones,
                second + sign * 3 * np.sqrt(2) * ones,
                others,
            ]
        )
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(
        [cosines(rows)[0, 1] for rows in heads], [0.9, -0.9], atol=1e-12
    )
    states = FinalNorm("layer", np.ones(k)).normalised(
        DRAW.standard_normal((1000, k)) * 5 + 3
    )
    one, other = (states @ rows.T for rows in heads)
    np.testing.assert_allclose(one, other, atol=1e-12)
    seen = FinalNorm("rms", np.ones(k)).normalised(DRAW.standard_normal((1000, k)) + 1)
    assert np.abs(seen @ heads[0].T - seen @ heads[1].T).max() > 1
    form = Convention("level", np.ones(k), level=True)
    level = [form.apply(rows) for rows in heads]
    np.testing.assert_allclose(level[0], level[1], atol=1e-14)


def test_folding_is_a_gauge_unless_a_gain_is_zero():
    gauge = folding(FinalNorm("rms", GAIN))
    assert gauge.condition_number == 6.0
    np.testing.assert_array_equal(gauge.act(HEAD).right, ROWS * GAIN)
    assert folding(FinalNorm("rms", [1.0, 0.0])) is None


def test_changes_of_nearest_labels_and_cosines_between_two_forms_by_brute_force():
    found = evidence()
    rows = {form.name: form.apply(ROWS) for form in conventions(HEAD, LAYER)}
    assert [(a.first, a.second) for a in found.apart] == [
        ("as stored", "folded"),
        ("as stored", "folded, less ones"),
        ("as stored", "folded and centred"),
        ("folded", "folded, less ones"),
        ("folded", "folded and centred"),
        ("folded, less ones", "folded and centred"),
    ]
    for apart in found.apart:
        one, other = (
            cosines(rows[name]) - 9 * np.eye(60) for name in (apart.first, apart.second)
        )
        assert apart.nearest.share == pytest.approx(
            (one.argmax(axis=1) != other.argmax(axis=1)).mean()
        )
        assert apart.first_changed == apart.nearest.share
        tops = [np.argsort(-c, axis=1)[:, :5] for c in (one, other)]
        kept = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(*tops, strict=True)])
        assert apart.top_n_changed == pytest.approx(1 - kept)
        assert apart.mean_abs == pytest.approx(np.abs(one - other).sum() / (60 * 59))
        assert apart.top_n == 5
    assert found.furthest.nearest.share == max(
        apart.nearest.share for apart in found.apart
    )


def test_ones_is_the_median_part_along_the_ones_vector_over_the_rest():
    found = evidence()
    folded = ROWS * GAIN
    part = np.abs(folded @ np.ones(6) / np.sqrt(6))
    rest = np.linalg.norm(folded - folded.mean(axis=1, keepdims=True), axis=1)
    assert found.ones == pytest.approx(np.median(part / rest))
    assert evidence(norm=FinalNorm("rms", GAIN)).ones is None


def test_a_row_along_the_ones_vector_has_no_cosine_once_that_part_is_removed():
    more, fewer = (
        evidence(FactorModel.from_softmax(rows))
        for rows in (np.vstack([ROWS, 3 / GAIN]), ROWS)
    )
    places = [("as stored", "folded, less ones"), ("as stored", "folded")]
    gaps = [
        {(a.first, a.second): a.mean_abs for a in each.apart} for each in (more, fewer)
    ]
    assert [gaps[0][at] == pytest.approx(gaps[1][at]) for at in places] == [True, False]


def test_the_share_of_changed_nearest_labels_has_an_interval_if_not_all_were_asked():
    some = evidence(labels=np.arange(52)).folded.nearest
    assert some.n_rows == 52
    assert some.ci_low < some.share < some.ci_high
    every = evidence().folded.nearest
    assert every.n_rows == 60
    assert every.ci_low == every.share == every.ci_high


def test_a_folded_head_without_the_bias_of_the_shift_is_not_verified():
    """Folding turns the shift β of the norm into the label bias W β."""
    found = evidence()
    assert found.verified
    states = DRAW.standard_normal((40, 6))
    stored, folded = (
        form.model(HEAD, LAYER, states) for form in conventions(HEAD, LAYER)[:2]
    )
    np.testing.assert_allclose(folded.right_bias, BIAS + ROWS @ SHIFT)
    wrong = ea.drift(stored, folded.replace(right_bias=BIAS), condition_number=6.0)
    assert not replace(found, drift=(*found.drift[:-1], wrong)).verified


def test_a_gain_of_zero_is_no_gauge_but_predictions_stay():
    gain = GAIN * [1, 1, 0, 1, 1, 1]
    found = evidence(norm=FinalNorm("layer", gain, SHIFT))
    assert found.verified
    assert found.norm.condition_number == np.inf
    assert found.to_dict()["condition_number"] is None
    assert all(np.isfinite(record.tolerance) for record in found.drift)


def test_folding_the_norm_of_a_language_model_changes_a_quarter_of_nearest_labels(
    stories,
):
    head, norm = stories
    assert norm.condition_number == pytest.approx(4.55, abs=0.005)
    found = evidence(head, norm, 10)
    assert found.folded.first_changed == pytest.approx(0.32, abs=0.005)
    assert found.folded.nearest.share == pytest.approx(127 / 512)
    assert (len(found.queries), found.n_copies) == (512, 0)
    assert found.folded.mean_abs == pytest.approx(0.0568, abs=0.0001)
    assert found.verified
    assert [record.n_rows for record in found.drift] == [1000, 1000]
    assert max(record.max_abs for record in found.drift) < 1e-12
    assert max(record.tolerance for record in found.drift) < 1e-9


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("k", [2, 3])
def test_narrow_heads_behind_a_layer_norm_raise_no_false_alarm(k, seed):
    """In two dimensions the two entries of a state are often nearly equal."""
    draw = np.random.default_rng([k, seed])
    head = FactorModel.from_softmax(draw.normal(size=(8, k)))
    norm = FinalNorm("layer", np.exp(0.3 * draw.normal(size=k)))
    found = ea.audit(head, final_norm=norm, quick=True, n_gauges=1, n_steps=1)
    assert "EMB001" not in {one.code for one in found.conclusions}


@pytest.mark.parametrize(
    ("state", "expected"),
    [([1.1, 1.1 + 2.0**-40], [-1, 1]), ([1e8 + 0.1, 1e8], [1, -1])],
)
def test_a_normalised_state_sums_to_zero_where_its_entries_nearly_agree(
    state, expected
):
    norm = FinalNorm("layer", np.ones(2))
    normalised = norm.normalised([state])[0]
    assert normalised.sum() == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(normalised, expected, rtol=1e-6)
