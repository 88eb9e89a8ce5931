"""Translations: one vector added to every row of a side."""

from __future__ import annotations

from dataclasses import dataclass, field

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.constraint import IDENTITY, ORTHOGONAL
from embaudit.gauges.draws import random_shift
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup
from embaudit.model import FactorModel, SideName


@dataclass(frozen=True)
class Translation(GaugeGroup):
    """Shifts `Q' = Q + 1vᵀ` (side right) or `P' = P + 1uᵀ` (side left).

    A shift of right rows adds `p · v` to a whole row of scores, which the softmax and
    the order within the row ignore. A shift of left rows adds `q · u` to a whole
    column, which only a free right bias can absorb.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    side : {"right", "left"}
        Which factors are shifted.
    max_shift : float, optional
        Bound on the length of the shift; unbounded by default.

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026,
    lemma on translations.

    Examples
    --------
    >>> Translation(2).preserves.title
    'probabilities'
    >>> Translation(2).fixes_lengths, Translation(2, max_shift=0.0).fixes_lengths
    (False, True)
    """

    kind = "translation"
    title = "random translations"
    constraints = frozenset({IDENTITY, ORTHOGONAL})
    rank: int
    max_condition = 1.0
    side: SideName = field(default="right", kw_only=True)
    max_shift: float | None = field(default=None, kw_only=True)

    def name_in(self, model: FactorModel) -> str:
        """Name the set by the rows that it shifts."""
        return f"{self.kind} of {model.title(self.side)}s"

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a shift with a uniform direction, as long as the budget allows."""
        shift = random_shift(self.rank, self.max_shift, as_generator(rng))
        if self.side == "right":
            return Gauge.translation(self.rank, right=shift)
        return Gauge.translation(self.rank, left=shift)
