"""How far apart the numbers are that a rounded tensor can hold: what the lowest bit of each of them is worth.

Within a block the numbers of these types are `m + d q` with an integer q; d and m differ from block to block. Rounding
to the nearest of them moves a number by half a step, and by up to one where an end of the scale cuts it off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.io.codecs.arrays import Arrays
from embaudit.io.codecs.gguf import Gguf

LOWEST = {
    "Q8_0": (2, 34, 0x01), "Q4_0": (2, 18, 0x11), "Q4_1": (4, 20, 0x11), "Q5_0": (6, 22, 0x11), "Q5_1": (8, 24, 0x11),
    "Q2_K": (16, 80, 0x55), "Q3_K": (32, 96, 0x55), "Q4_K": (16, 144, 0x11), "Q5_K": (48, 176, 0x11),
    "Q6_K": (0, 128, 0x11),
}  # fmt: skip
"""For each block, the bytes that hold the low bits of its integers, and which bits are the lowest (ggml-common.h)."""
RELATIVE = {"BF16": 2.0**-7, "F16": 2.0**-10}
"""Steps of floats, over the number itself."""
LEAST = {"BF16": 0.0, "F16": 2.0**-24}
"""Their least."""


def steps_of(file: Arrays, name: str, rows: slice) -> NDArray[np.float32] | None:
    """Return the step of each number in some rows of a rounded tensor.

    Returns
    -------
    array of shape (rows, columns) or None
        None where the type has no such steps, or the tensor is not rounded.
    """
    if not isinstance(file, Gguf):
        return None
    kind = file.tensors[name].rounded
    if kind in RELATIVE:
        numbers = np.abs(file[name][rows])
        return np.asarray(np.maximum(numbers * np.float32(RELATIVE[kind]), np.float32(LEAST[kind])))
    if kind not in LOWEST:
        return None
    first, last, bits = LOWEST[kind]
    blocks = file.blocks(name, rows)
    ends: list[NDArray[Any]] = []
    for low in (0, bits):
        changed = blocks.copy()
        changed[..., first:last] = low
        ends.append(file.undone(name, changed))
    return np.asarray(np.abs(ends[1] - ends[0]))
