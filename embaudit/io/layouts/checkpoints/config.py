"""Configurations of networks: `config.json`, the metadata of GGUF, and files of sentence-transformers, CLIP, SigLIP."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.json_text import parsed_file
from embaudit.io.layouts.checkpoints.architectures import ARCHITECTURES, Architecture
from embaudit.io.layouts.checkpoints.tokens import other_task, without_tokens

TEXT = ("text_config", "llm_config", "language_config")
"""Under which names a network of several parts says what its text part is."""
EPSILONS = (
    "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_epsilon", "norm_eps",
    "rms_norm_epsilon", "ln_eps",
)  # fmt: skip
"""Keys of `config.json` that say what norms add to mean squares."""
USUAL = 1e-5
"""Epsilon of a LayerNorm of torch, where no other is stored."""
EXPORTS = {
    "modules.json": "numpy.save('vectors.npy', SentenceTransformer({path!r}).encode(texts))",
    "config_sentence_transformers.json": "numpy.save('vectors.npy', SentenceTransformer({path!r}).encode(texts))",
    "config.json": "numpy.savez('towers.npz', user_factors=text_embeds, item_factors=image_embeds)",
}
"""By the file that names an encoder: the line of Python that writes vectors of it."""
OF_GGUF = "output_norm"
"""Name of the final norm of every architecture in llama.cpp."""
DIVIDED = ("granite", "granitehybrid", "granitemoe", "minicpm")
"""Architectures whose logits llama.cpp divides by their scale; those of others it
multiplies.
"""
ENCODERS = ("t5encoder", "bert", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "clip",
            "eurobert", "gemma-embedding")  # fmt: skip
"""Architectures of llama.cpp that predict no tokens."""
CAPS = {"gemma2": 30.0}
"""Soft caps of llama.cpp for architectures whose files name none."""
SCALES = {"grok": 0.5773502691896257}
"""The scale that llama.cpp takes where a file says none."""


@dataclass(frozen=True)
class Config:
    """The settings of the network that the head belongs to.

    Examples
    --------
    >>> Config({"model_type": "llama"}).model_type, Config({}).model_type
    ('llama', '')
    """

    values: dict[str, Any] = field(default_factory=dict)
    """By key; those of the part that reads text stand before those of the whole."""
    architecture: Architecture | None = None
    """Layers before the head of that architecture; None where it is not known."""
    because: str = ""
    """The key or the file that this was inferred from."""
    content: dict[str, Any] = field(default_factory=dict)
    """By key, those of the whole alone."""
    encodes: bool = False
    """True if it makes vectors of texts and no next token."""

    @classmethod
    def of(cls, content: dict[str, Any]) -> Config:
        """Take what `config.json` holds.

        Raises
        ------
        InputError
            If a number that scores depend on is not finite.

        Examples
        --------
        >>> Config.of({"model_type": "llava", "text_config": {"model_type": "llama"}}).model_type
        'llama'
        """
        parts = [content[key] for key in TEXT if isinstance(content.get(key), dict)]
        values = {**content, **(parts[0] if parts else {})}
        _require_finite(values)
        stored = cls(values)
        because = f"the model_type {stored.model_type} of config.json"
        return replace(
            stored,
            architecture=ARCHITECTURES.get(stored.model_type),
            because=because,
            content=content,
        )

    @property
    def model_type(self) -> str:
        """The architecture; empty where nothing says it."""
        stored = self.values.get("model_type")
        return stored if isinstance(stored, str) else ""

    @property
    def architectures(self) -> tuple[str, ...]:
        """The names of the networks that were stored, where it says so.

        Examples
        --------
        >>> Config({"architectures": ["GPT2LMHeadModel"]}).architectures, Config({"architectures": None}).architectures
        (('GPT2LMHeadModel',), ())
        """
        stored = self.content.get("architectures") or self.values.get("architectures")
        return (
            tuple(name for name in stored if isinstance(name, str))
            if isinstance(stored, list)
            else ()
        )

    @property
    def soft_cap(self) -> float | None:
        """The c of logits `c tanh(s/c)`; None without one.

        Examples
        --------
        >>> Config.of({"text_config": {"final_logit_softcapping": 30.0}}).soft_cap
        30.0
        """
        return self.values.get("final_logit_softcapping") or None

    @property
    def ties_head(self) -> bool | None:
        """Whether the head is also the input embeddings; None if nothing says so.

        Examples
        --------
        >>> Config.of({"tie_word_embeddings": True}).ties_head, Config.of({}).ties_head
        (True, None)
        >>> Config.of({"text_config": {"tie_word_embeddings": False}}).ties_head
        False
        """
        ties = [
            values.get("tie_word_embeddings") for values in (self.content, self.values)
        ]
        if True in ties:
            return True
        return False if False in ties else None

    @property
    def has_own_head(self) -> bool:
        """True if the configuration unties the head from the input embeddings."""
        return self.ties_head is False

    @property
    def no_head(self) -> str:
        """Return why the input embeddings are not the head; empty where they may be.

        Examples
        --------
        >>> Config(encodes=True).no_head, Config({}, content={"architectures": ["MistralModel"]}).no_head
        ('it is an encoder', 'it is a MistralModel')
        """
        if self.has_own_head:
            return "tie_word_embeddings is false"
        other = without_tokens(self.architectures)
        return (
            "it is an encoder"
            if self.encodes
            else ""
            if other is None
            else f"it is a {other}"
        )

    @property
    def other_task(self) -> str | None:
        """Return what the last layer predicts where no softmax follows it; None where one may."""
        if {"activation_function", "in_features"} <= set(self.content):
            return f"a Dense layer of sentence-transformers with {self.content['activation_function']}"
        return other_task(self.content, self.architectures)

    @property
    def epsilon(self) -> float:
        """Return what norms add to the mean square of a state.

        Examples
        --------
        >>> Config({"rms_norm_eps": 1e-6}).epsilon, Config({}).epsilon
        (1e-06, 1e-05)
        """
        stored = (self.values.get(key) for key in EPSILONS)
        return next((x for x in stored if isinstance(x, float) and 0 <= x < 1), USUAL)


def _require_finite(values: Mapping[str, Any]) -> None:
    """Refuse NaN and Infinity in the settings that scores depend on; others may have them."""
    scales = {each.scale.removeprefix("/") for each in ARCHITECTURES.values()}
    for key in sorted({"final_logit_softcapping", *EPSILONS, *scales}):
        value = values.get(key)
        if isinstance(value, float) and not math.isfinite(value):
            raise must_be(f"{key} of config.json", "a finite number", value)


def config_of(folder: Path) -> Config:
    """Read `config.json` of a folder; nothing where there is none, or it is damaged."""
    content = parsed_file(folder / "config.json")
    return Config.of(content) if isinstance(content, dict) else Config()


def config_of_gguf(metadata: Mapping[str, Any], *, shifted: bool) -> Config:
    """Determine the final norm and the soft cap of a GGUF file from its metadata, as llama.cpp does.

    The gains multiply as they stand: where a network multiplies by 1 + w, its converter
    has added the 1 already. See `conversion/gemma.py` of llama.cpp; the keys are those
    of its `gguf-py/gguf/constants.py`, the scales of logits those of its graphs.

    Parameters
    ----------
    metadata : mapping
        What the file says by key.
    shifted : bool
        Whether the norm has a bias, as no RMSNorm has.

    Examples
    --------
    >>> said = {"general.architecture": "phi2", "phi2.attention.layer_norm_epsilon": 1e-5}
    >>> config_of_gguf(said, shifted=False).architecture.kind
    'layer'
    >>> config_of_gguf({"general.architecture": "gemma2"}, shifted=False).soft_cap
    30.0
    """
    name = metadata.get("general.architecture")
    is_adapter = metadata.get("general.type") == "adapter"
    if not isinstance(name, str):
        return Config(encodes=is_adapter)
    # llama.cpp stores the epsilon of the norm that it computes: the name of the key
    # tells which.
    by_mean = f"{name}.attention.layer_norm_epsilon" in metadata
    by_square = f"{name}.attention.layer_norm_rms_epsilon" in metadata
    architecture = Architecture(
        OF_GGUF,
        "layer" if shifted or (by_mean and not by_square) else "rms",
        scale="/scale" if name in DIVIDED else "scale",
        constant=name == "olmo",
    )
    values = {
        "scale": metadata.get(f"{name}.logit_scale", SCALES.get(name)),
        "hidden_size": metadata.get(f"{name}.embedding_length"),
        "norm_eps": metadata.get(
            f"{name}.attention.layer_norm_{'rms_' if architecture.kind == 'rms' else ''}epsilon"
        ),
        "final_logit_softcapping": metadata.get(
            f"{name}.final_logit_softcapping", CAPS.get(name)
        ),
    }
    # A pooling of states, or attention in both directions, makes vectors of texts and
    # no next token.
    pooled, causal = (
        metadata.get(f"{name}.pooling_type"),
        metadata.get(f"{name}.attention.causal"),
    )
    encodes = is_adapter or name in ENCODERS or bool(pooled) or causal is False
    return Config(
        values,
        architecture,
        f"the architecture {name} of its metadata",
        encodes=encodes,
    )


def encoder_of(folder: Path) -> tuple[str, str] | None:
    """Return the word for how the encoder of a folder was trained, and the file that says so; None without an encoder.

    A layer that normalises is read from the modules of sentence-transformers, or their similarity from its
    configuration; without either it is not known how vectors are compared, and the word is empty.
    """
    modules = parsed_file(folder / "modules.json")
    types = (
        [str(x.get("type")) for x in modules if isinstance(x, dict)]
        if isinstance(modules, list)
        else []
    )
    # A last layer that normalises fixes the lengths, whatever similarity is configured.
    if any(kind.endswith(".Normalize") for kind in types):
        return "sentence-transformers", "modules.json"
    for name, key, words in (
        ("config_sentence_transformers.json", "similarity_fn_name", {"cosine": "sentence-transformers",
                                                                     "dot": "msmarco-dot"}),
        ("config.json", "model_type", {"clip": "clip", "siglip": "siglip"}),
    ):  # fmt: skip
        content = parsed_file(folder / name)
        word = words.get(str(content.get(key))) if isinstance(content, dict) else None
        if word is not None:
            return word, name
    return ("", "modules.json") if isinstance(modules, list) else None


def refusal_of(folder: Path) -> InputError | None:
    """Build the error that says what to export of an encoder, whose own tables are no embeddings of texts or images."""
    encoder = encoder_of(folder)
    if encoder is None:
        return None
    word, name = encoder[0] or "sentence-transformers", encoder[1]
    remedy = f"export them in Python: {EXPORTS[name].format(path=str(folder))}"
    return must_be(
        "the input",
        "vectors",
        Sentence("{}, an encoder ({}, as {} says)", File(folder), word, name),
        remedy,
    )
