"""Local and global cosine: how cosines of blocks make up that of the whole."""

from embaudit.blocks.compute import block_cosines
from embaudit.blocks.cosines import BlockCosines

__all__ = ["BlockCosines", "block_cosines"]
