"""Models of cornac: plain factors, biases, rankings, a sigmoid, and nonnegative
factors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained, call_in_new_process

if TYPE_CHECKING:
    from peers.films import Films


def data_of(films: Films) -> Any:
    import cornac

    rated = films.frame[["userId", "movieId", "rating"]].itertuples(
        index=False, name=None
    )
    return cornac.data.Dataset.from_uir(rated, seed=0)


def fit(name: str, data: Any, options: dict[str, Any]) -> Any:
    import cornac

    return getattr(cornac.models, name)(verbose=False, **options).fit(data)


def train(name: str, films: Films, **options: Any) -> Trained:
    data = data_of(films)
    return scored(fit(name, data, {"k": 8, "max_iter": 3, **options}), data)


def train_with_tensorflow(name: str, films: Films, **options: Any) -> Trained:
    """Train if TensorFlow can be imported; the model itself holds arrays of NumPy."""
    data = data_of(films)
    options = {"k": 8, "max_iter": 3, **options}
    return scored(call_in_new_process(fit, name, data, options), data)


def train_gmf(films: Films) -> Trained:
    data = data_of(films)
    options = {"num_factors": 8, "num_epochs": 1, "batch_size": 4096, "seed": 0}
    return scored(fit("GMF", data, {"backend": "pytorch", **options}), data)


def scored(made: Any, data: Any) -> Trained:
    """Return a model with its scores under the ids of the films."""

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
    Peer("cornac", "WMF", partial(train_with_tensorflow, "WMF", seed=0)),
)
REFUSED = (Peer("cornac", "GMF", train_gmf),)
