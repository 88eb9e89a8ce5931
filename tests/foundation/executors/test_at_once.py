"""Two things at the same time: in threads of their own where some are spare, one after the other elsewhere."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from embaudit.foundation.executors import at_once, work_on
from embaudit.foundation.progress import reporting, track
from embaudit.foundation.workers import go_on, is_busy, one_worker, ordered_map, worker_count

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
    assert len({first, second, threading.current_thread()}) == 3
    assert not first.is_alive()
    assert not second.is_alive()


@pytest.mark.parametrize(("workers", "works", "share"), [(2, 2, 1), (4, 2, 2), (5, 2, 2), (5, 4, 1)])
def test_workers_are_shared_out(workers, works, share, monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", str(workers))
    together = threading.Barrier(works)

    def asks():
        together.wait(LONG)
        # A map has threads of its own where there is more than one worker for it.
        threads = set(ordered_map(lambda _: time.sleep(0.01) or threading.get_ident(), range(6), workers=9))
        found = worker_count(), worker_count(9), is_busy(), len(threads)
        together.wait(LONG)
        return found

    assert at_once(*[asks] * works) == ((share, share, share == 1, share),) * works
    assert worker_count() == workers


@pytest.mark.parametrize(("workers", "works"), [(2, 2), (2, 3), (4, 2), (3, 4), (3, 9)])
def test_no_more_threads_compute_than_there_are_workers(workers, works, monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", str(workers))
    at_work, most, lock = 0, 0, threading.Lock()

    def counted(_):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.01)
        with lock:
            at_work -= 1

    at_once(*[lambda: [*ordered_map(counted, range(6))]] * works)
    assert 1 < most <= workers


def test_chains_are_done_side_by_side_where_nothing_else_is_left():
    barrier, ended = threading.Barrier(2), []
    found = at_once(*[lambda: met(barrier)] * 2, lambda: ended.append(1), chains=2)
    assert len(set(found[:2])) == 2
    assert (found[2], ended) == (None, [1])
    assert at_once(lambda: 1, lambda: 2, lambda: 3, chains=3) == (1, 2, 3)


def test_what_goes_on_alone_has_all_workers(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "4")
    begun, asked = threading.Barrier(2), threading.Event()

    def ends():
        begun.wait(LONG)
        asked.wait(LONG)

    def goes_on():
        begun.wait(LONG)
        beside = worker_count()
        asked.set()
        end = time.monotonic() + LONG
        while worker_count() < 4 and time.monotonic() < end:
            time.sleep(0.001)
        return (
            beside,
            worker_count(),
            len(set(ordered_map(lambda _: time.sleep(0.01) or threading.get_ident(), range(9)))),
        )

    assert at_once(ends, goes_on)[1] == (2, 4, 4)


def test_they_begin_in_order_and_what_waits_is_not_begun_where_one_fails():
    begun, two_are = [], threading.Barrier(2)

    def work(number):
        def do():
            begun.append(number)
            if number < 2:
                two_are.wait(LONG)
                raise ZeroDivisionError(number)
            time.sleep(0.05)
            return number

        return do

    with pytest.raises(ZeroDivisionError):
        at_once(*map(work, range(40)))
    assert set(begun[:2]) == {0, 1}
    assert begun[2:] == list(range(2, len(begun)))
    assert len(begun) < 10


def test_how_many_are_done_is_told_as_they_end_under_a_description():
    told, last_may_end = [], threading.Event()

    def report(steps, description, total):
        for step in steps:
            told.append((description, total))
            last_may_end.set()
            yield step

    def long():
        assert last_may_end.wait(LONG)
        return "long"

    with reporting(report):
        assert at_once(long, lambda: "short", description="working") == ("long", "short")
        assert told == [("working", 2)] * 2
        assert at_once(lambda: 1, lambda: 2) == (1, 2)
        assert len(told) == 2
        with one_worker():
            assert at_once(lambda: 1, lambda: 2, description="in order") == (1, 2)
        assert told[2:] == [("in order", 2)] * 2


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
    both_begun, ended = threading.Barrier(2), threading.Event()

    def fails():
        both_begun.wait(LONG)
        raise ZeroDivisionError

    def ends():
        both_begun.wait(LONG)
        time.sleep(0.05)
        ended.set()

    pair = [fails, ends] if which == 0 else [ends, fails]
    with pytest.raises(ZeroDivisionError):
        at_once(*pair)
    assert ended.is_set()


def maps_on(begun: threading.Barrier, ended: list[str]) -> None:
    begun.wait(LONG)
    end = time.monotonic() + LONG
    for _ in ordered_map(lambda _: time.sleep(0.001), iter(lambda: time.monotonic() < end, False)):
        pass
    ended.append("by itself")


def goes_on(begun: threading.Barrier, ended: list[str]) -> None:
    begun.wait(LONG)
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        go_on()
    ended.append("by itself")


@pytest.mark.parametrize("workers", ["2", "4"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("work", [maps_on, goes_on])
def test_what_nobody_waits_for_ends_on_its_way(work, nested, workers, monkeypatch):
    # A search of minutes would keep whoever pressed Ctrl-C waiting.
    monkeypatch.setenv("EMBAUDIT_WORKERS", workers)
    begun, ended = threading.Barrier(2), []

    def long():
        return work(begun, ended)

    def fails():
        begun.wait(LONG)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        at_once((lambda: at_once(long, time.monotonic)) if nested else long, fails)
    assert ended == []
    assert worker_count() == int(workers)
    go_on()


def test_threads_of_a_map_end_too_where_nobody_waits_for_it(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "4")
    begun, ended = threading.Barrier(3), []

    def fails():
        begun.wait(LONG)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        at_once(lambda: list(ordered_map(lambda _: goes_on(begun, ended), range(2))), fails)
    assert ended == []
