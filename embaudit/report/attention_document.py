"""The document of the audit of an attention head."""

from __future__ import annotations

import pandas as pd

from embaudit.core.words import percent, three_digits
from embaudit.networks import AttentionAudit
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table


def attention_document(audited: AttentionAudit) -> Document:
    """Build the document of an attention head."""
    ranges = [
        (f"ranges of {table.name}", f"{table.range_set}; {table.n_ranges:,} pairs")
        for table in audited.tables
    ]
    return Document(
        f"Are the cosines fixed in head {audited.head} of layer {audited.layer}?",
        tuple(audited.sentences),
        sections=(
            Section.from_tables(
                "attention", "Cosines", "Cosines of the head", attention_table(audited)
            ),
        ),
        facts=(
            ("layer", f"{audited.layer}"),
            ("head", f"{audited.head}"),
            ("columns", f"{audited.width:,}"),
            ("rotary planes", f"{len(audited.freedom.planes):,}"),
            ("query heads that share the keys", f"{len(audited.group):,}"),
            ("tensors", ", ".join(audited.tensors)),
            ("inputs", f"{len(audited.rows.keys):,}"),
            *ranges,
        ),
    )


def attention_table(audited: AttentionAudit) -> Table:
    """Tabulate how far the cosines of queries, keys and values of a head move."""
    rows = []
    for table in audited.tables:
        kept = "–"
        if table.predicted.top_n:
            kept = percent(table.predicted.top_n_overlap)
        rows.append(
            (
                table.name,
                str(table.answer),
                three_digits(table.range_width),
                three_digits(table.shown.mean_abs),
                three_digits(table.predicted.mean_abs),
                kept,
            )
        )
    top_n = max(table.predicted.top_n for table in audited.tables)
    columns = [
        "rows",
        "fixed?",
        "mean width of ranges",
        "moved in a drawn head",
        "from prediction cosines",
        f"nearest {top_n} by both",
    ]
    return Table(
        "cosines in heads with the same outputs",
        pd.DataFrame(rows, columns=columns),
        f"ranges at stretches of at most {audited.max_condition:g}",
        formats=dict.fromkeys(columns, str),
    )
