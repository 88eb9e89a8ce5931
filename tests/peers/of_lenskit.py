"""Models of LensKit: ALS, SVD, NMF, FunkSVD, FlexMF, implicit within LensKit, and a
pipeline.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from peers.films import Films


def train(
    module: str, name: str, films: Films, *, piped: bool = False, **options: Any
) -> Trained:
    from lenskit.data import ItemList, RecQuery, from_interactions_df
    from lenskit.pipeline import topn_pipeline

    frame = films.frame[["userId", "movieId", "rating"]].set_axis(
        ["user_id", "item_id", "rating"], axis=1
    )
    scorer = getattr(import_module(f"lenskit.{module}"), name)(**options)
    made = topn_pipeline(scorer, predicts_ratings=True) if piped else scorer
    made.train(from_interactions_df(frame))

    def predict(users: Any, items: Any) -> Any:
        part = made.component("scorer") if piped else made
        return np.stack(
            [
                part(RecQuery(user_id=user), ItemList(item_ids=items)).scores()
                for user in users
            ]
        )

    return Trained(made, predict)


def peer(title: str, module: str, name: str, **options: Any) -> Peer:
    return Peer("lenskit", title, partial(train, module, name, **options))


FLEX = {"embedding_size": 8, "epochs": 2}
PEERS = (
    peer("BiasedMF", "als", "BiasedMFScorer", embedding_size=8, epochs=2),
    peer("ImplicitMF", "als", "ImplicitMFScorer", embedding_size=8, epochs=2),
    peer("Pipeline", "als", "BiasedMFScorer", embedding_size=8, epochs=2, piped=True),
    peer("BiasedSVD", "sklearn.svd", "BiasedSVDScorer", embedding_size=8),
    peer("NMF", "sklearn.nmf", "NMFScorer", embedding_size=8, max_iter=20),
    peer("FunkSVD", "funksvd", "FunkSVDScorer", embedding_size=8, epochs=2),
    peer("FlexMF explicit", "flexmf", "FlexMFExplicitScorer", **FLEX),
    peer("FlexMF logistic", "flexmf", "FlexMFImplicitScorer", **FLEX),
    peer(
        "FlexMF BPR",
        "flexmf",
        "FlexMFImplicitScorer",
        **FLEX,
        loss="pairwise",
        item_bias=True,
    ),
    peer(
        "FlexMF LightGCN", "flexmf", "FlexMFImplicitScorer", **FLEX, preset="lightgcn"
    ),
    peer("implicit ALS", "implicit", "ALS", factors=8, iterations=2),
    peer("implicit BPR", "implicit", "BPR", factors=8, iterations=2),
)
