"""Local and global cosine: how the cosines of the blocks of two vectors make up that of the whole."""

from embaudit.blocks.compute import block_cosines, explain_pair
from embaudit.blocks.cosines import BlockCosines, LocalThreshold
from embaudit.errors import GONE

__all__ = ["BlockCosines", "LocalThreshold", "block_cosines", "explain_pair"]


def __getattr__(name: str) -> object:
    """Name the replacement of what was here."""
    if remedy := GONE.get(f"name embaudit.blocks.{name}"):
        raise AttributeError(f"embaudit.blocks.{name} is gone; {remedy}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
