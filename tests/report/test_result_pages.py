"""The pages of comparisons, evaluations, blocks and Simpson reports."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browsing import LOADED, text_of
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.io import Intake, Part
from embaudit.report.document import Origin
from embaudit.report.documents import document
from embaudit.report.page import page

MEASURES = ("precision", "auc", "ndcg")
INTAKE = Intake(
    "npz", ("m.npz",), (Part("Q", "right", (7, 2)),), (Part("<b>seed", ""),)
)
ORIGIN = Origin(
    (("<i>m.npz", INTAKE), ("n.npz", INTAKE)), ("judged by <u>: all",), seed=7
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_loads_nothing_runs_nothing_and_escapes_every_name(kind):
    html = page(shown(kind), "</title><script>", ORIGIN)
    assert "default-src 'none'" in html
    assert not re.search(LOADED, html)
    assert "<script" not in html
    assert "\u202e" not in html
    for part in ("<b>seed", "<i>m.npz", "<u>"):
        assert part not in html
        assert part in text_of(html)
    assert "`" not in text_of(html)
    assert len(html) < 300_000


def test_figures_of_an_evaluation_hold_its_values_intervals_and_chance():
    found = shown("evaluate")
    view = document(found)
    frame, records = view.top[0].frame(), found.to_frame()
    for measure, drawn in zip(
        MEASURES, [view.top[0], *view.sections[1].parts[0].figures[1:]], strict=True
    ):
        mine = records[records["measure"] == measure]
        assert set(drawn.names) <= set(mine["similarity"])
    mine = records[records["measure"] == MEASURES[0]]
    np.testing.assert_array_equal(
        frame[["value", "low", "high"]], mine[["value", "ci_low", "ci_high"]]
    )
    differences = view.sections[1].parts[0].figures[0].frame()
    expected = mine.iloc[1:][["difference", "difference_ci_low", "difference_ci_high"]]
    np.testing.assert_array_equal(differences[["value", "low", "high"]], expected)
    assert (
        differences["marked"] == ((differences["low"] > 0) | (differences["high"] < 0))
    ).all()
    assert view.top[0].level == ("chance", found.chance)


@pytest.mark.parametrize("count", [20, 3000])
def test_the_page_of_many_blocks_stays_small_and_its_area_is_the_global_cosine(count):
    draw = np.random.default_rng(count)
    x = draw.standard_normal((count, 5))
    y = x * draw.uniform(0.3, 2, (count, 1)) + 2 * draw.standard_normal(
        (count, 5)
    ) * draw.random((count, 1))
    found = ea.block_cosines(x, y, blocks="rows")
    (drawn,) = document(found).top
    assert drawn.columns["cosine"] @ drawn.columns["weight"] == pytest.approx(
        found.global_cosine
    )
    assert len(found.report()) < 150_000
