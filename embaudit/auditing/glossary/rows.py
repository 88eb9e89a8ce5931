"""Codes of rows, biases and directions (EMB2xx)."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import ISSUE, TIP, Code
from embaudit.auditing.glossary.identification import STECK

OF_ROWS = (
    Code(
        "EMB201",
        (TIP,),
        "some rows have no direction",
        "Rows of zeros have no angle to anything. Of a head these are also labels at the mean row.",
        "Libraries that return neighbours of such a row return arbitrary ones.",
        "Give such rows no neighbours.",
        "Rows of length 0 are counted. They are left out of pairs and of lists. "
        "A shift gives them a direction, so that lists of models with a shift hold them.",
        "The definition of the cosine: it divides by both lengths.",
    ),
    Code(
        "EMB202",
        (TIP,),
        "the item bias takes no part in the cosines",
        "Predictions rank items with their bias; cosines do not see it.",
        "What the bias holds, often popularity, is missing from a list of neighbours. Libraries that keep "
        "the bias among the factors, as implicit does, list others: `--full` and the page show both lists.",
        "Rank by the score where it should count.",
        "Reported where the bias is not the same for all items and the model's predictions see it.",
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender Systems (Computer 42, 2009).",
    ),
    Code(
        "EMB203",
        (TIP, ISSUE),
        "rows reach into dimensions that no prediction sees",
        "The other side has no row in some dimensions, so whatever a row holds there changes no prediction.",
        "Cosines count those numbers in full, although they are arbitrary.",
        "Project these directions out (`embaudit fix`), or compare predictions.",
        "The rank of each side is read from its singular values; the part of a row outside it is its squared length. "
        "It is a tip where the other side has too few rows to span them.",
        STECK,
    ),
    Code(
        "EMB204",
        (TIP,),
        "cosines count a direction that acts as a bias",
        "One side is the same in every row of some direction. What the other side holds there adds a constant.",
        "A constant is a bias, such as popularity. Cosines count it as a likeness of two rows.",
        "Take that component out of the factors and make it a bias.",
        "A direction in which a side is constant is solved for; columns that are constant are named.",
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender Systems (Computer 42, 2009).",
        grows=False,
    ),
)
