"""The description of a read file, which inspecting its header also gives."""

from __future__ import annotations

import json
import resource
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import Part, inspect, read, read_ids

if TYPE_CHECKING:
    from pathlib import Path

P, Q, B = (
    np.arange(10.0).reshape(5, 2),
    np.arange(14.0).reshape(7, 2) + 1,
    np.arange(7.0),
)


def npz(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "m.npz", **arrays)
    return folder / "m.npz"


def test_an_intake_says_what_became_what(tmp_path: Path) -> None:
    path = npz(
        tmp_path,
        P=P,
        Q=Q.T,
        item_bias=B[:, None],
        item_ids=np.arange(3, 10),
        seed=np.int64(3),
    )
    found = read(path)
    assert (
        found.intake.line() == "read as npz: P, Q, item_bias, item_ids; not used: seed"
    )
    more = replace(
        found.intake,
        parts=(Part("Q", "right"), Part("its name", "link")),
        left_over=(Part("a", ""),) * 3,
    )
    assert more.line() == "read as npz: Q; not used: 3 others"
    assert (
        replace(more, left_over=(Part("a", "", (3,)),) * 2).line()
        == "read as npz: Q; not used: a (3), a (3)"
    )


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_a_look_reads_no_numbers(tmp_path: Path, suffix: str) -> None:
    rows, path = 10**7, tmp_path / f"m{suffix}"
    header = json.dumps(
        {
            "item_factors": {
                "dtype": "F32",
                "shape": [rows, 128],
                "data_offsets": [0, 512 * rows],
            }
        }
    )
    with path.open("wb") as file:
        if suffix == ".npy":
            described = {"descr": "<f4", "fortran_order": False, "shape": (rows, 128)}
            np.lib.format.write_array_header_1_0(file, described)
        else:
            file.write(len(header).to_bytes(8, "little") + header.encode())
        # A hole of 5 GB, which takes no room on the disk.
        file.truncate(file.tell() + 512 * rows)
    start, before = (
        time.process_time(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    )
    assert inspect(path).parts[0].shape == (rows, 128)
    assert time.process_time() - start < 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17


def test_a_look_refuses_what_reading_refuses(tmp_path: Path) -> None:
    path = npz(tmp_path, P=P, Q=Q, u_bias=np.arange(5.0))
    for reading in (inspect, read):
        with pytest.raises(
            InputError, match=r"got u_bias \(5,\), one value for each entity of P"
        ):
            reading(path)
    assert inspect(path, left_bias="u_bias").parts[2] == Part(
        "u_bias", "left_bias", (5,)
    )
    assert [part.name for part in inspect(path, ignore="u_*").left_over] == ["u_bias"]


def test_ids_come_from_lines_columns_and_arrays(tmp_path: Path) -> None:
    for name, text in (
        ("a.txt", "b\n7\n"),
        ("d.txt", "007\n7\n"),
        ("e.txt", "-7\n8\n"),
        ("f.txt", f"{10**20}\n8\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "b.csv").write_text("movieId,other\n70,x\n3,y\n")
    np.save(tmp_path / "c.npy", np.array([4, 2]))
    lines = {
        "a.txt": ["b", "7"],
        "d.txt": ["007", "7"],
        "e.txt": [-7, 8],
        "f.txt": [str(10**20), "8"],
    }
    read_as = {**lines, "b.csv": [70, 3], "b.csv:other": ["x", "y"], "c.npy": [4, 2]}
    for name, expected in read_as.items():
        file, _, column = name.partition(":")
        found = read_ids(tmp_path / file, 2, column=column or None)
        assert found.tolist() == expected
    message = "must be a file of 3 item ids, one per row; got 2; check that it is of"
    for name in ("b.csv", "c.npy"):
        with pytest.raises(InputError, match=message):
            read_ids(f"{tmp_path / name}", 3)
    path = npz(tmp_path, P=P, Q=Q, names=np.array(list("abcdefg")))
    assert read(path, id_array="names").model.right_ids.tolist() == list("abcdefg")
    unused = r"got names \(7,\), one value for each entity of Q"
    with pytest.raises(InputError, match=f"{unused}; name it with id_array='names'"):
        read(path)


@pytest.mark.parametrize(
    "options",
    [{"link": "ranking", "transpose": "right"}, {"kind": "vectors", "weight": "P"}],
)
def test_nothing_is_assumed_that_an_option_says(
    tmp_path: Path, options: dict[str, str]
) -> None:
    path = npz(tmp_path, P=P, Q=Q.T)
    assert read(path, **options).intake.assumed == ()


def test_the_other_side_is_left_over_if_vectors_are_read(tmp_path: Path) -> None:
    path = npz(tmp_path, P=P, Q=Q.T)
    reading = read(path, kind="vectors", transpose="right")
    assert reading.model.left_side is None
    assert [part.name for part in reading.intake.left_over] == ["P"]


def test_files_and_values_that_were_given_are_parts_of_the_reading(
    tmp_path: Path,
) -> None:
    path = npz(tmp_path, P=P, Q=Q.T)
    ids_path = str(tmp_path / "ids.txt")
    (tmp_path / "ids.txt").write_text("".join(f"{i}\n" for i in range(10, 17)))

    reading = read(path, ids=ids_path, right_counts=np.ones(7))

    assert reading.model.right_ids.tolist() == list(range(10, 17))
    left, right, *given = reading.intake.parts
    assert [left.name, right.name] == ["P", "Q"]
    assert [part.name for part in given] == [ids_path, "values you passed"]
    assert reading.intake.files == (str(path), ids_path)


def test_counts_are_found_by_the_ids_that_are_given_with_them(tmp_path: Path) -> None:
    path = npz(tmp_path, P=P, Q=Q.T)
    ids = range(10, 17)
    (tmp_path / "ids.txt").write_text("".join(f"{i}\n" for i in ids))
    lines = [f"{i},{i}\n" for i in reversed(ids)]
    (tmp_path / "n.csv").write_text("item,count\n" + "".join(lines))
    reading = read(path, ids=tmp_path / "ids.txt", right_counts=tmp_path / "n.csv")
    assert reading.model.right_counts.tolist() == list(ids)


def test_the_link_of_a_file_of_embaudit_is_the_source_of_the_training(
    tmp_path: Path,
) -> None:
    path = tmp_path / "own.npz"
    ea.save(ea.FactorModel.from_vectors(Q, compared="cosine"), path)
    assert read(path).intake.training_source == "link in own.npz"
