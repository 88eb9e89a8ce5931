"""An audit that shall stay within a time: fewer samples, decided before, said everywhere, and repeated by options."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
from models import random_model
from schemas import misfits

import embaudit as ea
from embaudit.auditing.effort import EFFORT, LEAST, Effort
from embaudit.auditing.forecast import Cost, Speed
from embaudit.auditing.plan import Plan, planned
from embaudit.auditing.work import work_of
from embaudit.errors import InputError
from embaudit.foundation.progress import told_to
from embaudit.report.page import page
from embaudit.report.terminal import print_audit

MODEL = random_model(n=60, p=50, k=4, objective="product")
DRAW = np.random.default_rng(0)
FEW = Effort(2, 10_000, 100, 1, 5)
PLAN = Plan(60.0, EFFORT, FEW, 200.0, 40.0)
REFUSED = ["0", "0s", "-3s", "5 parsecs", "", "1e9h"]


@pytest.fixture
def speed(monkeypatch):
    """Set how many seconds all of the work of an audit is expected to take, by its cosines alone."""

    def expected(seconds, model=MODEL):
        each = seconds / work_of(model).cosines / 5
        found = Speed(product=0.0, cosine=each, byte=0.0, workers=1)
        monkeypatch.setattr(importlib.import_module("embaudit.auditing.audit"), "forecast", lambda _, w: Cost(w, found))

    return expected


def test_shares_of_an_effort_end_at_the_least_and_raise_nothing():
    assert Effort().cut(1.0) == Effort(8, 100_000, 400, 3, 20)
    assert Effort().cut(0.5) == Effort(4, 50_000, 200, 2, 10)
    assert Effort().cut(0.1) == Effort(1, 10_000, 50, 1, 2)
    assert Effort().cut(0.0) == LEAST == Effort(1, 10_000, 50, 1, 2)
    assert Effort(1, 9, 8, 7, 0).cut(0.0) == Effort(1, 9, 8, 1, 0)
    assert FEW.less_than(EFFORT.cut(0.5)) == {
        "n_gauges": (4, 2), "n_pairs": (50_000, 10_000), "n_lists": (200, 100), "n_starts": (2, 1), "n_steps": (10, 5),
    }  # fmt: skip
    assert FEW.less_than(FEW) == {}


def test_the_most_that_fits_is_planned():
    def seconds(effort):
        return effort.n_pairs / 1_000

    assert planned(125.0, EFFORT, seconds).effort == EFFORT
    assert planned(124.9, EFFORT, seconds).effort == EFFORT.cut(0.75)
    assert planned(93.75, EFFORT, seconds).effort == EFFORT.cut(0.75)
    least = planned(1.0, EFFORT, seconds)
    assert least == Plan(1.0, EFFORT, LEAST, 100.0, 10.0)
    assert least.explain().startswith(
        "All of it was expected to take about 100 s, with fewer samples about 10 s, more than 1.0 s: 1 random model of"
    )


def test_what_is_left_out_is_said_in_full():
    assert PLAN.explain() == (
        "All of it was expected to take about 3 min, with fewer samples about 40 s, within 60 s: 2 random models of "
        "each family instead of 8, 10,000 pairs instead of 100,000, 100 lists instead of 400, 1 start of an attack "
        "instead of 3, 5 steps of an attack instead of 20. The same again: --gauges 2 --pairs 10000 --lists 100 "
        "--starts 1 --steps 5."
    )
    assert Plan(60.0, FEW, FEW, 59.0, 59.0).explain() == (
        "All of it was expected to take about 59 s, within 60 s; nothing was left out."
    )
    assert Plan(60.0, LEAST, LEAST, 61.0, 61.0).explain() == (
        "All of it was expected to take about 61 s, more than 60 s; nothing was left out."
    )


@pytest.mark.usefixtures("without_attacks")
def test_options_repeat_what_was_planned(speed, monkeypatch, capsys):
    monkeypatch.setattr(importlib.import_module("embaudit.movements.movement"), "EXACT_PAIRS", 1_000)
    speed(100.0)
    said = []
    with told_to(said.append):
        found = ea.audit(MODEL, time="60s", rng=1)
    done = found.plan.effort
    assert found.plan.reduced.keys() == {"n_gauges", "n_pairs", "n_lists", "n_starts", "n_steps"}
    assert found.plan.asked == EFFORT
    assert found.plan.whole == pytest.approx(100.0)
    assert found.plan.seconds <= 48.0
    assert said == [found.plan.explain()]
    again = ea.audit(MODEL, rng=1, **vars(done))
    record, repeated = found.to_dict(), again.to_dict()
    assert record.pop("plan") == found.plan.to_dict()
    assert repeated.pop("plan") is None
    assert record == repeated
    # Every figure says of how many it is.
    drawn = [one for one in record["movement"] if not one["exact"]]
    assert drawn
    assert {one["n_pairs"] for one in drawn} == {done.n_pairs}
    kinds = [one["kind"] for one in record["movement"] if one["role"] == "right"]
    assert kinds.count("linear") == done.n_gauges
    assert misfits("audit", found.to_dict()) == []
    assert found.plan.explain() in page(found)
    from rich.console import Console

    print_audit(found, Console(width=2_000))
    assert found.plan.explain() in capsys.readouterr().out


@pytest.mark.usefixtures("without_attacks")
def test_the_evidence_of_a_head_is_cut_and_repeated_by_options(speed, monkeypatch):
    monkeypatch.setattr(importlib.import_module("embaudit.auditing.heads"), "FEWEST", 8)
    head = ea.FactorModel.from_softmax(DRAW.standard_normal((300, 4)) + 0.5)
    speed(1_000.0, head)
    found = ea.audit(head, time=60.0, rng=1)
    done, whole = found.plan.effort, work_of(head)
    assert done == Effort(1, 10_000, 50, 1, 2)
    less = work_of(head, effort=done)
    assert less.products < whole.products
    assert less.cosines < whole.cosines
    record = found.to_dict()
    known = record["head"]
    assert (known["n_labels"], known["n_panel"], known["neighbours"]["n_rows"]) == (300, 256, 256)
    assert not known["neighbours"]["exact"]
    assert known["neighbours"]["ci_low"] < known["neighbours"]["top1_changed"] < known["neighbours"]["ci_high"]
    assert [one["n_pairs"] + one["n_fixed"] for one in known["shifts"]] == [10_000] * 3
    assert not any(one["exact"] for one in known["shifts"])
    assert known["argmax"]["n_asked"] == 16
    assert [one["name"] for one in known["equivalents"]] == ["linear 1", "translation 1", "affine 1"]
    assert misfits("audit", record) == []
    said = page(found)
    n_pairs = f"all {256 * 255 // 2:,} pairs of 256 labels drawn"
    for text in (
        n_pairs,
        "row long; cosines of 256 labels drawn",
        "2,000 sampled pairs of 256 labels drawn, lists of 256 rows",
        "2,000 pairs of label-label cosines among 256 labels drawn",
        "differ by",
        "among 256 labels drawn",
        "Half of 10,000 pairs drawn",
        "Of 16 labels asked",
        "256 labels asked",
    ):
        assert text in said
    for text in ("Half of all pairs", "% of labels have another", "% of nearest labels"):
        assert text not in said
    again = ea.audit(head, rng=1, **vars(done)).to_dict()
    assert {**record, "plan": None} == again


@pytest.mark.usefixtures("without_attacks")
def test_nothing_changes_where_all_fits(speed):
    speed(1.0)
    found, alone = ea.audit(MODEL, time=3600, n_gauges=2), ea.audit(MODEL, n_gauges=2)
    assert found.plan.effort == found.plan.asked == Effort(n_gauges=2)
    assert {**found.to_dict(), "plan": None} == alone.to_dict()


@pytest.mark.parametrize("given", [*REFUSED, 0, -3.0, 1e9])
def test_what_is_no_time_is_refused(given):
    with pytest.raises(InputError, match=r"^time must be a time above 0 and up to 30 days; got .*; write for example"):
        ea.audit(MODEL, time=given)


@pytest.mark.parametrize("given", REFUSED)
def test_the_command_refuses_what_is_no_time(embaudit, given, tmp_path):
    ea.save(MODEL, tmp_path / "m.npz")
    refused = embaudit("audit", "m.npz", f"--time={given}", "--json", "a.json")
    sentence = f"time must be a time above 0 and up to 30 days; got {given!r}; write for example 60s, 5min or 1.5h."
    assert (refused.code, refused.out, refused.err) == (2, "", f"embaudit: {sentence}\n")
    assert not (tmp_path / "a.json").exists()


@pytest.mark.usefixtures("without_attacks")
def test_the_command_says_what_is_left_out_and_repeats_it(embaudit, speed, tmp_path):
    speed(100.0)
    ea.save(MODEL, tmp_path / "m.npz")
    found = embaudit("audit", "m.npz", "--time", "60s", "--json", "a.json")
    plan = json.loads((tmp_path / "a.json").read_text())["plan"]
    assert found.err == Plan(60.0, EFFORT, Effort(**plan["done"]), plan["whole"], plan["seconds"]).explain() + "\n"
    assert f"Fewer samples, to take 60 s: {plan['options']}" in " ".join(found.out.split())
    assert len(found.out.splitlines()) <= 25
    again = embaudit("audit", "m.npz", *plan["options"].split(), "--json", "b.json")
    assert "Fewer samples" not in again.out
    one, other = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert {**one, "plan": None} == other
    assert embaudit("audit", "m.npz", "--time", "60s", "--quiet").err == ""


@pytest.mark.usefixtures("without_attacks")
def test_the_command_says_what_long_work_takes(embaudit, monkeypatch, tmp_path):
    module = importlib.import_module("embaudit.auditing.audit")
    monkeypatch.setattr(module, "announcement", lambda _, work: f"{work.models} models.")
    ea.save(MODEL, tmp_path / "m.npz")
    assert embaudit("audit", "m.npz", "--gauges", 1).err == "8 models.\n"
    assert embaudit("audit", "m.npz", "--gauges", 1, "--quiet").err == ""
