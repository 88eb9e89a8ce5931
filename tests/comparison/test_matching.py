"""Which rows are one entity, and what predictions see of them: exact numbers and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.matching import match
from embaudit.comparison.seen import pairing
from embaudit.errors import InputError
from embaudit.model import FactorModel


def vectors(n=9, k=3, seed=0, **fields):
    return FactorModel.from_vectors(np.random.default_rng(seed).standard_normal((n, k)), **fields)


def test_rows_without_ids_are_matched_in_order():
    found = match(vectors(), vectors(), "right")
    assert found.before.tolist() == found.after.tolist() == list(range(9))
    assert (found.only_before, found.only_after, found.by_ids, len(found)) == (0, 0, False, 9)
    assert found.names.tolist() == vectors().names("right").tolist()


def test_rows_with_ids_are_matched_by_them_and_those_of_one_model_are_counted():
    one, two = vectors(ids=list("abcdefghi")), vectors(11, ids=list("kjihgfedcbz"))
    found = match(one, two, "right")
    assert found.before.tolist() == list(range(1, 9))
    assert found.after.tolist() == list(range(9, 1, -1))
    assert found.names.tolist() == list("bcdefghi")
    assert (found.role, found.only_before, found.only_after, found.by_ids) == ("right", 1, 3, True)
    some = found.take(np.array([2, 0]))
    assert (some.before.tolist(), some.after.tolist(), some.names.tolist()) == ([3, 1], [7, 9], ["d", "b"])
    assert (some.role, some.only_before, some.only_after, some.by_ids) == ("right", 1, 3, True)


def test_an_id_beyond_all_of_the_other_model_is_of_one_model_only():
    found = match(vectors(9, ids=list("abcdefghi")), vectors(8, ids=list("abcdefgh")), "right")
    assert (found.before.tolist(), found.after.tolist(), found.only_before) == ([*range(8)], [*range(8)], 1)


def test_numbers_meet_texts_whichever_model_holds_them():
    numbers, texts = np.arange(9), [str(i) for i in range(8, -1, -1)]
    for one, two in ((numbers, texts), (texts, numbers)):
        assert match(vectors(ids=one), vectors(ids=two), "right").after.tolist() == list(range(8, -1, -1))


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (
            vectors(ids=list("abcdefghi")),
            vectors(),
            "item ids must be in both models or in neither; the second has none; ",
        ),
        (
            vectors(),
            vectors(ids=list("abcdefghi")),
            "item ids must be in both models or in neither; the first has none; ",
        ),
        (
            vectors(9),
            vectors(10),
            "items without ids must be as many in both models; got 9 and 10; add ids, to match them",
        ),
        (
            vectors(ids=list("abcdefghi")),
            vectors(ids=list("cdefghijk")),
            "the items that both models hold must be at least 8; got 7; compare the same data, under the same ids: the "
            "first model's start with 'a', the second's with 'c'",
        ),
        (vectors(7), vectors(7), r"must be at least 8; got 7; compare the same data\.$"),
    ],
)
def test_what_cannot_be_matched_is_refused(one, two, message):
    with pytest.raises(InputError, match=message):
        match(one, two, "right")


def test_eight_shared_entities_are_enough():
    assert len(match(vectors(8), vectors(8), "right")) == 8
    found = compare(vectors(8), vectors(8)).changes["right"]
    assert found.n_neighbours == 3


def test_eight_rows_with_a_direction_in_both_models_are_enough():
    one, two = vectors(10).right.copy(), vectors(10).right.copy()
    one[0], two[1] = 0, 0
    models = [FactorModel.from_vectors(rows) for rows in (one, two)]
    assert len(compare(*models).changes["right"].match) == 10
    two[2] = 0
    with pytest.raises(
        InputError, match=r"the shared items that are not zero in both models must be at least 8; got 7; a "
    ):
        compare(FactorModel.from_vectors(one), FactorModel.from_vectors(two))


def paired(before, after):
    return pairing(before, after, {role: match(before, after, role) for role in before.sides})


def test_the_groups_that_may_explain_are_those_that_keep_predictions():
    plain = random_model(n=20, p=15, k=3)
    biased = plain.replace(left_bias=np.zeros(20))
    assert paired(plain, plain).groups == ("rotation", "diagonal", "linear")
    both = paired(biased, biased)
    assert (both.groups, both.shifts) == (("rotation", "diagonal", "linear", "affine"), ("right",))
    assert paired(biased, plain).groups == paired(plain, biased).groups == ("rotation", "diagonal", "linear")
    other = plain.replace(right_bias=np.zeros(15))
    assert paired(biased, other).shifts == ()
    cosine = plain.replace(link="cosine")
    assert (
        paired(cosine, cosine).groups == paired(plain, cosine).groups == paired(cosine, plain).groups == ("rotation",)
    )


def test_the_gauge_goes_from_the_lower_rank_to_the_higher():
    one = random_model(n=20, p=15, k=3)
    wide = random_model(1, n=20, p=15, k=4)
    assert paired(one, wide).forward
    assert not paired(wide, one).forward
    assert paired(one, one).forward
    back = paired(wide, one)
    for role in ("left", "right"):
        assert [x.shape[1] for x in back.fitted[role]] == [3, 4]
        assert [x.shape[1] for x in back.seen[role]] == [4, 3]
        np.testing.assert_array_equal(back.raw[role][0], wide.factors(role))
    assert back.groups == ("rotation", "linear")


def test_columns_that_no_prediction_sees_are_left_out_as_they_stand():
    one = random_model(n=20, p=15, k=3)
    wide = one.replace(left=np.column_stack([one.left, np.zeros(20)]), right=np.column_stack([one.right, np.ones(15)]))
    found = paired(one, wide)
    np.testing.assert_array_equal(found.seen["right"][1], one.right)
    assert found.seen["right"][0] is found.raw["right"][0]
    assert "diagonal" in found.groups
