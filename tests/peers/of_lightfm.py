"""Models of LightFM, in which a row is one feature or a sum of several features."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from peers.trained import Peer, Trained
from scipy.sparse import csr_matrix, hstack, identity

if TYPE_CHECKING:
    from peers.films import Films


def train(loss: str, films: Films, *, featured: bool = False) -> Trained:
    from lightfm import LightFM

    made = LightFM(no_components=8, loss=loss, random_state=0)
    liked = (films.matrix >= 4).astype(np.float32)
    beside = {"item_features": features(films)} if featured else {}
    made.fit(liked, epochs=3, **beside)
    rows = {user: row for row, user in enumerate(films.users)}
    columns = {item: column for column, item in enumerate(films.items)}

    def predict(users: Any, items: Any) -> Any:
        chosen = np.array([columns[item] for item in items], np.int32)
        return np.stack(
            [
                made.predict(
                    np.full(len(chosen), rows[user], np.int32), chosen, **beside
                )
                for user in users
            ]
        )

    return Trained(
        made, predict, {"left_ids": films.users, "ids": films.items, **beside}
    )


def features(films: Films) -> csr_matrix:
    """Each film has a feature of its own and one for every genre."""
    genres = (
        pd.read_csv(films.titles)
        .set_index("movieId")["genres"]
        .loc[films.items]
        .str.get_dummies("|")
    )
    return csr_matrix(
        hstack([identity(len(films.items)), csr_matrix(genres.to_numpy())]),
        dtype=np.float32,
    )


PEERS = (
    Peer("lightfm-next", "WARP", partial(train, "warp")),
    Peer("lightfm-next", "BPR", partial(train, "bpr")),
    Peer("lightfm-next", "logistic", partial(train, "logistic")),
    Peer("lightfm-next", "WARP of features", partial(train, "warp", featured=True)),
)
