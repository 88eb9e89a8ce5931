"""Links: how scores become predictions, what of the scores a prediction shows, and what it leaves free.

A link knows everything that depends on it, so that nobody else has to ask which one a model has.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, is_number, require_one_of
from embaudit.errors import must_be
from embaudit.model.equivalence import Equivalence, largest_gap, log_softmax
from embaudit.model.side import Sided, SideName

T = TypeVar("T")
Comparison: TypeAlias = Literal["cosine", "dot", "distance", "hyperbolic"]
"""Comparison of the rows of one table with each other: by cosine, dot product or distance."""
COMPARISON_WORDS: dict[Comparison, str] = {
    "cosine": "cosine",
    "dot": "dot product",
    "distance": "distance",
    "hyperbolic": "hyperbolic distance",
}
"""Words that follow "rows compared by" in a sentence."""
SMALLEST = 1e-15
"""Lower bound of 1 − ‖x‖², so that rows on the boundary of the Poincaré ball cause no
division by zero."""


class _Named(ABCMeta):
    """Lets `Link("softmax")` be the link of that name, and `Link` be iterated over."""

    def __call__(cls: type[T], *args: Any, **options: Any) -> T:
        return Link.of(*args) if cls is Link else super().__call__(*args, **options)  # type: ignore[misc, return-value]

    def __iter__(cls) -> Iterator[Link]:
        return iter(_NAMED.values())


@dataclass(frozen=True, eq=False)
class Link(metaclass=_Named):
    """Link from the scores of a model to its predictions.

    A link equals its name, so that strings may be used for those without parameters.

    Examples
    --------
    >>> [str(link) for link in Link]
    ['identity', 'softmax', 'sigmoid', 'cosine', 'ranking']
    >>> Link("cosine") == Link.COSINE == "cosine"
    True
    >>> all(link == Link(str(link)) == str(link) for link in (*Link, Link("compared-dot"), Link("compared-cosine")))
    True
    >>> len({*Link, Link("unknown"), *map(str, Link), "unknown"})
    6
    """

    IDENTITY: ClassVar[Identity]
    SOFTMAX: ClassVar[Softmax]
    SIGMOID: ClassVar[Sigmoid]
    COSINE: ClassVar[Cosine]
    RANKING: ClassVar[Ranking]

    name: ClassVar[str]
    """Name in a file or on the command line."""
    level: ClassVar[Equivalence]
    """Level at which two models are compared: scores, probabilities, order or cosines."""
    noun: ClassVar[str] = "scores"
    """Name of the scores in sentences."""
    sensitivity: ClassVar[float] = 1.0
    """Largest growth of `gap` when every score moves by 1: a log-probability, or an order, moves by up to 2."""
    sees_biases: ClassVar[bool] = True
    """True if biases and offset enter the scores."""
    soft_cap: float | None = None
    """c of a cap `c tanh(s/c)` on the scores: predictions may then agree where scores differ by more than shifts."""
    compares: ClassVar[Comparison | None] = None
    """Comparison of right rows with each other, where that is the prediction; there is no left side."""

    @property
    def comparison_words(self) -> str:
        """Words that follow "rows compared by"; empty unless rows of one table are compared.

        Examples
        --------
        >>> Link.comparing("hyperbolic").comparison_words
        'hyperbolic distance'
        """
        return "" if self.compares is None else COMPARISON_WORDS[self.compares]

    @property
    def is_assumed(self) -> bool:
        """True if neither a file nor the caller declared the link."""
        return False

    @property
    def scored_role(self) -> SideName:
        """The side whose rows are scored against the right ones: the right one itself in a model of one table."""
        return "left" if self.compares is None else "right"

    @property
    def needs_lengths(self) -> bool:
        """True if a gauge must keep the lengths of rows: no other side makes up for a common scale."""
        return len(self.unit_sides) == 1

    @property
    def unit_sides(self) -> tuple[SideName, ...]:
        """The sides whose rows are divided by their length before they are multiplied."""
        return ()

    @property
    def predicts(self) -> Equivalence:
        """The level that a gauge must preserve for the predictions to stay."""
        return self.level

    @property
    def measures_distances(self) -> bool:
        """True if rows of one table are compared by their distance, which fixes no cosine."""
        return self.compares in ("distance", "hyperbolic")

    def products(self, left: Floats, right: Floats) -> Floats:
        """Compute the scores of rows without biases: their dot products."""
        product: Floats = left @ right.T
        return product

    @abstractmethod
    def predict(self, scores: Floats) -> NDArray[Any]:
        """Turn rows of scores into predictions."""

    def gap(self, before: Floats, after: Floats) -> float:
        """Measure how far the predictions from two blocks of scores are apart."""
        return largest_gap(self.level, before, after)

    def free_shifts(self, model: Sided) -> tuple[SideName, ...]:
        """List the sides whose rows may all be shifted by one vector while the predictions stay.

        A shift of the left rows adds a number to every column of the scores, which a free right bias absorbs; one of
        the right rows adds a number to every row, which a free left bias absorbs, and which some links never show.
        Rows that are divided by their length are no such side: a shift changes lengths.
        """
        # (p + u)·q + b = p·q + (b + q·u), so that b takes up u; p·(q + v) + a = p·q + (a + p·v), so that a takes up v.
        left = model.left_side is not None and model.right_side.bias is not None
        absorbed = model.left_side is not None and model.left_side.bias is not None
        right = absorbed or self.predicts <= Equivalence.PROBABILITIES
        free: dict[SideName, bool] = {"left": left, "right": right}
        return tuple(
            side
            for side, is_free in free.items()
            if is_free and side not in self.unit_sides
        )

    def centred(self, model: Sided) -> tuple[SideName, ...]:
        """List the sides that are centred before the scores are decomposed: those whose mean says nothing."""
        return self.free_shifts(model)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def of(link: str | Link) -> Link:
        """Return the link of a name, or the link itself.

        Raises
        ------
        InputError
            For an unknown name.
        """
        if isinstance(link, Link):
            return link
        if not isinstance(link, str) or link not in _NAMED | _STORED:
            raise must_be("link", "one of " + ", ".join(_NAMED), repr(link))
        return (_NAMED | _STORED)[link]

    @staticmethod
    def comparing(compared: Comparison) -> Link:
        """Return the link of a model that compares the rows of one table with each other.

        Raises
        ------
        InputError
            Unless `compared` is one of the words of `Comparison`.

        Examples
        --------
        >>> str(Link.comparing("dot"))
        'compared-dot'
        """
        require_one_of(compared, "compared", get_args(Comparison))
        return _STORED[f"compared-{compared}"]


@dataclass(frozen=True, eq=False)
class Identity(Link):
    """The scores themselves (ratings, counts).

    Parameters
    ----------
    is_assumed : bool
        Whether it was taken for want of another word; it predicts the same and equals one that was given.
    """

    is_assumed: bool = False
    name = "identity"
    level = Equivalence.SCORES

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) or super().__eq__(other)

    __hash__ = Link.__hash__

    def predict(self, scores: Floats) -> Floats:
        """Return the scores."""
        return scores


@dataclass(frozen=True, eq=False)
class Softmax(Link):
    """Probabilities over the right entities of each row, `softmax(s)` or, capped, `softmax(c tanh(s/c))`.

    Parameters
    ----------
    soft_cap : float, optional
        c: then adding a constant to a row of scores changes probabilities, and a gauge must keep the scores.
    unit_rows : bool
        Right rows are divided by their length before use: then a gauge must keep the lengths, too.

    Examples
    --------
    >>> Softmax().predicts.title, Softmax(soft_cap=30.0).predicts.title, Softmax(unit_rows=True).predicts.title
    ('probabilities', 'scores', 'cosines')
    >>> Softmax(unit_rows="yes")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: unit_rows must be True or False; got 'yes'.
    """

    soft_cap: float | None = None
    """Cap of the logits; None where they are not capped."""
    unit_rows: bool = False
    """True if label rows are divided by their lengths before use."""
    name = "softmax"
    level = Equivalence.PROBABILITIES
    noun = "logits"
    sensitivity = 2.0

    def __post_init__(self) -> None:
        if self.soft_cap is not None and not (
            is_number(self.soft_cap) and self.soft_cap > 0
        ):
            raise must_be(
                "soft_cap",
                "a positive number",
                repr(self.soft_cap),
                "None declares no cap",
            )
        if not isinstance(self.unit_rows, bool):
            raise must_be("unit_rows", "True or False", repr(self.unit_rows))

    @property
    def unit_sides(self) -> tuple[SideName, ...]:
        """Labels, if so declared."""
        return ("right",) if self.unit_rows else ()

    @property
    def predicts(self) -> Equivalence:
        """Probabilities, unless a cap or unit rows tie them to more."""
        # A cap bends each score by itself, so that a constant no longer drops out; rows of length 1 have cosines for
        # scores, up to the length of the input.
        if self.unit_rows:
            return Equivalence.COSINES
        return (
            Equivalence.PROBABILITIES if self.soft_cap is None else Equivalence.SCORES
        )

    @property
    def guard(self) -> str:
        """Guards declared of the head beyond `x·w + b`, in words; empty for a plain softmax."""
        parts = (
            [f"a logit soft-cap of {self.soft_cap:g}"]
            if self.soft_cap is not None
            else []
        )
        return " and ".join(
            [*parts, "label rows of length 1"] if self.unit_rows else parts
        )

    def log_probabilities(self, scores: Floats) -> Floats:
        """Compute the logarithms of the predictions."""
        return log_softmax(
            scores
            if self.soft_cap is None
            else self.soft_cap * np.tanh(scores / self.soft_cap)
        )

    def predict(self, scores: Floats) -> Floats:
        """Return probabilities; each row sums to 1."""
        return np.exp(self.log_probabilities(scores))

    def gap(self, before: Floats, after: Floats) -> float:
        """Return the largest change of a log-probability: a relative change of a probability."""
        return float(
            np.abs(self.log_probabilities(after) - self.log_probabilities(before)).max()
        )

    def centred(self, model: Sided) -> tuple[SideName, ...]:
        """Return both sides: logits are judged relative to those of the mean input."""
        return ("left", "right") if self.soft_cap is None else super().centred(model)


@dataclass(frozen=True, eq=False)
class Sigmoid(Link):
    """The probability of each right entity by itself, `1 / (1 + exp(−s))`: each score can be read from it."""

    name = "sigmoid"
    level = Equivalence.SCORES
    noun = "logits"

    def predict(self, scores: Floats) -> Floats:
        """Return one probability a score."""
        # 1/(1 + e^−s) without an exponential that overflows.
        return 0.5 + 0.5 * np.tanh(scores / 2)


class _Tied(Link):
    """A link whose scores a gauge keeps only together with cosines: no shift is free, and predictions are scores."""

    # Compared as the numbers they are, to the tolerance of scores; kept only by gauges that keep cosines, too.
    level = Equivalence.SCORES
    predicts = Equivalence.COSINES

    def predict(self, scores: Floats) -> Floats:
        """Return the scores."""
        return scores

    def free_shifts(self, model: Sided) -> tuple[SideName, ...]:  # noqa: ARG002
        """Return no side: a shift changes lengths, or both rows of a product."""
        return ()


@dataclass(frozen=True, eq=False)
class Cosine(_Tied):
    """The cosine of the two vectors (a normalised two-tower model); biases and offset do not enter."""

    name = "cosine"
    level = Equivalence.COSINES
    noun = "predicted cosines"
    sees_biases = False
    unit_sides = ("left", "right")


@dataclass(frozen=True, eq=False)
class Ranking(Link):
    """Link of rankings: only the order of the right entities within a row counts."""

    # Any small enough change keeps an order, not only gauges: a bound over gauges bounds not every equivalent model.
    name = "ranking"
    level = Equivalence.RANKINGS
    sensitivity = 2.0

    def predict(self, scores: Floats) -> NDArray[np.intp]:
        """Return the right rows in order, best first."""
        # Stable: of equal scores the earlier row comes first, in every model alike.
        return np.argsort(-scores, axis=1, kind="stable")


@dataclass(frozen=True, eq=False)
class Unknown(_Tied):
    """Dot products of rows of length 1 with rows of length 1, where it is not declared if training divided by lengths.

    A dot product and a cosine are the same number there. A gauge has to keep both.
    """

    name = "unknown"
    is_assumed = True


@dataclass(frozen=True, eq=False)
class ComparedDot(_Tied):
    """Products `x_i · x_j` of the rows of one table with each other: the Gram matrix `X Xᵀ`.

    It fixes X up to an orthogonal map, hence every cosine. Products of different rows alone do so for generic rows if
    n > k and `(n − k)² > n + k` (Ledermann's bound; Bekker and ten Berge, 1997). A softmax over them does not: rows
    `(x, √a)` have the same softmax and other cosines.
    """

    name = "compared-dot"
    compares: ClassVar[Comparison | None] = "dot"
    needs_lengths = True


@dataclass(frozen=True, eq=False)
class ComparedCosine(_Tied):
    """Cosines of the rows of one table with each other, as sentence encoders are trained on.

    Where training compared them through a temperature, their order is fixed and their level is not: rows
    `(√(1−b) x̂, √b)` with temperature `(1−b)τ` have cosines `(1−b)c + b` and the same softmax.
    """

    name = "compared-cosine"
    level = Equivalence.COSINES
    noun = "predicted cosines"
    sees_biases = False
    compares: ClassVar[Comparison | None] = "cosine"
    needs_lengths = False
    unit_sides = ("right",)


@dataclass(frozen=True, eq=False)
class ComparedDistance(Link):
    """Euclidean distances of the rows of one table, as TransE and metric learning train them.

    The scores are −½‖x − y‖². Rotations of all rows and one vector added to all rows keep
    every distance, and no other maps do (Schoenberg, 1935). A cosine depends on the
    origin, and no distance does.

    Examples
    --------
    >>> Link.comparing("distance").products(np.array([[3.0, 0.0]]), np.array([[3.0, 4.0], [3.0, 0.0]]))
    array([[-8.,  0.]])
    """

    name = "compared-distance"
    level = Equivalence.SCORES
    noun = "distances"
    sees_biases = False
    compares: ClassVar[Comparison | None] = "distance"
    needs_lengths = True

    def products(self, left: Floats, right: Floats) -> Floats:
        """Compute −½‖x − y‖² for each pair of rows."""
        half_left = np.square(left).sum(axis=1, keepdims=True) / 2
        half_right = np.square(right).sum(axis=1) / 2
        scores: Floats = left @ right.T - half_left - half_right
        # Rounding must not make a squared distance negative.
        return np.minimum(scores, 0.0, out=scores)

    def predict(self, scores: Floats) -> Floats:
        """Return the scores: a larger score means a smaller distance."""
        return scores

    def free_shifts(self, model: Sided) -> tuple[SideName, ...]:  # noqa: ARG002
        """Return the one table: one vector added to all rows keeps their distances."""
        return ("right",)


@dataclass(frozen=True, eq=False)
class ComparedHyperbolic(ComparedDistance):
    """Distances d of rows in the Poincaré ball, `cosh d = 1 + 2‖x − y‖² / ((1 − ‖x‖²)(1 − ‖y‖²))`.

    Isometries of hyperbolic space keep every distance and move the origin, so that no
    distance fixes a cosine (Nickel and Kiela, 2017, section 3). The scores are 1 − cosh d,
    which sort pairs as −d does. They need no square root, which would magnify the
    rounding error of a small ‖x − y‖².

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [np.tanh(0.5), 0.0]])
    >>> np.arccosh(1 - Link.comparing("hyperbolic").products(rows, rows)).round(9)
    array([[0., 1.],
           [1., 0.]])
    """

    name = "compared-hyperbolic"
    compares: ClassVar[Comparison | None] = "hyperbolic"

    def products(self, left: Floats, right: Floats) -> Floats:
        """Compute 1 − cosh d for each pair of rows."""
        # −½‖x − y‖² for each pair.
        euclidean = super().products(left, right)
        left_gaps, right_gaps = (
            np.maximum(1 - np.square(x).sum(axis=1), SMALLEST) for x in (left, right)
        )
        scores: Floats = 4 * euclidean / (left_gaps[:, None] * right_gaps)
        return scores

    def free_shifts(self, model: Sided) -> tuple[SideName, ...]:  # noqa: ARG002
        """Return no side: a shift is not an isometry of the ball."""
        return ()


Link.IDENTITY, Link.SOFTMAX, Link.SIGMOID = Identity(), Softmax(), Sigmoid()
Link.COSINE, Link.RANKING = Cosine(), Ranking()
_NAMED: dict[str, Link] = {
    link.name: link
    for link in (Link.IDENTITY, Link.SOFTMAX, Link.SIGMOID, Link.COSINE, Link.RANKING)
}
_STORED: dict[str, Link] = {
    link.name: link
    for link in (
        ComparedCosine(),
        ComparedDot(),
        ComparedDistance(),
        ComparedHyperbolic(),
        Unknown(),
    )
}
"""Links by the names that files hold, where people say `compared`, or nothing."""
_STORED["dot"] = Link.IDENTITY
