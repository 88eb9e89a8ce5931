"""A self-test anyone can run: which versions are in use, and whether the promises hold on this machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_info

from embaudit._version import __version__
from embaudit.auditing import audit
from embaudit.model import FactorModel
from embaudit.solvers import ProductPenaltyMF

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "safetensors", "matplotlib")
OPTIONAL = ("torch", "faiss", "implicit")


def versions() -> dict[str, str]:
    """Return the version of each library and what the machine has."""
    versions_by_name = {"embaudit": __version__, "python": platform.python_version(), "machine": platform.platform()}
    for name in PACKAGES:
        try:
            versions_by_name[name] = version(name)
        except PackageNotFoundError:
            versions_by_name[name] = "missing"
    versions_by_name |= {name: "found" if find_spec(name) else "not installed (optional)" for name in OPTIONAL}
    libraries = {
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in threadpool_info()
    }
    return versions_by_name | {"BLAS": "; ".join(sorted(libraries)), "processors": str(os.cpu_count())}


def promises() -> dict[str, tuple[bool, str]]:
    """Return whether each promise holds here, and how exactly.

    Examples
    --------
    >>> [kept for kept, _ in promises().values()]
    [True, True]
    """
    draw = np.random.default_rng(0)
    X = draw.standard_normal((60, 30))
    fitted = ProductPenaltyMF(5, alpha=1.0).fit(X)
    error = float(np.abs(fitted.singular_values_ - np.linalg.svd(X, compute_uv=False)[:5]).max())
    model = FactorModel.from_user_item(draw.standard_normal((50, 8)), draw.standard_normal((40, 8)))
    evidence = audit(model, n_gauges=2).evidence
    largest = max(record.max_abs for record in evidence.drift)
    return {
        "singular values": (error < 1e-10, f"off by at most {error:.0e}"),
        "predictions of equivalent models": (evidence.predictions_hold, f"moved by at most {largest:.0e}"),
    }
