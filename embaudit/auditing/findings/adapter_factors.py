"""EMB601: the update of a low-rank adapter leaves cosines of its factors free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embaudit.auditing.effect import is_effect
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.core.words import counted, percent
from embaudit.networks.lora import ModuleMeasure, mean_share

ENTRY = Entry(
    "EMB601",
    title="the update of an adapter does not fix the cosines of its factors",
    severities=(Severity.ISSUE,),
    measured=(
        "For each module, the audit draws an invertible r × r matrix G with condition "
        "number 100. The pair (B G, G⁻¹ A) has the same update up to rounding, which "
        "is measured. The nearest rows of B and columns of A are compared between both "
        "pairs."
    ),
    reported=(
        "If at least 5 % of the neighbours of all modules together differ, and more "
        "than five lists."
    ),
    meaning=(
        "Another pair of factors of a low-rank adapter (LoRA) has the same update `B "
        "A`, but other nearest rows of B or columns of A."
    ),
    why=(
        "The network computes the same with both pairs. So cosines of rows of B, and "
        "of columns of A, say nothing about outputs or inputs."
    ),
    remedy=(
        "Compare rows or columns of the update, which is the same for all pairs. Also "
        "compare two adapters by their updates: `embaudit compare ADAPTER OTHER`."
    ),
    reference=(
        "Hu et al.: LoRA (ICLR 2022). Steck, Ekanadham, Kallus: Is Cosine-Similarity "
        "of Embeddings Really About Similarity? (WWW Companion 2024), for P = B and Q "
        "= Aᵀ."
    ),
)


def check(modules: Sequence[ModuleMeasure]) -> Iterator[Finding]:
    """Report factors whose neighbours another pair with the same update changes.

    The modules that the other pair changes most come first.
    """
    sides = [side for module in modules for side in module.sides]
    kept = mean_share(sides, "kept_by_pair")
    n_lists = sum(side.n_lists for side in sides)
    if not is_effect(1 - kept, n_lists):
        return
    kept_by_update = mean_share(sides, "kept_by_update")
    worst = next(module for module in modules if module.sides)
    assert worst.gauge is not None
    condition = worst.gauge.condition_number
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.SHOWN,
        scope=Scope("linear gauges of a pair", max_condition=condition),
        rows="rows of B and columns of A",
        value=1 - kept,
        title=f"another pair of factors keeps {percent(kept)} of the nearest rows",
        text=(
            "Other pairs of factors have the same updates, up to rounding, and keep "
            f"{percent(kept)} of the nearest rows of B and columns of A. If rows and "
            "columns of the updates are compared, which no pair changes, "
            f"{percent(kept_by_update)} of the nearest rows of B and columns of A stay."
        ),
        remedy=(
            "Compare rows or columns of the update B A, which no pair changes. Compare "
            "adapters by their updates: `embaudit compare ADAPTER OTHER`."
        ),
        measured_on=f"{counted(n_lists, 'list')} of {counted(len(modules), 'module')}",
        witness=worst.gauge,
    )
