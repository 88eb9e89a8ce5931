"""Quick audits take smaller samples and do not differ otherwise."""

from __future__ import annotations

import json

import pytest
from models import random_model
from schemas import misfits

import embaudit as ea
from embaudit.auditing.audit import audit
from embaudit.auditing.options import QUICK_SIZES, Effort
from embaudit.report.page import page

MODEL = random_model(n=60, p=50, k=4, objective="product")
LINE = "Quick audit: 2 models a group, 20,000 pairs, 100 lists, attacks of 1 × 5 steps."
"""Sizes of a quick audit, as the command prints them."""


@pytest.fixture(scope="module")
def quick_audit():
    return ea.audit(MODEL, quick=True, n_pairs=500, rng=1)


def test_a_quick_audit_takes_fewer_samples_and_keeps_those_that_are_given(quick_audit):
    assert quick_audit.options.quick
    assert quick_audit.options.effort == Effort(
        n_gauges=2, n_pairs=500, n_lists=100, n_starts=1, n_steps=5
    )
    record = quick_audit.to_dict()
    drawn = [row for row in record["movement"] if not row["exact"]]
    assert {row["n_pairs"] for row in drawn} == {500}
    assert [row["kind"] for row in record["drift"]].count("linear") == 2
    assert misfits(record) == []


def test_the_page_of_a_quick_audit_names_its_sizes(quick_audit):
    sizes = "2 models a group, 500 pairs, 100 lists, attacks of 1 × 5 steps"
    assert sizes in page(quick_audit)


def test_the_options_in_the_record_of_a_quick_audit_repeat_it(quick_audit):
    record = quick_audit.to_dict()
    assert ea.audit(MODEL, rng=1, **record["options"]).to_dict() == record


def test_quick_is_nothing_but_its_sample_sizes(quick_audit):
    record = quick_audit.to_dict()
    sizes = record["options"] | {"quick": False}
    again = ea.audit(MODEL, rng=1, **sizes).to_dict()
    assert again | {"options": record["options"]} == record


def test_without_starts_there_are_no_attacks_and_all_other_numbers_stay():
    few = {"n_gauges": 1, "n_pairs": 50, "n_steps": 1}
    attacked = audit(MODEL, n_starts=1, **few)
    spared = audit(MODEL, n_starts=0, **few)
    assert len(attacked.evidence.limits.attacks) == 2
    assert spared.evidence.limits.attacks == ()
    assert str(spared.options.effort).endswith("400 lists, no attacks")

    codes_of_attacks = {"reached", "bound"}
    assert codes_of_attacks <= {conclusion.code for conclusion in attacked.conclusions}
    assert not codes_of_attacks & {conclusion.code for conclusion in spared.conclusions}

    before, after = attacked.to_dict(), spared.to_dict()
    for part in ("ranges", "certificates", "answer"):
        assert after[part] == before[part]


@pytest.fixture
def model_file(embaudit, tmp_path):
    """Return the name of a model in the folder in which commands run."""
    ea.save(MODEL, tmp_path / "m.npz")
    return "m.npz"


def test_the_first_screen_of_a_quick_audit_names_its_sizes_on_one_line(
    embaudit, model_file
):
    lines = embaudit("audit", model_file, "--quick").out.splitlines()
    assert lines[1] == LINE


def test_a_full_report_of_a_quick_audit_names_its_sizes_too(embaudit, model_file):
    assert LINE in embaudit("audit", model_file, "--quick", "--full").out


def test_options_of_the_same_sizes_repeat_a_quick_audit(embaudit, model_file, tmp_path):
    embaudit("audit", model_file, "--quick", "--json", "a.json")
    quick = json.loads((tmp_path / "a.json").read_text())
    assert quick["options"].items() >= {"quick": True, **QUICK_SIZES}.items()

    sizes = []
    for name, number in QUICK_SIZES.items():
        sizes += [f"--{name.replace('_', '-')}", number]
    again = embaudit("audit", model_file, *sizes, "--full", "--json", "b.json")
    assert "Quick audit" not in again.out
    record = json.loads((tmp_path / "b.json").read_text())
    assert record | {"options": quick["options"]} == quick
