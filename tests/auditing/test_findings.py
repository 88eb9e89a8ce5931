"""Thresholds of findings: the effect at which each is raised, its severity, and smaller
effects that raise nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from made import MODEL, drift, equal, evidence, moved, of_head, quiet
from raised import LISTS, blind, compared, decayed, normed

import embaudit as ea
from embaudit.auditing.effect import is_effect
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings import conclusions
from embaudit.io.intake import NOT_STATED, Metric
from embaudit.model.final_norm import FinalNorm

ISSUE = Severity.ISSUE
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])


def drawn(case, *codes):
    """Return what was drawn of some codes, with its severity."""
    return {one.code: one.severity for one in conclusions(case) if one.code in codes}


def kept(overlap, n_lists=400, **fields):
    return LISTS | {"top_n_overlap": overlap, "n_lists": n_lists} | fields


@pytest.mark.parametrize(
    ("share", "n_lists", "effect"),
    [
        (0.05, 120, True),
        (0.0499, 10_000, False),
        (1.0, 5, False),
        (1.0, 6, True),
        (0.0625, 80, False),
    ],
)
def test_lists_count_from_a_twentieth_on_and_more_than_five_of_them(
    share, n_lists, effect
):
    assert is_effect(share, n_lists) is effect
    lists = kept(1 - share, n_lists)
    code = "lists_differ" if effect else "lists_near"
    assert list(drawn(compared(0.2, **lists), "lists_near", "lists_differ")) == [code]
    assert bool(drawn(decayed(0.0, **lists), "EMB104")) is effect
    assert (drawn(blind(0.006, 0.01, **lists), "EMB203") == {"EMB203": ISSUE}) is effect
    assert bool(drawn(normed(RMS, share=share, n_rows=n_lists), "EMB307")) is effect
    neighbours = replace(quiet().neighbours, top1_changed=share, n_rows=n_lists)
    assert bool(drawn(of_head(quiet(neighbours=neighbours)), "EMB301")) is effect


def test_where_the_check_failed_nothing_else_is_told():
    for case in (evidence(MODEL, (equal(), moved())), of_head(), normed(RMS)):
        assert "EMB001" not in drawn(case, "EMB001")
        assert len(conclusions(case)) > 1
    failed = evidence(
        MODEL,
        (equal(), moved()),
        (equal("linear 2"), moved()),
        drift=(drift(), drift(2.0)),
    )
    (one,) = conclusions(failed)
    assert (one.code, one.value, one.scope.models) == ("EMB001", 2.0, "linear 2")


@pytest.mark.parametrize("model", [MODEL, ea.FactorModel.from_vectors(MODEL.right)])
def test_lists_by_a_metric_that_is_not_compared_are_named_in_one_sentence(model):
    codes = ("served", "not_served", "not_compared")
    for name in ("l1", "hyperbolic", "metric 23 of FAISS"):
        case = evidence(model, stated=Metric(name, "the index i"))
        (note,) = [one for one in conclusions(case) if one.code in codes]
        assert note.code == "not_compared"
        assert note.text.startswith(f"Metric of the index: {name}, as the index i says")
    unknown = evidence(model, stated=Metric(NOT_STATED, "the table has no index"))
    assert not drawn(unknown, "not_compared")
    assert not drawn(evidence(model), "not_compared")
