"""Files as the command line needs them: found or refused in one sentence, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, TypeAlias, overload

from embaudit.errors import InputError, must_be

AnyPath: TypeAlias = str | os.PathLike[str]


def existing_path(path: AnyPath) -> Path:
    """Return `path` if something is there.

    Raises
    ------
    InputError
        If nothing is, or only an empty file.

    Examples
    --------
    >>> existing_path("no-such-model.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a file that exists; got no-such-model.npz; check the path.
    """
    found = Path(path)
    if not found.exists():
        raise must_be("the input", "a file that exists", found, "check the path")
    if found.is_file() and found.stat().st_size == 0:
        raise must_be("the input", "a file with something in it", f"{found}, which is empty")
    return found


def existing_file(path: AnyPath) -> Path:
    """Return `path` if it is a file, not a directory, with something in it.

    Raises
    ------
    InputError
        If it is not.
    """
    found = existing_path(path)
    if not found.is_file():
        raise must_be("the input", "a file", f"the directory {found}", "name the file in it")
    return found


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


STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Names of what a process has open: a file put in their place would be lost, even where they lead to a file."""


def writable(path: AnyPath, *, force: bool) -> Path:
    """Follow links and refuse what must not or cannot be written, before any work is done.

    Only a regular file may be replaced: devices, pipes and sockets are refused even with `force`.

    Raises
    ------
    InputError
        If it is a directory, no regular file, in no folder, or there already and `force` is not set.
    """
    try:
        target = Path(path).resolve()
        is_there, is_file, is_directory = Path(path).exists(), Path(path).is_file(), target.is_dir()
        has_folder = target.parent.is_dir()
    # Links in a circle are a RuntimeError before Python 3.13.
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
    if is_directory:
        raise must_be("the output", "a file", f"the directory {path}", "name a file in it")
    # The name as it is: following it leads to the file, pipe or device behind a stream.
    is_stream = os.path.abspath(path).startswith(STREAMS)  # noqa: PTH100
    if is_stream or (is_there and not is_file):
        raise must_be("the output", "a regular file", f"{path}, a device, pipe or stream", "name a file of its own")
    if not has_folder:
        raise must_be("the folder of the output", "there already", target.parent, "create it first")
    if is_there and not force:
        raise must_be("the output", "a file that does not exist yet", path, "pass force (--force) to overwrite it")
    return target


def distinct_outputs(inputs: Iterable[AnyPath | None], outputs: Iterable[AnyPath | None]) -> None:
    """Refuse an output that is an input or another output, under whatever name, before any work is done.

    Parameters
    ----------
    inputs, outputs : iterable of path or None
        What a command reads and writes; None for what was not asked for. What lies in a directory that is read
        counts as read.

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
    embaudit.errors.InputError: the output must be another file than the input; got model.npz for both; ...
    """
    read = [Path(path) for path in inputs if path is not None]
    written: list[Path] = []
    for output in (Path(path) for path in outputs if path is not None):
        for kind, others in (("the input", read), ("another output", written)):
            if any(_same(output, other) for other in others):
                raise must_be("the output", f"another file than {kind}", f"{output} for both", "name a file of its own")
        written.append(output)


def _same(output: Path, other: Path) -> bool:
    """Whether both are one file, or the output is a file in the other, a directory."""
    try:
        if output.exists() and other.exists():
            return other.samefile(output) or (other.is_dir() and output.resolve().is_relative_to(other.resolve()))
        return output.resolve() == other.resolve()
    # What cannot be looked up is refused where it is opened.
    except (OSError, RuntimeError):
        return False


@overload
def written_whole(
    path: AnyPath, *, force: bool = ..., mode: Literal["wb"] = ...
) -> AbstractContextManager[BinaryIO]: ...
@overload
def written_whole(path: AnyPath, *, force: bool = ..., mode: Literal["w"]) -> AbstractContextManager[TextIO]: ...
def written_whole(
    path: AnyPath, *, force: bool = False, mode: Literal["w", "wb"] = "wb"
) -> AbstractContextManager[IO[Any]]:
    """Open a file that appears under its name only when the block ends well.

    What is written goes to a temporary file in the same folder, which takes the name in one step at
    the end; if the block raises, it is removed and an older file stays as it was.

    Parameters
    ----------
    path : path
        The file to write; its folder must be there.
    force : bool
        Whether an existing file may be replaced.
    mode : {"wb", "w"}
        Bytes, or text in UTF-8 with newlines as written.

    Raises
    ------
    InputError
        If the file exists and `force` is not set, or it cannot be written there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "a.txt"), mode="w") as file:
    ...         _ = file.write("done")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a.txt']
    """
    return _written_whole(writable(path, force=force), mode)


@contextmanager
def _written_whole(target: Path, mode: str) -> Iterator[IO[Any]]:
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    text = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    try:
        file: IO[Any] = part.open(mode.replace("w", "x"), **text)  # type: ignore[call-overload]
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
