"""A real Dask cluster on this machine, one worker of which is killed at work."""

from __future__ import annotations

import os
import signal

import dask
import distributed
import numpy as np
import pytest
from joblib import parallel_config

import embaudit as ea
from embaudit.core.parallel import parallel_map

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # what Dask warns of while workers die is not about embaudit

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(left=DRAW.normal(size=(60, 4)), right=DRAW.normal(size=(50, 4)))


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


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("columns", [3, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_changes_nothing(columns, tmp_path):
    """What is small travels with each block; what is large is broadcast, and outlives one who had it."""
    x, deadly = np.arange(40.0 * columns).reshape(40, columns), tmp_path / "deadly"

    asking = os.getpid()

    def block(i):
        if i == 5 and os.getpid() != asking and not deadly.exists():
            deadly.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid(), i, float(x[i].sum())

    found = list(parallel_map(block, range(40)))
    assert [result[1:] for result in found] == [
        (i, float(x[i].sum())) for i in range(40)
    ]
    # With one worker left joblib stays in this process until the other is back.
    assert {process for process, _, _ in found} - {asking}
    assert deadly.exists()


def test_an_audit_by_command_is_that_of_threads(cluster, embaudit, tmp_path):
    ea.save(MODEL, "m.npz")
    address, asked = (
        cluster.scheduler_address.removeprefix("tcp://"),
        ("--gauges", 2, "--steps", 2, "--quiet"),
    )
    assert embaudit("audit", "m.npz", *asked, "--json", "here.json").code == 0
    assert (
        embaudit(
            "audit", "m.npz", *asked, "--json", "there.json", "--dask", address
        ).code
        == 0
    )
    assert (tmp_path / "here.json").read_bytes() == (
        tmp_path / "there.json"
    ).read_bytes()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(  # which is waited for
            ["--dask", "127.0.0.1:1"],
            "--dask must be HOST:PORT of a Dask scheduler that answers; got '127.0.0.1:1'.",
            marks=pytest.mark.slow,
        ),
        (
            ["--dask", "dask://a"],
            "--dask must be HOST:PORT of a Dask scheduler; got 'dask://a'.",
        ),
        (
            ["--dask", "a:1", "--jobs", 2],
            "--jobs must be left out beside --dask; got 2.",
        ),
    ],
)
def test_who_cannot_work_is_refused_in_a_sentence(options, sentence, embaudit):
    ea.save(MODEL, "m.npz")
    result = embaudit("fix", "m.npz", "--out", "v.npz", *options)
    assert (result.code, result.err) == (2, f"embaudit: {sentence}\n")
