"""The audit as a whole: what it finds, refuses, and that it repeats itself."""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest
from models import random_model
from schemas import misfits

import embaudit as ea
from embaudit.auditing import audit
from embaudit.auditing.options import QUICK, Effort
from embaudit.errors import InputError
from embaudit.model.final_norm import FinalNorm
from embaudit.report.page import page

make = partial(random_model, scales=([5, 3, 2, 1, 0.5], 1))


def codes(result):
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "model",
    [make(n=90, p=80), make(n=None, p=80, link="softmax")],
    ids=["a pair", "a head"],
)
def test_the_same_seed_gives_the_same_numbers_and_another_does_not(model):
    """Of more pairs and lists than are looked at, those drawn are the same, too."""
    few = {"n_gauges": 2, "n_pairs": 50, "n_lists": 9, "n_starts": 1, "n_steps": 2}
    one, again, other = (
        json.dumps(audit(model, rng=seed, **few).to_dict()) for seed in (3, 3, 4)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    "options",
    [
        {"groups": ["canonical"]}, {"groups": ["orthogonal"]}, {"groups": ["diagonal"], "max_condition": 1.0},
        {"max_condition": 1.05, "n_gauges": 1}, {"roles": ["cross"]},
    ],
)  # fmt: skip
def test_what_training_leaves_free_is_an_issue_whatever_was_drawn(options):
    result = audit(
        make(objective="product"), **({"n_gauges": 1, "n_starts": 0} | options)
    )
    assert codes(result) == ["EMB101"]
    assert result.answer.word == "NO"


def test_factors_that_weight_decay_would_not_leave_so_are_told():
    balanced = ea.at_exponent(make(), 0.5).replace(objective="factors")
    assert codes(audit(balanced, n_gauges=1, n_starts=0)) == ["EMB103"]
    rescaled = (
        ea.Gauge.diagonal([1, 1, 1, 1, 3]).act(balanced).replace(objective="factors")
    )
    assert set(codes(audit(rescaled, n_gauges=1, n_starts=0))) == {"EMB103", "EMB104"}


@pytest.mark.parametrize(
    ("scale", "dtype", "fine"),
    [
        (1e200, np.float64, False), (1e-310, np.float64, False), (1e-30, np.float32, False),
        (1e60, np.float64, True), (1e-6, np.float32, True),
    ],
)  # fmt: skip
def test_factors_of_extraordinary_size_are_refused_not_misread(scale, dtype, fine):
    vectors = (np.random.default_rng(0).standard_normal((12, 3)) * scale).astype(dtype)
    if fine:
        assert audit(
            ea.FactorModel.from_vectors(vectors), n_gauges=1, n_starts=0
        ).predictions_hold
    else:
        with pytest.raises(InputError, match="a constant, which changes no cosine"):
            audit(ea.FactorModel.from_vectors(vectors))


def test_every_link_and_one_sided_models_are_audited():
    for link in ea.Link:
        result = audit(make().replace(link=link), n_gauges=1)
        assert result.evidence.predictions_hold, link
    alone = audit(make().replace(left=None), n_gauges=1)
    assert {m.role for records in alone.evidence.movement for m in records} == {"right"}
    assert alone.evidence.predictions_hold
    assert alone.evidence.position is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_gauges": 0}, "n_gauges must be an integer from 1 to 10000; got 0."),
        ({"n_pairs": 10**12}, "n_pairs must be an integer from 1 to 100000000; got"),
        ({"n_lists": 0}, "n_lists must be an integer from 1 to 100000; got 0."),
        ({"n_starts": -1}, "n_starts must be an integer from 0 to 1000; got -1."),
        ({"n_steps": -1}, "n_steps must be an integer from 0 to 10000; got -1."),
        ({"n_neighbours": -1}, "n_neighbours must be an integer >= 1; got -1."),
        ({"max_condition": 0.5}, "max_condition must be a finite number >= 1; got 0.5"),
        ({"quick": 1}, "quick must be True or False; got 1."),
        ({"normalised": "yes"}, "normalised must be True or False; got 'yes'."),
        ({"soft_cap": -1.0}, "soft_cap must be a positive number; got -1"),
        ({"objective": "magic"}, "objective must be a word of `embaudit explain obj"),
        ({"objective": "clip"}, "link must be cosine for the objective clip"),
        ({"groups": ["magic"]}, "groups must be one of canonical, diagonal, linear, "),
        ({"roles": []}, "roles must be one or more of right, left, cross; got none."),
        ({"roles": ["movie"]}, 'role must be one of "left" (user), "right" (item)'),
        ({"show": ["film 3"]}, "'film 3'"),
        ({"thresholds": {"hubs": 2}}, "hubs must be a number from 0.05 to 1; got 2"),
        ({"final_norm": FinalNorm("rms", [1.0])}, "as wide as the head, 5 dimensions"),
    ],
)
def test_an_option_outside_its_set_is_refused_by_name(options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        audit(make(link="softmax"), **options)


# Thresholds of one's own


MODEL = random_model(n=60, p=50, k=4, objective="product")
LINE = "Quick audit: 2 models a group, 20,000 pairs, 100 lists, attacks of 1 × 5 steps."


def test_a_quick_audit_takes_fewer_samples_which_repeat_it():
    result = ea.audit(MODEL, quick=True, n_pairs=500, rng=1)
    assert (result.options.quick, result.options.effort) == (
        True,
        Effort(2, 500, 100, 1, 5),
    )
    record = result.to_dict()
    drawn = [row for row in record["movement"] if not row["exact"]]
    assert {row["n_pairs"] for row in drawn} == {500}
    assert [row["kind"] for row in record["drift"]].count("linear") == 2
    assert misfits("audit", record) == []
    assert "2 models a group, 500 pairs, 100 lists, attacks of 1 × 5 steps" in page(
        result
    )
    assert ea.audit(MODEL, rng=1, **record["options"]).to_dict() == record
    again = ea.audit(MODEL, rng=1, **record["options"] | {"quick": False}).to_dict()
    assert again | {"options": record["options"]} == record


def test_without_starts_there_are_no_attacks_and_all_other_numbers_stay():
    few = {"n_gauges": 1, "n_pairs": 50, "n_steps": 1}
    attacked, spared = (audit(MODEL, n_starts=n, **few) for n in (1, 0))
    assert len(attacked.evidence.limits.attacks) == 2
    assert spared.evidence.limits.attacks == ()
    assert str(spared.options.effort).endswith("400 lists, no attacks")
    of_attacks = {"reached", "bound"}
    assert of_attacks <= {one.code for one in attacked.conclusions}
    assert not of_attacks & {one.code for one in spared.conclusions}
    kept = attacked.to_dict(), spared.to_dict()
    assert kept[0]["ranges"] == kept[1]["ranges"]
    assert kept[0]["certificates"] == kept[1]["certificates"]
    assert kept[0]["answer"] == kept[1]["answer"]


def test_the_command_tells_the_sizes_of_a_quick_audit_in_one_line(embaudit, tmp_path):
    ea.save(MODEL, tmp_path / "m.npz")
    quick = embaudit("audit", "m.npz", "--quick", "--json", "a.json")
    assert quick.out.splitlines()[1] == LINE
    assert len(quick.out.splitlines()) <= 28
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["options"].items() >= {"quick": True, **vars(QUICK)}.items()
    sizes = [
        word
        for name in vars(QUICK)
        for word in (f"--{name.replace('_', '-')}", record["options"][name])
    ]
    again = embaudit("audit", "m.npz", *sizes, "--full", "--json", "b.json")
    assert "Quick audit" not in again.out
    assert (
        json.loads((tmp_path / "b.json").read_text()) | {"options": record["options"]}
        == record
    )
    assert LINE in embaudit("audit", "m.npz", "--quick", "--full").out
