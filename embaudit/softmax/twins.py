"""Labels that no input tells apart: of equal row and equal bias, as the unused tokens of a vocabulary often are."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Indices, Vector
from embaudit.core.parallel import row_blocks
from embaudit.softmax.coordinates import LabelCoordinates

ROUNDING = 256 * np.finfo(np.float64).eps
"""Rows and biases that differ by less, beside the largest ones, differ by rounding."""


def first_twins(space: LabelCoordinates, bias: Vector | None) -> Indices:
    """Find for each label the first one that always has the same logit; itself where it has no twin.

    One random input gives twins the same logit, up to rounding; rows are compared where it does.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.softmax.coordinates import label_coordinates
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 1.0]])
    >>> first_twins(label_coordinates(head), None).tolist()
    [0, 1, 0, 3]
    """
    biases = np.zeros(space.n_labels) if bias is None else np.asarray(bias, dtype=np.float64)
    level = float(np.abs(biases).max()) or 1.0
    # Logits of one random input of length √r, and the bias by another random number.
    direction = np.random.default_rng(0).standard_normal(space.rank)
    direction *= np.sqrt(space.rank) / np.linalg.norm(direction)
    keys = np.sqrt(2) * biases / level
    for labels, logits in space.without_bias().logit_blocks(np.append(direction, 0.0)[None]):
        keys[labels] += logits[:, 0]
    order = np.argsort(keys, kind="stable")
    # Equal rows differ by this at most once they are centred and whitened, by a map of orthogonal columns.
    tolerance = float(ROUNDING * space.longest * np.linalg.norm(space.whitening, axis=0).max())
    near = np.diff(keys[order]) <= np.sqrt(space.rank) * tolerance + 2 * ROUNDING
    near &= np.abs(np.diff(biases[order])) <= ROUNDING * level
    candidates = np.flatnonzero(near)
    for block in row_blocks(len(candidates), 2 * space.rank):
        pair = candidates[block]
        gap = space.of(order[pair])[:, :-1] - space.of(order[pair + 1])[:, :-1]
        near[pair] = np.linalg.norm(gap, axis=1) <= tolerance
    # Each run of labels that are near one another is called by its smallest number.
    begins = np.concatenate([[0], np.flatnonzero(~near) + 1])
    first = np.empty(len(order), dtype=np.intp)
    first[order] = np.repeat(np.minimum.reduceat(order, begins), np.diff(np.append(begins, len(order))))
    return first
