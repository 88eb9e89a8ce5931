"""Products of factorizations on other processes: the numbers of threads, and blocks that are written down once."""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import scipy.sparse as sp

import embaudit as ea
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF
from embaudit.solvers.products import MIN_BLOCKS, RowBlocks

DRAW = np.random.default_rng(4)
SPARSE = sp.random_array((3_000, 2_000), density=0.05, format="csr", rng=DRAW)
DENSE = DRAW.standard_normal((3_000, 400)).astype(np.float32)
MATRICES = [pytest.param(SPARSE, id="sparse"), pytest.param(DENSE, id="dense")]


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def products(X):
    blocks = RowBlocks.of(X, 8)
    few, many = (np.random.default_rng(0).standard_normal((n, 8)) for n in reversed(X.shape))
    return blocks, [blocks.times(few), blocks.transposed_times(many), blocks.normal_times(few)]


@pytest.mark.parametrize("X", MATRICES)
def test_products_are_those_of_threads_to_the_last_bit(X, processes):
    here = products(X)[1]
    with ea.work_on(processes):
        there = products(X)[1]
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(
        here[2], X.T @ (X @ np.random.default_rng(0).standard_normal((X.shape[1], 8))), rtol=1e-4
    )


def test_blocks_are_written_down_once_and_go_with_the_matrix(processes, tmp_path):
    with ea.work_on(processes, shared=tmp_path):
        blocks, _ = products(SPARSE)
        (folder,) = tmp_path.iterdir()
        kept = sorted(folder.iterdir())
        assert len(kept) == 2 * MIN_BLOCKS, "values and columns; where rows begin is short enough to travel"
        blocks.times(np.ones((2_000, 8)))
        assert sorted(folder.iterdir()) == kept
        del blocks
        gc.collect()
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("X", MATRICES)
@pytest.mark.parametrize("estimator", [FactorPenaltyMF(5, alpha=3.0), ProductPenaltyMF(5, alpha=3.0)])
def test_factors_are_those_of_threads_to_the_last_bit(X, estimator, processes):
    with ea.work_on("threads:2"):
        here = estimator.fit(X).model(X)
    with ea.work_on(processes):
        there = estimator.fit(X).model(X)
    np.testing.assert_array_equal(here.left, there.left)
    np.testing.assert_array_equal(here.right, there.right)


def test_what_is_the_caller_s_stays_writable():
    X = SPARSE.copy()
    RowBlocks.of(X, 8)
    assert X.data.flags.writeable
    assert X.indices.flags.writeable
    dense = DENSE.copy()
    RowBlocks.of(dense, 8)
    assert dense.flags.writeable
