"""Traits of rows, and the findings drawn from them: what triggers each, and what lies just below."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.auditing.checks.twins import twin_rows
from embaudit.auditing.equivalents import equivalent_models
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Severity
from embaudit.auditing.traits import all_traits
from embaudit.model import FactorModel

SMALL = {"n_gauges": 1, "n_pairs": 50}


def evidence_of(model, roles=("right",)):
    """Evidence that has nothing but traits."""
    return Evidence(model, None, traits=all_traits(model, roles, rng=np.random.default_rng(0)))


def with_copies(n, n_copies):
    """`n` vectors, the last `n_copies` of which are copies of the first ones."""
    x = np.random.default_rng(0).standard_normal((n, 9))
    return FactorModel.from_vectors(np.vstack([x[: n - n_copies], x[:n_copies]]))


def test_every_side_that_is_asked_about_and_has_cosines_has_traits():
    model = random_model(n=5, p=4)
    rng = np.random.default_rng(0)
    for roles, sides in (
        (("right",), ["right"]),
        (("cross",), ["left", "right"]),
        (("right", "left"), ["right", "left"]),
    ):
        assert [one.role for one in all_traits(model, roles, rng=rng)] == sides
    one = model.replace(left=model.left[:1])
    assert [one.role for one in all_traits(one, ("cross",), rng=rng)] == ["right"]
    zero = model.replace(right=model.right * [[0], [1], [1], [0]])
    (found,) = all_traits(zero, ("right",), rng=rng)
    assert (found.n_rows, found.twins.n_rows, found.levels.n_pairs) == (2, 2, 1)


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_holds_the_traits_of_the_whole_model(monkeypatch):
    monkeypatch.setattr("embaudit.auditing.evidence.PANEL", 20)
    found = audit(FactorModel.from_softmax(random_model(p=40, k=3).right), **SMALL)
    assert found.evidence.model.n_right == 20
    (record,) = found.to_dict()["traits"]
    assert {"twins", "levels"} < set(record)
    assert (record["role"], record["n_rows"], record["twins"]["n_rows"]) == ("right", 40, 40)
    assert record["levels"]["n_pairs"] == 40 * 39 // 2


def test_twins_are_told_in_full():
    (finding,) = twin_rows(evidence_of(with_copies(8, 1)))
    assert finding.to_dict() == {
        "code": "EMB401",
        "severity": "issue",
        "title": "25 % of item rows are copies of another row; count them once",
        "explanation": "25 % of 8 item rows have a copy (a cosine above 0.9999): 1 pair, 1 group, the largest of 2 "
        "rows (0, 7). Such rows fill each other's lists of neighbours.",
        "remedy": "Look at a few groups: items that training hardly touched stay copies, and so does what is listed "
        "twice. Show one of each group, and read figures with copies counted once.",
        "value": 0.25,
        "claim": "twins:right",
    }
    assert finding.claim.to_dict() | {"text": "", "scope": ""} == {
        "name": "twins:right", "kind": "measured", "subject": "item rows", "scope": "", "text": "", "value": 0.25,
        "evidence": "traits", "witness": False,
    }  # fmt: skip
    assert str(finding.claim.scope) == "the model at hand"


def test_where_copies_come_from_depends_on_the_model():
    rows = with_copies(8, 1).right
    pairs = FactorModel.from_user_item(rows[::-1], rows), FactorModel.from_softmax(rows, embeddings=rows[::-1])
    items, labels = ([found.remedy for found in twin_rows(evidence_of(one, ("right", "left")))] for one in pairs)
    begin, end = "Look at a few groups: ", " Show one of each group, and read figures with copies counted once."
    listed = "with the same few interactions end as copies, and so does what is listed twice."
    assert items == [f"{begin}{title} {listed}{end}" for title in ("items", "users")]
    assert labels == [
        f"{begin}labels that training hardly touched, such as unused tokens, stay copies.{end}",
        f"{begin}inputs that are given twice are copies.{end}",
    ]


@pytest.mark.parametrize(
    ("n", "n_copies", "severity"),
    [(8, 1, Severity.ISSUE), (9, 1, Severity.TIP), (200, 1, Severity.TIP), (201, 1, None), (50, 0, None)],
)
def test_a_tip_from_one_row_in_a_hundred_an_issue_from_a_quarter(n, n_copies, severity):
    found = [finding.severity for finding in twin_rows(evidence_of(with_copies(n, n_copies)))]
    assert found == ([] if severity is None else [severity])


def test_twins_by_chance_are_no_finding():
    plane = random_model(p=60, k=2)
    traits = evidence_of(plane).traits
    assert traits[0].twins.share > 0.1
    assert list(twin_rows(evidence_of(plane))) == []


def test_hubs_and_tails_are_those_of_the_rows_without_their_copies_too():
    model = random_model(n=40, p=120, k=5).replace(right_counts=np.arange(1.0, 121))
    order = np.r_[np.arange(120), np.repeat(np.arange(30), 3)]
    copied = model.take(right=order)
    equal = next(made for made in equivalent_models(model, groups=["linear"], n_gauges=1, rng=0))
    whole, alone = (
        all_traits(one, ("right",), equal={"right": equal}, rng=np.random.default_rng(0))[0] for one in (copied, model)
    )
    assert whole.hubs_without_twins == alone.hubs
    assert whole.hubs != alone.hubs
    assert whole.tail_without_twins == alone.tail
    assert whole.tail != alone.tail
    assert alone.hubs_without_twins is alone.tail_without_twins is None


def test_biases_kept_as_columns_are_looked_at_on_the_right_alone():
    model = random_model(0, n=40, p=40, biases=("left_bias", "right_bias"))
    right, left = all_traits(model, ["right", "left"], rng=np.random.default_rng(0))
    assert right.bias_columns.columns == 2
    assert left.bias_columns is None
