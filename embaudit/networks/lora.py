"""What cosines of the factors of a low-rank adapter (LoRA) are worth.

The update of a module is `s B A`. For each invertible r × r matrix G, the pair `B G`
and `G⁻¹ A` has the same update, so the network computes the same. The pair is a factor
model with P = B and Q = Aᵀ: cosines among rows of B, and among columns of A, depend on
G. Cosines among rows of the update, and among its columns, do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from embaudit.core.checked import RNG, Floats, as_generator, is_number
from embaudit.core.progress import track
from embaudit.core.tolerances import LARGEST_CONDITION, TIE
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.gauges.linear import GeneralLinear
from embaudit.io.adapters import Adapter, AdapterPair
from embaudit.model import FactorModel, SideName
from embaudit.movements.movement import MovementProbe
from embaudit.networks.low_rank import Update

CONDITION = 100.0
"""Condition number of the gauges that are drawn."""
N_LISTS = 100
"""Number of rows of each side of a module whose neighbours are compared."""
N_PAIRS = 10_000
"""Number of pairs of rows of each side whose cosines are compared."""
SIDES: tuple[SideName, SideName] = ("left", "right")
"""Rows of B, which belong to outputs, and columns of A, which belong to inputs."""


@dataclass(frozen=True, eq=False)
class FactorRows:
    """The rows of B, or the columns of A, of one module."""

    n_rows: int
    """Number of rows of B, or of columns of A."""
    n: int
    """Length of the neighbour lists; 0 if there are too few rows."""
    n_lists: int
    """Number of compared lists."""
    kept_by_pair: float
    """Share of the neighbours that another pair with the same update keeps."""
    kept_by_update: float
    """Share of the neighbours that are neighbours in the update, too."""
    mean_change: float
    """Mean |Δcos| from this pair to the other one."""

    @property
    def by_chance(self) -> float:
        """Share of a list that a random list of the same length holds."""
        if self.n_rows < 2:
            return math.nan
        return self.n / (self.n_rows - 1)


@dataclass(frozen=True, eq=False)
class ModuleMeasure:
    """One module of an adapter: its update, and how far cosines of its factors move."""

    name: str
    shape: tuple[int, int]
    """Numbers of outputs and of inputs."""
    rank: int
    """Number r of dimensions of the factors."""
    scale: float
    """Factor s of the product."""
    norm: float
    """Frobenius norm of the update."""
    effective_rank: float
    """`(Σ σ²)² / Σ σ⁴` of the singular values of the update; NaN if it is zero."""
    outputs: FactorRows | None
    """Rows of B; None if the update is zero."""
    inputs: FactorRows | None
    """Columns of A; None if the update is zero."""
    difference: float
    """Relative distance between the updates of both pairs, which rounding causes."""
    gauge: Gauge | None = field(default=None, repr=False)
    """The gauge that makes the other pair; None if the update is zero."""

    @property
    def sides(self) -> tuple[FactorRows, ...]:
        """Outputs and inputs whose neighbours were compared.

        Empty if the update of the other pair differs by more than rounding. This
        happens if B and A are so large, and their product so small, that its digits are
        lost.
        """
        if not self.difference <= TIE:
            return ()
        rows = (self.outputs, self.inputs)
        return tuple(one for one in rows if one is not None and one.n)

    @property
    def kept_by_pair(self) -> float:
        """Mean share of the lists of both sides that the other pair keeps."""
        return mean_share(self.sides, "kept_by_pair")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        record: dict[str, Any] = {
            "module": self.name,
            "outputs": self.shape[0],
            "inputs": self.shape[1],
            "rank": self.rank,
            "scale": self.scale,
            "norm": self.norm,
            "effective_rank": self.effective_rank,
            "difference": self.difference,
        }
        for title, rows in (("output", self.outputs), ("input", self.inputs)):
            values = [math.nan] * 4
            n_lists = 0
            if rows is not None:
                n_lists = rows.n_lists
                values = [
                    rows.kept_by_pair,
                    rows.kept_by_update,
                    rows.by_chance,
                    rows.mean_change,
                ]
            names = ("kept_by_pair", "kept_by_update", "kept_by_chance", "mean_change")
            record[f"{title}_n_lists"] = n_lists
            for name, value in zip(names, values, strict=True):
                record[f"{title}_{name}"] = value
        return record


def mean_share(rows: Sequence[FactorRows], name: str) -> float:
    """Return the mean of a share over all lists; NaN without lists."""
    n_lists = [one.n_lists for one in rows]
    if not sum(n_lists):
        return math.nan
    shares = [getattr(one, name) for one in rows]
    return float(np.average(shares, weights=n_lists))


def measure_modules(
    adapter: Adapter,
    *,
    n_neighbours: int | None = None,
    max_condition: float = CONDITION,
    n_lists: int = N_LISTS,
    rng: RNG = 0,
) -> Iterator[ModuleMeasure]:
    """Measure the modules of an adapter, one after another.

    Parameters
    ----------
    adapter : Adapter
        The factor pairs.
    n_neighbours : int, optional
        Length of the neighbour lists; by default 10, or a third of the rows.
    max_condition : float
        Condition number of the gauges.
    n_lists : int
        Largest number of rows of each side whose neighbours are compared.
    rng : numpy Generator or int
        Draws gauges, pairs and rows.

    Raises
    ------
    InputError
        If the condition number is not between 1 and 1e6.
    """
    is_allowed = is_number(max_condition) and 1 <= max_condition <= LARGEST_CONDITION
    if not is_allowed:
        raise must_be(
            "max_condition",
            f"a number from 1 to {LARGEST_CONDITION:,.0f}",
            repr(max_condition),
        )
    draws = as_generator(rng).spawn(len(adapter.pairs))
    pairs = zip(adapter.pairs.values(), draws, strict=True)
    for pair, draw in track(pairs, "measuring modules", len(adapter.pairs)):
        yield _measure(pair, n_neighbours, max_condition, n_lists, draw)


def _measure(
    pair: AdapterPair,
    n_neighbours: int | None,
    max_condition: float,
    n_lists: int,
    draw: np.random.Generator,
) -> ModuleMeasure:
    """Measure one module."""
    update = Update.from_pair(pair)
    module = ModuleMeasure(
        name=pair.name,
        shape=pair.shape,
        rank=pair.rank,
        scale=pair.scale,
        norm=update.norm,
        effective_rank=update.effective_rank,
        outputs=None,
        inputs=None,
        difference=math.nan,
    )
    if not update.norm > 0:
        return module
    model = FactorModel.from_user_item(pair.b, np.ascontiguousarray(pair.a.T))
    # A gauge of one dimension has the condition number 1.
    condition = None
    if pair.rank > 1:
        condition = max_condition
    gauge = GeneralLinear(pair.rank, max_condition=condition).sample(rng=draw)
    other = {side: gauge.apply(model.factors(side), side) for side in SIDES}
    other_update = Update.from_factors(other["left"], other["right"].T, pair.scale)
    fixed = {"left": update.output_rows, "right": update.input_rows}
    outputs, inputs = (
        _compare_rows(
            model, side, other[side], fixed[side], n_neighbours, n_lists, draw
        )
        for side in SIDES
    )
    return replace(
        module,
        outputs=outputs,
        inputs=inputs,
        difference=update.distance(other_update) / update.norm,
        gauge=gauge,
    )


def _compare_rows(
    model: FactorModel,
    side: SideName,
    other: Floats,
    fixed: Floats,
    n_neighbours: int | None,
    n_lists: int,
    draw: np.random.Generator,
) -> FactorRows:
    """Compare the stored rows of a side with those of the other pair and the update."""
    n_rows = len(model.factors(side))
    n = None
    if n_neighbours is not None:
        n = min(n_neighbours, max(1, n_rows - 2))
    if len(model.side(side).directed) < 2:
        return FactorRows(n_rows, 0, 0, math.nan, math.nan, math.nan)
    probe = MovementProbe(
        model, [side], n_pairs=N_PAIRS, n_neighbours=n, n_lists=n_lists, rng=draw
    )
    moved, updated = (probe.measure_rows({side: rows}) for rows in (other, fixed))
    if not moved:
        return FactorRows(n_rows, 0, 0, math.nan, math.nan, math.nan)
    kept_by_update = math.nan
    if updated:
        kept_by_update = updated[0].top_n_overlap
    return FactorRows(
        n_rows=n_rows,
        n=moved[0].top_n,
        n_lists=moved[0].n_lists,
        kept_by_pair=moved[0].top_n_overlap,
        kept_by_update=kept_by_update,
        mean_change=moved[0].mean_abs,
    )
