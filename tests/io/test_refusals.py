"""What readers and writers refuse: one row each, with the words that say what was wrong."""

from __future__ import annotations

import json
import os
import struct
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from imitations import Tensor, imitation
from pyarrow import parquet
from safetensors.numpy import save, save_file

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import codecs, from_object, load, read_ids, read_interactions, read_labels, read_titles, written_whole
from embaudit.io.outputs import writable
from embaudit.io.tables.columns import read_frame
from embaudit.io.tables.titles import join_ids, join_texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
MODEL = ea.FactorModel.from_vectors(ROWS[:3], ids=list("abc"))
NONE = struct.pack("<Q", 55) + b'{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}' + bytes(4)
HEAD, TITLES = "userId,movieId,rating\n", "id,title\n1,Heat\n2,Ran\n"
IMPLICIT = {"user_factors": ROWS, "item_factors": ROWS, "regularization": 0.1, "factors": np.ones(2)}


def npz(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)


def npy(path: Path) -> None:
    np.save(path, ROWS)


def table(**columns: Any) -> Callable[[Path], None]:
    return lambda path: parquet.write_table(pa.table(columns), path)


def index(**homes: str) -> Callable[[Path], Any]:
    def write(path: Path) -> None:
        save_file({"w": ROWS}, path.parent / "a.safetensors")
        path.write_text(json.dumps({"weight_map": homes}))

    return write


ABC = npz(a=ROWS, b=ROWS[:3].T, c=ROWS[:3, 0])
FILES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("m.npz", npz(**IMPLICIT), {"format": "implicit"}, "one whole number; got float64 of shape"),
    ("m.npz", npz(coef_=ROWS[:1], b=ROWS[0, :2]), {"bias": "b", "weight": "coef_"}, "with one row must be one number"),
    ("m.npz", npz(user_factors=ROWS, item_factors=ROWS, offset=np.array(["x"])), {}, "offset must be one number; got"),
    ("m.npz", npz(users=ROWS, items=ROWS), {"weight": "x"}, "weight must be one of users"),
    ("m.npz", npz(users=ROWS, items=ROWS), {"kind": "head"}, "recognised table, pair or head"),
    ("m.npz", npz(users=ROWS, items=ROWS), {"link": "cosine", "compared": "dot"}, "link must be left out beside comp"),
    ("v.npy", npy, {"states": ROWS}, "a head that states are given for must be one whose final norm is known; got one"),
    ("v.npy", npy, {"kind": "factors"}, "must both be named, with left=A"),
    ("v.npy", npy, {"kind": "head", "inputs": ROWS[:, :3]}, "same number of columns"),
    ("v.parquet", table(v=pa.array([[]], pa.list_(pa.float64()))), {}, "vectors of one number at least; got empty"),
    ("v.parquet", table(v=[[1.0, 2.0]], b=[0.5]), {"vector": "v", "bias": "v"}, "bias must be a column of its own"),
    ("v.parquet", lambda path: parquet.write_table(pa.table([[1.0], [2.0]], names=["a", "a"]), path), {},
     "of different names; got 'a' more than once; rename one"),
    ("v.parquet", table(id=[1, 2], a=[[1.0], None]), {}, "a vector in every row; got none in row 1; drop that row"),
    ("v.parquet", table(id=[1, 2], a=[[1.0], [None]]), {}, "missing numbers"),
    ("v.parquet", table(id=[1, None], a=[[1.0], [2.0]]), {}, "an id in every row; got none in row 1"),
    ("v.parquet", table(id=[1, 1], a=[[1.0], [2.0]]), {}, "unique"),
    ("v.parquet", table(id=[1, 2], a0=[1.0, None], a1=[1.0, 2.0]), {}, "missing numbers"),
    ("v.parquet", table(id=[], a=[]), {}, "a table with rows; got none"),
    ("v.csv", 'id,v\na,"[1, 2]"\nb,"[1, ... 2]"\n', {"vector": "v"}, "numpy printed it shortened: write it with"),
    ("v.csv", "a\0b,c\n", {}, "which holds zero bytes"),
    ("v.csv", "id,e0\na,1\n", {"id": "x"}, "the id column must be one of id, e0 in .*; got 'x'"),
    ("v.json", '{"a": [1, 2], "a": [3, 4]}', {}, "got the key 'a' twice; write it again."),
    ("v.json", '{"a": [1, 2], "b": [3]}', {}, "vectors of 2 numbers, as the first is; got 1 in row 1"),
    ("v.json", '[{"id": 1, "v": [1]}, {"id": 2}]', {}, "a vector in every row; got none in row 1"),
    ("v.json", "[[1, 2], [3, null]]", {}, "or records of an id and a vector; got list; write vectors with json.dump"),
    ("v.json", "[[1, 2], [3, true]]", {}, "got list; write vectors with"),
    ("v.json", "[]", {}, "got list; write vectors with"),
    ("v.json", "3", {}, "got int; write vectors with"),
    ("v.json", '{"a": 0, "b": 1}', {}, "got a vocabulary; give the head, and this with labels='.*v.json'."),
    ("v.json", '{"model_type": "llama"}', {}, "got a configuration; give its folder."),
    ("v.json", '{"added_tokens": [], "model": {}}', {}, "got a tokenizer; give its folder."),
    ("v.json", '{"embaudit_version": "1"}', {}, "got an audit; give the model that was audited."),
    ("v.json", "{", {}, "must be JSON of vectors: lists of numbers"),
    ("v.json", "[" * 100_000, {}, "got nested too deeply; write it again."),
    ("v.json", "[[1, NaN]]", {}, r"item factors \(vector\) must be finite; got nan at row 0, column 1"),
    ("m.npz", ABC, {"left": "x", "right": "b"}, r"left must be one of a \(6, 4\)"),
    ("m.npz", ABC, {"left": "a"}, "must both be named, with left=A and weight=B"),
    ("m.npz", ABC, {"right": "b"}, "say whether b is one with kind='head' or kind='vectors'"),
    ("m.npz", ABC, {"weight": "a"}, "say whether a is one with kind='head' or kind='vectors'"),
    ("m.npz", ABC, {"left": "a", "right": "b", "weight": "a"}, "weight must be left out beside right, which is"),
    ("m.npz", ABC, {"left": "a", "embedding": "a"}, "left must be left out beside embedding"),
    ("m.npz", ABC, {"weight": "a", "kind": "factors"}, "left=A and weight=B"),
    ("m.npz", ABC, {"kind": "heads"}, "kind must be one of auto"),
    ("m.npz", ABC, {"wieght": "a"}, "a keyword of load must be one of"),
    ("m.npz", ABC, {"transpose": "up"}, "transpose must be one of"),
    ("m.npz", ABC, {"id": "a"}, "an option for npz files must be one of"),
    ("m.npz", ABC, {"format": "nmz"}, "format must be one of embaudit"),
    ("m.npz", ABC, {"left": "a", "right": "b", "transpose": "none"}, "same number of columns"),
    ("m.npz", None, {}, "a file that exists; got .*; check the path"),
    ("m.xyz", "1", {}, "known by its suffix"),
    ("m", lambda path: path.mkdir(), {}, "a folder without a model that is known; name the file in it"),
    ("m.gguf", b"GGUF" + struct.pack("<IQQ", 1, 0, 0), {}, "version 2 or 3, little-endian; got 1; convert it anew"),
    ("m.safetensors", save({"w": ROWS})[:60], {}, "a safetensors file that is whole; got .*; fetch it again"),
    ("i.safetensors.index.json", index(x="a.safetensors"), {}, "tensors its files hold; got 'x', which is in none"),
    ("i.safetensors.index.json", index(w="../a.safetensors"), {}, "every shard must be in the folder of"),
    *(("m.safetensors", save({"lm_head.weight": ROWS}, {"embaudit_link": link}), {}, "must be")
      for link in ("magic", "softmax {", 'softmax {"cap": 3}', 'softmax {"soft_cap": -1}', "softmax 3")),
    ("v.vec", b"2 2\na 1 2\n", {}, "2 vectors, as its header says; got 1"),
    ("v.vec", b"1 2\na 1 2\nb 1 2\n", {}, "1 vectors, as its header says; got more"),
    ("v.vec", b"a 1 2\nb 1\n", {}, "a token and 2 numbers; got 'b 1"),
    ("v.vec", b"a 1 2\nb 1 x\n", {}, "as line 2 of the vectors"),
    ("v.vec", b"a 1 2\nb 1 2", {}, "a last line without an end"),
    ("v.vec", b"a 1 2\na 1 2\n", {}, "unique; got a 2 times"),
    ("v.vec", b"a 1 2\nb 1 nan\n", {}, "finite"),
    ("v.vec", b"word\n", {}, "lines of a token and its numbers, cut by spaces; got 'word"),
    ("v.vec", b"0.5 1.5 2.5\n-0.25 1e-3 2\n", {}, "numbers only; save bare vectors"),
    ("v.vec", (793712314).to_bytes(4, "little") + b"\0" * 40, {}, "vectors; got a fastText model; save its vectors as"),
    ("v.vec", b"0 2\n", {}, "a count and a dimension above 0; got 0 2"),
    ("v.bin", b"1 2\na " + bytes(8) + b"\nmore", {}, "at its end after 1 vectors.*; got more bytes; fetch it again"),
    ("v.bin", b"2 2\na " + bytes(8) + b"\n", {}, "2 vectors, as its header says; got 1"),
    ("v.bin", b"1 2\na\x01 " + bytes(8) + b"\n", {}, "without spaces and their numbers; got other bytes at token"),
    ("v.bin", b"1 2\na " + b"\x7f" * 8 + b"\n", {}, "without spaces and their numbers; got other bytes at token 'a'"),
    ("v.mtx", "%%MatrixMarket matrix\n", {}, "a matrix in Matrix Market; convert it in Python"),
    ("m.als", lambda path: path.mkdir(), {"format": "spark"}, "of a saved ALS model; it holds no factors"),
    ("m.als", lambda path: (path / "userFactors").mkdir(parents=True), {}, "no itemFactors; copy all of it"),
    ("p.npy", os.mkfifo, {}, "a pipe or device; save it to a file first"),
    ("x" * 300, None, {}, "cannot be read: File name too long"),
]  # fmt: skip


def written(path: Path, content: Any) -> Path:
    if isinstance(content, bytes | str):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif content is not None:
        content(path)
    return path


@pytest.mark.parametrize(("name", "content", "options", "words"), FILES)
def test_files(tmp_path: Path, name: str, content: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        _ = load(written(tmp_path / name, content), **options).right


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
    watched = SimpleNamespace(register_forward_pre_hook=lambda _: SimpleNamespace(remove=lambda: None))
    made = of_torch("mine.Net", state_dict=lambda _: state, forward=forward, get_submodule=lambda *_: watched)
    type(made).__call__ = forward
    return made


BIASED = {"user_embeddings": ROWS, "item_embeddings": ROWS, "user_biases": ROWS[:, 0], "item_biases": ROWS[:, 0]}
OBJECTS: list[tuple[Any, dict[str, Any], str]] = [
    (linear(Tensor(np.ones((3, 2), np.int8))), {}, "weights of Linear must be floating-point.*; got quantised ones"),
    (linear(lambda _: None), {}, "floating-point numbers; got quantised ones; read the network before"),
    (hnsw(), {}, "an index of hnswlib must be one with vectors; got none"),
    (hnsw(1), {}, "without deleted vectors; got Label not found; pass the rows that are left"),
    (imitation("lightfm.lightfm.LightFM", **BIASED), {}, "user_features must be the matrix LightFM was trained with"),
    (network(lambda _, user, item: [][1]), {}, "the inputs of Net must be what its forward takes; got list index out"),
    (network(lambda _, user, item: [1.0]), {}, "the outputs of Net must be one array; got list; say link="),
    (network(lambda _, x: x), {"inputs": ["a"]}, r"numbers, or a dictionary of them; got \['a'\]"),
    (network(lambda _, x: Tensor(ROWS)), {"inputs": ROWS}, "layers that forward calls; got others; say link="),
    (of_torch("torch.nn.modules.adaptive.AdaptiveLogSoftmaxWithLoss"), {},
     "a head with one softmax; got Adapt.*, which has one a cluster of labels; pass the weights of one of them to"),
    (imitation("cornac.models.ease.EASE"), {}, "with factors of users and items; got EASE, which has weights between"),
    (imitation("gensim.models.doc2vec.Doc2Vec"), {}, "one table of vectors; got Doc2Vec, which has documents in dv"),
    (imitation("cornac.models.x.NMF", "cornac.models.recommender.Recommender"), {}, "fitted, with factors of users"),
    (imitation("mine.Thing"), {}, "a fitted model of a known library; got Thing; use FactorModel.from_user_item"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "options", "words"), OBJECTS)
def test_objects(model: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_object(model, **options)


labels = partial(read_labels, n_rows=2)


def counts(path: Path) -> Any:
    return from_object(MODEL, right_counts=path)


empty = table(user=pa.array([], "int64"), item=pa.array([], "int64"))
CALLS: list[tuple[str, Any, Callable[[Path], Any], str]] = [
    ("r.csv", HEAD + "1,2,3\n", lambda path: read_interactions(path, duplicates="min"), "duplicates must be one of"),
    ("r.csv", HEAD + "1,2,3\n", lambda path: read_interactions(path, threshold=np.nan), "threshold must be a"),
    ("r.csv", HEAD + "1,2,3\n", lambda path: read_interactions(path, header="no"), "header must be .*'no'"),
    ("r.csv", HEAD + "1,2,3\n", lambda path: read_interactions(path, sep="ab"), "sep must be one character or"),
    ("a.csv", "", read_interactions, "which is empty"),
    ("a.csv", "\n\n", read_interactions, "which is empty"),
    ("a.csv", HEAD, read_interactions, "only a header"),
    ("a.csv", HEAD + "1,2,3\n1,3,3\n", read_interactions, "at least 2 users; got 1"),
    ("a.csv", HEAD + "1,2,3\n2,2,3\n", read_interactions, "at least 2 items; got 1"),
    ("a.csv", HEAD + "1,2,3\n2,3,good\n3,3,bad\n", read_interactions, "numbers; got 'good' in line 3"),
    ("a.csv", HEAD + "1,2,3\n2,3,\n3,3,1\n", read_interactions, "an empty cell in line 3"),
    ("a.csv", HEAD + "1,2,3\n\n2,3,nan\n", read_interactions, "got nan in line 4"),
    ("a.csv", HEAD + "1,2,3\n2,3,-inf\n", read_interactions, "got -inf in line 3"),
    ("a.csv", HEAD + "1,2,3\n,3,1\n", read_interactions, "an id in every row; got none in line 3"),
    ("a.csv", HEAD + "a,2,3\nb,,1\n", read_interactions, "an id in every row; got none in line 3"),
    ("a.csv", HEAD + "1,2,3\n2,3\n", read_interactions, "3 columns in every line; got 2 in line 3"),
    ("a.csv", HEAD + "1,2,3\n1,3,4\n2,2,1\n1,2,5\n", read_interactions, "user 1 and item 2 again in row 4 .*'sum'"),
    ("a.csv", "userId,movieId,itemId\n1,2,3\n2,1,1\n", read_interactions, "movieId and itemId; choose it"),
    ("a.csv", "userId,rating\n1,2\n2,1\n", read_interactions, "the item column .*; got userId, rating"),
    ("a.csv", "1\t2\t881250949\n2\t1\t881250950\n", read_interactions, "rating='none' if these are times"),
    ("a.csv", "onecolumn\n", read_interactions, "equally many columns"),
    ("r.parquet", empty, read_interactions, "a table with rows; got none"),
    ("t.csv", TITLES, lambda path: read_titles(path, id="id", title="id"), "different ones; got position 0 twice"),
    ("t.csv", TITLES, lambda path: join_texts(MODEL, path), "side must be a Side; got .*; such as model.right_side"),
    ("t.csv", TITLES, lambda path: join_ids(np.array([[1]]), path), "ids must be a list, one a row"),
    ("t.csv", TITLES, lambda path: join_ids(np.array([7]), path), "the ids of the titles must be ids of items; got 1"),
    ("l.txt", "a\nb\n", lambda path: read_labels(path, 0), "n_rows must be an integer"),
    ("l.txt", "a\nb\n", lambda path: read_ids(path, 0), "n_rows must be an integer"),
    ("l.txt", b"\xe9\n", labels, "text in UTF-8; got other bytes in .*iconv"),
    ("l.txt", "a\n", lambda _: labels(["a"]), r"a file or a list of 2 label names; got shape \(1,\)"),
    ("l.json", '["a"]', labels, "a file of 2 label names, one a row; got 1"),
    ("l.json", '{"a": 0, "b": 0}', labels, "a map of 2 labels, .* got none for row 1"),
    ("l.json", '{"a": 0, "b": 5}', labels, "none for row 1"),
    ("l.json", '{"a": 0}', labels, "one for each row from 0 to 1; got 1"),
    ("l.json", '{"a": 0.5, "b": "x"}', labels, "no row"),
    ("l.json", "3", labels, "a JSON list or a map between label and row; got int"),
    *(("l.json", content, labels, "the file of labels must be valid JSON") for content in ("{", "[" * 100_000)),
    ("c.csv", "4\n0\n", counts, "a file of 3 item counts, one a row; got 2"),
    ("c.csv", "a,4\nb,0\n", counts, "those of all 3 items; got 2 of them; c, for instance, is not there; write 0"),
    ("c.csv", "x,4\ny,0\nz,1\n", counts, "got 0 of them; a, for instance, is not there; check its column of ids"),
    ("c.csv", "a,4\nb,0\nc,1\na,2\n", counts, "column 1 of .*one for each id; got 4.0 and 2.0 for a"),
    ("c.csv", "a,4\nb,x\nc,1\n", counts, "numbers; got 'x' in line 2"),
    ("c.csv", "title,year,pages\nA,1,2\n", counts, "called id and count; got title, year, pages; rename them"),
    ("c.npy", npy, counts, "one number a row; got float32 of"),
    ("f.csv", "a,b\n1,2\n", lambda _: read_frame(3), "a data frame, a mapping of columns or a path; got int"),
    ("f.csv", "a,b\n1,2\n", lambda _: read_frame({"a": [1], "b": [1, 2]}), "of one length; got different ones"),
    ("d", lambda path: path.mkdir(), codecs.open_arrays, "the path must be a file; got the folder .*; name a file"),
    ("a.csv", "a,b\n1,2\n", codecs.open_arrays, "a .safetensors, .*; got suffix '.csv'; save it as safetensors"),
    ("w.safetensors", NONE, lambda path: codecs.open_arrays(path)["w"], "of dtype .*; got F4; convert it to F32"),
    ("o.npz", b"x", lambda path: ea.save([1.0], path), "the model must be a FactorModel; got list; make one of an"),
    ("o.npz", b"x", lambda path: ea.save(MODEL, path), "a file that does not exist yet; got .*; overwrite it with"),
    ("o.xyz", None, lambda path: ea.save(MODEL, path), "the output must be a file that ends in one of .*npz"),
    ("o.npz", b"x", lambda path: writable(path, force=1), "force must be True or False; got 1"),
    ("d", lambda path: path.mkdir(), lambda path: writable(path, force=True), "the output must be a file; got the dir"),
    ("p", os.mkfifo, lambda path: writable(path, force=True), "a regular file; got .*, a device, pipe or stream; name"),
    ("o.txt", None, lambda path: writable(path / "x", force=False), "the folder of the output must be there already"),
    ("x" * 300, None, lambda path: writable(path, force=False), "cannot be written: File name too long"),
    ("o.gz", None, lambda path: written_whole(path, mode="w"), "a name without .gz; got .*; it is written as text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "call", "words"), CALLS)
def test_calls(tmp_path: Path, name: str, content: Any, call: Callable[[Path], Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        call(written(tmp_path / name, content))
    assert "\n" not in str(refused.value)
    assert name in str(refused.value) or call != read_interactions
