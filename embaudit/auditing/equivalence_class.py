"""The equivalence class of a model: the models of its rank that predict the same, and whether they have other cosines.

A search finds some equivalent models; the class holds all of them. "Nothing moves" may be said only if the whole class
moves nothing, never because few gauges, or short ones, were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embaudit.auditing.finding import Kind, Scope
from embaudit.auditing.texts import ARGUMENTS
from embaudit.auditing.wording import prediction_noun, worded_for
from embaudit.canonical import Pinning, other_temperature
from embaudit.canonical.pinned import MIN_MOVEMENT, SCOPES, pinned_test
from embaudit.canonical.row_span import outside_shares, reached_space, seen_directions
from embaudit.core.plain import plain_dict
from embaudit.core.words import counted, drawn_of
from embaudit.errors import InputError
from embaudit.linalg.pairs import n_pairs
from embaudit.model import Equivalence, FactorModel, Role, SideName
from embaudit.model.objectives import Status, known_objective
from embaudit.model.pairs import Pairs

LARGEST_SAMPLE = 2_000
"""Rows of each side that a model of another temperature is made of."""
OUTSIDE = 1e-12
"""Share of a row's squared length that must lie where no prediction looks to count as a component there."""


@dataclass(frozen=True)
class Freedom:
    """Freedom of one kind of pairs: other cosines in equivalent models, or none."""

    moves: bool | None
    """True if cosines differ in some equivalent model, False if in none; None where that is undecided."""
    kind: Kind
    """Kind of the argument: proven, shown or undecided."""
    because: str
    """The argument, in a sentence."""
    mean_abs: float | None = None
    """Mean ``|Δcos|`` in the equivalent model of the argument, if it is no gauge."""


@dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """The models that predict the same as one model."""

    scope: Scope
    """The set, in words; `whole` if these are all of them."""
    outside: dict[SideName, float]
    """Largest share of a row's squared length that no prediction sees, for each side with such components."""
    freedom: dict[Role, Freedom]
    """Freedom of each kind of pairs."""
    pinning: Pinning | None
    """The test of unit rows, where the link divides by lengths."""
    seen_rank: int
    """Dimensions that the scores see, those included that a free bias could take up."""
    unseen: int = 0
    """Dimensions that no prediction sees, those included that a free bias could take up: outside every set of gauges
    with a budget, since rows of equivalent models may hold anything there."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "scope": self.scope,
                "outside": self.outside,
                "seen_rank": self.seen_rank,
                "pinning": self.pinning,
                "moves": self.moves_by_role,
            }
        )

    @property
    def moves_by_role(self) -> dict[Role, bool | None]:
        """By role, true if equivalent models have other cosines; None where that is not known."""
        return {role: freedom.moves for role, freedom in self.freedom.items()}

    def moves(self, role: Role) -> bool | None:
        """Return True if cosines of a role differ in an equivalent model; None where that is undecided."""
        return self.freedom[role].moves


def equivalence_class_of(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    uncut: FactorModel | None = None,
    width: int | None = None,
    rng: int = 0,
) -> EquivalenceClass:
    """Work out what equivalent models may do to the cosines of a model.

    From two dimensions on, some linear map moves them, or, where the predictions see fewer, rows may hold anything in
    the others. In one dimension a cosine is a sign, which only a shift can turn.

    Parameters
    ----------
    model : FactorModel
        One side or both.
    roles : sequence of {"left", "right", "cross"}
        Which cosines.
    uncut : FactorModel, optional
        The model with all of its rows, where these are some: dimensions of one side alone are counted in it.
    width : int, optional
        Columns of the rows as stored, which sentences name; by default those of `model`.
    rng : int
        Seed of the equivalent heads that are tried, where the link divides labels by their lengths.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> line = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0]])
    >>> [equivalence_class_of(m, ["right"]).moves("right") for m in (line, line.replace(left_bias=[0.0, 0.0]))]
    [False, True]
    """
    if model.link == "unknown":
        return _either(model, roles, rng)
    law = known_objective(model.objective, alone=model.left is None)
    if law is not None and law.status is Status.TEMPERATURE and model.link == "cosine":
        return _up_to_a_temperature(
            model, roles, rng, model if uncut is None else uncut
        )
    if model.predicts is Equivalence.COSINES:
        # Rotations alone move nothing; whether another metric gives all rows length 1 too is a linear test.
        pinning = pinned_test(model, rng=rng)
        among_maps = pinning.scope in (SCOPES["gauge"], SCOPES["affine"])
        whole = pinning.status != "pinned" or not among_maps
        scope = Scope(
            pinning.scope
            if pinning.status == "pinned"
            else "equivalent models of the same rank",
            whole=whole,
        )
        freedom = {role: _pinned(model, pinning, role) for role in roles}
        return EquivalenceClass(scope, {}, freedom, pinning, model.rank)
    if model.link.measures_distances:
        argued = dict.fromkeys(roles, _of_distances(model))
        return EquivalenceClass(_scope(model), {}, argued, None, model.rank)
    if model.left is None:
        # Any other side may come: all dimensions that the rows span are seen, and nothing lies outside of them.
        uncut = model if uncut is None else uncut
        n_seen = uncut.right_side.outline.rank
        freedom = {role: _freedom(model, role, n_seen, width) for role in roles}
        return EquivalenceClass(_scope(model), {}, freedom, None, n_seen)
    held = held_rank(model)
    if held == 0:
        # Free biases hold every score: the factors may be anything that adds a constant to each row or column.
        anything = dict.fromkeys(
            roles, Freedom(True, Kind.PROVEN, _argument(model, "anything"))
        )
        return EquivalenceClass(_scope(model), {}, anything, None, 0, model.rank)
    n_seen, outside = seen_directions(model, ()).shape[1], _outside(model)
    freedom = {role: _freedom(model, role, n_seen, width) for role in roles}
    return EquivalenceClass(
        _scope(model), outside, freedom, None, n_seen, model.rank - held
    )


def _of_distances(model: FactorModel) -> Freedom:
    """Conclude that distances fix no cosine, unless all rows are equal."""
    x = model.right
    if not np.any(x != x[0]):
        return Freedom(None, Kind.UNDECIDED, _argument(model, "one_point"))
    case = "shift" if model.free_shifts else "isometry"
    text = _argument(model, case, item=model.title("right"))
    return Freedom(True, Kind.PROVEN, text)


def _up_to_a_temperature(
    model: FactorModel, roles: Sequence[Role], rng: int, uncut: FactorModel
) -> EquivalenceClass:
    """Conclude for cosines that are divided by a temperature which training may change.

    Private dimensions and another temperature move the cosines within a side, whatever
    the rows are. Between the sides the order is fixed, and the level is not. The size
    of the movement is measured on a sample, whose size the argument names.
    """
    draw = np.random.default_rng(rng)
    sample = {}
    for side in model.sides:
        directed = model.side(side).directed
        n = min(len(directed), LARGEST_SAMPLE)
        sample[side] = np.sort(draw.choice(directed, n, replace=False))
    twin = other_temperature(model.take(**sample), rng=draw)
    freedom: dict[Role, Freedom] = {}
    for role in roles:
        if role == "cross":
            continue
        moved = twin.moved[role]
        n_rows = len(uncut.side(role).directed)
        pair_noun = f"{Pairs(role).titled(model)} pair"
        looked_at = drawn_of(moved.n_pairs, n_pairs(n_rows), pair_noun)
        if len(sample[role]) < n_rows:
            looked_at += f" among {len(sample[role]):,} drawn rows"
        text = _argument(
            model, "temperature", role, mean=moved.mean_abs, looked_at=looked_at
        )
        freedom[role] = Freedom(True, Kind.SHOWN, text, moved.mean_abs)
    scope = Scope(_argument(model, "scope_of_any_width"), whole=True)
    return EquivalenceClass(scope, {}, freedom, None, model.rank)


def _either(model: FactorModel, roles: Sequence[Role], rng: int) -> EquivalenceClass:
    """Conclude what holds whether rows of length 1 were trained by their dot products or by their cosines."""
    dots, cosines = (
        equivalence_class_of(model.replace(link=link), roles, rng=rng)
        for link in ("identity", "cosine")
    )
    freedom = {}
    for role, by_cosine in cosines.freedom.items():
        # Cosines may also have been divided by a temperature, which frees them within a side. So all readings can only
        # agree that they are free.
        agreed = by_cosine.moves is True and dots.moves(role) is True
        if dots.moves(role) is False:
            # In one dimension only a shift turns a sign, so dot products without one
            # fix the cosines, too.
            text = _argument(model, "line_or_temperature", role)
        else:
            fixes = "fix" if by_cosine.moves is False else "may fix"
            text = _argument(
                model, "dots_or_cosines", role, fixes=fixes, because=by_cosine.because
            )
        freedom[role] = by_cosine if agreed else Freedom(None, Kind.UNDECIDED, text)
    return replace(cosines, scope=Scope(cosines.scope.models), freedom=freedom)


def _argument(
    model: FactorModel, case: str, role: Role = "right", **names: object
) -> str:
    """Write an argument of texts.toml, of predictions, or of the scores that vectors alone have with any other side."""
    names |= {
        "cosines": f"{Pairs(role).titled(model)} cosines",
        "prediction": prediction_noun(model),
        "rank": model.rank,
    }
    return ARGUMENTS[case].format_map(
        names | {"predictions": worded_for(model, "predictions")}
    )


def held_rank(model: FactorModel) -> int:
    """Count the dimensions of the scores that no free bias could make without the factors."""
    try:
        return int(seen_directions(model, model.free_shifts).shape[1])
    except InputError:
        # Biases that can hold every score leave the factors no direction of their own.
        return 0


def _outside(model: FactorModel) -> dict[SideName, float]:
    spaces = {side: reached_space(model, side) for side in model.sides}
    shares = {
        side: float(outside_shares(model.factors(side), space).max())
        for side, space in spaces.items()
    }
    return {side: share for side, share in shares.items() if share > OUTSIDE}


def _scope(model: FactorModel) -> Scope:
    """Name what is known to predict the same, and say whether that is all."""
    if model.left is None and model.link == "identity":
        return Scope(_argument(model, "scope_of_vectors"))
    if model.predicts is Equivalence.RANKINGS or model.link.soft_cap is not None:
        words = ["linear maps"] + [
            f"shifts of all {model.title(side)}s"
            for side in reversed(model.free_shifts)
        ]
        return Scope(_argument(model, "scope_among_others", maps=" and ".join(words)))
    return Scope(_argument(model, "scope_of_all"), whole=True)


def _pinned(model: FactorModel, pinning: Pinning, role: Role) -> Freedom:
    if role == "left" and role in model.free_shifts:
        return _shifted(model, "left")  # labels keep their lengths when inputs move
    moved = pinning.moved_of(role)
    if pinning.status == "pinned":
        return Freedom(False, Kind.PROVEN, worded_for(model, pinning.explain()))
    if pinning.status == "free" and moved is not None and moved.max_abs > MIN_MOVEMENT:
        return Freedom(True, Kind.SHOWN, worded_for(model, pinning.explain()))
    told = (
        worded_for(model, pinning.explain())
        if moved is None
        else _argument(model, "moves_others", role)
    )
    return Freedom(None, Kind.UNDECIDED, told)


def _shifted(model: FactorModel, side: SideName) -> Freedom:
    x = model.factors(side)
    # No shift tells equal rows apart, yet they add a constant, which the bias could hold without them.
    are_equal = not np.any(x[:2] != x[0]) and not np.any(x != x[0])
    text = _argument(
        model, "anything" if are_equal else "shift", item=model.title(side)
    )
    return Freedom(True, Kind.PROVEN, text)


def _freedom(
    model: FactorModel, role: Role, seen_rank: int, width: int | None
) -> Freedom:
    """Decide the freedom of one kind of pairs: shifts first, then axes, then signs in one dimension."""
    shifted = [side for side in Pairs(role).sides if side in model.free_shifts]
    # A free shift takes any two different rows to the cosines −1 and 1 (docs/theory.md, "Under shifts"), so it decides
    # before linear gauges are asked about.
    if shifted:
        return _shifted(model, shifted[-1])
    # In two dimensions or more a stretch between two rows moves their cosine (docs/theory.md, "Within a side, under
    # linear gauges"); where predictions see fewer dimensions, the others may hold anything.
    if model.rank > 1:
        if seen_rank < model.rank:
            stored = counted(model.rank if width is None else width, "dimension")
            text = _argument(model, "unseen", role, seen=seen_rank, width=stored)
        else:
            axes = "axes_of_both" if role == "cross" else "axes"
            text = _argument(model, axes, role)
        return Freedom(True, Kind.PROVEN, text)
    # On a line a linear gauge keeps all signs or turns all. Rankings and capped logits have further equivalent models,
    # whose cosines are not known.
    if model.predicts is Equivalence.RANKINGS or model.link.soft_cap is not None:
        return Freedom(None, Kind.UNDECIDED, _argument(model, "not_known", role))
    return Freedom(
        False,
        Kind.PROVEN,
        _argument(model, "line_alone" if model.left is None else "line", role),
    )
