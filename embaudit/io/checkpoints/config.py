"""Configuration of the network of text, from `config.json` beside a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embaudit.io.checkpoints.architectures import ARCHITECTURES, Architecture
from embaudit.io.json_text import parsed_file

TEXT = ("text_config", "llm_config", "language_config")
"""Under which names a network of several parts says what its text part is."""


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

    @classmethod
    def of(cls, content: dict[str, Any]) -> Config:
        """Take what `config.json` holds.

        Examples
        --------
        >>> Config.of({"model_type": "llava", "text_config": {"model_type": "llama"}}).model_type
        'llama'
        """
        parts = [content[key] for key in TEXT if isinstance(content.get(key), dict)]
        stored = cls({**content, **(parts[0] if parts else {})})
        because = f"the model_type {stored.model_type} of config.json"
        return replace(stored, architecture=ARCHITECTURES.get(stored.model_type), because=because, content=content)

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
        return tuple(name for name in stored if isinstance(name, str)) if isinstance(stored, list) else ()

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
    def has_own_head(self) -> bool:
        """Return whether it says that the head is another matrix than the input embeddings."""
        ties = [values.get("tie_word_embeddings") for values in (self.content, self.values)]
        return False in ties and True not in ties

    @property
    def vocab_size(self) -> int | None:
        """Tokens of the vocabulary, where it says so."""
        stored = self.values.get("vocab_size")
        return stored if isinstance(stored, int) and not isinstance(stored, bool) and stored > 0 else None


def config_of(folder: Path) -> Config:
    """Read `config.json` of a folder; nothing where there is none, or it is damaged."""
    content = parsed_file(folder / "config.json")
    return Config.of(content) if isinstance(content, dict) else Config()
