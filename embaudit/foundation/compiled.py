"""Functions that numba compiles where it is installed: an extra, which nothing loads before it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def has_numba() -> bool:
    """Whether numba is installed; this loads nothing."""
    return find_spec("numba") is not None


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function when it is first called; without numba it stays as it is, and takes very long.

    Parameters
    ----------
    **options
        Of `numba.njit`; `cache` counts where there is a folder to write to.

    Examples
    --------
    >>> @compiled()
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    try:
        from numba import njit
    except ImportError:
        return lambda function: function

    def compile_it(function: F) -> F:
        try:
            return njit(nogil=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # neither beside the source nor at home may anything be written
            return njit(nogil=True, **{**options, "cache": False})(function)  # type: ignore[no-any-return]

    return compile_it
