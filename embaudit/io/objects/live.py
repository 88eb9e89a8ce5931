"""Models in memory, known by the library that made them, which is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.formats import ARRAYS
from embaudit.io.objects import indexes, networks, recommenders, scikit_learn
from embaudit.io.objects.arrays import kind_of_table
from embaudit.io.objects.helpers import comes_from
from embaudit.io.objects.kinds import LiveKind, ObjectReader
from embaudit.io.objects.recommenders import LIBRARIES
from embaudit.io.options import Request
from embaudit.model import FactorModel

KINDS = (
    LiveKind(recommenders.lenskit_pipeline, ("lenskit",), ("Pipeline",)),
    *(
        LiveKind(library.read, library.packages, library.classes, library.options)
        for library in LIBRARIES
    ),
    LiveKind(recommenders.spark, ("pyspark",), ("ALSModel", "PipelineModel")),
    LiveKind(indexes.faiss, ("faiss",), ("Index",)),
    LiveKind(indexes.hnswlib, ("hnswlib",), ("Index",)),
    LiveKind(
        indexes.qdrant,
        ("qdrant_client",),
        ("QdrantClient",),
        ("collection", "vector", "vector_id", "ignore"),
    ),
    LiveKind(scikit_learn.read, ("sklearn",), ("BaseEstimator",)),
    LiveKind(
        networks.transformer_lens,
        ("transformer_lens",),
        ("HookedTransformer", "TransformerBridge"),
    ),
    LiveKind(networks.transformer, ("transformers",), ("PreTrainedModel",)),
    LiveKind(networks.linear, ("keras", "tf_keras"), ("Dense",)),
    LiveKind(networks.keras_model, ("keras", "tf_keras"), ("Model",), ARRAYS),
    LiveKind(networks.linear, ("torch",), ("Linear",)),
    LiveKind(networks.embedding, ("torch",), ("Embedding", "EmbeddingBag")),
    LiveKind(networks.module, ("torch",), ("Module",), ARRAYS),
)
"""Kinds of trained models. The first kind whose class matches reads the object."""
REFUSED = {
    ("torch", "AdaptiveLogSoftmaxWithLoss"): (
        "a head with one softmax",
        "one a cluster of labels",
        "pass the weights of one of them to FactorModel.from_softmax",
    ),
    ("cornac", "EASE"): (
        "one with factors of users and items",
        "weights between items",
        "audit another model",
    ),
    ("sentence_transformers", "SentenceTransformer"): (
        "the vectors that it makes of texts",
        "tables of tokens",
        "pass model.encode(texts)",
    ),
    ("sentence_transformers", "SparseEncoder"): (
        "the vectors that it makes of texts",
        "tables of tokens",
        "pass model.encode(texts, convert_to_sparse_tensor=False)",
    ),
    ("sentence_transformers", "CrossEncoder"): (
        "a network of transformers",
        "one inside",
        "pass model.model",
    ),
    ("gensim", "Doc2Vec"): (
        "one table of vectors",
        "documents in dv and words in wv",
        "pass model.dv, or model.wv",
    ),
}
"""By package and class of an object that is refused: what embaudit reads instead, what
the object holds, and what to do.
"""
MODEL = LiveKind(
    lambda model, _: Contents.from_model(model, {}),
    name="model",
    noun="model",
)
STATE_DICTIONARY = LiveKind(
    networks.state_dictionary,
    options=ARRAYS,
    name="state dictionary",
    noun="state dictionary",
)


def kind_of_object(model: Any) -> LiveKind:
    """Return the kind of an object, with its reader.

    The module and the name of the object's class tell its library.

    Raises
    ------
    InputError
        If the object is of no known kind, or a model whose predictions no link
        describes.
    """
    if isinstance(model, FactorModel):
        return MODEL
    table = kind_of_table(model)
    if table is not None:
        return table
    if isinstance(model, Mapping):
        return STATE_DICTIONARY
    for (package, name), (what, held, remedy) in REFUSED.items():
        if comes_from(model, (package,), (name,)):
            raise must_be(
                f"a model of {package}",
                what,
                f"{type(model).__name__}, which has {held}",
                remedy,
            )
    for kind in KINDS:
        if comes_from(model, kind.packages, kind.classes):
            name = f"{type(model).__name__} of {kind.packages[0]}"
            return replace(kind, read=_reader(kind), name=name, noun=name)
    raise InputError(
        "the object must be a fitted model of a known library; got "
        f"{type(model).__name__}; use FactorModel.from_user_item, from_softmax or "
        "from_vectors with its arrays."
    )


def _reader(kind: LiveKind) -> ObjectReader:
    """Return the reader of a trained model, which refuses a left side next to a head.

    Raises
    ------
    InputError
        When the reader is called: if `left` is given and the model is a softmax head.
    """

    def read(model: Any, request: Request) -> Contents:
        contents = kind.read(model, request)
        assert isinstance(contents, Contents)
        link = contents.link
        # The option `left` is the other side of a table of one side, such as the
        # components of a decomposition.
        is_head = link is not None and link.name == "softmax"
        if request.left_file is not None and is_head:
            raise must_be(
                "left",
                "left out for a softmax head",
                "vectors",
                Sentence("give what the head is applied to as {}", Option("inputs")),
            )
        return contents

    return read
