"""Ways to store a model that change no cosine, and biases stored as columns of the factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from embaudit import load, save
from embaudit.model import FactorModel

ASIDE = (
    "left_bias", "right_bias", "left_ids", "right_ids", "left_names", "right_names",
    "left_counts", "right_counts", "left_aside", "right_aside", "final_norm", "tying",
)  # fmt: skip
"""Fields that a file of bare numbers has no room for."""


def change_sides(model, change):
    """Change the rows of both sides alike."""
    return model.replace(**{side: change(model.factors(side)) for side in model.sides})


def in_float64(x):
    return np.asarray(x, dtype=np.float64)


def turned(model):
    square = np.random.default_rng(0).standard_normal((model.rank, model.rank))
    rotation = np.linalg.qr(square)[0]
    return change_sides(model, lambda x: in_float64(x) @ rotation)


def with_zero_columns(model):
    return change_sides(model, lambda x: np.pad(x, ((0, 0), (0, 2))))


def scaled(model):
    """Scale by powers of two, of two sides such that their products stay."""
    right = 2 * in_float64(model.right)
    if model.left is None:
        return model.replace(right=right)
    return model.replace(left=in_float64(model.left) / 2, right=right)


def reordered(model):
    draw = np.random.default_rng(1)
    order = {side: draw.permutation(len(model.side(side))) for side in model.sides}
    return model.take(**order)


def of_type(model, dtype):
    """Round the rows of both sides to a type of numbers."""
    return change_sides(model, lambda x: np.asarray(x).astype(dtype))


def saved(model, folder):
    save(model, folder / "model.npz")
    return load(folder / "model.npz")


def is_bare(model):
    """Return True if the rows, the link and the objective are all that a model has."""
    is_plain = not hasattr(model.link, "guard") or not model.link.guard
    has_none = all(getattr(model, name) is None for name in ASIDE)
    return is_plain and has_none and model.offset == 0


def saved_by_sides(model, folder: Path, suffix):
    """Write each side to a file of bare numbers, and read it with options that say the rest."""
    for side in model.sides:
        save(FactorModel.from_vectors(model.factors(side)), folder / f"{side}{suffix}")
    options = {}
    if model.left is not None:
        options["left"] = folder / f"left{suffix}"
    if model.compared is not None:
        options["compared"] = model.compared
    elif model.left is None and model.link.name == "softmax":
        options["kind"] = "head"
    elif model.link != "unknown":
        options["link"] = model.link.name
    # "prediction" says that the rows are compared with each other, as `compared` does.
    if model.objective not in (None, "prediction"):
        options["objective"] = model.objective
    return load(folder / f"right{suffix}", **options)


def with_bias_columns(model):
    """Store each bias as a column of its side, beside a column of ones of the other side."""
    left, right = in_float64(model.left), in_float64(model.right)
    if model.left_bias is not None:
        left = np.column_stack([left, model.left_bias])
        right = np.column_stack([right, np.ones(len(right))])
    if model.right_bias is not None:
        left = np.column_stack([left, np.ones(len(left))])
        right = np.column_stack([right, model.right_bias])
    return model.replace(left=left, right=right, left_bias=None, right_bias=None)


def saved_by_implicit(model, path):
    """Write the columns of the library implicit, and how many of them are factors.

    With item biases alone users end in 1 and items in their bias; with both, users end
    in (1, bias) and items in (bias, 1).
    """
    left = [in_float64(model.left), np.ones(model.n_left)]
    right = [in_float64(model.right), model.right_bias]
    if model.left_bias is not None:
        left.append(model.left_bias)
        right.append(np.ones(model.n_right))
    np.savez(
        path,
        user_factors=np.column_stack(left),
        item_factors=np.column_stack(right),
        factors=model.rank,
    )
