"""Libraries that take long to load: each is imported where something of it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["compute", "ipc", "pa", "parquet", "pd", "types"]


class Deferred:
    """A module that stands for another one until that is asked for something.

    Nothing is in `sys.modules` before, where narwhals and others look for what is loaded; `lazy_loader.load` puts it
    there, and imports pyarrow for its parts.

    Examples
    --------
    >>> Deferred("math").gcd(12, 18)
    6
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        # Whoever copies or inspects this object asks for such names, and means no library.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.name), name)


if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute, ipc, parquet, types
else:
    pd, pa = Deferred("pandas"), Deferred("pyarrow")
    compute, ipc, parquet, types = (
        Deferred(f"pyarrow.{name}") for name in ("compute", "ipc", "parquet", "types")
    )
