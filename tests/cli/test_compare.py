"""`embaudit compare`: the first line answers, and the exit code follows the limits."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import embaudit as ea

DRAW = np.random.default_rng(0)
USERS, ITEMS = DRAW.standard_normal((80, 4)), DRAW.standard_normal((60, 4))
NOISE, SEED_NOISE = DRAW.standard_normal((2, 60, 4))


@pytest.fixture
def models(embaudit):
    """Save a model, a copy, another seed, two later models and an unrelated one."""
    files = {
        "old": (USERS, ITEMS),
        "copy": (USERS, ITEMS),
        "seed": (USERS, ITEMS + 0.1 * SEED_NOISE),
        "near": (USERS, ITEMS + 0.1 * NOISE),
        "far": (USERS, ITEMS + 0.8 * NOISE),
        "unrelated": (DRAW.standard_normal((80, 4)), NOISE),
    }
    for name, (users, items) in files.items():
        ids = {"user_ids": np.arange(80), "item_ids": np.arange(60)}
        model = ea.FactorModel.from_user_item(users, items, **ids)
        ea.save(model, f"{name}.npz", force=True)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("new", "options", "word", "code"),
    [
        ("copy", (), "SAME: ", 0),
        ("copy", ("--reference", "seed.npz"), "SAME: ", 0),
        ("near", (), "Compared: ", 0),
        ("near", ("--fail-below", "top=0.5"), "CLOSE: ", 0),
        ("near", ("--reference", "seed.npz"), "CLOSE: ", 0),
        ("far", ("--fail-below", "top=0.9"), "DIFFERENT: top ", 1),
        ("far", ("--reference", "seed.npz"), "DIFFERENT: ", 1),
        ("unrelated", (), "OTHER SPACE: ", 0),
        ("unrelated", ("--fail-below", "top=0.9"), "OTHER SPACE: ", 1),
    ],
)
def test_screen_json_and_page_give_one_answer(embaudit, new, options, word, code):
    written = ("--json", "c.json", "--out", "c.html", "--force")
    result = embaudit("compare", "old.npz", f"{new}.npz", *options, *written)
    assert result.code == code
    assert result.out.startswith(word)
    record = json.loads(Path("c.json").read_text())
    answer = word.partition(":")[0]
    page = Path("c.html").read_text()
    if answer == "Compared":
        assert record["verdict"] is None
        assert "Give a limit" in record["reason"]
        assert "Give a limit" in page
    else:
        assert record["verdict"] == answer
        assert f"{answer}: " in page
    last = result.out.splitlines()[-1]
    assert last.startswith("gate: ") == bool(options)


@pytest.mark.usefixtures("models")
def test_a_reference_that_is_missing_is_refused(embaudit):
    result = embaudit("compare", "old.npz", "near.npz", "--reference", "none.npz")
    assert result.code == 2
    assert "none.npz" in result.err


@pytest.mark.usefixtures("models")
def test_the_second_model_is_refused_as_its_own_reference(embaudit):
    command = ("compare", "old.npz", "far.npz", "--reference", "far.npz")
    result = embaudit(*command, "--json", "c.json")
    assert result.code == 2
    assert result.err.startswith("embaudit: --reference must be a second training run")
    assert "--fail-below" in result.err
    assert not Path("c.json").exists()


@pytest.mark.usefixtures("models")
def test_a_limit_of_predictions_names_the_options_that_load_both_sides(embaudit):
    draw = np.random.default_rng(1)
    for name in ("a", "b"):
        ea.save(
            ea.FactorModel.from_vectors(draw.standard_normal((30, 3))), f"{name}.npz"
        )
    limit = ("--by-row", "--fail-below", "predicted=0.7")
    result = embaudit("compare", "a.npz", "b.npz", *limit)
    assert result.code == 2
    assert "--inputs" in result.err
    assert "--left-file" in result.err


# Models of one side, with a file of their left rows each


@pytest.fixture
def items_and_users(embaudit):
    """Save the items and the users of two models that differ in their users."""
    for name in ("old_items", "new_items"):
        np.save(f"{name}.npy", ITEMS)
    np.save("old_users.npy", USERS)
    np.save("new_users.npy", DRAW.standard_normal((80, 4)))


@pytest.mark.usefixtures("items_and_users")
@pytest.mark.parametrize(
    ("left_files", "word"),
    [
        (("old_users.npy", "new_users.npy"), "Compared: "),
        (("old_users.npy", "old_users.npy"), "SAME: "),
    ],
)
def test_each_model_has_the_left_file_at_its_place(embaudit, left_files, word):
    options = ["--by-row"]
    for file in left_files:
        options += ["--left-file", file]
    result = embaudit("compare", "old_items.npy", "new_items.npy", *options)
    assert result.code == 0
    assert result.out.startswith(word)
    assert "80 users and 60 items" in result.out


@pytest.mark.usefixtures("items_and_users")
@pytest.mark.parametrize(
    ("models", "n_left_files", "got"),
    [
        ("old_items.npy new_items.npy", 1, "got 1 file for 2 models"),
        ("old_items.npy new_items.npy", 3, "got 3 files for 2 models"),
        (
            "old_items.npy new_items.npy --reference new_items.npy",
            2,
            "got 2 files for 3 models",
        ),
        ("old_items.npy new_items.npy new_items.npy", 2, "got 2 files for 3 models"),
        ("old_items.npy new_items.npy --paired", 1, "got 1 file for 2 models"),
        ("old_items.npy --formats int8", 2, "got 2 files for 1 model"),
    ],
)
def test_a_left_file_is_never_shared_silently(embaudit, models, n_left_files, got):
    options = ["--left-file", "old_users.npy"] * n_left_files
    result = embaudit("compare", *models.split(), "--by-row", *options)
    assert result.code == 2
    expected = "--left-file must be given once for each model, in their order; "
    assert f"{expected}{got}; " in result.err


@pytest.mark.usefixtures("items_and_users")
@pytest.mark.parametrize(
    "command",
    [
        "fix new_items.npy --out v.npy --align-to old_items.npy",
        "fix new_items.npy --out v.npy --map-to old_items.npy",
        "threshold new_items.npy --to old_items.npy",
    ],
)
def test_a_left_file_is_refused_for_commands_with_another_model(embaudit, command):
    result = embaudit(*command.split(), "--left-file", "old_users.npy")
    assert result.code == 2
    assert "it would give both models the same left rows" in result.err
    assert not Path("v.npy").exists()


# Three or more runs


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv", ".tsv"])
def test_several_runs_are_compared_on_screen_and_in_a_table(embaudit, suffix):
    runs = ("old.npz", "seed.npz", "near.npz")
    result = embaudit("compare", *runs, "--out", f"stable{suffix}", "--json", "r.json")
    assert result.code == 0
    models = [ea.load(path) for path in runs]
    found = ea.stable_neighbours(models, n_lists=None)
    assert result.out.startswith("All 3 runs list ")
    record = json.loads(Path("r.json").read_text())
    assert record["stable_share"] == found.stable_share
    readers = {
        ".parquet": pd.read_parquet,
        ".feather": pd.read_feather,
        ".csv": pd.read_csv,
        ".tsv": partial(pd.read_csv, sep="\t"),
    }
    table = readers[suffix](f"stable{suffix}")
    pd.testing.assert_frame_equal(table, found.to_frame(), check_dtype=False)


@pytest.mark.usefixtures("models")
def test_the_page_of_several_runs_shows_their_shares(embaudit):
    runs = ("old.npz", "copy.npz", "old.npz")
    assert embaudit("compare", *runs, "--out", "runs.html").code == 0
    page = Path("runs.html").read_text()
    assert "Which neighbours of the first run do all 3 runs list?" in page
    assert "All 3 runs list 100 %" in page
    assert "Run 2 has the same cosines as run 1" in page


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--fail-below", "top=0.5"), "--fail-below must be omitted if three or"),
        (("--reference", "seed.npz"), "--reference must be omitted if three or"),
        (("--allow-swapped",), "--allow-swapped must be omitted if three or more"),
        (("--same-numbers",), "--same-numbers must be omitted if three or more"),
        (
            ("--out", "runs.xlsx"),
            "--out must be a file that ends in .html for a report",
        ),
        (("--role", "query"), "--role must be one of"),
        (("--n-neighbours", "60"), "--n-neighbours must be an integer from 1 to 59"),
    ],
)
def test_options_that_do_not_fit_several_runs_are_refused(embaudit, options, sentence):
    result = embaudit("compare", "old.npz", "seed.npz", "near.npz", *options)
    assert result.code == 2
    assert result.err.startswith(f"embaudit: {sentence}")
    assert result.err.count("\n") == 1


@pytest.mark.usefixtures("models")
def test_a_table_is_not_replaced_without_force(embaudit):
    runs = ("old.npz", "seed.npz", "near.npz")
    Path("stable.csv").write_text("mine")
    result = embaudit("compare", *runs, "--out", "stable.csv")
    assert result.code == 2
    assert "overwrite it with --force" in result.err
    assert Path("stable.csv").read_text() == "mine"
    assert embaudit("compare", *runs, "--out", "stable.csv", "--force").code == 0
    assert Path("stable.csv").read_text().startswith("id,neighbour,place,runs,")


@pytest.mark.usefixtures("models")
def test_two_models_write_no_table(embaudit):
    result = embaudit("compare", "old.npz", "seed.npz", "--out", "stable.parquet")
    assert result.code == 2
    assert "name three or more training runs to write a table" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.usefixtures("models")
def test_a_side_can_be_chosen_for_two_models_and_for_runs(embaudit):
    runs = ("old.npz", "seed.npz", "near.npz")
    two = embaudit("compare", *runs[:2], "--role", "user")
    assert two.code == 0
    assert "item" not in two.out.partition("what changed")[2].splitlines()[1]
    result = embaudit("compare", *runs, "--role", "user", "--json", "three.json")
    assert "10 nearest users by prediction cosine" in " ".join(result.out.split())
    record = json.loads(Path("three.json").read_text())
    assert record["role"] == "left"


# Copies


@pytest.fixture
def vectors(tmp_path, monkeypatch):
    """Write vectors, a copy of codes and queries."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(80, 16)).astype(np.float32)
    np.save("x.npy", x)
    np.save("queries.npy", draw.normal(size=(9, 16)).astype(np.float32))
    scale = np.abs(x).max(axis=1, keepdims=True) / 127
    np.save("codes.npy", np.rint(x / scale).astype(np.int8))
    return x


def test_formats_are_judged_on_screen_in_json_and_on_a_page(embaudit, vectors):
    outputs = ("--json", "c.json", "--out", "c.html", "--full")
    result = embaudit("compare", "x.npy", "--formats", "int8,binary", *outputs)
    assert result.code == 0
    found = ea.compare_copies(vectors, ["int8", "binary"])
    record = json.loads(Path("c.json").read_text())
    assert record["copies"] == found.to_dict()["copies"]
    assert found.conclusion.split(":")[0] in " ".join(result.out.split())
    assert "Which copy keeps the neighbour lists?" in Path("c.html").read_text()


def test_a_copy_and_queries_are_read_from_files(embaudit, vectors):
    options = ("--copy", "--queries", "queries.npy", "--json", "c.json")
    result = embaudit("compare", "x.npy", "codes.npy", *options)
    assert result.code == 0
    record = json.loads(Path("c.json").read_text())
    assert record["n_queries"] == 9
    [copy] = record["copies"]
    assert copy["copy"] == "codes.npy"
    assert copy["kept"] == ea.compare_copies(vectors, "int8").copies[0].kept


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--formats", "int4"), "--formats must be names of float16, bfloat16"),
        (("--copy",), "the copies to compare must be given with --copy or"),
        ((), "the input must be two or more models; got one model"),
        (("--queries", "x.npy"), "--queries must be omitted unless --copy or"),
        (("x.npy", "--n-lists", "9"), "--n-lists must be omitted unless --copy or"),
        (
            ("--formats", "int8", "--same-numbers"),
            "--same-numbers must be omitted if --copy or",
        ),
        (("--formats", "int8", "--role", "side"), "--role must be one of"),
        (("--formats", "int8", "--n-lists", "0"), "--n-lists must be an integer >= 1"),
        (
            ("--formats", "int8", "--allow-swapped"),
            "--allow-swapped must be omitted if --copy or",
        ),
        (("codes.npy", "--formats", "int8"), "a second file must be omitted if"),
    ],
)
def test_options_that_do_not_fit_copies_are_refused(embaudit, arguments, sentence):
    result = embaudit("compare", "x.npy", *arguments)
    assert result.code == 2
    assert result.err.startswith(f"embaudit: {sentence}")
    assert result.err.count("\n") == 1
