"""Each word that users have for a training, on models with known answers."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.model.objectives import OBJECTIVES
from embaudit.model.trainings import TRAININGS

FEW = {"n_gauges": 1, "n_pairs": 200, "n_starts": 1, "n_steps": 2}
DRAW = np.random.default_rng(0)
USERS, ITEMS = (np.linalg.qr(DRAW.standard_normal((n, 4)))[0] for n in (60, 50))
AXES = np.array([4.0, 3.0, 2.0, 1.0])
COUNTS = DRAW.integers(1, 9, size=60), DRAW.integers(1, 9, size=50)
CONVENTION, OPEN = "BY CONVENTION", "UNKNOWN"
DECAYED = ("implicit-als", "lenskit-als")
COUNTED = ("spark-als", "als-wr", "surprise-svd", "funk-svd", "sgd-l2")
TEMPERATURES = ("two-tower-cosine", "clip", "siglip", "infonce")
COSINES = ("arcface", "cosface", "normalised-head")
TOGETHER = ("sentence-transformers", "e5", "gte", "bge")
PRODUCTS = ("dpr", "msmarco-dot")
CONTEXTS = ("word2vec", "fasttext", "node2vec", "glove")
ORDERS = ("bpr", "warp")
DISTANCES = ("transe", "metric-learning", "triplet-loss", "poincare")
SOFTMAX = ("two-tower-dot", "two-tower", "last-layer", "last-layer-l2", "adamw")
GIVEN = (
    "sklearn-logistic",
    "sgd-classifier",
    "sklearn-logistic-l1",
    "sklearn-logistic-no-penalty",
)
EVERY = (
    *DECAYED,
    *COUNTED,
    *COSINES,
    *TEMPERATURES,
    *TOGETHER,
    *PRODUCTS,
    *CONTEXTS,
    *ORDERS,
    *DISTANCES,
    *SOFTMAX,
    *GIVEN,
    "nmf",
)


pair = ea.FactorModel.from_user_item


def audited(model, word):
    return ea.audit(model, objective=word, **FEW)


def is_balanced(word):
    """Factors as the declared decay leaves them."""
    if word in DECAYED:
        return pair(USERS * AXES, ITEMS * AXES)
    users, items = (
        x / np.sqrt(n)[:, None]
        for x, n in zip((USERS * AXES, ITEMS * AXES), COUNTS, strict=True)
    )
    return pair(users, items, user_counts=COUNTS[0], item_counts=COUNTS[1])


def test_every_word_has_a_model_here_and_none_is_a_law():
    assert sorted(EVERY) == sorted(word for row in TRAININGS for word in row.words)
    assert {row.law for row in TRAININGS} - {""} <= set(OBJECTIVES)
    assert set(EVERY).isdisjoint(OBJECTIVES)


@pytest.mark.parametrize("word", [*DECAYED, *COUNTED])
def test_decay_is_a_convention_where_its_law_holds_and_said_where_not(word):
    model = is_balanced(word)
    holds = audited(model, word)
    assert (holds.answer.word, holds.model.link.name) == (CONVENTION, "identity")
    assert f"chose the cosines ({word}, as you declared)" in holds.answer.because
    stretch = np.array([1.0, 2, 4, 8])
    broken = audited(
        model.replace(left=model.left * stretch, right=model.right / stretch), word
    )
    assert "EMB104" in [one.code for one in broken.findings]
    reason = "these rows are not at a minimum of the declared penalty"
    assert f"{reason} ({word}, as you declared)" in broken.answer.because


@pytest.mark.parametrize("word", COSINES)
def test_cosines_of_two_sides_are_fixed_where_the_rows_span_enough(word):
    found = audited(pair(USERS, ITEMS), word)
    assert (found.model.link.name, found.answer.word) == ("cosine", "YES")
    # Two users do not see the third direction of the items.
    assert (
        audited(pair(np.eye(2, 3), DRAW.standard_normal((6, 3))), word).answer.word
        == "NO"
    )


@pytest.mark.parametrize("word", COSINES)
def test_one_side_of_two_towers_is_tested(word):
    found = audited(ea.FactorModel.from_vectors(ITEMS), word)
    assert found.answer.word == OPEN
    assert "the other side (`--left-file FILE`) would decide it" in found.answer.because
    assert "if the other side has full rank" in found.verdict
    few = audited(ea.FactorModel.from_vectors(np.eye(3)), word)
    assert (few.model.link.name, few.model.compared, few.answer.word) == (
        "cosine",
        None,
        OPEN,
    )


@pytest.mark.parametrize("word", DISTANCES)
def test_distances_never_say_yes_for_cosines(word):
    found = audited(ea.FactorModel.from_vectors(ITEMS / 2), word)
    hyperbolic = word == "poincare"
    assert found.model.compared == ("hyperbolic" if hyperbolic else "distance")
    assert found.answer.word == "NO"
    assert found.answer.because.startswith(
        f"training compared these rows with each other ({word}, as you declared)"
    )
    measure = "hyperbolic" if hyperbolic else "Euclidean"
    assert f"Rank by {measure} distance" in found.findings[0].remedy
    with pytest.raises(InputError, match="for a model of two sides"):
        audited(pair(USERS, ITEMS), word)


@pytest.mark.parametrize("word", [*TEMPERATURES, *TOGETHER])
def test_cosines_over_a_temperature_fix_an_order_between_the_sides_alone(word):
    found = audited(pair(USERS, ITEMS), word)
    assert (found.model.link.name, found.answer.word) == ("cosine", CONVENTION)
    assert f"divided by a temperature ({word}, as you declared)" in found.answer.because
    assert "the order of the items for each user" in found.answer.because
    few = audited(pair(np.eye(2, 3), DRAW.standard_normal((6, 3))), word)
    assert few.answer.word == CONVENTION


@pytest.mark.parametrize("word", TEMPERATURES)
def test_one_of_two_towers_with_a_temperature_is_a_convention(word):
    for rows in (ITEMS, np.eye(3)):
        found = audited(ea.FactorModel.from_vectors(rows), word)
        assert (found.model.link.name, found.model.compared) == ("cosine", None)
        assert found.answer.word == CONVENTION


@pytest.mark.parametrize("word", PRODUCTS)
def test_products_behind_a_softmax_do_not_say_yes(word):
    found = audited(ea.FactorModel.from_vectors(ITEMS), word)
    assert (found.model.compared, found.answer.word) == ("dot", OPEN)
    assert "do not show a constant that is added to every product" in found.verdict


@pytest.mark.parametrize("word", TOGETHER)
def test_rows_compared_with_each_other_say_yes(word):
    found = audited(ea.FactorModel.from_vectors(ITEMS), word)
    assert found.model.compared == "cosine"
    assert found.answer.because.startswith(
        "who is nearest is fixed, because training compared these rows with each other "
        f"({word}, as you declared)"
    )
    assert found.answer.word == "YES"


@pytest.mark.parametrize("word", [*PRODUCTS, *CONTEXTS, "adamw"])
def test_products_of_two_tables_leave_cosines_open(word):
    found = audited(pair(USERS * AXES**2, ITEMS), word)
    assert (found.model.link.name, found.answer.word) == ("identity", "NO")


@pytest.mark.parametrize("word", [*CONTEXTS, *ORDERS])
def test_of_one_table_of_two_it_cannot_be_said(word):
    found = audited(ea.FactorModel.from_vectors(ITEMS * AXES), word)
    assert found.answer.word == OPEN
    assert "multiplied these rows with a second set" in found.answer.because
    assert f"({word}, as you declared)" in found.answer.because


@pytest.mark.parametrize("word", ORDERS)
def test_orders_of_items_leave_a_shift_of_all_items_free(word):
    found = audited(pair(USERS * AXES**2, ITEMS), word)
    assert (found.model.link.name, found.answer.word) == ("ranking", "NO")
    assert found.model.free_shifts == ("right",)


@pytest.mark.parametrize("word", SOFTMAX)
def test_networks_have_no_law_of_decay(word):
    head = ea.FactorModel.from_softmax(ITEMS * AXES - (ITEMS * AXES).mean(axis=0))
    found = audited(head, word)
    assert (found.model.link.name, found.model.free_shifts) == ("softmax", ("right",))
    assert found.answer.word == (
        "NO" if OBJECTIVES.get("softmax") is found_law(word) else CONVENTION
    )
    assert "EMB103" not in [one.code for one in found.findings], (
        "no penalty is known to have chosen"
    )


def found_law(word):
    (row,) = (row for row in TRAININGS if word in row.words)
    return row.objective()


@pytest.mark.parametrize("word", GIVEN)
def test_classifiers_of_given_inputs_follow_the_scaling_of_these(word):
    head = ea.FactorModel.from_softmax(ITEMS * AXES - (ITEMS * AXES).mean(axis=0))
    found = audited(head, word)
    assert found.answer.word == CONVENTION
    because = found.answer.because
    assert because.startswith("the fit has one solution")
    changes = "rescaling the features changes these cosines"
    assert f"{changes} ({word}, as you declared)" in because


def test_factors_without_negative_numbers_leave_scales_open():
    found = audited(pair(np.abs(USERS) * AXES**2, np.abs(ITEMS)), "nmf")
    assert found.answer.word == "NO"
    with pytest.raises(
        InputError, match="without negative numbers; got a user row with -"
    ):
        audited(pair(USERS, ITEMS), "nmf")


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (
            {"objective": "clip", "link": "identity"},
            "link must be cosine for the objective clip",
        ),
        (
            {"objective": "bpr", "link": "identity"},
            "link must be ranking for the objective bpr",
        ),
        (
            {"objective": "sentence-transformers", "compared": "dot"},
            "compared must be cosine for the objective sent",
        ),
        (
            {"objective": "dpr", "compared": "cosine"},
            "compared must be dot for the objective dpr",
        ),
        (
            {"objective": "clip", "compared": "cosine"},
            "compared must be omitted for the objective clip",
        ),
        (
            {"objective": "factors", "compared": "dot"},
            "objective must be omitted if rows are compared by dot product",
        ),
    ],
)
def test_contradictions_are_refused_in_one_sentence(declared, sentence, tmp_path):
    np.save(tmp_path / "v.npy", ITEMS)
    with pytest.raises(InputError, match=sentence):
        ea.load(tmp_path / "v.npy", **declared)
    if "compared" in declared:
        with pytest.raises(InputError, match=sentence):
            ea.audit(ea.FactorModel.from_vectors(ITEMS), **declared)
    else:
        with pytest.raises(InputError, match=sentence):
            ea.FactorModel.from_user_item(USERS, ITEMS, **declared)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("clib", "'clip' (cosine of left with right, over a temperature)"),
        ("sentence_transformer", "'sentence-transformers' (cosine"),
        ("Spark-ALS", "'spark-als' (user · item)"),
        ("implicit", "'implicit-als' (user"),
        ("xyzzy", "run this command for all names"),
    ],
)
def test_a_wrong_word_gets_the_nearest(word, near):
    with pytest.raises(InputError) as refused:
        ea.audit(pair(USERS, ITEMS), objective=word)
    assert near in str(refused.value)


def test_a_file_is_named_as_the_source_unless_the_caller_says_it(tmp_path):
    path = tmp_path / "m.npz"
    ea.save(is_balanced("implicit-als").replace(objective="implicit-als"), path)
    assert (
        "(implicit-als, as objective in m.npz says)"
        in ea.audit(path, **FEW).answer.because
    )
    declared = ea.audit(path, objective="factors", **FEW).answer.because
    assert (
        "(factors, as you declared; objective in m.npz says implicit-als)" in declared
    )
    said = ea.io.read(path, objective="lenskit-als")
    assert "(lenskit-als, as you declared)" in ea.audit(said, **FEW).answer.because
    assert ea.load(path).objective == "implicit-als"
