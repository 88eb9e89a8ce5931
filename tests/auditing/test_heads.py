"""What is measured of a head, computed again from its rows; and what its report is made of."""

from __future__ import annotations

import inspect
from dataclasses import asdict, replace

import numpy as np
import pytest
from made import HEAD, argmax, change, equal_head, flags, head, of_head, opposite, quiet

from embaudit.auditing import head_report as public
from embaudit.auditing import heads as module
from embaudit.auditing.answer import answer
from embaudit.auditing.checks import ABOUT_HEADS, findings
from embaudit.auditing.claims import claims
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.head_evidence import HeadEvidence
from embaudit.auditing.head_report import LEAST, HeadReport, head_report
from embaudit.auditing.heads import declare, head_evidence
from embaudit.auditing.traits import traits_of
from embaudit.auditing.verdict import statements
from embaudit.errors import InputError
from embaudit.kernels import moments
from embaudit.kernels.intervals import wilson_interval
from embaudit.model import FactorModel, Softmax
from embaudit.softmax.equivalents import centring, random_heads
from embaudit.softmax.logit_cosines import logit_cosines
from embaudit.softmax.panel import TELLING, make_panel

ROWS = np.random.default_rng(3).standard_normal((30, 3)) + np.eye(3)[0]
INPUTS = np.random.default_rng(4).standard_normal((50, 3)) * [1, 2, 4]


def measured(model, rng=0, **options):
    known = {"n_neighbours": 5, "max_condition": 3.0}
    return head_evidence(model, rng=np.random.default_rng(rng), **known | options)


def test_what_is_declared_of_a_head():
    plain = FactorModel.from_softmax(ROWS)
    assert declare(plain, None, normalised=False) is plain
    assert declare(plain, 5.0, normalised=False).link == Softmax(soft_cap=5.0)
    assert declare(plain, None, normalised=True).link == Softmax(unit_rows=True)
    capped = declare(plain, 5.0, normalised=True)
    assert capped.link == Softmax(soft_cap=5.0, unit_rows=True)
    assert declare(capped, 2.0, normalised=False).link == Softmax(soft_cap=2.0, unit_rows=True)
    message = "a soft-cap or normalisation must be declared of a softmax head; got a model with identity link"
    for options in ((5.0, False), (None, True)):
        with pytest.raises(InputError, match=message):
            declare(FactorModel.from_vectors(ROWS), options[0], normalised=options[1])


def test_what_is_measured_of_a_head_is_computed_again():
    model = FactorModel.from_softmax(ROWS, embeddings=INPUTS)
    found = measured(model)
    norms, mean = np.linalg.norm(ROWS, axis=1), ROWS.mean(axis=0)
    assert found.model is model
    assert (found.affine_rank, found.n_panel, found.n_inputs, found.n_zero) == (3, 30, 50, 0)
    assert (found.mean_norm, found.median_norm) == (
        pytest.approx(np.linalg.norm(mean)),
        pytest.approx(np.median(norms)),
    )
    assert found.offset == pytest.approx(np.linalg.norm(mean) / np.median(norms))
    np.testing.assert_allclose(found.centred.gauge.right_shift, -mean)
    assert [made.name for made in found.equivalents] == [
        f"{k} {i}" for i in (1, 2) for k in ("linear", "translation", "affine")
    ]
    assert found.equivalents[0].condition_number == pytest.approx(3.0)
    assert [made.target for made in found.constructions] == [-1.0, 1.0]
    assert [summary.target for summary in found.shifts] == [0.0, -1.0, 1.0]
    assert all(summary.exact and summary.n_pairs + summary.n_fixed == 435 for summary in found.shifts)
    assert (found.neighbours.top_n, found.neighbours.exact, found.neighbours.n_rows) == (5, True, 30)
    assert found.centred.movement.top_n == 5
    assert len(found.argmax.labels) == 30
    assert len(found.projector.pairs) == 435
    assert found.logit_agreement is not None


def test_one_generator_draws_for_a_head(monkeypatch):
    asked, draw = [], np.random.default_rng(0)
    for name in ("HeadProbe", "make_panel", "panel_pairs", "random_heads", "_argmax"):
        real = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda *a, _real=real, **o: asked.append(any(x is draw for x in (*a, *o.values()))) or _real(*a, **o),
        )
    head_evidence(FactorModel.from_softmax(ROWS), n_neighbours=5, max_condition=3.0, rng=draw)
    assert asked == [True] * 5


def test_progress_is_told_of_the_heads(told):
    measured(FactorModel.from_softmax(ROWS))
    # Seven equal heads, and four kinds of figures beside them.
    assert told["measuring heads", 11] == 11


def test_labels_at_the_mean_shorten_the_lists():
    rows = np.vstack([np.eye(3), -np.eye(3), np.zeros((2, 3))])
    found = measured(FactorModel.from_softmax(rows), n_neighbours=50)
    assert found.n_zero == 2
    assert found.neighbours.top_n == 5, "eight labels, two without a direction, and not the label itself"
    assert not measured(FactorModel.from_softmax(ROWS), n_labels=10).neighbours.exact


def test_very_many_long_labels_need_no_exact_gram_matrix(monkeypatch):
    rows = np.random.default_rng(5).standard_normal((200, 9)).astype(np.float32) * np.linspace(0.1, 1.5, 200)[:, None]
    model = FactorModel.from_softmax(rows.astype(np.float32))
    plain = measured(model)
    for name, value in (("EXACT_CELLS", 0), ("AFFORDABLE", 0), ("WIDE", 8)):
        monkeypatch.setattr(moments, name, value)
    model = FactorModel.from_softmax(rows.astype(np.float32))
    found = measured(model)
    assert found.panel.summary.lengths is not None
    assert "moments" not in vars(model.right_side), "no Gram matrix is made in float64"
    assert (found.affine_rank, found.argmax.to_dict()) == (9, plain.argmax.to_dict())
    assert 0 < found.argmax.n_cannot < found.argmax.n_can
    assert found.projector.to_dict() == plain.projector.to_dict()
    assert (len(plain.projector.pairs), len(found.projector.pairs), len(found.projector.cosines)) == (19_900, 0, 0)
    assert fibre_of(model, ["right"]).seen_rank == 9
    assert not traits_of(model, "right", rng=np.random.default_rng(0)).orthonormal
    assert "moments" not in vars(model.right_side)
    biased = measured(model.replace(right_bias=np.arange(200.0)))
    assert biased.panel.summary.lengths is None, "what a bias has beside the rows is told by all of them"
    assert len(biased.projector.pairs) == 19_900


def test_fewer_labels_are_asked_for_their_nearest_ones_where_a_search_is_dear(monkeypatch):
    model = FactorModel.from_softmax(ROWS)
    monkeypatch.setattr(module, "ASKED", 7)
    for cells, asked in ((29 * ROWS.size, 29), (29 * ROWS.size - 1, 28), (1, 7)):
        monkeypatch.setattr(module, "NEIGHBOUR_CELLS", cells)
        found = measured(model)
        assert (found.n_panel, found.neighbours.n_rows, found.neighbours.exact) == (30, asked, False)
        assert found.neighbours.ci_high > found.neighbours.ci_low
    monkeypatch.setattr(module, "NEIGHBOUR_CELLS", 30 * ROWS.size)
    assert measured(model).neighbours.exact


@pytest.mark.parametrize(("n_lists", "panel", "lists", "asked", "led"), [(400, 30, 30, 30, 30), (5, 30, 5, 26, 2)])
def test_fewer_lists_ask_fewer_labels(n_lists, panel, lists, asked, led):
    found = measured(FactorModel.from_softmax(ROWS), n_lists=n_lists)
    assert (found.n_panel, found.centred.movement.n_lists) == (panel, lists)
    assert (found.neighbours.n_rows, found.neighbours.exact) == (asked, asked == 30)
    assert len(found.neighbours.asked) == asked
    assert set(found.neighbours.asked) <= set(range(30))
    assert (found.neighbours.ci_low, found.neighbours.ci_high) == (
        wilson_interval(found.neighbours.top1_changed, 26) if asked == 26 else (found.neighbours.top1_changed,) * 2
    )
    assert len(found.argmax.labels) == led
    assert found.argmax.is_sample is (led < 30)
    assert "asked" not in found.neighbours.to_dict()


def test_more_lists_than_usual_ask_no_more():
    usual, more = (measured(FactorModel.from_softmax(ROWS), n_lists=n).to_dict() for n in (400, 500))
    assert usual == more


def test_all_labels_of_a_simplex_are_asked_whatever_the_lists():
    assert len(measured(FactorModel.from_softmax(np.eye(9)), n_lists=5).argmax.labels) == 9


@pytest.mark.parametrize("link", [Softmax(soft_cap=3.0), Softmax(unit_rows=True)])
def test_a_declared_head_has_no_shifts(link):
    found = measured(FactorModel.from_softmax(ROWS).replace(link=link))
    assert found.constructions == ()
    assert found.shifts == ()
    assert [made.kind for made in found.equivalents] == (["linear", "linear"] if link.soft_cap else [])


def test_a_chosen_pair_and_sizes():
    model = FactorModel.from_softmax(ROWS)
    assert measured(model, pair=(4, 9)).constructions[0].names == ("4", "9")
    assert len(measured(model, n_gauges=1).equivalents) == 3
    sampled = measured(model, n_pairs=100)
    assert (len(sampled.projector.pairs), sampled.shifts[0].exact) == (100, False)
    panel = measured(model, n_labels=12, pair=(4, 9))
    assert 12 <= panel.n_panel <= 14
    cosines = ROWS @ ROWS.T / np.outer(*[np.linalg.norm(ROWS, axis=1)] * 2) - 2 * np.eye(30)
    alike = np.unravel_index(np.argmax(np.where(cosines < TELLING, cosines, -1)), cosines.shape)
    assert set(measured(model).constructions[0].names) == {str(row) for row in alike}


def test_the_defaults_of_the_search(monkeypatch):
    assert (module.PANEL, module.N_PAIRS, module.N_GAUGES, module.ARGMAX_LABELS) == (2_048, 20_000, 2, 128)
    assert module.ARGMAX_CELLS == 2**18
    asked = {}
    real = module.argmaxable_in
    monkeypatch.setattr(
        module, "argmaxable_in", lambda *a, **o: asked.setdefault("argmax", (a[2], o)) and real(*a, **o)
    )
    many = np.random.default_rng(0).standard_normal((200, 2))
    measured(FactorModel.from_softmax(many))
    pool, options = asked.pop("argmax")
    assert (len(pool), options) == (128, {"max_cells": 2**18})
    simplex = np.eye(140)
    assert len(measured(FactorModel.from_softmax(simplex)).argmax.labels) == 140


def test_label_cosines_agree_with_those_of_logits_as_far_as_they_are_defined():
    model = FactorModel.from_softmax(ROWS, embeddings=INPUTS)
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])
    panel = make_panel(model, 2_048, np.random.default_rng(0))
    expected = np.corrcoef(model.cosines("right", pairs), logit_cosines(model, pairs=pairs))[0, 1]
    assert module._agreement(model, panel, pairs) == pytest.approx(expected)
    assert module._agreement(model, panel, pairs[:2]) == pytest.approx(1, abs=2)
    assert module._agreement(model, panel, pairs[:1]) is None
    assert module._agreement(model.replace(left=None), panel, pairs) is None
    alone = FactorModel.from_softmax(ROWS, embeddings=INPUTS[:1])
    assert module._agreement(alone, panel, pairs) is None, "one input has no covariance"
    again = np.array([[0, 1], [1, 0], [0, 1]])
    assert module._agreement(model, panel, again) is None, "cosines that do not vary"


@pytest.mark.parametrize("which", ["plain", "pinned"])
def test_cosines_that_are_alike_or_missing_agree_with_nothing(monkeypatch, which):
    model = FactorModel.from_softmax(ROWS, embeddings=INPUTS)
    panel = make_panel(model, 2_048, np.random.default_rng(0))
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    plain = model.cosines("right", pairs)

    def agreement(pinned):
        monkeypatch.setattr(module, "logit_cosines", lambda *_, **__: np.array(pinned))
        return module._agreement(model, panel, pairs)

    nan = np.nan
    if which == "pinned":
        assert agreement([0.5] * 4) is None
        assert agreement([0.5, 0.25, nan, nan]) is not None
        assert agreement([0.5, nan, nan, nan]) is None
        assert agreement([0.1, 0.2, nan, 0.4]) == pytest.approx(np.corrcoef(plain[[0, 1, 3]], [0.1, 0.2, 0.4])[0, 1])
    else:
        monkeypatch.setattr(FactorModel, "cosines", lambda *_: np.array([0.5] * 4))
        assert agreement([0.1, 0.2, 0.3, 0.4]) is None
        monkeypatch.setattr(FactorModel, "cosines", lambda *_: np.array([0.5, nan, 0.1, nan]))
        assert agreement([0.1, 0.2, 0.3, 0.4]) == pytest.approx(-1)
        assert agreement([0.1, 0.2, nan, 0.4]) is None


# What evidence of a head says of itself


def test_the_properties_of_evidence():
    assert flags(HeadEvidence) == (True, False, False)
    found = head(equivalents=(equal_head(),))
    assert (found.n_labels, found.rank, found.has_bias, found.has_inputs, found.offset) == (5, 3, False, False, 0.5)
    assert not found.is_drawn
    assert not replace(found, n_panel=3, n_zero=1, n_aside=1).is_drawn
    assert replace(found, n_panel=3, n_zero=1).is_drawn
    full = replace(found, model=HEAD.replace(left=np.eye(3), right_bias=np.zeros(5)))
    assert (full.has_bias, full.has_inputs) == (True, True)
    assert found.link == Softmax()
    assert found.origin_is_free
    assert found.verifiable == (found.centred, *found.equivalents)
    tied = replace(found, model=HEAD.replace(link=Softmax(soft_cap=3.0)), centred=equal_head(change=1.0))
    assert not tied.origin_is_free
    assert tied.verifiable == found.equivalents
    assert tied.verified, "the mean row is no part of what must hold"
    assert found.verified
    assert not replace(found, centred=equal_head(change=1.0)).verified
    assert not replace(found, equivalents=(equal_head(change=1.0), equal_head())).verified


def test_the_json_of_evidence():
    found = head(HEAD.replace(link=Softmax(soft_cap=3.0)), equivalents=(equal_head(),), logit_agreement=0.25)
    shift = opposite()
    assert found.to_dict() == {
        "n_labels": 5, "rank": 3, "affine_rank": 3, "has_bias": False, "n_panel": 5, "has_inputs": False,
        "n_inputs": 256, "n_zero": 0, "n_aside": 0,
        "mean_norm": 1.0, "median_norm": 2.0, "offset": 0.5, "logit_agreement": 0.25,
        "declared": {"soft_cap": 3.0, "normalised": False},
        "centred": found.centred.to_dict(), "neighbours": change().to_dict(),
        "constructions": [asdict(made) for made in found.constructions],
        "equivalents": [found.equivalents[0].to_dict()],
        "shifts": [asdict(shift) | {"quantiles": {"0.05": 0.1, "0.5": 0.7, "0.95": 2.0}}],
        "argmax": argmax().to_dict(), "projector": found.projector.to_dict(),
    }  # fmt: skip
    frame = found.to_frame()
    assert frame["name"].tolist() == ["mean row removed", "linear 1"]
    assert "quantiles" not in frame


# The report


def test_a_report_concludes_from_what_was_measured():
    evidence = head(equivalents=(equal_head(),))
    report = HeadReport.of(evidence)
    assert flags(HeadReport)[:2] == (True, False)
    whole = of_head(report, fibre=fibre_of(HEAD, ("right",)))
    assert report.findings == findings(whole, ABOUT_HEADS)
    assert [finding.code for finding in report.findings] == ["EMB301"]
    assert report.claims == (*claims(whole), *(finding.claim for finding in report.findings))
    assert report.verdict == " ".join(said.text for said in statements(whole, claims(whole), report.answer))
    assert report.answer == answer(report.claims, "right")
    assert report.explain() == f"{report.answer}\n{report.verdict}"
    assert repr(report) == "HeadReport(5 labels, rank 3, EMB301)"
    assert report.alarms
    assert report.to_dict() == {
        **evidence.to_dict(), "verdict": report.verdict, "findings": [f.to_dict() for f in report.findings],
    }  # fmt: skip


def test_a_report_alarms_for_issues_alone():
    calm = HeadReport.of(quiet())
    assert repr(calm) == "HeadReport(5 labels, rank 3, no findings)"
    assert not calm.alarms
    tips = HeadReport.of(quiet(n_zero=1))
    assert [finding.code for finding in tips.findings] == ["EMB201"]
    assert not tips.alarms
    both = HeadReport.of(head(n_zero=1, argmax=argmax(False, True)))
    assert repr(both) == "HeadReport(5 labels, rank 3, EMB301, EMB304, EMB201)"
    assert both.alarms


def test_what_is_asked_of_a_report_reaches_the_measurements(monkeypatch):
    asked = []
    monkeypatch.setitem(
        inspect.unwrap(head_report).__globals__, "head_evidence", lambda *a, **o: asked.append((a, o)) or quiet()
    )
    model = FactorModel.from_softmax(ROWS)
    assert public is head_report
    assert isinstance(head_report(model), HeadReport)
    defaults = {"n_labels": 2_048, "n_pairs": 20_000, "n_neighbours": 10, "n_gauges": 2, "max_condition": 2.0}
    ((args, options),) = asked
    assert args == (model,)
    assert options.pop("rng").random() == np.random.default_rng(0).random()
    assert options == {"pair": None, **defaults}
    given = {"n_labels": 2, "n_pairs": 1, "n_neighbours": 1, "n_gauges": 0, "max_condition": 5.0, "pair": (1, 2)}
    head_report(model, **given, rng=7, soft_cap=3.0, normalised=True)
    (declared,), options = asked[1]
    assert declared.link == Softmax(soft_cap=3.0, unit_rows=True)
    assert options.pop("rng").random() == np.random.default_rng(7).random()
    assert options == given


@pytest.mark.parametrize(("name", "least"), [("n_labels", 2), ("n_neighbours", 1), ("n_pairs", 1), ("n_gauges", 0)])
def test_the_least_that_may_be_asked_for(name, least):
    assert LEAST[name] == least
    with pytest.raises(InputError, match=rf"{name} must be an integer (>=|from) {least}\b.*; got {least - 1}\."):
        head_report(FactorModel.from_softmax(ROWS), **{name: least - 1})


def test_random_heads_are_named_after_their_kind():
    panel = make_panel(FactorModel.from_softmax(ROWS), 2_048, np.random.default_rng(0))
    assert [made.name for made in random_heads(panel, 1, 2.0, np.random.default_rng(0))] == [
        "linear 1", "translation 1", "affine 1",
    ]  # fmt: skip
    assert centring(panel).name == "mean row removed"
