"""Definitions of the words of a report, before they are first met: the first sentence of their glossary entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from embaudit.auditing.texts import WORDS
from embaudit.auditing.wording import in_titles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from embaudit.model import FactorModel

DEFINED = ("gauge", "κ", "budget", "role", "exponent", "certified", "equivalent model", "label", "duplicate", "shift",
           "whitened", "prediction cosine", "logit cosine", "range")  # fmt: skip
"""Words that not every reader of cosines knows, in an order in which each leans on those before it."""


def definitions(model: FactorModel, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Define the words that occur in some texts, under their names or others that they go by.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> for word, meaning in definitions(FactorModel.from_vectors([[1.0]]), ["12 % certified", "No gauge does it."]):
    ...     print(f"{word}: {meaning}")
    gauge: a change of the factors of both sides at once that leaves every score as it is.
    certified: a neighbour is certified when no gauge within the budget can push it out of its list.
    """
    # Names of options and commands are no words that need a meaning.
    met = re.sub("`[^`]*`", " ", " ".join(texts))
    for word in DEFINED:
        names = "|".join(map(re.escape, (word, *WORDS[word].also)))
        if re.search(rf"(?<!\w)(?:{names})s?(?!\w)", met, re.IGNORECASE):
            first = in_titles(model, WORDS[word].meaning.split(". ")[0].removesuffix("."))
            yield word, f"{first[0].lower()}{first[1:]}."


def glossary(page: str) -> tuple[tuple[str, str], ...]:
    """Return the words that the page of a command defines, with their meanings.

    Examples
    --------
    >>> [word for word, _ in glossary("blocks")][:2]
    ['block', 'local cosine']
    """
    return tuple((word.name, f"{word.meaning} {word.example}".strip()) for word in WORDS.values() if page in word.pages)
