"""What is said of a comparison, word by word, with numbers made by hand on both sides of every threshold."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from reading import too_long
from scipy.stats import t

from embaudit.comparison import Agreement, Comparison, Match, RoleChange
from embaudit.comparison.rounded import Rounded
from embaudit.errors import InputError
from embaudit.report.comparison import summary_grid

M = 8
AGREEMENT = Agreement(
    n_rows=5, n_columns=6, score_correlation=0.51234, top_n=10, ranking_overlap=0.43, score_distance=0.7,
    difference_distance=0.0456, kl_divergence=None, predicts=("scores", "scores"), same=False,
)  # fmt: skip
SAME = replace(AGREEMENT, same=True)
LOOK_AT_PREDICTIONS = "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`), which no gauge"


def replicates(value, margin):
    """Two replicates around a value, from which a jackknife makes a margin."""
    return value + np.array([1, -1]) * margin / t.ppf(0.975, 1)


def changed(*, total=0.0, gauge=0.0, unseen=0.0, remainder=0.0, kept=10, lost=(0, 0, 0), margin=0.0, match=None):
    """A side of eight entities, each changed alike; `lost` counts neighbours lost to gauge, unseen and rest."""
    parts = {"total": total, "gauge": gauge, "unseen": unseen, "remainder": remainder}
    counts = dict(zip(("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning"), (kept, *lost), strict=True))
    shares = {name: count / sum(counts.values()) for name, count in counts.items()}
    return RoleChange(
        role="right",
        match=match or Match("right", np.arange(M), np.arange(M), np.array([f"i{j}" for j in range(M)]), 0, 0, True),
        unexplained={"rotation": 0.5, "linear": 0.25},
        **{name: np.full(M, value) for name, value in parts.items()},
        correlation=0.8766,
        gauged_correlation=0.9877,
        n_neighbours=10,
        searched=np.arange(M),
        **{name: np.full(M, count) for name, count in counts.items()},
        replicates={name: replicates(value, margin) for name, value in (parts | shares).items()},
        halvings={name: np.array([value]) for name, value in (parts | shares).items()},
    )


def comparison(right=None, *, agreement=AGREEMENT, group="linear", fits=False, **sides):
    return Comparison(("user", "item"), {"right": right, **sides} if right else sides, agreement, group, 3.456, fits)


GAUGE, UNSEEN = "0.10 is the work of a general linear change", "0.20 comes from dimensions that no prediction sees"


@pytest.mark.parametrize(
    ("parts", "said", "unsaid"),
    [
        ({"gauge": 0.005}, ["0.01 (0.00 to 0.01) is the work of"], ["no gauge explains", "remains"]),
        ({"gauge": 0.00499}, ["and no gauge explains it"], ["work of"]),
        ({"unseen": 0.005}, ["0.01 (0.00 to 0.01) comes from dimensions that no prediction sees"], ["work of"]),
        ({"unseen": 0.00499}, ["and no gauge explains it"], ["dimensions"]),
        ({"remainder": 0.3}, ["and no gauge explains it"], ["remains"]),
        ({"gauge": 0.1, "remainder": 0.005}, [GAUGE, "0.01 (0.00 to 0.01) remains"], ["no gauge explains"]),
        ({"gauge": 0.1, "remainder": 0.00499}, [GAUGE], ["remains"]),
        ({"gauge": 0.1, "unseen": 0.2, "remainder": 0.3}, [GAUGE, UNSEEN, "0.30 remains"], []),
    ],
)
def test_the_parts_of_a_change(parts, said, unsaid):
    margin = 0.004 if 0.005 in parts.values() else 0
    text = comparison(changed(total=0.6, margin=margin, **parts)).explain()
    assert "The items' cosines differ by 0.60 on average" in text
    assert [part for part in said if part not in text] == [part for part in unsaid if part in text] == []
    assert too_long(text) == []


@pytest.mark.parametrize(
    ("lost", "agreement", "said"),
    [
        ((0, 0, 0), AGREEMENT, ""),
        ((10, 0, 0), AGREEMENT, "50 % changed, because of the gauge."),
        ((10, 0, 0), None, "50 % changed, as a gauge could do."),
        ((0, 10, 0), None, "50 % changed, because of dimensions that no prediction sees."),
        ((0, 0, 10), AGREEMENT, "50 % changed."),
        ((5, 3, 2), AGREEMENT, "50 % changed: 25 % because of the gauge, 15 % because of dimensions"),
        ((5, 0, 5), None, "50 % changed: 25 % as a gauge could do, 25 % otherwise."),
    ],
)
def test_why_neighbours_are_gone(lost, agreement, said):
    text = comparison(changed(total=0.5, lost=lost), agreement=agreement).explain()
    # A sentence must not deny the gauge that the next one names.
    assert ("no gauge explains it" in text) == (not lost[0])
    assert said in text
    assert said or "nearest" not in text


@pytest.mark.parametrize(
    ("agreement", "fits", "total", "unseen", "said"),
    [
        (SAME, True, 0.0099, 0.0, "Nothing to do"),
        (SAME, False, 0.0099, 0.0, "Nothing to do"),
        (SAME, True, 0.01, 0.00499, "The models are the same up to that gauge. Compare"),
        (SAME, True, 0.01, 0.005, "The models are the same up to that gauge and dimensions that no prediction sees."),
        (SAME, False, 0.01, 0.0, "No prediction asks for what differs in the cosines"),
        (AGREEMENT, True, 0.01, 0.0, "Their factors agree up to that gauge and their predictions do not"),
        (AGREEMENT, False, 0.0099, 0.0, "Their cosines agree and their predictions do not"),
        (AGREEMENT, False, 0.01, 0.0, LOOK_AT_PREDICTIONS),
    ],
)
def test_what_to_do_next(agreement, fits, total, unseen, said):
    found = comparison(changed(total=total, unseen=unseen), agreement=agreement, fits=fits)
    assert said in found.explain()
    assert found.explained == (fits and agreement.same)


def test_what_the_models_predict_and_who_is_compared():
    said = comparison(changed()).explain()
    assert said.startswith("Compared: 8 items, matched by their ids. Their scores correlate by 0.512 within a row")
    assert "43 % of their top 10 are shared" in said
    assert "two models predict the same" in comparison(changed(total=9e-7), agreement=SAME).explain()
    other = comparison(changed(), agreement=replace(AGREEMENT, predicts=("scores", "rankings"))).explain()
    assert "The first model predicts scores, the second rankings." in other
    divergent = comparison(changed(), agreement=replace(AGREEMENT, kl_divergence=0.0123)).explain()
    assert "KL divergence 0.012, distance of log-probability differences 0.046 of their size" in divergent
    assert ("proves little" in divergent, AGREEMENT.kl_warning) == (True, "")
    rows = np.arange(M)
    for before, after, by_ids, said in (
        (1234, 0, True, "1,234 items only in the first model and 0 only in the second were left out."),
        (0, 5678, True, "0 items only in the first model and 5,678 only in the second were left out."),
        (0, 0, False, "Compared: 8 items, matched by the order of their rows, and 8 users, matched by their ids."),
    ):
        right = changed(match=Match("right", rows, rows, rows, before, after, by_ids))
        left = changed(match=Match("left", rows, rows, rows, 0, 0, True))
        assert said in comparison(right, left=left).explain()


def test_the_record_of_a_side():
    match = Match("right", np.arange(M), np.arange(M), np.arange(M), 3, 4, True)
    right = changed(total=0.6, gauge=0.1, unseen=0.2, remainder=0.3, lost=(5, 3, 2), margin=0.02, match=match)
    right = replace(
        right,
        predicted_kept=0.75,
        n_displaced=3,
        replicates=right.replicates | {"predicted_kept": replicates(0.75, 0.02)},
        halvings=right.halvings | {"predicted_kept": np.array([0.75])},
    )
    found = comparison(right)
    (record,) = found.to_frame().to_dict("records")
    expected = {
        "role": "right", "shared": 8, "only_before": 3, "only_after": 4, "mean_abs_change": 0.6, "mean_abs_gauge": 0.1,
        "mean_abs_unseen": 0.2, "mean_abs_remainder": 0.3, "pearson": 0.8766, "pearson_without_gauge": 0.9877,
        "n_neighbours": 10, "kept": 0.5, "lost_to_gauge": 0.25, "lost_to_unseen": 0.15, "lost_to_learning": 0.1,
        "predicted_kept": 0.75, "n_displaced": 3,
        "unexplained_rotation": 0.5, "unexplained_linear": 0.25,
    }  # fmt: skip
    for name in ("change", "gauge", "unseen", "remainder"):
        value = expected[f"mean_abs_{name}"]
        expected |= {f"mean_abs_{name}_ci_low": value - 0.02, f"mean_abs_{name}_ci_high": value + 0.02}
    for name in ("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning", "predicted_kept"):
        expected |= {f"{name}_ci_low": expected[name] - 0.02, f"{name}_ci_high": expected[name] + 0.02}
    assert set(record) == set(expected)
    assert {name: value for name, value in record.items() if name != "role"} == pytest.approx(
        {name: value for name, value in expected.items() if name != "role"}
    )
    told = found.to_dict()
    assert (told["group"], told["condition_number"], told["fits"], told["explained"]) == ("linear", 3.456, False, False)
    assert told["changes"] == [record]
    assert told["explanation"] == found.explain()
    assert told["agreement"]["top_n"] == 10
    assert told["agreement"]["kl_warning"] == ""
    assert told["moved_most"]["right"][0] == pytest.approx(
        {"name": "0", "total": 0.6, "gauge": 0.1, "unseen": 0.2, "remainder": 0.3}
    )
    assert comparison(right, agreement=None).to_dict()["agreement"] is None


def test_intervals_stay_within_what_is_possible():
    found = changed(total=1.9, gauge=0.01, kept=1, lost=(9, 0, 0), margin=0.95)
    assert found.interval("total") == pytest.approx((0.95, 2))
    assert found.interval("gauge") == pytest.approx((0, 0.96))
    assert found.interval("kept") == pytest.approx((0, 1))
    assert found.interval("lost_to_gauge") == pytest.approx((0, 1))
    nobody = replace(found, kept=np.zeros(M), lost_to_gauge=np.zeros(M))
    assert nobody.neighbour_shares == dict.fromkeys(found.neighbour_shares, 0)
    assert replace(nobody, kept=np.arange(M) == 1).neighbour_shares["kept"] == 1


def test_those_that_moved_most_come_first_and_those_that_stayed_not_at_all():
    right = replace(changed(), total=np.array([0.1, 0.5, 1e-6, 1.1e-6, np.nan, 0.5, 0.2, 0.0]))
    found = comparison(right)
    assert found.moved_most("right")["name"].tolist() == ["i1", "i5", "i6", "i0", "i3"]
    assert found.moved_most("right", 2)["name"].tolist() == ["i1", "i5"]
    pd.testing.assert_frame_equal(found.moved_most(), found.moved_most("right", 10))
    assert signature(found.moved_most).parameters["n"].default == 10
    many = Match("right", np.arange(M), np.arange(M), np.repeat("a", M), 0, 0, True)
    assert len(comparison(changed(total=0.3, match=many)).moved_most()) == M
    assert right.mean_total == pytest.approx(np.nanmean(right.total))
    with pytest.raises(InputError, match="role must be one of right; got 'left'"):
        found.moved_most("left")


def test_rows_of_the_table_that_say_nothing_are_left_out():
    def rows(**fields):
        return dict(summary_grid(comparison(changed(**fields))).rows)

    always = {
        "shared", "mean change of cosines", "by the gauge", "remains", "correlation of cosines",
        "correlation without the gauge", "10 nearest kept", "lost to the gauge", "lost otherwise",
    }  # fmt: skip
    assert set(rows(total=0.6)) == always
    match = Match("right", np.arange(M), np.arange(M), np.arange(M), 1234, 0, True)
    assert set(rows(total=0.6, match=match)) - always == {"only in the first model"}
    match = replace(match, only_before=0, only_after=1)
    assert set(rows(total=0.6, match=match)) - always == {"only in the second model"}
    assert rows(total=0.6, unseen=0.2)["by dimensions no prediction sees"] == "0.200"
    assert rows(total=0.6, lost=(0, 10, 0))["lost to dimensions no prediction sees"] == "50 %"
    uncertain = rows(total=0.6, gauge=0.02, margin=0.03)
    assert uncertain["mean change of cosines"] == "0.600 (0.570 to 0.630)"
    assert uncertain["by the gauge"] == "0.020 (0.000 to 0.050)"
    assert uncertain["10 nearest kept"] == "100 % (97 % to 100 %)"
    assert rows(total=0.6, margin=0.00049)["mean change of cosines"] == "0.600"
    assert [bool(summary_grid(comparison(changed(margin=margin))).note) for margin in (0.03, 0.0)] == [True, False]


EIGHT = Rounded(("", "Q8_0"), beyond=0.0, largest=0.5, condition_number=1.0)


@pytest.mark.parametrize(
    ("found", "said", "explains"),
    [
        (EIGHT, "The second model is rounded to Q8_0. No number is further than one step", True),
        (replace(EIGHT, kinds=("Q4_0", "")), "The first model is rounded to Q4_0. No number", True),
        (replace(EIGHT, kinds=("F16", "Q8_0")), "first model and the second model are rounded to F16 and Q8_0.", True),
        (replace(EIGHT, condition_number=1.01), "to Q8_0. No number", True),
        (replace(EIGHT, condition_number=1.011), "Once the final norms are folded in, no number", True),
        (replace(EIGHT, largest=0.0), "which moved none of the numbers", False),
        (replace(EIGHT, beyond=0.25, largest=7.0), "25 % of the numbers are further than one step", False),
        (replace(EIGHT, beyond=0.25, largest=7.0, condition_number=2.0), "are folded in, 25 % of the numbers", False),
    ],
)
def test_what_rounding_explains(found, said, explains):
    text = replace(comparison(changed(total=0.2, remainder=0.2, lost=(0, 0, 5))), rounded=found).explain()
    assert said in text
    assert ("33 % changed, as rounding does." in text) == explains
    assert ("No gauge undoes rounding" in text) == explains
    assert too_long(text) == []


def test_heads_without_inputs_are_given_random_states():
    found = replace(comparison(changed(total=0.2, remainder=0.2)), n_states=1000)
    text = found.explain()
    assert "Predictions are compared for 5 random states, each brought through the final norm" in text
    assert "`embaudit fix MODEL --as folded-centred`" in text
    assert "random states" not in replace(found, agreement=None).explain()
    same = replace(comparison(changed(total=0.2, gauge=0.2), agreement=SAME, fits=True), n_states=1000).explain()
    assert "same up to that gauge. Compare and index them by `embaudit fix MODEL --as folded-centred`" in same
    assert too_long(f"{text} {same}") == []
