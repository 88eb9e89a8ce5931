"""Quick audits: fewer samples, told everywhere, and repeated by the sizes in the JSON."""

from __future__ import annotations

import json

import pytest
from models import random_model
from schemas import misfits

import embaudit as ea
from embaudit.auditing.effort import QUICK, Effort
from embaudit.report.page import page

MODEL = random_model(n=60, p=50, k=4, objective="product")
LINE = "Quick audit: 2 models a group, 20,000 pairs, 100 lists, attacks of 1 × 5 steps."


@pytest.mark.usefixtures("without_attacks")
def test_a_quick_audit_takes_fewer_samples_which_repeat_it():
    result = ea.audit(MODEL, quick=True, n_pairs=500, rng=1)
    assert (result.quick, result.effort) == (True, Effort(2, 500, 100, 1, 5))
    record = result.to_dict()
    drawn = [row for row in record["movement"] if not row["exact"]]
    assert {row["n_pairs"] for row in drawn} == {500}
    assert [row["kind"] for row in record["drift"]].count("linear") == 2
    assert misfits("audit", record) == []
    assert "2 models a group, 500 pairs, 100 lists, attacks of 1 × 5 steps" in page(result)
    assert ea.audit(MODEL, rng=1, **record["options"]).to_dict() == record
    again = ea.audit(MODEL, rng=1, **record["options"] | {"quick": False}).to_dict()
    assert again | {"options": record["options"]} == record


def test_the_command_tells_the_sizes_of_a_quick_audit_in_one_line(embaudit, tmp_path):
    ea.save(MODEL, tmp_path / "m.npz")
    quick = embaudit("audit", "m.npz", "--quick", "--json", "a.json")
    assert quick.out.splitlines()[1] == LINE
    assert len(quick.out.splitlines()) <= 25
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["options"].items() >= {"quick": True, **vars(QUICK)}.items()
    sizes = [word for name in vars(QUICK) for word in (f"--{name.removeprefix('n_')}", record["options"][name])]
    again = embaudit("audit", "m.npz", *sizes, "--full", "--json", "b.json")
    assert "Quick audit" not in again.out
    assert json.loads((tmp_path / "b.json").read_text()) | {"options": record["options"]} == record
    assert LINE in embaudit("audit", "m.npz", "--quick", "--full").out
