"""Two trainings of implicit feedback ALS on MovieLens, aligned with each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import embaudit as ea

FEWEST_RATINGS = 20
"""Number of ratings that a film needs to take part."""


def half_step(counts, fixed, n_columns):
    """Solve for the rows of one side: weights 1 + 5 r, targets 1, and decay 1."""
    gram = fixed.T @ fixed + np.eye(n_columns)
    rows = np.zeros((counts.shape[0], n_columns))
    for row in range(len(rows)):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        rated = fixed[counts.indices[part]]
        weights = 5 * counts.data[part]
        moment = gram + (rated * weights[:, None]).T @ rated
        target = ((1 + weights)[:, None] * rated).sum(axis=0)
        rows[row] = np.linalg.solve(moment, target)
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
    n_ratings = frame.groupby("movieId")["rating"].transform("size")
    frame = frame[n_ratings >= FEWEST_RATINGS]
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


def test_angles_are_near_to_those_of_a_plain_procrustes_rotation(runs):
    """Training balanced both models nearly, so stored rows need only a rotation.

    The plain rotation is fitted to all rows, and the alignment to half of them.
    """
    old, new = runs
    cross = new.left.T @ old.left + new.right.T @ old.right
    u, _, vt = np.linalg.svd(cross)
    rotation = u @ vt
    alignment = ea.fix(new, align_to=old).alignment
    for role, side in alignment.sides.items():
        x = old.factors(role)
        y = new.factors(role) @ rotation
        lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        cosines = (x * y).sum(axis=1) / lengths
        angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
        assert side.mean_after == pytest.approx(angles.mean(), abs=3)


def test_old_users_find_most_of_what_the_new_model_recommends(runs):
    old, new = runs
    lists = ea.fix(new, align_to=old).alignment.lists_frame().set_index("direction")
    recommended = lists.loc["user → item"]
    assert recommended["old_among_new"] > 0.5
    assert recommended["old_among_new"] > recommended["old_among_old"] - 0.05
