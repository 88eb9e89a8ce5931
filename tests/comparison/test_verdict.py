"""May the second model replace the first? Models for and against every word.

SAME must be proven: a gauge carries all rows of one model to the other, within the
rounding of their storage.
"""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.gauges import Gauge, GeneralLinear

DRAW = np.random.default_rng(0)
N_USERS, N_ITEMS, RANK = 200, 120, 8
USERS = DRAW.standard_normal((N_USERS, RANK))
ITEMS = DRAW.standard_normal((N_ITEMS, RANK))
NOISE = DRAW.standard_normal((N_ITEMS, RANK))
USER_BIAS, ITEM_BIAS = DRAW.standard_normal(N_USERS), DRAW.standard_normal(N_ITEMS)
ROTATION = np.linalg.qr(DRAW.standard_normal((RANK, RANK)))[0]
LINEAR = GeneralLinear(RANK, max_condition=5.0).sample(rng=1)
SHIFT = Gauge.translation(
    RANK, left=DRAW.standard_normal(RANK), right=DRAW.standard_normal(RANK)
)


def model(users=USERS, items=ITEMS, **fields):
    ids = {"user_ids": np.arange(len(users)), "item_ids": np.arange(len(items))}
    return ea.FactorModel.from_user_item(users, items, **ids, **fields)


def biased(**fields):
    return model(user_bias=USER_BIAS, item_bias=ITEM_BIAS, **fields)


def vectors(items=ITEMS, **fields):
    return ea.FactorModel.from_vectors(items, ids=np.arange(len(items)), **fields)


def as_bfloat16(rows):
    """Round to 8 binary digits."""
    significand, exponent = np.frexp(rows)
    return np.ldexp(np.round(significand * 256) / 256, exponent).astype(np.float32)


def stored_as(kind, *, noise=0.0, rotation=None):
    users, items = USERS, ITEMS + noise * NOISE
    if rotation is not None:
        users, items = users @ rotation, items @ rotation
    return model(users.astype(kind), items.astype(kind))


def with_one_row_moved(rows):
    moved = rows.copy()
    moved[7, 0] += 0.5
    return moved


def padded(column):
    """Add a dimension that no user has, so that no score sees it."""
    return model(
        np.column_stack([USERS, np.zeros(N_USERS)]), np.column_stack([ITEMS, column])
    )


MULTIPLES_OF_HALF = np.round(4 * ITEMS) / 2
EQUIVALENT = {
    "the same file": (model(), model(), "identity"),
    "a rotation": (model(), model(USERS @ ROTATION, ITEMS @ ROTATION), "rotation"),
    "a scale undone on the other side": (
        model(),
        model(USERS / 2, 2 * ITEMS),
        "rotation",
    ),
    "one scale for each dimension": (
        model(),
        Gauge.diagonal(np.geomspace(1, 9, RANK)).act(model()),
        "diagonal",
    ),
    "a linear map": (model(), LINEAR.act(model()), "linear"),
    "a shift that biases absorb": (biased(), (SHIFT @ LINEAR).act(biased()), "affine"),
    "biases moved from items to users": (
        biased(),
        model(user_bias=USER_BIAS - 1, item_bias=ITEM_BIAS + 1),
        "identity",
    ),
    "a softmax with all logits raised": (
        model(item_bias=ITEM_BIAS, link="softmax"),
        model(item_bias=ITEM_BIAS + 1, link="softmax"),
        "identity",
    ),
    "float32 to float16": (stored_as(np.float32), stored_as(np.float16), "identity"),
    "float32 to bfloat16": (
        stored_as(np.float32),
        model(as_bfloat16(USERS), as_bfloat16(ITEMS)),
        "identity",
    ),
    "a rotation, both rounded to float16": (
        stored_as(np.float16),
        stored_as(np.float16, rotation=ROTATION),
        "rotation",
    ),
    "vectors turned and scaled": (vectors(), vectors(3 * ITEMS @ ROTATION), "rotation"),
    "vectors compared by cosine, of other lengths": (
        vectors(compared="cosine"),
        vectors(ITEMS * USER_BIAS[:N_ITEMS, None] ** 2, compared="cosine"),
        "identity",
    ),
    "vectors compared by distance, turned and moved": (
        vectors(compared="distance"),
        vectors(ITEMS @ ROTATION + 1, compared="distance"),
        "affine",
    ),
    "another dimension that no score sees": (
        padded(ITEM_BIAS),
        padded(ITEM_BIAS[::-1]),
        "identity",
    ),
}
"""By name: two models, and the smallest group of gauges that lies between them."""
FLOAT16_USERS, FLOAT16_ITEMS = USERS.astype(np.float16), ITEMS.astype(np.float16)


def float16(user_bias=USER_BIAS, item_bias=ITEM_BIAS, items=FLOAT16_ITEMS, offset=0.0):
    """Model whose factors are rounded to float16, and whose biases are not."""
    return model(
        FLOAT16_USERS,
        items,
        user_bias=user_bias,
        item_bias=item_bias,
        offset=offset,
    )


def with_one_number_moved(rows):
    """Move the smallest number of a row by less than rounding moves the whole row."""
    moved = rows.astype(np.float64)
    column = np.abs(moved[3]).argmin()
    moved[3, column] += 0.0004 * np.linalg.norm(moved[3])
    return moved.astype(np.float16)


def table(bias, **fields):
    ids = np.arange(N_ITEMS)
    return ea.FactorModel.from_arrays(
        None, ITEMS, right_bias=bias, right_ids=ids, **fields
    )


NOT_EQUIVALENT = {
    "an item bias, next to factors that are rounded to float16": (
        float16(),
        float16(item_bias=ITEM_BIAS + 0.01 * (np.arange(N_ITEMS) == 3)),
    ),
    "an offset, next to factors that are rounded to float16": (
        float16(offset=3.5),
        float16(offset=3.505),
    ),
    "all biases of one side of a model without link": (
        table(ITEM_BIAS),
        table(ITEM_BIAS + 1),
    ),
    "one number of a float16 row": (
        float16(),
        float16(items=with_one_number_moved(FLOAT16_ITEMS)),
    ),
    "noise below what cosines show": (model(), model(items=ITEMS + 1e-7 * NOISE)),
    "noise in float32": (stored_as(np.float32), stored_as(np.float32, noise=1e-5)),
    "noise in float16": (stored_as(np.float16), stored_as(np.float16, noise=3e-3)),
    "one row moved": (model(), model(items=with_one_row_moved(ITEMS))),
    "one side scaled": (model(), model(items=2 * ITEMS)),
    "one side turned": (model(), model(items=ITEMS @ ROTATION)),
    "one bias": (
        biased(),
        model(user_bias=USER_BIAS, item_bias=ITEM_BIAS + (NOISE[:, 0] > 2)),
    ),
    "an offset": (model(), model().replace(offset=0.1)),
    "a shift that nothing absorbs": (model(), model(items=ITEMS + 2)),
    "another link": (model(), model(link="softmax")),
    "fewer items": (model(), model().take(right=np.arange(100))),
    "two items swapped": (model(), model(items=ITEMS[np.r_[1, 0, 2:N_ITEMS]])),
    "a linear map of vectors without their other side": (
        vectors(),
        vectors(LINEAR.act(vectors()).right),
    ),
    "vectors compared by dot product, scaled": (
        vectors(compared="dot"),
        vectors(3 * ITEMS, compared="dot"),
    ),
    "vectors compared by distance, scaled": (
        vectors(compared="distance"),
        vectors(2 * ITEMS, compared="distance"),
    ),
    "noise on half numbers, which have few digits": (
        vectors(MULTIPLES_OF_HALF),
        vectors((MULTIPLES_OF_HALF + 1e-3 * NOISE).astype(np.float32)),
    ),
    "a stretch under which float16 hides everything": (
        stored_as(np.float16),
        model(
            (USERS * np.geomspace(1, 1e3, RANK)).astype(np.float16),
            ((ITEMS + NOISE / 10) / np.geomspace(1, 1e3, RANK)).astype(np.float16),
        ),
    ),
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_models_that_differ_by_a_change_of_axes_or_rounding_are_the_same(name):
    one, two, group = EQUIVALENT[name]
    for first, second in ((one, two), (two, one)):
        found = ea.compare(first, second)
        assert (found.verdict.word, found.same_up_to) == ("SAME", group)
        assert found.statements[0].startswith("SAME: ")
        assert found.to_dict()["verdict"] == "SAME"
        assert "predictions do not" not in found.explain()
        assert "Give a limit" not in found.explain()


@pytest.mark.parametrize("column", [0, 3])
def test_a_row_that_moves_in_an_unseen_dimension_is_not_called_identical(column):
    """Predictions are the same; the cosines of one item are not."""
    outlier = np.zeros(N_ITEMS)
    outlier[column] = 5
    found = ea.compare(padded(np.zeros(N_ITEMS)), padded(outlier))
    assert found.verdict.word == "SAME"
    assert "rounding of the files" not in found.explain()
    assert "Nothing to do" not in found.explain()
    assert "in dimensions that no prediction sees, where cosines" in found.explain()


def test_a_column_of_zeros_that_moves_is_a_change_of_axes():
    user_zeros, item_zeros = np.zeros((N_USERS, 1)), np.zeros((N_ITEMS, 1))
    first = model(np.hstack([user_zeros, USERS]), np.hstack([item_zeros, ITEMS]))
    last = model(np.hstack([USERS, user_zeros]), np.hstack([ITEMS, item_zeros]))
    assert ea.compare(first, last).same_up_to == "rotation"


def test_a_model_with_a_column_of_zeros_is_identical_to_itself():
    padded_model = model(
        np.hstack([np.zeros((N_USERS, 1)), USERS]),
        np.hstack([np.zeros((N_ITEMS, 1)), ITEMS]),
    )
    assert ea.compare(padded_model, padded_model).same_up_to == "identity"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_of_more_columns_than_rows_are_compared_as_they_are_stored(kind):
    draw = np.random.default_rng(8)
    rows = draw.standard_normal((40, 1_100)).astype(kind)
    rotation = np.linalg.qr(draw.standard_normal((1_100, 1_100)))[0]
    one, two = vectors(rows), vectors((rows @ rotation).astype(kind))
    assert ea.compare(one, one).same_up_to == "identity"
    assert ea.compare(one, two).same_up_to == "rotation"


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (vectors(3 * ITEMS), "only by one scale for all dimensions (items are 3 times"),
        (
            vectors(3 * ITEMS @ ROTATION),
            "a rotation of the axes and one scale for all dimensions "
            "(items are 3 times",
        ),
        (vectors(ITEMS @ ROTATION), "differ only by a rotation of the axes; no cosine"),
    ],
)
def test_a_change_of_scale_is_named(second, part):
    assert part in ea.compare(vectors(), second).verdict.reason
    back = ea.compare(second, vectors()).verdict.reason
    assert ("0.333 times as long" in back) == ("3 times" in part)


def test_lengths_that_the_link_divides_by_are_named():
    lengths = np.exp(USER_BIAS)[:, None]
    first, second = model(link="cosine"), model(USERS * lengths, link="cosine")
    found = ea.compare(first, second)
    assert found.same_up_to == "identity"
    assert "by lengths of rows, which no prediction depends on" in found.explain()
    assert ea.compare(first, first).verdict.reason.endswith("rounding of the files.")


def test_unseen_dimensions_that_turn_with_all_others_keep_their_cosines():
    """Nine users see nine of twenty dimensions."""
    draw = np.random.default_rng(9)
    users, items = draw.standard_normal((9, 20)), draw.standard_normal((120, 20))
    rotation = np.linalg.qr(draw.standard_normal((20, 20)))[0]
    found = ea.compare(model(users, items), model(users @ rotation, items @ rotation))
    assert "no prediction and no cosine within a side changes" in found.explain()
    unseen = np.eye(20) - np.linalg.pinv(users) @ users
    moved = items + draw.standard_normal((120, 20)) @ unseen
    found = ea.compare(model(users, items), model(users, moved))
    assert found.same_up_to == "identity"
    assert "no cosine within a side" not in found.explain()
    assert "rounding of the files" not in found.explain()


def test_a_collapsed_model_keeps_no_more_lists_than_chance():
    """All rows of one direction tie, so every row could be listed."""
    collapsed = model(items=np.ones_like(ITEMS))
    shares = ea.compare(model(), collapsed).shares_kept()
    chance = 10 / (N_ITEMS - 1)
    assert shares["kept"] == pytest.approx(chance)
    assert shares["predicted"] < 2 * chance
    assert shares["top"] == pytest.approx(10 / N_ITEMS)
    found = ea.compare(model(), collapsed, fail_below={"kept": 0.5, "top": 0.5})
    assert found.verdict.word == "DIFFERENT"
    same = ea.compare(collapsed, collapsed).shares_kept()
    assert min(same["kept"], same["top"]) == 1


def test_a_reference_that_has_nothing_in_common_with_the_model_is_refused():
    other = UNRELATED["both sides drawn anew"][1]
    with pytest.raises(ea.InputError, match="must be a second training run of the fir"):
        ea.compare(model(), model(), reference=other)


COLLAPSED_ROWS = np.ones((N_ITEMS, RANK)) + 1e-3 * NOISE


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (model(items=-ITEMS), "its scores correlate by -1.00"),
        (model(items=COLLAPSED_ROWS), "its scores correlate by "),
        (model(items=ITEMS[::-1]), "120 of its items have the vector of another item"),
    ],
    ids=["opposite", "collapsed", "reversed"],
)
def test_a_reference_that_is_no_second_run_is_refused(reference, reason):
    """The limits of such a reference would be 0, so a collapsed model would pass."""
    with pytest.raises(ea.InputError) as error:
        ea.compare(model(), model(items=COLLAPSED_ROWS), reference=reference)
    assert reason in str(error.value)
    assert "fail_below" in str(error.value)


def test_collapsed_vectors_are_no_reference_of_vectors():
    on_one_axis = ITEMS * np.array([1e4] + [1.0] * (RANK - 1))
    with pytest.raises(ea.InputError, match="hardly more than chance"):
        ea.compare(
            vectors(), vectors(ITEMS + 0.1 * NOISE), reference=vectors(on_one_axis)
        )


def test_the_second_model_is_no_reference_of_itself():
    """Its own shares less an allowance are limits that it always reaches."""
    changed = model(items=ITEMS + 0.8 * NOISE)
    with pytest.raises(ea.InputError, match="exactly the rows of the second model"):
        ea.compare(model(), changed, reference=model(items=ITEMS + 0.8 * NOISE))
    # Training without chance gives one model for all seeds, so a copy is accepted.
    assert ea.compare(model(), model(), reference=model()).verdict.word == "SAME"
    # Runs can have one side in common, such as a frozen encoder.
    users = model(users=1.01 * USERS, items=ITEMS + 0.8 * NOISE)
    assert ea.compare(model(), changed, reference=users).reference is not None


def test_a_threshold_is_not_carried_over_to_another_space():
    assert (
        "threshold from"
        not in ea.compare(*UNRELATED["both sides drawn anew"]).explain()
    )


def test_weights_of_rows_in_the_shares_are_named():
    changed = model(items=ITEMS + 0.1 * NOISE)
    found = ea.compare(model(), changed, fail_below={"kept": 0.1}).verdict.reason
    assert found.endswith("items count by their slots in the users' lists of ten.")
    found = ea.compare(model(), changed, fail_below={"top": 0.1}).verdict.reason
    assert "count by" not in found


@pytest.mark.parametrize("name", NOT_EQUIVALENT)
def test_models_that_differ_by_more_are_never_called_the_same(name):
    one, two = NOT_EQUIVALENT[name]
    for first, second in ((one, two), (two, one)):
        found = ea.compare(first, second)
        assert found.same_up_to is None
        assert found.verdict.word == ""
        assert "Nothing to do" not in found.explain()
        assert "are equal up to" not in found.explain()


def test_a_row_beyond_the_sample_that_gauges_are_fitted_to_is_checked_too():
    """50,000 rows are compared; the proof looks at all 50,100."""
    rows = np.random.default_rng(1).standard_normal((50_100, 2))
    turned = rows @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert ea.compare(vectors(rows), vectors(turned)).verdict.word == "SAME"
    for row in (0, 40_000):
        moved = turned.copy()
        moved[row : row + 150] *= [1.001, 1.0]
        assert ea.compare(vectors(rows), vectors(moved)).same_up_to is None


def test_without_a_limit_or_a_second_seed_a_changed_model_is_not_judged():
    found = ea.compare(model(), model(items=ITEMS + 0.1 * NOISE))
    assert found.verdict.word == ""
    sentence = (
        "Give a limit (`--fail-below`) or a second seed (`--reference`) to judge this."
    )
    assert sentence in found.statements
    assert found.to_dict()["verdict"] is None


def test_a_limit_makes_a_changed_model_close_or_different():
    changed = model(items=ITEMS + 0.1 * NOISE)
    kept = ea.compare(model(), changed).shares_kept()["kept"]
    close = ea.compare(model(), changed, fail_below={"kept": kept - 0.01})
    different = ea.compare(model(), changed, fail_below={"kept": kept + 0.01})
    assert close.statements[0].startswith("CLOSE: every limit is reached: kept ")
    assert different.statements[0].startswith("DIFFERENT: kept ")
    assert different.to_dict()["limits"] == {"kept": kept + 0.01}


def test_a_limit_on_lists_counts_for_models_that_differ_by_a_change_of_axes():
    stretched = Gauge.diagonal(np.geomspace(1, 9, RANK)).act(model())
    assert (
        ea.compare(model(), stretched, fail_below={"top": 0.9}).verdict.word == "SAME"
    )
    found = ea.compare(model(), stretched, fail_below={"kept": 0.9})
    assert found.verdict.word == "DIFFERENT"


@pytest.mark.parametrize(
    ("noise", "word"), [(0.05, "CLOSE"), (0.1, "CLOSE"), (0.5, "DIFFERENT")]
)
def test_a_second_seed_is_the_measure(noise, word):
    """The second seed moves items by 0.1 of their size."""
    other = np.random.default_rng(2).standard_normal(ITEMS.shape)
    seed = model(items=ITEMS + 0.1 * other)
    found = ea.compare(model(), model(items=ITEMS + noise * NOISE), reference=seed)
    assert found.verdict.word == word
    assert found.to_dict()["reference"]["kept"] == found.reference["kept"] < 1
    assert ("(second seed: " in found.explain()) == (word == "DIFFERENT")


def test_a_limit_of_the_caller_replaces_that_of_the_second_seed():
    seed = model(items=ITEMS + 0.1 * NOISE[::-1])
    changed = model(items=ITEMS + 0.5 * NOISE)
    limits = dict.fromkeys(("kept", "predicted", "top", "scores", "rows"), 0.0)
    found = ea.compare(model(), changed, reference=seed, fail_below=limits)
    assert found.verdict.word == "CLOSE"


def test_limits_of_a_second_seed_are_its_shares_less_an_allowance():
    """As much as the seed lost and 0.01, but at most 0.05; rows are not judged.

    A model is its own second seed here, which loses nothing.
    """
    found = ea.compare(model(), model(items=ITEMS + 0.1 * NOISE), reference=model())
    assert found.reference["shared"] == 1
    assert found.limits == dict.fromkeys(
        ("kept", "predicted", "top", "scores", "rows"), 0.99
    )


UNRELATED = {
    "both sides drawn anew": (
        model(),
        model(
            np.random.default_rng(3).standard_normal(USERS.shape),
            np.random.default_rng(4).standard_normal(ITEMS.shape),
        ),
    ),
    "vectors of another width": (
        vectors(np.random.default_rng(5).standard_normal((600, 16))),
        vectors(np.random.default_rng(6).standard_normal((600, 12))),
    ),
}


@pytest.mark.parametrize("name", UNRELATED)
@pytest.mark.parametrize("limits", [None, {"kept": 0.0}, {"kept": 0.9}])
def test_models_that_have_nothing_in_common_are_of_other_spaces(name, limits):
    found = ea.compare(*UNRELATED[name], fail_below=limits)
    assert found.verdict.word == "OTHER SPACE"
    assert (
        "A cosine between a row of one and a row of the other means nothing."
        in (found.statements[0])
    )


RELATED = {
    "new items, but the same users": (
        model(),
        model(items=np.random.default_rng(4).standard_normal(ITEMS.shape)),
    ),
    "strong noise": (vectors(), vectors(ITEMS + NOISE)),
    "vectors under wrong ids": (vectors(), vectors(np.roll(ITEMS, 5, axis=0))),
    "a strong linear map": (
        model(),
        GeneralLinear(RANK, max_condition=1e3).sample(rng=0).act(model()),
    ),
    "too few rows to find a change of axes": (
        vectors(np.random.default_rng(7).standard_normal((60, 100))),
        vectors(np.random.default_rng(8).standard_normal((60, 100))),
    ),
}


@pytest.mark.parametrize("name", RELATED)
def test_related_models_are_not_of_other_spaces(name):
    assert ea.compare(*RELATED[name]).verdict.word != "OTHER SPACE"
