"""Proofs of what the set of equal models allows: other cosines, or none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.claims import Claim, Kind
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.proof.part import Arrays, Part, dropping, looked_at, table, witness
from embaudit.canonical.lifts import LARGEST, lifted, n_forms, packed, span_of
from embaudit.canonical.pinning import Pinning
from embaudit.canonical.reduction import seen_directions
from embaudit.canonical.second_metric import shared_form
from embaudit.errors import InputError
from embaudit.foundation.checked import Floats, Indices, Matrix
from embaudit.gauges import Gauge
from embaudit.kernels.pairs import all_pairs, n_pairs, sample_pairs
from embaudit.kernels.rows import unit_rows
from embaudit.model import Equivalence, FactorModel, Pairs, Role, SideName
from embaudit.ranges.cross import CrossLinearReach
from embaudit.ranges.linear import LinearReach

STRETCH = 3.0
"""Condition number of the gauge that shows what linear maps do."""
TRIED = 200
"""Pairs among which the one that moves most is chosen."""
EVERY = 20_000
"""Pairs of a side that the test of unit rows looks at."""


def free(evidence: Evidence, claim: Claim) -> Part:
    """Store an equal model with other cosines; or the dimensions outside of which rows may hold anything."""
    if claim.kind is Kind.SHOWN:
        return other_metric(evidence, claim)
    part = _free(evidence.model, evidence.model.role(claim.role), evidence.fibre.seen_rank)
    return part.and_(**looked_at(evidence))


def _free(model: FactorModel, role: Role, seen_rank: int) -> Part:
    k = model.rank
    if seen_rank == 0:
        return dropping(model, np.zeros((k, k)), np.zeros((k, k)))
    shifted = [side for side in Pairs(role).sides if side in model.free_shifts]
    if role == "left" and model.predicts is Equivalence.COSINES:
        shifted = ["left"]  # inputs of labels of length 1, beside a label bias
    if not shifted and seen_rank < k:
        basis = seen_basis(model, seen_rank)
        return dropping(model, basis, basis)
    gauges = _shifts(model, role, shifted[-1]) if shifted else _stretches(model, role)
    return _strongest(model, role, gauges)


def seen_basis(model: FactorModel, seen_rank: int) -> Floats:
    """Return an orthonormal basis of the dimensions that predictions see, or one side spans."""
    if model.left is not None:
        return seen_directions(model, ())
    return np.asarray(np.linalg.svd(model.moments("right").root)[2][:seen_rank].T)


def _some_pairs(model: FactorModel, role: Role) -> Iterator[tuple[Indices, Floats, Floats]]:
    sides = Pairs(role).sides
    alive = [model.side(side).directed for side in sides]
    columns = len(alive[-1]) if role == "cross" else None
    drawn = sample_pairs(len(alive[0]), TRIED, n_columns=columns, rng=0)
    pairs = np.unique(np.column_stack([alive[0][drawn[:, 0]], alive[-1][drawn[:, 1]]]), axis=0)
    for pair in pairs:
        x, y = (
            np.asarray(model.factors(s)[i], dtype=np.float64) for s, i in zip((sides[0], sides[-1]), pair, strict=True)
        )
        yield pair, x, y


def _shifts(model: FactorModel, role: Role, side: SideName) -> Iterator[tuple[Indices, Gauge]]:
    """Shifts that turn a pair around: to the middle of its rows, past them, or across to the row of the other side."""
    for pair, x, y in _some_pairs(model, role):
        moving, still = (y, x) if side == "right" else (x, y)
        goal = still / np.linalg.norm(still) * np.linalg.norm(moving)
        for shift in (-(x + y) / 2, x + y, goal - moving, -goal - moving):
            yield pair, Gauge.translation(model.rank, **{side: shift})


def _stretches(model: FactorModel, role: Role) -> Iterator[tuple[Indices, Gauge]]:
    reach = CrossLinearReach(STRETCH) if role == "cross" else LinearReach(role, STRETCH)
    for pair, x, y in _some_pairs(model, role):
        for end in ("lower", "upper"):
            yield pair, reach.witness(x, y, end, 1e-9)


def _strongest(model: FactorModel, role: Role, gauges: Iterator[tuple[Indices, Gauge]]) -> Part:
    sides, most, best = Pairs(role).sides, -np.inf, None
    for pair, gauge in gauges:
        rows = [
            np.asarray(model.factors(s)[i], dtype=np.float64)[None]
            for s, i in zip((sides[0], sides[-1]), pair, strict=True)
        ]
        after = [
            x @ getattr(gauge, s) + getattr(gauge, f"{s}_shift")
            for s, x in zip((sides[0], sides[-1]), rows, strict=True)
        ]
        ends = [float((unit_rows(x) * unit_rows(y)).sum()) for x, y in (rows, after)]
        if abs(ends[1] - ends[0]) > most:
            most, best = abs(ends[1] - ends[0]), (pair, gauge)
        if most > 0.5:
            break
    assert best is not None
    return witness(model, best[1]).and_(pairs=table(best[0][None]))


def other_metric(evidence: Evidence, claim: Claim) -> Part:
    """Store the equal model of unit rows, and the pairs of a side that its movement was taken from."""
    model, pinning = evidence.model, evidence.fibre.pinning
    assert pinning is not None
    assert pinning.moved is not None
    moved = {side: found.max_abs for side, found in pinning.moved.items()}
    side = max(moved, key=lambda one: moved[one]) if claim.about == "identification" else claim.role
    part = _reflected(model, pinning) if pinning.witness is None else witness(model, pinning.witness)
    part = part.and_(pairs=_pairs_of(model, side), **looked_at(evidence))  # type: ignore[arg-type]
    return Part(part.arrays, facts={**part.facts, "role": side})


def _reflected(model: FactorModel, pinning: Pinning) -> Part:
    assert pinning.flip is not None
    rows = witness(model, Gauge.identity(model.rank)).arrays
    kept = {name: array for name, array in rows.items() if name.startswith("rows_")}
    flip = pinning.flip
    return Part({**kept, "reflected": table(flip.rows), "mirror": flip.unseen}, facts={"side": flip.side})


def _pairs_of(model: FactorModel, side: SideName) -> NDArray[np.int32]:
    n = len(model.factors(side))
    return table(all_pairs(n) if n_pairs(n) <= EVERY else sample_pairs(n, EVERY, rng=0))


def pinned(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store rows that span all forms, or weights that make one positive form on both sides; nothing on a line."""
    model = evidence.model
    if model.predicts is not Equivalence.COSINES:
        return Part({}).and_(**looked_at(evidence))
    affine = "left" not in model.link.unit_sides
    for side in ("right",) if affine or model.left is None else ("right", "left"):
        if span_of(model.factors(side), np.eye(model.rank), affine=affine).is_full:
            rows = spanning_rows(model.factors(side), affine=affine)
            return Part({"spanning": table(rows)}, facts={"side": side}).and_(**looked_at(evidence))
    return Part(_one_form(model))


def spanning_rows(x: Matrix, *, affine: bool) -> Indices:
    """Choose as many rows as a form has numbers, whose forms span all: by pivots where that is not too much."""
    units, needed = unit_rows(x, none=0), n_forms(x.shape[1], affine=affine)
    if needed > LARGEST:
        return np.sort(np.random.default_rng(0).choice(len(x), needed, replace=False))
    from scipy.linalg import qr

    few = (
        np.arange(len(x))
        if len(x) <= 4 * needed
        else np.random.default_rng(0).choice(len(x), 4 * needed, replace=False)
    )
    forms = lifted(units[few])
    pivots = qr((np.hstack([forms, units[few]]) if affine else forms).T, mode="r", pivoting=True)[1]
    return np.sort(few[pivots[:needed]])


def _one_form(model: FactorModel) -> Arrays:
    """Weights of the rows of either side that make one form: the identity on the rows' space, or a positive one."""
    from scipy.optimize import nnls

    sides: tuple[SideName, ...] = ("left", "right")
    units = {side: unit_rows(model.factors(side), none=0) for side in sides}
    _, s, vt = np.linalg.svd(np.vstack(list(units.values())), full_matrices=False)
    basis = vt[s > 1e-9 * s[0]].T
    if basis.shape[1] < model.rank:
        identity = packed(np.eye(basis.shape[1]))
        return {f"weights_{side}": nnls(lifted(units[side] @ basis).T, identity)[0] for side in sides}
    spans = [span_of(model.factors(side), np.eye(model.rank)) for side in sides]
    form = shared_form(spans[0], spans[1], model.rank)
    if form is None:
        raise InputError("a proof must be of claims whose reasons are at hand; this one could not be found again.")
    return {f"weights_{s}": np.linalg.lstsq(lifted(units[s]).T, packed(form), rcond=None)[0] for s in sides}


def outside(evidence: Evidence, claim: Claim) -> Part:
    """Store the dimensions that predictions see."""
    basis = seen_basis(evidence.model, evidence.fibre.seen_rank)
    part = dropping(evidence.model, basis, basis).and_(**looked_at(evidence))
    return part.giving(share=evidence.fibre.outside[claim.role])  # type: ignore[index]
