"""Vectors rotated to their principal axes: all inner products stay the same."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError

DRAW = np.random.default_rng(0)
STRETCH = np.geomspace(1, 0.1, 6)
USERS = DRAW.normal(size=(40, 6))
ITEMS = DRAW.normal(size=(30, 6)) * STRETCH @ np.linalg.qr(DRAW.normal(size=(6, 6)))[0]


def test_a_rotation_of_both_sides_keeps_scores_cosines_and_lengths():
    model = ea.FactorModel.from_user_item(USERS, ITEMS, item_bias=DRAW.normal(size=30))
    turned = ea.fix(model, rotate="pca").to_model()
    np.testing.assert_allclose(turned.scores(), model.scores(), atol=1e-12)
    for role in ("left", "right"):
        np.testing.assert_allclose(
            turned.cosines(role), model.cosines(role), atol=1e-12
        )
        np.testing.assert_allclose(turned.side(role).norms, model.side(role).norms)


def test_the_columns_are_the_principal_axes_of_rows_of_length_one():
    turned = ea.fix(ea.FactorModel.from_vectors(ITEMS), rotate="pca").vectors()
    unit = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    moment = unit.T @ unit
    squares = np.diag(moment)
    assert (np.diff(squares) < 0).all()
    np.testing.assert_allclose(moment, np.diag(squares), atol=1e-12)


def test_the_first_columns_are_the_copy_in_principal_axes():
    turned = ea.fix(ea.FactorModel.from_vectors(ITEMS), rotate="pca").vectors()
    copies = ea.compare_copies(turned, ["first:3", "pca:3"]).copies
    assert copies[0].kept == copies[1].kept == copies[0].kept_in_principal_axes
    stored = ea.compare_copies(ITEMS, "pca:3").copies[0]
    assert stored.kept == copies[0].kept


def test_rows_of_zeros_stay_zero_and_words_say_what_stays():
    rows = ITEMS.copy()
    rows[4] = 0
    remedy = ea.fix(rows, rotate="pca", keep_empty=True)
    assert not remedy.vectors()[4].any()
    assert "turned to their principal axes" in remedy.explain()
    assert "Index them as the stored vectors are." in remedy.explain()


def test_rotated_vectors_can_have_length_one():
    turned = ea.fix(ea.FactorModel.from_vectors(ITEMS), rotate="pca", unit=True)
    np.testing.assert_allclose(np.linalg.norm(turned.vectors(), axis=1), 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rotate": "ica"}, "rotate must be one of pca"),
        ({"rotate": "pca", "dimensions": 2}, "dimensions must be omitted"),
        ({"rotate": "pca", "as_": "centred"}, "must be omitted if vectors are only"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        ea.fix(ITEMS, **options)
