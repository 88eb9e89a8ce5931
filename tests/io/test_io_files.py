"""Writing whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from embaudit.errors import InputError
from embaudit.io import written_whole

if TYPE_CHECKING:
    from pathlib import Path


class StoppedError(RuntimeError):
    """What goes wrong half way."""


@pytest.mark.parametrize(("mode", "content"), [("wb", b"new\r\n"), ("w", "néw\r\n")])
def test_a_file_appears_whole(tmp_path: Path, mode: Literal["w"], content: str) -> None:
    target = tmp_path / "out"
    with written_whole(target, mode=mode) as file:
        file.write(content)
        assert not target.exists()
    assert target.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_exception_leaves_everything_as_it_was(tmp_path: Path, old: bytes | None) -> None:
    target = tmp_path / "out"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(StoppedError), written_whole(target, force=True) as file:  # noqa: PT012
        file.write(b"half")
        raise StoppedError
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old])


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(InputError, match=r"does not exist yet; got .*out; overwrite it with force=True"):
        written_whole(target)
    assert target.read_bytes() == b"old"
    with written_whole(target, force=True) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"


def test_what_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="create it first"):
        written_whole(tmp_path / "no" / "such" / "out")
    assert not (tmp_path / "no").exists()
    with pytest.raises(InputError, match="the directory"):
        written_whole(tmp_path, force=True)
