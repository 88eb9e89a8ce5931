"""`embaudit fix` and `embaudit reproduce`: their output, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea


@pytest.fixture
def model(tmp_path):
    draw = np.random.default_rng(0)
    clusters = draw.integers(3, size=40)
    items = np.eye(3)[clusters] @ draw.standard_normal(
        (3, 5)
    ) + 0.2 * draw.standard_normal((40, 5))
    users = draw.standard_normal((60, 5)) * [4, 2, 1, 1, 0.5]
    made = ea.FactorModel.from_user_item(
        users, items, item_ids=np.arange(100, 140), user_ids=np.arange(60)
    )
    ea.save(made, tmp_path / "model.npz")
    labels = "".join(f"{100 + i},group {c}\n" for i, c in enumerate(clusters) if i != 7)
    (tmp_path / "items.csv").write_text("item,group\n" + labels)
    return made


def test_fix_writes_vectors_whose_cosine_is_that_of_the_scores(model, embaudit):
    result = embaudit("fix", "model.npz", "--unit", "--out", "v.parquet")
    assert result.code == 0
    assert "read back and verified" in result.out
    vectors = ea.load("v.parquet")
    scores = model.scores()
    cosine = (scores.T @ scores) / np.outer(*2 * [np.linalg.norm(scores, axis=0)])
    np.testing.assert_allclose(vectors.right @ vectors.right.T, cosine, atol=1e-10)
    assert vectors.right_ids.tolist() == model.right_ids.tolist()


def test_reproduce_replaces_files_when_told_and_can_be_silent(embaudit):
    Path("figures").mkdir()
    Path("figures/simpson.json").write_text("mine")
    result = embaudit("reproduce", "simpson", "--out", "figures", "--force", "--quiet")
    assert (result.code, result.out) == (0, "")
    assert json.loads(Path("figures/simpson.json").read_text())["caption"]
    assert {path.suffix for path in Path("figures").iterdir()} == {
        ".png",
        ".pdf",
        ".csv",
        ".json",
    }


@pytest.mark.slow
def test_reproduce_netflix_prints_the_numbers_it_writes(embaudit):
    sizes = ("--n-users", 800, "--n-items", 80, "--rank", 10)
    penalties = ("--alpha-product", 200, "--alpha-factors", 14)
    few = (*sizes, *penalties, "--n-seeds", 1)
    result = embaudit("reproduce", "netflix", *few, "--out", "figures")
    assert result.code == 0
    caption = json.loads(Path("figures/netflix.json").read_text())["caption"]
    assert " ".join(caption.split()) in " ".join(result.out.split())


@pytest.mark.parametrize("suffix", ["npz", "parquet", "safetensors", "npy", "txt"])
def test_prediction_vectors_say_what_they_are_or_the_command_does(
    model, embaudit, suffix
):
    ea.save(model.replace(right_ids=None), "bare.npz")
    result = embaudit("fix", "bare.npz", "--out", f"v.{suffix}")
    assert result.code == 0
    screen = " ".join(result.out.split())
    note = (
        f"A .{suffix} file cannot say that these are prediction vectors: "
        "audit it with --objective prediction."
    )
    if suffix in ("npz", "parquet", "safetensors"):
        assert note not in screen
        assert ea.load(f"v.{suffix}").objective == "prediction"
    else:
        assert note in screen
        assert ea.load(f"v.{suffix}").objective is None
    assert ea.load(f"v.{suffix}", objective="prediction").objective == "prediction"


def test_fix_names_the_rows_that_it_leaves_out(model, embaudit):
    cold = np.array(model.right)
    cold[[0, 5]] = 0
    ea.save(model.replace(right=cold, objective="bpr"), "cold.npz")
    result = embaudit("fix", "cold.npz", "--unit", "--out", "v.parquet")
    assert (
        "2 items have no cosine (100, 105) and are left out; --keep-empty keeps"
    ) in " ".join(result.out.split())
    assert len(ea.load("v.parquet").right) == 38
    kept = embaudit("fix", "cold.npz", "--keep-empty", "--out", "all.parquet")
    assert kept.code == 0
    assert len(ea.load("all.parquet").right) == 40
