"""Figure 1 of the Netflix paper: equal predictions, different item-item cosines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from embaudit.core.checked import Indices, as_count, require_one_of
from embaudit.core.parallel import parallel_map
from embaudit.core.progress import track
from embaudit.core.words import change_size, counted, percent, two_decimals
from embaudit.report.display import draw_matrix
from embaudit.reproduce.netflix_models import full_rank_checks, measure, solve
from embaudit.reproduce.netflix_remedies import (
    NO_TRAINING_CHANGE,
    REMEDIES,
    remedy_records,
    summarise,
)
from embaudit.reproduce.netflix_setting import CHOICES, SIZES, NetflixSetting
from embaudit.reproduce.pictures import BLUE, PaperFigure, new_picture, rounded

MEASURES = (
    "effective_rank",
    "within_mean",
    "between_mean",
    "auc",
    "top10_in_cluster",
    "overlap_with_first",
)
"""Columns of `NetflixFigure.numbers` that are summarised over seeds."""
TITLES = {
    "g^1/2": r"Eq. 1, $D = g^{\,1/2}$",
    "identity": r"Eq. 1, $D = 1$ (symmetric)",
    "g^-1/2": r"Eq. 1, $D = g^{\,-1/2}$",
    "sigma^-1/2": r"Eq. 1, $D = \sigma^{\,-1/2}$",
    "Eq. 2": "Eq. 2",
}
"""Title of the heatmap of each model."""
COLOUR_MAP = "cividis"
LOWEST_COLOUR = -0.25
"""Cosine at the lower end of the colour scale.

The few lower cosines have the same colour, so that the others differ more.
"""


@dataclass(frozen=True, eq=False)
class NetflixFigure(PaperFigure):
    """The figure in numbers.

    Examples
    --------
    >>> from embaudit.reproduce import NetflixSetting, netflix
    >>> tiny = NetflixSetting(800, 80, rank=10, alpha_product=200.0, alpha_factors=14.0)
    >>> figure = netflix(size=tiny, n_seeds=1)
    >>> figure.seeds, list(figure.tables)
    ((0,), ['numbers', 'overlaps', 'spread', 'remedies', 'full_rank', 'choices'])
    """

    NAME = "netflix"

    setting: NetflixSetting
    """Size of the data, penalties, and choices that the paper leaves open."""
    seeds: tuple[int, ...]
    """Seeds of the data. The picture shows the first one."""
    numbers: pd.DataFrame
    """One row per model, for the first seed: recovery of the clusters, overlap of the
    ten nearest items with those under `D = g^½`, and change of predictions."""
    overlaps: pd.DataFrame
    """Mean share of common ten nearest items, model by model."""
    per_seed: pd.DataFrame
    """`numbers` of every seed."""
    spread: pd.DataFrame
    """Mean, standard deviation, smallest and largest value over the seeds."""
    remedies: pd.DataFrame
    """One row per remedy and kind of similarity, with the best recovery first."""
    remedy_records: pd.DataFrame
    """Recovery of the clusters for every remedy, similarity and seed."""
    full_rank: pd.DataFrame
    """The paper's statements at full rank, checked."""
    choices: pd.DataFrame
    """`numbers` under other answers to what the paper leaves open."""
    cosines: dict[str, NDArray[np.float32]]
    """Cosines of every model, shape (p, p); items by cluster, then by popularity."""
    clusters: Indices
    """Cluster of each item in that order."""
    n_left_out: int
    """Number of items that nobody took."""

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables with one row per model, measure, remedy, statement or choice."""
        return {
            "numbers": self.numbers,
            "overlaps": self.overlaps,
            "spread": self.spread,
            "remedies": self.remedies,
            "full_rank": self.full_rank,
            "choices": self.choices,
        }

    @property
    def _details(self) -> dict[str, Any]:
        return {
            "notes": self.notes,
            "setting": self.setting,
            "seeds": self.seeds,
            "items_left_out": self.n_left_out,
            "remedy_notes": {remedy.name: remedy.note for remedy in REMEDIES},
            "per_seed": self.per_seed,
            "remedy_records": self.remedy_records,
        }

    def __repr__(self) -> str:
        n, p = self.setting.n_users, self.setting.n_items
        seeds = counted(len(self.seeds), "seed")
        return f"NetflixFigure({n:,} users × {p:,} items, {seeds})"

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of its tables."""
        is_eq1 = self.numbers["objective"] == "Eq. 1"
        largest_change = self.numbers.loc[is_eq1, "prediction_change"].max()
        rows: Any = self.numbers.itertuples(index=False)
        models = [
            f"{row.model}: {two_decimals(row.within_mean)} within, "
            f"{two_decimals(row.between_mean)} between, AUC {row.auc:.3f}"
            for row in rows
        ]
        first, eq2 = self.numbers.iloc[0], self.numbers.iloc[-1]
        return (
            "Item-item cosines of one simulated data set "
            f"({self.setting.n_users:,} users, {self.setting.n_items:,} items, "
            f"seed {self.seeds[0]}). The four solutions of Eq. 1 make the same "
            f"predictions (largest difference {change_size(largest_change)}), yet "
            f"their cosines differ: {'; '.join(models)}. The ten nearest items under "
            f"D = {first.model} and under Eq. 2 have {percent(eq2.overlap_with_first)} "
            f"in common. Of the {self.setting.rank} dimensions asked for, Eq. 2 keeps "
            f"{eq2.effective_rank}: only so many singular values exceed its penalty."
        )

    @property
    def notes(self) -> list[str]:
        """Return remarks to read before relying on the numbers."""
        is_unique = self.remedies["unique"]
        # Remedies are sorted by their recovery of the clusters.
        best = self.remedies[is_unique].iloc[0]
        not_unique = self.remedies.loc[~is_unique, "remedy"].drop_duplicates()
        data_changes = ", ".join(not_unique[not_unique != NO_TRAINING_CHANGE])
        return [
            "What the paper leaves open is answered by choices of this library; "
            "'choices' shows how much they matter.",
            f"Eq. 1 keeps {self.setting.rank} dimensions, most of them noise: the last "
            "ones change with every seed.",
            f"Best of the unique: {best.similarity} ({best.remedy}), pinned by "
            f"{best.pinned_by}: AUC {best.auc_low:.4f}.",
            "Not unique, whatever the training data: cosines of "
            f"{NO_TRAINING_CHANGE}, and of Eq. 1 after {data_changes}.",
        ]

    def plot(self) -> Figure:
        """Draw the clusters and the item-item cosines of each model as heatmaps.

        All heatmaps have one colour scale. The first one shows the cosines that would
        recover the clusters perfectly.
        """
        rows: Any = self.numbers.set_index("model")
        with new_picture(13.0, 2.75) as picture:
            axes = picture.subplots(1, 1 + len(self.cosines))
            same_cluster = self.clusters[:, None] == self.clusters
            self._draw_heatmap(axes[0], same_cluster.astype(float), "true clusters")
            axes[0].set_xlabel("same cluster: 1\ndifferent: 0")
            for ax, (model, cosines) in zip(
                axes[1:], self.cosines.items(), strict=True
            ):
                image = self._draw_heatmap(ax, cosines, TITLES[model])
                row = rows.loc[model]
                ax.set_xlabel(
                    f"mean within {two_decimals(row.within_mean)}, "
                    f"between {two_decimals(row.between_mean)}\n"
                    f"AUC of same cluster {row.auc:.3f}"
                )
            picture.colorbar(
                image,
                ax=axes,
                extend="min",
                fraction=0.02,
                pad=0.01,
                label="item-item cosine",
            )
        return picture

    def _draw_heatmap(self, ax: Axes, values: NDArray[Any], title: str) -> Any:
        """Draw a matrix of items by items, and return the image."""
        return draw_matrix(ax, values, title, self.clusters, COLOUR_MAP, LOWEST_COLOUR)

    def plot_remedies(self) -> Figure:
        """Draw how well each remedy recovers the clusters.

        A similarity that is unique is a point. A similarity that a gauge changes has no
        value of its own, so it is the range over the four rescalings.
        """
        point: dict[str, Any] = {
            "marker": "D",
            "color": "black",
            "linestyle": "none",
            "markersize": 5,
        }
        line: dict[str, Any] = {
            "marker": "|",
            "color": BLUE,
            "linewidth": 3,
            "markersize": 9,
        }
        rows: Any = list(self.remedies.itertuples())
        with new_picture(7.2, 0.9 + 0.27 * len(rows)) as picture:
            ax = picture.subplots()
            for y, row in enumerate(rows):
                if row.unique:
                    ax.plot([row.auc_low], [y], zorder=3, **point)
                else:
                    ax.plot([row.auc_low, row.auc_high], [y, y], **line)
            names = [f"{row.remedy} – {row.similarity}" for row in rows]
            ax.set_yticks(range(len(rows)), labels=names)
            ax.invert_yaxis()
            ax.grid(axis="x", color="#cccccc", linewidth=0.5)
            ax.set_axisbelow(True)
            measure_name = "AUC of same cluster"
            if len(self.seeds) > 1:
                measure_name += " (mean over seeds)"
            ax.set_xlabel(measure_name)
            picture.legend(
                [Line2D([], [], **point), Line2D([], [], **line)],
                ["unique", "range over four rescalings with equal predictions"],
                loc="outside lower right",
                ncols=2,
                frameon=False,
            )
        return picture

    def _pictures(self) -> dict[str, Figure]:
        return {"netflix": self.plot(), "netflix_remedies": self.plot_remedies()}


@dataclass(frozen=True, eq=False)
class SeedResult:
    """Numbers of the data of one seed."""

    numbers: pd.DataFrame
    overlaps: pd.DataFrame
    remedy_records: pd.DataFrame
    cosines: dict[str, NDArray[np.float32]]
    """Cosines of every model; empty unless they were to be kept."""
    clusters: Indices
    """Cluster of each item, in the order of the cosines."""
    n_left_out: int


def netflix(
    *, size: str | NetflixSetting = "small", seed: int = 0, n_seeds: int = 5
) -> NetflixFigure:
    """Reproduce Figure 1 of the Netflix paper on simulated data, and test its remedies.

    Parameters
    ----------
    size : {"small", "paper"} or NetflixSetting
        "paper" has the 20,000 users, 1,000 items and penalties of the paper. "small"
        shows the same in seconds.
    seed : int
        Seed of the data in the picture.
    n_seeds : int
        The numbers are repeated for the seeds `seed`, `seed + 1`, …, which gives their
        mean and spread.

    Returns
    -------
    NetflixFigure
        With `numbers`, `spread`, `remedies`, …; `plot()`, `plot_remedies()` and
        `save(out_dir)`.

    Raises
    ------
    InputError
        If the size is unknown, `n_seeds` is below 1, or `seed` is below 0.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", WWW'24 Companion, arXiv 2403.05440, Section 4 and Figure 1.

    Examples
    --------
    >>> tiny = NetflixSetting(800, 80, rank=10, alpha_product=200.0, alpha_factors=14.0)
    >>> figure = netflix(size=tiny, n_seeds=1)
    >>> figure.numbers[["model", "within_mean", "auc"]].round(2)
            model  within_mean   auc
    0       g^1/2         0.54  0.95
    1    identity         0.65  0.99
    2      g^-1/2         0.76  1.00
    3  sigma^-1/2         0.81  1.00
    4       Eq. 2         0.98  1.00
    """
    if isinstance(size, NetflixSetting):
        setting = size
    else:
        require_one_of(size, "size", SIZES)
        setting = SIZES[size]
    as_count(n_seeds, "n_seeds")
    as_count(seed, "seed", least=0)
    seeds = tuple(range(seed, seed + n_seeds))
    fit_seed = partial(_seed_result, setting=setting, shown_seed=seed)
    results = list(track(parallel_map(fit_seed, seeds), "fitting", n_seeds))
    first = results[0]
    per_seed = _with_seeds([result.numbers for result in results], seeds)
    records = _with_seeds([result.remedy_records for result in results], seeds)
    return NetflixFigure(
        setting=setting,
        seeds=seeds,
        numbers=rounded(first.numbers),
        overlaps=rounded(first.overlaps),
        per_seed=rounded(per_seed),
        spread=rounded(spread(per_seed)),
        remedies=rounded(summarise(records)),
        remedy_records=rounded(records),
        full_rank=rounded(full_rank_checks(seed=seed)),
        choices=rounded(unstated_choices(setting, seed)),
        cosines=first.cosines,
        clusters=first.clusters,
        n_left_out=first.n_left_out,
    )


def _seed_result(seed: int, setting: NetflixSetting, shown_seed: int) -> SeedResult:
    """Simulate, fit and measure; keep the large cosines for the seed in the picture."""
    solved = solve(setting.simulate(seed), setting)
    measured = measure(solved)
    return SeedResult(
        numbers=measured.numbers,
        overlaps=measured.overlaps,
        remedy_records=pd.DataFrame(remedy_records(solved, setting)),
        cosines=measured.cosines if seed == shown_seed else {},
        clusters=solved.clusters[solved.order],
        n_left_out=solved.n_left_out,
    )


def _with_seeds(tables: list[pd.DataFrame], seeds: Iterable[int]) -> pd.DataFrame:
    """Put tables below one another, and add the seed of each one as a column."""
    parts = [table.assign(seed=seed) for table, seed in zip(tables, seeds, strict=True)]
    return pd.concat(parts, ignore_index=True)


def spread(per_seed: pd.DataFrame) -> pd.DataFrame:
    """Summarise the numbers of several seeds, one row per model and measure.

    Parameters
    ----------
    per_seed : DataFrame
        One row per model and seed.

    Returns
    -------
    DataFrame
        With `mean`, `smallest`, `largest` and `std`, the standard deviation of these
        seeds (ddof = 0; NaN for one seed, which has no spread).
    """
    long = per_seed.melt("model", MEASURES, var_name="measure")
    groups = long.groupby(["model", "measure"], sort=False)["value"]
    columns = {
        "mean": groups.mean(),
        "std": groups.std(ddof=0).where(groups.size() > 1),
        "smallest": groups.min(),
        "largest": groups.max(),
    }
    return pd.DataFrame(columns).reset_index()


def unstated_choices(setting: NetflixSetting, seed: int) -> pd.DataFrame:
    """Measure the models under other answers to what the paper leaves open.

    One answer is changed at a time. There is one row per choice and model.
    """
    measure_choice = partial(_numbers_of_choice, setting=setting, seed=seed)
    results = parallel_map(measure_choice, CHOICES)
    tables = list(track(results, "varying unstated choices", len(CHOICES)))
    return pd.concat(tables, ignore_index=True)[["choice", "model", *MEASURES]]


def _numbers_of_choice(choice: str, setting: NetflixSetting, seed: int) -> pd.DataFrame:
    """Fit and measure the models of a setting in which one choice is another."""
    varied = replace(setting, **CHOICES[choice])  # type: ignore[arg-type]
    solved = solve(varied.simulate(seed), varied)
    return measure(solved).numbers.assign(choice=choice)
