"""A real Dask cluster on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import dask
import distributed
import numpy as np
import pytest
from joblib import parallel_config

import embaudit as ea
from embaudit.core.parallel import parallel_map
from embaudit.errors import InputError

# Dask warns of workers that die.
pytestmark = pytest.mark.filterwarnings("ignore")

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(DRAW.normal(size=(60, 4)), DRAW.normal(size=(50, 4)))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=folder,
            silence_logs="CRITICAL",
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def elsewhere(cluster):
    with (
        distributed.Client(cluster, set_as_default=False) as client,
        parallel_config(backend="dask", client=client),
    ):
        client.wait_for_workers(2)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
def test_blocks_run_in_the_workers_and_their_results_come_in_order():
    rows = np.arange(120.0).reshape(40, 3)

    def process_and_sum(row):
        return os.getpid(), float(rows[row].sum())

    processes, sums = zip(*parallel_map(process_and_sum, range(40)), strict=True)
    assert list(sums) == rows.sum(axis=1).tolist()
    assert os.getpid() not in processes


@pytest.mark.usefixtures("elsewhere")
def test_killed_workers_raise_one_clear_error():
    with pytest.raises(
        InputError, match=r"the workers ended before their work was done: .+; check"
    ):
        list(parallel_map(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(40)))


@pytest.mark.slow
def test_an_audit_on_a_cluster_is_that_of_threads(cluster, embaudit, tmp_path):
    ea.save(MODEL, "m.npz")
    command = ["audit", "m.npz", "--n-gauges", 2, "--n-steps", 2, "--quiet"]
    address = cluster.scheduler_address.removeprefix("tcp://")
    assert embaudit(*command, "--json", "threads.json").code == 0
    assert embaudit(*command, "--json", "dask.json", "--dask", address).code == 0
    of_threads = (tmp_path / "threads.json").read_bytes()
    assert (tmp_path / "dask.json").read_bytes() == of_threads


SCHEDULER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", [3, 4, 8])
def test_a_scheduler_that_is_killed_ends_an_audit_in_one_sentence(tmp_path, moment):
    """The command ends with exit code 2 and one line, or has ended well before."""
    (tmp_path / "scheduler.py").write_text(SCHEDULER)
    rows = np.random.default_rng(0).normal(size=(3000, 40))
    ea.save(ea.FactorModel(rows[:2000], rows), tmp_path / "m.npz")
    command = [sys.executable, "-m", "embaudit", "audit", "m.npz", "--dask"]
    with subprocess.Popen(
        [sys.executable, "scheduler.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip().removeprefix("tcp://")
        with subprocess.Popen(
            [*command, address],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            time.sleep(moment)
            os.killpg(scheduler.pid, signal.SIGKILL)
            _, said = run.communicate(timeout=120)
    assert run.returncode in (0, 2), said
    if run.returncode == 2:
        assert said.startswith("embaudit: ")
        assert "scheduler" in said
        assert said.count("\n") == 1
    else:
        assert said == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(
            ["--dask", "127.0.0.1:1"],
            "--dask must be HOST:PORT of a Dask scheduler that answers; "
            "got '127.0.0.1:1'.",
            marks=pytest.mark.slow,  # the command waits five seconds for an answer
        ),
        (
            ["--dask", "dask://a"],
            "--dask must be HOST:PORT of a Dask scheduler; got 'dask://a'.",
        ),
        (
            ["--dask", "a:1", "--jobs", 2],
            "--jobs must be omitted if --dask is given; got 2.",
        ),
    ],
)
def test_workers_that_cannot_be_reached_are_refused(options, sentence, embaudit):
    ea.save(MODEL, "m.npz")
    result = embaudit("fix", "m.npz", "--out", "v.npz", *options)
    assert (result.code, result.err) == (2, f"embaudit: {sentence}\n")
