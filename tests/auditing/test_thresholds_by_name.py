"""Thresholds decide what is reported and how grave it is, and nothing that is proven or shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embaudit import FactorModel, audit, save
from embaudit.auditing.claims import Kind
from embaudit.auditing.glossary import CODES
from embaudit.auditing.thresholds import DEFAULTS, THRESHOLDS, thresholds_of
from embaudit.errors import InputError

FEW = {"n_gauges": 1, "n_pairs": 50, "roles": ["right"]}
pytestmark = pytest.mark.usefixtures("without_attacks")


@pytest.fixture(scope="module")
def model():
    """A fifth of 100 rows are copies; one column is large and has a mean; lengths nearly follow what is known."""
    draw = np.random.default_rng(0)
    items = draw.standard_normal((100, 6))
    items[:, 2] = 6 + 3 * items[:, 2]
    items[10:20] = items[:10]
    counts = np.linalg.norm(items, axis=1) + 0.1 * draw.random(100)
    return FactorModel.from_user_item(draw.standard_normal((20, 6)), items).replace(right_counts=counts)


def found(model, **own):
    names = {name.replace("_", "-"): value for name, value in own.items()}
    return {one.code: one for one in audit(model, thresholds=names, **FEW).findings}


def test_each_is_of_a_code_that_exists_and_lies_in_its_range():
    assert {one.code for one in THRESHOLDS.values()} == {f"EMB40{i}" for i in range(1, 7)}
    assert set(CODES) >= {one.code for one in THRESHOLDS.values()}
    assert all(0 < one.least <= one.default <= 1 for one in THRESHOLDS.values())
    assert DEFAULTS == {
        "copies": 0.01, "many-copies": 0.25, "tail": 0.1, "common-direction": 0.5, "hubs": 0.1, "lengths": 0.95,
        "few-dimensions": 0.9,
    }  # fmt: skip


def test_a_finding_is_reported_from_its_threshold_on(model):
    before = found(model)
    for name in ("copies", "common-direction", "lengths"):
        code = THRESHOLDS[name].code
        value = abs(before[code].value)
        assert found(model, **{name: value}).get(code) == before[code], name
        assert code not in found(model, **{name: np.nextafter(value, 2)}), name


def test_copies_are_an_issue_from_their_threshold_on(model):
    assert found(model)["EMB401"].severity.title == "tip"
    assert found(model)["EMB401"].value == 0.2
    assert found(model, many_copies=0.2)["EMB401"].severity.title == "issue"
    assert found(model, many_copies=0.2001)["EMB401"].severity.title == "tip"


def test_claims_that_are_proven_or_shown_answer_and_verdict_stay(model):
    quiet = dict.fromkeys(THRESHOLDS, 1.0)
    plain, strict = audit(model, **FEW), audit(model, thresholds=quiet, **FEW)
    assert len(strict.findings) < len(plain.findings)
    firm = [[one for one in result.claims if one.kind in (Kind.PROVEN, Kind.SHOWN)] for result in (plain, strict)]
    assert firm[0] == firm[1] != []
    assert (str(plain.answer), plain.verdict) == (str(strict.answer), strict.verdict)
    assert strict.to_dict()["thresholds"] == quiet
    assert plain.to_dict()["thresholds"] == DEFAULTS


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"hub": 0.2}, "a threshold must be one of copies, many-copies, tail, common-direction, hubs, lengths, "
         "few-dimensions; got 'hub'; the nearest one is hubs."),
        (["hubs"], 'thresholds must be a mapping of names to numbers, such as {"hubs": 0.2}; got [\'hubs\'].'),
        ({"hubs": 0.049}, "the threshold hubs must be a number from 0.05 to 1; got 0.049."),
        ({"lengths": 1.01}, "the threshold lengths must be a number from 0.9 to 1; got 1.01."),
        ({"tail": float("nan")}, "the threshold tail must be a number from 0.05 to 1; got nan."),
        ({"tail": True}, "the threshold tail must be a number from 0.05 to 1; got True."),
    ],
)  # fmt: skip
def test_other_names_and_numbers_are_refused(own, sentence):
    with pytest.raises(InputError) as refused:
        thresholds_of(own)
    assert str(refused.value) == sentence


def test_the_ends_of_a_range_are_taken():
    assert thresholds_of({"hubs": 0.05, "lengths": 1})["hubs"] == 0.05


def test_settings_and_options_set_them_and_explain_names_them(model, embaudit):
    save(model, "m.npz")
    few = ("audit", "m.npz", "--gauges", 1, "--pairs", 50, "--fail-on", "tip", "--ignore", "EMB102")
    quiet = [f"--threshold={name}=1" for name in THRESHOLDS if name != "lengths"]
    stopped = embaudit(*few)
    assert stopped.code == 1
    assert "EMB401 (tip)" in stopped.out.splitlines()[-1]
    assert "EMB401" not in embaudit(*few, *quiet).out.splitlines()[-1]
    Path("embaudit.toml").write_text("[thresholds]\ncopies = 0.5\n")
    result = embaudit(*few)
    assert "EMB401" not in result.out.splitlines()[-1]
    assert "settings: threshold of " in result.err
    assert "EMB401 (tip)" in embaudit(*few, "--threshold", "copies=0.01").out.splitlines()[-1]
    for text, said in (("thresholds = 3", "a table of names with numbers"), ("[thresholds]\nhub = 1", "is hubs.")):
        Path("embaudit.toml").write_text(text)
        refused = embaudit(*few)
        assert refused.code == 2
        assert said in refused.err
    Path("embaudit.toml").unlink()
    assert "got 'hubs'; write for example hubs=0.2." in embaudit(*few, "--threshold", "hubs").err
    told = " ".join(embaudit("explain", "EMB404").out.split())
    assert "Threshold: hubs, 0.1 unless set: share of all places from which the rows that fill it are hubs. Ref" in told
    assert "Threshold" not in embaudit("explain", "EMB101").out
