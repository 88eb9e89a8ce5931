"""Output files never replace an input, another output, or an older file without
`--force`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea


@pytest.fixture
def model(tmp_path):
    """Return the name of a model in the folder in which commands run."""
    ea.save(random_model(n=20, p=15, k=3, objective="product"), tmp_path / "model.npz")
    return "model.npz"


@pytest.fixture
def vectors(tmp_path):
    """Return the path of a table of vectors in a folder of its own."""
    path = tmp_path / "vectors" / "v.npy"
    path.parent.mkdir()
    np.save(path, np.random.default_rng(1).standard_normal((12, 3)))
    return "vectors/v.npy"


def assert_refused(result, *words):
    """Check for one line of error that holds all words."""
    assert result.code == 2, result
    assert result.err.startswith("embaudit: ")
    assert result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err, result.err


SIMPSON = ["simpson", "ratings.csv", "--x=userId", "--y=rating", "--groups=movieId"]
FIT = ["fit", "ratings.csv", "--objective=product", "--items=movies.csv"]


@pytest.mark.parametrize(
    ("read", "arguments"),
    [
        ("model.npz", ["gauge", "model.npz", "--out=model.npz"]),
        ("model.npz", ["fix", "model.npz", "--out=./model.npz"]),
        ("model.npz", ["compare", "model.npz", "model.npz", "--out=model.npz"]),
        ("vectors/v.npy", ["gauge", "vectors/v.npy", "--out=vectors/v.npy"]),
        (
            "vectors/v.npy",
            ["blocks", "vectors/v.npy", "vectors/v.npy", "--json=vectors/v.npy"],
        ),
        ("ratings.csv", [*SIMPSON, "--json=ratings.csv"]),
        ("movies.csv", [*FIT, "--out=movies.csv"]),
    ],
    ids=["gauge", "fix", "compare", "gauge vectors", "blocks", "simpson", "fit"],
)
@pytest.mark.usefixtures("model", "vectors", "ratings")
def test_no_command_writes_over_a_file_that_it_reads(embaudit, read, arguments):
    before = Path(read).read_bytes()
    refused = embaudit(*arguments, "--force")
    assert_refused(refused, "another file than the input")
    assert Path(read).read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "model.npz", "model.npz"],
        ["blocks", "vectors/v.npy", "vectors/v.npy"],
        SIMPSON,
    ],
    ids=["compare", "blocks", "simpson"],
)
@pytest.mark.usefixtures("model", "vectors", "ratings")
def test_no_two_outputs_are_one_file(embaudit, arguments):
    refused = embaudit(*arguments, "--json=same", "--out=./same")
    assert_refused(refused, "another output")
    assert not Path("same").exists()


def test_two_outputs_with_names_of_their_own_are_written(embaudit, model):
    outputs = ["--json=a.json", "--out=a.html"]
    assert embaudit("compare", model, model, "--by-row", *outputs).code == 0
    assert Path("a.json").is_file()
    assert Path("a.html").is_file()


def test_figures_that_exist_are_not_replaced_without_force(embaudit, tmp_path):
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "simpson.json").write_text("mine")
    assert_refused(embaudit("reproduce", "simpson"), "--force")
    assert [path.name for path in figures.iterdir()] == ["simpson.json"]
    assert (figures / "simpson.json").read_text() == "mine"


def test_figures_are_not_written_into_a_file(embaudit, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert_refused(embaudit("reproduce", "simpson", "--out=file", "--force"), "folder")
    assert (tmp_path / "file").read_text() == "mine"
