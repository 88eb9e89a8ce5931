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
P, Q = (
    DRAW.normal(size=(5, 2)).astype(np.float32),
    DRAW.normal(size=(7, 2)).astype(np.float32),
)
A, B = DRAW.normal(size=5), DRAW.normal(size=7)
IDS = np.arange(70, 77)
NO_IDS = "{} ids: none, so rows go by their number."
NO_USERS, NO_ITEMS = (NO_IDS.format(side) for side in ("User", "Item"))
NO_LABELS = "Label ids: none, so rows go by their number; a file of labels names them."
PQ = "Layout: P/Q of textbooks on matrix factorisation."
BY_NAME = "Label ids: none, so rows go by their names."


@dataclass(frozen=True)
class Reading:
    """What is given, what is true of it, and what is said."""

    name: str
    made: Callable[[Path], Any]
    """Writes it into a folder and returns its path, or makes an object."""
    says: str
    """The whole paragraph."""
    line: str
    """The one line of the first screen."""
    fields: Mapping[str, Any]
    """Fields of the model and what they hold; those of its sides that are not named are
    absent.
    """
    options: Mapping[str, Any] = field(default_factory=dict)
    arrays: tuple[str, ...] = ()
    """The arrays or columns there are: each is said once, as taken or as left over."""
    never: tuple[str, ...] = ()
    """What would be false of it."""


@dataclass(frozen=True)
class Refused:
    """What could be read in more than one way, and the sentence that settles it."""

    name: str
    made: Callable[[Path], Any]
    says: tuple[str, ...]
    """What the sentence names."""
    settled: Mapping[str, Any]
    """Options that settle it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What is read then."""


NEVER = ("right_", "left_", "None", "nan", "{", "array(", "  ", "::", "..")
"""What no intake says: names of fields, and what a text that was put together badly
holds.
"""


def npz(**arrays: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        np.savez(folder / "m.npz", **arrays)
        return folder / "m.npz"

    return make


def tensors(
    config: Mapping[str, Any] | None = None,
    tokens: Mapping[str, int] | None = None,
    **arrays: Any,
) -> Any:
    def make(folder: Path) -> Path:
        save_file({name.replace("__", "."): np.ascontiguousarray(x) for name, x in arrays.items()},
                  folder / "model.safetensors")  # fmt: skip
        for file, content in (("config.json", config), ("vocab.json", tokens)):
            if content is not None:
                (folder / file).write_text(json.dumps(content))
        return folder / "model.safetensors"

    return make


def text(name: str, lines: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(lines)
        return folder / name

    return make


def parquet(**columns: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        pd.DataFrame(columns).to_parquet(folder / "v.parquet")
        return folder / "v.parquet"

    return make


def pairs() -> Iterator[Reading]:
    """Two sides in a file of named arrays."""
    both = {"left": P, "right": Q, "link": "identity"}
    yield Reading(
        "a pair", npz(P=P, Q=Q),
        f"Read as npz: P (5 × 2) as left factors, Q (7 × 2) as right factors. {PQ} Assumed: the identity link. "
        f"{NO_USERS} {NO_ITEMS}",
        "read as npz: P, Q", both, arrays=("P", "Q"), never=("Not used", "column per entity", "bias"),
    )  # fmt: skip
    yield Reading(
        "a pair whose link was said", npz(P=P, Q=Q),
        f"Read as npz: P (5 × 2) as left factors, Q (7 × 2) as right factors. {PQ} {NO_USERS} {NO_ITEMS}",
        "read as npz: P, Q", {**both, "link": "ranking"}, {"link": "ranking"}, ("P", "Q"), ("Assumed", "identity"),
    )  # fmt: skip
    yield Reading(
        "a pair with all that is known of it",
        npz(P=P, Q=Q.T, user_bias=A, item_bias=B[:, None], item_ids=IDS, item_names=list("abcdefg"), global_mean=3.5,
            seed=1),
        "Read as npz: P (5 × 2) as left factors, Q (2 × 7) as right factors, user_bias (5) as left bias, item_bias "
        "(7 × 1) as right bias, global_mean as offset, item_ids (7) as right ids, item_names (7) as right names. "
        f"{PQ} Not used: seed. Assumed: Q has one column per entity, the identity link. {NO_USERS}",
        "read as npz: P, Q, user_bias, item_bias, global_mean, item_ids, item_names; not used: seed",
        {**both, "left_bias": A, "right_bias": B, "offset": 3.5, "right_ids": IDS, "right_names": list("abcdefg")},
        arrays=("P", "Q", "user_bias", "item_bias", "global_mean", "item_ids", "item_names", "seed"),
        never=(NO_ITEMS,),
    )  # fmt: skip
    yield Reading(
        "one that was ignored", npz(P=P, Q=Q, u_bias=A),
        f"Read as npz: P (5 × 2) as left factors, Q (7 × 2) as right factors. {PQ} Not used: u_bias (5). Assumed: the "
        f"identity link. {NO_USERS} {NO_ITEMS}",
        "read as npz: P, Q; not used: u_bias (5)", both, {"ignore": "u_bias"}, ("P", "Q", "u_bias"),
        ("u_bias (5) as", "left bias"),
    )  # fmt: skip
    yield Reading(
        "one side of a pair", npz(P=P, Q=Q),
        f"Read as npz: Q (7 × 2) as right factors. {PQ} Not used: P (5 × 2). {NO_ITEMS}",
        "read as npz: Q; not used: P (5 × 2)", {"right": Q, "link": "identity"}, {"kind": "vectors"}, ("P", "Q"),
        ("Assumed", "User ids", "left factors"),
    )  # fmt: skip


def heads() -> Iterator[Reading]:
    """Heads of networks."""
    head = {"right": Q, "link": "softmax"}
    yield Reading(
        "a head with its bias", tensors(fc__weight=Q, fc__bias=B.astype(np.float32)),
        f"Read as safetensors: fc.weight (7 × 2) as right factors, fc.bias (7) as right bias, its name as link. "
        f"Layout: fc.weight of ResNet of torchvision. {NO_LABELS}",
        "read as safetensors: fc.weight, fc.bias", {**head, "right_bias": B.astype(np.float32)},
        arrays=("fc.weight", "fc.bias"), never=("Item", "User", "Input ids", "Assumed", "Not used"),
    )  # fmt: skip
    yield Reading(
        "tied embeddings with tokens",
        tensors({"model_type": "llama"}, {"a": 0, "b": 1}, model__embed_tokens__weight=Q, model__layers__0__mlp=P),
        "Read as safetensors: model.embed_tokens.weight (7 × 2) as right factors, its name as link, vocab.json (2) as "
        "right names. Layout: model.embed_tokens.weight of Llama and others, input embeddings that are also the head. "
        "Not used: model.layers.0.mlp (5 × 2). The head is also the input embeddings (the checkpoint "
        f"holds no other head). {BY_NAME}",
        "read as safetensors: model.embed_tokens.weight, vocab.json; not used: model.layers.0.mlp (5 × 2)",
        {**head, "right_names": ["a", "b", *(f"<padding {row}>" for row in range(2, 7))]},
        arrays=("model.embed_tokens.weight", "model.layers.0.mlp"), never=("by their number", "Item"),
    )  # fmt: skip
    classes = {
        "id2label": {str(row): f"class {row}" for row in range(6)},
        "architectures": ["XForTokenClassification"],
    }
    yield Reading(
        "classes with names", tensors(classes, {"a": 0}, classifier__weight=Q),
        "Read as safetensors: classifier.weight (7 × 2) as right factors, its name as link, id2label of config.json "
        f"(6) as right names. Layout: classifier.weight of sequence classifiers such as BERT. {BY_NAME}",
        "read as safetensors: classifier.weight, id2label of config.json",
        {**head, "right_names": [*(f"class {row}" for row in range(6)), "<padding 6>"]},
        arrays=("classifier.weight",), never=("vocab.json", "tokens"),
    )  # fmt: skip
    yield Reading(
        "a binary head", npz(coef_=Q[:1], intercept_=B[:1]),
        "Read as npz: coef_ (1 × 2) as right factors, intercept_ (1) as right bias, its name as link. Layout: coef_ of scikit-learn. Assumed: one row "
        f"stands for two labels, the first with scores of 0. {NO_LABELS}",
        "read as npz: coef_, intercept_",
        {"right": [[0, 0], Q[0]], "right_bias": [0, B[0]], "link": "softmax"}, arrays=("coef_", "intercept_"),
        never=("column per entity",),
    )  # fmt: skip


def tables() -> Iterator[Reading]:
    """Vectors with something beside them."""
    vectors = {"right": Q, "right_ids": IDS, "link": "identity"}
    yield Reading(
        "a column of lists", parquet(id=IDS, vector=list(Q), year=IDS),
        "Read as parquet: column vector (7 × 2) as right factors, id (7) as right ids. Not used: year (7).",
        "read as parquet: column vector, id; not used: year (7)", vectors, arrays=("id", "vector", "year"),
        never=("ids: none", "Assumed", "User"),
    )  # fmt: skip
    lines = "id,price,x,y\n" + "".join(
        f"{i},{i / 10},{x!r},{y!r}\n" for i, (x, y) in zip(IDS, Q.tolist(), strict=True)
    )
    yield Reading(
        "a column a dimension", text("v.csv", lines),
        "Read as csv: columns x to y (7 × 2) as right factors, id (7) as right ids. Not used: price.",
        "read as csv: columns x to y, id; not used: price", vectors, {"vector": "x:y"}, ("id", "price", "x", "y"),
        ("ids: none", "Assumed"),
    )  # fmt: skip
    tokens = "".join(
        f"w{i} {x!r} {y!r}\n" for i, (x, y) in zip(IDS, Q.tolist(), strict=True)
    )
    yield Reading(
        "tokens", text("v.txt", tokens),
        "Read as word2vec: vectors (7 × 2) as right factors, tokens (7) as right ids.",
        "read as word2vec: vectors, tokens", {**vectors, "right_ids": [f"w{i}" for i in IDS]},
        never=("Not used", "ids: none"),
    )  # fmt: skip

    def alone(folder: Path) -> Path:
        np.save(folder / "v.npy", Q)
        (folder / "ids.txt").write_text("".join(f"{i}\n" for i in IDS))
        return folder / "v.npy"

    yield Reading(
        "one array and ids that were given", alone,
        f"Read as npy: FOLDER/v.npy (7 × 2) as right factors, values you passed (7) as right counts. {NO_ITEMS}",
        "read as npy: FOLDER/v.npy, values you passed", {"right": Q, "right_counts": IDS}, {"right_counts": IDS},
        never=("Assumed",),
    )  # fmt: skip


def objects() -> Iterator[Reading]:
    """Trained objects of other libraries."""
    X = np.abs(DRAW.normal(size=(12, 4)))
    y = np.arange(12) % 3
    linear = LogisticRegression().fit(X, y)
    yield Reading(
        "a classifier", lambda _: linear,
        "Read as LogisticRegression of sklearn: coef_ (3 × 4) as right factors, intercept_ (3) as right bias, classes_ "
        f"(3) as right names, its class as link, LogisticRegression of sklearn as objective. {BY_NAME}",
        "read as LogisticRegression of sklearn: coef_, intercept_, classes_",
        {"right": linear.coef_, "right_bias": linear.intercept_, "right_names": [0, 1, 2], "link": "softmax",
         "objective": "sklearn-logistic"},
        never=("Item", "User"),
    )  # fmt: skip
    svd = TruncatedSVD(2).fit(X)
    says = "Read as {} of sklearn: components_ (4 × 2) as right factors. " + NO_ITEMS
    line, never = (
        "read as {} of sklearn: components_",
        ("left factors", "Assumed", "Not used", "User"),
    )
    kind = "TruncatedSVD"
    right = {"right": svd.components_.T}
    yield Reading(
        "singular vectors",
        lambda _: svd,
        says.format(kind),
        line.format(kind),
        right,
        never=never,
    )
    inner = make_pipeline(StandardScaler(with_mean=False), NMF(2, max_iter=2000)).fit(X)
    right, kind = {"right": inner[-1].components_.T}, "Pipeline"
    yield Reading(
        "a pipeline",
        lambda _: inner,
        says.format(kind),
        line.format(kind),
        right,
        never=never,
    )


READINGS = {row.name: row for part in (pairs, heads, tables, objects) for row in part()}


def refused() -> Iterator[Refused]:
    """What must not be read in silence."""
    yield Refused(
        "a bias under another name", npz(P=P, Q=Q, u_bias=A),
        ("u_bias (5,)", "one value for each entity of P", "left_bias='u_bias'", "ignore='u_bias'"),
        {"left_bias": "u_bias"}, fields={"left_bias": A},
    )  # fmt: skip
    yield Refused(
        "the bias of a weight that was chosen", tensors(a__0__weight=Q, a__0__extra=B, b__weight=P),
        ("a.0.extra (7,)", "one value for each entity of a.0.weight", "bias='a.0.extra'"),
        {"bias": "a.0.extra"}, {"weight": "a.0.weight", "kind": "head"}, {"right_bias": B},
    )  # fmt: skip
    yield Refused(
        "two candidates of equal rank", npz(a=P, b=Q), ("one recognised table, pair or head", "a (5, 2)", "b (7, 2)"),
        {"left": "a", "weight": "b"}, fields={"left": P, "right": Q},
    )  # fmt: skip
    yield Refused(
        "a head that is said to be there", tensors({"tie_word_embeddings": False}, model__embed_tokens__weight=Q),
        ("tie_word_embeddings is false", "only model.embed_tokens.weight"), {"weight": "model.embed_tokens.weight"},
        fields={"right": Q},
    )  # fmt: skip
    yield Refused(
        "a column that is called a bias", parquet(id=IDS, vector=list(Q), bias=B),
        ("bias='bias'", "ignore='bias'"), {"bias": "bias"}, fields={"right_bias": B},
    )  # fmt: skip


REFUSED = {row.name: row for row in refused()}
