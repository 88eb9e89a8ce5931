"""Tied embeddings: whether the head of a network is also the table of its input embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embaudit.io.checkpoints.config import Config
from embaudit.io.codecs.arrays import Arrays
from embaudit.model.tying import Tying

BLOCK = 1 << 22
"""Entries of two tables that are compared at once."""


def tying_of(
    head: str,
    embeddings: Sequence[str],
    arrays: Arrays,
    config: Config,
    *,
    predicts_tokens: bool,
) -> Tying | None:
    """Determine whether a head and the input embeddings of a checkpoint are one table; None if they are two.

    The values decide if the checkpoint holds both tables, as they do in transformers 5, which ties no tables that
    differ. The key `tie_word_embeddings` of `config.json` decides otherwise. Its default depends on the version and
    the architecture, so that nothing is concluded from a configuration without the key.

    Parameters
    ----------
    head : str
        Name of the head; that of the input embeddings if the checkpoint holds no other head.
    embeddings : sequence of str
        Names of other tables of the same shape that are input embeddings by their names.
    arrays : Arrays
        The arrays of the checkpoint.
    config : Config
        The configuration of the network.
    predicts_tokens : bool
        Whether the name of the head is that of a language model.

    Examples
    --------
    >>> from embaudit.io.codecs.arrays import Memory
    >>> two = Memory({"lm_head.weight": np.eye(2), "wte.weight": 2 * np.eye(2)})
    >>> for tie in (True, False):
    ...     config = Config.of({"tie_word_embeddings": tie})
    ...     print(tying_of("lm_head.weight", ["wte.weight"], two, config, predicts_tokens=True))
    config.json ties the head to the input embeddings, but their values differ from those of wte.weight.
    None
    """
    is_said = config.ties_head
    if is_said is False:
        return None
    said = "tie_word_embeddings of config.json is true"
    for name in embeddings:
        if _equal(arrays, head, name):
            return Tying(
                "tied", name, said if is_said else f"its values are those of {name}"
            )
    if embeddings:
        return Tying("contradicted", embeddings[0]) if is_said else None
    if not predicts_tokens:
        return None
    if is_said:
        return Tying("tied", because=said)
    return Tying("unknown") if config.content else None


def _equal(arrays: Arrays, first: str, second: str) -> bool:
    """Check that two arrays of one shape hold the same numbers in the same type, a block at a time."""
    types = [
        (arrays.tensors[x].dtype, arrays.tensors[x].rounded) for x in (first, second)
    ]
    if types[0] != types[1]:
        return False
    one, two = arrays[first].reshape(-1), arrays[second].reshape(-1)
    starts = range(0, len(one), BLOCK)
    return all(
        np.array_equal(one[start : start + BLOCK], two[start : start + BLOCK])
        for start in starts
    )
