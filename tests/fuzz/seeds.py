"""One small valid file for each format, with the function that reads it."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import faiss
import h5py
import numpy as np
import onnx
import pyarrow as pa
from llama_files import RMS, gguf_file
from pyarrow import feather, ipc, parquet
from safetensors.numpy import save_file
from store_files import ChromaFolder, write_sqlite_vec

import embaudit as ea
from embaudit.blocks import block_cosines
from embaudit.cli import main
from embaudit.io import read_ids, read_interactions, read_labels, read_titles
from embaudit.io.adapters import read_adapter

DRAW = np.random.default_rng(0)
LEFT, RIGHT = DRAW.normal(size=(5, 3)), DRAW.normal(size=(6, 3))
NAMES = [f"item {i}" for i in range(6)]
MODEL = ea.FactorModel.from_user_item(
    LEFT, RIGHT, item_bias=RIGHT[:, 0], item_ids=NAMES, user_ids=np.arange(5)
)
VECTORS = ea.FactorModel.from_vectors(RIGHT, ids=NAMES)
RATINGS = [
    (user, item, float((user * item) % 5 + 1))
    for user in range(5)
    for item in range(6)
    if (user + item) % 3
]


@dataclass(frozen=True)
class Seed:
    """A whole file and its reader."""

    name: str
    """The file that is damaged, perhaps in a folder."""
    read: Callable[[Path], Any]
    """Takes the folder in which the file lies."""
    write: Callable[[Path], None]
    """Writes the file, and what belongs beside it, into a folder."""


def _zip(arrays: dict[str, Any], path: Path, compression: int) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(array))


def _text(content: str, path: Path) -> None:
    raw = content.encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def _table(columns: dict[str, Any], path: Path) -> None:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, str(path))


def _stream(path: Path) -> None:
    table = pa.table(TABLE)
    with ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


def _binary(path: Path) -> None:
    rows = [
        f"item{i}".encode() + b" " + row.astype("<f4").tobytes()
        for i, row in enumerate(RIGHT)
    ]
    path.write_bytes(b"6 3\n" + b"".join(rows))


def _checkpoint(path: Path) -> None:
    """Write two shards, an index, a configuration and a vocabulary."""
    folder = path.parent
    head, embedding = RIGHT.astype(np.float32), LEFT.astype(np.float16)
    save_file(
        {"lm_head.weight": head, "model.norm.weight": head[0]}, folder / "a.safetensors"
    )
    save_file({"model.embed_tokens.weight": embedding}, folder / "b.safetensors")
    homes = {"lm_head.weight": "a.safetensors", "model.norm.weight": "a.safetensors"}
    index = {"weight_map": {**homes, "model.embed_tokens.weight": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {
        "model_type": "llama",
        "vocab_size": 6,
        "tie_word_embeddings": False,
        "rms_norm_eps": 1e-6,
    }
    (folder / "config.json").write_text(json.dumps(config))
    added = [{"id": 5, "content": "<end>"}]
    vocabulary = {
        "model": {"vocab": {f"t{i}": i for i in range(5)}},
        "added_tokens": added,
    }
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))


def _gguf(path: Path) -> None:
    """Write a head in blocks of 32 and what stands before it."""
    head, gain = DRAW.normal(size=(6, 32)), DRAW.normal(size=32)
    tensors = {
        "token_embd.weight": head,
        "output.weight": -head,
        "output_norm.weight": gain,
    }
    keys = {**RMS, "logit_scale": 0.5, "final_logit_softcapping": 30.0}
    gguf_file(path, tensors, kinds="Q4_0", tokens=NAMES, **keys)


def _spark(path: Path) -> None:
    for side, rows in (("userFactors", LEFT), ("itemFactors", RIGHT)):
        (path.parents[1] / side).mkdir(parents=True, exist_ok=True)
        columns = {
            "id": np.arange(len(rows), dtype=np.int32),
            "features": list(rows.astype(np.float32)),
        }
        _table(columns, path.parents[1] / side / "part-0.parquet")


def _adapter(path: Path) -> None:
    """Write a low-rank adapter as PEFT does."""
    module = "base_model.model.layers.0.q_proj"
    arrays = {
        f"{module}.lora_A.weight": LEFT.T.astype(np.float32),
        f"{module}.lora_B.weight": RIGHT.astype(np.float16),
    }
    save_file(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        path.parent / "adapter_model.safetensors",
    )
    config = {
        "peft_type": "LORA",
        "r": 3,
        "lora_alpha": 6,
        "use_rslora": False,
        "alpha_pattern": {"k_proj": 2},
        "init_lora_weights": True,
    }
    (path.parent / "adapter_config.json").write_text(json.dumps(config))


def _load(name: str) -> Callable[[Path], Any]:
    return lambda folder: ea.load(folder / name)


def _of(read: Callable[[Path], Any], name: str) -> Callable[[Path], Any]:
    return lambda folder: read(folder / name)


def _blocks(name: str) -> Callable[[Path], Any]:
    return lambda folder: block_cosines(folder / name, folder / name)


LIST = "".join(f"{name}\n" for name in NAMES)
WITH_TITLES = "movieId,title\n" + "".join(f'{i},"Film, number {i}"\n' for i in range(6))
VECTOR_LINES = [" ".join([f"item{i}", *map(str, row)]) for i, row in enumerate(RIGHT)]
TABLE = {"id": np.arange(6), "vector": list(RIGHT)}
COLUMNS = {"id": NAMES, **{f"x{i}": RIGHT[:, i] for i in range(3)}}
DOCUMENTS: tuple[Any, ...] = (
    dict(zip(NAMES, RIGHT.tolist(), strict=True)),
    [
        {"id": name, "title": name.upper(), "vector": row}
        for name, row in zip(NAMES, RIGHT.tolist(), strict=True)
    ],
    {"ids": NAMES, "embeddings": RIGHT.tolist()},
)
LISTS = "id,vector\n" + "".join(
    f'{name},"{row}"\n' for name, row in zip(NAMES, RIGHT.tolist(), strict=True)
)
CODED = {
    "user": pa.array([str(u) for u, _, _ in RATINGS]).dictionary_encode(),
    "item": [i for _, i, _ in RATINGS],
    "rating": [r for _, _, r in RATINGS],
}
RATED = "userId,movieId,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in RATINGS)


def _models() -> list[Seed]:
    def zipped(name: str, compression: int, arrays: dict[str, Any]) -> Seed:
        return Seed(name, _load(name), lambda path: _zip(arrays, path, compression))

    factors = {
        "user_factors": LEFT,
        "item_factors": RIGHT,
        "factors": 3,
        "regularization": 0.1,
    }
    named = {"user_factors": LEFT, "W": RIGHT, "labels": np.array(NAMES)}
    text = ("6 3\n" + "\n".join(VECTOR_LINES) + "\n", "\n".join(VECTOR_LINES) + "\n")
    rows = "id,x0,x1,x2\n" + "".join(
        f"{n},{','.join(map(str, r))}\n" for n, r in zip(NAMES, RIGHT, strict=True)
    )
    return [
        Seed("own.npz", _load("own.npz"), partial(ea.save, MODEL)),
        zipped("implicit.npz", zipfile.ZIP_STORED, factors),
        zipped("packed.npz", zipfile.ZIP_DEFLATED, named),
        Seed("v.npy", _load("v.npy"), lambda path: np.save(path, RIGHT)),
        Seed(
            "v.safetensors",
            _load("v.safetensors"),
            partial(ea.save, ea.FactorModel.from_vectors(RIGHT)),
        ),
        Seed("v.parquet", _load("v.parquet"), partial(ea.save, VECTORS)),
        Seed("wide.parquet", _load("wide.parquet"), partial(_table, COLUMNS)),
        Seed("v.feather", _load("v.feather"), partial(_table, TABLE)),
        Seed("v.csv", _load("v.csv"), partial(_text, rows)),
        Seed("v.txt", _load("v.txt"), partial(_text, text[0])),
        Seed("v.vec.gz", _load("v.vec.gz"), partial(_text, text[1])),
        Seed("v.bin", _load("v.bin"), _binary),
        Seed("v.arrows", _load("v.arrows"), _stream),
        *(
            Seed(f"{i}.json", _load(f"{i}.json"), partial(_text, json.dumps(one)))
            for i, one in enumerate(DOCUMENTS)
        ),
        Seed(
            "v.jsonl",
            _load("v.jsonl"),
            partial(_text, "".join(json.dumps(one) + "\n" for one in DOCUMENTS[1])),
        ),
        Seed("lists.csv", _load("lists.csv"), partial(_text, LISTS)),
        *((Seed("m.gguf", _load("m.gguf"), _gguf),) if find_spec("gguf") else ()),
        Seed("userFactors/part-0.parquet", _load(""), _spark),
        *(
            Seed(name, _load(""), _checkpoint)
            for name in (
                "model.safetensors.index.json",
                "a.safetensors",
                "config.json",
                "tokenizer.json",
            )
        ),
        *(
            Seed(name, read_adapter, _adapter)
            for name in ("adapter_model.safetensors", "adapter_config.json")
        ),
    ]


def _tables() -> list[Seed]:
    bare = "".join(f"{u}::{i}::{r}\n" for u, i, r in RATINGS)
    labels = {
        "json": json.dumps(NAMES),
        "map.json": json.dumps({name: i for i, name in enumerate(NAMES)}),
    }
    by_row = json.dumps({"id2label": dict(enumerate(NAMES))})
    numbers = "".join(f"{name},{i}\n" for i, name in enumerate(NAMES))
    titles = {"id": np.arange(6), "title": NAMES}
    named = partial(read_labels, n_rows=6)

    def counts(path: Path) -> Any:
        return ea.load(VECTORS, right_counts=path).right_counts

    made = (
        ("ratings.csv", read_interactions, partial(_text, RATED)),
        ("ratings.dat", read_interactions, partial(_text, bare)),
        ("ratings.tsv.gz", read_interactions, partial(_text, RATED.replace(",", "\t"))),
        ("ratings.parquet", read_interactions, partial(_table, CODED)),
        ("ratings.arrow", read_interactions, partial(_table, CODED)),
        ("titles.csv", read_titles, partial(_text, WITH_TITLES)),
        ("titles.csv.gz", read_titles, partial(_text, WITH_TITLES)),
        ("titles.parquet", read_titles, partial(_table, titles)),
        ("labels.txt", named, partial(_text, LIST)),
        ("labels.json", named, partial(_text, labels["json"])),
        ("map.json", named, partial(_text, labels["map.json"])),
        ("id2label.json", named, partial(_text, by_row)),
        ("ids.txt", lambda path: read_ids(str(path), 6), partial(_text, LIST)),
        ("counts.csv", counts, partial(_text, numbers)),
        ("counts.npy", counts, lambda path: np.save(path, np.arange(6))),
    )
    return [Seed(name, _of(read, name), write) for name, read, write in made]


def _tensors() -> list[Seed]:
    arrays = {"a": LEFT, "b": RIGHT.astype(np.float32), "c": np.arange(4)}
    return [
        Seed(
            "x.npz",
            _blocks("x.npz"),
            lambda path: _zip(arrays, path, zipfile.ZIP_DEFLATED),
        ),
        Seed(
            "x.npy",
            _blocks("x.npy"),
            lambda path: np.save(path, np.asfortranarray(RIGHT)),
        ),
        Seed(
            "x.safetensors",
            _blocks("x.safetensors"),
            partial(ea.save, ea.FactorModel.from_vectors(RIGHT)),
        ),
        Seed("model.safetensors.index.json", _blocks(""), _checkpoint),
    ]


def _hdf5(arrays: dict[str, Any], path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
        if path.suffix == ".h5ad":
            file["obs"].attrs["_index"] = "_index"


def _onnx(path: Path) -> None:
    """Write a network whose last step is a linear map under a softmax."""
    value, make, kind = (
        onnx.helper.make_tensor_value_info,
        onnx.helper.make_node,
        onnx.TensorProto.FLOAT,
    )
    nodes = [
        make("Gemm", ["x", "w", "b"], ["s"], transB=1),
        make("Softmax", ["s"], ["p"]),
    ]
    numbers = {"w": RIGHT.astype(np.float32), "b": RIGHT[:, 0].astype(np.float32)}
    made = [
        onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()
    ]
    graph = onnx.helper.make_graph(
        nodes, "g", [value("x", kind, [None, 3])], [value("p", kind, None)], made
    )
    onnx.save(onnx.helper.make_model(graph), str(path))


def _index(kind: str, path: Path) -> None:
    rows = np.tile(RIGHT.astype(np.float32), (8, 1))
    index = faiss.index_factory(3, kind)
    index.train(rows)
    index.add(rows)
    faiss.write_index(index, str(path))


def _shards(path: Path) -> None:
    for number in range(2):
        columns = {"id": np.arange(6) + 6 * number, "vector": list(RIGHT + number)}
        _table(columns, path.with_name(f"part-{number}.parquet"))


def _encoder(path: Path) -> None:
    """Write a folder of sentence-transformers."""
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(("Transformer", "Pooling", "Normalize"))
    ]
    (path.parent / "modules.json").write_text(json.dumps(modules))
    (path.parent / "config.json").write_text(
        json.dumps({"model_type": "bert", "vocab_size": 6})
    )
    save_file(
        {"embeddings.word_embeddings.weight": RIGHT.astype(np.float32)},
        path.parent / "model.safetensors",
    )
    np.save(path.parent / "rows.npy", RIGHT)


def _others() -> list[Seed]:
    factors = {"user_factors": LEFT, "item_factors": RIGHT, "item_bias": RIGHT[:, 0]}
    cells = {
        "X": RIGHT,
        "obsm/X_pca": RIGHT,
        "obs/_index": np.array([name.encode() for name in NAMES]),
    }
    return [
        Seed("m.h5", _load("m.h5"), partial(_hdf5, factors)),
        Seed("a.h5ad", _load("a.h5ad"), partial(_hdf5, cells)),
        Seed("m.onnx", _load("m.onnx"), _onnx),
        *(
            Seed(f"{kind[:3]}.faiss", _load(f"{kind[:3]}.faiss"), partial(_index, kind))
            for kind in ("Flat", "IVF2,Flat", "HNSW4")
        ),
        Seed("shards/part-0.parquet", _load("shards"), _shards),
        Seed("modules.json", lambda folder: _typed("formats", ".")(folder), _encoder),
        Seed("modules.json", _load("rows.npy"), _encoder),
    ]


def _sqlite_vec(path: Path) -> None:
    """Write two chunks of vectors with titles, some too long to stand in a chunk."""
    rows = np.tile(RIGHT, (3, 1)).astype(np.float32)
    titles = [f"Film {'of the year ' * (row % 2)}{row}" for row in range(len(rows))]
    columns = "id text primary key, v float[{width}] distance_metric=cosine, title text"
    numbers = [7 + 2 * row for row in range(len(rows))]
    names = [f"n{number}" for number in numbers]
    write_sqlite_vec(
        path, rows, numbers, columns=columns, titles=titles, names=names, deleted={3}
    )


def _chroma(path: Path) -> None:
    """Write a collection whose vectors wait in the queue."""
    with tempfile.TemporaryDirectory() as folder:
        store = ChromaFolder(Path(folder, "store"))
        store.create("films", 3, space="cosine", metadata_space="cosine")
        rows = zip(NAMES, RIGHT.astype(np.float32), strict=True)
        store.queue("films", [(2, name, row) for name, row in rows])
        store.describe("films", [(name, {"title": name.upper()}) for name in NAMES])
        shutil.copy(store.path, path)


def _duckdb(path: Path) -> None:
    """Write a table of vectors with ids."""
    duckdb = import_module("duckdb")
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        database.register("given", pa.table(TABLE))
        database.execute(
            "CREATE TABLE films AS SELECT id, vector::DOUBLE[3] AS vector FROM given"
        )


def _stores() -> list[Seed]:
    """Return files of stores; that of DuckDB only where its client is installed.

    The client of LanceDB ends the process if a damaged manifest asks it for more memory
    than there is, so damaged tables of LanceDB cannot be read in the process of a test.
    """
    seeds = [
        Seed("films.db", _load("films.db"), _sqlite_vec),
        Seed("store/chroma.sqlite3", _load("store"), _chroma),
    ]
    if find_spec("duckdb"):
        seeds.append(Seed("films.duckdb", _load("films.duckdb"), _duckdb))
    return seeds


SEEDS = (*_models(), *_tables(), *_tensors(), *_others(), *_stores())


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, and what it wrote to the error stream."""

    code: int
    error: str


def _typed(*words: str) -> Callable[[Path], Any]:
    """Run a command on the files of a folder, as one types it."""

    def run(folder: Path) -> Ended:
        error = io.StringIO()
        argv, sys.argv = sys.argv, ["embaudit", *words]
        try:
            with chdir(folder), redirect_stdout(io.StringIO()), redirect_stderr(error):
                main()
        except SystemExit as ended:
            return Ended(int(ended.code or 0), error.getvalue())
        finally:
            sys.argv = argv
        return Ended(0, error.getvalue())

    return run


def _audited(path: Path) -> None:
    ea.save(MODEL, path.parent / "own.npz")
    record = ea.audit(
        str(path.parent / "own.npz"),
        n_gauges=1,
        n_pairs=9,
        n_lists=2,
        n_starts=1,
        n_steps=1,
    ).to_dict()
    path.write_text(json.dumps(record))


def _settings(path: Path) -> None:
    ea.save(MODEL, path.parent / "own.npz")
    path.write_text('n-neighbours = 3\nignore-code = ["EMB104"]\nfail-on = "issue"\n')


def _beside(write: Callable[[Path], None]) -> Callable[[Path], None]:
    def both(path: Path) -> None:
        ea.save(MODEL, path.parent / "own.npz")
        write(path)

    return both


FEW = (
    "--n-gauges",
    "1",
    "--n-pairs",
    "9",
    "--n-lists",
    "2",
    "--n-starts",
    "1",
    "--n-steps",
    "1",
)
AUDIT = ("audit", "own.npz", *FEW)


def _commands() -> list[Seed]:
    own, shards = partial(ea.save, MODEL), ("shards/part-0.parquet", _shards)
    rated = partial(_text, RATED)
    cases = partial(
        _text,
        "x,y,g,n\n"
        + "".join(f"{i},{(i * i) % 7},{'abc'[i % 3]},{i}\n" for i in range(24)),
    )
    titles = _beside(
        partial(
            _text, "id,title\n" + "".join(f"{name},{name.upper()}\n" for name in NAMES)
        )
    )
    labels = _beside(
        partial(
            _text,
            "id,label\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(NAMES)),
        )
    )
    together = _beside(
        partial(
            _text,
            "user,item,time\n" + "".join(f"u{i % 3},item {i},{i}\n" for i in range(6)),
        )
    )
    arrays = partial(_zip, {"a": LEFT, "b": RIGHT}, compression=zipfile.ZIP_DEFLATED)
    written, nine = ("--out", "g.npz", "--force"), ("--n-permutations", "9")
    json_out = ("--json", "o.json", "--out", "o.html", "--force")
    return [
        *(
            Seed(seed.name, _typed("formats", seed.name), seed.write)
            for seed in (*_models(), *_others(), *_stores())
        ),
        Seed("own.npz", _typed(*AUDIT, *json_out), own),
        Seed("m.h5", _typed("audit", "m.h5", *FEW), _others()[0].write),
        Seed("v.csv", _typed("audit", "v.csv", *FEW), partial(ea.save, VECTORS)),
        Seed(shards[0], _typed("audit", "shards", *FEW), shards[1]),
        Seed("config.json", _typed("audit", ".", *FEW), _checkpoint),
        Seed("a.safetensors", _typed("audit", ".", *FEW), _checkpoint),
        Seed("tokenizer.json", _typed("audit", ".", *FEW), _checkpoint),
        Seed("titles.csv", _typed(*AUDIT, "--items", "titles.csv"), titles),
        Seed("titles.csv", _typed(*AUDIT, "--labels", "titles.csv"), titles),
        Seed(
            "titles.csv",
            _typed(
                *AUDIT,
                "--ids",
                "titles.csv",
                "--ids-column",
                "id",
                "--right-counts",
                "titles.csv",
            ),
            titles,
        ),
        Seed("a.json", _typed("verify", "a.json", "own.npz"), _audited),
        Seed(
            "a.json",
            _typed(*AUDIT, "--baseline", "a.json", "--fail-on", "tip"),
            _audited,
        ),
        Seed(
            "a.json",
            _typed(
                "gauge", "own.npz", *written, "--from", "a.json", "--name", "linear 1"
            ),
            _audited,
        ),
        Seed("embaudit.toml", _typed(*AUDIT), _settings),
        Seed("own.npz", _typed("fix", "own.npz", "--out", "f.npz", "--force"), own),
        Seed(
            "v.csv",
            _typed("fix", "v.csv", "--unit", "--out", "f.csv", "--force"),
            partial(ea.save, VECTORS),
        ),
        Seed("own.npz", _typed("gauge", "own.npz", *written), own),
        Seed(
            "own.npz",
            _typed(
                "compare",
                "own.npz",
                "own.npz",
                "--by-row",
                "--n-neighbours",
                "2",
                *json_out,
            ),
            own,
        ),
        Seed(
            "labels.csv",
            _typed("evaluate", "own.npz", "--items", "labels.csv", "--truth", "label"),
            labels,
        ),
        Seed(
            "together.csv",
            _typed("evaluate", "own.npz", "--interactions", "together.csv"),
            together,
        ),
        Seed("x.npz", _typed("blocks", "x.npz", "x.npz", *json_out), arrays),
        Seed(
            "ratings.csv",
            _typed(
                "fit",
                "ratings.csv",
                "--objective",
                "product",
                "--n-components",
                "2",
                *written,
            ),
            rated,
        ),
        Seed(
            "cases.csv",
            _typed(
                "simpson",
                "cases.csv",
                "--x",
                "x",
                "--y",
                "y",
                "--groups",
                "g",
                *nine,
                *json_out,
            ),
            cases,
        ),
    ]


COMMANDS = tuple(_commands())
