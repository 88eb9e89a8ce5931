"""The compiled pass over all pairs counts what the one of numpy counts, and nobody loads it who does not need it."""

import subprocess
import sys

import numpy as np
import pytest

from embaudit.foundation.compiled import compiled
from embaudit.kernels import tally
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.tally import tally_all_pairs


def units(n, k, seed, kind="plain"):
    x = np.random.default_rng(seed).standard_normal((n, k)) + 0.3
    if kind == "twins":
        x[n // 2 :] = x[: n - n // 2]
    if kind == "opposite":
        x[::2] = -x[0]
    return unit_rows(x)


def moved(x):
    return unit_rows(x @ np.diag(np.linspace(1, 3, x.shape[1])))


def both(monkeypatch, *sides):
    found = []
    for least in (10**12, 0):
        monkeypatch.setattr(tally, "COMPILED", least)
        found.append(tally_all_pairs(*sides))
    return found


@pytest.mark.parametrize("kind", ["plain", "twins", "opposite"])
@pytest.mark.parametrize(
    ("n", "k", "other"), [(2, 3, None), (64, 5, None), (321, 2, None), (300, 16, 65), (30, 4, 700)]
)
def test_both_passes_count_the_same(monkeypatch, kind, n, k, other):
    x = units(n, k, 0, kind)
    others = () if other is None else (units(other, k, 1), moved(units(other, k, 1)))
    plain, compiled = both(monkeypatch, x, moved(x), *others)
    assert plain.count == compiled.count == (n * (n - 1) // 2 if other is None else n * other)
    assert plain.flips == compiled.flips
    np.testing.assert_array_equal(plain.histogram, compiled.histogram)
    np.testing.assert_array_equal(plain.joint, compiled.joint)
    np.testing.assert_allclose(compiled.totals, plain.totals, rtol=1e-12, atol=1e-10)
    assert compiled.sum_abs == pytest.approx(plain.sum_abs, rel=1e-12)
    assert compiled.max_abs == pytest.approx(plain.max_abs, abs=1e-15)


def test_the_compiled_pass_is_the_same_before_it_is_compiled(monkeypatch):
    """What a machine without numba can see of it."""
    x = units(9, 3, 0)
    plain, other = both(monkeypatch, x, moved(x))
    np.testing.assert_array_equal(plain.histogram, other.histogram)
    np.testing.assert_array_equal(plain.joint, other.joint)
    assert other.max_abs == pytest.approx(plain.max_abs, abs=1e-15)


def test_nothing_loads_numba_before_it_is_asked_for():
    code = "import sys, embaudit as ea; ea.audit, ea.movement, ea.cosine_range; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_compiled_figures_are_those_of_the_definition(monkeypatch):
    monkeypatch.setattr(tally, "COMPILED", 0)
    x = units(90, 7, 3)
    y = moved(x)
    before, after = ((z @ z.T)[np.triu_indices(90, 1)] for z in (x, y))
    found = tally_all_pairs(x, y)
    gaps = np.abs(after - before)
    assert found.mean_abs == pytest.approx(gaps.mean(), rel=1e-12)
    assert found.max_abs == pytest.approx(gaps.max(), rel=1e-12)
    assert found.flips == np.count_nonzero(before * after < -1e-12) > 0
    assert found.sums.pearson == pytest.approx(np.corrcoef(before, after)[0, 1], rel=1e-10)
    assert found.histogram.sum() == found.joint.sum() == 4_005


@pytest.mark.parametrize(("least", "there", "taken"), [(900, True, True), (901, True, False), (900, False, False)])
def test_it_is_taken_for_many_pairs_and_where_numba_is(monkeypatch, least, there, taken):
    class TakenError(Exception):
        def __init__(self, bins):
            assert len(bins) == 2

    monkeypatch.setattr(tally, "COMPILED", least)
    monkeypatch.setattr(tally, "has_numba", lambda: there)

    def taken_by(bins):
        raise TakenError(bins)

    monkeypatch.setattr(tally, "_FusedSheet", taken_by)
    x = units(30, 3, 0)
    if taken:
        with pytest.raises(TakenError):
            tally_all_pairs(x, moved(x))
    else:
        assert tally_all_pairs(x, moved(x)).count == 435


def test_a_function_is_compiled_where_nothing_can_be_kept():
    found = {}
    exec(compile("def twice(x):\n    return 2 * x\n", "no such file", "exec"), found)
    twice = compiled(cache=True)(found["twice"])
    assert twice(3) == 6
    assert len(twice.signatures) == 1, "it stayed as it was"
