"""The first screen of an audit of six models.

Stored screens contain every part except the table, which other tests cover.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from models import one_sided_vectors
from schemas import misfits
from screens import without_table

import embaudit as ea

WIDTH = 80
"""Columns of a first screen."""
FEW = ("--n-gauges", 1, "--n-starts", 1, "--n-steps", 1)


def fits_a_terminal(text):
    """Return True if the text is no wider than a screen, without stray blanks."""
    lines = text.splitlines()
    return (
        max(map(len, lines)) <= WIDTH
        and "\n\n\n" not in text
        and all(line == line.rstrip() for line in lines)
    )


def breaks_a_command(text):
    """Return True if a line ends within backticks."""
    return any(line.count("`") % 2 for line in text.splitlines())


def suggested_commands(text):
    """Return the arguments of each command that a screen suggests."""
    lines = text.replace("\\\n", "").splitlines()
    return [split(line)[1:] for line in lines if line.startswith("  embaudit ")]


@pytest.mark.parametrize("name", ["normalised", "orthonormal", "common-mean"])
def test_vectors_of_one_side_are_not_enough_to_answer(embaudit, name, screen):
    np.save(f"{name}.npy", one_sided_vectors()[name])
    result = embaudit("audit", f"{name}.npy", *FEW)
    assert "UNKNOWN" in result.out
    assert fits_a_terminal(result.out)
    assert not breaks_a_command(result.out)
    assert without_table(result.out) == screen


def test_a_language_model_is_audited_with_its_final_norm(embaudit, shared_data, screen):
    Path("lm-stories260K").symlink_to(shared_data("lm-stories260K"))
    result = embaudit("audit", "lm-stories260K", *FEW)
    assert fits_a_terminal(result.out)
    assert not breaks_a_command(result.out)
    assert without_table(result.out) == screen


def test_the_file_that_an_audit_suggests_has_the_neighbours_on_the_right(
    embaudit, shared_data
):
    Path("lm-stories260K").symlink_to(shared_data("lm-stories260K"))
    shown = embaudit("audit", "lm-stories260K", *FEW).out
    full = embaudit("audit", "lm-stories260K", *FEW, "--full").out
    # The screen has the first command of `--full`, whose second one is of these lists.
    first, second, *_ = suggested_commands(full)
    assert suggested_commands(shown) == [first]
    assert embaudit(*second).code == 0
    rows = ea.load("lm-stories260K-folded-centred.npz").right
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    (name,) = re.findall(r"^Nearest to label (\d+):$", shown, re.MULTILINE)
    right = re.findall(r"label (\d+) +0\.\d\d(?: \*)?$", shown, re.MULTILINE)
    nearest = np.argsort(-unit @ unit[int(name)], kind="stable")[1:6]
    assert [int(label) for label in right] == nearest.tolist()


@pytest.mark.parametrize("objective", ["product", "factors"])
def test_factors_fitted_to_movielens_are_audited_with_the_titles_of_films(
    embaudit, shared_data, objective, screen
):
    folder, out = shared_data("ml-latest-small"), f"{objective}.npz"
    titles = ("--items", folder / "movies.csv", "--id", "movieId", "--title", "title")
    training = ("--objective", objective, "--n-components", 20)
    table = folder / "ratings.csv"
    assert embaudit("fit", table, *training, *titles, "--out", out).code == 0
    show = ("--show", "Toy Story (1995)", "--json", "audit.json")
    result = embaudit("audit", out, *FEW, *show)
    record = json.loads(Path("audit.json").read_text())
    assert result.code == 0
    assert fits_a_terminal(result.out)
    assert not breaks_a_command(result.out)
    assert all(check["ok"] for check in record["drift"])
    assert misfits(record) == []
    assert without_table(result.out) == screen


def test_the_first_line_shortens_a_long_path_and_keeps_the_shape(embaudit, tmp_path):
    folder = tmp_path / "a long name of a folder that fills the line by itself"
    folder.mkdir()
    np.save(folder / "v.npy", np.random.default_rng(0).standard_normal((30, 4)))
    first = embaudit("audit", folder / "v.npy", "--quick").out.splitlines()[0]
    assert first.startswith("…")
    assert first.endswith("v.npy: vectors, 30 items, 4 dimensions")
    assert len(first) <= WIDTH


def test_labels_that_can_lead_are_told_only_if_the_audit_is_asked(embaudit, tmp_path):
    """Three labels are corners of a triangle; the fourth, its centre, never leads."""
    corners = np.array([[3.0, 0.0], [-1.5, 2.5], [-1.5, -2.5]])
    rows = np.vstack([corners, corners.mean(axis=0)])
    path = tmp_path / "head.npz"
    np.savez(path, weight=rows)
    silent = embaudit("audit", path, "--kind", "head", *FEW).out
    assert "most probable" not in silent
    asked = embaudit("audit", path, "--kind", "head", "--hull", *FEW).out
    told = "Of 4 labels, 3 can be the most probable one, 1 hardly can."
    assert asked.count(told) == 1
