"""Live models of LensKit."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imitations import Tensor, imitation

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import from_object

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


def test_lenskit_of_today_is_asked_for_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = SimpleNamespace(RecQuery=lambda user_id: user_id, ItemList=lambda item_ids: np.asarray(item_ids))
    monkeypatch.setitem(sys.modules, "lenskit.data", queries)
    named = {side: SimpleNamespace(ids=lambda n=n: np.arange(n) + 10) for side, n in (("users", 6), ("items", 8))}
    for factor in (1, 2):
        of = imitation("lenskit.als._implicit.ImplicitMFScorer", user_embeddings=USERS, item_embeddings=ITEMS, **named)
        type(of).__call__ = lambda _, user, items, by=factor: SimpleNamespace(
            scores=lambda: by * scores(False)[user - 10, items - 10]
        )
        if factor == 1:
            check(from_object(of), scores(False))
        else:
            with pytest.raises(InputError, match=r"scores read from ImplicitMFScorer must be its own; .* scorer says"):
                from_object(of)
