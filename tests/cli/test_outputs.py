"""What commands write: only regular files, over no input and no other output; and what
they say of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    ea.save(random_model(n=20, p=15, k=3, objective="product"), path)
    return path


@pytest.fixture
def vectors(tmp_path):
    (tmp_path / "s").mkdir()
    np.save(tmp_path / "s" / "v.npy", np.random.default_rng(1).standard_normal((12, 3)))
    return Path("s/v.npy")


def assert_refused(result, *words):
    assert result.code == 2, result
    assert result.err.startswith("embaudit: ")
    assert result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err, result.err


# Outputs are neither inputs nor one another


def test_no_command_writes_over_what_it_reads(
    embaudit, model, vectors, ratings, tmp_path
):
    title = ("--items", "movies.csv")
    for path, arguments in (
        (model, ("gauge", model, "--out", model)),
        (model, ("fix", model, "--out", "./model.npz")),
        (vectors, ("gauge", vectors, "--out", vectors)),
        (vectors, ("blocks", vectors, vectors, "--json", vectors)),
        (model, ("compare", model, model, "--out", model)),
        (
            ratings,
            (
                "simpson",
                ratings,
                "--x",
                "userId",
                "--y",
                "rating",
                "--groups",
                "movieId",
                "--json",
                ratings,
            ),
        ),
        (
            tmp_path / "movies.csv",
            ("fit", ratings, "--objective", "product", *title, "--out", "movies.csv"),
        ),
    ):
        before = Path(path).read_bytes()
        assert_refused(embaudit(*arguments, "--force"), "another file than the input")
        assert Path(path).read_bytes() == before


def test_figures_that_exist_are_not_replaced(embaudit, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "simpson.json").write_text("mine")
    (tmp_path / "file").write_text("mine")
    assert_refused(embaudit("reproduce", "simpson"), "--force")
    assert_refused(
        embaudit("reproduce", "simpson", "--out", "file", "--force"), "folder"
    )
    (figure,) = (tmp_path / "figures").iterdir()
    assert figure.read_text() == "mine"
    assert (tmp_path / "file").read_text() == "mine"


# What a command says and keeps


def balanced(path):
    draw = np.random.default_rng(2)
    p, q = (
        np.linalg.qr(draw.standard_normal((n, 3)))[0] * np.array([3.0, 2.0, 1.0])
        for n in (9, 8)
    )
    turn = np.linalg.qr(draw.standard_normal((3, 3)))[0]
    ea.save(
        ea.FactorModel.from_user_item(p @ turn, q @ turn).replace(objective="factors"),
        path,
    )


@pytest.mark.parametrize(
    ("objective", "options", "kept"),
    [
        ("product", ("--group", "linear"), True),
        ("product", ("--exponent", 0), True),
        ("none", ("--group", "diagonal"), True),
        ("factors", ("--group", "diagonal"), False),
        ("factors", ("--group", "linear"), False),
        ("factors", ("--group", "orthogonal"), True),
        ("factors", ("--exponent", 0), False),
        ("factors", ("--exponent", 1), False),
        ("factors", ("--exponent", 0.5), True),
    ],
)
def test_gauge_keeps_an_objective_only_where_it_is_still_minimised(
    embaudit, tmp_path, objective, options, kept
):
    balanced("b.npz")
    given = ea.load("b.npz").replace(objective=objective)
    ea.save(given, "b.npz", force=True)
    result = embaudit("gauge", "b.npz", "--out", "g.npz", *options)
    assert result.code == 0
    after = ea.load("g.npz")
    assert after.objective == (objective if kept else None)
    assert ("dropped" in result.out) is not kept
    decay = [np.sum(m.left**2) + np.sum(m.right**2) for m in (given, after)]
    if objective == "factors":
        assert np.isclose(*decay, rtol=1e-9) == kept


def test_capitals_tell_labels_apart_only_where_they_have_to(embaudit, tmp_path):
    labels = ["e", "E", "apple", "Apfel"]
    draw = np.random.default_rng(3)
    np.savez("head.npz", W=draw.standard_normal((4, 3)), b=np.zeros(4), labels=labels)
    for wanted, found in (("e", "e"), ("E", "E"), ("APPLE", "apple"), ("apf", "Apfel")):
        assert (
            f"Nearest to {found}:"
            in embaudit(
                "audit",
                "head.npz",
                "--show",
                wanted,
                "--n-gauges",
                1,
                "--n-starts",
                0,
                "--n-neighbours",
                1,
            ).out
        )
    assert_refused(
        embaudit("audit", "head.npz", "--show", "ap"),
        "show must be one id or title",
        "'apple', 'Apfel'",
    )


@pytest.mark.parametrize(
    ("users", "items", "fit"),
    [
        pytest.param(
            500, 80, "40, penalties 20 (Eq. 1) and 4.472", marks=pytest.mark.slow
        ),
        (20, 20, "10, penalties 0.2 (Eq. 1) and 0.4472"),
    ],
)
def test_a_small_demonstration_tells_the_same_story(embaudit, users, items, fit):
    result = embaudit("demo", "--n-users", users, "--n-items", items)
    assert result.code == 0
    assert result.out.startswith(
        f"Rank {fit} (Eq. 2): the paper's, scaled to this size.\nSimulated "
    )
    assert result.out.endswith(
        "next, for a model of your own:\n  embaudit audit MODEL --out report.html\n"
    )
    words = " ".join(result.out.replace("│", " ").split())
    assert words.index("not identified") < words.index("chosen by the regulariser")
    first, second = result.out.split("Eq. 2: squared loss")
    for part in (first, second):
        assert f"FactorModel({users} users × {items} items, " in part
        assert "item-item cosines (" in part
        assert len([line for line in part.splitlines() if line.startswith("│")]) >= 8
        assert all(
            name in part
            for name in ("balanced", "8 random rescalings", "8 random linear maps")
        )
    seeds = [
        embaudit("demo", "--n-users", users, "--n-items", items, "--rng", seed).out
        for seed in (0, 3)
    ]
    assert seeds[0] == result.out != seeds[1]


def test_no_two_outputs_are_one_file(embaudit, model, vectors, ratings, tmp_path):
    for arguments in (
        ("compare", model, model),
        ("blocks", vectors, vectors),
        ("simpson", ratings, "--x", "userId", "--y", "rating", "--groups", "movieId"),
    ):
        assert_refused(
            embaudit(*arguments, "--json", "same", "--out", "./same"), "another output"
        )
    assert not (tmp_path / "same").exists()
    assert (
        embaudit(
            "compare", model, model, "--by-row", "--json", "a.json", "--out", "a.html"
        ).code
        == 0
    )
