"""Panels, titles, axis labels, legends and data of each figure."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line_data(ax):
    """The data of all lines that have two or more points."""
    lines = [np.asarray(line.get_xydata()) for line in ax.get_lines()]
    return [xy for xy in lines if len(xy) > 1]


# --- local and global cosine ---


@pytest.fixture
def simpson_axes(drawings):
    return drawings["simpson"].axes


def test_the_simpson_figure_has_three_panels_with_their_titles(simpson_axes):
    assert [ax.get_title() for ax in simpson_axes] == [
        "every block agrees, global cosine 0.9487",
        "norms alone drive it to 0",
        "up inside each group, down over all",
    ]


def test_bars_show_the_entries_of_both_vectors_above_their_block(simpson_axes):
    first = simpson_axes[0]
    assert first.get_ylabel() == "entry"
    assert legend_texts(first) == ["x", "y"]
    assert [label.get_text() for label in first.get_xticklabels()] == [
        "block 1\nlocal cosine 1",
        "block 2\nlocal cosine 1",
    ]


def test_the_sweep_is_drawn_on_a_logarithmic_axis_one_line_per_local_cosine(
    simpson_axes, figures
):
    second, sweep = simpson_axes[1], figures["simpson"].sweep
    assert second.get_xscale() == "log"
    assert second.get_xlabel() == "ratio of block norms, opposite in x and y"
    assert second.get_ylabel() == "global cosine"
    assert legend_texts(second) == [f"local cosines {c:g}" for c in (1, 0.5, -0.5)]
    *drawn, zero = line_data(second)
    assert zero[:, 1].tolist() == [0, 0]
    for local, xy in zip((1.0, 0.5, -0.5), drawn, strict=True):
        part = sweep[sweep["local_cosine"] == local]
        np.testing.assert_allclose(xy, part[["ratio", "global_cosine"]])


def test_groups_are_drawn_as_points_with_their_lines_and_the_line_of_all(
    simpson_axes, figures
):
    third, figure = simpson_axes[2], figures["simpson"]
    points = figure.points.groupby("group")
    assert (third.get_xlabel(), third.get_ylabel()) == ("x", "y")
    assert len(third.collections) == 2
    for drawn, (_, members) in zip(third.collections, points, strict=True):
        np.testing.assert_allclose(drawn.get_offsets(), members[["x", "y"]])
    r = figure.groups["r"]
    assert legend_texts(third) == [
        f"group A: r = {r[0]:.2f}",
        f"group B: r = {r[1]:.2f}",
        f"all: r = {r[2]:.2f}",
    ]
    parts = [members for _, members in points] + [figure.points]
    for xy, members in zip(line_data(third), parts, strict=True):
        fitted = np.polyval(np.polyfit(members["x"], members["y"], 1), xy[:, 0])
        np.testing.assert_allclose(xy[:, 1], fitted, atol=1e-4)
        assert xy[:, 0].tolist() == [members["x"].min(), members["x"].max()]


# --- labels of a softmax ---


def test_the_label_figure_has_three_panels_of_translations_and_two_of_hulls(drawings):
    figure = drawings["nielsen"]
    assert titles(figure) == [
        "as given: cos = 0.80\nv = (0, 0), same probabilities",
        "labels 0 and 1 made opposite: cos = -1.00\n"
        "v = (-0.75, -0.75), same probabilities",
        "… made parallel: cos = 1.00\nv = (-1.25, -0.25), same probabilities",
        "centred: the edges of the hull decide",
        "centred, unit length: the edges of the hull decide",
    ]
    for ax in figure.axes:
        assert ax.get_xlabel() == "first coordinate"
        assert ax.get_ylabel() == "second coordinate"
        assert ax.get_aspect() == 1


def test_each_translation_panel_shows_all_inputs_by_their_most_probable_label(
    drawings, figures
):
    figure = figures["nielsen"]
    for ax, rows in zip(
        drawings["nielsen"].axes[:3], figure.rows.values(), strict=True
    ):
        assert len(ax.collections) == len(rows) == 5
        for label, drawn in enumerate(ax.collections):
            inputs = figure.inputs[figure.most_probable == label]
            np.testing.assert_allclose(drawn.get_offsets(), inputs)
        tips = [line.get_xydata()[0] for line in ax.get_lines()]
        np.testing.assert_allclose(tips, rows)
        numbers = [text.get_text() for text in ax.texts if text.get_text()]
        assert numbers == ["0", "1", "2", "3", "4"]


def test_each_hull_panel_shows_its_edges_and_two_pairs_in_contrast(drawings, figures):
    legends = [legend_texts(ax) for ax in drawings["nielsen"].axes[3:]]
    assert legends == [
        [
            "1–2: cos -0.588, can share ½/½",
            "2–4: cos 0.800, never both above 0.31",
        ],
        [
            "0–1: cos -0.805, can share ½/½",
            "1–3: cos 0.805, never both above 0.32",
        ],
    ]
    for ax in drawings["nielsen"].axes[3:]:
        tips = np.array(
            [
                line.get_xydata()[0]
                for line in ax.get_lines()
                if len(line.get_xdata()) == 1
            ]
        )
        edges = {frozenset(map(int, edge)) for edge in ConvexHull(tips).simplices}

        def label(point, tips=tips):
            return int(np.abs(tips - point).sum(axis=1).argmin())

        # The last two lines are the pairs in contrast.
        drawn = {frozenset(map(label, xy)) for xy in line_data(ax)[:-2]}
        assert drawn == edges


# --- Netflix ---


def test_the_netflix_figure_has_a_heatmap_of_clusters_and_one_per_model(drawings):
    *panels, bar = drawings["netflix"].axes
    assert [ax.get_title() for ax in panels] == [
        "true clusters",
        r"Eq. 1, $D = g^{\,1/2}$",
        r"Eq. 1, $D = 1$ (symmetric)",
        r"Eq. 1, $D = g^{\,-1/2}$",
        r"Eq. 1, $D = \sigma^{\,-1/2}$",
        "Eq. 2",
    ]
    assert panels[0].get_xlabel() == "same cluster: 1\ndifferent: 0"
    assert bar.get_ylabel() == "item-item cosine"


def test_heatmaps_show_the_cosines_on_one_colour_scale(drawings, figures):
    figure = figures["netflix"]
    _, *panels, _ = drawings["netflix"].axes
    limits = set()
    for ax, values in zip(panels, figure.cosines.values(), strict=True):
        (image,) = ax.get_images()
        # Items stand in the order of their clusters, so compare what is drawn as a set.
        np.testing.assert_allclose(
            np.sort(image.get_array(), axis=None), np.sort(values, axis=None), atol=1e-6
        )
        limits.add(image.get_clim())
    assert limits == {(-0.25, 1)}


def test_below_each_heatmap_stand_its_means_and_auc(drawings, figures):
    _, *panels, _ = drawings["netflix"].axes
    rows = figures["netflix"].numbers.itertuples()
    for ax, row in zip(panels, rows, strict=True):
        numbers = re.findall(r"-?\d+\.\d+", ax.get_xlabel())
        within, between, auc = map(float, numbers)
        assert within == pytest.approx(row.within_mean, abs=0.01)
        assert between == pytest.approx(row.between_mean, abs=0.01)
        assert auc == pytest.approx(row.auc, abs=0.001)


def test_remedies_are_points_if_unique_and_ranges_otherwise_best_first(
    drawings, figures
):
    (ax,) = drawings["remedies"].axes
    remedies = figures["netflix"].remedies
    assert ax.get_xlabel() == "AUC of same cluster (mean over seeds)"
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        f"{row.remedy} – {row.similarity}" for row in remedies.itertuples()
    ]
    assert ax.yaxis_inverted()
    for line, row in zip(ax.get_lines(), remedies.itertuples(), strict=True):
        ends = [row.auc_low] if row.unique else [row.auc_low, row.auc_high]
        np.testing.assert_allclose(line.get_xdata(), ends)
        assert line.get_ydata()[0] == row.Index
    (legend,) = drawings["remedies"].legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "unique",
        "range over four rescalings with equal predictions",
    ]
