"""Choose the layout of named arrays: by the options of the caller, else by the recipes.

Only names and shapes are needed, which the header of a file holds.
"""

from __future__ import annotations

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.layouts.heads import head_of, heads_by_name
from embaudit.io.layouts.layout import Layout, Shapes
from embaudit.io.layouts.names import is_kernel
from embaudit.io.layouts.one_table import vectors_of
from embaudit.io.layouts.pairs import pair_of, pairs_by_name
from embaudit.io.layouts.recipes import head_recipe
from embaudit.io.options import Request, file_remedy

BY_OPTION = "arrays that options name"
"""Title of a layout whose arrays the caller named."""
ONLY_MATRIX = "the only matrix"
"""Title of a layout without a known name."""


def choose(shapes: Shapes, request: Request, where: object) -> Layout:
    """Determine which array is what, from the options, the names and the shapes.

    1. Arrays that the caller names are used as named.
    2. Otherwise the recipes are tried. Two tables and a head have the same rank, so the
       read stops and asks if a file holds both. `heads_by_name` says which head comes
       first.
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
    embaudit.errors.InputError: the arrays of a.npz must be one recognised table, pair
    or head; got a (5, 2), ...
    """
    _require_arrays(shapes, request, where)
    if request.weight is not None:
        return _named(shapes, request, where)
    if request.left is not None and request.kind != "head":
        return _named(shapes, request, where)
    matrices = {name: shape for name, shape in shapes.items() if len(shape) == 2}
    layouts = []
    if request.kind in ("auto", "factors", "vectors"):
        layouts += pairs_by_name(shapes, matrices, request)
    if request.kind in ("auto", "head"):
        layouts += _heads_outside(layouts, shapes, matrices, request)
    if not layouts:
        layouts = _only_matrix(shapes, matrices, request)
    if len(layouts) == 1:
        return layouts[0]
    candidates = {name: shape for name, shape in shapes.items() if len(shape) > 1}
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
        _listed(candidates) or "no matrix",
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
            "both factors in {} must be named, with {} and {}; a single table of "
            "vectors is named with {} and {}.",
            where,
            Option("left", placeholder="A"),
            Option("weight", placeholder="B"),
            Option("weight", placeholder="B"),
            Option("kind", "vectors"),
        )
    if left is not None and request.kind != "head":
        return pair_of(shapes, request, left, weight, BY_OPTION)
    recipe = head_recipe(weight)
    is_head = request.kind == "head"
    if request.kind == "auto":
        is_head = recipe is not None or is_kernel(weight) or bool(request.bias)
    if not is_head and request.kind != "vectors":
        remedy = Sentence(
            "say what {} is with {} or {}",
            weight,
            Option("kind", "head"),
            Option("kind", "vectors"),
        )
        allowed = Sentence("given with {}", Option("weight"))
        raise must_be("kind", allowed, "auto", remedy)
    if is_head:
        return head_of(shapes, request, weight, recipe, BY_OPTION)
    return vectors_of(shapes, request, weight, BY_OPTION)


def _heads_outside(
    pairs: list[Layout], shapes: Shapes, matrices: Shapes, request: Request
) -> list[Layout]:
    """Return the layouts of heads whose weights are not one of two tables.

    A name can be both: W is a factor if H is there, and a head if b is there. If both
    are there, both layouts are returned, and the caller is asked.
    """
    factors = {name for pair in pairs for name in (pair.fields["left"], pair.right)}
    layouts = []
    for weight, recipe in heads_by_name(shapes, matrices):
        layout = head_of(shapes, request, weight, recipe, recipe.title)
        if weight not in factors or "right_bias" in layout.fields:
            layouts.append(layout)
    return layouts


def _only_matrix(shapes: Shapes, matrices: Shapes, request: Request) -> list[Layout]:
    """Return the layout of a single matrix without a known name, which is one table.

    If the caller names a bias, the matrix is a head. The weights of a layer of Keras
    are vectors only if the caller says so. If there are several matrices, no layout is
    returned, because shapes do not tell which of them is meant.
    """
    if len(matrices) != 1 or request.kind == "factors":
        return []
    (name,) = matrices
    if request.kind == "head" or (request.kind == "auto" and request.bias is not None):
        return [head_of(shapes, request, name, head_recipe(name), ONLY_MATRIX)]
    if is_kernel(name) and request.kind != "vectors":
        return []
    return [vectors_of(shapes, request, name, ONLY_MATRIX)]
