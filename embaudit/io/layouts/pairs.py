"""Two tables: a score is the inner product of a left and a right row."""

from __future__ import annotations

from embaudit.io.layouts.beside import BESIDE_FACTORS, find_beside
from embaudit.io.layouts.layout import Layout, Shape, Shapes
from embaudit.io.layouts.names import plain
from embaudit.io.layouts.recipes import is_transposed_by_name, of_kind
from embaudit.io.options import Request


def pairs_by_name(shapes: Shapes, matrices: Shapes, request: Request) -> list[Layout]:
    """Return the layout of each pair of tables whose names a recipe knows."""
    names = {plain(name): name for name in matrices}
    layouts = []
    for recipe in of_kind("factors"):
        left, right = names.get(plain(recipe.left)), names.get(plain(recipe.right))
        if left is None or right is None:
            continue
        is_layer = left.endswith(".weight") or right.endswith(".weight")
        if not (recipe.is_output and is_layer):
            layouts.append(pair_of(shapes, request, left, right, recipe.title))
    return layouts


def pair_of(
    shapes: Shapes, request: Request, left: str, right: str, title: str
) -> Layout:
    """Return the layout of two tables and of the arrays next to them."""
    fields = {"left": left, "right": right, **find_beside(shapes, BESIDE_FACTORS)}
    if request.left_bias:
        fields["left_bias"] = request.left_bias
    if request.bias:
        fields["right_bias"] = request.bias
    transposed = _transposed_sides(shapes[left], shapes[right], right, request)
    return Layout(fields, transposed=transposed, title=title)


def _transposed_sides(
    left: Shape, right: Shape, name: str, request: Request
) -> frozenset[str]:
    """Return the sides with one column per entity: by option, by shape, or by name.

    The shapes decide if both sides have the same number of columns in one way only.
    Otherwise the name of the right side decides.
    """
    if request.transpose is not None:
        sides = [side for side in ("left", "right") if request.transposes(side)]
        return frozenset(sides)
    if len(left) == len(right) == 2:
        ways = {
            frozenset[str](): left[1] == right[1],
            frozenset({"right"}): left[1] == right[0],
            frozenset({"left"}): left[0] == right[1],
            frozenset({"left", "right"}): left[0] == right[0],
        }
        fitting = [sides for sides, fits in ways.items() if fits]
        if len(fitting) == 1:
            return fitting[0]
    return frozenset({"right"} if is_transposed_by_name(name) else ())
