"""Measurements of a softmax head, before anything is concluded from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.core.plain import record
from embaudit.core.results import Result
from embaudit.core.words import counted, percent
from embaudit.model.links import Softmax

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.model import FactorModel
    from embaudit.softmax.argmaxable import Argmaxable
    from embaudit.softmax.equivalents import Construction, EquivalentHead
    from embaudit.softmax.label_sample import LabelSample
    from embaudit.softmax.neighbour_change import NeighbourChange
    from embaudit.softmax.projector import ProjectorCosines
    from embaudit.softmax.shifts import ShiftSummary


RECORD = (
    *("n_labels", "rank", "affine_rank", "has_bias", "n_panel", "has_inputs", "n_inputs", "n_zero", "n_aside"),
    *("mean_norm", "median_norm", "offset", "logit_agreement", "centred", "neighbours", "constructions"),
    *("equivalents", "shifts", "argmax", "projector"),
)
"""Fields of the `head` of the audit's JSON."""


@dataclass(frozen=True, eq=False)
class HeadReport(Result):
    """Movement of label cosines while every probability stays, and the properties that the head fixes."""

    model: FactorModel
    """The head, with what is declared of it."""
    affine_rank: int
    """Dimensions that differences of labels span."""
    n_panel: int
    """Labels looked at one by one; the others still count as neighbours and as competitors."""
    n_inputs: int
    """Inputs that probabilities were verified on: the model's own, else probe inputs at the head's scale."""
    n_zero: int
    """Labels without a direction, before or after the mean row is removed."""
    n_aside: int
    """Labels with a direction that are set aside, such as special tokens; they still count as neighbours."""
    mean_norm: float
    """Length of the mean row."""
    median_norm: float
    """Median length of a row."""
    centred: EquivalentHead
    """The head less its mean row; under a guard it is another head, and `centred.change` says by how much."""
    neighbours: NeighbourChange
    """Change of the nearest labels without the mean row, exact over all labels."""
    constructions: tuple[Construction, ...]
    """Two labels made opposite, and made parallel; none under a guard."""
    equivalents: tuple[EquivalentHead, ...]
    """Random equivalent heads."""
    shifts: tuple[ShiftSummary, ...]
    """Shortest shifts to cosine 0, −1 and 1; none under a guard."""
    argmax: Argmaxable
    """Labels that can be the argmax, a sample in a large head."""
    projector: ProjectorCosines
    """Projector cosines of the pairs, with V/k; of no pair where rows are very many and long."""
    logit_agreement: float | None
    """Correlation of label cosines with logit cosines over the model's inputs; None without inputs."""
    panel: LabelSample
    """The labels looked at one by one, and the inputs."""
    pair: tuple[int, int]
    """The pair of them that `constructions` are made for."""

    @property
    def chosen(self) -> tuple[int, int]:
        """Return `pair`; the earlier name of it."""
        return self.pair

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
    def link(self) -> Softmax:
        """The softmax, with what is declared of the head."""
        assert isinstance(self.model.link, Softmax)
        return self.model.link

    @property
    def origin_is_free(self) -> bool:
        """True if a translation of the labels leaves the probabilities alone."""
        return "right" in self.model.free_shifts

    @property
    def offset(self) -> float:
        """Length of the mean row over the median length of a row: how far from centred the labels are."""
        return self.mean_norm / self.median_norm

    @property
    def verifiable(self) -> tuple[EquivalentHead, ...]:
        """The heads that should give every probability the same."""
        return (self.centred, *self.equivalents) if self.origin_is_free else self.equivalents

    @property
    def verified(self) -> bool:
        """True if rounding explains every change of a probability in a head that should be equivalent."""
        return all(head.ok for head in self.verifiable)

    def __repr__(self) -> str:
        return f"HeadReport({counted(self.n_labels, 'label')}, rank {self.rank})"

    def explain(self) -> str:
        """Describe the effect of removing the mean row, and the labels that can be the most probable one."""
        changed, moved = self.neighbours.top1_changed, self.centred.movement.mean_abs
        return (
            f"The mean row is {self.offset:.2g} of a typical row (median) long. Without it {percent(changed)} of "
            f"{counted(self.neighbours.n_rows, 'label')} have another nearest label, and cosines differ by {moved:.2f} "
            f"on average. {self.argmax.explain()} What follows from it, `embaudit.audit` concludes."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row for each equivalent head: its gauge, how probabilities and label cosines moved."""
        import pandas as pd

        records = [head.to_dict() for head in (self.centred, *self.equivalents)]
        return pd.DataFrame(records).drop(columns="quantiles")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return record(self, *RECORD, declared={"soft_cap": self.link.soft_cap, "normalised": self.link.unit_rows})
