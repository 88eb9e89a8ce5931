"""Figures of results show the numbers of the result."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from report.results_shown import SCRIPT, every_result, shown

import embaudit as ea
from embaudit.core.results import PlottableResult
from embaudit.report.documents import document
from embaudit.report.figures import SimpsonDisplay

mpl.use("agg")
DRAWN = (
    "Audit",
    "BlockCosines",
    "CertifiedNeighbours",
    "Movement",
    "SimpsonReport",
    "Threshold",
)
"""Types of results with a `plot` method."""


def plotted(drawable, **options):
    return drawable.plot(Figure(figsize=(9, 4)).add_subplot(), **options)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row_names(ax):
    """Return the names along the y axis, each in one line."""
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


def bars(collection):
    """Return left end, right end and height of each horizontal bar."""
    ends = np.array(collection.get_segments())
    return ends[:, 0, 0], ends[:, 1, 0], ends[:, 0, 1]


def test_these_tests_cover_every_result_with_a_figure():
    with_figure = {
        name for name, one in every_result().items() if isinstance(one, PlottableResult)
    }
    assert with_figure == set(DRAWN)


# Thresholds


def test_a_threshold_is_drawn_with_the_share_of_pairs_that_reach_each_cosine():
    found = every_result()["Threshold"]
    picture = plotted(found)
    assert legend_texts(picture.ax_) == ["unrelated pairs", "the cut"]
    curve, cut = picture.ax_.lines
    assert cut.get_xdata() == [found.threshold, found.threshold]
    for cosine, share in zip(*curve.get_data(), strict=True):
        assert share == pytest.approx((found.unrelated.scores >= cosine - 1e-9).mean())


def test_the_pairs_of_each_label_have_a_curve():
    pairs = pd.DataFrame({"a": np.repeat(np.arange(12), 2), "b": np.arange(24)})
    pairs["b"] = 12 + (pairs["a"] + pairs["b"]) % 18
    pairs["label"] = np.arange(24) % 2
    rows = np.random.default_rng(0).standard_normal((30, 3))
    found = ea.threshold(rows, pairs=pairs.drop_duplicates(["a", "b"]))
    frame = plotted(found).frame()
    labelled = found.labelled.scores
    for kind, is_kind in (
        ("labelled related", labelled.is_related),
        ("labelled unrelated", ~labelled.is_related),
    ):
        curve = frame[frame["kind"] == kind]
        at = float(curve["cosine"].iloc[100])
        expected = (labelled.scores[is_kind] >= at - 1e-9).mean()
        assert curve["share"].iloc[100] == pytest.approx(expected)


# Audit and movement


def test_a_movement_is_drawn_as_two_bars_of_quantiles_and_a_dot_at_the_mean():
    moved = every_result()["Movement"]
    picture = plotted(moved)
    ax = picture.ax_
    assert ax.get_xlabel() == "|Δcos| of right pairs"
    assert legend_texts(ax) == ["middle 90 % of pairs", "middle 50 %", "mean"]
    thin, thick = ax.collections
    left, right, _ = bars(thin)
    assert (left[0], right[0]) == (moved.quantiles[0.05], moved.quantiles[0.95])
    left, right, _ = bars(thick)
    assert (left[0], right[0]) == (moved.quantiles[0.25], moved.quantiles[0.75])
    (mean,) = ax.lines
    assert mean.get_xdata().tolist() == [moved.mean_abs]


def test_an_audit_is_drawn_with_one_row_per_equivalent_model():
    audit = every_result()["Audit"]
    picture = plotted(audit)
    names = [one.name for one in audit.evidence.equivalents]
    assert picture.ax_.get_xlabel() == "|Δcos| of item-item pairs"
    assert row_names(picture.ax_) == names
    assert "exponent 0.5 (balanced)" in names
    assert "worst found for item cosines" in names
    movements = [of_roles[0] for of_roles in audit.evidence.movement]
    (means,) = picture.ax_.lines
    assert means.get_xdata().tolist() == [one.mean_abs for one in movements]
    _, highest, rows = bars(picture.ax_.collections[0])
    assert rows.tolist() == list(range(len(names)))
    assert highest.tolist() == [one.quantiles[0.95] for one in movements]
    # A rotation moves no cosine.
    assert means.get_xdata()[names.index("orthogonal 1")] < 1e-9


def test_the_first_row_of_an_audit_stands_at_the_top():
    low, high = plotted(every_result()["Audit"]).ax_.get_ylim()
    assert low > high


def test_a_model_that_does_not_move_is_drawn_on_an_axis_from_0_to_1():
    model = ea.FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    no_movement = ea.movement(model, model)
    assert plotted(no_movement).ax_.get_xlim() == (0, 1)


# Blocks


def test_the_area_of_the_blocks_is_the_global_cosine():
    # Norms (1, √2) and (√2, 0): ρ = 1/√3; one block has weight, with cosine 1/√2.
    blocks = every_result()["BlockCosines"]
    picture = plotted(blocks)
    ax = picture.ax_
    heights, edges, _ = ax.patches[0].get_data()
    np.testing.assert_allclose(heights, [1 / np.sqrt(2)])
    np.testing.assert_allclose(edges, [0, 1 / np.sqrt(3)])
    assert heights @ np.diff(edges) == pytest.approx(blocks.global_cosine)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "weight of the blocks, up to ρ",
        "cosine",
    )


def test_the_blocks_are_drawn_with_lines_for_the_mean_and_the_global_cosine():
    ax = plotted(every_result()["BlockCosines"]).ax_
    assert legend_texts(ax) == [
        "local cosines",
        "norms differ: 1 − ρ = 0.423",
        "weighted mean 0.7071",
        "global 0.4082",
    ]
    mean, overall = ax.lines
    assert mean.get_ydata()[0] == pytest.approx(1 / np.sqrt(2))
    assert overall.get_ydata()[0] == pytest.approx(1 / np.sqrt(6))
    strip = ax.patches[1].get_extents().transformed(ax.transData.inverted())
    assert (strip.x0, strip.x1) == pytest.approx((1 / np.sqrt(3), 1))


def test_the_highest_local_cosine_comes_first_and_wide_blocks_are_named():
    blocks = shown("blocks")
    picture = plotted(blocks)
    heights, edges, _ = picture.ax_.patches[0].get_data()
    assert len(heights) == len(blocks) == 20
    assert (np.diff(heights) <= 0).all()
    assert heights @ np.diff(edges) == pytest.approx(blocks.global_cosine)
    assert len(picture.ax_.texts) == (np.diff(edges) > 0.04).sum() > 0


# Certified neighbours


def test_certified_neighbours_are_drawn_as_a_falling_curve():
    lists = every_result()["CertifiedNeighbours"]
    ax = plotted(lists).ax_
    (curve,) = ax.lines
    kappas, shares = curve.get_data()
    assert (kappas[0], kappas[-1]) == pytest.approx((1, 4))
    np.testing.assert_array_equal(shares, lists.curve(kappas))
    assert (np.diff(shares) <= 0).all()
    assert ax.get_title() == "top 3 lists of 30 right rows"
    assert ax.get_xlabel() == "condition number κ of the gauge"
    assert ax.get_ylabel() == "share of list entries"
    assert legend_texts(ax) == ["proven to stay"]


def test_the_curve_of_an_audit_also_shows_what_the_worst_gauge_left():
    audit = every_result()["Audit"]
    ax = audit.plot_certified_curve(Figure().add_subplot()).ax_
    assert ax.get_title() == "top 10 lists of 30 items"
    assert legend_texts(ax) == ["proven to stay", "left by the worst gauge found"]
    (attack,) = [
        one for one in audit.evidence.limits.attacks if one.objective == "neighbours"
    ]
    proven, left = ax.lines
    assert left.get_xdata() == [2.0]
    assert left.get_ydata() == [1 - attack.achieved]
    # What is proven to stay is at most what the attack left.
    assert np.interp(2.0, *proven.get_data()) <= left.get_ydata()[0]


# Simpson reports


def simpson_report():
    """Return a report on two groups in which y falls by 1 per step of x."""
    table = pd.DataFrame(
        {"x": np.arange(6.0), "y": [2.0, 1, 0, 5, 4, 3], "g": list("aaabbb")}
    )
    return ea.simpson(table, "x", "y", "g", min_size=3, n_permutations=0)


def test_a_simpson_report_is_drawn_with_a_line_per_group_and_one_of_all_rows():
    ax = plotted(simpson_report()).ax_
    assert ax.get_title() == "reversal: r +0.54 pooled, -1.00 within"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert legend_texts(ax) == ["a (3)", "b (3)", "all rows"]
    (rows,) = ax.collections
    assert len(rows.get_offsets()) == 6
    first, second, pooled = ax.lines
    np.testing.assert_allclose(first.get_xydata(), [[0, 2], [2, 0]], atol=1e-12)
    np.testing.assert_allclose(second.get_xydata(), [[3, 5], [5, 3]], atol=1e-12)
    # The pooled slope is Σ xy / Σ x² = 9.5 / 17.5, through the means (2.5, 2.5).
    ends = 2.5 + 9.5 / 17.5 * np.array([-2.5, 2.5])
    np.testing.assert_allclose(pooled.get_xydata(), [[0, ends[0]], [5, ends[1]]])
    assert pooled.get_linestyle() == "--"


def test_the_points_of_a_group_have_the_colour_of_its_line():
    ax = plotted(simpson_report()).ax_
    (points,) = ax.collections
    in_first = points.get_offsets()[:, 0] < 3
    assert in_first.sum() == 3
    for line, rows in zip(ax.lines[:2], (in_first, ~in_first), strict=True):
        for colour in points.get_facecolor()[rows]:
            assert same_color(colour[:3], line.get_color()[:3])


def test_without_rows_a_line_reaches_1_5_standard_deviations_to_either_side():
    ax = plotted(SimpsonDisplay(simpson_report(), draws_rows=False)).ax_
    assert len(ax.collections) == 0
    reach = 1.5 * np.sqrt(2 / 3)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1 - reach, 1 + reach])


def test_long_names_of_groups_are_cut_in_the_legend():
    names = legend_texts(plotted(every_result()["SimpsonReport"]).ax_)
    assert names == [*[f"{SCRIPT[:21]}… ({n})" for n in (31, 30, 29)], "all rows"]


# Comparisons and evaluations, which are drawn on their pages


def test_a_comparison_draws_the_mean_change_of_each_side_and_its_parts():
    found = shown("compare")
    moved, became = (plotted(figure).ax_ for figure in document(found).top)
    assert moved.get_xlabel() == "mean |Δcos|"
    assert row_names(moved) == ["users", "items"]
    assert legend_texts(moved) == ["by a change of axes", "by a real change"]
    by_axes, real = moved.containers
    for at, change in enumerate(found.changes.values()):
        assert by_axes[at].get_width() == pytest.approx(change.mean_gauge)
        assert real[at].get_x() == pytest.approx(change.mean_gauge)
        assert real[at].get_width() == pytest.approx(change.mean_remainder)
    assert became.get_xlabel() == "share of former neighbours"
    assert row_names(became) == ["10 nearest users", "10 nearest items"]
    assert legend_texts(became) == [
        "kept",
        "lost to a change of axes",
        "lost to a real change",
    ]
    # The parts of all former neighbours add up to 1.
    widths = [[bar.get_width() for bar in part] for part in became.containers]
    np.testing.assert_allclose(np.sum(widths, axis=0), 1)


def test_an_evaluation_draws_each_precision_with_its_interval_and_chance():
    found = shown("evaluate")
    first, second, *_ = (
        figure
        for figure in (
            *document(found).top,
            *document(found).sections[1].parts[0].figures,
        )
    )
    ax = plotted(first).ax_
    records = [one for one in found.records() if one["measure"] == "precision"]
    assert row_names(ax) == [one["similarity"] for one in records]
    assert row_names(ax)[0] == "cosine"
    assert ax.get_xlabel() == "precision at 5"
    low, high, _ = bars(ax.collections[0])
    assert low.tolist() == [one["ci_low"] for one in records]
    assert high.tolist() == [one["ci_high"] for one in records]
    chance, values = ax.lines
    assert chance.get_xdata()[0] == found.chance
    assert values.get_xdata().tolist() == [one["value"] for one in records]
    assert legend_texts(ax) == ["chance", "mean, 95 % interval"]
    differences = plotted(second).ax_
    assert differences.get_xlabel() == "precision, less that of the cosine"
    assert row_names(differences) == [one["similarity"] for one in records[1:]]


def test_similarities_that_surely_differ_from_the_cosine_are_red_diamonds():
    figure = document(shown("evaluate")).top[0]
    marked = np.arange(7) == 2
    ax = plotted(replace(figure, columns={**figure.columns, "marked": marked})).ax_
    usual, differing = ax.lines[-2:]
    assert (usual.get_marker(), differing.get_marker()) == ("o", "D")
    assert differing.get_ydata().tolist() == [2]
    assert legend_texts(ax)[-1] == "not the cosine's"


# All figures


def test_the_numbers_of_a_figure_are_a_table():
    frames = {name: plotted(every_result()[name]).frame() for name in DRAWN}
    assert {name: list(frame) for name, frame in frames.items()} == {
        "Audit": ["model", "mean", "q0.05", "q0.25", "q0.75", "q0.95"],
        "BlockCosines": ["name", "cosine", "weight"],
        "CertifiedNeighbours": ["kind", "kappa", "share"],
        "Movement": ["model", "mean", "q0.05", "q0.25", "q0.75", "q0.95"],
        "SimpsonReport": ["group", "n", "mean_x", "mean_y", "std_x", "slope"],
        "Threshold": ["kind", "cosine", "share"],
    }
    assert frames["BlockCosines"]["name"].tolist() == [SCRIPT]
    groups = plotted(simpson_report()).frame()
    assert groups["group"].tolist() == ["a", "b"]
    assert groups["n"].tolist() == [3, 3]
    np.testing.assert_allclose(groups[["mean_x", "mean_y"]], [[1, 1], [4, 4]])
    np.testing.assert_allclose(groups["std_x"], np.sqrt(2 / 3))
    np.testing.assert_allclose(groups["slope"], -1)


@pytest.mark.parametrize("name", DRAWN)
def test_the_caption_of_a_figure_is_a_sentence(name):
    caption = plotted(every_result()[name]).caption
    assert caption[0].isupper() or caption.startswith("y on x")
    assert caption.endswith(".")


@pytest.mark.parametrize("name", DRAWN)
def test_four_figures_fit_into_one_with_smaller_letters(name):
    figure, axes = plt.subplots(2, 2)
    for ax in axes.flat:
        every_result()[name].plot(ax)
    figure.canvas.draw()
    whole = figure.bbox.padded(1)
    for ax in axes.flat:
        box = ax.get_tightbbox()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    alone = every_result()[name].plot()
    alone.figure_.canvas.draw()
    small, usual = (ax.xaxis.label.get_fontsize() for ax in (axes[0, 0], alone.ax_))
    assert small < usual == mpl.rcParams["font.size"]
    plt.close("all")
