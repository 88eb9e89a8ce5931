"""Sentences use the right noun for rows: items of two towers are not called labels, and
their model is not called a head.
"""

from __future__ import annotations

import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import embaudit as ea
from embaudit.auditing.words import WORDS
from embaudit.report.next_steps import Invocation
from embaudit.report.terminal import first_screen, print_audit

DRAW = np.random.default_rng(0)
USERS = DRAW.normal(size=(120, 6))
ITEMS = DRAW.normal(size=(80, 6)) + 0.3
FEW = {"n_gauges": 1, "n_starts": 0, "n_pairs": 200}


@pytest.mark.parametrize("training", [{"objective": "two-tower"}, {"link": "softmax"}])
@pytest.mark.parametrize("role", ["item", "user"])
def test_two_towers_of_dot_products_have_items_and_no_labels(training, role):
    model = ea.FactorModel.from_user_item(USERS, ITEMS, **training)
    found = ea.audit(model, role=role, **FEW)
    screen = first_screen(found, Invocation("towers.npz"))
    assert re.findall(r"\b(?:labels?|heads?)\b", f"{screen} {found.explain()}") == []
    assert "EMB301" in {finding.code for finding in found.findings}
    (origin,) = (each for each in found.findings if each.code == "EMB301")
    assert "of the items get another nearest item" in origin.title
    assert "to every item row" in origin.text
    assert origin.remedy.startswith("Do not read item cosines as similarity.")


def test_the_full_text_about_two_towers_speaks_of_items():
    model = ea.FactorModel.from_user_item(USERS, ITEMS, objective="two-tower")
    console = Console(file=StringIO(), width=160)
    print_audit(ea.audit(model, hull=True, **FEW), console)
    lines = console.file.getvalue().splitlines()
    told = [line for line in lines if re.search(r"\b(?:labels?|heads?)\b", line)]
    # The option that names rows is called `--labels` for every model.
    assert [line for line in told if "--labels" not in line] == []
    assert any(line.startswith("Of 80 items, ") for line in lines)


def test_a_head_has_labels():
    found = ea.audit(ea.FactorModel.from_softmax(ITEMS), **FEW)
    (origin,) = (each for each in found.findings if each.code == "EMB301")
    assert "of the labels get another nearest label" in origin.title
    assert "the predictions of the head" in origin.remedy


def shown_rows(items: np.ndarray, **options: object) -> list[int]:
    model = ea.FactorModel.from_user_item(USERS, items, **options)
    found = ea.audit(model, **FEW)
    return sorted(int(each.name.split()[-1]) for each in found.evidence.examples)


def test_examples_are_drawn_from_the_longest_rows_unless_lengths_say_nothing():
    """Of 400 rows the first 20, a twentieth, are the longest, by a last digit if of
    length 1.
    """
    draw = np.random.default_rng(1)
    unit = draw.normal(size=(400, 6))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    sizes = np.where(np.arange(400) < 20, 2.0, 1.0)[:, None]
    assert max(shown_rows(unit * sizes)) < 20
    assert max(shown_rows(unit * (1 + 1e-9 * (sizes - 1)), link="cosine")) >= 20
    assert max(shown_rows(unit * sizes, link="cosine")) >= 20


@pytest.mark.parametrize("biases", [{"item_bias": np.arange(80.0)}, {}])
def test_scores_that_leave_out_biases_are_called_so(biases):
    model = ea.FactorModel.from_user_item(USERS, ITEMS, **biases)
    found = ea.audit(model, **FEW)
    screen = first_screen(found, Invocation("model.npz"))
    seen = "their scores without biases" if biases else "their predictions"
    assert f"by {seen}" in screen
    assert f"To compare items by {seen} (`evaluate` says" in screen
    texts = " ".join(note.text for note in found.notes)
    assert f"from the cosines of {seen}." in texts
    assert ("without biases" in texts) is bool(biases)


def test_the_glossary_says_that_prediction_cosines_leave_out_biases():
    meaning = WORDS["prediction cosine"].meaning
    assert "for two items over all users, without biases" in meaning
