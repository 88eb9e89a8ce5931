"""Models of implicit: without a bias, with an item bias, and with biases on both."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from pathlib import Path

    from peers.films import Films


def train(name: str, films: Films) -> Trained:
    import implicit

    made = {
        "AlternatingLeastSquares": partial(
            implicit.als.AlternatingLeastSquares, iterations=3
        ),
        "BayesianPersonalizedRanking": partial(
            implicit.bpr.BayesianPersonalizedRanking, iterations=5
        ),
        "LogisticMatrixFactorization": partial(
            implicit.lmf.LogisticMatrixFactorization, iterations=3
        ),
    }[name](factors=8, random_state=0, num_threads=1)
    made.fit(films.matrix, show_progress=False)
    rows = {user: row for row, user in enumerate(films.users)}
    columns = {item: column for column, item in enumerate(films.items)}

    def predict(users: Any, items: Any) -> Any:
        chosen = np.array([columns[item] for item in items])
        scores = np.empty((len(users), len(items)))
        for row, user in zip(scores, users, strict=True):
            found, values = made.recommend(
                rows[user],
                None,
                N=len(chosen),
                filter_already_liked_items=False,
                items=np.sort(chosen),
            )
            row[:] = [
                dict(zip(found.tolist(), values.tolist(), strict=True))[column]
                for column in chosen
            ]
        return scores

    def store(folder: Path) -> tuple[Path, dict[str, Any]]:
        made.save(str(folder / "model.npz"))
        return folder / "model.npz", films.ids_in(folder)

    return Trained(made, predict, {"left_ids": films.users, "ids": films.items}, store)


PEERS = tuple(
    Peer("implicit", name, partial(train, name))
    for name in (
        "AlternatingLeastSquares",
        "BayesianPersonalizedRanking",
        "LogisticMatrixFactorization",
    )
)
