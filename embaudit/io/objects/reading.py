"""What was read of a live object, and whether its scores are those that the object itself gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.intake import Intake, Part
from embaudit.io.request import Request
from embaudit.model import FactorModel

Own: TypeAlias = Callable[[Indices, Indices], Any]
"""Scores as an object itself gives them, for some left rows (first) and right rows."""
TOLERANCE = 1e-4
"""How far single precision may take two ways to one score apart, of the largest of them."""


@dataclass(frozen=True)
class Given:
    """What the caller said of an object."""

    request: Request = field(default_factory=Request)
    """What `load` takes, too."""
    user_features: Any = None
    item_features: Any = None
    user_ids: Any = None
    item_ids: Any = None
    item_names: Any = None
    inputs: Any = None

    def named(self, model: FactorModel) -> FactorModel:
        """Give the rows of a model the ids and titles that were said."""
        said = {"left_ids": self.user_ids, "right_ids": self.item_ids, "right_names": self.item_names}
        changes = {field: values for field, values in said.items() if values is not None}
        return model.replace(**changes) if changes else model


@dataclass(frozen=True)
class Reading:
    """A model, and what to hold its scores against."""

    model: FactorModel
    own: Own | None = None
    """None where the object cannot score by itself."""
    method: str = "predict"
    """What the object calls that."""
    probes: NDArray[Any] | None = None
    """Left rows to score where the model has none."""
    inputs: NDArray[Any] | None = None
    """The inputs that were given, as they reach the factors."""
    taken: Mapping[str, str] = field(default_factory=dict)
    """Where in the object each field of the model comes from."""
    found: Intake | None = None
    """What the names of its arrays said, where it is read by these."""
    pairs: tuple[Indices, Indices, Floats] | None = None
    """Left rows, right rows and scores of examples, where these choose the rows."""

    def intake(self, model: FactorModel, library: str, given: Given) -> Intake:
        """Say what became what: of the object, and of what the caller said beside it."""
        said = {"left": given.inputs, "left_ids": given.user_ids, "right_ids": given.item_ids,
                "right_names": given.item_names}  # fmt: skip
        beside = tuple(_part("what was given", name, model) for name, values in said.items() if values is not None)
        if self.found is not None:
            found = replace(self.found, format=library, files=())
        else:
            # Vectors alone are scored by nothing.
            unused = {"link"} if model.left is None and model.link == "identity" else set()
            unused |= {"offset"} if not model.offset else set()
            held = {
                name: where
                for name, where in self.taken.items()
                if getattr(model, name) is not None and name not in unused
            }
            found = Intake(library, (), tuple(_part(where, name, model) for name, where in held.items()))
        found = found.beside(*beside).of(model, said=given.request.given)
        return found.trained(model.objective, said=given.request.objective is not None)


def _part(where: str, name: str, model: FactorModel) -> Part:
    return Part(where, name, np.shape(getattr(model, name)))


def require_agreement(reading: Reading, model: FactorModel, name: str) -> None:
    """Refuse a model whose scores are not those of the object it was read from.

    Parameters
    ----------
    reading : Reading
        How the object scores.
    model : FactorModel
        What was read, with what the caller said.
    name : str
        What to call the object.

    Raises
    ------
    InputError
        If one of a few scores, and the prediction made of it, differ by more than 1e-4 of the largest.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0]], [[2.0]])
    >>> require_agreement(Reading(model, lambda users, items: [[2.0]]), model, "MF")
    >>> require_agreement(Reading(model, lambda users, items: [[2.5]]), model, "MF")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the scores read from MF must be its own; got 2 where its predict says 2.5 ...
    """
    scored = model if reading.probes is None else model.replace(left=reading.probes)
    if reading.pairs is not None:
        left, right, theirs = reading.pairs
    elif reading.own is not None:
        rows, columns = _some(scored.n_left, 3), _some(scored.n_right, 5)
        left, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        theirs = np.asarray(reading.own(rows, columns), dtype=float).ravel()
    else:
        return
    if not len(left) == len(right) == len(theirs):
        raise must_be(f"the outputs of {name}", "one score a pair", f"{len(theirs)} for {len(left)} pairs")
    ways = _ways(scored, left, right)
    if not any(_gaps(ours, theirs).max() <= 1 for ours in ways):
        raise _disagreement(ways[0], theirs, name, reading.method, (left, right))


def _ways(model: FactorModel, left: Indices, right: Indices) -> list[Floats]:
    """Return what a library may give for pairs: scores, what its link makes of them, logarithms of probabilities."""
    rows, place = np.unique(left, return_inverse=True)
    scores = model.scores(rows)[place, right]
    if model.link == "ranking":
        return [scores]
    predictions = np.asarray(model.predictions(rows))[place, right]
    if model.link != "softmax":
        return [scores, predictions]
    with np.errstate(divide="ignore"):
        return [predictions, scores, np.log(predictions)]


def _some(n_rows: int, count: int) -> Indices:
    return np.unique(np.linspace(0, n_rows - 1, count).astype(np.intp))


def _gaps(ours: Floats, theirs: Floats) -> Floats:
    allowed = TOLERANCE * max(1.0, float(np.abs(theirs).max(initial=0.0)))
    return np.asarray(np.where(np.isfinite(theirs), np.abs(ours - theirs), np.inf) / allowed)


def _disagreement(ours: Floats, theirs: Floats, name: str, method: str, rows: tuple[Indices, Indices]) -> InputError:
    k = int(np.argmax(_gaps(ours, theirs)))
    return InputError(
        f"the scores read from {name} must be its own; got {ours[k]:.6g} where its {method} says {theirs[k]:.6g} "
        f"(row {rows[0][k]} of the left side, row {rows[1][k]} of the right); it does more than multiply these "
        "factors: pass the tables it really multiplies to FactorModel.from_user_item, or its vectors alone to "
        "from_vectors."
    )
