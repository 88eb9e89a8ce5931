"""Files that a command has read, so that it does not overwrite them.

The command line opens a note, the readers add their files to it, and the writers look
them up. Outside of a command nothing is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_READ: ContextVar[frozenset[Path] | None] = ContextVar("files read", default=None)
"""Files read by the command that runs. None outside of a command."""


@contextmanager
def inputs_noted() -> Iterator[None]:
    """Note each file that is read inside the block.

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
    """Note a file that is read. Outside of a block, do nothing."""
    noted = _READ.get()
    if noted is not None:
        _READ.set(noted | {path})


def noted_inputs() -> frozenset[Path]:
    """Return the files that were read in the block. Outside of one, return no files."""
    return _READ.get() or frozenset()
