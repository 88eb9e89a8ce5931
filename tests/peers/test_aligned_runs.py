"""Two runs of implicit with different seeds, aligned: the scores stay those of
implicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import embaudit as ea

if TYPE_CHECKING:
    from peers.films import Films

MODELS = {"als": "AlternatingLeastSquares", "bpr": "BayesianPersonalizedRanking"}


@pytest.mark.parametrize("module", MODELS)
def test_aligned_runs_of_implicit_keep_their_scores(module: str, films: Films) -> None:
    implicit = pytest.importorskip("implicit")
    kind = getattr(getattr(implicit, module), MODELS[module])
    ids = {"left_ids": films.users, "ids": films.items}
    models = []
    for seed in (0, 1):
        made = kind(factors=16, iterations=20, random_state=seed, num_threads=1)
        made.fit(films.matrix, show_progress=False)
        models.append(ea.load(made, **ids))
    old, new = models
    remedy = ea.fix(new, align_to=old)
    scores = new.scores()
    # The factors are stored in float32.
    gap = np.abs(remedy.to_model().scores() - scores).max()
    assert gap <= 1e-4 * np.abs(scores).max()
    for side in remedy.alignment.sides.values():
        assert side.mean_before is not None
        assert side.mean_after < side.mean_before - 20
