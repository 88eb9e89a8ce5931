"""Ways to store a model that keep all cosines, and biases as columns of the factors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from embaudit import load, save
from embaudit.model import ROW_FIELDS, FactorModel

FIELDS_NEXT_TO_ROWS = (*ROW_FIELDS, "final_norm", "tying")
"""Fields of a model for which a file with one matrix has no room."""


def to_float64(rows):
    return np.asarray(rows, dtype=np.float64)


def change_rows(model, change):
    """Replace the rows of each side by `change(rows)`."""
    sides = {}
    for side in model.sides:
        sides[side] = change(model.factors(side))
    return model.replace(**sides)


def rotate_columns(model):
    """Multiply both sides by the same orthogonal matrix."""
    square = np.random.default_rng(0).standard_normal((model.rank, model.rank))
    rotation = np.linalg.qr(square)[0]
    return change_rows(model, lambda rows: to_float64(rows) @ rotation)


def add_zero_columns(model):
    """Append two columns of zeros to each side."""
    return change_rows(model, lambda rows: np.pad(rows, ((0, 0), (0, 2))))


def rescale_sides(model):
    """Double the right rows and halve the left rows, which keeps their products.

    If there are no left rows, the right rows are doubled all the same, because no
    cosine changes. Powers of two cause no rounding.
    """
    right = 2 * to_float64(model.right)
    if model.left is None:
        return model.replace(right=right)
    return model.replace(left=to_float64(model.left) / 2, right=right)


def permute_rows(model):
    """Reorder the rows of each side, together with their ids, names and biases."""
    draw = np.random.default_rng(1)
    order = {}
    for side in model.sides:
        order[side] = draw.permutation(len(model.side(side)))
    return model.take(**order)


def convert_rows(model, dtype):
    """Round the rows of both sides to a NumPy type."""
    return change_rows(model, lambda rows: np.asarray(rows).astype(dtype))


STORAGE = {
    "in float32": partial(convert_rows, dtype=np.float32),
    "in float16": partial(convert_rows, dtype=np.float16),
    "with zero columns": add_zero_columns,
    "reordered": permute_rows,
    "scaled": rescale_sides,
    "turned": rotate_columns,
}
"""Ways to store the rows. Apart from rounding, none of them changes a cosine.

The adversary draws a way by its position, so another order changes its models.
"""


def save_and_load(model, folder):
    save(model, folder / "model.npz")
    return load(folder / "model.npz")


def has_only_rows(model):
    """Return True if the rows, the link and the objective describe the whole model."""
    for name in FIELDS_NEXT_TO_ROWS:
        if getattr(model, name) is not None:
            return False
    # Only softmax links can have a guard, that is a cap or labels of length 1.
    has_guard = bool(getattr(model.link, "guard", ""))
    return model.offset == 0 and not has_guard


def save_and_load_sides(model, folder: Path, suffix):
    """Write each side as one matrix, and load the files with options for the rest."""
    for side in model.sides:
        save(FactorModel.from_vectors(model.factors(side)), folder / f"{side}{suffix}")
    options = {}
    if model.left is not None:
        options["left_file"] = folder / f"left{suffix}"
    if model.compared is not None:
        options["compared"] = model.compared
    elif model.left is None and model.link.name == "softmax":
        options["kind"] = "head"
    elif model.link.name != "unknown":
        options["link"] = model.link.name
    # "prediction" says that the rows are compared with each other, as `compared` does.
    if model.objective not in (None, "prediction"):
        options["objective"] = model.objective
    return load(folder / f"right{suffix}", **options)


def move_biases_into_columns(model):
    """Append each bias to its side as a column, and ones to the other side."""
    left, right = to_float64(model.left), to_float64(model.right)
    if model.left_bias is not None:
        left = np.column_stack([left, model.left_bias])
        right = np.column_stack([right, np.ones(len(right))])
    if model.right_bias is not None:
        left = np.column_stack([left, np.ones(len(left))])
        right = np.column_stack([right, model.right_bias])
    return model.replace(left=left, right=right, left_bias=None, right_bias=None)


def save_as_implicit_does(model, path):
    """Write the columns of the library implicit, and the number of factors among them.

    If a model has item biases only, its users end in 1 and its items in their bias. If
    it has both biases, users end in (1, bias) and items in (bias, 1).
    """
    left = [to_float64(model.left), np.ones(model.n_left)]
    right = [to_float64(model.right), model.right_bias]
    if model.left_bias is not None:
        left.append(model.left_bias)
        right.append(np.ones(model.n_right))
    np.savez(
        path,
        user_factors=np.column_stack(left),
        item_factors=np.column_stack(right),
        factors=model.rank,
    )
