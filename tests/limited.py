"""The statements of an audit of one model within a budget: ranges, certificates and
attacks.
"""

from __future__ import annotations

import embaudit as ea


def limits(model, roles, *, max_condition, **options):
    """Return the limits of a model's cosines as an audit computes them."""
    audit = ea.audit(
        model,
        roles=roles,
        max_condition=max_condition,
        n_gauges=1,
        n_pairs=200,
        **options,
    )
    return audit.evidence.limits
