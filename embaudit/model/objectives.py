"""Training objectives and the gauges each of them leaves free: what *training* pins down beyond the predictions.

Predictions leave every gauge of their level free. A regulariser on the factors themselves may not: then the
cosines are unique, but chosen by the regulariser. One row a kind of training.

Sources: Steck, Ekanadham & Kallus (2024) for the first two rows; Nielsen (2026) for softmax; the stationarity
of weight decay, `l_P PᵀP = l_Q QᵀQ`, for every row with decay on both factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from embaudit.errors import must_be

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from embaudit.model.links import Link
    from embaudit.model.side import SideName


class Linear(IntEnum):
    """How much a linear change of the latent coordinates does; each kind contains the ones before."""

    IDENTITY = 0
    """Nothing."""
    ROTATION = 1
    """It keeps every length: a rotation or a reflection."""
    SIMILARITY = 2
    """A rotation with one scale for all directions: it keeps every cosine."""
    ANY = 3
    """Anything that can be undone."""


class Status(StrEnum):
    """What the training objective says about cosines."""

    FREE = "free"
    """Nothing: equally good solutions have other cosines."""
    CHOSEN = "chosen by the regulariser"
    """One value, which another strength or kind of regularisation would change."""
    INPUTS = "tied to the inputs"
    """One value for these inputs, which rescaling the inputs would change."""
    TRAINED = "trained"
    """The cosine itself was trained."""


@dataclass(frozen=True)
class Objective:
    """A kind of training: what it minimises, the gauges it leaves free, what that makes of cosines."""

    name: str
    """What `--objective` calls it."""
    loss: str
    """What is minimised, in words."""
    linear: Linear
    """The largest kind of linear gauge that leaves its value unchanged."""
    shifts: tuple[SideName, ...]
    """Sides that may be shifted, as far as the predictions allow it, with its value unchanged."""
    status: Status
    """What it says about cosines."""
    cosines: str
    """The same in a sentence that follows "the cosines are"."""
    links: tuple[str, ...]
    """Links of the models that are usually trained so."""

    def keeps(self, linear: Linear, shifts: Iterable[SideName]) -> bool:
        """Whether a gauge that keeps the predictions lies in the symmetry of the objective, so that its value stays.

        Examples
        --------
        >>> OBJECTIVES["factors"].keeps(Linear.ROTATION, []), OBJECTIVES["factors"].keeps(Linear.ROTATION, ["right"])
        (True, False)
        """
        return linear <= self.linear and set(shifts) <= set(self.shifts)


_SCORES = ("identity", "ranking")
_BOTH: tuple[SideName, ...] = ("left", "right")
_REGULARISER = "unique up to a common rotation, but chosen by the regulariser, not by the data alone"

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
            _SCORES,
        ),
        Objective(
            "factors",
            "a loss with weight decay on both factors (Netflix paper, Eq. 2; ALS, BPR or SGD with L2)",
            Linear.ROTATION,
            (),
            Status.CHOSEN,
            _REGULARISER,
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
            "identified up to a translation of all labels, and they follow how the inputs were scaled",
            ("softmax",),
        ),
        Objective(
            "logistic-decay",
            "cross-entropy over given inputs (logistic regression) with weight decay on all labels",
            Linear.IDENTITY,
            (),
            Status.INPUTS,
            "unique, but they follow the decay and how the inputs were scaled",
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
    )
}


def training_objective(name: str) -> Objective:
    """Look an objective up by name.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> training_objective("factors").status
    <Status.CHOSEN: 'chosen by the regulariser'>
    """
    if name not in OBJECTIVES:
        raise must_be("objective", "one of " + ", ".join(OBJECTIVES), repr(name))
    return OBJECTIVES[name]


def usual_objectives(link: str | Link) -> tuple[Objective, ...]:
    """List the objectives that models of a link are usually trained with.

    Examples
    --------
    >>> [objective.name for objective in usual_objectives("identity")]
    ['product', 'factors', 'none']
    """
    return tuple(objective for objective in OBJECTIVES.values() if str(link) in objective.links)


def kept_objective(name: str | None, linear: Linear, shifts: Iterable[SideName] = ()) -> str | None:
    """Return the objective of a model if a gauge leaves its value alone, None if not: nobody trained the new model so.

    Examples
    --------
    >>> kept_objective("factors", Linear.ROTATION), kept_objective("factors", Linear.ANY)
    ('factors', None)
    """
    found = OBJECTIVES.get(name or "")
    return name if found is not None and found.keeps(linear, shifts) else None
