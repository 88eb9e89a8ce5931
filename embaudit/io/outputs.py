"""Output files, which are written completely or not at all.

An output never replaces an input, and it replaces another file only with `force`.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import IO, Any

from embaudit.core.inputs import noted_inputs
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.files import AnyPath, as_path, distinct_outputs

STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Beginnings of the paths of open streams. Such a path can lead to a regular file, but
a new file cannot take its place.
"""
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
"""Suffixes of compressed files."""
WRITE_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors that only writing raises: no space, file too large, quota exceeded, device
error, read-only file system.
"""
MAX_NAME_BYTES = 100
"""Bytes of the name of an output that the name of another file begins with. The name of
a file can have 255 bytes, and a character up to 4.
"""


def output_target(path: AnyPath, *, force: bool) -> Path:
    """Return the file that an output path leads to, if it can be written.

    Commands call this function before they compute anything.

    Parameters
    ----------
    path : path
        The file to write. Links are followed.
    force : bool
        Whether an existing regular file may be replaced. Devices, pipes and sockets are
        never replaced.

    Raises
    ------
    InputError
        If the path is a directory, a stream or not a regular file, if its folder does
        not exist, or if it exists and `force` is False.
    """
    if not isinstance(force, bool):
        raise must_be("force", "True or False", repr(force))
    path = as_path(path, "the output")
    try:
        target = path.resolve()
        # Since Python 3.13, `resolve` and `exists` accept circular links and names that
        # are too long. Only `stat` raises an error for them.
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        exists = path.exists()
        is_file = path.is_file()
        is_directory = target.is_dir()
        has_folder = target.parent.is_dir()
    # Circular links raise RuntimeError before Python 3.13, and a null byte in the path
    # raises ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("{} cannot be written: {}.", File(path), reason) from error
    if is_directory:
        raise must_be(
            "the output",
            "a file",
            Sentence("the directory {}", File(path)),
            "name a file in it",
        )
    if _is_stream(path) or (exists and not is_file):
        raise must_be(
            "the output",
            "a regular file",
            Sentence("{}, a device, pipe or stream", File(path)),
            "name a regular file",
        )
    if not has_folder:
        raise must_be(
            "the folder of the output",
            "a folder that exists",
            target.parent,
            "create it first",
        )
    if exists and not force:
        raise must_be(
            "the output",
            "a file that does not exist yet",
            path,
            Sentence("overwrite it with {}", Option("force", True)),
        )
    return target


def _is_stream(path: Path) -> bool:
    """Return True for a path of an open stream, such as `/dev/stdout`.

    Links are not followed, because these paths are links to what the stream was opened
    from.
    """
    return os.path.abspath(path).startswith(STREAMS)  # noqa: PTH100


def open_output(
    path: AnyPath, *, force: bool = False, mode: str = "wb"
) -> AbstractContextManager[Any]:
    """Open a file that appears under its name only if the block ends without an error.

    The content is written to a temporary file in the same folder. At the end of the
    block, this file takes the name of the output in one step. If the block raises, the
    temporary file is removed, and an older file stays as it was. A process that is
    killed leaves a file `.NAME.XXXXXXXX.part` behind, which can be deleted.

    Parameters
    ----------
    path : path
        The file to write, in a folder that exists.
    force : bool
        Whether an existing file may be replaced.
    mode : {"wb", "w"}
        Bytes, or text in UTF-8 whose line ends are kept.

    Raises
    ------
    InputError
        If `output_target` refuses the path, if text would be written to a file with the
        suffix of a compressed file, or if writing fails, for example because the disk
        is full. If another program has created the file meanwhile, that file is kept,
        and the sentence names the file that holds the result.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open_output(Path(folder, "a.txt"), mode="w") as file:
    ...         _ = file.write("done")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a.txt']
    """
    suffix = as_path(path, "the output").suffix
    if mode == "w" and suffix.lower() in COMPRESSED:
        raise must_be(
            "the output",
            f"a name without {suffix}",
            path,
            "it is written as text; compress it afterwards",
        )
    # The path is checked here and not at the beginning of the block, so that it is
    # refused before anything is computed.
    return _open_target(output_target(path, force=force), mode, force=force)


@contextmanager
def _open_target(target: Path, mode: str, *, force: bool) -> Iterator[IO[Any]]:
    """Open a temporary file, which takes the name of the target after the block."""
    wrapper = _open_temporary(target, mode)
    temporary, file = Path(wrapper.name), wrapper.file
    try:
        with _as_input_errors(target), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Files that were read inside the block are inputs, too.
        distinct_outputs(noted_inputs(), [target])
        with _as_input_errors(target):
            temporary.chmod(_permissions_of(target))
            if force:
                temporary.replace(target)
            else:
                _rename_without_replacing(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _open_temporary(target: Path, mode: str) -> Any:
    """Open a temporary file in the folder of the target, whose name it begins with."""
    encoding: dict[str, Any] = {}
    if mode == "w":
        # Lone surrogates, which UTF-8 cannot hold, are written as JSON escapes.
        encoding = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    try:
        return tempfile.NamedTemporaryFile(
            mode,
            dir=target.parent,
            prefix=f".{_first_bytes(target.name)}.",
            suffix=".part",
            delete=False,
            **encoding,
        )
    except OSError as error:
        raise _write_error(target, error) from error


def _first_bytes(name: str) -> str:
    """Return the beginning of a name of a file that fits into `MAX_NAME_BYTES`."""
    return os.fsencode(name)[:MAX_NAME_BYTES].decode("utf-8", "ignore")


def _permissions_of(target: Path) -> int:
    """Return the permissions of the file that is replaced, or of any new file."""
    if target.exists():
        return S_IMODE(target.stat().st_mode)
    # The mask of new files can only be read by setting another one. With 0o077, files
    # that another thread creates meanwhile are not open to other users.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _as_input_errors(target: Path) -> Iterator[None]:
    """Raise InputError instead of an OSError that says that writing failed."""
    try:
        yield
    except OSError as error:
        # NumPy raises "N requested and M written" without a number of the error.
        if error.errno in WRITE_ERRORS or "written" in str(error):
            raise _write_error(target, error) from error
        raise


def _write_error(target: Path, error: OSError) -> InputError:
    """Build the error for a file that cannot be written."""
    reason = error.strerror or "no space left, or the file is too large"
    return InputError("{} cannot be written: {}.", File(target), reason)


def _rename_without_replacing(temporary: Path, target: Path) -> None:
    """Give the complete file its name, unless another file has taken it meanwhile.

    Raises
    ------
    InputError
        If the name is taken. The file has another name then, which the sentence says.
    """
    try:
        _take_free_name(temporary, target)
    except FileExistsError as error:
        stem, suffix = _first_bytes(target.stem), _first_bytes(target.suffix)
        other_target = target.with_name(f"{stem}-{secrets.token_hex(4)}{suffix}")
        temporary.replace(other_target)
        raise must_be(
            "the output",
            "a file that does not exist yet",
            Sentence("{}, which another program has created meanwhile", File(target)),
            Sentence("the result is in {}", File(other_target)),
        ) from error


def _take_free_name(temporary: Path, target: Path) -> None:
    """Give a file a name, or raise FileExistsError if another file has it.

    The file gets a hard link of that name, because creating a link fails if the name is
    taken, whereas renaming would replace the other file.
    """
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. There, a file that appears between the
        # next two steps is replaced.
        if target.exists():
            raise FileExistsError from None
        temporary.replace(target)
