"""Everything that is said of a position and of a pin, word for word."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import normalisation_test, pinned_test, reduced
from embaudit.canonical.form import canonical_form
from embaudit.canonical.pinning import Moved, Pinning
from embaudit.model import FactorModel, Softmax

EYE = np.eye(3)
SPREAD = np.diag([9.0, 4.0, 1.0])
TWO = [[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 2.0]]
WHITE = (
    "Your cosines sit at exponent 1.00: the items are whitened. Every latent direction counts the same in their "
    "cosines, however little it matters to a score. With as many directions as items, all these cosines would be 0. "
)
SCIKIT = "TruncatedSVD of scikit-learn and BiasedSVD of LensKit write factors of this shape (UΣ, V). "
COLUMNS = "The columns are singular directions with scales of their own, as a product penalty leaves them. "
SHARED = "How the directions are shared out was settled by training or storage, not by what is predicted. "
NEXT = (
    "Next: `embaudit fix MODEL --as prediction` writes vectors whose plain cosine is fixed by the predictions, and "
    "which a vector index can use directly."
)

PLACES = {
    "right": (SPREAD, EYE, {}, WHITE + SCIKIT + NEXT, "exponent 1.00, ln κ 0 off, effective rank 3 of 3, UΣ, V"),
    "left": (
        EYE,
        SPREAD,
        {},
        "Your cosines sit at exponent 0.00: the users are whitened, so the items' cosines are prediction cosines. "
        "Those compare items by their scores for all users. The users' own cosines are the doubtful ones. RecTools' "
        "PureSVD writes factors of this shape (U, VΣ). Keep the item vectors; for users use `embaudit fix MODEL --as "
        "prediction`.",
        "exponent 0.00, ln κ 0 off, effective rank 3 of 3, U, VΣ",
    ),
    "balanced": (
        np.diag([3.0, 2.0, 1.0]),
        np.diag([3.0, 2.0, 1.0]),
        {},
        "Your cosines sit at exponent 0.50: balanced, each latent direction shared out equally between users and items "
        "within κ = 1.000. Equal weight decay on both sides leaves them so: a convention of training, which the "
        "predictions do not ask for. " + NEXT,
        "exponent 0.50, ln κ 0 off, effective rank 3 of 3, balanced",
    ),
    "between the right": (
        SPREAD**0.75,
        SPREAD**0.25,
        {},
        "Your cosines sit at exponent 0.75: between balanced (a gauge of condition number 1.73 away) and "
        "right-whitened (1.73 away), near neither. " + SHARED + COLUMNS + NEXT,
        None,
    ),
    "between the left": (
        SPREAD**0.25,
        SPREAD**0.75,
        {},
        "Your cosines sit at exponent 0.25: between left-whitened (a gauge of condition number 1.73 away) and balanced "
        "(1.73 away), near neither. " + SHARED + COLUMNS + NEXT,
        None,
    ),
    "nowhere": (
        np.diag([1.0, 4.0, 1.0]),
        np.diag([5.0, 1.0, 1.0]),
        {},
        "Your cosines sit at no standard place: the nearest exponent is 0.00, and a gauge of condition number 4 is "
        "still between. Which items look alike was settled by how the model was trained or stored, not by what it "
        "predicts. " + COLUMNS + NEXT,
        "exponent 0.00, ln κ 1.39 off, effective rank 3 of 3, U D, V D'",
    ),
    "one direction": (
        [[1.0], [2.0]],
        [[1.0], [3.0]],
        {},
        "The predictions see a single direction: every prediction cosine is 1 or -1, there is nothing to compare. Do "
        "not compare items by cosine; compare their scores.",
        "exponent 0.50, ln κ 0 off, effective rank 1 of 1, none known",
    ),
    "one unseen": (
        np.diag([9.0, 4.0, 0.0]),
        EYE,
        {},
        WHITE
        + SCIKIT
        + "1 of the 3 dimensions is seen by no prediction; it moves the cosines and nothing else. "
        + NEXT,
        "exponent 1.00, ln κ 0 off, effective rank 2 of 3, UΣ, V",
    ),
    "counted": (
        *TWO,
        {"user_counts": [4, 1], "item_counts": [1, 1]},
        WHITE + "Weighted by interactions, they are balanced within κ = 1.000. " + SCIKIT + NEXT,
        None,
    ),
    "counted otherwise": (
        *TWO,
        {"user_counts": [1, 1], "item_counts": [1, 1]},
        WHITE
        + "Training with weight decay at every interaction would have left other factors: these, with axes stretched "
        "by up to 1.414 against each other. " + SCIKIT + NEXT,
        None,
    ),
    "a constant column": (
        [[1.0, 3.0], [1.0, 2.0], [1.0, -1.0]],
        [[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, -2.0]],
        {},
        "Your cosines sit at exponent 0.88: between balanced (a gauge of condition number 1.67 away) and "
        "right-whitened (1.28 away), near neither. "
        + SHARED
        + "Column 0 of the users is constant, so the items hold a bias there "
        "that their cosines count as a likeness. Split it off. " + NEXT,
        None,
    ),
    "nearly": (
        SPREAD * [1.03, 1.0, 1.0],
        EYE / [1.03, 1.0, 1.0],
        {},
        "Your cosines sit at exponent 1.00: the items are nearly whitened. Every latent direction counts nearly the "
        "same in their cosines, however little it matters to a score. With as many directions as items, all these "
        "cosines would be nearly 0. " + COLUMNS + NEXT,
        "exponent 1.00, ln κ 0.0296 off, effective rank 3 of 3, U D, V D'",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_position_in_words(place):
    left, right, known, said, shown = PLACES[place]
    where = ea.position(FactorModel.from_user_item(left, right, **known))
    assert where.explain() == said
    assert shown is None or repr(where) == f"Position({shown})"


def test_a_mixed_constant_direction_and_a_model_of_cosines_in_words():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    right = np.array([[1.0, 3.0], [1.0, 2.0], [1.0, -1.0], [1.0, 0.5]]) @ turn
    text = ea.position(FactorModel.from_user_item(np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, -2.0]]), right))
    assert (
        "A mixture of columns of the items is constant, so the users hold a bias there that their cosines count as a "
        "likeness. Split it off." in text.explain()
    )
    assert ea.position(FactorModel(np.diag([3.0, 2.0, 1.0]), EYE, link="cosine")).explain() == (
        "This model predicts cosines, so nothing but a rotation can be told from its own factors by them. Check with "
        "the rank test whether training on the cosine pinned the factors."
    )


def test_the_record_of_a_position():
    given = ea.position(FactorModel.from_user_item(*TWO, user_counts=[4, 1], item_counts=[1, 1])).to_dict()
    wanted = {
        "exponent": 1.0,
        "distance": 0.0,
        "counted_distance": 0.0,
        "balancedness": [4.0, 1.0],
        "singular_values": [4.0, 2.0],
        "rank": 2,
        "effective_rank": 2,
        "energy_rank": 2,
        "habit": "UΣ, V",
        "hidden_biases": [],
    }
    assert {name: given[name] for name in wanted} == {
        name: pytest.approx(value) if isinstance(value, (float, list)) else value for name, value in wanted.items()
    }
    assert given["distances"] == pytest.approx(
        {"left-whitened": np.log(2), "balanced": np.log(2) / 2, "right-whitened": 0.0}
    )
    assert set(given) == {*wanted, "distances", "resolution", "explanation"}
    # 2 · ε of the precision, times the product of both norms, 2 and 2.
    assert given["resolution"] == pytest.approx(2 * np.finfo(float).eps * 4)
    left, right, *_ = PLACES["a constant column"]
    bias = ea.position(FactorModel.from_user_item(left, right)).to_dict()["hidden_biases"]
    assert bias == [{"role": "left", "column": 0, "value": pytest.approx(1.0)}]


def test_forms_and_reductions_show_their_ranks():
    model = FactorModel.from_user_item(np.diag([9.0, 4.0, 0.0]), EYE)
    assert repr(canonical_form(model)) == "CanonicalForm(rank 2 of 3, singular values 9 to 4)"
    assert repr(reduced(model)) == "Reduction(rank 2 of 3)"


def test_normalised_rows_in_words_and_numbers():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    free, held = (normalisation_test(FactorModel.from_vectors(x)) for x in (rows[:2], rows))
    assert repr(free) == "NormalisationTest(items, rank 2 of 3, pinned False)"
    assert free.to_dict() == {
        "role": "right",
        "title": "item",
        "n_rows": 2,
        "rank": 2,
        "needed": 3,
        "firmness": 0.0,
        "is_pinned": False,
    }
    assert free.explain() == (
        "Training on the cosine did not pin the item vectors. 1 of 3 directions of a linear gauge keep the length of "
        "every row and still move the cosines between them."
    )
    assert repr(held) == "NormalisationTest(items, rank 3 of 3, pinned True)"
    # Singular values of the three lifted rows: the third is (4, √2·2, 1) / 5.
    s = np.linalg.svd([[1, 0, 0], [0, 0, 1], [0.8, np.sqrt(2) * 0.4, 0.2]], compute_uv=False)
    assert held.firmness == pytest.approx(s[-1] / s[0], rel=1e-9)
    assert held.explain() == (
        "Training on the cosine pinned the item vectors up to a rotation. Their cosines are identified, if they were "
        "normalised during training and not only after it."
    )


# --- pins --------------------------------------------------------------------------------------------------------

UNIT = Softmax(unit_rows=True)
SAME = "models of the same rank"
LEARNED = "models of the same rank whose inputs are learned and span every direction"
ANY = "linear maps of these rows, whatever the other side holds, if that has full rank"
NO_PROOF = "no proof holds for both sides together, and no second metric was found"
PINS = [
    ((np.eye(2), np.eye(2), "cosine"), "pinned", 2, 3, SAME,
     "both sides hold one positive form, which S and its inverse can only share at the identity"),
    ((None, np.eye(2), "cosine"), "undecided", 2, 3, ANY,
     "the item rows leave 1 direction, which the other side may fix"),
    ((None, np.eye(3), "cosine"), "undecided", 3, 6, ANY,
     "the item rows leave 3 directions, which the other side may fix"),
    ((None, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine"), "pinned", 3, 3, ANY,
     "the item rows alone fix every number of a metric"),
    ((np.eye(2), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine"), "pinned", 3, 3, SAME,
     "the item rows alone fix every number of a metric"),
    (([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.eye(2), "cosine"), "pinned", 3, 3, SAME,
     "the user rows alone fix every number of a metric"),
    ((np.eye(2), [[1.0, 0.0], [0.6, 0.8]], "cosine"), "undecided", 3, 3, SAME,
     f"to first order nothing is free, {NO_PROOF}"),
    ((np.eye(3)[:2], np.eye(3)[:2], "cosine"), "pinned", 2, 3, SAME,
     "the rows of either side add up to the identity with weights that are not negative"),
    ((None, [[2.0, 1.0]], UNIT), "pinned", 1, 5, LEARNED, "one item makes no pair"),
    ((None, [[2.0, 1.0], [4.0, 2.0]], UNIT), "free", 1, 5, LEARNED,
     "all item rows have one direction, so no input has a say, and inputs of 0 go with any rows"),
    ((None, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], Softmax(unit_rows=True, soft_cap=3.0)), "undecided", 3, 3, LEARNED,
     "the item rows fix every gauge, but under a cap equal probabilities do not imply equal scores"),
    ((None, [[1.0, 0.0], [2.0, 1.0], [-1.0, 3.0], [0.5, -2.0], [-3.0, -1.0]], UNIT), "pinned", 5, 5, LEARNED,
     "the item rows alone fix every number of a gauge"),
]  # fmt: skip
VERDICTS = {
    "pinned": "The predictions pin the cosines within each side, among {scope}.",
    "undecided": "Whether the predictions pin the cosines within each side is undecided.",
    "free": "The predictions do not pin the cosines within each side.",
}


@pytest.mark.parametrize(("given", "status", "rank", "needed", "scope", "because"), PINS)
def test_a_pin_in_words_and_numbers(given, status, rank, needed, scope, because):
    left, right, link = given
    found = pinned_test(FactorModel(left, right, link=link))
    assert repr(found) == f"Pinning({status}, {rank} of {needed} constraints)"
    assert found.explain() == (
        f"{VERDICTS[status].format(scope=scope)} {because[0].upper()}{because[1:]}. "
        f"{rank} of {needed} numbers of a gauge are fixed."
    )
    assert found.to_dict() == {
        "status": status,
        "because": because,
        "scope": scope,
        "rank": rank,
        "needed": needed,
        "condition_number": None,
        "moved": {},
        "residual": 0.0,
    }
    assert found.largest == 0.0


def test_what_a_pin_leaves_free_is_told_of_either_side_and_of_no_left_right_pairs():
    known = {"status": "free", "because": "it is so", "scope": "all", "rank": 1, "needed": 3}
    left, right = Moved(0.1, 0.2, 3), Moved(0.3, 0.6, 3)
    found = Pinning(**known, moved={"left": left, "right": right})
    assert [found.moved_of(role) for role in ("left", "right", "cross")] == [left, right, None]
    assert Pinning(**known).moved_of("right") is None
    assert Pinning(**known, moved={"left": left}).moved_of("right") is None
