"""Runs that are killed, or that fill the disk, leave no broken file under the name of
an output.

`EMBAUDIT_KILLED=200`, as in `make killed`, sets the number of runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import time

import numpy as np
import pytest

import embaudit as ea
from embaudit.cli import main

pytestmark = pytest.mark.slow

NUMBER = int(os.environ.get("EMBAUDIT_KILLED", "14"))
SEED = int(os.environ.get("EMBAUDIT_KILLED_SEED", "0"))
WAYS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, "full")


def rows_of(path):
    return ea.load(path).n_right


def json_of(path):
    return len(json.loads(path.read_text("utf-8")))


def page_of(path):
    text = path.read_text("utf-8")
    assert text.rstrip().endswith("</html>")
    return len(text)


OUTPUTS = {
    "gauged.npz": (
        ("gauge", "model.npz", "--group", "linear", "--max-condition", "2", "--out"),
        rows_of,
    ),
    "fixed.npy": (("fix", "plain.npz", "--out"), rows_of),
    "fixed.safetensors": (("fix", "plain.npz", "--out"), rows_of),
    "fixed.parquet": (("fix", "model.npz", "--out"), rows_of),
    "fixed.txt": (("fix", "model.npz", "--out"), rows_of),
    "numbers.json": (
        ("compare", "model.npz", "model.npz", "--by-row", "--json"),
        json_of,
    ),
    "page.html": (("compare", "model.npz", "model.npz", "--by-row", "--out"), page_of),
}


def run_until_stopped(folder, arguments, way, moment):
    """Run a command in a process of its own, whose imports are done, and stop it after
    a moment.
    """
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            sys.dont_write_bytecode = (
                True  # half of it would stay when the run is stopped
            )
            if way == "full":
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (int(moment), resource.RLIM_INFINITY)
                )
            sys.argv = ["embaudit", *arguments]
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            main()
        except SystemExit as stopped:
            os._exit(int(stopped.code or 0))
        finally:
            os._exit(99)
    if way != "full":
        time.sleep(moment)
        os.kill(child, way)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("killed")
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_arrays(
        draw.normal(size=(500, 16)), draw.normal(size=(3000, 16))
    )
    ea.save(model, where / "plain.npz")
    ea.save(
        model.replace(right_ids=[f"item{i}" for i in range(3000)]), where / "model.npz"
    )
    # What a command imports is there for the processes that are killed, which then
    # spend their time on writing.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        for name, (arguments, _) in OUTPUTS.items():
            patch.setattr("sys.argv", ["embaudit", *arguments, name, "--quiet"])
            with pytest.raises(SystemExit):
                main()
    return where


def time_of(folder, name):
    """Return how long a whole run takes, and what its output holds."""
    arguments, look = OUTPUTS[name]
    start = time.perf_counter()
    assert (
        run_until_stopped(
            folder, (*arguments, name, "--force", "--quiet"), "full", 2**40
        )
        == 0
    )
    return time.perf_counter() - start, look(folder / name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied only on Unix")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_killed_run_leaves_the_old_file_or_the_new_one(folder, name):
    draw = np.random.default_rng([SEED, list(OUTPUTS).index(name)])
    arguments, look = OUTPUTS[name]
    model = folder / arguments[1]
    before = hashlib.sha256(model.read_bytes()).hexdigest()
    (folder / name).unlink(missing_ok=True)
    whole, expected = time_of(folder, name)
    complete = (folder / name).read_bytes()
    for number in range(-(-NUMBER // len(OUTPUTS))):
        old = number % 2 == 1
        (folder / name).unlink(missing_ok=True)
        if old:
            (folder / name).write_bytes(complete)
        way = WAYS[int(draw.integers(len(WAYS)))]
        moment = draw.uniform(0, len(complete) if way == "full" else 1.2 * whole)
        code = run_until_stopped(
            folder, (*arguments, name, "--force", "--quiet"), way, moment
        )
        assert code in ((0, 2) if way == "full" else (0, -way, 128 + way)), (
            way,
            moment,
        )
        assert (folder / name).exists() or not old
        if (folder / name).exists():
            assert look(folder / name) == expected
        assert hashlib.sha256(model.read_bytes()).hexdigest() == before
    time_of(folder, name)
