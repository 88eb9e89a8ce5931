"""EMB204: cosines count a direction that acts as a bias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.findings.constant_columns import constant_columns
from embaudit.canonical import HiddenBias, hidden_biases
from embaudit.model import OPPOSITE, FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB204",
    title="cosines count a direction that acts as a bias",
    severities=(Severity.TIP,),
    measured=(
        "The audit searches each side for constant columns and, if there are none, for "
        "a mixture of columns that is constant."
    ),
    reported=(
        "If all rows of a side hold the same number there, up to rounding, and the "
        "other side is not zero there. If only one side is loaded, EMB407 is reported "
        "instead."
    ),
    meaning=(
        "All rows of one side hold the same number in some direction. The number that "
        "a row of the other side holds in this direction adds a constant to all of its "
        "scores, as a bias does."
    ),
    why=(
        "Such a constant is a bias, such as popularity. Cosines count it as a "
        "similarity of two rows."
    ),
    remedy="Remove this component from the factors and store it as a bias.",
    reference=(
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender "
        "Systems (Computer 42, 2009)."
    ),
    grows=False,
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report each side that is constant in some direction, if there are two sides.

    Of vectors alone EMB407 reports it.
    """
    model = evidence.model
    if model.left is None:
        return
    for side in model.sides:
        biases = biases_of_side(model, side)
        if biases:
            yield _reported(evidence, side, biases)


def biases_of_side(model: FactorModel, side: SideName) -> list[HiddenBias]:
    """Return the directions in which a side is constant and the other is not 0."""
    factors = model.factors(OPPOSITE[side])
    return [
        bias
        for bias in hidden_biases(side, model.moments(side))
        if bias.column is None or factors[:, bias.column].any()
    ]


def _reported(
    evidence: Evidence, side: SideName, biases: Sequence[HiddenBias]
) -> Finding:
    """Report the components of the other side in such directions."""
    model = evidence.model
    constant, other = model.title(side), OPPOSITE[side]
    item = model.title(other)
    has_bias = model.side(other).bias is not None
    columns = constant_columns(biases, evidence.columns)
    if len(biases) == 1:
        value = biases[0].value
        held = f"{value:.3g}"
        text = (
            f"{columns} of the {constant}s is constant, {value:.3g}. The number that a "
            f"row of the {item}s holds there adds a constant to all scores of the row, "
            "as a bias does. Cosines count it as a similarity."
        )
        remedy = _remedy_for_one(item, value, has_bias=has_bias)
    else:
        # Together the constants are one direction, as long as the vector of constants.
        value = float(np.linalg.norm([bias.value for bias in biases]))
        held = f"{len(biases)} constants of length {value:.3g}"
        text = (
            f"{columns} of the {constant}s are constant. The numbers that a row of the "
            f"{item}s holds there add a constant to all scores of the row, as a bias "
            "does. Cosines count them as a similarity."
        )
        remedy = _remedy_for_several(item, has_bias=has_bias)
    return Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{item}-{item} cosines",
        role=other,
        value=value,
        title=(
            f"{item} cosines count a direction that acts as a bias ({held} in every "
            f"{constant} row)"
        ),
        text=text,
        remedy=remedy,
    )


def _remedy_for_one(item: str, value: float, *, has_bias: bool) -> str:
    """Write how one direction becomes a bias, or part of the bias that there is."""
    if has_bias:
        return (
            f"Make this component part of the {item} bias: add {value:.3g} times the "
            f"component of the {item}s to the bias, then drop it from both sides."
        )
    return (
        f"Make this component the {item} bias: take {value:.3g} times the component of "
        f"the {item}s, then drop it from both sides."
    )


def _remedy_for_several(item: str, *, has_bias: bool) -> str:
    """Write how several columns become a bias, or part of the bias that there is."""
    if has_bias:
        return (
            f"Make these columns part of the {item} bias: multiply each of these "
            f"columns of the {item}s by its constant, add their sum to the bias, then "
            "drop the columns from both sides."
        )
    return (
        f"Make these columns the {item} bias: multiply each of these columns of the "
        f"{item}s by its constant, take their sum as the bias, then drop the columns "
        "from both sides."
    )
