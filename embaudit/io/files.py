"""Files that are read are found, or refused in one sentence.

They are remembered, so that nothing writes over them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TypeAlias, TypeVar

from embaudit.core.checked import as_list
from embaudit.core.inputs import note_input
from embaudit.errors import InputError, Sentence, must_be
from embaudit.io.folders import model_in
from embaudit.io.remote import as_url, local_path

AnyPath: TypeAlias = str | os.PathLike[str]
T = TypeVar("T")
LFS = b"version https://git-lfs.github.com/spec/"
"""First bytes of a file that stands for a large one until it is fetched."""


def as_path(path: object, name: str) -> Path:
    """Check that something names a file.

    Examples
    --------
    >>> as_path(3, "the input")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a path, as text or a Path; got 3.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise must_be(name, "a path, as text or a Path", repr(path))
    return Path(path)


def existing_path(
    path: AnyPath, what: str = "the input", remedy: str = "check the path"
) -> Path:
    """Return `path` if a file or directory is there, and remember it as an input.

    A URL is copied to this machine first; see `local_path`.

    Raises
    ------
    InputError
        If nothing is there, an empty file, a pipe or a device, or it may not be looked
        at.

    Examples
    --------
    >>> existing_path("no-such-model.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...; got no-such-model.npz; check the path.
    """
    url = as_url(path)
    local = as_path(path, "the input") if url is None else local_path(url)
    try:
        state = local.stat()
    except FileNotFoundError as error:
        raise must_be(what, "a file that exists", local, remedy) from error
    except (OSError, ValueError) as error:
        raise InputError(
            "{} cannot be read: {}.", local, getattr(error, "strerror", None) or error
        ) from error
    if not (S_ISREG(state.st_mode) or S_ISDIR(state.st_mode)):
        raise must_be(
            what,
            "a file or directory",
            Sentence("{}, a pipe or device", local),
            "save it to a file first",
        )
    if S_ISREG(state.st_mode) and state.st_size == 0:
        raise must_be(
            what, "a file with something in it", Sentence("{}, which is empty", local)
        )
    if (
        S_ISREG(state.st_mode)
        and state.st_size < 1024
        and first_bytes(local, len(LFS)) == LFS
    ):
        raise must_be(
            what,
            "the file itself",
            Sentence("{}, a pointer of Git LFS", local),
            "fetch it with: git lfs pull",
        )
    note_input(local)
    return local


def located(path: AnyPath | Sequence[AnyPath]) -> tuple[Path, tuple[Path, ...]]:
    """Return what a path names, and the files of a list or a pattern.

    The files are in the order of the list, or of their names.
    A folder of MLflow stands for the model in it.

    Raises
    ------
    InputError
        As `existing_path` does, or if a pattern or a list names no file.

    Examples
    --------
    >>> located([])
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a list of one file at least; got [].
    """
    if isinstance(path, (list, tuple)):
        if not path:
            raise must_be("the input", "a list of one file at least", path)
        return together(existing_file(each) for each in path)
    # A file may be called like a pattern, and a URL may hold a question mark.
    pattern = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    if not (
        glob.has_magic(pattern)
        and as_url(pattern) is None
        and not os.path.lexists(pattern)
    ):
        return model_in(existing_path(path)), ()  # type: ignore[arg-type]
    # What programs leave beside tables, such as _SUCCESS and .crc, begins so.
    matches = glob.glob(pattern, recursive=True)  # noqa: PTH207
    names = (Path(name) for name in sorted(matches))
    files = tuple(
        existing_file(name)
        for name in names
        if name.is_file() and not name.name.startswith(("_", "."))
    )
    if not files:
        raise must_be(
            "the input",
            "a file that exists, or a pattern of some",
            pattern,
            "check the path",
        )
    return together(files)


def together(paths: Iterable[Path]) -> tuple[Path, tuple[Path, ...]]:
    """Return the folder that some files have in common, and the files.

    If one of them has its whole path, all of them get theirs.

    Examples
    --------
    >>> together([Path("shards/a.parquet"), Path("shards/2/b.parquet")])[0].name
    'shards'
    """
    files = tuple(paths)
    # Whole paths and others have no folder in common as they stand.
    if any(file.is_absolute() for file in files):
        files = tuple(file.absolute() for file in files)
    return Path(os.path.commonpath([file.parent for file in files])), files


def existing_file(
    path: AnyPath, what: str = "the input", remedy: str = "check the path"
) -> Path:
    """Return `path` if it is a file that is not empty, and remember it as an input.

    Raises
    ------
    InputError
        If it is not.
    """
    local = existing_path(path, what, remedy)
    if not local.is_file():
        raise must_be(what, "a file", f"the directory {local}", "name the file in it")
    return local


def plain_suffix(path: Path) -> str:
    """Return the suffix in lower case that tells the format, without a `.gz` after it.

    Examples
    --------
    >>> plain_suffix(Path("vectors.TXT.gz")), plain_suffix(Path("model.npz"))
    ('.txt', '.npz')
    """
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return path.suffix.lower()


def first_bytes(path: Path, size: int = 16) -> bytes:
    """Read what a file begins with; nothing of a directory.

    Examples
    --------
    >>> first_bytes(Path("."))
    b''
    """
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(size)


def distinct_outputs(
    inputs: Iterable[AnyPath | None], outputs: Iterable[AnyPath | None]
) -> None:
    """Refuse an output that is an input or another output, under whatever name.

    It is refused before any work is done.

    Parameters
    ----------
    inputs, outputs : iterable of path or None
        What a command reads and writes; None for what was not asked for. What lies in a
        directory that is read counts as read.

    Raises
    ------
    InputError
        If two of them are one file.

    Examples
    --------
    >>> distinct_outputs(["model.npz"], ["report.html", None])
    >>> distinct_outputs(["model.npz"], ["./model.npz"])
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ... another file than the input; got model.npz for ...
    """
    read = [
        as_path(path, "the input")
        for path in as_list(inputs, "inputs", '["a.npz"]')
        if path is not None
    ]
    written: list[Path] = []
    output_paths = as_list(outputs, "outputs", '["b.npz"]')
    for output in (
        as_path(path, "the output") for path in output_paths if path is not None
    ):
        for kind, paths in (("the input", read), ("another output", written)):
            if any(_same(output, other) for other in paths):
                raise must_be(
                    "the output",
                    f"another file than {kind}",
                    f"{output} for both",
                    "name a file of its own",
                )
        written.append(output)


def _same(output: Path, other: Path) -> bool:
    """Return whether both are one file, or the output is a file in the directory."""
    try:
        if output.exists() and other.exists():
            return other.samefile(output) or (
                other.is_dir() and output.resolve().is_relative_to(other.resolve())
            )
        return output.resolve() == other.resolve()
    # What cannot be looked up is refused where it is opened.
    except (OSError, RuntimeError):
        return False
