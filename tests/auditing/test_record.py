"""The record of an audit: its JSON, its frame, its words, its fingerprint; from evidence made by hand."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from made import HEAD, MODEL, changed, drift, equal, equal_head, evidence, head, moved, of_head

from embaudit import __version__
from embaudit.auditing import Audit, HeadReport
from embaudit.auditing.answer import answer
from embaudit.auditing.audit import SCHEMA_VERSION
from embaudit.auditing.effort import EFFORT, QUICK
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings import conclusions
from embaudit.auditing.findings.writing import names_of
from embaudit.auditing.fingerprint import fingerprint
from embaudit.auditing.texts import DEFAULTS
from embaudit.canonical import position
from embaudit.core.plain import plain
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import Neighbourhood

LISTS = {"top_n": 4, "top_n_overlap": 0.5}
FOUND = evidence(
    MODEL, (equal(), moved(**LISTS), moved("cross", 0.3)), (equal("translation 1", "translation", 1.0, 0.5), moved()),
    drift=(drift(2e-15), drift(3e-15)), seed=7, max_condition=3.0,
)  # fmt: skip
RESULT = Audit(MODEL, FOUND, "model.npz")


def test_conclusions_are_drawn_from_the_evidence():
    assert RESULT.conclusions == conclusions(FOUND)
    assert RESULT.findings == tuple(one for one in RESULT.conclusions if one.severity is not Severity.NOTE)
    cosines = "item-item cosines"
    assert RESULT.answer == answer(RESULT.conclusions, "right", cosines=cosines, names=names_of(MODEL))
    (tip,) = RESULT.findings
    assert RESULT.explain() == f"{RESULT.answer}\n{RESULT.verdict}\nEMB102 tip: {tip.title}. {tip.remedy}"
    assert RESULT.worst is Severity.TIP
    assert RESULT.predictions_hold
    assert not Audit(MODEL, changed(FOUND, drift=(drift(), drift(1.0)))).predictions_hold
    assert RESULT.head is Audit(MODEL, FOUND).source is None
    assert repr(RESULT) == (
        "Audit(FactorModel(6 users × 5 items, 3 dimensions, identity link, float64), 2 equivalent models, EMB102)"
    )


def test_the_worst_is_the_gravest():
    biased = MODEL.replace(objective="product", right_bias=np.arange(5.0))
    result = Audit(biased, changed(FOUND, model=biased))
    assert [finding.code for finding in result.findings] == ["EMB101", "EMB202"]
    assert result.worst is Severity.ISSUE
    assert ", EMB101, EMB202)" in repr(result)
    lines = result.explain().split("\n")
    assert [line.partition(":")[0] for line in lines[2:]] == ["EMB101 issue", "EMB202 tip"]
    made = FactorModel.from_vectors(np.eye(3), ids=["a", "b", "c"]).replace(objective="prediction")
    nothing = Audit(made, evidence(made))
    assert nothing.worst is None
    assert repr(nothing).endswith("0 equivalent models, no findings)")


def test_the_json_field_by_field():
    place = position(MODEL)
    found = Audit(MODEL, changed(FOUND, position=place), "model.npz")
    record = found.to_dict()
    json.dumps(record, allow_nan=False)
    labels = [
        {"gauge": "linear 1", "kind": "linear", "condition_number": 2.0, "shift": 0.0},
        {"gauge": "translation 1", "kind": "translation", "condition_number": 1.0, "shift": 0.5},
    ]
    moves = [(labels[0], FOUND.movement[0][0]), (labels[0], FOUND.movement[0][1]), (labels[1], FOUND.movement[1][0])]
    nearby = {"gauge": None, "examples": [], "beside_bias": []}
    assert record.pop("position")["rank"] == 3
    scores = MODEL.scores()
    sample = np.array(record.pop("score_sample")["values"])
    np.testing.assert_allclose(sample, scores - scores.mean(axis=1, keepdims=True), rtol=1e-5)
    notes = [one.to_dict() for one in found.conclusions if one.severity is Severity.NOTE]
    assert [one["code"] for one in notes] == ["predictions", "free", "moved", "drawn"]
    assert record == {
        "embaudit_version": __version__, "schema_version": SCHEMA_VERSION, "seed": 7,
        "input": {"source": "model.npz", "fingerprint": fingerprint(MODEL), "intake": None},
        "model": {
            "roles": ["user", "item"], "n_left": 6, "n_right": 5, "rank": 3, "link": "identity", "predicts": "scores",
            "dtype": "float64", "left_bias": False, "right_bias": False, "objective": None,
        },
        "group": {"max_condition": 3.0, "kinds": ["linear", "translation"], "n_equivalents": 2},
        "drift": [label | one.to_dict() for label, one in zip(labels, FOUND.drift, strict=True)],
        "movement": [label | one.to_dict() for label, one in moves],
        "ranges": [], "certificates": [], "attacks": [], "fibre": FOUND.fibre.to_dict(), "head": None,
        "neighbours": nearby, "findings": [finding.to_dict() for finding in found.findings], "notes": notes,
        "verdict": found.verdict, "answer": found.answer.to_dict(), "predicted": None, "traits": [], "unseen": [],
        "penalty": None, "options": {"quick": False, **vars(EFFORT)}, "final_norm": None, "thresholds": dict(DEFAULTS),
    }  # fmt: skip
    bare = Audit(MODEL, FOUND).to_dict()
    assert bare["position"] is bare["input"]["source"] is None
    with pytest.raises(ValueError, match="shorter"):
        Audit(MODEL, changed(FOUND, drift=FOUND.drift[:1]))._drift_records()


def test_the_json_of_a_head_with_biases():
    model = HEAD.replace(left=np.eye(3), left_bias=np.zeros(3), right_bias=np.arange(5.0), objective="softmax")
    result = Audit(model, of_head(head(model, equivalents=(equal_head(),))))
    record = result.to_dict()
    assert isinstance(result.head, HeadReport)
    assert record["head"] == plain(result.evidence.head.to_dict())
    assert {name: record["model"][name] for name in ("link", "predicts", "left_bias", "right_bias", "objective")} == {
        "link": "softmax", "predicts": "probabilities", "left_bias": True, "right_bias": True, "objective": "softmax",
    }  # fmt: skip


def test_neighbours_and_what_was_read_are_in_the_json():
    shown, beside = (Neighbourhood(name, (("b", 0.5),), (("c", 0.25),), (False,), (False,), 2) for name in "ab")
    read = SimpleNamespace(to_dict=lambda: {"files": ["model.npz"]})
    found = changed(FOUND, shown_in="linear 1", examples=(shown,), beside_bias=(beside,), thresholds={"hubs": 0.2})
    record = Audit(MODEL, found, None, read, QUICK, quick=True).to_dict()
    assert record["neighbours"] == {
        "gauge": "linear 1", "examples": [shown.to_dict()], "beside_bias": [beside.to_dict()],
    }  # fmt: skip
    assert record["input"]["intake"] == {"files": ["model.npz"]}
    assert record["thresholds"] == {"hubs": 0.2}
    assert record["options"] == {"quick": True, **vars(QUICK)}


def test_the_frame():
    frame = RESULT.to_frame()
    assert frame["gauge"].tolist() == ["linear 1", "linear 1", "translation 1"]
    assert frame["role"].tolist() == ["right", "cross", "right"]
    assert frame["drift"].tolist() == [2e-15, 2e-15, 3e-15]
    assert frame["drift_tolerance"].tolist() == [1e-12] * 3
    assert frame["drift_ok"].tolist() == [True] * 3
    assert "quantiles" not in frame
    still = Audit(MODEL, changed(FOUND, movement=((), ()))).to_frame()
    assert list(still) == ["gauge", "drift", "drift_tolerance", "drift_ok"]


def test_each_picture_is_drawn_of_what_was_asked_for(monkeypatch):
    drawn = []
    monkeypatch.setattr(Audit, "_drawn", lambda self, *given, **options: drawn.append((given, options)) or "drawn")
    rows = {"role": "left", "groups": "genre", "show": ["Heat"], "n_rows": 9}
    assert RESULT.plot("axes", role="left") == "drawn"
    RESULT.plot_heatmap("axes", beside=["linear 1"], **rows)
    RESULT.plot_prediction_cosines("axes", role="left", n_pairs=7)
    RESULT.plot_certified_curve("axes", role="left")
    assert drawn == [
        (("axes",), {"role": "left"}), (("axes", "heatmap"), {"beside": ["linear 1"], **rows}),
        (("axes", "prediction"), {"role": "left", "n_pairs": 7}), (("axes", "certified"), {"role": "left"}),
    ]  # fmt: skip


def test_a_fingerprint_is_of_all_that_predicts():
    biased = MODEL.replace(left_bias=np.zeros(6), right_bias=np.zeros(5))
    others = [
        MODEL, biased, MODEL.replace(left_bias=np.zeros(6)), MODEL.replace(right_bias=np.zeros(5)),
        MODEL.replace(link="ranking"), MODEL.replace(offset=1.0), MODEL.replace(left=None),
        MODEL.replace(left=2 * np.array(MODEL.left)), MODEL.replace(right=-np.array(MODEL.right)),
        MODEL.replace(right=np.array(MODEL.right).astype(np.float32)), biased.replace(left_bias=np.ones(6)),
        biased.replace(right_bias=np.ones(5)),
    ]  # fmt: skip
    assert len({fingerprint(model) for model in others}) == len(others)
    named = MODEL.replace(right_ids=np.arange(5), objective="product")
    assert fingerprint(named) == fingerprint(MODEL) == RESULT.fingerprint
    assert fingerprint(FactorModel.from_vectors([[1.0, 2.0], [3.0, 4.0]])) == "5cd3267944bc75ae361c8e04650258ad", (
        "reports that exist still fit"
    )


def test_a_fingerprint_is_the_same_however_it_is_read(monkeypatch):
    before = fingerprint(MODEL)
    monkeypatch.setitem(fingerprint.__globals__, "row_blocks", lambda n, width: [slice(0, 2), slice(2, n)])
    assert fingerprint(MODEL) == before
