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
from embaudit.report.comparison import comparison_content, moved_grid, summary_grid

M = 8
AGREEMENT = Agreement(
    n_rows=5, n_columns=6, score_correlation=0.51234, top_n=10, ranking_overlap=0.43, score_distance=0.7,
    difference_distance=0.0456, kl_divergence=None, predicts=("scores", "scores"), same=False,
)  # fmt: skip
SAME = replace(AGREEMENT, same=True)
LOOK_AT_PREDICTIONS = (
    "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`), which no gauge moves. What differs "
    "there was learned, and is not a matter of coordinates."
)


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


def test_one_prediction_and_one_cosine_need_nothing():
    assert comparison(changed(total=9e-7), agreement=SAME).explain() == (
        "Compared: 8 items, matched by their ids. The two models predict the same. The items' cosines are the same. "
        "Nothing to do: whoever used the one can use the other."
    )


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"gauge": 0.005}, ". Of that, 0.01 (0.00 to 0.01) is the work of {gauge}."),
        ({"gauge": 0.00499}, ", and no gauge explains it."),
        ({"unseen": 0.005}, ". Of that, 0.01 (0.00 to 0.01) comes from dimensions that no prediction sees."),
        ({"unseen": 0.00499}, ", and no gauge explains it."),
        ({"remainder": 0.3}, ", and no gauge explains it."),
        (
            {"gauge": 0.1, "remainder": 0.006},
            ". Of that, 0.10 is the work of {gauge}. 0.01 (0.00 to 0.01) remains, "
            "on items that were not used to find it.",
        ),
        (
            {"gauge": 0.1, "remainder": 0.005},
            ". Of that, 0.10 is the work of {gauge}. 0.01 (0.00 to 0.01) remains, "
            "on items that were not used to find it.",
        ),
        ({"gauge": 0.1, "remainder": 0.00499}, ". Of that, 0.10 is the work of {gauge}."),
        (
            {"gauge": 0.1, "unseen": 0.2, "remainder": 0.3},
            ". Of that, 0.10 is the work of {gauge}. 0.20 comes from dimensions that no prediction sees. "
            "0.30 remains, on items that were not used to find it.",
        ),
    ],
)
def test_the_parts_of_a_change(parts, said):
    gauge = "a general linear change of the coordinates (condition number 3.46)"
    margin = 0.004 if any(value in (0.005, 0.006) for value in parts.values()) else 0
    text = comparison(changed(total=0.6, margin=margin, **parts)).explain()
    assert f"The items' cosines differ by 0.60 on average{said.format(gauge=gauge)} " in text
    assert too_long(text) == []


@pytest.mark.parametrize(
    ("lost", "agreement", "said"),
    [
        ((0, 0, 0), AGREEMENT, ""),
        ((10, 0, 0), AGREEMENT, " Of 10 nearest items, 50 % changed, because of the gauge."),
        ((10, 0, 0), None, " Of 10 nearest items, 50 % changed, as a gauge could do."),
        ((0, 10, 0), None, " Of 10 nearest items, 50 % changed, because of dimensions that no prediction sees."),
        ((0, 0, 10), AGREEMENT, " Of 10 nearest items, 50 % changed, because the second model learned something else."),
        ((0, 0, 10), SAME, " Of 10 nearest items, 50 % changed."),
        ((0, 0, 10), None, " Of 10 nearest items, 50 % changed."),
        (
            (5, 3, 2),
            AGREEMENT,
            " Of 10 nearest items, 50 % changed: 25 % because of the gauge, 15 % because of dimensions that no "
            "prediction sees, 10 % because the second model learned something else.",
        ),
        ((5, 0, 5), None, " Of 10 nearest items, 50 % changed: 25 % as a gauge could do, 25 % otherwise."),
    ],
)
def test_why_neighbours_are_gone(lost, agreement, said):
    text = comparison(changed(total=0.5, lost=lost), agreement=agreement).explain()
    # A sentence must not deny the gauge that the next one names.
    cause = ", of which a gauge explains less than 0.01." if lost[0] else ", and no gauge explains it."
    rest = text[text.index(cause) + len(cause) :]
    assert ("no gauge explains" in text) == (not lost[0])
    assert rest.startswith(said)
    assert said or "nearest" not in text
    assert rest[len(said) :][:1] == " "


def test_what_the_models_predict():
    compared = "Compared: 8 items, matched by their ids. "
    beginning = "Their scores correlate by 0.512 within a row, and 43 % of their top 10 are shared. The items'"
    assert comparison(changed()).explain().startswith(compared + beginning)
    other = replace(AGREEMENT, predicts=("scores", "rankings"))
    start = f"{compared}The first model predicts scores, the second rankings. {beginning}"
    assert comparison(changed(), agreement=other).explain().startswith(start)
    divergent = replace(AGREEMENT, kl_divergence=0.0123)
    assert (
        "are shared. KL divergence 0.012, distance of log-probability differences 0.046 of their size. A small KL "
        "divergence proves little, as the few probable labels decide it. Two models can be close in it and far "
        "apart in their vectors. The distance of log-probability differences weighs all labels. The items'"
    ) in comparison(changed(), agreement=divergent).explain()
    assert AGREEMENT.kl_warning == ""


@pytest.mark.parametrize(
    ("agreement", "fits", "total", "unseen", "said"),
    [
        (SAME, True, 0.0099, 0.0, "Nothing to do: whoever used the one can use the other."),
        (SAME, False, 0.0099, 0.0, "Nothing to do: whoever used the one can use the other."),
        (
            SAME, True, 0.01, 0.00499,
            "The models are the same up to that gauge. Compare and index them by `embaudit fix MODEL --as prediction`, "
            "which gives both the same cosines.",
        ),
        (
            SAME, True, 0.01, 0.005,
            "The models are the same up to that gauge and dimensions that no prediction sees. Compare and index them "
            "by `embaudit fix MODEL --as prediction`, which gives both the same cosines.",
        ),
        (
            SAME, False, 0.01, 0.0,
            "No prediction asks for what differs in the cosines: compare what the models predict.",
        ),
        (
            AGREEMENT, True, 0.01, 0.0,
            "Their factors agree up to that gauge and their predictions do not: no cosine shows biases, an offset, "
            "lengths or what is made of the scores. Compare what the models predict.",
        ),
        (
            AGREEMENT, False, 0.0099, 0.0,
            "Their cosines agree and their predictions do not: no cosine shows biases, an offset, lengths or what is "
            "made of the scores. Compare what the models predict.",
        ),
        (AGREEMENT, False, 0.01, 0.0, LOOK_AT_PREDICTIONS),
    ],
)  # fmt: skip
def test_what_to_do_next(agreement, fits, total, unseen, said):
    found = comparison(changed(total=total, unseen=unseen), agreement=agreement, fits=fits)
    assert found.explain().endswith(f". {said}")
    assert found.explained == (fits and agreement.same)


def test_who_was_left_out_and_how_rows_were_matched():
    def shared(before=0, after=0, by_ids=True, others_by_ids=True):
        rows = np.arange(M)
        right = changed(match=Match("right", rows, rows, rows, before, after, by_ids))
        left = changed(match=Match("left", rows, rows, rows, 0, 0, others_by_ids))
        return comparison(right, left=left, agreement=SAME).explain()

    sides, predicted = "Compared: 8 items and 8 users, matched by their ids.", " The two models predict the same."
    left_out = " {} items only in the first model and {} only in the second were left out."
    order = "matched by the order of their rows"
    assert shared().startswith(f"{sides}{predicted}")
    assert shared(1234).startswith(f"{sides}{left_out.format('1,234', 0)}{predicted}")
    assert shared(0, 5678).startswith(f"{sides}{left_out.format(0, '5,678')}{predicted}")
    assert shared(by_ids=False, others_by_ids=False).startswith(f"Compared: 8 items and 8 users, {order}.{predicted}")
    assert shared(by_ids=False).startswith(f"Compared: 8 items, {order}, and 8 users, matched by their ids.{predicted}")
    assert shared(others_by_ids=False).startswith(f"Compared: 8 items, matched by their ids, and 8 users, {order}.")


def test_a_comparison_in_one_line():
    found = comparison(changed(total=0.1234, remainder=0.0456), left=changed(total=0.5))
    assert repr(found) == (
        "Comparison(linear gauge of condition 3.456; item cosines moved 0.123 (0.046 beyond the gauge), "
        "user cosines moved 0.500 (0.000 beyond the gauge))"
    )
    assert (found.title("left"), found.title("right")) == ("user", "item")


def test_the_record_of_a_side():
    match = Match("right", np.arange(M), np.arange(M), np.arange(M), 3, 4, True)
    right = changed(total=0.6, gauge=0.1, unseen=0.2, remainder=0.3, lost=(5, 3, 2), margin=0.02, match=match)
    found = comparison(right)
    (record,) = found.to_frame().to_dict("records")
    expected = {
        "role": "right", "shared": 8, "only_before": 3, "only_after": 4, "mean_abs_change": 0.6, "mean_abs_gauge": 0.1,
        "mean_abs_unseen": 0.2, "mean_abs_remainder": 0.3, "pearson": 0.8766, "pearson_without_gauge": 0.9877,
        "n_neighbours": 10, "kept": 0.5, "lost_to_gauge": 0.25, "lost_to_unseen": 0.15, "lost_to_learning": 0.1,
        "unexplained_rotation": 0.5, "unexplained_linear": 0.25,
    }  # fmt: skip
    for name in ("change", "gauge", "unseen", "remainder"):
        value = expected[f"mean_abs_{name}"]
        expected |= {f"mean_abs_{name}_ci_low": value - 0.02, f"mean_abs_{name}_ci_high": value + 0.02}
    for name in ("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning"):
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
        "shared": "8",
        "mean change of cosines": "0.600",
        "by the gauge": "0.000",
        "remains": "0.000",
        "correlation of cosines": "0.877",
        "correlation without the gauge": "0.988",
        "10 nearest kept": "100 %",
        "lost to the gauge": "0 %",
        "lost otherwise": "0 %",
    }
    assert rows(total=0.6) == always
    match = Match("right", np.arange(M), np.arange(M), np.arange(M), 1234, 0, True)
    assert rows(total=0.6, match=match) == always | {"only in the first model": "1,234"}
    match = replace(match, only_before=0, only_after=1)
    assert rows(total=0.6, match=match) == always | {"only in the second model": "1"}
    assert rows(total=0.6, unseen=0.2) == always | {"by dimensions no prediction sees": "0.200"}
    lost = {"10 nearest kept": "50 %", "lost to dimensions no prediction sees": "50 %"}
    assert rows(total=0.6, lost=(0, 10, 0)) == always | lost
    uncertain = rows(total=0.6, gauge=0.02, margin=0.03)
    assert uncertain["mean change of cosines"] == "0.600 (0.570 to 0.630)"
    assert uncertain["by the gauge"] == "0.020 (0.000 to 0.050)"
    assert uncertain["10 nearest kept"] == "100 % (97 % to 100 %)"
    assert uncertain["correlation of cosines"] == "0.877"
    assert rows(total=0.6, margin=0.00049)["mean change of cosines"] == "0.600"
    assert summary_grid(comparison(changed(margin=0.03))).note == "95 % intervals in brackets"
    assert summary_grid(comparison(changed())).note == ""
    content = comparison_content(comparison(changed()))
    assert [part if isinstance(part, str) else part.title for part in content.parts] == [
        comparison(changed()).explain(),
        "what changed",
    ]
    assert moved_grid(comparison(changed(total=0.6, unseen=0.2)), "right").headings == (
        "item", "mean change", "by the gauge", "by unseen dimensions", "remains",
    )  # fmt: skip


EIGHT = Rounded(("", "Q8_0"), beyond=0.0, largest=0.5, condition_number=1.0)
ONE_STEP = "number is further than one step from its counterpart. So rounding can explain all that no gauge does."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (EIGHT, f"The second model is rounded to Q8_0. No {ONE_STEP}"),
        (replace(EIGHT, kinds=("Q4_0", "")), f"The first model is rounded to Q4_0. No {ONE_STEP}"),
        (
            replace(EIGHT, kinds=("F16", "F16")),
            f"The first model and the second model are rounded to F16. No {ONE_STEP}",
        ),
        (
            replace(EIGHT, kinds=("F16", "Q8_0")),
            f"The first model and the second model are rounded to F16 and Q8_0. No {ONE_STEP}",
        ),
        (replace(EIGHT, condition_number=1.01), f"to Q8_0. No {ONE_STEP}"),
        (replace(EIGHT, condition_number=1.011), f"to Q8_0. Once the final norms are folded in, no {ONE_STEP}"),
        (replace(EIGHT, largest=0.0), "The second model is rounded to Q8_0, which moved none of the numbers."),
        (
            replace(EIGHT, beyond=0.25, largest=7.0),
            "to Q8_0. 25 % of the numbers are further than one step from their counterparts. So rounding alone does "
            "not explain the change.",
        ),
        (
            replace(EIGHT, beyond=0.25, largest=7.0, condition_number=2.0),
            "to Q8_0. Once the final norms are folded in, 25 % of the numbers are further than one step from their "
            "counterparts. So rounding alone does not explain the change.",
        ),
    ],
)
def test_what_rounding_explains(found, said):
    text = replace(comparison(changed(total=0.2, remainder=0.2, lost=(0, 0, 5))), rounded=found).explain()
    assert f"{said} The items' cosines differ" in text
    by_rounding = "So rounding can" in said
    assert ("33 % changed, as rounding does." in text) == by_rounding
    advice = "No gauge undoes rounding: read cosines from a model that is not rounded."
    assert text.endswith(advice if by_rounding else LOOK_AT_PREDICTIONS)
    assert too_long(text) == []


def test_heads_without_inputs_are_given_random_states():
    found = replace(comparison(changed(total=0.2, remainder=0.2)), n_states=1000)
    text = found.explain()
    assert (
        " Predictions are compared for 5 random states, each brought through the final norm before either head. Their "
        "scores correlate by 0.512"
    ) in text
    assert text.endswith(
        "Compare heads with their norms folded in (`embaudit fix MODEL --as folded-centred`), which no gauge moves. "
        "What differs there was learned, and is not a matter of coordinates."
    )
    assert "random states" not in replace(found, agreement=None).explain()
    same = replace(comparison(changed(total=0.2, gauge=0.2), agreement=SAME, fits=True), n_states=1000).explain()
    assert same.endswith(
        "The models are the same up to that gauge. Compare and index them by `embaudit fix MODEL --as folded-centred`, "
        "which gives both the same cosines."
    )
    assert too_long(f"{text} {same}") == []
