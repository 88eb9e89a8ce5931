"""head_report(): how far label cosines move while every probability stays, and what the head pins down instead."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.checks import Finding, Severity
from embaudit.auditing.head_findings import head_findings, head_verdict
from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import as_count
from embaudit.foundation.progress import track
from embaudit.foundation.words import counted
from embaudit.kernels.rows import sample_rows
from embaudit.softmax.argmaxable import Argmaxable, argmaxable_in
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.equivalents import Construction, EquivalentHead, HeadProbe, centring, random_gauges
from embaudit.softmax.guards import Guard
from embaudit.softmax.logit_cosines import logit_cosines
from embaudit.softmax.neighbour_change import NeighbourChange, neighbour_change
from embaudit.softmax.panel import Panel, make_panel, most_alike
from embaudit.softmax.projector import ProjectorCosines, projector_cosines_in
from embaudit.softmax.shifts import ShiftSummary, panel_pairs, shift_summaries

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.foundation.checked import Indices
    from embaudit.model import FactorModel
    from embaudit.softmax.coordinates import LabelCoordinates

ARGMAX_LABELS = 128
"""Labels asked whether they can be the argmax; all of them in a head with no more."""
ARGMAX_CELLS = 2**18
"""Entries of the largest linear program within a report: about a second each."""
LEAST = {"n_labels": 2, "n_neighbours": 1, "n_pairs": 1, "n_gauges": 0}
"""Smallest values of the counts one may ask for."""


@dataclass(frozen=True, eq=False, repr=False)
class HeadReport:
    """What an audit of a softmax head found.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> rows = draw.standard_normal((40, 8))
    >>> rows -= rows.mean(axis=0)
    >>> [head_report(FactorModel.from_softmax(rows + shift), n_gauges=1).alarms for shift in (0.0, 2.0)]
    [False, True]
    """

    n_labels: int
    """Labels V."""
    rank: int
    """Columns of a label row, k."""
    affine_rank: int
    """Dimensions that differences of labels span."""
    has_bias: bool
    """Whether the head has a bias."""
    n_panel: int
    """Labels looked at one by one; the others still count as neighbours and as competitors."""
    has_inputs: bool
    """Whether probabilities were verified on the model's own inputs; if not, on probe inputs at the head's scale."""
    n_inputs: int
    """How many."""
    guard: Guard
    """What was declared of the head beyond `x·w + b`."""
    n_zero: int
    """Labels without a direction, before or after the mean row is removed."""
    mean_norm: float
    """Length of the mean row."""
    median_norm: float
    """Median length of a row."""
    centred: EquivalentHead
    """The head less its mean row; under a guard it is another head, and `centred.change` says by how much."""
    neighbours: NeighbourChange
    """What that does to the nearest labels, exact over all labels."""
    constructions: tuple[Construction, ...]
    """Two labels made opposite, and made parallel; none under a guard."""
    equivalents: tuple[EquivalentHead, ...]
    """Random equivalent heads."""
    shifts: tuple[ShiftSummary, ...]
    """Shortest shifts to cosine 0, −1 and 1; none under a guard."""
    argmax: Argmaxable
    """Labels that can be the argmax, a sample in a large head."""
    projector: ProjectorCosines
    """Projector cosines of the pairs, with V/k."""
    logit_agreement: float | None
    """Correlation of label cosines with logit cosines over the model's inputs; None without inputs."""
    objective: str | None = None
    """How the head was trained, where the model says so."""

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no findings"
        return f"HeadReport({counted(self.n_labels, 'label')}, rank {self.rank}, {codes})"

    @property
    def offset(self) -> float:
        """Length of the mean row over the median length of a row: how far from centred the labels are."""
        return self.mean_norm / self.median_norm

    @property
    def verified(self) -> bool:
        """Whether rounding explains every change of a probability in a head that should be equal."""
        heads = (self.centred, *self.equivalents) if self.guard.keeps_translations else self.equivalents
        return all(head.ok for head in heads)

    @property
    def alarms(self) -> bool:
        """Whether some finding is an issue."""
        return any(finding.severity is Severity.ISSUE for finding in self.findings)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Conclusions with code, severity and remedy, the gravest first."""
        return head_findings(self)

    @cached_property
    def verdict(self) -> str:
        """One paragraph in plain words."""
        return head_verdict(self)

    def to_frame(self) -> pd.DataFrame:
        """One row for each equivalent head: its gauge, how probabilities and label cosines moved."""
        import pandas as pd

        records = [head.to_dict() for head in (self.centred, *self.equivalents)]
        return pd.DataFrame(records).drop(columns="quantiles")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        direct = ("n_labels", "rank", "affine_rank", "has_bias", "n_panel", "has_inputs", "n_inputs", "n_zero")
        numbers = ("mean_norm", "median_norm", "offset", "logit_agreement", "verdict")
        return {
            **{name: getattr(self, name) for name in direct + numbers},
            "declared": asdict(self.guard),
            "centred": self.centred.to_dict(),
            "neighbours": self.neighbours.to_dict(),
            "constructions": [asdict(made) for made in self.constructions],
            "equivalents": [head.to_dict() for head in self.equivalents],
            "shifts": [asdict(s) | {"quantiles": {f"{q:g}": x for q, x in s.quantiles.items()}} for s in self.shifts],
            "argmax": self.argmax.to_dict(),
            "projector": self.projector.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def head_report(
    model: FactorModel,
    *,
    pair: tuple[int, int] | None = None,
    n_labels: int = 2_048,
    n_pairs: int = 20_000,
    n_neighbours: int = 10,
    n_gauges: int = 2,
    max_condition: float = 2.0,
    soft_cap: float | None = None,
    normalised: bool = False,
    rng: np.random.Generator | int | None = 0,
) -> HeadReport:
    """Audit a softmax head: how far do label cosines move while every probability stays the same?

    Sums over labels (the mean row, the median length, whitening) and the search for neighbours and for
    competitors take all rows, a block at a time in float64. What is asked label by label is asked of a
    *panel*: all labels, or `n_labels` drawn ones in a larger head.

    Parameters
    ----------
    model : FactorModel
        A softmax head. Probabilities are verified on its inputs, or on probe inputs where it has none.
    pair : pair of int, optional
        Two rows to make opposite and parallel; the most alike pair of the panel by default.
    n_labels : int
        Size of the panel.
    n_pairs : int
        Pairs whose shortest shifts are computed, where there are more.
    n_neighbours : int
        N of the neighbour lists.
    n_gauges : int
        Random gauges of each kind.
    max_condition : float
        Condition number of the linear ones; translations are one median row long.
    soft_cap : float, optional
        Declares that logits are capped, `c · tanh(s/c)`: then translations change probabilities.
    normalised : bool
        Declares that label rows are divided by their lengths before use: then only rotations keep every head's
        probabilities.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    HeadReport

    Raises
    ------
    InputError
        If the model is no softmax head, has fewer than two labels with a direction, all its rows are equal, or its
        numbers are too large or too small to be multiplied; or for parameters outside their sets.
    """
    counts = {"n_labels": n_labels, "n_neighbours": n_neighbours, "n_pairs": n_pairs, "n_gauges": n_gauges}
    for name, value in counts.items():
        as_count(value, name, least=LEAST[name])
    draw, guard = _generator(rng), Guard.of(model.link, soft_cap, normalised)
    model = model.replace(link=model.link.name)
    panel = make_panel(model, n_labels, draw, include=pair or ())
    space = label_coordinates(model, summary=panel.summary)
    probe = HeadProbe(panel, guard, n_pairs=n_pairs, n_neighbours=n_neighbours, rng=draw)
    chosen = most_alike(panel) if pair is None else panel.place(pair)
    pairs, exact = panel_pairs(panel, n_pairs, draw)
    gauges = list(random_gauges(panel, n_gauges, max_condition, guard, draw))
    return HeadReport(
        n_labels=model.n_right,
        rank=model.rank,
        affine_rank=space.rank,
        has_bias=model.right_bias is not None,
        n_panel=len(panel.labels),
        has_inputs=panel.has_inputs,
        n_inputs=panel.model.n_left,
        guard=guard,
        n_zero=panel.n_zero,
        mean_norm=float(np.linalg.norm(panel.mean)),
        median_norm=panel.median_norm,
        centred=probe.measure(centring(panel)),
        neighbours=_neighbours(model, panel, n_neighbours),
        constructions=tuple(probe.construct(chosen)) if guard.keeps_translations else (),
        equivalents=tuple(probe.measure(made) for made in track(gauges, "equivalent heads", len(gauges))),
        shifts=shift_summaries(panel, pairs, exact=exact) if guard.keeps_translations else (),
        argmax=_argmax(space, model, draw),
        projector=projector_cosines_in(space, panel.labels[pairs]),
        logit_agreement=_agreement(model, panel, pairs),
        objective=model.objective,
    )


def _generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise must_be("rng", "a numpy Generator, an integer >= 0 or None", repr(rng)) from error


def _neighbours(model: FactorModel, panel: Panel, n: int) -> NeighbourChange:
    most = model.n_right - panel.n_zero - 1
    return neighbour_change(model, panel.labels, -panel.mean, n=min(n, most), exact=not panel.is_sample)


def _argmax(space: LabelCoordinates, model: FactorModel, rng: np.random.Generator) -> Argmaxable:
    pool = sample_rows(model.n_right, model.n_right if space.is_simplex else ARGMAX_LABELS, rng)
    return argmaxable_in(space, model, pool, max_cells=ARGMAX_CELLS)


def _agreement(model: FactorModel, panel: Panel, pairs: Indices) -> float | None:
    """Correlate label cosines with logit cosines over all inputs of the model."""
    if model.left is None:
        return None
    try:
        pinned = logit_cosines(model, pairs=panel.labels[pairs])
    except InputError:
        return None
    plain = panel.model.cosines("right", pairs)
    both = np.isfinite(pinned) & np.isfinite(plain)
    if both.sum() < 2 or np.ptp(plain[both]) == 0 or np.ptp(pinned[both]) == 0:
        return None
    return float(np.corrcoef(plain[both], pinned[both])[0, 1])
