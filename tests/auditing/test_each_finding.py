"""Each finding on a small model that raises it, its severity, and a similar model that
does not raise it.

Expected values are the numbers of the evidence, or simple sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from made import (
    HEAD,
    MODEL,
    OPEN,
    PINNED,
    argmax,
    drift,
    equal,
    equal_head,
    equivalence,
    evidence,
    head,
    moved,
    of_head,
    projector,
    quiet,
)
from raised import (
    ALONE,
    CAPPED,
    COLLAPSED,
    LISTS,
    SPACES,
    blind,
    cases,
    constant,
    copied,
    decayed,
    like,
    normed,
    trained,
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
VISIT = (equal(), moved(mean_abs=0.2))


@dataclass(frozen=True)
class Expected:
    """A model that raises a finding, the finding, and a similar model without it."""

    severity: str
    kind: Kind
    role: str | None
    value: float | None
    raised_by: Evidence
    not_by: Evidence


def checked(largest: float) -> Evidence:
    """One equivalent model, under which the scores change by so much."""
    return evidence(MODEL, VISIT, drift=(drift(largest),))


def correlated(correlation: float) -> Evidence:
    """Scores of 20 users and 10 items that correlate so with the baseline's."""
    return evidence(MODEL, score_change=ScoreChange(20, 10, correlation))


def with_zero_items(n_zero: int) -> Evidence:
    """Five items, of which some rows are zero."""
    kept = np.arange(5) >= n_zero
    return evidence(MODEL.replace(right=MODEL.right * kept[:, None]))


def with_short_item(length: float) -> Evidence:
    """Five items of length 1, but for the last one."""
    items = np.eye(5, 3)
    items[3:] = [[0.6, 0.8, 0.0], [length, 0.0, 0.0]]
    return evidence(MODEL.replace(right=items))


def with_item_bias(bias: list[float]) -> Evidence:
    return evidence(MODEL.replace(right_bias=bias))


def capped(model: FactorModel) -> Evidence:
    """A head whose probabilities change by 0.5 when the mean row is removed."""
    change = {"change": 0.5, "tolerance": 1e-12} if model is CAPPED else {}
    return of_head(head(model, centred=equal_head(**change)))


def decayed_head(mean_norm: float) -> Evidence:
    """A head trained with decay, with a mean row so long and rows of length 2."""
    model = HEAD.replace(objective="softmax-decay")
    return of_head(head(model, mean_norm=mean_norm, median_norm=2.0))


def sharing(mean_cosine: float) -> Evidence:
    """Items whose cosines are so high on average."""
    nearest = NearestChanged(0.25, 0.2, 0.3, 400)
    return like(MODEL, direction=CommonDirection(mean_cosine, 0.8, nearest))


def filled(share: float) -> Evidence:
    """Item 4 fills this share of the lists of 40 items, the 5 nearest each."""
    return like(MODEL, hubs=Hubs(40, 5, 7.25, (4,), (0.9,), share))


def near_copies(share: float) -> Evidence:
    """A table of 1,000 rows, of which so many have a near-duplicate."""
    return like(ALONE, near_duplicates=NearDuplicates(1000, share, share, 0.5, (3, 4)))


def vectors(rows: np.ndarray) -> Evidence:
    return evidence(FactorModel.from_vectors(rows))


SHOWN, PROVEN, MEASURED = Kind.SHOWN, Kind.PROVEN, Kind.MEASURED
ASSUMED, UNDECIDED = Kind.ASSUMED, Kind.UNDECIDED
FINDINGS = {
    "EMB001": Expected("issue", SHOWN, None, 2.0, checked(2.0), checked(1e-15)),
    "EMB002": Expected(
        "issue", MEASURED, None, 0.49, correlated(0.49), correlated(0.5)
    ),
    "EMB101": Expected(
        "issue", ASSUMED, "right", 0.2, trained("product"), trained("factors")
    ),
    "EMB102": Expected(
        "tip", UNDECIDED, "right", 0.2, evidence(MODEL, VISIT), trained("product")
    ),
    "EMB103": Expected(
        "tip", ASSUMED, "right", 0.2, trained("factors"), trained("none")
    ),
    "EMB104": Expected(
        "issue", MEASURED, "right", 1 - 0.75, decayed(0.125, **LISTS), decayed(0.0)
    ),
    "EMB105": Expected(
        "tip",
        UNDECIDED,
        "right",
        None,
        evidence(MODEL, equivalence=equivalence(OPEN)),
        evidence(MODEL, equivalence=equivalence(PINNED)),
    ),
    "EMB106": Expected(
        "issue",
        ASSUMED,
        None,
        None,
        evidence(
            MODEL.replace(
                objective="factors",
                overruled=StatedTraining("product", "the model"),
            )
        ),
        trained("factors"),
    ),
    "EMB201": Expected(
        "tip", MEASURED, "right", 1, with_zero_items(1), with_zero_items(0)
    ),
    "EMB202": Expected(
        "tip",
        MEASURED,
        "right",
        4.0,
        with_item_bias([0.0, 1, 2, 3, 4]),
        with_item_bias([1.0] * 5),
    ),
    "EMB203": Expected(
        "issue", PROVEN, "right", 0.2, blind(0.2, 0.9), evidence(MODEL, VISIT)
    ),
    "EMB204": Expected(
        "tip",
        MEASURED,
        "right",
        2.5,
        evidence(MODEL.replace(left=constant(6, 3))),
        evidence(MODEL),
    ),
    "EMB205": Expected(
        "tip", MEASURED, "right", 1.0, with_short_item(0.9e-7), with_short_item(1.1e-7)
    ),
    "EMB301": Expected("issue", SHOWN, "right", 0.4, of_head(), of_head(quiet())),
    "EMB302": Expected(
        "tip",
        PROVEN,
        "right",
        4 / 3,
        of_head(head(projector=projector(4, 3))),
        of_head(head(projector=projector(5, 3))),
    ),
    "EMB303": Expected(
        "tip",
        MEASURED,
        "right",
        5 / 3,
        of_head(head(projector=projector(5, 3))),
        of_head(head(projector=projector(20, 3))),
    ),
    "EMB304": Expected(
        "tip",
        PROVEN,
        "right",
        1,
        of_head(head(argmax=argmax(False, True, True, True))),
        of_head(head(argmax=argmax(True, True, True, True))),
    ),
    "EMB305": Expected("tip", SHOWN, "right", 0.5, capped(CAPPED), capped(HEAD)),
    "EMB306": Expected(
        "tip", MEASURED, "right", 1.0 / 2.0, decayed_head(1.0), decayed_head(0.01)
    ),
    "EMB307": Expected(
        "issue", SHOWN, "right", 0.32, normed(RMS, share=0.32), normed(RMS, share=0.01)
    ),
    "EMB401": Expected(
        "tip",
        MEASURED,
        "right",
        8 / 40,
        copied(FactorModel.from_user_item(ROWS[:9], FOUR_TWICE)),
        copied(FactorModel.from_user_item(ROWS[:9], ROWS)),
    ),
    "EMB403": Expected("tip", MEASURED, "right", 0.64, sharing(0.64), sharing(0.05)),
    "EMB404": Expected("tip", MEASURED, "right", 0.1, filled(0.1), filled(0.09)),
    "EMB407": Expected(
        "tip", MEASURED, "right", 2.5, vectors(constant(5, 4)), vectors(ROWS)
    ),
    "EMB409": Expected(
        "tip",
        MEASURED,
        "right",
        1e-8,
        like(ALONE, off_unit=1e-8),
        like(ALONE, off_unit=0.5),
    ),
    "EMB410": Expected(
        "tip",
        MEASURED,
        "right",
        None,
        like(ALONE, orthonormal=True),
        like(ALONE, orthonormal=False),
    ),
    "EMB411": Expected(
        "issue",
        MEASURED,
        "right",
        0.5,
        like(ALONE, spaces=SPACES),
        like(ALONE, spaces=None),
    ),
    "EMB412": Expected(
        "issue",
        MEASURED,
        "right",
        None,
        like(ALONE, orthogonal_rows=True),
        like(ALONE, orthogonal_rows=False),
    ),
    "EMB413": Expected(
        "tip",
        MEASURED,
        "right",
        3.9,
        like(ALONE, dimensions=COLLAPSED),
        like(ALONE, dimensions=replace(COLLAPSED, used=33)),
    ),
    "EMB414": Expected(
        "tip", MEASURED, "right", 0.33, near_copies(0.33), near_copies(0.019)
    ),
}


def of_code(code, case):
    return [one for one in conclusions(case) if one.code == code]


def severities(code, case):
    return [one.severity.title for one in of_code(code, case)]


def test_every_finding_has_a_model_for_and_against_it():
    """Models of the truth table are for and against the codes that have none here."""
    unordered = "FINDINGS must list existing codes in ascending order"
    assert list(FINDINGS) == sorted(set(FINDINGS) & set(CODES)), unordered
    in_truth_table = {code for row in TRUTH_TABLE.values() for code in row.findings}
    # tests/truth/test_low_rank_adapters.py is the table of EMB601.
    missing = set(CODES) - set(FINDINGS) - {"EMB601"} - in_truth_table
    assert not missing, f"add {sorted(missing)} to FINDINGS or to tests/truth/table"


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_is_raised_with_its_severity_kind_role_and_value(code):
    expected = FINDINGS[code]
    (found,) = of_code(code, expected.raised_by)
    assert found.severity.title == expected.severity
    assert found.kind is expected.kind
    assert found.role == expected.role
    assert found.value == (
        None if expected.value is None else pytest.approx(expected.value)
    )


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_is_not_raised_by_a_model_close_to_one_that_raises_it(code):
    assert of_code(code, FINDINGS[code].not_by) == []


@pytest.mark.parametrize("name", sorted(cases()))
def test_findings_about_the_pairs_asked_for_come_first_and_notes_last(name):
    case = cases()[name]
    order = [
        (
            one.severity is not Severity.NOTE,
            one.role in (None, case.role),
            one.severity,
        )
        for one in conclusions(case)
    ]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("n_moved", "n_rows", "raised"), [(3, 99, False), (4, 99, True), (6, 200, False)]
)
def test_more_than_3_users_and_3_percent_with_other_scores_are_an_issue(
    n_moved, n_rows, raised
):
    change = ScoreChange(n_rows, 20, 0.9, n_moved, 0)
    found = of_code("EMB002", evidence(MODEL, score_change=change))
    assert [one.value for one in found] == ([n_moved / n_rows] if raised else [])


def test_the_explanation_of_emb002_states_the_limits_that_decide():
    explanation = CODES["EMB002"].reported
    assert f"less than {LOWEST_CORRELATION:g} on average" in explanation
    assert f"more than {percent(SHARE_OF_MOVED_ROWS)} of the rows" in explanation
    assert f"at least {FEWEST_MOVED_ROWS} rows" in explanation
    assert f"less than {UNLIKE_CORRELATION:g}." in explanation


def test_the_text_of_emb002_states_the_correlation_of_a_row_with_other_scores():
    change = ScoreChange(99, 20, 0.9, moved_rows=4)
    (finding,) = of_code("EMB002", evidence(MODEL, score_change=change))
    assert f"correlate by less than {UNLIKE_CORRELATION:g}" in finding.text


@pytest.mark.parametrize(("n_zero", "severity"), [(9, "tip"), (10, "issue")])
def test_zero_rows_are_an_issue_from_a_twentieth_of_a_side_on(n_zero, severity):
    users = np.ones((200, 2)) * (np.arange(200) >= n_zero)[:, None]
    items = np.random.default_rng(0).standard_normal((9, 2))
    case = evidence(FactorModel.from_user_item(users, items))
    assert severities("EMB201", case) == [severity]


@pytest.mark.parametrize(
    ("mean_direction", "shared", "severity"),
    [(0.5, 0.0, "issue"), (0.0, 0.5, "issue"), (0.49, 0.49, "tip")],
)
def test_two_spaces_are_an_issue_unless_topics_can_be_the_reason(
    mean_direction, shared, severity
):
    spaces = replace(SPACES, mean_direction=mean_direction, shared=shared)
    assert severities("EMB411", like(ALONE, spaces=spaces)) == [severity]


@pytest.mark.parametrize(
    ("directions", "severity"), [(4.0, "issue"), (5.0, "tip"), (-9.0, "issue")]
)
def test_two_spaces_that_deviate_more_than_usual_in_total_are_a_tip(
    directions, severity
):
    # The squares of the other deviations have the sum 1.25² + 0.5² + 1.5² + 2.5² =
    # 10.3. With 4² the root is 5.1, and with 5² it is 5.9. A negative deviation of the
    # principal directions does not count.
    relation = replace(SPACES.relation, directions=directions)
    spaces = replace(SPACES, relation=relation)
    assert severities("EMB411", like(ALONE, spaces=spaces)) == [severity]


def test_decay_is_an_issue_by_its_lists_and_a_tip_by_cosines_alone():
    nearly = LISTS | {"top_n_overlap": 0.9}
    few_lists = LISTS | {"top_n_overlap": 0.0, "n_lists": 5}
    assert severities("EMB104", decayed(0.0, **LISTS)) == ["issue"]
    assert severities("EMB104", decayed(0.125)) == ["tip"]
    assert severities("EMB104", decayed(0.5, **few_lists)) == ["tip"]
    assert severities("EMB104", decayed(0.0625, **nearly)) == ["tip"]


def test_the_largest_excess_over_rounding_names_the_model_of_a_failed_check():
    tolerant = equal_head("one", change=1e-2, tolerance=1e-3)
    strict = equal_head("two", change=1e-7, tolerance=1e-9)
    found = head(centred=tolerant, equivalents=(strict,))
    (failed,) = conclusions(of_head(found))
    assert (failed.code, failed.scope.models, failed.value) == ("EMB001", "two", 1e-7)


def test_of_equal_models_the_one_that_moves_cosines_most_on_average_is_named():
    first = (equal("first"), moved(mean_abs=0.2, max_abs=0.3))
    second = (equal("second"), moved(mean_abs=0.1, max_abs=0.9))
    (found,) = of_code("moved", evidence(MODEL, first, second))
    assert found.value == 0.2
    assert found.scope.models == "first"


def test_given_inputs_that_use_few_dimensions_are_no_collapse_of_training():
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(60, 16)) * (np.arange(16) < 6)
    labels = draw.normal(size=(50, 16))
    roles = {
        objective: {
            one.role
            for one in ea.audit(
                FactorModel.from_arrays(
                    inputs, labels, link="softmax", objective=objective
                )
            ).findings
            if one.code == "EMB413"
        }
        for objective in ("logistic-decay", "softmax-decay")
    }
    assert roles == {"logistic-decay": set(), "softmax-decay": {"left"}}


def test_unit_rows_of_one_of_two_sides_are_a_tip_unless_the_link_is_declared():
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((9, 2)), draw.standard_normal((8, 2))
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    for left, right, declared, role in (
        (users, unit, {}, ["right"]),
        (unit, users, {}, ["left"]),
        (users, items, {}, []),
        (users, unit, {"link": "identity"}, []),
        (users, unit, {"objective": "factors"}, []),
        # If both sides have length 1, EMB105 asks how training compared them.
        (unit, unit, {}, []),
        # A constant side has one length, whatever training compared.
        (users, np.tile([1.0, 0.0], (8, 1)), {}, []),
    ):
        model = FactorModel.from_user_item(left, right, **declared)
        audit = ea.audit(model, n_gauges=1, n_pairs=20, n_starts=0)
        found = [one for one in audit.findings if one.code == "EMB409"]
        assert [one.role for one in found] == role
