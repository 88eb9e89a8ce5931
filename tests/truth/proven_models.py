"""Random small models for what an audit proves: of every link and shape, with one table, heads, copies and collapse."""

from __future__ import annotations

import numpy as np
from random_models import random_model

from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel, Softmax

GUARDS = (
    Softmax(),
    Softmax(soft_cap=3.0),
    Softmax(unit_rows=True),
    Softmax(soft_cap=3.0, unit_rows=True),
)


def collapsed(draw, k):
    """Both sides with singular values down to 1e-12."""
    turn, scales = (
        np.linalg.qr(draw.standard_normal((k, k)))[0],
        np.logspace(0, -draw.uniform(2, 12), k),
    )
    left, right = (
        (draw.standard_normal((n, k)) * scales) @ turn
        for n in draw.integers(5, 9, size=2)
    )
    return FactorModel.from_user_item(left, right)


def blind(draw, k):
    """Users of fewer dimensions than items, perhaps with a bias."""
    lacks, turn = (
        np.arange(k) < draw.integers(1, k),
        np.linalg.qr(draw.standard_normal((k, k)))[0],
    )
    left, right = (
        (draw.standard_normal((n, k)) * scale) @ turn
        for n, scale in ((7, lacks), (8, 1.0))
    )
    biases = {"user_bias": draw.standard_normal(7)} if draw.random() < 0.4 else {}
    return FactorModel.from_user_item(left, right, **biases)


def copied(draw, k):
    """Items of which many are copies, of other lengths."""
    items = draw.standard_normal((6, k))[draw.integers(6, size=9)] * draw.uniform(
        0.5, 2, size=(9, 1)
    )
    return FactorModel.from_user_item(draw.standard_normal((7, k)), items)


def table(by):
    """Rows compared with each other, some of them copies or zero."""

    def made(draw, k):
        x = draw.standard_normal((int(draw.integers(3, 9)), k)).round(
            draw.integers(0, 3)
        )
        return FactorModel.from_vectors(
            x if x.any(axis=1).sum() > 1 else x + 1, compared=by
        )

    return made


def unit(draw, k):
    """Both sides of length 1: nobody says what was trained, or it was cosines over a temperature, perhaps of one file."""
    left, right = (
        unit_rows(draw.standard_normal((n, k))) for n in draw.integers(4, 12, size=2)
    )
    if draw.random() < 0.5:
        return FactorModel.from_user_item(left, right)
    kept = None if draw.random() < 0.3 else left
    return FactorModel(kept, right, link="cosine", objective="temperature")


def head(draw, k):
    """A head of few labels or many, declared or not, with inputs or none, some labels in the middle or parallel."""
    labels = draw.standard_normal((int(draw.integers(3, 3 * k + 2)), k)) + draw.normal()
    labels[-1] = labels[:-1].mean(axis=0) if draw.random() < 0.3 else 2 * labels[0]
    inputs = draw.standard_normal((6, k)) if draw.random() < 0.5 else None
    bias = draw.standard_normal(len(labels)) if draw.random() < 0.3 else None
    made = FactorModel.from_softmax(labels, bias, embeddings=inputs)
    return made.replace(link=GUARDS[int(draw.integers(len(GUARDS)))])


KINDS = (
    None,
    collapsed,
    None,
    blind,
    head,
    copied,
    None,
    table("cosine"),
    head,
    unit,
    None,
    table("dot"),
)
"""Every second model is one of `random_models`, of all links and biases, or a head."""


def proven_model(number: int) -> FactorModel:
    """Draw the model of a number."""
    kind, draw = KINDS[number % len(KINDS)], np.random.default_rng([31, number])
    return (
        random_model(number // 2)
        if kind is None
        else kind(draw, int(draw.integers(2, 5)))
    )
