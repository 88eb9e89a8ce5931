"""`embaudit doctor`: which versions are in use, and whether results of this machine can be trusted."""

from __future__ import annotations

import typer

from embaudit.cli.app import app
from embaudit.cli.terminal import make_console
from embaudit.core.words import change_size

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "safetensors",
    "matplotlib",
)
OPTIONAL = ("torch", "faiss-cpu", "implicit")


@app.command()
def doctor() -> None:
    """Show versions and check that this machine computes what embaudit promises."""
    console = make_console(quiet=False)
    for name, value in versions().items():
        console.print(f"{name:14} {value}", markup=False)
    checks = promises()
    for name, (holds, detail) in checks.items():
        console.print(
            f"{'ok    ' if holds else 'FAILED'} {name}: {detail}", markup=False
        )
    raise typer.Exit(int(not all(holds for holds, _ in checks.values())))


def versions() -> dict[str, str]:
    """Return the version of each library and what the machine has."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import scipy.linalg  # noqa: F401  # threadpoolctl lists what is loaded
    from threadpoolctl import threadpool_info

    from embaudit._version import __version__

    names = {
        "embaudit": __version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
    }
    for name in (*PACKAGES, *OPTIONAL):
        try:
            names[name] = version(name)
        except PackageNotFoundError:
            names[name] = "not installed (optional)" if name in OPTIONAL else "missing"
    named = "{internal_api} {version}, {num_threads} threads"
    used = {
        named.format_map(pool)
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return names | {
        "BLAS": "; ".join(sorted(used)) or "not known",
        "processors": str(os.cpu_count()),
    }


def promises() -> dict[str, tuple[bool, str]]:
    """Return whether each promise holds here, and how exactly.

    Examples
    --------
    >>> [kept for kept, _ in promises().values()]
    [True, True]
    """
    import numpy as np

    from embaudit.auditing import audit
    from embaudit.model import FactorModel
    from embaudit.solvers import ProductPenaltyMF

    # A faulty BLAS shows in singular values, and in predictions that should not move.
    draw = np.random.default_rng(0)
    X = draw.standard_normal((60, 30))
    fitted = ProductPenaltyMF(5, alpha=1.0).fit(X)
    error = float(
        np.abs(fitted.singular_values_ - np.linalg.svd(X, compute_uv=False)[:5]).max()
    )
    model = FactorModel.from_user_item(
        draw.standard_normal((50, 8)), draw.standard_normal((40, 8))
    )
    evidence = audit(model, n_gauges=2).evidence
    largest = max(record.max_abs for record in evidence.drift)
    return {
        "singular values": (error < 1e-10, f"off by at most {change_size(error)}"),
        "predictions of equivalent models": (
            evidence.predictions_hold,
            f"moved by at most {change_size(largest)}",
        ),
    }
