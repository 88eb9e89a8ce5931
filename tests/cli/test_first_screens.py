"""The first screens of real inputs, kept as text in `screens/` for people to read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from schemas import misfits
from snapshots import assert_snapshot

import embaudit as ea
from embaudit.report.terminal import HEIGHT, WIDTH

FOLDER = Path(__file__).parent / "screens"


def assert_a_screen(text):
    lines = text.splitlines()
    assert len(lines) <= HEIGHT
    assert max(map(len, lines)) <= WIDTH
    assert "\n\n\n" not in text
    assert not [line for line in lines if line != line.rstrip()]


def commands(screen):
    """What a screen says to type next, as it is pasted."""
    pasted = screen.split("\nnext, ")[1].partition("\n")[2].replace("\\\n", "")
    return [
        split(line)
        for line in pasted.splitlines()
        if line.strip().startswith("embaudit ")
    ]


@pytest.fixture(scope="module")
def drawn():
    """Vectors of one side: of length 1, with orthonormal columns, and with a mean of .8 of a typical row."""
    rows = np.random.default_rng(0).standard_normal((300, 16))
    stretched = rows * np.linspace(3, 0.5, 16)
    mean = np.random.default_rng(1).standard_normal(16)
    mean *= 0.8 / 0.6 * 4 / np.linalg.norm(mean)
    return {
        "normalised": stretched / np.linalg.norm(stretched, axis=1, keepdims=True),
        "orthonormal": np.linalg.qr(stretched)[0],
        "common-mean": rows - rows.mean(axis=0) + mean,
    }


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize("name", ["normalised", "orthonormal", "common-mean"])
def test_one_side_is_not_enough_to_answer(embaudit, drawn, name):
    np.save(f"{name}.npy", drawn[name])
    result = embaudit("audit", f"{name}.npy", "--gauges", 1)
    assert_a_screen(result.out)
    assert_snapshot(FOLDER / f"{name}.txt", result.out)


def test_the_first_line_names_the_dimensions_behind_any_path(embaudit, tmp_path):
    for name in ("v", "a long name of a folder that fills the line by itself/v"):
        path = tmp_path / f"{name}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, np.random.default_rng(0).standard_normal((30, 4)))
        line = embaudit("audit", path, "--quick").out.splitlines()[0]
        assert line.endswith("v.npy: 30 items, 4 dimensions")
        assert (len(line) <= 80, line[0]) == (True, "…" if len(str(path)) > 51 else "/")


@pytest.mark.usefixtures("without_attacks")
def test_a_long_path_leaves_room_for_neighbours_and_for_training_that_is_not_known(
    embaudit, tmp_path
):
    path, draw = (
        tmp_path / "a long name of a folder that fills the line by itself" / "m.npz",
        np.random.default_rng(0),
    )
    path.parent.mkdir()
    np.savez(
        path,
        user_factors=draw.standard_normal((60, 4)),
        item_factors=draw.standard_normal((50, 4)) * [1, 2, 3, 4],
    )
    (tmp_path / "films.csv").write_text(
        "title,kind\n" + "".join(f"film {i},{'ab'[i % 2]}\n" for i in range(50))
    )
    for training in ((), ("--objective", "product")):
        titles = ("--items", tmp_path / "films.csv", "--by-row")
        screen = embaudit("audit", path, *titles, "--gauges", 1, *training).out
        assert ("NO: " in screen, len(screen.splitlines()) <= HEIGHT) == (True, True)
        assert len(re.findall(r"^film \d+ +-?\d\.\d\d", screen, re.MULTILINE)) >= 2 + (
            not training
        )
        assert ("add --objective (`embaudit explain objectives`)" in screen) == (
            not training
        )


@pytest.mark.usefixtures("without_attacks")
def test_the_head_of_a_language_model(embaudit, shared_data):
    Path("lm-stories260K").symlink_to(shared_data("lm-stories260K"))
    result = embaudit("audit", "lm-stories260K", "--gauges", 1)
    assert_a_screen(result.out)
    assert_snapshot(FOLDER / "lm-stories260K.txt", result.out)
    # What the command writes has the neighbours on the right.
    assert embaudit(*commands(result.out)[1][1:]).code == 0
    rows = ea.load("lm-stories260K-folded-centred.npz").right
    name, *near = re.findall(r"label (\d+)(?:, by|  +0\.\d\d \*?\n)", result.out)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert len(near) == 3
    assert near == [
        str(row) for row in np.argsort(-unit @ unit[int(name)], kind="stable")[1:4]
    ]


def test_movielens_end_to_end(embaudit, shared_data, request):
    folder = shared_data("ml-latest-small")
    titles = ("--items", folder / "movies.csv", "--id", "movieId", "--title", "title")
    for objective in ("product", "factors"):
        out = ("--out", f"{objective}.npz")
        fitted = embaudit(
            "fit",
            folder / "ratings.csv",
            "--objective",
            objective,
            "--rank",
            20,
            *titles,
            *out,
        )
        assert fitted.code == 0
    shown = ("--show", "Toy Story (1995)", "--gauges", 1)
    product = embaudit("audit", "product.npz", "--json", "p.json", *shown)
    request.getfixturevalue("without_attacks")
    factors = embaudit("audit", "factors.npz", *shown)
    for name, result in (("product", product), ("factors", factors)):
        assert result.code == 0
        assert_a_screen(result.out)
        assert_snapshot(FOLDER / f"movielens-{name}.txt", result.out)
    written = json.loads(Path("p.json").read_text())
    assert all(record["ok"] for record in written["drift"])
    assert misfits("audit", written) == []
