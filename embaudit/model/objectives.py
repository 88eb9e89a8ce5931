"""Training objectives: the laws that say which gauges each objective leaves free.

Predictions leave every gauge of their level free. A regulariser on the factors may not:
then the cosines are unique given the predictions, but chosen by the regulariser
(docs/theory.md, "What training fixes"). `OBJECTIVES` is the table of these laws;
`embaudit.model.trainings` has the words that people use for their training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from embaudit.model.links import Link
from embaudit.model.side import SideName


class Linear(IntEnum):
    """Kind of linear change of the latent coordinates.

    Each kind contains the kinds before it.
    """

    IDENTITY = 0
    """The identity: no coordinate changes."""
    ROTATION = 1
    """A rotation or a reflection: every length stays."""
    SIMILARITY = 2
    """A rotation with one scale for all directions: it keeps every cosine."""
    ANY = 3
    """Any invertible matrix."""


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
    TEMPERATURE = "trained up to a temperature"
    """Cosines between the sides were trained up to a factor.

    Cosines within a side are open.
    """
    UNKNOWN = "undecided"
    """No law is known for what such training makes of the cosines."""
    PREDICTED = "cosines of predictions"
    """The cosines of the vectors are prediction cosines of another model."""


@dataclass(frozen=True)
class Objective:
    """Law of a training objective: its loss, the gauges that keep it, its cosines."""

    name: str
    """Name of the objective for `--objective`."""
    loss: str
    """Loss that is minimised, in words."""
    linear: Linear
    """Largest kind of linear gauge that leaves the value of the objective unchanged."""
    shifts: tuple[SideName, ...]
    """Sides whose shifts keep the value, as far as the predictions allow a shift."""
    status: Status
    """Statement of the objective about cosines."""
    cosines: str
    """Statement in words that follow "the cosines are".

    The noun of what the model computes stands in braces; `cosines_given` fills it in.
    """
    links: tuple[str, ...]
    """Links of the models that are usually trained with this objective."""
    source: str
    """Publication or argument that shows the law."""
    sides: int = 2
    """1 if the law is about vectors of one side, which were not trained."""

    def cosines_given(self, predictions: str = "predictions") -> str:
        """Return the statement about the cosines, given predictions or scores.

        Examples
        --------
        >>> OBJECTIVES["logistic-decay"].cosines_given("scores").partition(",")[0]
        'unique given the scores for these inputs'
        """
        return self.cosines.format(predictions=predictions)

    def keeps(self, linear: Linear, shifts: Iterable[SideName]) -> bool:
        """Return True if a gauge that keeps the predictions keeps the value, too.

        Examples
        --------
        >>> law = OBJECTIVES["factors"]
        >>> law.keeps(Linear.ROTATION, []), law.keeps(Linear.ROTATION, ["right"])
        (True, False)
        """
        return linear <= self.linear and set(shifts) <= set(self.shifts)


# A law holds for every weight decay on both factors: l_P PᵀP = l_Q QᵀQ if every row of
# a side decays alike, and Pᵀ diag(n) P = Qᵀ diag(m) Q if a row decays once for each of
# its n or m interactions.
_LAWS = (
    Objective(
        name="product",
        loss=(
            "squared loss with a penalty on the product of the factors (Netflix "
            "paper, Eq. 1; linear denoising)"
        ),
        linear=Linear.ANY,
        shifts=(),
        status=Status.FREE,
        cosines=(
            "not identified: every rescaling of the latent dimensions is an equally"
            " good solution"
        ),
        links=("identity", "ranking"),
        source="Steck, Ekanadham and Kallus (2024), Eq. 1",
    ),
    Objective(
        name="factors",
        loss=(
            "a loss with the same weight decay on every row of a side, on both "
            "sides (Netflix paper, Eq. 2; ALS)"
        ),
        linear=Linear.ROTATION,
        shifts=(),
        status=Status.CHOSEN,
        cosines=(
            "unique up to a common rotation given the {predictions}, but chosen by "
            "the regulariser, not by the data alone"
        ),
        links=("identity", "ranking", "sigmoid"),
        source=(
            "Steck, Ekanadham and Kallus (2024), Eq. 2; where the decay is "
            "stationary, l_P PᵀP = l_Q QᵀQ"
        ),
    ),
    Objective(
        name="factors-counted",
        loss=(
            "a loss with weight decay at every interaction (ALS-WR, Spark's ALS, "
            "SGD with L2 at every sample)"
        ),
        linear=Linear.ROTATION,
        shifts=(),
        status=Status.CHOSEN,
        cosines=(
            "pinned by the penalty given the {predictions}, up to a common rotation. "
            "Such decay counts each row's interactions: whether the factors obey it"
            " is judged by Gram matrices weighted with the counts"
        ),
        links=("identity", "ranking", "sigmoid"),
        source=(
            "at a minimum of the decay, Pᵀ diag(n) P = Qᵀ diag(m) Q with the "
            "numbers n and m of interactions"
        ),
    ),
    Objective(
        name="decoupled-decay",
        loss="a loss with decay apart from its gradient (AdamW)",
        # Adam treats each coordinate by itself: not even a rotation is known to lead to
        # an equally good solution, and no gauge is known to be excluded.
        linear=Linear.IDENTITY,
        shifts=(),
        status=Status.UNKNOWN,
        cosines=(
            "undecided: no law is known for the cosines that decoupled decay chooses, "
            "given the {predictions}"
        ),
        links=("identity", "ranking", "sigmoid", "softmax"),
        source="none: no function is known that such training minimises",
    ),
    Objective(
        name="non-negative",
        loss="a loss on the scores with both sides held non-negative (NMF)",
        # Permutations and positive scales keep its value, too, but no kind of `Linear`
        # is as small as that group.
        linear=Linear.IDENTITY,
        shifts=(),
        status=Status.FREE,
        cosines=(
            "not identified: positive scales of the dimensions, undone on the other"
            " side, are equally good solutions"
        ),
        links=("identity", "ranking", "sigmoid"),
        source=(
            "p q = (p d) (q / d) for every scale d > 0, and neither side becomes "
            "negative"
        ),
    ),
    Objective(
        name="none",
        loss=(
            "a loss on the scores without regularisation, with dropout on the "
            "scores, or skip-gram"
        ),
        linear=Linear.ANY,
        shifts=("left", "right"),
        status=Status.FREE,
        cosines="not identified: the objective sees the scores only",
        links=("identity", "ranking", "sigmoid"),
        source="the loss is a function of the scores",
    ),
    Objective(
        name="softmax",
        loss=(
            "cross-entropy over learned inputs (a network's last layer) without "
            "weight decay"
        ),
        linear=Linear.ANY,
        shifts=("left", "right"),
        status=Status.FREE,
        cosines="not identified: neither the origin nor the axes are fixed",
        links=("softmax",),
        source="Nielsen (2026)",
    ),
    Objective(
        name="softmax-decay",
        loss=(
            "cross-entropy with the same weight decay on labels and inputs, both "
            "free tables (no last layer)"
        ),
        linear=Linear.ROTATION,
        shifts=(),
        status=Status.CHOSEN,
        cosines=(
            "unique up to a common rotation given the {predictions}, but chosen by "
            "the regulariser, not by the data alone"
        ),
        links=("softmax",),
        source="at a minimum of the decay, l_P PᵀP = l_Q QᵀQ",
    ),
    Objective(
        name="logistic",
        loss=(
            "cross-entropy over given inputs (logistic regression) without weight decay"
        ),
        linear=Linear.IDENTITY,
        shifts=("right",),
        status=Status.INPUTS,
        cosines=(
            "identified if the inputs, with a constant, span every direction and"
            " no plane separates the labels; with a softmax, up to a translation of"
            " all labels. They depend on the scale of the inputs"
        ),
        links=("softmax",),
        source=(
            "the inputs are data, so that only the labels can change; a softmax "
            "does not change when all labels are shifted"
        ),
    ),
    Objective(
        name="logistic-l1",
        loss=(
            "cross-entropy over given inputs (logistic regression) with an L1 "
            "penalty or an elastic net"
        ),
        linear=Linear.IDENTITY,
        shifts=(),
        status=Status.INPUTS,
        cosines=(
            "unique for these inputs, but they depend on the penalty and on the scale "
            "of the inputs"
        ),
        links=("softmax",),
        source=(
            "the inputs are data, and the penalty is not constant over all shifts "
            "of the labels"
        ),
    ),
    Objective(
        name="logistic-decay",
        loss=(
            "cross-entropy over given inputs (logistic regression) with weight "
            "decay on all labels"
        ),
        linear=Linear.IDENTITY,
        shifts=(),
        status=Status.INPUTS,
        cosines=(
            "unique given the {predictions} for these inputs, but they depend on "
            "the decay and on the scale of the inputs"
        ),
        links=("softmax",),
        source="the inputs are data, and the decay is smallest for labels of mean 0",
    ),
    Objective(
        name="cosine",
        loss="a loss on the cosines themselves (normalised two-tower model)",
        linear=Linear.SIMILARITY,
        shifts=(),
        status=Status.TRAINED,
        cosines=(
            "trained directly, as long as the rows span enough directions to fix "
            "their own lengths"
        ),
        links=("cosine",),
        source='docs/theory.md, "Rows of length 1 may pin the rest"',
    ),
    Objective(
        name="temperature",
        loss=(
            "a loss on cosines of two sides divided by a temperature that is "
            "learned or not known (CLIP, SigLIP, InfoNCE)"
        ),
        linear=Linear.SIMILARITY,
        shifts=(),
        status=Status.TEMPERATURE,
        cosines=(
            "fixed in their order between the sides, but not in their level. Within a "
            "side they are a convention"
        ),
        links=("cosine",),
        source=(
            'docs/theory.md, "Two towers with a temperature fix the order between '
            'them alone"'
        ),
    ),
    Objective(
        name="fixed-temperature",
        loss=(
            "a softmax or a sigmoid of cosines of two sides divided by a "
            "temperature that training did not change"
        ),
        linear=Linear.SIMILARITY,
        shifts=(),
        status=Status.TRAINED,
        cosines=(
            "trained directly, as long as the rows span enough directions to fix "
            "their own lengths and their origin"
        ),
        links=("cosine",),
        source='docs/theory.md, "A fixed temperature may pin two towers"',
    ),
    Objective(
        name="prediction",
        loss=(
            "nothing: the vectors were made to hold the prediction cosines "
            "(`embaudit fix --as prediction`)"
        ),
        linear=Linear.SIMILARITY,
        shifts=(),
        status=Status.PREDICTED,
        cosines="the cosines of the predictions of the model that they were made from",
        links=("identity",),
        sides=1,
        source='docs/theory.md, "Prediction cosines"',
    ),
)
OBJECTIVES: Mapping[str, Objective] = {law.name: law for law in _LAWS}
"""All laws by their names."""


def usual_objectives(link: Link) -> tuple[Objective, ...]:
    """List the objectives that models of a link are usually trained with.

    Examples
    --------
    >>> from embaudit.model import LINKS
    >>> [objective.name for objective in usual_objectives(LINKS["identity"])]
    ['product', 'factors', 'factors-counted', 'decoupled-decay', 'non-negative', 'none']
    """
    links = {link.name}
    if link.name == "unknown":
        # Training compared unit rows by their dot product or by their cosine.
        links = {"identity", "cosine"}
    return tuple(
        law for law in _LAWS if law.sides == 2 and not links.isdisjoint(law.links)
    )
