"""Measure a softmax head: equivalent heads, nearest labels, shortest shifts, and what its inputs can tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.effect import MOVES, is_effect
from embaudit.auditing.options import MAX_SIZES
from embaudit.canonical import in_span
from embaudit.core import words
from embaudit.core.checked import (
    RNG,
    Indices,
    as_count,
    as_generator,
    as_list,
    is_number,
)
from embaudit.core.parallel import results_of
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import reaches
from embaudit.core.words import counted
from embaudit.errors import InputError, must_be
from embaudit.heads.argmaxable import Argmaxable, argmaxable_in
from embaudit.heads.coordinates import LabelCoordinates, label_coordinates
from embaudit.heads.equivalents import (
    Construction,
    EquivalentHead,
    HeadProbe,
    centring,
    random_heads,
)
from embaudit.heads.label_cosines import (
    ProjectorCosines,
    logit_cosines,
    projector_cosines_in,
)
from embaudit.heads.label_sample import (
    LabelSample,
    make_panel,
    most_alike,
    with_mean_rows,
)
from embaudit.heads.shifts import (
    NeighbourChange,
    ShiftSummary,
    neighbour_change,
    panel_pairs,
    shift_summaries,
)
from embaudit.linalg.nearest import require_length
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, Link, softmax_link
from embaudit.model.sizes import require_model
from embaudit.movements.movement import share_of

if TYPE_CHECKING:
    import pandas as pd

PANEL = 2_048
"""Labels that are looked at one by one; drawn where a head has more."""
MIN_PANEL = 512
"""Labels that are always looked at, where a head has as many."""
PANEL_CELLS = 2**22
"""Entries of their rows, from so many labels on."""
NEIGHBOUR_CELLS = 2**36
"""Products that a search for the nearest labels may take, labels asked × all labels ×
dimensions.
"""
ASKED = 400
"""Labels of the panel from which on fewer are asked for their nearest ones."""
N_PAIRS = 20_000
"""Pairs of labels whose shortest shifts are computed, where there are more."""
PAIR_CELLS = 2**23
"""Entries of the rows of such pairs, from 2,000 pairs on."""
N_GAUGES = 2
"""Random heads of each kind."""
ARGMAX_LABELS = 128
"""Labels asked whether they can be the argmax; all of them in a head with no more."""
MIN_SIZES = {"n_labels": 2, "n_gauges": 0}
"""Smallest values of the counts one may ask for, where that is not 1."""


@dataclass(frozen=True, eq=False)
class HeadReport(Result):
    """Movement of label cosines while every probability stays, and the properties that the head fixes."""

    model: FactorModel
    """The head, with what is declared of it."""
    affine_rank: int
    """Dimensions that differences of labels span."""
    n_panel: int
    """Labels looked at one by one; the others still count as neighbours and as
    competitors.
    """
    n_inputs: int
    """Inputs that probabilities were verified on: the model's own, else probe inputs at
    the head's scale.
    """
    n_zero: int
    """Labels without a direction, before or after the mean row is removed."""
    n_aside: int
    """Labels with a direction that are set aside, such as special tokens; they still
    count as neighbours.
    """
    mean_norm: float
    """Length of the mean row."""
    median_norm: float
    """Median length of a row."""
    centred: EquivalentHead
    """The head less its mean row; under a guard it is another head, and
    `centred.change` says by how much.
    """
    neighbours: NeighbourChange
    """Change of the nearest labels without the mean row, exact over all labels."""
    constructions: tuple[Construction, ...]
    """Two labels made opposite, and made parallel; none under a guard."""
    equivalents: tuple[EquivalentHead, ...]
    """Random equivalent heads."""
    shifts: tuple[ShiftSummary, ...]
    """Shortest shifts to cosine 0, −1 and 1; none under a guard."""
    projector: ProjectorCosines
    """Projector cosines of the pairs, with V/k; of no pair where rows are very many and
    long.
    """
    logit_agreement: float | None
    """Correlation of label cosines with logit cosines over the model's inputs; None
    without inputs.
    """
    panel: LabelSample
    """The labels looked at one by one, and the inputs."""
    pair: tuple[int, int]
    """The pair of them that `constructions` are made for."""
    n_at_mean: int = 0
    """Labels of `n_zero` that have a direction as stored, because they equal the mean
    row.
    """
    argmax: Argmaxable | None = None
    """Labels that can be the most probable one, a sample in a large head.

    None without the option `hull`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "n_labels": self.n_labels,
                "rank": self.rank,
                "affine_rank": self.affine_rank,
                "has_bias": self.has_bias,
                "n_panel": self.n_panel,
                "has_inputs": self.has_inputs,
                "n_inputs": self.n_inputs,
                "n_zero": self.n_zero,
                "n_aside": self.n_aside,
                "mean_norm": self.mean_norm,
                "median_norm": self.median_norm,
                "offset": self.offset,
                "logit_agreement": self.logit_agreement,
                "centred": self.centred,
                "neighbours": self.neighbours,
                "constructions": self.constructions,
                "equivalents": self.equivalents,
                "shifts": self.shifts,
                "argmax": self.argmax,
                "projector": self.projector,
                "declared": {
                    "soft_cap": self.link.soft_cap,
                    "normalised": bool(self.link.unit_sides),
                },
            }
        )

    @property
    def n_labels(self) -> int:
        """Labels V."""
        return self.model.n_right

    @property
    def is_drawn(self) -> bool:
        """True if the head has more labels than were examined one by one."""
        return self.n_panel + self.n_zero + self.n_aside < self.n_labels

    @property
    def rank(self) -> int:
        """Columns of a label row, k."""
        return self.model.rank

    @property
    def has_bias(self) -> bool:
        """True if the head has a bias."""
        return self.model.right_bias is not None

    @property
    def has_inputs(self) -> bool:
        """True if the model has inputs of its own."""
        return self.model.left is not None

    @property
    def link(self) -> Link:
        """The softmax, with its cap and whether its label rows have length 1."""
        return self.model.link

    @property
    def origin_is_free(self) -> bool:
        """True if a translation of the labels leaves the probabilities alone."""
        return "right" in self.model.free_shifts

    @property
    def origin_changes_neighbours(self) -> bool:
        """True if removing the mean row changes nearest labels noticeably."""
        return is_effect(self.neighbours.top1_changed, self.neighbours.n_rows)

    @property
    def origin_matters(self) -> bool:
        """True if a free origin changes nearest labels or cosines noticeably."""
        moves_cosines = reaches(self.centred.movement.mean_abs, MOVES)
        return self.origin_is_free and (self.origin_changes_neighbours or moves_cosines)

    @property
    def offset(self) -> float:
        """Length of the mean row over the median length of a row: how far from centred the labels are."""
        return self.mean_norm / self.median_norm

    @property
    def verifiable(self) -> tuple[EquivalentHead, ...]:
        """The heads that should give every probability the same."""
        return (
            (self.centred, *self.equivalents)
            if self.origin_is_free
            else self.equivalents
        )

    @property
    def verified(self) -> bool:
        """True if rounding explains every change of a probability in a head that should be equivalent."""
        return all(head.ok for head in self.verifiable)

    def __repr__(self) -> str:
        return f"HeadReport({counted(self.n_labels, 'label')}, rank {self.rank})"

    def explain(self) -> str:
        """Describe the effect of removing the mean row.

        If the report was made with `hull`, also describe which labels can be the most
        probable one.
        """
        n_rows = self.neighbours.n_rows
        changed = words.share_of(self.neighbours.top1_changed, n_rows)
        among = "labels" if n_rows < words.FEW else counted(n_rows, "label")
        can_lead = "" if self.argmax is None else f"{self.argmax.explain()} "
        return (
            f"The mean row is {self.offset:.2g} of a typical row (median) long. "
            f"Without it {changed} {among} have another nearest label, and cosines "
            f"differ by {self.centred.movement.mean_abs:.2f} on average. "
            f"{can_lead}What follows from it, `embaudit.audit` concludes."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row for each equivalent head: its gauge, how probabilities and label cosines moved."""
        import pandas as pd

        records = [head.to_dict() for head in (self.centred, *self.equivalents)]
        return pd.DataFrame(records).drop(columns="quantiles")


def panel_size(rank: int, n_lists: int = N_QUERIES) -> int:
    """Return how many labels are examined one by one in a head of so many dimensions.

    Examples
    --------
    >>> panel_size(768), panel_size(4_096), panel_size(16_384)
    (2048, 1024, 512)
    >>> panel_size(768, n_lists=200), panel_size(4_096, n_lists=50)
    (1024, 512)
    """
    # Longer rows leave room for fewer labels, and fewer lists cut them in proportion.
    return min(
        PANEL, max(MIN_PANEL, share_of(min(PANEL, PANEL_CELLS // rank), n_lists))
    )


def declare(
    model: FactorModel, soft_cap: float | None, *, normalised: bool
) -> FactorModel:
    """Return the model with the link of a capped or normalised head, where that is declared.

    Raises
    ------
    InputError
        If the model is no softmax head, or the cap no positive number.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> declare(FactorModel.from_softmax([[1.0], [2.0]]), 30.0, normalised=False).link
    Link(name='softmax', unit_sides=(), soft_cap=30.0)
    """
    if soft_cap is None and not normalised:
        return model
    if model.link.name != "softmax":
        raise must_be(
            "a soft-cap or normalisation",
            "declared of a softmax head",
            f"a model with {model.link.name} link",
        )
    link = softmax_link(
        soft_cap=model.link.soft_cap if soft_cap is None else soft_cap,
        unit_rows=bool(normalised or model.link.unit_sides),
    )
    return model.replace(link=link)


def head_report(
    model: FactorModel,
    *,
    pair: tuple[int, int] | None = None,
    n_labels: int = PANEL,
    n_pairs: int = N_PAIRS,
    n_neighbours: int | None = None,
    n_gauges: int = N_GAUGES,
    n_lists: int = N_QUERIES,
    max_condition: float = 2.0,
    soft_cap: float | None = None,
    normalised: bool = False,
    hull: bool = False,
    rng: RNG = 0,
) -> HeadReport:
    """Measure a softmax head: how far do label cosines move while every probability stays the same?

    Sums over labels (the mean row, the median length, whitening) and the search for
    neighbours and for competitors take all rows, a block at a time in float64. What is
    asked label by label is asked of a *panel*: all labels, or `n_labels` drawn ones in
    a larger head.

    Parameters
    ----------
    model : FactorModel
        A softmax head; of very many columns, the dimensions that its rows span.
        Probabilities are verified on its inputs, or on probe inputs where it has none.
    pair : pair of int, optional
        Two rows to make opposite and parallel; the most alike pair of the panel by
        default.
    n_labels : int
        Size of the panel.
    n_pairs : int
        Pairs whose shortest shifts are computed, where there are more.
    n_neighbours : int, optional
        N of the neighbour lists; a third of the other labels by default, 10 at most.
    n_gauges : int
        Random gauges of each kind.
    n_lists : int
        Fewer than usual cut in proportion the labels asked for their nearest ones, or
        whether they can be the argmax.
    max_condition : float
        Condition number of the linear ones; translations are one median row long.
    soft_cap : float, optional
        Declares that logits are capped, `c · tanh(s/c)`: then translations change
        probabilities.
    normalised : bool
        Declares that label rows are divided by their lengths before use: then only
        rotations keep every head's probabilities.
    hull : bool
        Whether to find which labels can be the most probable one.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    HeadReport
        The measurements; `embaudit.audit` concludes from them.

    Raises
    ------
    InputError
        If the model is no softmax head, has fewer than two labels with a direction, all
        its rows are equal, or its numbers are too large or too small to be multiplied;
        or for parameters outside their sets.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> rows = np.random.default_rng(0).standard_normal((40, 8))
    >>> rows -= rows.mean(axis=0)
    >>> [round(head_report(FactorModel.from_softmax(rows + shift), n_gauges=1).offset, 2) for shift in (0.0, 2.0)]
    [0.0, 0.9]
    """
    require_model(model)
    if not is_number(max_condition):
        raise must_be("max_condition", "a finite number >= 1", repr(max_condition))
    pair = None if pair is None else tuple(as_list(pair, "pair", "(0, 1)"))
    require_length(n_neighbours, model.n_right)
    counts = {"n_labels": n_labels, "n_pairs": n_pairs, "n_gauges": n_gauges}
    for name, value in (counts | {"n_lists": n_lists}).items():
        as_count(value, name, least=MIN_SIZES.get(name, 1), most=MAX_SIZES.get(name))
    model, rng = (
        in_span(declare(model, soft_cap, normalised=normalised)),
        as_generator(rng),
    )
    # The order of the draws is part of the result: panel, probe, pairs, random heads,
    # lists, arg-max candidates.
    panel = make_panel(model, n_labels, rng, include=pair or ())
    space = label_coordinates(model, summary=panel.summary)
    places_of_pair = most_alike(panel) if pair is None else panel.place(pair)
    probe = HeadProbe(
        panel,
        rng=rng,
        n_pairs=n_pairs,
        n_neighbours=n_neighbours,
        n_lists=min(N_QUERIES, n_lists),
    )
    most_pairs = min(n_pairs, max(2_000, PAIR_CELLS // model.rank))
    pairs, exact = panel_pairs(panel, most_pairs, rng)
    # Shifts move the rows as stored, where rows at the mean row have a direction.
    stored_panel = with_mean_rows(panel, model)
    shifted_pairs = pairs
    if stored_panel is not panel:
        shifted_pairs, exact = panel_pairs(stored_panel, most_pairs, rng.spawn(1)[0])
    made = [centring(panel), *random_heads(panel, n_gauges, max_condition, rng)]
    nearest = _neighbours(model, panel, n_neighbours, n_lists, rng)
    argmax = _argmax(space, model, n_lists, rng) if hull else None
    # Under a guard, such as a soft cap, a translation changes probabilities: shifts and
    # constructions would then be of other models (docs/theory.md, "A shift is free
    # where something absorbs it").
    free = "right" in panel.model.free_shifts
    places = panel.labels[pairs if panel.summary.lengths is None else pairs[:0]]
    measurements: dict[str, Callable[[], Any]] = {
        "constructions": lambda: tuple(probe.construct(places_of_pair)) if free else (),
        "shifts": lambda: (
            shift_summaries(stored_panel, shifted_pairs, exact=exact) if free else ()
        ),
        "projector": lambda: projector_cosines_in(space, places),
        "logit_agreement": lambda: _agreement(model, panel, pairs),
    }
    # All that draws nothing more runs at once, the equivalent heads first, which take
    # longest.
    heads = [partial(probe.measure, head) for head in made]
    measured = results_of([*heads, *measurements.values()], "measuring heads")
    (centred, *equal), rest = measured[: len(heads)], measured[len(heads) :]
    return HeadReport(
        model=model,
        affine_rank=space.rank,
        n_panel=len(panel.labels),
        n_inputs=panel.model.n_left,
        n_zero=panel.n_zero,
        n_at_mean=len(panel.at_mean),
        n_aside=panel.n_aside,
        mean_norm=float(np.linalg.norm(panel.mean)),
        median_norm=panel.median_norm,
        neighbours=nearest,
        argmax=argmax,
        panel=panel,
        pair=places_of_pair,
        centred=centred,
        equivalents=tuple(equal),
        **dict(zip(measurements, rest, strict=True)),
    )


def n_neighbour_queries(
    n_labels: int, rank: int, n_lists: int = N_QUERIES, n_panel: int = PANEL
) -> int:
    """Return how many labels of a panel, at most, are compared with all for their nearest ones.

    Examples
    --------
    >>> n_neighbour_queries(1_000, 64), n_neighbour_queries(128_000, 4_096), n_neighbour_queries(128_000, 4_096, 50)
    (2048, 400, 50)
    """
    most = max(ASKED, NEIGHBOUR_CELLS // (n_labels * rank))
    return share_of(min(max(PANEL, n_panel), most), n_lists)


def _neighbours(
    model: FactorModel,
    panel: LabelSample,
    n: int | None,
    n_lists: int,
    rng: np.random.Generator,
) -> NeighbourChange:
    n_panel = len(panel.labels)
    queries = sample_rows(
        panel.labels,
        n_neighbour_queries(model.n_right, model.rank, n_lists, n_panel),
        rng,
    )
    exact = not panel.is_sample and len(queries) == n_panel
    # The mean row is taken off while rows are read, so that no second table is held.
    return neighbour_change(model, queries, -panel.mean, n=n, exact=exact)


def _argmax(
    space: LabelCoordinates, model: FactorModel, n_lists: int, rng: np.random.Generator
) -> Argmaxable:
    some = share_of(ARGMAX_LABELS, n_lists)
    pool = sample_rows(model.n_right, model.n_right if space.is_simplex else some, rng)
    return argmaxable_in(space, model, pool)


def _agreement(model: FactorModel, panel: LabelSample, pairs: Indices) -> float | None:
    """Correlate label cosines with logit cosines over all inputs of the model."""
    if model.left is None:
        return None
    try:
        pinned = logit_cosines(model, pairs=panel.labels[pairs])
    except InputError:
        return None
    plain = panel.model.cosines("right", pairs)
    both = np.isfinite(pinned) & np.isfinite(plain)
    # Without two pairs, or without spread in one of the two, no correlation is defined.
    if both.sum() < 2 or np.ptp(plain[both]) == 0 or np.ptp(pinned[both]) == 0:
        return None
    return float(np.corrcoef(plain[both], pinned[both])[0, 1])
