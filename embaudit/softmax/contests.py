"""Which labels can lead all others: certificates first, linear programs for what they leave open.

A *contest* asks whether one label, or two labels tied with each other, can have a larger logit than every
other label. Its answer and its *lead* do not depend on the gauge: the lead of an input is the gap to the next
label as a share of the gap to the last one, `min_l (s − s_l) / max_l (s − s_l)`, and only differences of logits
enter it. Four certificates settle a contest, each one checked against every label:

- an input that wins it (the label's own direction, then the point of `conv{z − z_l}` nearest to the origin over labels
  that came close to winning so far, then the optimum of a linear program);
- weights that write the label as a mixture of others, so that it lies in their convex hull and no input can win;
- weights that mix `z − z_l` to a point p so short that it bounds every lead: an input x has no gap to the next label
  above `‖p‖ ‖x‖`, and as `Σ z = 0` and `Σ z zᵀ / V = I`, one of `2 ‖x‖` to the last if its label is the first;
- a linear program over some of the other labels in which no input has a lead.

Of affinely independent labels none is asked: inputs give them any logits at all, 1 for the leaders, 0 for the others.

Sources: Grivas, Bogoychev & Lopez, "Low-Rank Softmax Can Have Unargmaxable Classes in Theory but Rarely in
Practice", ACL 2022 (the linear program); Kelley, J. SIAM 8, 1960 (what cuts off the last answer enters the next).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Flags, Floats, Indices, as_count
from embaudit.foundation.progress import track
from embaudit.kernels.largest import Largest
from embaudit.softmax.coordinates import LabelCoordinates
from embaudit.softmax.mixtures import are_mixtures
from embaudit.softmax.nearest_points import nearest_point
from embaudit.softmax.programs import best_leads

MARGIN = 1e-6
"""A lead up to here is taken for rounding."""
MAX_CELLS = 2**20
"""Entries of the largest linear program, labels × dimensions: a few seconds each."""
ROUNDS = 8
"""Times that the labels which come closest join those that a nearest point is sought for."""
LEAST_ROUNDS, PASSED = 2, 2**31
"""Such times in any head, and entries of the label rows that all of them pass over from there on."""
RIVALS = 64
"""Labels that join them at a time."""
RIVAL_CELLS = 2**21
"""Entries of the coordinates of those of all contests, at most."""
MIXED = 32
"""Labels a dimension that a mixture may draw on."""
MIXTURE_CELLS = 2**24
"""Entries of their coordinates at most."""
ADDED = 64
"""Labels that enter a linear program at a time, at least."""
CHUNK = 2048
"""Contests surveyed together."""

YES, NO, OPEN = 1, 0, -1


@dataclass(frozen=True, eq=False)
class Contests:
    """Answers to a number of contests."""

    status: NDArray[np.int8]
    """1 can lead, 0 cannot, -1 undecided within the size of linear program allowed."""
    lead: Floats
    """The lead of the winning input found, a lower bound of the largest one; 0 where there is none."""


@dataclass(frozen=True, eq=False)
class _Field:
    """Contests in coordinates: where the leaders are and which inputs leave them tied."""

    space: LabelCoordinates
    members: Indices
    """(m, 2) the leaders; one label twice where it stands alone."""
    start: Floats
    """(m, r + 1) mean coordinates of the leaders."""
    tie: Floats
    """(m, r + 1) unit direction of their difference, which an input must not see; 0 for one label."""
    ends: tuple[Floats, Floats]
    """(m, r + 1) coordinates of the first and of the second leaders; one array where each stands alone."""

    @classmethod
    def of(cls, space: LabelCoordinates, members: Indices) -> _Field:
        first, alone = space.of(members[:, 0]), bool((members[:, 0] == members[:, 1]).all())
        second = first if alone else space.of(members[:, 1])
        difference = second - first
        length = np.linalg.norm(difference, axis=1, keepdims=True)
        size = np.linalg.norm(first, axis=1, keepdims=True) + np.linalg.norm(second, axis=1, keepdims=True)
        same = length <= 1e-12 * size
        tie = np.divide(difference, length, out=np.zeros_like(difference), where=~same)
        return cls(space, members, (first + second) / 2, tie, (first, second))

    def __len__(self) -> int:
        return len(self.members)

    def take(self, which: Indices) -> _Field:
        first, second = self.ends
        taken = first[which]
        ends = taken, taken if second is first else second[which]
        return _Field(self.space, self.members[which], self.start[which], self.tie[which], ends)

    @property
    def n_rounds(self) -> int:
        """Times that labels join: fewer where each takes a pass over very many long rows."""
        return min(ROUNDS, max(LEAST_ROUNDS, PASSED // self.space.rows.size))

    @property
    def n_rivals(self) -> int:
        """Labels that come closest, of which each contest takes note."""
        return max(1, min(RIVALS, RIVAL_CELLS // (self.start.size or 1)))

    def differences(self, labels: Indices) -> Floats:
        """Coordinates of the leaders less those of labels (m, c), at right angles to the tie, (m, c, r + 1).

        The labels may end in -1, places that nothing filled: there the first one stands again.
        """
        known = np.where(labels < 0, labels[:, :1], labels)
        other = self.space.of(known.ravel()).reshape(*known.shape, -1)
        return self._across(self.start[:, None] - other)

    @property
    def upward(self) -> Floats:
        """The direction of τ, at right angles to the tie, (m, 1, r + 1)."""
        axis = -self.tie[:, -1:] * self.tie
        axis[:, -1] = np.where(self.tie.any(axis=1), np.square(self.tie[:, :-1]).sum(axis=1), 1)
        return axis[:, None]

    @property
    def halfspaces(self) -> Floats:
        """What stands for τ >= 0 among differences: `upward`, and nothing, (m, 0, r + 1), without a bias."""
        return self.upward[:, : int(self.space.residual.any())]

    def untied(self, inputs: Floats) -> Floats:
        """Project inputs onto those that tie the leaders and have τ >= 0."""
        projected, upward = self._across(inputs[:, None])[:, 0], self.upward[:, 0]
        below = np.minimum(projected[:, -1], 0)
        # Leaders of equal rows and other biases tie far out alone, where τ is 0.
        step = np.divide(below, upward[:, -1], out=np.zeros(len(self)), where=upward[:, -1] > 0)
        projected -= step[:, None] * upward
        projected[:, -1] = np.maximum(projected[:, -1], 0)
        return projected

    def untied_by(self, inputs: Floats) -> Floats:
        """How far inputs are from those that tie the leaders and have τ >= 0, (m,): far, where the two hardly meet."""
        along, sizes = np.einsum("ij,ij->i", inputs, self.tie), np.linalg.norm(self.tie[:, :-1], axis=1)
        slope = np.divide(np.abs(self.tie[:, -1]), sizes, out=np.zeros(len(self)), where=sizes > 0)
        return np.asarray(np.abs(along) * (1 + slope))

    def _across(self, vectors: Floats) -> Floats:
        along = np.einsum("icj,ij->ic", vectors, self.tie)
        return np.asarray(vectors - along[..., None] * self.tie[:, None])


@dataclass(frozen=True, eq=False)
class _Survey:
    """What inputs make of the gaps `s − s_l` between the leaders and every other label."""

    least: Floats
    """(m,) smallest gap."""
    largest: Floats
    """(m,) largest gap."""
    closest: Indices
    """(m, c) labels of the smallest gaps, in order; -1 where there are no more."""
    slack: Floats
    """(m,) how much gaps could change if the input were moved to where its leaders are exactly tied."""

    @property
    def lead(self) -> Floats:
        """Share of the smallest gap in the largest, 0 where the leaders do not lead, tied."""
        won = (self.least > self.slack) & np.isfinite(self.largest)
        return np.divide(self.least, self.largest, out=np.zeros(len(self.least)), where=won)


def _survey(field: _Field, inputs: Floats, n_closest: int) -> _Survey:
    """Compare each contest's input with every label, quickly where that tells: gaps are then the least they may be."""
    weights = field.space.weights(inputs)
    found = _compared(field, inputs, n_closest, weights=weights, quick=True)
    if not field.space.is_long:
        return found
    off = field.space.slack(weights)
    found = replace(found, least=found.least - off, largest=found.largest + off)
    doubtful = np.flatnonzero(np.abs(found.least + off) <= off + MARGIN * found.largest)
    if len(doubtful):
        exact = _compared(field.take(doubtful), inputs[doubtful], n_closest)
        for name, values in vars(exact).items():
            getattr(found, name)[doubtful] = values
    return found


def _compared(
    field: _Field, inputs: Floats, n_closest: int, *, weights: Floats | None = None, quick: bool = False
) -> _Survey:
    """Pass over every label; the leaders' own gap is the smaller of the two.

    No search for neighbours: logits are inner products, whose largest are sought as well as the smallest.
    """
    m, space = len(field), field.space
    own = np.stack([np.einsum("ij,ij->i", end, inputs) for end in field.ends])
    best, lowest = Largest(m, n_closest), np.full(m, np.inf)
    for labels, logits in space.logit_blocks(inputs, weights=weights, quick=quick):
        tile = np.ascontiguousarray(logits.T)
        inside = (field.members >= labels.start) & (field.members < labels.stop)
        which, column = np.nonzero(inside)
        tile[which, field.members[which, column] - labels.start] = np.nan
        if space.twins is not None:
            tile[:, space.twins[labels]] = np.nan
        lowest = np.fmin(lowest, np.fmin.reduce(tile, axis=1))
        tile[np.isnan(tile)] = -np.inf
        best.add(tile, labels.start)
    # Σ ‖z‖² = r V bounds the longest row of coordinates.
    longest = np.sqrt((space.rank + 1) * space.n_labels)
    slack = 4 * longest * field.untied_by(inputs)
    return _Survey(own.min(axis=0) - best.values[:, 0], own.min(axis=0) - lowest, best.columns, slack)


def hold(
    space: LabelCoordinates, members: Indices, *, margin: float = MARGIN, max_cells: int = MAX_CELLS, title: str
) -> Contests:
    """Settle contests.

    Parameters
    ----------
    space : LabelCoordinates
        The head; without its bias where leaders are to win by any amount.
    members : array of shape (m, 2)
        The labels that are to lead, tied with each other; one label twice for it alone.
    margin : float
        Least lead that counts.
    max_cells : int
        Entries (labels × dimensions) of the largest linear program; contests that need more stay undecided.
    title : str
        What to call the work in a progress bar.
    """
    if not 0 < margin < 1:
        raise must_be("margin", "a share between 0 and 1", margin)
    as_count(max_cells, "max_cells")
    if space.is_simplex:
        return Contests(np.full(len(members), YES, dtype=np.int8), np.ones(len(members)))
    parts = [
        _hold(_Field.of(space, members[start : start + CHUNK]), margin, max_cells, title)
        for start in range(0, len(members), CHUNK)
    ]
    empty = Contests(np.zeros(0, dtype=np.int8), np.zeros(0))
    status, lead = ([getattr(part, name) for part in (empty, *parts)] for name in ("status", "lead"))
    return Contests(np.concatenate(status), np.concatenate(lead))


def _hold(field: _Field, margin: float, max_cells: int, title: str) -> Contests:
    status, lead = np.full(len(field), OPEN, dtype=np.int8), np.zeros(len(field))
    if len(field.space.competitors) <= len(np.unique(field.members[0])):
        return Contests(np.full(len(field), YES, dtype=np.int8), np.ones(len(field)))
    for rest, answers, leads in _rounds(field, margin, max_cells, title, status):
        status[rest], lead[rest] = answers, np.where(answers == YES, leads, 0)
    return Contests(status, lead)


def _rounds(
    field: _Field, margin: float, max_cells: int, title: str, status: NDArray[np.int8]
) -> Iterator[tuple[Indices, NDArray[np.int8], Floats]]:
    """Yield answers, cheapest certificate first; `status` is read back to see what is still open."""
    point = field.untied(field.start)
    survey = _survey(field, point, field.n_rivals)
    yield np.arange(len(field)), _from_lead(survey.lead, margin), survey.lead
    rest = np.flatnonzero(status == OPEN)
    if len(rest):
        yield rest, np.where(_are_inside(field.take(rest)), NO, OPEN).astype(np.int8), np.zeros(len(rest))
    yield from _by_nearest_points(field, point, survey.closest, margin, status)
    rest = np.flatnonzero(status == OPEN)
    if len(rest):
        answers, lead = _by_programs(field.take(rest), point[rest], margin, max_cells, title)
        yield rest, answers, lead


def _by_nearest_points(
    field: _Field, point: Floats, closest: Indices, margin: float, status: NDArray[np.int8]
) -> Iterator[tuple[Indices, NDArray[np.int8], Floats]]:
    """Move the inputs of open contests to points nearest to the origin, among the labels that came closest so far."""
    rest, corners = np.arange(len(field)), [np.zeros((0, point.shape[1]))] * len(field)
    for _ in range(field.n_rounds):
        still = status[rest] == OPEN
        rest, closest, corners = rest[still], closest[still], list(compress(corners, still))
        if not len(rest):
            return
        part = field.take(rest)
        nearest, bounds, corners = _nearest(part, corners, closest)
        point[rest] = part.untied(nearest)
        survey = _survey(part, point[rest], part.n_rivals)
        closest = survey.closest
        yield rest, np.where(bounds <= margin, NO, _from_lead(survey.lead, margin)), survey.lead


def _nearest(field: _Field, corners: list[Floats], closest: Indices) -> tuple[Floats, Floats, list[Floats]]:
    """Find the nearest points with more labels, bounds of any lead, and the corners that the points need."""
    found = []
    for halfspace, before, entering in zip(field.halfspaces, corners, field.differences(closest), strict=True):
        labels = np.vstack([before, entering])
        point, weights = nearest_point(np.vstack([halfspace, labels]))
        own = weights[len(halfspace) :]
        bound = np.linalg.norm(point) / (2 * own.sum()) if own.any() else np.inf
        found.append((point, bound, labels[own > 0]))
    points, bounds, needed = zip(*found, strict=True)
    return np.array(points), np.array(bounds), list(needed)


def _from_lead(lead: Floats, margin: float) -> NDArray[np.int8]:
    return np.where(lead > margin, YES, OPEN).astype(np.int8)


def _are_inside(field: _Field) -> Flags:
    """Whether the leaders are mixtures of other labels, a spread-out sample of them in a large head."""
    space = field.space
    others = np.setdiff1d(space.competitors, field.members)
    size = min(MIXED * space.rank, MIXTURE_CELLS // space.rank)
    chosen = others[:: max(1, -(-len(others) // size))]
    if len(chosen) <= space.rank + 1:
        return np.zeros(len(field), dtype=bool)
    points, targets = space.of(chosen), field.start
    if not space.residual.any():
        points, targets = points[:, :-1], targets[:, :-1]
    return are_mixtures(points, targets)


def _by_programs(
    field: _Field, point: Floats, margin: float, max_cells: int, title: str
) -> tuple[NDArray[np.int8], Floats]:
    """Solve linear programs over growing sets of labels until each contest is settled or its program too large."""
    status, lead = np.full(len(field), OPEN, dtype=np.int8), np.zeros(len(field))
    room = max_cells // point.shape[1]
    # Over no more labels than dimensions, inputs have any gaps: nearest points come further.
    if room <= field.space.rank:
        return status, lead
    rest = np.arange(len(field))
    entrants = _first_entrants(field, point, room)
    while len(rest):
        part = field.take(rest)
        tasks = ((part.start[i] - field.space.of(entrants[j]), part.tie[i]) for i, j in enumerate(rest))
        bounds, inputs = _solve(tasks, len(rest), title)
        growth = max(ADDED, *(len(entrants[j]) for j in rest))
        survey = _survey(part, inputs, min(growth, field.space.n_labels))
        lead[rest] = survey.lead
        status[rest] = np.where(bounds <= margin, NO, _from_lead(survey.lead, margin))
        open_still = []
        for i, j in enumerate(rest):
            known = np.append(entrants[j], field.members[j])
            new = np.setdiff1d(_competing(field.space, survey.closest[i]), known)
            # A lead is a share of the gap to the last label, which is none of the closest.
            new = new if len(new) else np.setdiff1d(field.space.competitors, known)
            grown = np.append(entrants[j], new)
            if status[j] == OPEN and len(new) and len(grown) <= room:
                entrants[j] = grown
                open_still.append(j)
        rest = np.asarray(open_still, dtype=np.intp)
    return status, lead


def _first_entrants(field: _Field, point: Floats, room: int) -> list[Indices]:
    """All other labels where there is room for them, else the closest of the best point so far."""
    n = field.space.n_labels
    size = min(n, room, n if n <= min(room, 4 * point.shape[1]) else 2 * point.shape[1])
    closest = _survey(field, point, size).closest
    return [np.setdiff1d(_competing(field.space, closest[i]), field.members[i]) for i in range(len(field))]


def _competing(space: LabelCoordinates, labels: Indices) -> Indices:
    """Leave out twins, which have no logit of their own, and the places of a list that nothing filled."""
    labels = labels[labels >= 0]
    return labels if space.twins is None else labels[~space.twins[labels]]


def _solve(tasks: Iterator[tuple[Floats, Floats]], total: int, title: str) -> tuple[Floats, Floats]:
    solved = list(track(best_leads(tasks), title, total))
    return np.array([bound for bound, _ in solved]), np.array([input_ for _, input_ in solved])
