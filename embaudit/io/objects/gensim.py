"""Live models of gensim: vectors of words, their contexts where training kept them."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import comes_from, require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.model import FactorModel


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the vectors of words as items and, of a model trained with negative samples, its contexts as users.

    Raises
    ------
    InputError
        For Doc2Vec, which holds documents and words: one of them has to be chosen.
    """
    if comes_from(model, ("gensim",), ("Doc2Vec",)):
        got = "Doc2Vec, which has documents in dv and words in wv"
        raise must_be("a model of gensim", "one table of vectors", got, "pass model.dv, or model.wv")
    vectors = getattr(model, "wv", model)
    require_fitted(vectors, "vectors", "index_to_key")
    rows, words = as_array(vectors.vectors), np.array(vectors.index_to_key, dtype=np.str_)
    taken = {"left": "syn1neg", "right": "vectors", "left_ids": "index_to_key", "right_ids": "index_to_key",
             "link": "its negative samples"}  # fmt: skip
    contexts = getattr(model, "syn1neg", None)
    if contexts is None or np.shape(contexts) != rows.shape:
        return Reading(FactorModel.from_vectors(rows, ids=words), taken=taken)
    # A pair is real with probability σ(context · word), as training by negative samples has it.
    return Reading(
        FactorModel(
            as_array(contexts), rows, link="sigmoid", roles=("context", "word"), left_ids=words, right_ids=words
        ),
        taken=taken,
    )
