"""All codes of findings and all words of reports, and the search for an entry."""

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
    entries = {module.ENTRY.name: module.ENTRY.with_nouns(nouns) for module in MODULES}
    return {code: entries[code] for code in sorted(entries)}


CODES = codes_for(USERS_AND_ITEMS)
"""The entry of each code that an audit can report, sorted, in users and items."""
NAMES = (*CODES, *NOTES)
"""The codes, then the words of all notes."""


def entry(name: str) -> Entry:
    """Return the entry that explains a code or a word.

    Upper case, the plural and numbers are ignored: "Gauges" finds "gauge", and
    "10 nearest kept" finds "nearest kept".

    Raises
    ------
    InputError
        If there is no such code or word. The sentence names a similar one.

    Examples
    --------
    >>> entry("emb201").name, entry("kappa").name, entry("Gauges").name
    ('EMB201', 'κ', 'gauge')
    >>> entry("guage")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports
    use; got 'guage'; did you mean gauge? `embaudit explain` lists them all.
    >>> entry("CHECK")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports
    use; got 'CHECK'; did you mean CHECK FIRST? `embaudit explain` lists them all.
    """
    entries = dict.fromkeys(TRAINING_WORDS, WORDS["objective"])
    for explained in (*CODES.values(), *WORDS.values()):
        for spelling in (explained.name, *explained.also):
            entries[spelling.lower()] = explained
    # Reports put numbers into some words, such as "10 nearest kept" or "top-20 kept".
    without_numbers = re.sub(r"-?\b\d[\d.]*(?!\w)", " ", name.lower())
    wanted = " ".join(without_numbers.split()) or name
    match = entries.get(wanted, entries.get(wanted.removesuffix("s")))
    if match is not None:
        return match
    similar = [spelling for spelling in entries if spelling.startswith(wanted)]
    if not similar:
        similar = get_close_matches(wanted, entries, cutoff=0.75)
    hint = ""
    if similar:
        hint = f"did you mean {entries[similar[0]].name}? "
    raise must_be(
        "what to explain",
        "a code or a word that reports use",
        repr(name),
        f"{hint}`embaudit explain` lists them all",
    )
