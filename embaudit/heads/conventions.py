"""Conventions in which people read one head behind a final norm: as stored, folded, centred; all the same model.

With `logits = W(γ ⊙ x̂ + β) + b` the head `W diag(γ)` with bias `b + Wβ` gives the same logits on x̂ itself. Behind a
LayerNorm x̂ sums to 0, so that any number may be added along the ones vector to each row of it, another one to each.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from embaudit.canonical import identified_factors
from embaudit.core.checked import Floats, Indices, Matrix, Vector
from embaudit.core.plain import plain, plain_dict
from embaudit.core.ties import first_best
from embaudit.errors import InputError, must_be
from embaudit.gauges import Gauge
from embaudit.heads.coordinates import require_softmax
from embaudit.heads.label_sample import only_labels
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours, tie_of
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.linalg.structured import StructuredLinearMap
from embaudit.linalg.transformed_rows import Rows, TransformedRows
from embaudit.model import FactorModel
from embaudit.model.drift import Drift, drift
from embaudit.model.final_norm import FinalNorm
from embaudit.movements.movement import QUERIES, share_of
from embaudit.movements.neighbourhoods import (
    LISTED,
    NearestChanged,
    Neighbourhood,
    by_name,
)
from embaudit.movements.twins import copy_tolerance, twins


@dataclass(frozen=True, eq=False)
class Convention:
    """One form of a head: `(W − centre) diag(γ)`, less its part along the ones vector where no state sees that.

    Examples
    --------
    >>> Convention("folded", gain=np.array([2.0, 1.0])).rows(np.array([[1.0, 3.0]]))
    array([[2., 3.]])
    >>> Convention("level", gain=np.array([2.0, 1.0]), level=True).rows(np.array([[1.0, 3.0]]))
    array([[-0.5,  0.5]])
    """

    name: str
    """Name of the form, such as "folded"."""
    gain: Vector | None = None
    """γ, where it is folded in."""
    level: bool = False
    """True if the part along the ones vector is removed."""
    centre: Vector | None = None
    """The mean row of W, where it is removed."""

    def rows(self, block: Floats) -> Floats:
        """Bring rows of W, in float64, to this form."""
        x = block if self.centre is None else block - self.centre
        x = x if self.gain is None else x * self.gain
        return x - x.mean(axis=1, keepdims=True) if self.level else x

    def of(self, rows: Matrix) -> Matrix:
        """Bring all rows to this form, in the precision they are stored in; rows as stored are not copied."""
        if self.gain is None and not self.level and self.centre is None:
            return rows
        return Mapped(rows, self.rows, rows.shape[1]).stored()

    def seen(self, rows: Matrix) -> Rows:
        """Bring rows to this form where they are asked for, so that no changed copy is kept.

        Examples
        --------
        >>> Convention("folded", gain=np.array([2.0, 1.0])).seen(np.array([[1.0, 3.0], [0.0, 1.0]]))[1:]
        array([[0., 1.]])
        """
        if self.gain is None and not self.level and self.centre is None:
            return rows
        if self.level:
            return Mapped(rows, self.rows, rows.shape[1])
        gain = (
            np.ones(rows.shape[1])
            if self.gain is None
            else np.asarray(self.gain, dtype=np.float64)
        )
        return TransformedRows(
            rows,
            StructuredLinearMap(gain),
            0 * gain if self.centre is None else -self.centre * gain,
        )

    def bias(self, head: FactorModel, norm: FinalNorm) -> Vector | None:
        """Return what the head of this form adds to its logits: `b + (W − centre)β` where γ is folded in."""
        if self.gain is None or norm.shift is None:
            return head.right_bias
        centre = 0.0 if self.centre is None else self.centre @ norm.shift
        # `(W − c)(γ ⊙ x̂ + β) = (W − c) diag(γ) x̂ + (W − c) β`: the last term does not depend on the input.
        moved: Floats = np.asarray(head.right @ norm.shift, dtype=np.float64) - centre
        return moved if head.right_bias is None else head.right_bias + moved

    def model(
        self, head: FactorModel, norm: FinalNorm, normalised: Floats
    ) -> FactorModel:
        """Return the head of this form with the inputs that it has for normalised states x̂."""
        inputs = norm.scaled(normalised) if self.gain is None else normalised
        without = head.replace(left=None, objective=None)
        return without.replace(
            left=inputs, right=self.of(head.right), right_bias=self.bias(head, norm)
        )


def require_norm(head: FactorModel, norm: FinalNorm) -> None:
    """Refuse a norm before anything but a head of its width.

    Raises
    ------
    InputError
        If the model is no softmax head, or has another number of dimensions, or rows that are brought to length 1.

    Examples
    --------
    >>> require_norm(FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]]), FinalNorm("rms", [1.0, 1.0, 1.0]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a final norm must be as wide as the head, 2 dimensions; got 3.
    """
    require_softmax(head, "a final norm")
    if norm.width != head.rank:
        raise must_be(
            "a final norm", f"as wide as the head, {head.rank} dimensions", norm.width
        )
    if head.link.unit_sides:
        raise must_be(
            "a final norm",
            "given of a head that keeps the lengths of its rows",
            "one that divides by them",
        )


def folding(norm: FinalNorm) -> Gauge | None:
    """Make the gauge `M = diag(1/γ)` that folds a norm into its head; None where a gain is 0.

    Examples
    --------
    >>> folding(FinalNorm("rms", [1.0, 4.0])).condition_number
    4.0
    """
    return Gauge.diagonal(1 / norm.gain) if norm.gain.all() else None


def conventions(head: FactorModel, norm: FinalNorm) -> tuple[Convention, ...]:
    """List the forms in use that give this head's predictions: as stored first, the one that is most reduced last.

    The mean row stays under a soft cap, which would show a shift of all logits.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> [form.name for form in conventions(head, FinalNorm("layer", [1.0, 2.0]))]
    ['as stored', 'folded', 'folded, less ones', 'folded and centred']
    """
    require_norm(head, norm)
    level = Convention("folded, less ones", norm.gain, level=True)
    forms = [
        Convention("as stored"),
        Convention("folded", norm.gain),
        *([level] if norm.sums_to_zero else []),
    ]
    last = centred_form(head, norm)
    return (*forms, last) if last.centre is not None else tuple(forms)


def centred_form(head: FactorModel, norm: FinalNorm) -> Convention:
    """Return the head folded, without what no state sees, and without the mean row where no probability shows it."""
    centre = head.right_side.outline.mean if "right" in head.free_shifts else None
    return Convention(
        "folded and centred", norm.gain, level=norm.sums_to_zero, centre=centre
    )


N_STATES = 1_000
"""Random states, normalised as the model does, on which logits are compared."""
SEARCHED = 20_000_000
"""Cosines computed for each convention at most, from 50 labels on; all labels are asked where there are fewer."""
CELLS = 2**35
"""Products computed for these at most, from 150 labels on."""
STORED, FOLDED, LEVEL, CENTRED = (
    "as stored",
    "folded",
    "folded, less ones",
    "folded and centred",
)
EXAMPLES = 3
"""Labels whose neighbours are shown."""
LOGITS = "logit cosines"
"""The convention that inputs make."""


@dataclass(frozen=True)
class ConventionDistance:
    """Changes of nearest labels and of cosines between two conventions."""

    first: str
    """Name of the first convention."""
    second: str
    """Name of the second one."""
    nearest: NearestChanged
    """Labels without a copy that have another nearest label in the second; ties count as kept."""
    first_changed: float
    """Share of all labels asked, copies among them, whose list begins with another label, be it by a tie."""
    top_n: int
    """N of the longer lists."""
    top_n_changed: float
    """Mean share of the N nearest in the first that are not among them in the second, of labels without a copy."""
    mean_abs: float
    """Mean |Δcos| over all pairs of the labels looked at."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
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


@dataclass(frozen=True)
class DriftOfForm:
    """Drift of the predictions of a head in one of its forms."""

    form: str
    """Name of the convention in which the head is read."""
    drift: Drift
    """Distance of its predictions from those of the head as stored."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "form": self.form,
                **plain(self.drift),
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class NormEvidence:
    """Differences that a final norm leaves open between the cosines of a head."""

    norm: FinalNorm
    """The norm."""
    forms: tuple[Convention, ...]
    """The forms of the head, as stored first."""
    drift: tuple[Drift, ...]
    """Distance of the predictions of each form but the first from those of the head as stored."""
    apart: tuple[ConventionDistance, ...]
    """Distance of each two conventions."""
    labels: Indices
    """Labels among which cosines were compared."""
    queries: Indices
    """Labels whose nearest ones, among all, were compared: of all or of drawn ones those that are no copies."""
    lists: NeighbourLists
    """The nearest label of each of them in the head as stored."""
    n_copies: int
    """Labels left out of what is asked, since another one has their direction."""
    ones: float | None
    """Median part of a folded row along the ones vector, over the length of the rest; None behind an RMSNorm."""
    examples: tuple[Neighbourhood, ...] = ()
    """A few labels with their neighbours as stored and in the form most reduced, those that change most first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
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
                "drift": self.drift_of_forms,
            }
        )

    def between(self, first: str, second: str) -> ConventionDistance:
        """Return how far two conventions lie from each other."""
        return next(
            distance
            for distance in self.apart
            if (distance.first, distance.second) == (first, second)
        )

    @property
    def has_shift(self) -> bool:
        """True if the norm adds a vector."""
        return self.norm.shift is not None

    @property
    def drift_of_forms(self) -> tuple[DriftOfForm, ...]:
        """Distance of the predictions of each form but the first from those of the head as stored."""
        return tuple(
            DriftOfForm(form.name, drift)
            for form, drift in zip(self.forms[1:], self.drift, strict=True)
        )

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
    n_lists: int = QUERIES,
    rng: np.random.Generator,
) -> NormEvidence:
    """Compare the conventions of a head behind a final norm.

    Parameters
    ----------
    head : FactorModel
        The whole head, its rows as stored.
    norm : FinalNorm
        What stands before it.
    labels : array of int
        Labels whose cosines are compared pair by pair, and whose nearest labels among all are.
    n_neighbours : int
        N of the longer lists.
    n_lists : int
        Fewer than the usual 400 cut how many labels are asked for their nearest ones, in the same proportion.
    rng : numpy Generator
        Draws the states, and the labels asked where there are very many.

    Raises
    ------
    InputError
        If the norm is not one of this head.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> head = FactorModel.from_softmax(draw.standard_normal((40, 8)))
    >>> found = norm_evidence(
    ...     head, FinalNorm("rms", np.linspace(1, 9, 8)), labels=np.arange(40), n_neighbours=5, rng=draw
    ... )
    >>> found.verified, found.folded.nearest.share > 0.2
    (True, True)
    """
    forms = conventions(head, norm)
    alive = labels[head.right_side.norms[labels] > 0]
    # Searches cost labels asked times labels of the head (times columns), in every form.
    size = min(max(50, SEARCHED // head.n_right), max(150, CELLS // head.right.size))
    queries = sample_rows(alive, share_of(size, n_lists), rng)
    rows: dict[str, Rows] = {form.name: form.seen(head.right) for form in forms}
    if head.left is not None:
        # Inputs that are all equal make no logits that tell labels apart.
        with suppress(InputError):
            rows[LOGITS] = identified_factors(head, "right")
    n = list_length(n_neighbours, int((head.right_side.norms > 0).sum()))
    lists = {name: neighbours(x, n, rows=queries) for name, x in rows.items()}
    every = np.intersect1d(head.right_side.eligible_rows, head.right_side.directed)
    # Labels whose nearest one has another direction; all of them where there are none such.
    single = np.flatnonzero(
        ~(lists[STORED].cosines[:, 0] > 1 - copy_tolerance(head.right_side))
    )
    single = single if len(single) else np.arange(len(queries))
    # A row may have no direction, hence no cosine, in one of them.
    cosines = {
        name: unit @ unit.T
        for name, x in rows.items()
        for unit in [unit_rows(x[alive])]
    }

    def distance(first: str, second: str) -> ConventionDistance:
        """Compare two conventions: nearest labels without copies, longer lists, and all cosines of the panel."""
        before, after = lists[first].of(single), lists[second].of(single)
        tie, change = (
            tie_of(after.searched),
            np.abs(cosines[first] - cosines[second])[np.triu_indices(len(alive), 1)],
        )
        return ConventionDistance(
            first=first,
            second=second,
            nearest=NearestChanged.of(
                before, after, exact=len(queries) == len(every), tie=tie
            ),
            first_changed=float(
                (lists[first].indices[:, 0] != lists[second].indices[:, 0]).mean()
            ),
            top_n=n,
            top_n_changed=1 - before.overlap(after, tie=tie),
            mean_abs=float(np.nanmean(change)) if np.isfinite(change).any() else 0.0,
        )

    # Predictions are compared on random states, in float64.
    some = only_labels(head, alive)
    some = some.replace(right=np.asarray(some.right, dtype=np.float64))
    # All forms get the same normalised states, so rounding of the norm cancels.
    states = norm.normalised(rng.standard_normal((N_STATES, norm.width)))
    stored, *equivalents = (form.model(some, norm, states) for form in forms)
    # A gain of 0 takes its dimension out of both; the others say how far rounding is stretched.
    sizes = np.abs(norm.gain[norm.gain != 0])
    stretch = float(sizes.max() / sizes.min())
    before, after = lists[STORED].of(single), lists[forms[-1].name].of(single)
    # Examples show the labels most of whose neighbours change, and duplicates once.
    most = np.argsort(before.kept_in(after).sum(axis=1), kind="stable")[:EXAMPLES]
    first = twins(head).first
    shown = (each.of(most).among(first, n) for each in (before, after))
    return NormEvidence(
        norm=norm,
        forms=forms,
        drift=tuple(
            drift(stored, other, condition_number=stretch) for other in equivalents
        ),
        apart=tuple(distance(*names) for names in combinations(rows, 2)),
        labels=alive,
        queries=queries[single],
        lists=before.first(1),
        n_copies=len(queries) - len(single),
        ones=_ones(rows[FOLDED][alive]) if norm.sums_to_zero else None,
        examples=by_name(head.names("right"), *shown, first=first, most=LISTED),
    )


def _ones(folded: Matrix) -> float | None:
    """Measure the part of rows along the ones vector against the rest; None where a row is nothing else."""
    x = np.asarray(folded, dtype=np.float64)
    mean = x.mean(axis=1, keepdims=True)
    rest = np.linalg.norm(x - mean, axis=1)
    return (
        float(
            np.median(np.sqrt(x.shape[1]) * np.abs(mean[rest > 0, 0]) / rest[rest > 0])
        )
        if rest.any()
        else None
    )
