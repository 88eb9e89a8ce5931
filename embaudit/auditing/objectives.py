"""Training objectives and the gauge each of them leaves free: what *training* pins down beyond the predictions.

Predictions leave every gauge of their level free. A regulariser on the factors themselves may not: then the
cosines are unique, but chosen by the regulariser. One row a kind of training.

Sources: Steck, Ekanadham & Kallus (2024) for the first two rows; Nielsen (2026) for softmax; the stationarity
of weight decay, `l_P PᵀP = l_Q QᵀQ`, for every row with decay on both factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from embaudit.errors import must_be
from embaudit.gauges import Diagonal, GaugeGroup, GeneralLinear, Orthogonal, Translation
from embaudit.model import Link

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    free: tuple[type[GaugeGroup], ...]
    """Kinds of gauges that leave its value unchanged."""
    status: Status
    """What it says about cosines."""
    cosines: str
    """The same in a sentence that follows "the cosines are"."""
    links: tuple[str, ...]
    """Links of the models that are usually trained so."""

    def symmetry(self, rank: int) -> tuple[GaugeGroup, ...]:
        """Return the gauge groups of rank `rank` under which the objective keeps its value."""
        return tuple(group(rank) for group in self.free)  # type: ignore[call-arg]


_SCORES = ("identity", "ranking")
_REGULARISER = "unique up to a common rotation, but chosen by the regulariser, not by the data alone"

OBJECTIVES: Mapping[str, Objective] = {
    row.name: row
    for row in (
        Objective(
            "product",
            "squared loss with a penalty on the product of the factors (Netflix paper, Eq. 1; linear denoising)",
            (Diagonal, Orthogonal, GeneralLinear),
            Status.FREE,
            "not identified: every rescaling of the latent dimensions is an equally good solution",
            _SCORES,
        ),
        Objective(
            "factors",
            "a loss with weight decay on both factors (Netflix paper, Eq. 2; ALS, BPR or SGD with L2)",
            (Orthogonal,),
            Status.CHOSEN,
            _REGULARISER,
            _SCORES,
        ),
        Objective(
            "none",
            "a loss on the scores without regularisation, with dropout on the scores, or skip-gram",
            (Diagonal, Orthogonal, GeneralLinear),
            Status.FREE,
            "not identified: the objective sees the scores only",
            _SCORES,
        ),
        Objective(
            "softmax",
            "cross-entropy over learned inputs (a network's last layer) without weight decay",
            (Diagonal, Orthogonal, GeneralLinear, Translation),
            Status.FREE,
            "not identified: neither the origin nor the axes of the labels are fixed",
            ("softmax",),
        ),
        Objective(
            "softmax-decay",
            "cross-entropy over learned inputs with weight decay on both sides",
            (Orthogonal,),
            Status.CHOSEN,
            _REGULARISER,
            ("softmax",),
        ),
        Objective(
            "logistic",
            "cross-entropy over given inputs (logistic regression) without weight decay",
            (Translation,),
            Status.INPUTS,
            "identified up to a translation of all labels, and they follow how the inputs were scaled",
            ("softmax",),
        ),
        Objective(
            "logistic-decay",
            "cross-entropy over given inputs (logistic regression) with weight decay on all labels",
            (),
            Status.INPUTS,
            "unique, but they follow the decay and how the inputs were scaled",
            ("softmax",),
        ),
        Objective(
            "cosine",
            "a loss on the cosines themselves (normalised two-tower model)",
            (Orthogonal,),
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
