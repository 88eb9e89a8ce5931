"""An adversary against audits of stored models, in other types, files and orders.

Storing a model changes none of its cosines. So any equivalent model that moves the
cosines of the model moves the cosines of its file, too, and an audit of the file must
neither answer YES nor call its cosines pinned. A model with a bias as a column of its
factors has other cosines, so for such a file the search uses the model with the column.

`EMBAUDIT_ADVERSARY=500`, as in `make adversary`, sets the number of random models.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from adversary import break_claim
from proven_models import proven_model
from truth.stored import (
    STORAGE,
    has_only_rows,
    move_biases_into_columns,
    save_and_load,
    save_and_load_sides,
    to_float64,
)
from truth.test_adversary_on_proven import EFFORT, broken_sentences

from embaudit import audit
from embaudit.errors import InputError
from embaudit.model import FactorModel

pytestmark = pytest.mark.slow

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "60"))
WAYS = {**STORAGE, "with bias columns": move_biases_into_columns}
SUFFIXES = (".npz", ".npy", ".safetensors", ".csv")


def can_store_biases_as_columns(model: FactorModel) -> bool:
    """Return True if the model has biases, and columns for them keep its predictions.

    A bias in a row that is divided by its length would be divided, too.
    """
    has_bias = model.left_bias is not None or model.right_bias is not None
    return has_bias and model.left is not None and not model.link.unit_sides


def drawn_storage(number: int) -> tuple[str, str]:
    """Draw a change of the rows (a key of `WAYS`) and the suffix of the file."""
    model = proven_model(number)
    draw = np.random.default_rng([77, number])
    ways = list(WAYS)
    if not can_store_biases_as_columns(model):
        ways.remove("with bias columns")
    way = ways[draw.integers(len(ways))]
    # Few models have a bias, so every second of them stores it as a column.
    if can_store_biases_as_columns(model) and draw.random() < 0.5:
        way = "with bias columns"
    # Only an .npz file holds biases, names and other fields next to the rows.
    suffixes = SUFFIXES if has_only_rows(WAYS[way](model)) else (".npz",)
    return way, suffixes[draw.integers(len(suffixes))]


def store_and_load(number, folder):
    """Store the model with this number in the drawn way, and load the file."""
    way, suffix = drawn_storage(number)
    changed = WAYS[way](proven_model(number))
    if suffix == ".npz":
        return save_and_load(changed, folder)
    return save_and_load_sides(changed, folder, suffix)


def model_to_search(number):
    """Return the model behind a file, without rounding and without zero columns."""
    way, _ = drawn_storage(number)
    model = proven_model(number)
    if way == "with bias columns":
        return move_biases_into_columns(model)
    return model


def audited(model, **options):
    """Audit a model. Return None if the audit refuses it.

    This happens with fewer than two rows with a direction, and with equal labels.
    """
    try:
        return audit(model, **EFFORT, **options)
    except InputError:
        return None


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_equivalent_model_breaks_a_sentence_about_a_file(number, tmp_path):
    """Sentences and bounds are about the rows of the file.

    The search uses these rows in float64 and without zero columns.
    """
    loaded = store_and_load(number, tmp_path)
    result = audited(loaded)
    if result is None:
        return
    way, _ = drawn_storage(number)
    sides = {}
    for side in loaded.sides:
        rows = to_float64(loaded.factors(side))
        sides[side] = rows[:, :-2] if way == "with zero columns" else rows
    model = loaded.replace(**sides)
    draw = np.random.default_rng(number)
    assert broken_sentences(model, result, draw) == []


def has_counter_model(model, role):
    """Search for a model of the same predictions with other cosines in a side."""
    if model.compared is not None:
        # The cosines of rows that are compared with each other are the predictions.
        return False
    if model.left is None and model.link.name == "cosine":
        draw = np.random.default_rng(0)
        left = draw.standard_normal((2 * model.rank + 1, model.rank))
        model = model.replace(left=left)
    return break_claim(model, role=role, starts=6).found


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_file_is_answered_yes_where_a_counter_model_exists(number, tmp_path):
    loaded = store_and_load(number, tmp_path)
    for role in loaded.sides:
        result = audited(loaded, role=role)
        if result is None:
            continue
        pinned_roles = [
            finding.role for finding in result.conclusions if finding.code == "pinned"
        ]
        if result.answer.word == "YES" or role in pinned_roles:
            assert not has_counter_model(model_to_search(number), role)


def test_every_way_and_every_file_is_drawn():
    drawn = [drawn_storage(number) for number in range(60)]
    assert {way for way, _ in drawn} == set(WAYS)
    assert {suffix for _, suffix in drawn} == set(SUFFIXES)
