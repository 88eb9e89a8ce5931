"""Local and global cosine: how the cosines of the blocks of two vectors make up that of the whole."""

from embaudit.blocks.compute import block_cosines, explain_pair
from embaudit.blocks.cosines import BlockCosines, LocalThreshold

__all__ = ["BlockCosines", "LocalThreshold", "block_cosines", "explain_pair"]
