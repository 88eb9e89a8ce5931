"""`--fail-on`, `--fail-below` and `--baseline` decide the exit code and say why."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import pytest

pytestmark = pytest.mark.usefixtures("inputs")
AUDIT = "audit model.npz --n-gauges 1 --n-pairs 50 --n-starts 0"
SIMPSON = "simpson cases.csv --x x --y y --min-size 2"


@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        # model.npz has one issue, EMB101, and no tip.
        (f"{AUDIT} --fail-on issue", 1, "gate: stops at EMB101 items (issue"),
        (f"{AUDIT} --fail-on tip", 1, "gate: stops at EMB101 items (issue"),
        (f"{AUDIT} --fail-on issue --severity EMB101=tip", 0, "gate: passes"),
        (f"{AUDIT} --fail-on tip --severity EMB101=tip", 1, "gate: stops at EMB101"),
        (f"{AUDIT} --fail-on tip --ignore EMB101", 0, "gate: passes; not counted"),
        # Declared as factors, it is not at the minimum of its penalty: EMB103, a tip,
        # and EMB104.
        (f"{AUDIT} --objective factors --fail-on tip", 1, "gate: stops at EMB10"),
        # The five items that `fewer` lacks are a sixth of 30.
        ("compare model.npz fewer.npz --fail-below shared=0.8", 0, "gate: passes"),
        (
            "compare model.npz fewer.npz --fail-below shared=0.9",
            1,
            "gate: stops, shared 0.83 (items) is below 0.9",
        ),
        # A gauge changes cosines and keeps scores; mixed users change both.
        ("compare model.npz twin.npz --fail-below scores=1", 0, "gate: passes"),
        ("compare model.npz twin.npz --fail-below predicted=1", 0, "gate: passes"),
        ("compare model.npz twin.npz --fail-below kept=1", 1, "gate: stops, kept 0."),
        ("compare model.npz shuffled.npz --fail-below scores=0.9", 1, "gate: stops"),
        # Simpson's table reverses by ward and not by coin.
        (f"{SIMPSON} --groups ward --fail-on issue", 1, "1 finding beyond chance"),
        (f"{SIMPSON} --groups ward --n-permutations 9 --fail-on issue", 0, "passes"),
        (f"{SIMPSON} --groups ward --n-permutations 0 --fail-on tip", 1, "1 finding"),
        (f"{SIMPSON} --groups coin --fail-on tip", 0, "gate: passes"),
    ],
)
def test_a_gate_stops_with_exit_code_1_and_says_why(embaudit, typed, code, last):
    result = embaudit(*split(typed))
    assert result.code == code, result.err
    assert last in result.out.splitlines()[-1]
    assert embaudit(*split(typed), "--quiet").code == code


@pytest.mark.parametrize(
    "typed", [AUDIT, f"{AUDIT} --fail-on never", f"{SIMPSON} --fail-on never"]
)
def test_findings_without_a_gate_leave_the_exit_code_0(embaudit, typed):
    result = embaudit(*split(typed))
    assert result.code == 0
    assert "gate:" not in result.out


@pytest.fixture
def _baseline(embaudit, inputs):
    """Write the audit of model.npz as the baseline."""
    assert embaudit(*split(f"{AUDIT} --quiet --json base.json")).code == 0


@pytest.mark.usefixtures("_baseline")
@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        (
            "model.npz --fail-on tip",
            0,
            "gate: passes; not counted: EMB101 items (issue, known)",
        ),
        # A gauge of κ = 3 took the twin further away from other equivalent models.
        ("twin.npz --fail-on tip", 1, "gate: stops at EMB101 items (issue, worse"),
        ("fewer.npz --fail-on tip", 0, "beside the baseline: 25 items, 30 before"),
        ("shuffled.npz --fail-on tip", 1, "gate: stops at EMB002 (issue"),
        ("shuffled.npz --fail-on never", 0, "gate: passes; new or worse: EMB002"),
        (
            "model.npz --objective spark-als --fail-on issue",
            0,
            "objective spark-als, product before; new or worse: EMB103 items (tip)",
        ),
    ],
)
def test_with_a_baseline_only_what_is_new_or_worse_stops(embaudit, typed, code, last):
    few = split("--n-gauges 1 --n-pairs 50 --n-starts 0 --baseline base.json")
    result = embaudit("audit", *split(typed), *few)
    assert result.code == code, result.err
    assert last in result.out.splitlines()[-1]


@pytest.mark.usefixtures("_baseline")
@pytest.mark.parametrize(
    ("typed", "part"),
    [
        # One side has no scores, and rows without ids cannot be found again.
        ("items.npy", "vectors of one side, which have no scores"),
        ("items.npy --left users.npy", "0 of 40 sampled users and 0 of 30"),
        ("model.npz --json base.json --force", "another file than the input"),
    ],
)
def test_a_model_that_cannot_be_held_against_its_baseline_is_refused(
    embaudit, typed, part
):
    result = embaudit("audit", *split(typed), "--quick", "--baseline", "base.json")
    assert result.code == 2
    assert part in result.err


def test_a_file_named_as_baseline_and_output_starts_the_series(embaudit):
    series = split("--fail-on tip --baseline new.json --json new.json --quiet")
    assert embaudit(*split(AUDIT), *series).code == 0
    codes = [
        one["code"] for one in json.loads(Path("new.json").read_text())["findings"]
    ]
    assert codes == ["EMB101"]
