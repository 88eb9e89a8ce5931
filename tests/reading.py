"""Sentences as their readers count them."""

from __future__ import annotations

import re

LONGEST = 25
"""Words that one sentence may have."""
END = re.compile(r"(?<![Ee]q\.)(?<=[.!?])[\"')»]*\s+(?=[\"'(`]|[−+-]?\d|[A-Zκ])")
"""Where a sentence ends: a full stop before a capital or a figure, but not that of an abbreviation."""


def sentences(text):
    """Split a text; lines end sentences too."""
    return [sentence for line in text.splitlines() for sentence in END.split(line)]


def words(sentence):
    """Count what has a letter or a digit: "78 %" and "κ = 2" are read as one word and as two."""
    return sum(any(character.isalnum() for character in part) for part in sentence.split())


def too_long(*texts):
    """Return every sentence that nobody reads at once."""
    return [sentence for text in texts for sentence in sentences(text) if words(sentence) > LONGEST]
