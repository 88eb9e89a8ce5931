"""Files that are written: whole or not at all.

No file that was read is replaced, and no other one without `force`.
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
"""Names of what a process has open: a file put in their place would be lost, even where
they lead to a file.
"""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
"""How names of packed files end."""
FAILURES = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors that only writing meets: a full disk, a limit, a device that broke."""


def writable(path: AnyPath, *, force: bool) -> Path:
    """Follow links and refuse a file that must not or cannot be written.

    It is refused before any work is done.

    Only a regular file may be replaced: devices, pipes and sockets are refused even
    with `force`.

    Raises
    ------
    InputError
        If it is a directory, no regular file, in no folder, or there already and
        `force` is not set.
    """
    path = as_path(path, "the output")
    try:
        target = path.resolve()
        # Since Python 3.13 nothing else tells of links in a circle and of names that
        # are too long.
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        is_there, is_file, is_directory = path.exists(), path.is_file(), target.is_dir()
        has_folder = target.parent.is_dir()
    # Links in a circle are a RuntimeError before Python 3.13, and a null byte in the
    # name is a ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            "{} cannot be written: {}.",
            File(path),
            getattr(error, "strerror", None) or error,
        ) from error
    if is_directory:
        raise must_be(
            "the output",
            "a file",
            Sentence("the directory {}", File(path)),
            "name a file in it",
        )
    # The name as it is: following it leads to the file, pipe or device behind a stream.
    is_stream = os.path.abspath(path).startswith(STREAMS)  # noqa: PTH100
    if is_stream or (is_there and not is_file):
        raise must_be(
            "the output",
            "a regular file",
            Sentence("{}, a device, pipe or stream", File(path)),
            "name a file of its own",
        )
    if not has_folder:
        raise must_be(
            "the folder of the output",
            "there already",
            target.parent,
            "create it first",
        )
    if not isinstance(force, bool):
        raise must_be("force", "True or False", repr(force))
    if is_there and not force:
        raise must_be(
            "the output",
            "a file that does not exist yet",
            path,
            Sentence("overwrite it with {}", Option("force", True)),
        )
    return target


def written_whole(
    path: AnyPath, *, force: bool = False, mode: str = "wb"
) -> AbstractContextManager[Any]:
    """Open a file that appears under its name only when the block ends well.

    The content goes to a temporary file in the same folder, which takes the name in one
    step at the end. If the block raises, the temporary file is removed and an older
    file stays as it was. A run that is killed leaves `.NAME.XXXXXXXX.part` behind,
    which nothing else touches; it can be deleted.

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
        If text shall go into what is called a packed file, the file exists and `force`
        is not set, it cannot be written there, or there is no room for it. A file that
        somebody makes meanwhile is kept, and the sentence says where the result lies.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "a.txt"), mode="w") as file:
    ...         _ = file.write("done")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a.txt']
    """
    suffix = as_path(path, "the output").suffix
    # What is text would lie there as it is, and nothing could open it.
    if mode == "w" and suffix.lower() in PACKED:
        raise must_be(
            "the output",
            f"a name without {suffix}",
            path,
            "it is written as text; pack it afterwards",
        )
    return _written_whole(writable(path, force=force), mode, force=force)


@contextmanager
def _written_whole(target: Path, mode: str, *, force: bool) -> Iterator[IO[Any]]:
    """Write to a temporary file in the folder of the target.

    It takes the name of the target if the block ends well.
    """
    text: dict[str, Any] = {}
    if mode == "w":
        # Lone surrogates, which UTF-8 cannot hold, are written as JSON escapes.
        text = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    # A name may have 255 bytes, whatever characters these make.
    prefix = f".{os.fsdecode(os.fsencode(target.name)[:100])}."
    try:
        wrapper: Any = tempfile.NamedTemporaryFile(  # noqa: SIM115
            mode,
            dir=target.parent,
            prefix=prefix,
            suffix=".part",
            delete=False,
            **text,
        )
    except OSError as error:
        raise _cannot(target, error) from error
    temporary, file = Path(wrapper.name), wrapper.file
    try:
        with _failures_worded(target), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # What was read while the file was written is an input, too.
        distinct_outputs(noted_inputs(), [target])
        with _failures_worded(target):
            temporary.chmod(_permissions(target))
            _named(temporary, target, force=force)
    finally:
        temporary.unlink(missing_ok=True)


def _permissions(target: Path) -> int:
    """Return the permissions of the file that is replaced, or of any new file."""
    if target.exists():
        return S_IMODE(target.stat().st_mode)
    # The mask can only be read by setting it; this one lets nobody else in meanwhile.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _failures_worded(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # NumPy counts what it wrote and drops the reason.
        if error.errno in FAILURES or "written" in str(error):
            raise _cannot(target, error) from error
        raise


def _cannot(target: Path, error: OSError) -> InputError:
    return InputError(
        "{} cannot be written: {}.",
        File(target),
        error.strerror or "no space left, or the file is too large",
    )


def _named(temporary: Path, target: Path, *, force: bool) -> None:
    """Give the complete file its name in one step.

    Without `force`, no other file may have the name.
    """
    if force:
        temporary.replace(target)
        return
    try:
        _take_free_name(temporary, target)
    except FileExistsError as error:
        spare = target.with_name(
            f"{target.stem[:50]}-{secrets.token_hex(4)}{target.suffix}"
        )
        temporary.replace(spare)
        got = Sentence("{}, which somebody else made meanwhile", File(target))
        raise must_be(
            "the output",
            "a file that does not exist yet",
            got,
            f"the result lies in {spare}",
        ) from error


def _take_free_name(temporary: Path, target: Path) -> None:
    """Give a file a name that no other file has.

    A link never replaces a file, as a move does.
    """
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. A file that appears between these two
        # steps is replaced there, but always by a whole one.
        if target.exists():
            raise FileExistsError from None
        temporary.replace(target)
