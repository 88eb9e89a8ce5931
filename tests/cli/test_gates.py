"""`--fail-on`, `--fail-below` and `--baseline` decide the exit code and say why."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import embaudit as ea

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("inputs")]
AUDIT = "audit model.npz --n-gauges 1 --n-pairs 50 --n-starts 0"
SIMPSON = "simpson cases.csv --x x --y y --min-size 2"


@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        # model.npz has one issue, EMB101, and no tip.
        (f"{AUDIT} --fail-on issue", 1, "gate: stops at EMB101 items (issue"),
        (f"{AUDIT} --fail-on tip", 1, "gate: stops at EMB101 items (issue"),
        (f"{AUDIT} --fail-on tip --ignore-code EMB101", 0, "gate: passes; not counted"),
        # Declared as factors, it is not at the minimum of its penalty: EMB103, a tip,
        # and EMB104.
        (f"{AUDIT} --objective factors --fail-on tip", 1, "gate: stops at EMB10"),
        # The five items that `fewer` lacks have some 18 % of the slots in users' lists.
        ("compare model.npz fewer.npz --fail-below shared=0.8", 0, "gate: passes"),
        (
            "compare model.npz fewer.npz --fail-below shared=0.9",
            1,
            "gate: stops, shared 0.82 (items that both models hold) is below 0.9",
        ),
        # A gauge changes cosines and keeps scores; mixed users change both.
        ("compare model.npz twin.npz --fail-below scores=1", 0, "gate: passes"),
        ("compare model.npz twin.npz --fail-below predicted=1", 0, "gate: passes"),
        ("compare model.npz twin.npz --fail-below kept=1", 1, "gate: stops, kept 0."),
        ("compare model.npz shuffled.npz --fail-below scores=0.9", 1, "gate: stops"),
        # Simpson's table reverses by ward and not by coin.
        (f"{SIMPSON} --groups ward --fail-on issue", 1, "stops, reversal"),
        (f"{SIMPSON} --groups ward --n-permutations 9 --fail-on issue", 0, "passes"),
        (
            f"{SIMPSON} --groups ward --n-permutations 0 --fail-on tip",
            1,
            "stops, reversal",
        ),
        (f"{SIMPSON} --groups coin --fail-on tip", 0, "gate: passes"),
    ],
)
def test_a_gate_stops_with_exit_code_1_and_says_why(embaudit, typed, code, last):
    result = embaudit(*split(typed))
    assert result.code == code, result.err
    assert last in result.out.splitlines()[-1]
    assert embaudit(*split(typed), "--quiet").code == code


@pytest.mark.parametrize(
    "typed",
    [AUDIT, f"{AUDIT} --fail-on never", f"{SIMPSON} --groups ward --fail-on never"],
)
def test_findings_without_a_gate_leave_the_exit_code_0(embaudit, typed):
    result = embaudit(*split(typed))
    assert result.code == 0
    assert "gate:" not in result.out


@pytest.fixture
def _baseline(embaudit, inputs):
    """Write the audit of model.npz as the baseline, over all pairs of rows."""
    audit = "audit model.npz --n-gauges 1 --n-pairs 500 --n-starts 0"
    assert embaudit(*split(f"{audit} --quiet --json base.json")).code == 0


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
        ("fewer.npz --fail-on tip", 0, "unlike the baseline: 25 items (baseline: 30)"),
        ("shuffled.npz --fail-on tip", 1, "gate: stops at EMB002 (issue"),
        ("shuffled.npz --fail-on never", 0, "gate: passes; new or worse: EMB002"),
        (
            "model.npz --objective spark-als --fail-on issue",
            1,
            "gate: stops at EMB106",
        ),
        (
            "model.npz --objective spark-als --fail-on never",
            0,
            "(baseline: product); new or worse: EMB106 (issue), EMB103 items (tip)",
        ),
    ],
)
def test_with_a_baseline_only_what_is_new_or_worse_stops(embaudit, typed, code, last):
    few = split("--n-gauges 1 --n-pairs 500 --n-starts 0 --baseline base.json")
    result = embaudit("audit", *split(typed), *few)
    assert result.code == code, result.err
    assert last in result.out.splitlines()[-1]


@pytest.mark.usefixtures("_baseline")
@pytest.mark.parametrize(
    ("typed", "part"),
    [
        # One side has no scores, and rows without ids cannot be found again.
        ("items.npy", "vectors of one side, which have no scores"),
        ("items.npy --left-file users.npy", "0 of 40 sampled users and 0 of 30"),
        ("model.npz --json base.json --force", "another file than the input"),
    ],
)
def test_a_model_that_cannot_be_held_against_its_baseline_is_refused(
    embaudit, typed, part
):
    result = embaudit("audit", *split(typed), "--quick", "--baseline", "base.json")
    assert result.code == 2
    assert part in result.err
    # An error on the command line names options as they are typed there.
    assert "allow_missing_scores" not in result.err


def with_sample(change):
    """Write the baseline again after `change` has edited its record."""
    record = json.loads(Path("base.json").read_text())
    change(record)
    Path("base.json").write_text(json.dumps(record))


@pytest.mark.usefixtures("_baseline")
@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.pop("score_sample"),
        lambda record: record.update(score_sample=None),
        # As if the model of the baseline had had one side.
        lambda record: record.update(score_sample=None, model={}),
        # Scores of five users are too few to compare.
        lambda record: record["score_sample"].update(
            left=record["score_sample"]["left"][:5],
            values=record["score_sample"]["values"][:5],
        ),
        # Scores without a correlation: all equal, or beyond float64 when squared.
        lambda record: record["score_sample"].update(values=[[0.0] * 30] * 40),
        lambda record: record["score_sample"].update(
            values=[[1e308, -1e308] * 15] * 40
        ),
    ],
)
@pytest.mark.parametrize("release", ["model.npz", "shuffled.npz"])
def test_a_baseline_without_scores_passes_nothing_unless_allowed(
    embaudit, damage, release
):
    with_sample(damage)
    typed = split(f"{AUDIT} --baseline base.json".replace("model.npz", release))
    result = embaudit(*typed)
    assert result.code == 2
    assert "the baseline must be an audit with scores (score_sample)" in result.err
    assert "--allow-missing-scores" in result.err
    allowed = embaudit(*typed, "--allow-missing-scores", "--fail-on", "never")
    assert allowed.code == 0, allowed.err
    assert "predictions not compared" in allowed.out.splitlines()[-1]


@pytest.mark.usefixtures("_baseline")
def test_a_model_without_scores_passes_its_baseline_only_if_that_is_allowed(embaudit):
    typed = split("audit items.npy --quick --baseline base.json --fail-on never")
    assert embaudit(*typed).code == 2
    allowed = embaudit(*typed, "--allow-missing-scores")
    assert allowed.code == 0, allowed.err
    assert "predictions not compared" in allowed.out.splitlines()[-1]


@pytest.mark.parametrize("release", ["items.npy", "head.npz", "small.npz"])
def test_models_that_never_had_scores_pass_their_own_baseline(embaudit, release):
    """Vectors of one side, a head without inputs, and a model of five users."""
    ea.save(ea.load("model.npz").take(left=range(5)), "small.npz")
    few = split("--n-gauges 1 --n-pairs 50 --n-starts 0 --fail-on tip")
    series = ("--baseline", "own.json")
    assert embaudit("audit", release, *few, *series, "--json", "own.json").code == 0
    result = embaudit("audit", release, *few, *series)
    assert result.code == 0, result.err
    assert "predictions not compared" in result.out.splitlines()[-1]


FLAT = np.full((30, 4), 1.0), np.full((20, 4), 1.0)
# User i has the product 4 i with every item.
SCALED = np.outer(np.arange(1.0, 31.0), np.ones(4)), FLAT[1]
# Every item is one row of random numbers, so equal scores differ by rounding alone.
DRAW = np.random.default_rng(0)
ROUNDED = DRAW.normal(size=(30, 7)), np.tile(DRAW.normal(size=7), (20, 1))
VARIED = FLAT[0], np.outer(np.arange(1.0, 21.0), np.ones(4))


def written(name, sides):
    np.savez(name, users=sides[0], items=sides[1])
    return name


@pytest.mark.parametrize("sides", [FLAT, SCALED, ROUNDED])
def test_scores_that_are_equal_within_each_row_pass_their_own_baseline(embaudit, sides):
    audited = ["audit", written("flat.npz", sides), "--quick"]
    assert embaudit(*audited, "--json", "flat.json").code == 0
    result = embaudit(*audited, "--baseline", "flat.json")
    assert result.code == 0, result.err
    last = result.out.splitlines()[-1]
    assert "not compared, as scores are equal within each row" in last


@pytest.mark.parametrize(
    ("before", "now", "refused"),
    [
        (
            FLAT,
            VARIED,
            "the baseline must be an audit with scores (score_sample) that differ",
        ),
        (VARIED, FLAT, "a model whose scores differ within some row"),
    ],
)
def test_scores_that_differ_within_rows_in_only_one_model_are_refused(
    embaudit, before, now, refused
):
    typed = ["--quick", "--fail-on", "never"]
    audited = embaudit("audit", written("a.npz", before), *typed, "--json", "a.json")
    assert audited.code == 0
    result = embaudit("audit", written("b.npz", now), *typed, "--baseline", "a.json")
    assert result.code == 2
    assert refused in result.err
    assert "got scores that are equal within each row" in result.err


@pytest.mark.parametrize(
    "damage",
    [
        # Fewer scores than names, a score that is no number, and a side that is gone.
        lambda sample: sample["values"].pop(),
        lambda sample: sample["values"][0].__setitem__(0, None),
        lambda sample: sample.pop("right"),
    ],
)
def test_a_damaged_baseline_of_equal_scores_is_refused(embaudit, damage):
    audited = ["audit", written("flat.npz", FLAT), "--quick"]
    assert embaudit(*audited, "--json", "base.json").code == 0
    with_sample(lambda record: damage(record["score_sample"]))
    result = embaudit(*audited, "--baseline", "base.json")
    assert result.code == 2
    assert "the baseline must be the JSON of an audit" in result.err


def test_a_file_named_as_baseline_and_output_starts_the_series(embaudit):
    series = split("--fail-on tip --baseline new.json --json new.json --quiet")
    assert embaudit(*split(AUDIT), *series).code == 0
    codes = [
        one["code"] for one in json.loads(Path("new.json").read_text())["findings"]
    ]
    assert codes == ["EMB101"]
