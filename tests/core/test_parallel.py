"""One map on any number of workers, anywhere: ordered, the same digits, and a host left as it was."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import threading
import time
import warnings

import cloudpickle
import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS is loaded before limits are compared)
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

import embaudit as ea
from embaudit.core import parallel
from embaudit.core.parallel import one_blas_thread, parallel_map, raise_if_cancelled
from embaudit.errors import InputError
from embaudit.linalg.moments import moments
from embaudit.linalg.nearest import neighbours

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(
    left=DRAW.normal(size=(60, 4)),
    right=DRAW.normal(size=(50, 4)),
    right_bias=DRAW.normal(size=50),
)


@pytest.fixture(autouse=True)
def _host():
    """A host whose BLAS runs on two threads, whatever the machine: a limit that is not taken back shows."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def blas():
    """Return the limits of the process; a BLAS on OpenMP, as other tests may have loaded, has one for each thread."""
    pools = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
    return {
        pool["num_threads"] for pool in pools if pool.get("threading_layer") != "openmp"
    }


def host():
    """All that is the host's, and an audit may not change."""
    state = np.random.get_state()  # noqa: NPY002  (the state that hosts still have)
    return (
        threadpool_info(),
        sys.getswitchinterval(),
        list(warnings.filters),
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        np.geterr(),
        (state[0], state[1].tolist(), state[2:]),
        {thread.name for thread in threading.enumerate()},
    )


def in_thread(_):
    return threading.current_thread().name


def test_results_come_in_order_and_few_wait_for_a_reader():
    taken = []
    with parallel_config(n_jobs=2):
        mapped = parallel_map(lambda i: i, (taken.append(i) or i for i in range(1000)))
        first = [next(mapped) for _ in range(3)]
        assert len(taken) < 20
        assert [*first, *mapped] == list(range(1000))


def test_two_blocks_run_at_once_each_on_one_blas_thread():
    meet = threading.Barrier(2)
    with parallel_config(n_jobs=2):
        names = list(
            parallel_map(lambda _: (meet.wait(10), blas(), in_thread(_))[1:], range(2))
        )
    assert len({name for _, name in names}) == 2
    assert [limit for limit, _ in names] == [{1}, {1}]
    assert blas() == {2}


@pytest.mark.parametrize(("items", "workers"), [(1, 3), (5, 1), (0, 2)])
def test_one_item_or_one_worker_is_a_plain_loop_on_one_blas_thread(items, workers):
    with parallel_config(n_jobs=workers):
        found = list(parallel_map(lambda _: (in_thread(_), blas()), range(items)))
    assert found == [(threading.current_thread().name, {1})] * items


def test_a_reader_who_stops_leaves_no_thread_and_no_limit():
    before, begun = host(), []
    with parallel_config(n_jobs=2):
        mapped = parallel_map(begun.append, range(1000))
        next(mapped)
        mapped.close()
    assert host() == before
    assert len(begun) < 20


def test_blocks_beside_one_that_fails_are_told_and_joined():
    started, ended = threading.Event(), []

    def block(item):
        if item == 0:
            started.wait(10)
            raise ZeroDivisionError
        try:
            started.set()
            while True:
                raise_if_cancelled()
                time.sleep(0.001)
        finally:
            ended.append(item)

    before = host()
    with parallel_config(n_jobs=2), pytest.raises(ZeroDivisionError):
        list(parallel_map(block, range(10)))
    assert 1 in ended
    assert host() == before


def test_ctrl_c_joins_the_blocks_and_leaves_the_host_as_it_was():
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a shell switches off for what it runs behind it
    x, before = DRAW.normal(size=(300, 300)), host()

    def block(item):
        if item == 3:
            signal.raise_signal(signal.SIGINT)
        return x @ x

    gc.disable()  # Python drops an interrupt that falls into a callback of the collector, and Hypothesis has one
    with parallel_config(n_jobs=2), pytest.raises(KeyboardInterrupt):
        list(parallel_map(block, range(1000)))
    gc.enable()
    assert host() == before


def test_an_audit_leaves_the_host_as_it_was_and_where_it_fails_too(monkeypatch):
    ea.audit(
        MODEL, n_gauges=1, n_starts=1, n_steps=1
    )  # what it imports has filters of its own
    before = host()
    ea.audit(MODEL, n_gauges=1, n_starts=1, n_steps=1)
    assert host() == before

    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(
        importlib.import_module("embaudit.movements.movement").MovementProbe,
        "measure_rows",
        fail,
    )
    with parallel_config(n_jobs=2), pytest.raises(ZeroDivisionError):
        ea.audit(MODEL, n_gauges=1)
    assert host() == before


def test_the_last_of_several_threads_restores_the_limit_in_any_order():
    def work():
        for _ in range(20):
            with one_blas_thread(), one_blas_thread():
                seen.append(blas())

    seen = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(limit == {1} for limit in seen)
    assert blas() == {2}
    one, other = one_blas_thread(), one_blas_thread()
    one.__enter__()
    thread = threading.Thread(target=other.__enter__)
    thread.start()
    thread.join()
    one.__exit__(None, None, None)
    assert blas() == {1}, "another thread still holds it"
    del other  # as generators are closed that nobody reads to their end: by any thread
    gc.collect()
    assert blas() == {2}
    with one_blas_thread():
        assert blas() == {1}


def digits(path):
    """Numbers of passes over rows of a file, of an audit and of a factorization."""
    rows = np.load(path, mmap_mode="r")
    lists, sums = neighbours(rows, 7, rows=np.arange(0, len(rows), 9)), moments(rows)
    audited = ea.audit(MODEL, n_gauges=2, n_starts=1, n_steps=2).to_dict()
    fitted = (
        ea.FactorPenaltyMF(3, alpha=2.0)
        .fit(np.asarray(rows[:200]))
        .model(np.asarray(rows[:200]))
    )
    arrays = [
        lists.indices,
        lists.cosines,
        lists.runner_up,
        sums.mean,
        sums.centred_root,
        fitted.left,
        fitted.right,
    ]
    return audited, [array.tolist() for array in arrays]


@pytest.fixture
def rows_on_disk(tmp_path, monkeypatch):
    def small_blocks(n, k, budget=2**16):
        return parallel.row_blocks(n, k, budget=budget)

    monkeypatch.setattr("embaudit.linalg.rows.row_blocks", small_blocks)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(4_000, 24)))
    return tmp_path / "x.npy"


def test_digits_are_the_same_with_any_number_of_threads_and_on_loky(rows_on_disk):
    with parallel_config(n_jobs=1):
        alone = digits(rows_on_disk)
    for options in ({"n_jobs": 2}, {"n_jobs": 5}, {"backend": "loky", "n_jobs": 2}):
        with parallel_config(**options):
            assert digits(rows_on_disk) == alone


def test_blocks_elsewhere_have_one_blas_thread_and_read_the_file_themselves(
    rows_on_disk,
):
    rows = np.load(rows_on_disk, mmap_mode="r")
    with parallel_config(backend="loky", n_jobs=2):
        found = list(
            parallel_map(lambda i: (os.getpid(), blas(), float(rows[i, 0])), range(8))
        )
    assert os.getpid() not in {process for process, _, _ in found}
    assert {len(limit) and max(limit) for _, limit, _ in found} <= {0, 1}
    assert [value for _, _, value in found] == rows[:8, 0].tolist()


def test_rows_of_a_mapped_file_travel_as_their_place_in_it(rows_on_disk):
    whole = np.load(rows_on_disk, mmap_mode="r")
    for rows in (whole, whole[7:, ::2], np.asarray(whole[100:])):
        text = parallel._pickled(lambda i, rows=rows: rows[i])
        assert len(text) < 4_096
        np.testing.assert_array_equal(cloudpickle.loads(text)(3), rows[3])
    assert len(parallel._pickled(lambda: whole + 0)) < 4_096
    in_memory = np.array(whole)
    assert len(parallel._pickled(lambda: in_memory)) > in_memory.nbytes


def test_a_file_that_changed_is_not_read_in_the_stead_of_the_one_that_was_named(
    rows_on_disk,
):
    rows = np.load(rows_on_disk, mmap_mode="r")
    text = parallel._pickled(lambda: rows)
    np.save(rows_on_disk, np.ones((3, 2)))
    with pytest.raises(
        InputError,
        match=r"^every worker must reach '.*x.npy' as it was; name a file on a disk that",
    ):
        cloudpickle.loads(text)
    # What is unlinked can still be read by whoever maps it: its numbers travel.
    rows = np.load(rows_on_disk, mmap_mode="r")
    rows_on_disk.unlink()
    np.testing.assert_array_equal(
        cloudpickle.loads(parallel._pickled(lambda: rows))(), np.ones((3, 2))
    )


def test_a_worker_that_dies_is_told_of_in_a_sentence():
    with (
        parallel_config(backend="loky", n_jobs=2),
        pytest.raises(
            InputError, match=r"^the workers ended before their work was done: "
        ),
    ):
        list(parallel_map(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(3)))
