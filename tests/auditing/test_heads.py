"""What is measured of a head, computed again from its rows; and what its report is made of."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from made import HEAD, argmax, change, equal_head, head, opposite

from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.heads import declare, head_evidence
from embaudit.auditing.traits import traits_of
from embaudit.core.plain import plain
from embaudit.errors import InputError
from embaudit.linalg import moments
from embaudit.model import FactorModel, Softmax
from embaudit.softmax.panel import TELLING

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


def test_the_json_of_evidence():
    found = head(HEAD.replace(link=Softmax(soft_cap=3.0)), equivalents=(equal_head(),), logit_agreement=0.25)
    shift = opposite()
    assert found.to_dict() == plain({
        "n_labels": 5, "rank": 3, "affine_rank": 3, "has_bias": False, "n_panel": 5, "has_inputs": False,
        "n_inputs": 256, "n_zero": 0, "n_aside": 0,
        "mean_norm": 1.0, "median_norm": 2.0, "offset": 0.5, "logit_agreement": 0.25,
        "declared": {"soft_cap": 3.0, "normalised": False},
        "centred": found.centred.to_dict(), "neighbours": change().to_dict(),
        "constructions": [asdict(made) for made in found.constructions],
        "equivalents": [found.equivalents[0].to_dict()],
        "shifts": [asdict(shift) | {"quantiles": {"0.05": 0.1, "0.5": 0.7, "0.95": 2.0}}],
        "argmax": argmax().to_dict(), "projector": found.projector.to_dict(),
    })  # fmt: skip
    frame = found.to_frame()
    assert frame["name"].tolist() == ["mean row removed", "linear 1"]
    assert "quantiles" not in frame
    assert repr(found) == "HeadReport(5 labels, rank 3)"
    text = found.explain()
    assert text.startswith(
        "The mean row is 0.5 of a typical row (median) long. Without it 50 % of 5 labels have another"
    )
