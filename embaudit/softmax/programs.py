"""The linear program of a contest: the largest lead that an input can give, by HiGHS.

`max t  such that  t <= D x <= 1,  c·x = 0,  x_last >= 0` with one row of D for each other label and c the direction in
which leaders are tied. It is solved through its dual, `min Σμ  such that  Dᵀ(μ − λ) + α c = 0 (>= 0 in the last
coordinate), Σλ = 1, λ, μ >= 0`, which has one row a dimension, and is several times faster than the primal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from embaudit.errors import InputError
from embaudit.foundation.checked import Floats
from embaudit.foundation.workers import worker_count

BATCH = 16
"""Programs handed to the workers at a time."""
PARALLEL_CELLS = 2**21
"""Entries of a batch of programs above which worker processes pay off: HiGHS holds the interpreter's lock."""

INDEPENDENT = 1e-9
"""Rows are taken for dependent where a part at right angles to the others is smaller, beside the largest."""


def best_lead(differences: Floats, tie: Floats) -> tuple[float, Floats]:
    """Find the largest lead over given labels and an input that has it.

    Parameters
    ----------
    differences : array of shape (n, r + 1)
        Coordinates of the leaders less those of each other label.
    tie : array of shape (r + 1,)
        Direction the input must not see; 0 for none.

    Returns
    -------
    lead : float
        From 0 (no input leads) to 1.
    input : array of shape (r + 1,)
        It does not see the tie, and its last coordinate is not negative.

    Raises
    ------
    InputError
        If the solver fails.

    Examples
    --------
    >>> lead, x = best_lead(np.array([[1.0, 0.0], [0.5, 0.0]]), np.zeros(2))
    >>> round(lead, 9)
    0.5
    >>> best_lead(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2))[0]
    0.0
    """
    even = even_input(differences, tie)
    if even is not None:
        return 1.0, even
    solution = lead_program(differences, tie)
    x = np.append(np.asarray(solution.eqlin.marginals[:-1]), _lifted(solution))
    return max(0.0, float(solution.fun)), x


def even_input(differences: Floats, tie: Floats) -> Floats | None:
    """Return the shortest input with a gap of 1 to every label, whose lead is 1; None where few dimensions are left.

    Its last coordinate is 0. Differences that are linearly independent need no linear program.

    Examples
    --------
    >>> even_input(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.zeros(3))
    array([0.5, 1. , 0. ])
    >>> even_input(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), np.zeros(3)) is None
    True
    """
    rows = np.vstack([differences, tie])[: len(differences) + bool(tie.any()), :-1]
    gaps = np.ones(len(rows))
    gaps[len(differences) :] = 0
    if not 0 < len(rows) <= rows.shape[1]:
        return None
    basis, triangle = np.linalg.qr(rows.T)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() <= INDEPENDENT * sizes.max():
        return None
    x = np.append(basis @ np.linalg.solve(triangle.T, gaps), 0.0)
    return x if np.abs(rows @ x[:-1] - gaps).max() <= INDEPENDENT else None


def _lifted(solution: Any) -> float:
    return max(0.0, -float(solution.ineqlin.marginals[0])) if len(solution.ineqlin.marginals) else 0.0


def lead_program(differences: Floats, tie: Floats) -> Any:
    """Solve the dual programme of `best_lead`; the solution is λ, then μ: weights that bound every lead by Σμ.

    Raises
    ------
    InputError
        If the solver fails.

    Examples
    --------
    >>> lead_program(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)).x.round(9)
    array([0.5, 0.5, 0. , 0. ])
    """
    from scipy.optimize import linprog

    (n, width), free = differences.shape, tie[:, None][:, : int(tie.any())]
    cost = np.concatenate([np.zeros(n), np.ones(n), np.zeros(free.shape[1])])
    balance = np.hstack([-differences.T, differences.T, free])
    equal = np.vstack([balance[:-1], np.arange(len(cost)) < n])
    last = -balance[-1:] if balance[-1].any() else None
    solution = linprog(
        cost,
        A_ub=last,
        b_ub=None if last is None else [0.0],
        A_eq=equal,
        b_eq=np.append(np.zeros(width - 1), 1.0),
        bounds=[(0, None)] * (2 * n) + [(None, None)] * free.shape[1],
        method="highs-ds",
        # Such dense programs have nothing to simplify: looking for it took two thirds of the time.
        options={"presolve": False, "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if solution.status != 0:
        raise InputError(f"the linear program of a label must be solvable; got {solution.message}; check the input.")
    return solution


def best_leads(tasks: Iterable[tuple[Floats, Floats]]) -> Iterator[tuple[float, Floats]]:
    """Solve programs in order, a batch at a time, large batches in worker processes."""
    waiting = iter(tasks)
    while batch := tuple(islice(waiting, BATCH)):
        if sum(d.size for d, _ in batch) < PARALLEL_CELLS or len(batch) == 1:
            yield from (best_lead(*task) for task in batch)
        else:
            yield from _in_processes(batch)


def _in_processes(batch: tuple[tuple[Floats, Floats], ...]) -> Iterator[tuple[float, Floats]]:
    from sklearn.utils.parallel import Parallel, delayed

    yield from Parallel(n_jobs=worker_count(), return_as="generator")(delayed(best_lead)(*task) for task in batch)
