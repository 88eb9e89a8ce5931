"""The equivalence class of a model: the models of its rank with the same predictions.

The module decides whether cosines differ within the class. A search finds some
equivalent models, but the class holds all of them. So "nothing moves" can be concluded
only for the whole class, never from a search that moved nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embaudit.auditing.finding import Kind, Scope
from embaudit.auditing.wording import Nouns
from embaudit.canonical import (
    Models,
    Pinning,
    Reason,
    other_temperature,
    pinned_test,
)
from embaudit.canonical.moved import Moved
from embaudit.canonical.row_span import (
    outside_shares,
    reached_space,
    seen_directions,
    spanning_bases,
    turned,
)
from embaudit.core.plain import plain_dict
from embaudit.core.tolerances import MIN_MOVEMENT, USED_SHARE
from embaudit.core.words import counted, drawn_of
from embaudit.errors import InputError
from embaudit.linalg.pairs import n_pairs
from embaudit.model import Equivalence, FactorModel, Role, SideName
from embaudit.model.objectives import Status
from embaudit.model.pairs import Pairs
from embaudit.model.trainings import known_objective, known_training

OTHER_SIDE = "the other side (`--left-file FILE`) would decide it"
"""Advice for a proof that needs the rows of the other side."""
LARGEST_SAMPLE = 2_000
"""Largest number of rows per side of a model with another temperature."""


@dataclass(frozen=True)
class Freedom:
    """Whether the cosines of one kind of pairs differ in equivalent models."""

    moves: bool | None
    """True if cosines differ in some equivalent model, False if they differ in no
    equivalent model, None if that is undecided."""
    kind: Kind
    """Kind of the argument: proven, shown or undecided."""
    because: str
    """The argument, in a sentence."""
    mean_abs: float | None = None
    """Mean ``|Δcos|`` in the equivalent model of the argument; None for a gauge."""
    keeps_signs: bool = False
    """True if it is proven that equivalent models keep the signs of all cosines."""
    deciding: str = "no method here decides it"
    """Advice that would decide the freedom, if more rows would not decide it."""


@dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """The models that predict the same as one model."""

    scope: Scope
    """The set, in words; `whole` if it holds all equivalent models."""
    outside: dict[SideName, float]
    """Largest share of the squared length of a row that no prediction sees.

    Only sides with such components have an entry.
    """
    freedom: dict[Role, Freedom]
    """Freedom of each kind of pairs."""
    pinning: Pinning | None
    """The test of unit rows, if the link divides rows by their lengths."""
    seen_rank: int
    """Number of dimensions that scores see or that a free bias can absorb."""
    unseen: int = 0
    """Number of dimensions that no prediction sees or that a bias can absorb.

    They lie outside of every set of gauges with a budget, because rows of equivalent
    models can hold any numbers there.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
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
        """By role, True if equivalent models have other cosines; None if undecided."""
        return {role: freedom.moves for role, freedom in self.freedom.items()}

    def moves(self, role: Role) -> bool | None:
        """Return True if cosines of a role differ in some equivalent model.

        Return None if that is undecided.
        """
        return self.freedom[role].moves

    def rearrangement(self, role: Role) -> Moved | None:
        """Return how far rearranged rows move cosines; None if they move none."""
        if self.pinning is None or self.freedom[role].kind is not Kind.SHOWN:
            return None
        return self.pinning.moved_of(role)


def equivalence_class_of(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    uncut: FactorModel | None = None,
    width: int | None = None,
    rng: int = 0,
) -> EquivalenceClass:
    """Decide for each role whether its cosines differ in equivalent models.

    In two or more dimensions, some linear map moves the cosines. If the predictions see
    fewer dimensions than the rows have, rows can hold any numbers in the others. In one
    dimension a cosine is a sign, and only a shift can change it.

    Parameters
    ----------
    model : FactorModel
        A model of one side or of both sides.
    roles : sequence of {"left", "right", "cross"}
        Roles to decide.
    uncut : FactorModel, optional
        The model with all rows, if `model` has a sample of them. The dimensions of a
        one-sided model are counted in all rows.
    width : int, optional
        Number of columns of the rows as stored, which sentences name. By default the
        number of columns of `model`.
    rng : int
        Seed of the search for equivalent heads, if the link divides labels by their
        lengths.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> line = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0]])
    >>> with_bias = line.replace(left_bias=[0.0, 0.0])
    >>> equivalence_class_of(line, ["right"]).moves("right")
    False
    >>> equivalence_class_of(with_bias, ["right"]).moves("right")
    True
    """
    if uncut is None:
        uncut = model
    if model.link.name == "unknown":
        return _either(model, roles, rng)
    law = known_objective(model.objective, alone=model.left is None)
    if (
        law is not None
        and law.status is Status.TEMPERATURE
        and model.link.name == "cosine"
    ):
        return _up_to_a_temperature(model, roles, rng, uncut)
    if model.link.measures_distances:
        argued = dict.fromkeys(roles, _of_distances(model))
        return EquivalenceClass(_scope(model), {}, argued, None, model.rank)
    if width is None:
        width = model.rank
    if model.predicts is Equivalence.COSINES:
        return _of_unit_rows(model, roles, uncut=uncut, width=width, rng=rng)
    return _of_products(model, roles, uncut=uncut, width=width)


def _of_unit_rows(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    uncut: FactorModel,
    width: int,
    rng: int,
) -> EquivalenceClass:
    """Decide for cosines that are predictions, or that lengths of 1 may fix.

    Rotations move no cosine. A linear test decides whether another metric gives all
    rows length 1, too.
    """
    pinning = replace(pinned_test(model, whole=uncut, rng=rng), width=width)
    if pinning.status == "pinned":
        among_maps = pinning.models in (Models.GAUGES, Models.AFFINE)
        scope = Scope(pinning.scope, whole=not among_maps)
    else:
        scope = Scope("equivalent models of the same rank", whole=True)
    freedom = {role: _pinned(model, pinning, role) for role in roles}
    return EquivalenceClass(scope, {}, freedom, pinning, model.rank)


def _of_products(
    model: FactorModel, roles: Sequence[Role], *, uncut: FactorModel, width: int
) -> EquivalenceClass:
    """Decide for products of rows, in the dimensions that all rows span.

    If rounding may have made some dimensions, the cosines of a role are decided only if
    the result is the same with and without these dimensions.
    """
    classes = []
    for basis in spanning_bases(uncut):
        turned_model = turned(model, basis)
        turned_uncut = turned_model if uncut is model else turned(uncut, basis)
        classes.append(_of_spanning_rows(turned_model, turned_uncut, roles, width))
    without, result = classes[0], classes[-1]
    freedom = {}
    for role in roles:
        freedom[role] = result.freedom[role]
        if without.moves(role) is not result.moves(role):
            cosines = Nouns.from_model(model, role).cosines
            text = (
                "Rows hold so little in all dimensions but one that rounding may have "
                f"put it there. In one dimension {cosines} are "
                "signs, and in more dimensions they are free. Numbers stored with more "
                "digits would decide it."
            )
            freedom[role] = Freedom(
                None,
                Kind.UNDECIDED,
                text,
                deciding="numbers stored with more digits would decide it",
            )
    return replace(result, freedom=freedom)


def _of_spanning_rows(
    model: FactorModel, uncut: FactorModel, roles: Sequence[Role], width: int
) -> EquivalenceClass:
    """Decide for products of rows that span every column."""
    if model.left is None:
        # The other side can be any table, so predictions see all dimensions that the
        # rows span, and no component lies outside of them.
        n_seen = uncut.right_side.moments.rank
        freedom = {role: _freedom(model, role, n_seen, width) for role in roles}
        return EquivalenceClass(_scope(model), {}, freedom, None, n_seen)
    held = held_rank(model)
    if held == 0:
        # Free biases can hold every score, so the factors can be any that add a
        # constant to each row or column of the scores.
        anything = dict.fromkeys(
            roles, Freedom(True, Kind.PROVEN, _rows_may_be_any(model))
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
        text = (
            "All rows are equal, so every distance is 0 and there are no two different "
            "rows to compare."
        )
        return Freedom(None, Kind.UNDECIDED, text)
    if model.free_shifts:
        text = _rows_may_be_shifted(model, "right")
    else:
        nouns = Nouns.from_model(model)
        text = (
            f"An isometry of hyperbolic space changes no {nouns.prediction}, but it "
            f"moves the origin and can make two {nouns.items} opposite."
        )
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
        text = (
            "An equivalent model has half of each row's squared length in 8 more "
            "dimensions, which one side has alone, and another temperature. With "
            f"random rows there it moves {Nouns.from_model(model, role).cosines} by "
            f"{moved.mean_abs:.2f} on average, over {looked_at}."
        )
        freedom[role] = Freedom(True, Kind.SHOWN, text, moved.mean_abs)
    predictions = Nouns.from_model(model).predictions
    scope = Scope(
        f"models of any width and temperature with the same {predictions}", whole=True
    )
    return EquivalenceClass(scope, {}, freedom, None, model.rank)


def _either(model: FactorModel, roles: Sequence[Role], rng: int) -> EquivalenceClass:
    """Conclude for rows of length 1 that were trained by dot products or by cosines.

    A role is free if both readings agree on it, and undecided otherwise.
    """
    dots = equivalence_class_of(model.replace(link="identity"), roles, rng=rng)
    cosines = equivalence_class_of(model.replace(link="cosine"), roles, rng=rng)
    freedom = {}
    for role, by_cosine in cosines.freedom.items():
        # Cosines may also have been divided by a temperature, which frees them within a
        # side. So the only answer in which all readings can agree is "free".
        if by_cosine.moves is True and dots.moves(role) is True:
            freedom[role] = by_cosine
            continue
        text = (
            "All rows have length 1, so dot products and cosines are the same, and "
            "nobody said which was trained. "
        )
        noun = Nouns.from_model(model, role).cosines
        if dots.moves(role) is False:
            # In one dimension only a shift turns a sign, so dot products without one
            # fix the cosines, too.
            text += (
                f"In one dimension {noun} are signs, which dot products and cosines "
                "fix among models of one dimension. Cosines that are divided by a "
                "temperature leave them open, because rows of an equivalent model may "
                "use more dimensions."
            )
        else:
            fix = "fix" if by_cosine.moves is False else "may fix"
            text += (
                f"Dot products leave {noun} open, cosines {fix} them. "
                f"{by_cosine.because}"
            )
        freedom[role] = Freedom(None, Kind.UNDECIDED, text)
    return replace(cosines, scope=Scope(cosines.scope.models), freedom=freedom)


def _rows_may_be_any(model: FactorModel) -> str:
    """Explain why the rows can be arbitrary if the biases can hold every score."""
    prediction = Nouns.from_model(model).prediction
    return (
        f"Without its factors the model has every {prediction} the same, so "
        "equivalent models may hold any rows."
    )


def _rows_may_be_shifted(model: FactorModel, side: SideName) -> str:
    """Name the cosines that a free shift of a side changes and the cosines it keeps."""
    nouns = Nouns.from_model(model, side)
    return (
        f"One vector added to every {nouns.item} row changes no {nouns.prediction}, "
        f"and can make two {nouns.items} opposite."
    )


def held_rank(model: FactorModel) -> int:
    """Count the dimensions of the scores that no free bias could hold alone."""
    try:
        return int(seen_directions(model, model.free_shifts).shape[1])
    except InputError:
        # Biases that can hold every score leave the factors no direction of their own.
        return 0


def _outside(model: FactorModel) -> dict[SideName, float]:
    """Return the largest unseen share of a row, for sides with unseen components."""
    spaces = {side: reached_space(model, side) for side in model.sides}
    shares = {
        side: float(outside_shares(model.factors(side), space).max())
        for side, space in spaces.items()
    }
    return {side: share for side, share in shares.items() if share > USED_SHARE}


def _scope(model: FactorModel) -> Scope:
    """Name the known equivalent models, and state whether they are all that exist."""
    if model.left is None and model.link.name == "identity":
        return Scope(
            f"vectors of rank {model.rank}, whatever they are multiplied with, if no "
            "bias takes part"
        )
    if model.predicts is Equivalence.RANKINGS or model.link.soft_cap is not None:
        words = ["linear maps"] + [
            f"shifts of all {model.title(side)}s"
            for side in reversed(model.free_shifts)
        ]
        return Scope(f"{' and '.join(words)}, among others")
    return Scope(
        f"every model of rank {model.rank} with the same predictions", whole=True
    )


def _pinned(model: FactorModel, pinning: Pinning, role: Role) -> Freedom:
    """Translate the result of the test of unit rows into the freedom of a role."""
    if role == "left" and role in model.free_shifts:
        # Labels keep their lengths if inputs are shifted.
        return _shifted(model, "left")
    nouns, moved = Nouns.from_model(model, role), pinning.moved_of(role)
    if model.compared == "dot":
        doubted = _doubted_products(model, pinning)
        if doubted is not None:
            return doubted
    if pinning.status == "pinned":
        text = pinning.explain(nouns.predictions)
        if pinning.models in (Models.GAUGES, Models.AFFINE):
            # The proof needs a condition on the other side, which was not loaded.
            text += " The other side was not loaded, so its rank was not tested."
            return Freedom(None, Kind.UNDECIDED, text, deciding=OTHER_SIDE)
        return Freedom(False, Kind.PROVEN, text)
    if pinning.status == "free" and moved is not None and moved.max_abs > MIN_MOVEMENT:
        return Freedom(True, Kind.SHOWN, pinning.explain(nouns.predictions))
    if moved is None:
        text = pinning.explain(nouns.predictions)
    else:
        text = (
            f"Whether the {nouns.predictions} pin {nouns.cosines} is undecided: the "
            "equivalent model that was found moves others alone."
        )
    return Freedom(None, Kind.UNDECIDED, text)


def _doubted_products(model: FactorModel, pinning: Pinning) -> Freedom | None:
    """Return why products of rows may leave cosines open; None if they do not.

    Training compares different rows. So the products of rows with themselves are not
    predicted, unless products of enough different rows fix them. A softmax, or a
    difference of products, does not show a number that is added to all products.
    """
    items = Nouns.from_model(model).items
    training = known_training(model.objective)
    if training is not None and "softmax" in training.links:
        return Freedom(
            None,
            Kind.UNDECIDED,
            f"Training compared products of {items}, usually by a softmax or by their "
            "differences. These do not show a constant that is added to every product: "
            "a further column, equal in all rows, adds one and moves cosines. Only if "
            "training fitted the products themselves, they fix the cosines.",
            deciding=(
                "whether training fitted the products themselves (`--compared dot` "
                "instead of `--objective`) would decide it"
            ),
        )
    if pinning.reason is Reason.COMPARED_BY_PRODUCT_OF_FEW:
        return Freedom(
            None,
            Kind.UNDECIDED,
            f"Products of different {items} fix the lengths of the rows only if there "
            f"are enough rows. With {counted(model.n_right, 'row')} in "
            f"{counted(model.rank, 'dimension')}, rows of other lengths can have the "
            "same products and other cosines.",
            deciding=f"more {items} of the same model would decide it",
        )
    return None


def _shifted(model: FactorModel, side: SideName) -> Freedom:
    """Conclude that a free shift of a side moves its cosines."""
    x = model.factors(side)
    # A shift keeps equal rows equal. But equal rows only add a constant to the scores,
    # which the bias can hold instead. Two rows are compared first to save time.
    are_equal = not np.any(x[:2] != x[0]) and not np.any(x != x[0])
    text = _rows_may_be_any(model) if are_equal else _rows_may_be_shifted(model, side)
    return Freedom(True, Kind.PROVEN, text)


def _freedom(
    model: FactorModel, role: Role, seen_rank: int, width: int | None
) -> Freedom:
    """Decide the freedom of one kind of pairs.

    Free shifts decide first, then linear gauges in two or more dimensions, then signs
    in one dimension.
    """
    shifted = [side for side in Pairs(role).sides if side in model.free_shifts]
    # Free shifts take any two different rows to the cosines −1 and 1 (docs/theory.md,
    # "Under shifts"), so they decide before linear gauges.
    if shifted:
        return _shifted(model, shifted[-1])
    nouns = Nouns.from_model(model, role)
    # In two or more dimensions a stretch moves the cosine of two rows (docs/theory.md,
    # "Within a side, under linear gauges"). Dimensions that predictions do not see can
    # hold any numbers.
    if model.rank > 1:
        if seen_rank < model.rank:
            stored = counted(model.rank if width is None else width, "dimension")
            text = (
                f"No {nouns.prediction} shows more than {seen_rank} of {stored}: "
                f"{nouns.cosines} also count the others, where rows of an equivalent "
                "model may hold anything."
            )
        elif role == "cross":
            text = (
                f"A linear change of the axes changes no {nouns.prediction} and, "
                "if large enough, can give two rows, one of each side, any cosine of "
                "the same sign. None changes its sign, and 0 stays 0."
            )
            # Equal scores have equal signs, and a cosine has the sign of its score.
            keeps_signs = model.predicts is Equivalence.SCORES
            return Freedom(True, Kind.PROVEN, text, keeps_signs=keeps_signs)
        else:
            text = (
                f"A linear change of the axes changes no {nouns.prediction} and, "
                "if large enough, can give two rows that are not parallel any cosine "
                "between -1 and 1."
            )
        return Freedom(True, Kind.PROVEN, text)
    # In one dimension a linear gauge keeps all signs or changes all signs. Rankings and
    # capped logits have further equivalent models, with cosines that are not known.
    if model.predicts is Equivalence.RANKINGS or model.link.soft_cap is not None:
        text = (
            f"What else keeps every {nouns.prediction} may turn {nouns.cosines}; that "
            "is not known here."
        )
        return Freedom(None, Kind.UNDECIDED, text)
    text = (
        f"In one dimension {nouns.cosines} are signs, and no model of one dimension "
        f"with the same {nouns.predictions} turns one"
    )
    if model.left is None:
        # A bias of the other side, which was not loaded, would free a shift.
        text += (
            ", if no bias takes part. The other side was not loaded, so it is not "
            "known whether it has a bias."
        )
        return Freedom(None, Kind.UNDECIDED, text, deciding=OTHER_SIDE)
    return Freedom(False, Kind.PROVEN, f"{text}.")
