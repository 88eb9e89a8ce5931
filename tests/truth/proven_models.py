"""Random small models of every link and shape, for statements that are called proven.

Some of them have one table only, collapsed or unobserved sides, duplicates, or the
labels of a softmax head.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from random_models import random_model

from embaudit.linalg.rows import unit_rows
from embaudit.model import LINKS, FactorModel, softmax_link

HEAD_LINKS = (
    LINKS["softmax"],
    softmax_link(soft_cap=3.0),
    softmax_link(unit_rows=True),
    softmax_link(soft_cap=3.0, unit_rows=True),
)


def random_rotation(draw, k):
    return np.linalg.qr(draw.standard_normal((k, k)))[0]


def collapsed(draw, k):
    """Draw users and items with singular values down to 1e-12."""
    rotation = random_rotation(draw, k)
    scales = np.logspace(0, -draw.uniform(2, 12), k)
    n_users, n_items = draw.integers(5, 9, size=2)
    users = (draw.standard_normal((n_users, k)) * scales) @ rotation
    items = (draw.standard_normal((n_items, k)) * scales) @ rotation
    return FactorModel.from_user_item(users, items)


def blind(draw, k):
    """Draw users of lower rank than the items, 40 % of the time with a user bias."""
    rank = draw.integers(1, k)
    is_used = np.arange(k) < rank
    rotation = random_rotation(draw, k)
    users = (draw.standard_normal((7, k)) * is_used) @ rotation
    items = draw.standard_normal((8, k)) @ rotation
    bias = draw.standard_normal(7) if draw.random() < 0.4 else None
    return FactorModel.from_user_item(users, items, user_bias=bias)


def with_duplicates(draw, k):
    """Draw nine items in at most six directions, each of another length."""
    directions = draw.standard_normal((6, k))
    chosen = draw.integers(6, size=9)
    lengths = draw.uniform(0.5, 2, size=(9, 1))
    users = draw.standard_normal((7, k))
    return FactorModel.from_user_item(users, directions[chosen] * lengths)


def one_table(draw, k, compared):
    """Draw three to eight rows that are compared with each other.

    Rounding to integers or one decimal makes some rows equal or zero.
    """
    n_rows = int(draw.integers(3, 9))
    rows = draw.standard_normal((n_rows, k))
    rows = rows.round(draw.integers(0, 3))
    has_two_directions = rows.any(axis=1).sum() > 1
    if not has_two_directions:
        rows = rows + 1
    return FactorModel.from_vectors(rows, compared=compared)


def unit_sides(draw, k):
    """Draw users and items of length 1.

    Half of the models declare no objective. The others predict cosines over a
    temperature, and 30 % of them come without their users.
    """
    n_users, n_items = draw.integers(4, 12, size=2)
    users = unit_rows(draw.standard_normal((n_users, k)))
    items = unit_rows(draw.standard_normal((n_items, k)))
    if draw.random() < 0.5:
        return FactorModel.from_user_item(users, items)
    left = None if draw.random() < 0.3 else users
    return FactorModel.from_arrays(left, items, link="cosine", objective="temperature")


def head(draw, k):
    """Draw a head of 3 to 3 k + 1 labels, with or without inputs, bias and guards.

    The last label is either the mean of the others or parallel to the first.
    """
    n_labels = int(draw.integers(3, 3 * k + 2))
    labels = draw.standard_normal((n_labels, k)) + draw.normal()
    if draw.random() < 0.3:
        labels[-1] = labels[:-1].mean(axis=0)
    else:
        labels[-1] = 2 * labels[0]
    inputs = draw.standard_normal((6, k)) if draw.random() < 0.5 else None
    bias = draw.standard_normal(n_labels) if draw.random() < 0.3 else None
    model = FactorModel.from_softmax(labels, bias, embeddings=inputs)
    link = HEAD_LINKS[int(draw.integers(len(HEAD_LINKS)))]
    return model.replace(link=link)


KINDS = (
    None,
    collapsed,
    None,
    blind,
    head,
    with_duplicates,
    None,
    partial(one_table, compared="cosine"),
    head,
    unit_sides,
    None,
    partial(one_table, compared="dot"),
)
"""Kinds of models, in turn. None stands for a `random_model` of any link and biases."""


def proven_model(number: int) -> FactorModel:
    """Draw the model with this number."""
    kind = KINDS[number % len(KINDS)]
    if kind is None:
        return random_model(number // 2)
    draw = np.random.default_rng([31, number])
    k = int(draw.integers(2, 5))
    return kind(draw, k)
