"""The record of an audit: its JSON, its frame, its words, its fingerprint; from evidence made by hand."""

from __future__ import annotations

import numpy as np
from made import MODEL, drift, equal, evidence, moved

from embaudit.auditing import Audit
from embaudit.auditing.identity import fingerprint
from embaudit.auditing.options import Options
from embaudit.model import FactorModel

LISTS = {"top_n": 4, "top_n_overlap": 0.5}
FOUND = evidence(
    MODEL, (equal(), moved(**LISTS), moved("cross", 0.3)), (equal("translation 1", "translation", 1.0, 0.5), moved()),
    drift=(drift(2e-15), drift(3e-15)), seed=7, options=Options(max_condition=3.0),
)  # fmt: skip
RESULT = Audit(MODEL, FOUND, "model.npz")


def test_a_fingerprint_is_of_all_that_predicts():
    named = MODEL.replace(right_ids=np.arange(5), objective="product")
    assert fingerprint(named) == fingerprint(MODEL) == RESULT.fingerprint
    assert (
        fingerprint(FactorModel.from_vectors([[1.0, 2.0], [3.0, 4.0]]))
        == "5cd3267944bc75ae361c8e04650258ad"
    ), "reports that exist still fit"


def test_a_fingerprint_is_the_same_however_it_is_read(monkeypatch):
    before = fingerprint(MODEL)
    monkeypatch.setitem(
        fingerprint.__globals__,
        "row_blocks",
        lambda n, width: [slice(0, 2), slice(2, n)],
    )
    assert fingerprint(MODEL) == before
