"""What a proof stores of each claim, array by array, on models so small that each number is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from models import random_model
from numpy.testing import assert_allclose, assert_array_equal

import embaudit as ea
from embaudit.auditing import limits as effort
from embaudit.auditing.proof import freedom, labels, limits
from embaudit.auditing.proof.part import Part, compared, dropping, table, witness
from embaudit.auditing.proof.prove import PROVERS
from embaudit.canonical.lifts import lifted
from embaudit.gauges import Diagonal, Gauge
from embaudit.kernels.pairs import all_pairs, sample_pairs
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel

# Parts


def test_parts_grow_and_never_change():
    part = Part({"a": np.eye(1)}, {"mean": 1.0}, {"map": True})
    more = part.and_(b=np.eye(2), c=None).giving(lost=0.5)
    assert (list(more.arrays), more.numbers, more.facts) == (["a", "b"], {"mean": 1.0, "lost": 0.5}, {"map": True})
    assert (list(part.arrays), part.numbers) == (["a"], {"mean": 1.0})
    assert table(np.arange(3)).dtype == np.int32


@pytest.mark.parametrize(
    ("n", "p", "k", "rows"),
    [
        (257, 1025, 2, (256, 1024)),
        (256, 1024, 2, (256, 1024)),
        (500, 1200, 200, (400, 1024)),
        (9, 1100, 530, (9, 1060)),
    ],
)
def test_scores_are_compared_on_so_many_rows(n, p, k, rows):
    left, right = np.ones((n + 1, k)), np.ones((p + 1, k))
    left[4], right[7] = 0, 0
    found = compared(FactorModel.from_user_item(left, right))
    for side, size, total, dead in (("left", rows[0], n, 4), ("right", rows[1], p, 7)):
        alive = np.delete(np.arange(total + 1), dead)
        drawn = alive if total <= size else np.sort(np.random.default_rng(0).choice(alive, size, replace=False))
        assert_array_equal(found[f"rows_{side}"], drawn)
        assert found[f"rows_{side}"].dtype == np.int32
    assert list(compared(FactorModel.from_vectors(right))) == ["rows_right"]


def test_a_witness_is_a_gauge_and_the_rows_compared():
    model, gauge = random_model(n=3, p=4, k=2), Gauge.linear(np.diag([2.0, 1.0]))
    stored = witness(model, gauge)
    assert_array_equal(stored.arrays["gauge_left"], np.diag([2.0, 1.0]))
    assert_array_equal(stored.arrays["gauge_right"], np.diag([0.5, 1.0]))
    assert not stored.arrays["shift_left"].any()
    assert not stored.arrays["shift_right"].any()
    assert (stored.arrays["rows_left"].tolist(), stored.arrays["rows_right"].tolist()) == ([0, 1, 2], [0, 1, 2, 3])
    assert (stored.numbers, stored.facts) == ({}, {})
    shift = witness(model, Gauge.translation(2, left=np.array([1.0, 2.0]))).arrays
    assert shift["shift_left"].tolist() == [1, 2]


def test_a_map_takes_centres_away_first():
    model, a, b = random_model(n=3, p=4, k=2), np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])
    stored = dropping(model, a, b, np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    assert (stored.arrays["shift_left"].tolist(), stored.arrays["shift_right"].tolist()) == ([-3], [-6])
    assert stored.facts == {"map": True}
    bare = dropping(model, a, b).arrays
    assert (bare["shift_left"].tolist(), bare["shift_right"].tolist()) == ([0], [0])
    assert_array_equal(bare["gauge_left"], a)
    assert_array_equal(bare["gauge_right"], b)
    assert set(bare) == {"gauge_left", "gauge_right", "shift_left", "shift_right", "rows_left", "rows_right"}


# Slopes of diagonal ranges


def vertices(k, square):
    return np.array(list(itertools.product([1.0, square], repeat=k)))


@pytest.mark.parametrize("kappa", [1.3, 2.0])
def test_slopes_bound_the_ends_that_no_weights_take_beyond_0(kappa):
    draw, square = np.random.default_rng(2), kappa**2
    x, y = draw.uniform(0.1, 1, (40, 3)), draw.uniform(-0.2, 1, (40, 3)) * draw.choice([-1, 1], (40, 1))
    found, w = limits._within(x, y, kappa), vertices(3, square)
    model, pairs = FactorModel.from_vectors(np.vstack([x, y])), np.column_stack([np.arange(40), np.arange(40, 80)])
    ends = ea.cosine_range(model, Diagonal(3, max_condition=kappa), pairs=pairs)
    bounded = np.isfinite(found)
    assert (bounded.sum(axis=0) > 5).all()
    for column, sign, end in ((0, 1.0, ends.lower), (1, -1.0, -ends.upper)):
        least = (w @ (sign * x * y).T).min(axis=0)
        assert_array_equal(bounded[:, column], least > 0)

        def excess(share, which, column=column, sign=sign, end=end):
            """What a slope leaves of Σ w (c d - xy) at the worst weights; d = (s xx + yy/s)/2, c the end."""
            s, c = share * found[which, column], end[which]
            left = c * (s * x[which] ** 2 + y[which] ** 2 / s) / 2 - sign * x[which] * y[which]
            return np.maximum(left, square * left).sum() / abs(x[which] * y[which]).sum()

        for which in np.flatnonzero(bounded[:, column]):
            assert abs(excess(1, which)) < 1e-9
            assert min(excess(0.9, which), excess(1.1, which)) > 1e-6


def test_nothing_is_bounded_without_a_budget_or_where_a_product_is_tiny():
    x, y = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 2.0], [1.0, -4 / 4 + 1e-11]])
    assert np.isnan(limits._within(x, y, 1.0)).all()
    found = limits._within(x[:1], np.array([[2.0, 2.0]]), 2.0)
    assert found[0, 0] == pytest.approx(2.0)
    assert np.isnan(found[0, 1])
    # Products 4 and -1: weights 1 and 4 bring them to 0, which rounding may not pass.
    edge = limits._within(np.array([[1.0, 1.0]]), np.array([[4.0, -1.0]]), 2.0)
    assert np.isnan(edge).all()
    near = limits._within(np.array([[1.0, 1.0]]), np.array([[4.0 + 3e-8, -1.0]]), 2.0)
    assert not np.isnan(near[0, 0])
    within = limits._within(np.array([[1.0, 1.0]]), np.array([[4.0 + 2e-9, -1.0]]), 2.0)
    assert np.isnan(within).all()


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_slopes_across_balance_both_lengths(scale):
    draw = np.random.default_rng(3)
    x, y = draw.standard_normal((6, 4)), scale * draw.standard_normal((6, 4))
    found, w = limits._across(x, y, 2.0), vertices(4, 4.0)
    p, q = x * x, y * y
    for s, pick in zip(found.T, ("least", "most"), strict=True):
        s = s[:, None]
        weights = np.clip(np.sqrt(q / p) / s, 1, 4) if pick == "least" else np.where(s * s * 4 * p > q, 4.0, 1.0)
        own, other = (s * weights * p).sum(axis=1), (q / (s * weights)).sum(axis=1)
        if pick == "least":
            assert_allclose(own, other, rtol=1e-12)
        else:
            # The largest of vertices jumps: it is balanced between those just below and just above.
            totals = [((s * f * w[:, None] * p).sum(axis=2) + (q / (s * f * w[:, None])).sum(axis=2)).max(axis=0)
                      for f in (0.999, 1, 1.001)]  # fmt: skip
            assert (totals[1] <= totals[0] * (1 + 1e-12)).all()
            assert (totals[1] <= totals[2] * (1 + 1e-12)).all()
    assert_allclose(limits._across(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), 2.0)[0, 0], 0.5, rtol=1.0)


# Freedom


def evidence_of(model, **options):
    return ea.audit(model, n_gauges=1, n_pairs=50, **options).evidence


def largest_change(model, role, part):
    """How far the stored gauge moves the stored pair, by hand."""
    sides = ("left", "right") if role == "cross" else (role, role)
    pair, ends = part.arrays["pairs"][0], []
    for after in (False, True):
        x, y = (
            np.asarray(model.factors(s)[i]) @ part.arrays[f"gauge_{s}"] + part.arrays[f"shift_{s}"]
            if after
            else np.asarray(model.factors(s)[i])
            for s, i in zip(sides, pair, strict=True)
        )
        ends.append(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    return abs(ends[1] - ends[0])


@pytest.mark.parametrize(
    ("biases", "link", "role", "shifted"),
    [
        ((), "identity", "right", None),
        ((), "identity", "left", None),
        ((), "identity", "cross", None),
        (("left_bias",), "identity", "right", "right"),
        (("left_bias",), "identity", "left", None),
        (("right_bias",), "identity", "left", "left"),
        (("left_bias", "right_bias"), "identity", "cross", "right"),
        ((), "softmax", "cross", "right"),
    ],
)
def test_one_pair_shows_that_cosines_are_free(biases, link, role, shifted):
    model = random_model(n=9, p=8, k=2, biases=biases, link=link)
    part = freedom._free(model, role, 2)
    moving = [side for side in ("left", "right") if part.arrays[f"shift_{side}"].any()]
    assert moving == ([] if shifted is None else [shifted])
    assert largest_change(model, role, part) > 0.49
    a, b = part.arrays["gauge_left"], part.arrays["gauge_right"]
    assert_allclose(a @ b.T, np.eye(2), atol=1e-12)
    assert np.linalg.cond(a) == pytest.approx(1.0 if shifted else 3.0)
    assert part.arrays["pairs"].shape == (1, 2)


def test_of_pairs_that_hardly_move_the_one_that_moves_most_is_chosen():
    # Linear maps of condition 3 bring artanh of a cosine ln 3 further: least for the pair that is nearly parallel.
    angles = np.array([0.0, 1e-3, 1e-2, 3e-2])
    model = FactorModel.from_vectors(np.column_stack([np.cos(angles), np.sin(angles)]))
    part = freedom._free(model, "right", 2)
    assert part.arrays["pairs"].tolist() == [[0, 3]]
    assert largest_change(model, "right", part) == pytest.approx(
        np.cos(0.03) - np.cos(2 * np.arctan(3 * np.tan(0.015)))
    )


def test_dimensions_that_no_prediction_sees_are_dropped():
    model = random_model(n=9, p=8, k=3)
    left = model.left.copy()
    left[:, 2] = 0
    part = freedom._free(model.replace(left=left), "right", 2)
    assert part.facts == {"map": True}
    assert_allclose(part.arrays["gauge_left"] @ part.arrays["gauge_right"].T, np.diag([1.0, 1.0, 0]), atol=1e-12)
    nothing = freedom._free(model, "right", 0)
    assert not nothing.arrays["gauge_left"].any()
    assert nothing.arrays["gauge_right"].shape == (3, 3)
    flat = FactorModel.from_vectors([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    alone = freedom._free(flat, "right", 2).arrays["gauge_left"]
    assert_allclose(alone @ alone.T, np.diag([1.0, 1.0, 0.0]), atol=1e-12)


def test_spanning_rows_are_as_many_as_a_form_has_numbers():
    x = np.random.default_rng(0).standard_normal((60, 2))
    for affine, needed in ((False, 3), (True, 5)):
        rows = freedom.spanning_rows(x, affine=affine)
        assert len(set(rows.tolist())) == needed
        assert rows.tolist() == sorted(rows.tolist())
        units = unit_rows(x)[rows]
        forms = np.hstack([lifted(units), units]) if affine else lifted(units)
        assert np.linalg.matrix_rank(forms) == needed
    few = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [1, 1]])
    assert freedom.spanning_rows(few, affine=False)[1:].tolist() == [3, 4]


def test_very_many_numbers_of_a_form_are_met_by_rows_at_random(monkeypatch):
    monkeypatch.setattr(freedom, "LARGEST", 2)
    x = np.random.default_rng(0).standard_normal((60, 2))
    drawn = np.sort(np.random.default_rng(0).choice(60, 3, replace=False))
    assert_array_equal(freedom.spanning_rows(x, affine=False), drawn)


def test_pairs_of_a_side_are_all_or_many():
    model = random_model(n=9, p=8, k=2, link="cosine")
    assert_array_equal(freedom._pairs_of(model, "left"), all_pairs(9))
    assert freedom._pairs_of(model, "right").dtype == np.int32


def test_many_pairs_of_a_side_are_sampled(monkeypatch):
    monkeypatch.setattr(freedom, "EVERY", 27)
    model = random_model(n=9, p=8, k=2, link="cosine")
    assert_array_equal(freedom._pairs_of(model, "left"), sample_pairs(9, 27, rng=0))
    monkeypatch.setattr(freedom, "EVERY", 28)
    assert_array_equal(freedom._pairs_of(model, "right"), all_pairs(8))


# Labels that never lead


def head_of(rows, bias=None):
    return FactorModel.from_softmax(np.array(rows, dtype=float), bias)


@pytest.mark.usefixtures("without_attacks")
def test_labels_that_never_lead_are_stored_with_weights_that_show_it():
    corners = [[0.0, 0.0], [1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8], [0.2, 0.1], [3.0, 3.0]]
    evidence = evidence_of(head_of(corners))
    claim = next(c for c in ea.audit(head_of(corners), n_gauges=1, n_pairs=50).claims if c.about == "argmax")
    stored = labels.argmax(evidence, claim).arrays
    assert sorted(stored["hidden"].tolist()) == [0, 4]
    for label, others, ahead, most in zip(*(stored[key] for key in ("hidden", "others", "ahead", "most")), strict=True):
        assert ahead.sum() == pytest.approx(1)
        assert (ahead >= 0).all()
        assert most.sum() < 1e-9
        rest = np.array(corners)[label] - np.array(corners)[others]
        assert np.abs((ahead - most) @ rest).max() < 1e-9
        assert label not in others[ahead > 0]
    assert stored["hidden"].dtype == stored["others"].dtype == np.int32
    assert stored["ahead"].shape == stored["others"].shape == stored["most"].shape


# The whole


@pytest.fixture(scope="module")
def small():
    """An audit with attacks of short effort, its claims by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("embaudit.attacks.search.MOST_AXES", 4)
        patch.setattr(effort, "CURVE", (1.5, 2.0))
        return ea.audit(random_model(n=12, p=10, k=2, biases=("left_bias",)), n_gauges=1, n_pairs=30)


def test_each_firm_claim_stores_what_it_needs_and_nothing_else(small):
    gauge = {"gauge_left", "gauge_right", "shift_left", "shift_right", "rows_left", "rows_right"}
    needs = {
        "moved:right": gauge | {"listed", "lists"},
        "moved:left": gauge | {"listed", "lists"},
        "moved:cross": gauge,
        "free:right": gauge | {"pairs"},
        "range:right:linear:2.0": {"pairs"},
        "range:right:affine:2.0": {"pairs"},
        "range:right:diagonal:2.0": {"pairs", "ends", "slopes"},
        "range:cross:diagonal:2.0": {"pairs", "slopes"},
        "certified:right:linear:2": {"listed", "lists"},
        "reached:movement:right:linear": gauge | {"pairs"},
        "reached:neighbours:right:linear": gauge | {"listed", "lists"},
        "bound:movement:right:linear": {"pairs"},
        "bound:neighbours:right:linear": {"listed", "lists"},
    }
    parts = {claim.name: PROVERS[claim.about](small.evidence, claim) for claim in small.claims if claim.name in needs}
    assert {name: set(parts[name].arrays) for name in needs} == needs
    assert parts["reached:movement:right:linear"].facts == {"value": "mean"}
    assert parts["reached:neighbours:right:linear"].facts == {"value": "lost"}
    for name in ("moved:right", "moved:left"):
        role = name.split(":")[1]
        made, record = next(v for v in small.evidence.visits(role) if v[0].name == claims_of(small)[name].scope.models)
        numbers = parts[name].numbers
        assert (numbers["mean"], numbers["largest"]) == (record.mean_abs, record.max_abs)
        assert numbers["lost"] == 1 - record.top_n_overlap
        if made.gauge is not None:
            assert numbers["condition"] == made.gauge.condition_number
    found = next(
        s.found
        for s in small.evidence.limits.ranges
        if (s.role, s.group, s.max_condition) == ("right", "diagonal", 2.0)
    )
    stored = parts["range:right:diagonal:2.0"].arrays
    assert_array_equal(stored["ends"], np.column_stack([found.lower, found.upper]))
    assert_array_equal(stored["pairs"], found.pairs)
    assert stored["slopes"].shape == (len(found.pairs), 2)


def claims_of(audited):
    return {claim.name: claim for claim in audited.claims}


def test_the_record_of_a_proof_is_that_of_its_claims(small):
    proof = small.proof()
    assert {"format", "embaudit_version", "model", "claims"} == set(proof.record)
    assert (proof.record["format"], proof.record["embaudit_version"]) == (1, ea.__version__)
    for entry in proof.record["claims"]:
        claim = claims_of(small)[entry["name"]]
        assert (entry["kind"], entry["text"], entry.get("about", claim.about)) == (
            str(claim.kind), claim.text, claim.about
        )  # fmt: skip
        assert len(entry["digest"]) == 64
    assert {problem for _, problem in ea.verify(proof, small.model)} == {""}
