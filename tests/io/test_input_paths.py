"""Paths, patterns and lists of files that name an input."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from example_files import refusal
from pyarrow import parquet

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import distinct_outputs, load, save
from embaudit.io.loading import source_of

ROWS = np.random.default_rng(0).standard_normal((6, 3))


def write_table(path: Path, rows: np.ndarray = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {f"e{i}": column for i, column in enumerate(rows.T)}
    parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("pattern", ["_part*.parquet", ".part*.parquet"])
def test_a_pattern_can_name_files_that_other_patterns_skip(
    tmp_path: Path, pattern: str
) -> None:
    name = pattern.replace("*", "-1")
    write_table(tmp_path / name, ROWS[:4])
    write_table(tmp_path / "part-2.parquet", ROWS[4:])
    np.testing.assert_array_equal(load(f"{tmp_path}/{pattern}").right, ROWS[:4])
    np.testing.assert_array_equal(load(f"{tmp_path}/*.parquet").right, ROWS[4:])


def test_paths_with_dots_share_the_folder_that_contains_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "here" / "a.parquet", ROWS[:4])
    write_table(tmp_path / "there" / "b.parquet", ROWS[4:])
    monkeypatch.chdir(tmp_path / "here")
    files = ["a.parquet", "../there/b.parquet"]
    assert source_of(files) == str(tmp_path.resolve())
    np.testing.assert_array_equal(load(files).right, ROWS)
    # These paths lead out of the current folder together, so they stay relative.
    assert source_of(["../here/a.parquet", "../here/b.parquet"]) == "../here"


def test_an_empty_file_of_any_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for name in ("v.npy", "v.csv", "v.safetensors", "v.parquet"):
        (tmp_path / name).touch()
        assert refusal(load, tmp_path / name) == (
            "the input must be a file that is not empty; "
            f"got {tmp_path / name}, an empty file."
        )


class BytesPath:
    """A path whose text is bytes, as `os.scandir(b".")` yields them."""

    def __fspath__(self) -> bytes:
        return b"model.npz"


def test_paths_of_bytes_are_rejected_in_a_sentence() -> None:
    with pytest.raises(InputError, match="the input must be a path, as text or a Path"):
        load(BytesPath())  # type: ignore[arg-type]


def test_names_with_a_null_byte_are_rejected_in_a_sentence() -> None:
    model = FactorModel.from_vectors(ROWS)
    with pytest.raises(InputError, match=r"cannot be written: .*null"):
        save(model, "model\0.npz")
    with pytest.raises(InputError, match=r"cannot be read: .*null"):
        load("model\0.npz")
    # The two names differ, so the error is left to the reader of the first.
    distinct_outputs(["model\0.npz"], ["report.html"])


def test_a_small_file_that_may_not_be_read_is_rejected_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files are opened at once, because they can be pointers of Git LFS."""
    path = tmp_path / "ids.txt"
    path.write_text("a\nb\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        # Root may read every file, so the refusal of the system is imitated.
        def refuse(self: Path, *_: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"ids.txt cannot be read: Permission"):
        load({"W": ROWS[:2]}, ids=path)


def test_a_link_and_its_target_are_one_file(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "link.npy").symlink_to("v.npy")
    with pytest.raises(InputError, match="another file than the input"):
        distinct_outputs([tmp_path / "v.npy"], [tmp_path / "link.npy"])
    with pytest.raises(InputError, match="another file than another output"):
        distinct_outputs([], [tmp_path / "v.npy", None, tmp_path / "link.npy"])


def test_files_of_a_folder_that_is_read_are_inputs(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS)
    with pytest.raises(InputError, match="another file than the input"):
        distinct_outputs([tmp_path], [tmp_path / "v.npy"])
    # A new file replaces no file of the folder.
    distinct_outputs([tmp_path], [tmp_path / "report.html"])
