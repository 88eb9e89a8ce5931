"""BlockCosines: the local cosine of every block, the global one, and what lies between them.

For blocks b of two vectors, with local cosines `c_b` and weights `w_b = ‖x_b‖‖y_b‖/(‖x‖‖y‖)`,

    global cosine = Σ w_b c_b = ρ × weighted mean of the c_b,   ρ = Σ w_b,

where ρ is the cosine of the two profiles of block norms. Every block may agree and the whole not: x = (1, 1) and
y = (1, 2) have local cosines 1 and global cosine 3/√10.

Source: Su, "Local and global cosine similarity" (kexue.fm 9931); its upper bound `max c` needs some local cosine ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from embaudit.blocks.sums import BlockSums
from embaudit.core.checked import Flags, Floats, as_count, is_number
from embaudit.core.plain import plain_dict
from embaudit.core.results import Drawn, Result
from embaudit.core.ties import TIE, largest_first
from embaudit.core.words import counted, down, up
from embaudit.errors import must_be
from embaudit.io.codecs.arrays import Shape

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-14
"""A gap below this is no gap."""
MAX_BLOCKS = 1_000
"""Blocks that JSON holds, those of the largest gap."""


def require_cosine(name: str, value: float) -> float:
    """Return a threshold that a cosine can have.

    Raises
    ------
    InputError
        If it is no number from −1 to 1.
    """
    if not (is_number(value) and -1 <= value <= 1):
        raise must_be(name, "a cosine, from -1 to 1", value)
    return float(value)


@dataclass(frozen=True)
class LocalThreshold(Result):
    """The consequences for the global cosine of a lower bound λ on every local one.

    With the norms it guarantees `ρλ`, and blocks that all have cosine λ attain it. Without them it guarantees
    `min(0, λ)`, approached as the two norm profiles come to lie on different blocks: nothing above 0.
    """

    level: float
    """Threshold λ of the local cosines."""
    holds: bool
    """True if every local cosine reaches λ."""
    n_below: int
    """Blocks whose local cosine is below λ."""
    n_undefined: int
    """Blocks without a local cosine, because a side is zero."""
    norm_cosine: float
    """ρ, the cosine of the two profiles of block norms."""
    guaranteed: float
    """The best lower bound of the global cosine that λ and the norms give: ρλ."""
    guaranteed_without_norms: float
    """The best lower bound that λ alone gives."""
    global_cosine: float
    """The global cosine itself."""

    def explain(self) -> str:
        """Describe the guarantee in a sentence.

        Examples
        --------
        >>> print(LocalThreshold(0.5, False, 10, 0, 0.8, 0.4, 0.0, 0.7).explain())
        10 local cosines are below 0.5. Were none, that would guarantee a global cosine of at least 0.4000 with these
        block norms, and of at least 0 with any others. It is 0.7000.
        """
        below = (
            counted(self.n_below, "local cosine") if self.n_below else "No local cosine"
        )
        promise = "That guarantees" if self.holds else "Were none, that would guarantee"
        return (
            f"{below} {'are' if self.n_below > 1 else 'is'} below {self.level:.15g}. {promise} a global cosine of at "
            f"least {down(self.guaranteed, 4):.4f} with these block norms, and of at least "
            f"{self.guaranteed_without_norms:.15g} with any others. It is {self.global_cosine:.4f}."
        )


@dataclass(frozen=True)
class BlockNames:
    """The names of the blocks, spelled out only when asked for: there may be millions.

    Examples
    --------
    >>> names = BlockNames("coordinates", ("a", "b"), ((2, 2), ()), (0, 4, 5))
    >>> names[2], names[[0, 4]], len(names), len(list(names))
    ('a[1, 0]', ['a[0, 0]', 'b'], 5, 5)
    >>> BlockNames("rows", ("a", ""), ((2, 2), (3,)), (0, 2, 3))[[1, 2]]
    ['a[1]', 'all']
    """

    cut: str
    """Cut of the tensors: tensors, rows, coordinates, names or labels."""
    owners: tuple[str, ...]
    """Tensors, or what joins several."""
    shapes: tuple[Shape, ...]
    starts: tuple[int, ...]
    """The first block of each owner, then the number of blocks."""

    def __len__(self) -> int:
        return self.starts[-1]

    @overload
    def __getitem__(self, block: int) -> str: ...
    @overload
    def __getitem__(self, block: NDArray[np.intp] | Sequence[int]) -> list[str]: ...
    def __getitem__(self, block: Any) -> str | list[str]:
        """Return one name, or a list of them."""
        if np.ndim(block):
            return [self[int(b)] for b in block]
        if not 0 <= block < len(self):
            raise IndexError(block)
        # The last owner that starts at the block or before it.
        i = int(np.searchsorted(self.starts, block, side="right")) - 1
        owner, shape, at = self.owners[i], self.shapes[i], int(block) - self.starts[i]
        if self.cut == "coordinates" and shape:
            return f"{owner}[{', '.join(str(int(j)) for j in np.unravel_index(at, shape))}]"
        return (
            f"{owner}[{at}]"
            if self.cut == "rows" and len(shape) > 1
            else owner or "all"
        )


@dataclass(frozen=True, eq=False)
class BlockCosines(Drawn):
    """Local and global cosine of two vectors cut into blocks.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> result = block_cosines([1, 1], [1, 2])
    >>> result.cosines, result.global_cosine, result.norm_cosine
    (array([1., 1.]), 0.9486832980505138, 0.9486832980505138)
    >>> print(result.local_threshold(1.0))
    No local cosine is below 1. That guarantees a global cosine of at least 0.9486 with these block norms, and of at
    least 0 with any others. It is 0.9487.
    """

    sums: BlockSums
    """Sums of squares and products by block."""
    sizes: NDArray[np.intp]
    """Entries in each block."""
    names: BlockNames
    """Names of the blocks."""
    notes: tuple[str, ...] = ()
    """Remarks: tensors left out, dtypes that differ."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "global_cosine": self.global_cosine,
                "norm_cosine": self.norm_cosine,
                "mean_cosine": self.mean_cosine,
                "plain_mean_cosine": self.plain_mean_cosine,
                "identity_error": self.identity_error,
                "x_norm": self.x_norm,
                "y_norm": self.y_norm,
                "bounds": self.bounds,
                "bounds_without_norms": self.bounds_without_norms,
                "zero_blocks": self.zero_blocks,
                "notes": self.notes,
                "partition": self.names.cut,
                "n_blocks": len(self),
                "n_entries": self.n_entries,
                "norm_gap": self.norm_gap,
                "direction_gap": self.direction_gap,
                "blocks_left_out": self.blocks_left_out,
                "blocks": self.most_different,
            }
        )

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return (
            f"BlockCosines({counted(len(self), 'block')}, {self.n_entries:,} entries, by "
            f"{self.names.cut}: global {self.global_cosine:.4f} = {self.norm_cosine:.4f} × "
            f"{self.mean_cosine:.4f})"
        )

    @cached_property
    def cosines(self) -> Floats:
        """Local cosine of each block, NaN where a side is zero."""
        return self.sums.cosines()

    @cached_property
    def _shared(self) -> Floats:
        """(3, B) sums of all blocks in units of the largest."""
        return self.sums.in_units_of_the_largest().products

    @cached_property
    def _total(self) -> BlockSums:
        return self.sums.total()

    @cached_property
    def x_profile(self) -> Floats:
        """Norm of each block of x as a share of the norm of x; a unit vector."""
        return np.asarray(np.sqrt(self._shared[0]) / np.sqrt(self._total.products[0]))

    @cached_property
    def y_profile(self) -> Floats:
        """Norm of each block of y as a share of the norm of y; a unit vector."""
        return np.asarray(np.sqrt(self._shared[1]) / np.sqrt(self._total.products[1]))

    @cached_property
    def global_cosine(self) -> float:
        """Cosine of the two whole vectors, from their total sums."""
        return float(self._total.cosines()[0])

    @cached_property
    def x_norm(self) -> float:
        """Norm of x."""
        return math.ldexp(
            math.sqrt(self._total.products[0, 0]), int(self._total.exponents[0, 0])
        )

    @cached_property
    def y_norm(self) -> float:
        """Norm of y."""
        return math.ldexp(
            math.sqrt(self._total.products[1, 0]), int(self._total.exponents[1, 0])
        )

    @cached_property
    def _products_of_norms(self) -> tuple[Floats, float]:
        """`‖x_b‖‖y_b‖` of every block and `‖x‖‖y‖`, in the same units."""
        xx, yy, _ = self._total.products[:, 0]
        return np.sqrt(self._shared[0] * self._shared[1]), math.sqrt(xx * yy)

    @cached_property
    def weights(self) -> Floats:
        """`w_b = ‖x_b‖‖y_b‖/(‖x‖‖y‖)`; they add up to ρ, and are 0 for zero blocks."""
        own, whole = self._products_of_norms
        return own / whole

    @cached_property
    def norm_cosine(self) -> float:
        """ρ, the cosine of the two profiles of block norms, in [0, 1]."""
        own, whole = self._products_of_norms
        return min(1.0, math.fsum(own) / whole)

    @cached_property
    def contributions(self) -> Floats:
        """`w_b c_b`, what each block adds to the global cosine."""
        return np.asarray(self.weights * np.nan_to_num(self.cosines))

    @cached_property
    def mean_cosine(self) -> float:
        """Mean of the local cosines weighted by `w_b`; NaN where no block is nonzero in both."""
        return (
            math.fsum(self.contributions) / self.norm_cosine
            if self.norm_cosine
            else math.nan
        )

    @cached_property
    def plain_mean_cosine(self) -> float:
        """Unweighted mean of the local cosines: what "the blocks agree" is often taken from."""
        return float(np.nanmean(self.cosines)) if self.is_defined.any() else math.nan

    @property
    def identity_error(self) -> float:
        """`|global − ρ × weighted mean|`, both sides computed apart: rounding only."""
        return abs(self.global_cosine - math.fsum(self.contributions))

    @property
    def n_entries(self) -> int:
        """Entries of all blocks."""
        return int(self.sizes.sum())

    @property
    def blocks_left_out(self) -> int:
        """Blocks beyond those listed."""
        return max(0, len(self) - MAX_BLOCKS)

    @property
    def most_different(self) -> pd.DataFrame:
        """Blocks of the largest gap, 1,000 at most.

        Columns
        -------
        block : str
            Name of the block.
        size : int
            Number of entries.
        cosine : float
            Local cosine; None where a side is zero.
        weight : float
            Weight of the block in the mean cosine.
        contribution : float
            Part that it adds to the global cosine.
        x_profile : float
            Norm of the block of x as a share of the norm of x.
        y_profile : float
            Norm of the block of y as a share of the norm of y.
        norm_gap : float
            Part that different norms take from the global cosine there.
        direction_gap : float
            Part that different directions take from it there.
        without : float
            The global cosine without the block; None where nothing is left.
        """
        order = largest_first(self.gaps, TIE)[:MAX_BLOCKS]
        return self._frame(order).reset_index()

    @cached_property
    def is_defined(self) -> Flags:
        """Blocks that have a local cosine."""
        return ~np.isnan(self.cosines)

    @property
    def zero_blocks(self) -> dict[str, int]:
        """Blocks that are zero in x only, in y only and in both."""
        x, y, _ = self.sums.products == 0
        return {
            "x": int((x & ~y).sum()),
            "y": int((y & ~x).sum()),
            "both": int((x & y).sum()),
        }

    @cached_property
    def norm_gaps(self) -> Floats:
        """`½(‖x_b‖/‖x‖ − ‖y_b‖/‖y‖)²`, each block's part of `1 − ρ`."""
        # The profiles are unit vectors with cosine ρ: half their squared distance is 1 − ρ.
        return np.asarray((self.x_profile - self.y_profile) ** 2 / 2)

    @cached_property
    def direction_gaps(self) -> Floats:
        """`w_b(1 − c_b)`, each block's part of `ρ − global`."""
        # Σ w_b − Σ w_b c_b; a block that is zero on a side has weight 0 and no part in it.
        return np.asarray(
            self.weights * (1 - np.where(self.is_defined, self.cosines, 1.0))
        )

    @property
    def norm_gap(self) -> float:
        """Part that different norms take from the global cosine, over all blocks."""
        return math.fsum(self.norm_gaps)

    @property
    def direction_gap(self) -> float:
        """Part that different directions take from the global cosine, over all blocks."""
        return math.fsum(self.direction_gaps)

    @cached_property
    def gaps(self) -> Floats:
        """`½‖x_b/‖x‖ − y_b/‖y‖‖²`, each block's part of `1 − global`: its norm gap and its direction gap."""
        return self.norm_gaps + self.direction_gaps

    @cached_property
    def without(self) -> Floats:
        """Global cosine of all other blocks, for each block left out; NaN where nothing is left."""
        # Blocks before plus blocks after: subtracting a large block from the total would leave its rounding error.
        nothing = np.zeros((3, 1))
        before = np.concatenate([nothing, self._shared.cumsum(axis=1)[:, :-1]], axis=1)
        after = np.concatenate(
            [self._shared[:, ::-1].cumsum(axis=1)[:, -2::-1], nothing], axis=1
        )
        return BlockSums(before + after, self.sums.exponents).cosines()

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the global cosine given the norms and the extreme local cosines, `[ρ min c, ρ max c]`; sharp."""
        # ρ × a weighted mean of the local cosines, which lies between the least and the largest of them.
        low, high = self._extremes
        return self.norm_cosine * low, self.norm_cosine * high

    @property
    def bounds_without_norms(self) -> tuple[float, float]:
        """Range given the extreme local cosines only, `[min(0, min c), max(0, max c)]`; sharp as infimum and supremum.

        A single block has no norms to vary: its cosine is the global one.
        """
        # ρ may be anything from 0 to 1 then, so that 0 is always within reach.
        low, high = self._extremes
        return (low, high) if self._n_live == 1 else (min(0.0, low), max(0.0, high))

    @property
    def _extremes(self) -> tuple[float, float]:
        defined = self.cosines[self.is_defined]
        return (
            (float(defined.min()), float(defined.max())) if len(defined) else (0.0, 0.0)
        )

    @property
    def _n_live(self) -> int:
        return int((self.sums.products[:2] > 0).any(axis=0).sum())

    def local_threshold(self, level: float) -> LocalThreshold:
        """Compute the bound that "every local cosine ≥ λ" sets globally: ρλ with the norms, nothing above 0 without.

        Parameters
        ----------
        level : float
            λ, from -1 to 1.
        """
        level = require_cosine("the local threshold", level)
        below = int((self.cosines < level).sum())
        return LocalThreshold(
            level=level,
            holds=below == 0,
            n_below=below,
            n_undefined=int((~self.is_defined).sum()),
            norm_cosine=self.norm_cosine,
            guaranteed=self.norm_cosine * level,
            guaranteed_without_norms=level if self._n_live == 1 else min(0.0, level),
            global_cosine=self.global_cosine,
        )

    def explain(self) -> str:
        """Describe how the local cosines make up the global one, and the range they allow."""
        low, high = (
            round_to(end, 4)
            for round_to, end in zip((down, up), self.bounds, strict=True)
        )
        mean = (
            f"× {self.mean_cosine:.4f}, the weighted mean cosine"
            if self.norm_cosine
            else "as both lie in none"
        )
        text = (
            f"The global cosine is {self.global_cosine:.4f}: {self.norm_cosine:.4f}, the cosine of the block norms, "
            f"{mean} of {counted(len(self), 'block')} (by {self.names.cut}, {self.n_entries:,} entries).\n"
            f"With these norms, and local cosines from the lowest to the highest of these, it can be {low:.4f} to "
            f"{high:.4f}."
        )
        zero = self.zero_blocks
        counts = f"{zero['x']} in x only, {zero['y']} in y only, {zero['both']} in both"
        return f"{text}\nZero blocks: {counts}." if any(zero.values()) else text

    def largest_gaps(
        self, *, share: float | None = 0.9, limit: int = 20
    ) -> pd.DataFrame:
        """List the fewest blocks that make up a share of the gap `1 − global`, largest first.

        Parameters
        ----------
        share : float, optional
            Which share of the gap to explain; None lists blocks up to the limit, whether there is a gap or not.
        limit : int
            At most so many blocks.

        Returns
        -------
        pandas.DataFrame
            As `to_frame`, with the share of the gap each block explains and the running share; empty where the two
            vectors agree up to rounding and a share is asked for.
        """
        if share is not None and (not is_number(share) or not 0 < share <= 1):
            raise must_be("share", "above 0 and at most 1", repr(share))
        # From the largest gap down until the share is reached, be it but for rounding.
        order = largest_first(self.gaps, TIE)
        total = math.fsum(self.gaps)
        shares = self.gaps[order] / (total or 1.0)
        needed = len(order)
        if share is not None:
            needed = (
                int(np.searchsorted(np.cumsum(shares), share - TIE)) + 1
                if total > ROUNDING
                else 0
            )
        frame = self._frame(order[: min(needed, as_count(limit, "limit", least=0))])
        frame["gap_share"] = shares[: len(frame)]
        frame["cumulative_share"] = np.cumsum(shares)[: len(frame)]
        return frame

    def _frame(self, blocks: NDArray[np.intp]) -> pd.DataFrame:
        """Tabulate some of the blocks, a row each."""
        import pandas as pd

        columns = {
            "size": self.sizes,
            "cosine": self.cosines,
            "weight": self.weights,
            "contribution": self.contributions,
            "x_profile": self.x_profile,
            "y_profile": self.y_profile,
            "norm_gap": self.norm_gaps,
            "direction_gap": self.direction_gaps,
            "without": self.without,
        }
        index = pd.Index(self.names[blocks], name="block", dtype=object)
        return pd.DataFrame(
            {name: values[blocks] for name, values in columns.items()}, index=index
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row a block, in the order of the source."""
        return self._frame(np.arange(len(self)))
