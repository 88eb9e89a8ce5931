"""The settings of the network that a head belongs to: `config.json`.

A network of several parts, such as one that reads images and texts, has the settings of
its text part in a map of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embaudit.core.checked import is_number
from embaudit.errors import File, must_be
from embaudit.io.json_text import parsed
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
    """Settings by key. Settings of the text part take precedence."""
    architecture: Architecture | None = None
    """Convention of the final norm; None if the architecture is not known."""
    because: str = ""
    """The key or the file that the architecture was inferred from, or empty."""
    content: dict[str, Any] = field(default_factory=dict)
    """Settings of the whole network, by key."""
    encodes: bool = False
    """True for a network that makes vectors of texts and predicts no next token."""

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Config:
        """Take the content of `config.json`.

        Raises
        ------
        InputError
            If a number that scores depend on is not finite.

        Examples
        --------
        >>> content = {"model_type": "llava", "text_config": {"model_type": "llama"}}
        >>> Config.from_content(content).model_type
        'llama'
        """
        values = content
        for key in TEXT_PARTS:
            part = content.get(key)
            if isinstance(part, dict):
                values = {**content, **part}
                break
        _require_finite(values)
        config = cls(values, content=content)
        name = config.model_type
        if name not in ARCHITECTURES:
            return config
        because = f"the model_type {name} of config.json"
        return replace(config, architecture=ARCHITECTURES[name], because=because)

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
        >>> content = {"text_config": {"final_logit_softcapping": 30.0}}
        >>> Config.from_content(content).soft_cap
        30.0
        """
        cap = self.values.get(SOFT_CAP)
        if cap == 0:
            # Networks without a cap can have the key with 0 instead of null.
            return None
        return cap

    @property
    def ties_head(self) -> bool | None:
        """Whether the head is also the input embeddings; None if nothing says so.

        Examples
        --------
        >>> Config.from_content({"tie_word_embeddings": True}).ties_head
        True
        >>> content = {"text_config": {"tie_word_embeddings": False}}
        >>> Config.from_content(content).ties_head
        False
        >>> Config.from_content({}).ties_head is None
        True
        """
        key = "tie_word_embeddings"
        stored = (self.content.get(key), self.values.get(key))
        if True in stored:
            return True
        if False in stored:
            return False
        return None

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
        if network is None:
            return ""
        return f"it is a {network}"

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

        Raises
        ------
        InputError
            If the setting is not a number from 0 to 1.

        Examples
        --------
        >>> Config({"rms_norm_eps": 1e-6}).epsilon, Config({}).epsilon
        (1e-06, 1e-05)
        >>> Config({"rms_norm_eps": "1e-6"}).epsilon
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: the setting rms_norm_eps must be a number >= 0 and
        below 1; got '1e-6'.
        """
        for key in EPSILONS:
            stored = self.values.get(key)
            if stored is None:
                continue
            if not is_number(stored) or not 0 <= stored < 1:
                raise must_be(
                    f"the setting {key}", "a number >= 0 and below 1", repr(stored)
                )
            return float(stored)
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
    """Read `config.json` of a folder; it is empty if it does not exist.

    It is also empty if the file is empty, as in folders whose downloads are counted by
    this file, or if it does not hold a map, because it then belongs to something else.

    Raises
    ------
    InputError
        If the file cannot be read or is damaged. Without it, the soft cap, the epsilon
        and the convention of the final norm would be wrong.
    """
    path = folder / "config.json"
    if not path.is_file():
        return Config()
    try:
        text = path.read_bytes()
        content = parsed(text, infinite=True) if text.strip() else None
    except (OSError, ValueError) as error:
        raise must_be(
            File(path),
            "valid JSON",
            str(error),
            "fetch it again, or move it away if it does not belong to the checkpoint",
        ) from error
    if not isinstance(content, dict):
        return Config()
    return Config.from_content(content)
