"""Names of the factors of low-rank adapters (LoRA).

`MODULE` is the name of a module of the network:

- PEFT: `MODULE.lora_A.weight` and `MODULE.lora_B.weight`, with the name of the adapter
  before `weight` in a state dictionary; `MODULE.lora_embedding_A` and
  `MODULE.lora_embedding_B` of an embedding.
- kohya: `MODULE.lora_down.weight` (A) and `MODULE.lora_up.weight` (B). `MODULE.alpha`
  is a number, and the scale of the update is this number divided by the rank.
- diffusers: `MODULE.lora.down.weight` and `MODULE.lora.up.weight`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

FACTOR = re.compile(
    r"^(?P<module>.+?)[._]"
    r"(?:lora_(?P<peft>[AB])|lora_embedding_(?P<embedding>[AB])"
    r"|lora_(?P<kohya>up|down|mid)|lora(?:_linear_layer)?\.(?P<diffusers>up|down))"
    r"(?:\.(?P<adapter>(?!weight$|bias$)[^.]+))?(?:\.weight)?$"
)
"""Name of one factor of a module."""
ALPHA = ".alpha"
"""Ending of the name of the number that kohya divides by the rank."""
ROLES = {"A": "a", "down": "a", "B": "b", "up": "b", "mid": "mid"}
"""Factor of each name."""


def is_low_rank_adapter(names: Iterable[str]) -> bool:
    """Return True if most names of arrays are those of factors of an adapter.

    A checkpoint of a whole network with adapters inside is no adapter.

    Examples
    --------
    >>> is_low_rank_adapter(["q_proj.lora_A.weight", "q_proj.lora_B.weight"])
    True
    >>> is_low_rank_adapter(["lm_head.weight"])
    False
    """
    all_names = list(names)
    n_factors = sum(
        FACTOR.match(name) is not None or name.endswith(ALPHA) for name in all_names
    )
    return 2 * n_factors > len(all_names)
