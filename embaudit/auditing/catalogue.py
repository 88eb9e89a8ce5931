"""All codes of findings and all words of reports, and how to look one up."""

from __future__ import annotations

import re
from difflib import get_close_matches

from embaudit.auditing.entry import Entry
from embaudit.auditing.findings import MODULES, NOTES
from embaudit.auditing.wording import USERS_AND_ITEMS, Nouns
from embaudit.auditing.words import WORDS
from embaudit.errors import must_be
from embaudit.model.trainings import TRAINING_WORDS


def codes_for(nouns: Nouns) -> dict[str, Entry]:
    """Return the entry of each code, sorted by code, in the nouns of a model."""
    entries = {module.ENTRY.name: module.ENTRY.told_in(nouns) for module in MODULES}
    return {code: entries[code] for code in sorted(entries)}


CODES = codes_for(USERS_AND_ITEMS)
"""The entry of each code that an audit can report, sorted, in users and items."""
NAMES = (*CODES, *NOTES)
"""The codes, then the words of all notes."""


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
    >>> entry("CHECK")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports use; got 'CHECK'; did you mean
    CHECK FIRST? `embaudit explain` lists them all.
    """
    every = (*CODES.values(), *WORDS.values())
    entries = dict.fromkeys(TRAINING_WORDS, WORDS["objective"])
    entries |= {
        called.lower(): item for item in every for called in (item.name, *item.also)
    }
    wanted = " ".join(re.sub(r"-?\b\d[\d.]*(?!\w)", " ", name.lower()).split()) or name
    match = entries.get(wanted, entries.get(wanted.removesuffix("s")))
    if match is not None:
        return match
    near = [each for each in entries if each.startswith(wanted)] or get_close_matches(
        wanted, entries, cutoff=0.75
    )
    hint = f"did you mean {entries[near[0]].name}? " if near else ""
    raise must_be(
        "what to explain",
        "a code or a word that reports use",
        repr(name),
        f"{hint}`embaudit explain` lists them all",
    )
