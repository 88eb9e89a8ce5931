"""What an audit concludes of a final norm: claims, EMB307, the answer, the table, and what proves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made import HEAD, evidence

from embaudit import audit
from embaudit.auditing.answer import Word
from embaudit.auditing.checks.norm import final_norm
from embaudit.auditing.claims import Kind
from embaudit.auditing.claims.norm import decides, folded, ones
from embaudit.auditing.finding import Severity
from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.report.summary import audit_content
from embaudit.softmax.conventions import NormEvidence, norm_evidence

DRAW = np.random.default_rng(3)
ROWS = DRAW.standard_normal((40, 5))
CENTRED = ROWS - ROWS.mean(axis=0)
GAIN = np.array([1.0, 5.0, 0.5, 2.0, 1.0])


def measured(norm: FinalNorm, **changes) -> NormEvidence:
    """Evidence of a norm before a small head, with some numbers of the folded head as one likes."""
    found = norm_evidence(HEAD, norm, labels=np.arange(5), n_neighbours=2, rng=np.random.default_rng(0))
    own = {name: changes.pop(name) for name in ("ones", "n_copies") if name in changes}
    nearest = replace(found.folded.nearest, **{"share": 0.32, **changes})
    first = replace(found.folded, nearest=nearest, mean_abs=0.0571)
    others = tuple(replace(apart, nearest=replace(apart.nearest, share=0.2)) for apart in found.apart[1:])
    return replace(found, apart=(first, *others), **own)


RMS, LAYER = FinalNorm("rms", [1.0, 2.0, 4.0]), FinalNorm("layer", [1.0, 2.0, 4.0])


def test_what_folding_does_is_shown_by_its_gauge():
    (claim,) = folded(evidence(HEAD, norm=measured(RMS)))
    assert (claim.name, claim.kind, claim.value, claim.evidence) == ("norm", Kind.SHOWN, 0.32, "final_norm")
    assert claim.text == (
        "Multiplied into the rows, the gains of the final RMSNorm (κ = 4) change no logit. Then 32 % of labels have "
        "another nearest label."
    )
    assert str(claim.scope) == "the head with the gains of its final norm folded in"
    np.testing.assert_array_equal(claim.witness.right, np.diag([1.0, 2.0, 4.0]))
    (claim,) = folded(evidence(HEAD, norm=measured(LAYER, n_copies=3)))
    assert "the final LayerNorm (κ = 4) change no logit. Then 32 % of labels without a copy have" in claim.text
    assert list(folded(evidence(HEAD))) == []


def test_of_labels_asked_nothing_is_said_of_all():
    some = {"ci_low": 0.2, "ci_high": 0.45}
    (claim,) = folded(evidence(HEAD, norm=measured(RMS, **some)))
    assert claim.text.endswith("change no logit. Then 32 % of labels asked have another nearest label.")
    (claim,) = folded(evidence(HEAD, norm=measured(RMS, n_copies=3, **some)))
    assert claim.text.endswith("Then 32 % of labels without a copy asked have another nearest label.")
    (found,) = final_norm(evidence(HEAD, norm=measured(RMS, **some)))
    assert found.title == "final norm folded in: 32 % of the nearest labels asked for change"
    assert found.explanation.endswith("'as stored' and 'folded', differ for 32 % of labels asked.")


def test_equal_gains_say_nothing():
    assert list(folded(evidence(HEAD, norm=measured(FinalNorm("rms", [2.0, -2.0, 2.0]))))) == []


def test_gains_of_zero_have_no_gauge_to_show():
    (claim,) = folded(evidence(HEAD, norm=measured(FinalNorm("rms", [1.0, 0.0, 4.0]))))
    assert (claim.kind, claim.witness) == (Kind.MEASURED, None)
    assert claim.text == (
        "Gains of the final RMSNorm are 0, so that some dimensions reach no logit. Multiplied into the rows, they give "
        "32 % of labels another nearest one."
    )
    (found,) = final_norm(evidence(HEAD, norm=measured(FinalNorm("rms", [1.0, 0.0, 4.0]))))
    assert (found.claim.kind, found.claim.witness) == (Kind.MEASURED, None)


def test_the_ones_vector_is_told_of_behind_a_layernorm_alone():
    (claim,) = ones(evidence(HEAD, norm=measured(LAYER, ones=0.123)))
    assert (claim.name, claim.kind, claim.value) == ("ones", Kind.MEASURED, 0.123)
    assert claim.text == (
        "States behind a LayerNorm sum to 0. So any number may be added along the ones vector to each folded row, "
        "another one to each: no logit shows it. The cosine of any two labels can be brought near 1 and near −1. "
        "Here the median row has 0.12 times the length of its rest there."
    )
    assert str(claim.scope) == "states behind a LayerNorm"
    assert list(ones(evidence(HEAD, norm=measured(RMS)))) == list(ones(evidence(HEAD))) == []


def test_an_issue_from_one_label_in_twenty_on():
    (found,) = final_norm(evidence(HEAD, norm=measured(RMS)))
    assert (found.code, found.severity, found.value) == ("EMB307", Severity.ISSUE, 0.32)
    assert found.title == "final norm folded in: 32 % of nearest labels change"
    assert found.explanation == (
        "The gains of the final RMSNorm may stand before the head or in it: the same model, whose label cosines differ "
        "by 0.06 on average. The two conventions furthest apart, 'as stored' and 'folded', differ for 32 % of labels."
    )
    assert found.remedy == (
        "Name the convention where you report label cosines, and compare heads in one. `embaudit fix --as "
        "folded-centred` writes one in which neither the gains nor the origin is left to choose; axes still are."
    )
    assert (found.claim.name, found.claim.kind) == ("norm-decides", Kind.SHOWN)
    assert decides(measured(RMS, share=0.05))
    assert not decides(measured(RMS, share=0.0499))
    assert list(final_norm(evidence(HEAD, norm=measured(RMS, share=0.0499)))) == []
    assert list(final_norm(evidence(HEAD))) == []


@pytest.fixture(scope="module")
def audited():
    return audit(FactorModel.from_softmax(CENTRED), final_norm=FinalNorm("layer", GAIN), n_gauges=1, n_pairs=50)


def test_an_audit_answers_by_it(audited):
    share = audited.evidence.norm.folded.nearest.share
    assert share > 0.05
    assert audited.answer.word is Word.NO
    assert audited.answer.because == (
        f"folding in the final norm changes {100 * share:.0f} % of the nearest labels asked for, but no probability"
    )
    assert audited.answer.claims == ("norm-decides", "norm", "free:right")
    assert "the gains of the final LayerNorm (κ = 10) change no logit" in audited.verdict
    assert "States behind a LayerNorm sum to 0" in audited.verdict
    assert audited.to_dict()["final_norm"]["condition_number"] == 10
    assert audited.evidence.norm.verified
    assert [grid.title for grid in audit_content(audited).grids if "conventions" in grid.title] == [
        "conventions in use: one head behind its LayerNorm (κ = 10)"
    ]


def test_without_a_norm_nothing_is_said_of_it():
    found = audit(FactorModel.from_softmax(CENTRED), n_gauges=1, n_pairs=50)
    assert found.to_dict()["final_norm"] is None
    assert "norm" not in found.verdict
    assert "EMB307" not in {finding.code for finding in found.findings}


def test_a_failed_check_of_a_convention_fails_the_audit():
    norm = measured(RMS)
    assert evidence(HEAD, norm=norm).predictions_hold
    moved = replace(norm.drift[0], max_abs=1.0)
    assert not evidence(HEAD, norm=replace(norm, drift=(moved, *norm.drift[1:]))).predictions_hold


def test_a_norm_of_another_width_is_refused():
    with pytest.raises(InputError, match=r"^a final norm must be as wide as the head, 5 dimensions; got 2\.$"):
        audit(FactorModel.from_softmax(CENTRED), final_norm=FinalNorm("rms", [1.0, 2.0]))
