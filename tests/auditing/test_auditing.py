"""The audit as a whole: what it finds, says, refuses, and that it repeats itself."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing import Audit, audit, checks
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Severity
from embaudit.auditing.glossary import CODES
from embaudit.auditing.objectives import OBJECTIVES, Status, training_objective, usual_objectives
from embaudit.errors import InputError
from embaudit.model import Link
from embaudit.model.drift import Drift
from embaudit.model.equivalence import Equivalence

RECORD = {
    *("role", "gauge", "condition_number", "mean_abs", "max_abs", "rms", "mean", "pearson", "spearman"),
    *("sign_flips", "top_n_overlap", "n_pairs", "exact", "ci_low", "ci_high"),
}
TOP = {
    *("embaudit_version", "schema_version", "seed", "input", "model", "group", "drift", "movement", "ranges"),
    *("certificates", "position", "findings", "verdict"),
}


make = partial(random_model, scales=([5, 3, 2, 1, 0.5], 1))


def codes(result: Audit) -> list[str]:
    return [finding.code for finding in result.findings]


def test_the_public_name_is_the_function_whatever_was_imported_before():
    import embaudit.auditing  # noqa: F401

    assert ea.audit is audit


def test_the_json_has_the_documented_fields_and_no_nan():
    result = audit(make(objective="product"), n_gauges=2)
    text = json.dumps(result.to_dict(), allow_nan=False)
    found = json.loads(text)
    assert set(found) >= TOP
    assert all(set(record) >= RECORD for record in found["movement"])
    assert {frozenset(record) for record in found["findings"]} == {
        frozenset(("code", "severity", "title", "explanation", "remedy", "value", "claim"))
    }
    assert all({"gauge", "level", "max_abs", "max_rel", "tolerance", "ok"} <= set(record) for record in found["drift"])
    assert found["schema_version"] == 2
    names = [claim["name"] for claim in found["claims"]]
    assert len(names) == len(set(names))
    assert {claim["evidence"] for claim in found["claims"]} <= set(found)
    assert {name for said in found["statements"] for name in said["claims"]} <= set(names)
    assert {finding["claim"] for finding in found["findings"]} <= set(names)
    assert found["verdict"] == " ".join(said["text"] for said in found["statements"])


def test_the_same_seed_gives_the_same_numbers_and_another_does_not():
    model = make()
    one, again, other = (json.dumps(audit(model, n_gauges=2, rng=seed).to_dict()) for seed in (3, 3, 4))
    assert one == again
    assert one != other


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if row.sides == 2])
def test_the_verdict_follows_the_training_objective(name):
    objective = training_objective(name)
    model = ea.at_exponent(make(), 0.5).replace(link=objective.links[0])
    result = audit(model, objective=name, n_gauges=1)
    expected = {Status.FREE: "EMB101", Status.CHOSEN: "EMB103", Status.INPUTS: "EMB103", Status.UNKNOWN: "EMB102"}
    of_training = [code for code in codes(result) if code.startswith("EMB1")]
    assert of_training == [expected[status] for status in (objective.status,) if status in expected]
    if objective.status is Status.TRAINED:
        assert "The predictions pin the cosines" in result.verdict
        return
    assert training_objective(name).cosines in result.verdict
    assert link_is_softmax(model) or result.verdict.startswith("Predictions: ")
    assert "Training: " in result.verdict


@pytest.mark.usefixtures("without_attacks")
def test_an_unknown_objective_is_said_to_be_unknown_with_the_answer_for_each_case():
    result = audit(make(), n_gauges=2)
    assert codes(result) == ["EMB102"]
    assert "not known" in result.verdict
    assert all(
        any(f" {row.name}{end}" in result.verdict for end in (" ", ";", ".")) for row in usual_objectives(Link.IDENTITY)
    )
    assert "logistic" not in result.verdict


def link_is_softmax(model):
    return model.link is Link.SOFTMAX


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize(
    "options",
    [
        {"groups": ["canonical"]},
        {"groups": ["orthogonal"]},
        {"groups": ["diagonal"], "max_condition": 1.0},
        {"max_condition": 1.05, "n_gauges": 1},
        {"roles": ["cross"]},
    ],
)
def test_what_training_leaves_free_is_an_issue_whatever_was_drawn(options):
    result = audit(make(objective="product"), **({"n_gauges": 1} | options))
    assert codes(result) == ["EMB101"]
    assert "ordinary care" not in result.verdict
    assert "Do not read meaning" in result.verdict


@pytest.mark.usefixtures("without_attacks")
def test_factors_that_weight_decay_would_not_leave_so_are_told():
    balanced = ea.at_exponent(make(), 0.5).replace(objective="factors")
    assert "EMB104" not in codes(audit(balanced, n_gauges=1))
    rescaled = ea.Gauge.diagonal([1, 1, 1, 1, 3]).act(balanced).replace(objective="factors")
    assert "EMB104" in codes(audit(rescaled, n_gauges=1))


@pytest.mark.usefixtures("without_attacks")
def test_an_objective_of_another_link_is_refused():
    with pytest.raises(
        InputError, match=r"objective must be one of product, factors, .*, none for .* choose link softmax"
    ):
        audit(make(), objective="softmax")
    alone = make().replace(left=None)
    assert codes(audit(alone, objective="softmax", n_gauges=1)) == ["EMB101"]


@pytest.mark.parametrize("rows", [np.zeros((5, 3)), np.eye(5, 3)[:1], np.vstack([np.ones((1, 3)), np.zeros((4, 3))])])
def test_fewer_than_two_rows_with_a_direction_are_refused(rows):
    with pytest.raises(InputError, match="two rows or more that are not zero"):
        audit(ea.FactorModel.from_vectors(rows))


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize(
    ("scale", "dtype", "fine"),
    [
        (1e200, np.float64, False),
        (1e-310, np.float64, False),
        (1e-30, np.float32, False),
        (1e60, np.float64, True),
        (1e-6, np.float32, True),
    ],
)
def test_factors_of_extraordinary_size_are_refused_not_misread(scale, dtype, fine):
    vectors = (np.random.default_rng(0).standard_normal((12, 3)) * scale).astype(dtype)
    if fine:
        assert audit(ea.FactorModel.from_vectors(vectors), n_gauges=1).predictions_hold
    else:
        with pytest.raises(InputError, match="a constant, which changes no cosine"):
            audit(ea.FactorModel.from_vectors(vectors))


def test_cosines_that_cannot_move_are_no_issue():
    result = audit(random_model(n=20, p=15, k=1), objective="product", n_gauges=2)
    assert codes(result) == []
    assert result.worst is None
    assert "In one dimension item-item cosines are signs" in result.verdict
    assert "Training" not in result.verdict
    assert result.verdict.endswith("Read these cosines as part of what the model predicts.")


@pytest.mark.usefixtures("without_attacks")
def test_a_failed_drift_check_comes_first_and_silences_the_rest():
    result = audit(make(objective="product"), n_gauges=1)
    broken = (Drift(Equivalence.SCORES, 1.0, 1.0, 1e-9, 10, exact=True), *result.evidence.drift[1:])
    fields = {name: getattr(result.evidence, name) for name in Evidence.__dataclass_fields__}
    failed = Audit(result.model, Evidence(**(fields | {"drift": broken})))
    assert codes(failed)[0] == "EMB001"
    assert failed.verdict.startswith("The check failed")
    assert "Nothing here can be trusted" in failed.verdict
    assert failed.worst is Severity.ISSUE


def test_each_code_is_given_in_one_place():
    sources = sorted(Path(checks.__file__).parent.glob("*.py"))
    found = re.findall(r'"(EMB\d{3})"', "".join(source.read_text(encoding="utf-8") for source in sources))
    assert len(found) == len(set(found)) == len(CODES)


@pytest.mark.usefixtures("without_attacks")
def test_findings_about_the_model_itself():
    items = np.array(make().right)
    items[4] = 0
    assert "EMB201" in codes(audit(make().replace(right=items), n_gauges=1))
    assert "EMB202" in codes(audit(make(right_bias=np.arange(30.0)), n_gauges=1))
    users = np.array(make().left)
    users[:, 2] = 0
    assert "EMB203" in codes(audit(make().replace(left=users), n_gauges=1))
    users[:, 2] = 3
    assert "EMB204" in codes(audit(make().replace(left=users), n_gauges=1))
    others = set(checks.CHECKS) - set(checks.OF_TRAITS)
    assert len(others) == 13, "a new check needs a test here, or among those of heads or of what rows are like"


def test_every_link_and_one_sided_models_are_audited():
    for link in ea.Link:
        result = audit(make().replace(link=link), n_gauges=1)
        assert result.evidence.predictions_hold, link
    alone = audit(make().replace(left=None), n_gauges=1)
    assert {m.role for records in alone.evidence.movement for m in records} == {"right"}
    assert alone.evidence.predictions_hold
    assert alone.evidence.position is None


@pytest.mark.usefixtures("without_attacks")
def test_the_frame_has_a_row_for_each_equivalent_model_and_role():
    result = audit(make(), n_gauges=2, roles=["right", "cross"])
    frame = result.to_frame()
    assert len(frame) == 2 * len(result.evidence.equivalents)
    assert frame["drift_ok"].all()
    assert (frame["max_abs"] >= frame["mean_abs"]).all()


@pytest.mark.usefixtures("without_attacks")
def test_neighbours_are_shown_by_title_for_the_chosen_rows():
    names = [f"Film {i}" for i in range(30)]
    model = make(right_names=names, right_ids=np.arange(100, 130))
    result = audit(model, n_gauges=1, show=["104", "film 7"])
    assert [example.name for example in result.evidence.examples] == ["Film 4", "Film 7"]
    for wanted, message in (("Film", "which fits 30"), ("nothing", "an id or title")):
        with pytest.raises(InputError, match=message):
            audit(model, n_gauges=1, show=[wanted])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_gauges": 0}, "n_gauges must be an integer from 1 to 10000; got 0"),
        ({"n_pairs": 0.5}, "n_pairs must be an integer"),
        ({"n_neighbours": -1}, "n_neighbours must be"),
        ({"max_condition": 0.5}, "max_condition must be a finite number >= 1"),
        ({"max_condition": float("nan")}, "max_condition must be"),
        ({"max_condition": None}, "max_condition must be"),
        ({"objective": "magic"}, "objective must be one of product"),
        ({"groups": ["magic"]}, "group must be one of canonical"),
        ({"roles": ["movie"]}, "role must be one of .*; got 'movie'"),
        ({"rng": -1}, "rng must be a numpy Generator, an integer >= 0 or None; got -1"),
    ],
)
def test_parameters_outside_their_sets_are_refused_in_one_sentence(options, message):
    with pytest.raises(InputError, match=message):
        audit(make(), **options)


def test_the_page_is_small_safe_and_complete():
    model = make(right_names=[f"<script>{i}</script>" for i in range(30)], objective="product")
    result = audit(model, n_gauges=1, source="a&b.npz")
    page, fragment = result.report(), result._repr_html_()
    assert page.startswith("<!doctype html>")
    assert "<script>0" not in page
    assert "a&amp;b.npz" in page
    assert "EMB101" in fragment
    assert len(page) < 2_000_000
