"""What travels to a worker instead of an array, and what is left behind in the folder they share."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.errors import InputError
from embaudit.foundation.executors.place import Place
from embaudit.foundation.executors.task import LEAST, Store
from embaudit.foundation.unread import Unread

N = LEAST // 8
ENDS = st.integers(0, 12)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, np.arange(120.0).reshape(12, 10))
    return np.load(path, mmap_mode="r")


def travelled(function, folder):
    with Store(folder).task(function) as task:
        return pickle.loads(pickle.dumps(task))


@given(start=ENDS, stop=ENDS, step=st.integers(1, 5), column=st.integers(0, 9))
def test_any_part_of_a_mapped_file_is_opened_as_it_was(rows, start, stop, step, column):
    some = rows[start:stop]
    for part in (rows[start:stop:step], some[:, column:], some.T, np.asarray(rows)[start:, column]):
        found = Place.of(part)
        assert found is not None
        assert found.opened().strides == part.strides
        np.testing.assert_array_equal(found.opened(), part, strict=True)
        assert not found.opened().flags.writeable


def test_a_record_in_the_middle_of_a_file_is_found(tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(b"head" + np.arange(6, dtype=">i2").tobytes() + b"tail")
    mapped = np.memmap(path, dtype=">i2", mode="r", offset=4, shape=(3, 2))
    found = Place.of(mapped[1:])
    assert (found.offset, found.file.path) == (8, str(path))
    assert pickle.loads(pickle.dumps(found)).opened().tolist() == [[2, 3], [4, 5]]


def test_what_a_file_may_not_hold_is_in_no_place(rows, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(4))
    assert Place.of(np.zeros(4)) is None
    assert Place.of(np.frombuffer(bytes(8))) is None
    assert Place.of(np.load(path, mmap_mode="c")) is None
    assert Place.of(np.load(path, mmap_mode="r+")) is None
    assert Place.of(rows[::-1]) is None
    mapped = np.load(path, mmap_mode="r")
    path.unlink()
    assert Place.of(mapped) is None


def test_a_file_that_changed_or_went_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(4))
    found = Place.of(np.load(path, mmap_mode="r"))
    np.save(path, np.ones(5))
    with pytest.raises(InputError) as changed:
        found.opened()
    assert str(changed.value) == f"{str(path)!r} must stay as it is while workers read it; it was written to since."
    path.unlink()
    with pytest.raises(InputError) as gone:
        found.opened()
    assert str(gone.value) == (
        f"every worker must reach {str(path)!r}: No such file or directory; name a folder that all of them share."
    )


def test_large_arrays_stay_behind_and_small_ones_travel(tmp_path):
    large, small = np.arange(float(N)), np.arange(float(N - 1))
    with Store(tmp_path).task(lambda i: large[i] + small[i]) as task:
        assert len(list(tmp_path.iterdir())) == 1
        assert small.nbytes < len(task.pickled) < small.nbytes + 4_096
        assert pickle.loads(pickle.dumps(task))(5) == 10
    assert list(tmp_path.iterdir()) == []


def test_what_may_change_is_written_down_anew_for_each_pass(tmp_path):
    x, store = np.zeros(N), Store(tmp_path)
    with store.task(lambda i: x[i]) as task:
        assert task(3) == 0
    x[3] = 7
    with store.task(lambda i: x[i]) as task:
        assert task(3) == 7
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_change_is_written_down_once_and_goes_with_the_array(tmp_path):
    x, store = np.arange(float(N)), Store(tmp_path)
    x.flags.writeable = False
    kept = []
    for _ in range(2):
        with store.task(lambda i, x=x: x[i]) as task:
            assert task(2) == 2
        kept.append([path.name for path in tmp_path.iterdir()])
    assert len(kept[0]) == 1
    assert kept[0] == kept[1]
    del x, task
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_the_order_of_columns_and_objects_survive(tmp_path):
    x, names = np.asfortranarray(np.arange(2.0 * N).reshape(N, 2)), np.array(["a", None] * N, dtype=object)
    with Store(tmp_path).task(lambda i: (x[i].tolist(), names[i])) as task:
        assert task(1) == ([2.0, 3.0], None)


def test_tasks_are_the_same_if_their_functions_are(tmp_path):
    def task(number):
        return travelled(lambda i: i + number, tmp_path)

    assert task(1) == task(1)
    assert hash(task(1)) == hash(task(1))
    assert task(1) != task(2)
    assert task(1) != "task"
    assert (task(1)(1), task(2)(1)) == (2, 3)


@pytest.mark.parametrize("used", [False, True])
def test_numbers_that_wait_in_a_file_travel_as_their_place(rows, tmp_path, used):
    many = np.lib.stride_tricks.as_strided(rows, (12, 10), rows.strides)
    waiting = Unread("x.npy", "Q", (12, 10), rows.dtype, lambda: many, on_disk=True)
    if used:
        waiting.checked(lambda found, name: found, "rows")
    arrived = pickle.loads(pickle.dumps(waiting))
    assert (arrived.path, arrived.array, arrived.shape, arrived.on_disk) == ("x.npy", "Q", (12, 10), True)
    np.testing.assert_array_equal(arrived.checked(lambda found, name: found, "rows"), rows)
