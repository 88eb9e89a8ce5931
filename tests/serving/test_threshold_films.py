"""Thresholds for films of MovieLens, and for vectors of English words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import embaudit as ea


@pytest.fixture(scope="module")
def films(shared_data):
    """Fit users and films to a part of the ratings, and label pairs by the others."""
    folder = shared_data("ml-latest-small")
    frame = pd.read_csv(folder / "ratings.csv")
    frame = frame[frame.groupby("movieId")["rating"].transform("size") >= 20]
    draw = np.random.default_rng(0)
    is_held_out = draw.random(len(frame)) < 0.2
    users, rows = np.unique(frame["userId"], return_inverse=True)
    items, columns = np.unique(frame["movieId"], return_inverse=True)
    seen = np.zeros((len(users), len(items)))
    seen[rows[~is_held_out], columns[~is_held_out]] = 1
    model = ea.ProductPenaltyMF(16, alpha=10.0).fit(seen).model(seen)
    model = model.replace(left_ids=users, right_ids=items)
    held_out = pd.DataFrame(
        {
            "user": frame["userId"].to_numpy()[is_held_out],
            "item": frame["movieId"].to_numpy()[is_held_out],
            "label": 1,
        }
    )
    # Films that a user never rated.
    rated = np.zeros(seen.shape, dtype=bool)
    rated[rows, columns] = True
    user, item = np.nonzero(~rated)
    chosen = draw.choice(len(user), 4 * len(held_out), replace=False)
    others = pd.DataFrame(
        {"user": users[user[chosen]], "item": items[item[chosen]], "label": 0}
    )
    return model, pd.concat([held_out, others], ignore_index=True)


def test_held_out_films_of_users_have_a_threshold(films):
    model, pairs = films
    found = ea.threshold(model, pairs=pairs)
    assert (found.role, found.title) == ("cross", "user-item")
    assert found.labelled.separates
    assert found.labelled.auc.low > 0.7
    left, right = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (model.left, model.right)
    )
    cosines = left @ right.T
    users, films_of = (
        pd.Index(ids).get_indexer(pairs[name])
        for name, ids in (("user", model.left_ids), ("item", model.right_ids))
    )
    scores = cosines[users, films_of]
    passes = scores >= found.threshold
    labels = pairs["label"].to_numpy() == 1
    everywhere = next(
        errors for errors in found.errors() if errors["threshold"] == found.threshold
    )
    assert everywhere["recall"] == pytest.approx(passes[labels].mean(), abs=1e-12)
    assert everywhere["precision"] == pytest.approx(labels[passes].mean(), abs=1e-12)
    # All pairs of users and films but the related ones, by brute force.
    related = np.zeros(cosines.shape, dtype=bool)
    related[users[labels], films_of[labels]] = True
    share = (cosines[~related] >= found.threshold).mean()
    estimate = found.share_reaching(found.threshold)
    assert estimate.low <= share <= estimate.high
    assert abs(estimate.value - share) < 0.004


def test_labels_by_the_number_of_a_film_have_no_threshold(films):
    model, pairs = films
    found = ea.threshold(model, pairs=pairs.assign(label=pairs["item"] % 2))
    assert found.threshold is None
    assert "which includes 0.5" in found.conclusion


def test_words_with_one_stem_have_a_threshold(shared_data):
    file = shared_data("survey/wordvecs") / "wordvecs1000.json"
    vectors = json.loads(file.read_text(encoding="utf-8"))["vectors"]
    words = np.array(list(vectors))
    model = ea.FactorModel.from_vectors(
        np.array(list(vectors.values())), ids=words, compared="cosine"
    )
    stems = pd.Series(words).str.slice(0, 4).to_numpy()
    draw = np.random.default_rng(0)
    records = []
    for first, word in enumerate(words):
        if len(word) < 4:
            continue
        same = np.flatnonzero(stems == stems[first])
        related = [row for row in same if row > first][:1]
        if not related:
            continue
        others = draw.choice(np.flatnonzero(stems != stems[first]), 4, replace=False)
        records += [(word, words[row], 1) for row in related]
        records += [(word, words[row], 0) for row in others if row > first]
    pairs = pd.DataFrame(records, columns=["a", "b", "label"])
    found = ea.threshold(model, pairs=pairs, groups=stems)
    assert found.labelled.separates
    permuted = pairs.assign(label=draw.permutation(pairs["label"]))
    assert ea.threshold(model, pairs=permuted, groups=stems).threshold is None
