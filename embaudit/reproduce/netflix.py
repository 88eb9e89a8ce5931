"""Figure 1 of the Netflix paper: one data set, equal predictions, very different item-item cosines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embaudit._version import __version__
from embaudit.core.checked import Indices
from embaudit.core.parallel import parallel_map
from embaudit.core.progress import track
from embaudit.core.words import counted, two_decimals
from embaudit.errors import InputError, escaped, must_be
from embaudit.reproduce.drawings import draw_netflix, draw_remedies
from embaudit.reproduce.netflix_models import (
    NO_TRAINING_CHANGE,
    REMEDIES,
    full_rank_checks,
    measure,
    remedy_records,
    solve,
    summarise,
)
from embaudit.reproduce.netflix_setting import CHOICES, NetflixSetting, OwnInteractions, as_setting
from embaudit.reproduce.pictures import Picture, rounded, save_files

MEASURES = ("effective_rank", "within_mean", "between_mean", "auc", "top10_in_cluster", "overlap_with_first")
TABLES = ("numbers", "overlaps", "spread", "remedies", "full_rank", "choices")
"""Tables written as CSV of their own."""


@dataclass(frozen=True, eq=False)
class NetflixFigure:
    """The figure in numbers: tables a researcher can check, then pictures of them."""

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
    own: OwnInteractions | None = None
    """The data, where they are one's own."""

    def __repr__(self) -> str:
        if self.own is not None:
            return f"NetflixFigure({self.own!r})"
        n, p = self.setting.n_users, self.setting.n_items
        return f"NetflixFigure({n:,} users × {p:,} items, {counted(len(self.seeds), 'seed')})"

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of the table."""
        first, second = self.numbers.iloc[0], self.numbers.iloc[-1]
        equal = self.numbers.loc[self.numbers["objective"] == "Eq. 1", "prediction_change"].max()
        parts = "; ".join(
            f"{row.model}: {two_decimals(row.within_mean)} within, {two_decimals(row.between_mean)} between, "
            f"AUC {row.auc:.3f}"
            for row in _rows(self.numbers)
        )
        return (
            f"{self._subject} The four solutions of Eq. 1 make the same predictions (largest difference "
            f"{equal:.1e}), yet their cosines differ: {parts}. The ten nearest items under D = {first.model} and "
            f"under Eq. 2 have {second.overlap_with_first:.0%} in common. Of the {self.setting.rank} dimensions asked "
            f"for, Eq. 2 keeps {second.effective_rank}: only so many singular values exceed its penalty."
        )

    @property
    def _subject(self) -> str:
        if self.own is None:
            size = f"{self.setting.n_users:,} users, {self.setting.n_items:,} items, seed {self.seeds[0]}"
            return f"Item-item cosines of one simulated data set ({size})."
        data, truth = (escaped(str(each)) for each in (self.setting.data, self.setting.truth))
        return (
            f"Item-item cosines of {data}: {self.own.explain()}. An item's cluster is the first of its labels in "
            f"{truth}; {self.own.n_of_several:,} of them have more."
        )

    @property
    def notes(self) -> list[str]:
        """Return remarks to know before relying on the numbers."""
        best = self.remedies[self.remedies["unique"]].iloc[0]
        free = self.remedies.loc[~self.remedies["unique"], "remedy"].drop_duplicates()
        changed = free[free != NO_TRAINING_CHANGE].tolist()
        return [
            *self._notes_on_data,
            f"Best of the unique: {best.similarity} ({best.remedy}), pinned by {best.pinned_by}: "
            f"AUC {best.auc_low:.4f}.",
            f"Not unique, whatever the training data: cosines of {NO_TRAINING_CHANGE}, and of Eq. 1 after "
            + ", ".join(changed)
            + ".",
        ]

    @property
    def _notes_on_data(self) -> list[str]:
        if self.own is not None:
            return [
                "Labels that overlap are no clusters: an item shares labels with many outside its own.",
                f"Left out: {counted(self.own.n_unlabelled, 'item')} without a label.",
            ]
        return [
            "What the paper leaves open is answered by choices of this library; 'choices' shows how much they matter.",
            f"Eq. 1 keeps {self.setting.rank} dimensions, most of them noise: the last ones change with every seed.",
        ]

    def plot(self) -> Picture:
        """Draw the row of heatmaps."""
        labels = () if self.own is None else self.own.labels
        return draw_netflix(self.cosines, self.clusters, self.numbers, labels)

    def plot_remedies(self) -> Picture:
        """Draw how well each remedy recovers the clusters, and how far a gauge can move it."""
        return draw_remedies(self.remedies, is_mean=len(self.seeds) > 1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the cosines, ready for JSON."""
        return {
            "figure": "netflix",
            "embaudit_version": __version__,
            "caption": self.caption,
            "notes": self.notes,
            "setting": self.setting.to_dict(),
            "own_data": None if self.own is None else self.own.to_dict(),
            "seeds": list(self.seeds),
            "items_left_out": self.n_left_out,
            "remedy_notes": {remedy.name: remedy.note for remedy in REMEDIES},
            **{name: getattr(self, name) for name in (*TABLES, "per_seed", "remedy_records")},
        }

    def save(self, out_dir: str | Path, *, force: bool = False) -> list[Path]:
        """Write two pictures (PNG, PDF), the tables (CSV) and everything together (JSON); see `save_files`."""
        tables = {name: getattr(self, name) for name in TABLES}
        return save_files(
            out_dir,
            pictures={"netflix": self.plot(), "netflix_remedies": self.plot_remedies()},
            tables={"netflix" if name == "numbers" else f"netflix_{name}": table for name, table in tables.items()},
            documents={"netflix": self.to_dict()},
            force=force,
        )


def netflix(*, size: str | NetflixSetting = "small", seed: int = 0, n_seeds: int | None = None) -> NetflixFigure:
    """Reproduce Figure 1 of the Netflix paper on simulated data or your own, and test the remedies it names.

    Parameters
    ----------
    size : {"small", "paper"} or NetflixSetting
        "paper" has its 20,000 users, 1,000 items and penalties; "small" shows the same in seconds.
        A setting of your own may name a table of interactions, which then takes the place of simulated data.
    seed : int
        Of the data in the picture.
    n_seeds : int, optional
        The numbers are repeated for the seeds `seed`, `seed + 1`, …, to give their mean and spread; five by default,
        none of a table.

    Returns
    -------
    NetflixFigure
        With `numbers`, `spread`, `remedies`, …; `plot()`, `plot_remedies()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If the size is unknown, `n_seeds` below 1 or given with a table, or the table cannot be used.

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
    setting = as_setting(size)
    if setting.data is not None and n_seeds is not None:
        raise InputError("n_seeds must be left out with data, which are not drawn.")
    n_seeds = (5 if setting.data is None else 1) if n_seeds is None else n_seeds
    if n_seeds < 1:
        raise must_be("n_seeds", "a whole number >= 1", n_seeds)
    seeds = tuple(range(seed, seed + n_seeds))
    work = parallel_map(lambda run_seed: _tables_of(setting, run_seed, with_cosines=run_seed == seed), seeds)
    runs = list(track(work, "fitting", n_seeds))
    first = runs[0]
    numbers, records = (
        pd.concat(
            [run[name].assign(seed=run_seed) for run_seed, run in zip(seeds, runs, strict=True)], ignore_index=True
        )
        for name in ("numbers", "remedies")
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
    fields: dict[str, Any] = {name: rounded(table) for name, table in tables.items()}
    fields |= {name: first[name] for name in ("cosines", "clusters", "n_left_out", "own")}
    return NetflixFigure(setting=setting, seeds=seeds if first["own"] is None else (), **fields)


def _tables_of(setting: NetflixSetting, seed: int, *, with_cosines: bool) -> dict[str, Any]:
    """Compute the tables and clusters of one seed, and keep the cosines of the one in the picture: they are large."""
    data = setting.interactions(seed)
    solved = solve(data, setting)
    numbers, overlaps, cosines = measure(solved)
    return {
        "numbers": numbers,
        "overlaps": overlaps,
        "remedies": pd.DataFrame(remedy_records(solved, setting)),
        "cosines": cosines if with_cosines else None,
        "clusters": solved.clusters[solved.order],
        "n_left_out": solved.n_left_out,
        "own": data if isinstance(data, OwnInteractions) else None,
    }


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    return frame.itertuples(index=False)


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
    # One seed has no spread to show.
    std = groups.std(ddof=0).where(groups.size() > 1)
    columns = {"mean": groups.mean(), "std": std, "smallest": groups.min(), "largest": groups.max()}
    return pd.DataFrame(columns).reset_index()


def unstated_choices(setting: NetflixSetting, seed: int) -> pd.DataFrame:
    """Measure the models under other answers to what the paper leaves open, one row a choice and model.

    Data of one's own leave nothing open.
    """
    columns = ["choice", "model", *MEASURES]
    if setting.data is not None:
        return pd.DataFrame(columns=columns)

    def one(name: str) -> pd.DataFrame:
        varied = replace(setting, **CHOICES[name])  # type: ignore[arg-type]
        return measure(solve(varied.simulate(seed), varied))[0].assign(choice=name)

    work = parallel_map(one, CHOICES)
    frame = pd.concat(list(track(work, "varying unstated choices", len(CHOICES))), ignore_index=True)
    return frame[columns]
