"""What readers and writers refuse: one row each; `refused.txt` has the sentences that say what was wrong."""

from __future__ import annotations

import json
import os
import pickle
import struct
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from imitations import Tensor, imitation
from pyarrow import parquet
from safetensors.numpy import save, save_file
from snapshots import as_locked, assert_section

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import (
    codecs,
    from_object,
    load,
    read_ids,
    read_interactions,
    read_labels,
    read_titles,
    written_whole,
)
from embaudit.io.given import as_reading
from embaudit.io.outputs import writable
from embaudit.io.tables.columns import read_frame
from embaudit.io.tables.titles import join_ids, join_texts

if TYPE_CHECKING:
    from collections.abc import Callable

SAID = Path(__file__).with_name("refused.txt")
ROWS = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
MODEL = ea.FactorModel.from_vectors(ROWS[:3], ids=list("abc"))
NONE = (
    struct.pack("<Q", 55)
    + b'{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}'
    + bytes(4)
)
HEAD, TITLES = "userId,movieId,rating\n", "id,title\n1,Heat\n2,Ran\n"
IMPLICIT = {
    "user_factors": ROWS,
    "item_factors": ROWS,
    "regularization": 0.1,
    "factors": np.ones(2),
}


def npz(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)


def npy(path: Path) -> None:
    np.save(path, ROWS)


def checkpoint(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    save_file(
        {"lm_head.weight": ROWS, "model.norm.weight": np.ones(4, "f4")},
        folder / "model.safetensors",
    )


def table(**columns: Any) -> Callable[[Path], None]:
    return lambda path: parquet.write_table(pa.table(columns), path)


def index(**homes: str) -> Callable[[Path], Any]:
    def write(path: Path) -> None:
        save_file({"w": ROWS}, path.parent / "a.safetensors")
        path.write_text(json.dumps({"weight_map": homes}))

    return write


PICKLE = pickle.dumps({"weight": [1.0]}, protocol=4)
ABC = npz(a=ROWS, b=ROWS[:3].T, c=ROWS[:3, 0])
FILES: list[tuple[str, Any, dict[str, Any]]] = [
    ("m.npz", npz(**IMPLICIT), {"format": "implicit"}),
    ("m.npz", npz(coef_=ROWS[:1], b=ROWS[0, :2]), {"bias": "b", "weight": "coef_"}),
    ("m.npz", npz(user_factors=ROWS, item_factors=ROWS, offset=np.array(["x"])), {}),
    *(("m.npz", npz(users=ROWS, items=ROWS), options) for options in (
      {"weight": "x"}, {"kind": "head"}, {"link": "cosine", "compared": "dot"})),
    ("m.npz", npz(users=ROWS, items=ROWS), {"inputs": ROWS}),
    *(("m", checkpoint, options) for options in ({"states": ROWS[:, :3]}, {"states": ROWS, "inputs": ROWS})),
    *(("v.npy", npy, options) for options in (
      {"ids": list("aabcde")}, {"states": ROWS}, {"kind": "factors"}, {"kind": "head", "inputs": ROWS[:, :3]})),
    ("v.parquet", table(v=pa.array([[]], pa.list_(pa.float64()))), {}),
    ("v.parquet", table(v=[[1.0, 2.0]], b=[0.5]), {"vector": "v", "bias": "v"}),
    *(("v.parquet", content, {}) for content in (
      lambda path: parquet.write_table(pa.table([[1.0], [2.0]], names=["a", "a"]), path),
      table(id=[1, 2], a=[[1.0], None]), table(id=[1, 2], a=[[1.0], [None]]), table(id=[1, None], a=[[1.0], [2.0]]),
      table(id=[1, 1], a=[[1.0], [2.0]]), table(id=[1, 2], a0=[1.0, None], a1=[1.0, 2.0]), table(id=[], a=[]))),
    ("v.csv", 'id,v\na,"[1, 2]"\nb,"[1, ... 2]"\n', {"vector": "v"}),
    ("v.csv", "a\0b,c\n", {}),
    ("v.csv", "id,e0\na,1\n", {"id": "x"}),
    *(("v.csv", content, {}) for content in ("id,e0,e0\na,1,2\nb,3,4\n", "id,e0,e1,e01\na,1,2,3\nb,3,4,5\n")),
    *(("v.csv", content, {}) for content in (
      "1,2\n3,4\n", "1.5\n2.5\n", "id,v,w\na,,\n", "user_id,item_id,score,x,y\n1,2,3,4,5\n",
      'id,t,e0\na,"b\n', 'vector\n"[1,2]"\n"[3,4]"\n', "e0;e1\n0,5;1,5\n1,5;2,5\n",
      "id;e0;e1\na;0,5;1,5\nb;1,5;2,5\n", 'id,e0,e1\n"a",1,2\n"b"c,3,4\nd,1\n')),
    *(("v.json", content, {}) for content in (
      '{"a": [1, 2], "a": [3, 4]}', '{"a": [1, 2], "b": [3]}', '[{"id": 1, "v": [1]}, {"id": 2}]',
      "[[1, 2], [3, null]]", "[[1, 2], [3, true]]", "[]", "3", '[{"v": [1]}, {"id": "b", "v": [2]}]',
      '[{"v": [1]}, {"v": [2], "bias": 1}]', '{"a": 0, "b": 1}', '{"model_type": "llama"}',
      '{"added_tokens": [], "model": {}}', '{"embaudit_version": "1"}', "{", "[" * 100_000, "[[1, NaN]]")),
    *(("m.npz", ABC, options) for options in (
      {}, {"left": "x", "weight": "b"}, {"left": "a"}, {"weight": "b"}, {"weight": "a"},
      {"right": "a"}, {"embedding": "a"}, {"weight": "a", "kind": "factors"},
      {"kind": "heads"}, {"wieght": "a"}, {"transpose": "up"}, {"id": "a"}, {"format": "nmz"},
      {"left": "a", "weight": "b", "transpose": "none"})),
    *(("v.npy", lambda path, kind=kind: np.save(path, ROWS.astype(kind)), {}) for kind in ("g", "U", "i4")),
    ("v.npy", npy, {"bias": "b.npy", "kind": "vectors"}),
    ("v.npz", npz(W=ROWS[:4], b=ROWS[0]), {}),
    *((f"v{suffix}.gz", "x", {}) for suffix in (".npz", ".npy", ".h5", ".parquet")),
    ("m.npz", None, {}),
    ("m.xyz", "1", {}),
    ("m", lambda path: path.mkdir(), {}),
    ("m.gguf", b"GGUF" + struct.pack("<IQQ", 1, 0, 0), {}),
    ("m.safetensors", save({"w": ROWS})[:60], {}),
    ("i.safetensors.index.json", index(x="a.safetensors"), {}),
    ("i.safetensors.index.json", index(w="../a.safetensors"), {}),
    *(("m.safetensors", save({"lm_head.weight": ROWS}, {"embaudit_link": link}), {})
      for link in ("magic", "softmax {", 'softmax {"cap": 3}', 'softmax {"soft_cap": -1}', "softmax 3")),
    *(("v.vec", content, {}) for content in (
      b"2 2\na 1 2\n", b"1 2\na 1 2\nb 1 2\n", b"a 1 2\nb 1\n", b"a 1 2\nb 1 x\n", b"a 1 2\nb 1 2", b"a 1 2\na 1 2\n",
      b"a 1 2\nb 1 nan\n", b"word\n", b"0.5 1.5 2.5\n-0.25 1e-3 2\n", (793712314).to_bytes(4, "little") + b"\0" * 40,
      b"0 2\n", b"a_b 1 2\nb 1 3_1\n")),
    *(("v.bin", content, {}) for content in (
      b"1 2\na " + bytes(8) + b"\nmore", b"2 2\na " + bytes(8) + b"\n", b"1 2\na\x01 " + bytes(8) + b"\n",
      b"1 2\na " + b"\x7f" * 8 + b"\n")),
    ("v.mtx", "%%MatrixMarket matrix\n", {}),
    *((name, b"1\t2\t3\n", {}) for name in ("a.ann", "a.hnsw", "u.data", "A.MAT", "a.npz.zip")),
    *((name, PICKLE, {}) for name in ("a.kv", "a.pth", "a.pt", "a.pkl", "a.joblib", "a.bin", "a.npz", "a.txt")),
    *(("v.vectors", beginning, {}) for beginning in (b"\x93NUMPY", b"PAR1", b"ARROW1")),
    *(("m.npz", npz(embaudit_format=version), {}) for version in (1, 2)),
    ("m.npz", npz(data=ROWS, indptr=ROWS, indices=ROWS, shape=ROWS, K=20), {}),
    ("v.parquet", lambda path: pd.DataFrame(index=range(3)).to_parquet(path), {}),
    ("m.als", lambda path: path.mkdir(), {"format": "spark"}),
    ("m.als", lambda path: (path / "userFactors").mkdir(parents=True), {}),
    ("p.npy", os.mkfifo, {}),
    ("x" * 300, None, {}),
]  # fmt: skip


def written(path: Path, content: Any) -> Path:
    if isinstance(content, bytes | str):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif content is not None:
        content(path)
    return path


def sentence(
    call: Callable[[], Any], folder: Path, name: str = "", content: Any = ""
) -> str:
    """Return a line with the error of a call; what another library says in it is its own."""
    with pytest.raises(InputError) as refused:
        call()
    said, cause = str(refused.value).replace(str(folder), "."), refused.value.__cause__
    if cause is not None and not isinstance(cause, InputError | OSError):
        said = said.replace(str(cause), "...")
    shown = content if isinstance(content, bytes | str) else ""
    return f"{name[:20]} {shown!r:.60}: {said.replace('x' * 300, 'xxx')}\n"


@as_locked
def test_files(tmp_path: Path) -> None:
    lines = []
    for number, (name, content, options) in enumerate(FILES):
        (folder := tmp_path / str(number)).mkdir()
        path = written(folder / name, content)
        lines.append(
            sentence(
                lambda path=path, options=options: load(path, **options).right,
                folder,
                name,
                content,
            )
        )
    assert_section(SAID, "files", "".join(lines))


ARRAYS: list[tuple[Any, dict[str, Any]]] = [
    ([[1.0, 2.0], [1.0]], {}),
    (np.ma.masked_array(ROWS, ROWS > 1), {}),
    (ROWS, {"ids": [1, 2, 3, 4, 5, np.nan]}),
    (ROWS, {"ids": ["a", None, *"bcde"]}),
    (pd.DataFrame({"id": [1, "a"], "v": [[1.0], [2.0]]}), {}),
    (pd.DataFrame(ROWS, columns=list("aabb")), {}),
    (pd.DataFrame((9 * ROWS).astype(np.int8)).add_prefix("e"), {}),
    (pd.DataFrame({"v": list((9 * ROWS).astype(np.int8))}), {}),
]  # fmt: skip


@as_locked
def test_arrays_and_frames(tmp_path: Path) -> None:
    reads = (
        lambda each=each: as_reading(each[0], **each[1])[0].names("right")
        for each in ARRAYS
    )
    assert_section(SAID, "arrays", "".join(sentence(read, tmp_path) for read in reads))


def of_torch(name: str, **attributes: Any) -> Any:
    return imitation(name, "torch.nn.modules.module.Module", **attributes)


def linear(weight: Any) -> Any:
    return of_torch("torch.nn.modules.linear.Linear", weight=weight, bias=None)


def hnsw(*ids: int) -> Any:
    def items(_: Any, labels: Any) -> Any:
        raise RuntimeError("Label not found")

    return imitation("hnswlib.Index", get_ids_list=lambda _: list(ids), get_items=items)


def network(forward: Any) -> Any:
    state = {"user_emb.weight": Tensor(ROWS), "item_emb.weight": Tensor(ROWS)}
    watched = SimpleNamespace(
        register_forward_pre_hook=lambda _: SimpleNamespace(remove=lambda: None)
    )
    made = of_torch(
        "mine.Net",
        state_dict=lambda _: state,
        forward=forward,
        get_submodule=lambda *_: watched,
    )
    type(made).__call__ = forward
    return made


BIASED = {
    "user_embeddings": ROWS,
    "item_embeddings": ROWS,
    "user_biases": ROWS[:, 0],
    "item_biases": ROWS[:, 0],
}
OBJECTS: list[tuple[Any, dict[str, Any]]] = [
    (linear(Tensor(np.ones((3, 2), np.int8))), {}),
    (linear(lambda _: None), {}),
    (hnsw(), {}),
    (hnsw(1), {}),
    (imitation("lightfm.lightfm.LightFM", **BIASED), {}),
    (network(lambda _, user, item: [][1]), {}),
    (network(lambda _, user, item: [1.0]), {}),
    (network(lambda _, x: x), {"inputs": ["a"]}),
    (network(lambda _, x: Tensor(ROWS)), {"inputs": ROWS}),
    (of_torch("torch.nn.modules.adaptive.AdaptiveLogSoftmaxWithLoss"), {}),
    (imitation("cornac.models.ease.EASE"), {}),
    (imitation("gensim.models.doc2vec.Doc2Vec"), {}),
    (imitation("cornac.models.x.NMF", "cornac.models.recommender.Recommender"), {}),
    (imitation("mine.Thing"), {}),
]  # fmt: skip


@as_locked
def test_objects(tmp_path: Path) -> None:
    lines = [
        sentence(
            partial(from_object, each[0], **each[1]), tmp_path, type(each[0]).__name__
        )
        for each in OBJECTS
    ]
    assert_section(SAID, "objects", "".join(lines))


labels = partial(read_labels, n_rows=2)


def counts(path: Path) -> Any:
    return from_object(MODEL, right_counts=path)


empty = table(user=pa.array([], "int64"), item=pa.array([], "int64"))
CALLS: list[tuple[str, Any, Callable[[Path], Any]]] = [
    *(("r.csv", HEAD + "1,2,3\n", options) for options in (
      lambda path: read_interactions(path, duplicates="min"), lambda path: read_interactions(path, threshold=np.nan),
      lambda path: read_interactions(path, header="no"), lambda path: read_interactions(path, sep="ab"),
      lambda path: read_interactions(path, user=0.0))),
    *(("a.csv", content, read_interactions) for content in (
      "", "\n\n", HEAD, HEAD + "1,2,3\n1,3,3\n", HEAD + "1,2,3\n2,2,3\n", HEAD + "1,2,3\n2,3,good\n3,3,bad\n",
      HEAD + "1,2,3\n2,3,\n3,3,1\n", HEAD + "1,2,3\n\n2,3,nan\n", HEAD + "1,2,3\n2,3,-inf\n", HEAD + "1,2,3\n,3,1\n",
      HEAD + "a,2,3\nb,,1\n", HEAD + "1,2,3\n2,3\n", HEAD + "1,2,3\n1,3,4\n2,2,1\n1,2,5\n",
      "userId,movieId,itemId\n1,2,3\n2,1,1\n", "userId,rating\n1,2\n2,1\n", "1\t2\t881250949\n2\t1\t881250950\n",
      "onecolumn\n", "userId,itemId,rating,rating\n1,2,3,4\n")),
    ("r.parquet", empty, read_interactions),
    *(("t.csv", TITLES, options) for options in (
      lambda path: read_titles(path, id="id", title="id"), lambda path: join_texts(MODEL, path),
      lambda path: join_ids(np.array([[1]]), path), lambda path: join_ids(np.array([7]), path))),
    ("l.txt", "a\nb\n", lambda path: read_labels(path, 0)),
    ("l.txt", "a\nb\n", lambda path: read_ids(path, 0)),
    ("l.txt", "a\nb\n", lambda path: read_ids(path, 3)),
    ("l.txt", "a\nb\n", lambda path: as_reading(np.eye(3), bias=np.ones(3), right_name="token", ids=path)),
    ("c.npy", npy, lambda path: read_ids(path, 6)),
    ("l.txt", b"\xe9\n", labels),
    ("l.txt", "a\n", lambda _: labels(["a"])),
    ("l.txt", "a\n", lambda _: labels(["a", np.nan])),
    ("l.txt", "a\n", lambda _: from_object(MODEL, ids=["a", None, "c"])),
    *(("l.json", content, labels) for content in (
      '["a"]', '["a", null]', '{"a": 0, "b": 0}', '{"a": 0, "b": 5}', '{"a": 0}', '{"a": 0.5, "b": "x"}', "3")),
    *(("l.json", content, labels) for content in ("{", "[" * 100_000)),
    *(("c.csv", content, counts) for content in (
      "4\n0\n", "a,4\nb,0\n", "x,4\ny,0\nz,1\n", "a,4\nb,0\nc,1\na,2\n", "a,4\nb,x\nc,1\n",
      "title,year,pages\nA,1,2\n")),
    ("c.npy", npy, counts),
    ("f.csv", "a,b\n1,2\n", lambda _: read_frame(3)),
    ("f.csv", "a,b\n1,2\n", lambda _: read_frame({"a": [1], "b": [1, 2]})),
    ("d", lambda path: path.mkdir(), codecs.open_arrays),
    ("a.csv", "a,b\n1,2\n", codecs.open_arrays),
    ("w.safetensors", NONE, lambda path: codecs.open_arrays(path)["w"]),
    ("o.npz", b"x", lambda path: ea.save([1.0], path)),
    ("o.npz", b"x", lambda path: ea.save(MODEL, path)),
    ("o.xyz", None, lambda path: ea.save(MODEL, path)),
    ("o.npz", b"x", lambda path: writable(path, force=1)),
    ("d", lambda path: path.mkdir(), lambda path: writable(path, force=True)),
    ("p", os.mkfifo, lambda path: writable(path, force=True)),
    ("o.txt", None, lambda path: writable(path / "x", force=False)),
    ("x" * 300, None, lambda path: writable(path, force=False)),
    ("o.gz", None, lambda path: written_whole(path, mode="w")),
]  # fmt: skip


@as_locked
def test_calls(tmp_path: Path) -> None:
    lines = []
    for number, (name, content, call) in enumerate(CALLS):
        (folder := tmp_path / str(number)).mkdir()
        lines.append(
            sentence(
                partial(call, written(folder / name, content)), folder, name, content
            )
        )
    assert_section(SAID, "calls", "".join(lines))
