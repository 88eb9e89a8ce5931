"""What is changed in a proof, or in the model, is found; the mathematics finds it even where every hash is made anew.

`EMBAUDIT_ADVERSARY=500` changes as many proofs; `make adversary` does.
"""

from __future__ import annotations

import copy
import os
from functools import cache

import numpy as np
import pytest
from table import TABLE

import embaudit.io.proofs.verify as checker
from embaudit import Proof, audit, verify
from embaudit.auditing import limits

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "60"))
NAMES = (
    "rank 1, identity, bias none",
    "rank 2, identity, bias both",
    "rank 2, softmax, bias none",
    "rank 2, capped, bias none",
    "rank 2, unit labels, bias none",
    "users miss a direction",
    "a head of two labels",
    "axes as cosines",
    "cosine, room left",
    "2 thirty unit rows",
    "3 six axes",
    "4 bounds beside a free bias",
    "11 a label at the edge",
)
MATRICES = ("gauge_left", "gauge_right", "ends", "weights_left", "weights_right", "ahead", "most", "mirror", "basis")
"""Arrays of which each number counts."""
SIDES = ("left", "right", "left_bias", "right_bias")


@cache
def proved(name):
    before = limits.ATTACKED_RANK
    limits.ATTACKED_RANK = 2 if name.startswith("4 ") else 0
    try:
        found = audit(TABLE[name].model, n_gauges=1, n_pairs=50, **TABLE[name].options)
    finally:
        limits.ATTACKED_RANK = before
    return found.proof(), found.model


def problems(record, arrays, model):
    return {name for name, problem in verify(Proof(record, arrays), model) if problem}


def signed(record, arrays):
    """Make every hash anew, as a forger would."""
    for claim in record["claims"]:
        parts = {key: value for key, value in claim.items() if key != "digest"}
        stored = [arrays[key] for _, key in sorted(claim["proof"]["arrays"].items())]
        claim["digest"] = checker.digest(parts, record["model"], *stored)


def a_value(claim, arrays, draw):
    if claim["value"] is None:
        return False
    claim["value"] += (abs(claim["value"]) + 0.01) * draw.uniform(0.001, 1) * draw.choice([-1, 1])
    return True


def a_number(claim, arrays, draw):
    numbers = claim["proof"]["numbers"]
    if not numbers:
        return False
    name = draw.choice(sorted(numbers))
    numbers[name] += (abs(numbers[name]) + 0.01) * draw.uniform(0.001, 1) * draw.choice([-1, 1])
    return True


def a_kind(claim, arrays, draw):
    claim["kind"] = {"shown": "proven", "proven": "shown"}[claim["kind"]]
    return True


def a_budget(claim, arrays, draw):
    if claim["scope"]["max_condition"] is None or claim["name"].startswith(("bound", "reached")):
        return False
    claim["scope"]["max_condition"] *= draw.uniform(0.5, 0.99)
    return True


def a_matrix(claim, arrays, draw):
    names = [name for name in MATRICES if name in claim["proof"]["arrays"]]
    names = [] if "map" in claim["proof"] else names
    if not names:
        return False
    name = draw.choice(names)
    changed = arrays[claim["proof"]["arrays"][name]].copy()
    known = np.argwhere(np.isfinite(changed))
    at = tuple(known[draw.integers(len(known))])
    changed[at] += (np.nanmax(abs(changed)) + 1e-3) * draw.uniform(1e-3, 1) * draw.choice([-1, 1])
    arrays[f"changed {name}"] = changed
    claim["proof"]["arrays"][name] = f"changed {name}"
    return True


MATHEMATICS = (a_value, a_number, a_kind, a_budget, a_matrix)


def a_text(claim, arrays, draw):
    claim["text"] = claim["text"].replace(" ", "  ", 1)
    return True


def a_subject(claim, arrays, draw):
    claim["subject"] = "all cosines"
    return True


def any_number(claim, arrays, draw):
    """One number of any array, by as little as float64 can tell, or one row."""
    names = sorted(claim["proof"]["arrays"])
    if not names:
        return False
    name = draw.choice(names)
    changed = arrays[claim["proof"]["arrays"][name]].copy()
    if not changed.size:
        return False
    flat = changed.reshape(-1)
    at = draw.integers(changed.size)
    flat[at] = flat[at] + 1 if changed.dtype == np.int32 else np.nextafter(np.nan_to_num(flat[at]), 9)
    arrays[f"changed {name}"] = changed
    claim["proof"]["arrays"][name] = f"changed {name}"
    return True


CHANGES = (*MATHEMATICS, a_text, a_subject, any_number)


def tampered(number):
    """Change one thing in one claim: (what it was, claim, what fails without new hashes, and with them)."""
    draw = np.random.default_rng([7, number])
    change = CHANGES[number % len(CHANGES)]
    while True:
        proof, model = proved(NAMES[draw.integers(len(NAMES))])
        record, arrays = copy.deepcopy(dict(proof.record)), dict(proof.arrays)
        claim = record["claims"][draw.integers(len(record["claims"]))]
        if change(claim, arrays, draw):
            break
    plain = problems(record, arrays, model)
    signed(record, arrays)
    return change, claim["name"], plain, problems(record, arrays, model)


@pytest.fixture(scope="module")
def attempts():
    return [tampered(number) for number in range(NUMBER)]


@pytest.mark.parametrize("name", NAMES)
def test_what_nobody_changed_stands(name):
    proof, model = proved(name)
    assert problems(proof.record, proof.arrays, model) == set()


def test_every_change_is_found_where_it_is(attempts):
    assert [(change.__name__, name) for change, name, plain, _ in attempts if name not in plain] == []
    assert {name for _, name, plain, _ in attempts if plain - {name, "reduction"}} == set()


def test_the_mathematics_finds_changes_whose_hashes_are_made_anew(attempts):
    tried = [(change, name, found) for change, name, _, found in attempts if change in MATHEMATICS]
    assert len(tried) >= NUMBER / 3
    assert [(change.__name__, name) for change, name, found in tried if name not in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_another_model_is_found_and_its_numbers_too(name):
    proof, model = proved(name)
    draw = np.random.default_rng(0)
    other = model.replace(right=model.right * draw.uniform(0.5, 2, model.right.shape))
    found = problems(proof.record, proof.arrays, other)
    assert "right" in found
    record = copy.deepcopy(dict(proof.record))
    record["model"]["arrays"] = {
        side: None if getattr(other, side) is None else checker.digest(np.asarray(getattr(other, side)))
        for side in SIDES
    }
    signed(record, proof.arrays)
    found = problems(record, proof.arrays, other)
    assert "right" not in found
    if name not in ("rank 1, identity, bias none", "axes as cosines"):  # what these say is true of the other, too
        assert found
