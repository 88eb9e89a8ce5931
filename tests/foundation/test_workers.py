"""Threads: how many, results in order, and a BLAS that is given back to the host as it was."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS is loaded before limits are compared)
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import embaudit as ea
from embaudit.errors import InputError
from embaudit.foundation.workers import one_blas_thread, ordered_map, worker_count
from embaudit.kernels.moments import moments
from embaudit.kernels.nearest import neighbours


@pytest.fixture(autouse=True)
def _host():
    """A host whose BLAS runs on two threads, whatever the machine: a limit that is not taken back shows."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def blas() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def settled(value: set[int]) -> bool:
    deadline = time.monotonic() + 10
    while blas() != value and time.monotonic() < deadline:
        time.sleep(0.005)
    return blas() == value


def test_the_limit_is_counted_and_the_last_to_leave_restores_it():
    one, other = one_blas_thread(), one_blas_thread()
    assert blas() == {2}
    one.__enter__()
    other.__enter__()
    assert blas() == {1}
    one.__exit__(None, None, None)
    assert blas() == {1}
    other.__exit__(None, None, None)
    assert blas() == {2}


def test_threads_that_overlap_in_any_order_restore_what_the_host_had():
    steps = [threading.Event() for _ in range(3)]

    def first() -> None:
        with one_blas_thread():
            steps[0].set()
            steps[1].wait(10)
        steps[2].set()

    def second() -> None:
        steps[0].wait(10)
        with one_blas_thread():
            steps[1].set()
            steps[2].wait(10)
            seen.append(blas())

    seen: list[set[int]] = []
    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}], "who set the limit has left, another still holds it"
    assert blas() == {2}


@pytest.mark.parametrize(("host", "meanwhile"), [(0.005, 5e-4), (1e-4, 1e-4)])
def test_threads_that_compute_take_quick_turns_until_the_last_has_left(host, meanwhile):
    before, one, other = sys.getswitchinterval(), one_blas_thread(), one_blas_thread()
    sys.setswitchinterval(host)
    try:
        seen = []
        for step in (
            one.__enter__,
            other.__enter__,
            *[lambda of=of: of.__exit__(None, None, None) for of in (one, other)],
        ):
            step()
            seen.append(sys.getswitchinterval())
        # Kept in whole microseconds.
        assert seen == pytest.approx([meanwhile, meanwhile, meanwhile, host], abs=2e-6)
    finally:
        sys.setswitchinterval(before)


def test_the_limit_goes_when_the_work_fails():
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert blas() == {2}
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(lambda i: 1 / i, [1, 0, 2], workers=2))
    assert settled({2})


def test_limits_of_many_threads_overlap_without_a_trace():
    def work() -> None:
        for _ in range(20):
            with one_blas_thread(), one_blas_thread():
                seen.append(blas())

    seen: list[set[int]] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == {1} for one in seen)
    assert blas() == {2}


def test_libraries_are_looked_for_again_only_after_an_import(monkeypatch):
    looks = []

    class Counted(ThreadpoolController):
        def __init__(self) -> None:
            looks.append(len(looks))
            super().__init__()

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Counted)
    with one_blas_thread():
        pass
    looks.clear()
    for name in ("a_module", None, "another"):
        if name:
            monkeypatch.setitem(sys.modules, name, threading)
        with one_blas_thread():
            pass
    assert len(looks) == 2


def test_two_audits_at_once_leave_the_host_as_it_was():
    model = ea.FactorModel.from_vectors(np.random.default_rng(0).standard_normal((40, 3)))
    before, found = threadpool_info(), []
    threads = [threading.Thread(target=lambda: found.append(ea.audit(model, n_gauges=1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert threadpool_info() == before
    assert found[0].to_dict()["movement"] == found[1].to_dict()["movement"]


def test_a_reader_who_stops_holds_no_limit_and_leaves_no_thread():
    before = {thread.name for thread in threading.enumerate()}
    mapped = ordered_map(lambda i: i, range(1000), workers=2)
    assert next(mapped) == 0
    assert settled({2}), "nothing may be limited while the reader does something else"
    mapped.close()
    assert {thread.name for thread in threading.enumerate()} == before
    lone = ordered_map(lambda _: blas(), range(3), workers=1)
    assert next(lone) == {1}
    assert blas() == {2}


def test_order_is_kept_and_few_results_wait():
    taken: list[int] = []
    mapped = ordered_map(lambda i: i, (taken.append(i) or i for i in range(1000)), workers=2)
    first = [next(mapped) for _ in range(3)]
    assert first == [0, 1, 2]
    assert len(taken) < 20, "the pool must not run ahead of who reads"
    assert [*first, *mapped] == list(range(1000))


def test_work_is_done_in_threads_on_a_single_threaded_blas():
    for name, threads in ordered_map(lambda _: (threading.current_thread().name, blas()), range(4), workers=2):
        assert name != threading.main_thread().name
        assert threads == {1}


@pytest.mark.parametrize(("items", "workers"), [(1, 3), (5, 1), (0, 2)])
def test_one_item_or_one_worker_is_a_plain_loop(items, workers):
    here = threading.current_thread().name
    assert list(ordered_map(lambda _: threading.current_thread().name, range(items), workers=workers)) == [here] * items


def test_a_map_within_a_map_stays_in_its_thread():
    def inner(_: int) -> bool:
        own = threading.current_thread().name
        return set(ordered_map(lambda _: threading.current_thread().name, range(5), workers=3)) == {own}

    assert all(ordered_map(inner, range(4), workers=2))
    assert settled({2})


def test_the_number_of_threads_is_asked_for_then_the_environment_then_the_cores(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "5")
    assert worker_count(3) == 3
    assert worker_count() == 5
    monkeypatch.setenv("EMBAUDIT_WORKERS", "")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert worker_count() == 3


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_a_bad_environment_is_one_sentence(monkeypatch, text):
    monkeypatch.setenv("EMBAUDIT_WORKERS", text)
    with pytest.raises(InputError, match=r"^EMBAUDIT_WORKERS must be an integer >= 1; got .+\.$"):
        neighbours(np.eye(3), 1)


@pytest.mark.parametrize("workers", [0, -2, 1.0, True, "2"])
def test_a_bad_argument_is_one_sentence(workers):
    with pytest.raises(InputError, match=r"^workers must be an integer >= 1; got .+\.$"):
        worker_count(workers)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    x = np.random.default_rng(0).standard_normal((6000, 8)).astype(np.float32)
    monkeypatch.setattr("embaudit.kernels.passes.row_blocks", lambda n, k, budget=2**16: _small_blocks(n, k, budget))
    found = []
    for workers in ("1", "2", "3"):
        monkeypatch.setenv("EMBAUDIT_WORKERS", workers)
        lists, sums = neighbours(x, 5, rows=np.arange(0, 6000, 40)), moments(x)
        found.append([lists.indices, lists.cosines, lists.runner_up, sums.mean, sums.centred_root])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def _small_blocks(n: int, k: int, budget: int):
    step = max(1, min(budget, 2**16) // (8 * k))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


@pytest.mark.parametrize(("workers", "at_once", "ahead"), [(1, 2, 2), (2, 2, 5), (3, 2, 6)])
def test_items_are_taken_a_few_ahead(workers, at_once, ahead):
    taken = []
    results = ordered_map(abs, (taken.append(i) or i for i in range(20)), workers=workers)
    assert len(taken) == at_once
    assert next(results) == 0
    assert len(taken) == ahead
    assert next(results) == 1
    assert len(taken) == max(ahead + (workers > 1), 2)
    assert list(results) == list(range(2, 20))


def test_two_items_are_done_at_once_and_one_is_done_here():
    meet = threading.Barrier(2)
    threads = set(ordered_map(lambda _: meet.wait(10) * 0 + threading.get_ident(), [1, 2], workers=2))
    assert len(threads) == 2
    assert threading.get_ident() not in threads
    assert list(ordered_map(lambda _: threading.get_ident(), [1], workers=2)) == [threading.get_ident()]


def test_what_waits_is_not_begun_once_nobody_asks_for_more(monkeypatch):
    begun, given_up = [], threading.Event()

    class Watched(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            given_up.set()
            super().shutdown(wait=wait)

    def work(item):
        begun.append(item)
        return item == 0 or given_up.wait(10)

    monkeypatch.setattr("embaudit.foundation.workers.ThreadPoolExecutor", Watched)
    results = ordered_map(work, range(20), workers=2)
    assert next(results)
    results.close()
    # The first, and one more in each thread; two others were handed over by then.
    assert set(begun) <= {0, 1, 2}
