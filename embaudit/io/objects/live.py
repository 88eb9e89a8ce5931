"""Kinds of models in memory, recognised by the library that defines their class.

No library is imported: an object whose class comes from a library has imported it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.formats import ARRAYS
from embaudit.io.objects import (
    indexes,
    keras_networks,
    layers,
    scikit_learn,
    torch_networks,
    transformers_models,
)
from embaudit.io.objects.arrays import kind_of_table
from embaudit.io.objects.helpers import comes_from
from embaudit.io.objects.kinds import LiveKind, ObjectReader
from embaudit.io.objects.libraries import LIBRARIES, lenskit, spark
from embaudit.io.options import Request
from embaudit.model import FactorModel

KINDS = (
    LiveKind(lenskit.read_pipeline, ("lenskit",), ("Pipeline",)),
    *(
        LiveKind(library.read, library.packages, library.classes, library.options)
        for library in LIBRARIES
    ),
    LiveKind(spark.read, ("pyspark",), ("ALSModel", "PipelineModel")),
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
        transformers_models.read_transformer_lens,
        ("transformer_lens",),
        ("HookedTransformer", "TransformerBridge"),
    ),
    LiveKind(transformers_models.read, ("transformers",), ("PreTrainedModel",)),
    LiveKind(layers.read_dense, ("keras", "tf_keras"), ("Dense",)),
    LiveKind(keras_networks.read, ("keras", "tf_keras"), ("Model",), ARRAYS),
    LiveKind(layers.read_linear, ("torch",), ("Linear",)),
    LiveKind(layers.read_embedding, ("torch",), ("Embedding", "EmbeddingBag")),
    LiveKind(torch_networks.read, ("torch",), ("Module",), ARRAYS),
)
"""Kinds of trained models. The first kind whose class matches reads the object."""


@dataclass(frozen=True)
class RefusedClass:
    """A class of a library whose objects are refused with advice."""

    package: str
    name: str
    expected: str
    """What embaudit reads instead."""
    content: str
    """What the object holds."""
    remedy: str


REFUSED = (
    RefusedClass(
        "torch",
        "AdaptiveLogSoftmaxWithLoss",
        expected="a head with one softmax",
        content="a softmax per cluster of labels",
        remedy="pass the weights of one of them to FactorModel.from_softmax",
    ),
    RefusedClass(
        "cornac",
        "EASE",
        expected="a model with factors of users and items",
        content="weights between items",
        remedy="audit another model",
    ),
    RefusedClass(
        "sentence_transformers",
        "SentenceTransformer",
        expected="the vectors of texts that it computes",
        content="tables of tokens",
        remedy="pass model.encode(texts)",
    ),
    RefusedClass(
        "sentence_transformers",
        "SparseEncoder",
        expected="the vectors of texts that it computes",
        content="tables of tokens",
        remedy="pass model.encode(texts, convert_to_sparse_tensor=False)",
    ),
    RefusedClass(
        "sentence_transformers",
        "CrossEncoder",
        expected="a network of transformers",
        content="such a network inside",
        remedy="pass model.model",
    ),
    RefusedClass(
        "gensim",
        "Doc2Vec",
        expected="one table of vectors",
        content="documents in dv and words in wv",
        remedy="pass model.dv, or model.wv",
    ),
)
MODEL = LiveKind(
    lambda model, _: Contents.from_model(model, {}),
    name="model",
    noun="model",
)
STATE_DICTIONARY = LiveKind(
    torch_networks.arrays_of_state,
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
    kind_of_rows = kind_of_table(model)
    if kind_of_rows is not None:
        return kind_of_rows
    if isinstance(model, Mapping):
        return STATE_DICTIONARY
    for refused in REFUSED:
        if comes_from(model, (refused.package,), (refused.name,)):
            raise must_be(
                f"a model of {refused.package}",
                refused.expected,
                f"{type(model).__name__}, which has {refused.content}",
                refused.remedy,
            )
    for kind in KINDS:
        if comes_from(model, kind.packages, kind.classes):
            name = f"{type(model).__name__} of {kind.packages[0]}"
            read = _without_left_of_head(kind)
            return replace(kind, read=read, name=name, noun=name)
    raise InputError(
        "the object must be a fitted model of a known library; got "
        f"{type(model).__name__}; use FactorModel.from_user_item, from_softmax or "
        "from_vectors with its arrays."
    )


def _without_left_of_head(kind: LiveKind) -> ObjectReader:
    """Return the reader of a kind, which also refuses the option `left` for a head.

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
                "omitted for a softmax head",
                "vectors",
                Sentence(
                    "pass the vectors that the head is applied to with {}",
                    Option("inputs"),
                ),
            )
        return contents

    return read
