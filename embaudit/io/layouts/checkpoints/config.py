"""The settings of the network that a head belongs to: `config.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embaudit.errors import must_be
from embaudit.io.json_text import parsed_file
from embaudit.io.layouts.checkpoints.architectures import ARCHITECTURES, Architecture
from embaudit.io.layouts.checkpoints.tasks import other_task, without_tokens

TEXT_PARTS = ("text_config", "llm_config", "language_config")
"""Keys under which a network of several parts keeps the settings of its text part."""
SOFT_CAP = "final_logit_softcapping"
"""Key of the c of logits `c tanh(s/c)`."""
EPSILONS = (
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layernorm_epsilon",
    "norm_epsilon",
    "norm_eps",
    "rms_norm_epsilon",
    "ln_eps",
)
"""Keys of the number that norms add to mean squares."""
DEFAULT_EPSILON = 1e-5
"""Epsilon of torch.nn.LayerNorm."""


@dataclass(frozen=True)
class Config:
    """The settings of a network.

    Examples
    --------
    >>> Config({"model_type": "llama"}).model_type, Config({}).model_type
    ('llama', '')
    """

    values: dict[str, Any] = field(default_factory=dict)
    """Settings by key. Those of the part that reads text precede those of the whole."""
    architecture: Architecture | None = None
    """Convention of the final norm; None if the architecture is not known."""
    because: str = ""
    """The key or the file that the architecture was inferred from."""
    content: dict[str, Any] = field(default_factory=dict)
    """Settings of the whole network, by key."""
    encodes: bool = False
    """True for a network that makes vectors of texts and predicts no next token."""

    @classmethod
    def of(cls, content: dict[str, Any]) -> Config:
        """Take the content of `config.json`.

        Raises
        ------
        InputError
            If a number that scores depend on is not finite.

        Examples
        --------
        >>> content = {"model_type": "llava", "text_config": {"model_type": "llama"}}
        >>> Config.of(content).model_type
        'llama'
        """
        values = dict(content)
        for key in reversed(TEXT_PARTS):
            if isinstance(content.get(key), dict):
                values = {**content, **content[key]}
        _require_finite(values)
        name = cls(values).model_type
        return cls(
            values,
            ARCHITECTURES.get(name),
            f"the model_type {name} of config.json",
            content,
        )

    @property
    def model_type(self) -> str:
        """Name of the architecture; empty if nothing says it."""
        stored = self.values.get("model_type")
        return stored if isinstance(stored, str) else ""

    @property
    def architectures(self) -> tuple[str, ...]:
        """Names of the networks that were stored, if the configuration says them.

        Examples
        --------
        >>> Config({"architectures": ["GPT2LMHeadModel"]}).architectures
        ('GPT2LMHeadModel',)
        >>> Config({"architectures": None}).architectures
        ()
        """
        stored = self.content.get("architectures") or self.values.get("architectures")
        if not isinstance(stored, list):
            return ()
        return tuple(name for name in stored if isinstance(name, str))

    @property
    def soft_cap(self) -> float | None:
        """The c of logits `c tanh(s/c)`; None without one.

        Examples
        --------
        >>> Config.of({"text_config": {"final_logit_softcapping": 30.0}}).soft_cap
        30.0
        """
        return self.values.get(SOFT_CAP) or None

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
        key = "tie_word_embeddings"
        stored = (self.content.get(key), self.values.get(key))
        if True in stored:
            return True
        return False if False in stored else None

    @property
    def has_own_head(self) -> bool:
        """True if the configuration unties the head from the input embeddings."""
        return self.ties_head is False

    @property
    def no_head(self) -> str:
        """Why the input embeddings are not the head; empty if they can be.

        Examples
        --------
        >>> Config(encodes=True).no_head
        'it is an encoder'
        >>> Config({}, content={"architectures": ["MistralModel"]}).no_head
        'it is a MistralModel'
        """
        if self.has_own_head:
            return "tie_word_embeddings is false"
        if self.encodes:
            return "it is an encoder"
        network = without_tokens(self.architectures)
        return "" if network is None else f"it is a {network}"

    @property
    def other_task(self) -> str | None:
        """What the last layer predicts without a softmax; None if one can follow it."""
        if {"activation_function", "in_features"} <= self.content.keys():
            activation = self.content["activation_function"]
            return f"a Dense layer of sentence-transformers with {activation}"
        return other_task(self.content, self.architectures)

    @property
    def epsilon(self) -> float:
        """The number that norms add to the mean square of a state.

        Examples
        --------
        >>> Config({"rms_norm_eps": 1e-6}).epsilon, Config({}).epsilon
        (1e-06, 1e-05)
        """
        for key in EPSILONS:
            stored = self.values.get(key)
            if isinstance(stored, float) and 0 <= stored < 1:
                return stored
        return DEFAULT_EPSILON


def _require_finite(values: Mapping[str, Any]) -> None:
    """Refuse NaN and Infinity in the settings that scores depend on."""
    keys = {SOFT_CAP, *EPSILONS}
    for architecture in ARCHITECTURES.values():
        keys |= {architecture.scale, architecture.divided_by}
    for key in sorted(keys):
        value = values.get(key)
        if isinstance(value, float) and not math.isfinite(value):
            raise must_be(f"{key} of config.json", "a finite number", value)


def config_of(folder: Path) -> Config:
    """Read `config.json` of a folder; it is empty if there is none or it is damaged."""
    content = parsed_file(folder / "config.json")
    return Config.of(content) if isinstance(content, dict) else Config()
