"""The line that a refusal of a pickle prints runs on files of PyTorch and gensim."""

from __future__ import annotations

import argparse
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embaudit
from embaudit.errors import InputError
from embaudit.io import load

torch = pytest.importorskip("torch")


class Towers(torch.nn.Module):
    """A table of users and one of items."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.user_embedding = torch.nn.Embedding(6, 3)
        self.item_embedding = torch.nn.Embedding(8, 3)


def run(path: Path) -> None:
    """Run the Python in the refusal of a file, and nothing else."""
    with pytest.raises(InputError) as refused:
        load(path)
    line = str(refused.value).partition("convert it in Python: ")[2]
    exec(re.split(r" \(which runs|, or embaudit|, with the types|\.$", line)[0], {})


NETWORK = Towers()
STATE = NETWORK.state_dict()
USERS = NETWORK.user_embedding.weight.detach()
ITEMS = NETWORK.item_embedding.weight.detach()
IDS = [f"i{k}" for k in range(len(ITEMS))]


def stepped() -> dict[str, Any]:
    """Return the state of an optimizer, which holds tensors of the shapes of the
    weights.
    """
    network = Towers()
    optimizer = torch.optim.Adam(network.parameters())
    sum(x.sum() for x in network.parameters()).backward()
    optimizer.step()
    state: dict[str, Any] = optimizer.state_dict()
    return state


PAIRS: dict[str, Any] = {
    "state dict": STATE,
    "of a loop": {"epoch": 3, "model": STATE, "optimizer": stepped()},
    "with an index": {"state_dict": STATE, "item_id_to_idx": dict.fromkeys(IDS, 0)},
    "lists beside": {"user_emb": USERS, "item_emb": ITEMS, "seen": {0: [1, 2]}},
    "sets beside": {"user_emb": USERS, "item_emb": ITEMS, "seen": {0: {1, 2}}},
    "Lightning": {
        "state_dict": STATE,
        "optimizer_states": [stepped()],
        "hyper_parameters": argparse.Namespace(dim=3),
        "callbacks": {"best_model_score": torch.tensor(0.5)},
    },
    "a score of NumPy": {"model": STATE, "best": np.float64(0.5), "path": Path("x")},
    "nested": {"model": {"towers": STATE, "version": 1}, "loss": torch.tensor(0.5)},
    "DeepSpeed": {"module": {f"module.{k}": v for k, v in STATE.items()}},
    "network": NETWORK,
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("is_archive", [True, False])
def test_the_line_takes_two_tables_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_archive: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    # The class must be importable where the file of a whole network is loaded.
    monkeypatch.setattr("__main__.Towers", Towers, raising=False)
    torch.save(PAIRS[name], "m.pt", _use_new_zipfile_serialization=is_archive)
    run(Path("m.pt"))
    model = load("model.safetensors")
    np.testing.assert_array_equal(model.left, USERS)
    np.testing.assert_array_equal(model.right, ITEMS)


@pytest.mark.parametrize("name", ["state dict", "of a loop", "nested"])
@pytest.mark.parametrize("file", ["m.pkl", "m.pt"])
def test_the_line_takes_two_tables_that_pickle_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_bytes(pickle.dumps(PAIRS[name]))
    run(Path(file))
    model = load("model.safetensors")
    np.testing.assert_array_equal(model.left, USERS)
    np.testing.assert_array_equal(model.right, ITEMS)


def test_the_line_takes_a_network_that_pickle_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("__main__.Towers", Towers, raising=False)
    Path("m.pkl").write_bytes(pickle.dumps(NETWORK))
    run(Path("m.pkl"))
    np.testing.assert_array_equal(load("model.safetensors").right, ITEMS)


def test_the_line_joins_the_towers_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    towers = {
        "user": {"table": {"weight": USERS}},
        "item": {"table": {"weight": ITEMS}},
    }
    torch.save({**towers, "optimizer": stepped()}, "m.pt")
    run(Path("m.pt"))
    names = {"left": "user.table.weight", "weight": "item.table.weight"}
    np.testing.assert_array_equal(load("model.safetensors", **names).right, ITEMS)


def test_the_line_takes_tensors_from_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save([USERS, ITEMS], "m.pt")
    run(Path("m.pt"))
    model = load("model.safetensors", left="array0", weight="array1")
    np.testing.assert_array_equal(model.right, ITEMS)


TABLES: dict[str, Any] = {
    "tensor": ITEMS,
    "parameter": torch.nn.Parameter(ITEMS),
    "bfloat16": ITEMS.bfloat16(),
    "by id": dict(zip(IDS, ITEMS, strict=True)),
    "with ids": {"ids": IDS, "embeddings": ITEMS, "dim": 3},
    "arrays": {"ids": IDS, "embeddings": ITEMS.numpy()},
}


@pytest.mark.parametrize("name", TABLES)
def test_the_line_takes_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(TABLES[name], "m.pt")
    run(Path("m.pt"))
    (out,) = (path for path in tmp_path.iterdir() if path.name != "m.pt")
    model = load(out)
    atol = 0.01 if name == "bfloat16" else 0
    np.testing.assert_allclose(model.right, ITEMS, rtol=0, atol=atol)
    if name in ("by id", "with ids", "arrays"):
        assert model.right_ids.tolist() == IDS


def test_the_line_takes_the_weights_of_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 5))
    torch.jit.trace(layer, ITEMS).save("m.pt")
    run(Path("m.pt"))
    np.testing.assert_array_equal(
        load("model.safetensors", kind="head", weight="0.weight", bias="0.bias").right,
        layer[0].weight.detach(),
    )


def test_the_line_takes_the_weights_of_an_exported_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 5))
    torch.export.save(torch.export.export(layer, (ITEMS,)), "m.pt2")
    run(Path("m.pt2"))
    names = {"weight": "0.weight", "bias": "0.bias"}
    np.testing.assert_array_equal(
        load("model.safetensors", kind="head", **names).right, layer[0].weight.detach()
    )


def test_the_line_takes_the_weights_of_a_model_of_skops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skops = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression

    monkeypatch.chdir(tmp_path)
    live = LogisticRegression().fit(ITEMS.numpy(), [0, 1, 2] * 2 + [0, 1])
    skops.dump(live, "m.skops")
    run(Path("m.skops"))
    np.testing.assert_array_equal(load("model.npz").right, live.coef_)


@pytest.mark.parametrize("name", ["v.kv", "v.model", "v.pkl"])
@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "KeyedVectors", "Doc2Vec"])
def test_the_line_takes_the_vectors_of_gensim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    models = pytest.importorskip("gensim.models")
    monkeypatch.chdir(tmp_path)
    texts = [["a", "b", "c", "d"], ["b", "d", "e", "a"]] * 5
    options = {"vector_size": 4, "min_count": 1, "seed": 0}
    if kind == "Doc2Vec":
        tagged = [models.doc2vec.TaggedDocument(x, [i]) for i, x in enumerate(texts)]
        live = models.Doc2Vec(tagged, **options)
        vectors = live.dv
    else:
        trained = "Word2Vec" if kind == "KeyedVectors" else kind
        live = getattr(models, trained)(texts, **options)
        vectors = live.wv
    (live.wv if kind == "KeyedVectors" else live).save(name)
    run(Path(name))
    (out,) = (path for path in tmp_path.iterdir() if path.name != name)
    model = load(out)
    assert model.right.shape == vectors.vectors.shape
    np.testing.assert_allclose(model.right, vectors.vectors, rtol=1e-6)


def test_the_line_takes_the_factors_of_an_object_of_implicit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import scipy.sparse as sp

    als = pytest.importorskip("implicit.cpu.als")
    monkeypatch.chdir(tmp_path)
    live = als.AlternatingLeastSquares(factors=4, iterations=2, random_state=0)
    live.fit(sp.random(20, 30, 0.2, format="csr", random_state=0), show_progress=False)
    Path("m.pkl").write_bytes(pickle.dumps(live))
    run(Path("m.pkl"))
    np.testing.assert_array_equal(load("model.npz").right, live.item_factors)
    assert embaudit.load("model.npz").link.name == "identity"
