"""What is said of positions and pins: each kind by its own words, and their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from reading import too_long

import embaudit as ea
from embaudit.canonical import pinned_test, reduced
from embaudit.canonical.form import canonical_form
from embaudit.model import FactorModel, Softmax

EYE = np.eye(3)
SPREAD, HALF = np.diag([9.0, 4.0, 1.0]), np.diag([3.0, 2.0, 1.0])
CONSTANT = [[1.0, 3.0], [1.0, 2.0], [1.0, -1.0]], [[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, -2.0]]
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])
TWO = [[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 2.0]]
PLACES = {
    "right": (SPREAD, EYE, {}, "exponent 1.00: the items are whitened", "TruncatedSVD of scikit-learn"),
    "left": (EYE, SPREAD, {}, "exponent 0.00: the users are whitened", "Keep the item vectors"),
    "balanced": (HALF, HALF, {}, "exponent 0.50: balanced", "shared out equally between users and items"),
    "between the right": (SPREAD**0.75, SPREAD**0.25, {}, "exponent 0.75: between balanced", "right-whitened (1.73"),
    "between the left": (
        SPREAD**0.25,
        SPREAD**0.75,
        {},
        "exponent 0.25: between left-whitened",
        "balanced (1.73 away)",
    ),
    "nowhere": (np.diag([1.0, 4.0, 1.0]), np.diag([5.0, 1.0, 1.0]), {}, "at no standard place", "number 4 is still"),
    "one direction": ([[1.0], [2.0]], [[1.0], [3.0]], {}, "a single direction", "compare their scores"),
    "one unseen": (np.diag([9.0, 4.0, 0.0]), EYE, {}, "1 of the 3 dimensions is seen by no prediction", "UΣ, V"),
    "counted": (*TWO, {"user_counts": [4, 1], "item_counts": [1, 1]}, "they are balanced within κ = 1.000", "whitened"),
    "counted otherwise": (*TWO, {"user_counts": [1, 1], "item_counts": [1, 1]}, "left other factors", "up to 1.414"),
    "a constant column": (*CONSTANT, {}, "Column 0 of the users is constant", "the items hold a bias there"),
    "nearly": (SPREAD * [1.03, 1, 1], EYE / [1.03, 1, 1], {}, "the items are nearly whitened", "nearly the same"),
    "a mixture": (CONSTANT[1], np.array(CONSTANT[0] + [[1.0, 0.5]]) @ TURN, {}, "A mixture of columns", "Split it off"),
    "cosines": (HALF, EYE, {"link": "cosine"}, "nothing but a rotation can be told", "the rank test"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_position_in_words(place):
    left, right, known, *said = PLACES[place]
    text = ea.position(FactorModel.from_user_item(left, right, **known)).explain()
    assert all(part in text for part in said), text
    assert too_long(text) == []


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
    bias = ea.position(FactorModel.from_user_item(*CONSTANT)).to_dict()["hidden_biases"]
    assert bias == [{"role": "left", "column": 0, "value": pytest.approx(1.0)}]


def test_forms_and_reductions_show_their_ranks():
    model = FactorModel.from_user_item(np.diag([9.0, 4.0, 0.0]), EYE)
    assert repr(canonical_form(model)) == "CanonicalForm(rank 2 of 3, singular values 9 to 4)"
    assert repr(reduced(model)) == "Reduction(rank 2 of 3)"


UNIT = Softmax(unit_rows=True)
CORNER, BENT, THREE = np.eye(2), [[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
FIVE = [[1.0, 0.0], [2.0, 1.0], [-1.0, 3.0], [0.5, -2.0], [-3.0, -1.0]]
PINS = [
    (
        (CORNER, CORNER, "cosine"),
        "pinned",
        2,
        3,
        "equal models of the same rank",
        "both sides hold one positive form",
    ),
    ((None, CORNER, "cosine"), "undecided", 2, 3, "linear maps of these rows", "leave 1 direction, which the other"),
    ((None, EYE, "cosine"), "undecided", 3, 6, "linear maps of these rows", "leave 3 directions, which the other"),
    ((None, THREE, "cosine"), "pinned", 3, 3, "linear maps of these rows", "the item rows alone fix every number"),
    (
        (CORNER, THREE, "cosine"),
        "pinned",
        3,
        3,
        "equal models of the same rank",
        "the item rows alone fix every number",
    ),
    (
        (THREE, CORNER, "cosine"),
        "pinned",
        3,
        3,
        "equal models of the same rank",
        "the user rows alone fix every number",
    ),
    (
        (CORNER, BENT, "cosine"),
        "undecided",
        3,
        3,
        "equal models of the same rank",
        "no second metric was found",
    ),
    (
        (EYE[:2], EYE[:2], "cosine"),
        "pinned",
        2,
        3,
        "equal models of the same rank",
        "weights that are not negative",
    ),
    ((None, [[2.0, 1.0]], UNIT), "pinned", 1, 5, "inputs are learned", "one item makes no pair"),
    ((None, [[2.0, 1.0], [4.0, 2.0]], UNIT), "free", 1, 5, "inputs are learned", "all item rows have one direction"),
    ((None, THREE, Softmax(3.0, True)), "undecided", 3, 3, "inputs are learned", "under a cap equal probabilities"),
    ((None, FIVE, UNIT), "pinned", 5, 5, "inputs are learned", "alone fix every number of a gauge"),
]


@pytest.mark.parametrize(("given", "status", "rank", "needed", "scope", "because"), PINS)
def test_a_pin_in_words_and_numbers(given, status, rank, needed, scope, because):
    left, right, link = given
    found = pinned_test(FactorModel(left, right, link=link))
    assert repr(found) == f"Pinning({status}, {rank} of {needed} constraints)"
    assert scope in found.scope
    assert because in found.because
    text = found.explain()
    assert ("pin the cosines within each side, among" in text) == (status == "pinned")
    assert ("is undecided" in text, "do not pin" in text) == (status == "undecided", status == "free")
    assert because[1:] in text
    assert text.endswith(f" {rank} of {needed} numbers of a gauge are fixed.")
    told = found.to_dict()
    assert (told["status"], told["rank"], told["needed"], told["moved"]) == (status, rank, needed, {})
    assert (found.largest, found.moved_of("right")) == (0.0, None)
