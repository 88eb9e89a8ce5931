"""One small file for each format and what reads it: the whole that fuzzing damages."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from llama_files import RMS, gguf_file
from pyarrow import feather, ipc, parquet
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.blocks import block_cosines
from embaudit.io import final_norm_of, read_ids, read_interactions, read_labels, read_titles
from embaudit.io.tables.counts import read_counts
from embaudit.model.side import Side

DRAW = np.random.default_rng(0)
LEFT, RIGHT = DRAW.normal(size=(5, 3)), DRAW.normal(size=(6, 3))
NAMES = [f"item {i}" for i in range(6)]
MODEL = ea.FactorModel.from_user_item(LEFT, RIGHT, item_bias=RIGHT[:, 0], item_ids=NAMES, user_ids=np.arange(5))
VECTORS = ea.FactorModel.from_vectors(RIGHT, ids=NAMES)
RATINGS = [(user, item, float((user * item) % 5 + 1)) for user in range(5) for item in range(6) if (user + item) % 3]
SIDE = Side(RIGHT, "item", ids=NAMES)


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
    rows = [f"item{i}".encode() + b" " + row.astype("<f4").tobytes() for i, row in enumerate(RIGHT)]
    path.write_bytes(b"6 3\n" + b"".join(rows))


def _checkpoint(path: Path) -> None:
    """Write two shards, an index, a configuration and a vocabulary."""
    folder = path.parent
    head, embedding = RIGHT.astype(np.float32), LEFT.astype(np.float16)
    save_file({"lm_head.weight": head, "model.norm.weight": head[0]}, folder / "a.safetensors")
    save_file({"model.embed_tokens.weight": embedding}, folder / "b.safetensors")
    homes = {"lm_head.weight": "a.safetensors", "model.norm.weight": "a.safetensors"}
    index = {"weight_map": {**homes, "model.embed_tokens.weight": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {"model_type": "llama", "vocab_size": 6, "tie_word_embeddings": False, "rms_norm_eps": 1e-6}
    (folder / "config.json").write_text(json.dumps(config))
    added = [{"id": 5, "content": "<end>"}]
    vocabulary = {"model": {"vocab": {f"t{i}": i for i in range(5)}}, "added_tokens": added}
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))


def _gguf(path: Path) -> None:
    """Write a head in blocks of 32 and what stands before it."""
    head, gain = DRAW.normal(size=(6, 32)), DRAW.normal(size=32)
    tensors = {"token_embd.weight": head, "output.weight": -head, "output_norm.weight": gain}
    keys = {**RMS, "logit_scale": 0.5, "final_logit_softcapping": 30.0}
    gguf_file(path, tensors, kinds="Q4_0", tokens=NAMES, **keys)


def _spark(path: Path) -> None:
    for side, rows in (("userFactors", LEFT), ("itemFactors", RIGHT)):
        (path.parents[1] / side).mkdir(parents=True, exist_ok=True)
        columns = {"id": np.arange(len(rows), dtype=np.int32), "features": list(rows.astype(np.float32))}
        _table(columns, path.parents[1] / side / "part-0.parquet")


def _with_norm(name: str) -> Callable[[Path], Any]:
    return lambda folder: (ea.load(folder / name), final_norm_of(folder / name))


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
    [{"id": name, "title": name.upper(), "vector": row} for name, row in zip(NAMES, RIGHT.tolist(), strict=True)],
    {"ids": NAMES, "embeddings": RIGHT.tolist()},
)
LISTS = "id,vector\n" + "".join(f'{name},"{row}"\n' for name, row in zip(NAMES, RIGHT.tolist(), strict=True))
CODED = {"user": pa.array([str(u) for u, _, _ in RATINGS]).dictionary_encode(), "item": [i for _, i, _ in RATINGS],
         "rating": [r for _, _, r in RATINGS]}  # fmt: skip
RATED = "userId,movieId,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in RATINGS)


def _models() -> list[Seed]:
    def zipped(name: str, compression: int, arrays: dict[str, Any]) -> Seed:
        return Seed(name, _load(name), lambda path: _zip(arrays, path, compression))

    factors = {"user_factors": LEFT, "item_factors": RIGHT, "factors": 3, "regularization": 0.1}
    named = {"user_factors": LEFT, "W": RIGHT, "labels": np.array(NAMES)}
    text = ("6 3\n" + "\n".join(VECTOR_LINES) + "\n", "\n".join(VECTOR_LINES) + "\n")
    rows = "id,x0,x1,x2\n" + "".join(f"{n},{','.join(map(str, r))}\n" for n, r in zip(NAMES, RIGHT, strict=True))
    return [
        Seed("own.npz", _load("own.npz"), partial(ea.save, MODEL)),
        zipped("implicit.npz", zipfile.ZIP_STORED, factors),
        zipped("packed.npz", zipfile.ZIP_DEFLATED, named),
        Seed("v.npy", _load("v.npy"), lambda path: np.save(path, RIGHT)),
        Seed("v.safetensors", _load("v.safetensors"), partial(ea.save, ea.FactorModel.from_vectors(RIGHT))),
        Seed("v.parquet", _load("v.parquet"), partial(ea.save, VECTORS)),
        Seed("wide.parquet", _load("wide.parquet"), partial(_table, COLUMNS)),
        Seed("v.feather", _load("v.feather"), partial(_table, TABLE)),
        Seed("v.csv", _load("v.csv"), partial(_text, rows)),
        Seed("v.txt", _load("v.txt"), partial(_text, text[0])),
        Seed("v.vec.gz", _load("v.vec.gz"), partial(_text, text[1])),
        Seed("v.bin", _load("v.bin"), _binary),
        Seed("v.arrows", _load("v.arrows"), _stream),
        *(Seed(f"{i}.json", _load(f"{i}.json"), partial(_text, json.dumps(one))) for i, one in enumerate(DOCUMENTS)),
        Seed("v.jsonl", _load("v.jsonl"), partial(_text, "".join(json.dumps(one) + "\n" for one in DOCUMENTS[1]))),
        Seed("lists.csv", _load("lists.csv"), partial(_text, LISTS)),
        *((Seed("m.gguf", _with_norm("m.gguf"), _gguf),) if find_spec("gguf") else ()),
        Seed("userFactors/part-0.parquet", _load(""), _spark),
        *(
            Seed(name, _load(""), _checkpoint)
            for name in ("model.safetensors.index.json", "a.safetensors", "config.json", "tokenizer.json")
        ),
    ]


def _tables() -> list[Seed]:
    bare = "".join(f"{u}::{i}::{r}\n" for u, i, r in RATINGS)
    labels = {"json": json.dumps(NAMES), "map.json": json.dumps({name: i for i, name in enumerate(NAMES)})}
    by_row = json.dumps({"id2label": dict(enumerate(NAMES))})
    numbers = "".join(f"{name},{i}\n" for i, name in enumerate(NAMES))
    titles = {"id": np.arange(6), "title": NAMES}
    named = partial(read_labels, n_rows=6)
    counts = partial(read_counts, side=SIDE)
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
        Seed("x.npz", _blocks("x.npz"), lambda path: _zip(arrays, path, zipfile.ZIP_DEFLATED)),
        Seed("x.npy", _blocks("x.npy"), lambda path: np.save(path, np.asfortranarray(RIGHT))),
        Seed("x.safetensors", _blocks("x.safetensors"), partial(ea.save, ea.FactorModel.from_vectors(RIGHT))),
        Seed("model.safetensors.index.json", _blocks(""), _checkpoint),
    ]


SEEDS = (*_models(), *_tables(), *_tensors())
