"""Sentences about the place of a model among its equivalents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.canonical.balance import BALANCED
from embaudit.canonical.factor_scaling import FactorScaling
from embaudit.core.ties import exceeds, first_best, reaches
from embaudit.model import Equivalence

if TYPE_CHECKING:
    from embaudit.canonical.hidden_bias import HiddenBias
    from embaudit.canonical.position import Position

NEAR = float(np.log(1.25))
"""ln κ below which a canonical gauge is near: it moves no cosine by more than 0.22."""
AT = 0.01
"""ln κ below which a model counts as being at a canonical gauge."""
MEANINGS = {
    "left-whitened": (
        "the {users}s are {near}whitened, so the {items}s' cosines are "
        "{near}prediction cosines. Those compare {items}s by their scores for all "
        "{users}s. The {users}s' own cosines are the doubtful ones"
    ),
    "balanced": (
        "{near}balanced, each latent direction shared out equally between {users}s and "
        "{items}s within κ = {kappa:.3f}. Equal weight decay on both sides leaves them "
        "so: a convention of training, which the predictions do not ask for"
    ),
    "right-whitened": (
        "the {items}s are {near}whitened. Every latent direction counts {near}the same "
        "in their cosines, however little it matters to a score. With as many "
        "directions as {items}s, all these cosines would be {near}0"
    ),
}
"""Clause on the cosines at each canonical gauge."""
LIBRARIES = {
    FactorScaling.TRUNCATED_SVD: (
        "TruncatedSVD of scikit-learn and BiasedSVD of LensKit write factors of this "
        "shape (UΣ, V)."
    ),
    FactorScaling.PURE_SVD: "RecTools' PureSVD writes factors of this shape (U, VΣ).",
    FactorScaling.ALIGNED: (
        "The columns are singular directions with scales of their own, as a product "
        "penalty leaves them."
    ),
}
"""Sentence on the libraries that write factors of each shape."""


def explain_position(position: Position) -> str:
    """Describe the place of the cosines of a model."""
    sentences = [_place(position)]
    if position.counted_distance is not None:
        sentences.append(_counted(position.counted_distance))
    if position.habit in LIBRARIES:
        sentences.append(LIBRARIES[position.habit])
    sentences += _unseen(position)
    sentences += [_hidden_bias(position, bias) for bias in position.hidden_biases]
    return " ".join(sentences)


def _place(position: Position) -> str:
    """Describe the exponent nearest to the factors, and its distance."""
    users, items = position.roles
    if position.link.predicts is Equivalence.COSINES:
        return (
            "This model predicts cosines, so nothing but a rotation can be told from "
            "its own factors by them."
        )
    if position.score_rank == 1:
        return (
            "The predictions see a single direction: every prediction cosine is 1 or "
            "-1, there is nothing to compare."
        )
    kappas = {name: float(np.exp(d)) for name, d in position.distances.items()}
    nearest = first_best(list(kappas), lambda name: -kappas[name])
    if exceeds(position.distance, NEAR):
        return (
            f"Your vectors are in none of the three standard forms; the {nearest} form "
            f"is nearest, a stretch of {kappas[nearest]:.2g} away. Training or storage "
            f"decided which {items}s look alike, the predictions did not."
        )
    start = f"Your cosines sit at exponent {position.exponent:.2f}:"
    if exceeds(kappas[nearest], BALANCED):
        low, high = "balanced", "right-whitened"
        if position.exponent < 0.5:
            low, high = "left-whitened", "balanced"
        return (
            f"{start} between {low} (a gauge of condition number {kappas[low]:.3g} "
            f"away) and {high} ({kappas[high]:.3g} away), near neither. Training or "
            "storage shared the directions out so, and the predictions leave it open."
        )
    near = ""
    if reaches(position.distances[nearest], AT):
        near = "nearly "
    meaning = MEANINGS[nearest].format(
        users=users, items=items, near=near, kappa=kappas[nearest]
    )
    return f"{start} {meaning}."


def _counted(distance: float) -> str:
    """Describe the distance from factors with weight decay at every interaction."""
    kappa = float(np.exp(distance))
    if not exceeds(kappa, BALANCED):
        return f"Weighted by interactions, they are balanced within κ = {kappa:.3f}."
    return (
        "Training with weight decay at every interaction would have left other "
        f"factors: these, with axes stretched by up to {kappa:.3f} against each other."
    )


def _unseen(position: Position) -> list[str]:
    """Return a sentence on the number of dimensions that no prediction sees.

    The list is empty if the predictions see all dimensions.
    """
    # Predictions see the direction in which a centred side is constant: it is a bias.
    centres = {"left": position.form.left_centre, "right": position.form.right_centre}
    biased = {bias.role for bias in position.hidden_biases if centres[bias.role].any()}
    n_unseen = position.rank - position.score_rank - len(biased)
    if n_unseen <= 0:
        return []
    verb = "are seen by no prediction; they move"
    if n_unseen == 1:
        verb = "is seen by no prediction; it moves"
    return [
        f"{n_unseen} of the {position.rank} dimensions {verb} the cosines and nothing "
        "else."
    ]


def _hidden_bias(position: Position, bias: HiddenBias) -> str:
    """Name a bias in a constant direction of the other side."""
    users, items = position.roles
    constant, other = items, users
    if bias.role == "left":
        constant, other = users, items
    where = "A mixture of columns"
    if bias.column is not None:
        where = f"Column {bias.column}"
    return (
        f"{where} of the {constant}s is constant, so the {other}s hold a bias there "
        "that their cosines count as a similarity. Split it off."
    )
