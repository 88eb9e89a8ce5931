"""A hash of a model, which says whether two models are the same."""

from __future__ import annotations

import hashlib

import numpy as np

from embaudit.core.parallel import row_blocks
from embaudit.model.factor_model import FactorModel


def fingerprint(model: FactorModel) -> str:
    """Hash the factors, biases, offset and link of a model.

    Examples
    --------
    >>> first, second = (FactorModel.from_vectors([[1.0]]) for _ in range(2))
    >>> fingerprint(first) == fingerprint(second)
    True
    """
    digest = hashlib.blake2b(
        f"{model.link.name} {model.offset!r}".encode(), digest_size=16
    )
    for array in (model.left, model.right, model.left_bias, model.right_bias):
        if array is None:
            digest.update(b"None")
            continue
        # Arrays of different shapes can have the same bytes, so hash the shape, too.
        digest.update(f"{(array.shape, str(array.dtype))}".encode())
        for rows in row_blocks(len(array), array.size // len(array)):
            digest.update(np.ascontiguousarray(array[rows]).tobytes())
    return digest.hexdigest()
