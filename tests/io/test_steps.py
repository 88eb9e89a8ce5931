"""The steps of rounded numbers: all that a block can hold lies that far apart, and rounding stays within one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from llama_files import gguf_file

from embaudit.io.codecs.gguf import Gguf

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
W = DRAW.standard_normal((6, 512)).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "group", "scale"),
    [
        ("Q8_0", 32, 127.0),
        ("Q4_0", 32, 8.0),
        ("Q5_0", 32, 16.0),
        ("Q4_1", 32, None),
        ("Q5_1", 32, None),
    ],
)
def test_rounding_stays_within_a_step(
    tmp_path: Path, kind: str, group: int, scale: float | None
) -> None:
    file = Gguf(gguf_file(tmp_path / "m.gguf", {"token_embd.weight": W}, kinds=kind))
    steps = file.steps("token_embd.weight", slice(0, 6))
    far = np.abs(file["token_embd.weight"] - W)
    assert (far <= steps).all()
    assert far.max() > steps.min() / 3
    blocks = W.reshape(6, -1, group)
    width = (
        np.ptp(blocks, axis=2) / (2.0 ** int(kind[1]) - 1)
        if scale is None
        else np.abs(blocks).max(axis=2) / scale
    )
    np.testing.assert_allclose(steps, np.repeat(width, group, axis=1), rtol=2e-3)
    np.testing.assert_array_equal(
        file.steps("token_embd.weight", slice(2, 4)), steps[2:4]
    )


@pytest.mark.parametrize(
    "kind",
    ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"],
)
def test_a_step_is_the_least_that_one_bit_of_a_block_changes_at_one_number(
    tmp_path: Path, kind: str
) -> None:
    number = gguf.GGMLQuantizationType[kind]
    width, size = gguf.GGML_QUANT_SIZES[number]
    blocks = DRAW.integers(256, size=(500, size)).astype(np.uint8)
    with np.errstate(all="ignore"):
        # One with numbers of usual size and spread: random scales are huge, tiny or no
        # numbers.
        numbers = gguf.dequantize(blocks, number)
        sizes = np.log([np.abs(numbers).max(axis=1), np.ptp(numbers, axis=1)])
        block = blocks[np.nanargmin(np.abs(sizes).sum(axis=0))]
        flips = np.packbits(np.eye(8 * size, dtype=np.uint8), axis=1) ^ block
        changes = np.abs(
            gguf.dequantize(flips, number) - gguf.dequantize(block[None], number)
        )
    # A bit of a scale changes many numbers.
    changes[(changes > 0).sum(axis=1) != 1] = 0
    expected = np.where(changes > 0, changes, np.inf).min(axis=0)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("w", block[None], raw_dtype=number)
    for write in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
    ):
        write()
    writer.close()
    steps = Gguf(tmp_path / "m.gguf").steps("w", slice(0, 1))[0]
    assert steps.shape == (width,)
    np.testing.assert_allclose(
        steps[np.isfinite(expected)], expected[np.isfinite(expected)], rtol=1e-3
    )
    assert np.isfinite(expected).mean() > 0.8
