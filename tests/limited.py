"""Limits of a model on their own, as an audit searches them."""

from __future__ import annotations

from embaudit.auditing.effort import EFFORT, Effort
from embaudit.auditing.limits import LimitSearch


def limits(model, roles, *, max_condition, n_neighbours=10, n_starts=EFFORT.n_starts, n_steps=EFFORT.n_steps, rng=0):
    """Bound the movement of a model's cosines, and attack them, one attack after the other."""
    effort = Effort(n_starts=n_starts, n_steps=n_steps)
    search = LimitSearch.of(model, roles, max_condition, n_neighbours=n_neighbours, effort=effort, rng=rng)
    return search.limits([job() for job in search.jobs()])
