"""A parallel map returns results in order, equal to those of a loop, and restores
threads and limits.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import threading
import time
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS is loaded before limits are compared)
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

import embaudit as ea
from embaudit.core import parallel
from embaudit.core.parallel import one_blas_thread, parallel_map
from embaudit.core.progress import reporting
from embaudit.errors import InputError
from embaudit.linalg.moments import moments
from embaudit.linalg.nearest import neighbours

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel.from_arrays(
    left=DRAW.normal(size=(60, 4)),
    right=DRAW.normal(size=(50, 4)),
    right_bias=DRAW.normal(size=50),
)


@pytest.fixture(autouse=True)
def _host():
    """Let the BLAS of the host use two threads, so that a limit that stays is seen."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def blas():
    """Return the numbers of threads of the BLAS of NumPy and of SciPy."""
    return {
        pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and re.search("numpy|scipy", pool["filepath"])
    }


def host():
    """Return the settings of the host that an audit must not change."""
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


def assert_host_becomes(before):
    """Compare the host once threads have finished the blocks that they compute."""
    deadline = time.monotonic() + 10
    while host() != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert host() == before


def in_thread(_):
    return threading.current_thread().name


def test_results_come_in_order_and_few_are_computed_ahead_of_a_slow_reader():
    computed = []
    with parallel_config(n_jobs=2):
        mapped = parallel_map(lambda i: computed.append(i) or i, range(1000))
        first = [next(mapped) for _ in range(3)]
        time.sleep(0.1)
        assert len(computed) <= 2 * parallel.BLOCKS_PER_WORKER
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


# joblib warns of results that nobody read, where some were ready already.
@pytest.mark.filterwarnings("ignore:.* cancelled:UserWarning")
def test_stopping_to_read_results_leaves_no_thread_and_no_limit():
    before = host()
    begun = []
    with parallel_config(n_jobs=2):
        mapped = parallel_map(begun.append, range(1000))
        next(mapped)
        mapped.close()
    assert_host_becomes(before)
    assert len(begun) < 20


def test_ctrl_c_stops_the_map_and_restores_threads_and_limits():
    # A shell switches the handler off for programs that it runs in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    x = DRAW.normal(size=(300, 300))
    before = host()

    def block(item):
        if item == 3:
            signal.raise_signal(signal.SIGINT)
        return x @ x

    # Python drops an interrupt that falls into a callback of the collector, and
    # Hypothesis has one.
    gc.disable()
    with parallel_config(n_jobs=2), pytest.raises(KeyboardInterrupt):
        list(parallel_map(block, range(1000)))
    gc.enable()
    assert_host_becomes(before)


def test_an_audit_restores_threads_and_limits_even_if_it_fails():
    # The first audit imports libraries, which set filters of warnings.
    ea.audit(MODEL, n_gauges=1, n_starts=1, n_steps=1)
    before = host()
    ea.audit(MODEL, n_gauges=1, n_starts=1, n_steps=1)
    assert_host_becomes(before)

    def fail(*_):
        raise ZeroDivisionError
        yield

    with parallel_config(n_jobs=2), reporting(fail), pytest.raises(ZeroDivisionError):
        ea.audit(MODEL, n_gauges=1)
    assert_host_becomes(before)


def test_the_blas_limit_is_one_inside_and_restored_after_several_threads():
    def work():
        for _ in range(20):
            with one_blas_thread(), one_blas_thread():
                pass

    with one_blas_thread():
        with one_blas_thread():
            assert blas() == {1}
        assert blas() == {1}
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas() == {2}


def test_audits_in_threads_survive_imports_in_another_thread():
    """An import changes `sys.modules`, over which nothing may iterate."""
    stopped = threading.Event()

    def import_and_forget():
        number = 0
        while not stopped.is_set():
            name = f"_imported_{number % 50}"
            sys.modules.pop(name, None)
            sys.modules[name] = types.ModuleType(name)
            number += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    importer = threading.Thread(target=import_and_forget)
    importer.start()
    try:
        options = {"n_gauges": 1, "n_starts": 1, "n_steps": 1, "n_pairs": 50}
        with ThreadPoolExecutor(2) as pool:
            audits = [pool.submit(ea.audit, MODEL, **options) for _ in range(4)]
            records = [audit.result().to_dict() for audit in audits]
    finally:
        stopped.set()
        importer.join()
        sys.setswitchinterval(interval)
        for name in [name for name in sys.modules if name.startswith("_imported_")]:
            del sys.modules[name]
    assert all(record == records[0] for record in records)


def digits(path):
    """Return numbers of passes over rows of a file, of an audit and of a fit."""
    rows = np.load(path, mmap_mode="r")
    lists = neighbours(rows, 7, rows=np.arange(0, len(rows), 999))
    sums = moments(rows)
    audited = ea.audit(MODEL, n_gauges=2, n_starts=1, n_steps=2).to_dict()
    interactions = np.asarray(rows[:200])
    fitted = ea.FactorPenaltyMF(3, alpha=2.0).fit(interactions).model(interactions)
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
def rows_on_disk(tmp_path):
    """Rows that make several blocks."""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(200_000, 24)))
    return tmp_path / "x.npy"


@pytest.mark.slow
def test_results_are_identical_with_any_number_of_threads_and_on_loky(rows_on_disk):
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


def test_a_worker_that_dies_raises_one_clear_error():
    with (
        parallel_config(backend="loky", n_jobs=2),
        pytest.raises(
            InputError, match=r"^the workers ended before their work was done: "
        ),
    ):
        list(parallel_map(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(3)))
