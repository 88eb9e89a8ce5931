"""Live models of LensKit and cornac."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imitations import Tensor, imitation

from embaudit import FactorModel, Link
from embaudit.errors import InputError
from embaudit.io import from_object

RECOMMENDER = "cornac.models.recommender.Recommender"
DRAW = np.random.default_rng(7)
USERS, ITEMS, A, B = DRAW.normal(size=(6, 3)), DRAW.normal(size=(8, 3)), DRAW.normal(size=6), DRAW.normal(size=8)


def scores(bias: bool = True, offset: float = 0.0) -> Any:
    return USERS @ ITEMS.T + (A[:, None] + B if bias else 0) + offset


def check(model: FactorModel, expected: Any) -> None:
    np.testing.assert_allclose(model.scores(), expected, rtol=1e-10, atol=1e-10)


def test_lenskit_of_both_ages() -> None:
    def by_item(model: Any, user: Any, items: Any) -> Any:
        return scores(offset=3.0)[user - 10][np.asarray(items)]

    old = imitation(
        "lenskit.algorithms.als.BiasedMF", user_features_=USERS, item_features_=ITEMS, user_index_=np.arange(6) + 10,
        item_index_=np.arange(8), bias=SimpleNamespace(mean_=3.0, user_offsets_=A, item_offsets_=B),
        predict_for_user=by_item,
    )  # fmt: skip
    new = imitation(
        "lenskit.als._explicit.BiasedMFScorer", user_embeddings=Tensor(USERS), item_embeddings=ITEMS,
        users=SimpleNamespace(ids=lambda: np.arange(6) + 10, __len__=lambda: 6),
        bias=SimpleNamespace(global_bias=3.0, user_biases=A, item_biases=B),
    )  # fmt: skip
    for lenskit in (old, new):
        model = from_object(lenskit)
        check(model, scores(offset=3.0))
        assert model.left_ids is not None
        assert model.left_ids[0] == 10


def component(name: str, **attributes: Any) -> Any:
    named = {side: SimpleNamespace(ids=lambda n=n: np.arange(n) + 10) for side, n in (("users", 6), ("items", 8))}
    return imitation(f"lenskit.{name}", **{**named, **attributes})


def pipeline(**components: Any) -> Any:
    return imitation("lenskit.pipeline._impl.Pipeline", component_names=lambda _: list(components),
                     component=lambda _, name: components[name])  # fmt: skip


def test_a_pipeline_of_lenskit_is_its_scorer() -> None:
    nmf = component("sklearn.nmf.NMFScorer", user_components=USERS, item_components=ITEMS)
    far = component("sklearn.nmf.NMFScorer", user_components=USERS + 1, item_components=ITEMS)
    check(from_object(pipeline(ranker=SimpleNamespace(), scorer=nmf, fallback=far)), scores(False))
    check(from_object(pipeline(ranker=SimpleNamespace(), mine=nmf)), scores(False))
    for parts, got in (
        ({"ranker": None, "scorer": None}, "0 among ranker, scorer"),
        ({"a": nmf, "b": far}, "2 among a, b"),
    ):
        with pytest.raises(InputError, match=f"with one model that has factors; got {got}; pass that model"):
            from_object(pipeline(**parts))


def cornac_score(expected: Any) -> Any:
    return lambda _, user: expected[user]


def test_cornac() -> None:
    of = ("cornac.models.mf.recom_mf.MF", "cornac.models.recommender.Recommender")
    uids = {f"u{row}": row for row in (3, 1, 0, 2, 5, 4)}
    mf = imitation(
        *of, u_factors=USERS, i_factors=ITEMS, u_biases=A, i_biases=B, global_mean=2.0, use_bias=True, uid_map=uids,
        iid_map={10 * row: row for row in range(7)}, score=cornac_score(scores(offset=2.0)),
    )  # fmt: skip
    model = from_object(mf)
    check(model, scores(offset=2.0))
    assert model.left_ids is not None
    assert model.left_ids.tolist() == [f"u{row}" for row in range(6)]
    # Seven ids for eight rows are of another set.
    assert model.right_ids is None
    later = imitation(*of, u_factors=USERS, i_factors=ITEMS, train_set=SimpleNamespace(uid_map=uids),
                      score=cornac_score(scores(False)))  # fmt: skip
    assert from_object(later).names("left")[5] == "u5"
    unbiased = imitation(*of, u_factors=USERS, i_factors=ITEMS, u_biases=A, i_biases=B, global_mean=2.0, use_bias=False,
                         score=cornac_score(scores(False)))  # fmt: skip
    check(from_object(unbiased), scores(False))
    with pytest.raises(InputError, match="must be fitted, with factors of users and items; got MF"):
        from_object(imitation(*of))


def fitted(name: str, **attributes: Any) -> Any:
    return imitation(f"cornac.models.x.{name}", RECOMMENDER, score=cornac_score(scores(False)), **attributes)


@pytest.mark.parametrize(
    ("name", "attributes", "link", "objective"),
    [
        ("PMF", {"variant": "non_linear", "lambda_reg": 0.1}, Link.SIGMOID, "factors-counted"),
        ("PMF", {"variant": "linear", "lambda_reg": 0.1}, Link.IDENTITY, "factors-counted"),
        ("IBPR", {}, Link.RANKING, None),
        ("NMF", {"lambda_reg": 0.0}, Link.IDENTITY, None),
        ("MF", {"lambda_reg": 0.0}, Link.IDENTITY, "none"),
    ],
)
def test_classes_of_cornac_predict_in_their_own_ways(
    name: str, attributes: Any, link: Link, objective: str | None
) -> None:
    model = from_object(fitted(name, U=USERS, V=ITEMS, **attributes))
    check(model, scores(False))
    assert (model.link, model.objective) == (link, objective)


@pytest.mark.parametrize("biases", [{"i_biases": B}, {}])
def test_bpr_of_cornac_orders_items_with_a_bias_or_without(biases: Any) -> None:
    of = (
        "cornac.models.bpr.recom_bpr.WBPR",
        "cornac.models.recommender.Recommender",
        "cornac.models.bpr.recom_bpr.BPR",
    )
    expected = USERS @ ITEMS.T + biases.get("i_biases", 0)
    bpr = from_object(imitation(*of, u_factors=USERS, i_factors=ITEMS, **biases, score=cornac_score(expected)))
    check(bpr, expected)
    assert bpr.link is Link.RANKING
    wmf = imitation("cornac.models.wmf.recom_wmf.WMF", "cornac.models.recommender.Recommender", U=USERS, V=ITEMS,
                    score=cornac_score(scores(False)))  # fmt: skip
    assert from_object(wmf).link is Link.IDENTITY
