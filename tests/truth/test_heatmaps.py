"""A heatmap shows other cosines only where equal models have them, and says no more than is known."""

from __future__ import annotations

import numpy as np
import pytest
from table import NEVER, NEVER_ALONE, TABLE

from embaudit.auditing.one_sided_wording import is_alone
from embaudit.report.heatmap import heatmap

SHOWN = 1e-6
"""What rounding does not do."""
OWN = ("soft_cap", "normalised")
"""Options that make another model of a row."""
UNSEEN = "rows may hold what no prediction sees of another equal model, and no gauge leads there"
SECOND = "another metric has to be searched"
UNMOVED = {
    "items alike, a user bias": UNSEEN,
    "users alike, an item bias": UNSEEN,
    "parallel items": UNSEEN,
    "parallel vectors": UNSEEN,
    "cosine, room left": SECOND,
    "2 thirty unit rows": SECOND,
}
"""Free ones that none of the models drawn moves, and why."""
ROWS = [name for name, row in TABLE.items() if not any(option in row.options for option in OWN)]


def moved(shown):
    means = [shown.means(panel).get("moved", 0.0) for panel in shown.panels[1:] if panel.note.startswith("same")]
    return max(means, default=0.0)


@pytest.mark.parametrize("name", ROWS)
def test_equal_models_look_different_where_cosines_are_free_and_alike_where_they_are_pinned(name):
    row = TABLE[name]
    shown = heatmap(row.model)
    assert not any("differ" in panel.note for panel in shown.panels)
    if row.truth["right"] == "F" and name not in UNMOVED:
        assert moved(shown) > 0.01
    else:
        assert moved(shown) < SHOWN
    assert [phrase for phrase in (*NEVER, *NEVER_ALONE * is_alone(row.model)) if phrase in shown.caption] == []


def test_rows_left_out_are_there_and_free():
    assert {TABLE[name].truth["right"] for name in UNMOVED} == {"F"}


def test_a_sample_is_called_one_and_everything_is_not():
    model = TABLE["t items share a direction"].model
    n = len(model.right_side.directed)
    some, everything = heatmap(model, n_rows=n - 1, beside=[]), heatmap(model, n_rows=n, beside=[])
    assert f"{n - 1:,} of {n:,} items with a direction, drawn at random" in some.caption
    assert f"all {n:,} items with a direction" in everything.caption
    assert "drawn at random" not in everything.caption
    assert np.isin(some.selection.rows, everything.selection.rows).all()
