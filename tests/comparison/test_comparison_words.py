"""What is said of a comparison, word by word, with numbers made by hand on both sides of every threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from embaudit.comparison import Agreement, Comparison, Match, RoleChange

M = 8
AGREEMENT = Agreement(
    n_rows=5, n_columns=6, score_correlation=0.51234, top_n=10, ranking_overlap=0.43, score_distance=0.7,
    difference_distance=0.0456, kl_divergence=None, predicts=("scores", "scores"), same=False,
)  # fmt: skip
SAME = replace(AGREEMENT, same=True)
LOOK_AT_PREDICTIONS = "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`), which no gauge"


def replicates(value, margin):
    """Two replicates around a value, from which a jackknife makes a margin."""
    return value + np.array([1, -1]) * margin / t.ppf(0.975, 1)


def changed(*, total=0.0, gauge=0.0, unseen=0.0, remainder=0.0, kept=10, lost=(0, 0, 0), margin=0.0, match=None):
    """A side of eight entities, each changed alike; `lost` counts neighbours lost to gauge, unseen and rest."""
    parts = {"total": total, "gauge": gauge, "unseen": unseen, "remainder": remainder}
    counts = dict(zip(("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning"), (kept, *lost), strict=True))
    shares = {name: count / sum(counts.values()) for name, count in counts.items()}
    return RoleChange(
        role="right",
        match=match or Match("right", np.arange(M), np.arange(M), np.array([f"i{j}" for j in range(M)]), 0, 0, True),
        unexplained={"rotation": 0.5, "linear": 0.25},
        **{name: np.full(M, value) for name, value in parts.items()},
        correlation=0.8766,
        gauged_correlation=0.9877,
        n_neighbours=10,
        searched=np.arange(M),
        **{name: np.full(M, count) for name, count in counts.items()},
        replicates={name: replicates(value, margin) for name, value in (parts | shares).items()},
        halvings={name: np.array([value]) for name, value in (parts | shares).items()},
    )


def comparison(right=None, *, agreement=AGREEMENT, group="linear", fits=False, **sides):
    return Comparison(("user", "item"), {"right": right, **sides} if right else sides, agreement, group, 3.456, fits)


@pytest.mark.parametrize(
    ("agreement", "fits", "total", "unseen", "said"),
    [
        (SAME, True, 0.0099, 0.0, "Nothing to do"),
        (SAME, False, 0.0099, 0.0, "Nothing to do"),
        (SAME, True, 0.01, 0.00499, "The models are the same up to that gauge. Compare"),
        (SAME, True, 0.01, 0.005, "The models are the same up to that gauge and dimensions that no prediction sees."),
        (SAME, False, 0.01, 0.0, "No prediction asks for what differs in the cosines"),
        (AGREEMENT, True, 0.01, 0.0, "Their factors agree up to that gauge and their predictions do not"),
        (AGREEMENT, False, 0.0099, 0.0, "Their cosines agree and their predictions do not"),
        (AGREEMENT, False, 0.01, 0.0, LOOK_AT_PREDICTIONS),
    ],
)
def test_what_to_do_next(agreement, fits, total, unseen, said):
    found = comparison(changed(total=total, unseen=unseen), agreement=agreement, fits=fits)
    assert said in found.explain()
    assert found.explained == (fits and agreement.same)
