"""A folder of pieces: what one audit has finished, so that another run of the same audit can go on from there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.words import listed
from embaudit.io.files import AnyPath, as_path
from embaudit.io.outputs import written_whole
from embaudit.io.pieces.codec import UnknownError, packed, told_apart, unpacked

NAME = "the folder to resume in"
BEGUN, IN_USE, ENDING = "audit.json", "in-use", ".piece"
OURS = re.compile(r"in-use|\.?(audit\.json|[0-9a-f]{64}\.piece)(\.[0-9a-f]{8}\.part)?")
"""What lies in such a folder; a dot and an end of its own have files that a killed run left half written."""
MOST = 2**30
"""Bytes of a piece at most; a larger one is made again."""
_beginning = Lock()


@dataclass(frozen=True)
class Pieces:
    """Pieces of one audit, by its key and their names."""

    folder: Path
    purpose: Mapping[str, str]
    """Tells the input, the parameters and the version from all others."""
    parameters: str = ""
    """Tells what was decided since."""

    @cached_property
    def key(self) -> str:
        """All that tells these pieces from others, hashed."""
        return told_apart((dict(self.purpose), self.parameters))

    def of(self, parameters: Mapping[str, Any]) -> Pieces:
        """Return those that were made with these parameters, which were not all known before the first piece."""
        return replace(self, parameters=told_apart(dict(parameters)))

    def found(self, name: str, known: Sequence[NDArray[Any]]) -> tuple[Any, ...] | None:
        """Return what was kept under a name; None where nothing is, or it is damaged, or another audit's."""
        try:
            found: tuple[Any, ...] = unpacked(self._path(name).read_bytes(), known, self._title(name))
        except (OSError, UnknownError, LookupError, TypeError, AttributeError):  # or of types that have changed since
            return None
        return found

    def keep(self, name: str, value: tuple[Any, ...], known: Sequence[NDArray[Any]]) -> None:
        """Write a value down whole, or not at all."""
        # Not before: an audit that is refused begins nothing. Several threads may keep their first piece at once.
        with _beginning:
            if not (self.folder / BEGUN).exists():
                with written_whole(self.folder / BEGUN, mode="w") as record:
                    json.dump(dict(self.purpose), record, indent=1)
        stored = packed(value, known, self._title(name))
        if len(stored) <= MOST:
            with written_whole(self._path(name), force=True) as file:
                file.write(stored)

    def _title(self, name: str) -> str:
        return f"{self.key} {name}"

    def _path(self, name: str) -> Path:
        return self.folder / f"{told_apart(self._title(name))}{ENDING}"


_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


def resume_in(folder: AnyPath) -> AbstractContextManager[None]:
    """Keep what an audit has finished in a folder, so that it can go on from there when it was ended on its way.

    Equal models that were visited, attacks and searches are kept one by one, each in a file that appears whole. The
    next run of the same audit takes them and does the rest; its numbers are those of one run, bit for bit where
    processors are alike. When the block ends well, what was kept is removed; the folder stays.

    Parameters
    ----------
    folder : path
        Made if it is not there, in a folder that is; else one that is empty, or that such a block was ended in.

    Raises
    ------
    InputError
        If something else lies in the folder, or another run works in it. Within the block: if the pieces are those of
        another input, other parameters or another version.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> from tempfile import TemporaryDirectory
    >>> model = ea.FactorModel.from_vectors(np.random.default_rng(0).normal(size=(30, 3)))
    >>> with TemporaryDirectory() as folder:
    ...     with ea.resume_in(folder):
    ...         result = ea.audit(model, n_gauges=1)
    ...     list(Path(folder).iterdir())
    []
    """
    path = as_path(folder, NAME)
    _require_own(path)
    return _in_force(path)


@contextmanager
def _in_force(path: Path) -> Iterator[None]:
    try:
        path.mkdir(exist_ok=True)
        in_use = (path / IN_USE).open("ab")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    with in_use:
        if _is_used(in_use.fileno()):
            raise must_be(NAME, "used by one run at a time", f"{path}, which another one works in")
        token, well = _folder.set(path), False
        try:
            yield
            well = True
        finally:
            _folder.reset(token)
            if well or not (path / BEGUN).exists():
                _clear(path)


def _clear(path: Path) -> None:
    for entry in path.iterdir():
        if OURS.fullmatch(entry.name):
            entry.unlink()


def _is_used(number: int) -> bool:
    """Lock an open file for as long as it is open; whether another run did so before."""
    try:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):  # files cannot be locked here
        return False
    return False


def _require_own(path: Path) -> None:
    """Refuse what is no folder, or one where somebody keeps something else."""
    if not path.is_dir():
        if path.exists() or path.is_symlink():
            raise must_be(NAME, "a folder", f"the file {path}", "name a folder, which need not be there yet")
        if not path.parent.is_dir():
            raise must_be("the folder above the one to resume in", "there already", path.parent, "create it first")
        return
    others = sorted(entry.name for entry in path.iterdir() if not OURS.fullmatch(entry.name))
    if others:
        got = f"{path} with {listed([repr(name) for name in others], 2)}"
        raise must_be(NAME, "empty, or hold pieces of an audit and nothing else", got, "name a folder of its own")


def pieces_of(told: Callable[[], Mapping[str, str]]) -> Pieces | None:
    """Open the pieces of an audit in the folder in force, if there is one.

    Parameters
    ----------
    told : callable
        Returns what tells the audit from others, by what people call it.

    Raises
    ------
    InputError
        If the folder was begun with another purpose; it says which part is another one.
    """
    folder = _folder.get()
    if folder is None:
        return None
    found = Pieces(folder, told())
    if (folder / BEGUN).exists():
        _require_same(folder, found.purpose)
    return found


def _require_same(folder: Path, purpose: Mapping[str, str]) -> None:
    try:
        before = json.loads((folder / BEGUN).read_bytes())
        names = [name for name in {**before, **purpose} if before.get(name) != purpose.get(name)]
    except (OSError, ValueError, TypeError, AttributeError):
        names = ["record, which is damaged"]
    if names:
        got = f"{folder}, begun with another {' and another '.join(names)}"
        raise must_be(NAME, "of the same audit", got, "name another folder, or empty this one")
