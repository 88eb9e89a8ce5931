"""cornac: models that multiply factors, with biases, ranked, through a sigmoid, and held positive."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from peers.films import Films


def train(name: str, films: Films, **options: Any) -> Trained:
    import cornac

    rated = films.frame[["userId", "movieId", "rating"]].itertuples(
        index=False, name=None
    )
    data = cornac.data.Dataset.from_uir(rated, seed=0)
    made = getattr(cornac.models, name)(k=8, max_iter=3, verbose=False, **options).fit(
        data
    )

    def predict(users: Any, items: Any) -> Any:
        columns = [data.iid_map[item] for item in items]
        return np.stack(
            [np.asarray(made.score(data.uid_map[user]))[columns] for user in users]
        )

    return Trained(made, predict)


PEERS = (
    Peer("cornac", "MF", partial(train, "MF", seed=0)),
    Peer("cornac", "MF unbiased", partial(train, "MF", seed=0, use_bias=False)),
    Peer(
        "cornac",
        "MF of torch",
        partial(train, "MF", seed=0, backend="pytorch", batch_size=4096),
    ),
    Peer("cornac", "SVD", partial(train, "SVD", seed=0)),
    Peer("cornac", "BPR", partial(train, "BPR", seed=0)),
    Peer("cornac", "WBPR", partial(train, "WBPR", seed=0)),
    Peer("cornac", "MMMF", partial(train, "MMMF", seed=0)),
    Peer("cornac", "PMF", partial(train, "PMF", seed=0)),
    Peer("cornac", "NMF", partial(train, "NMF", seed=0)),
    Peer("cornac", "HPF", partial(train, "HPF", seed=0)),
)
