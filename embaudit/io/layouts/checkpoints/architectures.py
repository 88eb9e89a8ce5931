"""The final norm of each architecture: its name, its kind and its conventions.

Names are those of the tensors in a checkpoint, up to a prefix. The conventions are
those of the networks in transformers.
"""

from __future__ import annotations

from dataclasses import dataclass

from embaudit.model.final_norm import NormKind


@dataclass(frozen=True)
class Architecture:
    """Place and convention of the final norm of one family of networks.

    Examples
    --------
    >>> gemma = ARCHITECTURES["gemma"]
    >>> gemma.norm, gemma.kind, gemma.adds_one
    ('model.norm', 'rms', True)
    """

    norm: str
    """Name of the layer, without `.weight`; `*` stands for the highest number of many
    layers.
    """
    kind: NormKind
    """RMSNorm or LayerNorm."""
    adds_one: bool = False
    """True if a stored weight w multiplies by 1 + w."""
    multiplier_key: str = ""
    """Key of the setting that multiplies all logits; empty if there is none."""
    divisor_key: str = ""
    """Key of the setting that divides all logits; empty if there is none."""
    scales_states_if_tied: bool = False
    """True if tied embeddings are applied to states divided by √d_model."""
    constant: bool = False
    """True if a checkpoint without such a tensor has a norm without gains."""


FAMILIES: tuple[tuple[Architecture, tuple[str, ...]], ...] = (
    (
        Architecture("model.norm", "rms"),
        (
            "apertus",
            "arcee",
            "aria",
            "bitnet",
            "cwm",
            "deepseek_v2",
            "deepseek_v3",
            "diffllama",
            "doge",
            "dots1",
            "ernie4_5",
            "ernie4_5_moe",
            "exaone4",
            "flex_olmo",
            "gemma3n",
            "gemma3n_text",
            "glm",
            "glm4",
            "glm4_moe",
            "gpt_oss",
            "helium",
            "hunyuan_v1_dense",
            "internlm2",
            "internlm3",
            "jetmoe",
            "llama",
            "llama4",
            "llama4_text",
            "llava",
            "minimax",
            "ministral",
            "mistral",
            "mistral3",
            "mixtral",
            "mllama_text_model",
            "olmo2",
            "olmo3",
            "olmoe",
            "phi3",
            "qwen2",
            "qwen2_moe",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen3",
            "qwen3_moe",
            "qwen3_vl_text",
            "seed_oss",
            "smollm3",
            "yi",
        ),
    ),
    (
        Architecture("model.norm", "rms", adds_one=True),
        (
            "gemma",
            "gemma2",
            "gemma3",
            "gemma3_text",
            "paligemma",
            "qwen3_next",
            "vaultgemma",
        ),
    ),
    (Architecture("model.norm", "layer", adds_one=True), ("nemotron",)),
    (
        Architecture("model.norm", "layer", multiplier_key="logit_scale"),
        ("cohere", "cohere2"),
    ),
    (
        Architecture("model.norm", "rms", divisor_key="logits_scaling"),
        ("granite", "granitemoe", "granitemoeshared", "granitemoehybrid"),
    ),
    (
        Architecture("transformer.ln_f", "layer"),
        ("bloom", "codegen", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gptj"),
    ),
    (Architecture("model.final_layernorm", "layer"), ("persimmon", "phi")),
    (Architecture("backbone.norm_f", "rms"), ("falcon_mamba", "mamba", "mamba2")),
    (
        Architecture("decoder.final_layer_norm", "rms", scales_states_if_tied=True),
        ("longt5", "switch_transformers", "t5", "umt5"),
    ),
    (Architecture("decoder.final_layer_norm", "rms"), ("mt5",)),
    (
        Architecture("model.decoder.layer_norm", "layer"),
        ("blenderbot", "m2m_100", "mbart", "nllb-moe", "pegasus", "pegasus_x"),
    ),
    (
        Architecture("model.decoder.layers.*.final_layer_norm", "layer"),
        ("bart", "blenderbot-small", "marian", "mvp", "plbart"),
    ),
    (
        Architecture("cls.predictions.transform.LayerNorm", "layer"),
        ("bert", "deberta-v2"),
    ),
    (
        Architecture("lm_head.layer_norm", "layer"),
        ("camembert", "data2vec-text", "mpnet", "roberta", "xlm-roberta"),
    ),
    (Architecture("predictions.LayerNorm", "layer"), ("albert",)),
    (Architecture("biogpt.layer_norm", "layer"), ("biogpt",)),
    (Architecture("transformer.norm_f", "layer"), ("dbrx", "mpt")),
    (Architecture("vocab_layer_norm", "layer"), ("distilbert",)),
    (Architecture("generator_predictions.LayerNorm", "layer"), ("electra",)),
    (Architecture("transformer.ln_f", "rms"), ("exaone",)),
    (Architecture("gpt_neox.final_layer_norm", "layer"), ("gpt_neox",)),
    (
        Architecture("model.final_layernorm", "rms"),
        ("jamba", "zamba"),
    ),
    (Architecture("led.decoder.layers.*.final_layer_norm", "layer"), ("led",)),
    (Architecture("head.norm", "layer"), ("modernbert",)),
    (Architecture("model.norm", "layer", constant=True), ("olmo",)),
    (Architecture("model.decoder.final_layer_norm", "layer"), ("opt",)),
    (Architecture("model.norm", "layer"), ("phimoe", "stablelm", "starcoder2")),
    (Architecture("model.final_norm", "rms", adds_one=True), ("recurrent_gemma",)),
    (Architecture("rwkv.ln_out", "layer"), ("rwkv",)),
    (Architecture("model.layer_norm", "layer"), ("xglm",)),
)
"""Each convention, and the `model_type` of the networks that have it."""
ARCHITECTURES = {
    name: architecture for architecture, names in FAMILIES for name in names
}
"""Conventions by `model_type`."""
CUSTOMARY_NORMS = tuple(
    dict.fromkeys(
        architecture.norm
        for architecture in ARCHITECTURES.values()
        if "*" not in architecture.norm
    )
)
"""Names of layers that are looked for if the architecture is not known. The last of
many layers can be the final norm or not, so it is not among them.
"""
