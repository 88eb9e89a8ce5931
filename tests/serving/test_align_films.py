"""Two trainings of implicit feedback ALS on MovieLens, aligned with each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import embaudit as ea

OFTEN = 20
"""How often a film has to be rated to take part."""


def half_step(counts, fixed, n_columns):
    """Solve for the rows of one side: weights 1 + 5 r, targets 1, and decay 1."""
    gram = fixed.T @ fixed + np.eye(n_columns)
    rows = np.zeros((counts.shape[0], n_columns))
    for row in range(len(rows)):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        seen, weights = fixed[counts.indices[part]], 5 * counts.data[part]
        moment = gram + (seen * weights[:, None]).T @ seen
        rows[row] = np.linalg.solve(moment, ((1 + weights)[:, None] * seen).sum(axis=0))
    return rows


def train(counts, seed, k=16):
    items = 0.1 * np.random.default_rng(seed).standard_normal((counts.shape[1], k))
    transposed = counts.T.tocsr()
    for _ in range(6):
        users = half_step(counts, items, k)
        items = half_step(transposed, users, k)
    return users, items


@pytest.fixture(scope="module")
def runs(shared_data):
    frame = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    often = frame.groupby("movieId")["rating"].transform("size") >= OFTEN
    frame = frame[often]
    users, rows = np.unique(frame["userId"], return_inverse=True)
    films, columns = np.unique(frame["movieId"], return_inverse=True)
    counts = csr_matrix((frame["rating"].to_numpy(), (rows, columns)))
    return [
        ea.FactorModel.from_user_item(
            *train(counts, seed), user_ids=users, item_ids=films
        )
        for seed in (0, 1)
    ]


def test_two_seeds_come_near_to_each_other_and_keep_their_scores(runs):
    old, new = runs
    remedy = ea.fix(new, align_to=old)
    expected = new.scores()
    found = remedy.to_model().scores()
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    for side in remedy.alignment.sides.values():
        assert 70 < side.mean_before < 110
        assert 5 < side.mean_after < 45


def test_the_angles_after_are_those_of_plain_numpy_up_to_the_halves(runs):
    """Both models are nearly balanced, so a plain Procrustes of stored rows is near."""
    old, new = runs
    u, _, vt = np.linalg.svd(new.left.T @ old.left + new.right.T @ old.right)
    alignment = ea.fix(new, align_to=old).alignment
    for role, side in alignment.sides.items():
        x, y = old.factors(role), new.factors(role) @ (u @ vt)
        cosines = (x * y).sum(axis=1)
        cosines /= np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        plain = np.degrees(np.arccos(np.clip(cosines, -1, 1))).mean()
        assert side.mean_after == pytest.approx(plain, abs=3)


def test_old_users_find_most_of_what_the_new_model_recommends(runs):
    old, new = runs
    lists = ea.fix(new, align_to=old).alignment.lists_frame().set_index("direction")
    recommended = lists.loc["user → item"]
    assert recommended["old_among_new"] > 0.5
    assert recommended["old_among_new"] > recommended["old_among_old"] - 0.05
