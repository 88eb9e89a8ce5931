"""The gate: whether an audit lets a release pass, and which findings stop it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from embaudit.auditing.audit import Audit
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.identity import (
    MIN_SHARED,
    are_constant,
    score_change,
    score_sample,
)
from embaudit.core.words import counted, nearest_to
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed_once
from embaudit.model import Equivalence, FactorModel

WORSE = 1.1
"""How many times as large a number must be to be worse: models trained anew differ by
less all the time.
"""
MOVED = "EMB002"
"""Code of predictions that differ from the baseline."""
ALWAYS = "always stops"
ALWAYS_STOPPING = (MOVED, "EMB201", "EMB401")
"""Codes that stop a release beside a baseline unless `--fail-on never` is given:
predictions that moved, rows without direction, and copies that are new or more.
"""


def known_code(code: str) -> str:
    """Return a code that audits report.

    Raises
    ------
    InputError
        For any other; the sentence names the nearest one.

    Examples
    --------
    >>> known_code("EMB104")
    'EMB104'
    >>> known_code("EMB1O4")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a code must be listed by `embaudit explain`; got
    'EMB1O4'; the nearest one is EMB104.
    """
    if code not in CODES:
        raise must_be(
            "a code",
            "listed by `embaudit explain`",
            repr(code),
            nearest_to(code.upper(), CODES),
        )
    return code


@dataclass(frozen=True)
class Baseline:
    """Findings of an earlier audit.

    Examples
    --------
    >>> before = Baseline({("EMB401", "right"): (Severity.TIP, 0.10)})
    >>> len(before.findings)
    1
    """

    findings: Mapping[tuple[str, str], tuple[Severity, float | None]] = field(
        default_factory=dict
    )
    """Severity and number of each finding, by its code and its role; an empty role
    speaks of the whole model.
    """
    sample: Mapping[str, Any] | None = None
    """A few scores of that model; None if they can be compared with no others."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Rows of each side and objective of its model, as in its JSON."""

    @property
    def should_hold_scores(self) -> bool:
        """True if its model had two sides, with enough rows to compare their scores."""
        sizes = [self.model.get(name, 0) for name in ("n_left", "n_right")]
        return bool(min(sizes) >= MIN_SHARED)

    @classmethod
    def load(cls, path: AnyPath) -> Baseline:
        """Read the JSON that `embaudit audit --json` wrote.

        Raises
        ------
        InputError
            If the file is none such, or holds a number that is not finite.
        """
        remedy = "write it with `embaudit audit MODEL --json FILE`"
        where, findings = (
            existing_file(path, "the baseline", f"check the path, or {remedy}"),
            {},
        )
        try:
            record = parsed_once(where.read_bytes())
            # Whether predictions moved is asked of each model anew: a baseline may have
            # been audited beside another.
            for each in (
                finding for finding in record["findings"] if finding["code"] != MOVED
            ):
                number = None if each["value"] is None else float(each["value"])
                findings[str(each["code"]), str(each["role"] or "")] = (
                    Severity[str(each["severity"]).upper()],
                    number,
                )
            sample, model = record.get("score_sample"), dict(record.get("model", {}))
            model |= {name: int(model.get(name) or 0) for name in ("n_left", "n_right")}
            if sample is not None:
                scores = np.asarray(sample["values"], dtype=np.float64)
                if not np.isfinite(scores).all():
                    raise ValueError("a score of the sample is not finite")
            # Compared with itself, so that a damaged sample is found here, where the
            # file can be named; one of too few rows can be compared with none.
            with np.errstate(all="ignore"):
                change = score_change(sample, sample)
            is_comparable = change is not None or are_constant(sample, sample)
            sample = sample if is_comparable else None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise must_be(
                "the baseline",
                "the JSON of an audit",
                f"{where}, which is not an audit",
                remedy,
            ) from error
        return cls(findings, sample, model)

    def status(self, finding: Finding) -> str:
        """Compare a finding with the baseline: return "new", "worse" or "known"."""
        if (finding.code, finding.role or "") not in self.findings:
            return "new"
        once, number = self.findings[finding.code, finding.role or ""]
        # Where the earlier audit had no number, any number is growth.
        grew = finding.value is not None and (
            number is None or abs(finding.value) > WORSE * abs(number)
        )
        # A graver finding is worse whatever its number is; a larger number only where a
        # code grows with it.
        return (
            "worse"
            if finding.severity > once or (CODES[finding.code].grows and grew)
            else "known"
        )


@dataclass(frozen=True)
class Judged:
    """A finding as the gate sees it."""

    finding: Finding
    """The finding."""
    status: str
    """ignored, or against a baseline new, worse or known; new without one."""
    rows: str = ""
    """The rows or pairs it is about; empty for the whole model."""
    reason: str = ""
    """The rule by which it stops the release; empty if it stops none."""

    @property
    def stops(self) -> bool:
        """True if it stops the release."""
        return bool(self.reason)

    def __str__(self) -> str:
        status = (
            "" if self.status == "new" and self.reason != ALWAYS else f", {self.status}"
        )
        reason = f": {self.reason}" if self.reason else ""
        rows = f" {self.rows}" if self.rows else ""
        severity = self.finding.severity.title
        return f"{self.finding.code}{rows} ({severity}{status}{reason})"


@dataclass(frozen=True)
class Gate:
    """From which severity on findings stop a release, and which of them do not count.

    Examples
    --------
    >>> gate = Gate.from_options(Severity.ISSUE, ignore=["EMB104"])
    >>> sorted(gate.ignore), gate.is_asked
    (['EMB104'], True)
    """

    fail_on: Severity | None = None
    """None where no finding does."""
    ignore: frozenset[str] = frozenset()
    """Codes that do not count."""
    baseline: Baseline | None = None
    """Findings of an earlier audit, which stop nothing."""
    written: str = ""
    """The file of a baseline that the audit writes: what it finds is known from then
    on.
    """
    allow_missing_scores: bool = False
    """True to pass a model whose scores cannot be compared with those of the baseline.
    """
    never: bool = False
    """True if no finding stops a release, not even those that always do beside a
    baseline: that was asked for.
    """

    @classmethod
    def from_options(
        cls,
        fail_on: Severity | None,
        *,
        ignore: Iterable[str] = (),
        baseline: Baseline | None = None,
        written: str = "",
        allow_missing_scores: bool = False,
        never: bool = False,
    ) -> Gate:
        """Create a gate, and check the codes to ignore.

        Raises
        ------
        InputError
            If a code does not exist.
        """
        return cls(
            fail_on,
            frozenset(map(known_code, ignore)),
            baseline,
            written,
            allow_missing_scores,
            never,
        )

    @property
    def is_asked(self) -> bool:
        """True if a finding may stop a release here, or a baseline is written."""
        return bool(self.fail_on or self.baseline or self.written)

    def beside(self, audit: Audit) -> Audit:
        """Return the audit with the change of its predictions from the baseline.

        Raises
        ------
        InputError
            If only one of the baseline and the model has scores, or no rows with the
            same ids: a gate that cannot compare predictions does not pass. If neither
            has scores, as for vectors of one side, or the scores of both are equal
            within each row, there is nothing to compare.
        """
        if self.baseline is None:
            return audit
        before, now = self.baseline.sample, score_sample(audit.model)
        change = score_change(before, now)
        should_compare = not are_constant(before, now) and (
            before is not None
            or self.baseline.should_hold_scores
            or score_change(now, now) is not None
        )
        if change is None and should_compare:
            self._require_scores(audit.model, now)
        return replace(audit, evidence=replace(audit.evidence, score_change=change))

    def _require_scores(
        self, model: FactorModel, now: Mapping[str, Any] | None
    ) -> None:
        """Raise InputError unless predictions may go without a comparison."""
        if self.allow_missing_scores or MOVED in self.ignore:
            return
        before = None if self.baseline is None else self.baseline.sample
        missing = Option("allow_missing_scores", True)
        go_on = Sentence("write the baseline again, or go on with {}", missing)
        if before is None:
            raise must_be(
                "the baseline",
                "an audit with scores (score_sample), to compare with the scores of "
                "this model",
                "no scores",
                go_on,
            )
        equal = "scores that are equal within each row"
        is_flat_before = are_constant(before, before)
        is_flat_now = are_constant(now, now)
        if is_flat_before and not is_flat_now:
            raise must_be(
                "the baseline",
                "an audit with scores (score_sample) that differ within some row, "
                "like the "
                "scores of this model",
                equal,
                go_on,
            )
        if now is None:
            got = "vectors of one side, which have no scores"
        elif is_flat_now and not is_flat_before:
            raise must_be(
                "a model to compare with this baseline",
                "a model whose scores differ within some row, like the scores of the "
                "baseline",
                equal,
                go_on,
            )
        else:
            shared = [
                f"{len({*before[side]} & {*now[side]})} of {len(before[side])} "
                f"sampled {model.title(side)}s"
                for side in model.sides
            ]
            got = f"{' and '.join(shared)} in both"
        raise must_be(
            "a model to compare with this baseline",
            "a model with scores for the same ids",
            got,
            Sentence(
                "read sides and ids as for the baseline, write the baseline again, or "
                "go on with {}",
                missing,
            ),
        )

    def judge(self, audit: Audit) -> Outcome:
        """Judge of every finding whether it stops the release."""
        judged = tuple(
            self._judged(finding, *audit.model.roles) for finding in audit.findings
        )
        return Outcome(self, audit.predictions_hold, judged, tuple(self._unlike(audit)))

    def _unlike(self, audit: Audit) -> Iterator[str]:
        """Yield differences from the baseline that no finding reports.

        These are fewer rows, another objective, and another scale of scores.
        """
        if self.baseline is None:
            return
        model, change = audit.model, audit.evidence.score_change
        for side in (
            model.sides
        ):  # a side that is gone leaves no scores to compare, which is refused
            before, now = self.baseline.model.get(f"n_{side}", 0), len(model.side(side))
            if now < before:
                yield f"{now:,} {model.title(side)}s (baseline: {before:,})"
        trained = [
            what or "not known"
            for what in (self.baseline.model.get("objective"), model.objective)
        ]
        if "objective" in self.baseline.model and trained[0] != trained[1]:
            yield f"objective {trained[1]} (baseline: {trained[0]})"
        if change is None:
            sample = self.baseline.sample
            if sample is not None and are_constant(sample, score_sample(model)):
                reason = "scores are equal within each row"
            else:
                reason = "there are no scores to compare"
            yield f"predictions not compared, as {reason}"
        # Rankings leave the scale of scores open.
        scale = (
            1.0
            if change is None or model.predicts is Equivalence.RANKINGS
            else change.scale
        )
        if not 1 / WORSE <= scale <= WORSE:
            yield f"scores are {scale:.2g} times the baseline's"

    def _judged(self, finding: Finding, left: str, right: str) -> Judged:
        """Judge one finding of a model whose rows are called so on either side."""
        status = "new" if self.baseline is None else self.baseline.status(finding)
        # Ignored codes stop nothing, not even those that always stop beside a baseline.
        status = "ignored" if finding.code in self.ignore else status
        reason = ""
        # An audit that writes the baseline stops nothing: what it finds is known from
        # then on.
        if status in ("new", "worse") and not self.written:
            if (
                self.baseline is not None
                and finding.code in ALWAYS_STOPPING
                and not self.never
            ):
                reason = ALWAYS
            # Where both rules stop it, the one that was asked for is told.
            if self.fail_on is not None and finding.severity >= self.fail_on:
                reason = f"--fail-on {self.fail_on.title}"
        rows = {
            "left": f"{left}s",
            "right": f"{right}s",
            "cross": f"{left}-{right} pairs",
        }
        return Judged(finding, status, rows.get(finding.role or "", ""), reason)


@dataclass(frozen=True)
class Outcome:
    """Judgement of a gate on an audit."""

    gate: Gate
    """The gate."""
    predictions_hold: bool
    """If not, the audit itself failed, and nothing passes."""
    judged: tuple[Judged, ...]
    """Every finding, in the order of the audit."""
    unlike: tuple[str, ...] = ()
    """Other differences from the baseline, which stop nothing, as releases may lose
    rows on purpose.
    """

    @property
    def stopped_by(self) -> tuple[Judged, ...]:
        """The findings that stop the release."""
        return tuple(each for each in self.judged if each.stops)

    @property
    def news(self) -> tuple[Judged, ...]:
        """The findings that stop the release, or are new or worse than the baseline."""
        is_new = {"new", "worse"} if self.gate.baseline else set()
        return tuple(
            each for each in self.judged if each.stops or each.status in is_new
        )

    @property
    def passes(self) -> bool:
        """True if the release passes."""
        return self.predictions_hold and not self.stopped_by

    def __str__(self) -> str:
        """Write the last line of the screen: the decision and its reason."""
        # An audit that failed can vouch for no finding, so this comes first.
        if not self.predictions_hold:
            return (
                "gate: stops, since the audit itself failed: predictions did not stay "
                "the same"
            )
        if self.gate.written:
            findings = counted(len(self.judged), "finding")
            return (
                f"gate: passes; {self.gate.written} is the baseline from now on, with "
                f"{findings}: omit --json next time"
            )
        parts = ["gate: passes"]
        if self.stopped_by:
            parts = [f"gate: stops at {_listed(self.stopped_by)}"]
        if self.unlike:
            parts.append(f"unlike the baseline: {_listed(self.unlike)}")
        passing_news = [judged for judged in self.news if not judged.stops]
        if passing_news:
            parts.append(f"new or worse: {_listed(passing_news)}")
        not_counted = [
            judged for judged in self.judged if judged.status in ("ignored", "known")
        ]
        if not_counted:
            parts.append(f"not counted: {_listed(not_counted)}")
        return "; ".join(parts)


def _listed(values: Iterable[Any]) -> str:
    """Write values in one line, separated by commas."""
    return ", ".join(map(str, values))
