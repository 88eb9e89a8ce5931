"""The label figures against the numbers of the paper and against brute force."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import ConvexHull
from scipy.special import softmax

from embaudit.reproduce.nielsen import FIGURE_1, HEADS, both_reach


@pytest.fixture
def figure(figures):
    return figures["nielsen"]


def test_translations_give_the_cosines_of_the_paper_and_keep_probabilities(figure):
    table = figure.translations.set_index("panel")
    np.testing.assert_allclose(table["cosine"], [0.8, -1, 1], atol=1e-12)
    assert table["probability_change"].max() < 1e-14
    np.testing.assert_allclose(
        table.loc["made opposite", ["shift_x", "shift_y"]].tolist(), [-0.75, -0.75]
    )
    np.testing.assert_allclose(
        table.loc["made parallel", ["shift_x", "shift_y"]].tolist(), [-1.25, -0.25]
    )


def test_label_rows_are_those_of_the_paper(figure):
    assert FIGURE_1.tolist() == [
        [1, 0.5],
        [0.5, 1],
        [-1, 0.4],
        [-0.8, -0.8],
        [0.9, -1.2],
    ]
    assert HEADS["centred"].tolist() == [
        [1.4, -1],
        [1.4, 1],
        [-0.9, 0.3],
        [-1, 0],
        [-0.9, -0.3],
    ]
    side = np.sqrt(1 - 0.95**2)
    unit = [[0.95, side], [-0.95, side], [-1, 0], [-0.95, -side], [0.95, -side], [1, 0]]
    assert HEADS["centred, unit length"].tolist() == unit
    assert figure.inputs.shape == (1_000, 2)
    # What the figure points at: the lower cosine can share, the higher cannot.
    edge = figure.pairs.set_index(["head", "first", "second"])["edge_of_hull"]
    assert edge["centred", 1, 2] > edge["centred", 2, 4]
    assert edge["centred, unit length", 0, 1] > edge["centred, unit length", 1, 3]


def test_only_a_common_translation_keeps_the_probabilities(figure):
    moved = FIGURE_1 + np.array([[0.1, 0.0]] + 4 * [[0.0, 0.0]])
    before, after = (
        softmax(figure.inputs @ rows.T, axis=1) for rows in (FIGURE_1, moved)
    )
    assert np.abs(before - after).max() > 0.01


def test_most_probable_labels_are_the_same_in_all_panels(figure):
    for rows in figure.rows.values():
        np.testing.assert_array_equal(
            (figure.inputs @ rows.T).argmax(axis=1), figure.most_probable
        )
    assert len(np.unique(figure.most_probable)) == len(FIGURE_1)


@pytest.mark.parametrize("name", HEADS)
def test_edges_of_the_label_figure_are_those_of_the_convex_hull(figure, name):
    expected = {
        tuple(sorted(edge)) for edge in ConvexHull(HEADS[name]).simplices.tolist()
    }
    table = figure.pairs[(figure.pairs["head"] == name) & figure.pairs["edge_of_hull"]]
    assert set(zip(table["first"], table["second"], strict=True)) == expected


def test_heads_are_centred_and_have_the_cosines_of_the_paper(figure):
    for rows in HEADS.values():
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    pairs = figure.pairs.set_index(["head", "first", "second"])["cosine"]
    published = {
        ("centred", 0, 1): 0.324, ("centred", 1, 2): -0.588, ("centred", 2, 4): 0.8,
        ("centred, unit length", 0, 1): -0.805, ("centred, unit length", 1, 3): 0.805,
    }  # fmt: skip
    assert {pair: pairs[pair] for pair in published} == pytest.approx(
        published, abs=5e-4
    )
    reach = figure.pairs.set_index(["head", "first", "second"])["both_reach"]
    assert (reach["centred", 1, 2], reach["centred", 2, 4]) == (
        0.5,
        pytest.approx(0.31, abs=5e-3),
    )
    np.testing.assert_allclose(np.linalg.norm(HEADS["centred, unit length"], axis=1), 1)


@pytest.mark.parametrize("name", HEADS)
def test_the_probability_two_labels_reach_together_is_the_best_of_a_grid(figure, name):
    rows = HEADS[name]
    side = np.linspace(-12, 12, 401)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
    p = softmax(grid @ rows.T, axis=1)
    for row in figure.pairs[figure.pairs["head"] == name].itertuples():
        best = np.minimum(p[:, row.first], p[:, row.second]).max()
        if row.edge_of_hull:
            assert row.both_reach == 0.5
            far = (
                2_000
                * grid
                / np.maximum(np.linalg.norm(grid, axis=1, keepdims=True), 1e-9)
            )
            assert (
                best > 0.4
                or np.minimum(
                    *softmax(far @ rows.T, axis=1)[:, [row.first, row.second]].T
                ).max()
                > 0.4
            )
        else:
            assert best <= row.both_reach + 1e-6
            assert best == pytest.approx(row.both_reach, abs=2e-3)


def test_the_probability_two_labels_reach_does_not_depend_on_the_gauge():
    rows, matrix = HEADS["centred"], np.array([[2.0, 0.3], [-0.4, 0.7]])
    assert both_reach(rows @ matrix + [0.3, -0.2], 2, 4) == pytest.approx(
        both_reach(rows, 2, 4), abs=1e-6
    )


def test_what_two_labels_reach_together_counts_the_less_probable_one():
    """Where label 1 is most probable label 0 is more so: the lesser of the two counts."""
    rows = np.array([[-1.0], [0.0], [0.1], [3.0]])
    p = softmax(np.linspace(-5, 5, 200_001)[:, None] @ rows.T, axis=1)
    assert both_reach(rows, 0, 1) == pytest.approx(
        np.minimum(p[:, 0], p[:, 1]).max(), abs=1e-8
    )
    assert p[p[:, 1].argmax(), 0] > p[:, 1].max() + 0.05


def test_caption_and_files_have_the_numbers_of_the_tables(figure, saved):
    folder = saved["nielsen"][0].parent
    document = json.loads((folder / "nielsen.json").read_text())
    for name in ("translations", "pairs"):
        table = pd.read_csv(folder / f"nielsen_{name}.csv")
        pd.testing.assert_frame_equal(table, getattr(figure, name), check_exact=True)
        pd.testing.assert_frame_equal(
            pd.DataFrame(document[name]), getattr(figure, name), check_exact=True
        )
    largest = figure.translations["probability_change"].max()
    assert "leaves all probabilities (largest change <1e-09)" in document["caption"]
    assert 1e-9 > largest > figure.translations["probability_change"].min() == 0
    assert "labels 1 and 2 (cosine -0.59) can share" in document["caption"]
    assert "Labels 2 and 4 (cosine 0.80) never both exceed 0.31" in document["caption"]
    assert sum(document["inputs_per_label"]) == 1_000
