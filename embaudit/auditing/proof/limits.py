"""Proofs of what no gauge of a set can do: the pairs of ranges, the rows of certificates."""

from __future__ import annotations

import numpy as np

from embaudit.auditing.claims import Claim
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.proof.part import Part, seen, table
from embaudit.auditing.proof.shown import attack_of, attacked
from embaudit.foundation.checked import Floats
from embaudit.ranges import CosineRange
from embaudit.ranges.definite import smallest_definite_cosine
from embaudit.ranges.half_angle import between, tamed
from embaudit.ranges.reach import paired_rows

STEPS = 60
"""Bisections for a slope."""
WIDEST = 300.0
"""Largest logarithm of a slope."""


def ranges(evidence: Evidence, claim: Claim) -> Part:
    """Store the pairs of a range; of a diagonal one its ends and the slopes that bound them."""
    found = next(s.found for s in evidence.limits.ranges if claim.name == f"range:{s.role}:{s.group}:{s.max_condition}")
    part = Part({"pairs": table(found.pairs)}).and_(**seen(evidence))
    if ":diagonal:" not in claim.name:
        return part
    assert claim.scope.max_condition is not None
    kappa = claim.scope.max_condition if found.model.rank > 1 else 1.0
    if found.role == "cross":
        return part.and_(slopes=_across(*_rows(found), kappa))
    ends = np.column_stack([found.lower, found.upper])
    return part.and_(ends=ends, slopes=_within(*_rows(found), kappa))


def _rows(found: CosineRange) -> tuple[Floats, Floats]:
    model = found.model
    sides = ("left", "right") if found.role == "cross" else (found.role, found.role)
    x, y = (model.factors(side) for side in sides)
    return paired_rows(x, y, np.asarray(found.pairs, dtype=np.intp))


def _within(x: Floats, y: Floats, kappa: float) -> Floats:
    """Return (m, 2) slopes √(Σw yy/Σw xx) at the ends that no weights take beyond 0; NaN at the others."""
    slopes = np.full((len(x), 2), np.nan)
    for column, sign in ((0, 1.0), (1, -1.0)):
        product = sign * x * y
        loss, gain = kappa**2 * np.minimum(product, 0).sum(axis=1), np.maximum(product, 0).sum(axis=1)
        moving = np.flatnonzero(gain + loss > 1e-9 * gain) if kappa > 1 else np.empty(0, dtype=np.intp)
        if len(moving):
            a, b = tamed(x[moving]), sign * tamed(y[moving])
            weights, apart = np.ones(a.shape), between(a, b) > 0
            if apart.any():
                weights[apart] = smallest_definite_cosine(a[apart], b[apart], kappa)[1]
            a, b = x[moving], y[moving]
            slopes[moving, column] = np.sqrt((weights * b * b).sum(axis=1) / (weights * a * a).sum(axis=1))
    return slopes


def _across(x: Floats, y: Floats, kappa: float) -> Floats:
    """Return (m, 2) slopes: where the product of lengths is least, and where its bound is."""
    p, q, square = x * x, y * y, kappa**2
    columns = []
    for pull in (_least, _most):
        low, high = np.full(len(x), -WIDEST), np.full(len(x), WIDEST)
        for _ in range(STEPS):
            middle = (low + high) / 2
            up = pull(p, q, np.exp(middle)[:, None], square) < 0
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        columns.append(np.exp((low + high) / 2))
    return np.column_stack(columns)


def _least(p: Floats, q: Floats, s: Floats, square: float) -> Floats:
    """Slope of the least Σ(s w p + q/(s w))/2 over weights w."""
    with np.errstate(divide="ignore", invalid="ignore"):
        w = np.nan_to_num(np.clip(np.sqrt(q / p) / s, 1, square), nan=1.0)
    return np.asarray((s * w * p - q / (s * w)).sum(axis=1))


def _most(p: Floats, q: Floats, s: Floats, square: float) -> Floats:
    """Slope of the largest of it, a coordinate at a time."""
    w = np.where(s * s * square * p > q, square, 1.0)
    return np.asarray((s * w * p - q / (s * w)).sum(axis=1))


def certified(evidence: Evidence, claim: Claim) -> Part:
    """Store the rows of a certificate and their lists."""
    name = claim.name.rpartition(":")[0]
    found = next(c.found for c in evidence.limits.certificates if name == f"certified:{c.role}:{c.group}")
    return Part({"listed": table(found.rows), "lists": table(found.indices)}).and_(**seen(evidence))


def bound(evidence: Evidence, claim: Claim) -> Part:
    """Store the pairs or lists that a bound of an attack is about."""
    return attacked(attack_of(evidence, claim)).and_(**seen(evidence))
