"""One table of vectors, and whether it has one row or one column per entity."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.layouts.beside import BESIDE_ONE_TABLE, find_beside
from embaudit.io.layouts.layout import Layout, Shapes
from embaudit.io.layouts.names import plain
from embaudit.io.layouts.recipes import is_transposed_by_name, of_kind
from embaudit.io.options import Request

ROWS_BY_CUSTOM = ("weight", "coef_")
"""Endings of the names of weights that have one row per label by custom."""


def vectors_of(shapes: Shapes, request: Request, weight: str, title: str) -> Layout:
    """Return the layout of one table of vectors."""
    fields = {"right": weight, **find_beside(shapes, BESIDE_ONE_TABLE)}
    if request.left_bias:
        fields["left_bias"] = request.left_bias
    if request.bias:
        fields["right_bias"] = request.bias
    for recipe in of_kind("vectors"):
        if plain(recipe.right) == plain(weight):
            title = recipe.title
    transposed = transposed_table(shapes, request, fields)
    return Layout(fields, transposed=transposed, title=title)


def transposed_table(
    shapes: Shapes, request: Request, fields: Mapping[str, str]
) -> frozenset[str]:
    """Return {"right"} if one table or a head has one column per entity, else {}.

    The first of these decides:

    1. the option `transpose`;
    2. the name, if a convention says how the array is stored;
    3. the length of the bias: torch stores one row per label, TensorFlow one column;
    4. the number of ids, names and counts.

    Raises
    ------
    InputError
        If the matrix is square, so that the length of the bias does not decide.
    """
    weight = fields["right"]
    by_column = frozenset({"right"})
    by_row = frozenset[str]()
    if request.transpose is not None:
        return by_column if request.transposes("right") else by_row
    if is_transposed_by_name(weight):
        return by_column
    if len(shapes[weight]) != 2 or weight.endswith(ROWS_BY_CUSTOM):
        return by_row
    rows, columns = shapes[weight]
    if "right_bias" in fields:
        bias = shapes[fields["right_bias"]]
        n_labels = bias[-1] if bias else 1
        if rows == columns == n_labels:
            raise _square(weight, rows)
        return by_column if n_labels == columns else by_row
    numbers_of_ids = {
        prod(shapes[fields[field]]) for field in BESIDE_ONE_TABLE if field in fields
    }
    is_one_column = columns == 1
    if rows != columns and not is_one_column and numbers_of_ids == {columns}:
        return by_column
    return by_row


def _square(weight: str, size: int) -> InputError:
    """Build the error for a square matrix, whose bias fits its rows and its columns."""
    return must_be(
        f"the labels of {weight}",
        "rows or columns",
        f"{size} × {size}, which could be either",
        Sentence(
            "choose {} if each row is a label, {} if each column is one",
            Option("transpose", "none"),
            Option("transpose", "right"),
        ),
    )
