"""A self-test anyone can run: which versions are in use, and whether the promises hold on this machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Check:
    """One promise and whether it held."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Diagnosis:
    """What `embaudit doctor` shows."""

    versions: dict[str, str]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every promise held."""
        return all(check.ok for check in self.checks)


def _versions() -> dict[str, str]:
    found = {"embaudit": __version__, "python": platform.python_version(), "machine": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    found |= {name: "found" if find_spec(name) else "not installed (optional)" for name in OPTIONAL}
    libraries = {
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in threadpool_info()
    }
    return found | {"BLAS": "; ".join(sorted(libraries)), "processors": str(os.cpu_count())}


def _exact_solver(draw: np.random.Generator) -> Check:
    X = draw.standard_normal((60, 30))
    fitted = ProductPenaltyMF(5, alpha=1.0).fit(X)
    error = float(np.abs(fitted.singular_values_ - np.linalg.svd(X, compute_uv=False)[:5]).max())
    return Check("singular values", error < 1e-10, f"off by at most {error:.0e}")


def _predictions_stay(draw: np.random.Generator) -> Check:
    model = FactorModel.from_user_item(draw.standard_normal((50, 8)), draw.standard_normal((40, 8)))
    found = audit(model, n_gauges=2).evidence
    largest = max(record.max_abs for record in found.drift)
    return Check("predictions of equivalent models", found.predictions_hold, f"moved by at most {largest:.0e}")


def diagnose() -> Diagnosis:
    """Collect versions and run the self-test.

    Examples
    --------
    >>> diagnose().ok
    True
    """
    draw = np.random.default_rng(0)
    return Diagnosis(_versions(), (_exact_solver(draw), _predictions_stay(draw)))
