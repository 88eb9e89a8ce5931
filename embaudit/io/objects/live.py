"""Models that are objects in memory: known by the library that made them, which is not imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.formats import ARRAYS
from embaudit.io.intake import GIVEN, Reading
from embaudit.io.loading import reading_of, require_options, with_left
from embaudit.io.objects import networks, recommenders, scikit_learn
from embaudit.io.objects.live_model import LiveModel, comes_from
from embaudit.io.objects.recommenders import LIBRARIES
from embaudit.io.options import Request
from embaudit.io.stores import qdrant
from embaudit.model import FactorModel

Reader: TypeAlias = Callable[[Any, Request], LiveModel]


def _qdrant(client: Any, request: Request) -> LiveModel:
    """Read a collection of a client of Qdrant."""
    return LiveModel(qdrant.live_table(client, request).contents())


READERS: tuple[
    tuple[tuple[str, ...], tuple[str, ...], Reader, tuple[str, ...]], ...
] = (
    (("lenskit",), ("Pipeline",), recommenders.lenskit_pipeline, ()),
    *((row.packages, row.classes, row.read, row.options) for row in LIBRARIES),
    (("pyspark",), ("ALSModel", "PipelineModel"), recommenders.spark, ()),
    (("faiss",), ("Index",), recommenders.faiss, ()),
    (("hnswlib",), ("Index",), recommenders.hnswlib, ()),
    (
        ("qdrant_client",),
        ("QdrantClient",),
        _qdrant,
        ("collection", "vector", "vector_id", "ignore"),
    ),
    (("sklearn",), ("BaseEstimator",), scikit_learn.read, ()),
    (
        ("transformer_lens",),
        ("HookedTransformer", "TransformerBridge"),
        networks.transformer_lens,
        (),
    ),
    (("transformers",), ("PreTrainedModel",), networks.transformer, ()),
    (("keras", "tf_keras"), ("Dense",), networks.linear, ()),
    (("keras", "tf_keras"), ("Model",), networks.keras_model, ARRAYS),
    (("torch",), ("Linear",), networks.linear, ()),
    (("torch",), ("Embedding", "EmbeddingBag"), networks.embedding, ()),
    (("torch",), ("Module",), networks.module, ARRAYS),
)
"""Packages, the classes in them (any, where none is named), what reads their models,
and the options that only these use; the first match counts.
"""
REFUSED = {
    ("torch", "AdaptiveLogSoftmaxWithLoss"): ("a head with one softmax", "one a cluster of labels",
                                              "pass the weights of one of them to FactorModel.from_softmax"),
    ("cornac", "EASE"): ("one with factors of users and items", "weights between items", "audit another model"),
    ("gensim", "Doc2Vec"): ("one table of vectors", "documents in dv and words in wv", "pass model.dv, or model.wv"),
}  # fmt: skip
"""By package and class: what is read instead, what such an object holds, and what to
do.
"""


def from_object(
    model: Any,
    *,
    ids: Any = None,
    left_ids: Any = None,
    labels: Any = None,
    inputs: Any = None,
    user_features: Any = None,
    item_features: Any = None,
    kind: str = "auto",
    **options: Any,
) -> FactorModel:
    """Take factors, biases and ids from a trained model of another library; `read_object` also says what became what.

    The library is told by the module and name of the model's class. Where the model can
    score by itself, a few of its scores are compared with those that were read.

    Parameters
    ----------
    model : object
        implicit (ALS, BPR, logistic), LightFM, Surprise (SVD, SVD++, NMF), cornac,
        LensKit and its pipelines, RecBole, Spark (ALSModel, PipelineModel),
        scikit-learn (linear classifiers with probabilities, MLPClassifier,
        decompositions, pipelines and searches around them), gensim (KeyedVectors,
        Word2Vec), indexes of FAISS and hnswlib with whole vectors, transformers,
        clients of Qdrant, TransformerLens, Keras (Dense, Model), torch (Linear, Embedding, any module or
        state dictionary whose names `load` knows from files).
    ids, labels : array, optional
        Ids and names of the right rows (items or labels), if the model has none.
    left : array or str, optional
        Rows of the other side beside vectors of one side, such as `svd.transform(X)`
        beside a TruncatedSVD; in a state dictionary or a module the name of their
        array.
    left_file : path, optional
        A file of the rows of the other side.
    left_ids : array, optional
        Ids of the left rows (users or inputs), if the model has none.
    inputs : array of shape (n, d), optional
        Inputs of a classifier, as they are passed to its `predict`, of a torch module,
        as its `forward` takes them; of a bare head, what it multiplies.
    user_features, item_features : sparse matrix or "none", optional
        What a LightFM model was trained with: its rows are features, an entity is the
        sum of its features' rows.
    kind, **options
        As in `load`; which array is what is asked for state dictionaries and modules
        only.

    Raises
    ------
    InputError
        If the object is not fitted, is of no known kind, is a model whose predictions
        no link describes, or scores otherwise than what was read of it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> from_object(LogisticRegression().fit(X, ["no", "no", "yes", "yes"]), inputs=X)
    FactorModel(4 inputs × 2 labels, 1 dimension, softmax link, float64, label bias)
    """
    return read_object(
        model,
        kind=kind,
        ids=ids,
        left_ids=left_ids,
        labels=labels,
        inputs=inputs,
        user_features=user_features,
        item_features=item_features,
        **options,
    ).model


def read_object(model: Any, *, kind: str = "auto", **options: Any) -> Reading:
    """Take a model as `from_object` does, and say what became what, what was left over and what was assumed.

    Parameters are those of `from_object`, and so are the errors.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> read_object(LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])).intake.line()
    'read as LogisticRegression of sklearn: coef_, intercept_, classes_'
    """
    left = options.get("left")
    if left is not None and not isinstance(left, (str, os.PathLike)):
        others = {name: value for name, value in options.items() if name != "left"}
        options = {**others, "left_file": _rows(left)}
    request, model = Request.of(kind, options), networks.unwrapped(model)
    library, reader, used = _reader(model)
    require_options(request, used, library)
    live = reader(model, request)
    if request.left_file is not None:
        # A table of one side, such as the components of a decomposition, has its other
        # side given beside it.
        link = live.contents.link
        if link is not None and link.name == "softmax":
            raise must_be(
                "left",
                "left out beside a softmax head",
                "vectors",
                Sentence("give what the head is applied to as {}", Option("inputs")),
            )
        contents, request = with_left(live.contents, request)
        live = replace(live, contents=contents)
    # What reaches the factors stands in for the inputs as the caller has them; examples
    # of pairs are no left side.
    inputs = request.inputs if live.inputs is None else live.inputs
    said = replace(request, inputs=None if live.pairs is not None else inputs)
    if request.kind == "vectors" and "left" in live.contents.fields:
        said = replace(said, left_ids=None)
    # The fields of the object first, then what the caller says beside them, then the
    # check against its own scores.
    reading = reading_of(live.contents, said, library)
    # Vectors alone are part of a model that scores.
    live.require_agreement(
        live.contents.model() if request.kind == "vectors" else reading.model,
        type(model).__name__,
    )
    return reading


def _rows(left: Any) -> Contents:
    """Return rows of the left side as contents; contents stay as they are."""
    if isinstance(left, Contents):
        return left
    return Contents.of(FactorModel.from_vectors(left), {"right": GIVEN})


def _reader(model: Any) -> tuple[str, Reader, tuple[str, ...]]:
    """Return what a model is called, what reads it, and the options that it uses beside those that all do."""
    if isinstance(model, FactorModel):
        return "model", lambda model, _: LiveModel.of(model, {}), ()
    if isinstance(model, Mapping):
        return "state dictionary", networks.mapping, ARRAYS
    for (package, name), (what, held, remedy) in REFUSED.items():
        if comes_from(model, (package,), (name,)):
            raise must_be(
                f"a model of {package}",
                what,
                f"{type(model).__name__}, which has {held}",
                remedy,
            )
    for packages, classes, reader, options in READERS:
        if comes_from(model, packages, classes):
            return f"{type(model).__name__} of {packages[0]}", reader, options
    raise InputError(
        f"the object must be a fitted model of a known library; got {type(model).__name__}; "
        "use FactorModel.from_user_item, from_softmax or from_vectors with its arrays."
    )
