"""Files of one table of items in each format that TensorFlow writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
NAMES = {
    "module": "module",
    "keras": "keras",
    "exported": "exported",
    "checkpoint": "checkpoint",
    "index": "checkpoint/ckpt-1.index",
    "graph": "frozen.pb",
}
"""Where `write_all` puts each kind below its folder."""


def write_all(folder: Path) -> None:
    """Write each kind of file that NAMES lists; call it in a process of its own."""
    import tensorflow as tf

    tf.saved_model.save(_module(), str(folder / NAMES["module"]))
    tf.saved_model.save(_network(), str(folder / NAMES["keras"]))
    _network().export(str(folder / NAMES["exported"]), verbose=False)
    checkpoint = tf.train.Checkpoint(tower=_module())
    checkpoint.save(str(folder / NAMES["checkpoint"] / "ckpt"))
    with tf.Graph().as_default() as graph:
        tf.constant(ITEMS, name="table")
    (folder / NAMES["graph"]).write_bytes(graph.as_graph_def().SerializeToString())


def _module() -> Any:
    """Return a module with a table of items."""
    import tensorflow as tf

    class Tower(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = tf.Variable(ITEMS, name="table")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])  # type: ignore[untyped-decorator]
        def __call__(self, ids: object) -> object:
            return tf.gather(self.table, ids)

    return Tower()


def _network() -> Any:
    """Return a network with a table, whose optimizer has tables of its shape."""
    import tensorflow as tf

    table = tf.keras.layers.Embedding(
        8, 3, weights=[ITEMS], name="items", trainable=False
    )
    network = tf.keras.Sequential([table])
    network.compile(optimizer="adam", loss="mse")
    network.predict(np.arange(8)[:, None], verbose=0)
    return network
