"""gensim: word vectors, and the vectors of contexts that negative samples trained."""

from __future__ import annotations

from typing import Any

from embaudit.io.objects.libraries.library import Library
from embaudit.io.options import Request
from embaudit.model import FactorModel


def _build(_source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    contexts, words = fields["left"], fields["right"]
    ids = fields.get("right_ids")
    if contexts is None or contexts.shape != words.shape:
        return FactorModel.from_vectors(words, ids=ids)
    # Training with negative samples predicts that a pair is real with probability
    # σ(context · word).
    return FactorModel.from_arrays(
        contexts,
        words,
        left_ids=ids,
        right_ids=ids,
        link="sigmoid",
        roles=("context", "word"),
    )


GENSIM = Library(
    packages=("gensim",),
    classes=("KeyedVectors", "Word2Vec"),
    tables=(("syn1neg", "wv.vectors"), (None, "wv.vectors"), (None, "vectors")),
    fields={
        "left_ids": ("wv.index_to_key",),
        "right_ids": ("wv.index_to_key", "index_to_key"),
    },
    build=_build,
)
