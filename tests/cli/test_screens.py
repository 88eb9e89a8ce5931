"""Stored screens of help, of a comparison, of a gate and of an evaluation."""

from __future__ import annotations

from pathlib import Path
from shlex import split

import numpy as np
import pytest
from screens import table_of, without_table

import embaudit as ea


def test_help_lists_all_commands(embaudit, screen):
    assert embaudit("--help").out == screen


def test_help_of_an_audit_groups_its_options(embaudit, screen):
    assert embaudit("audit", "--help").out == screen


@pytest.mark.usefixtures("inputs")
def test_a_comparison_tells_the_gauge_from_the_noise(embaudit, screen):
    assert embaudit("compare", "model.npz", "other.npz").out == screen


@pytest.mark.usefixtures("inputs")
def test_a_gate_stops_a_release_whose_rows_are_mixed_up(embaudit, screen):
    few = split("--n-gauges 1 --n-pairs 50 --n-starts 0")
    first = embaudit("audit", "model.npz", *few, "--quiet", "--json", "base.json")
    gate = split("--baseline base.json --fail-on tip")
    second = embaudit("audit", "shuffled.npz", *few, *gate)
    assert (first.code, second.code) == (0, 1)
    assert without_table(second.out) == screen
    # The gate judges findings, and leaves the figures of the audit alone.
    alone = embaudit("audit", "shuffled.npz", *few)
    assert table_of(second.out) == table_of(alone.out)


def test_an_evaluation_names_the_similarity_that_finds_labels(embaudit, screen):
    """The kinds differ along the first axis, which users weigh most.

    The other three axes are longer and hold nothing but noise, so the cosine of the
    items is worse than that of the predictions.
    """
    draw = np.random.default_rng(0)
    kinds = np.repeat([-1, 1], 40)
    items = draw.standard_normal((80, 4)) * [0.5, 3, 3, 3]
    items[:, 0] += kinds
    users = draw.standard_normal((60, 4)) * [8, 1, 1, 1]
    ids = {"item_ids": np.arange(80), "user_ids": np.arange(60)}
    ea.save(ea.FactorModel.from_user_item(users, items, **ids), "model.npz")
    rows = "".join(f"{n},kind {kind}\n" for n, kind in enumerate(kinds))
    Path("kinds.csv").write_text(f"item,kind\n{rows}")
    judged = embaudit(*split("evaluate model.npz --items kinds.csv --truth kind"))
    assert judged.out == screen
