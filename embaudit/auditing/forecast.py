"""How long an audit will take, from its counts and a measurement of this machine of a tenth of a second, about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.durations import duration
from embaudit.foundation.words import counted
from embaudit.foundation.workers import ordered_map, worker_count
from embaudit.kernels.tally import tally_pairs

if TYPE_CHECKING:
    from embaudit.auditing.work import Work
    from embaudit.foundation.checked import Matrix
    from embaudit.model import FactorModel

LONG = 10.0
"""Seconds from which an audit says how long it will take."""
EACH = 0.03
"""Seconds that one measurement takes at most, of the two or three there are."""
COSINES, PRODUCTS = 20_000, 2**28
"""Cosines and products of one round of a measurement."""
PAIR, PRODUCT = 5.0, 1.5
"""A drawn pair beside the tally alone, for its rows are fetched, multiplied and ranked, and a product beside bare ones:
both as measured (`benchmarks/bench_cost.py`)."""
ALONE = 0.35
"""Share of the work that does not spread over threads."""
READ = 2**20
"""Bytes of a file read at a time to see how fast it is."""


@dataclass(frozen=True)
class Speed:
    """Seconds that each thing takes while every worker is busy."""

    product: float
    cosine: float
    byte: float
    """Of reading rows for the first time; 0 where they are in memory."""
    workers: int

    def seconds(self, work: Work) -> float:
        """Predict how long work takes."""
        spread = ALONE + (1 - ALONE) / self.workers
        return (
            spread * (work.products * PRODUCT * self.product + work.cosines * PAIR * self.cosine)
            + work.read * self.byte
        )


def measured_speed(rank: int, stored: Sequence[Matrix] = (), clock: Callable[[], float] = perf_counter) -> Speed:
    """Measure this machine for a tenth of a second, about: all workers at once, as in an audit.

    Parameters
    ----------
    rank : int
        Columns of the rows that will be multiplied.
    stored : sequence of arrays
        Rows that will be read; those that lie in a file are read here and there.
    clock : callable
        What tells the time; that of a thread tells how long it worked, whatever else the machine does.

    Examples
    --------
    >>> speed = measured_speed(8)
    >>> 0 < speed.product < speed.cosine < 1e-3, speed.byte
    (True, 0.0)
    """
    draw, k = np.random.default_rng(0), min(rank, 512)
    square, rows = draw.standard_normal((k, k)), draw.standard_normal((min(8_192, PRODUCTS // k**2), k))
    before = np.linspace(-1, 1, COSINES)
    after = np.clip(before + 0.1 * draw.standard_normal(COSINES), -1, 1)
    files = [array for array in stored if isinstance(array, np.memmap)]
    return Speed(
        product=_each(lambda: rows @ square, clock) / (rows.size * k),
        cosine=_each(lambda: tally_pairs(before, after), clock) / COSINES,
        byte=_reading(files) if files else 0.0,
        workers=worker_count(),
    )


def _each(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Repeat work on all workers at once for a while, and return what one repetition takes: the median of all."""

    def timed(_: int) -> list[float]:
        taken: list[float] = []
        end = perf_counter() + EACH
        while not taken or perf_counter() < end:
            start = clock()
            work()
            taken.append(clock() - start)
        return taken

    return float(np.median(np.concatenate(list(ordered_map(timed, range(worker_count()))))))


def _reading(files: Sequence[Matrix]) -> float:
    """Read a part of the largest file here and there, and return what a byte takes."""
    largest = max(files, key=lambda array: array.nbytes)
    step = max(1, READ // max(1, largest[:1].nbytes))
    start, done = perf_counter(), 0
    for place in np.linspace(0, max(0, len(largest) - step), 16).astype(int):
        done += int(np.array(largest[place : place + step]).nbytes)
        if perf_counter() - start > EACH:
            break
    return (perf_counter() - start) / done


NOMINAL = Speed(product=5e-11, cosine=3e-7, byte=0.0, workers=2)
"""A common machine: what takes less than half of `LONG` there is not worth a measurement."""


@dataclass(frozen=True)
class Cost:
    """What an audit will take."""

    work: Work
    speed: Speed

    @property
    def seconds(self) -> float:
        """How long it will take on all workers."""
        return self.speed.seconds(self.work)

    def on(self, workers: int) -> float:
        """How long it would take on so many of them, each as fast."""
        return replace(self.speed, workers=workers).seconds(self.work)

    def __str__(self) -> str:
        """Say it in one line."""
        work = self.work
        parts = (
            counted(work.models, "equal model"),
            f"{_size(work.read)} of rows to read",
            f"{work.products / 1e9:,.0f} billion products",
        )
        return f"this audit takes about {duration(self.seconds)}: {', '.join(parts)}."


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.1f} GB"


def forecast(model: FactorModel, work: Work, clock: Callable[[], float] = perf_counter) -> Cost:
    """Predict what work on a model takes here.

    Examples
    --------
    >>> from embaudit.auditing.work import Work
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors(np.ones((3, 2)))
    >>> few, many = (forecast(model, Work(9, 48.0, products, 1e5)) for products in (1e9, 1e12))
    >>> few.seconds < many.seconds
    True
    """
    stored = [model.factors(side) for side in model.sides]
    return Cost(work, measured_speed(model.rank, stored, clock))


def announcement(model: FactorModel, work: Work) -> str:
    """Say in one line what work will take, where that is long; nothing of what is short on any machine."""
    if NOMINAL.seconds(work) < LONG / 2:
        return ""
    cost = forecast(model, work)
    return str(cost) if cost.seconds >= LONG else ""
