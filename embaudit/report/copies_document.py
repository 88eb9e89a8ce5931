"""The document of copies of vectors: what each keeps, and which rows turned most."""

from __future__ import annotations

from embaudit.core.words import at_least, drawn_of
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table
from embaudit.serving import CopyComparison


def copies_document(found: CopyComparison) -> Document:
    """Build the document of copies of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.serving import compare_copies
    >>> rows = np.random.default_rng(0).normal(size=(60, 16)).astype(np.float32)
    >>> made = copies_document(compare_copies(rows, ["float16", "binary"]))
    >>> [section.id for section in made.shown_sections]
    ['copies', 'moved']
    """
    moved = Table(
        f"{found.title}s that turn most on the way to a copy",
        found.moved_frame(),
        formats={"copy": str, "name": str, "angle": "{:.3g}°"},
    )
    return Document(
        "Which copy keeps the neighbour lists?",
        found.paragraphs,
        sections=(
            Section.from_tables(
                "copies", "Copies", "What each copy keeps", copies_table(found)
            ),
            Section.from_tables("moved", "Turned most", "Rows that turn most", moved),
        ),
        facts=_facts(found),
    )


def copies_table(found: CopyComparison) -> Table:
    """Tabulate bytes, kept lists, proven entries and angles of each copy."""
    import pandas as pd

    rows: list[tuple[str | float, ...]] = [
        (
            copy.name,
            f"{copy.bytes_per_vector:,.0f}",
            copy.kept_words,
            at_least(copy.proven),
            at_least(copy.proven_for_queries),
            copy.median_angle,
            copy.largest_angle,
        )
        for copy in found.copies
    ]
    columns = [
        "copy",
        "bytes",
        "lists kept",
        "proven",
        "proven for queries",
        "median angle",
        "largest angle",
    ]
    if found.n_queries is not None:
        columns.insert(3, "kept for queries")
        rows = [
            (*row[:3], copy.kept_words_for_queries, *row[3:])
            for row, copy in zip(rows, found.copies, strict=True)
        ]
    return Table(
        "what each copy keeps",
        pd.DataFrame(rows, columns=columns),
        f"{found.n} nearest {found.title}s",
        formats={
            **dict.fromkeys(columns, str),
            "median angle": "{:.3g}°",
            "largest angle": "{:.3g}°",
        },
        essential=("copy", "bytes", "lists kept", "proven"),
    )


def _facts(found: CopyComparison) -> tuple[tuple[str, str], ...]:
    """Return what was compared."""
    facts = [
        ("compared by", "cosine"),
        ("lists", f"of {drawn_of(found.n_lists, found.n_rows, found.title)}"),
        ("bytes per vector of the original", f"{found.bytes_per_vector:,.0f}"),
    ]
    if found.n_queries is not None:
        facts.append(("given queries", f"{found.n_queries:,}"))
    return tuple(facts)
