"""Softmax heads: weights with one row per label or token, and their bias."""

from __future__ import annotations

from embaudit.io.layouts.beside import BESIDE_ONE_TABLE, find_beside
from embaudit.io.layouts.layout import Layout, Shapes
from embaudit.io.layouts.names import first_of, is_inside, layer_and_part
from embaudit.io.layouts.one_table import transposed_table
from embaudit.io.layouts.recipes import ADDED_TO_LOGITS, Recipe, head_recipe
from embaudit.io.options import Request

INPUTS = ("inputs", "hidden_states")  # hidden_states: outputs of transformers
"""Names of the vectors that a head is applied to."""


def heads_by_name(shapes: Shapes, matrices: Shapes) -> list[tuple[str, Recipe]]:
    """Return the matrices that are heads by their names, with their recipes.

    Only heads of the best rank are returned. The ranks are: a head by its whole name, a
    head behind a prefix, input embeddings by their whole name, and input embeddings
    behind a prefix. A whole name comes first because layers inside a network can have
    the name of a head behind a prefix, too.
    """
    ranks: list[list[tuple[str, Recipe]]] = [[], [], [], []]
    for name in matrices:
        recipe = head_recipe(name)
        if recipe is None:
            continue
        if recipe.needs_bias and _bias(shapes, name, recipe) is None:
            continue
        rank = 0 if recipe.kind == "head" else 2
        if name == recipe.right:
            ranks[rank].append((name, recipe))
        elif not is_inside(name):
            ranks[rank + 1].append((name, recipe))
    for heads in ranks:
        if heads:
            return heads
    return []


def head_of(
    shapes: Shapes, request: Request, weight: str, recipe: Recipe | None, title: str
) -> Layout:
    """Return the layout of a head with its bias and its inputs."""
    fields = {"right": weight, **find_beside(shapes, BESIDE_ONE_TABLE)}
    inputs = request.left or first_of(shapes, INPUTS)
    bias = request.bias or _bias(shapes, weight, recipe)
    if inputs is not None:
        fields["left"] = inputs
    if request.left_bias is not None:
        fields["left_bias"] = request.left_bias
    if bias is not None:
        fields["right_bias"] = bias
    transposed = transposed_table(shapes, request, fields)
    return Layout(fields, head=True, transposed=transposed, title=title)


def _bias(shapes: Shapes, weight: str, recipe: Recipe | None) -> str | None:
    """Find the bias of a head: next to its weights, else under a known name."""
    layer, part = layer_and_part(weight)
    bias = None
    if recipe is not None and recipe.bias:
        bias = weight.removesuffix(recipe.right) + recipe.bias
    elif layer and part in ("weight", "kernel"):
        # torch, Keras and Flax give this name to the bias of a layer.
        bias = f"{layer}bias"
    if bias in shapes:
        return bias
    elsewhere = ADDED_TO_LOGITS if recipe is None else recipe.biases_elsewhere
    for name in elsewhere:
        if name in shapes and shapes[name][-1:] == shapes[weight][:1]:
            return name
    return None
