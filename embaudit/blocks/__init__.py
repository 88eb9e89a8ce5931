"""Local and global cosine: block by block, what agrees, what does not, and what the norms do to the whole."""

from embaudit.blocks.compute import block_cosines, explain_pair
from embaudit.blocks.cosines import BlockCosines, BlockNames
from embaudit.blocks.partition import (
    Boundaries,
    Chunks,
    Columns,
    Coordinates,
    Heads,
    Labels,
    Names,
    Partition,
    Rows,
    as_partition,
)
from embaudit.blocks.thresholds import LocalThreshold, NormChange, require_cosine

__all__ = [
    "BlockCosines",
    "BlockNames",
    "Boundaries",
    "Chunks",
    "Columns",
    "Coordinates",
    "Heads",
    "Labels",
    "LocalThreshold",
    "Names",
    "NormChange",
    "Partition",
    "Rows",
    "as_partition",
    "block_cosines",
    "explain_pair",
    "require_cosine",
]
