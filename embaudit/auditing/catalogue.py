"""All codes of findings and all words of reports, and the search for an entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from embaudit.auditing.entry import Entry
from embaudit.auditing.findings import MODULES, NOTES
from embaudit.auditing.wording import USERS_AND_ITEMS, Nouns
from embaudit.auditing.words import WORDS
from embaudit.errors import must_be
from embaudit.model.trainings import TRAINING_WORDS


def codes_for(nouns: Nouns) -> dict[str, Entry]:
    """Return the entry of each code, sorted by code, in the nouns of a model."""
    entries = {module.ENTRY.name: module.ENTRY.with_nouns(nouns) for module in MODULES}
    return {code: entries[code] for code in sorted(entries)}


CODES = codes_for(USERS_AND_ITEMS)
"""The entry of each code that an audit can report, sorted, in users and items."""
NAMES = (*CODES, *NOTES)
"""The codes, then the words of all notes."""
LEAST_SIMILARITY = 0.75
"""Similarity from 0 to 1, as difflib computes it, at which a spelling is suggested. Two
swapped letters in a word of five leave 0.8."""
NUMBER = re.compile(
    r"""
    -?              # The hyphen of "top-20", which would stay behind.
    \b\d[\d.]*      # Digits at the start of a word, so EMB201 keeps its own.
    (?!\w)          # No letter follows, so the whole word is a number.
    """,
    re.VERBOSE,
)
"""A number in a word of a report."""


def entry(name: str) -> Entry:
    """Return the entry that explains a code or a word.

    Case, a final s and numbers are ignored: "Gauges" finds "gauge", and
    "10 nearest kept" finds "nearest kept".

    Raises
    ------
    InputError
        If `name` is no text, or if there is no such code or word. The sentence names a
        similar word.

    Examples
    --------
    >>> entry("emb201").name, entry("kappa").name, entry("Gauges").name
    ('EMB201', 'κ', 'gauge')
    >>> entry("guage")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the entry to explain must be a code or a word that
    reports use; got 'guage'; did you mean gauge? `embaudit explain` lists them all.
    """
    if not isinstance(name, str):
        raise must_be(
            "the entry to explain",
            "a code or a word that reports use",
            repr(name),
            "`embaudit explain` lists them all",
        )
    entries = _entries()
    # Reports put numbers into some words, such as "10 nearest kept" or "top-20 kept".
    without_numbers = NUMBER.sub(" ", name.lower())
    wanted = " ".join(without_numbers.split())
    if not wanted:
        wanted = name
    match = entries.get(wanted, entries.get(wanted.removesuffix("s")))
    if match is not None:
        return match
    hint = ""
    similar = _similar_spelling(wanted)
    if similar is not None:
        hint = f"did you mean {similar}? "
    raise must_be(
        "the entry to explain",
        "a code or a word that reports use",
        repr(name),
        f"{hint}`embaudit explain` lists them all",
    )


def _spellings() -> Iterator[tuple[str, Entry]]:
    """Yield all spellings that can be looked up, each with its entry.

    Words of trainings come first, so an entry of its own takes precedence.
    """
    for word in TRAINING_WORDS:
        yield word, WORDS["objective"]
    for found in (*CODES.values(), *WORDS.values()):
        for spelling in (found.name, *found.also):
            yield spelling, found


@cache
def _entries() -> dict[str, Entry]:
    """Return the entries by their spellings in lower case."""
    return {spelling.lower(): found for spelling, found in _spellings()}


def _similar_spelling(wanted: str) -> str | None:
    """Return the spelling to suggest for an unknown text in lower case.

    It is the shortest spelling that begins with the text, or else the most similar one.
    """
    if not wanted:
        return None
    spellings = {spelling.lower(): spelling for spelling, _ in _spellings()}
    longer = [key for key in spellings if key.startswith(wanted)]
    if longer:
        return spellings[min(longer, key=len)]
    similar = get_close_matches(wanted, spellings, n=1, cutoff=LEAST_SIMILARITY)
    if similar:
        return spellings[similar[0]]
    return None
