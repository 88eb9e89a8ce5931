"""What is said of the set of equal models: its words, its reasons and its numbers, for every link and bias."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.auditing import fibre as module
from embaudit.auditing.fibre import Freedom, fibre_of
from embaudit.auditing.finding import Kind
from embaudit.canonical.pinned import pinned_test
from embaudit.canonical.pinning import Moved, Pinning
from embaudit.model import FactorModel, Softmax

BOTH = ("right", "left")
SIDES = ("right", "left", "cross")
PLANE = random_model(n=7, p=6, k=2)
LINE = random_model(n=7, p=6, k=1)
CAPPED, UNIT = Softmax(soft_cap=3.0), Softmax(unit_rows=True)
SHIFTED = "One vector added to every {0} row changes no {1}, and can make two {0}s opposite."
LINEAR = (
    "A linear change of the axes changes no {} and, unbounded, can give two rows that are not parallel any cosine "
    "short "
    "of ±1."
)
CROSS = (
    "A linear change of the axes changes no score and, unbounded, can give two rows, one of each side, any cosine of "
    "the same sign. None changes its sign, and 0 stays 0."
)
SIGNS = "In one dimension {} cosines are signs, and no model of one dimension with the same predictions turns one{}."
UNKNOWN = "What else keeps every {} may turn {} cosines; that is not known here."
PROVEN, UNDECIDED = Kind.PROVEN, Kind.UNDECIDED


def biased(model, *sides):
    return model.replace(**{f"{side}_bias": np.zeros(len(model.factors(side))) for side in sides})


@pytest.mark.parametrize("link", ["identity", "sigmoid"])
def test_a_plane_is_moved_by_linear_maps(link):
    found = fibre_of(PLANE.replace(link=link), SIDES)
    assert all(found.freedom[role] == Freedom(True, PROVEN, LINEAR.format("score")) for role in BOTH)
    assert found.freedom["cross"] == Freedom(True, PROVEN, CROSS)
    assert str(found.scope) == "every model of rank 2 with the same predictions"
    assert (found.scope.whole, found.outside, found.pinning, found.seen_rank) == (True, {}, None, 2)
    assert found.unseen == 0
    assert found.moves("left") is True


def test_what_a_free_bias_lets_move():
    user, item = SHIFTED.format("user", "score"), SHIFTED.format("item", "score")
    for sides, right, left in (
        (("left",), item, None), (("right",), None, user), (("left", "right"), item, user),
    ):  # fmt: skip
        for model in (PLANE, LINE):
            found = fibre_of(biased(model, *sides), BOTH).freedom
            for role, text in (("right", right), ("left", left)):
                if text is not None:
                    assert found[role] == Freedom(True, PROVEN, text)
                elif model is PLANE:
                    assert found[role] == Freedom(True, PROVEN, LINEAR.format("score"))
                else:
                    titles = {"right": "item-item", "left": "user-user"}[role]
                    assert found[role] == Freedom(False, PROVEN, SIGNS.format(titles, ""))
    assert fibre_of(biased(LINE, "left", "right"), ["cross"]).freedom["cross"].because == item
    assert fibre_of(biased(LINE, "right"), ["cross"]).freedom["cross"].because == user


def test_one_dimension_holds_signs_unless_predictions_are_coarser():
    assert fibre_of(LINE, ["cross"]).freedom["cross"] == Freedom(False, PROVEN, SIGNS.format("user-item", ""))
    ranked, capped = LINE.replace(link="ranking"), LINE.replace(link=CAPPED)
    assert fibre_of(ranked, BOTH).freedom == {
        "right": Freedom(True, PROVEN, SHIFTED.format("item", "ranking")),
        "left": Freedom(None, UNDECIDED, UNKNOWN.format("ranking", "user-user")),
    }
    assert fibre_of(capped, BOTH).freedom == {
        "right": Freedom(None, UNDECIDED, UNKNOWN.format("probability", "item-item")),
        "left": Freedom(None, UNDECIDED, UNKNOWN.format("probability", "user-user")),
    }
    assert fibre_of(PLANE.replace(link=CAPPED), BOTH).freedom["left"].because == LINEAR.format("probability")


@pytest.mark.parametrize(
    ("link", "sides", "scope", "whole"),
    [
        ("softmax", (), "every model of rank 2 with the same predictions", True),
        ("ranking", (), "linear maps and shifts of all items, among others", False),
        (
            "ranking",
            ("left", "right"),
            "linear maps and shifts of all items and shifts of all users, among others",
            False,
        ),
        (CAPPED, (), "linear maps, among others", False),
        (CAPPED, ("right",), "linear maps and shifts of all users, among others", False),
    ],
)
def test_the_set_is_called_whole_only_where_it_is(link, sides, scope, whole):
    found = fibre_of(biased(PLANE, *sides).replace(link=link), BOTH)
    assert (str(found.scope), found.scope.whole) == (scope, whole)


def test_vectors_alone():
    vectors = FactorModel.from_vectors(np.array(PLANE.right))
    found = fibre_of(vectors, ["right"])
    assert str(found.scope) == "vectors of rank 2, whatever they are multiplied with, if no bias takes part"
    assert (found.scope.whole, found.seen_rank, found.unseen, found.outside) == (False, 2, 0, {})
    assert found.freedom == {"right": Freedom(True, PROVEN, LINEAR.format("score"))}
    line = fibre_of(FactorModel.from_vectors(np.array(LINE.right)), ["right"])
    signs = SIGNS.format("item-item", ", if no bias takes part").replace("predictions", "scores")
    assert line.freedom["right"] == Freedom(False, PROVEN, signs)
    narrow = fibre_of(FactorModel.from_vectors(np.outer([1.0, 2, -3], [1, 1])), ["right"])
    assert narrow.freedom["right"].because.startswith("No score shows more than 1 of 2 dimensions")
    parallel = fibre_of(FactorModel.from_vectors(np.outer([1.0, 2, -3], [1, 1, 1])), ["right"])
    assert parallel.seen_rank == 1
    assert parallel.freedom["right"].because == (
        "No score shows more than 1 of 3 dimensions: item-item cosines also count the others, where rows of an equal "
        "model may hold anything."
    )
    for scale in (1e8, 1.0, 1e-8):
        thin = FactorModel.from_vectors(scale * np.array([[1.0, 0], [0, 1e-20], [1, 0]]))
        assert fibre_of(thin, ["right"]).seen_rank == 1
    sigmoid = fibre_of(vectors.replace(link="sigmoid"), ["right"])
    assert str(sigmoid.scope) == "every model of rank 2 with the same predictions"


def test_rows_that_reach_where_no_prediction_looks(monkeypatch):
    model = FactorModel.from_user_item([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]], [[3.0, 0, 4], [1, 1, 0], [0, 2, 1e-7]])
    found = fibre_of(model, BOTH)
    assert (found.seen_rank, found.outside) == (2, {"right": pytest.approx(0.64)})
    assert found.freedom["left"].because == (
        "No score shows more than 2 of 3 dimensions: user-user cosines also count the others, where rows of an equal "
        "model "
        "may hold anything."
    )
    assert found.unseen == 1
    monkeypatch.setattr(module, "OUTSIDE", 0.64)
    assert fibre_of(model, BOTH).outside == {}, "at the threshold itself nothing counts"
    monkeypatch.undo()
    for size, counts in ((1e-7, False), (1e-5, True)):
        near = model.replace(right=[[3.0, 1, 0], [1, 1, size], [0, 2, 0]])
        assert set(fibre_of(near, BOTH).outside) == ({"right"} if counts else set())
    assert module.OUTSIDE == 1e-12


def test_factors_that_predict_nothing_may_hold_anything():
    text = "Without its factors the model has every score the same, so equal models may hold any rows."
    zero = FactorModel.from_user_item(np.zeros((3, 2)), [[1.0, 0], [0, 1]])
    alike = FactorModel.from_user_item(np.ones((3, 1)), [[1.0], [2.0]], item_bias=[0.0, 0.0])
    for model, rank in ((zero, 2), (alike, 1)):
        found = fibre_of(model, BOTH)
        assert found.freedom == dict.fromkeys(BOTH, Freedom(True, PROVEN, text))
        assert (found.seen_rank, found.outside, found.unseen) == (0, {}, rank)
        assert str(found.scope) == f"every model of rank {rank} with the same predictions"


# Links that divide by lengths


def test_cosines_that_are_pinned_by_the_test_of_unit_rows():
    model = PLANE.replace(link="cosine")
    found, pinning = fibre_of(model, SIDES), pinned_test(model, rng=0)
    assert pinning.status == "pinned"
    text = pinning.explain()
    assert found.freedom == dict.fromkeys(SIDES, Freedom(False, PROVEN, text))
    assert str(found.scope) == pinning.scope
    assert (found.scope.whole, found.seen_rank, found.unseen, found.outside) == (True, 2, 0, {})


def with_test(monkeypatch, model, roles, **fields):
    """Return the fibre of a model whose test of unit rows had the outcome given."""
    known = {"status": "free", "because": "that is so", "scope": "gauges near", "rank": 1, "needed": 3}
    pinning = Pinning(**known | fields)
    monkeypatch.setattr(module, "pinned_test", lambda *_, **__: pinning)
    return fibre_of(model, roles), pinning


def test_what_the_equal_model_that_was_found_moves(monkeypatch):
    moves = {"right": Moved(0.1, 0.2, 3), "left": Moved(0.0, 1e-3, 3)}
    found, pinning = with_test(monkeypatch, PLANE.replace(link="cosine"), SIDES, moved=moves)
    assert found.moves("right")
    more = moves | {"left": Moved(0.0, 1.001e-3, 3)}
    assert with_test(monkeypatch, PLANE.replace(link="cosine"), SIDES, moved=more)[0].moves("left")
    others = (
        "Whether the predictions pin user-user cosines is undecided: the equal model that was found moves others alone."
    )
    assert found.freedom == {
        "right": Freedom(True, Kind.SHOWN, pinning.explain()),
        "left": Freedom(None, UNDECIDED, others),
        "cross": Freedom(None, UNDECIDED, pinning.explain()),
    }
    open_, pinning = with_test(monkeypatch, PLANE.replace(link="cosine"), ["right"], status="undecided", moved=moves)
    assert open_.freedom["right"] == Freedom(None, UNDECIDED, others.replace("user-user", "item-item"))
    nothing, pinning = with_test(monkeypatch, PLANE.replace(link="cosine"), ["right"], status="undecided")
    assert nothing.freedom["right"] == Freedom(None, UNDECIDED, pinning.explain())


def test_inputs_of_a_normalised_head_move_where_labels_have_a_bias(monkeypatch):
    head = FactorModel(PLANE.left, PLANE.right, link=UNIT, roles=("input", "label"))
    pinned = {"status": "pinned", "scope": "models of rank 2"}
    found, pinning = with_test(monkeypatch, biased(head, "right"), SIDES, **pinned)
    assert found.freedom["left"] == Freedom(True, PROVEN, SHIFTED.format("input", "probability"))
    assert [found.freedom[role].moves for role in ("right", "cross")] == [False, False]
    for model in (head, biased(PLANE, "right").replace(link="cosine")):
        found, pinning = with_test(monkeypatch, model, ["left"], **pinned)
        assert found.freedom["left"] == Freedom(False, PROVEN, pinning.explain())
