"""The fibre of a model: the models of its rank that predict the same, and whether they have other cosines.

What a search found is one thing, what the set of equal models allows is another: "nothing moves" may be said only if
the whole fibre moves nothing, never because few gauges, or short ones, were tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.alone import said_of
from embaudit.auditing.finding import Kind, Scope
from embaudit.canonical.pinned import LEAST, SCOPES, pinned_test
from embaudit.canonical.reduction import outside_shares, seen_directions
from embaudit.errors import InputError
from embaudit.model import Equivalence, Softmax
from embaudit.model.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from embaudit.canonical.pinning import Pinning
    from embaudit.model import FactorModel, Role, SideName

OUTSIDE = 1e-12
"""Share of a row's squared length that must lie where no prediction looks to count as a component there."""
NOUNS = {Equivalence.PROBABILITIES: "probability", Equivalence.RANKINGS: "ranking"}


def noun(model: FactorModel) -> str:
    """Name one prediction in a sentence.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> noun(FactorModel.from_softmax([[1.0]])), noun(FactorModel.from_vectors([[1.0]]))
    ('probability', 'score')
    """
    return NOUNS.get(model.link.level, "score")


@dataclass(frozen=True)
class Freedom:
    """Whether equal models have other cosines of one kind of pairs."""

    moves: bool | None
    """None where neither is known."""
    kind: Kind
    """How that is known."""
    because: str
    """The argument, in a sentence."""


@dataclass(frozen=True, eq=False)
class Fibre:
    """The models that predict the same as one model."""

    scope: Scope
    """The set, in words; `whole` if these are all of them."""
    outside: dict[SideName, float]
    """For each side with components that no prediction sees, the largest share of a row's squared length there."""
    freedom: dict[Role, Freedom]
    """For each kind of pairs, whether their cosines can be others."""
    pinning: Pinning | None
    """The test of unit rows, where the link divides by lengths."""
    seen_rank: int
    """Dimensions that the scores see, those included that a free bias could take up."""
    unseen: int = 0
    """Dimensions that no prediction sees, those included that a free bias could take up: outside every set of gauges
    with a budget, since rows of equal models may hold anything there."""

    def moves(self, role: Role) -> bool | None:
        """Whether cosines of a role may be others in an equal model; None where that is not known."""
        return self.freedom[role].moves

    def to_dict(self) -> dict[str, Any]:
        """Return the `fibre` of the audit's JSON."""
        pinning = None if self.pinning is None else self.pinning.to_dict()
        moves = {role: found.moves for role, found in self.freedom.items()}
        scope, outside = self.scope.to_dict(), dict(self.outside)
        return {"scope": scope, "moves": moves, "outside": outside, "seen_rank": self.seen_rank, "pinning": pinning}


def fibre_of(model: FactorModel, roles: Sequence[Role], *, uncut: FactorModel | None = None, rng: int = 0) -> Fibre:
    """Work out what equal models may do to the cosines of a model.

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
    rng : int
        Seed of the search for a second metric, where the link divides by lengths.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> line = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0]])
    >>> [fibre_of(m, ["right"]).moves("right") for m in (line, line.replace(left_bias=[0.0, 0.0]))]
    [False, True]
    """
    if model.link == "unknown":
        return _either(model, roles, rng)
    if model.predicts is Equivalence.COSINES:
        pinning = pinned_test(model, rng=rng)
        whole = pinning.status != "pinned" or pinning.scope != SCOPES["gauge"]
        scope = Scope(
            pinning.scope if pinning.status == "pinned" else "equal models of the same rank",
            whole=whole,
        )
        freedom = {role: _pinned(model, pinning, role) for role in roles}
        return Fibre(scope, {}, freedom, pinning, model.rank)
    if model.left is None:
        uncut = model if uncut is None else uncut
        seen = (uncut.moments("right") if "right" in uncut.link.unit_sides else uncut.right_side.outline).rank
        freedom = {role: _freedom(model, role, seen) for role in roles}
        return Fibre(_scope(model), {}, freedom, None, seen)
    held = held_rank(model)
    if held == 0:
        return Fibre(_scope(model), {}, dict.fromkeys(roles, _anything(model)), None, 0, model.rank)
    basis = seen_directions(model, ())
    seen, outside = basis.shape[1], _outside(model, basis)
    freedom = {role: _freedom(model, role, seen) for role in roles}
    return Fibre(_scope(model), outside, freedom, None, seen, model.rank - held)


def _either(model: FactorModel, roles: Sequence[Role], rng: int) -> Fibre:
    """Conclude what holds whether rows of length 1 were trained by their dot products or by their cosines."""
    dots, cosines = (fibre_of(model.replace(link=link), roles, rng=rng) for link in ("identity", "cosine"))
    freedom = {}
    for role, by_cosine in cosines.freedom.items():
        agreed = by_cosine.moves is not None and by_cosine.moves == dots.moves(role)
        freedom[role] = by_cosine if agreed else Freedom(None, Kind.UNDECIDED, _open(model, role, by_cosine))
    return replace(cosines, scope=Scope(cosines.scope.models), freedom=freedom)


def _open(model: FactorModel, role: Role, by_cosine: Freedom) -> str:
    titles = f"{Pairs(role).titled(model)} cosines"
    start = "All rows have length 1, so dot products and cosines are the same, and nobody said which was trained"
    fixes = "fix them" if by_cosine.moves is False else "may fix them"
    return f"{start}. Dot products leave {titles} open, cosines {fixes}. {by_cosine.because}"


def held_rank(model: FactorModel) -> int:
    """Count the dimensions of the scores that no free bias could make without the factors."""
    try:
        return int(seen_directions(model, model.free_shifts).shape[1])
    except InputError:
        return 0


def _anything(model: FactorModel) -> Freedom:
    """Conclude where rows of zeros would predict the same, so that the other side may hold anything."""
    text = f"Without its factors the model has every {noun(model)} the same, so equal models may hold any rows."
    return Freedom(True, Kind.PROVEN, text)


def _capped(model: FactorModel) -> bool:
    """Whether probabilities may be equal where scores differ by more than a number a row."""
    return isinstance(model.link, Softmax) and model.link.soft_cap is not None


def _outside(model: FactorModel, basis: NDArray[np.float64]) -> dict[SideName, float]:
    if basis.shape[1] == model.rank:
        return {}
    shares = {side: float(outside_shares(model.factors(side), basis).max(initial=0.0)) for side in model.sides}
    return {side: share for side, share in shares.items() if share > OUTSIDE}


def _scope(model: FactorModel) -> Scope:
    """Name what is known to predict the same, and say whether that is all."""
    if model.left is None and model.link == "identity":
        return Scope(f"vectors of rank {model.rank}, whatever they are multiplied with, if no bias takes part")
    words = ["linear maps"] + [f"shifts of all {model.title(side)}s" for side in reversed(model.free_shifts)]
    text = " and ".join(words)
    if model.predicts is Equivalence.RANKINGS or _capped(model):
        return Scope(f"{text}, among others")
    return Scope(f"every model of rank {model.rank} with the same predictions", whole=True)


def _pinned(model: FactorModel, pinning: Pinning, role: Role) -> Freedom:
    if role == "left" and role not in model.link.unit_sides and model.right_bias is not None:
        return _shifted(model, "left")  # labels keep their lengths when inputs move
    moved = pinning.moved_of(role)
    if pinning.status == "pinned":
        return Freedom(False, Kind.PROVEN, said_of(model, pinning.explain()))
    if pinning.status == "free" and moved is not None and moved.max_abs > LEAST:
        return Freedom(True, Kind.SHOWN, said_of(model, pinning.explain()))
    if moved is not None:
        titles = f"{Pairs(role).titled(model)} cosines"
        text = f"Whether the predictions pin {titles} is undecided: the equal model that was found moves others alone."
        return Freedom(None, Kind.UNDECIDED, said_of(model, text))
    return Freedom(None, Kind.UNDECIDED, said_of(model, pinning.explain()))


def _shifted(model: FactorModel, side: SideName) -> Freedom:
    x = model.factors(side)
    if not np.any(x[:2] != x[0]) and not np.any(x != x[0]):  # no shift tells equal rows apart, yet they add a constant
        return _anything(model)
    title = model.title(side)
    text = f"One vector added to every {title} row changes no {noun(model)}, and can make two {title}s opposite."
    return Freedom(True, Kind.PROVEN, text)


def _freedom(model: FactorModel, role: Role, seen_rank: int) -> Freedom:
    pairs = Pairs(role)
    shifted = [side for side in pairs.sides if side in model.free_shifts]
    titles = f"{pairs.titled(model)} cosines"
    kept = noun(model)
    if shifted:
        return _shifted(model, shifted[-1])
    if model.rank > 1 and seen_rank < model.rank:
        text = f"No {kept} shows more than {seen_rank} of {model.rank} dimensions: {titles} also count the others,"
        return Freedom(True, Kind.PROVEN, f"{text} where rows of an equal model may hold anything.")
    if model.rank > 1 and role == "cross":
        text = f"A linear change of the axes changes no {kept} and, unbounded, can give two rows, one of each side, any"
        return Freedom(True, Kind.PROVEN, f"{text} cosine of the same sign. None changes its sign, and 0 stays 0.")
    if model.rank > 1:
        text = (
            f"A linear change of the axes changes no {kept} and, unbounded, can give two rows that are not parallel any"
        )
        return Freedom(True, Kind.PROVEN, f"{text} cosine short of ±1.")
    if model.predicts is Equivalence.RANKINGS or _capped(model):
        return Freedom(None, Kind.UNDECIDED, f"What else keeps every {kept} may turn {titles}; that is not known here.")
    text = f"In one dimension {titles} are signs, and no model of one dimension with the same predictions turns one"
    return Freedom(
        False, Kind.PROVEN, f"{said_of(model, text)}{', if no bias takes part' if model.left is None else ''}."
    )
