"""Files that must stay as they are while a command reads them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from embaudit.errors import File, must_be
from embaudit.io.files import AnyPath, plain_suffix
from embaudit.io.formats import list_formats
from embaudit.io.remote import as_url

MOST_WATCHED = 10_000
"""Entries of a folder that are watched at most."""


@contextmanager
def unchanged(
    paths: Iterable[AnyPath | None], *, outputs: Iterable[Path] = ()
) -> Iterator[None]:
    """Raise if one of the files is changed while the body of the `with` block runs.

    Mapped files are read until the end, so one half of the numbers could come from
    another model. Place, size and time of the last change are compared.

    Parameters
    ----------
    paths : iterable of path or None
        Files, folders or patterns of files. In a folder, the files that embaudit can
        read are watched. Files of other machines are not, because they are copied
        before.
    outputs : iterable of Path
        Files that the block itself writes, maybe into a folder that is watched.

    Raises
    ------
    InputError
        If a file was changed, replaced or removed. This also holds if the block raised
        an exception, because half of a file may look like a damaged one. A file that is
        added to a folder is no input; it may be an output.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "v.npy")
    ...     _ = path.write_bytes(b"0")
    ...     with unchanged([folder]):
    ...         _ = path.write_bytes(b"10")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...v.npy must be unchanged while it is read; got ...
    """
    watched = [path for path in paths if path is not None]
    before = _states(watched)
    failure = None
    try:
        yield
    except Exception as error:
        failure = error
    after = _states(watched)
    own = {path.resolve() for path in outputs}
    for path, state in sorted(before.items()):
        if state != after.get(path) and path.resolve() not in own:
            raise must_be(
                File(path),
                "unchanged while it is read",
                "a file that was replaced or removed",
                "run the command again",
            ) from failure
    if failure is not None:
        raise failure


def _states(paths: Iterable[AnyPath]) -> dict[Path, tuple[int, ...]]:
    """Return place, size and time of the last change of every file that is there."""
    states: dict[Path, tuple[int, ...]] = {}
    for path in paths:
        for file in _files(path):
            try:
                status = file.stat()
            # Refused where it is read.
            except (OSError, ValueError):
                continue
            if S_ISREG(status.st_mode):
                states[file] = (
                    *(status.st_dev, status.st_ino),
                    *(status.st_size, status.st_mtime_ns),
                )
    return states


def _files(path: AnyPath) -> Iterator[Path]:
    """Yield the files that a path or a pattern names, and those in a folder."""
    text = os.fspath(path)
    url = as_url(text)
    if url is not None:
        scheme, _, place = url.partition("://")
        if scheme.lower() not in ("file", "local"):
            return
        text = place
    if glob.has_magic(text) and not os.path.lexists(text):
        yield from map(Path, glob.glob(text, recursive=True))  # noqa: PTH207
    elif Path(text).is_dir():
        suffixes = {suffix for entry in list_formats() for suffix in entry.suffixes}
        for file in islice(Path(text).rglob("*"), MOST_WATCHED):
            if plain_suffix(file) in suffixes:
                yield file
    else:
        yield Path(text)
