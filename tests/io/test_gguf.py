"""GGUF files of each number type, and damaged ones."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from llama_files import LAYER, RMS, gguf_file

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
W = DRAW.standard_normal((9, 64)).astype(np.float32)
E = DRAW.standard_normal((9, 64)).astype(np.float32)
GAIN = DRAW.uniform(0.5, 2, 64).astype(np.float32)
TOKENS = [f"t{i}" for i in range(9)]
TIED = {
    "token_embd.weight": W,
    "output_norm.weight": GAIN,
    "blk.0.attn_q.weight": E[:5],
}


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        load(path, **options)
    return str(error.value)


def blocks(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(-1, 32).astype(np.float32)


def rounded_to_8_bits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what 127 steps to either side leave of each 32 numbers, and how far off
    any of them may be.
    """
    scale = np.abs(blocks(rows)).max(axis=1, keepdims=True) / np.float32(127)
    kept = scale.astype(np.float16).astype(np.float32)
    return (kept * np.round(blocks(rows) / scale)).reshape(
        rows.shape
    ), scale / 2 + 127 * np.abs(kept - scale)


def rounded_to_4_bits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the 16 steps from the largest number down leave; the last step of the
    other sign is cut off.
    """
    x = blocks(rows)
    scale = np.take_along_axis(x, np.abs(x).argmax(axis=1, keepdims=True), axis=1) / -8
    kept = scale.astype(np.float16).astype(np.float32)
    steps = np.clip(np.floor(x / scale + 8.5), 0, 15) - 8
    return (kept * steps).reshape(rows.shape), np.abs(scale) + 8 * np.abs(kept - scale)


def rounded_to_bfloat16(rows: np.ndarray) -> np.ndarray:
    bits = rows.view(np.uint32)
    return (
        ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000)
        .astype(np.uint32)
        .view(np.float32)
    )


def test_each_type_is_read_to_its_resolution(tmp_path: Path) -> None:
    def read(kind: str) -> np.ndarray:
        return load(gguf_file(tmp_path / f"{kind}.gguf", TIED, kinds=kind)).right

    np.testing.assert_array_equal(read("F32"), W)
    np.testing.assert_array_equal(read("F16"), W.astype(np.float16))
    np.testing.assert_array_equal(read("BF16"), rounded_to_bfloat16(W))
    for kind, rounded in (("Q8_0", rounded_to_8_bits), ("Q4_0", rounded_to_4_bits)):
        found, (expected, most) = read(kind), rounded(W)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert (np.abs(blocks(found) - blocks(W)) <= most * (1 + 1e-6)).all()
        assert found.dtype == np.float32
    far = [np.abs(read(kind) - W).max() for kind in ("Q8_0", "Q5_1", "Q4_1", "Q4_0")]
    assert far == sorted(far)
    assert 0.001 < far[0] < 0.03 < far[-1] < 0.5


def test_tokens_that_stand_for_no_text_are_set_aside(tmp_path: Path) -> None:
    from gguf import TokenType

    types = [
        "NORMAL",
        "UNKNOWN",
        "CONTROL",
        "USER_DEFINED",
        "UNUSED",
        "BYTE",
        "NORMAL",
        "NORMAL",
    ]
    path = gguf_file(
        tmp_path / "m.gguf",
        TIED,
        tokens=TOKENS[:8],
        types=[TokenType[name].value for name in types],
    )
    assert load(path).right_aside.tolist() == [
        False,
        True,
        True,
        False,
        True,
        False,
        False,
        False,
        True,
    ]
    assert not load(
        gguf_file(tmp_path / "n.gguf", TIED, tokens=TOKENS)
    ).right_aside.any()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("qwen3", {"attention__causal": False}),
        ("llama", {"pooling_type": 2}),
        ("bert", LAYER),
        ("t5encoder", RMS),
    ],
)
def test_an_encoder_has_no_head(
    tmp_path: Path, name: str, said: dict[str, Any]
) -> None:
    path = gguf_file(tmp_path / "m.gguf", TIED, architecture=name, **said)
    message = refused(path)
    assert "because it is an encoder; got only token_embd.weight; name its" in message
    assert "name its head with weight=NAME, or read" in message
    np.testing.assert_array_equal(
        load(path, kind="vectors", weight="token_embd.weight").right, W
    )
    assert load(path, kind="head", weight="token_embd.weight").link.name == "softmax"
    with_head = gguf_file(
        tmp_path / "n.gguf", {**TIED, "output.weight": E}, architecture=name, **said
    )
    np.testing.assert_array_equal(load(with_head).right, E)


# Damage


def text(content: str) -> bytes:
    return struct.pack("<Q", len(content.encode())) + content.encode()


def header(
    *keys: bytes,
    tensors: tuple[bytes, ...] = (),
    version: int = 3,
    n_keys: int | None = None,
) -> bytes:
    n_keys = len(keys) if n_keys is None else n_keys
    return (
        b"GGUF"
        + struct.pack("<IQQ", version, len(tensors), n_keys)
        + b"".join((*keys, *tensors))
    )


def entry(name: str, *shape: int, kind: int = 0, start: int = 0) -> bytes:
    return text(name) + struct.pack(
        f"<I{len(shape)}QIQ", len(shape), *shape, kind, start
    )


LISTED = text("tokenizer.ggml.tokens") + struct.pack("<II", 9, 8)


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (
            header(text("k") + struct.pack("<II", 4, 7), n_keys=2**60),
            "a header that is cut off",
        ),
        (
            header(LISTED + struct.pack("<Q", 2**40) + text("a") * 3),
            "a header that is cut off",
        ),
        (
            header(text("k") + struct.pack("<IIQ", 9, 9, 1)),
            "a list of lists in its header",
        ),
        (header(text("k") + struct.pack("<I", 13)), "a value of kind 13 in its header"),
        (
            header(text("general.alignment") + struct.pack("<II", 4, 0)),
            "an alignment of 0",
        ),
        (header(tensors=(entry("w", 1, 1, 1, 1, 1),)), "'w' of 5 dimensions"),
        (
            header(tensors=(entry("w", 2**31, 2**31),)),
            "'w' of 4,611,686,018,427,387,904 numbers",
        ),
        (header(tensors=(entry("w", 2**31, 2**30),)), "cut-off bytes of 'w'"),
        (
            header(tensors=(entry("w", 8, 2, kind=8),)),
            "'w' with 8 numbers in a row, cut in blocks of 32",
        ),
        (header(tensors=(entry("w", 1), entry("w", 1))), "one name for two tensors"),
    ],
)
def test_damage_ends_in_one_sentence(tmp_path: Path, content: bytes, got: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content + bytes(64 if b"w" in content else 0))
    start = time.process_time()
    assert (
        refused(path) == f"{path} must be a valid GGUF file; got {got}; fetch it again."
    )
    assert time.process_time() - start < 1


@pytest.mark.parametrize("axes", [(0, 2), (32, 0), (0, 0)])
def test_rounded_tensor_without_numbers_is_refused(
    tmp_path: Path, axes: tuple[int, int]
) -> None:
    path = tmp_path / "m.gguf"
    head = entry("token_embd.weight", *axes, kind=8)
    path.write_bytes(header(tensors=(head,)) + bytes(64))
    rows, width = axes[1], axes[0]
    assert refused(path) == (
        f"tensor 'token_embd.weight' of {path} must be a tensor with numbers; got "
        f"{rows} × {width}; convert it again."
    )


def test_types_that_nobody_can_read_matter_only_where_they_are_asked_for(
    tmp_path: Path,
) -> None:
    head = entry("token_embd.weight", 8, 2)
    for kind, called in ((999, "type 999"), (9, "Q8_1")):
        path = tmp_path / f"{kind}.gguf"
        path.write_bytes(
            header(tensors=(head, entry("x.weight", 32, 2, kind=kind))) + bytes(256)
        )
        assert load(path).n_right == 2
        assert f"can read; got {called}; convert it to F16" in refused(
            path, kind="vectors", weight="x.weight"
        )


def test_an_adapter_has_no_head(tmp_path: Path) -> None:
    said = text("general.type") + struct.pack("<IQ", 8, 7) + b"adapter"
    path = tmp_path / "adapter.gguf"
    path.write_bytes(
        header(said, tensors=(entry("token_embd.weight", 8, 2),)) + bytes(128)
    )
    assert "because it is an encoder; got only token_embd.weight" in refused(path)


def test_one_part_of_many_is_no_model(tmp_path: Path) -> None:
    said = text("split.count") + struct.pack("<IH", 2, 3)
    path = tmp_path / "m-00001-of-00003.gguf"
    path.write_bytes(
        header(said, tensors=(entry("token_embd.weight", 8, 2),)) + bytes(128)
    )
    message = refused(path)
    assert "a complete model; got one part of 3; merge them" in message
    assert "merge them with `llama-gguf-split --merge`, or name" in message
    assert load(path, weight="token_embd.weight").n_right == 2
    path.write_bytes(
        path.read_bytes().replace(said, text("split.count") + struct.pack("<IH", 2, 1))
    )
    assert load(path).n_right == 2


def test_a_file_without_an_architecture_has_no_norm_unless_it_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.gguf"
    whole = header(
        tensors=(
            entry("token_embd.weight", 8, 2),
            entry("output_norm.weight", 8, start=64),
        )
    )
    path.write_bytes(
        whole + bytes(-len(whole) % 32) + np.arange(1, 25, dtype="<f4").tobytes()
    )
    assert load(path).final_norm is None
    np.testing.assert_array_equal(
        load(path, norm="output_norm").final_norm.gain, np.arange(17, 25)
    )


def lies_on_disk(array):
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


@pytest.mark.parametrize("kind", ["Q8_0", "F16", "BF16"])
def test_a_head_above_64_mib_is_unpacked_into_a_temporary_file(
    kind: str, tmp_path: Path
) -> None:
    """Its numbers are the same as in memory, where a small head lies."""
    rows = np.random.default_rng(1).standard_normal((16, 1024)).astype(np.float32)
    repeated = np.tile(rows, (1025, 1))
    small, large = (
        load(gguf_file(tmp_path / name, {"output.weight": head}, kinds=kind)).right
        for name, head in (("small.gguf", rows), ("large.gguf", repeated))
    )
    assert [lies_on_disk(head) for head in (small, large)] == [False, True]
    np.testing.assert_array_equal(large[-16:], small)
    assert np.abs(large[:16] - rows).max() < 0.03
