"""Every word that is said of vectors to use instead."""

from __future__ import annotations

import numpy as np
import pytest
from records import open_records

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.remedy import fix

LEFT, RIGHT = [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]]
MODEL = FactorModel.from_user_item(LEFT, RIGHT)
SAME = "Every model that predicts the same gives the same. Index them by cosine."


def test_records_are_closed():
    assert open_records("remedy") == set()


def test_the_record_of_prediction_vectors():
    found = fix(MODEL)
    said = (
        "item vectors of 2 dimensions, whose plain cosine is the cosine of the items' scores over all 3 users. " + SAME
    )
    assert repr(found) == "Remedy(prediction vectors of items, 2 dimensions)"
    assert found.to_dict() == {
        "kind": "prediction",
        "roles": ["right"],
        "columns": 2,
        "unit": False,
        "reduction": None,
        "explanation": said,
    }
    assert found.to_frame().to_dict("records") == [{"role": "right", "title": "items", "n_rows": 3, "columns": 2}]


def test_the_cost_of_fewer_dimensions():
    found = fix(MODEL, dimensions=1)
    scores = np.array(LEFT) @ np.array(RIGHT).T
    s = np.linalg.svd(scores, compute_uv=False)
    told = found.to_dict()["reduction"]
    assert told["energy_lost"] == pytest.approx(s[1] ** 2 / (s @ s))
    assert told["largest_singular_value_lost"] == pytest.approx(s[1])
    assert (told["dimensions"], told["rank"]) == (1, 2)
    whole = scores / np.linalg.norm(scores, axis=0)
    cosines = (whole.T @ whole)[np.triu_indices(3, 1)]
    # One dimension leaves signs alone: here all of them 1.
    assert told["max_cosine_error"] == pytest.approx((1 - cosines).max())
    assert found.explain() == (
        "item vectors of 1 dimension, whose plain cosine comes near the cosine of the items' scores over all 3 users. "
        "Every model that predicts the same gives the same. Keeping 1 of 2 directions drops 9.34% of the scores' sum "
        "of squares. Over all 3 pairs, cosines move by "
        f"{told['mean_cosine_error']:.3f} on average and by at most 0.684. Index them by cosine."
    )


def test_the_other_side_and_unit_vectors():
    assert fix(MODEL, role="left").explain() == (
        "user vectors of 2 dimensions, whose plain cosine is the cosine of the users' scores over all 3 items. " + SAME
    )
    unit = fix(MODEL, unit=True)
    assert unit.explain().endswith("Index them by dot product or cosine, which are the same for them.")
    np.testing.assert_allclose(np.linalg.norm(unit.vectors(), axis=1), 1.0)
    with pytest.raises(InputError, match="role must be one of right; got 'left'; ask fix for it"):
        unit.stream("left")


GAUGES = {
    "balanced": "each direction is shared out equally between the two sides",
    "left-whitened": "the users are whitened and the items' cosines are prediction cosines",
    "right-whitened": "the items are whitened and the users' cosines are prediction cosines",
}


@pytest.mark.parametrize("gauge", GAUGES)
def test_canonical_vectors_in_words(gauge):
    found = fix(MODEL, gauge)
    assert found.explain() == (
        f"user and item vectors of 2 dimensions, in the {gauge} gauge: {GAUGES[gauge]}. The predictions stay the same "
        "and do not ask for this gauge, so name it where you report cosines, and use it for every model you compare."
    )
    assert repr(found) == f"Remedy({gauge} vectors of users and items, 2 dimensions)"
    np.testing.assert_allclose(found.to_model().scores(), MODEL.scores(), atol=1e-12)
    assert (
        "The predictions change by what is dropped, and do not ask for this gauge"
        in fix(MODEL, gauge, dimensions=1).explain()
    )


def test_centred_vectors_in_words():
    head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    assert fix(head, "centred").explain() == (
        "label vectors of 2 dimensions, with a mean of 0. What a shift of all rows can do to their cosines is gone; "
        "what stretching the directions can do is not. Index them by cosine."
    )
