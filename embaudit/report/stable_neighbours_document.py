"""The document of neighbours that are listed in several training runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from embaudit.core.words import (
    drawn_of,
    percent_with_interval,
    percents,
    three_decimals,
)
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table, interval_note
from embaudit.serving import StableNeighbours
from embaudit.serving.runs import popularity_text

N_ENTRIES = 30
"""Entries of neighbour lists that are shown; `--out` writes all of them."""


def stable_neighbours_document(stable: StableNeighbours) -> Document:
    """Build the document of the neighbours that stay in several runs.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import stable_neighbours
    >>> rows = np.random.default_rng(0).standard_normal((9, 3))
    >>> model = FactorModel.from_vectors(rows)
    >>> stable = stable_neighbours([model, model], n_neighbours=2)
    >>> print(stable_neighbours_document(stable).tables[0])
    in how many runs a neighbour of the first run is listed (2 nearest items)
    runs  neighbours
       2       100 %
       1         0 %
    """
    return Document(
        f"Which neighbours of the first run do all {stable.n_runs} runs list?",
        stable.paragraphs,
        sections=(
            Section.from_tables(
                "runs",
                "Runs",
                "Neighbours by number of runs",
                frequency_table(stable),
                run_table(stable),
            ),
            Section.from_tables(
                "popularity",
                "Popularity",
                "Neighbours by popularity",
                popularity_table(stable),
            ),
            Section.from_tables(
                "neighbours", "Neighbours", "Neighbours", entry_table(stable)
            ),
        ),
        facts=_facts(stable),
    )


def frequency_table(stable: StableNeighbours) -> Table:
    """Tabulate how many neighbours of the first run are listed in how many runs."""
    records = stable.frequencies()
    # The shares are parts of a whole, so the written figures add up to 100 %.
    shares = percents([record["share"] for record in records])
    rows = [
        (record["n_runs"], share) for record, share in zip(records, shares, strict=True)
    ]
    return Table(
        "in how many runs a neighbour of the first run is listed",
        pd.DataFrame(rows, columns=["runs", "neighbours"]),
        f"{stable.n} nearest {stable.row_title}s",
        formats={"runs": str, "neighbours": str},
    )


def run_table(stable: StableNeighbours) -> Table:
    """Tabulate how many neighbours of the first run each run lists."""
    rows = [(record["run"], _share_text(record, "share")) for record in stable.by_run()]
    note = interval_note(text for _, text in rows)
    return Table(
        "share of the first run's neighbours that each run lists",
        pd.DataFrame(rows, columns=["run", "neighbours"]),
        note,
        formats={"run": str, "neighbours": str},
        has_intervals=bool(note),
    )


def popularity_table(stable: StableNeighbours) -> Table:
    """Tabulate the stable share of rows of low, middle and high popularity."""
    rows = [
        (
            popularity_text(stable.popularity_measure, record["least"], record["most"]),
            record["n_lists"],
            _share_text(record, "stable_share"),
        )
        for record in stable.by_popularity()
    ]
    titles = f"{stable.row_title}s"
    note = interval_note(text for *_, text in rows)
    return Table(
        f"share of the neighbours that all {stable.n_runs} runs list",
        pd.DataFrame(rows, columns=[titles, "lists", "stable neighbours"]),
        note,
        formats={"stable neighbours": str},
        has_intervals=bool(note),
    )


def _share_text(record: Mapping[str, Any], name: str) -> str:
    """Write a share of a record with its interval."""
    return percent_with_interval(record[name], (record["ci_low"], record["ci_high"]))


def entry_table(stable: StableNeighbours) -> Table:
    """List the first neighbours of the first run, with their numbers of runs."""
    title = stable.row_title
    records = stable.to_frame()
    row_column, neighbour_column = "id", "neighbour"
    if stable.names is not None:
        row_column, neighbour_column = "title", "neighbour_title"
    frame = pd.DataFrame(
        {
            title: records[row_column],
            "neighbour": records[neighbour_column],
            "place": records["place"],
            "runs": records["runs"],
            "mean cosine": records["mean_cosine"],
            "standard deviation": records["sd_cosine"],
        }
    )
    return Table(
        "neighbours of the first run, and number of runs that list them",
        frame,
        formats={
            title: str,
            "neighbour": str,
            "place": str,
            "runs": str,
            "mean cosine": three_decimals,
            "standard deviation": three_decimals,
        },
        essential=("neighbour", "runs", "mean cosine"),
    ).head(N_ENTRIES)


def _facts(stable: StableNeighbours) -> tuple[tuple[str, str], ...]:
    """Return the numbers of runs, rows and lists that were compared."""
    title = stable.row_title
    facts = [
        ("runs", str(stable.n_runs)),
        (f"{title}s that all runs hold", f"{stable.n_shared:,}"),
        ("compared by", stable.similarity),
        ("lists", f"of {drawn_of(len(stable.rows), stable.n_rows, title)}"),
    ]
    if stable.n_without_direction:
        skipped = f"{stable.n_without_direction:,}"
        facts.append((f"{title}s without a cosine in a run", skipped))
    if stable.n_duplicates:
        facts.append(("duplicates in all runs", f"{stable.n_duplicates:,}"))
    return tuple(facts)
