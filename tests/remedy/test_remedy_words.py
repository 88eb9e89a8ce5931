"""What is said of vectors to use instead, and what fewer dimensions cost."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.remedy import fix

LEFT, RIGHT = [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]]
MODEL = FactorModel.from_user_item(LEFT, RIGHT)


def test_the_record_of_prediction_vectors():
    found = fix(MODEL)
    assert repr(found) == "Remedy(prediction vectors of items, 2 dimensions)"
    told = found.to_dict()
    assert "whose plain cosine is the cosine of the items' scores over all 3 users" in told.pop("explanation")
    assert told == {"kind": "prediction", "roles": ["right"], "columns": 2, "unit": False, "reduction": None}
    frame = found.to_frame()
    assert list(frame) == ["id", "title", "vector"]
    np.testing.assert_array_equal(np.stack(frame["vector"]), found.vectors())
    assert "the cosine of the users' scores over all 3 items" in fix(MODEL, role="left").explain()


def test_unit_vectors():
    unit = fix(MODEL, unit=True)
    assert "Index them by dot product or cosine" in unit.explain()
    np.testing.assert_allclose(np.linalg.norm(unit.vectors(), axis=1), 1.0)
    with pytest.raises(InputError, match="role must be one of right; got 'left'; ask fix for it"):
        unit.stream("left")


@pytest.mark.parametrize(
    ("gauge", "said"),
    [
        ("balanced", "each direction is shared out equally"),
        ("left-whitened", "the users are whitened and the items' cosines are prediction cosines"),
        ("right-whitened", "the items are whitened and the users' cosines are prediction cosines"),
    ],
)
def test_canonical_vectors_in_words(gauge, said):
    found = fix(MODEL, gauge)
    assert f"in the {gauge} gauge: {said}" in found.explain()
    assert "The predictions stay the same" in found.explain()
    assert "The predictions change by what is dropped" in fix(MODEL, gauge, dimensions=1).explain()


def test_centred_vectors_in_words():
    head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    assert "label vectors of 2 dimensions, with a mean of 0" in fix(head, "centred").explain()
