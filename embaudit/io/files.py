"""Find the files to read, and reject unusable paths in one sentence.

Every file that is found is noted as an input, so that no output replaces it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TypeAlias

from embaudit.core.checked import as_list
from embaudit.core.inputs import note_input
from embaudit.errors import InputError, Sentence, must_be
from embaudit.io.folders import model_in
from embaudit.io.remote import as_url, local_path

AnyPath: TypeAlias = str | os.PathLike[str]
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of a Git LFS pointer, which replaces a large file until it is fetched."""
MAX_LFS_POINTER_BYTES = 1024
"""Pointer files of Git LFS are smaller, by their specification."""


def as_path(path: object, name: str) -> Path:
    """Return a path given as text or as a path object.

    Raises
    ------
    InputError
        For any other value, including paths given as bytes. The sentence calls the
        value `name`.

    Examples
    --------
    >>> as_path(3, "the input")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a path, as text or a Path; got 3.
    """
    if isinstance(path, (str, os.PathLike)):
        text = os.fspath(path)
        if isinstance(text, str):
            return Path(text)
    raise must_be(name, "a path, as text or a Path", repr(path))


def existing_path(
    path: AnyPath, name: str = "the input", remedy: str = "check the path"
) -> Path:
    """Return the path of an existing file or directory, and note it as an input.

    A URL is copied to this machine first; see `local_path`.

    Parameters
    ----------
    path : str or path
        Path or URL.
    name : str
        Name of the input in errors.
    remedy : str
        Advice to the user if nothing exists at the path.

    Raises
    ------
    InputError
        If the path does not exist or cannot be accessed, or if it is an empty file, a
        pointer of Git LFS, a pipe or a device.

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
        if S_ISREG(state.st_mode):
            _require_content(local, state.st_size, name)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise must_be(name, "a file that exists", local, remedy) from error
    except (OSError, ValueError) as error:
        # Only errors of the system have a `strerror`.
        reason = getattr(error, "strerror", None) or error
        raise InputError("{} cannot be read: {}.", local, reason) from error
    if not (S_ISREG(state.st_mode) or S_ISDIR(state.st_mode)):
        raise must_be(
            name,
            "a file or directory",
            Sentence("{}, a pipe or device", local),
            "save it to a file first",
        )
    note_input(local)
    return local


def _require_content(path: Path, n_bytes: int, name: str) -> None:
    """Raise InputError if a file is empty or a pointer of Git LFS."""
    if n_bytes == 0:
        raise must_be(
            name, "a file that is not empty", Sentence("{}, an empty file", path)
        )
    if n_bytes >= MAX_LFS_POINTER_BYTES:
        return
    if first_bytes(path, len(LFS_POINTER)) == LFS_POINTER:
        raise must_be(
            name,
            "the file itself",
            Sentence("{}, a pointer of Git LFS", path),
            "fetch it with: git lfs pull",
        )


def existing_file(
    path: AnyPath, name: str = "the input", remedy: str = "check the path"
) -> Path:
    """Return the path of an existing file, and note it as an input.

    Raises
    ------
    InputError
        If the path is a directory, and in all cases in which `existing_path` raises.
    """
    local = existing_path(path, name, remedy)
    if not local.is_file():
        raise must_be(name, "a file", f"the directory {local}", "name a file in it")
    return local


def find_input(path: AnyPath | Sequence[AnyPath]) -> tuple[Path, tuple[Path, ...]]:
    """Return the path of an input, and its files if they are a list or a pattern.

    Parameters
    ----------
    path : str, path or list of them
        A file, a folder, a URL, a pattern such as `shards/*.parquet`, or a list of
        files. A folder of MLflow stands for the model in it.

    Returns
    -------
    path : Path
        The file or folder; for a list or a pattern, the folder that its files share.
    files : tuple of Path
        The files in the order of the list, or those that match a pattern, sorted by
        name. Empty for a single path.

    Raises
    ------
    InputError
        As `existing_path` does, or if a pattern or a list names no file.

    Examples
    --------
    >>> find_input([])
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a list of at least one file; got [].
    """
    if isinstance(path, (list, tuple)):
        if not path:
            raise must_be("the input", "a list of at least one file", path)
        files = [existing_file(file) for file in path]
        return with_common_folder(files)
    as_path(path, "the input")
    # A Path would change the slashes of URLs, so the text itself is inspected.
    text = os.fspath(path)  # type: ignore[arg-type]
    if _is_pattern(text):
        return with_common_folder(_matching_files(text))
    return model_in(existing_path(text)), ()


def _is_pattern(path: str) -> bool:
    """Return True if a path has wildcards, and is neither a file nor a URL.

    The name of a file can contain a bracket, and a URL can contain a question mark.
    """
    is_file_or_url = as_url(path) is not None or os.path.lexists(path)
    return glob.has_magic(path) and not is_file_or_url


def _matching_files(pattern: str) -> list[Path]:
    """Return the files that match a pattern, sorted by name.

    Programs write files such as _SUCCESS and .part.crc next to tables. A file whose
    name begins with "_" or "." is therefore skipped, unless the last part of the
    pattern begins in the same way.
    """
    skipped = {"_", "."} - {Path(pattern).name[0]}
    files = []
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        path = Path(match)
        if path.is_file() and path.name[0] not in skipped:
            files.append(existing_file(path))
    if not files:
        raise must_be(
            "the input",
            "a file that exists, or a pattern that matches files",
            pattern,
            "check the path",
        )
    return files


def with_common_folder(paths: Iterable[Path]) -> tuple[Path, tuple[Path, ...]]:
    """Return the innermost folder that contains all files, and the files.

    The files are made absolute if one of them is absolute, or if ".." leads out of the
    folder that the relative paths share.

    Examples
    --------
    >>> folder, files = with_common_folder(
    ...     [Path("shards/a.parquet"), Path("shards/2/b.parquet")]
    ... )
    >>> folder.name, [file.name for file in files]
    ('shards', ['a.parquet', 'b.parquet'])
    """
    files = tuple(paths)
    if any(file.is_absolute() for file in files):
        files = tuple(file.absolute() for file in files)
    folder = _common_folder(files)
    # `commonpath` compares texts, so it does not know that ".." leads out of a folder.
    if any(".." in file.relative_to(folder).parts for file in files):
        files = tuple(file.resolve() for file in files)
        folder = _common_folder(files)
    return folder, files


def _common_folder(files: Sequence[Path]) -> Path:
    """Return the longest path that begins the paths of all parent folders."""
    return Path(os.path.commonpath([file.parent for file in files]))


def plain_suffix(path: Path) -> str:
    """Return the suffix of a path in lower case, ignoring a final `.gz`.

    Examples
    --------
    >>> plain_suffix(Path("vectors.TXT.gz")), plain_suffix(Path("model.npz"))
    ('.txt', '.npz')
    """
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return path.suffix.lower()


def first_bytes(path: Path, size: int = 16) -> bytes:
    """Return the first `size` bytes of a file, or no bytes for a directory.

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
    """Raise InputError if an output is also an input or another output.

    Commands call this function before they compute anything. Two names of one file,
    such as a link and its target, count as the same file.

    Parameters
    ----------
    inputs, outputs : iterable of path or None
        Paths that a command reads and writes. None stands for an option that was not
        given. Every file in a directory among the inputs is an input.

    Raises
    ------
    InputError
        If an output is an input, or if two outputs are the same file.

    Examples
    --------
    >>> distinct_outputs(["model.npz"], ["report.html", None])
    >>> distinct_outputs(["model.npz"], ["./model.npz"])
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ... another file than the input; got model.npz for ...
    """
    input_paths = _given_paths(as_list(inputs, "inputs", '["a.npz"]'), "the input")
    output_paths = _given_paths(as_list(outputs, "outputs", '["b.npz"]'), "the output")
    for i, output in enumerate(output_paths):
        _require_other_file(output, input_paths, "the input")
        _require_other_file(output, output_paths[:i], "another output")


def _given_paths(paths: Sequence[AnyPath | None], name: str) -> list[Path]:
    """Return the paths that are not None."""
    return [as_path(path, name) for path in paths if path is not None]


def _require_other_file(output: Path, others: Sequence[Path], name: str) -> None:
    """Raise InputError if an output would replace one of the other paths."""
    if any(_would_replace(output, other) for other in others):
        raise must_be(
            "the output",
            f"another file than {name}",
            f"{output} for both",
            "name another file",
        )


def _would_replace(output: Path, other: Path) -> bool:
    """Return True if both paths are one file, or `other` is a folder of the output.

    A new file in an existing folder replaces nothing.
    """
    try:
        if not (output.exists() and other.exists()):
            return output.resolve() == other.resolve()
        if other.samefile(output):
            return True
        return other.is_dir() and output.resolve().is_relative_to(other.resolve())
    # A path that cannot be resolved, such as a circle of links or a name with a null
    # byte, is rejected with its reason when it is opened.
    except (OSError, RuntimeError, ValueError):
        return False
