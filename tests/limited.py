"""Limits of a model on their own, as an audit searches them."""

from __future__ import annotations

import numpy as np

from embaudit.auditing.limits import attack_jobs, bounded_roles, limits_of
from embaudit.auditing.options import EFFORT, Effort, Options


def limits(
    model,
    roles,
    *,
    max_condition,
    n_neighbours=10,
    n_starts=EFFORT.n_starts,
    n_steps=EFFORT.n_steps,
    rng=0,
):
    """Bound the movement of a model's cosines, and attack them, one attack after the other."""
    effort, draw = (
        Effort(n_starts=n_starts, n_steps=n_steps),
        np.random.default_rng(rng),
    )
    options = Options(
        effort=effort, n_neighbours=n_neighbours, max_condition=max_condition
    )
    roles = bounded_roles(model, roles)
    attacks = [job() for job in attack_jobs(model, roles, options, draw)]
    return limits_of(model, roles, options, attacks, draw, model)
