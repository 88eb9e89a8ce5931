"""Cosines within a side that predictions pin, in models that divide rows by their length.

A model of cosines keeps `p̂ · q̂`: gauges `S = M Mᵀ` with `p̂ᵀ S p̂ = 1` and `q̂ᵀ S⁻¹ q̂ = 1` on all rows. A normalised
head keeps `x · ŵ` up to a number for each x, and x is learned, so only the labels have a say: `ŵ' = N ŵ + v` may be
anything that has length 1 on every label, a translation included. Normalising *after* training pins nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from embaudit.canonical.quadratic_forms import (
    LARGEST,
    LARGEST_SHOWN,
    Span,
    form_rounding,
    n_forms,
    on_no_hyperplane,
    packed,
    span_of,
    symmetric,
)
from embaudit.canonical.row_span import (
    USED,
    n_directions,
    outside_shares,
    rows_space,
    spanning_bases,
    turned,
    used_dimensions,
)
from embaudit.canonical.tight_frames import forms_tight_frame
from embaudit.core.checked import (
    EPS,
    RNG,
    Floats,
    Indices,
    Matrix,
    as_generator,
    frozen,
    is_number,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import TIE, first_best, first_largest, largest_first
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.pairs import draw_pairs, pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.model import OPPOSITE, FactorModel, Role, SideName
from embaudit.model.sizes import require_model
from embaudit.model.trainings import known_objective

MIN_MOVEMENT = 1e-3
"""A movement below this shows nothing: rounding in a constraint that only bends leaves its fourth root. Nor does any
that a proof leaves open; a metric of condition exp(t) moves no cosine by more than t."""
FRAME_LOSS = (MIN_MOVEMENT / 4.5) ** 2
"""Share r ε up to which tight frames in r dimensions prove that no cosine moves by `MIN_MOVEMENT`, if every row holds at
most ε of its squared length outside of them: the bound is `4 √(r ε)` and terms of order r ε (docs/theory.md)."""
HIDING_FRAME_LOSS = (MIN_MOVEMENT / 13.5) ** 2
"""Share r ε up to which they prove the same if a softmax hides a number per left row.

The bound is then `12 √(r ε)`.
"""
PAIRS = 20_000
"""Pairs of a side that movements are taken from."""
CANDIDATES = 48
"""Directions among which a head's witness is chosen."""
SPARE = 4
"""Above the size that is counted, one row per so many numbers of a form is needed in addition to one row per number."""
Status: TypeAlias = Literal["pinned", "free", "undecided"]
Roundings: TypeAlias = Mapping[SideName, float]
"""The `form_rounding` of each side as stored."""
TABLE = "models that compare these rows with each other in the same way"
"""The set of models that predict products, or cosines, of the rows of one table."""


@dataclass(frozen=True)
class Moved:
    """Movement of the cosines between rows of one side in an equivalent model."""

    mean_abs: float
    """Mean ``|Δcos|``."""
    max_abs: float
    """Largest ``|Δcos|``."""
    n_pairs: int
    """Pairs looked at."""


@dataclass(frozen=True, eq=False)
class Flip:
    """An equivalent model that is no gauge: some rows are reflected in directions that the other side does not have."""

    side: SideName
    """Whose rows."""
    rows: Indices
    """Row numbers of those reflected."""
    unseen: Matrix
    """(k, k) projector onto the directions that no row of the other side has, or all have alike if a bias is free."""

    def flipped(self, model: FactorModel, rows: Floats) -> dict[str, Floats]:
        """Return the reflected rows, and the bias that takes up what all rows of the other side have alike."""
        change = np.zeros_like(rows)
        change[self.rows] = -2 * (rows[self.rows] @ self.unseen)
        changed = {str(self.side): rows + change}
        if (
            self.side == "right"
            and model.right_bias is not None
            and model.link.sees_biases
        ):
            changed["right_bias"] = (
                model.right_bias - change @ model.side("left").moments.mean
            )
        return changed


@dataclass(frozen=True, eq=False)
class Pinning(Result):
    """Freedom that predictions of rows of length 1 leave to the cosines between rows of one side."""

    status: Status
    """Answer: no model moves them (proven), an equivalent model moves them (shown), or neither is decided. The
    conditions are sufficient, not necessary: an undecided model may be pinned or free."""
    because: str
    """The argument, one sentence."""
    scope: str
    """The set of models that "pinned" speaks of."""
    rank: int
    """Independent constraints that the rows put on a gauge near I, of all sides together; at most so many where they
    were not counted."""
    needed: int
    """Numbers that a gauge has; fewer constraints leave some free."""
    witness: Gauge | None = None
    """A gauge of rows of length 1 that keeps every length, hence every prediction."""
    flip: Flip | None = None
    """Reflection of some rows, if the equivalent model is no gauge."""
    moved: Mapping[SideName, Moved] = field(default_factory=dict)
    """Movement of the cosines of each side in the equivalent model; empty without one."""
    residual: float = 0.0
    """Largest distance of a row of the equivalent model from length 1, before it is divided by its length."""
    rows_missing: Mapping[SideName, int] = field(default_factory=dict)
    """Number of further rows of each side alone, in general position, that decide; empty where the test decides, or
    where rows would not."""
    to_decide: str = ""
    """Clause on what would decide an undecided test; empty if no method here would."""
    dimensions: int = 0
    """Number of dimensions that the rows span, in which numbers are counted."""
    width: int = 0
    """Number of columns of the rows as stored."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        condition_number = (
            None if self.witness is None else self.witness.condition_number
        )
        return plain_dict(
            {
                "status": self.status,
                "because": self.because,
                "scope": self.scope,
                "rank": self.rank,
                "needed": self.needed,
                "residual": self.residual,
                "rows_missing": self.rows_missing,
                "condition_number": condition_number,
                "moved": self.moved,
            }
        )

    def __repr__(self) -> str:
        return f"Pinning({self.status}, {self.rank} of {self.needed} constraints)"

    def moved_of(self, role: Role) -> Moved | None:
        """Return the movement of the cosines of a role in the equivalent model; None for left-right pairs."""
        return next((moved for side, moved in self.moved.items() if side == role), None)

    @property
    def is_counted(self) -> bool:
        """True if independent constraints were counted; False if rows were, each of which puts one at most."""
        return self.status == "pinned" or self.needed <= LARGEST

    @property
    def largest(self) -> float:
        """Largest ``|Δcos|`` that was shown on either side, 0 without an equivalent model."""
        return max((m.max_abs for m in self.moved.values()), default=0.0)

    def twin(self, model: FactorModel) -> FactorModel:
        """Return the equivalent model: rows of length 1, in float64, moved by the witness.

        Raises
        ------
        InputError
            If there is none.
        """
        rows = {
            side: np.asarray(model.factors(side), dtype=np.float64)
            for side in model.sides
        }
        rows |= {
            side: unit_rows(x, none=0)
            for side, x in rows.items()
            if side in model.link.unit_sides
        }
        if self.flip is not None:
            return model.replace(
                **rows | self.flip.flipped(model, rows[self.flip.side])
            )
        if self.witness is None:
            raise must_be(
                "an equivalent model",
                "asked for where one was found",
                f"none: {self.status}, as {self.because}",
            )
        for side, x in rows.items():
            shift = getattr(self.witness, f"{side}_shift")
            zero = np.abs(x).max(axis=1, keepdims=True) == 0
            rows[side] = np.where(zero, 0.0, x @ getattr(self.witness, side) + shift)
        return model.replace(**rows)

    def explain(self) -> str:
        """Describe in plain words the result of the test."""
        if self.scope == TABLE:
            return f"The predictions fix every cosine, among {self.scope}. {_sentence(self.because)}"
        result = f"{self._verdict()} {_sentence(self.because)}"
        # All numbers may be fixed near this model while another one is not ruled out.
        all_fixed = self.status == "undecided" and self.rank == self.needed
        if self.flip is None and not all_fixed:
            most = "" if self.is_counted else "At most "
            result += f" {most}{self.rank:,} of {self.needed:,} numbers of a change of axes are fixed."
        if self.dimensions < self.width:
            result += f" {self._about_the_span()}"
        if self.status == "undecided":
            result += f" {_sentence(self.to_decide or 'no method here decides it')}"
        if self.moved:
            parts = [
                f"{m.mean_abs:.2g} on average and {m.max_abs:.2g} at most ({side})"
                for side, m in self.moved.items()
            ]
            result += f" An equivalent model moves them by {' and by '.join(parts)}."
        return result

    def _verdict(self) -> str:
        if self.status == "pinned":
            return (
                f"The predictions pin the cosines within each side, among {self.scope}."
            )
        if self.status == "free":
            return "The predictions do not pin the cosines within each side."
        return "Whether the predictions pin the cosines within each side is undecided."

    def _about_the_span(self) -> str:
        span = (
            f"These rows span {self.dimensions:,} of {counted(self.width, 'dimension')}"
        )
        if self.status == "pinned" and self.scope in (SCOPES["cosine"], SCOPES["head"]):
            return f"{span}, and models whose rows span more are not ruled out."
        return f"{span}, and the others are left out here."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def pinned_test(
    model: FactorModel, *, max_condition: float = 3.0, rng: RNG = 0
) -> Pinning:
    """Test whether the predictions of a model with unit rows pin the cosines within each side.

    Parameters
    ----------
    model : FactorModel
        Its link divides one side or both by their lengths.
    max_condition : float
        κ of the witness of a head.
    rng : numpy Generator or int, optional
        Draws the pairs of labels that a witness may move the most.

    Raises
    ------
    InputError
        If the link divides no side, or the condition number is not above 1.

    Examples
    --------
    Three axes and their opposites, as labels: 6 constraints on 9 numbers.

    >>> from embaudit.model import FactorModel, softmax_link
    >>> axes = np.vstack([np.eye(3), -np.eye(3)])
    >>> unit_labels = softmax_link(unit_rows=True)
    >>> found = pinned_test(FactorModel(None, axes, link=unit_labels))
    >>> found, round(found.largest, 9)
    (Pinning(free, 6 of 9 constraints), 0.8)
    >>> pinned_test(FactorModel(None, axes[:1], link=unit_labels)).because
    'one item makes no pair'
    >>> corner = FactorModel(np.eye(2), np.eye(2), link="cosine")
    >>> pinned_test(corner)
    Pinning(undecided, 2 of 3 constraints)
    >>> pinned_test(corner.replace(right=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    Pinning(pinned, 3 of 3 constraints)
    >>> pinned_test(FactorModel.from_vectors(np.eye(2), compared="dot"))
    Pinning(pinned, 3 of 3 constraints)
    """
    require_model(model)
    if model.compared is None and not model.link.unit_sides:
        raise must_be(
            "the link",
            "one that divides rows by their length",
            model.link.name,
            "read `audit` instead",
        )
    if not is_number(max_condition) or max_condition <= 1:
        raise must_be("max_condition", "a number above 1", repr(max_condition))
    draw = as_generator(rng)
    return decided_in(
        spanning_bases(model), model, max_condition=max_condition, draw=draw
    )


def decided_in(
    bases: Sequence[Floats | None],
    model: FactorModel,
    *,
    max_condition: float = 3.0,
    draw: np.random.Generator,
) -> Pinning:
    """Decide in the dimensions that rows span, given the bases of `spanning_bases`.

    If there are two bases, the test decides in both. If the results differ, rounding
    decides between them, so the test is undecided.
    """
    # A rotation hides the format in which the rows were rounded, so it is read before.
    rounding = {side: form_rounding(model.factors(side)) for side in model.sides}
    results = []
    for basis in bases:
        pinning = _decided(turned(model, basis), rounding, max_condition, draw)
        results.append(_in_columns(pinning, model, basis))
    without, result = results[0], results[-1]
    if without.status == result.status:
        return result
    n_unsure = result.dimensions - without.dimensions
    because = (
        f"rows hold so little in {n_unsure:,} of {counted(model.rank, 'dimension')} that "
        f"rounding may have put it there; without it the cosines are {without.status}, "
        f"and with it they are {result.status}"
    )
    return Pinning(
        "undecided",
        because,
        result.scope,
        result.rank,
        result.needed,
        to_decide="numbers stored with more digits would decide it",
        dimensions=result.dimensions,
        width=result.width,
    )


def _decided(
    model: FactorModel,
    rounding: Roundings,
    max_condition: float,
    draw: np.random.Generator,
) -> Pinning:
    """Test a model whose rows span every column."""
    if model.compared is not None:
        return _one_table(model)
    if "left" in model.link.unit_sides:
        if model.left is None:
            return _one_side(model, rounding)
        return _both_sides(model, rounding)
    return _unseen_by(model, "right", SCOPES["head"]) or _head(
        model, rounding, max_condition, draw
    )


def _in_columns(pinning: Pinning, model: FactorModel, basis: Floats | None) -> Pinning:
    """Express the result of a test of the rows `x @ basis` in the columns of x."""
    k = model.rank
    if basis is None:
        return replace(pinning, dimensions=k, width=k)
    pinning = replace(pinning, dimensions=basis.shape[1], width=k)
    if pinning.flip is not None:
        unseen = frozen(basis @ pinning.flip.unseen @ basis.T)
        pinning = replace(pinning, flip=replace(pinning.flip, unseen=unseen))
    if pinning.witness is not None:
        # The dimensions that no row uses are stretched as much as some other one, so
        # that the condition number stays.
        gauge = pinning.witness
        unused = np.eye(k) - basis @ basis.T
        stretch = float(np.linalg.norm(gauge.left, 2))
        witness = Gauge(
            basis @ gauge.left @ basis.T + stretch * unused,
            basis @ gauge.right @ basis.T + unused / stretch,
            basis @ gauge.left_shift,
            basis @ gauge.right_shift,
        )
        pinning = replace(pinning, witness=witness)
    return pinning


SCOPES = {
    "gauge": (
        "linear maps of these rows, whatever the other side holds, if that has full rank"
    ),
    "affine": (
        "linear maps and shifts of these rows in the dimensions that they span, whatever "
        "the other side holds, if that has full rank"
    ),
    "cosine": "equivalent models of the same rank",
    "used": "equivalent models of the dimensions that these rows use",
    "head": (
        "equivalent models whose labels span no more dimensions, and whose inputs are "
        "learned and span these"
    ),
}


def _too_large(model: FactorModel, scope: str, needed: int) -> Pinning:
    because = (
        f"a gauge has {needed:,} numbers here, and no proof is tried above "
        f"{LARGEST_SHOWN:,}"
    )
    rank = _most_constraints(model, needed)
    return Pinning("undecided", because, scope, rank, needed)


def _most_constraints(model: FactorModel, needed: int) -> int:
    """Bound the constraints of a span that was not counted: a row adds one at most."""
    n = sum(
        n_directions(model, side)
        for side in model.link.unit_sides
        if side in model.sides
    )
    return min(n, needed)


def _with_missing(
    model: FactorModel,
    pinning: Pinning,
    spans: Mapping[SideName, Span],
    rounding: Roundings,
) -> Pinning:
    """Add to an undecided test how many further rows of one side would decide it.

    Nothing is added if rows of a side depend on each other, as on a cone, because further rows of the same model may
    depend on each other, too.
    """
    hides = _hides_a_number(model)
    if n_forms(model.rank, affine=hides) > LARGEST_SHOWN:
        return pinning
    missing: dict[SideName, int] = {}
    for side, span in spans.items():
        n = n_directions(model, side)
        # What a softmax hides is fixed by more right rows, see `_fixes_the_number`.
        needed = n_forms(model.rank, affine=hides and side == "right")
        if n >= span.needed or (span.needed <= LARGEST and span.rank < n):
            return pinning
        needs_no_plane = hides and side == "left"
        if needs_no_plane and not on_no_hyperplane(
            model.right, rounding=rounding["right"]
        ):
            continue
        missing[side] = needed - n
        if needed > LARGEST:
            # A full span is recognised with a few more rows than numbers.
            missing[side] += needed // SPARE
    fewest = min(missing, key=lambda side: missing[side])
    rows = counted(missing[fewest], f"more {model.title(fewest)} row")
    return replace(
        pinning,
        rows_missing=missing,
        to_decide=f"{rows} in general position would decide it",
    )


def _one_table(model: FactorModel) -> Pinning:
    """Conclude from what is predicted: the cosines, or the products that they are computed from."""
    title, n, k = model.title("right"), model.n_right, model.rank
    because = f"the cosines of {title} rows with each other are what is predicted"
    if model.compared == "dot":
        because = f"the products of {title} rows with each other and with themselves fix them but for a rotation"
        # Strictly beyond Ledermann's bound products of different generic rows fix lengths, too (Bekker and ten Berge,
        # 1997); up to it they may leave lengths open, or a few to choose from.
        if n <= k or (n - k) ** 2 <= n + k:
            because += f". So few as {n:,} rows of {k:,} numbers may need those with themselves"
    return Pinning("pinned", because, TABLE, n_forms(k), n_forms(k))


def _one_side(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide without the other side: pinned if the lifts of this side span everything, else undecided.

    If the cosines go through a softmax, equivalent rows are `N (q + w)`, so the forms
    with a linear part must be spanned. Otherwise there can be other rows: all triangles
    on a circle are affine images of each other, and in two dimensions four other rows
    `±(a, b)`, `±(a, −b)` may keep their lengths.
    """
    k, title = model.rank, model.title("right")
    affine = _hides_a_number(model)
    scope = SCOPES["affine" if affine else "gauge"]
    needed = n_forms(k, affine=affine)
    if needed > LARGEST_SHOWN:
        return _too_large(model, scope, needed)
    span = span_of(model.right, affine=affine, rounding=rounding["right"])
    if span.is_full:
        numbers = "a change of axes" if affine else "a metric"
        because = f"the {title} rows alone fix every number of {numbers}"
        return Pinning("pinned", because, scope, span.rank, needed)
    rank = span.rank
    if needed > LARGEST:
        because = (
            f"the {title} rows alone do not show that they fix every number of a metric"
        )
        rank = _most_constraints(model, needed)
    elif span.is_nearly_full:
        because = _nearly(title)
    else:
        free = counted(needed - rank, "direction")
        because = f"the {title} rows leave {free}, which the other side may fix"
    undecided = Pinning(
        "undecided",
        because,
        scope,
        rank,
        needed,
        to_decide="the other side may decide it",
    )
    return _with_missing(model, undecided, {"right": span}, rounding)


def _nearly(title: str) -> str:
    return f"the {title} rows nearly leave some metric free, one that keeps every length but for rounding"


def _unseen_by(model: FactorModel, side: SideName, scope: str) -> Pinning | None:
    """Show by a reflection that rows of a side may differ in directions that the other side does not have."""
    other = OPPOSITE[side]
    if other not in model.sides:
        return None
    # What lies outside the span of the other side takes no part in a prediction and can be reflected, row by row.
    space = rows_space(model, other, model.free_shifts)
    unseen = np.eye(model.rank) - space @ space.T
    x = unit_rows(model.factors(side), none=0)
    outside = x @ unseen
    if space.shape[1] == model.rank or np.abs(outside).max() < MIN_MOVEMENT:
        return None
    first = outside[first_largest(np.einsum("ij,ij->i", outside, outside), TIE)]
    # Every second of the rows that lie in one direction, so that pairs of them come apart.
    order = largest_first(np.abs(outside @ first), TIE)
    flip = Flip(side, frozen(np.sort(order[::2])), frozen(unseen))
    hidden = f"{counted(model.rank - space.shape[1], 'direction')} no {model.title(other)} has"
    because = f"{model.title(side)} rows reach into {hidden}"
    pinning = Pinning("free", because, scope, 0, n_forms(model.rank), flip=flip)
    return _with_movement(model, pinning)


def _with_movement(model: FactorModel, pinning: Pinning) -> Pinning | None:
    """Add what the equivalent model moves; None where that is nothing."""
    twin = pinning.twin(model)
    moved = {
        side: moved_cosines(model.factors(side), twin.factors(side))
        for side in model.sides
    }
    lengths = [
        np.abs(twin.side(s).norms[model.side(s).directed] - 1).max(initial=0.0)
        for s in model.link.unit_sides
    ]
    result = replace(pinning, moved=moved, residual=float(max(lengths)))
    watched = {side: m for side, m in moved.items() if side in model.link.unit_sides}
    return result if max(m.max_abs for m in watched.values()) > MIN_MOVEMENT else None


def moved_cosines(before: Matrix, after: Matrix) -> Moved:
    """Measure how the cosines of drawn pairs of rows differ between two tables."""
    n = len(before)
    if n < 2:
        return Moved(0.0, 0.0, 0)
    pairs = draw_pairs(n, PAIRS, rng=0)
    change = np.abs(
        pair_cosines(after, after, pairs) - pair_cosines(before, before, pairs)
    )
    change = change[~np.isnan(change)]
    return (
        Moved(float(change.mean()), float(change.max()), len(change))
        if len(change)
        else Moved(0.0, 0.0, 0)
    )


def _both_sides(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide from both sides: free if one does not see a direction of the other, pinned by its lifts or as frames.

    If the lifts of one side span everything, S = I on that side (docs/theory.md, "Rows of length 1 may pin the rest"),
    and a second model is a linear image of the first if the other side has full column rank. If the rows of both sides
    are tight frames, no model at all has other cosines. Both conditions are sufficient, not necessary.
    """
    for side in model.sides:
        free = _unseen_by(model, side, SCOPES["cosine"])
        if free is not None:
            return free
    used = used_dimensions(model, most_outside=MIN_MOVEMENT / 2)
    if used.shape[1] < model.rank:
        return _collapsed(model, used)
    return _by_lifts(model, rounding)


def _collapsed(model: FactorModel, used: Floats) -> Pinning:
    """Decide from the few dimensions that hold both sides: what lies outside moves no cosine by `MIN_MOVEMENT`.

    A metric of all dimensions may stretch what lies outside very far, so that lifts prove nothing there; frames do,
    because they rule out models of any width.
    """
    r, k = used.shape[1], model.rank
    rows = {side: unit_rows(model.factors(side) @ used) for side in model.sides}
    where = f"in the {r} of {counted(k, 'dimension')} that these rows use"
    scope, needed = SCOPES["used"], n_forms(r)
    outside = max(
        outside_shares(model.factors(side), used).max() for side in model.sides
    )
    # A softmax over the right rows hides a number per left row.
    hides = _hides_a_number(model)
    most_outside = HIDING_FRAME_LOSS if hides else FRAME_LOSS
    is_proven = (
        r * outside <= most_outside
        and forms_tight_frame(rows["left"])
        and forms_tight_frame(rows["right"], centred=hides)
    )
    if is_proven:
        because = (
            f"{where}, the rows of each side are spread so evenly that no other model "
            f"has their predictions; the rest moves no cosine by {MIN_MOVEMENT:g}"
        )
        return Pinning("pinned", because, scope, needed, needed)
    if needed > LARGEST:
        rank = min(needed, sum(n_directions(model, side) for side in model.sides))
    else:
        rank = span_of(*rows.values()).rank
    others = "other one" if k - r == 1 else f"other {k - r:,}"
    because = (
        f"these rows use {r} of {counted(k, 'dimension')} and hold at most "
        f"{outside:.1g} of their squared length in the {others}, where rows of an "
        f"equivalent model may hold more"
    )
    return Pinning("undecided", because, scope, rank, needed)


def _by_lifts(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide from both sides whose rows use every dimension."""
    scope, needed = SCOPES["cosine"], n_forms(model.rank)
    if needed > LARGEST_SHOWN:
        return _too_large(model, scope, needed)
    spans = {
        side: span_of(model.factors(side), rounding=rounding[side])
        for side in model.sides
    }
    because = "no side alone fixes every number of a metric"
    for side, span in spans.items():
        if span.is_nearly_full:
            because = _nearly(model.title(side))
    full = next((side for side in reversed(model.sides) if spans[side].is_full), None)
    to_decide = ""
    if full is not None:
        other = OPPOSITE[full]
        because = f"the {model.title(full)} rows alone fix every number of a metric"
        if not _has_every_direction(model, other, rounding[other]):
            because += (
                f", but the {model.title(other)} rows do not have every direction"
            )
        elif _hides_a_number(model) and not _fixes_the_number(model, spans, rounding):
            because += ", but not the numbers that a softmax adds to cosines unseen"
            to_decide = _fixing_the_number(model, spans)
        else:
            return Pinning("pinned", because, scope, needed, needed)
    if needed > LARGEST:
        rank = _most_constraints(model, needed)
    else:
        # To first order S and S⁻¹ are bound by the forms that vanish on the rows of both sides.
        rank = span_of(*(model.factors(side) for side in model.sides)).rank
    undecided = Pinning("undecided", because, scope, rank, needed, to_decide=to_decide)
    return _with_missing(model, undecided, spans, rounding)


def _has_every_direction(model: FactorModel, side: SideName, rounding: float) -> bool:
    """Check beyond rounding that the rows of a side span every dimension."""
    if rows_space(model, side, model.free_shifts).shape[1] < model.rank:
        return False
    # Rows of float32 that were widened to float64 span dimensions by rounding alone. So
    # some row must hold more of its squared length there than rounding leaves.
    rows = FactorModel.from_arrays(None, model.factors(side))
    clearly_used = used_dimensions(rows, most_outside=max(USED, rounding**2 / 4))
    return bool(clearly_used.shape[1] == model.rank)


def _hides_a_number(model: FactorModel) -> bool:
    """Check for cosines that go through a softmax, which hides one number per row."""
    law = known_objective(model.objective, alone=model.left is None)
    return law is not None and law.name == "fixed-temperature"


def _fixes_the_number(
    model: FactorModel, spans: Mapping[SideName, Span], rounding: Roundings
) -> bool:
    """Check that no number per row can be added to the cosines at the same rank.

    Let `P'Q'ᵀ = PQᵀ + a 1ᵀ` with unit rows, P and Q of full column rank k. If 1 is no
    combination of the columns of Q, then `a = P w`, because the rank would grow
    otherwise, so that `q' = N(q + w)` and `p' = N⁻ᵀ p`. If the lifts of P span all
    forms, N is a rotation, and `‖q + w‖ = 1` for all q puts them on one hyperplane
    unless w is 0. If the lifts of Q span all forms with a linear part, N is a rotation
    and w is 0 at once.
    """
    stored = rounding["right"]
    if spans["left"].is_full and on_no_hyperplane(model.right, rounding=stored):
        return True
    return span_of(model.right, affine=True, rounding=stored).is_full


def _fixing_the_number(model: FactorModel, spans: Mapping[SideName, Span]) -> str:
    """Name right rows that would satisfy `_fixes_the_number`."""
    title = model.title("right")
    if spans["left"].is_full:
        return f"one more {title} row off the hyperplane of the others would decide it"
    rows = counted(model.rank, f"more {title} row")
    return f"{rows} in general position would decide it"


def _head(
    model: FactorModel, rounding: Roundings, most: float, draw: np.random.Generator
) -> Pinning:
    """Decide from the labels alone: what they leave free is linear, so each free form is an equivalent model."""
    k, title, scope = model.rank, model.title("right"), SCOPES["head"]
    # Under a cap no number may be added to a row of scores.
    affine = model.link.soft_cap is None
    needed = n_forms(k, affine=affine)
    if needed > LARGEST_SHOWN:
        return _with_fewer_rows(model, needed) or _too_large(model, scope, needed)
    span = span_of(model.right, affine=affine, rounding=rounding["right"])
    rank = span.rank
    if span.is_full and not affine:
        because = f"the {title} rows fix every gauge, but under a cap equal probabilities do not imply equal scores"
        return Pinning("undecided", because, scope, rank, needed)
    if span.is_full:
        because = f"the {title} rows alone fix every number of a change of axes"
        return Pinning("pinned", because, scope, rank, needed)
    if span.is_nearly_full:
        return Pinning("undecided", _nearly(title), scope, rank, needed)
    units = unit_rows(model.right[model.right_side.directed])
    if len(units) < 2:
        return Pinning("pinned", f"one {title} makes no pair", scope, rank, needed)
    if affine and np.abs(units - units[0]).max() <= 4 * EPS:
        because = f"all {title} rows have one direction, so no input has a say, and inputs of 0 go with any rows"
        return Pinning("free", because, scope, rank, needed)
    return _free_head(model, span, units, most, draw, affine=affine)


def _free_head(
    model: FactorModel,
    span: Span,
    units: Floats,
    most: float,
    draw: np.random.Generator,
    *,
    affine: bool,
) -> Pinning:
    """Show an equivalent head that a form of the null space gives; undecided if no such form moves a cosine."""
    title, scope, needed = model.title("right"), SCOPES["head"], span.needed
    is_counted = needed <= LARGEST
    rank = span.rank if is_counted else _most_constraints(model, needed)
    free = counted(needed - rank, "number") if is_counted else "some number"
    because = f"the {title} rows leave {free} of a change of axes free"
    if len(units) < needed:
        because = _too_few(model)
    shown = []
    for form in _candidates(span, units, draw, affine=affine):
        witness = _head_gauge(form, model.rank, most)
        equivalent = Pinning("free", because, scope, rank, needed, witness=witness)
        pinning = _with_movement(model, equivalent)
        rounding = 64 * model.rank * EPS * most**2
        if pinning is not None and pinning.residual <= rounding:
            shown.append(pinning)
    if shown:
        return first_best(shown, lambda pinning: pinning.moved["right"].max_abs, TIE)
    because = "what the rows leave free moved no cosine"
    if not is_counted:
        because = f"the {title} rows alone do not show that they fix every number of a change of axes"
    undecided = Pinning("undecided", because, scope, rank, needed)
    if is_counted:
        return undecided
    return _with_fewer_rows(model, needed) or undecided


def _too_few(model: FactorModel) -> str:
    labels = counted(len(model.right_side.directed), model.title("right"))
    return f"{labels} are too few to fix a space of {counted(model.rank, 'dimension')}"


def _with_fewer_rows(model: FactorModel, needed: int) -> Pinning | None:
    """Show without a witness that fewer labels than numbers leave some free: if labels span, some cosine moves."""
    k, n = model.rank, len(model.right_side.directed)
    # Each label fixes one number of a form; with fewer labels than numbers some form vanishes on all of them.
    if n >= n_forms(k) or rows_space(model, "right", model.free_shifts).shape[1] < k:
        return None
    return Pinning("free", _too_few(model), SCOPES["head"], n, needed)


def _candidates(
    span: Span, units: Floats, draw: np.random.Generator, *, affine: bool
) -> list[Floats]:
    """Return free forms: those nearest to moving one pair, some at random, each in both signs."""
    # A form moves the cosine of labels i and j by its value at them: project that functional onto what is free.
    i, j = draw.integers(len(units), size=(2, CANDIDATES))
    products = np.einsum("ni,nj->nij", units[i], units[j])
    wanted = packed((products + products.transpose(0, 2, 1)) / 2)
    wanted = np.hstack([wanted, units[i] + units[j]]) if affine else wanted
    wanted = np.vstack([wanted, draw.standard_normal((8, wanted.shape[1]))])
    forms = (wanted @ span.free) @ span.free.T
    sizes = np.linalg.norm(forms, axis=1)
    forms = forms[sizes > 1e-6] / sizes[sizes > 1e-6, None]
    return [*forms, *-forms]


def _head_gauge(free: Floats, k: int, most: float) -> Gauge:
    """Return `ŵ' = N ŵ + v` of `N² = s(I + tT)`, `N v = s t g/2`, with t as large as κ(N) allows.

    On the labels `ŵᵀTŵ + g·ŵ = 0`, so that `‖ŵ'‖² = s + ‖v‖²`, which is 1 for `s = 1/(1 + hᵀ(I + tT)⁻¹h)`, `h = t g/2`.
    """
    form = symmetric(free[: n_forms(k)], k)
    values, vectors = np.linalg.eigh(form)
    # κ(N)² = (1 + t high)/(1 − t low) <= most² holds up to t = (most² − 1)/(high + most² low). Where T vanishes the
    # second term limits t.
    low, high = -min(values[0], 0.0), max(values[-1], 0.0)
    t = min(
        (most**2 - 1) / max(high + most**2 * low, 1e-12),
        2.0 / max(float(np.linalg.norm(free)), 1e-12) * most,
    )
    slope = t * free[n_forms(k) :] / 2 if len(free) > n_forms(k) else np.zeros(k)
    stretched = 1 + t * values
    h = vectors.T @ slope
    s = 1 / (1 + float(h @ (h / stretched)))
    scales = np.sqrt(s * stretched)
    shift = vectors @ (s * h / scales)
    # Labels take N and v; the inputs, which the gauge calls left, take N⁻¹.
    linear = Gauge.from_svd(vectors, 1 / scales, vectors.T)
    return Gauge(linear.left, linear.right, None, shift)  # type: ignore[arg-type]
