"""Laws of the answer of an audit, for all models of the truth table.

1. The answer depends on a model, and not on how the model is stored: with rotated
   columns, with rows in another order, in float32, in files.
2. Whether cosines are free, pinned or undecided is the same for equivalent models. The
   answers NO and BY CONVENTION can differ, because they describe the rows as stored.
3. A bias can be stored as a column of the factors. This adds a dimension in which rows
   have other cosines, but leaves the cosines as free as they were.

Each test takes the name of a model in the truth table.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from truth.audits import FEW_SAMPLES
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

from embaudit import audit, load
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.equivalents import equivalent_models
from embaudit.model import FactorModel

pytestmark = pytest.mark.slow

LARGEST_CONDITION = 1e6
"""The numerical contract holds up to this condition number."""
BEYOND_FLOAT32 = ("tiny rows with noisy copies", "huge rows with noisy copies")
"""Models with rows about 1e-30 and 1e30 long. An audit refuses rows of float32 below
1e-12 or above 1e12, because their squares leave that type.
"""
WITHIN_FLOAT32 = [name for name in TABLE if name not in BEYOND_FLOAT32]


def answer_of(model: FactorModel, name: str) -> str:
    """Return the answer for a model, audited with the options of a row of the table."""
    return audit(model, n_starts=0, **FEW_SAMPLES, **TABLE[name].options).answer.word


@cache
def answer_as_in_the_table(name: str) -> str:
    return answer_of(TABLE[name].model, name)


# Storage changes no answer


def is_excepted(name: str, storage: str) -> bool:
    """Return True if a way to store a model changes a fact about it, or is refused."""
    row = TABLE[name]
    if storage == "with zero columns":
        # A final norm divides by the mean square over all columns, and queries must
        # have as many columns as the rows that they search.
        return "final_norm" in row.options or "queries" in row.options
    if storage == "scaled":
        # Rows of the Poincaré ball have lengths below its radius, 1.
        return row.model.compared == "hyperbolic"
    if storage == "reordered":
        # An audit looks for two spaces in the order of the rows.
        return "two spaces" in name
    if storage == "in float32":
        return name in BEYOND_FLOAT32
    # Rounding to float16 turns rows by up to 5e-4, and an answer may depend on that.
    # A test below starts from rows that float16 can hold.
    return storage == "in float16"


STORED_MODELS = [
    (name, storage)
    for name in TABLE
    for storage in STORAGE
    if not is_excepted(name, storage)
]


@pytest.mark.parametrize(("name", "storage"), STORED_MODELS)
def test_storage_changes_no_answer(name: str, storage: str) -> None:
    stored = STORAGE[storage](TABLE[name].model)
    assert answer_of(stored, name) == answer_as_in_the_table(name)


PADDED_MODELS = [name for name in TABLE if not is_excepted(name, "with zero columns")]


def pad_and_rotate(name: str) -> FactorModel:
    return rotate_columns(add_zero_columns(TABLE[name].model))


@pytest.mark.parametrize("name", PADDED_MODELS)
def test_zero_columns_change_no_answer_after_a_rotation_either(name: str) -> None:
    stored = pad_and_rotate(name)
    assert answer_of(stored, name) == answer_as_in_the_table(name)


@pytest.mark.parametrize(
    "name", [name for name in PADDED_MODELS if name in WITHIN_FLOAT32]
)
def test_zero_columns_change_no_answer_after_a_rotation_in_float32(name: str) -> None:
    stored = convert_rows(pad_and_rotate(name), np.float32)
    assert answer_of(stored, name) == answer_as_in_the_table(name)


@pytest.mark.parametrize("name", WITHIN_FLOAT32)
def test_rows_that_float16_can_hold_have_the_same_answer_in_float16_and_float64(
    name: str,
) -> None:
    in_float16 = convert_rows(TABLE[name].model, np.float16)
    in_float64 = convert_rows(in_float16, np.float64)
    assert answer_of(in_float16, name) == answer_of(in_float64, name)


@pytest.mark.parametrize("name", TABLE)
def test_writing_and_reading_changes_no_answer(name: str, tmp_path: Path) -> None:
    loaded = save_and_load(TABLE[name].model, tmp_path)
    assert answer_of(loaded, name) == answer_as_in_the_table(name)


@pytest.mark.parametrize("name", WITHIN_FLOAT32)
def test_writing_and_reading_float32_changes_no_answer(
    name: str, tmp_path: Path
) -> None:
    in_float32 = convert_rows(TABLE[name].model, np.float32)
    loaded = save_and_load(in_float32, tmp_path)
    assert answer_of(loaded, name) == answer_as_in_the_table(name)


MODELS_OF_ROWS_ALONE = [name for name in TABLE if has_only_rows(TABLE[name].model)]


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".csv"])
@pytest.mark.parametrize("name", MODELS_OF_ROWS_ALONE)
def test_files_of_bare_numbers_change_no_answer(
    name: str, suffix: str, tmp_path: Path
) -> None:
    loaded = save_and_load_sides(TABLE[name].model, tmp_path, suffix=suffix)
    assert answer_of(loaded, name) == answer_as_in_the_table(name)


# Equivalent models have equally free cosines


def freedom_of_cosines(model: FactorModel, name: str) -> dict[str, bool | None]:
    """Return whether equivalent models have other cosines, for each kind of pairs.

    True stands for free cosines, False for pinned ones, and None for undecided ones.
    """
    roles = list(TABLE[name].truth)
    equivalence = equivalence_class_of(model, roles)
    return {role: equivalence.moves(role) for role in roles}


@pytest.mark.parametrize("name", TABLE)
def test_cosines_are_free_pinned_or_undecided_in_all_equivalent_models_alike(
    name: str,
) -> None:
    """Equivalent models of fewer columns are left out.

    A canonical model drops the directions that no prediction sees. In these directions
    rows could be anything, so the cosines of the first model can be free when the
    cosines of the canonical model are not.
    """
    model = TABLE[name].model
    expected = freedom_of_cosines(model, name)
    rng = np.random.default_rng(0)
    for gauge in equivalent_models(model, n_gauges=1, rng=rng):
        equivalent = gauge.apply(model)
        has_all_columns = equivalent.rank == model.rank
        if has_all_columns and gauge.amplification <= LARGEST_CONDITION:
            assert freedom_of_cosines(equivalent, name) == expected, gauge.name


# A bias as a column of the factors


def has_biases_for_columns(model: FactorModel) -> bool:
    """Return True for two sides with a bias, unless their rows are divided by lengths.

    A bias that is stored inside such a row would be divided, too.
    """
    has_bias = model.left_bias is not None or model.right_bias is not None
    return model.left is not None and has_bias and not model.link.unit_sides


BIASED = [name for name in TABLE if has_biases_for_columns(TABLE[name].model)]
BIASED_LINES = [name for name in BIASED if TABLE[name].model.rank == 1]
"""Models of one column. Their cosines are signs, which only a free shift can turn.

With a bias as a column the rows lie in a plane, where a gauge can mix the bias with the
factors, so every cosine is free.
"""
BIASED_IN_MORE_COLUMNS = [name for name in BIASED if name not in BIASED_LINES]


@pytest.mark.parametrize("name", BIASED_IN_MORE_COLUMNS)
def test_a_bias_as_a_column_leaves_cosines_as_free_as_they_are(name: str) -> None:
    model = TABLE[name].model
    after = freedom_of_cosines(move_biases_into_columns(model), name)
    assert after == freedom_of_cosines(model, name)


@pytest.mark.parametrize("name", BIASED_IN_MORE_COLUMNS)
def test_a_bias_as_a_column_changes_an_answer_only_from_no_to_a_convention_or_back(
    name: str,
) -> None:
    before = answer_as_in_the_table(name)
    after = answer_of(move_biases_into_columns(TABLE[name].model), name)
    assert after == before or {before, after} == {"NO", CONVENTION}


@pytest.mark.parametrize("name", BIASED_LINES)
def test_a_bias_as_a_column_frees_the_cosines_of_a_line(name: str) -> None:
    after = freedom_of_cosines(move_biases_into_columns(TABLE[name].model), name)
    assert set(after.values()) == {True}


def can_implicit_store(model: FactorModel) -> bool:
    """Return True for item biases and no soft cap, of which implicit has none."""
    return model.right_bias is not None and model.link.soft_cap is None


@pytest.mark.parametrize(
    "name", [name for name in BIASED if can_implicit_store(TABLE[name].model)]
)
def test_columns_that_a_file_calls_biases_change_no_answer(
    name: str, tmp_path: Path
) -> None:
    model = TABLE[name].model
    path = tmp_path / "model.npz"
    save_as_implicit_does(model, path)
    loaded = load(path, link=model.link.name, objective=model.objective)
    assert answer_of(loaded, name) == answer_as_in_the_table(name)
