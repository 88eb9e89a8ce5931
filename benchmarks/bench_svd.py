"""Truncated SVD of a large sparse matrix: `truncated_svd` against ARPACK in turns.

    python benchmarks/bench_svd.py [--size small|full|large] [--rounds 3]
        [--rank 50] [--peer arpack|primme|none]

The matrix resembles a large public set of film ratings: 138,000 users × 27,000 items
with 20 million ratings, activity and popularity by power laws, tastes in clusters. The
script prints the times of every round, their ratio, the largest relative error of a
singular value against ARPACK at tolerance 0, and the peak memory of a fit in a process
of its own. `--peer primme` compares with PRIMME instead, each of its ways at the
residual that ours has. `--size large` is 1,000,000 × 100,000 with 50 million entries,
for the memory (`--peer none --rank 64`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from embaudit.solvers import ProductPenaltyMF, truncated_svd

SIZES = {
    "small": (14_000, 5_000, 1_000_000),
    "full": (138_000, 27_000, 20_000_000),
    "large": (1_000_000, 100_000, 52_000_000),
}
CLUSTERS = 30
STEP = 4_000_000
"""So many ratings are drawn at a time."""
MIB = 2**20


def power_law(n: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """Shares that fall with the rank as a power, in random order."""
    shares = np.arange(10, n + 10) ** -exponent
    return rng.permutation(shares / shares.sum())


def ratings(n: int, p: int, entries: int, rng: np.random.Generator) -> sp.csr_array:
    """Draw a ratings matrix with about `entries` distinct entries, in float64."""
    activity, popularity = power_law(n, 0.6, rng), power_law(p, 0.9, rng)
    genre = rng.integers(CLUSTERS, size=p)
    tastes = rng.dirichlet(np.full(CLUSTERS, 0.3), size=n)
    taste_sums = tastes.cumsum(axis=1)
    by_genre = [np.flatnonzero(genre == c) for c in range(CLUSTERS)]
    sums = [
        np.cumsum(popularity[items] / popularity[items].sum()) for items in by_genre
    ]

    def drawn(size: int) -> np.ndarray:
        users = rng.choice(n, size=size, p=activity)
        genres = np.minimum(
            (rng.random(size)[:, None] > taste_sums[users]).sum(axis=1), CLUSTERS - 1
        )
        items = np.empty(size, dtype=np.int64)
        for c in range(CLUSTERS):
            mine = genres == c
            draw = np.searchsorted(sums[c], rng.random(int(mine.sum())))
            items[mine] = by_genre[c][np.minimum(draw, len(by_genre[c]) - 1)]
        return users * np.int64(p) + items

    keys = np.zeros(0, dtype=np.int64)
    while len(keys) < entries:
        size = int(1.3 * (entries - len(keys))) + 1000
        keys = np.unique(
            np.concatenate(
                [
                    keys,
                    *(drawn(min(STEP, size - done)) for done in range(0, size, STEP)),
                ]
            )
        )
    keys = np.sort(rng.permutation(keys)[:entries])
    quality = rng.normal(3.5, 0.5, size=p)[keys % p]
    values = np.clip(
        np.round(2 * (quality + rng.normal(0, 0.9, size=entries))) / 2, 0.5, 5.0
    )
    users, items = (keys // p).astype(np.int32), (keys % p).astype(np.int32)
    return sp.csr_array((values, (users, items)), shape=(n, p))


def by_popularity(
    n: int, p: int, entries: int, rng: np.random.Generator
) -> sp.csr_array:
    """Draw as many items for each user, by popularity alone.

    There are no tastes, but this takes only seconds for any size.
    """
    each = -(-entries // n)
    items = np.minimum(p * rng.random((n, each), dtype=np.float32) ** 3, p - 1).astype(
        np.int32
    )
    values = np.clip(np.round(2 * rng.normal(3.5, 1.0, size=n * each)) / 2, 0.5, 5.0)
    X = sp.csr_array(
        (values, items.reshape(-1), np.arange(0, n * each + 1, each, dtype=np.int32)),
        shape=(n, p),
    )
    X.sum_duplicates()
    return X


def matrix_bytes(X: sp.csr_array) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def peak_memory() -> int:
    """Largest resident size of this process so far.

    The memory of its parent is not counted if the system tells the two apart.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return (
            next(
                int(line.split()[1])
                for line in status.read_text().splitlines()
                if line.startswith("VmHWM")
            )
            * 1024
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def peak_of_fit(path: str, rank: int) -> tuple[int, int]:
    """Load the matrix and fit; return the peak memory before and after.

    Both figures include the imports and the matrix.
    """
    X = load(path)
    before, start = peak_memory(), time.perf_counter()
    fitted = ProductPenaltyMF(rank, alpha=100.0, random_state=0).fit(X)
    print(
        f"a fit: {time.perf_counter() - start:.1f} s, "
        f"processor {time.process_time():.1f} s, {fitted.svd_solver_}"
    )
    return before, peak_memory()


def save(X: sp.csr_array, folder: str) -> None:
    for name in ("data", "indices", "indptr"):
        np.save(Path(folder) / f"{name}.npy", getattr(X, name))
    np.save(Path(folder) / "shape.npy", X.shape)


def load(folder: str) -> sp.csr_array:
    parts = [
        np.load(Path(folder) / f"{name}.npy") for name in ("data", "indices", "indptr")
    ]
    return sp.csr_array(tuple(parts), shape=tuple(np.load(Path(folder) / "shape.npy")))


def measure_memory(X: sp.csr_array, rank: int, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save(X, folder)
        with ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn")
        ) as child:
            before, peak = child.submit(peak_of_fit, folder, rank).result()
    size = matrix_bytes(X)
    print(
        f"peak memory of a fit: {peak / MIB:,.0f} MiB, "
        f"of which {before / MIB:,.0f} MiB before it (imports and X)"
    )
    print(
        f"matrix {size / MIB:,.0f} MiB; "
        f"peak less matrix {(peak - size) / MIB:,.0f} MiB (limit {limit:,})"
    )


def compare(X: sp.csr_array, rank: int, rounds: int) -> None:
    ratios = []
    for r in range(rounds):
        start = time.perf_counter()
        found = truncated_svd(X, rank, rng=r)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        exact = svds(
            X, k=rank, tol=0, return_singular_vectors=True, rng=np.random.default_rng(r)
        )[1][::-1]
        theirs = time.perf_counter() - start
        error = np.abs(found.singular_values / exact - 1).max()
        ratios.append(ours / theirs)
        print(
            f"round {r + 1}: {found.solver} {ours:.2f} s, ARPACK {theirs:.2f} s, "
            f"ratio {ratios[-1]:.2f}; largest relative error of a singular value "
            f"{error:.1e}, residual {found.residual:.1e}"
        )
    print(f"median ratio {np.median(ratios):.2f} (limit 0.60)")


WAYS: dict[str, dict[str, Any]] = {
    "normal equations": {"method": "primme_svds_normalequations"},
    "normal equations, blocks of 16": {
        "method": "primme_svds_normalequations",
        "maxBlockSize": 16,
    },
    "normal equations, blocks of 32": {
        "method": "primme_svds_normalequations",
        "maxBlockSize": 32,
    },
    "normal equations, blocks of 64": {
        "method": "primme_svds_normalequations",
        "maxBlockSize": 64,
    },
}
"""Ways of PRIMME that are tried; the quickest counts. Its hybrid goes on from these,
and takes longer.
"""
SLACK = 3.0
"""Its tolerance is on pairs of vectors; three times our residual gives it, as measured,
about the same one.
"""


def residual(X: sp.csr_array, values: np.ndarray, right: np.ndarray) -> float:
    """Return the largest `‖XᵀX v − σ² v‖ / σ₁²`."""
    rest = X.T @ (X @ right) - right * values**2
    return float(np.linalg.norm(rest, axis=0).max() / values.max() ** 2)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what work returns, the time it took, and its processor time."""
    start, used = time.perf_counter(), time.process_time()
    return work(), time.perf_counter() - start, time.process_time() - used


def compare_primme(X: sp.csr_array, rank: int, rounds: int) -> None:
    try:
        import primme
    except ImportError:
        sys.exit(
            "PRIMME is missing; it needs a C compiler, BLAS and LAPACK: "
            "pip install primme"
        )
    ratios = []
    for r in range(rounds):
        found, ours, used = timed(partial(truncated_svd, X, rank, rng=r))
        print(
            f"round {r + 1}: {found.solver} {ours:.2f} s, processor {used:.2f} s, "
            f"residual {found.residual:.1e}"
        )
        taken = {}
        for way, options in WAYS.items():
            ask = partial(primme.svds, X, rank, tol=SLACK * found.residual, **options)
            (_, values, right), theirs, theirs_used = timed(ask)
            error = np.abs(np.sort(values)[::-1] / found.singular_values - 1).max()
            taken[way] = (theirs, theirs_used)
            print(
                f"  PRIMME, {way}: {theirs:.2f} s, processor {theirs_used:.2f} s, "
                f"residual {residual(X, values, right.T):.1e}, "
                f"values differ by {error:.1e}",
                flush=True,
            )
        best = min(taken.values())
        ratios.append((ours / best[0], used / best[1]))
    time_ratio, used_ratio = np.median(ratios, axis=0)
    print(
        f"median ratio to its quickest way {time_ratio:.2f}, "
        f"of processor time {used_ratio:.2f} (limit 0.80)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument(
        "--peer", choices=["arpack", "primme", "none"], default="arpack"
    )
    options = parser.parse_args()
    large = options.size == "large"
    X = (by_popularity if large else ratings)(
        *SIZES[options.size], np.random.default_rng(0)
    )
    print(f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} entries, rank {options.rank}")
    if options.peer != "none":
        (compare if options.peer == "arpack" else compare_primme)(
            X, options.rank, options.rounds
        )
    measure_memory(X, options.rank, 8_192 if large else 1_024)


if __name__ == "__main__":
    main()
