"""The steps of rounded numbers: all that a block can hold lies that far apart, and rounding stays within one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from llama_files import gguf_file

from embaudit.io.codecs.gguf import LOWEST, Gguf

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
W = DRAW.standard_normal((6, 512)).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "group", "scale"),
    [("Q8_0", 32, 127.0), ("Q4_0", 32, 8.0), ("Q5_0", 32, 16.0), ("Q4_1", 32, None), ("Q5_1", 32, None)],
)
def test_rounding_stays_within_a_step(tmp_path: Path, kind: str, group: int, scale: float | None) -> None:
    file = Gguf(gguf_file(tmp_path / "m.gguf", {"token_embd.weight": W}, kinds=kind))
    steps = file.steps("token_embd.weight", slice(0, 6))
    far = np.abs(file["token_embd.weight"] - W)
    assert (far <= steps).all()
    assert far.max() > steps.min() / 3
    blocks = W.reshape(6, -1, group)
    width = np.ptp(blocks, axis=2) / (2.0 ** int(kind[1]) - 1) if scale is None else np.abs(blocks).max(axis=2) / scale
    np.testing.assert_allclose(steps, np.repeat(width, group, axis=1), rtol=2e-3)
    np.testing.assert_array_equal(file.steps("token_embd.weight", slice(2, 4)), steps[2:4])


@pytest.mark.parametrize("kind", LOWEST)
def test_the_numbers_of_a_block_lie_on_its_steps(tmp_path: Path, kind: str) -> None:
    """Of blocks drawn at random: no quantiser of these types is at hand for all of them."""
    number = gguf.GGMLQuantizationType[kind]
    block, size = gguf.GGML_QUANT_SIZES[number]
    raw = DRAW.integers(256, size=(40, 256 // block * size)).astype(np.uint8)
    # Scales are the only floats; these bytes make any of them about 1/8, wherever it lies.
    places = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q4_1": (0, 2),
              "Q5_1": (0, 2)}.get(kind, (0,))  # fmt: skip
    for start in range(0, raw.shape[1], size):
        for place in places:
            raw[:, start + place : start + place + 2] = np.frombuffer(np.float16(0.125).tobytes(), np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("w", raw, raw_dtype=number)
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    file = Gguf(tmp_path / "m.gguf")
    numbers, steps = file["w"].astype(float), file.steps("w", slice(0, 40)).astype(float)
    # Numbers that share a step and an offset: blocks of 32 or 16.
    share = 16 if kind in ("Q2_K", "Q3_K", "Q6_K") else 32
    numbers, steps = numbers.reshape(-1, share), steps.reshape(-1, share)
    assert (np.ptp(steps, axis=1) <= 1e-5 * steps.max(axis=1)).all()
    known = steps[:, 0] > 0
    counts = ((numbers - numbers.min(axis=1, keepdims=True))[known]) / steps[known][:, :1]
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-3)
    # Some block holds two neighbours: a step is no multiple of a smaller one.
    assert np.isclose(np.diff(np.sort(np.round(counts), axis=1), axis=1), 1).any()
    assert counts.max() < 2 ** int(kind[1])
    assert known.mean() > 0.8
