"""What an attack maximises: the mean movement of pairs, or the share of list entries driven out."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embaudit.attacks.metric import Metric, Moving, drag, rate
from embaudit.foundation.checked import Flags, Floats, Indices
from embaudit.foundation.parallel import row_blocks
from embaudit.kernels.largest import Largest
from embaudit.kernels.nearest import TIE
from embaudit.kernels.rows import row_norms, unit_rows
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.ranges import CertifiedNeighbours

N_RIVALS = 3
"""The smooth objective follows this many times N excluded items of each list."""
N_SCREENED = 10
"""Many metrics at once are compared by this many times N excluded items of each list, the nearest ones."""
BLOCK_BYTES = 2**19


class Target(Protocol):
    """What an attack maximises."""

    @property
    def cost(self) -> tuple[float, float]:
        """Multiplications `screen` needs for its axes, and for each spectrum."""
        ...

    def value(self, metric: Metric) -> float:
        """Return what counts in the end, under a metric."""
        ...

    def screen(self, axes: Floats | None, logs: Floats) -> Floats:
        """Return about the value of many metrics with the same axes, for (m, k) spectra."""
        ...

    def gradient(self, metric: Metric) -> Floats:
        """Direction H of steepest ascent of something smooth that follows the value, k×k symmetric."""
        ...

    def pull(self, metric: Metric, shifted: SideName) -> Floats:
        """Gradient of the same for a shift of the rows of one side, before the metric; of length k."""
        ...


def _along(rows: Floats, axes: Floats | None) -> Floats:
    return rows if axes is None else np.asarray(rows @ axes)


def _rescaled(rows: Floats) -> Floats:
    """Directions of rows that had length 1 before a metric: none of them is zero or too long to be squared."""
    return np.asarray(rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None])


class Movement:
    """Mean |Δcos| over sampled pairs; a row is changed once, in however many pairs it stands."""

    def __init__(self, model: FactorModel, role: Role, pairs: NDArray[np.intp], before: Floats) -> None:
        known = ~np.isnan(before)
        self.pairs, self.before, self.cross = pairs[known], before[known], role == "cross"
        first, second = Pairs(role).rows(model)
        if self.cross:
            (rows, self.i), (others, self.j) = (np.unique(side, return_inverse=True) for side in self.pairs.T)
        else:
            rows, places = np.unique(self.pairs, return_inverse=True)
            others, (self.i, self.j) = rows, places.reshape(-1, 2).T
        x = np.asarray(first[rows], dtype=np.float64)
        y = np.asarray(second[others], dtype=np.float64) if self.cross else x
        self.x, self.lengths = unit_rows(x), [row_norms(x), row_norms(y)]
        self.y = unit_rows(y) if self.cross else self.x
        self._last: tuple[Metric, tuple[Floats, Floats, Floats]] | None = None
        m, k = len(self.pairs), model.rank
        # How much is tried goes by the pairs, not by how many rows they share.
        self.cost = (2.0 * m * k * k + 30.0 * m * k, 3.0 * m * (k + 20))

    def _moved(self, metric: Metric) -> tuple[Floats, Floats, Floats]:
        """Unit rows and cosines of all pairs under a metric; slopes are asked for where the value was just taken."""
        if self._last is None or self._last[0] is not metric:
            x = _rescaled(metric.apply(self.x))
            y = _rescaled(metric.apply(self.y, -1.0)) if self.cross else x
            x, y = x[self.i], y[self.j]
            self._last = metric, (x, y, np.einsum("ij,ij->i", x, y))
        return self._last[1]

    def value(self, metric: Metric) -> float:
        """Mean |Δcos|."""
        return float(np.abs(self._moved(metric)[2] - self.before).mean())

    def screen(self, axes: Floats | None, logs: Floats) -> Floats:
        """Return the value itself, of many metrics."""
        weights, x = np.exp(logs.T), _along(self.x, axes)
        y = _along(self.y, axes) if self.cross else x
        products = x.take(self.i, axis=0) * y.take(self.j, axis=0)
        scales = 1 / np.sqrt(x * x @ weights)
        others = 1 / np.sqrt(y * y @ (1 / weights)) if self.cross else scales
        change = scales.take(self.i, axis=0) * others.take(self.j, axis=0)
        change *= products.sum(axis=1)[:, None] if self.cross else products @ weights
        change -= self.before[:, None]
        return np.asarray(np.abs(change, out=change).mean(axis=0))

    def gradient(self, metric: Metric) -> Floats:
        """Push each cosine on in the direction it moved."""
        x, y, cosine = self._moved(metric)
        return rate(x, y, cosine, np.sign(cosine - self.before), cross=self.cross)

    def pull(self, metric: Metric, shifted: SideName) -> Floats:
        """Push each cosine on in the direction it moved, by whichever of its rows is shifted."""
        x, y, cosine = self._moved(metric)
        push = np.sign(cosine - self.before)
        total = np.zeros(x.shape[1])
        if not self.cross or shifted == "left":
            total += metric.apply(drag(x, y, cosine, push / self._stretched(metric, 0)))
        if not self.cross or shifted == "right":
            sign = -1.0 if self.cross else 1.0
            total += metric.apply(drag(y, x, cosine, push / self._stretched(metric, 1)), sign)
        return total

    def _stretched(self, metric: Metric, second: int) -> Floats:
        """Lengths of the first or second rows of all pairs under a metric."""
        sign = -1.0 if self.cross and second else 1.0
        lengths = self.lengths[second] * row_norms(metric.apply((self.x, self.y)[second], sign))
        return np.asarray(lengths[(self.i, self.j)[second]])


class Lists:
    """Share of the entries of top-N lists that a gauge drives out, over sampled rows.

    What no more than a tie is ahead of an entry does not drive it out: rounding of the stored rows may move as much.
    """

    def __init__(self, model: FactorModel, side: SideName, found: CertifiedNeighbours, tie: float = TIE) -> None:
        self.tie = tie
        self.all = unit_rows(model.factors(side), none=0)
        self.lengths = row_norms(model.factors(side))
        self.empty: Flags = np.asarray(~self.all.any(axis=1))
        self._last: tuple[Moving, Floats] | None = None
        whole = ~np.isnan(found.radii).any(axis=1)
        self.rows, self.entries = found.rows[whole], found.indices[whole]
        self._outside = max(0, len(self.all) - int(self.empty.sum()) - found.n - 1)
        self.n_rivals = min(N_RIVALS * found.n, self._outside)

    @cached_property
    def _pool(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The items that screening knows, each once: those of the lists, then of the nearest outside them."""
        n = min(max(N_SCREENED * self.entries.shape[1], 50), self._outside)
        pool = self._excluded(self.all, n) if self._outside > 0 else self.entries
        table = np.hstack([self.rows[:, None], self.entries, pool])
        known, places = np.unique(table, return_inverse=True)
        return known, places.reshape(table.shape)

    @property
    def known(self) -> NDArray[np.intp]:
        """The items that screening knows."""
        return self._pool[0]

    @property
    def places(self) -> NDArray[np.intp]:
        """Where among them each row, its entries and its rivals are."""
        return self._pool[1]

    @property
    def cost(self) -> tuple[float, float]:
        """Multiplications `screen` needs for its axes, and for each spectrum."""
        k, size = self.all.shape[1], self.places.size
        return float(len(self.known) * k * k + 10 * size * k), float(size * (k + 60))

    def nearby(self, count: int) -> Lists:
        """Return the same lists among their entries and the `count` nearest rows outside each."""
        outside = self._excluded(self.all, min(count, self._outside))
        kept, places = np.unique(np.hstack([self.rows[:, None], self.entries, outside]), return_inverse=True)
        places = places.reshape(len(self.rows), -1)
        some = copy(self)
        some.all, some.lengths, some.empty = self.all[kept], self.lengths[kept], self.empty[kept]
        some.rows, some.entries = places[:, 0], places[:, 1 : 1 + self.entries.shape[1]]
        some._outside = len(kept) - int(some.empty.sum()) - self.entries.shape[1] - 1
        some.n_rivals = min(self.n_rivals, some._outside)
        return some

    def turned(self, axes: Floats) -> Lists:
        """Return the same with the rows in other dimensions: (k, r) orthonormal axes that span them."""
        some = copy(self)
        some.all, some._last = self.all @ axes, None
        return some

    def _cosines(self, rows: Floats) -> Floats:
        cosines = rows[self.rows] @ rows.T
        cosines[:, self.empty] = -np.inf
        cosines[np.arange(len(self.rows)), self.rows] = -np.inf
        return np.asarray(cosines)

    def _excluded(self, rows: Floats, count: int) -> Indices:
        """Strongest items outside each list."""
        cosines = self._cosines(rows)
        np.put_along_axis(cosines, self.entries, -np.inf, axis=1)
        return Largest(len(cosines), count).add(cosines).columns

    def _moved(self, metric: Moving) -> Floats:
        """Unit rows under a metric; the gradient asks for those its value has just been taken from."""
        if self._last is None or self._last[0] is not metric:
            rows = metric.apply(self.all)
            lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            rows /= np.where(self.empty, 1.0, lengths)[:, None]
            self._last = (metric, rows)
        return self._last[1]

    def value(self, metric: Moving) -> float:
        """Share of entries driven out by all items."""
        negated = -self._cosines(self._moved(metric))
        entries = np.take_along_axis(negated, self.entries, axis=1)
        return float(_driven_out(entries, negated, self.entries.shape[1], self.tie).mean())

    def screen(self, axes: Floats | None, logs: Floats) -> Floats:
        """Never more than the value: an item that is not looked at drives nothing out."""
        weights, rows = np.exp(logs), _along(self.all[self.known], axes)
        void = self.empty[self.known]
        # Signs turned over, so that the nearest come first.
        inverse = -1 / np.sqrt(weights @ (rows * rows).T + void)
        out, n = np.zeros(len(logs)), self.entries.shape[1]
        for block in row_blocks(len(self.places), self.places.shape[1] * max(logs.shape), budget=BLOCK_BYTES):
            own, others = self.places[block, :1], self.places[block, 1:]
            products = rows[others] * rows[own]
            negated = (weights @ products.reshape(-1, rows.shape[1]).T).reshape(-1, *others.shape)
            negated *= inverse[:, others]
            negated *= -inverse[:, own]
            negated[:, void[others] | (others == own)] = np.inf
            out += _driven_out(negated[..., :n], negated, n, self.tie).sum(axis=(1, 2))
        return np.asarray(out / self.entries.size)

    def _pushes(self, rows: Floats) -> Iterator[tuple[Indices, Indices, Floats, Floats]]:
        """Push every rival above every entry it is near to, weighted by a logistic function of how near."""
        rivals = self._excluded(rows, self.n_rivals)
        a = rows[self.rows]
        inside, outside = (np.einsum("ik,ijk->ij", a, rows[index]) for index in (self.entries, rivals))
        margins = outside[:, None, :] - inside[:, :, None]
        width = np.abs(margins).mean() / 4 + 1e-12
        push = 1 / np.cosh(np.clip(margins / width, -50, 50) / 2) ** 2
        for index, cosine, force in ((rivals, outside, push.sum(1)), (self.entries, inside, -push.sum(2))):
            yield np.repeat(self.rows, index.shape[1]), index.ravel(), cosine.ravel(), force.ravel()

    def gradient(self, metric: Metric) -> Floats:
        """Steepest ascent of the pushes."""
        rows = self._moved(metric)
        total = np.zeros((rows.shape[1],) * 2)
        for first, second, cosine, force in self._pushes(rows):
            total += rate(rows[first], rows[second], cosine, force, cross=False)
        return total

    def pull(self, metric: Metric, shifted: SideName) -> Floats:  # noqa: ARG002
        """Gradient of the pushes for a shift of all rows."""
        rows = self._moved(metric)
        total = np.zeros(rows.shape[1])
        lengths = self.lengths * row_norms(metric.apply(self.all))
        for first, second, cosine, force in self._pushes(rows):
            for one, other in ((first, second), (second, first)):
                total += drag(rows[one], rows[other], cosine, force / lengths[one])
        return metric.apply(total)


def _driven_out(entries: Floats, all_: Floats, n: int, tie: float) -> Flags:
    """Which entries have n others ahead of them, by negated cosines, by more than a tie.

    No search for neighbours: a few rows are asked about under very many metrics, and only for the N-th cosine.
    """
    nth = np.partition(all_, n - 1, axis=-1)[..., n - 1]
    return np.asarray(entries > nth[..., None] + tie)
