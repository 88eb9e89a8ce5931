"""EMB202: the bias of the items takes no part in their cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.bias_columns import BiasColumns
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB202",
    title="the {item} bias takes no part in the cosines",
    severities=(Severity.TIP,),
    measured="The largest {item} bias minus the smallest one.",
    reported="If the biases are not all equal, and the {predictions} depend on them.",
    meaning=(
        "Predictions rank {items} with their bias, but cosines are computed without it."
    ),
    why=(
        "The bias often holds how popular or how frequent each {item} is, so a "
        "neighbour list by cosine ignores this. Some recommender libraries, such as "
        "implicit, keep the bias as a column of the factors and therefore list other "
        "neighbours: `--full` and the HTML page show both lists."
    ),
    remedy=(
        "Rank by the score, or by the logit of a head, if popularity or frequency "
        "should count."
    ),
    reference=(
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender "
        "Systems (Computer 42, 2009)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a bias that differs between items."""
    model, bias = evidence.model, evidence.model.right_bias
    if bias is None or not model.link.sees_biases:
        return
    spread = float(np.ptp(bias))
    if not spread > 0:
        return
    item = model.title("right")
    text = (
        f"Predictions rank {item}s with their bias, but cosines are computed without "
        "it, so they ignore the bias."
    )
    for traits in evidence.traits:
        if traits.role == "right" and traits.bias_columns is not None:
            text = f"{text} {_kept_neighbours(traits.bias_columns, item)}"
    if is_head(model):
        remedy = (
            f"The bias holds how frequent a {item} is. Use the logit if the frequency "
            "should count."
        )
    else:
        remedy = "Rank by the score if popularity should count."
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"the {item} bias",
        role="right",
        value=spread,
        title=(
            f"the {item} bias takes no part in the cosines; it differs by up to "
            f"{spread:.3g} between {item}s"
        ),
        text=text,
        remedy=remedy,
    )


def _kept_neighbours(measured: BiasColumns, item: str) -> str:
    """Write how many neighbours stay if the bias is one of the columns."""
    added, pronoun = "the bias as a column", "it"
    if measured.columns > 1:
        added, pronoun = "the bias and a constant as columns", "them"
    kept = measured.kept * measured.n_neighbours
    return (
        f"With {added}, as `similar_items` of implicit has {pronoun}, {item}s keep "
        f"{kept:.1f} of their {measured.n_neighbours} nearest (mean of "
        f"{counted(measured.n_rows, item)})."
    )
