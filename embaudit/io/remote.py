"""Files behind a URL: copied to a temporary folder, because arrays are memory-mapped.

`fsspec.open_local("filecache::…")` does not serve here. To keep the suffix, which tells
the format, it needs `same_names=True`, and then `s3://a/v.npy` and `s3://b/v.npy` share
one local file: reading the second changes the arrays of the first, which are mapped.
A file that has changed is overwritten in place as well, and the files of a folder lose
their folders.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from embaudit.errors import File, InputError, Sentence, must_be, without_secrets

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)", re.DOTALL)
"""A scheme of at least two letters, because C:/ is a drive, then one slash or two,
because `Path` drops the second.
"""


@dataclass(frozen=True)
class LocalCopy:
    """The copy of a file or folder behind a URL."""

    path: Path
    fingerprint: str
    """What the file system says about the state of the files that were copied."""


_copies: dict[str, LocalCopy] = {}
"""The newest copy by URL. All copies are removed when the process ends."""


@cache
def _folder_of_copies() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="embaudit-", ignore_cleanup_errors=True)


def as_url(path: object) -> str | None:
    """Return the URL that a text or a path is; None if it is a local path.

    Examples
    --------
    >>> as_url("s3://models/v.npy"), as_url(Path("s3://models/v.npy"))
    ('s3://models/v.npy', 's3://models/v.npy')
    >>> as_url("file:///v.npy"), as_url("models/v.npy"), as_url("C:/v.npy")
    ('file:///v.npy', None, None)
    """
    if not isinstance(path, (str, os.PathLike)):
        return None
    text = os.fspath(path)
    match = URL.fullmatch(text) if isinstance(text, str) else None
    if match is None or os.path.lexists(text):
        return None
    scheme, location = match.groups()
    root = "/" if scheme.lower() in ("file", "local") else ""
    return f"{scheme}://{root}{location}"


def local_path(url: str) -> Path:
    """Return the local file or folder behind a URL; a remote one is copied first.

    Raises
    ------
    InputError
        If fsspec or the library for the scheme is missing, the scheme is unknown, or
        nothing is there.
    """
    file_system, location = _file_system_of(url)
    protocols = file_system.protocol
    if isinstance(protocols, str):
        protocols = (protocols,)
    if "file" in protocols:
        return Path(location)
    try:
        return _copy(url, file_system, location)
    except InputError:
        raise
    # Each file system raises the errors of its own library.
    except Exception as error:
        reason = str(error).replace(location or url, url) or type(error).__name__
        raise InputError(f"{url} cannot be read: {reason}.") from error


def _file_system_of(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL, and the path of the file in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(
            f"reading {url} needs fsspec: pip install 'embaudit[remote]'."
        ) from error
    try:
        return url_to_fs(url)  # type: ignore[no-any-return]
    except ImportError as error:
        raise InputError(f"reading {url} needs another library: {error}.") from error
    except ValueError as error:
        raise must_be(
            "the URL",
            "of a scheme that fsspec knows, such as s3, gs or https",
            repr(url.partition(":")[0]),
        ) from error
    # Chained file systems, such as dir:: and reference::, raise errors of any type if
    # their options are missing.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"{url} cannot be read: {reason}.") from error


def _copy(url: str, file_system: Any, location: str) -> Path:
    """Copy a file or folder, unless the newest copy is of the same state."""
    is_file = file_system.isfile(location)
    files = [location] if is_file else file_system.find(location)
    if not files:
        raise must_be("the input", "a file that exists", url, "check the URL")
    fingerprint = " ".join(str(file_system.ukey(file)) for file in files)
    newest = _copies.get(url)
    is_current = newest is not None and newest.fingerprint == fingerprint
    if newest is not None and is_current and newest.path.exists():
        return newest.path
    # A copy keeps the name and its suffix, without query and fragment of the URL. Each
    # has a folder of its own, because a model may still map an older copy.
    name = re.split(r"[?#]", location)[0].rstrip("/").rpartition("/")[2]
    path = Path(tempfile.mkdtemp(dir=_folder_of_copies().name), name)
    if is_file:
        # `get` would take the question mark of a query for a pattern.
        file_system.get_file(location, str(path))
    else:
        file_system.get(location, str(path), recursive=True)
    _copies[url] = LocalCopy(path, fingerprint)
    return path


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let every `InputError` inside name a file, and a copy by its URL.

    An empty path adds no name, because the source of the values is not known.

    Examples
    --------
    >>> with naming("v.npy"):
    ...     raise InputError("rows must be finite.")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: v.npy: rows must be finite.
    """
    try:
        yield
    except InputError as error:
        sentence = error.sentence
        if path and not _names(sentence, path):
            sentence = Sentence("{}: {}", File(path), sentence)
        sentence = sentence.map_texts(with_urls)
        if sentence.parts == error.sentence.parts:
            raise
        raise type(error)(sentence) from error


def _names(sentence: Sentence, path: str) -> bool:
    """Return True if a sentence names a file, a file in that folder, or its URL."""
    for name in (without_secrets(path), with_urls(path)):
        for file in sentence.files:
            if file == name or Path(name) in Path(file).parents:
                return True
    return False


def with_urls(text: str) -> str:
    """Replace the paths of copies in a text by their URLs, without secrets.

    Examples
    --------
    >>> with_urls("v.npy must be whole.")
    'v.npy must be whole.'
    >>> with_urls("s3://me:secret@models/v.npy as items")
    's3://models/v.npy as items'
    """
    for url, copy in _copies.items():
        text = text.replace(str(copy.path), url)
    return without_secrets(text)
