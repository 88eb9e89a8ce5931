"""Measure a softmax head: equivalent heads, nearest labels, shifts, logit cosines."""

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
    draw_label_sample,
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
from embaudit.movements.movement import scale_to_lists

if TYPE_CHECKING:
    import pandas as pd

PANEL = 2_048
"""Largest number of labels that are examined one by one."""
MIN_PANEL = 512
"""Number of labels that are examined one by one even if rows are long."""
PANEL_CELLS = 2**22
"""Largest number of entries in the rows of more than `MIN_PANEL` examined labels."""
NEIGHBOUR_CELLS = 2**36
"""Largest number of products in the search for nearest labels (queries × labels ×
dimensions) of more than `MIN_QUERIES` labels.
"""
MIN_QUERIES = 400
"""Number of labels for which nearest labels are searched even if the head is large."""
N_PAIRS = 20_000
"""Largest number of pairs of labels for which shortest shifts are computed."""
PAIR_CELLS = 2**23
"""Largest number of entries in the rows of more than 2,000 such pairs."""
N_GAUGES = 2
"""Number of random heads of each kind."""
ARGMAX_LABELS = 128
"""Number of labels that are tested for whether they can be the most probable one."""
MIN_SIZES = {"n_labels": 2, "n_gauges": 0}
"""Smallest allowed value of a count, if that is not 1."""


@dataclass(frozen=True, eq=False)
class HeadReport(Result):
    """Movement of label cosines in equivalent heads, and properties that a head fixes.

    A guard is a declared soft cap or normalisation of the labels. Under a guard, a
    shift of all labels changes probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> rows = np.random.default_rng(0).standard_normal((40, 8)) + 2
    >>> report = ea.head_report(ea.FactorModel.from_softmax(rows), n_gauges=1)
    >>> report.origin_is_free, report.origin_matters, report.verified
    (True, True, True)
    """

    model: FactorModel
    """The head, with the guard that is declared."""
    affine_rank: int
    """Number of dimensions that differences of labels span."""
    n_panel: int
    """Number of labels examined one by one; the others still count as neighbours and
    as competitors.
    """
    n_inputs: int
    """Number of inputs on which probabilities were verified: inputs of the model, or
    else probe inputs at the scale of the head.
    """
    n_zero: int
    """Number of labels without a direction, before or after the mean row is removed."""
    n_aside: int
    """Number of labels with a direction that are set aside, such as special tokens;
    they still count as neighbours.
    """
    mean_norm: float
    """Length of the mean row."""
    median_norm: float
    """Median length of a row."""
    centred: EquivalentHead
    """The head less its mean row. Under a guard it is another head, and
    `centred.change` is the change of its probabilities.
    """
    neighbours: NeighbourChange
    """Change of the nearest labels without the mean row, exact over all labels."""
    constructions: tuple[Construction, ...]
    """Heads with two labels made opposite, and made parallel; none under a guard."""
    equivalents: tuple[EquivalentHead, ...]
    """Random equivalent heads."""
    shifts: tuple[ShiftSummary, ...]
    """Shortest shifts to cosine 0, −1 and 1; none under a guard."""
    projector: ProjectorCosines
    """Projector cosines of the pairs, with the number of labels per dimension; of no
    pairs if there are very many long rows.
    """
    logit_agreement: float | None
    """Correlation of label cosines with logit cosines over the inputs of the model;
    None without inputs.
    """
    panel: LabelSample
    """The labels examined one by one, and the inputs."""
    pair: tuple[int, int]
    """The pair of labels of `constructions`, as places in the panel."""
    n_at_mean: int = 0
    """Number of labels of `n_zero` that have a direction as stored, because they equal
    the mean row.
    """
    argmax: Argmaxable | None = None
    """Labels that can be the most probable one, a sample in a large head.

    None without the option `hull`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
        """Number of labels."""
        return self.model.n_right

    @property
    def is_drawn(self) -> bool:
        """True if the head has more labels than were examined one by one."""
        return self.n_panel + self.n_zero + self.n_aside < self.n_labels

    @property
    def rank(self) -> int:
        """Number of columns of a label row."""
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
        """The softmax link, with its soft cap and its normalisation."""
        return self.model.link

    @property
    def origin_is_free(self) -> bool:
        """True if a shift of all labels changes no probability."""
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
        """Length of the mean row over the median length of a row."""
        return self.mean_norm / self.median_norm

    @property
    def verifiable(self) -> tuple[EquivalentHead, ...]:
        """The heads that should predict the same probabilities."""
        if self.origin_is_free:
            return (self.centred, *self.equivalents)
        return self.equivalents

    @property
    def verified(self) -> bool:
        """True if rounding explains every change of a probability in these heads."""
        return all(head.ok for head in self.verifiable)

    def __repr__(self) -> str:
        return f"HeadReport({counted(self.n_labels, 'label')}, rank {self.rank})"

    def explain(self) -> str:
        """Describe the effect of removing the mean row.

        If the report was made with `hull`, also describe which labels can be the most
        probable one.
        """
        n_rows = self.neighbours.n_rows
        keeping = words.share_of(1 - self.neighbours.top1_changed, n_rows)
        labels = "labels"
        if n_rows >= words.FEW:
            labels = counted(n_rows, "label")
        mean = self.centred.movement.mean_abs
        sentences = [
            f"The mean row is {self.offset:.2g} of a typical row (median) long.",
            f"Without it {keeping} {labels} keep their nearest label, and cosines "
            f"differ by {mean:.2f} on average.",
        ]
        if self.argmax is not None:
            sentences.append(self.argmax.explain())
        sentences.append("`embaudit.audit` says what follows from it.")
        return " ".join(sentences)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per equivalent head: its gauge, and how far cosines moved."""
        import pandas as pd

        records = [head.to_dict() for head in (self.centred, *self.equivalents)]
        return pd.DataFrame(records).drop(columns="quantiles")


def panel_size(rank: int, n_lists: int = N_QUERIES) -> int:
    """Return the number of labels to examine one by one, from the length of the rows.

    If fewer lists than usual are requested, fewer labels are examined in proportion.

    Examples
    --------
    >>> panel_size(768), panel_size(4_096), panel_size(16_384)
    (2048, 1024, 512)
    >>> panel_size(768, n_lists=200), panel_size(4_096, n_lists=50)
    (1024, 512)
    """
    most = min(PANEL, PANEL_CELLS // rank)
    return min(PANEL, max(MIN_PANEL, scale_to_lists(most, n_lists)))


def declare(
    model: FactorModel, soft_cap: float | None, *, normalised: bool
) -> FactorModel:
    """Return the model with the declared soft cap and normalisation in its link.

    Raises
    ------
    InputError
        If the model is not a softmax head, or the cap is not a positive number.

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
            "a soft cap or a normalisation",
            "declared for softmax heads only",
            f"a model with {model.link.name} link",
        )
    if soft_cap is None:
        soft_cap = model.link.soft_cap
    unit_rows = bool(normalised or model.link.unit_sides)
    return model.replace(link=softmax_link(soft_cap=soft_cap, unit_rows=unit_rows))


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
    """Measure how far the label cosines of a softmax head move in equivalent heads.

    Sums over labels (the mean row, the median length, whitening) and the searches for
    neighbours and for competitors take all rows, a block at a time in float64. Labels
    are examined one by one in a *panel*: all labels, or `n_labels` drawn ones of a
    larger head.

    Parameters
    ----------
    model : FactorModel
        A softmax head. If it has very many columns, the dimensions that its rows span.
        Probabilities are verified on its inputs, or on probe inputs if it has none.
    pair : pair of int, optional
        Two rows to make opposite and parallel. By default the pair of the panel with
        the largest cosine.
    n_labels : int
        Size of the panel.
    n_pairs : int
        Largest number of pairs for which shortest shifts are computed.
    n_neighbours : int, optional
        Length of the neighbour lists. By default 10, or a third of the other labels of
        a small head.
    n_gauges : int
        Number of random gauges of each kind.
    n_lists : int
        Number of neighbour lists. If it is smaller than usual, fewer labels are tested
        for whether they can be the most probable one, in proportion.
    max_condition : float
        Condition number of the linear gauges. Shifts are as long as the median row.
    soft_cap : float, optional
        Declares that logits are capped, `c · tanh(s/c)`. Then shifts change
        probabilities.
    normalised : bool
        Declares that label rows are divided by their lengths before use. Then only
        rotations keep the probabilities of every head.
    hull : bool
        Whether to find which labels can be the most probable one.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    HeadReport
        The measurements, from which `embaudit.audit` concludes.

    Raises
    ------
    InputError
        If the model is not a softmax head, if it has fewer than two labels with a
        direction, if all its rows are equal, if its numbers are too large or too small
        to be multiplied, or if a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> rows = np.random.default_rng(0).standard_normal((40, 8))
    >>> rows -= rows.mean(axis=0)
    >>> round(head_report(FactorModel.from_softmax(rows), n_gauges=1).offset, 2)
    0.0
    >>> round(head_report(FactorModel.from_softmax(rows + 2), n_gauges=1).offset, 2)
    0.9
    """
    require_model(model)
    if not is_number(max_condition):
        raise must_be("max_condition", "a finite number >= 1", repr(max_condition))
    if pair is not None:
        pair = tuple(as_list(pair, "pair", "(0, 1)"))
    require_length(n_neighbours, model.n_right)
    counts = {"n_labels": n_labels, "n_pairs": n_pairs, "n_gauges": n_gauges}
    for name, value in (counts | {"n_lists": n_lists}).items():
        as_count(value, name, least=MIN_SIZES.get(name, 1), most=MAX_SIZES.get(name))
    model = in_span(declare(model, soft_cap, normalised=normalised))
    rng = as_generator(rng)
    # The order of the draws is part of the result: panel, probe, pairs, random heads,
    # lists, candidates for the most probable label.
    panel = draw_label_sample(model, n_labels, rng, pair=pair)
    space = label_coordinates(model, summary=panel.summary)
    places_of_pair = most_alike(panel) if pair is None else panel.places(pair)
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
    gauges = [centring(panel), *random_heads(panel, n_gauges, max_condition, rng)]
    nearest = _neighbours(model, panel, n_neighbours, n_lists, rng)
    argmax = _argmax(space, model, n_lists, rng) if hull else None
    # Under a guard, such as a soft cap, a shift changes probabilities, so shifts and
    # constructions would be of other models (docs/theory.md, "A shift is free where
    # something absorbs it").
    is_free = "right" in panel.model.free_shifts

    def constructions() -> tuple[Construction, ...]:
        return probe.construct(places_of_pair) if is_free else ()

    def shifts() -> tuple[ShiftSummary, ...]:
        if not is_free:
            return ()
        return shift_summaries(stored_panel, shifted_pairs, exact=exact)

    measurements: dict[str, Callable[[], Any]] = {
        "constructions": constructions,
        "shifts": shifts,
        "projector": partial(projector_cosines_in, space, panel.labels[pairs]),
        "logit_agreement": partial(_agreement, model, panel, pairs),
    }
    # These jobs draw nothing, so they run at the same time. The equivalent heads take
    # longest, so they start first.
    jobs = [partial(probe.measure, gauge) for gauge in gauges]
    results = results_of([*jobs, *measurements.values()], "measuring heads")
    heads, fields = results[: len(jobs)], results[len(jobs) :]
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
        centred=heads[0],
        equivalents=tuple(heads[1:]),
        **dict(zip(measurements, fields, strict=True)),
    )


def n_neighbour_queries(
    n_labels: int, rank: int, n_lists: int = N_QUERIES, n_panel: int = PANEL
) -> int:
    """Return the largest number of labels for which nearest labels are searched.

    Examples
    --------
    >>> n_neighbour_queries(1_000, 64), n_neighbour_queries(128_000, 4_096)
    (2048, 400)
    >>> n_neighbour_queries(128_000, 4_096, n_lists=50)
    50
    """
    most = max(MIN_QUERIES, NEIGHBOUR_CELLS // (n_labels * rank))
    return scale_to_lists(min(max(PANEL, n_panel), most), n_lists)


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
    # The mean row is subtracted while rows are read, so that no second table is needed.
    return neighbour_change(model, queries, -panel.mean, n=n, exact=exact)


def _argmax(
    space: LabelCoordinates, model: FactorModel, n_lists: int, rng: np.random.Generator
) -> Argmaxable:
    # The labels of a simplex are tested at no cost.
    size = scale_to_lists(ARGMAX_LABELS, n_lists)
    if space.is_simplex:
        size = model.n_right
    return argmaxable_in(space, model, sample_rows(model.n_right, size, rng))


def _agreement(model: FactorModel, panel: LabelSample, pairs: Indices) -> float | None:
    """Correlate label cosines with logit cosines over all inputs of the model."""
    if model.left is None:
        return None
    try:
        of_logits = logit_cosines(model, pairs=panel.labels[pairs])
    except InputError:
        return None
    of_rows = panel.model.cosines("right", pairs)
    is_finite = np.isfinite(of_logits) & np.isfinite(of_rows)
    of_logits, of_rows = of_logits[is_finite], of_rows[is_finite]
    # A correlation needs two pairs, and cosines that differ.
    if len(of_rows) < 2 or np.ptp(of_rows) == 0 or np.ptp(of_logits) == 0:
        return None
    return float(np.corrcoef(of_rows, of_logits)[0, 1])
