"""Which pairs, rows and inputs a proof is made of, against searches of their own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.claims import Claim, Kind, Scope
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.proof import freedom, labels, limits, shown
from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.kernels.pairs import sample_pairs
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel, Softmax
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.programs import lead_program


def turned(angles):
    return FactorModel.from_vectors(np.column_stack([np.cos(angles), np.sin(angles)]))


def test_pairs_that_are_tried_are_drawn_among_rows_with_a_direction():
    model = random_model(n=30, p=40, k=3)
    left, right = model.left.copy(), model.right.copy()
    left[[0, 4]], right[[1, 7, 9]] = 0, 0
    model = model.replace(left=left, right=right)
    alive = {"left": np.delete(np.arange(30), [0, 4]), "right": np.delete(np.arange(40), [1, 7, 9])}
    for role, one, other in (("right", "right", "right"), ("left", "left", "left"), ("cross", "left", "right")):
        columns = 37 if role == "cross" else None
        drawn = sample_pairs(len(alive[one]), 200, n_columns=columns, rng=0)
        wanted = {(int(alive[one][i]), int(alive[other][j])) for i, j in drawn}
        found = list(freedom._some_pairs(model, role))
        assert [tuple(pair.tolist()) for pair, _, _ in found] == sorted(wanted)
        for pair, x, y in found[:5]:
            np.testing.assert_array_equal(x, model.factors(one)[pair[0]])
            np.testing.assert_array_equal(y, model.factors(other)[pair[1]])


def test_no_more_pairs_are_tried_once_one_moves_by_more_than_a_half():
    # Linear maps of condition 3 move the second pair by 0.75, and the third, which is tried after it, by 0.98.
    found = freedom._free(turned([0.0, 0.2, 0.6, 1.5]), "right", 2)
    assert found.arrays["pairs"].tolist() == [[0, 2]]
    # Two of these move by less; then the one that moves most is taken.
    assert freedom._free(turned([0.0, 0.2, 0.4]), "right", 2).arrays["pairs"].tolist() == [[0, 2]]


def test_shifts_turn_a_pair_to_its_middle_past_it_and_across():
    model = FactorModel.from_user_item([[3.0, 4.0]], [[1.0, 0.0]])
    for side, moving, still in (("right", model.right[0], model.left[0]), ("left", model.left[0], model.right[0])):
        goal = still / np.linalg.norm(still) * np.linalg.norm(moving)
        wanted = [[-2, -2], [4, 4], goal - moving, -goal - moving]
        found = [getattr(gauge, f"{side}_shift") for _, gauge in freedom._shifts(model, "cross", side)]
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_rows_that_span_have_a_direction_and_are_among_those_looked_at(monkeypatch):
    x = np.random.default_rng(0).standard_normal((60, 2))
    x[:30] = 0
    few = np.random.default_rng(0).choice(60, 12, replace=False)
    rows = freedom.spanning_rows(x, affine=False)
    assert set(rows) <= set(few[few >= 30])
    assert len(rows) == 3
    twelve = freedom.spanning_rows(x[24:36], affine=False)
    assert len(set(twelve)) == 3
    assert twelve.min() >= 6
    # As many numbers as are not too many are met by pivots, which leave out rows of zeros.
    monkeypatch.setattr(freedom, "LARGEST", 3)
    np.testing.assert_array_equal(freedom.spanning_rows(x, affine=False), rows)
    monkeypatch.setattr(freedom, "LARGEST", 2)
    drawn = np.sort(np.random.default_rng(0).choice(60, 3, replace=False))
    np.testing.assert_array_equal(freedom.spanning_rows(x, affine=False), drawn)


def form_of(weights, x):
    unit = unit_rows(x, none=0)
    return (unit * weights[:, None]).T @ unit


def test_rows_of_a_plane_are_weighed_so_that_they_make_the_identity_of_it():
    plane = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 2)))[0]
    left, right = np.array([[1.0, 1], [1, -1], [0, 0], [2, 1]]), np.array([[1.0, 0], [0, 3], [1, 2], [3, 1], [1, 0]])
    for n in (4, 2):  # more rows than columns, and fewer
        sides = {"left": left[:n] @ plane.T, "right": right[: n + n // 4] @ plane.T}
        found = freedom._one_form(FactorModel(**sides, link="cosine"))
        assert set(found) == {"weights_left", "weights_right"}
        for side, x in sides.items():
            weights = found[f"weights_{side}"]
            assert (weights.min() >= 0, len(weights)) == (True, len(x))
            np.testing.assert_allclose(form_of(weights, x), plane @ plane.T, atol=1e-9)


def test_where_both_sides_span_all_one_positive_form_is_made_of_either():
    model = FactorModel.from_user_item([[3.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, -2.0]], link="cosine")
    found = freedom._one_form(model)
    one, other = (form_of(found[f"weights_{side}"], model.factors(side)) for side in ("left", "right"))
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.linalg.eigvalsh(one).min() > 1e-6
    with pytest.raises(InputError, match=r"^a proof must be of claims whose reasons are at hand; this one could not"):
        freedom._one_form(FactorModel.from_user_item([[1.0, 0.0]], [[0.0, 1.0]], link="cosine"))


def claimed(name, kind=Kind.PROVEN, **scope):
    return Claim(name, kind, "item-item cosines", Scope("linear gauges", **scope), "")


@pytest.mark.parametrize(("moved", "side"), [((0.3, 0.2), "left"), ((0.2, 0.3), "right")])
def test_what_is_left_open_is_shown_on_the_side_that_moves_further(moved, side):
    model = random_model(n=5, p=4, k=2, link="cosine")
    sizes = {name: SimpleNamespace(max_abs=size) for name, size in zip(("left", "right"), moved, strict=True)}
    gauge = Gauge.diagonal([1.0, 2.0])
    pinning = SimpleNamespace(moved=sizes, witness=gauge, flip=None)
    evidence = SimpleNamespace(model=model, fibre=SimpleNamespace(pinning=pinning), head=None)
    for name, wanted in (("identification", side), ("free:right", "right"), ("free:left", "left")):
        part = freedom.other_metric(evidence, claimed(name))
        assert part.facts == {"role": wanted}
        assert len(part.arrays["pairs"]) == {"left": 10, "right": 6}[wanted]
        np.testing.assert_array_equal(part.arrays["gauge_left"], np.diag([1.0, 2.0]))
    flip = SimpleNamespace(rows=np.array([3]), unseen=np.array([0.0, 1.0]), side="right")
    evidence.fibre.pinning = SimpleNamespace(moved=sizes, witness=None, flip=flip)
    part = freedom.other_metric(evidence, claimed("free:left"))
    assert set(part.arrays) == {"rows_left", "rows_right", "reflected", "mirror", "pairs"}
    assert (part.arrays["reflected"].tolist(), part.arrays["mirror"].tolist()) == ([3], [0, 1])
    assert part.facts == {"side": "right", "role": "left"}


def test_slopes_of_parallel_rows_stand_beside_those_of_others():
    x, y = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[3.0, 6.0], [5.0, 1.0]])
    both = limits._within(x, y, 1.5)
    for row in range(2):
        np.testing.assert_array_equal(both[row], limits._within(x[[row]], y[[row]], 1.5)[0])
    assert both[0, 0] == pytest.approx(3.0)
    assert both[1, 0] != pytest.approx(np.sqrt(26 / 5))
    nothing = limits._within(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), 1.5)
    assert np.isnan(nothing).all()


@pytest.mark.usefixtures("without_attacks")
def test_in_one_dimension_no_budget_stretches_anything():
    model = random_model(n=6, p=5, k=1, biases=("left_bias",))
    audited = ea.audit(model, n_gauges=1, n_pairs=10)
    diagonal = [claim for claim in audited.claims if claim.name.startswith("range:right:diagonal")]
    for claim in diagonal:
        assert np.isnan(limits.ranges(audited.evidence, claim).arrays["slopes"]).all()
    assert {problem for _, problem in ea.verify(audited.proof(), model)} == {""}


@pytest.mark.parametrize("link", [Softmax(soft_cap=3.0), Softmax(unit_rows=True)])
def test_the_input_that_notices_most_is_stored(link):
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((7, 3)), np.add(draw.standard_normal((9, 3)), [1.0, 0.5, 0])
    model = FactorModel.from_softmax(right, embeddings=left).replace(link=link)
    found = ea.head_report(model, n_gauges=0)
    part = shown.declared(SimpleNamespace(head=found), claimed("declared"))

    def log_probabilities(rows):
        if link.unit_rows:
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        scores = left @ rows.T
        scores = 3 * np.tanh(scores / 3) if link.soft_cap else scores
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    change = np.abs(log_probabilities(right - right.mean(axis=0)) - log_probabilities(right)).max(axis=1)
    np.testing.assert_array_equal(part.arrays["input"], left[change.argmax()])
    np.testing.assert_array_equal(part.arrays["among"], np.arange(9))
    assert part.arrays["among"].dtype == np.int32


def test_two_labels_are_made_opposite_by_their_middle():
    rows = np.random.default_rng(0).standard_normal((9, 3))
    found = ea.head_report(FactorModel.from_softmax(rows), n_gauges=0, pair=(6, 2))
    part = shown.shortest(SimpleNamespace(head=found), claimed("shortest"))
    np.testing.assert_allclose(part.arrays["shift_right"], -(rows[6] + rows[2]) / 2)
    assert part.arrays["pairs"].tolist() == [[6, 2]]


def test_of_several_linear_gauges_the_one_that_is_told_is_stored():
    found = ea.head_report(random_model(n=None, p=9, k=3, link="softmax"), n_gauges=3)
    made = {one.name: one for one in found.equivalents}
    assert [name for name, one in made.items() if one.kind == "linear"] == ["linear 1", "linear 2", "linear 3"]
    for name in ("linear 1", "linear 2", "linear 3"):
        claim = Claim("stretched", Kind.SHOWN, "label cosines", Scope(name), "")
        part = shown.stretched(SimpleNamespace(head=found), claim)
        np.testing.assert_array_equal(part.arrays["gauge_right"], made[name].gauge.right)
        assert part.numbers["mean"] == made[name].movement.mean_abs


def test_weights_of_labels_that_cannot_lead_are_padded_to_one_width(monkeypatch):
    solved = []
    monkeypatch.setattr(labels, "lead_program", lambda *given: solved.append(len(given[0])) or lead_program(*given))
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.3, 0.3], [0.0, 3.0], [0.1, -3.0], [3.0, 0.1]])
    head = FactorModel.from_softmax(rows)
    found = ea.head_report(head, n_gauges=0)
    evidence = SimpleNamespace(head=found, model=head, fibre=fibre_of(head, ("right",)))
    stored = labels.argmax(evidence, claimed("argmax")).arrays
    assert stored["hidden"].tolist() == [0, 1, 3]
    assert set(solved) == {6}, "all others are rivals"
    for label, others, ahead, most in zip(*(stored[key] for key in ("hidden", "others", "ahead", "most")), strict=True):
        used = ahead > 0
        # The label is a mean of others, which it cannot exceed by more than `most` allows.
        np.testing.assert_allclose(
            ahead @ rows[others] - most @ rows[others], rows[label] * (1 - most.sum()), atol=1e-9
        )
        assert ahead.sum() == pytest.approx(1)
        assert label not in others[used]
        assert (ahead[~used] == 0).all()


@pytest.mark.parametrize(
    ("biases", "rounds"),
    [(None, (2, 2)), (np.r_[np.tile([1.0, -1.0], 20), -1.0, -0.5], (1, 2))],
    ids=["plain", "biased"],
)
def test_rivals_are_added_in_the_direction_in_which_a_label_still_leads(biases, rounds, monkeypatch):
    turn = 2 * np.pi * np.arange(40) / 40
    rows = np.vstack([np.column_stack([np.cos(turn), np.sin(turn)]), [[0.4, 0.0], [-0.2, 0.3]]])
    head = FactorModel.from_softmax(rows, biases)
    space, solved = label_coordinates(head), []
    monkeypatch.setattr(labels, "lead_program", lambda *given: solved.append(len(given[0])) or lead_program(*given))
    for label, n in zip((40, 41), rounds, strict=True):
        solved.clear()
        others, ahead, most = labels._weights(space, label)
        # Twelve labels that lie furthest along the row leave it a lead to the other side; twelve more take it.
        first = 4 * (space.rank + 1)
        assert solved == [first, 2 * first][:n]
        assert ahead.sum() == pytest.approx(1)
        assert min(ahead.min(), most.min()) >= 0
        np.testing.assert_allclose(
            ahead @ rows[others] - most @ rows[others], rows[label] * (1 - most.sum()), atol=1e-9
        )
        if biases is not None:
            assert ahead @ biases[others] - most @ biases[others] >= biases[label] * (1 - most.sum()) - 1e-9
