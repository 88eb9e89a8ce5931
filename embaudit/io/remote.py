"""Files that lie elsewhere, by URL: copied to this machine once, for what is mapped has to lie on a disk."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from embaudit.errors import File, InputError, Sentence, must_be, without_secrets

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)", re.DOTALL)
"""A scheme of two letters at least, for C:/ is a drive; a `Path` has lost one of its
slashes.
"""


_copies: dict[str, tuple[str, Path]] = {}
"""By URL: the fingerprint of its files and their newest copy; copies are gone when the
process ends.
"""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="embaudit-", ignore_cleanup_errors=True)


def as_url(path: object) -> str | None:
    """Return the URL that a text or a path stands for; None for what is none, or is a file of that name.

    Examples
    --------
    >>> as_url("s3://models/v.npy"), as_url(Path("s3://models/v.npy")), as_url("file:///v.npy")
    ('s3://models/v.npy', 's3://models/v.npy', 'file:///v.npy')
    >>> as_url("models/v.npy"), as_url("C:/v.npy")
    (None, None)
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    match = URL.fullmatch(text) if isinstance(text, str) else None
    if match is None or text is None or os.path.lexists(text):
        return None
    scheme, rest = match.groups()
    return f"{scheme}://{'/' * (scheme.lower() in ('file', 'local'))}{rest}"


def fetched(url: str) -> Path:
    """Return a file or directory of this machine that holds what a URL leads to, copied unless it lies here.

    Raises
    ------
    InputError
        If fsspec, or what it needs for the scheme, is missing, the scheme is unknown,
        or nothing is there.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(
            f"reading {url} needs fsspec: pip install 'embaudit[remote]'."
        ) from error
    try:
        files, inside = url_to_fs(url)
    except ImportError as error:
        raise InputError(f"reading {url} needs another library: {error}.") from error
    # Chained file systems such as dir:: and reference:: raise what their options lack.
    except Exception as error:
        if not isinstance(error, ValueError):
            raise InputError(
                f"{url} cannot be read: {error or type(error).__name__}."
            ) from error
        scheme = url.partition(":")[0]
        raise must_be(
            "the URL",
            "of a scheme that fsspec knows, such as s3, gs or https",
            repr(scheme),
        ) from error
    if "file" in (
        files.protocol if isinstance(files.protocol, tuple) else (files.protocol,)
    ):
        return Path(inside)
    try:
        return _copy_of(url, files, inside)
    except InputError:
        raise
    # Each file system raises what its library does.
    except Exception as error:
        # Without its scheme, the path in an error is not recognised as a URL.
        why = str(error).replace(inside or url, url) or type(error).__name__
        raise InputError(f"{url} cannot be read: {why}.") from error


def _copy_of(url: str, files: Any, inside: str) -> Path:
    """Copy a file or directory of a file system of fsspec, unless the copy is current."""
    paths = [inside] if files.isfile(inside) else files.find(inside)
    if not paths:
        raise must_be("the input", "a file that exists", url, "check the URL")
    # What the file system says of each file: another state is copied anew, the same is
    # not fetched twice.
    state = " ".join(str(files.ukey(each)) for each in paths)
    copied, copy = _copies.get(url, ("", Path()))
    if copied == state and copy.exists():
        return copy
    # Without query and fragment.
    name = re.split(r"[?#]", inside)[0].rstrip("/").rpartition("/")[2]
    copy = Path(tempfile.mkdtemp(dir=_folder().name), name)
    if paths == [inside]:
        # `get` would take the question mark of a query for a pattern.
        files.get_file(inside, str(copy))
    else:
        files.get(inside, str(copy), recursive=True)
    _copies[url] = state, copy
    return copy


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let every refusal inside name a file, and a copy by its URL.

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
    """Write URLs, without their secrets, in the place of the copies that a text names.

    Examples
    --------
    >>> with_urls("v.npy must be whole.")
    'v.npy must be whole.'
    >>> with_urls("s3://me:secret@models/v.npy as items")
    's3://models/v.npy as items'
    """
    for url, (_, copy) in _copies.items():
        text = text.replace(str(copy), url)
    return without_secrets(text)
