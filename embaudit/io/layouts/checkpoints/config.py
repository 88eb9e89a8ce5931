"""The settings of the network that a head belongs to: `config.json`.

A network of several parts, such as one that reads images and texts, has the settings of
its text part in a map of their own.

Each setting is checked where it is read. So a wrong value raises an error if it would
change a number or a role, and does not matter otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embaudit.core.checked import is_integer, is_number
from embaudit.errors import File, must_be
from embaudit.io.json_text import parsed
from embaudit.io.layouts.checkpoints.architectures import ARCHITECTURES, Architecture
from embaudit.io.layouts.checkpoints.tasks import other_task, without_tokens

TEXT_PARTS = ("text_config", "llm_config", "language_config")
"""Keys under which a network of several parts keeps the settings of its text part."""
SOFT_CAP = "final_logit_softcapping"
"""Key of the c of logits `c tanh(s/c)`."""
TIES_HEAD = "tie_word_embeddings"
"""Key of the flag that the head is also the input embeddings."""
SCALES_STATES = "scale_decoder_outputs"
"""Key of the flag that states are divided by √d_model before the head."""
EPSILONS = (
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layer_norm_rms_epsilon",
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

    settings: dict[str, Any] = field(default_factory=dict)
    """Settings by key. Settings of the text part take precedence."""
    architecture: Architecture | None = None
    """Convention of the final norm; None if the architecture is not known."""
    architecture_source: str = ""
    """The key or the file that states the architecture; empty without one."""
    content: dict[str, Any] = field(default_factory=dict)
    """Settings of the whole network, by key. Settings of its parts are nested maps."""
    is_encoder: bool = False
    """True for a network that makes vectors of texts and predicts no next token."""
    origin: str = "config.json"
    """Place of the settings, as errors name it."""

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Config:
        """Take the content of `config.json`.

        Examples
        --------
        >>> content = {"model_type": "llava", "text_config": {"model_type": "llama"}}
        >>> Config.from_content(content).model_type
        'llama'
        """
        settings = content
        for key in TEXT_PARTS:
            part = content.get(key)
            if isinstance(part, dict):
                settings = {**content, **part}
                break
        config = cls(settings, content=content)
        name = config.model_type
        if name not in ARCHITECTURES:
            return config
        return replace(
            config,
            architecture=ARCHITECTURES[name],
            architecture_source=f"the model_type {name} of config.json",
        )

    def checked(
        self,
        key: str,
        allowed: str,
        is_allowed: Callable[[Any], bool],
        *,
        whole: bool = False,
    ) -> Any:
        """Return a setting; None if it is missing or null.

        Parameters
        ----------
        key : str
            Key of the setting.
        allowed : str
            The allowed values, in words that follow "must be".
        is_allowed : callable
            Return True for an allowed value.
        whole : bool
            If True, ignore the settings of the text part.

        Raises
        ------
        InputError
            If the value is not allowed.

        Examples
        --------
        >>> config = Config({"hidden_size": "16"})
        >>> config.checked("hidden_size", "a positive integer", is_count)
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: hidden_size of config.json must be a positive
        integer; got '16'.
        """
        settings = self.content if whole else self.settings
        stored = settings.get(key)
        if stored is None or is_allowed(stored):
            return stored
        raise must_be(f"{key} of {self.origin}", allowed, repr(stored))

    def count(self, key: str) -> int | None:
        """Return a positive integer; None if it is missing or null."""
        count: int | None = self.checked(key, "a positive integer", is_count)
        return count

    def flag(self, key: str, *, whole: bool = False) -> bool | None:
        """Return a boolean; None if it is missing or null.

        With `whole`, the settings of the text part are ignored.
        """
        flag: bool | None = self.checked(key, "true or false", is_flag, whole=whole)
        return flag

    @property
    def model_type(self) -> str:
        """Name of the architecture; empty if nothing says it.

        A folder can hold a `config.json` of another tool, so a value that is no text is
        ignored.
        """
        stored = self.settings.get("model_type")
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
        for whole in (True, False):
            names = self.checked(
                "architectures", "a list of names", is_list_of_texts, whole=whole
            )
            if names:
                return tuple(names)
        return ()

    @property
    def soft_cap(self) -> float | None:
        """The c of logits `c tanh(s/c)`; None without one.

        Raises
        ------
        InputError
            If the setting is not a number, or is negative.

        Examples
        --------
        >>> content = {"text_config": {"final_logit_softcapping": 30.0}}
        >>> Config.from_content(content).soft_cap
        30.0
        """
        cap = self.checked(
            SOFT_CAP,
            "a finite number >= 0",
            lambda number: is_number(number) and number >= 0,
        )
        # Networks without a cap can have the key with 0 instead of null.
        if cap is None or cap == 0:
            return None
        return float(cap)

    @property
    def ties_head(self) -> bool | None:
        """Whether the head is also the input embeddings; None if nothing says so.

        If the flag of the whole network and the flag of its text part differ,
        transformers 4 follows the text part and transformers 5 the whole network. The
        version is not known here, so the head counts as tied if one of them ties it.

        Raises
        ------
        InputError
            If a flag is neither true nor false.

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
        flags = (self.flag(TIES_HEAD, whole=True), self.flag(TIES_HEAD))
        if True in flags:
            return True
        if False in flags:
            return False
        return None

    @property
    def has_own_head(self) -> bool:
        """True if the configuration unties the head from the input embeddings."""
        return self.ties_head is False

    @property
    def no_head_reason(self) -> str:
        """Why the input embeddings are not the head; empty if they can be.

        Examples
        --------
        >>> Config(is_encoder=True).no_head_reason
        'it is an encoder'
        >>> Config({}, content={"architectures": ["MistralModel"]}).no_head_reason
        'it is a MistralModel'
        """
        if self.has_own_head:
            return "tie_word_embeddings is false"
        if self.is_encoder:
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
        embaudit.errors.InputError: rms_norm_eps of config.json must be a number >= 0
        and below 1; got '1e-6'.
        """
        for key in EPSILONS:
            epsilon = self.checked(
                key,
                "a number >= 0 and below 1",
                lambda number: is_number(number) and 0 <= number < 1,
            )
            if epsilon is not None:
                return float(epsilon)
        return DEFAULT_EPSILON

    @property
    def logit_factor(self) -> float:
        """Factor of the logits in addition to the final norm and the head.

        Some networks multiply or divide all logits by a setting. T5 divides the states
        by √d_model if the head is tied. The factor is 1 if the architecture is not
        known.

        Raises
        ------
        InputError
            If a setting is of another type, or a scale is not positive.

        Examples
        --------
        >>> def factor(**settings):
        ...     return Config.from_content(settings).logit_factor
        >>> factor(model_type="cohere", logit_scale=0.25)
        0.25
        >>> factor(model_type="granite", logits_scaling=8)
        0.125
        >>> factor(model_type="t5", d_model=16)
        0.25
        >>> factor(model_type="t5", d_model=16, tie_word_embeddings=False)
        1.0
        """
        architecture = self.architecture
        if architecture is None:
            return 1.0
        factor = 1.0
        if architecture.multiplier_key:
            factor *= self._scale(architecture.multiplier_key)
        if architecture.divisor_key:
            factor /= self._scale(architecture.divisor_key)
        if architecture.scales_states_if_tied and self._scales_states:
            width = self.count("d_model")
            if width is not None:
                factor /= math.sqrt(width)
        return factor

    def _scale(self, key: str) -> float:
        """Return a scale of logits; 1 if it is missing or null."""
        scale = self.checked(
            key, "a number > 0", lambda number: is_number(number) and number > 0
        )
        if scale is None:
            return 1.0
        return float(scale)

    @property
    def _scales_states(self) -> bool:
        """True unless a network of the family of T5 leaves its states as they are."""
        is_scaled = self.flag(SCALES_STATES)
        if is_scaled is None:
            # States are scaled if the head is tied, as it is by default.
            return self.ties_head is not False
        return is_scaled


def is_count(value: object) -> bool:
    """Return True for a positive integer. Booleans are rejected."""
    return is_integer(value) and value > 0


def is_flag(value: object) -> bool:
    """Return True for a boolean."""
    return isinstance(value, bool)


def is_list_of_texts(value: object) -> bool:
    """Return True for a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def read_config(folder: Path) -> Config:
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
