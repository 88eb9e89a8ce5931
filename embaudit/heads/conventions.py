"""Conventions for reading one head behind a final norm: as stored, folded or centred.

All of them are the same model. With `logits = W(γ ⊙ x̂ + β) + b`, the head `W diag(γ)`
with the bias `b + Wβ` gives the same logits on x̂ itself. Behind a LayerNorm x̂ sums to
0, so any multiple of the ones vector may be added to each row of W.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from embaudit.canonical import identified_factors
from embaudit.core.checked import Floats, Indices, Matrix, Vector
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import first_best
from embaudit.errors import InputError, must_be
from embaudit.gauges import Gauge
from embaudit.heads.coordinates import require_softmax
from embaudit.heads.label_sample import only_labels
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours, tie_of
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel
from embaudit.model.drift import Drift, drift
from embaudit.model.final_norm import FinalNorm
from embaudit.movements.movement import scale_to_lists
from embaudit.movements.neighbourhoods import (
    N_LISTED,
    NearestChanged,
    Neighbourhood,
    named_neighbourhoods,
)
from embaudit.movements.twins import Twins, twins

N_STATES = 1_000
"""Random states, normalised as the model does, on which logits are compared."""
SEARCHED = 20_000_000
"""Cosines computed for each convention at most, from 50 labels on."""
CELLS = 2**35
"""Products computed for these at most, from 150 labels on."""
STORED, FOLDED = "as stored", "folded"
EXAMPLES = 3
"""Labels whose neighbours are shown."""
LOGITS = "logit cosines"
"""Name of the convention that the inputs of the model make."""


@dataclass(frozen=True, eq=False)
class Convention:
    """One form of a head: `(W − centre) diag(γ)`, with or without its part along ones.

    Every state behind a LayerNorm sums to 0, so the part along the ones vector adds
    nothing to a logit there.

    Examples
    --------
    >>> Convention("folded", gain=np.array([2.0, 1.0])).rows(np.array([[1.0, 3.0]]))
    array([[2., 3.]])
    >>> level = Convention("level", gain=np.array([2.0, 1.0]), level=True)
    >>> level.rows(np.array([[1.0, 3.0]]))
    array([[-0.5,  0.5]])
    """

    name: str
    """Name of the form, such as "folded"."""
    gain: Vector | None = None
    """(k,) γ if it is folded in."""
    level: bool = False
    """True if the part along the ones vector is removed."""
    centre: Vector | None = None
    """(k,) the mean row of W if it is removed."""

    def rows(self, block: Floats) -> Floats:
        """Bring some rows of W, in float64, to this form."""
        x = block
        if self.centre is not None:
            x = x - self.centre
        if self.gain is not None:
            x = x * self.gain
        if self.level:
            x = x - x.mean(axis=1, keepdims=True)
        return x

    @property
    def is_stored(self) -> bool:
        """True if this form leaves all rows as they are stored."""
        return self.gain is None and not self.level and self.centre is None

    def view(self, rows: Matrix) -> Rows:
        """Bring rows to this form when they are read, so that no copy of W is kept.

        Examples
        --------
        >>> folded = Convention("folded", gain=np.array([2.0, 1.0]))
        >>> folded.view(np.array([[1.0, 3.0], [0.0, 1.0]]))[1:]
        array([[0., 1.]])
        """
        return rows if self.is_stored else Mapped(rows, self.rows, rows.shape[1])

    def apply(self, rows: Matrix) -> Matrix:
        """Bring all rows to this form, in the precision in which they are stored."""
        view = self.view(rows)
        return view.stored() if isinstance(view, Mapped) else rows

    def bias(self, head: FactorModel, norm: FinalNorm) -> Vector | None:
        """Return the bias of the head in this form.

        It is `b + (W − centre)β` if γ is folded in, because
        `(W − centre)(γ ⊙ x̂ + β) = (W − centre) diag(γ) x̂ + (W − centre)β`.
        """
        if self.gain is None or norm.shift is None:
            return head.right_bias
        centre = 0.0 if self.centre is None else self.centre @ norm.shift
        added: Floats = np.asarray(head.right @ norm.shift, dtype=np.float64) - centre
        return added if head.right_bias is None else head.right_bias + added

    def model(
        self, head: FactorModel, norm: FinalNorm, normalised: Floats
    ) -> FactorModel:
        """Return the head of this form with inputs for (n, k) normalised states x̂."""
        inputs = norm.scaled(normalised) if self.gain is None else normalised
        without_inputs = head.replace(left=None, objective=None)
        return without_inputs.replace(
            left=inputs, right=self.apply(head.right), right_bias=self.bias(head, norm)
        )


def require_norm(head: FactorModel, norm: FinalNorm) -> None:
    """Raise InputError unless the model is a softmax head that a norm can precede.

    Raises
    ------
    InputError
        If the model is not a softmax head, has another number of dimensions than the
        norm, or divides its rows by their lengths.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> require_norm(head, FinalNorm("rms", [1.0, 1.0, 1.0]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a final norm must be as wide as the head, 2 dimensions;
    got 3.
    """
    require_softmax(head, "a final norm")
    if norm.width != head.rank:
        raise must_be(
            "a final norm", f"as wide as the head, {head.rank} dimensions", norm.width
        )
    if head.link.unit_sides:
        raise must_be(
            "a final norm",
            "given only for a head that keeps the lengths of its rows",
            "a head that divides its rows by their lengths",
        )


def folding(norm: FinalNorm) -> Gauge | None:
    """Make the gauge `M = diag(1/γ)` that folds a norm into its head.

    None if a gain is 0.

    Examples
    --------
    >>> folding(FinalNorm("rms", [1.0, 4.0])).condition_number
    4.0
    """
    return Gauge.diagonal(1 / norm.gain) if norm.gain.all() else None


def conventions(head: FactorModel, norm: FinalNorm) -> tuple[Convention, ...]:
    """List the forms in use that give this head's predictions.

    The stored form is the first, the form with most parts removed the last. Under a
    soft cap the mean row stays, because predictions would show a shift of all logits.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> [form.name for form in conventions(head, FinalNorm("layer", [1.0, 2.0]))]
    ['as stored', 'folded', 'folded, less ones', 'folded and centred']
    """
    require_norm(head, norm)
    forms = [Convention(STORED), Convention(FOLDED, norm.gain)]
    if norm.sums_to_zero:
        forms.append(Convention("folded, less ones", norm.gain, level=True))
    centred = centred_form(head, norm)
    if centred.centre is not None:
        forms.append(centred)
    return tuple(forms)


def centred_form(head: FactorModel, norm: FinalNorm) -> Convention:
    """Return the folded form without all parts that no prediction shows.

    These are the part along the ones vector behind a LayerNorm, and the mean row unless
    something such as a soft cap makes predictions depend on it.
    """
    centre = head.right_side.moments.mean if "right" in head.free_shifts else None
    return Convention(
        "folded and centred", norm.gain, level=norm.sums_to_zero, centre=centre
    )


@dataclass(frozen=True)
class ConventionDistance:
    """Changes of nearest labels and of cosines between two conventions."""

    first: str
    """Name of the first convention."""
    second: str
    """Name of the second one."""
    nearest: NearestChanged
    """Labels without a copy whose nearest label changes; ties count as kept."""
    first_changed: float
    """Share of the labels searched, with copies, whose first neighbour changes.

    Ties count as changed."""
    top_n: int
    """N of the longer lists."""
    top_n_changed: float
    """Mean share of the N nearest in the first that are not among the N nearest in the
    second, over labels without a copy."""
    mean_abs: float
    """Mean |Δcos| over all pairs of the labels examined."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "nearest": self.nearest,
                "first_changed": self.first_changed,
                "top_n": self.top_n,
                "top_n_changed": self.top_n_changed,
                "mean_abs": self.mean_abs,
                "one": self.first,
                "other": self.second,
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class NormEvidence:
    """Differences between the cosines of a head in its forms behind a final norm."""

    norm: FinalNorm
    """The norm."""
    forms: tuple[Convention, ...]
    """The forms of the head, as stored first."""
    drift: tuple[Drift, ...]
    """Drift of the predictions of each form but the first from the stored head."""
    apart: tuple[ConventionDistance, ...]
    """Distance of each pair of conventions."""
    labels: Indices
    """Labels among which cosines were compared."""
    queries: Indices
    """Labels without a copy whose nearest labels, among all labels, were compared."""
    lists: NeighbourLists
    """The nearest label of each of them in the head as stored."""
    n_copies: int
    """Labels left out of `queries` because another label has their direction."""
    ones: float | None
    """Median part of a folded row along the ones vector, over the length of the rest.

    None behind an RMSNorm.
    """
    examples: tuple[Neighbourhood, ...] = ()
    """A few labels with their neighbours in the first and in the last form.

    Labels that lose most neighbours come first.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "ones": self.ones,
                "n_copies": self.n_copies,
                "apart": self.apart,
                "kind": self.norm.kind,
                "condition_number": self.norm.condition_number,
                "shift": self.has_shift,
                "n_labels": len(self.labels),
                "n_asked": len(self.queries),
                "drift": [
                    {"form": form.name, **change.to_dict()}
                    for form, change in zip(self.forms[1:], self.drift, strict=True)
                ],
            }
        )

    def between(self, first: str, second: str) -> ConventionDistance:
        """Return how far two conventions lie from each other."""
        names = [(distance.first, distance.second) for distance in self.apart]
        return self.apart[names.index((first, second))]

    @property
    def has_shift(self) -> bool:
        """True if the norm adds a vector."""
        return self.norm.shift is not None

    @property
    def folded(self) -> ConventionDistance:
        """Distance between the head as stored and with its gains folded in."""
        return self.between(STORED, FOLDED)

    @property
    def furthest(self) -> ConventionDistance:
        """The two conventions between which most labels get another nearest one."""
        return first_best(self.apart, lambda distance: distance.nearest.share)

    @property
    def verified(self) -> bool:
        """True if rounding explains every change of a prediction."""
        return all(change.ok for change in self.drift)


def norm_evidence(
    head: FactorModel,
    norm: FinalNorm,
    *,
    labels: Indices,
    n_neighbours: int | None = None,
    n_lists: int = N_QUERIES,
    rng: np.random.Generator,
) -> NormEvidence:
    """Compare the cosines and the nearest labels of a head in its forms behind a norm.

    Parameters
    ----------
    head : FactorModel
        The whole head with its rows as stored.
    norm : FinalNorm
        The norm before the head.
    labels : array of int
        Labels whose cosines are compared pair by pair. Their nearest labels are
        searched among all labels.
    n_neighbours : int
        N of the longer lists.
    n_lists : int
        A number below the usual 400 reduces in proportion the number of labels whose
        nearest labels are searched.
    rng : numpy Generator
        Draws the states, and a sample of labels if there are very many.

    Raises
    ------
    InputError
        If the norm does not fit the head; see `require_norm`.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> head = FactorModel.from_softmax(draw.standard_normal((40, 8)))
    >>> norm = FinalNorm("rms", np.linspace(1, 9, 8))
    >>> found = norm_evidence(
    ...     head, norm, labels=np.arange(40), n_neighbours=5, rng=draw
    ... )
    >>> found.verified, found.folded.nearest.share > 0.2
    (True, True)
    """
    forms = conventions(head, norm)
    with_direction = labels[head.right_side.norms[labels] > 0]
    rows = _rows_of_conventions(head, forms)
    queries = _query_labels(head, with_direction, n_lists, rng)
    n = list_length(n_neighbours, int((head.right_side.norms > 0).sum()))
    lists = {name: neighbours(x, n, rows=queries) for name, x in rows.items()}
    # Copies change places by rounding alone, so labels with a copy are left out, unless
    # all labels have one.
    copies = twins(head)
    places = np.flatnonzero(copies.alone[queries])
    if not len(places):
        places = np.arange(len(queries))
    eligible = np.intersect1d(head.right_side.eligible_rows, head.right_side.directed)
    is_all = len(queries) == len(eligible)
    cosines = _cosines_of_pairs(rows, with_direction)
    distances = []
    for first, second in combinations(rows, 2):
        distance = _distance(first, second, lists, cosines, places, exact=is_all)
        distances.append(distance)
    before = lists[STORED].take(places)
    after = lists[forms[-1].name].take(places)
    ones = None
    if norm.sums_to_zero:
        ones = _ones(rows[FOLDED][with_direction])
    return NormEvidence(
        norm=norm,
        forms=forms,
        drift=_drift_of_forms(only_labels(head, with_direction), norm, forms, rng),
        apart=tuple(distances),
        labels=with_direction,
        queries=queries[places],
        lists=before.first(1),
        n_copies=len(queries) - len(places),
        ones=ones,
        examples=_examples(head, before, after, copies),
    )


def _rows_of_conventions(
    head: FactorModel, forms: tuple[Convention, ...]
) -> dict[str, Rows]:
    """Return the rows of each form by its name, and the rows of the logit cosines."""
    rows: dict[str, Rows] = {form.name: form.view(head.right) for form in forms}
    if head.left is not None:
        # If all inputs are equal, there are no logit cosines.
        with suppress(InputError):
            rows[LOGITS] = identified_factors(head, "right")
    return rows


def _query_labels(
    head: FactorModel, labels: Indices, n_lists: int, rng: np.random.Generator
) -> Indices:
    """Draw the labels whose nearest labels are searched.

    A search costs queries × labels of the head (× columns) for each convention, so a
    large head gets fewer queries.
    """
    by_cosines = max(50, SEARCHED // head.n_right)
    by_products = max(150, CELLS // head.right.size)
    n_queries = scale_to_lists(min(by_cosines, by_products), n_lists)
    return sample_rows(labels, n_queries, rng)


def _distance(
    first: str,
    second: str,
    lists: dict[str, NeighbourLists],
    cosines: dict[str, Floats],
    places: Indices,
    *,
    exact: bool,
) -> ConventionDistance:
    """Compare the lists, at the places of labels without a copy, and the cosines.

    `exact` tells that the lists are those of all labels.
    """
    before = lists[first].take(places)
    after = lists[second].take(places)
    tie = tie_of(after.searched)
    first_differs = lists[first].indices[:, 0] != lists[second].indices[:, 0]
    change = np.abs(cosines[first] - cosines[second])
    mean_abs = 0.0
    if np.isfinite(change).any():
        mean_abs = float(np.nanmean(change))
    return ConventionDistance(
        first=first,
        second=second,
        nearest=NearestChanged.from_lists(before, after, exact=exact, tie=tie),
        first_changed=float(first_differs.mean()),
        top_n=before.indices.shape[1],
        top_n_changed=1 - before.overlap(after, tie=tie),
        mean_abs=mean_abs,
    )


def _examples(
    head: FactorModel, before: NeighbourLists, after: NeighbourLists, copies: Twins
) -> tuple[Neighbourhood, ...]:
    """Show the labels that keep the fewest neighbours, without copies of these."""
    n = before.indices.shape[1]
    n_kept = before.kept_in(after).sum(axis=1)
    shown = np.argsort(n_kept, kind="stable")[:EXAMPLES]
    return named_neighbourhoods(
        head.names("right"),
        before.take(shown).among(copies.first, n),
        after.take(shown).among(copies.first, n),
        first=copies.first,
        most=N_LISTED,
    )


def _cosines_of_pairs(rows: dict[str, Rows], labels: Indices) -> dict[str, Floats]:
    """Compute the cosines of all pairs of some labels in each form, in the same order.

    A row without a direction in one of the forms has no cosine there: NaN.
    """
    pairs = np.triu_indices(len(labels), 1)
    cosines: dict[str, Floats] = {}
    for name, x in rows.items():
        unit = unit_rows(x[labels])
        table = np.asarray(unit @ unit.T, dtype=np.float64)
        cosines[name] = table[pairs]
    return cosines


def _drift_of_forms(
    head: FactorModel,
    norm: FinalNorm,
    forms: tuple[Convention, ...],
    rng: np.random.Generator,
) -> tuple[Drift, ...]:
    """Compare the predictions of each further form with the stored head.

    All forms get the same normalised random states, so rounding of the norm cancels.
    """
    head = head.replace(right=np.asarray(head.right, dtype=np.float64))
    states = norm.normalised(rng.standard_normal((N_STATES, norm.width)))
    # A gain of 0 removes its dimension from every form. The other gains bound by how
    # much a form stretches rounding.
    gains = np.abs(norm.gain[norm.gain != 0])
    stretch = float(gains.max() / gains.min())
    stored, *others = (form.model(head, norm, states) for form in forms)
    return tuple(drift(stored, other, condition_number=stretch) for other in others)


def _ones(folded: Matrix) -> float | None:
    """Return the median of `‖along‖ / ‖across‖` over rows.

    `along` is the part of a row along the ones vector, and `across` the part at right
    angles to it. Rows without a part across are skipped; None if there are no others.
    """
    x = np.asarray(folded, dtype=np.float64)
    mean = x.mean(axis=1)
    along = np.sqrt(x.shape[1]) * np.abs(mean)
    across = np.linalg.norm(x - mean[:, None], axis=1)
    has_part_across = across > 0
    if not has_part_across.any():
        return None
    return float(np.median(along[has_part_across] / across[has_part_across]))
