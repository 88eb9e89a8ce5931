"""The result of the test of unit rows: a verdict in numbers, and its sentences.

The decisions are made in `embaudit.canonical.pinned`. Here `because_of`, `remedy_of`
and `Pinning.explain` turn a verdict into English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Any

import numpy as np

from embaudit.canonical.moved import Moved
from embaudit.canonical.quadratic_forms import LARGEST, LARGEST_SHOWN
from embaudit.core.checked import Floats, Indices, Matrix, require_one_of
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import MIN_MOVEMENT
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import OPPOSITE, FactorModel, Role, SideName


class Status(StrEnum):
    """Answer of the test whether predictions pin the cosines within each side."""

    PINNED = "pinned"
    """No equivalent model moves the cosines; this is proven."""
    FREE = "free"
    """An equivalent model moves the cosines. It is shown, or proven to exist."""
    UNDECIDED = "undecided"
    """Neither is proven. The conditions are sufficient and not necessary, so the model
    may be pinned or free."""


class Models(Enum):
    """Set of models that "pinned" speaks of."""

    GAUGES = auto()
    """Linear maps of one side, if the other side has full rank."""
    AFFINE = auto()
    """Linear maps and shifts of one side, if the other side has full rank."""
    SAME_RANK = auto()
    """Models whose rows span as many dimensions."""
    USED_DIMENSIONS = auto()
    """Models of the dimensions that the rows of both sides use."""
    HEADS = auto()
    """Heads whose labels span no more dimensions."""
    TABLES = auto()
    """Models that predict the products, or cosines, of the rows of one table."""


SCOPES = {
    Models.GAUGES: "linear maps of these rows, if the other side has full rank",
    Models.AFFINE: (
        "linear maps and shifts of these rows in the dimensions that they span, if the "
        "other side has full rank"
    ),
    Models.SAME_RANK: "equivalent models of the same rank",
    Models.USED_DIMENSIONS: "equivalent models of the dimensions that these rows use",
    Models.HEADS: (
        "equivalent models whose labels span no more dimensions, and whose inputs are "
        "learned and span these"
    ),
    Models.TABLES: "models that compare these rows with each other in the same way",
}
"""Words for each set of models, as they follow "among"."""


class Reason(Enum):
    """Argument for the status. "The side" is `Pinning.side`."""

    COMPARED_BY_COSINE = auto()
    """The cosines of the rows are the predictions."""
    COMPARED_BY_PRODUCT = auto()
    """The products of the rows, also with themselves, are the predictions."""
    COMPARED_BY_PRODUCT_OF_FEW = auto()
    """The same for so few rows that products of different rows may not suffice."""
    FIXES_ALL = auto()
    """The side fixes every number of a form."""
    FIXES_ALL_BUT_OTHER_LACKS_DIRECTIONS = auto()
    """The side fixes every number, and the other side lacks full column rank."""
    FIXES_ALL_BUT_HIDDEN_NUMBERS = auto()
    """The side fixes every number, but not what a softmax adds to cosines unseen."""
    FIXES_ALL_BUT_CAPPED = auto()
    """The side fixes every number, but the link has a soft cap."""
    NEARLY_LEAVES_A_FORM = auto()
    """Up to what may be rounding, a form vanishes on all rows of the side."""
    LEAVES_DIRECTIONS = auto()
    """Some forms vanish on all rows of the side."""
    SIDE_NOT_SHOWN = auto()
    """It is not shown that the side fixes every number of a metric."""
    LABELS_NOT_SHOWN = auto()
    """It is not shown that the labels fix every number of a change of axes."""
    NO_SIDE_ALONE = auto()
    """Neither side fixes every number."""
    TOO_LARGE = auto()
    """A form has more numbers than are tried."""
    REACHES_INTO_UNSEEN = auto()
    """Rows of the side have components in directions that the other side lacks."""
    TIGHT_FRAMES = auto()
    """Both sides are tight frames in the dimensions that they use."""
    HARDLY_USED_DIMENSIONS = auto()
    """Rows use some dimensions and hold very little in the others."""
    ONE_ROW = auto()
    """One row makes no pair."""
    ONE_DIRECTION = auto()
    """All rows have one direction."""
    LEAVES_NUMBERS = auto()
    """The labels leave numbers of a form free."""
    TOO_FEW_ROWS = auto()
    """There are fewer labels than numbers of a form."""
    NOTHING_MOVED = auto()
    """No cosine moved when the numbers that the rows leave free were changed."""
    ROUNDING_DECIDES = auto()
    """The result depends on dimensions that rounding may have made."""


class Remedy(Enum):
    """Change of the input that would decide an undecided test.

    Missing rows of one side are counted in `Pinning.rows_missing`.
    """

    NONE = auto()
    """No method of this package would decide it."""
    OTHER_SIDE = auto()
    """The other side may decide it."""
    RIGHT_ROW_OFF_THE_HYPERPLANE = auto()
    """One more right row that lies off the hyperplane of the others."""
    RIGHT_ROWS = auto()
    """As many more right rows as there are dimensions."""
    MORE_DIGITS = auto()
    """Numbers that are stored with more digits."""


@dataclass(frozen=True, eq=False)
class Flip:
    """An equivalent model that no gauge makes.

    Some rows are reflected in directions that the other side does not have.
    """

    side: SideName
    """The side whose rows are reflected."""
    rows: Indices
    """Row numbers of the reflected rows."""
    unseen: Matrix
    """(k, k) projector onto the directions that no row of the other side has, or in
    which all of them are alike if a bias is free."""

    def apply(self, model: FactorModel, rows: Floats) -> dict[str, Floats]:
        """Return the changed fields of a model, given the rows of the side.

        The right bias absorbs the products with what all left rows have alike.
        """
        change = np.zeros_like(rows)
        change[self.rows] = -2 * (rows[self.rows] @ self.unseen)
        changed = {str(self.side): rows + change}
        bias = model.right_bias
        if self.side == "right" and bias is not None and model.link.sees_biases:
            mean_left = model.side("left").moments.mean
            changed["right_bias"] = bias - change @ mean_left
        return changed


@dataclass(frozen=True, eq=False)
class Pinning(Result):
    """Freedom that predictions of unit rows leave to the cosines within a side.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_user_item(np.eye(2), np.eye(2), link="cosine")
    >>> found = ea.pinned_test(model)
    >>> found.status.value, found.rank, found.needed
    ('undecided', 2, 3)
    """

    status: Status
    """The answer."""
    reason: Reason
    """The argument."""
    models: Models
    """The set of models that "pinned" speaks of."""
    rank: int
    """Independent constraints that the rows put on a gauge near I, of all sides
    together; an upper bound if they were not counted."""
    needed: int
    """Numbers of a gauge; fewer constraints leave some of them free."""
    roles: tuple[str, str] = ("user", "item")
    """Titles of left and right rows."""
    side: SideName = "right"
    """The side that the argument speaks of."""
    number: int = 0
    """The number of rows, directions or dimensions that the argument names, if any."""
    among: int = 0
    """The number of dimensions that the argument names, if any."""
    outside: float = 0.0
    """Largest share of the squared length of a row in hardly used dimensions."""
    alternatives: tuple[Status, Status] | None = None
    """The answers without and with dimensions that rounding may have made."""
    remedy: Remedy = Remedy.NONE
    """Change of the input that would decide an undecided test, unless rows are
    missing."""
    rows_missing: Mapping[SideName, int] = field(default_factory=dict)
    """Number of further rows of each side alone, in general position, that would decide
    an undecided test; empty if rows would not."""
    witness: Gauge | None = None
    """A gauge of unit rows that keeps every length, hence every prediction."""
    flip: Flip | None = None
    """Reflection of some rows, if the equivalent model is no gauge."""
    moved: Mapping[SideName, Moved] = field(default_factory=dict)
    """Movement of the cosines of each side in the equivalent model, if there is one."""
    residual: float = 0.0
    """Largest distance of a row of the equivalent model from length 1, before it is
    divided by its length."""
    dimensions: int = 0
    """Number of dimensions that the rows span, in which numbers are counted."""
    width: int = 0
    """Number of columns of the rows as stored."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        condition_number = None
        if self.witness is not None:
            condition_number = self.witness.condition_number
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
        """Return the movement of the cosines of a role; None for left-right pairs."""
        for side, moved in self.moved.items():
            if side == role:
                return moved
        return None

    @property
    def is_counted(self) -> bool:
        """True if independent constraints were counted.

        Otherwise rows were counted. Each row adds one constraint at most.
        """
        return self.status is Status.PINNED or self.needed <= LARGEST

    @property
    def largest(self) -> float:
        """Largest ``|Δcos|`` that was shown on either side, 0 without a model."""
        return max((moved.max_abs for moved in self.moved.values()), default=0.0)

    @property
    def scope(self) -> str:
        """The set of models that "pinned" speaks of, in words."""
        return SCOPES[self.models]

    @property
    def because(self) -> str:
        """The argument, as a clause."""
        return because_of(self)

    @property
    def to_decide(self) -> str:
        """Clause on what would decide the test; empty if no method here would."""
        return remedy_of(self)

    def twin(self, model: FactorModel) -> FactorModel:
        """Return the equivalent model: unit rows in float64, moved by the witness.

        Raises
        ------
        InputError
            If there is none.
        """
        rows: dict[str, Floats] = {}
        for side in model.sides:
            rows[side] = np.asarray(model.factors(side), dtype=np.float64)
            if side in model.link.unit_sides:
                rows[side] = unit_rows(rows[side], none=0)
        if self.flip is not None:
            changed = self.flip.apply(model, rows[self.flip.side])
            return model.replace(**{**rows, **changed})
        if self.witness is None:
            raise must_be(
                "twin",
                "called on a result that found an equivalent model",
                f"a result without one: {self.status}, because {self.because}",
            )
        for side in model.sides:
            moved = self.witness.apply(rows[side], side)
            # A zero row has no length that a shift would have to keep.
            moved[~rows[side].any(axis=1)] = 0
            rows[side] = moved
        return model.replace(**rows)

    def explain(self, predictions: str = "predictions") -> str:
        """Describe in plain words the result of the test.

        Parameters
        ----------
        predictions : {"predictions", "scores"}
            What the model computes; "scores" for vectors of one side alone.
        """
        require_one_of(predictions, "predictions", ("predictions", "scores"))
        if self.models is Models.TABLES:
            return (
                f"The {predictions} fix every cosine, among {self.scope}. "
                f"{_sentence(self.because)}"
            )
        status = _about_the_status(self, predictions)
        sentences = [status, _sentence(self.because)]
        # All numbers can be fixed near this model although another model, far from it,
        # is not ruled out. Their count would then contradict the answer.
        all_fixed = self.status is Status.UNDECIDED and self.rank == self.needed
        if self.flip is None and not all_fixed:
            sentences.append(_about_the_count(self))
        if self.dimensions < self.width:
            sentences.append(_about_the_span(self))
        if self.status is Status.UNDECIDED:
            sentences.append(_sentence(self.to_decide or "no method here decides it"))
        if self.moved:
            sentences.append(_about_the_movement(self))
        return " ".join(sentences)


def _sentence(clause: str) -> str:
    """Make a sentence of a clause."""
    return f"{clause[0].upper()}{clause[1:]}."


def _about_the_status(pinning: Pinning, predictions: str) -> str:
    """Describe the answer."""
    if pinning.status is Status.PINNED:
        pinned = f"The {predictions} pin the cosines within each side"
        return f"{pinned}, among {pinning.scope}."
    if pinning.status is Status.FREE:
        return f"The {predictions} do not pin the cosines within each side."
    return f"Whether the {predictions} pin the cosines within each side is undecided."


def _about_the_count(pinning: Pinning) -> str:
    """Describe how many numbers of a gauge the rows fix."""
    if not pinning.is_counted:
        fixed = f"at most {pinning.rank:,}"
    elif pinning.rank == pinning.needed:
        fixed = "all"
    elif pinning.rank == 0:
        fixed = "none"
    else:
        fixed = f"{pinning.rank:,}"
    numbers = counted(pinning.needed, "number")
    return f"A change of axes has {numbers}, and the rows fix {fixed} of them."


def _about_the_movement(pinning: Pinning) -> str:
    """Describe how far the equivalent model moves the cosines of each side."""
    parts = []
    for side, moved in pinning.moved.items():
        mean, largest = f"{moved.mean_abs:.2g}", f"{moved.max_abs:.2g}"
        parts.append(f"{mean} on average and {largest} at most ({side})")
    return f"An equivalent model moves the cosines by {' and by '.join(parts)}."


def _about_the_span(pinning: Pinning) -> str:
    """Describe in how many of the stored dimensions the test decides."""
    stored = counted(pinning.width, "dimension")
    span = f"These rows span {pinning.dimensions:,} of {stored}"
    of_one_rank = pinning.models in (Models.SAME_RANK, Models.HEADS)
    if pinning.status is Status.PINNED and of_one_rank:
        return f"{span}, and models whose rows span more are not ruled out."
    return f"{span}, and the others are left out here."


_PRODUCTS = (
    "the products of {title} rows with each other and with themselves fix them but for "
    "a rotation"
)
_FIXES_ALL = "the {title} rows alone fix every number of {form}"
REASONS = {
    Reason.COMPARED_BY_COSINE: (
        "the cosines of {title} rows with each other are the predictions"
    ),
    Reason.COMPARED_BY_PRODUCT: _PRODUCTS,
    Reason.COMPARED_BY_PRODUCT_OF_FEW: (
        _PRODUCTS
        + ". The products of different rows may not be enough, because there are only "
        "{number:,} rows of {among:,} numbers"
    ),
    Reason.FIXES_ALL: _FIXES_ALL,
    Reason.FIXES_ALL_BUT_OTHER_LACKS_DIRECTIONS: (
        _FIXES_ALL + ", but the {other} rows do not have every direction"
    ),
    Reason.FIXES_ALL_BUT_HIDDEN_NUMBERS: (
        _FIXES_ALL + ", but not the numbers that a softmax adds to cosines unseen"
    ),
    Reason.FIXES_ALL_BUT_CAPPED: (
        "the {title} rows fix every gauge, but under a cap equal probabilities do not "
        "imply equal scores"
    ),
    Reason.NEARLY_LEAVES_A_FORM: (
        "some other metric keeps the lengths of all {title} rows, except for "
        "differences that may be rounding"
    ),
    Reason.LEAVES_DIRECTIONS: (
        "the {title} rows leave {free_directions}, which the other side may fix"
    ),
    Reason.SIDE_NOT_SHOWN: (
        "it is not shown that the {title} rows alone fix every number of a metric"
    ),
    Reason.LABELS_NOT_SHOWN: (
        "it is not shown that the {title} rows alone fix every number of a change of "
        "axes"
    ),
    Reason.NO_SIDE_ALONE: "no side alone fixes every number of a metric",
    Reason.TOO_LARGE: (
        "a gauge has {needed:,} numbers here, and no proof is tried above {largest:,}"
    ),
    Reason.REACHES_INTO_UNSEEN: (
        "{title} rows reach into {number_of_directions} no {other} has"
    ),
    Reason.TIGHT_FRAMES: (
        "in the {number} of {among_dimensions} that these rows use, the rows of each "
        "side are spread so evenly that no other model has their predictions; the rest "
        "moves no cosine by {movement:g}"
    ),
    Reason.HARDLY_USED_DIMENSIONS: (
        "these rows use {number} of {among_dimensions} and hold at most {outside:.1g} "
        "of their squared length in the {other_dimensions}, where rows of an "
        "equivalent model may hold more"
    ),
    Reason.ONE_ROW: "one {title} makes no pair",
    Reason.ONE_DIRECTION: (
        "all {title} rows have one direction, so no input has a say, and inputs of 0 "
        "go with any rows"
    ),
    Reason.LEAVES_NUMBERS: (
        "the {title} rows leave {free_numbers} of a change of axes free"
    ),
    Reason.TOO_FEW_ROWS: (
        "{number_of_rows} are too few to fix a space of {among_dimensions}"
    ),
    Reason.NOTHING_MOVED: (
        "no cosine moved when the numbers that the rows leave free were changed"
    ),
    Reason.ROUNDING_DECIDES: (
        "rows hold so little in {number:,} of {among_dimensions} that rounding may "
        "have put it there; without it the cosines are {without}, and with it they are "
        "{with_them}"
    ),
}
"""Clause for each reason; `because_of` fills the names in."""


def _title(pinning: Pinning, side: SideName) -> str:
    """Return the title of a row of a side."""
    left, right = pinning.roles
    if side == "left":
        return left
    return right


def because_of(pinning: Pinning) -> str:
    """Write the argument of a verdict as a clause."""
    number, among = pinning.number, pinning.among
    title = _title(pinning, pinning.side)
    form = "a metric"
    if pinning.models in (Models.AFFINE, Models.HEADS):
        # Forms of these models have a linear part.
        form = "a change of axes"
    n_free = pinning.needed - pinning.rank
    free_numbers = "some number"
    if pinning.is_counted:
        free_numbers = counted(n_free, "number")
    n_others = among - number
    other_dimensions = f"other {n_others:,}"
    if n_others == 1:
        other_dimensions = "other one"
    without, with_them = pinning.alternatives or (None, None)
    return REASONS[pinning.reason].format(
        title=title,
        other=_title(pinning, OPPOSITE[pinning.side]),
        form=form,
        number=number,
        number_of_rows=counted(number, title),
        number_of_directions=counted(number, "direction"),
        among=among,
        among_dimensions=counted(among, "dimension"),
        other_dimensions=other_dimensions,
        free_directions=counted(n_free, "direction"),
        free_numbers=free_numbers,
        needed=pinning.needed,
        largest=LARGEST_SHOWN,
        outside=pinning.outside,
        movement=MIN_MOVEMENT,
        without=without,
        with_them=with_them,
    )


def remedy_of(pinning: Pinning) -> str:
    """Write the change that would decide a verdict as a clause.

    The clause is empty if no method here would decide it.
    """
    right = _title(pinning, "right")
    if pinning.rows_missing:
        fewest = min(pinning.rows_missing, key=lambda side: pinning.rows_missing[side])
        n_missing = pinning.rows_missing[fewest]
        rows = counted(n_missing, f"more {_title(pinning, fewest)} row")
        return f"{rows} in general position would decide it"
    match pinning.remedy:
        case Remedy.NONE:
            return ""
        case Remedy.OTHER_SIDE:
            return "the other side may decide it"
        case Remedy.RIGHT_ROW_OFF_THE_HYPERPLANE:
            return (
                f"one more {right} row off the hyperplane of the others would decide it"
            )
        case Remedy.RIGHT_ROWS:
            rows = counted(pinning.among, f"more {right} row")
            return f"{rows} in general position would decide it"
        case Remedy.MORE_DIGITS:
            return "numbers stored with more digits would decide it"
