"""Choose the layout of named arrays: by the options of the caller, else by the recipes.

Only names and shapes are needed, which the header of a file holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.layouts.layout import Layout, Shape, Shapes
from embaudit.io.layouts.names import (
    first_of,
    is_inside,
    is_kernel,
    layer_and_part,
    plain,
)
from embaudit.io.layouts.recipes import (
    ADDED_TO_LOGITS,
    BESIDE_FACTORS,
    BESIDE_ONE_TABLE,
    INPUTS,
    Recipe,
    head_recipe,
    is_transposed_by_name,
    of_kind,
)
from embaudit.io.options import Request, file_remedy

BY_OPTION = "arrays that options name"
"""Title of a layout whose arrays the caller named."""
ONLY_MATRIX = "the only matrix"
"""Title of a layout without a known name."""
ROWS_BY_CUSTOM = ("weight", "coef_")
"""Endings of the names of weights that have one row per label by custom."""


def choose(shapes: Shapes, request: Request, where: object) -> Layout:
    """Determine which array is what, from the options, the names and the shapes.

    1. Arrays that the caller names are used as named.
    2. Otherwise the recipes are tried. Two tables and a head have the same rank, so a
       file that holds both is a question; see `_heads` for the ranks among heads.
    3. If no recipe fits, a single matrix is a table of vectors.

    Raises
    ------
    InputError
        If an array that the caller names does not exist, or if the names allow more
        than one reading or none.

    Examples
    --------
    >>> choose({"P": (5, 2), "Q": (7, 2)}, Request(), "a.npz").title
    'P/Q of textbooks on matrix factorisation'
    >>> choose({"a": (5, 2), "b": (7, 2)}, Request(), "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the arrays of a.npz must be one recognised table, pair or head; got a (5, 2), ...
    """
    _require_arrays(shapes, request, where)
    if request.weight is not None:
        return _named(shapes, request, where)
    if request.left is not None and request.kind != "head":
        return _named(shapes, request, where)
    matrices = {name: shape for name, shape in shapes.items() if len(shape) == 2}
    layouts = []
    if request.kind in ("auto", "factors", "vectors"):
        layouts += _pairs(shapes, matrices, request)
    if request.kind in ("auto", "head"):
        layouts += _heads_apart_from(layouts, shapes, matrices, request)
    if not layouts:
        layouts = _only_matrix(shapes, matrices, request)
    if len(layouts) == 1:
        return layouts[0]
    named = {name: shape for name, shape in shapes.items() if len(shape) > 1}
    remedy = Sentence(
        "name two factors with {} and {}, or one table with {} and {} or {}",
        Option("left", placeholder="A"),
        Option("weight", placeholder="B"),
        Option("weight", placeholder="B"),
        Option("kind", "head"),
        Option("kind", "vectors"),
    )
    raise must_be(
        Sentence("the arrays of {}", File(where)),
        "one recognised table, pair or head",
        _listed(named) or "no matrix",
        remedy,
    )


def _require_arrays(shapes: Shapes, request: Request, where: object) -> None:
    """Refuse the name of an array that the file does not hold."""
    for option in ("left", "weight", "bias", "left_bias", "id_array", "left_id_array"):
        name = getattr(request, option)
        if name is not None and name not in shapes:
            raise must_be(
                option,
                Sentence("one of {} in {}", _listed(shapes), File(where)),
                repr(name),
                file_remedy(option, name),
            )


def _listed(shapes: Shapes) -> str:
    return listed([f"{name} {shape}" for name, shape in shapes.items()], 12)


def _named(shapes: Shapes, request: Request, where: object) -> Layout:
    """Return the layout of two tables, a head or vectors that the caller names."""
    left, weight = request.left, request.weight
    if weight is None or (left is None and request.kind == "factors"):
        raise InputError(
            "the factors in {} must both be named, with {} and {}; one alone is a table "
            "of vectors, named with {} and {}.",
            where,
            Option("left", placeholder="A"),
            Option("weight", placeholder="B"),
            Option("weight", placeholder="B"),
            Option("kind", "vectors"),
        )
    if left is not None and request.kind != "head":
        return _pair(shapes, request, left, weight, BY_OPTION)
    recipe = head_recipe(weight)
    is_head = request.kind == "head"
    if request.kind == "auto":
        is_head = recipe is not None or is_kernel(weight) or bool(request.bias)
    if not is_head and request.kind != "vectors":
        remedy = Sentence(
            "say whether {} is one with {} or {}",
            weight,
            Option("kind", "head"),
            Option("kind", "vectors"),
        )
        allowed = Sentence("given with {}", Option("weight"))
        raise must_be("kind", allowed, "auto", remedy)
    if is_head:
        return _head(shapes, request, weight, recipe, BY_OPTION)
    return _vectors(shapes, request, weight, BY_OPTION)


def _pairs(shapes: Shapes, matrices: Shapes, request: Request) -> list[Layout]:
    """Return the layout of each pair of tables whose names a recipe knows."""
    names = {plain(name): name for name in matrices}
    layouts = []
    for recipe in of_kind("factors"):
        left, right = names.get(plain(recipe.left)), names.get(plain(recipe.right))
        if left is not None and right is not None:
            layouts.append(_pair(shapes, request, left, right, recipe.title))
    return layouts


def _heads_apart_from(
    pairs: list[Layout], shapes: Shapes, matrices: Shapes, request: Request
) -> list[Layout]:
    """Return the layouts of heads; W next to H is a factor unless b makes it a head."""
    factors = {name for pair in pairs for name in (pair.fields["left"], pair.right)}
    layouts = []
    for weight, recipe in _heads(shapes, matrices):
        layout = _head(shapes, request, weight, recipe, recipe.title)
        if weight not in factors or "right_bias" in layout.fields:
            layouts.append(layout)
    return layouts


def _heads(shapes: Shapes, matrices: Shapes) -> list[tuple[str, Recipe]]:
    """Return the matrices that are heads by their names, all of the first rank found.

    The ranks are: a head by its whole name, a head below a prefix, input embeddings by
    their whole name, and input embeddings below a prefix. Layers inside a network can
    have the name of a head below a prefix as well, so a whole name comes first.
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
    return next((found for found in ranks if found), [])


def _only_matrix(shapes: Shapes, matrices: Shapes, request: Request) -> list[Layout]:
    """Return the layout of a single matrix without a known name, which is one table.

    A bias that the caller names makes it a head. The weights of a layer of Keras are
    vectors only if the caller says so. Of two matrices, none is chosen by its shape.
    """
    if len(matrices) != 1 or request.kind == "factors":
        return []
    (name,) = matrices
    if request.kind == "head" or (request.kind == "auto" and request.bias is not None):
        return [_head(shapes, request, name, head_recipe(name), ONLY_MATRIX)]
    if is_kernel(name) and request.kind != "vectors":
        return []
    return [_vectors(shapes, request, name, ONLY_MATRIX)]


def _pair(
    shapes: Shapes, request: Request, left: str, right: str, title: str
) -> Layout:
    """Return the layout of two tables and of the arrays next to them."""
    fields = {"left": left, "right": right, **_beside(shapes, BESIDE_FACTORS)}
    if request.left_bias:
        fields["left_bias"] = request.left_bias
    if request.bias:
        fields["right_bias"] = request.bias
    transposed = _transposed_sides(shapes[left], shapes[right], right, request)
    return Layout(fields, transposed=transposed, title=title)


def _beside(shapes: Shapes, customary: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Find the arrays next to a table by their names."""
    # The mean of all ratings is one number; "mean" of another size is something else.
    single = [name for name, shape in shapes.items() if prod(shape) == 1]
    fields = {}
    for field, names in customary.items():
        name = first_of(single if field == "offset" else shapes, names)
        if name is not None:
            fields[field] = name
    return fields


def _transposed_sides(
    left: Shape, right: Shape, name: str, request: Request
) -> frozenset[str]:
    """Return the sides with one column per entity: by option, by name, or by shape.

    The shapes decide if both sides have the same number of columns in one way only.
    """
    if request.transpose is not None:
        sides = [side for side in ("left", "right") if request.transposes(side)]
        return frozenset(sides)
    if is_transposed_by_name(name):
        return frozenset({"right"})
    if len(left) != 2 or len(right) != 2:
        return frozenset()
    ways = {
        frozenset[str](): left[1] == right[1],
        frozenset({"right"}): left[1] == right[0],
        frozenset({"left"}): left[0] == right[1],
        frozenset({"left", "right"}): left[0] == right[0],
    }
    fitting = [sides for sides, fits in ways.items() if fits]
    return fitting[0] if len(fitting) == 1 else frozenset()


def _vectors(shapes: Shapes, request: Request, weight: str, title: str) -> Layout:
    """Return the layout of one table of vectors."""
    fields = {"right": weight, **_beside(shapes, BESIDE_ONE_TABLE)}
    if request.left_bias:
        fields["left_bias"] = request.left_bias
    if request.bias:
        fields["right_bias"] = request.bias
    for recipe in of_kind("vectors"):
        if plain(recipe.right) == plain(weight):
            title = recipe.title
    transposed = _transposed_table(shapes, request, fields)
    return Layout(fields, transposed=transposed, title=title)


def _head(
    shapes: Shapes, request: Request, weight: str, recipe: Recipe | None, title: str
) -> Layout:
    """Return the layout of a head with its bias and its inputs."""
    fields = {"right": weight, **_beside(shapes, BESIDE_ONE_TABLE)}
    inputs = request.left or first_of(shapes, INPUTS)
    bias = request.bias or _bias(shapes, weight, recipe)
    if inputs is not None:
        fields["left"] = inputs
    if request.left_bias is not None:
        fields["left_bias"] = request.left_bias
    if bias is not None:
        fields["right_bias"] = bias
    transposed = _transposed_table(shapes, request, fields)
    return Layout(fields, head=True, transposed=transposed, title=title)


def _bias(shapes: Shapes, weight: str, recipe: Recipe | None) -> str | None:
    """Find the bias of a head: next to its weights, else where its library puts it."""
    layer, part = layer_and_part(weight)
    bias = None
    if recipe is not None and recipe.bias:
        bias = weight.removesuffix(recipe.right) + recipe.bias
    elif layer and part in ("weight", "kernel"):
        # What torch, Keras and Flax call the bias of a layer.
        bias = f"{layer}bias"
    if bias in shapes:
        return bias
    elsewhere = ADDED_TO_LOGITS if recipe is None else recipe.biases_elsewhere
    for name in elsewhere:
        if name in shapes and shapes[name][-1:] == shapes[weight][:1]:
            return name
    return None


def _transposed_table(
    shapes: Shapes, request: Request, fields: Mapping[str, str]
) -> frozenset[str]:
    """Return {"right"} if one table or a head has one column per entity.

    The option decides, then the name. torch stores one row per label, TensorFlow one
    column, so the length of the bias decides next, unless the matrix is square; and
    without a bias the number of ids, names and counts.
    """
    weight = fields["right"]
    turned, as_stored = frozenset({"right"}), frozenset[str]()
    if request.transpose is not None:
        return turned if request.transposes("right") else as_stored
    if is_transposed_by_name(weight):
        return turned
    if len(shapes[weight]) != 2 or weight.endswith(ROWS_BY_CUSTOM):
        return as_stored
    rows, columns = shapes[weight]
    if "right_bias" in fields:
        bias = shapes[fields["right_bias"]]
        n_labels = bias[-1] if bias else 1
        if rows == columns == n_labels:
            raise _square(weight, rows)
        return turned if n_labels == columns else as_stored
    numbers_of_ids = {
        prod(shapes[fields[field]]) for field in BESIDE_ONE_TABLE if field in fields
    }
    if rows != columns > 1 and numbers_of_ids == {columns}:
        return turned
    return as_stored


def _square(weight: str, size: int) -> InputError:
    """Return the question of a square matrix, whose bias does not tell how it lies."""
    return must_be(
        f"the labels of {weight}",
        "rows or columns",
        f"{size} × {size}, which both could be",
        Sentence(
            "choose {} if each row is a label, {} if each column is one",
            Option("transpose", "none"),
            Option("transpose", "right"),
        ),
    )
