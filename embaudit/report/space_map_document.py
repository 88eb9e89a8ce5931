"""The document of a map between the spaces of two encoders."""

from __future__ import annotations

import pandas as pd

from embaudit.core.words import counted, percent_with_interval
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table, interval_note
from embaudit.serving import SpaceMap

MAP_TITLES = {"none": "no map", "rotation": "rotation", "linear": "linear map"}
"""Names of the maps in the table."""


def space_map_document(space_map: SpaceMap) -> Document:
    """Build the document of a map between two encoders.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import space_map
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> model = FactorModel.from_vectors(rows)
    >>> print(space_map_document(space_map(model, model)).tables[0])
    share of the new encoder's top 6 that is found (95 % intervals in brackets)
    by          mapped items           mapped queries         mean angle  nine in ...
    no map      100 % (85 % to 100 %)                      –  –           –
    rotation    100 % (85 % to 100 %)  100 % (85 % to 100 %)  0.0°        0.0°
    linear map  100 % (85 % to 100 %)  100 % (85 % to 100 %)  0.0°        0.0°
    """
    return Document(
        "Can a map bring the old vectors into the new space?",
        (space_map.conclusion, *space_map.details),
        sections=(Section.from_tables("maps", "Maps", "Maps", map_table(space_map)),),
        facts=(
            (f"{space_map.title}s of both encoders", f"{space_map.n_paired:,}"),
            ("columns", f"{space_map.columns[0]:,} and {space_map.columns[1]:,}"),
            ("fitted to", counted(space_map.n_fitted, space_map.title)),
            ("judged by", counted(space_map.n_judged, space_map.title)),
        ),
    )


def map_table(space_map: SpaceMap) -> Table:
    """Tabulate the lists and angles of each map."""
    rows = []
    for record in space_map.records():
        cells = [MAP_TITLES[record["map"]]]
        for name in ("mapped_rows", "mapped_queries"):
            if record[name] is None:
                cells.append("–")
                continue
            interval = (record[f"{name}_ci_low"], record[f"{name}_ci_high"])
            cells.append(percent_with_interval(record[name], interval))
        for name in ("mean_angle", "covering_angle"):
            angle = record[name]
            cells.append("–" if angle is None else f"{angle:.1f}°")
        rows.append(cells)
    columns = [
        "by",
        f"mapped {space_map.title}s",
        "mapped queries",
        "mean angle",
        "nine in ten within",
    ]
    note = interval_note(cell for cells in rows for cell in cells)
    return Table(
        f"share of the new encoder's top {space_map.n} that is found",
        pd.DataFrame(rows, columns=columns),
        note,
        formats=dict.fromkeys(columns, str),
        has_intervals=bool(note),
        is_whole=True,
    )
