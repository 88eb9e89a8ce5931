"""One model of the truth table for each way to answer.

The table of answers in docs/checks.md is written from these models, and `test_table.py`
tests that no other way to answer occurs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """A reason, a certainty and a model for one answer."""

    model: str
    """Name of the model in the truth table."""
    title: str
    """The model as the documentation describes it."""
    findings: tuple[str, ...]
    """Codes of the findings from which the answer follows."""
    certainty: str
    """"proven", "shown", "measured", "assumed" or "undecided"."""


WAYS = (
    Way(
        "trained as product, declared as implicit-als",
        "a file that says `product`, audited with `--objective implicit-als`",
        ("EMB106",),
        "assumed",
    ),
    Way(
        "compared by cosine: two spaces",
        "one table with the vectors of two encoders",
        ("EMB411",),
        "measured",
    ),
    Way(
        "cosines of given features",
        "cosines of the inputs of a logistic regression",
        ("data",),
        "assumed",
    ),
    Way(
        "unit rows of an unknown link, 40 users",
        "users and items of length 1, nothing declared",
        ("unit_sides", "undecided"),
        "undecided",
    ),
    Way(
        "nine unit rows of four columns",
        "nine items of length 1 in four dimensions, trained by cosines",
        ("undecided", "rows_missing"),
        "undecided",
    ),
    Way(
        "unit rows of too many columns for a proof",
        "items of length 1 in 130 dimensions, trained by cosines",
        ("undecided", "untried"),
        "undecided",
    ),
    Way(
        "arcface, three labels in a plane",
        "three labels of length 1 in a plane, trained by cosines",
        ("undecided", "to_decide"),
        "undecided",
    ),
    Way(
        "vectors on a line but for rounding",
        "vectors that nearly lie on a line",
        ("undecided",),
        "undecided",
    ),
    Way(
        "prediction vectors",
        "vectors that `embaudit fix --as prediction` wrote",
        ("made",),
        "assumed",
    ),
    Way(
        "compared by cosine: rows in general position",
        "an encoder that compares rows by cosines",
        ("pinned", "compared", "together"),
        "proven",
    ),
    Way(
        "compared by dot: rows in general position",
        "an encoder that compares rows by dot products",
        ("pinned", "products", "together"),
        "proven",
    ),
    Way(
        "rank 1, identity, bias none",
        "users and items of one dimension, no bias",
        ("pinned",),
        "proven",
    ),
    Way(
        "rows by distance",
        "rows that training compared by distance",
        ("EMB101", "distances", "together", "free"),
        "proven",
    ),
    Way(
        "clip",
        "texts and images trained as CLIP is",
        ("order", "EMB103", "free"),
        "assumed",
    ),
    Way(
        "rank 1, identity, bias both",
        "factors whose cosines are prediction cosines",
        ("cosines_agree", "free"),
        "measured",
    ),
    Way(
        "users miss a direction",
        "items with a dimension in which no user has a number",
        ("EMB203", "free"),
        "proven",
    ),
    Way(
        "a mean row against decay",
        "a head off its mean row although all labels decayed",
        ("EMB306", "EMB301", "free"),
        "proven",
    ),
    Way(
        "a tied head off its mean",
        "a head off its mean row, tied to the input embeddings",
        ("EMB301", "tied", "free"),
        "proven",
    ),
    Way("a head off its mean", "a head off its mean row", ("EMB301", "free"), "proven"),
    Way(
        "a tied head whose gains decide",
        "a tied head behind a norm with uneven gains",
        ("EMB307", "tied", "free"),
        "proven",
    ),
    Way(
        "gains of an RMSNorm decide",
        "a head behind a norm with uneven gains",
        ("EMB307", "free"),
        "proven",
    ),
    Way(
        "axes stretched by 2.0 against the penalty",
        "factors far from a minimum of their weight decay",
        ("EMB104", "free"),
        "proven",
    ),
    Way(
        "axes stretched by 1.5 against balance",
        "factors a little off a minimum of their weight decay",
        ("EMB104", "EMB103", "free"),
        "assumed",
    ),
    Way(
        "a mean row of 0.02 under decay",
        "a head a little off its mean row although all labels decayed",
        ("EMB306", "EMB103", "origin", "free"),
        "assumed",
    ),
    Way(
        "balanced by its penalty, other lists predicted",
        "factors at a minimum of their weight decay, other lists by predictions",
        ("EMB103", "lists_differ", "free"),
        "assumed",
    ),
    Way(
        "softmax-decay, softmax",
        "labels and inputs with the same weight decay",
        ("EMB103", "free"),
        "assumed",
    ),
    Way(
        "items share a direction",
        "factors whose lists are not those by predictions",
        ("lists_differ", "free"),
        "proven",
    ),
    Way(
        "rank 2, identity, bias none",
        "factors whose cosines are not prediction cosines",
        ("cosines_differ", "free"),
        "proven",
    ),
    Way(
        "unit labels along six half-axes",
        "labels of length 1 along six axes",
        ("rearranged", "free"),
        "shown",
    ),
    Way(
        "without a penalty, softmax, sure of every input",
        "logistic regression without a penalty on separable labels",
        ("no_minimum", "EMB101", "free"),
        "proven",
    ),
    Way(
        "nearly the cosines of predictions",
        "factors whose cosines nearly are prediction cosines",
        ("cosines_near", "free"),
        "measured",
    ),
    Way(
        "softmax, softmax",
        "a last layer without weight decay",
        ("EMB101", "free"),
        "proven",
    ),
    Way(
        "a head without inputs",
        "a head near its mean row, without inputs",
        ("origin", "one_side", "free"),
        "measured",
    ),
    Way(
        "a capped head alone",
        "a head with a soft-cap, without inputs",
        ("EMB305", "one_side", "free"),
        "undecided",
    ),
    Way(
        "word2vec, one table",
        "one table of word2vec",
        ("second_table", "free"),
        "undecided",
    ),
    Way("vectors", "vectors of one side", ("one_side", "free"), "undecided"),
    Way(
        "items alike, a user bias",
        "equal items, and a bias of the users",
        ("free",),
        "proven",
    ),
    Way(
        "cosines of items, a direction that users lack",
        "cosines of items with a direction that no user has",
        ("cosines_differ", "free"),
        "shown",
    ),
    Way(
        "fixed temperature, items with directions of their own",
        "items with directions that no user has, trained at a fixed temperature",
        ("lists_differ", "free"),
        "shown",
    ),
)
"""All ways to answer in the truth table, in the order in which an audit decides.

Other tests cover audits that fail their own check (EMB001), audits whose predictions
differ from the baseline (EMB002), and cosines of users with items.
"""
