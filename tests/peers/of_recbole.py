"""Models of RecBole: plain tables and outputs of graph models, with the ids of the data
set.
"""

from __future__ import annotations

from contextlib import chdir
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from peers.films import Films

SETTINGS = {
    "USER_ID_FIELD": "user_id",
    "ITEM_ID_FIELD": "item_id",
    "load_col": {"inter": ["user_id", "item_id"]},
    "epochs": 1,
    "embedding_size": 8,
    "train_batch_size": 16384,
    "use_gpu": False,
    "show_progress": False,
    "state": "ERROR",
    "log_wandb": False,
}


def train(name: str, films: Films, **options: Any) -> Trained:
    _restore_old_names()
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation

    # It logs into the folder it runs in.
    with TemporaryDirectory() as folder, chdir(folder):
        (Path(folder) / "films").mkdir()
        frame = films.frame[["userId", "movieId"]].set_axis(
            ["user_id:token", "item_id:token"], axis=1
        )
        frame.to_csv(Path(folder) / "films" / "films.inter", sep="\t", index=False)
        beside = {"data_path": folder, "checkpoint_dir": folder, **SETTINGS, **options}
        config = Config(model=name, dataset="films", config_dict=beside)
        data = create_dataset(config)
        prepared = data_preparation(config, data)
        made = getattr(
            import_module(f"recbole.model.general_recommender.{name.lower()}"), name
        )(config, data)
        _fit(made, config, prepared)

    def predict(users: Any, items: Any) -> Any:
        from recbole.data.interaction import Interaction

        columns = data.token2id("item_id", [str(item) for item in items])
        scores = []
        for user in data.token2id("user_id", [str(user) for user in users]):
            found = made.full_sort_predict(Interaction({"user_id": _tensor([user])}))
            scores.append(found.detach().numpy().reshape(-1)[columns])
        return np.stack(scores)

    def ids_of(column: str) -> Any:
        """Return the ids of a column in the order of its rows, without the padding."""
        return data.id2token(column, np.arange(1, data.num(column))).astype(int)

    options = {"left_ids": ids_of("user_id"), "ids": ids_of("item_id")}
    return Trained(made, predict, options)


def _restore_old_names() -> None:
    """Give NumPy and SciPy the names back that this library still uses."""
    from scipy.sparse import dok_matrix

    for old, new in (
        ("float_", np.float64),
        ("complex_", np.complex128),
        ("unicode_", np.str_),
    ):
        setattr(np, old, new)
    dok_matrix._update = lambda self, values: self._dict.update(values)


def _fit(made: Any, config: Any, prepared: Any) -> None:
    from recbole.trainer import Trainer

    Trainer(config, made).fit(prepared[0], saved=False, show_progress=False)
    made.eval()


def _tensor(rows: Any) -> Any:
    import torch

    return torch.tensor(np.asarray(rows))


PEERS = tuple(
    Peer("recbole", name, partial(train, name))
    for name in ("BPR", "LightGCN", "NGCF", "SpectralCF")
)
REFUSED = tuple(
    Peer("recbole", name, partial(train, name)) for name in ("ENMF", "SimpleX", "NeuMF")
)
"""They do more than multiply tables."""
