"""Local and global cosine, and Simpson's paradox: what every part shares, the whole need not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from embaudit._version import __version__
from embaudit.blocks import block_cosines
from embaudit.core.checked import Floats
from embaudit.core.words import two_decimals
from embaudit.errors import must_be
from embaudit.reproduce.drawings import draw_simpson
from embaudit.reproduce.pictures import Picture, rounded, save_files
from embaudit.reversals import Grouping
from embaudit.reversals import simpson as find_reversals

X, Y = (1.0, 1.0), (1.0, 2.0)
"""The example of the source: local cosines 1, global 3/√10."""
LOCAL = (1.0, 0.5, -0.5)
"""The local cosines that the sweep holds fixed."""
SLOPE, SPREAD, STEP = 0.8, 0.45, 2.0
"""Inside a group y rises with x; from one group to the next it falls."""


@dataclass(frozen=True, eq=False)
class SimpsonFigure:
    """The example, the sweep and the reversal in numbers."""

    seed: int
    example: pd.DataFrame
    """One row a block of x = (1, 1), y = (1, 2): local cosine, weight, contribution."""
    global_cosine: float
    norm_cosine: float
    """ρ of the example: the cosine of the two profiles of block norms."""
    sweep: pd.DataFrame
    """Global cosine against the ratio of block norms, for fixed local cosines."""
    points: pd.DataFrame
    """x, y and the group of every point of the reversal."""
    groups: pd.DataFrame
    """One row a group, and one for all together: size, r, slope, and the two terms of the covariance."""

    def __repr__(self) -> str:
        return f"SimpsonFigure(global cosine {self.global_cosine:.4f}, {len(self.points)} points, seed {self.seed})"

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of the tables."""
        last = self.sweep[self.sweep["local_cosine"] == 1.0].iloc[-1]
        whole = self.groups.iloc[-1]
        inside = " and ".join(two_decimals(r) for r in self.groups["r"].iloc[:-1])
        return (
            f"x = (1, 1) and y = (1, 2) agree in every block (local cosines 1), yet their global cosine is "
            f"{self.global_cosine:.4f}. With block norms in ratio {last['ratio']:,.0f} it is "
            f"{last['global_cosine']:.4f}: fixed local cosines do not keep it from 0. In grouped data r is {inside} "
            f"inside the groups and "
            f"{two_decimals(whole['r'])} over all."
        )

    def plot(self) -> Picture:
        """Draw the example, the sweep and the reversal side by side."""
        return draw_simpson(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "figure": "simpson",
            "embaudit_version": __version__,
            "caption": self.caption,
            "seed": self.seed,
            "example": {
                "x": X,
                "y": Y,
                "global_cosine": self.global_cosine,
                "norm_cosine": self.norm_cosine,
                "blocks": self.example,
            },
            "sweep": self.sweep,
            "groups": self.groups,
            "points": self.points,
        }

    def save(self, out_dir: str | Path, *, force: bool = False) -> list[Path]:
        """Write the picture (PNG, PDF), the tables (CSV) and everything together (JSON); see `save_files`."""
        return save_files(
            out_dir,
            pictures={"simpson": self.plot()},
            tables={"simpson_sweep": self.sweep, "simpson_groups": self.groups, "simpson_points": self.points},
            documents={"simpson": self.to_dict()},
            force=force,
        )


def simpson(*, n_points: int = 80, seed: int = 0) -> SimpsonFigure:
    """Reproduce the local and global cosine, drive it to 0, and show a reversal between two groups.

    Global cosine = ρ × weighted mean of the local cosines, where ρ is the cosine of the two profiles of block norms.
    With norms (1, s) against (s, 1) it is `2s/(1 + s²)` times the local cosine: as small as one likes.

    Parameters
    ----------
    n_points : int
        Points of each group, at least 3.
    seed : int
        Of the points.

    Returns
    -------
    SimpsonFigure
        With `example`, `sweep`, `groups` and `points`; `plot()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If `n_points` is below 3.

    References
    ----------
    Su, kexue.fm 9931, for the example; see `embaudit.block_cosines` and `embaudit.simpson` for the tools.

    Examples
    --------
    >>> figure = simpson()
    >>> round(figure.global_cosine, 4), figure.example["cosine"].tolist()
    (0.9487, [1.0, 1.0])
    """
    if n_points < 3:
        raise must_be("n_points", "a whole number >= 3", n_points)
    compared = block_cosines(list(X), list(Y))
    points = two_groups(n_points, seed)
    report = find_reversals(points, x="x", y="y", groups="group", n_permutations=0)
    example = compared.to_frame()[["cosine", "weight", "contribution"]].reset_index()
    return SimpsonFigure(
        seed=seed,
        example=rounded(example.assign(x=X, y=Y)),
        global_cosine=round(compared.global_cosine, 6),
        norm_cosine=round(compared.norm_cosine, 6),
        sweep=rounded(norm_sweep()),
        points=rounded(points),
        groups=rounded(_groups(report["group"])),
    )


def norm_sweep(ratios: Floats | None = None) -> pd.DataFrame:
    """Compute the global cosine of two blocks whose norms are (1, 1/s) and (1/s, 1), for the fixed `LOCAL` cosines.

    Parameters
    ----------
    ratios : array, optional
        The s to try; 1 to 10,000 by default.

    Returns
    -------
    DataFrame
        `local_cosine`, `ratio`, `global_cosine`.

    Examples
    --------
    >>> norm_sweep(np.array([1.0, 2.0]))["global_cosine"].round(3).tolist()
    [1.0, 0.8, 0.5, 0.4, -0.5, -0.4]
    """
    s = np.logspace(0, 4, 41) if ratios is None else ratios
    # ρ is that of the profiles (1, 1/s) and (1/s, 1); the local cosines are the same in both blocks.
    rho = 2 * s / (1 + s**2)
    parts = [pd.DataFrame({"local_cosine": local, "ratio": s, "global_cosine": local * rho}) for local in LOCAL]
    return pd.concat(parts, ignore_index=True)


def two_groups(n_points: int, seed: int) -> pd.DataFrame:
    """Draw two groups in which y rises with x, the second further right and lower.

    Examples
    --------
    >>> two_groups(3, 0)["group"].tolist()
    ['A', 'A', 'A', 'B', 'B', 'B']
    """
    rng = np.random.default_rng(seed)
    parts = []
    for i, name in enumerate("AB"):
        x = rng.standard_normal(n_points)
        y = SLOPE * x + SPREAD * rng.standard_normal(n_points)
        parts.append(pd.DataFrame({"x": x + i * STEP, "y": y - 2 * i * STEP, "group": name}))
    return pd.concat(parts, ignore_index=True)


def _groups(grouping: Grouping) -> pd.DataFrame:
    """One row a group, then all together."""
    columns = ["n", "r", "slope", "covariance_within", "covariance_between"]
    frame = grouping.to_frame()[columns].rename_axis("group").reset_index()
    pooled, covariance = grouping.pooled, grouping.covariance
    whole = ["all", pooled.n, pooled.r, pooled.slope, covariance["within"], covariance["between"]]
    return pd.concat([frame, pd.DataFrame([whole], columns=frame.columns)], ignore_index=True)
