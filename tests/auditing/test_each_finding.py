"""Each finding on a small model that raises it, its severity, and a similar model that
does not raise it.

Expected values are the numbers of the evidence, or simple sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from chosen_evidence import (
    HEAD,
    MODEL,
    OPEN,
    PINNED,
    VISIT,
    make_argmaxable,
    make_centred_head_report,
    make_drift,
    make_equivalence_class,
    make_equivalent_head,
    make_equivalent_model,
    make_evidence,
    make_head_evidence,
    make_head_report,
    make_movement,
    make_projector_cosines,
)
from finding_cases import (
    CAPPED_HEAD,
    FOUR_OF_64_DIMENSIONS,
    ITEMS_ALONE,
    THREE_QUARTERS_KEPT,
    TWO_SPACES,
    all_cases,
    make_constant_rows,
    make_decay_evidence,
    make_duplicates_evidence,
    make_evidence_of_training,
    make_norm_evidence,
    make_traits_evidence,
    make_unseen_evidence,
)
from truth.table import TABLE as TRUTH_TABLE

import embaudit as ea
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.common_direction import CommonDirection
from embaudit.auditing.finding import Kind, Severity
from embaudit.auditing.findings import conclusions
from embaudit.auditing.identity import (
    FEWEST_MOVED_ROWS,
    LOWEST_CORRELATION,
    SHARE_OF_MOVED_ROWS,
    ScoreChange,
)
from embaudit.auditing.near_duplicates import NearDuplicates
from embaudit.core.words import percent
from embaudit.linalg.hubs import Hubs
from embaudit.model import FactorModel
from embaudit.model.equivalence import UNLIKE_CORRELATION
from embaudit.model.final_norm import FinalNorm
from embaudit.model.trainings import StatedTraining
from embaudit.movements.neighbourhoods import NearestChanged

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

RMS = FinalNorm("rms", [1.0, 2.0, 4.0])
ROWS = np.random.default_rng(0).standard_normal((40, 9))
FOUR_TWICE = np.vstack([ROWS[:36], ROWS[:4]])
"""Forty rows, of which 8 have a duplicate."""


@dataclass(frozen=True)
class Expected:
    """A model that raises a finding, the finding, and a similar model without it."""

    severity: str
    kind: Kind
    role: str | None
    value: float | None
    raised_by: Evidence
    not_raised_by: Evidence


def make_changed_scores(largest: float) -> Evidence:
    """Return evidence of a gauge that changes a score by `largest`."""
    return make_evidence(MODEL, VISIT, drift=(make_drift(largest),))


def make_correlated_scores(correlation: float) -> Evidence:
    """Return evidence of scores with this correlation with the baseline's scores."""
    return make_evidence(MODEL, score_change=ScoreChange(20, 10, correlation))


def make_zero_items(n_zero: int) -> Evidence:
    """Return evidence of five items, of which the first `n_zero` rows are zero."""
    kept = np.arange(5) >= n_zero
    return make_evidence(MODEL.replace(right=MODEL.right * kept[:, None]))


def make_short_item(length: float) -> Evidence:
    """Return evidence of four items of length 1 and a fifth of another length."""
    items = np.eye(5, 3)
    items[3:] = [[0.6, 0.8, 0.0], [length, 0.0, 0.0]]
    return make_evidence(MODEL.replace(right=items))


def make_item_bias(bias: list[float]) -> Evidence:
    """Return evidence of five items with these biases."""
    return make_evidence(MODEL.replace(right_bias=bias))


def make_centred_capped_head(model: FactorModel) -> Evidence:
    """Return evidence of a head from which the mean row was removed.

    If its logits are capped, this changes probabilities by 0.5.
    """
    change = {"change": 0.5, "tolerance": 1e-12} if model is CAPPED_HEAD else {}
    return make_head_evidence(
        make_head_report(model, centred=make_equivalent_head(**change))
    )


def make_decayed_head(mean_norm: float) -> Evidence:
    """Return evidence of a head trained with decay, with rows of length 2."""
    model = HEAD.replace(objective="softmax-decay")
    return make_head_evidence(
        make_head_report(model, mean_norm=mean_norm, median_norm=2.0)
    )


def make_common_direction(mean_cosine: float) -> Evidence:
    """Return evidence of items with this mean cosine."""
    nearest = NearestChanged(0.25, 0.2, 0.3, 400)
    return make_traits_evidence(
        MODEL, direction=CommonDirection(mean_cosine, 0.8, nearest)
    )


def make_hub(share: float) -> Evidence:
    """Return evidence that item 4 is in this share of the 5-item lists of 40 items."""
    return make_traits_evidence(MODEL, hubs=Hubs(40, 5, 7.25, (4,), (0.9,), share))


def make_near_duplicates(share: float) -> Evidence:
    """Return evidence of 1,000 rows, of which this share has a near-duplicate."""
    return make_traits_evidence(
        ITEMS_ALONE, near_duplicates=NearDuplicates(1000, share, share, 0.5, (3, 4))
    )


def make_vectors(rows: np.ndarray) -> Evidence:
    """Return evidence of one table of vectors."""
    return make_evidence(FactorModel.from_vectors(rows))


SHOWN = Kind.SHOWN
PROVEN = Kind.PROVEN
MEASURED = Kind.MEASURED
ASSUMED = Kind.ASSUMED
UNDECIDED = Kind.UNDECIDED
FINDINGS = {
    "EMB001": Expected(
        "issue", SHOWN, None, 2.0, make_changed_scores(2.0), make_changed_scores(1e-15)
    ),
    "EMB002": Expected(
        "issue",
        MEASURED,
        None,
        0.49,
        make_correlated_scores(0.49),
        make_correlated_scores(0.5),
    ),
    "EMB101": Expected(
        "issue",
        ASSUMED,
        "right",
        0.2,
        make_evidence_of_training("product"),
        make_evidence_of_training("factors"),
    ),
    "EMB102": Expected(
        "tip",
        UNDECIDED,
        "right",
        0.2,
        make_evidence(MODEL, VISIT),
        make_evidence_of_training("product"),
    ),
    "EMB103": Expected(
        "tip",
        ASSUMED,
        "right",
        0.2,
        make_evidence_of_training("factors"),
        make_evidence_of_training("none"),
    ),
    "EMB104": Expected(
        "issue",
        MEASURED,
        "right",
        1 - 0.75,
        make_decay_evidence(0.125, **THREE_QUARTERS_KEPT),
        make_decay_evidence(0.0),
    ),
    "EMB105": Expected(
        "tip",
        UNDECIDED,
        "right",
        None,
        make_evidence(MODEL, equivalence=make_equivalence_class(OPEN)),
        make_evidence(MODEL, equivalence=make_equivalence_class(PINNED)),
    ),
    "EMB106": Expected(
        "issue",
        ASSUMED,
        None,
        None,
        make_evidence(
            MODEL.replace(
                objective="factors",
                overruled=StatedTraining("product", "the model"),
            )
        ),
        make_evidence_of_training("factors"),
    ),
    "EMB201": Expected(
        "tip", MEASURED, "right", 1, make_zero_items(1), make_zero_items(0)
    ),
    "EMB202": Expected(
        "tip",
        MEASURED,
        "right",
        4.0,
        make_item_bias([0.0, 1, 2, 3, 4]),
        make_item_bias([1.0] * 5),
    ),
    "EMB203": Expected(
        "issue",
        PROVEN,
        "right",
        0.2,
        make_unseen_evidence(0.2, 0.9),
        make_evidence(MODEL, VISIT),
    ),
    "EMB204": Expected(
        "tip",
        MEASURED,
        "right",
        2.5,
        make_evidence(MODEL.replace(left=make_constant_rows(6, 3))),
        make_evidence(MODEL),
    ),
    "EMB205": Expected(
        "tip", MEASURED, "right", 1.0, make_short_item(0.9e-7), make_short_item(1.1e-7)
    ),
    "EMB301": Expected(
        "issue",
        SHOWN,
        "right",
        0.4,
        make_head_evidence(),
        make_head_evidence(make_centred_head_report()),
    ),
    "EMB302": Expected(
        "tip",
        PROVEN,
        "right",
        4 / 3,
        make_head_evidence(make_head_report(projector=make_projector_cosines(4, 3))),
        make_head_evidence(make_head_report(projector=make_projector_cosines(5, 3))),
    ),
    "EMB303": Expected(
        "tip",
        MEASURED,
        "right",
        5 / 3,
        make_head_evidence(make_head_report(projector=make_projector_cosines(5, 3))),
        make_head_evidence(make_head_report(projector=make_projector_cosines(20, 3))),
    ),
    "EMB304": Expected(
        "tip",
        PROVEN,
        "right",
        1,
        make_head_evidence(
            make_head_report(argmax=make_argmaxable(False, True, True, True))
        ),
        make_head_evidence(
            make_head_report(argmax=make_argmaxable(True, True, True, True))
        ),
    ),
    "EMB305": Expected(
        "tip",
        SHOWN,
        "right",
        0.5,
        make_centred_capped_head(CAPPED_HEAD),
        make_centred_capped_head(HEAD),
    ),
    "EMB306": Expected(
        "tip",
        MEASURED,
        "right",
        1.0 / 2.0,
        make_decayed_head(1.0),
        make_decayed_head(0.01),
    ),
    "EMB307": Expected(
        "issue",
        SHOWN,
        "right",
        0.32,
        make_norm_evidence(RMS, share=0.32),
        make_norm_evidence(RMS, share=0.01),
    ),
    "EMB401": Expected(
        "tip",
        MEASURED,
        "right",
        8 / 40,
        make_duplicates_evidence(FactorModel.from_user_item(ROWS[:9], FOUR_TWICE)),
        make_duplicates_evidence(FactorModel.from_user_item(ROWS[:9], ROWS)),
    ),
    "EMB403": Expected(
        "tip",
        MEASURED,
        "right",
        0.64,
        make_common_direction(0.64),
        make_common_direction(0.05),
    ),
    "EMB404": Expected("tip", MEASURED, "right", 0.1, make_hub(0.1), make_hub(0.09)),
    "EMB407": Expected(
        "tip",
        MEASURED,
        "right",
        2.5,
        make_vectors(make_constant_rows(5, 4)),
        make_vectors(ROWS),
    ),
    "EMB409": Expected(
        "tip",
        MEASURED,
        "right",
        1e-8,
        make_traits_evidence(ITEMS_ALONE, off_unit=1e-8),
        make_traits_evidence(ITEMS_ALONE, off_unit=0.5),
    ),
    "EMB410": Expected(
        "tip",
        MEASURED,
        "right",
        None,
        make_traits_evidence(ITEMS_ALONE, orthonormal=True),
        make_traits_evidence(ITEMS_ALONE, orthonormal=False),
    ),
    "EMB411": Expected(
        "issue",
        MEASURED,
        "right",
        0.5,
        make_traits_evidence(ITEMS_ALONE, spaces=TWO_SPACES),
        make_traits_evidence(ITEMS_ALONE, spaces=None),
    ),
    "EMB412": Expected(
        "issue",
        MEASURED,
        "right",
        None,
        make_traits_evidence(ITEMS_ALONE, orthogonal_rows=True),
        make_traits_evidence(ITEMS_ALONE, orthogonal_rows=False),
    ),
    "EMB413": Expected(
        "tip",
        MEASURED,
        "right",
        3.9,
        make_traits_evidence(ITEMS_ALONE, dimensions=FOUR_OF_64_DIMENSIONS),
        make_traits_evidence(
            ITEMS_ALONE, dimensions=replace(FOUR_OF_64_DIMENSIONS, used=33)
        ),
    ),
    "EMB414": Expected(
        "tip",
        MEASURED,
        "right",
        0.33,
        make_near_duplicates(0.33),
        make_near_duplicates(0.019),
    ),
}


def findings_of_code(code, evidence):
    """Return the findings with this code."""
    return [finding for finding in conclusions(evidence) if finding.code == code]


def severities(code, evidence):
    """Return the severities of the findings with this code, as words."""
    return [finding.severity.title for finding in findings_of_code(code, evidence)]


def test_every_finding_has_a_model_for_and_against_it():
    """A code that is not in FINDINGS must have models in the truth table."""
    unordered = "FINDINGS must list existing codes in ascending order"
    assert list(FINDINGS) == sorted(set(FINDINGS) & set(CODES)), unordered
    in_truth_table = {code for row in TRUTH_TABLE.values() for code in row.findings}
    # tests/truth/test_low_rank_adapters.py is the table of EMB601.
    missing = set(CODES) - set(FINDINGS) - {"EMB601"} - in_truth_table
    assert not missing, f"add {sorted(missing)} to FINDINGS or to tests/truth/table"


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_is_raised_with_its_severity_kind_role_and_value(code):
    expected = FINDINGS[code]
    (found,) = findings_of_code(code, expected.raised_by)
    assert found.severity.title == expected.severity
    assert found.kind is expected.kind
    assert found.role == expected.role
    assert found.value == (
        None if expected.value is None else pytest.approx(expected.value)
    )


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_is_not_raised_by_a_model_close_to_one_that_raises_it(code):
    assert findings_of_code(code, FINDINGS[code].not_raised_by) == []


@pytest.mark.parametrize("name", sorted(all_cases()))
def test_findings_about_the_pairs_in_question_come_first_and_notes_last(name):
    case = all_cases()[name]
    order = [
        (
            finding.severity is not Severity.NOTE,
            finding.role in (None, case.role),
            finding.severity,
        )
        for finding in conclusions(case)
    ]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("n_moved", "n_rows", "raised"), [(3, 99, False), (4, 99, True), (6, 200, False)]
)
def test_more_than_3_users_and_3_percent_with_other_scores_are_an_issue(
    n_moved, n_rows, raised
):
    change = ScoreChange(n_rows, 20, 0.9, n_moved, 0)
    found = findings_of_code("EMB002", make_evidence(MODEL, score_change=change))
    expected = [n_moved / n_rows] if raised else []
    assert [finding.value for finding in found] == expected


def test_the_explanation_of_emb002_states_the_limits_that_decide():
    explanation = CODES["EMB002"].reported
    assert f"less than {LOWEST_CORRELATION:g} on average" in explanation
    assert f"more than {percent(SHARE_OF_MOVED_ROWS)} of the rows" in explanation
    assert f"at least {FEWEST_MOVED_ROWS} rows" in explanation
    assert f"less than {UNLIKE_CORRELATION:g}." in explanation


def test_the_text_of_emb002_states_the_correlation_of_a_row_with_other_scores():
    change = ScoreChange(99, 20, 0.9, moved_rows=4)
    (finding,) = findings_of_code("EMB002", make_evidence(MODEL, score_change=change))
    assert f"correlate by less than {UNLIKE_CORRELATION:g}" in finding.text


@pytest.mark.parametrize(("n_zero", "severity"), [(9, "tip"), (10, "issue")])
def test_zero_rows_are_an_issue_from_a_twentieth_of_a_side_on(n_zero, severity):
    users = np.ones((200, 2)) * (np.arange(200) >= n_zero)[:, None]
    items = np.random.default_rng(0).standard_normal((9, 2))
    case = make_evidence(FactorModel.from_user_item(users, items))
    assert severities("EMB201", case) == [severity]


@pytest.mark.parametrize(
    ("mean_direction", "shared", "severity"),
    [(0.5, 0.0, "issue"), (0.0, 0.5, "issue"), (0.49, 0.49, "tip")],
)
def test_two_spaces_are_an_issue_unless_topics_can_be_the_reason(
    mean_direction, shared, severity
):
    spaces = replace(TWO_SPACES, mean_direction=mean_direction, shared=shared)
    assert severities("EMB411", make_traits_evidence(ITEMS_ALONE, spaces=spaces)) == [
        severity
    ]


@pytest.mark.parametrize(
    ("directions", "severity"), [(4.0, "issue"), (5.0, "tip"), (-9.0, "issue")]
)
def test_two_spaces_that_deviate_more_than_usual_in_total_are_a_tip(
    directions, severity
):
    # The squares of the other deviations have the sum 1.25² + 0.5² + 1.5² + 2.5² =
    # 10.3. With 4² the root is 5.1, and with 5² it is 5.9. A negative deviation of the
    # principal directions does not count.
    relation = replace(TWO_SPACES.relation, directions=directions)
    spaces = replace(TWO_SPACES, relation=relation)
    assert severities("EMB411", make_traits_evidence(ITEMS_ALONE, spaces=spaces)) == [
        severity
    ]


def test_rows_away_from_their_penalty_are_an_issue_if_lists_change_and_else_a_tip():
    nearly = THREE_QUARTERS_KEPT | {"top_n_overlap": 0.9}
    few_lists = THREE_QUARTERS_KEPT | {"top_n_overlap": 0.0, "n_lists": 5}
    assert severities("EMB104", make_decay_evidence(0.0, **THREE_QUARTERS_KEPT)) == [
        "issue"
    ]
    assert severities("EMB104", make_decay_evidence(0.125)) == ["tip"]
    assert severities("EMB104", make_decay_evidence(0.5, **few_lists)) == ["tip"]
    assert severities("EMB104", make_decay_evidence(0.0625, **nearly)) == ["tip"]


def test_the_largest_excess_over_rounding_names_the_model_of_a_failed_check():
    tolerant = make_equivalent_head("one", change=1e-2, tolerance=1e-3)
    strict = make_equivalent_head("two", change=1e-7, tolerance=1e-9)
    found = make_head_report(centred=tolerant, equivalents=(strict,))
    (failed,) = conclusions(make_head_evidence(found))
    assert (failed.code, failed.scope.models, failed.value) == ("EMB001", "two", 1e-7)


def test_the_equivalent_model_that_moves_cosines_most_on_average_is_named():
    first = (make_equivalent_model("first"), make_movement(mean_abs=0.2, max_abs=0.3))
    second = (make_equivalent_model("second"), make_movement(mean_abs=0.1, max_abs=0.9))
    (found,) = findings_of_code("moved", make_evidence(MODEL, first, second))
    assert found.value == 0.2
    assert found.scope.models == "first"


@pytest.mark.parametrize(
    ("objective", "roles"), [("logistic-decay", []), ("softmax-decay", ["left"])]
)
def test_given_inputs_that_use_few_dimensions_are_no_collapse_of_training(
    objective, roles
):
    """A classifier with the objective `logistic-decay` does not train its inputs."""
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(60, 16)) * (np.arange(16) < 6)
    labels = draw.normal(size=(50, 16))
    model = FactorModel.from_arrays(inputs, labels, link="softmax", objective=objective)
    findings = ea.audit(model).findings
    collapsed = [finding for finding in findings if finding.code == "EMB413"]
    assert [finding.role for finding in collapsed] == roles


DRAW = np.random.default_rng(0)
USERS = DRAW.standard_normal((9, 2))
ITEMS = DRAW.standard_normal((8, 2))
UNIT_ITEMS = ITEMS / np.linalg.norm(ITEMS, axis=1, keepdims=True)
EQUAL_ITEMS = np.tile([1.0, 0.0], (8, 1))


def roles_of_unit_rows(left, right, **training):
    """Return the sides about which the audit reports EMB409, rows of length 1."""
    model = FactorModel.from_user_item(left, right, **training)
    audit = ea.audit(model, n_gauges=1, n_pairs=20, n_starts=0)
    return [finding.role for finding in audit.findings if finding.code == "EMB409"]


def test_unit_rows_on_one_of_two_sides_are_a_tip():
    assert roles_of_unit_rows(USERS, UNIT_ITEMS) == ["right"]
    assert roles_of_unit_rows(UNIT_ITEMS, USERS) == ["left"]
    assert roles_of_unit_rows(USERS, ITEMS) == []


@pytest.mark.parametrize("training", [{"link": "identity"}, {"objective": "factors"}])
def test_unit_rows_of_a_declared_training_are_no_tip(training):
    assert roles_of_unit_rows(USERS, UNIT_ITEMS, **training) == []


def test_unit_rows_on_both_sides_are_not_reported_as_unit_rows_of_one_side():
    """EMB105 asks how training compared these sides."""
    assert roles_of_unit_rows(UNIT_ITEMS, UNIT_ITEMS) == []


def test_equal_rows_of_length_1_are_no_tip():
    """A side of equal rows has one length, whatever training compared."""
    assert roles_of_unit_rows(USERS, EQUAL_ITEMS) == []
