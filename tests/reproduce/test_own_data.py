"""The Netflix figure with a setting, and with data, of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from models import TINY

from embaudit._version import __version__
from embaudit.errors import InputError
from embaudit.reproduce import NetflixSetting, netflix

LABELS = ["War|Art", "Art", "Art|War", "", "War", "Art"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Who took which of 24 items: the first four are 1, 1, 3 and 4 times as popular as others; labels repeat."""
    folder, draw = tmp_path_factory.mktemp("own"), np.random.default_rng(0)
    taken = draw.random((60, 24)) < np.where(np.arange(24) < 4, 0.8, 0.3)
    taken[:3], taken[3:6, 5] = False, False
    taken[:2, 3] = True
    users, items = np.nonzero(taken)
    frame = pd.DataFrame({"userId": users + 100, "movieId": items * 10, "rating": draw.integers(0, 6, len(users))})
    frame.to_csv(folder / "ratings.csv", index=False)
    genres = pd.DataFrame({"movieId": np.arange(24) * 10, "genres": [LABELS[i % 6] for i in range(24)]})
    genres.to_csv(folder / "movies.csv", index=False)
    return folder, taken


@pytest.fixture(scope="module")
def setting(tables):
    own = {"data": str(tables[0] / "ratings.csv"), "truth": f"{tables[0] / 'movies.csv'}:genres"}
    return NetflixSetting(50, 14, rank=6, alpha_product=9.0, alpha_factors=3.0, **own)


@pytest.fixture(scope="module")
def own(setting):
    return setting.interactions(0)


def test_the_most_popular_items_with_a_label_are_kept_and_their_most_active_users(tables, own):
    taken = tables[1]
    labelled = [i for i in range(24) if LABELS[i % 6]]
    kept = sorted(sorted(labelled, key=lambda i: (-taken[:, i].sum(), i))[:14])
    activity = taken[:, kept].sum(axis=1)
    users = sorted(sorted(range(60), key=lambda u: (-activity[u], u))[:50])
    np.testing.assert_array_equal(own.matrix.toarray(), taken[np.ix_(users, kept)])
    np.testing.assert_array_equal(own.popularity, taken[:, kept].sum(axis=0))
    first = [LABELS[i % 6].split("|")[0] for i in kept]
    assert [own.labels[cluster] for cluster in own.clusters] == first
    assert first.count(own.labels[0]) >= first.count(own.labels[1])
    assert own.n_of_several == sum("|" in LABELS[i % 6] for i in kept)
    takers = int((taken[:, kept].sum(axis=1) > 0).sum())
    assert (own.n_users_given, own.n_takers, own.n_items_given, own.n_unlabelled) == (59, takers, 24, 4)
    assert takers == 57
    assert own.explain() == (
        "the 14 most popular of 20 items with a label, the 50 most active of 57 users who took one of them"
    )
    assert repr(own) == "OwnInteractions(50 users, 14 items, 2 clusters)"


def test_a_figure_of_ones_own_data_says_what_it_is_of(setting, own, tmp_path):
    figure = netflix(size=setting)
    assert figure.caption.startswith(
        f"Item-item cosines of {setting.data}: {own.explain()}. An item's cluster is the first of its labels in "
        f"{setting.truth}; {own.n_of_several} of them have more. The four solutions of Eq. 1"
    )
    assert figure.notes[:2] == [
        "Labels that overlap are no clusters: an item shares labels with many outside its own.",
        "Left out: 4 items without a label.",
    ]
    assert repr(figure) == f"NetflixFigure({own!r})"
    record = json.loads(next(path for path in figure.save(tmp_path) if path.suffix == ".json").read_text())
    assert record["embaudit_version"] == __version__
    assert record["setting"] == {
        "n_users": 50, "n_items": 14, "alpha_product": 9.0, "alpha_factors": 3.0, "rank": 6,
        "data": setting.data, "truth": setting.truth, "user": None, "item": None, "id": None,
    }  # fmt: skip
    assert record["own_data"] == {
        "n_users": 50, "n_items": 14, "n_interactions": own.matrix.nnz, "n_users_given": 59,
        "n_users_who_took_an_item": 57, "n_items_given": 24, "n_items_without_a_label": 4,
        "n_items_of_several_labels": own.n_of_several,
        "clusters": dict(zip(own.labels, np.bincount(own.clusters).tolist(), strict=True)),
    }  # fmt: skip
    assert (record["seeds"], record["choices"]) == ([], [])
    assert figure.plot_remedies().figure_.axes[0].get_xlabel() == "AUC of same cluster"
    axes = figure.plot().figure_.axes[0]
    assert axes.get_title() == "first labels"
    assert [text.get_text() for text in axes.get_yticklabels(minor=True)] == list(own.labels)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"alpha_product": 0}, "alpha_product must be a finite number > 0; got 0."),
        ({"alpha_factors": float("inf")}, "alpha_factors must be a finite number > 0; got inf."),
        ({"rank": 81}, "rank must be from 1 to 80, the fewer of users and items; got 81."),
        ({"n_items": 5_001}, "n_items must be an integer from 2 to 5000; got 5001."),
        ({"max_share": 1.1}, "max_share must be a share above 0 and at most 1; got 1.1."),
        ({"data": "a.csv"}, "data and truth must be given together: interactions, and clusters."),
        ({"truth": "a.csv:b"}, "data and truth must be given together: interactions, and clusters."),
        (
            {"data": "a.csv", "truth": "b.csv:c", "cluster_weights": (1, 2)},
            "cluster_weights must be left out with data, whose clusters are those of truth.",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(fields, sentence):
    with pytest.raises(InputError) as refused:
        replace(TINY, **fields)
    assert str(refused.value) == sentence


def test_data_that_do_not_go_with_the_rest_are_refused(setting):
    with pytest.raises(InputError, match=r"^n_seeds must be left out with data, which are not drawn\.$"):
        netflix(size=setting, n_seeds=1)
    with pytest.raises(InputError, match=r"^truth must be FILE:COLUMN, a table of the items and its colum"):
        netflix(size=replace(setting, truth=setting.truth.removesuffix(":genres")))
    with pytest.raises(InputError, match=r"^rank must be from 1 to 14, the fewer of users and items; got 15"):
        netflix(size=replace(setting, n_items=20, rank=15, data=_few(setting)))
    blank = Path(setting.data).with_name("blank.csv")
    blank.write_text(Path(setting.data).with_name("movies.csv").read_text().replace("Art", "").replace("War", ""))
    with pytest.raises(InputError, match=r"^truth must hold a label of an item of the data; got none\.$"):
        netflix(size=replace(setting, truth=f"{blank}:genres"))


def _few(setting):
    """Leave only fourteen items of those that have labels in the table."""
    frame = pd.read_csv(setting.data)
    labelled = [i * 10 for i in range(24) if LABELS[i % 6]][:14]
    path = Path(setting.data).with_name("few.csv")
    frame[frame["movieId"].isin(labelled)].to_csv(path, index=False)
    return str(path)


def test_movielens_is_read_as_pandas_counts_it(shared_data):
    folder = shared_data("ml-latest-small")
    own = {"data": f"{folder}/ratings.csv", "truth": f"{folder}/movies.csv:genres"}
    found = NetflixSetting(610, 300, **own).interactions(0)
    frame = pd.read_csv(folder / "ratings.csv").merge(pd.read_csv(folder / "movies.csv"), on="movieId")
    frame = frame[frame["genres"] != "(no genres listed)"]
    popular = frame.groupby("movieId")["userId"].nunique().sort_values(ascending=False, kind="stable")[:300].index
    frame = frame[frame["movieId"].isin(popular)]
    genres = frame.groupby("movieId")["genres"].first().str.split("|")
    assert found.matrix.nnz == len(frame)
    assert found.n_takers == frame["userId"].nunique() == 603
    sizes = dict(zip(found.labels, np.bincount(found.clusters), strict=True))
    assert sizes == genres.str[0].value_counts().to_dict()
    assert found.n_of_several == (genres.str.len() > 1).sum() == 271
