"""The executor of joblib, which comes with scikit-learn: the numbers of threads, and a sentence when a worker dies."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

import embaudit as ea
from embaudit.errors import InputError
from embaudit.foundation.executors import spread
from embaudit.foundation.workers import is_busy

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(left=DRAW.normal(size=(60, 4)), right=DRAW.normal(size=(50, 4)), right_bias=DRAW.normal(size=50))
SAME = {"n_gauges": 2, "rng": 0}


@pytest.fixture(scope="module")
def loky():
    pool = get_reusable_executor(max_workers=2)
    yield pool
    pool.shutdown(wait=True, kill_workers=True)


def test_an_audit_is_that_of_threads_to_the_last_bit(loky):
    with ea.work_on("threads:2"):
        threads = ea.audit(MODEL, **SAME)
    with ea.work_on(loky):
        there = ea.audit(MODEL, **SAME)
    assert there.to_dict() == threads.to_dict()


def test_rows_of_a_file_are_opened_by_workers_on_one_thread_each(loky, tmp_path):
    np.save(tmp_path / "x.npy", DRAW.normal(size=(4_000, 24)))
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    here = ea.neighbours(rows, 7, rows=np.arange(0, 4_000, 9))
    with ea.work_on(loky):
        there = ea.neighbours(rows, 7, rows=np.arange(0, 4_000, 9))
        states = list(spread(lambda i: (os.getpid(), is_busy(), float(rows[i, 0])), range(6)))
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_array_equal(there.cosines, here.cosines)
    assert {busy for _, busy, _ in states} == {True}
    assert os.getpid() not in {process for process, _, _ in states}
    assert [value for _, _, value in states] == rows[:6, 0].tolist()
    assert threading.current_thread() is threading.main_thread()
    assert not is_busy()


def test_a_worker_that_dies_is_told_of_in_a_sentence():
    pool = get_reusable_executor(max_workers=1, reuse=False)
    with pytest.raises(InputError, match=r"^the workers ended before their work was done: "), ea.work_on(pool):
        list(spread(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(3)))
    pool.shutdown(wait=True, kill_workers=True)
