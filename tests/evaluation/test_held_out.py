"""Similarities judged by held-out interactions, against plain loops and by laws."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from embaudit.core.words import percent
from embaudit.errors import InputError
from embaudit.evaluation import evaluate_similarities, held_out_interactions
from embaudit.evaluation.held_out import counts_in
from embaudit.evaluation.list_measures import LIST_MEASURES
from embaudit.model import FactorModel

N = 3


def case(seed=0, n_users=40, n_items=25):
    """Return a model with ids and counts, and a table of held-out interactions."""
    draw = np.random.default_rng(seed)
    model = FactorModel.from_user_item(
        draw.standard_normal((n_users, 4)),
        draw.standard_normal((n_items, 4)),
        item_ids=np.arange(n_items) + 100,
    ).replace(right_counts=draw.permutation(n_items) + 1.0)
    rows = [
        (user, item + 100)
        for user in range(n_users)
        for item in draw.permutation(n_items)[: draw.integers(1, 8)]
    ]
    return model, pd.DataFrame(rows, columns=["user", "item"])


def by_loops(score, table, n_items, n):
    """Return hit rate, recall and NDCG, and the list of each query, in plain loops."""
    of_users, list_of = [], {}
    for _, items in table.groupby("user")["item"]:
        items = [item - 100 for item in items]
        if len(items) < 2:
            continue
        of_queries = []
        for query in items:
            others = [item for item in range(n_items) if item != query]
            others.sort(key=lambda item: -score[query, item])
            list_of[query] = others[:n]
            related = [item for item in items if item != query]
            is_related = [item in related for item in list_of[query]]
            n_findable = min(n, len(related))
            gain = sum(1 / np.log2(i + 2) for i, hit in enumerate(is_related) if hit)
            ideal = sum(1 / np.log2(i + 2) for i in range(n_findable))
            recall = sum(is_related) / n_findable
            of_queries.append((any(is_related), recall, gain / ideal))
        of_users.append(np.mean(of_queries, axis=0))
    return np.mean(of_users, axis=0), list_of


def scores_of(model, similarity):
    """Return the similarity of all pairs of items by its definition."""
    x = model.right
    if similarity == "cosine":
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        return unit @ unit.T
    if similarity == "dot product":
        return x @ x.T
    if similarity == "prediction cosine":
        predictions = model.left @ x.T
        columns = predictions / np.linalg.norm(predictions, axis=0)
        return columns.T @ columns
    return np.tile(model.right_side.counts, (len(x), 1))


SIMILARITIES = ["cosine", "dot product", "prediction cosine", "popularity"]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_measures_agree_with_plain_loops(similarity):
    model, table = case()
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    expected, _ = by_loops(scores_of(model, similarity), table, 25, N)
    values = [found.value(similarity, name) for name in found.measures]
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("n_users", [40, 3])
def test_coverage_of_the_lists_of_queries_agrees_with_counting(similarity, n_users):
    """The lists of 40 users are all lists, and the lists of 3 users are a few."""
    model, table = case()
    table = table[table["user"] < n_users]
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    _, list_of = by_loops(scores_of(model, similarity), table, 25, N)
    assert (len(list_of) == 25) == (n_users == 40)
    places = [item for items in list_of.values() for item in items]
    coverage = found.coverage[similarity]
    assert coverage.never_listed == pytest.approx(1 - len(set(places)) / 25)
    # A tenth of 25 items is 2.5 items: two items, and half of the third.
    first, second, third = np.argsort(-model.right_side.counts)[:3]
    n_popular = places.count(first) + places.count(second) + places.count(third) / 2
    assert coverage.popular_places == pytest.approx(n_popular / len(places))


def test_chance_is_the_hypergeometric_probability_of_a_hit():
    model, table = case()
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    sizes = table.groupby("user").size()
    sizes = sizes[sizes >= 2]
    expected = np.mean([1 - hypergeom(24, size - 1, N).pmf(0) for size in sizes])
    assert found.chance == pytest.approx(expected)


def test_a_perfect_similarity_scores_1_even_if_lists_are_shorter_than_its_clusters():
    cluster = np.repeat(np.arange(5), 6)
    model = FactorModel.from_vectors(np.eye(5)[cluster], ids=np.arange(30))
    table = pd.DataFrame({"user": cluster, "item": np.arange(30)})
    for n in (3, 5):
        found = evaluate_similarities(model, interactions=table, n_neighbours=n)
        assert [found.value("cosine", name) for name in found.measures] == [1, 1, 1]


def test_popularity_lists_the_items_with_the_largest_counts():
    model, table = case()
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    counts = model.right_side.counts
    top = np.argsort(-counts)[: N + 1]
    of_user = table.groupby("user")["item"].apply(set)
    of_user = of_user[of_user.apply(len) >= 2].reset_index(drop=True)
    for place, query in enumerate(found.queries):
        listed = [item for item in top if item != query][:N]
        related = of_user[found.users[place]] - {query + 100}
        is_hit = bool(related & {item + 100 for item in listed})
        assert found.by_query["popularity"][place, 0] == is_hit
    assert found.coverage["popularity"].never_listed == pytest.approx(1 - 4 / 25)


def test_popularity_is_not_judged_without_counts():
    model, table = case()
    without = evaluate_similarities(
        model.replace(right_counts=None), interactions=table, n_neighbours=N
    )
    assert "popularity" not in without.by_query
    assert "Popularity alone is not judged" in without.explain()


def test_columns_of_the_training_are_known_by_their_names_alone():
    # `user` and `item` choose columns of the held-out interactions.
    model = FactorModel.from_vectors(np.eye(3), ids=["a", "b", "c"])
    training = pd.DataFrame({"who": ["x", "y"], "item": ["a", "b"]})
    with pytest.raises(InputError, match="a customary name, such as user") as caught:
        counts_in(training, model, "right")
    assert "choose it with" not in str(caught.value)
    named = training.rename(columns={"who": "user"})
    assert counts_in(named, model, "right").tolist() == [1, 1, 0]


def test_popularity_is_counted_in_the_training():
    model, table = case()
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    counts = model.right_side.counts
    training = pd.DataFrame(
        {
            "user": np.arange(int(counts.sum())),
            "item": np.repeat(np.arange(25) + 100, counts.astype(int)),
        }
    )
    again = evaluate_similarities(
        model.replace(right_counts=None),
        interactions=table,
        training=training,
        n_neighbours=N,
    )
    np.testing.assert_array_equal(
        again.by_query["popularity"], found.by_query["popularity"]
    )
    assert again.coverage == found.coverage


def test_the_last_interactions_are_those_that_are_surely_last():
    items = FactorModel.from_vectors(np.eye(5), ids=range(5))
    table = pd.DataFrame(
        {
            "user": [1] * 4 + [2] * 4 + [3] * 2,
            "item": [0, 1, 2, 3, 0, 1, 2, 3, 3, 4],
            "time": [4, 3, 2, 1, 4, 3, 3, 3, 0, 0],
        }
    )
    kept = held_out_interactions(table, items, last=2)
    # User 2 has three items at one time, so only one is surely among the last two.
    assert kept.owners.tolist() == [0, 0, 1, 1]
    assert kept.rows.tolist() == [0, 1, 3, 4]
    dates = table.assign(time=pd.to_datetime(table["time"], unit="D"))
    again = held_out_interactions(dates, items, last=2)
    assert again.rows.tolist() == kept.rows.tolist()


def test_fewer_queries_are_drawn_evenly_over_users():
    model, table = case()
    found = evaluate_similarities(
        model, interactions=table, n_neighbours=N, n_queries=70
    )
    of_user = np.bincount(found.users)
    assert len(found.queries) <= 70
    assert of_user.min() >= 1
    assert of_user.max() <= 2
    few = evaluate_similarities(model, interactions=table, n_neighbours=N, n_queries=9)
    assert np.bincount(few.users).tolist() == [1] * 9


def test_metrics_are_flat_finite_numbers_under_names_that_trackers_take():
    model, table = case()
    found = evaluate_similarities(model, interactions=table, n_neighbours=N)
    metrics = found.metrics()
    assert metrics["prediction_cosine/recall_at_3"] == found.value(
        "prediction cosine", "recall"
    )
    assert "popularity/popular_places" in metrics
    for name, value in metrics.items():
        assert re.fullmatch(r"[\w.\-/ ]+", name)
        assert type(value) is float
        assert np.isfinite(value)
    # A tracker that stores files cannot have a name that is a folder of another.
    folders = {name.rpartition("/")[0] for name in metrics}
    assert not folders & metrics.keys()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {},
            "the relations to judge by must be given as truth or as interactions; "
            "got neither",
        ),
        ({"interactions": 3}, "interactions must be a path or a data frame; got int"),
        ({"interactions": "none.csv"}, "none.csv"),
        ({"last": 1}, "last must be an integer"),
        ({"time": "time"}, "time must be omitted unless last is given"),
        ({"last": 2}, "choose it with time"),
        ({"separator": "|"}, "separator must be omitted unless truth is given"),
        ({"n_neighbours": 24}, "n_neighbours must be an integer from 1 to 23"),
        ({"truth": ["a"] * 25}, "got both"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, sentence):
    model, table = case()
    given = {"interactions": table} | options if options else {}
    with pytest.raises(InputError, match=sentence):
        evaluate_similarities(model, **given)


def test_other_ids_and_missing_ids_are_refused():
    model, table = case()
    with pytest.raises(InputError, match="the first id is 0 "):
        evaluate_similarities(
            model, interactions=table.assign(item=table["item"] - 100)[:30]
        )
    with pytest.raises(InputError, match="must have ids"):
        evaluate_similarities(FactorModel.from_vectors(np.eye(9)), interactions=table)


def clustered(n_users=300, *, shuffled=False, seed=0):
    """Return a model whose prediction cosine knows 6 clusters, and interactions."""
    draw = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(6), 20)
    right = np.eye(6)[cluster] + 0.3 * draw.standard_normal((120, 6))
    left = draw.standard_normal((200, 6))
    scale = np.diag([1, 1, 1, 12.0, 12, 12])
    model = FactorModel.from_user_item(
        left @ np.linalg.inv(scale), right @ scale, item_ids=np.arange(120)
    )
    rows = []
    for user in range(n_users):
        pool = np.flatnonzero(cluster == draw.integers(6))
        # Each user chooses from a pool of their own, so no two items are related.
        if shuffled:
            pool = draw.permutation(120)
        rows += [(user, item) for item in draw.choice(pool[:20], 5, replace=False)]
    return model, pd.DataFrame(rows, columns=["user", "item"])


def test_the_verdict_names_what_serves_best_and_what_its_lists_hold():
    model, table = clustered()
    found = evaluate_similarities(model, interactions=table)
    winner = found.better("recall")
    assert winner in ("prediction cosine", "balanced cosine")
    verdict = found.explain().splitlines()[0]
    assert f"{winner} serves best" in verdict
    never = found.coverage[winner].never_listed
    assert f"; its lists never show {percent(never)} of the 120 items" in verdict


def test_the_verdict_names_popularity_if_users_choose_the_popular_items():
    """Vectors are random, and every user chooses among the 8 most popular of 60 items.

    Lists have 10 places. The list of each of the 54 other items holds the 6 items of
    the popular tenth, and the list of each of these 6 items holds the other 5. All
    lists together hold the 11 most popular items.
    """
    draw = np.random.default_rng(0)
    counts = np.arange(60.0) + 1
    model = FactorModel.from_vectors(
        draw.standard_normal((60, 5)), ids=np.arange(60)
    ).replace(right_counts=counts)
    rows = [
        (user, item)
        for user in range(100)
        for item in draw.choice(np.arange(52, 60), 5, replace=False)
    ]
    # Each of the other items is a query of one of 26 more users.
    rows += [(100 + item // 2, item) for item in range(52)]
    table = pd.DataFrame(rows, columns=["user", "item"])
    found = evaluate_similarities(model, interactions=table)
    assert found.n == 10
    verdict = found.verdict()
    assert verdict.startswith("By hit rate (")
    assert "and NDCG (" in verdict
    assert verdict.count("popularity alone serves best, with 95 % confidence") == 1
    places = percent((54 * 6 + 6 * 5) / 600)
    assert f"its lists never show {percent(49 / 60)} of the 60 items" in verdict
    assert f"give {places} of their places to the most popular tenth" in verdict


def test_the_verdict_says_how_many_lists_were_searched():
    model, table = clustered()
    found = evaluate_similarities(model, interactions=table, n_queries=50)
    n_lists = len(set(found.queries.tolist()))
    assert n_lists < 50
    assert f"lists for {n_lists} items never show" in found.verdict()


def test_permuted_interactions_seldom_give_a_winner():
    wins = 0
    for seed in range(30):
        model, table = clustered(100, shuffled=True, seed=seed)
        found = evaluate_similarities(model, interactions=table, rng=seed)
        wins += found.better("recall") is not None
        if found.better("recall") is None:
            assert "recall" in found.verdict().partition("no similarity is better")[0]
    assert wins <= 3


SIMULATIONS = 1_000


@cache
def simulated_samples():
    """Evaluate a population of 6,000 users, and samples of 400 users each.

    Users are drawn with replacement, so that a sample is 400 independent draws from the
    population, as an interval over users assumes.
    """
    model, table = clustered(6_000)
    population = evaluate_similarities(model, interactions=table, n_queries=30_000)
    items_of_user = table["item"].to_numpy().reshape(6_000, 5)
    samples = []
    for seed in range(SIMULATIONS):
        drawn = np.random.default_rng(10_000 + seed).integers(6_000, size=400)
        sample = pd.DataFrame(
            {
                "user": np.repeat(np.arange(400), 5),
                "item": items_of_user[drawn].ravel(),
            }
        )
        samples.append(evaluate_similarities(model, interactions=sample, rng=seed))
    return population, samples


def share_inside(population, samples, column, similarity, measure):
    """Return how often an interval of the table of a sample holds the true number."""
    place = ["similarity", "measure"]
    truth = population.to_frame().set_index(place).loc[(similarity, measure), column]
    prefix = {"value": "", "difference": "difference_"}[column]
    is_inside = []
    for sample in samples:
        row = sample.to_frame().set_index(place).loc[(similarity, measure)]
        is_inside.append(row[f"{prefix}ci_low"] <= truth <= row[f"{prefix}ci_high"])
    return np.mean(is_inside)


@pytest.mark.slow
@pytest.mark.parametrize("measure", LIST_MEASURES)
@pytest.mark.parametrize("similarity", ["cosine", "prediction cosine"])
def test_intervals_of_values_hold_over_users(similarity, measure):
    population, samples = simulated_samples()
    inside = share_inside(population, samples, "value", similarity, measure)
    assert 0.93 <= inside <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("measure", LIST_MEASURES)
def test_interval_of_one_difference_holds_over_users(measure):
    """One comparison that was chosen beforehand needs no allowance for the others."""
    population, samples = simulated_samples()
    pair = ["cosine", "prediction cosine"]
    inside = share_inside(
        only(population, pair),
        [only(sample, pair) for sample in samples],
        "difference",
        "prediction cosine",
        measure,
    )
    assert 0.93 <= inside <= 0.97


def only(evaluation, names):
    """Return an evaluation of fewer similarities."""
    fields = ("by_query", "replicates", "coverage")
    return replace(
        evaluation,
        **{
            field: {name: getattr(evaluation, field)[name] for name in names}
            for field in fields
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize("measure", LIST_MEASURES)
def test_intervals_of_all_differences_hold_together_over_users(measure):
    """Allowances for several comparisons add up (Bonferroni), so 95 % is a floor."""
    population, samples = simulated_samples()
    others = [name for name in population.by_query if name != "cosine"]
    assert len(others) == 6
    place = ["similarity", "measure"]
    truth = population.to_frame().set_index(place)["difference"]
    truth = truth.loc[[(name, measure) for name in others]]
    are_inside = []
    for sample in samples:
        rows = sample.to_frame().set_index(place).loc[truth.index]
        is_inside = rows["difference_ci_low"] <= truth
        is_inside &= truth <= rows["difference_ci_high"]
        are_inside.append(is_inside.all())
    assert np.mean(are_inside) >= 0.95


def test_movielens_is_judged_by_late_interactions_of_its_users(
    tmp_path, embaudit, shared_data
):
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    ratings = ratings.sort_values(["userId", "timestamp"], kind="stable")
    place = ratings.groupby("userId").cumcount()
    size = ratings.groupby("userId")["userId"].transform("size")
    is_late = place >= 0.8 * size
    ratings[~is_late].to_csv(tmp_path / "early.csv", index=False)
    ratings[is_late].to_csv(tmp_path / "late.csv", index=False)
    fitted = embaudit(
        *("fit", tmp_path / "early.csv", "--objective", "product", "--alpha", 100),
        *("--n-components", 30, "--binarise", "--out", tmp_path / "m.npz"),
    )
    assert fitted.code == 0, fitted.err
    judged = embaudit(
        "evaluate", tmp_path / "m.npz", "--interactions", tmp_path / "late.csv"
    )
    assert judged.code == 0, judged.err
    words = " ".join(judged.out.split())
    assert "popularity" in words
    found = evaluate_similarities(
        tmp_path / "m.npz", interactions=ratings[is_late], n_queries=2_000
    )
    assert found.better("recall") not in (None, "cosine", "popularity")
    assert found.value("prediction cosine", "recall") > found.value("cosine", "recall")


def test_lists_that_show_every_item_are_said_to_show_all():
    model, table = clustered()
    found = evaluate_similarities(model, interactions=table, n_neighbours=60)
    shown_by_all = [name for name, x in found.coverage.items() if x.never_listed == 0]
    assert {"cosine", "prediction cosine"} <= set(shown_by_all)
    texts = [found._listed(name) for name in shown_by_all]
    assert all("0 % of the 120 items" not in text for text in texts)
    assert found._listed("prediction cosine").startswith(
        "its lists show all 120 items (cosine: also all)"
    )
