"""An adversary against audits of stored models: another type of numbers, another file, zero columns, another order.

How a model is stored changes no cosine. So whatever moves the cosines of the model moves those of its file, and an
audit of the file may neither answer YES nor call them pinned. A bias stored as a column of the factors is a model of
its own, and the search is in that one.

`EMBAUDIT_ADVERSARY=500` looks at as many random models; `make adversary` does.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest
from adversary import break_claim
from proven_models import proven_model
from truth.stored import (
    in_float64,
    is_bare,
    of_type,
    reordered,
    saved,
    saved_by_sides,
    scaled,
    turned,
    with_bias_columns,
    with_zero_columns,
)
from truth.test_adversary_on_proven import EFFORT, broken_sentences

from embaudit import audit
from embaudit.errors import InputError
from embaudit.model import FactorModel

pytestmark = pytest.mark.slow

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "60"))
WAYS = {
    "float32": partial(of_type, dtype=np.float32),
    "float16": partial(of_type, dtype=np.float16),
    "zero columns": with_zero_columns,
    "another order": reordered,
    "another scale": scaled,
    "other axes": turned,
    "bias columns": with_bias_columns,
}
FILES = (".npz", ".npy", ".safetensors", ".csv")


def has_bias_columns(model: FactorModel) -> bool:
    """Return True if the biases of a model can be stored as columns without another prediction."""
    has_bias = model.left_bias is not None or model.right_bias is not None
    return has_bias and model.left is not None and not model.link.unit_sides


def way_of(number: int) -> tuple[str, str]:
    """Draw how the model of a number is stored: the change of its rows, and the file."""
    model, draw = proven_model(number), np.random.default_rng([77, number])
    ways = [way for way in WAYS if way != "bias columns" or has_bias_columns(model)]
    # Few models have a bias, so every second of them stores it as a column.
    way = ways[draw.integers(len(ways))]
    if has_bias_columns(model) and draw.random() < 0.5:
        way = "bias columns"
    files = FILES if is_bare(WAYS[way](model)) else FILES[:1]
    return way, files[draw.integers(len(files))]


def stored(number, folder):
    """Store the model of a number, and read it again."""
    way, file = way_of(number)
    changed = WAYS[way](proven_model(number))
    if file == ".npz":
        return saved(changed, folder)
    return saved_by_sides(changed, folder, file)


def exact(number):
    """Return the model in which counter-models are searched: without the rounding or the zero columns of the file."""
    way, _ = way_of(number)
    model = proven_model(number)
    return with_bias_columns(model) if way == "bias columns" else model


def audited(model, **options):
    try:
        return audit(model, **EFFORT, **options)
    except InputError:
        # Fewer than two rows with a direction, or labels that are all the same.
        return None


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_equivalent_model_breaks_a_sentence_about_a_file(number, tmp_path):
    """Sentences and bounds are about the rows of the file, in float64 and without zero columns."""
    model = stored(number, tmp_path)
    found = audited(model)
    if found is None:
        return
    kept = {side: in_float64(model.factors(side)) for side in model.sides}
    if way_of(number)[0] == "zero columns":
        kept = {side: rows[:, :-2] for side, rows in kept.items()}
    same = model.replace(**kept)
    assert broken_sentences(same, found, np.random.default_rng(number)) == []


def moved_in_another_model(model, role):
    """Search a model of the same predictions with other cosines within a side."""
    if model.compared is not None:
        return False
    if model.left is None and model.link.name == "cosine":
        draw = np.random.default_rng(0)
        model = model.replace(
            left=draw.standard_normal((2 * model.rank + 1, model.rank))
        )
    return break_claim(model, role=role, starts=6).found


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_file_is_answered_yes_where_a_counter_model_exists(number, tmp_path):
    model = stored(number, tmp_path)
    for role in model.sides:
        found = audited(model, role=role)
        if found is None:
            continue
        pinned = any(
            one.code == "pinned" and one.role == role for one in found.conclusions
        )
        if found.answer.word == "YES" or pinned:
            assert not moved_in_another_model(exact(number), role)


def test_every_way_and_every_file_is_drawn():
    drawn = [way_of(number) for number in range(60)]
    assert {way for way, _ in drawn} == {*WAYS}
    assert {file for _, file in drawn} == {*FILES}
