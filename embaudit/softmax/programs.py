"""The largest lead that an input can give over some labels, a linear program solved by HiGHS.

`max t  such that  t <= D x <= 1,  x_last >= 0` with one row of D for each other label. It is solved through its dual,
`min Σμ  such that  Dᵀ(μ − λ) = 0 (>= 0 in the last coordinate), Σλ = 1, λ, μ >= 0`, which has one row a dimension, and
is several times faster than the primal.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.errors import InputError


def best_lead(differences: Floats) -> tuple[float, Floats]:
    """Find the largest lead over given labels and an input that has it.

    Parameters
    ----------
    differences : array of shape (n, r + 1)
        Coordinates of the leaders less those of each other label.

    Returns
    -------
    lead : float
        From 0 (no input leads) to 1.
    input : array of shape (r + 1,)
        Its last coordinate is not negative.

    Raises
    ------
    InputError
        If the solver fails.

    Examples
    --------
    >>> lead, x = best_lead(np.array([[1.0, 0.0], [0.5, 0.0]]))
    >>> round(lead, 9)
    0.5
    >>> best_lead(np.array([[1.0, 0.0], [-1.0, 0.0]]))[0]
    0.0
    """
    from scipy.optimize import linprog

    n, has_bias = len(differences), bool(differences[:, -1].any())
    balance = np.hstack([-differences.T, differences.T])
    solution = linprog(
        np.repeat([0.0, 1.0], n),
        A_ub=-balance[-1:] if has_bias else None,
        b_ub=[0.0] if has_bias else None,
        A_eq=np.vstack([balance[:-1], np.repeat([1.0, 0.0], n)]),
        b_eq=np.append(np.zeros(len(balance) - 1), 1.0),
        bounds=(0, None),
        method="highs-ds",
        # Such dense programs have nothing to simplify: looking for it took two thirds of the time.
        options={"presolve": False, "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if solution.status != 0:
        raise InputError(f"the linear program of a label must be solvable; got {solution.message}; check the input.")
    upward = max(0.0, -float(solution.ineqlin.marginals[0])) if has_bias else 0.0
    return max(0.0, float(solution.fun or 0)), np.append(solution.eqlin.marginals[:-1], upward)
