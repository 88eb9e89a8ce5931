"""What every code and every word means: the one source of `embaudit explain` and of docs/checks.md."""

from __future__ import annotations

from difflib import get_close_matches

from embaudit.auditing.glossary.entry import Code, Entry, Word
from embaudit.auditing.glossary.heads import OF_HEADS
from embaudit.auditing.glossary.identification import OF_IDENTIFICATION
from embaudit.auditing.glossary.rows import OF_ROWS
from embaudit.auditing.glossary.traits import OF_TRAITS
from embaudit.auditing.glossary.words import OF_WORDS
from embaudit.errors import must_be

__all__ = ["CODES", "WORDS", "Code", "Entry", "Word", "entry"]

CODES: dict[str, Code] = {code.name: code for code in (*OF_IDENTIFICATION, *OF_ROWS, *OF_HEADS, *OF_TRAITS)}
"""Every code that an audit can report, in their order."""
WORDS: dict[str, Word] = {word.name: word for word in OF_WORDS}
"""Every word that reports use and that has to be explained."""


def entry(name: str) -> Entry:
    """Find what a code or a word means; capitals do not count, nor does the plural.

    Raises
    ------
    InputError
        If there is no such code or word; the sentence names the nearest one.

    Examples
    --------
    >>> entry("emb201").name, entry("kappa").name, entry("Gauges").name
    ('EMB201', 'κ', 'gauge')
    >>> entry("guage")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports use; got 'guage'; did you mean
    gauge? `embaudit explain` lists them all.
    """
    every: list[Entry] = [*CODES.values(), *WORDS.values()]
    known = {called.lower(): one for one in every for called in (one.name, *one.also)}
    wanted = " ".join(name.lower().split())
    found = known.get(wanted, known.get(wanted.removesuffix("s")))
    if found is not None:
        return found
    near = get_close_matches(wanted, known)
    hint = f"did you mean {known[near[0]].name}? " if near else ""
    raise must_be(
        "what to explain", "a code or a word that reports use", repr(name), f"{hint}`embaudit explain` lists them all"
    )
