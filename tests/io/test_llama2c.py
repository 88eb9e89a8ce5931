"""Checkpoints of llama2.c, of each version, written after its `export.py`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from llama_files import grouped, llama2c_file, tokenizer_bin

from embaudit.errors import InputError
from embaudit.io import final_norm_of, load, look, norm_of
from embaudit.io.codecs.llama2c import Llama2c, shape_of

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
W, HEAD = DRAW.standard_normal((2, 7, 8)).astype(np.float32)
GAIN = DRAW.uniform(0.5, 2, 8).astype(np.float32)
TOKENS = ["<unk>", "\n<s>\n", "a", "b", " c", "dé", "e"]


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        load(path, **options)
    return str(error.value)


def undone(rows: np.ndarray, group: int) -> np.ndarray:
    """Return what 127 steps to either side leave of each group."""
    data = grouped(rows, group)
    integers = np.frombuffer(data, np.int8, rows.size).reshape(-1, group)
    return (integers * np.frombuffer(data, "<f4", offset=rows.size)[:, None]).reshape(rows.shape)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("heads", [(2, 1), (2, 2), (1, 1), (4, 2)])
def test_floats(tmp_path: Path, version: int, heads: tuple[int, int]) -> None:
    shared = llama2c_file(tmp_path / "s.bin", W, GAIN, version=version, heads=heads)
    own = llama2c_file(tmp_path / "o.bin", W, GAIN, HEAD, version=version, heads=heads)
    for path, head in ((shared, W), (own, HEAD)):
        model = load(path)
        np.testing.assert_array_equal(model.right, head)
        assert (model.link, model.right_names, model.right.dtype) == ("softmax", None, np.float32)
        np.testing.assert_array_equal(load(path, weight="tok_embeddings.weight").right, W)
        found = final_norm_of(path)
        np.testing.assert_array_equal(found.norm.gain, GAIN)
        assert (found.norm.kind, found.norm.shift, found.name) == ("rms", None, "norm.weight")
        assert found.norm.epsilon == 1e-5
        assert found.because == "the layout of llama2.c"
        assert norm_of(path, model).condition_number == GAIN.max() / GAIN.min()


@pytest.mark.parametrize("group", [2, 4, 8])
def test_rounded_numbers(tmp_path: Path, group: int) -> None:
    shared = llama2c_file(tmp_path / "s.bin", W, GAIN, version=2, group=group)
    own = llama2c_file(tmp_path / "o.bin", W, GAIN, HEAD, version=2, group=group)
    for path, head in ((shared, W), (own, HEAD)):
        found = load(path).right
        np.testing.assert_array_equal(found, undone(head, group))
        most = np.repeat(np.abs(head.reshape(-1, group)).max(axis=1) / 254, group).reshape(head.shape)
        assert (np.abs(found - head) <= most * (1 + 1e-5)).all()
        assert (found != head).any()
        np.testing.assert_array_equal(final_norm_of(path).norm.gain, GAIN)
    assert look(own).explain() == (
        "Read as llama2c: output.weight (7 × 8, Q8_0) as right factors, its name as link. Left over: "
        "tok_embeddings.weight (7 × 8, Q8_0), norm.weight (8). Label ids: none, so rows go by their number; "
        "`labels` (--labels FILE) names them."
    )


def test_tokens_lie_beside(tmp_path: Path) -> None:
    path = llama2c_file(tmp_path / "m.bin", W, GAIN)
    beside = tokenizer_bin(tmp_path / "tokenizer.bin", TOKENS)
    assert load(path).right_names.tolist() == TOKENS
    assert load(path).right_aside.tolist() == [True] * 3 + [False] * 4
    assert f"{beside} as right names" in look(path).explain()
    tokenizer_bin(beside, TOKENS[:5])
    assert load(path).right_names.tolist() == [*TOKENS[:5], "<padding 5>", "<padding 6>"]
    whole = beside.read_bytes()
    for content in (whole[:-1], whole[:-4], whole + b"\0", whole[:4], b""):
        beside.write_bytes(content)
        assert load(path).right_names is None
        assert "right names" not in look(path).explain()
    tokenizer_bin(beside, [*TOKENS, "more"])
    assert load(path).right_names is None


def test_a_width_that_a_pickle_could_begin_with(tmp_path: Path) -> None:
    """640 as four bytes is what a pickle of protocol 2 begins with."""
    rows = DRAW.standard_normal((3, 640)).astype(np.float32)
    path = llama2c_file(tmp_path / "m.bin", rows, np.ones(640))
    assert path.read_bytes()[:2] == b"\x80\x02"
    np.testing.assert_array_equal(load(path).right, rows)
    path.write_bytes(b"\x80\x02]q\0.")
    assert "it is a pickle" in refused(path)


def test_other_files_of_that_suffix_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "words.bin"
    path.write_bytes(b"2 3\na " + np.ones(3, "<f4").tobytes() + b"b " + np.ones(3, "<f4").tobytes())
    assert shape_of(path) is None
    assert load(path).n_right == 2


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_size_must_be_what_the_header_asks_for(tmp_path: Path, version: int) -> None:
    path = llama2c_file(tmp_path / "m.bin", W, GAIN, HEAD, version=version)
    whole = path.read_bytes()
    for content in (whole[:-1], whole + b"\0"):
        path.write_bytes(content)
        assert refused(path) == (
            f"{path} must be a checkpoint of llama2.c that is whole; got {len(content):,} bytes where its header asks "
            f"for {len(whole):,}; export it anew."
        )


def test_headers_that_say_nothing(tmp_path: Path) -> None:
    path = llama2c_file(tmp_path / "m.bin", W, GAIN, version=2)
    whole = path.read_bytes()

    def changed(place: int, number: int) -> str:
        path.write_bytes(whole[:place] + struct.pack("<i", number) + whole[place + 4 :])
        return refused(path)

    start = f"{path} must be a checkpoint of llama2.c"
    assert changed(4, 3) == f"{start} in version 0, 1 or 2; got 3; export it anew."
    for group in (0, -4, 3, 16):
        assert changed(37, group) == f"{start} that is whole; got groups of {group} in rows of 8; export it anew."
    for place in range(8, 36, 4):
        for number in (0, -1, 2**24):
            assert changed(place, number) == f"{start} that is whole; got a header of no network; export it anew."
    for place, number in ((20, 3), (24, 4)):
        assert "a header of no network" in changed(place, number)
    path.write_bytes(whole[:255])
    assert "a header of no network" in refused(path)


def test_scales_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = llama2c_file(tmp_path / "m.bin", W, GAIN, version=2, group=8)
    whole = path.read_bytes()
    place = 256 + 4 * (2 * 2 * 8 + 8) + W.size
    path.write_bytes(whole[:place] + struct.pack("<f", np.inf) + whole[place + 4 :])
    assert "finite" in refused(path)


def test_an_array_is_read_in_pieces(tmp_path: Path) -> None:
    file = Llama2c(llama2c_file(tmp_path / "m.bin", W, GAIN, version=2))
    with file.open("tok_embeddings.weight") as read:
        np.testing.assert_array_equal(np.concatenate([read(20), read(36)]), undone(W, 4).ravel())
