"""Models of five dimensions for the tests of remedies."""

from __future__ import annotations

import numpy as np
from models import random_model

N_USERS = 50
N_ITEMS = 30
ALL_PAIRS_OF_ITEMS = np.column_stack(np.triu_indices(N_ITEMS, 1))


def decaying_model(seed=0, **fields):
    """Draw 50 users and 30 items, whose five item columns shrink from 2 to 0.2.

    The users have a mean row that is not zero, so centring the users changes them.
    """
    user_scale, item_scales = 1, np.geomspace(2, 0.2, 5)
    user_mean, item_mean = 0.3, 0
    return random_model(
        seed,
        n=N_USERS,
        p=N_ITEMS,
        k=5,
        scales=(user_scale, item_scales),
        means=(user_mean, item_mean),
        **fields,
    )
