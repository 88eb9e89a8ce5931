"""Versions of embaudit, of the libraries that it computes with, and of the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "safetensors",
    "matplotlib",
)
OPTIONAL_LIBRARIES = ("torch", "faiss-cpu", "implicit")


def show_versions() -> None:
    """Print the versions that a report of an error needs.

    Examples
    --------
    >>> show_versions()
    embaudit       ...
    python         ...
    """
    for name, value in installed_versions().items():
        print(f"{name:14} {value}")


def installed_versions() -> dict[str, str]:
    """Return the version of each library, its BLAS, and the processors."""
    # threadpoolctl lists the BLAS libraries that are loaded, so SciPy is imported.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    from embaudit._version import __version__

    versions = {
        "embaudit": __version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
    }
    for name in (*LIBRARIES, *OPTIONAL_LIBRARIES):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            is_optional = name in OPTIONAL_LIBRARIES
            versions[name] = "not installed (optional)" if is_optional else "missing"
    pools = set()
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            library = f"{pool['internal_api']} {pool['version']}"
            pools.add(f"{library}, {pool['num_threads']} threads")
    versions["BLAS"] = "; ".join(sorted(pools)) or "not known"
    versions["processors"] = str(os.cpu_count())
    return versions
