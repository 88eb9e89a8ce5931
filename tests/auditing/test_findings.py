"""Thresholds of findings: the effect at which each is raised, its severity, and smaller
effects that raise nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from chosen_evidence import (
    MODEL,
    VISIT,
    make_centred_head_report,
    make_drift,
    make_equivalent_model,
    make_evidence,
    make_head_evidence,
    make_movement,
)
from finding_cases import (
    THREE_QUARTERS_KEPT,
    make_decay_evidence,
    make_norm_evidence,
    make_predicted_evidence,
    make_unseen_evidence,
)

import embaudit as ea
from embaudit.auditing.effect import is_effect
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings import conclusions
from embaudit.io.intake import NOT_STATED, Metric
from embaudit.model.final_norm import FinalNorm

ISSUE = Severity.ISSUE
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])


def severities(evidence, *codes):
    """Return the severity of each finding that has one of these codes."""
    return {
        finding.code: finding.severity
        for finding in conclusions(evidence)
        if finding.code in codes
    }


def keep_entries(share, n_lists):
    """Return fields of a movement whose lists keep this share of their entries."""
    return THREE_QUARTERS_KEPT | {"top_n_overlap": share, "n_lists": n_lists}


LIMITS_OF_LISTS = [
    # Share of entries that differ, number of lists, whether this is an effect.
    (0.05, 120, True),
    (0.0499, 10_000, False),
    (1.0, 5, False),
    (1.0, 6, True),
    (0.0625, 80, False),
]
of_each_limit = pytest.mark.parametrize(("share", "n_lists", "effect"), LIMITS_OF_LISTS)


@of_each_limit
def test_an_effect_on_lists_needs_a_twentieth_of_entries_and_more_than_five_lists(
    share, n_lists, effect
):
    assert is_effect(share, n_lists) is effect


@of_each_limit
def test_lists_that_differ_from_prediction_lists_by_an_effect_are_said_to_differ(
    share, n_lists, effect
):
    evidence = make_predicted_evidence(0.2, **keep_entries(1 - share, n_lists))
    codes = severities(evidence, "lists_near", "lists_differ")
    assert list(codes) == ["lists_differ" if effect else "lists_near"]


@of_each_limit
def test_lists_away_from_the_minimum_of_the_penalty_need_an_effect(
    share, n_lists, effect
):
    evidence = make_decay_evidence(0.0, **keep_entries(1 - share, n_lists))
    assert bool(severities(evidence, "EMB104")) is effect


@of_each_limit
def test_components_that_no_prediction_sees_are_an_issue_from_an_effect_on(
    share, n_lists, effect
):
    evidence = make_unseen_evidence(0.006, 0.01, **keep_entries(1 - share, n_lists))
    is_issue = severities(evidence, "EMB203") == {"EMB203": ISSUE}
    assert is_issue is effect


@of_each_limit
def test_gains_of_a_final_norm_need_an_effect_on_nearest_labels(share, n_lists, effect):
    evidence = make_norm_evidence(RMS, share=share, n_rows=n_lists)
    assert bool(severities(evidence, "EMB307")) is effect


@of_each_limit
def test_the_mean_row_of_a_head_needs_an_effect_on_nearest_labels(
    share, n_lists, effect
):
    few_changed = make_centred_head_report().neighbours
    neighbours = replace(few_changed, top1_changed=share, n_rows=n_lists)
    evidence = make_head_evidence(make_centred_head_report(neighbours=neighbours))
    assert bool(severities(evidence, "EMB301")) is effect


@pytest.mark.parametrize(
    "evidence",
    [make_evidence(MODEL, VISIT), make_head_evidence(), make_norm_evidence(RMS)],
    ids=["two sides", "a head", "a head behind a norm"],
)
def test_if_predictions_stay_the_same_there_are_other_conclusions(evidence):
    assert "EMB001" not in severities(evidence, "EMB001")
    assert len(conclusions(evidence)) > 1


def test_if_predictions_change_nothing_else_is_reported():
    second_visit = (make_equivalent_model("linear 2"), make_movement())
    evidence = make_evidence(
        MODEL, VISIT, second_visit, drift=(make_drift(), make_drift(2.0))
    )
    (finding,) = conclusions(evidence)
    assert finding.code == "EMB001"
    assert finding.value == 2.0
    assert finding.scope.models == "linear 2"


TWO_SIDES_OR_ONE_TABLE = pytest.mark.parametrize(
    "model", [MODEL, ea.FactorModel.from_vectors(MODEL.right)], ids=["sides", "table"]
)


@TWO_SIDES_OR_ONE_TABLE
@pytest.mark.parametrize("metric", ["l1", "hyperbolic", "metric 23 of FAISS"])
def test_an_index_metric_that_cannot_be_compared_is_one_note(model, metric):
    evidence = make_evidence(model, stated=Metric(metric, "the index i"))
    codes = ("served", "not_served", "not_compared")
    (note,) = [finding for finding in conclusions(evidence) if finding.code in codes]
    assert note.code == "not_compared"
    assert note.text.startswith(f"Metric of the index: {metric}, as the index i says")


@TWO_SIDES_OR_ONE_TABLE
def test_without_an_index_metric_there_is_no_note_about_it(model):
    no_index = Metric(NOT_STATED, "the table has no index")
    assert not severities(make_evidence(model, stated=no_index), "not_compared")
    assert not severities(make_evidence(model), "not_compared")
