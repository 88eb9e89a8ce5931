"""Training objectives and the gauges each of them leaves free: what *training* pins down beyond the predictions.

Predictions leave every gauge of their level free. A regulariser on the factors themselves may not: then the
cosines are unique given the predictions, but chosen by the regulariser. One row a kind of training.

Sources: Steck, Ekanadham & Kallus (2024) for the first two rows; Nielsen (2026) for softmax; the stationarity of
weight decay for every row with decay on both factors: `l_P PᵀP = l_Q QᵀQ` where every row of a side decays alike,
`Pᵀ diag(n) P = Qᵀ diag(m) Q` where it decays with its numbers n, m of interactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from embaudit.model.links import Link
from embaudit.model.side import SideName


class Linear(IntEnum):
    """Kind of a linear change of the latent coordinates; each contains the ones before."""

    IDENTITY = 0
    """The identity: no coordinate changes."""
    ROTATION = 1
    """A rotation or a reflection: every length stays."""
    SIMILARITY = 2
    """A rotation with one scale for all directions: it keeps every cosine."""
    ANY = 3
    """Anything that can be undone."""


class Status(StrEnum):
    """Statement of a training objective about cosines."""

    FREE = "free"
    """Objective without a statement: equally good solutions have other cosines."""
    CHOSEN = "chosen by the regulariser"
    """One value, which another strength or kind of regularisation would change."""
    INPUTS = "tied to the inputs"
    """One value for these inputs, which rescaling the inputs would change."""
    TRAINED = "trained"
    """The cosine itself was trained."""
    UNKNOWN = "undecided"
    """Nobody has shown what such training makes of them."""
    PREDICTED = "cosines of predictions"
    """The vectors were made so that their cosines are those of another model's predictions."""


@dataclass(frozen=True)
class Objective:
    """A kind of training: what it minimises, the gauges it leaves free, what that makes of cosines."""

    name: str
    """Name of the objective for `--objective`."""
    loss: str
    """Loss that is minimised, in words."""
    linear: Linear
    """The largest kind of linear gauge that leaves its value unchanged."""
    shifts: tuple[SideName, ...]
    """Sides that may be shifted, as far as the predictions allow it, with its value unchanged."""
    status: Status
    """Statement of the objective about cosines."""
    cosines: str
    """Statement in words that follow "the cosines are"."""
    links: tuple[str, ...]
    """Links of the models that are usually trained so."""
    sides: int = 2
    """1 where only vectors of one side are made so, which then are no trained model."""

    def keeps(self, linear: Linear, shifts: Iterable[SideName]) -> bool:
        """Check that a gauge of equal predictions lies in the symmetry of the objective, so that its value stays.

        Examples
        --------
        >>> OBJECTIVES["factors"].keeps(Linear.ROTATION, []), OBJECTIVES["factors"].keeps(Linear.ROTATION, ["right"])
        (True, False)
        """
        return linear <= self.linear and set(shifts) <= set(self.shifts)


_SCORES = ("identity", "ranking", "sigmoid")
_BOTH: tuple[SideName, ...] = ("left", "right")
_REGULARISER = (
    "unique up to a common rotation given the predictions, but chosen by the regulariser, not by the data alone"
)

OBJECTIVES: Mapping[str, Objective] = {
    row.name: row
    for row in (
        Objective(
            "product",
            "squared loss with a penalty on the product of the factors (Netflix paper, Eq. 1; linear denoising)",
            Linear.ANY,
            (),
            Status.FREE,
            "not identified: every rescaling of the latent dimensions is an equally good solution",
            ("identity", "ranking"),
        ),
        Objective(
            "factors",
            "a loss with the same weight decay on every row of a side, on both sides (Netflix paper, Eq. 2; ALS)",
            Linear.ROTATION,
            (),
            Status.CHOSEN,
            _REGULARISER,
            _SCORES,
        ),
        Objective(
            "factors-counted",
            "a loss with weight decay at every interaction (ALS-WR, Spark's ALS, SGD with L2 at every sample)",
            Linear.ROTATION,
            (),
            Status.CHOSEN,
            "pinned by the penalty given the predictions, up to a common rotation. Such decay counts each row's "
            "interactions: whether the factors obey it is judged by Gram matrices weighted with the counts",
            _SCORES,
        ),
        Objective(
            "decoupled-decay",
            "a loss with decay apart from its gradient (AdamW)",
            # No function is known that such training minimises, and Adam treats each coordinate by itself: not even
            # a rotation is known to lead to an equally good solution, nor is any gauge known to be excluded.
            Linear.IDENTITY,
            (),
            Status.UNKNOWN,
            "undecided: no law is known for what decoupled decay leaves of them, given the predictions",
            (*_SCORES, "softmax"),
        ),
        Objective(
            "non-negative",
            "a loss on the scores with both sides held non-negative (NMF)",
            # Permutations and positive scales keep its value, too; no kind of gauge here is as small.
            Linear.IDENTITY,
            (),
            Status.FREE,
            "not identified: positive scales of the dimensions, undone on the other side, are equally good solutions",
            _SCORES,
        ),
        Objective(
            "none",
            "a loss on the scores without regularisation, with dropout on the scores, or skip-gram",
            Linear.ANY,
            _BOTH,
            Status.FREE,
            "not identified: the objective sees the scores only",
            _SCORES,
        ),
        Objective(
            "softmax",
            "cross-entropy over learned inputs (a network's last layer) without weight decay",
            Linear.ANY,
            _BOTH,
            Status.FREE,
            "not identified: neither the origin nor the axes of the labels are fixed",
            ("softmax",),
        ),
        Objective(
            "softmax-decay",
            "cross-entropy over learned inputs with weight decay on both sides",
            Linear.ROTATION,
            (),
            Status.CHOSEN,
            _REGULARISER,
            ("softmax",),
        ),
        Objective(
            "logistic",
            "cross-entropy over given inputs (logistic regression) without weight decay",
            Linear.IDENTITY,
            ("right",),
            Status.INPUTS,
            "identified up to a translation of all labels where the inputs, with a constant, span every direction. "
            "They follow how the inputs were scaled",
            ("softmax",),
        ),
        Objective(
            "logistic-decay",
            "cross-entropy over given inputs (logistic regression) with weight decay on all labels",
            Linear.IDENTITY,
            (),
            Status.INPUTS,
            "unique given the predictions for these inputs, but they follow the decay and how the inputs were scaled",
            ("softmax",),
        ),
        Objective(
            "cosine",
            "a loss on the cosines themselves (normalised two-tower model)",
            Linear.SIMILARITY,
            (),
            Status.TRAINED,
            "what was trained, as long as the rows span enough directions to fix their own lengths",
            ("cosine",),
        ),
        Objective(
            "prediction",
            "nothing: the vectors were made to hold the prediction cosines (`embaudit fix --as prediction`)",
            Linear.SIMILARITY,
            (),
            Status.PREDICTED,
            "cosines of the predictions of the model they were made from",
            ("identity",),
            sides=1,
        ),
    )
}


def usual_objectives(link: str | Link) -> tuple[Objective, ...]:
    """List the objectives that models of a link are usually trained with.

    Examples
    --------
    >>> [objective.name for objective in usual_objectives("identity")]
    ['product', 'factors', 'factors-counted', 'decoupled-decay', 'non-negative', 'none']
    """
    # Rows of length 1 were trained by their dot products or by their cosines: which is not declared.
    links = ("identity", "cosine") if str(link) == "unknown" else (str(link),)
    return tuple(row for row in OBJECTIVES.values() if not {*links}.isdisjoint(row.links) and row.sides == 2)
