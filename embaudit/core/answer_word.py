"""The five words that answer whether the predictions fix the cosines."""

from __future__ import annotations

from enum import StrEnum


class AnswerWord(StrEnum):
    """Whether the predictions fix the cosines, in a word.

    No word says that the cosines are good: neighbours that the predictions fix can be
    bad neighbours, and those that a convention picked can be good ones.
    """

    YES = "YES"
    """The predictions fix the cosines: all models that predict the same have them."""
    BY_CONVENTION = "BY CONVENTION"
    """The predictions leave the cosines open. Training, or the author of the file,
    picked one of many equally good versions."""
    NO = "NO"
    """Models with the same predictions have other cosines, and nothing known about
    training excludes these models."""
    UNKNOWN = "UNKNOWN"
    """Neither is proven. The reason says what would decide it, or that no method here
    decides it."""
    CHECK_FIRST = "CHECK FIRST"
    """Something is wrong before the cosines are worth the question, or the rows are
    data that training did not learn."""
