"""Pieces that are done beside other work: which begins first, where each is done, and what is kept of it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

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


def test_pieces_begin_before_others_and_each_comes_back_in_its_place():
    begun = []
    with one_worker():
        assert done_among([3, 4, 5], begun) == ((9, 16, 25), 10, 20)
    assert begun == [3, 4, 5, "a", "b"]
    assert done_among([3, 4, 5], []) == ((9, 16, 25), 10, 20)
    assert done_among([], []) == ((), 10, 20)
    halves, thirds = (Each(name, lambda x, n=n: x / n, [6, 12]) for name, n in (("halves", 2), ("thirds", 3)))
    assert all_at_once(halves, lambda: None, thirds, description="dividing") == ((3, 6), None, (2, 4))


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
