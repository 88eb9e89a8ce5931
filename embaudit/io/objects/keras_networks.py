"""Models of Keras: their variables by name, compared with what `predict` returns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Indices
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.arrays import Memory
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.formats.hdf5 import of_keras
from embaudit.io.objects.forward import items_come_first
from embaudit.io.objects.layers import values_of_variable
from embaudit.io.options import Request


def read(network: Any, request: Request) -> Contents:
    """Read a model of Keras: two tables, a head or vectors.

    The scores of two tables are compared with the predictions for users and items.

    Raises
    ------
    InputError
        If the names leave more than one reading, or if neither the configuration nor
        the caller says how two tables are multiplied and the predictions cannot be
        compared.
    """
    # Paths of variables have slashes; the names that layouts know have dots.
    arrays = Memory(
        {
            variable.path.replace("/", "."): values_of_variable(variable)
            for variable in network.weights
        }
    )
    name = type(network).__name__
    contents = of_keras(arrays, {"config": network.get_config()}, request, name)
    if "left" not in contents.fields:
        return contents
    inputs = getattr(network, "inputs", None) or ()
    items_first = items_come_first([tensor.name for tensor in inputs])
    if items_first is not None:
        return replace(contents, own=_scores_of_predict(network, items_first))
    if "link" not in contents.fields and request.link is None:
        raise must_be(
            f"the predictions of {name}",
            "compared with the output of its layers",
            "layers that its configuration does not name",
            Sentence(
                "say {} if it multiplies its two tables", Option("link", "identity")
            ),
        )
    return contents


def _scores_of_predict(network: Any, items_first: bool) -> OwnScores:
    """Return the scores of a model whose inputs are users and items."""

    def scores(users: Indices, items: Indices) -> NDArray[Any]:
        inputs = [users[:, None], items[:, None]]
        if items_first:
            inputs.reverse()
        return np.asarray(network.predict(inputs, verbose=0))

    return OwnScores(scores)
