"""Limits of a model on their own, as an audit searches them."""

from __future__ import annotations

import numpy as np

from embaudit.auditing.effort import EFFORT, Effort
from embaudit.auditing.limits import attack_jobs, bounded_roles, limits_of


def limits(model, roles, *, max_condition, n_neighbours=10, n_starts=EFFORT.n_starts, n_steps=EFFORT.n_steps, rng=0):
    """Bound the movement of a model's cosines, and attack them, one attack after the other."""
    planned = {"n_neighbours": n_neighbours, "rng": np.random.default_rng(rng)}
    roles, effort = bounded_roles(model, roles), Effort(n_starts=n_starts, n_steps=n_steps)
    attacks = [job() for job in attack_jobs(model, roles, max_condition, effort=effort, **planned)]
    return limits_of(model, roles, max_condition, attacks, **planned)
