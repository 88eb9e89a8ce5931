"""The chart of both cosines on a page: every pair in its cell, every cell drawn once, and said what they are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.report.audit_view import audit_view
from embaudit.report.count_chart import count_chart, counted_in_cells
from embaudit.report.page import page
from embaudit.report.prediction_display import PredictionDisplay

CELL = re.compile(r"M([\d.]+),([\d.]+)h5v5h-5z")


def display(predicted, cosines):
    pairs = np.zeros((len(cosines), 2), dtype=int)
    given = np.array(predicted, dtype=float), np.array(cosines, dtype=float)
    return PredictionDisplay(pairs, *given, len(pairs), 0, "item-item", "logit cosine")


@pytest.fixture(scope="module")
def drawn():
    draw = np.random.default_rng(0)
    first, second = np.clip(draw.normal(0, 0.4, (2, 3_000)), -1, 1)
    return replace(display(first, second), cosines=first, predicted=second)


def test_every_pair_is_counted_in_the_cell_of_both_its_cosines(drawn):
    counts = counted_in_cells(drawn)
    assert counts.sum() == 3_000
    expected = np.zeros((40, 40), dtype=int)
    for across, up in zip(drawn.predicted, drawn.cosines, strict=True):
        expected[min(int((across + 1) / 0.05), 39), min(int((up + 1) / 0.05), 39)] += 1
    assert np.abs(counts - expected).sum() <= 4  # where rounding decides
    ends = replace(drawn, cosines=np.array([1.0, -1.0]), predicted=np.array([1.0, 1.0]))
    assert np.argwhere(counted_in_cells(ends)).tolist() == [[39, 0], [39, 39]]


def test_cells_are_drawn_once_where_their_values_lie_in_the_shade_of_their_count(drawn):
    chart, counts = count_chart(drawn), counted_in_cells(drawn)
    seen = {}
    for shade in chart.shades:
        for x, y in CELL.findall(shade.path):
            cell = round((float(x) - 40) / 5), round((240 - float(y)) / 5) - 1
            assert cell not in seen
            seen[cell] = shade.opacity
            # The corner of the cell is where the axes have its values.
            assert chart.across.at(-1 + cell[0] / 20) == float(x)
            assert chart.up.at(-1 + (cell[1] + 1) / 20) == float(y)
        assert re.sub(CELL, "", shade.path) == ""
    assert set(seen) == {tuple(cell) for cell in np.argwhere(counts).tolist()}
    most = np.log(counts.max())
    for (across, up), opacity in seen.items():
        step = min(int(5 * np.log(counts[across, up]) / most), 4)
        assert opacity == round(0.3 + 0.7 * (step + 1) / 5, 2)
    assert seen[max(seen, key=lambda cell: counts[cell])] == 1.0
    shades = f"Cells of stronger colour hold more pairs, up to {counts.max():,}."
    assert chart.caption == f"{drawn.caption} On the dashed line both agree. {shades}"


def test_without_pairs_there_is_no_chart():
    assert count_chart(display([], [])) is None


@pytest.fixture(scope="module")
def audit():
    return ea.audit(random_model(objective="product"), n_gauges=1, n_pairs=100)


def test_the_page_of_an_audit_shows_both_cosines_of_the_pairs_it_took(audit, monkeypatch):
    monkeypatch.setattr("embaudit.report.audit_view.PAIRS", 434)
    chart = audit_view(audit).beside_predictions
    assert chart == count_chart(audit_display(audit, 434))
    html = page(audit)
    for shade in chart.shades:
        assert f'<path class="cells" d="{shade.path}" opacity="{shade.opacity}"/>' in html
    assert "a sample of 434 of 435 item-item pairs" in html
    assert "<h3>Cosines beside prediction cosines</h3>" in html


def audit_display(audit, size):
    return PredictionDisplay.of(audit.model, n_pairs=size, rng=0)


def test_where_nothing_is_predicted_or_a_check_failed_there_is_none(audit, without_attacks):
    alone = ea.audit(ea.FactorModel.from_vectors(audit.model.right), n_gauges=1, n_pairs=100)
    assert audit_view(alone).beside_predictions is None
    assert "Cosines beside" not in page(alone)
    first, *others = audit.evidence.drift
    failed = replace(audit, evidence=replace(audit.evidence, drift=(replace(first, max_abs=9.0), *others)))
    assert audit_view(failed).beside_predictions is None
