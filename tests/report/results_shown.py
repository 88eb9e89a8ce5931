"""Results of each kind that has a page of its own, with names that would do harm."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from browsing import HOSTILE
from models import random_model

import embaudit as ea
from embaudit.gauges import GeneralLinear

KINDS = ("compare", "evaluate", "blocks", "simpson")


def named(count):
    return np.array([*HOSTILE, *(f"row {i}" for i in range(count - len(HOSTILE)))])


def reversing(seed=0, rows=40):
    """x and y rise together over all rows and oppose within each of five groups."""
    draw = np.random.default_rng(seed)
    group = np.repeat(np.arange(5), rows)
    x = 2 * group + draw.standard_normal(len(group))
    y = 3 * group - 0.8 * (x - 2 * group) + draw.standard_normal(len(group)) / 2
    return pd.DataFrame(
        {
            HOSTILE[0]: x,
            "y": y,
            "ward": np.array(HOSTILE)[group],
            "coin": np.tile(["a", "b"], len(x) // 2),
        }
    )


@cache
def shown(kind):
    """One result of a kind."""
    draw = np.random.default_rng(0)
    if kind == "compare":
        model = random_model(
            n=40, p=30, k=4, right_names=named(30), left_names=named(40)
        )
        other = GeneralLinear(4, max_condition=4.0).sample(rng=0).act(model)
        moved = other.replace(right=other.right + 0.3 * draw.standard_normal((30, 4)))
        return ea.compare(model, moved)
    if kind == "evaluate":
        return ea.evaluate_similarities(
            random_model(p=60, k=4), draw.integers(4, size=60), n_neighbours=5
        )
    if kind == "blocks":
        x, y = draw.standard_normal((2, 20, 9))
        return ea.block_cosines(
            *(
                dict(zip(named(20), rows, strict=True))
                for rows in (x, x + 2 * y * draw.random((20, 1)))
            )
        )
    return ea.simpson(reversing(), x=HOSTILE[0], y="y", n_permutations=49)
