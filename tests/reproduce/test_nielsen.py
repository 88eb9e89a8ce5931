"""The label figures against the numbers of the paper and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.special import softmax

from embaudit.reproduce.nielsen import FIGURE_1, HEADS, both_reach


@pytest.fixture
def figure(figures):
    return figures["nielsen"]


def probabilities(inputs, rows):
    return softmax(inputs @ rows.T, axis=1)


def pairs_of(figure, head):
    """The pairs of one head, by their two labels."""
    pairs = figure.pairs[figure.pairs["head"] == head]
    return pairs.set_index(["first", "second"])


def test_translations_give_the_cosines_of_the_paper_and_keep_probabilities(figure):
    table = figure.translations.set_index("panel")
    np.testing.assert_allclose(table["cosine"], [0.8, -1, 1], atol=1e-12)
    assert table["probability_change"].max() < 1e-14
    shifts = table[["shift_x", "shift_y"]]
    assert shifts.loc["made opposite"].tolist() == [-0.75, -0.75]
    assert shifts.loc["made parallel"].tolist() == [-1.25, -0.25]


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


def test_a_shift_of_one_label_changes_the_probabilities(figure):
    moved = FIGURE_1.copy()
    moved[0] += [0.1, 0.0]
    change = probabilities(figure.inputs, moved) - probabilities(
        figure.inputs, FIGURE_1
    )
    assert np.abs(change).max() > 0.01


def test_most_probable_labels_are_the_same_in_all_panels(figure):
    for rows in figure.rows.values():
        scores = figure.inputs @ rows.T
        np.testing.assert_array_equal(scores.argmax(axis=1), figure.most_probable)
    assert len(np.unique(figure.most_probable)) == len(FIGURE_1)
    assert figure.inputs_per_label.sum() == 1_000


@pytest.mark.parametrize("head", HEADS)
def test_edges_of_the_label_figure_are_those_of_the_convex_hull(figure, head):
    hull = ConvexHull(HEADS[head]).simplices.tolist()
    expected = {tuple(sorted(edge)) for edge in hull}
    pairs = pairs_of(figure, head)
    assert set(pairs.index[pairs["edge_of_hull"]]) == expected


def test_heads_are_centred_and_one_has_rows_of_unit_length():
    for rows in HEADS.values():
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    lengths = np.linalg.norm(HEADS["centred, unit length"], axis=1)
    np.testing.assert_allclose(lengths, 1)


@pytest.mark.parametrize(
    ("head", "pair", "cosine", "is_edge"),
    [
        ("centred", (0, 1), 0.324, True),
        # The lower cosine can share the probability, and the higher one cannot.
        ("centred", (1, 2), -0.588, True),
        ("centred", (2, 4), 0.8, False),
        ("centred, unit length", (0, 1), -0.805, True),
        ("centred, unit length", (1, 3), 0.805, False),
    ],
)
def test_cosines_of_label_pairs_are_those_of_the_paper(
    figure, head, pair, cosine, is_edge
):
    row = pairs_of(figure, head).loc[pair]
    assert row["cosine"] == pytest.approx(cosine, abs=5e-4)
    assert row["edge_of_hull"] == is_edge


@pytest.mark.parametrize("head", HEADS)
def test_the_probability_two_labels_reach_together_is_the_best_of_a_grid(figure, head):
    rows = HEADS[head]
    side = np.linspace(-12, 12, 401)
    x, y = np.meshgrid(side, side)
    grid = np.column_stack([x.ravel(), y.ravel()])
    circle = 2_000 * grid / np.maximum(np.linalg.norm(grid, axis=1), 1e-9)[:, None]
    near = probabilities(grid, rows)
    far = probabilities(circle, rows)
    for (first, second), row in pairs_of(figure, head).iterrows():
        best_near = np.minimum(near[:, first], near[:, second]).max()
        best_far = np.minimum(far[:, first], far[:, second]).max()
        if row["edge_of_hull"]:
            # Few points of the grid lie where both labels of an edge are probable.
            assert row["both_reach"] == 0.5
            assert 0.4 < max(best_near, best_far) <= 0.5
        else:
            assert best_near <= row["both_reach"] + 1e-6
            assert best_near == pytest.approx(row["both_reach"], abs=2e-3)


def test_the_probability_two_labels_reach_does_not_depend_on_the_gauge():
    rows = HEADS["centred"]
    transformed = rows @ np.array([[2.0, 0.3], [-0.4, 0.7]]) + [0.3, -0.2]
    expected = both_reach(rows, 2, 4)
    assert both_reach(transformed, 2, 4) == pytest.approx(expected, abs=1e-6)


def test_the_probability_two_labels_reach_is_that_of_the_less_probable_one():
    """Where label 1 is most probable, label 0 is more probable still."""
    rows = np.array([[-1.0], [0.0], [0.1], [3.0]])
    inputs = np.linspace(-5, 5, 200_001)[:, None]
    first, second = probabilities(inputs, rows)[:, :2].T
    assert first[second.argmax()] > second.max() + 0.05
    expected = np.minimum(first, second).max()
    assert both_reach(rows, 0, 1) == pytest.approx(expected, abs=1e-8)


def test_the_caption_has_the_numbers_of_the_tables(figure):
    changes = figure.translations["probability_change"]
    assert 1e-9 > changes.max() > changes.min() == 0
    assert "leaves all probabilities (largest change <1e-09)" in figure.caption
    assert "labels 1 and 2 (cosine -0.59) can share" in figure.caption
    assert "Labels 2 and 4 (cosine 0.80) never both exceed 0.31" in figure.caption
