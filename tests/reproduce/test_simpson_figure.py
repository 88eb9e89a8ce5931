"""Local and global cosine against their definitions; the reversal against numpy."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
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
    x, y = (
        [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in b]
        for b in drawings["simpson"].axes[0].containers
    )
    assert [[height for *_, height in bars] for bars in (x, y)] == [[1, 1], [1, 2]]
    for block, ((left, width, _), (right, other, _)) in enumerate(
        zip(x, y, strict=True)
    ):
        assert left < left + width < block < right < right + other < left + 1


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
    for name, part in figure.points.groupby("group"):
        row = figure.groups.set_index("group").loc[name]
        assert row["r"] == pytest.approx(
            np.corrcoef(part["x"], part["y"])[0, 1], abs=1e-5
        )
        assert row["slope"] == pytest.approx(
            np.polyfit(part["x"], part["y"], 1)[0], abs=1e-5
        )
        assert row["r"] > 0.5
    whole = figure.groups.iloc[-1]
    assert whole["r"] == pytest.approx(
        np.corrcoef(figure.points["x"], figure.points["y"])[0, 1], abs=1e-5
    )
    assert whole["r"] < -0.2


def test_caption_and_files_have_the_numbers_of_the_tables(figure, saved):
    folder = saved["simpson"][0].parent
    document = json.loads((folder / "simpson.json").read_text())
    for name in ("sweep", "groups", "points"):
        table = pd.read_csv(folder / f"simpson_{name}.csv")
        pd.testing.assert_frame_equal(table, getattr(figure, name), check_exact=True)
        pd.testing.assert_frame_equal(
            pd.DataFrame(document[name]), getattr(figure, name), check_exact=True
        )
    assert f"global cosine is {figure.global_cosine:.4f}" in document["caption"]
    assert f"{figure.groups.iloc[-1]['r']:.2f} over all" in document["caption"]


def test_the_simpson_figure_refuses_a_number_of_points_that_is_no_integer():
    with pytest.raises(InputError, match="n_points must be an integer from 3"):
        simpson(n_points=3.5)
