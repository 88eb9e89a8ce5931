"""The full-rank results of the Netflix paper, Section 2.2, checked on data of full column rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from embaudit.kernels.pairs import cosine_matrix
from embaudit.model.equivalence import Equivalence, largest_gap
from embaudit.simulate import simulate_interactions
from embaudit.solvers import ProductPenaltyMF

TOLERANCE = 1e-10


def full_rank_checks(*, n_users: int = 600, n_items: int = 40, alpha: float = 100.0, seed: int = 0) -> pd.DataFrame:
    """Check the statements of Section 2.2 with a factorisation of full rank, k = p.

    - under `D = g^½` the item factors are orthonormal: the item-item cosines are the identity matrix;
    - then, too, every user ranks items by cosine as by dot product;
    - under `D = g^-½` the user factors are `X V`: the user-user cosines are those of the rows of data.

    They hold for any weight `alpha` of the penalty.

    Returns
    -------
    DataFrame
        `statement`, `rescaling`, `deviation` (largest, absolute; for rankings the largest difference of scores
        whose order the cosine turns around) and `holds`.

    Examples
    --------
    >>> full_rank_checks(n_users=60, n_items=12)["holds"].tolist()
    [True, True, True]
    """
    data = simulate_interactions(n_users, n_items, 3, rng=seed).matrix.toarray()
    fits = {
        name: ProductPenaltyMF(n_items, alpha=alpha, split=name, svd_solver="lapack").fit(data).model(data)
        for name in ("g^1/2", "g^-1/2")
    }
    items, users = fits["g^1/2"], fits["g^-1/2"]
    assert items.rank == n_items, "the simulated data must have full column rank"
    scores = items.scores()
    lengths = np.linalg.norm(items.factors("left"), axis=1)[:, None] * np.linalg.norm(items.right, axis=1)
    gaps: dict[tuple[str, str], Any] = {
        ("item-item cosine is the identity matrix", "g^1/2"): np.abs(cosine_matrix(items.right) - np.eye(n_items)),
        ("user-item cosine ranks as the dot product", "g^1/2"): largest_gap(
            Equivalence.RANKINGS, scores, scores / lengths
        ),
        ("user-user cosine is that of the raw data", "g^-1/2"): np.abs(
            cosine_matrix(users.factors("left")) - cosine_matrix(data)
        ),
    }
    frame = pd.DataFrame(
        [{"statement": what, "rescaling": name, "deviation": float(np.max(gap))} for (what, name), gap in gaps.items()]
    )
    return frame.assign(holds=frame["deviation"] < TOLERANCE)
