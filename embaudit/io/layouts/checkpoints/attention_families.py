"""Names of the tensors of an attention layer, and its conventions, by architecture.

Names are those of a checkpoint after a prefix, and conventions are those of the
networks in transformers. An architecture that is missing here is refused, because the
names of its tensors do not say how positions enter its scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from embaudit.model.final_norm import NormKind

Rotary: TypeAlias = Literal["none", "halves", "pairs"]
"""Pairs of columns that a rotary embedding turns together: columns i and i + r/2 of the
r rotated columns ("halves"), columns 2i and 2i + 1 ("pairs"), or no columns ("none").
"""
Fused: TypeAlias = Literal["no", "blocks", "heads"]
"""Order of the rows of a matrix that holds queries, keys and values: all queries, then
all keys, then all values ("blocks"), or the queries, keys and values of one head after
another ("heads"). "no" if there are three matrices.
"""


@dataclass(frozen=True)
class AttentionFamily:
    """Names and conventions of the attention of one family of networks.

    An empty name stands for a part that the networks do not have.

    Examples
    --------
    >>> ATTENTION_FAMILIES["llama"].query, ATTENTION_FAMILIES["llama"].rotary
    ('self_attn.q_proj', 'halves')
    >>> ATTENTION_FAMILIES["gpt2"].fused, ATTENTION_FAMILIES["gpt2"].rotary
    ('blocks', 'none')
    """

    # Names of layers and of their projections.
    layer: str
    """Name of a layer; `{}` stands for its number."""
    query: str
    """Name of the query projection in a layer. If `fused` is not "no", this matrix also
    holds the keys and the values.
    """
    output: str
    """Name of the output projection in a layer."""
    tokens: str
    """Name of the token embeddings."""
    key: str = ""
    """Name of the key projection in a layer; empty if it is fused."""
    value: str = ""
    """Name of the value projection in a layer; empty if it is fused."""
    prefixes: tuple[str, ...] = ("",)
    """Possible prefixes of all names, the most frequent one first."""
    fused: Fused = "no"
    """Order of queries, keys and values in one matrix."""
    transposed: bool = False
    """True if matrices are stored with one row per input, as `Conv1D` does."""

    # Norms.
    norm: str = ""
    """Name of the norm before the attention of a layer."""
    norm_kind: NormKind = "rms"
    """Kind of this norm."""
    norm_flag: str = ""
    """Key of `config.json` whose value is false if no norm precedes the attention.
    Empty if the family alone decides this.
    """
    query_norm: str = ""
    """Name of the RMSNorm of the queries of each head."""
    key_norm: str = ""
    """Name of the RMSNorm of the keys of each head."""
    adds_one: bool = False
    """True if an RMSNorm with the stored gains w multiplies by 1 + w."""
    epsilon: float | None = None
    """Number that norms add to mean squares; None if `config.json` holds it."""

    # Rotary embeddings.
    rotary: Rotary = "none"
    """Pairs of columns that are turned together."""
    rotary_share: float = 1.0
    """Share of the columns of a head that is turned, if `config.json` holds none."""
    rotary_columns: int | None = None
    """Number of columns that are turned if `config.json` holds no `rotary_dim`. None if
    the family gives a share instead of a number.
    """
    skips_rotations: bool = False
    """True if some layers have no rotary embedding, which `config.json` lists."""

    # Embeddings that enter the first layer.
    positions: str = ""
    """Name of the embeddings of positions, which are added to the tokens."""
    first_position: int = 0
    """Row of the first position in these embeddings."""
    positions_follow_padding: bool = False
    """True if the row of the first position follows the row with the number of the
    padding token.
    """
    segments: str = ""
    """Name of the embeddings of segments, such as the first and the second sentence.
    Row 0 is added to the tokens.
    """
    embedding_norm: str = ""
    """Name of the LayerNorm of the sum of these embeddings."""
    scaled_by_width: bool = False
    """True if token embeddings are multiplied by the square root of their width."""
    multiplier_key: str = ""
    """Key of `config.json` whose number multiplies the token embeddings."""
    projection: str = ""
    """Name of a projection of the embeddings, which some networks of a family have."""


_DECODER = ("model.", "", "model.language_model.", "language_model.model.")
"""Prefixes of language models, alone and inside of models for text and images."""


def _llama(
    *,
    norm_kind: NormKind = "rms",
    rotary: Rotary = "halves",
    adds_one: bool = False,
    scaled_by_width: bool = False,
    norms_heads: bool = False,
    rotary_share: float = 1.0,
    skips_rotations: bool = False,
    multiplier_key: str = "",
    output: str = "self_attn.o_proj",
) -> AttentionFamily:
    """Return a family with the names of Llama.

    If `norms_heads` is True, the queries and the keys of each head pass an RMSNorm.
    """
    query_norm, key_norm = "", ""
    if norms_heads:
        query_norm, key_norm = "self_attn.q_norm", "self_attn.k_norm"
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
        query_norm=query_norm,
        key_norm=key_norm,
        rotary=rotary,
        rotary_share=rotary_share,
        skips_rotations=skips_rotations,
        scaled_by_width=scaled_by_width,
        multiplier_key=multiplier_key,
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
        segments="embeddings.token_type_embeddings",
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
    rotary_columns=64,
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
# The linear biases of BLOOM (ALiBi) depend on positions alone, so no column is rotated.
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
    norm_flag="do_layer_norm_before",
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
    **dict.fromkeys(("qwen3", "qwen3_moe"), _llama(norms_heads=True)),
    "gemma": _llama(adds_one=True, scaled_by_width=True),
    "gemma2": _llama(adds_one=True, scaled_by_width=True),
    "gemma3_text": _llama(adds_one=True, scaled_by_width=True, norms_heads=True),
    "granite": _llama(multiplier_key="embedding_multiplier"),
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
"""Families by the `model_type` of `config.json`."""
