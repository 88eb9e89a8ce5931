"""Two things at the same time: in threads of their own where some are spare, one after the other elsewhere."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from embaudit.foundation.executors import at_once, work_on
from embaudit.foundation.progress import reporting, track
from embaudit.foundation.workers import one_worker

LONG = 20
"""Seconds after which a test that waits fails."""


@pytest.fixture(autouse=True)
def two_workers(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "2")


def met(barrier: threading.Barrier) -> threading.Thread:
    barrier.wait(LONG)
    return threading.current_thread()


def test_both_are_at_work_at_once_and_come_back_in_order():
    barrier = threading.Barrier(2)
    first, second = at_once(lambda: met(barrier), lambda: met(barrier))
    assert first is threading.current_thread()
    assert second is not first
    assert not second.is_alive()


@pytest.mark.parametrize("how", ["one worker", "a worker", "an executor"])
def test_where_there_are_no_threads_to_spare_they_come_in_order(how, monkeypatch):
    done = []

    def add(name):
        done.append((name, threading.current_thread()))
        return name

    def both():
        return at_once(lambda: add("first"), lambda: add("second"))

    if how == "one worker":
        monkeypatch.setenv("EMBAUDIT_WORKERS", "1")
        found = both()
    elif how == "a worker":
        with one_worker():
            found = both()
    else:
        with ThreadPoolExecutor(2) as pool, work_on(pool):
            found = both()
    assert found == ("first", "second")
    assert done == [("first", threading.current_thread()), ("second", threading.current_thread())]


def blas_threads():
    """Threads of each BLAS; one on OpenMP, which other libraries bring, has a number for each thread that asks."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "openmp"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_blas_has_one_thread_for_both_whoever_ends_first(workers, monkeypatch):
    # Last digits show how many threads it has, and must not tell how long anything took.
    monkeypatch.setenv("EMBAUDIT_WORKERS", workers)
    ended = threading.Event()

    def first():
        assert workers == "1" or ended.wait(LONG)
        return blas_threads()

    def second():
        ended.set()
        return blas_threads()

    with threadpool_limits(2, user_api="blas"):
        assert at_once(first, second) == ({1}, {1})
        assert blas_threads() == {2}


def test_the_second_hears_who_reports():
    told = []

    def report(steps, description, total):
        told.append((description, total, threading.current_thread() is threading.main_thread()))
        return iter(steps)

    with reporting(report):
        assert at_once(lambda: None, lambda: list(track("ab", "spelling", 2))) == (None, ["a", "b"])
    assert told == [("spelling", 2, False)]


@pytest.mark.parametrize("which", [0, 1])
def test_what_either_raises_is_raised_when_both_have_ended(which):
    ended = threading.Event()

    def fails():
        raise ZeroDivisionError

    pair = [fails, ended.set] if which == 0 else [ended.set, fails]
    with pytest.raises(ZeroDivisionError):
        at_once(*pair)
    assert ended.is_set()
