"""Local and global cosine against their definitions; the reversal against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.reproduce import simpson
from embaudit.reproduce.simpson import LOCAL_COSINES


@pytest.fixture
def figure(figures):
    return figures["simpson"]


def test_two_blocks_that_agree_have_a_global_cosine_of_3_over_root_10(figure):
    assert figure.example["cosine"].tolist() == [1, 1]
    assert figure.global_cosine == pytest.approx(3 / np.sqrt(10), abs=1e-6)
    assert figure.example["contribution"].sum() == pytest.approx(
        figure.global_cosine, abs=2e-6
    )
    assert figure.norm_cosine == figure.global_cosine


def test_bars_are_the_entries_of_both_vectors_side_by_side(drawings):
    of_x, of_y = drawings["simpson"].axes[0].containers
    assert [bar.get_height() for bar in of_x] == [1, 1]
    assert [bar.get_height() for bar in of_y] == [1, 2]
    for block, (left, right) in enumerate(zip(of_x, of_y, strict=True)):
        assert left.get_x() + left.get_width() < block < right.get_x()
        assert right.get_x() + right.get_width() < left.get_x() + 1


@pytest.mark.parametrize("local", LOCAL_COSINES)
def test_the_sweep_follows_its_formula_down_to_zero(figure, local):
    part = figure.sweep[figure.sweep["local_cosine"] == local]
    s = part["ratio"].to_numpy()
    np.testing.assert_allclose(
        part["global_cosine"], local * 2 * s / (1 + s**2), atol=1e-6
    )
    assert abs(part["global_cosine"].iloc[-1]) < 1e-3
    assert part["global_cosine"].iloc[0] == pytest.approx(local)


def test_every_group_rises_and_the_whole_falls(figure):
    rows = figure.groups.set_index("group")
    parts = dict(list(figure.points.groupby("group")))
    parts["all"] = figure.points
    assert list(rows.index) == list(parts)
    for name, part in parts.items():
        x, y = part["x"], part["y"]
        assert rows.loc[name, "n"] == len(part)
        assert rows.loc[name, "r"] == pytest.approx(x.corr(y), abs=1e-5)
        slope = np.polyfit(x, y, 1)[0]
        assert rows.loc[name, "slope"] == pytest.approx(slope, abs=1e-5)
    assert rows.loc["A", "r"] > 0.5
    assert rows.loc["B", "r"] > 0.5
    assert rows.loc["all", "r"] < -0.2


def test_the_caption_has_the_numbers_of_the_tables(figure):
    assert f"global cosine is {figure.global_cosine:.4f}" in figure.caption
    assert f"{figure.groups.iloc[-1]['r']:.2f} over all" in figure.caption


def test_the_simpson_figure_refuses_a_number_of_points_that_is_no_integer():
    with pytest.raises(InputError, match="n_points must be an integer from 3"):
        simpson(n_points=3.5)
