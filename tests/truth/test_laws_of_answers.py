"""Laws: storage does not change the answer, and a gauge does not change the statement
of what predictions fix.

The laws hold for every model of the truth table. Equivalent models can differ in NO or
BY CONVENTION, because these answers describe the rows as stored.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from truth.stored import (
    STORAGE,
    add_zero_columns,
    convert_rows,
    has_only_rows,
    move_biases_into_columns,
    rotate_columns,
    save_and_load,
    save_and_load_sides,
    save_as_implicit_does,
)
from truth.table import CONVENTION, TABLE
from truth.test_table import GAUGES

from embaudit import audit, load
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.equivalents import equivalent_models

pytestmark = pytest.mark.slow

LARGEST_CONDITION = 1e6
"""The numerical contract holds up to this condition number."""
KEEPS_ANSWERS = [how for how in STORAGE if how != "in float16"]
"""Rounding to float16 turns rows by up to 5e-4, and an answer may depend on it. So
there is another law for float16.
"""
BEYOND_FLOAT32 = ("tiny rows with noisy copies", "huge rows with noisy copies")
"""Models with rows about 1e-30 and 1e30 long. An audit refuses rows of float32 below
1e-12 or above 1e12, because their squares leave that type.
"""


def decides(name, how):
    """Return True if the way of storing is itself a fact about the model, which may
    change the answer.
    """
    row = TABLE[name]
    return (
        # The mean square of a row behind a final norm is over all columns.
        (how == "with zero columns" and "final_norm" in row.options)
        # Queries have as many columns as the rows that they search.
        or (how == "with zero columns" and "queries" in row.options)
        # The Poincaré ball has radius 1.
        or (how == "scaled" and row.model.compared == "hyperbolic")
        # Parts of a table are looked for in the order of its rows.
        or (how == "reordered" and "two spaces" in name)
        or (how == "in float32" and name in BEYOND_FLOAT32)
    )


def answer_of(model, name):
    """Audit a model with the options of a row of the table."""
    return audit(model, n_starts=0, **GAUGES, **TABLE[name].options).answer


@cache
def answer_as_stored(name):
    return answer_of(TABLE[name].model, name)


def require_the_same_answer(model, name):
    before, after = answer_as_stored(name), answer_of(model, name)
    assert after.word == before.word, (before, after)


@pytest.mark.parametrize(
    ("name", "how"),
    [(name, how) for name in TABLE for how in KEEPS_ANSWERS if not decides(name, how)],
)
def test_storage_changes_no_answer(name, how):
    require_the_same_answer(STORAGE[how](TABLE[name].model), name)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        (name, how)
        for name in TABLE
        for how in ("in float64", "in float32")
        if not decides(name, "with zero columns") and not decides(name, how)
    ],
)
def test_zero_columns_change_no_answer_after_a_rotation_either(name, how):
    turned = rotate_columns(add_zero_columns(TABLE[name].model))
    dtype = np.float32 if how == "in float32" else np.float64
    require_the_same_answer(convert_rows(turned, dtype), name)


@pytest.mark.parametrize("name", TABLE)
def test_writing_and_reading_changes_no_answer(name, tmp_path):
    require_the_same_answer(save_and_load(TABLE[name].model, tmp_path), name)


@pytest.mark.parametrize("name", [name for name in TABLE if name not in BEYOND_FLOAT32])
def test_writing_and_reading_float32_changes_no_answer(name, tmp_path):
    model = convert_rows(TABLE[name].model, np.float32)
    require_the_same_answer(save_and_load(model, tmp_path), name)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".csv"])
@pytest.mark.parametrize(
    "name", [name for name in TABLE if has_only_rows(TABLE[name].model)]
)
def test_files_of_bare_numbers_change_no_answer(name, suffix, tmp_path):
    require_the_same_answer(
        save_and_load_sides(TABLE[name].model, tmp_path, suffix=suffix), name
    )


@pytest.mark.parametrize("name", [name for name in TABLE if name not in BEYOND_FLOAT32])
def test_numbers_that_float16_holds_have_one_answer_in_it_and_in_float64(name):
    rounded = convert_rows(TABLE[name].model, np.float16)
    before = answer_of(convert_rows(rounded, np.float64), name)
    after = answer_of(rounded, name)
    assert after.word == before.word, (before, after)


def freedom(model, roles):
    """Return for each kind of pairs whether its cosines are free (True), pinned (False)
    or undecided (None).
    """
    found = equivalence_class_of(model, roles)
    return {role: found.moves(role) for role in roles}


@pytest.mark.parametrize("name", TABLE)
def test_cosines_are_free_pinned_or_undecided_in_all_equivalent_models_alike(name):
    """Of as many columns: canonical models leave out what no prediction sees, and with
    it the room it gave.
    """
    model, roles = TABLE[name].model, [*TABLE[name].truth]
    expected = freedom(model, roles)
    for one in equivalent_models(model, n_gauges=1, rng=np.random.default_rng(0)):
        twin = one.apply(model)
        if twin.rank == model.rank and one.amplification <= LARGEST_CONDITION:
            assert freedom(twin, roles) == expected, one.name


# A bias as a column of the factors. The cosines as stored are then others, because a
# row has one more entry, so the law is about what must stay. Rows of length 1 are left
# out: a bias inside them would be divided by their length.
BIASED = [
    name
    for name, row in TABLE.items()
    if row.model.left is not None
    and not row.model.link.unit_sides
    and not (row.model.left_bias is None and row.model.right_bias is None)
]
ON_A_LINE = [name for name in BIASED if TABLE[name].model.rank == 1]
"""Exceptions of the law. On a line a cosine is a sign, and only a free shift turns it.
With a bias as a column the line is a plane, where a gauge may mix the bias with the
factors, so every cosine is free.
"""


@pytest.mark.parametrize("name", [name for name in BIASED if name not in ON_A_LINE])
def test_a_bias_as_a_column_leaves_cosines_as_free_as_they_are(name):
    model, roles = TABLE[name].model, [*TABLE[name].truth]
    assert freedom(move_biases_into_columns(model), roles) == freedom(model, roles)


@pytest.mark.parametrize("name", [name for name in BIASED if name not in ON_A_LINE])
def test_a_bias_as_a_column_changes_an_answer_only_from_no_to_a_convention_or_back(
    name,
):
    before = answer_as_stored(name).word
    after = answer_of(move_biases_into_columns(TABLE[name].model), name).word
    assert after == before or {before, after} == {"NO", CONVENTION}


@pytest.mark.parametrize("name", ON_A_LINE)
def test_a_bias_as_a_column_frees_the_cosines_of_a_line(name):
    roles = [*TABLE[name].truth]
    after = freedom(move_biases_into_columns(TABLE[name].model), roles)
    assert after == dict.fromkeys(roles, True)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in BIASED
        if TABLE[name].model.right_bias is not None
        and TABLE[name].model.link.soft_cap is None
    ],
)
def test_columns_that_a_file_calls_biases_change_no_answer(name, tmp_path):
    model = TABLE[name].model
    path = tmp_path / "model.npz"
    save_as_implicit_does(model, path)
    told = {} if model.objective is None else {"objective": model.objective}
    require_the_same_answer(load(path, link=model.link.name, **told), name)
