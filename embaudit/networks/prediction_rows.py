"""Rows of an attention head whose cosines no equivalent head changes.

Gauges of a head (`embaudit.networks.head_gauges`) change queries Q, keys K and values V
but not the scores `q·k` and the outputs `V W_Oᵀ`. So rows are compared by what they
compute:

- a key by its column of scores, with the queries of all heads that share the keys,
- a query by its row of scores, with all keys,
- a value by the vector `W_O v` that it adds to the output of the layer.

The cosine of two keys is then the cosine of two columns of scores. The product of two
such columns is `kᵢᵀ (Σ q qᵀ) kⱼ`, so keys are multiplied by a root of the Gram matrix
of the queries. The same holds for queries and the Gram matrix of the keys, and for
values and `W_Oᵀ W_O`.

A rotary embedding turns the key by an angle in each plane before it meets the query.
All angles have the same weight, so the Gram matrices are averaged over them.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.networks.head_gauges import HeadFreedom, TableName
from embaudit.networks.head_rows import HeadRows


def prediction_rows(freedom: HeadFreedom, rows: HeadRows) -> dict[TableName, Floats]:
    """Compute keys, queries and values whose cosines no equivalent head changes.

    With G_Q and G_K, the averaged Gram matrices of the queries and the keys, they are

        K G_Q^½,   Q G_K^½   and   V (W_Oᵀ W_O)^½.

    Scores are centred over the keys, because the softmax ignores a constant. The
    average of the scores over all angles depends only on the columns that no rotation
    reaches, so keys are centred in these columns. Values are centred if the output has
    a bias, which absorbs their shift.

    Returns
    -------
    dict
        Arrays of shape (n, d) by "keys", "queries" and "values".
    """
    keys = np.array(rows.keys)
    unrotated = freedom.unrotated
    keys[:, unrotated] -= keys[:, unrotated].mean(axis=0)
    query_gram = _averaged_gram(freedom, rows.group_queries)
    key_gram = _averaged_gram(freedom, keys)
    output_gram = rows.outputs.T @ rows.outputs
    values = rows.values
    if freedom.has_output_bias:
        values = values - values.mean(axis=0)
    return {
        "keys": keys @ _symmetric_root(query_gram),
        "queries": rows.queries @ _symmetric_root(key_gram),
        "values": values @ _symmetric_root(output_gram),
    }


def _averaged_gram(freedom: HeadFreedom, rows: Floats) -> Floats:
    """Return the mean of `x xᵀ` over rows x and over all rotations of all planes.

    The average over all angles of a plane is half of the trace times the identity in
    this plane, and 0 between this plane and other columns.

    Returns
    -------
    array of shape (d, d)
    """
    gram = np.zeros((freedom.width, freedom.width))
    unrotated = freedom.unrotated
    gram[np.ix_(unrotated, unrotated)] = rows[:, unrotated].T @ rows[:, unrotated]
    for plane in freedom.planes:
        gram[plane, plane] = np.square(rows[:, plane]).sum() / 2
    return gram / len(rows)


def _symmetric_root(gram: Floats) -> Floats:
    """Return the symmetric root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(gram)
    # Rounding can leave an eigenvalue of 0 slightly negative.
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
