"""The documents of the audit of a low-rank adapter, and of the comparison of two."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from embaudit.auditing.lora import LoraAudit
from embaudit.core.words import in_decimals, percent, snapped
from embaudit.networks import LoraComparison
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table


def lora_document(audited: LoraAudit) -> Document:
    """Build the document of the audit of a low-rank adapter.

    Examples
    --------
    >>> from embaudit.auditing.lora import audit_lora
    >>> draw = np.random.default_rng(0)
    >>> audited = audit_lora(draw.normal(size=(200, 4)), draw.normal(size=(4, 100)))
    >>> document = lora_document(audited)
    >>> document.question, document.tables[0].headings[:3]
    ('Do cosines of the factors of this adapter say anything?',
     ('module', 'outputs', 'inputs'))
    """
    return Document(
        "Do cosines of the factors of this adapter say anything?",
        (audited.conclusion, *audited.details),
        sections=(
            Section("findings", "Findings", "Findings", findings=audited.findings),
            Section.from_tables("modules", "Modules", "Modules", module_table(audited)),
        ),
        facts=(("modules", f"{len(audited.modules):,}"),),
    )


def module_table(audited: LoraAudit) -> Table:
    """Tabulate the sizes of each module, and the neighbours that gauges keep in it.

    The last two columns are shares of neighbours that are neighbours in the update,
    too.
    """
    rows = [
        {
            "module": record["module"],
            "outputs": record["outputs"],
            "inputs": record["inputs"],
            "r": record["rank"],
            "length": record["norm"],
            "effective rank": record["effective_rank"],
            "rows of B kept": record["output_kept_by_pair"],
            "columns of A kept": record["input_kept_by_pair"],
            "rows in update": record["output_kept_by_update"],
            "columns in update": record["input_kept_by_update"],
        }
        for record in audited.records()
    ]
    return Table(
        "nearest rows of B and columns of A of each module",
        pd.DataFrame(rows),
        "kept by another pair of factors with the same update, and nearest in the "
        "update",
        formats={
            "rows of B kept": percent,
            "columns of A kept": percent,
            "rows in update": percent,
            "columns in update": percent,
            "length": "{:.3g}",
            "effective rank": "{:.1f}",
        },
        essential=("r", "effective rank", "rows of B kept", "columns of A kept"),
    )


def lora_comparison_document(comparison: LoraComparison) -> Document:
    """Build the document of a comparison of two low-rank adapters.

    Examples
    --------
    >>> from embaudit.networks import compare_lora
    >>> draw = np.random.default_rng(0)
    >>> pair = draw.normal(size=(30, 2)), draw.normal(size=(2, 20))
    >>> document = lora_comparison_document(compare_lora(pair, pair))
    >>> document.question, document.conclusion[0]
    ('Are these two adapters alike?',
     'The adapters have the same factors, up to rounding.')
    """
    return Document(
        "Are these two adapters alike?",
        (comparison.conclusion, *comparison.details),
        sections=(
            Section.from_tables(
                "modules", "Modules", "Modules", update_table(comparison)
            ),
        ),
        facts=(("common modules", f"{len(comparison.modules):,}"),),
    )


def update_table(comparison: LoraComparison) -> Table:
    """Tabulate the cosine of the two updates of each module, the smallest first."""
    rows = [
        {
            "module": record["module"],
            "cosine": record["cosine"],
            "by chance ±": record["cosine_deviation_by_chance"],
            "of factors": record["factor_cosine"],
            "outputs shared": _overlap(record["output_overlap"]),
            "inputs shared": _overlap(record["input_overlap"]),
            "first length": record["first_norm"],
            "second length": record["second_norm"],
        }
        for record in comparison.records()
    ]
    return Table(
        "cosine of the updates of each module",
        pd.DataFrame(rows),
        "the least alike first",
        formats={
            "cosine": partial(in_decimals, decimals=3),
            "by chance ±": "{:.2g}",
            "of factors": partial(in_decimals, decimals=3),
            "outputs shared": percent,
            "inputs shared": percent,
            "first length": "{:.3g}",
            "second length": "{:.3g}",
        },
        essential=("cosine", "by chance ±", "of factors"),
    )


def _overlap(share: float | None) -> float:
    """Return a shared part without the rounding that would print 100 % as 99.9 %.

    Unknown parts are NaN, which tables write as a dash.
    """
    return np.nan if share is None else snapped(share)
