"""Each certificate of a contest by itself: what inputs make of the gaps, where they move, who enters a program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.kernels import moments
from embaudit.model import FactorModel
from embaudit.softmax import contests, coordinates
from embaudit.softmax.contests import (
    NO,
    OPEN,
    YES,
    _are_inside,
    _competing,
    _Field,
    _first_entrants,
    _from_lead,
    _gilbert,
    _Survey,
    _survey,
    hold,
)
from embaudit.softmax.coordinates import LabelCoordinates, label_coordinates
from embaudit.softmax.programs import best_lead

HEAD = random_head(3, 9, 3, bias=True)
SPACE = label_coordinates(HEAD)
MEMBERS = np.array([[0, 0], [2, 7], [8, 8]])
FIELD = _Field.of(SPACE, MEMBERS)
INPUTS = np.random.default_rng(0).standard_normal((3, SPACE.rank + 1))


def test_leaders_stand_in_their_middle_and_are_tied_along_their_difference():
    z = SPACE.of(np.arange(9))
    np.testing.assert_allclose(FIELD.start, [z[0], (z[2] + z[7]) / 2, z[8]], atol=1e-14)
    difference = z[7] - z[2]
    np.testing.assert_allclose(FIELD.tie, [0 * difference, difference / np.linalg.norm(difference), 0 * difference])
    assert len(FIELD) == 3
    assert FIELD.take(np.array([1])).members.tolist() == [[2, 7]]
    moved = FIELD.untied(INPUTS)
    along = INPUTS - np.outer(INPUTS[1] @ FIELD.tie[1] * np.array([0, 1, 0]), FIELD.tie[1])
    along[:, -1] = np.maximum(along[:, -1], 0)
    np.testing.assert_allclose(moved, along)


def test_wide_heads_are_whitened_by_a_triangle(monkeypatch):
    rows = random_head(5, 40, 9).right.astype(np.float32)
    axes = label_coordinates(FactorModel.from_softmax(rows))
    monkeypatch.setattr(moments, "AFFORDABLE", 0)
    monkeypatch.setattr(moments, "WIDE", 8)
    space = label_coordinates(FactorModel.from_softmax(rows))
    np.testing.assert_array_equal(space.whitening, np.triu(space.whitening))
    z, other = space.of(np.arange(40))[:, :-1], axes.of(np.arange(40))[:, :-1]
    np.testing.assert_allclose(z.T @ z / 40, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(z @ z.T, other @ other.T, atol=1e-10, err_msg="but for a rotation they are the same")
    assert space.rank == axes.rank == 9


@pytest.mark.parametrize("twins", [None, [3, 5]])
@pytest.mark.parametrize("blocks", [9, 4])
def test_gaps_to_every_other_label_by_brute_force(monkeypatch, twins, blocks):
    parts = [slice(start, min(start + blocks, 9)) for start in range(0, 9, blocks)]
    monkeypatch.setattr("embaudit.softmax.coordinates.row_blocks", lambda *_: iter(parts))
    flags = None if twins is None else np.isin(np.arange(9), twins)
    field = _Field.of(replace(SPACE, twins=flags), MEMBERS)
    for inputs in (INPUTS, -INPUTS):
        check_gaps(_survey(field, inputs, 3), field, inputs, twins or ())


def check_gaps(found, field, inputs, twins):
    logits = SPACE.of(np.arange(9)) @ inputs.T
    for i, members in enumerate(MEMBERS):
        own = logits[members, i].min()
        others = [j for j in range(9) if j not in (*members, *twins)]
        gaps = {j: own - logits[j, i] for j in others}
        nearest = sorted(gaps, key=gaps.get)
        assert found.least[i] == pytest.approx(gaps[nearest[0]])
        assert found.largest[i] == pytest.approx(gaps[nearest[-1]])
        assert found.closest[i].tolist() == nearest[:3]
        slack = 4 * np.sqrt((SPACE.rank + 1) * 9) * abs(inputs[i] @ field.tie[i])
        assert found.slack[i] == pytest.approx(slack, abs=1e-12)


@pytest.fixture
def long_field(monkeypatch):
    """Contests of a head whose rows count as very long; the last two labels are almost the same."""
    rows = random_head(5, 60, 20).right.astype(np.float32)
    rows[59] = rows[58] * np.float32(1 + 1e-6)
    monkeypatch.setattr(coordinates, "WIDE", 19)
    return _Field.of(label_coordinates(FactorModel.from_softmax(rows)), np.array([[0, 0], [3, 3], [58, 58]]))


def test_lengths_that_are_known_are_not_computed_again(monkeypatch):
    head = random_head(5, 60, 20)
    longest = np.linalg.norm(head.right, axis=1).max()
    scaled = label_coordinates(head.replace(right=head.right * 1e120))
    assert scaled.lengths is None
    assert scaled.longest == pytest.approx(longest * 1e120 / (head.right[0, 0] * 1e120) * scaled.rows[0, 0])
    space = label_coordinates(head)
    monkeypatch.setattr(coordinates, "row_norms", None)
    assert space.longest == pytest.approx(longest, rel=1e-14)
    assert space.lengths is head.right_side.norms


def test_leaders_are_brought_to_coordinates_once(monkeypatch):
    asked = np.array([[0, 0], [3, 3], [4, 4]])
    field = _Field.of(SPACE, asked)
    assert field.ends[1] is field.ends[0]
    np.testing.assert_allclose(field.ends[0], SPACE.of(asked[:, 0]), rtol=1e-14)
    part = field.take(np.array([2, 0]))
    assert part.ends[1] is part.ends[0]
    assert part.ends[0].tolist() == field.ends[0][[2, 0]].tolist()
    both = FIELD.take(np.array([1]))
    for column, ends in enumerate(both.ends):
        np.testing.assert_allclose(ends, SPACE.of(MEMBERS[[1], column]), rtol=1e-12)
    point = field.untied(field.start)
    before, products = _survey(field, point, 2), []
    monkeypatch.setattr(LabelCoordinates, "of", None)
    monkeypatch.setattr(
        LabelCoordinates, "weights", lambda space, x, own=LabelCoordinates.weights: products.append(x) or own(space, x)
    )
    after = _survey(field, point, 2)
    assert after.least.tolist() == before.least.tolist()
    assert len(products) == 1


def test_quick_logits_are_off_by_no_more_than_their_slack(long_field):
    space, inputs = (
        long_field.space,
        np.random.default_rng(2).standard_normal((40, 21)) * 10.0 ** np.arange(-4, 4).repeat(5)[:, None],
    )
    quick, exact = (np.concatenate([z for _, z in space.logit_blocks(inputs, quick=quick)]) for quick in (True, False))
    off, slack = np.abs(quick - exact).max(axis=0), space.slack(space.weights(inputs))
    assert (off <= slack).all()
    assert (off > 0).all()
    assert (slack <= 1e3 * off).all()
    lengths = np.linalg.norm(space.rows.astype(float), axis=1)
    np.testing.assert_allclose(
        slack, 22 * 2.0**-24 * lengths.max() * np.linalg.norm(space.whitening @ inputs[:, :-1].T, axis=0)
    )
    assert not SPACE.is_long
    assert not SPACE.slack(SPACE.weights(INPUTS)).any()
    np.testing.assert_array_equal(
        *(np.concatenate([z for _, z in SPACE.logit_blocks(INPUTS, quick=q)]) for q in (True, False))
    )


def test_quick_gaps_are_the_least_they_may_be_and_doubtful_ones_are_found_again(long_field, monkeypatch):
    passes, real = [], contests._compared

    def noted(field, inputs, n, *, weights=None, quick=False):
        passes.append((quick, field.members[:, 0].tolist()))
        return real(field, inputs, n, weights=weights, quick=quick)

    monkeypatch.setattr(contests, "_compared", noted)
    point = long_field.start
    found, exact = _survey(long_field, point, 2), real(long_field, point, 2)
    assert passes == [(True, [0, 3, 58]), (False, [58])]
    off = long_field.space.slack(long_field.space.weights(point))
    gap = exact.least - found.least
    assert (gap[:2] > 0).all()
    assert (gap[:2] <= 2 * off[:2]).all()
    assert (found.largest[:2] > exact.largest[:2]).all()
    assert (found.lead[:2] < exact.lead[:2]).all()
    for name in ("least", "largest", "closest", "slack"):
        np.testing.assert_allclose(getattr(found, name)[2], getattr(exact, name)[2], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found.closest, exact.closest)


def test_a_lead_is_a_share_where_the_leaders_lead_by_more_than_slack():
    found = _Survey(
        np.array([1.0, 1.0, -1.0, 1.0]), np.array([4.0, 4.0, 4.0, np.inf]), None, np.array([0.0, 1.0, 0, 0])
    )
    assert found.lead.tolist() == [0.25, 0.0, 0.0, 0.0]
    assert _from_lead(np.array([0.0, 0.1, 0.2]), 0.1).tolist() == [OPEN, OPEN, YES]


def test_a_step_ends_where_the_way_to_the_worst_difference_is_nearest_to_the_origin():
    point, closest = FIELD.untied(FIELD.start), np.array([5, 5, 1])
    found = _gilbert(FIELD, point, closest)
    ends = FIELD.untied(FIELD.start - SPACE.of(closest))
    shares = np.linspace(0, 1, 20_001)[:, None]
    for i in range(3):
        way = (1 - shares) * point[i] + shares * ends[i]
        at = np.argmin((way**2).sum(axis=1))
        np.testing.assert_allclose(found[i], way[at], atol=1e-3)
        assert np.linalg.norm(found[i]) <= np.linalg.norm(way[at]) + 1e-12
    still = _gilbert(FIELD, ends, closest)
    np.testing.assert_allclose(still, ends)


def test_mixtures_are_of_other_labels_that_are_no_twins(monkeypatch):
    asked = []

    def are_mixtures(points, targets):
        asked.append((points, targets))
        return np.ones(len(targets), dtype=bool)

    monkeypatch.setattr(contests, "are_mixtures", are_mixtures)
    assert _are_inside(FIELD).all()
    # Only labels that stand in none of the contests: 1, 3, 4, 5, 6.
    np.testing.assert_allclose(asked[0][0], SPACE.of(np.array([1, 3, 4, 5, 6])))
    np.testing.assert_allclose(asked[0][1], FIELD.start)
    assert not _are_inside(_Field.of(SPACE, np.array([[0, 1], [2, 3], [4, 4]]))).any(), "four labels span no room"
    for mixed, cells in ((1, 9), (1, 2**24), (32, 9)):
        monkeypatch.setattr(contests, "MIXED", mixed)
        monkeypatch.setattr(contests, "MIXTURE_CELLS", cells)
        assert not _are_inside(FIELD).any(), "three of five labels are too few, by whichever bound"


def test_who_enters_a_program_first():
    point = FIELD.untied(FIELD.start)
    everyone = _first_entrants(FIELD, point, 100)
    assert [one.tolist() for one in everyone] == [sorted(set(range(9)) - set(pair)) for pair in MEMBERS.tolist()]
    few = _first_entrants(FIELD, point, 5)
    logits = SPACE.of(np.arange(9)) @ point.T
    for i, members in enumerate(MEMBERS):
        order = [j for j in np.argsort(-logits[:, i]) if j not in members]
        assert few[i].tolist() == sorted(order[:5])
    flags = np.isin(np.arange(9), [1])
    assert _competing(replace(SPACE, twins=flags), np.array([1, -1, 4])).tolist() == [4]
    assert _competing(SPACE, np.array([1, -1, 4])).tolist() == [1, 4]


def test_answers_are_those_of_one_program_each(monkeypatch):
    members = np.column_stack([np.arange(9), np.arange(9)])
    z = SPACE.of(np.arange(9))
    leads = [best_lead(z[i] - np.delete(z, i, axis=0), np.zeros(z.shape[1]))[0] for i in range(9)]
    found = hold(SPACE, members, title="")
    assert found.status.tolist() == [YES if lead > 1e-6 else NO for lead in leads]
    assert (found.lead <= np.array(leads) + 1e-9).all()
    assert ((found.lead > 0) == (found.status == YES)).all()
    monkeypatch.setattr(contests, "CHUNK", 4)
    assert hold(SPACE, members, title="").status.tolist() == found.status.tolist()
    monkeypatch.setattr(contests, "GILBERT_STEPS", 0)
    by_programs = hold(SPACE, members, title="")
    assert by_programs.status.tolist() == found.status.tolist()
    # Where not even one label fits into a program, what it would settle stays open.
    width = z.shape[1]
    for cells in (1, width - 1, width):
        few = hold(SPACE, members, title="", max_cells=cells)
        assert ((few.status == OPEN) | (few.status == found.status)).all()
        assert (few.status == OPEN).any()
    nobody = hold(SPACE, members[:0], title="")
    assert (nobody.status.shape, nobody.lead.shape) == ((0,), (0,))
    for margin in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="margin must be a share between 0 and 1; got"):
            hold(SPACE, members, title="", margin=margin)


def test_two_labels_that_are_all_there_are_lead_tied():
    space = label_coordinates(random_head(0, 2, 1))
    found = hold(space, np.array([[0, 1], [0, 0]])[:1], title="")
    assert (found.status.tolist(), found.lead.tolist()) == ([YES], [1.0])


@pytest.mark.parametrize("others", [0, 1])
def test_leaders_that_nobody_is_left_to_beat_lead_fully(monkeypatch, others):
    asked = []
    monkeypatch.setattr(contests, "_rounds", lambda *given: asked.append(given) or iter(()))
    twins = np.ones(9, dtype=np.bool_)
    twins[[0, 3, *range(5, 5 + others)]] = False
    found = hold(replace(SPACE, twins=twins), np.array([[0, 3], [3, 0]]), title="")
    assert len(asked) == others
    assert found.status.tolist() == [OPEN if others else YES] * 2
    assert found.lead.tolist() == [1.0 - others] * 2
