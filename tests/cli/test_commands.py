"""Commands on good input: their output, the files that they write, and their exit
codes.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from store_files import write_sqlite_vec

import embaudit as ea
from embaudit.cli.app import app
from embaudit.cli.commands import COMMANDS


@pytest.fixture
def model(embaudit, ratings):
    given = (
        "--objective",
        "product",
        "--n-components",
        5,
        "--items",
        "movies.csv",
        "--out",
        "m.npz",
    )
    assert embaudit("fit", ratings, *given).code == 0
    return "m.npz"


def test_fit_keeps_ids_titles_and_the_objective(model, embaudit):
    loaded = ea.load(model)
    assert loaded.right_names[3] == "Film, number 3"
    assert loaded.left_ids.dtype.kind == "i"
    assert (loaded.objective, loaded.rank) == ("product", 5)


@pytest.fixture
def gauges_change_predictions(monkeypatch):
    """Make every gauge double one row of users, so that their predictions change."""
    act = ea.Gauge.act

    def act_wrongly(gauge, model):
        equivalent = act(gauge, model)
        left = np.array(equivalent.left)
        left[0] *= 2
        return equivalent.replace(left=left)

    monkeypatch.setattr(ea.Gauge, "act", act_wrongly)


ONE_GAUGE = ("--n-gauges", 1, "--n-starts", 0)


@pytest.mark.usefixtures("gauges_change_predictions")
def test_an_audit_whose_gauges_change_predictions_answers_nothing_and_exits_1(
    model, embaudit
):
    result = embaudit("audit", model, *ONE_GAUGE)
    words = " ".join(result.out.split())
    assert result.code == 1
    assert (
        "CHECK FIRST: the check failed, as models that should predict the same do not."
        in words
    )
    assert "EMB001 issue: the predictions did not stay the same" in words
    assert "moved by" not in words


@pytest.mark.usefixtures("gauges_change_predictions")
def test_a_full_audit_says_that_its_check_failed_before_it_shows_tables(
    model, embaudit
):
    result = embaudit("audit", model, "--full", *ONE_GAUGE)
    assert result.code == 1
    assert result.out.index("check failed ─") < result.out.index("item-item cosines (")


def test_gauge_writes_another_model_with_the_same_scores(model, embaudit):
    given = "--group", "linear", "--max-condition", 7, "--rng", 3
    assert embaudit("gauge", model, "--out", "g.npz", *given).code == 0
    before, after = ea.load(model), ea.load("g.npz")
    np.testing.assert_allclose(before.scores(), after.scores(), atol=1e-12)
    assert np.abs(before.right - after.right).max() > 0.1
    assert list(before.right_names) == list(after.right_names)
    assert embaudit("gauge", model, "--out", "e.npz", "--exponent", "0.5").code == 0
    balanced = ea.load("e.npz")
    np.testing.assert_allclose(
        balanced.left.T @ balanced.left, balanced.right.T @ balanced.right, atol=1e-9
    )


def test_help_lists_the_command_of_each_module(embaudit):
    for name in COMMANDS:
        import_module(f"embaudit.cli.{name}")
    assert sorted(one.callback.__name__ for one in app.registered_commands) == sorted(
        COMMANDS
    )
    lines = embaudit("--help").out.partition("Commands:\n")[2].splitlines()
    assert [line.split(maxsplit=1) for line in lines if line] == [
        list(line) for line in COMMANDS.items()
    ]
    assert "Did you mean 'audit'?" in embaudit("audti").err


HEAVY = {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "pyarrow"}


def modules_of_help(*command):
    script = (
        "import contextlib, io, sys\n"
        "from embaudit.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_help_imports_no_command():
    loaded = {*modules_of_help()}
    assert not HEAVY & loaded
    assert not {f"embaudit.cli.{name}" for name in COMMANDS} & loaded


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_imports_nothing_heavy(command):
    loaded = {*modules_of_help(command)}
    assert f"embaudit.cli.{command}" in loaded
    assert not HEAVY & loaded


def test_versions_name_the_blas_of_a_process_that_loaded_none():
    script = "import embaudit as ea; ea.show_versions()"
    shown = subprocess.check_output([sys.executable, "-c", script], text=True)
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["embaudit"] == ea.__version__
    assert lines["numpy"] == np.__version__
    assert "threads" in lines["BLAS"]


def test_an_index_whose_metric_is_not_compared_is_named_once(embaudit, tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32)
    path = tmp_path / "films.db"
    columns = "id integer primary key, v float[{width}] distance_metric=L1"
    write_sqlite_vec(path, rows, range(40), columns=columns)
    result = embaudit("audit", path, "--quick", "--out", "audit.html")
    sentence = "Its lists are not compared with those of the model"
    assert " ".join(result.out.split()).count(sentence) == 1
    assert sentence in " ".join(Path("audit.html").read_text().split())
