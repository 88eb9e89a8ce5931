"""A real cluster on this machine: several worker processes, one killed at work, one slow."""

from __future__ import annotations

import importlib
import os
import signal
import time

import dask
import distributed
import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.foundation.executors import named_executor, spread

pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask warns of while workers die is not about embaudit

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(left=DRAW.normal(size=(60, 4)), right=DRAW.normal(size=(50, 4)))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    quiet = {"distributed.worker.memory.terminate": False, "logging.distributed": "critical"}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=folder,
            silence_logs="CRITICAL",
        ) as cluster,
    ):
        yield cluster.scheduler_address.replace("tcp://", "dask://")


def test_an_audit_on_a_cluster_is_the_same_to_the_last_bit(address):
    alone = ea.audit(MODEL, n_gauges=2, rng=0).to_dict()
    with named_executor(address) as executor, ea.work_on(executor):
        assert ea.audit(MODEL, n_gauges=2, rng=0).to_dict() == alone


def test_vectors_positions_and_sums_of_blocks_are_the_same_on_a_cluster(address, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("embaudit.blocks.compute"), "FEW_ENTRIES", 0)
    monkeypatch.chdir(tmp_path)
    files = ("x.npz", "y.npz")
    for file in files:
        np.savez(file, **{name: DRAW.normal(size=(50, 40)) for name in "abc"})

    def found():
        sums = ea.block_cosines(*files).sums
        parts = [getattr(sums, name).tolist() for name in ("xx", "yy", "xy")]
        fixed = [ea.fix(MODEL, kind).vectors("right").tolist() for kind in ("prediction", "balanced")]
        return parts, fixed, ea.position(MODEL).to_dict(), ea.compare(MODEL, MODEL, rng=0).to_dict()

    here = found()
    with named_executor(address) as executor, ea.work_on(executor):
        assert found() == here


def test_a_worker_that_is_killed_and_one_that_is_slow_change_nothing(address, tmp_path):
    x = np.arange(40_000.0).reshape(40, 1_000)
    deadly, slow = tmp_path / "deadly", tmp_path / "slow"

    def total(i):
        if i == 5 and not deadly.exists():
            deadly.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if i == 1 and not slow.exists():
            slow.touch()
            time.sleep(0.5)
        return i, float(x[i].sum())

    with named_executor(address) as executor, ea.work_on(executor):
        assert list(spread(total, range(40))) == [(i, float(x[i].sum())) for i in range(40)]
    assert deadly.exists()
    assert slow.exists()


def test_an_address_where_nobody_answers_is_refused(monkeypatch):
    monkeypatch.setattr("embaudit.foundation.executors.named.PATIENCE", "100ms")
    with pytest.raises(InputError) as refused, named_executor("dask://127.0.0.1:1"):
        pass
    assert str(refused.value) == (
        "executor must be the address of a Dask scheduler that answers; got 'dask://127.0.0.1:1'."
    )
