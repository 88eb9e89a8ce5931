"""Translations: one vector added to every row of a side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import EPS, RNG, as_generator, require_one_of
from embaudit.gauges.gauge import Gauge, require_rank
from embaudit.gauges.group import GaugeGroup, covers, require_budget, within_budget
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Linear


@dataclass(frozen=True)
class Translation(GaugeGroup):
    """`Q' = Q + 1vᵀ` (side right) or `P' = P + 1uᵀ` (side left) with a length of at most `max_shift`.

    On the right it adds `p · v` to a whole row of scores, which the softmax and the order within the row
    ignore. On the left it adds `q · u` to a whole column, which only a free right bias can absorb.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    side : {"right", "left"}
        Which factors are shifted.
    max_shift : float, optional
        Bound on the length of the shift; unbounded by default.

    Examples
    --------
    >>> Translation(2).preserves.title
    'probabilities'
    >>> Translation(2).fixes_lengths, Translation(2, max_shift=0.0).fixes_lengths
    (False, True)

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026, lemma on translations.
    """

    kind = "translation"
    title = "random translations"
    rank: int
    side: SideName = field(default="right", kw_only=True)
    max_shift: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_rank(self.rank)
        require_one_of(self.side, "side", ("left", "right"))
        require_budget("max_shift", self.max_shift, 0.0)

    def name_in(self, model: FactorModel) -> str:
        """Name the set by the rows it shifts."""
        return f"{self.kind} of {model.title(self.side)}s"

    @property
    def preserves(self) -> Equivalence:
        """Probabilities when labels move, nothing when inputs do (unless a bias absorbs it), all if nothing moves."""
        if self.max_shift == 0:
            return Equivalence.COSINES
        return (
            Equivalence.PROBABILITIES if self.side == "right" else Equivalence.NOTHING
        )

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Scores, where a free bias of the other side absorbs the shift, and cosines beside labels of length 1."""
        if model.link.needs_lengths and self.side in model.free_shifts:
            return Equivalence.COSINES
        bias = model.left_bias if self.side == "right" else model.right_bias
        return (
            self.preserves
            if self.max_shift == 0 or bias is None
            else Equivalence.SCORES
        )

    @property
    def fixes_cosines(self) -> bool:
        """Never, unless nothing may move."""
        return self.max_shift == 0

    @property
    def fixes_lengths(self) -> bool:
        """Never, unless nothing may move."""
        return self.fixes_cosines

    @property
    def is_group(self) -> bool:
        """True without a budget, as lengths add up."""
        return self.max_shift in (None, 0)

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a direction uniformly, with the whole budget as its length (standard normal without one)."""
        # A normal vector has a uniform direction; its length is a hair below the budget, which rounding may not exceed.
        vector = as_generator(rng).standard_normal(self.rank)
        if self.max_shift is not None:
            vector *= self.max_shift * (1 - 8 * EPS) / np.linalg.norm(vector)
        return Gauge.translation(self.rank, **{self.side: vector})

    def contains(self, gauge: Gauge) -> bool:
        """Check that the linear part is the identity, the other side stays and the shift is within the budget."""
        here, other = ("right", "left") if self.side == "right" else ("left", "right")
        return (
            gauge.rank == self.rank
            and gauge.linear_kind is Linear.IDENTITY
            and not getattr(gauge, f"shifts_{other}")
            and within_budget(
                float(np.linalg.norm(getattr(gauge, f"{here}_shift"))), self.max_shift
            )
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Shorter translations of the same side."""
        return (
            isinstance(other, Translation)
            and other.side == self.side
            and covers(self.max_shift, other.max_shift)
        )

    def is_within(self, other: GaugeGroup) -> bool:
        """Check for a set of its rank, if nothing may move: all of them hold the identity."""
        return self.max_shift == 0 and other.rank == self.rank
