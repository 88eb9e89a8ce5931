"""A gauge position in plain words: where the cosines sit, and what to do next."""

from __future__ import annotations

import numpy as np

from embaudit.canonical.balance import BALANCED
from embaudit.canonical.position import NEAR, FactorScaling, Position
from embaudit.model import Equivalence

AT = 0.01
"""ln κ below which a model counts as being at a canonical gauge."""


def explain(position: Position) -> str:
    """Describe the place of the cosines of a model, and the next step.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.canonical.position import position
    >>> print(position(FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))).explain())
    Your cosines sit at exponent 1.00: the items are whitened. Every ... directly.
    """
    parts = [
        _where(position),
        _counted(position),
        _LIBRARIES.get(position.habit, ""),
        _rank(position),
        _biases(position),
        _next(position),
    ]
    return " ".join(sentence for sentence in parts if sentence)


def _where(position: Position) -> str:
    """Describe the exponent nearest to the factors, and its distance."""
    users, items = position.roles
    if position.link.predicts is Equivalence.COSINES:
        return "This model predicts cosines, so nothing but a rotation can be told from its own factors by them."
    if position.effective_rank == 1:
        return (
            "The predictions see a single direction: every prediction cosine is 1 or -1, there is nothing to compare."
        )
    nearest = min(position.distances, key=lambda name: position.distances[name])
    kappa = float(np.exp(position.distances[nearest]))
    if position.distance > NEAR:
        return (
            f"Your vectors are in none of the three standard forms; the {nearest} form is nearest, a stretch of "
            f"{kappa:.2g} away. Training or storage decided which {items}s look alike, the predictions did not."
        )
    start = f"Your cosines sit at exponent {position.exponent:.2f}:"
    if kappa > BALANCED:
        return f"{start} {_between(position)}"
    near = "" if position.distances[nearest] < AT else "nearly "
    return f"{start} {_meaning(nearest, near, kappa, users, items)}"


def _between(position: Position) -> str:
    ends = ("left-whitened", "balanced") if position.exponent < 0.5 else ("balanced", "right-whitened")
    kappa = [np.exp(position.distances[name]) for name in ends]
    return (
        f"between {ends[0]} (a gauge of condition number {kappa[0]:.3g} away) and {ends[1]} ({kappa[1]:.3g} away), "
        f"near neither. Training or storage shared the directions out so, and the predictions leave it open."
    )


def _meaning(name: str, near: str, kappa: float, users: str, items: str) -> str:
    """Describe the cosines at an exponent with a name."""
    if name == "right-whitened":
        return f"{whitened(items, near)}."
    if name == "left-whitened":
        return (
            f"the {users}s are {near}whitened, so the {items}s' cosines are {near}prediction cosines. Those compare "
            f"{items}s by their scores for all {users}s. The {users}s' own cosines are the doubtful ones."
        )
    return (
        f"{near}balanced, each latent direction shared out equally between {users}s and {items}s within κ = "
        f"{kappa:.3f}. Equal weight decay on both sides leaves them so: a convention of training, which the "
        f"predictions do not ask for."
    )


def whitened(items: str, near: str = "") -> str:
    """Describe cosines of a side whose columns are orthonormal; the other side may be at hand or not.

    Examples
    --------
    >>> print(whitened("item"))
    the items are whitened. Every latent direction counts the same in their cosines, ... these cosines would be 0
    """
    return (
        f"the {items}s are {near}whitened. Every latent direction counts {near}the same in their cosines, however "
        f"little it matters to a score. With as many directions as {items}s, all these cosines would be {near}0"
    )


def _counted(position: Position) -> str:
    """Describe the distance of the factors from those that decay at every interaction leaves, where these are known."""
    if position.counted_distance is None:
        return ""
    kappa = float(np.exp(position.counted_distance))
    if kappa <= BALANCED:
        return f"Weighted by interactions, they are balanced within κ = {kappa:.3f}."
    return (
        "Training with weight decay at every interaction would have left other factors: these, with axes stretched by "
        f"up to {kappa:.3f} against each other."
    )


_LIBRARIES = {
    FactorScaling.TRUNCATED_SVD: (
        "TruncatedSVD of scikit-learn and BiasedSVD of LensKit write factors of this shape (UΣ, V)."
    ),
    FactorScaling.PURE_SVD: "RecTools' PureSVD writes factors of this shape (U, VΣ).",
    FactorScaling.ALIGNED: (
        "The columns are singular directions with scales of their own, as a product penalty leaves them."
    ),
}


def _rank(position: Position) -> str:
    lost = position.rank - position.effective_rank
    if not lost:
        return ""
    verb = "is seen by no prediction; it moves" if lost == 1 else "are seen by no prediction; they move"
    return f"{lost} of the {position.rank} dimensions {verb} the cosines and nothing else."


def _biases(position: Position) -> str:
    """Name each bias that is hidden in a constant direction of the other side."""
    sentences = []
    for bias in position.hidden_biases:
        users, items = position.roles
        constant, other = (users, items) if bias.role == "left" else (items, users)
        where = "A mixture of columns" if bias.column is None else f"Column {bias.column}"
        sentences.append(
            f"{where} of the {constant}s is constant, so the {other}s hold a bias there that their cosines count "
            f"as a similarity. Split it off."
        )
    return " ".join(sentences)


def _next(position: Position) -> str:
    """Name the next step."""
    users, items = position.roles
    if position.link.predicts is Equivalence.COSINES:
        return "Check with the rank test whether training on the cosine pinned the factors."
    if position.effective_rank == 1:
        return f"Do not compare {items}s by cosine; compare their scores."
    if position.distances["left-whitened"] < AT:
        return f"Keep the {items} vectors; for {users}s use `embaudit fix MODEL --as prediction`."
    return (
        "Next: `embaudit fix MODEL --as prediction` writes vectors whose plain cosine is fixed by the predictions, "
        "and which a vector index can use directly."
    )
