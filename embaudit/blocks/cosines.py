"""The cosine of each block of two vectors, and how these make up the global cosine.

For blocks b of two vectors, with local cosines `c_b` and weights
`w_b = ‖x_b‖‖y_b‖/(‖x‖‖y‖)`,

    global cosine = Σ w_b c_b = ρ × weighted mean of the c_b,   ρ = Σ w_b,

where ρ is the cosine of the two profiles of block norms. All blocks can agree although
the whole vectors do not: x = (1, 1) and y = (1, 2) have local cosines 1 and global
cosine 3/√10.

Source: Su, "Local and global cosine similarity" (kexue.fm 9931). Its upper bound
`max c` holds if some local cosine is ≥ 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, as_count, is_number
from embaudit.core.plain import plain_dict
from embaudit.core.results import PlottableResult
from embaudit.core.ties import largest_first
from embaudit.core.tolerances import NO_GAP, TIE
from embaudit.core.words import counted, down, up
from embaudit.errors import must_be

if TYPE_CHECKING:
    import pandas as pd

MAX_LISTED = 1_000
"""Largest number of blocks in a record. Blocks with the largest gaps are kept."""


def _cosines(sums: Floats) -> Floats:
    """Compute `Σ x y / (√Σx² √Σy²)`; NaN where a side is zero.

    Parameters
    ----------
    sums : array of shape (3, ...)
        `Σ x²`, `Σ y²` and `Σ x y`.
    """
    x_squares, y_squares, products = sums
    norms = np.asarray(np.sqrt(x_squares) * np.sqrt(y_squares))
    cosines = np.full_like(norms, np.nan)
    np.divide(products, norms, out=cosines, where=norms > 0)
    # Rounding can move a cosine of parallel blocks beyond 1.
    cosines.clip(-1, 1, out=cosines)
    return cosines


@dataclass(frozen=True, eq=False)
class BlockCosines(PlottableResult):
    """Local and global cosine of two vectors cut into blocks.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> result = block_cosines([1, 1], [1, 2])
    >>> result.cosines, result.global_cosine, result.norm_cosine
    (array([1., 1.]), 0.9486832980505138, 0.9486832980505138)
    """

    names: list[str]
    """Name of each block."""
    sizes: NDArray[np.intp]
    """Number of entries of each block."""
    sums: Floats
    """`Σ x²`, `Σ y²` and `Σ x y` over the entries of each block, of shape (3, B)."""
    partition: str
    """What the blocks are: tensors, rows, coordinates, names or labels."""
    notes: tuple[str, ...] = ()
    """Remarks on skipped tensors and on types that differ."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
                "partition": self.partition,
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
            f"BlockCosines({counted(len(self), 'block')}, {self.n_entries:,} entries, "
            f"by {self.partition}: global {self.global_cosine:.4f} = "
            f"{self.norm_cosine:.4f} × {self.mean_cosine:.4f})"
        )

    @cached_property
    def _block_norms(self) -> Floats:
        """`‖x_b‖` and `‖y_b‖` of each block, of shape (2, B)."""
        return np.sqrt(self.sums[:2])

    @cached_property
    def _norm_products(self) -> Floats:
        """`‖x_b‖‖y_b‖` of each block."""
        x_norms, y_norms = self._block_norms
        return np.asarray(x_norms * y_norms)

    @cached_property
    def cosines(self) -> Floats:
        """Local cosine of each block, NaN where a side is zero."""
        return _cosines(self.sums)

    @cached_property
    def x_norm(self) -> float:
        """Norm of x."""
        return math.sqrt(self.sums[0].sum())

    @cached_property
    def y_norm(self) -> float:
        """Norm of y."""
        return math.sqrt(self.sums[1].sum())

    @cached_property
    def x_profile(self) -> Floats:
        """Norm of each block of x as a share of the norm of x; a unit vector."""
        return np.asarray(self._block_norms[0] / self.x_norm)

    @cached_property
    def y_profile(self) -> Floats:
        """Norm of each block of y as a share of the norm of y; a unit vector."""
        return np.asarray(self._block_norms[1] / self.y_norm)

    @cached_property
    def global_cosine(self) -> float:
        """Cosine of the two whole vectors, from their total sums."""
        return float(_cosines(self.sums.sum(axis=1)))

    @cached_property
    def weights(self) -> Floats:
        """`w_b = ‖x_b‖‖y_b‖/(‖x‖‖y‖)`; they add up to ρ, and are 0 for zero blocks."""
        return np.asarray(self._norm_products / (self.x_norm * self.y_norm))

    @cached_property
    def norm_cosine(self) -> float:
        """Cosine ρ of the two profiles of block norms, in [0, 1]."""
        cosine = self._norm_products.sum() / (self.x_norm * self.y_norm)
        return min(1.0, float(cosine))

    @cached_property
    def contributions(self) -> Floats:
        """`w_b c_b`, what each block adds to the global cosine."""
        return np.asarray(self.weights * np.nan_to_num(self.cosines))

    @cached_property
    def mean_cosine(self) -> float:
        """Mean of the local cosines weighted by `w_b`.

        It is NaN if each block is zero on a side.
        """
        if self.norm_cosine == 0:
            return math.nan
        return float(self.contributions.sum()) / self.norm_cosine

    @cached_property
    def plain_mean_cosine(self) -> float:
        """Unweighted mean of the local cosines, which reports often show alone."""
        if not self.is_defined.any():
            return math.nan
        return float(np.nanmean(self.cosines))

    @property
    def identity_error(self) -> float:
        """`|global − Σ w_b c_b|`, which only rounding makes differ from 0."""
        return abs(self.global_cosine - float(self.contributions.sum()))

    @property
    def n_entries(self) -> int:
        """Entries of all blocks."""
        return int(self.sizes.sum())

    @property
    def blocks_left_out(self) -> int:
        """Number of blocks that a record leaves out."""
        return max(0, len(self) - MAX_LISTED)

    @property
    def most_different(self) -> pd.DataFrame:
        """At most 1,000 blocks, by decreasing gap.

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
        order = largest_first(self.gaps, TIE)[:MAX_LISTED]
        return self._frame(order).reset_index()

    @cached_property
    def is_defined(self) -> Flags:
        """Flags of the blocks that have a local cosine."""
        return ~np.isnan(self.cosines)

    @property
    def zero_blocks(self) -> dict[str, int]:
        """Number of blocks that are zero in x only, in y only and in both."""
        x_is_zero, y_is_zero = self._block_norms == 0
        return {
            "x": int((x_is_zero & ~y_is_zero).sum()),
            "y": int((y_is_zero & ~x_is_zero).sum()),
            "both": int((x_is_zero & y_is_zero).sum()),
        }

    @cached_property
    def norm_gaps(self) -> Floats:
        """`½(‖x_b‖/‖x‖ − ‖y_b‖/‖y‖)²`, each block's part of `1 − ρ`."""
        # Half the squared distance of two unit vectors with cosine ρ is 1 − ρ.
        return np.asarray((self.x_profile - self.y_profile) ** 2 / 2)

    @cached_property
    def direction_gaps(self) -> Floats:
        """`w_b(1 − c_b)`, each block's part of `ρ − global`."""
        # A block that is zero on a side has weight 0 and no cosine.
        cosines = np.where(self.is_defined, self.cosines, 1.0)
        return np.asarray(self.weights * (1 - cosines))

    @property
    def norm_gap(self) -> float:
        """Part that different norms take from the global cosine, in all blocks."""
        return float(self.norm_gaps.sum())

    @property
    def direction_gap(self) -> float:
        """Part that different directions take from the global cosine, in all blocks."""
        return float(self.direction_gaps.sum())

    @cached_property
    def gaps(self) -> Floats:
        """`½‖x_b/‖x‖ − y_b/‖y‖‖²`, each block's part of `1 − global`.

        It is the sum of the block's norm gap and direction gap.
        """
        return self.norm_gaps + self.direction_gaps

    @cached_property
    def without(self) -> Floats:
        """Global cosine without each block; NaN if the rest of a side is zero."""
        # The sums of the blocks before and after are added. Subtracting a large block
        # from the total would leave its rounding error.
        before = np.zeros_like(self.sums)
        before[:, 1:] = np.cumsum(self.sums[:, :-1], axis=1)
        after = np.zeros_like(self.sums)
        after[:, :-1] = np.cumsum(self.sums[:, :0:-1], axis=1)[:, ::-1]
        return _cosines(before + after)

    @property
    def bounds(self) -> tuple[float, float]:
        """Sharp range of the global cosine given the norms, `[ρ min c, ρ max c]`."""
        lowest, highest = self._extremes
        return self.norm_cosine * lowest, self.norm_cosine * highest

    @property
    def bounds_without_norms(self) -> tuple[float, float]:
        """Range of the global cosine for any norms, `[min(0, min c), max(0, max c)]`.

        Both ends are approached as ρ goes to 0 or 1. A single block has no norms to
        vary, so its cosine is the global one.
        """
        lowest, highest = self._extremes
        if self._n_nonzero == 1:
            return lowest, highest
        return min(0.0, lowest), max(0.0, highest)

    @property
    def _extremes(self) -> tuple[float, float]:
        """Smallest and largest local cosine; zeros if no block has one."""
        defined = self.cosines[self.is_defined]
        if len(defined) == 0:
            return 0.0, 0.0
        return float(defined.min()), float(defined.max())

    @property
    def _n_nonzero(self) -> int:
        """Number of blocks that are not zero on both sides."""
        return len(self) - self.zero_blocks["both"]

    def explain(self) -> str:
        """Describe how the local cosines make up the global one, and its range."""
        blocks = (
            f"{counted(len(self), 'block')} (by {self.partition}, "
            f"{self.n_entries:,} entries)"
        )
        if self.norm_cosine == 0:
            text = (
                f"The global cosine is 0, because x or y is zero in each of {blocks}."
            )
        else:
            low, high = self.bounds
            text = (
                f"The global cosine is {self.global_cosine:.4f}: "
                f"{self.norm_cosine:.4f}, the cosine of the block norms, × "
                f"{self.mean_cosine:.4f}, the weighted mean cosine of {blocks}.\n"
                "With these norms, and local cosines from the lowest to the highest of "
                f"these, it can be {down(low, 4):.4f} to {up(high, 4):.4f}."
            )
        zero = self.zero_blocks
        if any(zero.values()):
            text += (
                f"\nZero blocks: {zero['x']} in x only, {zero['y']} in y only, "
                f"{zero['both']} in both."
            )
        return text

    def largest_gaps(
        self, *, share: float | None = 0.9, limit: int = 20
    ) -> pd.DataFrame:
        """List the fewest blocks that make up a share of the gap `1 − global`.

        The blocks of the largest gaps come first.

        Parameters
        ----------
        share : float, optional
            Share of the gap to explain. None lists blocks up to the limit, whether
            there is a gap or not.
        limit : int
            Largest number of blocks.

        Returns
        -------
        pandas.DataFrame
            As `to_frame`, with the share of the gap that each block explains and the
            running share. It is empty if a share is specified and the two vectors agree
            up to rounding.
        """
        if share is not None and (not is_number(share) or not 0 < share <= 1):
            raise must_be("share", "above 0 and at most 1", repr(share))
        limit = as_count(limit, "limit", least=0)
        order = largest_first(self.gaps, TIE)
        total = float(self.gaps.sum())
        # Gaps of rounding have no shares.
        shares = np.zeros(len(order))
        if total > NO_GAP:
            shares = self.gaps[order] / total
        running_shares = np.cumsum(shares)
        if share is None:
            needed = len(order)
        elif total > NO_GAP:
            # The first block at which the running share reaches the given one.
            needed = int(np.searchsorted(running_shares, share - TIE)) + 1
        else:
            needed = 0
        n_listed = min(needed, limit, len(order))
        frame = self._frame(order[:n_listed])
        frame["gap_share"] = shares[:n_listed]
        frame["cumulative_share"] = running_shares[:n_listed]
        return frame

    def _frame(self, blocks: NDArray[np.intp]) -> pd.DataFrame:
        """Tabulate some of the blocks, one row per block."""
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
        names = [self.names[block] for block in blocks]
        index = pd.Index(names, name="block", dtype=object)
        return pd.DataFrame(
            {name: values[blocks] for name, values in columns.items()}, index=index
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per block, in the order of the source."""
        return self._frame(np.arange(len(self)))
