"""Factor pairs inside networks: products of two matrices that only the product fixes.

A low-rank adapter adds `B A` to a weight matrix, and an attention head scores a query
and a key by `W_Q W_Kᵀ`. Another pair with the same product computes the same output, so
cosines of rows of one factor depend on the pair that training happened to reach.
"""

from embaudit.networks.attention import AttentionAudit, audit_attention
from embaudit.networks.head_gauges import equivalent_attention
from embaudit.networks.lora_comparison import LoraComparison, compare_lora

__all__ = [
    "AttentionAudit",
    "LoraComparison",
    "audit_attention",
    "compare_lora",
    "equivalent_attention",
]
