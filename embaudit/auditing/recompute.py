"""Recompute an audit from its JSON: to compare every number with the file, or to make one of its equivalent models."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from embaudit._version import __version__
from embaudit.auditing.audit import Audit, audit, declared
from embaudit.auditing.identity import ScoreChange, fingerprint, score_change
from embaudit.auditing.options import OPTION_NAMES, AuditOptions
from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.canonical.row_span import span_basis
from embaudit.core.checked import as_count, is_number
from embaudit.core.plain import SCHEMA_VERSION
from embaudit.core.tolerances import ROUNDING, TIE
from embaudit.core.words import counted, nearest_to
from embaudit.errors import Option, Sentence, escaped, must_be
from embaudit.io import as_reading, source_of
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed_once
from embaudit.io.tables.parts import Parts
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

MAX_BYTES = 2**28
"""Size of the largest JSON that is parsed; an audit of 10,000 draws from each group
writes half as much.
"""
OWN_SCALE = ("tolerance", "chance")
"""Numbers that are small without being rounding."""
VERSIONS = {"embaudit_version": __version__, "schema_version": SCHEMA_VERSION}
REMEDY = (
    "write it with `embaudit audit MODEL --json FILE`, and name it before the model"
)
ANOTHER = (
    "Verify it with that model, read as it was for the audit, or audit this one anew."
)
DRIFT = re.compile(
    r"(^|\.)drift\[\d+\]\.max_(abs|rel)$|^head\..*\.change$|^notes\[0\]\.value$"
)
"""Places of the drift of predictions; the first note says how large it is."""
FILE = re.compile(r"(^|\.)(source|files(\[\d+\])?)$")
"""Places of names of files, which may lie in another folder."""
ABSENT = object()
"""Mark in place of the value of a key that one of two documents does not have."""
AGAINST_BASELINE = "EMB002"
"""Code of the finding that only an audit beside a baseline has."""


@dataclass(frozen=True)
class Difference:
    """A place where the JSON of an audit is not what its recomputation gives."""

    where: str
    """Keys and positions that lead to it, such as `claims[2].value`."""
    recorded: str
    """Value in the file."""
    recomputed: str
    """Value of the recomputation."""
    meaning: str = ""
    """Sentences that say first what it means; empty where the place says it."""

    def __str__(self) -> str:
        remedy = (
            "; verify it with the version that wrote it"
            if self.where in VERSIONS
            else ""
        )
        return f"{self.meaning}{self.where}: the file says {self.recorded}; it is {self.recomputed}{remedy}."


@dataclass(frozen=True)
class Verification:
    """The comparison of an audit's JSON with its recomputation."""

    n_numbers: int
    """Numbers compared."""
    difference: Difference | None
    """The first difference; None where all agrees."""
    beside_baseline: bool = False
    """True if the file holds EMB002 and no baseline was given, so EMB002 was not
    compared.
    """

    @property
    def ok(self) -> bool:
        """True if all agrees."""
        return self.difference is None

    def explain(self) -> str:
        """Return one sentence: the first difference, or how much was compared."""
        if self.difference is not None:
            return str(self.difference)
        aside = (
            f" {AGAINST_BASELINE} needs the baseline: not recomputed."
            if self.beside_baseline
            else ""
        )
        return (
            f"All agrees: {counted(self.n_numbers, 'number')} and every text are those "
            f"of this model.{aside}"
        )


def recorded(audited: Mapping[str, Any] | AnyPath) -> Mapping[str, Any]:
    """Return the JSON of an audit, parsed where it is a path.

    Raises
    ------
    InputError
        If it is too large, damaged, holds a number that is not finite, or is not the
        JSON of an audit.
    """
    if isinstance(audited, Mapping):
        record, name = audited, "the mapping"
    else:
        path = existing_file(audited, "the audit", f"check the path, or {REMEDY}")
        name = str(path)
        if path.stat().st_size > MAX_BYTES:
            raise must_be(
                "the audit",
                f"JSON of at most {MAX_BYTES // 2**20} MB",
                f"{name}, which is larger",
            )
        try:
            record = parsed_once(path.read_bytes())
        except ValueError as error:
            got = f"{name}: {error}" if path.suffix == ".json" else name
            raise must_be("the audit", "JSON", got, REMEDY) from error
    keys = {*VERSIONS, "seed", "input", "drift"}
    if (
        not isinstance(record, Mapping)
        or not keys <= set(record)
        or not isinstance(record["input"], Mapping)
    ):
        raise must_be(
            "the audit",
            "JSON that `embaudit audit` wrote",
            f"{name}, which is not",
            REMEDY,
        )
    return record


def verify(
    record: Mapping[str, Any] | AnyPath,
    model: FactorModel | AnyPath | object,
    *,
    baseline: Mapping[str, Any] | AnyPath | None = None,
    final_norm: FinalNorm | None = None,
    by: Sequence[str | None] | Parts | None = None,
    source: str | None = None,
) -> Verification:
    """Recompute an audit with the seed and the options in its JSON, and compare every number, text and key.

    Numbers agree to 1e-9 of themselves. The drift of predictions is rounding, so it has
    to lie within its tolerance here and there. Neighbours whose cosines tie may be
    listed in another order, and files may lie in another folder.

    EMB002 compares the predictions with those of a baseline. Without `baseline` the
    text of EMB002 is not compared, but the answer has to be the one that follows from
    EMB002.

    Parameters
    ----------
    record : mapping or path
        What `Audit.to_dict` returned, or the JSON that `embaudit audit` wrote.
    model : FactorModel, path or object
        The model that was audited, read as it was read then.
    baseline : mapping or path, optional
        JSON of the audit that was the baseline of this one.
    final_norm : FinalNorm, optional
        As `audit` takes it.
    by : sequence of str, optional
        The names of the parts, one for each row, if the audit compared named parts.
    source : str, optional
        As `audit` takes it.

    Returns
    -------
    Verification

    Raises
    ------
    InputError
        If the file is damaged or no audit, its options are none that `audit` takes, or
        the scores of the baseline cannot be compared with those of the model.

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
    record = recorded(record)
    # Cheap refusals come first: another version computes other numbers, and another
    # model has another fingerprint.
    difference = _version_difference(record)
    if difference is not None:
        return Verification(0, difference)
    options, seed = _options(record), _seed(record)
    hashes = (
        record["input"].get("fingerprint", ABSENT),
        fingerprint(_declared(model, options)),
    )
    if hashes[0] != hashes[1]:
        named = f"it names {_shown(record['input'].get('source') or 'no file')}"
        other = f"This audit is of another model, or of this one read otherwise: {named}. {ANOTHER} "
        return Verification(
            0,
            Difference(
                "input.fingerprint", _shown(hashes[0]), _shown(hashes[1]), other
            ),
        )
    if options.by is not None and by is None:
        raise must_be(
            "by",
            f"given, since the audit compared parts of the rows by {_shown(options.by)}",
            "nothing",
            Sentence(
                "name the part of each row, or give {} with that column",
                Option("items"),
            ),
        )
    source = source_of(model) if source is None else source
    audited = audit(
        model,
        options=replace(options, by=by),
        final_norm=final_norm,
        source=source,
        rng=seed,
    )
    is_unchecked = baseline is None and _has_moved_predictions(record)
    if baseline is not None:
        audited = _beside(audited, score_change_since(baseline, audited))
    elif is_unchecked:
        # The answer under EMB002 does not depend on its numbers.
        audited = _beside(audited, ScoreChange(0, 0, correlation=0.0))
    current: Mapping[str, Any] = audited.to_dict()
    if is_unchecked:
        record, current = _without_moved(record), _without_moved(current)
    n_numbers = 0
    for where, old, new, tolerance in _leaves(
        "", record, current, _largest_tolerance(current)
    ):
        if not _agree(where, old, new, tolerance):
            return Verification(
                n_numbers, Difference(escaped(where), _shown(old), _shown(new))
            )
        n_numbers += is_number(new)
    return Verification(n_numbers, None, is_unchecked)


def score_change_since(
    baseline: Mapping[str, Any] | AnyPath, audited: Audit
) -> ScoreChange:
    """Compare the scores of an audit with those in the JSON of its baseline.

    Raises
    ------
    InputError
        If the file is no audit, or too few of its rows have scores here.
    """
    sample = recorded(baseline).get("score_sample")
    try:
        change = score_change(sample, audited.score_sample)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise must_be(
            "score_sample of the baseline", "scores of an audit", "other content"
        ) from error
    if change is None:
        raise must_be(
            "score_sample of the baseline",
            "scores of at least 6 rows of each side that the model has, too",
            "none" if sample is None else "others",
            "name the baseline that the audit was made with",
        )
    return change


def _beside(audited: Audit, change: ScoreChange) -> Audit:
    return replace(audited, evidence=replace(audited.evidence, score_change=change))


def _is_moved(finding: Any) -> bool:
    return isinstance(finding, Mapping) and finding.get("code") == AGAINST_BASELINE


def _has_moved_predictions(record: Mapping[str, Any]) -> bool:
    """Return True if a record holds EMB002; a damaged list of findings is compared as it is."""
    findings = record.get("findings")
    return isinstance(findings, list) and any(map(_is_moved, findings))


def _without_moved(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop EMB002, and its sentence where the verdict begins with it."""
    findings, verdict = [], str(record.get("verdict"))
    for finding in record["findings"]:
        if _is_moved(finding):
            verdict = verdict.removeprefix(str(finding.get("text")))
        else:
            findings.append(finding)
    return {**record, "findings": findings, "verdict": verdict}


def equivalent_of(
    record: Mapping[str, Any] | AnyPath,
    model: FactorModel | AnyPath | object,
    name: str,
) -> tuple[FactorModel, EquivalentModel]:
    """Make one of the equivalent models of an audit again, by its name in the JSON.

    Returns
    -------
    model : FactorModel
        The model that was audited, with what the audit declared of it.
    equivalent : EquivalentModel
        The way to the equivalent one.

    Raises
    ------
    InputError
        If the file is no audit of this model by this version, or has no equivalent
        model of this name.

    Examples
    --------
    >>> keys = ("embaudit_version", "schema_version", "seed", "drift")
    >>> equivalent_of({**dict.fromkeys(keys), "input": {}}, FactorModel.from_vectors([[1.0]]), "linear 1")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: embaudit_version of the audit must be "..."; got null; ...
    """
    record = recorded(record)
    difference = _version_difference(record)
    if difference is not None:
        raise must_be(
            f"{difference.where} of the audit",
            difference.recomputed,
            difference.recorded,
            REMEDY,
        )
    # The neighbours shown are drawn after everything else, and may be of rows that have
    # no titles here. The parts of the rows play no part in the equivalent models.
    options, seed = replace(_options(record), show=(), by=None), _seed(record)
    declared_model = _declared(model, options)
    if record["input"].get("fingerprint") != fingerprint(declared_model):
        raise must_be(
            "the model", "the one that was audited", "one of another fingerprint"
        )
    audited = audit(model, options=options, rng=seed)
    if audited.whole is not None:
        raise must_be(
            "the audit",
            "of all rows",
            "one of drawn rows, whose models change these rows only",
            "choose a family of gauges instead",
        )
    evidence = audited.evidence
    heads = (
        ()
        if evidence.head is None
        else (evidence.head.centred, *evidence.head.equivalents)
    )
    equivalents: dict[str, EquivalentModel] = {
        head.name: GaugedModel.from_gauge(head.gauge, head.name, head.kind)
        for head in heads
        if head.gauge is not None
    }
    # Both draw a "linear 1"; the name means the one whose drift stands first in the
    # JSON.
    equivalents |= {equivalent.name: equivalent for equivalent in evidence.equivalents}
    if name not in equivalents:
        raise must_be(
            "the name",
            f"one of {', '.join(equivalents)}",
            repr(name),
            nearest_to(name, equivalents),
        )
    return declared_model, replace(equivalents[name], basis=span_basis(declared_model))


def _options(record: Mapping[str, Any]) -> AuditOptions:
    """Return the options of a file, which are checked like those of an audit."""
    options = record.get("options")
    if not isinstance(options, Mapping) or set(options) != set(OPTION_NAMES):
        got = "none"
        if isinstance(options, Mapping) and options:
            got = ", ".join(map(str, options))
        raise must_be("the options of the audit", ", ".join(OPTION_NAMES), got, REMEDY)
    return AuditOptions(**options)


def _seed(record: Mapping[str, Any]) -> int:
    return as_count(record["seed"], "seed", least=0)


def _version_difference(record: Mapping[str, Any]) -> Difference | None:
    """Find out if another version wrote the file."""
    differ = (name for name, version in VERSIONS.items() if record[name] != version)
    return next(
        (
            Difference(name, _shown(record[name]), _shown(VERSIONS[name]))
            for name in differ
        ),
        None,
    )


def _declared(
    model: FactorModel | AnyPath | object, options: AuditOptions
) -> FactorModel:
    """Return the model as it is audited: with the facts that the options declare."""
    return declared(as_reading(model)[0], options)


def _leaves(
    where: str, old: Any, new: Any, tolerance: float
) -> Iterator[tuple[str, Any, Any, float]]:
    """Yield every value of two documents with its place and what rounding may change of a prediction there.

    Keys that only one of them has stand against `ABSENT`. Neighbours whose cosines tie pass in any order.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        tolerance = new.get("tolerance", tolerance)
        for key in dict.fromkeys([*old, *new]):
            values = old.get(key, ABSENT), new.get(key, ABSENT)
            tie = key in ("before", "after") and _agree_but_for_ties(*values)
            place = f"{where}.{key}" if where else str(key)
            yield from _leaves(
                place, values[1] if tie else values[0], values[1], tolerance
            )
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for position, entries in enumerate(zip(old, new, strict=True)):
            yield from _leaves(f"{where}[{position}]", *entries, tolerance)
    else:
        yield where, old, new, tolerance


def _agree_but_for_ties(old: Any, new: Any) -> bool:
    """Check that two neighbour lists name the same rows, those of one cosine in any order."""
    both = (old, new)
    if not all(isinstance(entries, list) for entries in both) or len(old) != len(new):
        return False
    if not all(
        isinstance(entry, list) and len(entry) == 2
        for entries in both
        for entry in entries
    ):
        return False
    cosines = [cosine for _, cosine in new]
    # Neighbours whose cosines tie may change places: each run of ties is compared as a
    # set.
    runs = list(accumulate((x - y > TIE for x, y in pairwise(cosines)), initial=0))
    names = [
        sorted((run, repr(name)) for run, (name, _) in zip(runs, entries, strict=False))
        for entries in both
    ]
    return names[0] == names[1] and all(
        _agree("", x, y, 0.0) for (_, x), (_, y) in zip(*both, strict=True)
    )


def _agree(where: str, old: Any, new: Any, tolerance: float) -> bool:
    """Check that two values agree but for rounding and folders."""
    if is_number(old) and is_number(new):
        # Drift is rounding, which differs between machines: it has to lie within its
        # tolerance here and there.
        if DRIFT.search(where) and 0 <= old <= tolerance and 0 <= new <= tolerance:
            return True
        absolute = 0.0 if where.rpartition(".")[2] in OWN_SCALE else ROUNDING
        return math.isclose(old, new, rel_tol=TIE, abs_tol=absolute)
    if not (isinstance(old, str) and isinstance(new, str)):
        return type(old) is type(new) and bool(old == new)
    if FILE.search(where):
        return Path(old).name == Path(new).name
    return old == new


def _largest_tolerance(record: Mapping[str, Any]) -> float:
    """Return what rounding can explain of the prediction that moved most."""
    head = record["head"]
    drifts = [
        *record["drift"],
        *([] if head is None else [head["centred"], *head["equivalents"]]),
    ]
    return max((float(drift["tolerance"]) for drift in drifts), default=0.0)


def _shown(value: Any) -> str:
    """Write a value as JSON has it; of long ones the beginning, or how many entries they have."""
    if value is ABSENT:
        return "nothing"
    if isinstance(value, list | Mapping):
        return (
            f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value)}"
        )
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return escaped(text if len(text) <= 120 else f"{text[:120]}...")
