"""What is told of what a head pins down, and how its panel, inputs and shifts are made."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.ranges import shift_to_reach
from embaudit.softmax import argmaxable, label_combinations, projector_cosines
from embaudit.softmax.panel import LOGIT_SPREAD, make_panel, only_labels, probe_inputs
from embaudit.softmax.shifts import panel_pairs, shift_summaries

CORNERS = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]], labels=list("abcd"))
DRAW = np.random.default_rng(0)


def test_labels_that_can_lead_in_words_and_numbers():
    found = argmaxable(CORNERS)
    assert found.explain() == "Of 4 labels, 3 can be the most probable one, 1 hardly can."
    counts = {"n_labels": 4, "n_asked": 4, "n_can": 3, "n_tied": 0, "n_cannot": 1, "n_undecided": 0}
    assert found.to_dict() == {**counts, "cannot": ["d"]}
    frame = found.to_frame()
    assert frame["argmaxable"].tolist() == ["yes", "yes", "yes", "no"]
    assert (frame["lead"] > 0).tolist() == [True, True, True, False]
    some = argmaxable(
        FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1], [1.0, 0.0]]), rows=[0, 3]
    )
    assert "1 hardly can, 1 only together with an equal one" in some.explain()
    assert some.to_frame()["argmaxable"].tolist() == ["tied", "no"]


def test_a_label_ahead_by_less_than_the_margin_can_hardly_lead():
    """Some input does make it the most probable one, so that "cannot" would be false."""
    square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    for beyond, words in ((1e-7, "4 can be the most probable one, 1 hardly can"), (1e-3, "5 can be the most")):
        labels = np.vstack([square, np.full(2, 0.5 + beyond)])
        assert (labels @ [1.0, 1.0]).argmax() == 4
        found = argmaxable(FactorModel.from_softmax(labels)).explain()
        assert words in found
        assert "cannot" not in found


@pytest.mark.parametrize(
    ("rows", "degenerate", "thin", "typical", "said"),
    [
        ([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]], False, False, 1 / 3, ""),
        ([[3.0, 1.0], [0.0, 2.0], [-1.0, 5.0]], True, True, 1 / 4, "they say nothing about this head"),
        ([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.5]], False, True, 1 / 6, "nearly fill"),
    ],
)
def test_projector_cosines_in_words_and_numbers(rows, degenerate, thin, typical, said):
    found = projector_cosines(FactorModel.from_softmax(rows), pairs=[[0, 1]])
    told = found.to_dict()
    assert (told["n_labels"], told["rank"]) == np.shape(rows)
    assert (told["degenerate"], told["thin"], bool(told["warning"])) == (degenerate, thin, bool(said))
    assert (told["labels_per_dimension"], told["typical"]) == pytest.approx((len(rows) / len(rows[0]), typical**0.5))
    x = np.array(rows) - np.mean(rows, axis=0)
    hat = x @ np.linalg.pinv(x)
    cosine = hat[0, 1] / np.sqrt(hat[0, 0] * hat[1, 1])
    assert found.cosines[0] == pytest.approx(cosine)
    assert f"{abs(cosine):.3f} on average in size; even shares would give {typical**0.5:.3f}" in found.explain()
    assert said in found.explain()
    assert found.to_frame().to_dict("records") == [{"first": 0, "second": 1, "cosine": found.cosines[0]}]


def test_combinations_in_words_and_in_order():
    found = label_combinations(FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], labels=list("xyz")))
    assert found.explain() == "Some input gives 6 of the 8 combinations of 3 labels."
    assert found.to_dict() == {"labels": ["x", "y", "z"], "n_feasible": 6, "n_all": 8}
    assert found.on.astype(int).tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    with pytest.raises(InputError, match="must be at most 5; got more after 3 of 4 labels; ask for fewer labels or"):
        label_combinations(CORNERS, max_combinations=5)


def test_inputs_spread_the_logits_of_a_typical_label():
    head = FactorModel.from_softmax(DRAW.standard_normal((50, 4)) * 7 + 3)
    inputs = probe_inputs(head, 40_000, rng=0)
    assert inputs.shape == (40_000, 4)
    logits = (head.right - head.right.mean(axis=0)) @ inputs.T
    assert np.sqrt((logits**2).mean()) == pytest.approx(LOGIT_SPREAD, rel=0.02)
    distance = np.sqrt(((head.right - head.right.mean(axis=0)) ** 2).sum(axis=1).mean())
    wanted = LOGIT_SPREAD / distance * np.random.default_rng(0).standard_normal((3, 4))
    np.testing.assert_allclose(probe_inputs(head, 3, rng=0), wanted)
    assert probe_inputs(head).shape == (256, 4)
    with pytest.raises(InputError, match=r"^n must be an integer from 1 to 100000000; got 100000001\.$"):
        probe_inputs(head, 100_000_001)
    assert LOGIT_SPREAD == 4.0


def test_a_panel_takes_labels_with_a_direction():
    rows = DRAW.standard_normal((12, 3))
    rows[3] = 0
    rows[7] = 0
    rows[7] = rows.sum(axis=0) / 11  # the mean of all twelve
    head = FactorModel.from_softmax(rows)
    whole = make_panel(head, 20, np.random.default_rng(0))
    assert whole.labels.tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert (whole.n_labels, whole.n_zero, whole.is_sample) == (12, 2, False)
    assert whole.median_norm == pytest.approx(np.median(np.linalg.norm(rows, axis=1)))
    np.testing.assert_allclose(whole.mean, rows.mean(axis=0))
    some = make_panel(head, 4, np.random.default_rng(0), include=(9, 11))
    assert {9, 11} <= set(some.labels.tolist())
    assert 4 <= len(some.labels) <= 6
    assert some.is_sample
    assert some.model.names("right").tolist() == some.labels.tolist()
    assert some.place((11, 9)) == (len(some.labels) - 1, some.labels.tolist().index(9))
    with pytest.raises(InputError, match="pair must be two different labels; got label 9 twice"):
        some.place((9, 9))
    for bad in ((3, 1), (7, 1), (12, 1), (1,), (1.0, 2.0)):
        with pytest.raises(InputError, match=r"^pair must be "):
            make_panel(head, 4, np.random.default_rng(0), include=bad)
    assert only_labels(head, np.arange(12)) is head
    with pytest.raises(InputError, match="a head of two labels must be one of two rows with a direction"):
        make_panel(FactorModel.from_softmax([[1.0, 0.0], [0.0, 0.0]]), 4, np.random.default_rng(0))


def test_shifts_of_pairs_are_counted_ranked_and_measured_in_median_lengths():
    rows = DRAW.standard_normal((8, 3)) + 1
    rows[5] = rows[2]
    panel = make_panel(FactorModel.from_softmax(rows, labels=list("abcdefgh")), 20, np.random.default_rng(0))
    pairs, exact = panel_pairs(panel, 28, np.random.default_rng(0))
    assert (len(pairs), exact) == (28, True)
    drawn, some = panel_pairs(panel, 27, np.random.default_rng(0))
    assert (len(drawn), some) == (27, False)
    summaries = shift_summaries(panel, pairs, exact=exact)
    assert [one.target for one in summaries] == [0.0, -1.0, 1.0]
    median = np.median(np.linalg.norm(rows, axis=1))
    for one in summaries:
        wanted = np.array([shift_to_reach(rows[i], rows[j], one.target) for i, j in pairs]) / median
        reached = np.sort(wanted[np.isfinite(wanted)])
        assert one.n_pairs == len(reached)
        assert one.n_fixed == (0 if one.target == 1 else 1), "equal rows stay at a cosine of 1"
        assert one.quantiles == pytest.approx({q: np.quantile(reached, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)})
        assert one.within_one == pytest.approx((reached <= 1).mean())
        assert [pair.shift for pair in one.easiest] == pytest.approx(reached[:5])
        assert [pair.shift for pair in one.hardest] == pytest.approx(reached[::-1][:5])
        first = one.hardest[0]
        i, j = ("abcdefgh".index(name) for name in first.names)
        cosine = rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j])
        assert first.cosine == pytest.approx(cosine)
    line = make_panel(FactorModel.from_softmax([[1.0], [2.0], [4.0]]), 9, np.random.default_rng(0))
    assert shift_summaries(line, np.array([[0, 1]]), exact=True) == ()
    alike = shift_summaries(panel, np.array([[2, 5]]), exact=True)
    assert [(one.n_pairs, one.n_fixed, one.within_one, one.quantiles) for one in alike[:2]] == [(0, 1, 0.0, {})] * 2
