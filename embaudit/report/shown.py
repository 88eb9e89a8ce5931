"""Which sentences and tables are shown of a result of each type."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from embaudit.auditing import Audit
from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.evaluation import Evaluation
from embaudit.foundation.words import counted
from embaudit.report.comparison import comparison_content
from embaudit.report.content import Content
from embaudit.report.grid import Grid
from embaudit.report.summary import audit_content
from embaudit.reversals import SimpsonReport

if TYPE_CHECKING:
    from embaudit.foundation.results import Result

ROWS = 20
"""Rows of a table that a page shows."""
FINDINGS = 10
"""Findings of a Simpson report that a page spells out."""
NOTES = 20
"""Notes that a page shows."""
MEASURE_TITLES = ("precision", "AUC", "NDCG")
"""Measures in the order of `evaluation.measures.MEASURES`."""
SIMPSON = ("kind", "n_groups", "r_pooled", "r_within", "effect", "p_adjusted", "share_reversed", "significant")


@singledispatch
def shown(result: Result) -> Content:
    """Collect what is shown of a result: its words and its table, where nothing more is registered for its type.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> [type(part).__name__ for part in shown(movement(model, model)).parts]
    ['str', 'Grid']
    """
    title, frame = type(result).__name__, result.to_frame()
    note = f"the first {ROWS} of {len(frame):,} rows" if len(frame) > ROWS else ""
    return Content(title, (*result.explain().splitlines(), Grid.from_frame(frame.head(ROWS), title, note)))


def evaluation_grid(found: Evaluation) -> Grid:
    """Tabulate similarities against measures, with what chance leaves open; marked where it is no chance.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> grid = evaluation_grid(evaluate_similarities(FactorModel.from_vectors(items), ["a", "a", "b", "b"], n=1))
    >>> grid.headings, len(grid.rows)
    (('similarity', 'precision', 'AUC', 'NDCG'), 4)
    """
    records = found.records()
    cells: dict[str, list[str]] = {}
    for record in records:
        surely = not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]
        margin = max(record["value"] - record["ci_low"], record["ci_high"] - record["value"])
        cells.setdefault(record["similarity"], []).append(f"{record['value']:.3f} ± {margin:.3f}{' *'[surely]}")
    rows = tuple((name, *values) for name, values in cells.items())
    note = f"{found.n} nearest of {counted(len(found.queries), found.title)}; * not the cosine's, beyond chance"
    return Grid("how well each finds those that share a label", note, ("similarity", *MEASURE_TITLES), rows)


def thirds_grid(found: Evaluation) -> Grid:
    """Tabulate the precision of each similarity on the queries with few, some and many interactions."""
    records = found.by_count()
    columns = {one["third"]: f"{one['third']} ({one['least']:,.0f} to {one['most']:,.0f})" for one in records}
    cells: dict[str, list[str]] = {}
    for one in records:
        cells.setdefault(one["similarity"], []).append(f"{one['precision']:.3f}")
    rows = tuple((name, *values) for name, values in cells.items())
    title = f"precision for {found.title}s with few, some and many interactions"
    return Grid(title, "a third of the queries each", ("similarity", *columns.values()), rows)


@shown.register
def _(found: Evaluation) -> Content:
    title = f"which similarity serves these {found.title}s best"
    grids = [grid for grid in (evaluation_grid(found), thirds_grid(found)) if grid.rows]
    return Content(title, (found.explain(), *grids, Grid.from_frame(found.to_frame(), title)))


@shown.register
def _(found: BlockCosines) -> Content:
    frame = found.largest_gaps(share=None)
    note = f"{len(frame)} of {counted(len(found), 'block')}" if len(frame) < len(found) else ""
    columns = frame.drop(columns=["x_profile", "y_profile"])
    essential = ("cosine", "weight", "contribution", "gap_share")
    grid = Grid.from_frame(columns, "blocks by their part of the gap to 1", note, essential=essential)
    return Content("local and global cosine", (*found.explain().splitlines(), grid), found.notes)


@shown.register
def _(found: SimpsonReport) -> Content:
    lines = found.explain(limit=FINDINGS).splitlines()
    rows = f"{found.y} on {found.x}, {counted(found.pooled.n, 'row')}"
    beyond = f"{sum(grouping.is_significant for grouping in found.findings)} of them significant"
    grid = Grid.from_frame(
        found.to_frame()[list(SIMPSON)],
        rows,
        f"{counted(len(found.findings), 'finding')}, {beyond}",
        essential=SIMPSON[:6],
    )
    return Content(rows, (*lines, grid), tuple(found.listed_notes(limit=NOTES)))


shown.register(Audit, audit_content)
shown.register(Comparison, comparison_content)
