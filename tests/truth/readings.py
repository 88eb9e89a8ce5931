"""The truth table of readers: files with known arrays, and how reading must describe
them.

Nothing here is computed by the package. Descriptions are complete, so any other
sentence is an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from safetensors.numpy import save_file
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

DRAW = np.random.default_rng(3)
P = DRAW.normal(size=(5, 2)).astype(np.float32)
Q = DRAW.normal(size=(7, 2)).astype(np.float32)
USER_BIAS = DRAW.normal(size=5)
ITEM_BIAS = DRAW.normal(size=7)
IDS = np.arange(70, 77)
LETTERS = list("abcdefg")

NO_USER_IDS = "User ids: none, so rows go by their number."
NO_ITEM_IDS = "Item ids: none, so rows go by their number."
NO_LABEL_IDS = (
    "Label ids: none, so rows go by their number; a file of labels names them."
)
NAMED_LABELS = "Label ids: none, so rows go by their names."
PQ_LAYOUT = "Layout: P/Q of textbooks on matrix factorisation."
LINK_ASSUMED = "Assumed: the identity link."


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An input, the model that it holds, and the description of the reading."""

    name: str
    make: Callable[[Path], Any]
    """Writes the input into a folder and returns its path, or returns an object."""
    source: str
    """The format of the file, or the class of the object."""
    parts: tuple[str, ...]
    """The first sentence names these arrays with their roles."""
    sentences: tuple[str, ...]
    """All sentences after the first."""
    line: str
    """The line of the first screen."""
    fields: Mapping[str, Any]
    """Fields of the model with their values. All other arrays of the model are None."""
    options: Mapping[str, Any] = field(default_factory=dict)
    arrays: tuple[str, ...] = ()
    """Arrays or columns of the file: each must be named once, as used or left over."""
    never: tuple[str, ...] = ()
    """Phrases that would be false of this input."""

    @property
    def explanation(self) -> str:
        """The whole paragraph on the reading."""
        first = f"Read as {self.source}: {', '.join(self.parts)}."
        return " ".join([first, *self.sentences])


@dataclass(frozen=True, kw_only=True)
class Refused:
    """An ambiguous input, and options that settle how it is read."""

    name: str
    make: Callable[[Path], Any]
    """Writes the input into a folder and returns its path."""
    phrases: tuple[str, ...]
    """Phrases of the error message."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options with which the input is still ambiguous."""
    settled: Mapping[str, Any]
    """Further options that settle it."""
    fields: Mapping[str, Any]
    """Fields of the model that is read then."""


NEVER = ("right_", "left_", "None", "nan", "{", "array(", "  ", "::", "..")
"""Phrases that are in no description: names of fields, and traces of sentences that
were put together badly.
"""


def npz(**arrays: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / "m.npz"
        np.savez(path, **arrays)
        return path

    return make


def checkpoint(
    arrays: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    tokens: Mapping[str, int] | None = None,
) -> Callable[[Path], Path]:
    """Return a function that writes a file in safetensors and the files next to it."""

    def make(folder: Path) -> Path:
        path = folder / "model.safetensors"
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(tensors, path)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config))
        if tokens is not None:
            (folder / "vocab.json").write_text(json.dumps(tokens))
        return path

    return make


def text(name: str, lines: list[str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return make


def parquet(**columns: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / "v.parquet"
        pd.DataFrame(columns).to_parquet(path)
        return path

    return make


def pairs() -> Iterator[Reading]:
    """Yield two sides in a file of named arrays."""
    both_sides = {"left": P, "right": Q, "link": "identity"}
    both_parts = ("P (5 × 2) as left factors", "Q (7 × 2) as right factors")
    yield Reading(
        name="a pair",
        make=npz(P=P, Q=Q),
        source="npz",
        parts=both_parts,
        sentences=(PQ_LAYOUT, LINK_ASSUMED, NO_USER_IDS, NO_ITEM_IDS),
        line="read as npz: P, Q",
        fields=both_sides,
        arrays=("P", "Q"),
        never=("Not used", "column per entity", "bias"),
    )
    yield Reading(
        name="a pair whose link was given",
        make=npz(P=P, Q=Q),
        options={"link": "ranking"},
        source="npz",
        parts=both_parts,
        sentences=(PQ_LAYOUT, NO_USER_IDS, NO_ITEM_IDS),
        line="read as npz: P, Q",
        fields={**both_sides, "link": "ranking"},
        arrays=("P", "Q"),
        never=("Assumed", "identity"),
    )
    yield Reading(
        name="a pair with biases, ids and names",
        make=npz(
            P=P,
            Q=Q.T,
            user_bias=USER_BIAS,
            item_bias=ITEM_BIAS[:, None],
            item_ids=IDS,
            item_names=LETTERS,
            global_mean=3.5,
            seed=1,
        ),
        source="npz",
        parts=(
            "P (5 × 2) as left factors",
            "Q (2 × 7) as right factors",
            "user_bias (5) as left bias",
            "item_bias (7 × 1) as right bias",
            "global_mean as offset",
            "item_ids (7) as right ids",
            "item_names (7) as right names",
        ),
        sentences=(
            PQ_LAYOUT,
            "Not used: seed.",
            "Assumed: Q has one column per entity, the identity link.",
            NO_USER_IDS,
        ),
        line=(
            "read as npz: P, Q, user_bias, item_bias, global_mean, item_ids, item_names"
            "; not used: seed"
        ),
        fields={
            **both_sides,
            "left_bias": USER_BIAS,
            "right_bias": ITEM_BIAS,
            "offset": 3.5,
            "right_ids": IDS,
            "right_names": LETTERS,
        },
        arrays=(
            "P",
            "Q",
            "user_bias",
            "item_bias",
            "global_mean",
            "item_ids",
            "item_names",
            "seed",
        ),
        never=(NO_ITEM_IDS,),
    )
    yield Reading(
        name="a pair with an ignored bias",
        make=npz(P=P, Q=Q, u_bias=USER_BIAS),
        options={"ignore": "u_bias"},
        source="npz",
        parts=both_parts,
        sentences=(
            PQ_LAYOUT,
            "Not used: u_bias (5).",
            LINK_ASSUMED,
            NO_USER_IDS,
            NO_ITEM_IDS,
        ),
        line="read as npz: P, Q; not used: u_bias (5)",
        fields=both_sides,
        arrays=("P", "Q", "u_bias"),
        never=("u_bias (5) as", "left bias"),
    )
    yield Reading(
        name="one side of a pair",
        make=npz(P=P, Q=Q),
        options={"kind": "vectors"},
        source="npz",
        parts=("Q (7 × 2) as right factors",),
        sentences=(PQ_LAYOUT, "Not used: P (5 × 2).", NO_ITEM_IDS),
        line="read as npz: Q; not used: P (5 × 2)",
        fields={"right": Q, "link": "identity"},
        arrays=("P", "Q"),
        never=("Assumed", "User ids", "left factors"),
    )


def heads() -> Iterator[Reading]:
    """Yield heads of networks."""
    head = {"right": Q, "link": "softmax"}
    bias = ITEM_BIAS.astype(np.float32)
    yield Reading(
        name="a head with its bias",
        make=checkpoint({"fc.weight": Q, "fc.bias": bias}),
        source="safetensors",
        parts=(
            "fc.weight (7 × 2) as right factors",
            "fc.bias (7) as right bias",
            "its name as link",
        ),
        sentences=("Layout: fc.weight of ResNet of torchvision.", NO_LABEL_IDS),
        line="read as safetensors: fc.weight, fc.bias",
        fields={**head, "right_bias": bias},
        arrays=("fc.weight", "fc.bias"),
        never=("Item", "User", "Input ids", "Assumed", "Not used"),
    )
    unnamed_rows = [f"<padding {row}>" for row in range(2, 7)]
    yield Reading(
        name="tied embeddings with tokens",
        make=checkpoint(
            {"model.embed_tokens.weight": Q, "model.layers.0.mlp": P},
            config={"model_type": "llama"},
            tokens={"a": 0, "b": 1},
        ),
        source="safetensors",
        parts=(
            "model.embed_tokens.weight (7 × 2) as right factors",
            "its name as link",
            "vocab.json (2) as right names",
        ),
        sentences=(
            "Layout: model.embed_tokens.weight of Llama and others, input embeddings "
            "that are also the head.",
            "Not used: model.layers.0.mlp (5 × 2).",
            "The head is also the input embeddings (the checkpoint holds no other "
            "head).",
            NAMED_LABELS,
        ),
        line=(
            "read as safetensors: model.embed_tokens.weight, vocab.json"
            "; not used: model.layers.0.mlp (5 × 2)"
        ),
        fields={**head, "right_names": ["a", "b", *unnamed_rows]},
        arrays=("model.embed_tokens.weight", "model.layers.0.mlp"),
        never=("by their number", "Item"),
    )
    classes = [f"class {row}" for row in range(6)]
    yield Reading(
        name="classes with names",
        make=checkpoint(
            {"classifier.weight": Q},
            config={
                "id2label": {str(row): name for row, name in enumerate(classes)},
                "architectures": ["XForTokenClassification"],
            },
            tokens={"a": 0},
        ),
        source="safetensors",
        parts=(
            "classifier.weight (7 × 2) as right factors",
            "its name as link",
            "id2label of config.json (6) as right names",
        ),
        sentences=(
            "Layout: classifier.weight of sequence classifiers such as BERT.",
            NAMED_LABELS,
        ),
        line="read as safetensors: classifier.weight, id2label of config.json",
        fields={**head, "right_names": [*classes, "<padding 6>"]},
        arrays=("classifier.weight",),
        never=("vocab.json", "tokens"),
    )
    yield Reading(
        name="a binary head",
        make=npz(coef_=Q[:1], intercept_=ITEM_BIAS[:1]),
        source="npz",
        parts=(
            "coef_ (1 × 2) as right factors",
            "intercept_ (1) as right bias",
            "its name as link",
        ),
        sentences=(
            "Layout: coef_ of scikit-learn.",
            "Assumed: one row stands for two labels, the first with scores of 0.",
            NO_LABEL_IDS,
        ),
        line="read as npz: coef_, intercept_",
        fields={
            "right": [[0, 0], Q[0]],
            "right_bias": [0, ITEM_BIAS[0]],
            "link": "softmax",
        },
        arrays=("coef_", "intercept_"),
        never=("column per entity",),
    )


def vectors_and_ids(folder: Path) -> Path:
    np.save(folder / "v.npy", Q)
    (folder / "ids.txt").write_text("".join(f"{i}\n" for i in IDS))
    return folder / "v.npy"


def tables() -> Iterator[Reading]:
    """Yield vectors next to other columns or files."""
    vectors = {"right": Q, "right_ids": IDS, "link": "identity"}
    rows = list(zip(IDS, Q.tolist(), strict=True))
    yield Reading(
        name="a column of lists",
        make=parquet(id=IDS, vector=list(Q), year=IDS),
        source="parquet",
        parts=("column vector (7 × 2) as right factors", "id (7) as right ids"),
        sentences=("Not used: year (7).",),
        line="read as parquet: column vector, id; not used: year (7)",
        fields=vectors,
        arrays=("id", "vector", "year"),
        never=("ids: none", "Assumed", "User"),
    )
    lines = [f"{id_},{id_ / 10},{x!r},{y!r}" for id_, (x, y) in rows]
    yield Reading(
        name="a column per dimension",
        make=text("v.csv", ["id,price,x,y", *lines]),
        options={"vector": "x:y"},
        source="csv",
        parts=("columns x to y (7 × 2) as right factors", "id (7) as right ids"),
        sentences=("Not used: price.",),
        line="read as csv: columns x to y, id; not used: price",
        fields=vectors,
        arrays=("id", "price", "x", "y"),
        never=("ids: none", "Assumed"),
    )
    yield Reading(
        name="tokens",
        make=text("v.txt", [f"w{id_} {x!r} {y!r}" for id_, (x, y) in rows]),
        source="word2vec",
        parts=("vectors (7 × 2) as right factors", "tokens (7) as right ids"),
        sentences=(),
        line="read as word2vec: vectors, tokens",
        fields={**vectors, "right_ids": [f"w{id_}" for id_ in IDS]},
        never=("Not used", "ids: none"),
    )
    yield Reading(
        name="one array and given counts",
        make=vectors_and_ids,
        options={"right_counts": IDS},
        source="npy",
        parts=(
            "FOLDER/v.npy (7 × 2) as right factors",
            "values you passed (7) as right counts",
        ),
        sentences=(NO_ITEM_IDS,),
        line="read as npy: FOLDER/v.npy, values you passed",
        fields={"right": Q, "right_counts": IDS},
        never=("Assumed",),
    )


def objects() -> Iterator[Reading]:
    """Yield trained objects of other libraries."""
    X = np.abs(DRAW.normal(size=(12, 4)))
    y = np.arange(12) % 3
    linear = LogisticRegression().fit(X, y)
    yield Reading(
        name="a classifier",
        make=lambda _: linear,
        source="LogisticRegression of sklearn",
        parts=(
            "coef_ (3 × 4) as right factors",
            "intercept_ (3) as right bias",
            "classes_ (3) as right names",
            "its class as link",
            "LogisticRegression of sklearn as objective",
        ),
        sentences=(NAMED_LABELS,),
        line="read as LogisticRegression of sklearn: coef_, intercept_, classes_",
        fields={
            "right": linear.coef_,
            "right_bias": linear.intercept_,
            "right_names": [0, 1, 2],
            "link": "softmax",
            "objective": "sklearn-logistic",
        },
        never=("Item", "User"),
    )
    svd = TruncatedSVD(2).fit(X)
    yield Reading(
        name="singular vectors",
        make=lambda _: svd,
        source="TruncatedSVD of sklearn",
        parts=("components_ (4 × 2) as right factors",),
        sentences=(NO_ITEM_IDS,),
        line="read as TruncatedSVD of sklearn: components_",
        fields={"right": svd.components_.T},
        never=("left factors", "Assumed", "Not used", "User"),
    )
    nmf = NMF(2, max_iter=2000)
    pipeline = make_pipeline(StandardScaler(with_mean=False), nmf).fit(X)
    yield Reading(
        name="a pipeline",
        make=lambda _: pipeline,
        source="Pipeline of sklearn",
        parts=("components_ (4 × 2) as right factors",),
        sentences=(NO_ITEM_IDS,),
        line="read as Pipeline of sklearn: components_",
        fields={"right": pipeline[-1].components_.T},
        never=("left factors", "Assumed", "Not used", "User"),
    )


READINGS = {
    reading.name: reading for reading in (*pairs(), *heads(), *tables(), *objects())
}


def refused() -> Iterator[Refused]:
    """Yield inputs that must not be read without a further option."""
    yield Refused(
        name="a bias under another name",
        make=npz(P=P, Q=Q, u_bias=USER_BIAS),
        phrases=(
            "u_bias (5,)",
            "one value for each entity of P",
            "left_bias='u_bias'",
            "ignore='u_bias'",
        ),
        settled={"left_bias": "u_bias"},
        fields={"left_bias": USER_BIAS},
    )
    yield Refused(
        name="the bias of a weight that was chosen",
        make=checkpoint({"a.0.weight": Q, "a.0.extra": ITEM_BIAS, "b.weight": P}),
        options={"weight": "a.0.weight", "kind": "head"},
        phrases=(
            "a.0.extra (7,)",
            "one value for each entity of a.0.weight",
            "bias='a.0.extra'",
        ),
        settled={"bias": "a.0.extra"},
        fields={"right_bias": ITEM_BIAS},
    )
    yield Refused(
        name="two candidates of equal rank",
        make=npz(a=P, b=Q),
        phrases=("one recognised table, pair or head", "a (5, 2)", "b (7, 2)"),
        settled={"left": "a", "weight": "b"},
        fields={"left": P, "right": Q},
    )
    yield Refused(
        name="a checkpoint without the head of its configuration",
        make=checkpoint(
            {"model.embed_tokens.weight": Q}, config={"tie_word_embeddings": False}
        ),
        phrases=("tie_word_embeddings is false", "only model.embed_tokens.weight"),
        settled={"weight": "model.embed_tokens.weight"},
        fields={"right": Q},
    )
    yield Refused(
        name="a column that is called a bias",
        make=parquet(id=IDS, vector=list(Q), bias=ITEM_BIAS),
        phrases=("bias='bias'", "ignore='bias'"),
        settled={"bias": "bias"},
        fields={"right_bias": ITEM_BIAS},
    )


REFUSED = {case.name: case for case in refused()}
