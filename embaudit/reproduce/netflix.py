"""Figure 1 of the Netflix paper: one data set, equal predictions, very different item-item cosines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embaudit.core.checked import Indices, as_count, require_one_of
from embaudit.core.parallel import parallel_map
from embaudit.core.plain import plain_dict
from embaudit.core.progress import track
from embaudit.core.words import change_size, counted, percent, two_decimals
from embaudit.report.display import draw_matrix
from embaudit.reproduce.netflix_models import (
    NO_TRAINING_CHANGE,
    REMEDIES,
    full_rank_checks,
    measure,
    remedy_records,
    solve,
    summarise,
)
from embaudit.reproduce.netflix_setting import CHOICES, SIZES, NetflixSetting
from embaudit.reproduce.pictures import (
    BLUE,
    PaperFigure,
    Picture,
    new_figure,
    rounded,
    styled,
)

MEASURES = (
    "effective_rank",
    "within_mean",
    "between_mean",
    "auc",
    "top10_in_cluster",
    "overlap_with_first",
)
TITLES = {
    "g^1/2": r"Eq. 1, $D = g^{\,1/2}$",
    "identity": r"Eq. 1, $D = 1$ (symmetric)",
    "g^-1/2": r"Eq. 1, $D = g^{\,-1/2}$",
    "sigma^-1/2": r"Eq. 1, $D = \sigma^{\,-1/2}$",
    "Eq. 2": "Eq. 2",
}
SCALE = ("cividis", -0.25)
"""Cosines below are drawn alike: they are few, and the scale serves the many."""


@dataclass(frozen=True, eq=False)
class NetflixFigure(PaperFigure):
    """The figure in numbers: tables a researcher can check, then pictures of them."""

    NAME = "netflix"
    TABLES = ("numbers", "overlaps", "spread", "remedies", "full_rank", "choices")

    setting: NetflixSetting
    seeds: tuple[int, ...]
    """The first is the one in the picture."""
    numbers: pd.DataFrame
    """One row a model, of the first seed: cluster recovery, overlap of the top 10 with `D = g^½`, prediction change."""
    overlaps: pd.DataFrame
    """Mean share of common top-10 neighbours, model by model."""
    per_seed: pd.DataFrame
    """`numbers` of every seed."""
    spread: pd.DataFrame
    """Mean, standard deviation, smallest and largest value over the seeds."""
    remedies: pd.DataFrame
    """Scores of each remedy on the same data: one row a remedy and kind of similarity, best first."""
    remedy_records: pd.DataFrame
    """Scores of every remedy, similarity and seed."""
    full_rank: pd.DataFrame
    """The exact statements at full rank."""
    choices: pd.DataFrame
    """`numbers` under other answers to what the paper leaves open."""
    cosines: dict[str, NDArray[np.float32]]
    """(p, p) cosines of every model, items by cluster, then by descending popularity."""
    clusters: Indices
    """(p,) clusters in that order."""
    n_left_out: int
    """Number of items without users."""

    remedy_notes: ClassVar[dict[str, str]] = {
        remedy.name: remedy.note for remedy in REMEDIES
    }

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "figure": self.NAME,
                "embaudit_version": self.embaudit_version,
                "caption": self.caption,
                "notes": self.notes,
                "setting": self.setting,
                "seeds": self.seeds,
                "items_left_out": self.n_left_out,
                "remedy_notes": self.remedy_notes,
                "numbers": self.numbers,
                "overlaps": self.overlaps,
                "spread": self.spread,
                "remedies": self.remedies,
                "full_rank": self.full_rank,
                "choices": self.choices,
                "per_seed": self.per_seed,
                "remedy_records": self.remedy_records,
            }
        )

    def __repr__(self) -> str:
        n, p = self.setting.n_users, self.setting.n_items
        return f"NetflixFigure({n:,} users × {p:,} items, {counted(len(self.seeds), 'seed')})"

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of the table."""
        first, second = self.numbers.iloc[0], self.numbers.iloc[-1]
        equal = self.numbers.loc[
            self.numbers["objective"] == "Eq. 1", "prediction_change"
        ].max()
        rows: Any = self.numbers.itertuples(index=False)
        parts = "; ".join(
            f"{row.model}: {two_decimals(row.within_mean)} within, {two_decimals(row.between_mean)} between, "
            f"AUC {row.auc:.3f}"
            for row in rows
        )
        size = f"{self.setting.n_users:,} users, {self.setting.n_items:,} items, seed {self.seeds[0]}"
        return (
            f"Item-item cosines of one simulated data set ({size}). The four solutions of Eq. 1 make the same "
            f"predictions (largest difference {change_size(equal)}), yet their cosines differ: {parts}. The ten nearest items "
            f"under D = {first.model} and under Eq. 2 have {percent(second.overlap_with_first)} in common. Of the "
            f"{self.setting.rank} dimensions asked for, Eq. 2 keeps {second.effective_rank}: only so many singular "
            "values exceed its penalty."
        )

    @property
    def notes(self) -> list[str]:
        """Return remarks to know before relying on the numbers."""
        best = self.remedies[self.remedies["unique"]].iloc[0]
        free = self.remedies.loc[~self.remedies["unique"], "remedy"].drop_duplicates()
        changed = ", ".join(free[free != NO_TRAINING_CHANGE])
        return [
            "What the paper leaves open is answered by choices of this library; 'choices' shows how much they matter.",
            f"Eq. 1 keeps {self.setting.rank} dimensions, most of them noise: the last ones change with every seed.",
            f"Best of the unique: {best.similarity} ({best.remedy}), pinned by {best.pinned_by}: "
            f"AUC {best.auc_low:.4f}.",
            f"Not unique, whatever the training data: cosines of {NO_TRAINING_CHANGE}, and of Eq. 1 after {changed}.",
        ]

    @styled
    def plot(self) -> Any:
        """Draw heatmaps of item-item cosines in one row, on one colour scale, after that of the clusters."""
        figure = new_figure(13.0, 2.75)
        axes = figure.subplots(1, len(self.cosines) + 1)
        # The first panel is what a perfect similarity would show; all panels share one scale, so that colours compare.
        truth = (self.clusters[:, None] == self.clusters).astype(np.float32)
        draw_matrix(axes[0], truth, "true clusters", self.clusters, *SCALE)
        axes[0].set_xlabel("same cluster: 1\ndifferent: 0")
        rows: Any = self.numbers.set_index("model")
        for ax, (name, values) in zip(axes[1:], self.cosines.items(), strict=True):
            image = draw_matrix(
                ax, values, TITLES.get(name, name), self.clusters, *SCALE
            )
            row = rows.loc[name]
            means = f"mean within {two_decimals(row.within_mean)}, between {two_decimals(row.between_mean)}"
            ax.set_xlabel(f"{means}\nAUC of same cluster {row.auc:.3f}")
        figure.colorbar(
            image,
            ax=axes,
            extend="min",
            fraction=0.02,
            pad=0.01,
            label="item-item cosine",
        )
        return figure

    @styled
    def plot_remedies(self) -> Any:
        """Draw how well each remedy recovers the clusters: a point where it is unique, else its range over gauges."""
        from matplotlib.lines import Line2D

        point: Any = {
            "marker": "D",
            "color": "black",
            "linestyle": "none",
            "markersize": 5,
        }
        line: Any = {"marker": "|", "color": BLUE, "linewidth": 3, "markersize": 9}
        figure = new_figure(7.2, 0.9 + 0.27 * len(self.remedies))
        ax = figure.subplots()
        rows: Any = list(self.remedies.itertuples())
        for y, row in enumerate(rows):
            # A similarity that a gauge moves has no value of its own, only the range over the four rescalings.
            ends = [row.auc_low] if row.unique else [row.auc_low, row.auc_high]
            ax.plot(
                ends, [y] * len(ends), **(point | {"zorder": 3} if row.unique else line)
            )
        ax.set_yticks(
            range(len(rows)),
            labels=[f"{row.remedy} – {row.similarity}" for row in rows],
        )
        ax.invert_yaxis()
        ax.grid(axis="x", color="#cccccc", linewidth=0.5)
        ax.set_axisbelow(True)
        ax.set_xlabel(
            "AUC of same cluster" + " (mean over seeds)" * (len(self.seeds) > 1)
        )
        handles = [Line2D([], [], **point), Line2D([], [], **line)]
        labels = ["unique", "range over four rescalings with equal predictions"]
        figure.legend(
            handles, labels, loc="outside lower right", ncols=2, frameon=False
        )
        return figure

    def _pictures(self) -> dict[str, Picture]:
        return {"netflix": self.plot(), "netflix_remedies": self.plot_remedies()}


def netflix(
    *, size: str | NetflixSetting = "small", seed: int = 0, n_seeds: int = 5
) -> NetflixFigure:
    """Reproduce Figure 1 of the Netflix paper on simulated data, and test the remedies it names.

    Parameters
    ----------
    size : {"small", "paper"} or NetflixSetting
        "paper" has its 20,000 users, 1,000 items and penalties; "small" shows the same in seconds.
    seed : int
        Of the data in the picture.
    n_seeds : int
        The numbers are repeated for the seeds `seed`, `seed + 1`, …, to give their mean and spread.

    Returns
    -------
    NetflixFigure
        With `numbers`, `spread`, `remedies`, …; `plot()`, `plot_remedies()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If the size is unknown, `n_seeds` below 1, or `seed` below 0.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", WWW'24 Companion,
    arXiv 2403.05440, Section 4 and Figure 1.

    Examples
    --------
    >>> little = NetflixSetting(800, 80, rank=10, alpha_product=200.0, alpha_factors=14.0)
    >>> figure = netflix(size=little, n_seeds=1)
    >>> figure.numbers[["model", "within_mean", "auc"]].round(2)
            model  within_mean   auc
    0       g^1/2         0.54  0.95
    1    identity         0.65  0.99
    2      g^-1/2         0.76  1.00
    3  sigma^-1/2         0.81  1.00
    4       Eq. 2         0.98  1.00
    """
    if not isinstance(size, NetflixSetting):
        require_one_of(size, "size", SIZES)
    setting = size if isinstance(size, NetflixSetting) else SIZES[size]
    as_count(n_seeds, "n_seeds")
    seeds = tuple(range(as_count(seed, "seed", least=0), seed + n_seeds))

    def run(run_seed: int) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
        """Compute the tables of one seed, and what only the picture needs: cosines are large."""
        solved = solve(setting.simulate(run_seed), setting)
        numbers, overlaps, cosines = measure(solved)
        records = pd.DataFrame(remedy_records(solved, setting))
        tables = {"numbers": numbers, "overlaps": overlaps, "records": records}
        if run_seed != seed:
            return tables, {}
        clusters = solved.clusters[solved.order]
        return tables, {
            "cosines": cosines,
            "clusters": clusters,
            "n_left_out": solved.n_left_out,
        }

    runs = list(track(parallel_map(run, seeds), "fitting", n_seeds))
    # The picture and its tables are those of the first seed; the others give the spread.
    (first, fields), each = (
        runs[0],
        list(zip(seeds, (tables for tables, _ in runs), strict=True)),
    )
    numbers, records = (
        pd.concat(
            [tables[name].assign(seed=run_seed) for run_seed, tables in each],
            ignore_index=True,
        )
        for name in ("numbers", "records")
    )
    tables = {
        "numbers": first["numbers"],
        "overlaps": first["overlaps"],
        "per_seed": numbers,
        "spread": spread(numbers),
        "remedies": summarise(records),
        "remedy_records": records,
        "full_rank": full_rank_checks(seed=seed),
        "choices": unstated_choices(setting, seed),
    }
    fields |= {name: rounded(table) for name, table in tables.items()}
    return NetflixFigure(setting=setting, seeds=seeds, **fields)


def spread(tables: pd.DataFrame) -> pd.DataFrame:
    """Summarise the numbers of several seeds, one row a model and measure.

    Parameters
    ----------
    tables : DataFrame
        The numbers of all seeds below one another.

    Returns
    -------
    DataFrame
        With `mean`, `std` (of the population, not a sample: ddof = 0; NaN for one seed), `smallest` and `largest`.
    """
    long = tables.melt("model", MEASURES, var_name="measure")
    groups = long.groupby(["model", "measure"], sort=False)["value"]
    # One seed has no spread: NaN, where ddof = 0 would say 0.
    std = groups.std(ddof=0).where(groups.size() > 1)
    columns = {
        "mean": groups.mean(),
        "std": std,
        "smallest": groups.min(),
        "largest": groups.max(),
    }
    return pd.DataFrame(columns).reset_index()


def unstated_choices(setting: NetflixSetting, seed: int) -> pd.DataFrame:
    """Measure the models under other answers to what the paper leaves open, one row a choice and model."""

    def variant(name: str) -> pd.DataFrame:
        # One answer is changed at a time; the seed, sizes and penalties stay.
        varied = replace(setting, **CHOICES[name])  # type: ignore[arg-type]
        return measure(solve(varied.simulate(seed), varied))[0].assign(choice=name)

    work = parallel_map(variant, CHOICES)
    frame = pd.concat(
        list(track(work, "varying unstated choices", len(CHOICES))), ignore_index=True
    )
    return frame[["choice", "model", *MEASURES]]
