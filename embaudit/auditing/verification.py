"""Verify an audit: recompute it from its record, and compare both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from embaudit.auditing.audit import Audit, audit, declared
from embaudit.auditing.identity import ScoreChange, score_change
from embaudit.auditing.options import IN_MEMORY, AuditOptions
from embaudit.auditing.record import REMEDY, VERSIONS, options_of, read_record, seed_of
from embaudit.auditing.record_difference import (
    ABSENT,
    Difference,
    compare_records,
    quoted_value,
)
from embaudit.core.words import counted
from embaudit.errors import Option, Sentence, must_be
from embaudit.io import load, source_of
from embaudit.io.files import AnyPath
from embaudit.io.tables.parts import Parts
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.model.fingerprint import fingerprint

MOVED_PREDICTIONS = "EMB002"
"""Code of the finding that only an audit with a baseline has."""


@dataclass(frozen=True)
class Verification:
    """Comparison of the JSON of an audit with its recomputation.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> rows = np.random.default_rng(0).normal(size=(20, 3))
    >>> model = ea.FactorModel.from_vectors(rows)
    >>> record = ea.audit(model, n_gauges=1, n_steps=1).to_dict()
    >>> found = ea.verify(record, model)
    >>> found.ok, found.difference
    (True, None)
    """

    n_numbers: int
    """Number of numbers compared."""
    difference: Difference | None
    """The first difference; None if there is none."""
    needs_baseline: bool = False
    """True if the record has the finding EMB002 but no baseline was given, so that this
    finding was not compared.
    """

    @property
    def ok(self) -> bool:
        """True if there is no difference."""
        return self.difference is None

    def explain(self) -> str:
        """Return the first difference, or how much was compared."""
        if self.difference is not None:
            return str(self.difference)
        text = (
            f"All agrees: {counted(self.n_numbers, 'number')} and every text are those "
            "of this model."
        )
        if self.needs_baseline:
            text += f" {MOVED_PREDICTIONS} needs the baseline: not recomputed."
        return text


def verify(
    record: Mapping[str, Any] | AnyPath,
    model: FactorModel | AnyPath | object,
    *,
    baseline: Mapping[str, Any] | AnyPath | None = None,
    final_norm: FinalNorm | None = None,
    by: Sequence[str | None] | Parts | None = None,
    queries: FactorModel | AnyPath | NDArray[Any] | None = None,
    source: str | None = None,
) -> Verification:
    """Recompute an audit from its JSON, and compare every number, text and key.

    The seed and the options are taken from the JSON. Numbers have to agree up to a
    relative error of 1e-9. The drift of predictions is rounding, so both values have to
    lie within the tolerance. Neighbours whose cosines tie can be in another order, and
    files can be in another folder.

    The finding EMB002 compares predictions with the predictions of a baseline. Without
    `baseline` the text of EMB002 is not compared, but the answer has to follow from
    EMB002.

    Parameters
    ----------
    record : mapping or path
        The result of `Audit.to_dict`, or the JSON that `embaudit audit` wrote.
    model : FactorModel, path or object
        The audited model, read in the same way as for the audit.
    baseline : mapping or path, optional
        JSON of the audit that was the baseline of this one.
    final_norm : FinalNorm, optional
        As `audit` takes it.
    by : sequence of str, optional
        The names of the parts, one for each row, if the audit compared named parts.
    queries : FactorModel, path or array, optional
        The queries, if the audit had queries in memory or their file has moved. By
        default the file that the JSON names.
    source : str, optional
        As `audit` takes it.

    Returns
    -------
    Verification
        `ok`, the first difference if there is one, and how many numbers were compared.

    Raises
    ------
    InputError
        If the file is damaged or is not an audit, if its options are invalid, or if the
        scores of the baseline and of the model cannot be compared.

    Examples
    --------
    >>> draw = __import__("numpy").random.default_rng(0)
    >>> model = FactorModel.from_vectors(draw.normal(size=(20, 3)))
    >>> record = audit(model, n_gauges=1, n_steps=1).to_dict()
    >>> verify(record, model).ok
    True
    >>> record["seed"] = 1
    >>> print(verify(record, model).difference)
    drift[0].tolerance: the file says ...; it is ....
    """
    record = read_record(record)
    # Cheap checks come first: another version computes other numbers, and another model
    # has another fingerprint.
    difference = version_difference(record)
    if difference is not None:
        return Verification(0, difference)
    options, seed = options_of(record), seed_of(record)
    difference = _fingerprint_difference(record, declared(load(model), options))
    if difference is not None:
        return Verification(0, difference)

    if options.by is not None and by is None:
        raise must_be(
            "by",
            "given, because the audit compared parts of the rows by "
            f"{quoted_value(options.by)}",
            "None",
            Sentence(
                "name the part of each row, or give {} with that column",
                Option("items"),
            ),
        )
    if source is None:
        source = source_of(model)
    audited = audit(
        model,
        options=replace(options, by=by, queries=_queries(options, queries)),
        final_norm=final_norm,
        source=source,
        rng=seed,
    )

    needs_baseline = False
    if baseline is not None:
        audited = _with_score_change(audited, score_change_since(baseline, audited))
    elif _has_moved_predictions(record):
        needs_baseline = True
        # The answer under EMB002 does not depend on the numbers of EMB002. So any
        # change of the scores that is reported gives the same answer.
        audited = _with_score_change(audited, ScoreChange(0, 0, correlation=0.0))
    recomputed: Mapping[str, Any] = audited.to_dict()
    if needs_baseline:
        record = _without_moved_predictions(record)
        recomputed = _without_moved_predictions(recomputed)
    n_numbers, difference = compare_records(record, recomputed)
    return Verification(n_numbers, difference, needs_baseline)


def version_difference(record: Mapping[str, Any]) -> Difference | None:
    """Return the difference between the versions; None if this version wrote it."""
    for name, version in VERSIONS.items():
        if record[name] != version:
            return Difference(
                name,
                quoted_value(record[name]),
                quoted_value(version),
                remedy="verify it with the version that wrote it",
            )
    return None


def _fingerprint_difference(
    record: Mapping[str, Any], model: FactorModel
) -> Difference | None:
    """Return the difference between the fingerprints; None if it is the same model."""
    recorded = record["input"].get("fingerprint", ABSENT)
    recomputed = fingerprint(model)
    if recorded == recomputed:
        return None
    file_name = quoted_value(record["input"].get("source") or "no file")
    return Difference(
        "input.fingerprint",
        quoted_value(recorded),
        quoted_value(recomputed),
        meaning=(
            "This audit describes another model, or this model read with other "
            f"options: it names {file_name}. Verify it with that model and the options "
            "of the audit, or audit this model anew."
        ),
    )


def _queries(
    options: AuditOptions, queries: FactorModel | AnyPath | NDArray[Any] | None
) -> str | AnyPath | FactorModel | NDArray[Any] | None:
    """Return the given queries, or else the file of queries that the options name.

    Raises
    ------
    InputError
        If the audit had queries in memory and none are given.
    """
    if queries is not None:
        return queries
    if options.queries_name == IN_MEMORY:
        raise must_be(
            "queries",
            "given, because the audit used queries from memory",
            "None",
            "pass the same vectors",
        )
    return options.queries


def score_change_since(
    baseline: Mapping[str, Any] | AnyPath, audited: Audit
) -> ScoreChange:
    """Compare the scores of an audit with the scores in the JSON of its baseline.

    Raises
    ------
    InputError
        If the file is not an audit, or if the models share too few rows.
    """
    sample = read_record(baseline).get("score_sample")
    try:
        change = score_change(sample, audited.score_sample)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise must_be(
            "score_sample of the baseline",
            "scores that `embaudit audit` wrote",
            "other content",
            REMEDY,
        ) from error
    if change is None:
        raise must_be(
            "score_sample of the baseline",
            "scores of at least 6 rows per side that are also in the model",
            "no scores" if sample is None else "scores of other rows",
            "name the baseline that the audit was made with",
        )
    return change


def _with_score_change(audited: Audit, change: ScoreChange) -> Audit:
    """Add the change of the scores since a baseline to the evidence."""
    return replace(audited, evidence=replace(audited.evidence, score_change=change))


def _is_moved_predictions(finding: Any) -> bool:
    """Return True for the finding EMB002 of a record."""
    return isinstance(finding, Mapping) and finding.get("code") == MOVED_PREDICTIONS


def _has_moved_predictions(record: Mapping[str, Any]) -> bool:
    """Return True if a record has the finding EMB002."""
    findings = record.get("findings")
    return isinstance(findings, list) and any(map(_is_moved_predictions, findings))


def _without_moved_predictions(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop EMB002 and its sentence at the beginning of the verdict."""
    findings, verdict = [], str(record.get("verdict"))
    for finding in record["findings"]:
        if _is_moved_predictions(finding):
            verdict = verdict.removeprefix(str(finding.get("text")))
        else:
            findings.append(finding)
    return {**record, "findings": findings, "verdict": verdict}
