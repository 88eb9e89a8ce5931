"""The line that a refusal prints for a checkpoint or a graph of TensorFlow is run on such files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

tf = pytest.importorskip("tensorflow")
ITEMS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)


class Tower(tf.Module):  # type: ignore[misc]
    """A table of items."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(ITEMS, name="table")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])  # type: ignore[untyped-decorator]
    def __call__(self, ids: object) -> object:
        return tf.gather(self.table, ids)


def run(path: Path) -> None:
    """Run the Python in the refusal of a file, and nothing else."""
    with pytest.raises(InputError) as refused:
        load(path)
    exec(str(refused.value).partition(" in Python: ")[2].removesuffix("."), {})


def network() -> tf.keras.Model:
    """Return a trained network with a table, whose optimizer has tables of its shape."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(
                8, 3, weights=[ITEMS], name="items", trainable=False
            )
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    model.predict(np.arange(8)[:, None], verbose=0)
    return model


@pytest.mark.parametrize(
    "kind", ["module", "keras", "exported", "checkpoint", "index", "graph"]
)
def test_the_line_takes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "saved"
    if kind == "module":
        tf.saved_model.save(Tower(), str(path))
    elif kind == "keras":
        tf.saved_model.save(network(), str(path))
    elif kind == "exported":
        network().export(str(path), verbose=False)
    elif kind == "graph":
        path = tmp_path / "frozen.pb"
        with tf.Graph().as_default() as graph:
            tf.constant(ITEMS, name="table")
        path.write_bytes(graph.as_graph_def().SerializeToString())
    else:
        tf.train.Checkpoint(tower=Tower()).save(str(path / "ckpt"))
        path = path / "ckpt-1.index" if kind == "index" else path
    run(path)
    np.testing.assert_array_equal(load("model.npz", kind="vectors").right, ITEMS)
