"""The table of conventions in which people read one head, and how far each lies from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.core.words import counted, percent
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from embaudit.softmax.conventions import NormEvidence


def convention_grid(norm: NormEvidence) -> Grid:
    """Lay every two conventions beside each other.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.model.final_norm import FinalNorm
    >>> from embaudit.softmax.conventions import norm_evidence
    >>> draw = np.random.default_rng(0)
    >>> head = FactorModel.from_softmax(draw.standard_normal((9, 2)))
    >>> found = norm_evidence(head, FinalNorm("rms", [1.0, 5.0]), labels=np.arange(9), n_neighbours=2, rng=draw)
    >>> [row[:2] for row in convention_grid(found).rows]
    [('as stored', 'folded'), ('as stored', 'folded and centred'), ('folded', 'folded and centred')]
    """
    labels = counted(len(norm.queries), "label")
    note = f"{labels} without a copy, {norm.n_copies:,} left out" if norm.n_copies else labels
    top = norm.folded.top_n
    return Grid(
        f"conventions in use: one head behind its {norm.norm.title} (κ = {norm.norm.condition_number:.3g})",
        f"{note}; predictions moved by {max(each.max_abs for each in norm.drift):.0e} at most",
        ("one", "the other", "top-1 changed", f"top-{top} changed", "mean |Δcos|"),
        tuple(
            (
                each.first,
                each.second,
                percent(each.nearest.share),
                percent(each.top_n_changed),
                f"{each.mean_abs:.3f}",
            )
            for each in norm.apart
        ),
        words=(0, 1),
    )
