"""What an audit says it will take: the counts are those of what is done, and nothing is said of what is short."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing import forecast as module
from embaudit.auditing.effort import LEAST, Effort
from embaudit.auditing.equivalents import equivalent_models, n_equivalent
from embaudit.auditing.forecast import COSINES, EACH, Cost, Speed, announcement, measured_speed
from embaudit.auditing.work import Work, work_of
from embaudit.errors import InputError
from embaudit.foundation.progress import tell, told_to
from embaudit.gauges import Diagonal
from embaudit.model import FactorModel, Softmax

TWO = random_model(n=40, p=30, k=5, biases=["right_bias"])
ONE = random_model(n=None, p=30, k=5)
HEAD = FactorModel.from_softmax(ONE.right)
MODELS = [TWO, ONE, HEAD, HEAD.replace(link=Softmax(unit_rows=True)), TWO.replace(link="cosine")]


def shaped(right, left=None, k=8, **fields):
    """A model of very many rows of which only the sizes are looked at."""
    rows = [None if n is None else np.broadcast_to(np.eye(1, k), (n, k)) for n in (left, right)]
    named = dict(zip(("left", "right"), rows, strict=True))
    sides = {side: SimpleNamespace(directed=range(len(x))) for side, x in named.items() if x is not None}
    known = {"predicts": ONE.predicts, "link": ONE.link, "free_shifts": (), "sides": tuple(sides)} | fields
    return SimpleNamespace(side=sides.get, factors=named.get, rank=k, **named, **known)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("groups", [[], ["orthogonal", "linear"], ["canonical", "orthogonal"], [Diagonal(5)]])
def test_equal_models_are_counted_without_making_them(model, groups):
    try:
        made = len(equivalent_models(model, groups=groups, n_gauges=3, rng=np.random.default_rng(0)))
    except InputError:
        made = 0
    assert n_equivalent(model, groups, 3) == made


@pytest.mark.parametrize("model", MODELS)
def test_as_many_models_are_counted_as_are_visited(model):
    given = {"n_gauges": 1, "n_starts": 1, "n_steps": 0}
    assert work_of(model, effort=Effort(**given)).models == len(ea.audit(model, **given).evidence.equivalents)


def test_products_and_cosines_of_a_small_model_are_those_of_all_pairs():
    work = work_of(ONE, effort=Effort(n_gauges=2))
    # One rotation, two draws of two kinds, the worst for the cosines and for the lists.
    assert work.models == 1 + 2 + 2 + 2
    assert work.read == 30 * 5 * 8
    pairs, scores, lists, mapped = 30**2 / 2, 256 * 30, 30 * 30 * 5, 30 * 25
    assert work.products == 7 * (mapped + lists + pairs * 5 * 2 + 2 * scores * 5)
    attacks = 9e5 + 240 * 25 + 6e5 + 5e4 * 5
    assert work.cosines == pytest.approx(7 * (pairs / 13 + 45_000) + 30 * 5 / 3 + 9_000 * 5 + attacks)


def test_a_head_is_mapped_whole_and_looked_at_in_part():
    few = FactorModel.from_softmax(np.random.default_rng(0).normal(size=(2_100, 3)))
    work, inner = work_of(few), work_of(few.take(right=np.arange(2_048)))
    assert work.models == inner.models
    # Each of 2,048 labels is sought among all, each of 128 may lead all, and all are looked at once.
    assert work.products - inner.products == 52 * (2 * 9 + 2_048 * 3)
    assert work.cosines - inner.cosines == pytest.approx(52 * (128 / 30 + 3 / 25))
    assert work.read == 2_100 * 3 * 8


LISTED, SCORED = 400 * 8, 2 * 1_000_000 * 8
"""Products with a row of eight columns: of the lists of 400 rows, and of the scores of all rows that are compared."""


@pytest.mark.parametrize(
    ("right", "k", "products"),
    [
        # All pairs are visited: two products each, or one where those before are kept.
        (3_162, 8, 3_162 * (64 + LISTED) + 3_162**2 / 2 * 16 + 16 * 256 * 3_162),
        # Some are drawn: moments and products with those before besides.
        (3_163, 8, 3_163 * (64 + LISTED + 2 * 64) + 16 * 256 * 3_163),
        (50_000, 8, 50_000 * (64 + LISTED + 2 * 64) + SCORED),
        # Not all are held: rows of the pairs are, 20,000 of them are summed, and all are mapped for the lists.
        (50_001, 8, 50_001 * (64 + 399 * 8 + 64) + 2 * 20_000 * 64 + 2 * 19 * 50_001 * 8),
        (1_000, 256, 1_000 * (256**2 + 400 * 256) + 1_000**2 / 2 * 512 + 512 * 256_000),
        (1_000, 257, 1_000 * 400 * 257 + 1_000**2 / 2 * 257 + 514 * 256**2),
    ],
)
def test_products_of_one_visit_follow_what_is_held_and_drawn(right, k, products):
    work = work_of(shaped(right, k=k))
    assert work.products == pytest.approx(work.models * products, rel=1e-12)


def test_rows_are_read_once_for_each_model_where_not_all_are_held():
    held, searched = work_of(shaped(50_000)), work_of(shaped(50_001))
    assert held.read == 50_000 * 8 * 8
    # Above 50,000 rows lists are not attacked.
    assert (held.models, searched.models) == (19, 18)
    assert searched.read == (1 + 18) * 50_001 * 8 * 8


@pytest.mark.parametrize("name", ["n_gauges", "n_pairs", "n_lists", "n_starts", "n_steps"])
def test_each_number_of_the_effort_counts(name):
    model = shaped(60_000, 1_000, k=16)
    fewer = Effort(**{name: getattr(LEAST, name)})
    whole, less = work_of(model), work_of(model, effort=fewer)
    assert (less.products, less.cosines) != (whole.products, whole.cosines)
    assert less.products <= whole.products
    assert less.cosines <= whole.cosines


def test_one_gram_matrix_is_counted_where_rows_are_drawn_for_the_other():
    rows = np.ones((32_768, 257), dtype=np.float32)
    rows[0] = 2
    one, two = (work_of(FactorModel.from_softmax(rows[:n])) for n in (32_768, 32_767))
    assert one.products - two.products == (32_768 - 2 * 32_767) * 257**2 + 2_048 * 257


def test_time_is_told_by_the_speed_of_all_workers():
    work = Work(models=3, read=4e9, products=2e9, cosines=1e6)
    speed = Speed(product=1e-9, cosine=1e-6, byte=1e-9, workers=2)
    assert speed.seconds(work) == pytest.approx((0.35 + 0.65 / 2) * (3 + 5) + 4)
    assert Cost(work, speed).on(1) == pytest.approx(3 + 5 + 4)
    assert str(Cost(work, speed)) == (
        "this audit takes about 9.4 s: 3 equal models, 4.0 GB of rows to read, 2 billion products."
    )
    for read, text in ((4.2e6, "4 MB"), (999e6, "999 MB"), (1e9, "1.0 GB"), (0.0, "0 MB")):
        assert f" {text} of rows to read," in str(Cost(replace(work, read=read), speed))


def test_the_measurement_is_short_and_counts_what_it_does(monkeypatch):
    assert 3 * EACH < 0.2
    monkeypatch.setenv("EMBAUDIT_WORKERS", "1")
    monkeypatch.setattr(module, "EACH", 0.0)
    times = iter(range(100))
    found = measured_speed(4, clock=lambda: next(times))
    assert found == Speed(product=1 / (8_192 * 16), cosine=1 / COSINES, byte=0.0, workers=1)


def test_of_very_many_columns_five_hundred_and_twelve_are_multiplied(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "1")
    monkeypatch.setattr(module, "EACH", 0.0)
    monkeypatch.setattr(module, "tally_pairs", lambda *_: None)
    times = iter(range(100))
    found = measured_speed(600, clock=lambda: next(times))
    assert found.product == 1 / (1_024 * 512 * 512)  # as many rows as make 2²⁸ products
    assert Speed(product=5e-11, cosine=3e-7, byte=0.0, workers=2) == module.NOMINAL


def test_work_is_repeated_for_a_while_on_every_worker(monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "1")
    monkeypatch.setattr(module, "EACH", 2.5)
    now, clock, calls = iter(range(100)), iter([0, 5, 10, 11, 20, 23]), []
    monkeypatch.setattr(module, "perf_counter", lambda: next(now))
    # Asked at 1 and at 2, which is before 2.5; each repetition took 5, 1 and 3.
    assert module._each(lambda: calls.append(1), lambda: next(clock)) == 3
    assert len(calls) == 3


class Rows:
    """Rows of a file that notes which are read."""

    def __init__(self, n, width):
        self.n, self.width, self.read = n, width, []
        self.nbytes = n * width

    def __len__(self):
        return self.n

    def __getitem__(self, rows):
        start, stop, _ = rows.indices(self.n)
        self.read.append((start, stop))
        return np.zeros((stop - start, self.width), dtype=np.uint8)


@pytest.mark.parametrize(
    ("width", "each", "starts", "step"),
    [
        (32, 99.0, np.linspace(0, 990, 16).astype(int), 10),
        (32, 3.5, [0, 66, 132, 198], 10),  # time is over
        (32, 4.0, [0, 66, 132, 198, 264], 10),
        (400, 99.0, np.linspace(0, 999, 16).astype(int), 1),  # a row is more than is read at a time
    ],
)
def test_the_largest_file_is_read_in_sixteen_places_while_there_is_time(width, each, starts, step, monkeypatch):
    monkeypatch.setattr(module, "READ", 320)
    monkeypatch.setattr(module, "EACH", each)
    now = iter(range(100))
    monkeypatch.setattr(module, "perf_counter", lambda: next(now))
    small, large = Rows(999, width), Rows(1_000, width)
    found = module._reading([small, large])
    (first, *read), asked = large.read, len(starts)
    assert (first, small.read) == ((0, 1), [])
    assert read == [(start, start + step) for start in starts]
    assert found == (asked + 1) / (asked * step * width)


def test_a_file_of_fewer_rows_than_are_read_at_a_time_is_read_whole(monkeypatch):
    rows = Rows(7, 0)
    monkeypatch.setattr(module, "EACH", -1.0)
    rows.width = 1
    assert module._reading([rows]) > 0
    assert rows.read == [(0, 1), (0, 7)]


def test_files_are_read_here_and_there(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EACH", 0.0)
    np.save(tmp_path / "rows.npy", np.zeros((1_000, 4)))
    assert measured_speed(4, [np.load(tmp_path / "rows.npy", mmap_mode="r")]).byte > 0


def test_nothing_is_said_of_what_is_short_on_any_machine(monkeypatch):
    monkeypatch.setattr(module, "measured_speed", None)
    assert announcement(ONE, Work(models=9, read=0.0, products=0.99 * 5 / 5e-11 / 1.5 / 0.675, cosines=0.0)) == ""


@pytest.mark.parametrize(("seconds", "said"), [(9.99, ""), (10.0, "this audit takes about 10 s: ")])
def test_ten_seconds_are_long(monkeypatch, seconds, said):
    speed = Speed(product=seconds / 1.5e12, cosine=0.0, byte=0.0, workers=1)
    monkeypatch.setattr(module, "measured_speed", lambda *given: speed)
    assert announcement(ONE, Work(models=9, read=0.0, products=1e12, cosines=0.0)).startswith(said or "x") == bool(said)


def test_nothing_is_worked_out_where_nobody_listens():
    tell(lambda: 1 / 0)
    said = []
    with told_to(said.append):
        tell(lambda: "")
        tell(lambda: "a")
        with told_to(None):
            tell(lambda: 1 / 0)
    tell(lambda: 1 / 0)
    assert said == ["a"]
