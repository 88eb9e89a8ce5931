"""Links: functions from scores to predictions, and the gauges that each one allows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, is_number, require_one_of
from embaudit.core.tolerances import BALL_MARGIN
from embaudit.errors import must_be
from embaudit.model.equivalence import Equivalence, largest_gap, log_softmax
from embaudit.model.side import SideName

Comparison: TypeAlias = Literal["cosine", "dot", "distance", "hyperbolic"]
"""How the rows of one table are compared with each other."""
COMPARISON_WORDS: dict[Comparison, str] = {
    "cosine": "cosine",
    "dot": "dot product",
    "distance": "distance",
    "hyperbolic": "hyperbolic distance",
}
"""Words that follow "rows compared by" in a sentence."""


@dataclass(frozen=True)
class Link:
    """Link from the scores of a model to its predictions.

    Two links are equal if they make the same predictions, whether they were declared or
    assumed.

    `FactorModel` accepts the name of a link, and keeps the link as its field `link`.

    Examples
    --------
    >>> from embaudit.model.links import LINKS, softmax_link
    >>> LINKS["softmax"].predicts.title, softmax_link(soft_cap=30.0).predicts.title
    ('probabilities', 'scores')
    """

    name: str
    """Name in a file or on the command line."""
    level: Equivalence = field(repr=False)
    """Level at which models are compared: scores, probabilities, order or cosines."""
    predicts: Equivalence = field(repr=False)
    """Level that a gauge must preserve for the predictions to stay."""
    noun: str = field(default="scores", repr=False)
    """Name of the scores in sentences."""
    unit_sides: tuple[SideName, ...] = ()
    """Sides whose rows are divided by their length before they are multiplied."""
    fixes_origin: bool = field(default=False, repr=False)
    """True if no shift of the rows keeps the predictions, whatever the biases are."""
    sees_biases: bool = field(default=True, repr=False)
    """True if biases and offset enter the scores."""
    compares: Comparison | None = field(default=None, repr=False)
    """Comparison of right rows with each other, if that is the prediction; there is no
    left side."""
    soft_cap: float | None = None
    """c of a cap `c tanh(s/c)` on the scores of a softmax."""
    is_assumed: bool = field(default=False, repr=False, compare=False)
    """True if neither a file nor the caller declared the link."""

    @property
    def comparison_words(self) -> str:
        """Words that follow "rows compared by"; empty for models of two sides."""
        if self.compares is None:
            return ""
        return COMPARISON_WORDS[self.compares]

    @property
    def measures_distances(self) -> bool:
        """True if rows are compared by their distance, which fixes no cosine."""
        return self.compares in ("distance", "hyperbolic")

    @property
    def scored_role(self) -> SideName:
        """Side whose rows are scored against the right rows.

        It is "right" for a model of one table.
        """
        return "left" if self.compares is None else "right"

    @property
    def needs_lengths(self) -> bool:
        """True if a gauge must keep the lengths of rows.

        This is so if no other side makes up for a common scale.
        """
        if self.compares is not None:
            return self.compares != "cosine"
        return len(self.unit_sides) == 1

    @property
    def sensitivity(self) -> float:
        """Lipschitz constant of `gap` with respect to the scores.

        A log-probability and an order depend on two scores, which may move apart.
        """
        depends_on_two = (Equivalence.PROBABILITIES, Equivalence.RANKINGS)
        return 2.0 if self.level in depends_on_two else 1.0

    @property
    def guard(self) -> str:
        """Guards of a softmax head beyond `x·w + b`, in words.

        Empty for a plain softmax.
        """
        guards = []
        if self.soft_cap is not None:
            guards.append(f"a logit soft-cap of {self.soft_cap:g}")
        if self.name == "softmax" and self.unit_sides:
            guards.append("label rows of length 1")
        return " and ".join(guards)

    def products(self, left: Floats, right: Floats) -> Floats:
        """Compute the scores of rows without biases.

        These are dot products, −½‖x − y‖² for distances, and 1 − cosh d for hyperbolic
        distances.

        Examples
        --------
        >>> left, right = np.array([[3.0, 0.0]]), np.array([[3.0, 4.0], [3.0, 0.0]])
        >>> LINKS["compared-distance"].products(left, right)
        array([[-8.,  0.]])
        >>> rows = np.array([[0.0, 0.0], [np.tanh(0.5), 0.0]])
        >>> np.arccosh(1 - LINKS["compared-hyperbolic"].products(rows, rows)).round(9)
        array([[0., 1.],
               [1., 0.]])
        """
        if self.compares == "distance":
            return _half_squared_distances(left, right)
        if self.compares == "hyperbolic":
            return _hyperbolic_scores(left, right)
        product: Floats = left @ right.T
        return product

    def predict(self, scores: Floats) -> NDArray[Any]:
        """Turn rows of scores into predictions."""
        if self.name == "softmax":
            return np.exp(log_softmax(self._capped(scores)))
        if self.name == "sigmoid":
            # 1/(1 + e^−s), without an exponential that overflows.
            return 0.5 + 0.5 * np.tanh(scores / 2)
        if self.name == "ranking":
            # Stable: of equal scores the earlier row comes first, in every model alike.
            return np.argsort(-scores, axis=1, kind="stable")
        return scores

    def gap(self, before: Floats, after: Floats) -> float:
        """Measure the largest difference of predictions of two blocks of scores."""
        return largest_gap(self.level, self._capped(before), self._capped(after))

    def _capped(self, scores: Floats) -> Floats:
        """Return `c tanh(s/c)`, or the scores if there is no cap."""
        if self.soft_cap is None:
            return scores
        return self.soft_cap * np.tanh(scores / self.soft_cap)


def _half_squared_distances(left: Floats, right: Floats) -> Floats:
    """Compute −½‖x − y‖² for each pair of rows."""
    half_left = np.square(left).sum(axis=1, keepdims=True) / 2
    half_right = np.square(right).sum(axis=1) / 2
    scores: Floats = left @ right.T - half_left - half_right
    # Rounding must not make a squared distance negative.
    return np.minimum(scores, 0.0, out=scores)


def _hyperbolic_scores(left: Floats, right: Floats) -> Floats:
    """Compute 1 − cosh d for each pair of rows in the Poincaré ball.

    `cosh d = 1 + 2‖x − y‖² / ((1 − ‖x‖²)(1 − ‖y‖²))`. These scores sort pairs as −d
    does, without a square root, which would magnify the rounding error of a small
    ‖x − y‖².
    """
    left_gaps = np.maximum(1 - np.square(left).sum(axis=1), BALL_MARGIN)
    right_gaps = np.maximum(1 - np.square(right).sum(axis=1), BALL_MARGIN)
    scores: Floats = 4 * _half_squared_distances(left, right)
    scores /= left_gaps[:, None] * right_gaps
    return scores


_ALL = (
    # The scores themselves (ratings, counts).
    Link("identity", Equivalence.SCORES, Equivalence.SCORES),
    # Probabilities over the right rows, for each left row; see `softmax_link`.
    Link(
        "softmax", Equivalence.PROBABILITIES, Equivalence.PROBABILITIES, noun="logits"
    ),
    # The probability of each right row by itself: each score can be read from it.
    Link("sigmoid", Equivalence.SCORES, Equivalence.SCORES, noun="logits"),
    # The cosine of the two rows (a normalised two-tower model).
    Link(
        "cosine",
        Equivalence.COSINES,
        Equivalence.COSINES,
        noun="predicted cosines",
        unit_sides=("left", "right"),
        fixes_origin=True,
        sees_biases=False,
    ),
    # Only the order of the right rows counts. Any small enough change keeps an order,
    # not only gauges: a bound over gauges does not bound every equivalent model.
    Link("ranking", Equivalence.RANKINGS, Equivalence.RANKINGS),
    # Dot products of rows of length 1, if it is not declared whether training divided
    # by lengths. A dot product and a cosine are the same number there. A gauge must
    # keep both.
    Link(
        "unknown",
        Equivalence.SCORES,
        Equivalence.COSINES,
        fixes_origin=True,
        is_assumed=True,
    ),
    # Cosines of the rows of one table with each other, on which sentence encoders are
    # trained. If training compared them through a temperature, their order is fixed and
    # their level is not: rows `(√(1−b) x̂, √b)` with temperature `(1−b)τ` have cosines
    # `(1−b)c + b` and the same softmax.
    Link(
        "compared-cosine",
        Equivalence.COSINES,
        Equivalence.COSINES,
        noun="predicted cosines",
        unit_sides=("right",),
        fixes_origin=True,
        sees_biases=False,
        compares="cosine",
    ),
    # The Gram matrix `X Xᵀ` of one table. It fixes X up to an orthogonal map, hence
    # every cosine. Products of different rows alone do so for generic rows if n > k and
    # `(n − k)² > n + k` (Ledermann's bound; Bekker and ten Berge, 1997). A softmax over
    # them does not: rows `(x, √a)` have the same softmax and other cosines.
    Link(
        "compared-dot",
        Equivalence.SCORES,
        Equivalence.COSINES,
        fixes_origin=True,
        compares="dot",
    ),
    # Euclidean distances of the rows of one table, as TransE and metric learning train
    # them. Rotations of all rows and one vector added to all rows keep every distance,
    # and no other maps do (Schoenberg, 1935). A cosine depends on the origin; no
    # distance does.
    Link(
        "compared-distance",
        Equivalence.SCORES,
        Equivalence.SCORES,
        noun="distances",
        sees_biases=False,
        compares="distance",
    ),
    # Distances in the Poincaré ball. Isometries of hyperbolic space keep every distance
    # and move the origin, so that no distance fixes a cosine (Nickel and Kiela, 2017,
    # section 3). A shift is not an isometry of the ball.
    Link(
        "compared-hyperbolic",
        Equivalence.SCORES,
        Equivalence.SCORES,
        noun="distances",
        fixes_origin=True,
        sees_biases=False,
        compares="hyperbolic",
    ),
)
LINKS: dict[str, Link] = {link.name: link for link in _ALL}
"""All links by their names."""
LINK_NAMES = ("identity", "softmax", "sigmoid", "cosine", "ranking")
"""Links that can be declared by name. A model of one table declares its comparison."""


def as_link(link: str | Link) -> Link:
    """Return the link of a name, or the link itself.

    Raises
    ------
    InputError
        For an unknown name.
    """
    if isinstance(link, Link):
        return link
    if not isinstance(link, str) or link not in LINKS:
        raise must_be("link", "one of " + ", ".join(LINK_NAMES), repr(link))
    return LINKS[link]


def softmax_link(*, soft_cap: float | None = None, unit_rows: bool = False) -> Link:
    """Return a softmax over the right rows: `softmax(s)`, or `softmax(c tanh(s/c))`.

    Parameters
    ----------
    soft_cap : float, optional
        c. A cap bends each score by itself, so that adding a constant to a row of
        scores changes the probabilities: a gauge must keep the scores.
    unit_rows : bool
        True if label rows are divided by their length before use: then a gauge must
        keep the lengths, too.

    Returns
    -------
    Link
        The link. Without a cap and unit rows it equals the link named "softmax".

    Examples
    --------
    >>> from embaudit.model.links import LINKS
    >>> softmax_link(soft_cap=30.0)
    Link(name='softmax', unit_sides=(), soft_cap=30.0)
    >>> softmax_link() == LINKS["softmax"], softmax_link(unit_rows=True).predicts.title
    (True, 'cosines')
    >>> softmax_link(unit_rows="yes")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: unit_rows must be True or False; got 'yes'.
    """
    if soft_cap is not None and not (is_number(soft_cap) and soft_cap > 0):
        raise must_be(
            "soft_cap", "a positive number", repr(soft_cap), "None declares no cap"
        )
    if not isinstance(unit_rows, bool):
        raise must_be("unit_rows", "True or False", repr(unit_rows))
    predicts = Equivalence.PROBABILITIES
    if soft_cap is not None:
        predicts = Equivalence.SCORES
    if unit_rows:
        # The scores of an input are cosines up to its length.
        predicts = Equivalence.COSINES
    return replace(
        LINKS["softmax"],
        predicts=predicts,
        unit_sides=("right",) if unit_rows else (),
        soft_cap=soft_cap,
    )


def comparison_link(compared: Comparison) -> Link:
    """Return the link of a model that compares the rows of one table with each other.

    Raises
    ------
    InputError
        Unless `compared` is one of the words of `Comparison`.

    Examples
    --------
    >>> comparison_link("dot").name
    'compared-dot'
    """
    require_one_of(compared, "compared", get_args(Comparison))
    return LINKS[f"compared-{compared}"]
