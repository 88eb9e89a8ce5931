"""Results computed from a file that changed in the meantime are refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from embaudit.errors import InputError
from embaudit.io.watched import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.npy", "b.npy", "notes.log", "config.json"):
        (tmp_path / name).write_bytes(b"before")
    return tmp_path


def replace_with_same_size_and_time(path: Path) -> None:
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"x" * status.st_size)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda folder: (folder / "a.npy").write_bytes(b"longer than before"),
    "removed": lambda folder: (folder / "a.npy").unlink(),
    "replaced": lambda folder: replace_with_same_size_and_time(folder / "a.npy"),
}
IN_FOLDER: dict[str, Callable[[Path], object]] = {
    "configured": lambda folder: (folder / "config.json").write_bytes(b"otherwise"),
}


def watched(folder: Path, what: str) -> str:
    if what.startswith("file:"):
        return (folder / what.removeprefix("file:")).as_uri()
    return str(folder / what)


@pytest.mark.parametrize("what", ["a.npy", "file:a.npy", "*.npy", "", "file:"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_is_refused_by_its_name(
    folder: Path, change: Callable[[Path], object], what: str
) -> None:
    with (
        pytest.raises(InputError, match=r"a\.npy must be unchanged while it is read"),
        unchanged([watched(folder, what)]),
    ):
        change(folder)


@pytest.mark.parametrize("change", IN_FOLDER.values(), ids=IN_FOLDER)
def test_a_folder_with_other_files_is_refused(
    folder: Path, change: Callable[[Path], object]
) -> None:
    with (
        pytest.raises(InputError, match="must be unchanged while it is read"),
        unchanged([None, folder]),
    ):
        change(folder)


@pytest.mark.parametrize("what", ["a.npy", "*.npy", ""])
def test_files_that_are_not_read_may_change(folder: Path, what: str) -> None:
    with unchanged([watched(folder, what)]):
        (folder / "notes.log").write_bytes(b"one more line")
        (folder / "a.npy").read_bytes()


def test_damage_by_a_change_is_called_a_change(folder: Path) -> None:
    """Half of a file that is being written looks damaged, or lets a library fail."""

    def fail(failure: Exception, content: bytes) -> None:
        with unchanged([folder]):
            (folder / "notes.log").write_bytes(b"one more line")
            if content:
                (folder / "a.npy").write_bytes(content)
            raise failure

    for failure in (InputError("a.npy must be whole."), ValueError("cannot reshape")):
        with pytest.raises(InputError, match="must be unchanged while") as caught:
            fail(failure, failure.args[0].encode())
        assert caught.value.__cause__ is failure
        with pytest.raises(type(failure)) as same:
            fail(failure, b"")
        assert same.value is failure


def test_an_output_may_be_written_into_a_folder_that_is_watched(folder: Path) -> None:
    output = folder / "c.npy"
    with unchanged([folder]):
        output.write_bytes(b"added")
    with unchanged([folder], outputs=[output]):
        output.write_bytes(b"replaced by the command itself")
