"""Tied embeddings: whether the head of a network is also its input embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embaudit.io.arrays import Arrays
from embaudit.io.layouts.checkpoints.config import Config
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
    """Determine whether a head and the input embeddings are one table; None if not.

    If the checkpoint holds both tables, their values decide, because transformers 5
    does not tie tables that differ. Otherwise the key `tie_word_embeddings` of
    `config.json` decides. Its default depends on the version and the architecture, so a
    configuration without the key leaves the question open.

    Parameters
    ----------
    head : str
        Name of the head, or of the input embeddings if there is no other head.
    embeddings : sequence of str
        Other tables of the same shape that are named like input embeddings.
    arrays : Arrays
        The arrays of the checkpoint.
    config : Config
        The configuration of the network.
    predicts_tokens : bool
        Whether the name of the head is that of a language model.

    Examples
    --------
    >>> from embaudit.io.arrays import Memory
    >>> head, embeddings = "lm_head.weight", "wte.weight"
    >>> two = Memory({head: np.eye(2), embeddings: 2 * np.eye(2)})
    >>> for tie in (True, False):
    ...     config = Config.from_content({"tie_word_embeddings": tie})
    ...     print(tying_of(head, [embeddings], two, config, predicts_tokens=True))
    config.json ties the head to the input embeddings, but their values differ from
    those of wte.weight.
    None
    """
    if config.ties_head is False:
        return None
    is_declared = config.ties_head is True
    declaration = "tie_word_embeddings of config.json is true"
    for name in embeddings:
        if _equal(arrays, head, name):
            reason = declaration if is_declared else f"its values are those of {name}"
            return Tying("tied", name, reason)
    if embeddings:
        return Tying("contradicted", embeddings[0]) if is_declared else None
    if not predicts_tokens:
        return None
    if is_declared:
        return Tying("tied", because=declaration)
    return Tying("unknown") if config.content else None


def _equal(arrays: Arrays, first: str, second: str) -> bool:
    """Check that two arrays of one shape hold the same numbers in the same type.

    They are compared a block at a time, so that mapped files stay on disk.
    """
    tensors = arrays.tensors[first], arrays.tensors[second]
    if tensors[0].dtype != tensors[1].dtype or tensors[0].rounded != tensors[1].rounded:
        return False
    a, b = arrays[first].reshape(-1), arrays[second].reshape(-1)
    return all(
        np.array_equal(a[start : start + BLOCK], b[start : start + BLOCK])
        for start in range(0, len(a), BLOCK)
    )
