"""Models of Surprise: factors with and without biases, SVD++, and NMF."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from peers.films import Films


def train(name: str, films: Films, **options: Any) -> Trained:
    import surprise

    frame = films.frame[["userId", "movieId", "rating"]]
    data = surprise.Dataset.load_from_df(
        frame, surprise.Reader(rating_scale=(0.5, 5))
    ).build_full_trainset()
    made = getattr(surprise, name)(
        n_factors=8, n_epochs=3, random_state=0, **options
    ).fit(data)

    def predict(users: Any, items: Any) -> Any:
        return np.array(
            [
                [made.predict(user, item, clip=False).est for item in items]
                for user in users
            ]
        )

    return Trained(made, predict)


PEERS = (
    Peer("scikit-surprise", "SVD", partial(train, "SVD")),
    Peer("scikit-surprise", "SVD unbiased", partial(train, "SVD", biased=False)),
    Peer("scikit-surprise", "SVDpp", partial(train, "SVDpp")),
    Peer("scikit-surprise", "NMF", partial(train, "NMF")),
    Peer("scikit-surprise", "NMF biased", partial(train, "NMF", biased=True)),
)
