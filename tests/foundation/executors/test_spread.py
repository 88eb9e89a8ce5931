"""The same numbers from threads, processes and a cluster; workers that end, that are slow, that nobody reaches."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.foundation.executors import named_executor, spread
from embaudit.foundation.executors.spread import AHEAD
from embaudit.foundation.workers import is_busy
from embaudit.kernels import passes

DRAW = np.random.default_rng(8)
MODEL = ea.FactorModel(left=DRAW.normal(size=(60, 4)), right=DRAW.normal(size=(50, 4)))
REFUSED = ["threads", "threads:0", "threads:x", "processes:-1", "dask:", "dask://", "ray:3", "", "threads:\u0663"]
REFUSED += [
    "dask://host",
    "dask://:1",
    "dask://a:b:1",
    "dask://host:x",
    "dask://host:123456",
    "dask://::1:1",
    " dask://h:1",
]
SAME = {"n_gauges": 2, "rng": 0}


@pytest.fixture(scope="module")
def alone():
    return ea.audit(MODEL, **SAME).to_dict()


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def test_several_results_are_at_work_before_the_first_is_taken():
    met = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool, ea.work_on(pool):
        assert sorted(spread(lambda _: met.wait(timeout=10), range(2))) == [0, 1]


class Counted(Executor):
    """Runs at once, and counts what nobody has taken yet."""

    def __init__(self):
        self.given = 0

    def submit(self, function, /, *given):
        self.given += 1
        done = Future()
        try:
            done.set_result(function(*given))
        except BaseException as error:
            done.set_exception(error)
        return done


def test_without_an_executor_threads_of_this_process_work():
    assert list(spread(abs, [-3, 2])) == [3, 2]


def test_results_come_in_order_and_only_a_few_wait():
    executor, seen = Counted(), []
    with ea.work_on(executor):
        for value in spread(lambda i: 2 * i, range(200)):
            seen.append(value)
            assert executor.given - len(seen) <= AHEAD
    assert seen == [2 * i for i in range(200)]
    assert executor.given == 200


def test_fewer_large_results_wait():
    executor, seen = Counted(), []
    with ea.work_on(executor):
        for value in spread(abs, range(-20, 0), ahead=3):
            seen.append(value)
            assert executor.given == min(20, len(seen) + 3)
    assert seen == list(range(20, 0, -1))


@pytest.mark.parametrize(("columns", "given"), [(255, 0), (256, 3)])
def test_long_rows_alone_are_mapped_elsewhere(columns, given, monkeypatch):
    executor, x = Counted(), np.arange(3.0 * columns).reshape(3, columns)
    monkeypatch.setattr(passes, "row_blocks", lambda *_: [slice(i, i + 1) for i in range(3)])
    with ea.work_on(executor):
        found = list(passes.each_as_large(x, lambda rows: x[rows] + 1))
    assert executor.given == given
    np.testing.assert_array_equal(np.concatenate(found), x + 1)


def test_only_eight_mapped_blocks_wait(monkeypatch):
    executor, x = Counted(), np.zeros((30, 256))
    monkeypatch.setattr(passes, "row_blocks", lambda *_: [slice(i, i + 1) for i in range(30)])
    with ea.work_on(executor):
        next(passes.each_as_large(x, lambda rows: x[rows]))
    assert executor.given == 9


def test_a_slow_worker_keeps_its_place(processes):
    def slowly(i):
        time.sleep(0.3 if i == 0 else 0)
        return i, os.getpid()

    with ea.work_on(processes):
        found = list(spread(slowly, range(12)))
    assert [i for i, _ in found] == list(range(12))
    assert os.getpid() not in {pid for _, pid in found}


def test_maps_within_are_plain_loops_in_every_kind_of_worker(processes):
    def within(_):
        return is_busy(), list(spread(abs, [-1, -2])), threading.active_count()

    for executor in (Counted(), processes):
        with ea.work_on(executor):
            for busy, found, threads in spread(within, range(3)):
                assert (busy, found) == (True, [1, 2])
                assert executor is not processes or threads <= 3
    assert not is_busy()


def test_an_error_of_a_worker_is_the_error_of_the_map(processes):
    with ea.work_on(processes), pytest.raises(InputError, match="not three"):
        list(spread(_not_three, range(5)))


def _not_three(i):
    if i == 3:
        raise InputError("not three")
    return i


def test_the_executor_is_in_force_only_within():
    with ThreadPoolExecutor(1, thread_name_prefix="theirs") as pool:
        with ea.work_on(pool):
            inside = set(spread(lambda _: threading.current_thread().name, range(3)))
        outside = set(spread(lambda _: threading.current_thread().name, range(3)))
    assert inside == {"theirs_0"}
    assert inside.isdisjoint(outside)


def test_a_reader_who_goes_away_takes_the_rest_along():
    with ThreadPoolExecutor(1) as pool, ea.work_on(pool):
        ran = []
        found = spread(lambda i: ran.append(i) or time.sleep(0.01), range(500))
        next(found)
        found.close()
        time.sleep(0.05)
        assert len(ran) < AHEAD + 3


def test_workers_that_end_are_told_of_in_a_sentence():
    said = r"^the workers ended before their work was done: A process"
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        ea.work_on(pool),
        pytest.raises(InputError, match=said),
    ):
        list(spread(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(3)))


def test_a_shared_folder_is_used_and_left_empty(tmp_path, processes):
    x = np.arange(20_000.0)
    with ea.work_on(processes, shared=tmp_path):
        found = list(spread(lambda i: (float(x[i]), len(list(tmp_path.iterdir()))), range(3)))
    assert found == [(0.0, 1), (1.0, 1), (2.0, 1)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [2, 3, 7])
def test_lists_of_copies_do_not_depend_on_how_far_others_were(seed):
    """Workers elsewhere never hear of a better bar; among copies, whose cosines round to 1 and a little more or less,
    the first ones were taken or others, by chance.
    """
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(60, 50))[draw.integers(60, size=9_000)] * draw.uniform(0.5, 2, size=(9_000, 1))
    asked = np.arange(0, 9_000, 300)
    here = ea.neighbours(rows, 10, rows=asked)
    with ea.work_on(Counted()):
        there = ea.neighbours(rows, 10, rows=asked)
    np.testing.assert_array_equal(here.indices, there.indices)
    np.testing.assert_array_equal(here.cosines, there.cosines)


def test_an_audit_is_the_same_in_processes_to_the_last_bit(processes, alone):
    with ea.work_on(processes):
        assert ea.audit(MODEL, **SAME).to_dict() == alone


def test_a_head_an_evaluation_and_ranges_are_the_same_in_processes(processes, tmp_path):
    head = ea.FactorModel(right=MODEL.right, left=None, link="softmax")
    truth = np.arange(50) % 5
    path = tmp_path / "x.npy"
    np.save(path, DRAW.normal(size=(4_000, 24)).astype(np.float32))
    rows = np.load(path, mmap_mode="r")

    shifts = ea.gauges.Affine(4, side="right", max_condition=1.5, max_shift=0.3)

    def found():
        lists = ea.neighbours(rows, 7, rows=np.arange(0, 4_000, 9))
        return (
            ea.audit(head, **SAME).to_dict(),
            ea.evaluate_similarities(MODEL, truth, rng=0).to_dict(),
            lists.indices.tolist(),
            lists.cosines.tolist(),
            ea.canonical_form(ea.FactorModel(left=rows[:100], right=rows)).singular_values.tolist(),
            [ea.certified_neighbours(head, n=5, group=group).radii.tolist() for group in (None, shifts)],
        )

    here = found()
    with ea.work_on(processes):
        assert found() == here


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_is_no_executor_is_refused(name):
    with pytest.raises(InputError) as refused, named_executor(name):
        pass
    assert str(refused.value) == (
        f"executor must be threads:N or processes:N, N from 1 to 1,024, or dask://HOST:PORT; got {name!r}."
    )


@pytest.mark.parametrize("address", ["host:8786", "10.0.0.1:1", "[::1]:65535"])
def test_a_scheduler_is_asked_at_its_address(address, monkeypatch):
    asked = []
    monkeypatch.setattr("embaudit.foundation.executors.named._dask", lambda found: nullcontext(asked.append(found)))
    with named_executor(f"dask://{address}"):
        assert asked == [address]


def test_threads_and_processes_by_name():
    with named_executor("threads:3") as executor:
        assert isinstance(executor, ThreadPoolExecutor)
        assert executor._max_workers == 3
    with named_executor("processes:2") as executor:
        assert isinstance(executor, ProcessPoolExecutor)
        assert executor._max_workers == 2


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in ("processes:2", "dask://127.0.0.1:1"):
        with pytest.raises(InputError) as refused, named_executor(name):
            pass
        assert str(refused.value) == "work in other processes needs cloudpickle: pip install 'embaudit[cluster]'."


@pytest.mark.parametrize("name", ["threads:2", "processes:2"])
def test_the_command_writes_the_same_on_every_executor(name, embaudit):
    ea.save(MODEL, "m.npz")
    few = ["audit", "m.npz", "--gauges", "2", "--quiet", "--json"]
    assert embaudit(*few, "here.json").code == 0
    assert embaudit(*few, "there.json", "--executor", name).code == 0
    here, there = (json.loads(Path(f"{where}.json").read_text()) for where in ("here", "there"))
    assert here == there


def test_the_command_refuses_an_executor_it_does_not_know(embaudit):
    ea.save(MODEL, "m.npz")
    result = embaudit("audit", "m.npz", "--executor", "ray:3")
    assert result.code == 2
    assert result.err.endswith("or dask://HOST:PORT; got 'ray:3'.\n")
