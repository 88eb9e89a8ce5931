"""Feasible maxima: which labels, or pairs of labels, some input makes lead all others.

The *lead* of an input is the gap of its leaders to the next label as a share of the gap to the last one,
`min_l (s − s_l) / max_l (s − s_l)`: only differences of logits enter it, so that no gauge changes it. Each answer
rests on a certificate that was checked against every label. They are tried in order of what they cost:

1. **An input.** It wins if the leaders are ahead of every other label by more than the margin. The first one looks
   along the leaders' own coordinates, which settles most labels of real heads.
2. **The nearest point** p of the hull of the differences `z − z_l` to the labels that came closest so far. As an input
   it parts the origin from that hull, so it either wins or meets closer labels, which join for the next round (Kelley's
   cutting planes). As a mixture of differences it bounds every lead: no input x has a gap to the next label above
   `‖p‖ ‖x‖`, and as `Σ z = 0` and `Σ z zᵀ / V = I` none below `2 ‖x‖` to the last if its label is the first. Where the
   leaders lie inside the hull of the others, p is 0.
3. **A linear program**, the largest lead over some of the labels, solved by HiGHS: it decides what lies at the surface
   of the hull within rounding. Its input is tried like the others, and what beats it enters the next program.

Of affinely independent labels none is tried: inputs give them any logits at all, 1 for the leaders, 0 for the others.

Sources: Grivas, Bogoychev & Lopez, "Low-Rank Softmax Can Have Unargmaxable Classes in Theory but Rarely in
Practice", ACL 2022 (the linear program); Kelley, J. SIAM 8, 1960 (cutting planes); Lawson & Hanson,
"Solving Least Squares Problems", 1974, ch. 23 (least distances by NNLS), here with weights of sum 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, Vector, as_count, is_number
from embaudit.core.progress import track
from embaudit.errors import InputError, must_be
from embaudit.heads.coordinates import LabelCoordinates
from embaudit.linalg.nearest import TopK


def nearest_point(corners: Floats) -> tuple[Floats, Vector]:
    """Find the point of a hull nearest to the origin, and the weights of the corners that mix it.

    Weights in proportion solve `min ‖Σ λ_l d_l‖² + s² (1 − Σ λ_l)²  such that  λ >= 0`, whatever s: for a given mixture
    the sum that is best leaves `s² ‖p‖² / (s² + ‖p‖²)`, which grows with `‖p‖`.

    Parameters
    ----------
    corners : array of shape (c, r)
        What spans the hull.

    Returns
    -------
    point : array of shape (r,)
        p, the shortest corner where the solver gives up.
    weights : array of shape (c,)
        Not negative, of sum 1; 0 for corners that p does not need.

    Examples
    --------
    >>> point, weights = nearest_point(np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]]))
    >>> point.round(12) + 0.0, weights.round(12)
    (array([1., 0.]), array([0.5, 0.5, 0. ]))
    """
    from scipy.optimize import nnls

    lengths = np.linalg.norm(corners, axis=1)
    size = float(lengths.max()) or 1.0
    # Of fewer corners than dimensions a triangle tells as much, in less time.
    columns = (
        corners.T
        if len(corners) > corners.shape[1]
        else np.linalg.qr(corners.T, mode="r")
    )
    try:
        weights, _ = nnls(
            np.vstack([columns, np.full(len(corners), size)]),
            np.append(np.zeros(len(columns)), size),
        )
    except RuntimeError:
        weights = (np.arange(len(corners)) == np.argmin(lengths)).astype(float)
    # Weights in proportion: the least-squares sum is below 1 by what `‖p‖` adds to the residual.
    weights /= weights.sum()
    return weights @ corners, weights


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
        options={
            "presolve": False,
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
        },
    )
    if solution.status != 0:
        raise InputError(
            f"the linear program of a label must be solvable; got {solution.message}; check the input."
        )
    upward = max(0.0, -float(solution.ineqlin.marginals[0])) if has_bias else 0.0
    return max(0.0, float(solution.fun or 0)), np.append(
        solution.eqlin.marginals[:-1], upward
    )


MARGIN = 1e-6
"""A lead up to here is taken for rounding."""
MAX_CELLS = 2**20
"""Entries of the largest linear program, labels × dimensions: a few seconds each."""
ROUNDS = 8
"""Nearest points sought for each of the leaders."""
LEAST_ROUNDS, PASSED = 2, 2**31
"""Nearest points in any head, and entries of the label rows that all of them pass over from there on."""
RIVALS = 64
"""Labels that join at a time."""
RIVAL_CELLS = 2**21
"""Entries of the coordinates of those of all leaders, at most."""
CHUNK = 2048
"""Leaders whose logits are compared together."""

YES, NO, OPEN = 1, 0, -1


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Answers for a number of labels or pairs."""

    status: NDArray[np.int8]
    """1 can lead, 0 cannot, -1 undecided within the size of linear program allowed."""
    lead: Floats
    """The lead of the winning input, a lower bound of the largest one; 0 where there is none."""


@dataclass(frozen=True, eq=False)
class _Leaders:
    """Labels, or tied pairs of labels, in coordinates."""

    space: LabelCoordinates
    members: Indices
    """(m, 2) labels; one label twice where it stands alone."""
    ends: Floats
    """(2, m, r + 1) coordinates of the first and of the second labels."""
    tie: Floats
    """(m, r + 1) unit direction of their difference, which an input must not see; 0 for one label."""

    @classmethod
    def of(cls, space: LabelCoordinates, members: Indices) -> _Leaders:
        first = space.of(members[:, 0])
        second = (
            first if (members[:, 0] == members[:, 1]).all() else space.of(members[:, 1])
        )
        ends, difference = np.stack([first, second]), second - first
        length = np.linalg.norm(difference, axis=1, keepdims=True)
        # Equal rows differ by the rounding of their coordinates, which is no direction.
        is_pair = length > 1e-12 * np.linalg.norm(ends, axis=2).sum(axis=0)[:, None]
        return cls(
            space,
            members,
            ends,
            np.divide(difference, length, out=np.zeros_like(difference), where=is_pair),
        )

    def __len__(self) -> int:
        return len(self.members)

    def take(self, which: NDArray[np.generic]) -> _Leaders:
        """Select some, by numbers or flags."""
        return _Leaders(
            self.space, self.members[which], self.ends[:, which], self.tie[which]
        )

    @property
    def n_rivals(self) -> int:
        """Labels that come closest, of which each of the leaders takes note."""
        return max(1, min(RIVALS, RIVAL_CELLS // (self.tie.size or 1)))

    def allowed(self, inputs: Floats) -> Floats:
        """Project inputs onto those that tie the leaders and have τ >= 0."""
        projected = inputs - np.einsum("ij,ij->i", inputs, self.tie)[:, None] * self.tie
        # τ < 0 would turn the bias over, which no input does.
        projected[:, -1] = np.maximum(projected[:, -1], 0)
        return np.asarray(projected)

    def differences(self, i: int, labels: Indices) -> Floats:
        """Coordinates of leaders i less those of other labels, at right angles to the tie, (c, r + 1)."""
        # Tied leaders have one logit, so that the middle of both stands for them; the part along the tie is 0 for such
        # inputs.
        differences = self.ends[:, i].mean(axis=0) - self.space.of(labels)
        return np.asarray(
            differences - np.outer(differences @ self.tie[i], self.tie[i])
        )


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Gaps `s − s_l` between the leaders and every other label at one input each."""

    least: Floats
    """(m,) smallest gap."""
    largest: Floats
    """(m,) largest gap."""
    closest: Indices
    """(m, c) labels of the smallest gaps, in order; -1 where there are no more."""
    slack: Floats
    """(m,) change of gaps if the input were moved to where its leaders are exactly tied."""

    @property
    def lead(self) -> Floats:
        """Share of the smallest gap in the largest, 0 where the leaders do not lead, tied."""
        is_won = (self.least > self.slack) & np.isfinite(self.largest)
        return np.divide(
            self.least, self.largest, out=np.zeros(len(self.least)), where=is_won
        )


def solve_feasibility(
    space: LabelCoordinates,
    members: Indices,
    *,
    margin: float = MARGIN,
    max_cells: int = MAX_CELLS,
    title: str,
) -> Feasibility:
    """Decide for labels, or pairs of labels, whether some input makes them lead all others.

    Parameters
    ----------
    space : LabelCoordinates
        The head; without its bias for pairs, which are asked for far out.
    members : array of shape (m, 2)
        The labels that are to lead, tied with each other; one label twice for it alone.
    margin : float
        Least lead that counts.
    max_cells : int
        Entries (labels × dimensions) of the largest linear program; what needs more stays undecided.
    title : str
        Description of the linear programs in a progress bar.
    """
    if not is_number(margin) or not 0 < margin < 1:
        raise must_be("margin", "a share between 0 and 1", repr(margin))
    as_count(max_cells, "max_cells")
    result = Feasibility(
        np.full(len(members), OPEN, dtype=np.int8), np.zeros(len(members))
    )
    if space.is_simplex:
        return Feasibility(np.full_like(result.status, YES), np.ones_like(result.lead))
    for start in range(0, len(members), CHUNK):
        chunk = slice(start, start + CHUNK)
        # Views of the result: what certificates settle is written into it.
        leaders, status, lead = (
            _Leaders.of(space, members[chunk]),
            result.status[chunk],
            result.lead[chunk],
        )
        inputs = _by_nearest_points(leaders, margin, status, lead)
        rest = np.flatnonzero(status == OPEN)
        for i in track(rest, title, len(rest)) if len(rest) else ():
            status[i], lead[i] = _by_programs(
                leaders.take(np.array([i])), inputs[i], margin, max_cells
            )
    return result


def _by_nearest_points(
    leaders: _Leaders, margin: float, status: NDArray[np.int8], lead: Floats
) -> Floats:
    """Settle leaders by their own directions, then by nearest points; return the last input of each."""
    space, inputs = leaders.space, leaders.allowed(leaders.ends.mean(axis=0))
    rest, corners = np.arange(len(leaders)), [inputs[:0]] * len(leaders)
    n_rounds = min(ROUNDS, max(LEAST_ROUNDS, PASSED // space.rows.size))
    for turn in range(n_rounds + 1):
        # Compare with all labels: either the input wins, or the labels that beat it enter the hull.
        some = leaders.take(rest)
        gaps = _gaps(some, inputs[rest], leaders.n_rivals)
        # An input that leads all labels by the margin is a proof of YES.
        status[rest], lead[rest] = (
            np.where(gaps.lead > margin, YES, OPEN),
            np.where(gaps.lead > margin, gaps.lead, 0),
        )
        is_open = status[rest] == OPEN
        rest, corners, closest = (
            rest[is_open],
            list(compress(corners, is_open)),
            gaps.closest[is_open],
        )
        if turn == n_rounds or not len(rest):
            break
        for place, i in enumerate(rest):
            labels = closest[place][closest[place] >= 0]
            entering = leaders.differences(i, labels)
            # The point of the rivals' hull nearest to the origin is the best input against them, and its length bounds
            # every lead: a proof of NO. Corners that it does not need are dropped, or hulls would grow with each round.
            inputs[i], bound, corners[place] = _nearest(
                space, np.vstack([corners[place], entering])
            )
            status[i] = NO if bound <= margin else OPEN
        inputs[rest] = leaders.take(rest).allowed(inputs[rest])
        is_open = status[rest] == OPEN
        rest, corners = rest[is_open], list(compress(corners, is_open))
    return inputs


def _nearest(
    space: LabelCoordinates, differences: Floats
) -> tuple[Floats, float, Floats]:
    """Find the nearest point of a hull, the bound it puts on every lead, and the corners that it needs."""
    # With a bias inputs have τ >= 0: one more corner, along τ, stands for that.
    upward = np.eye(1, differences.shape[1], differences.shape[1] - 1)[
        : int(space.residual.any())
    ]
    point, weights = nearest_point(np.vstack([upward, differences]))
    # All weights sum to 1, that of τ among them. With Σ over the others the gap of an input x to the next label is at
    # most `‖p‖ ‖x‖ / Σ`, and its gap to the last at least `2 ‖x‖`.
    own = weights[len(upward) :]
    bound = float(np.linalg.norm(point) / (2 * own.sum())) if own.any() else np.inf
    return point, bound, differences[own > 0]


def _by_programs(
    leaders: _Leaders, point: Floats, margin: float, max_cells: int
) -> tuple[int, float]:
    """Solve linear programs over more and more labels until one settles the leaders or the next is too large."""
    space = leaders.space
    room, size = max_cells // len(point), 2 * len(point)
    # Over no more labels than dimensions, inputs have any gaps: nearest points come further.
    if room <= space.rank:
        return OPEN, 0.0
    entrants, rivals = (
        np.zeros(0, dtype=np.intp),
        np.setdiff1d(space.competitors, leaders.members),
    )
    while True:
        gaps = _gaps(
            leaders, point[None], min(max(size, len(entrants)), room, space.n_labels)
        )
        if gaps.lead[0] > margin:
            return YES, float(gaps.lead[0])
        new = np.setdiff1d(np.intersect1d(gaps.closest, rivals), entrants)
        # A lead is a share of the gap to the last label, which is none of the closest.
        new = new if len(new) else np.setdiff1d(rivals, entrants)
        entrants = np.append(entrants, new)
        if not len(new) or len(entrants) > room:
            return OPEN, 0.0
        # The best input against these; fewer labels are easier to lead, so that its lead bounds the lead over all.
        bound, point = best_lead(leaders.differences(0, entrants))
        if bound <= margin:
            return NO, 0.0
        point = leaders.allowed(point[None])[0]


def _gaps(leaders: _Leaders, inputs: Floats, n_closest: int) -> _Gaps:
    """Compare each input with every label, quickly where that tells: gaps are then the least they may be."""
    space, weights = leaders.space, leaders.space.weights(inputs)
    gaps = _compared(leaders, inputs, n_closest, weights, quick=True)
    if not space.is_long:
        return gaps
    off = space.slack(weights)
    gaps = replace(gaps, least=gaps.least - off, largest=gaps.largest + off)
    # Float32 decides all leads but those within its rounding of the margin; these are computed again in float64.
    doubtful = np.flatnonzero(np.abs(gaps.least + off) <= off + MARGIN * gaps.largest)
    if len(doubtful):
        exact = _compared(
            leaders.take(doubtful),
            inputs[doubtful],
            n_closest,
            weights[:, doubtful],
            quick=False,
        )
        for name, values in vars(exact).items():
            getattr(gaps, name)[doubtful] = values
    return gaps


def _compared(
    leaders: _Leaders, inputs: Floats, n_closest: int, weights: Floats, *, quick: bool
) -> _Gaps:
    """Pass over every label; the leaders' own logit is the smaller of the two.

    No search for neighbours: logits are inner products, whose largest are sought as well as the smallest.
    """
    m, space = len(leaders), leaders.space
    own = np.einsum("eij,ij->ei", leaders.ends, inputs).min(axis=0)
    best, lowest = TopK(m, n_closest), np.full(m, np.inf)
    for labels, logits in space.logit_blocks(inputs, weights=weights, quick=quick):
        tile = np.ascontiguousarray(logits.T)
        which, column = np.nonzero(
            (leaders.members >= labels.start) & (leaders.members < labels.stop)
        )
        tile[which, leaders.members[which, column] - labels.start] = np.nan
        if space.twins is not None:
            tile[:, space.twins[labels]] = np.nan
        lowest = np.fmin(lowest, np.fmin.reduce(tile, axis=1))
        tile[np.isnan(tile)] = -np.inf
        best.add(tile, labels.start)
    # Σ ‖z‖² = r V bounds the longest row of coordinates.
    longest = np.sqrt((space.rank + 1) * space.n_labels)
    slack = 4 * longest * np.abs(np.einsum("ij,ij->i", inputs, leaders.tie))
    return _Gaps(own - best.values[:, 0], own - lowest, best.columns, slack)
