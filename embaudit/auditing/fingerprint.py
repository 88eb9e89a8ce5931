"""A hash that tells models apart, so that a report can be matched to what it is about."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.parallel import row_blocks

if TYPE_CHECKING:
    from embaudit.model import FactorModel


def fingerprint(model: FactorModel) -> str:
    """Hash what a model predicts with: factors, biases, offset and link.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> fingerprint(FactorModel.from_vectors([[1.0]])) == fingerprint(FactorModel.from_vectors([[1.0]]))
    True
    """
    digest = hashlib.blake2b(f"{model.link} {model.offset!r}".encode(), digest_size=16)
    for array in (model.left, model.right, model.left_bias, model.right_bias):
        digest.update(f"{None if array is None else (array.shape, str(array.dtype))}".encode())
        if array is not None:
            for rows in row_blocks(len(array), array.size // len(array)):
                digest.update(np.ascontiguousarray(array[rows]).tobytes())
    return digest.hexdigest()
