"""Files that a command has read: a note that lasts as long as the command, so that nothing writes over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_READ: ContextVar[frozenset[Path] | None] = ContextVar("files read", default=None)


@contextmanager
def inputs_noted() -> Iterator[None]:
    """Note every file that is read until the block ends.

    Examples
    --------
    >>> with inputs_noted():
    ...     note_input(Path("model.npz"))
    ...     [path.name for path in noted_inputs()]
    ['model.npz']
    >>> noted_inputs()
    frozenset()
    """
    token = _READ.set(frozenset())
    try:
        yield
    finally:
        _READ.reset(token)


def note_input(path: Path) -> None:
    """Note a file that is read, if a command notes them."""
    noted = _READ.get()
    if noted is not None:
        _READ.set(noted | {path})


def noted_inputs() -> frozenset[Path]:
    """Return the files noted in the block that is open; none outside."""
    return _READ.get() or frozenset()
