"""Pieces that are done beside other work: which begins first, where each is done, and what is kept of it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embaudit.foundation.executors import work_on
from embaudit.foundation.pieces import Each, all_at_once, keeping
from embaudit.foundation.workers import one_worker


class Kept(dict):
    """Keeps in memory."""

    def found(self, name, known):
        return self.get(name)

    def keep(self, name, value, known):
        self[name] = value


def done_among(items, begun):
    def noted(name, value):
        begun.append(name)
        return value

    others = [lambda: noted("a", 10), lambda: noted("b", 20)]
    squares = Each("squares", lambda x: noted(x, x**2), items)
    return all_at_once(squares, *others, description="doing both")


def test_others_begin_before_pieces_and_each_comes_back_in_its_place():
    begun = []
    with one_worker():
        assert done_among([3, 4, 5], begun) == ((9, 16, 25), 10, 20)
    assert begun == ["a", "b", 3, 4, 5]
    assert done_among([3, 4, 5], []) == ((9, 16, 25), 10, 20)
    assert done_among([], []) == ((), 10, 20)
    halves, thirds = (Each(name, lambda x, n=n: x / n, [6, 12]) for name, n in (("halves", 2), ("thirds", 3)))
    assert all_at_once(halves, lambda: None, thirds, description="dividing") == ((3, 6), None, (2, 4))


@pytest.mark.parametrize(("chained", "order"), [(False, ["a", "b", 1, 2]), (True, [1, 2, "a", "b"])])
def test_pieces_that_are_chains_keep_their_place_among_others(chained, order):
    begun = []
    pieces = Each("pieces", begun.append, [1, 2], is_chain=chained)
    with one_worker():
        all_at_once(pieces, lambda: begun.append("a"), lambda: begun.append("b"), description="doing all")
    assert begun == order


@pytest.mark.parametrize("chained", [False, True])
def test_of_chains_one_is_done_at_a_time_as_long_as_there_are_pieces(monkeypatch, chained):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "2")
    events, first = [], threading.Event()

    def chain(name):
        events.append(name)
        # The first goes on until what may be done beside it has been.
        assert name != "one" or first.wait(20)

    def piece(number):
        events.append(number)
        if number == 3:
            first.set()

    pieces = [Each("chains", chain, ["one", "two"], is_chain=chained), Each("pieces", piece, [1, 2, 3])]
    all_at_once(*pieces, description="doing all")
    assert (events.index("two") > events.index(3)) == chained
    assert sorted(events, key=str) == [1, 2, 3, "one", "two"]


def test_each_piece_is_kept_under_its_number_and_not_done_again():
    kept, begun = Kept(), []
    with keeping(kept):
        first = done_among([3, 4], begun)
        del kept["squares 1"]
        begun.clear()
        assert done_among([3, 4], begun) == first == ((9, 16), 10, 20)
    assert sorted(kept) == ["squares 0", "squares 1"]
    assert sorted(begun, key=str) == [4, "a", "b"]


def test_an_executor_does_all_pieces_side_by_side_and_the_others_stay_here():
    here, both_are = threading.current_thread(), threading.Barrier(2)

    def named(_):
        both_are.wait(20)
        return threading.current_thread().name

    with ThreadPoolExecutor(2, "elsewhere") as pool, work_on(pool):
        one, other = Each("one", named, [1]), Each("other", named, [2])
        first, names, others, last = all_at_once(
            threading.current_thread, one, other, threading.current_thread, description="asking"
        )
    assert {*names, *others} == {"elsewhere_0", "elsewhere_1"}
    assert first is last is here


def test_an_executor_keeps_each_piece_and_makes_those_that_are_missing():
    kept, begun = Kept(), []
    with ThreadPoolExecutor(2) as pool, work_on(pool), keeping(kept):
        first = done_among([3, 4], begun)
        del kept["squares 1"]
        begun.clear()
        assert done_among([3, 4], begun) == first == ((9, 16), 10, 20)
    assert sorted(kept) == ["squares 0", "squares 1"]
    assert begun == [4, "a", "b"]


def test_results_refer_to_arrays_that_are_known():
    known, asked = [np.arange(3.0)], []

    class Asked(Kept):
        def found(self, name, known):
            asked.append(known)

    with keeping(Asked()):
        all_at_once(Each("squares", abs, [3], known), description="squaring")
        with ThreadPoolExecutor(1) as pool, work_on(pool):
            all_at_once(Each("squares", abs, [3], known), description="squaring")
    assert [one[0] is known[0] for one in asked] == [True, True]
