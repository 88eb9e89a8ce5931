"""The rows themselves, whatever they predict: EMB401, EMB403, EMB404 and EMB409 to EMB414."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.findings.effect import HANDFUL
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.predictions import given_side
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.near_duplicates import NEAR
from embaudit.auditing.wording import is_alone, names_of
from embaudit.canonical.position import MEANINGS
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import counted, drawn_of, percent, row_called, visible
from embaudit.model import Equivalence, FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

HUBS_SHOWN = 3
"""Hubs that are named."""
DUPLICATED = 0.01
"""Smallest share of rows with a duplicate that is reported."""
OFTEN_DUPLICATED = 0.25
"""Smallest share of rows with a duplicate that is an issue."""
ALIKE = 0.5
"""Smallest mean cosine of two rows that is reported."""
FILLED = 0.1
"""Smallest share of all places in lists that is reported, if 1 % of the rows fill it."""
NEARLY_ALIKE = 0.02
"""Smallest share of near-duplicates that is reported; chance alone makes 0.7 % on a
circle."""


def copies(evidence: Evidence) -> Iterator[Finding]:
    """Report how many rows of a side have a copy; of a sample, how many at least."""
    for traits in evidence.traits:
        twins = traits.twins
        # The lower end of the interval decides, so that a sampled share is reported only where it surely reaches the
        # threshold.
        if twins is None or not reaches(twins.ci_low, DUPLICATED):
            continue
        many = reaches(twins.ci_low, OFTEN_DUPLICATED)
        why = template("EMB401", "why", _origin_of_copies(evidence.model, traits.role))
        yield finding(
            "EMB401",
            evidence,
            role=traits.role,
            value=twins.share,
            severity=Severity.ISSUE if many else Severity.TIP,
            least=percent(twins.ci_low),
            told=twins.explain(),
            why=why.format(items=f"{evidence.model.title(traits.role)}s"),
        )


def near_duplicates(evidence: Evidence) -> Iterator[Finding]:
    """Report rows that are far closer to their nearest row than usual (EMB414)."""
    model = evidence.model if evidence.head is None else evidence.head.model
    for traits in evidence.traits:
        near = traits.near_duplicates
        if near is None:
            continue
        if not (reaches(near.ci_low, NEARLY_ALIKE) and exceeds(near.count, HANDFUL)):
            continue
        title, names = model.title(traits.role), model.names(traits.role)
        row_title = model.row_title(traits.role)
        named = ", ".join(row_called(row_title, str(names[row])) for row in near.names)
        is_label = model.link.name == "softmax" and traits.role == "right"
        at_least = "" if near.exact else "at least "
        yield finding(
            "EMB414",
            evidence,
            *(["labels"] if is_label else []),
            role=traits.role,
            value=near.share,
            count=f"{at_least}{near.count:,}",
            n_rows=counted(near.n_rows, title),
            limit=NEAR * near.typical,
            typical=near.typical,
            named=f"Examples are {named}. " if named else "",
        )


def _origin_of_copies(model: FactorModel, role: SideName) -> str:
    """Return the variant of the text that names the origin of copies in such a model."""
    if model.link.name == "softmax":
        return "inputs" if role == "left" else "labels"
    return "alone" if model.left is None else ""


def common_direction(evidence: Evidence) -> Iterator[Finding]:
    """Report sides whose rows are alike before anything is known of them (EMB403)."""
    for traits in evidence.traits:
        shared = traits.direction
        # The finding on a head's mean row says it already.
        told = (
            evidence.head is not None
            and traits.role == "right"
            and origin_matters(evidence.head)
        )
        if shared is None or not reaches(shared.mean_cosine, ALIKE) or told:
            continue
        title = evidence.model.title(traits.role)
        yield finding(
            "EMB403",
            evidence,
            role=traits.role,
            value=shared.mean_cosine,
            offset=shared.offset,
            share=percent(shared.centring.share),
            n_rows=counted(shared.centring.n_rows, title),
            centring=_centring(evidence, traits.role),
        )


def _centring(evidence: Evidence, role: SideName) -> str:
    """Write if removing the mean row makes an equivalent model or another one."""
    model = evidence.model
    if role in model.free_shifts:
        variant = "free"
    elif model.left is None:
        variant = "alone"
    else:
        variant = "unit" if role in model.link.unit_sides else "scores"
    return template("EMB403", "centring", variant).format_map(
        names_of(model, role) | {"noun": model.link.noun}
    )


def hubs(evidence: Evidence) -> Iterator[Finding]:
    """Name the rows that stand in very many lists (EMB404)."""
    model = evidence.model if evidence.head is None else evidence.head.model
    for traits in evidence.traits:
        counts = traits.hubs
        if counts is None or not reaches(counts.filled, FILLED):
            continue
        title, names = model.title(traits.role), model.names(traits.role)
        called = partial(row_called, model.row_title(traits.role))
        each = zip(counts.few[:HUBS_SHOWN], counts.lists_with, strict=False)
        yield finding(
            "EMB404",
            evidence,
            role=traits.role,
            value=counts.filled,
            few=counted(len(counts.few), title),
            n_rows=f"{traits.n_rows:,}",
            s="s" * (len(counts.few) == 1),
            share=percent(counts.filled),
            n_lists=counted(counts.n_lists, title),
            top_n=counts.top_n,
            named=", ".join(
                f"{called(str(names[row]))} in {percent(share)}" for row, share in each
            ),
            skewness=counts.skewness,
        )


def unit_rows(evidence: Evidence) -> Iterator[Finding]:
    """Report vectors alone of length 1 of which nothing is known, and what would settle it (EMB409)."""
    model = evidence.model
    if (
        not is_alone(model)
        or model.objective is not None
        or model.predicts is Equivalence.COSINES
    ):
        return
    for traits in evidence.traits:
        if traits.is_unit:
            n_rows = counted(traits.n_rows, model.title(traits.role))
            yield finding(
                "EMB409",
                evidence,
                role=traits.role,
                value=traits.off_unit,
                n_rows=n_rows,
            )


def orthonormal_columns(evidence: Evidence) -> Iterator[Finding]:
    """Report columns at right angles and of one length, as of V in a singular value decomposition (EMB410)."""
    model = evidence.model
    if not is_alone(model) or model.predicts is Equivalence.COSINES or model.rank == 1:
        return
    for traits in evidence.traits:
        if traits.orthonormal:
            sentence = MEANINGS["right-whitened"].format(
                items=model.title(traits.role), near=""
            )
            text = f"{sentence[0].upper()}{sentence[1:]}"
            yield finding("EMB410", evidence, role=traits.role, whitened=text)


def orthogonal_rows(evidence: Evidence) -> Iterator[Finding]:
    """Report rows that are all at right angles, so that lists of neighbours are rounding noise (EMB412)."""
    model = evidence.model
    variants = ["alone"] if is_alone(model) else []
    for traits in evidence.traits:
        if traits.orthogonal_rows:
            n_rows = counted(traits.n_rows, model.title(traits.role))
            yield finding(
                "EMB412", evidence, *variants, role=traits.role, n_rows=n_rows
            )


def collapsed(evidence: Evidence) -> Iterator[Finding]:
    """Report learned rows that use at most half of their dimensions (EMB413)."""
    model = evidence.model
    for traits in evidence.traits:
        if model.side_name(traits.role) == given_side(model):
            continue
        dimensions = traits.dimensions
        if dimensions is None or not dimensions.collapsed:
            continue
        row_noun = f"{model.title(traits.role)} row"
        yield finding(
            "EMB413",
            evidence,
            role=traits.role,
            value=dimensions.effective_rank,
            used=dimensions.used,
            width=dimensions.width,
            rank=f"{dimensions.effective_rank:.3g}",
            looked_at=drawn_of(dimensions.n_rows, dimensions.n_all_rows, row_noun),
        )


def separate_spaces(evidence: Evidence) -> Iterator[Finding]:
    """Report two parts of one table that do not seem to share one coordinate system (EMB411)."""
    for traits in evidence.traits:
        spaces = traits.spaces
        if spaces is None:
            continue
        boundary = sampled = ""
        if spaces.ids:
            pairs = [
                f"{visible(last)} and {visible(first)}" for last, first in spaces.ids
            ]
            boundary = f" (between the ids {', and '.join(pairs)})"
        if spaces.n_compared < spaces.n_distinct:
            sampled = template("EMB411", "sampled").format(
                n_compared=f"{spaces.n_compared:,}", n_distinct=f"{spaces.n_distinct:,}"
            )
        yield finding(
            "EMB411",
            evidence,
            *[] if spaces.is_clear else ["tip"],
            role=traits.role,
            severity=Severity.ISSUE if spaces.is_clear else Severity.TIP,
            value=spaces.across,
            parts=f"{spaces.first} and {spaces.second}",
            boundary=boundary,
            edge=template("EMB411", "edge") if spaces.boundaries else "",
            z_centred=spaces.z_centred,
            z_uncentred=spaces.z_uncentred,
            z_own=spaces.z_own,
            share=percent(spaces.across),
            sampled=sampled,
        )
