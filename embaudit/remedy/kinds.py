"""Kinds of vectors to use instead of the factors as they are.

They are the rows of an equivalent model in a declared gauge, or vectors whose cosines
the predictions fix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    absorbed_biases,
    canonical_form,
    objective_at,
    require_both_sides,
    shifted_sides,
)
from embaudit.canonical.identified import prediction_map
from embaudit.canonical.row_span import span_basis, turned
from embaudit.core.checked import (
    RNG,
    Floats,
    Vector,
    as_generator,
    is_integer,
    named_keywords,
    require_one_of,
)
from embaudit.core.tolerances import EPS
from embaudit.errors import (
    EquivalenceError,
    InputError,
    Option,
    Sentence,
    must_be,
)
from embaudit.heads.conventions import Convention, centred_form, require_norm
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.mapped import RowMap, affine
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import draw_pairs, n_pairs
from embaudit.linalg.rows import block_norms, unit_rows
from embaudit.model import Equivalence, FactorModel, SideName, require_two_sides
from embaudit.model.centring import centre_of
from embaudit.model.final_norm import FinalNorm
from embaudit.model.objectives import Linear
from embaudit.model.sizes import require_ordinary_size
from embaudit.model.trainings import kept_objective
from embaudit.remedy.vectors import PROBES, Remedy, TruncationLoss
from embaudit.serving.align import align
from embaudit.serving.copy_formats import principal_axes
from embaudit.serving.index_metric import bias_of
from embaudit.serving.map_fit import MapKind
from embaudit.serving.space_map import SpaceMap, space_map

Kind: TypeAlias = Literal[
    "prediction",
    "balanced",
    "left-whitened",
    "right-whitened",
    "centred",
    "folded",
    "folded-centred",
    "equal-length",
]
KINDS: tuple[str, ...] = get_args(Kind)
FOLDED = ("folded", "folded-centred")
"""Kinds of a head behind a final norm."""
EQUAL_LENGTH = "equal-length"
"""Kind of vectors that an index of any measure lists as the model does."""


@named_keywords
def fix(
    model: FactorModel | AnyPath | object,
    as_: str | None = None,
    *,
    align_to: FactorModel | AnyPath | object | None = None,
    map_to: FactorModel | AnyPath | object | None = None,
    rotate: str | None = None,
    by_map: MapKind | None = None,
    role: SideName | str | None = None,
    dimensions: int | None = None,
    unit: bool = False,
    keep_empty: bool = False,
    final_norm: FinalNorm | None = None,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    rng: RNG = 0,
) -> Remedy:
    """Make vectors whose cosines depend less on arbitrary axes than the factors do.

    Parameters
    ----------
    model : FactorModel, path or object
        A model, or an object that `embaudit.load` reads.
    as_ : str, optional
        Kind of vectors, one of `KINDS`. The default is "prediction" if both sides are
        loaded, and "centred" for one side alone.

        - "prediction": vectors of one side whose plain cosine is the prediction cosine,
          which no gauge moves.
        - "balanced", "left-whitened", "right-whitened": the equivalent model in this
          canonical gauge, which is a convention.
        - "centred": the equivalent model whose mean rows are 0 if predictions leave
          them free. In a table of vectors, zero rows do not count.
        - "folded": a head multiplied by the gains of its final norm.
        - "folded-centred": a folded head without any component that no probability
          shows; its axes stay a convention.
        - "equal-length": right rows of one length, with the same scores. Inner product,
          cosine and Euclidean distance then list the same right rows for each left row.
          Further columns hold the bias of each right row, and `√(M² − ‖y‖²)` for a row
          y, where M is the largest length.
    align_to : FactorModel, path or object, optional
        An older training run. The vectors of `model` are brought into its coordinates,
        without a change of predictions. `Remedy.alignment` says how far old and new
        vectors are apart then, and whether lists may mix them. `as_` must be None.
    map_to : FactorModel, path or object, optional
        Vectors of the same items by a new encoder. The vectors of `model` are mapped
        into its space. `Remedy.space_map` says whether this is enough, or whether the
        items should be embedded again. `as_` must be None.
    rotate : {"pca"}, optional
        The vectors are only turned to the principal axes of the written side (of the
        right one if both are written), so that no cosine, length or score changes.
        The first columns then hold as much of the rows of length 1 as possible.
        `as_` must be None.
    by_map : {"rotation", "linear"}, optional
        The map, with `map_to`. By default a rotation if it is enough, or else a linear
        map if it is enough, or else the map that keeps more of the new lists.
    role : {"left", "right"}, optional
        Only this side's vectors. By default both sides of an equivalent model, and
        otherwise the right one.
    dimensions : int, optional
        Number of leading directions to keep. By default all directions that the
        predictions see, which changes nothing.
    unit : bool
        Divide vectors by their length, so that a dot product is the cosine; for one
        side only.
    keep_empty : bool
        Keep rows without direction in a table of vectors of one side. By default such
        rows are skipped, and rows of a model without ids get their numbers as ids.
    final_norm : FinalNorm, optional
        Norm before a head that is folded. By default the norm that the file or the
        network declares.
    by_row : bool, optional
        True if the rows of `model` and the other model are the same entities in the
        same order, so ids are ignored. This is the default for two models in memory
        without ids, but not for files.
    partial : bool
        True if less than half of the rows of the two models may match.
    same_numbers : bool
        True if an entity has one row number, or one number as id, in both models, and
        new entities have new numbers. One model may have more rows than the other then.
    rng : numpy Generator or int
        Draws the pairs on which the loss by fewer dimensions is measured, and the lists
        of an alignment or of a map.

    Returns
    -------
    Remedy
        Nothing is computed before `vectors`, `to_model` or `write` is called.

    Raises
    ------
    InputError
        For an unknown kind, a side that is missing, more dimensions than the
        predictions see, or factors of no ordinary length.
    EquivalenceError
        If the change would alter the predictions.

    Examples
    --------
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> remedy = fix(model, "prediction", unit=True)
    >>> remedy
    Remedy(prediction vectors of items, 2 dimensions)
    >>> x = remedy.vectors()
    >>> round(float(x[0] @ x[1]), 9)
    0.6
    """
    if as_ is not None:
        require_one_of(as_, "as", KINDS)
    if final_norm is not None and not isinstance(final_norm, FinalNorm):
        raise must_be("final_norm", "a FinalNorm", repr(final_norm))
    if by_map is not None:
        require_one_of(by_map, "by_map", get_args(MapKind))
        if map_to is None:
            raise InputError(
                "{} must be omitted unless {} is given.",
                Option("by_map"),
                Option("map_to"),
            )
    if rotate is not None:
        require_one_of(rotate, "rotate", ("pca",))
    other = align_to if map_to is None else map_to
    are_models = isinstance(model, FactorModel) and isinstance(other, FactorModel)
    # Files without ids can hold other entities, or the same in another order.
    if by_row is None and not are_models:
        by_row = False
    model, draw = model_of(model), as_generator(rng)
    _require_products(model)
    if rotate is not None:
        _require_omitted(
            "only rotated",
            as_=as_,
            align_to=align_to,
            map_to=map_to,
            dimensions=dimensions,
            final_norm=final_norm,
        )
        remedy = _rotated(model, role, unit=unit)
    elif map_to is not None:
        _require_omitted(
            "mapped into the space of another encoder",
            as_=as_,
            align_to=align_to,
            dimensions=dimensions,
            final_norm=final_norm,
        )
        found = space_map(
            model,
            model_of(map_to),
            by_row=by_row,
            partial=partial,
            same_numbers=same_numbers,
            rng=draw,
        )
        remedy = _mapped(model, role, found, by_map)
    elif align_to is not None:
        _require_omitted(
            "aligned with those of another model",
            as_=as_,
            dimensions=dimensions,
            final_norm=final_norm,
        )
        remedy = _aligned(
            model,
            model_of(align_to),
            role,
            draw,
            unit=unit,
            by_row=by_row,
            partial=partial,
            same_numbers=same_numbers,
        )
    else:
        remedy = _of_kind(
            model, as_, role, draw, dimensions=dimensions, unit=unit, norm=final_norm
        )
    return _finished(remedy, unit=unit, keep_empty=keep_empty)


def _of_kind(
    model: FactorModel,
    as_: str | None,
    role: SideName | str | None,
    draw: np.random.Generator,
    *,
    dimensions: int | None,
    unit: bool,
    norm: FinalNorm | None,
) -> Remedy:
    """Make vectors of one of `KINDS`."""
    if as_ not in (None, "prediction") or dimensions is not None:
        require_two_sides(model, "other vectors")
    if as_ is None:
        # Vectors alone have no predictions to take cosines of. Centring keeps their
        # predictions if there are any.
        has_predictions = model.left is not None or model.compared is not None
        as_ = "prediction" if has_predictions else "centred"
    roles = _roles(model, as_, role)
    if unit:
        _require_no_lengths(model, as_, roles)
    if not model.link.unit_sides:
        require_ordinary_size(model)
    if model.compared is not None:
        remedy = Remedy(
            model,
            as_,
            ("right",),
            model.rank,
            False,
            {"right": _unchanged},
            {},
            description=(
                "as they were compared with each other in training: their cosines "
                "follow from the predictions."
            ),
        )
    elif as_ == "centred":
        remedy = _centred(model, roles, dimensions)
    elif as_ == EQUAL_LENGTH:
        remedy = _of_equal_length(model, roles, dimensions)
    elif as_ in FOLDED:
        remedy = _folded(model, as_, roles, dimensions, norm or model.final_norm)
    else:
        _require_scores(model, as_)
        require_both_sides(model, f"{as_} vectors")
        remedy = _canonical(model, as_, roles, dimensions, draw)
    return remedy


def _finished(remedy: Remedy, *, unit: bool, keep_empty: bool) -> Remedy:
    """Apply the options that all kinds share."""
    remedy = replace(remedy, keep_empty=keep_empty)
    if not unit:
        return remedy
    maps = {role: _then_unit(function) for role, function in remedy.maps.items()}
    return replace(remedy, maps=maps, unit=True)


def _require_omitted(vectors: str, **values: object) -> None:
    """Raise InputError if an option of other kinds of vectors is given.

    Parameters
    ----------
    vectors : str
        Participle that describes the vectors, such as "aligned with those of another
        model".
    values : dict
        Options that must be None.
    """
    for name, value in values.items():
        if value is not None:
            raise InputError(
                "{} must be omitted if vectors are {}.", Option(name), vectors
            )


def _mapped(
    model: FactorModel,
    role: SideName | str | None,
    found: SpaceMap,
    kind: MapKind | None,
) -> Remedy:
    """Map the right side of a model into the space of another encoder."""
    if role is not None and model.side_name(role) != "right":
        raise must_be(
            "the side that is mapped into another space",
            f"the {model.title('right')}s",
            f"the {model.title('left')}s",
            Sentence("omit {}", Option("role")),
        )
    found = replace(found, chosen=kind)
    matrix = found.final[found.used.kind].forward
    precision = max(float(np.finfo(model.right.dtype).eps), model.rank * EPS)
    return Remedy(
        model=model,
        kind="mapped",
        roles=("right",),
        columns=matrix.shape[1],
        unit=False,
        maps={"right": affine(np.zeros(model.rank), matrix, precision)},
        biases={},
        space_map=found,
    )


def _rotated(model: FactorModel, role: SideName | str | None, *, unit: bool) -> Remedy:
    """Turn a model to the principal axes of the last side that is written."""
    roles = _roles(model, "rotated", role)
    if unit:
        _require_no_lengths(model, "rotated", roles)
    if not model.link.unit_sides:
        require_ordinary_size(model)
    if model.final_norm is not None:
        raise must_be(
            "vectors to rotate",
            "vectors of a model without a final norm, which has axes of its own",
            "a head with a final norm",
            Sentence("fold the norm in with {}", Option("as_", "folded")),
        )
    axes = principal_axes(model.factors(roles[-1]))

    def turned_rows(block: Floats) -> Floats:
        return np.asarray(block @ axes.T)

    return Remedy(
        model=model,
        kind="rotated",
        roles=roles,
        columns=model.rank,
        unit=False,
        maps=dict.fromkeys(roles, turned_rows),
        biases={},
        objective=kept_objective(model.objective, Linear.ROTATION),
    )


def _aligned(
    model: FactorModel,
    old: FactorModel,
    role: SideName | str | None,
    rng: np.random.Generator,
    *,
    unit: bool,
    by_row: bool | None,
    partial: bool,
    same_numbers: bool,
) -> Remedy:
    """Bring a model into the coordinates of an old one."""
    roles = _roles(model, "aligned", role)
    if unit:
        _require_no_lengths(model, "aligned", roles)
    alignment = align(
        old,
        model,
        by_row=by_row,
        partial=partial,
        same_numbers=same_numbers,
        rng=rng,
    )
    linear = Linear.ANY
    if alignment.keeps_cosines:
        linear = Linear.ROTATION
    # The biases of the model stay, so there are none to replace.
    return Remedy(
        model=model,
        kind="aligned",
        roles=roles,
        columns=alignment.columns,
        unit=False,
        maps={role: alignment.maps[role] for role in roles},
        biases={},
        objective=kept_objective(model.objective, linear, alignment.shifts),
        alignment=alignment,
    )


def _roles(
    model: FactorModel, kind: str, role: SideName | str | None
) -> tuple[SideName, ...]:
    """Return the sides to write: the given side, or the sides of the kind."""
    if role is not None:
        return (model.side_name(role),)
    is_of_one_side = kind in ("prediction", *FOLDED)
    if is_of_one_side or model.left is None:
        return ("right",)
    return ("left", "right")


def _unchanged(block: Floats) -> Floats:
    """Return rows as they are."""
    return block


def _then_unit(function: RowMap) -> RowMap:
    """Return the map that also divides rows by their length."""
    return lambda block: unit_rows(function(block), none=0)


def _folded(
    model: FactorModel,
    kind: str,
    roles: tuple[SideName, ...],
    dimensions: int | None,
    norm: FinalNorm | None,
) -> Remedy:
    """Multiply the label rows by the gains of the final norm, and centre them."""
    if norm is None:
        raise _unknown_norm(model, kind)
    if dimensions is not None or roles != ("right",):
        got = "dimensions" if dimensions is not None else f"the {model.title('left')}s"
        raise must_be(
            f"{kind} vectors",
            f"all dimensions of the {model.title('right')}s",
            got,
            "omit this option",
        )
    require_norm(model, norm)
    form = Convention("folded", norm.gain)
    if kind == "folded-centred":
        form = centred_form(model, norm)
    bias = form.bias(model, norm)
    biases = {} if bias is None else {"right_bias": bias}
    return Remedy(
        model,
        kind,
        roles,
        model.rank,
        False,
        {"right": form.rows},
        biases,
        description=folded_words(form, norm),
    )


def _unknown_norm(model: FactorModel, kind: str) -> InputError:
    """Return the error for a folded kind of a model without a final norm."""
    is_table = model.left is None and model.link.name == "identity"
    other_kind = "prediction"
    if is_table or "right" in model.free_shifts:
        other_kind = "centred"
    got = "no head"
    remedy = Sentence("use {}", Option("as_", other_kind))
    if model.link.name == "softmax":
        got = "a head without a known norm"
        remedy = Sentence("read it with {}, or {}", Option("norm"), remedy)
    return must_be(
        f"{kind} vectors",
        "vectors of a head whose final norm is known",
        got,
        remedy,
    )


def _centred(
    model: FactorModel, roles: tuple[SideName, ...], dimensions: int | None
) -> Remedy:
    """Subtract the mean row of each side whose shift the predictions do not see."""
    if dimensions is not None:
        raise must_be(
            "dimensions",
            "omitted for centred vectors, which keep them all",
            dimensions,
        )
    # A shift must be absorbed by a bias or the softmax (docs/theory.md, "A shift is
    # free where something absorbs it"). Vectors alone have no prediction to change.
    is_table = model.left is None and model.link.name == "identity"
    free = model.free_shifts
    if is_table:
        free = ("right",)
    if not set(free) & set(roles):
        sides = " or ".join(f"{model.title(role)}s" for role in roles)
        raise EquivalenceError(
            "centring must keep the predictions; got a model with {} link whose "
            "predictions change when {} are shifted, since no free bias absorbs it; "
            "use {}.",
            model.link.name,
            sides,
            Option("as_", "prediction"),
        )
    # If there are very many columns, moments are computed in the span of the rows, and
    # centres are carried back to the stored columns.
    basis = span_basis(model)
    small = turned(model, basis)
    zero = np.zeros(small.rank)
    centres: dict[SideName, Vector] = {}
    for side in model.sides:
        if side not in free:
            centres[side] = zero
        elif is_table:
            centres[side] = centre_of(small, side)
        else:
            centres[side] = small.side(side).moments.mean
    biases: dict[str, Vector] = {}
    if "left" in centres:
        biases = absorbed_biases(small, centres["left"], centres["right"])
    maps = {}
    for role in roles:
        centre = centres[role]
        if basis is not None:
            centre = basis @ centre
        maps[role] = _less(centre, small.side(role).moments.precision)
    objective = kept_objective(
        model.objective, Linear.IDENTITY, shifted_sides(small, centres)
    )
    return Remedy(
        model, "centred", roles, model.rank, False, maps, biases, objective=objective
    )


def _of_equal_length(
    model: FactorModel, roles: tuple[SideName, ...], dimensions: int | None
) -> Remedy:
    """Add a column that gives all right rows one length and keeps all scores.

    Let M be the largest length of a right row. A right row y becomes
    `(y, √(M² − ‖y‖²))`, which has the length M, and a left row x becomes `(x, 0)`, so
    their inner product stays `x·y`. All right rows have one length, so the cosine and
    the Euclidean distance of a left row and a right row depend on the right row only
    through this product.

    If the model has right biases b that differ, they become a column first, so that
    inner products are scores with the bias: `(x, 1)·(y, b) = x·y + b`.

    Source: Bachrach et al., "Speeding Up the Xbox Recommender System Using a Euclidean
    Transformation for Inner-Product Spaces", RecSys 2014.
    """
    if dimensions is not None:
        raise must_be(
            "dimensions",
            "omitted for vectors of equal length, which keep them all",
            dimensions,
        )
    require_both_sides(model, "vectors of equal length")
    if "right" in model.link.unit_sides:
        raise EquivalenceError(
            "vectors of equal length must preserve scores; got a model that divides "
            "the {} rows by their lengths; index its rows by cosine.",
            model.title("right"),
        )
    bias = bias_of(model)
    if bias is not None:
        left, right = model.factors("left"), model.factors("right")
        model = model.replace(
            left=np.column_stack([left, np.ones(len(left))]),
            right=np.column_stack([right, bias]),
            right_bias=None,
        )
    longest = float(model.right_side.norms.max())

    def add_length(block: Floats) -> Floats:
        """Add the column that gives right rows one length."""
        lengths = block_norms(block)
        # The product keeps digits that a difference of squares would lose.
        missing = np.sqrt((longest - lengths) * (longest + lengths))
        return np.column_stack([block, missing])

    def add_zeros(block: Floats) -> Floats:
        """Add the column of left rows, which keeps their scores."""
        return np.column_stack([block, np.zeros(len(block))])

    return Remedy(
        model,
        EQUAL_LENGTH,
        roles,
        model.rank + 1,
        False,
        {"left": add_zeros, "right": add_length},
        {},
    )


def _require_products(model: FactorModel) -> None:
    """Raise InputError if rows were compared by distance, which fixes no cosine."""
    if model.link.measures_distances:
        raise must_be(
            "a model to fix",
            "a model of dot products or cosines",
            f"rows compared by {model.link.comparison_words}",
            "use the rows as they are, and rank by distance",
        )


def _require_no_lengths(
    model: FactorModel, kind: str, roles: tuple[SideName, ...]
) -> None:
    """Raise InputError if unit vectors are requested but predictions need lengths."""
    if kind == EQUAL_LENGTH:
        raise must_be(
            "unit",
            "omitted for vectors of equal length, which have length 1 already",
            True,
        )
    if model.compared == "dot":
        raise must_be(
            "unit",
            "omitted if rows are compared by dot product, which needs their lengths",
            True,
        )
    if len(roles) > 1:
        raise must_be(
            "unit",
            "omitted for a model, whose lengths its predictions need",
            True,
            Sentence("choose one side with {}", Option("role")),
        )


def _less(centre: Vector, precision: float) -> RowMap:
    """Return the map that subtracts a centre.

    A result that is nothing but rounding becomes a row of zeros.
    """
    length = np.linalg.norm(centre)

    def function(block: Floats) -> Floats:
        result = block - centre
        sizes = np.linalg.norm(block, axis=1) + length
        result[np.linalg.norm(result, axis=1) <= precision * sizes] = 0
        return result

    return function


def _require_scores(model: FactorModel, kind: str) -> None:
    """Refuse the gauges of a model that predicts cosines."""
    if model.link.name == "unknown" and kind != "prediction":
        raise EquivalenceError(
            "a model whose rows have length 1 must declare whether dot products or "
            "cosines were trained; got neither; read it with {} or {}.",
            Option("link", "identity"),
            Option("objective", "cosine"),
        )
    if model.predicts is Equivalence.COSINES and kind != "prediction":
        raise EquivalenceError(
            "vectors of a model that predicts cosines must keep its lengths and "
            "angles; got the kind {}, which changes them; use {}.",
            repr(kind),
            Option("as_", "prediction"),
        )


def _after(basis: Floats, function: RowMap) -> RowMap:
    """Return the map that expresses rows in a basis first."""
    return lambda block: function(block @ basis)


def _canonical(
    stored: FactorModel,
    kind: str,
    roles: tuple[SideName, ...],
    dimensions: int | None,
    rng: RNG,
) -> Remedy:
    """Make vectors by a canonical form.

    If there are very many columns, it is computed in the dimensions that the rows span.
    """
    basis = span_basis(stored)
    model = turned(stored, basis)
    form = canonical_form(model)
    if dimensions is not None and (
        not is_integer(dimensions) or not 1 <= dimensions <= form.rank
    ):
        sees = f"the predictions see {form.rank} of the {stored.rank} dimensions"
        raise must_be(
            "dimensions", f"an integer from 1 to {form.rank}", repr(dimensions), sees
        )
    # Directions are in the order of their singular values, so the leading ones are the
    # best to keep.
    n_dimensions = form.rank
    if dimensions is not None:
        n_dimensions = int(dimensions)
    elif kind != "prediction":
        n_dimensions = form.family.left.shape[1]
    maps = {role: _map(model, form, kind, role, n_dimensions) for role in roles}
    # A canonical gauge centres rows if predictions leave their mean free. Biases make
    # up for this.
    biases: dict[str, Vector] = {}
    if kind != "prediction":
        biases = absorbed_biases(model, form.left_centre, form.right_centre)
    remedy = Remedy(model, kind, roles, n_dimensions, False, maps, biases)
    if n_dimensions < form.rank:
        remedy = replace(remedy, reduction=_reduction(remedy, form, n_dimensions, rng))
    elif kind == "prediction":
        remedy = replace(remedy, objective="prediction")
    else:
        objective = objective_at(model, form, EXPONENTS[kind])
        remedy = replace(remedy, objective=objective)
    if basis is None:
        return remedy
    return replace(
        remedy,
        model=stored,
        maps={role: _after(basis, function) for role, function in maps.items()},
    )


def _map(
    model: FactorModel,
    form: CanonicalForm,
    kind: str,
    role: SideName,
    n_dimensions: int,
) -> RowMap:
    """Return the map from the rows of a side to vectors of a kind."""
    if kind == "prediction":
        function = prediction_map(model, form, role)
        return lambda block: function(block)[:, :n_dimensions]
    return form.affine(role, form.maps(EXPONENTS[kind])[role][:, :n_dimensions])


def _reduction(
    remedy: Remedy, form: CanonicalForm, n_dimensions: int, rng: RNG
) -> TruncationLoss:
    """Measure on sampled pairs how far the dropped directions move cosines."""
    # The squares of the singular values add up to the scores' sum of squares. No other
    # directions keep more of it than the leading ones (Eckart and Young).
    energy = form.singular_values[: form.rank] ** 2
    *_, role = remedy.roles
    whole = _map(remedy.model, form, remedy.kind, role, form.rank)
    x = remedy.model.factors(role)
    # A rank above 1 takes at least two rows.
    pairs = draw_pairs(len(x), PROBES, rng=rng)
    # Rows that several pairs share are mapped once.
    drawn, places = np.unique(pairs, return_inverse=True)
    rows = whole(np.array(x[drawn], dtype=np.float64))
    cut_rows = rows[:, :n_dimensions]
    places = places.reshape(pairs.shape)
    before = pair_cosines(rows, rows, places)
    change = np.abs(pair_cosines(cut_rows, cut_rows, places) - before)
    # Rows that lose all of their directions have no cosine left to compare.
    errors = change[np.isfinite(change)]
    if not len(errors):
        errors = np.zeros(1)
    return TruncationLoss(
        dimensions=n_dimensions,
        rank=form.rank,
        energy_lost=float(energy[n_dimensions:].sum() / energy.sum()),
        largest_singular_value_lost=float(form.singular_values[n_dimensions]),
        mean_cosine_error=float(errors.mean()),
        max_cosine_error=float(errors.max()),
        n_pairs=len(pairs),
        n_all_pairs=n_pairs(len(x)),
    )


def folded_words(form: Convention, norm: FinalNorm) -> str:
    """Describe the gains and the vectors that are subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> norm = FinalNorm("rms", [1.0, 4.0])
    >>> print(folded_words(Convention("folded", norm.gain), norm))
    with the gains of the final RMSNorm (κ = 4) multiplied in. With their lengths they
    predict, on states ...
    """
    removed = []
    if form.level:
        removed.append("the component that no state behind a LayerNorm sees")
    if form.centre is not None:
        removed.append("their mean row")
    less = f", less {' and '.join(removed)}" if removed else ""
    return (
        f"with the gains of the final {norm.title} (κ = {norm.condition_number:.3g}) "
        f"multiplied in{less}. With their lengths they predict, on states normalised "
        "without gains, what the stored head predicts behind its norm. The axes stay a "
        "convention."
    )
