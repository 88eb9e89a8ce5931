"""Where the checkpoint of each architecture keeps the attention of a layer.

Names are those of the tensors in a checkpoint, up to a prefix, and conventions are
those of the networks in transformers. An architecture that is missing here is refused,
because names of tensors alone do not say how positions enter its scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from embaudit.model.final_norm import NormKind

Rotary: TypeAlias = Literal["none", "halves", "pairs"]
"""Columns that a rotary embedding turns together: none, columns i and i + r/2 of the r
rotated columns ("halves"), or columns 2i and 2i + 1 ("pairs").
"""
Fused: TypeAlias = Literal["no", "blocks", "heads"]
"""Whether one matrix holds queries, keys and values: no, one block after another
("blocks"), or the three of each head next to each other ("heads").
"""


@dataclass(frozen=True)
class AttentionFamily:
    """Names and conventions of the attention of one family of networks.

    Examples
    --------
    >>> ATTENTION_FAMILIES["llama"].query, ATTENTION_FAMILIES["llama"].rotary
    ('self_attn.q_proj', 'halves')
    >>> ATTENTION_FAMILIES["gpt2"].fused, ATTENTION_FAMILIES["gpt2"].rotary
    ('blocks', 'none')
    """

    layer: str
    """Name of a layer; `{}` stands for its number."""
    query: str
    """Name of the query projection in a layer; of all three if they are fused."""
    output: str
    """Name of the output projection in a layer."""
    tokens: str
    """Name of the token embeddings."""
    key: str = ""
    """Name of the key projection in a layer; empty if the three are fused."""
    value: str = ""
    """Name of the value projection in a layer; empty if the three are fused."""
    fused: Fused = "no"
    transposed: bool = False
    """True if matrices are stored with one row per input, as Conv1D does."""
    norm: str = ""
    """Name of the norm before the attention of a layer; empty if there is none."""
    norm_kind: NormKind = "rms"
    adds_one: bool = False
    """True if a stored gain w of an RMSNorm multiplies by 1 + w."""
    query_norm: str = ""
    """Name of the RMSNorm of the queries of each head; empty if there is none."""
    key_norm: str = ""
    """Name of the RMSNorm of the keys of each head; empty if there is none."""
    rotary: Rotary = "none"
    rotary_share: float = 1.0
    """Share of the columns that is rotated, unless `config.json` says another one."""
    skips_rotations: bool = False
    """True if some layers are without positions, which `config.json` lists."""
    positions: str = ""
    """Name of embeddings of positions that are added to the tokens; empty if none."""
    first_position: int = 0
    """Row of the first position in these embeddings."""
    positions_follow_padding: bool = False
    """True if the first position has the row after that of the padding token."""
    types: str = ""
    """Name of embeddings of parts of a text, whose row 0 is added; empty if none."""
    embedding_norm: str = ""
    """Name of the LayerNorm of the embeddings; empty if there is none."""
    scaled_by_width: bool = False
    """True if token embeddings are multiplied by the root of their width."""
    multiplier: str = ""
    """Key of `config.json` whose number multiplies the token embeddings."""
    projection: str = ""
    """Name of a projection of the embeddings, which some networks have."""
    norm_is_optional: str = ""
    """Key of `config.json` that says whether the norm stands before the attention."""
    epsilon: float | None = None
    """Number that norms add to mean squares; None if `config.json` says it."""
    prefixes: tuple[str, ...] = ("",)
    """Prefixes of all names, the usual one first."""


_DECODER = ("model.", "", "model.language_model.", "language_model.model.")


def _llama(
    *,
    norm_kind: NormKind = "rms",
    rotary: Rotary = "halves",
    adds_one: bool = False,
    scaled_by_width: bool = False,
    has_norms: bool = False,
    rotary_share: float = 1.0,
    skips_rotations: bool = False,
    multiplier: str = "",
    output: str = "self_attn.o_proj",
) -> AttentionFamily:
    """Return a family with the names of Llama."""
    return AttentionFamily(
        layer="layers.{}",
        query="self_attn.q_proj",
        key="self_attn.k_proj",
        value="self_attn.v_proj",
        output=output,
        tokens="embed_tokens",
        norm="input_layernorm",
        norm_kind=norm_kind,
        adds_one=adds_one,
        query_norm="self_attn.q_norm" if has_norms else "",
        key_norm="self_attn.k_norm" if has_norms else "",
        rotary=rotary,
        rotary_share=rotary_share,
        skips_rotations=skips_rotations,
        scaled_by_width=scaled_by_width,
        multiplier=multiplier,
        prefixes=_DECODER,
    )


def _bert(prefix: str, *, follows_padding: bool = False) -> AttentionFamily:
    """Return a family with the names of BERT."""
    return AttentionFamily(
        layer="encoder.layer.{}",
        query="attention.self.query",
        key="attention.self.key",
        value="attention.self.value",
        output="attention.output.dense",
        tokens="embeddings.word_embeddings",
        positions="embeddings.position_embeddings",
        positions_follow_padding=follows_padding,
        types="embeddings.token_type_embeddings",
        embedding_norm="embeddings.LayerNorm",
        prefixes=(prefix, ""),
    )


_T5 = AttentionFamily(
    layer="encoder.block.{}.layer.0",
    query="SelfAttention.q",
    key="SelfAttention.k",
    value="SelfAttention.v",
    output="SelfAttention.o",
    tokens="shared",
    norm="layer_norm",
)
_PHI3 = AttentionFamily(
    layer="layers.{}",
    query="self_attn.qkv_proj",
    fused="blocks",
    output="self_attn.o_proj",
    tokens="embed_tokens",
    norm="input_layernorm",
    rotary="halves",
    prefixes=_DECODER,
)
_GPT2 = AttentionFamily(
    layer="h.{}",
    query="attn.c_attn",
    fused="blocks",
    transposed=True,
    output="attn.c_proj",
    tokens="wte",
    norm="ln_1",
    norm_kind="layer",
    positions="wpe",
    prefixes=("transformer.", ""),
)
_GPT_NEO = AttentionFamily(
    layer="h.{}",
    query="attn.attention.q_proj",
    key="attn.attention.k_proj",
    value="attn.attention.v_proj",
    output="attn.attention.out_proj",
    tokens="wte",
    norm="ln_1",
    norm_kind="layer",
    positions="wpe",
    prefixes=("transformer.", ""),
)
_GPT_J = AttentionFamily(
    layer="h.{}",
    query="attn.q_proj",
    key="attn.k_proj",
    value="attn.v_proj",
    output="attn.out_proj",
    tokens="wte",
    norm="ln_1",
    norm_kind="layer",
    rotary="pairs",
    prefixes=("transformer.", ""),
)
_GPT_NEOX = AttentionFamily(
    layer="layers.{}",
    query="attention.query_key_value",
    fused="heads",
    output="attention.dense",
    tokens="embed_in",
    norm="input_layernorm",
    norm_kind="layer",
    rotary="halves",
    rotary_share=0.25,
    prefixes=("gpt_neox.", ""),
)
# The linear biases of BLOOM (ALiBi) depend on positions alone.
_BLOOM = AttentionFamily(
    layer="h.{}",
    query="self_attention.query_key_value",
    fused="heads",
    output="self_attention.dense",
    tokens="word_embeddings",
    norm="input_layernorm",
    norm_kind="layer",
    embedding_norm="word_embeddings_layernorm",
    prefixes=("transformer.", ""),
)
_OPT = AttentionFamily(
    layer="layers.{}",
    query="self_attn.q_proj",
    key="self_attn.k_proj",
    value="self_attn.v_proj",
    output="self_attn.out_proj",
    tokens="embed_tokens",
    norm="self_attn_layer_norm",
    norm_kind="layer",
    norm_is_optional="do_layer_norm_before",
    positions="embed_positions",
    first_position=2,
    projection="project_in",
    prefixes=("model.decoder.", "decoder."),
)
_DISTILBERT = AttentionFamily(
    layer="transformer.layer.{}",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    output="attention.out_lin",
    tokens="embeddings.word_embeddings",
    positions="embeddings.position_embeddings",
    embedding_norm="embeddings.LayerNorm",
    epsilon=1e-12,
    prefixes=("distilbert.", ""),
)
ATTENTION_FAMILIES: dict[str, AttentionFamily] = {
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2"), _llama()),
    "smollm3": _llama(skips_rotations=True),
    **dict.fromkeys(("qwen3", "qwen3_moe"), _llama(has_norms=True)),
    "gemma": _llama(adds_one=True, scaled_by_width=True),
    "gemma2": _llama(adds_one=True, scaled_by_width=True),
    "gemma3_text": _llama(adds_one=True, scaled_by_width=True, has_norms=True),
    "granite": _llama(multiplier="embedding_multiplier"),
    "starcoder2": _llama(norm_kind="layer"),
    "stablelm": _llama(norm_kind="layer", rotary_share=0.25),
    "phi": _llama(norm_kind="layer", output="self_attn.dense", rotary_share=0.5),
    "cohere": _llama(norm_kind="layer", rotary="pairs"),
    "glm": _llama(rotary="pairs", rotary_share=0.5),
    "phi3": _PHI3,
    "gpt2": _GPT2,
    "gpt_neo": _GPT_NEO,
    "gptj": _GPT_J,
    "gpt_neox": _GPT_NEOX,
    "bloom": _BLOOM,
    "opt": _OPT,
    "bert": _bert("bert."),
    "roberta": _bert("roberta.", follows_padding=True),
    "xlm-roberta": _bert("roberta.", follows_padding=True),
    "distilbert": _DISTILBERT,
    "t5": _T5,
}
"""Families by `model_type`."""
