"""Names of arrays, compared as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

WRAPPERS = ("_orig_mod.", "module.")
"""Prefixes that torch.compile and DataParallel put before the names of all arrays."""
ENDINGS = (".weight", ".embeddings")
"""Endings that torch and Keras add to the name of an embedding layer."""
NUMBERED = ("layer", "layers", "block", "blocks", "h")
"""Names of the lists of layers of a network; the number of a layer follows."""
CHOICES = ("gate", "router", "expert", "experts", "moe")
"""Names of the parts of a mixture of experts."""
SEPARATORS = str.maketrans("/", ".")
"""Paths of HDF5, Keras and Flax have slashes where names of torch have dots."""


@lru_cache(maxsize=1 << 17)
def plain(name: str) -> str:
    """Return the name of an array without case, punctuation, wrappers and endings.

    Examples
    --------
    >>> plain("user_embedding.weight"), plain("module.User_Embedding")
    ('userembedding', 'userembedding')
    """
    wrapper = _wrapper_of(name)
    while wrapper:
        name = name.removeprefix(wrapper)
        wrapper = _wrapper_of(name)
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return "".join(letter for letter in name if letter.isalnum()).lower()


def _wrapper_of(name: str) -> str:
    for wrapper in WRAPPERS:
        if name.startswith(wrapper):
            return wrapper
    return ""


def layer_and_part(name: str) -> tuple[str, str]:
    """Split a name into its layer, with the separator, and the part of the layer.

    Examples
    --------
    >>> layer_and_part("dense/kernel"), layer_and_part("lm_head.weight")
    (('dense/', 'kernel'), ('lm_head.', 'weight'))
    """
    part = name.translate(SEPARATORS).rpartition(".")[2]
    return name.removesuffix(part), part


def is_kernel(name: str) -> bool:
    """Return True for weights of Keras or Flax, which have one column per output.

    Examples
    --------
    >>> is_kernel("dense.kernel"), is_kernel("Dense_1/kernel")
    (True, True)
    >>> is_kernel("kernel.weight")
    False
    """
    return layer_and_part(name)[1] == "kernel"


def is_inside(name: str) -> bool:
    """Return True if an array belongs to one layer of many, or to a choice of experts.

    Such an array is never the last layer of a network, whatever its own name is.

    Examples
    --------
    >>> is_inside("model.layers.3.fc.weight"), is_inside("moe.gate.weight")
    (True, True)
    >>> is_inside("fc.weight")
    False
    """
    *layers, _ = name.split(".")
    if any(layer in CHOICES for layer in layers):
        return True
    return any(
        layer in NUMBERED and number.isdecimal() for layer, number in pairwise(layers)
    )


def first_of(names: Iterable[str], customary: Iterable[str]) -> str | None:
    """Return the first name that equals a customary name up to case and punctuation.

    Examples
    --------
    >>> first_of(["P", "Item_Bias", "b_i"], ["bi", "item_bias"])
    'Item_Bias'
    """
    known = {plain(name) for name in customary}
    for name in names:
        if plain(name) in known:
            return name
    return None
