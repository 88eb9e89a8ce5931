"""Labels, and tied pairs of labels, that some input makes lead all other labels.

In the coordinates u of `embaudit.heads.coordinates`, the logits `u_l · x` of an input x
have mean 0 and standard deviation `‖x‖` over the labels l. The *lead* of label j is its
smallest gap to another label in standard deviations of the logits:

    lead_j(x) = min_l d_l · x / ‖x‖,   d_l = u_j − u_l.

Only differences of logits and their standard deviation enter it, so no gauge changes
it. For a pair of labels that shall be tied, u_j is the middle of the pair, and d_l is
projected onto the inputs that give both labels the same logit.

Let e be the axis of the bias. Inputs have `e · x >= 0`, because a negative value would
turn the bias over. By duality the largest lead is a distance:

    max_x lead_j(x) = min ‖Σ_l λ_l d_l + μ e‖   over λ >= 0, Σ_l λ_l = 1, μ >= 0,

and if it is positive, the point p of smallest norm is itself the best input. Both
answers follow from a certificate:

- *yes*: an input whose lead over all labels exceeds the margin.
- *no*: some λ and μ with a point p of norm at most the margin. For each input x,
  `min_l d_l · x <= Σ_l λ_l d_l · x <= p · x <= ‖p‖ ‖x‖`.

The search is by cutting planes. It starts with the coordinates u_j as input. As long as
the input does not win, the labels that come closest to label j, or beat it, become
rivals, and p for these rivals is the next input. Fewer rivals are easier to lead, so
‖p‖ for some rivals bounds the lead over all labels.

Sources: Kelley, J. SIAM 8, 1960 (cutting planes); Lawson & Hanson, "Solving Least
Squares Problems", 1974, chapter 23 (least distances by non-negative least squares);
Grivas, Bogoychev & Lopez, "Low-Rank Softmax Can Have Unargmaxable Classes in Theory but
Rarely in Practice", ACL 2022 (the question, by linear programs).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Indices, Vector, as_count, is_number
from embaudit.core.progress import track
from embaudit.core.tolerances import ARGMAX_MARGIN, ROUNDING
from embaudit.errors import must_be
from embaudit.heads.coordinates import LabelCoordinates
from embaudit.linalg.nearest import TopK

MAX_CELLS = 2**20
"""Entries of the largest matrix of rivals, labels × dimensions."""
ROUNDS = 100
"""Most nearest points for one label; in heads of 20,000 × 768 up to 27 were needed."""
RIVALS = 64
"""Labels that become rivals in one round."""
CHUNK = 2048
"""Labels whose logits are computed together."""

YES, NO, UNDECIDED = "yes", "no", "undecided"


def nearest_point(corners: Floats, ray: Vector | None = None) -> tuple[Floats, Vector]:
    """Find the point nearest to the origin in the convex hull of some corners.

    The weights solve, up to their sum, the non-negative least-squares problem

        min ‖Σ λ_l d_l + μ e‖² + s² (1 − Σ λ_l)²   over λ >= 0, μ >= 0

    for any s > 0: of all multiples of one (λ, μ) with Σ λ = 1 and the point p, the best
    one leaves `s² ‖p‖² / (s² + ‖p‖²)`, which grows with ‖p‖.

    Parameters
    ----------
    corners : array of shape (c, r)
        The points d_l.
    ray : array of shape (r,), optional
        Unit vector e. The hull then extends from each of its points in this direction.

    Returns
    -------
    point : array of shape (r,)
    weights : array of shape (c,)
        Weights λ of the corners: not negative, of sum 1, and 0 for corners that the
        point does not need.

    Raises
    ------
    RuntimeError
        If the solver does not converge.

    Examples
    --------
    >>> point, weights = nearest_point(np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]]))
    >>> point.round(12) + 0.0, weights.round(12)
    (array([1., 0.]), array([0.5, 0.5, 0. ]))
    >>> nearest_point(np.array([[1.0, -2.0]]), ray=np.array([0.0, 1.0]))[0]
    array([1., 0.])
    """
    from scipy.optimize import nnls

    n_corners = len(corners)
    size = float(np.linalg.norm(corners, axis=1).max()) or 1.0
    columns = corners.T
    sums = np.full(n_corners, size)
    if ray is not None:
        columns = np.column_stack([columns, size * ray])
        sums = np.append(sums, 0.0)
    if columns.shape[1] <= columns.shape[0]:
        # The triangular factor has the same inner products in fewer rows.
        columns = np.linalg.qr(columns).R
    target = np.append(np.zeros(len(columns)), size)
    solution, _ = nnls(np.vstack([columns, sums]), target)
    solution /= solution[:n_corners].sum()
    weights = solution[:n_corners]
    point = weights @ corners
    if ray is not None:
        point = point + solution[-1] * size * ray
    return point, weights


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Answers for some labels or pairs of labels."""

    answer: NDArray[np.str_]
    """(m,) yes, no or undecided."""
    lead: Floats
    """(m,) lead of the input found, a lower bound of the largest lead.

    0 if no input was found.
    """


@dataclass(frozen=True, eq=False)
class _Leaders:
    """Labels, or pairs of labels to be tied, in coordinates."""

    space: LabelCoordinates
    members: Indices
    """(m, 2) row numbers; a single label stands in both columns."""
    middle: Floats
    """(m, r + 1) coordinates of the label, or the middle of the pair."""
    tie: Floats
    """(m, r + 1) unit vector from one label of the pair to the other; 0 for one label.

    The labels are tied for inputs at right angles to it.
    """

    @classmethod
    def from_members(cls, space: LabelCoordinates, members: Indices) -> _Leaders:
        first, second = space.take(members[:, 0]), space.take(members[:, 1])
        difference = second - first
        length = np.linalg.norm(difference, axis=1)
        size = np.linalg.norm(first, axis=1) + np.linalg.norm(second, axis=1)
        # The difference of two equal rows is rounding, which has no direction.
        differs = length > ROUNDING * size
        tie = np.zeros_like(difference)
        tie[differs] = difference[differs] / length[differs, None]
        return cls(space, members, (first + second) / 2, tie)

    def __len__(self) -> int:
        return len(self.members)

    def take(self, places: Indices) -> _Leaders:
        """Select some of the leaders."""
        return _Leaders(
            self.space, self.members[places], self.middle[places], self.tie[places]
        )

    def allowed(self, inputs: Floats) -> Floats:
        """Project inputs onto those with tied leaders and `e · x >= 0`."""
        along_tie = np.einsum("ij,ij->i", inputs, self.tie)
        projected: Floats = inputs - along_tie[:, None] * self.tie
        projected[:, -1] = np.maximum(projected[:, -1], 0)
        return projected

    def differences(self, i: int, labels: Indices) -> Floats:
        """Return d_l of leader i for other labels l, (c, r + 1)."""
        differences = self.middle[i] - self.space.take(labels)
        along_tie = differences @ self.tie[i]
        projected: Floats = differences - np.outer(along_tie, self.tie[i])
        return projected

    def leads(self, inputs: Floats, competes: Flags | None) -> tuple[Floats, Indices]:
        """Compute the leads at one input each, (m,), and the closest labels.

        The closest labels, (m, 64), are in order of their gaps; -1 stands for none.
        """
        x = self.allowed(inputs)
        closest = TopK(len(self), min(RIVALS, self.space.n_labels))
        for labels, logits in self.space.logit_blocks(x):
            rivals = np.ascontiguousarray(logits.T)
            in_block = (self.members >= labels.start) & (self.members < labels.stop)
            leader, column = np.nonzero(in_block)
            rivals[leader, self.members[leader, column] - labels.start] = -np.inf
            if competes is not None:
                rivals[:, ~competes[labels]] = -np.inf
            closest.add(rivals, labels.start)
        gaps = np.einsum("ij,ij->i", self.middle, x) - closest.values[:, 0]
        deviations = np.linalg.norm(x, axis=1)
        leads = np.zeros(len(self))
        np.divide(gaps, deviations, out=leads, where=deviations > 0)
        return leads, closest.columns


def solve_feasibility(
    space: LabelCoordinates,
    members: Indices,
    *,
    competes: Flags | None = None,
    margin: float = ARGMAX_MARGIN,
    max_cells: int = MAX_CELLS,
    title: str,
) -> Feasibility:
    """Decide for labels, or pairs of labels, whether some input makes them lead.

    Parameters
    ----------
    space : LabelCoordinates
        The head. For pairs it has no bias, because the bias does not count far out.
    members : array of shape (m, 2)
        The labels that are to lead, tied with each other. A single label stands in both
        columns.
    competes : array of bool, shape (V,), optional
        Flags of the labels that must be led; all by default.
    margin : float
        Smallest lead that counts, in standard deviations of the logits.
    max_cells : int
        Largest number of rivals × dimensions. Labels that need more stay undecided.
    title : str
        Description for a progress bar.
    """
    if not is_number(margin) or not margin > 0:
        raise must_be("margin", "a positive number", repr(margin))
    as_count(max_cells, "max_cells")
    answer = np.full(len(members), UNDECIDED)
    lead = np.zeros(len(members))
    if space.is_simplex:
        # Some input gives the m leaders the logit 1 and the other V − m labels 0. The
        # standard deviation of these logits is √(m (V − m)) / V.
        n_leading = np.where(members[:, 0] == members[:, 1], 1, 2)
        answer[:] = YES
        with np.errstate(divide="ignore"):
            lead[:] = space.n_labels / np.sqrt(n_leading * (space.n_labels - n_leading))
        return Feasibility(answer, lead)
    for start in range(0, len(members), CHUNK):
        chunk = slice(start, start + CHUNK)
        leaders = _Leaders.from_members(space, members[chunk])
        answer[chunk], lead[chunk] = _by_cutting_planes(
            leaders, competes, margin, max_cells, title
        )
    return Feasibility(answer, lead)


def _by_cutting_planes(
    leaders: _Leaders,
    competes: Flags | None,
    margin: float,
    max_cells: int,
    title: str,
) -> tuple[NDArray[np.str_], Floats]:
    """Return the answer for each of the leaders, (m,), and the lead of the input found.

    A label stays undecided if its matrix of rivals is too large, the nearest point
    cannot be computed, or the rounds do not suffice.
    """
    answer = np.full(len(leaders), UNDECIDED)
    lead = np.zeros(len(leaders))
    inputs = leaders.middle.copy()
    rivals = [np.zeros(0, dtype=np.intp)] * len(leaders)
    axis_of_bias = np.eye(inputs.shape[1])[-1]
    undecided = np.arange(len(leaders))
    for _ in range(ROUNDS):
        if not len(undecided):
            break
        leads, closest = leaders.take(undecided).leads(inputs[undecided], competes)
        wins = leads > margin
        answer[undecided[wins]] = YES
        lead[undecided[wins]] = leads[wins]
        undecided, closest = undecided[~wins], closest[~wins]
        continuing = []
        places = track(undecided.tolist(), title, len(undecided))
        for i, candidates in zip(places, closest, strict=True):
            labels = np.union1d(rivals[i], candidates[candidates >= 0])
            differences = leaders.differences(i, labels)
            if differences.size > max_cells:
                continue
            try:
                point, weights = nearest_point(differences, axis_of_bias)
            except RuntimeError:
                continue
            if np.linalg.norm(point) <= margin:
                answer[i] = NO
                continue
            inputs[i] = point
            # Rivals that the point does not need are dropped, so hulls stay small.
            rivals[i] = labels[weights > 0]
            continuing.append(i)
        undecided = np.array(continuing, dtype=np.intp)
    return answer, lead
