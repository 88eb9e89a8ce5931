"""Recompute an audit from its JSON, to verify it or to repeat an equivalent model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from embaudit._version import __version__
from embaudit.auditing.audit import Audit, audit, declared
from embaudit.auditing.identity import ScoreChange, score_change
from embaudit.auditing.options import IN_MEMORY, OPTION_NAMES, AuditOptions
from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.canonical.row_span import span_basis
from embaudit.core.checked import as_count, is_number
from embaudit.core.plain import SCHEMA_VERSION
from embaudit.core.tolerances import ROUNDING, TIE
from embaudit.core.words import counted, nearest_to
from embaudit.errors import Option, Sentence, escaped, must_be
from embaudit.io import load, source_of
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed_once
from embaudit.io.tables.parts import Parts
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.model.fingerprint import fingerprint
from embaudit.model.trainings import known_training

MAX_BYTES = 2**28
"""Largest size of a JSON that is parsed. An audit of 10,000 draws from each group
writes half as much.
"""
OWN_SCALE = ("tolerance", "chance")
"""Keys of small numbers that are not rounding errors."""
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
"""Places of the drift of predictions, which the first note reports."""
FILE = re.compile(r"(^|\.)(source|files(\[\d+\])?)$|^options\.queries$")
"""Places of names of files, which can be in another folder."""
ABSENT = object()
"""Stands for the value of a key that one of two documents does not have."""
AGAINST_BASELINE = "EMB002"
"""Code of the finding that only an audit with a baseline has."""


@dataclass(frozen=True)
class Difference:
    """A place where the JSON of an audit differs from the recomputed audit."""

    where: str
    """Keys and positions that lead to the place, such as `notes[2].value`."""
    recorded: str
    """Value in the file."""
    recomputed: str
    """Value of the recomputation."""
    meaning: str = ""
    """Sentences that explain the difference; empty if the place explains it."""

    def __str__(self) -> str:
        """Return the meaning, and the two values."""
        text = f"{self.where}: the file says {self.recorded}; it is {self.recomputed}"
        if self.where in VERSIONS:
            text += "; verify it with the version that wrote it"
        if self.meaning:
            text = f"{self.meaning} {text}"
        return f"{text}."


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
    """True if the file has the finding EMB002 but no baseline was given, so that this
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
            text += f" {AGAINST_BASELINE} needs the baseline: not recomputed."
        return text


def read_record(audited: Mapping[str, Any] | AnyPath) -> Mapping[str, Any]:
    """Return the JSON of an audit, which is read if a path is given.

    Raises
    ------
    InputError
        If the file is too large or damaged, has a number that is not finite, or is not
        the JSON of an audit.
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
            f"{name}, which has other content",
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
    difference = _version_difference(record)
    if difference is not None:
        return Verification(0, difference)
    options, seed = _options(record), _seed(record)
    recorded_hash = record["input"].get("fingerprint", ABSENT)
    current_hash = fingerprint(_declared(model, options))
    if recorded_hash != current_hash:
        file_name = _shown(record["input"].get("source") or "no file")
        difference = Difference(
            "input.fingerprint",
            _shown(recorded_hash),
            _shown(current_hash),
            "This audit is of another model, or of this one read otherwise: it names "
            f"{file_name}. {ANOTHER}",
        )
        return Verification(0, difference)
    if options.by is not None and by is None:
        raise must_be(
            "by",
            "given, because the audit compared parts of the rows by "
            f"{_shown(options.by)}",
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
    is_unchecked = baseline is None and _has_moved_predictions(record)
    if baseline is not None:
        audited = _with_change(audited, score_change_since(baseline, audited))
    elif is_unchecked:
        # The answer under EMB002 does not depend on its numbers.
        audited = _with_change(audited, ScoreChange(0, 0, correlation=0.0))
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


def parts_column(record: Mapping[str, Any]) -> str | None:
    """Return the column that names the part of each row in the JSON of an audit.

    None if the audit compared no named parts, or if its options are damaged.

    Examples
    --------
    >>> parts_column({"options": {"by": "language"}}), parts_column({})
    ('language', None)
    """
    options = record.get("options")
    if not isinstance(options, Mapping):
        return None
    column = options.get("by")
    if not isinstance(column, str):
        return None
    return column


def declared_training(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the options in the JSON of an audit that declare the training.

    Examples
    --------
    >>> declared_training({"options": {"objective": None, "compared": "dot"}})
    {'compared': 'dot'}
    """
    options = record.get("options")
    if not isinstance(options, Mapping):
        return {}
    declarations = {}
    for name in ("objective", "compared"):
        value = options.get(name)
        if isinstance(value, str):
            declarations[name] = value
    return declarations


def require_declared_training(
    record: Mapping[str, Any], *, objective: str | None, compared: str | None
) -> None:
    """Check that a repeated training agrees with the training that an audit declares.

    Options with the value None are not compared, because the caller did not repeat
    them. An audit without a declaration agrees with every training, because the
    training was an option of reading then.

    Raises
    ------
    InputError
        If an option differs from the same option of the audit, or if the audit lacks
        it. Two words for the same training agree.

    Examples
    --------
    >>> record = {"options": {"objective": None, "compared": "cosine"}}
    >>> require_declared_training(record, objective=None, compared="cosine")
    >>> require_declared_training(record, objective=None, compared="dot")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: compared must be as in the audit, which declares
    compared='cosine'; got 'dot'.
    """
    declarations = declared_training(record)
    if not declarations:
        return
    declaration_texts = [Option(name, value) for name, value in declarations.items()]
    places = " and ".join(["{}"] * len(declaration_texts))
    expected = Sentence(f"as in the audit, which declares {places}", *declaration_texts)
    for name, value in (("objective", objective), ("compared", compared)):
        if value is None:
            continue
        declaration = declarations.get(name)
        training = known_training(value)
        is_same_training = training is not None and training == known_training(
            declaration
        )
        if value != declaration and not is_same_training:
            raise must_be(name, expected, repr(value))


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


def _with_change(audited: Audit, change: ScoreChange) -> Audit:
    """Add the change of the scores since a baseline to the evidence."""
    return replace(audited, evidence=replace(audited.evidence, score_change=change))


def _needs_baseline(finding: Any) -> bool:
    """Return True for a finding that compares with a baseline."""
    return isinstance(finding, Mapping) and finding.get("code") == AGAINST_BASELINE


def _has_moved_predictions(record: Mapping[str, Any]) -> bool:
    """Return True if a record has the finding EMB002."""
    findings = record.get("findings")
    return isinstance(findings, list) and any(map(_needs_baseline, findings))


def _without_moved(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop EMB002 and its sentence at the beginning of the verdict."""
    findings, verdict = [], str(record.get("verdict"))
    for finding in record["findings"]:
        if _needs_baseline(finding):
            verdict = verdict.removeprefix(str(finding.get("text")))
        else:
            findings.append(finding)
    return {**record, "findings": findings, "verdict": verdict}


def equivalent_of(
    record: Mapping[str, Any] | AnyPath,
    model: FactorModel | AnyPath | object,
    name: str,
) -> tuple[FactorModel, EquivalentModel]:
    """Repeat an equivalent model of an audit by its name in the JSON.

    Returns
    -------
    model : FactorModel
        The audited model, with the facts that the audit declared about it.
    equivalent : EquivalentModel
        The way from the audited model to the equivalent model.

    Raises
    ------
    InputError
        If the file is not an audit of this model by this version, or if it has no
        equivalent model of this name.

    Examples
    --------
    >>> keys = ("embaudit_version", "schema_version", "seed", "drift")
    >>> record = {**dict.fromkeys(keys), "input": {}}
    >>> equivalent_of(record, FactorModel.from_vectors([[1.0]]), "linear 1")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: embaudit_version of the audit must be "..."; got null...
    """
    record = read_record(record)
    difference = _version_difference(record)
    if difference is not None:
        raise must_be(
            f"{difference.where} of the audit",
            difference.recomputed,
            difference.recorded,
            REMEDY,
        )
    # The rows to show are drawn after everything else, and rows may have no titles
    # here. The parts of the rows do not change the equivalent models.
    options, seed = (
        replace(_options(record), show=(), by=None, queries=None),
        _seed(record),
    )
    declared_model = _declared(model, options)
    if record["input"].get("fingerprint") != fingerprint(declared_model):
        raise must_be(
            "the model",
            "the audited model",
            "a model with another fingerprint",
            "give the file that was audited, and read it with the same options",
        )
    audited = audit(model, options=options, rng=seed)
    if audited.whole is not None:
        raise must_be(
            "the audit",
            "an audit of all rows",
            "an audit of a sample, whose equivalent models change only the sampled "
            "rows",
            "choose a family of gauges instead",
        )
    evidence = audited.evidence
    equivalents: dict[str, EquivalentModel] = {}
    if evidence.head is not None:
        for head in (evidence.head.centred, *evidence.head.equivalents):
            if head.gauge is not None:
                equivalents[head.name] = GaugedModel.from_gauge(
                    head.gauge, head.name, head.kind
                )
    # An equivalent head can have the name of an equivalent model, such as "linear 1".
    # The name means the model, whose drift comes first in the JSON.
    for equivalent in evidence.equivalents:
        equivalents[equivalent.name] = equivalent
    if name not in equivalents:
        raise must_be(
            "the name",
            f"one of {', '.join(equivalents)}",
            repr(name),
            nearest_to(name, equivalents),
        )
    return declared_model, replace(equivalents[name], basis=span_basis(declared_model))


def _options(record: Mapping[str, Any]) -> AuditOptions:
    """Return the options of a file, which are checked like options of a caller."""
    options = record.get("options")
    if not isinstance(options, Mapping) or set(options) != set(OPTION_NAMES):
        got = "none"
        if isinstance(options, Mapping) and options:
            got = ", ".join(map(str, options))
        raise must_be("the options of the audit", ", ".join(OPTION_NAMES), got, REMEDY)
    return AuditOptions(**options)


def _queries(
    options: AuditOptions, queries: FactorModel | AnyPath | NDArray[Any] | None
) -> str | AnyPath | FactorModel | NDArray[Any] | None:
    """Return the given queries, or else the file of queries that the options name."""
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


def _seed(record: Mapping[str, Any]) -> int:
    return as_count(record["seed"], "seed", least=0)


def _version_difference(record: Mapping[str, Any]) -> Difference | None:
    """Return the difference between the versions; None if the same version wrote it."""
    for name, version in VERSIONS.items():
        if record[name] != version:
            return Difference(name, _shown(record[name]), _shown(version))
    return None


def _declared(
    model: FactorModel | AnyPath | object, options: AuditOptions
) -> FactorModel:
    """Return the model with the facts that the options declare about it."""
    return declared(load(model), options)


def _leaves(
    where: str, old: Any, new: Any, tolerance: float
) -> Iterator[tuple[str, Any, Any, float]]:
    """Yield all values of two documents as place, old value, new value and tolerance.

    The tolerance is the largest change of a prediction by rounding. The value of a key
    that a document does not have is `ABSENT`. Neighbour lists are yielded as equal if
    they differ only in the order of neighbours with tied cosines.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        tolerance = new.get("tolerance", tolerance)
        for key in dict.fromkeys([*old, *new]):
            old_value, new_value = old.get(key, ABSENT), new.get(key, ABSENT)
            is_list_of_neighbours = key in ("before", "after")
            if is_list_of_neighbours and _agree_but_for_ties(old_value, new_value):
                old_value = new_value
            place = str(key)
            if where:
                place = f"{where}.{key}"
            yield from _leaves(place, old_value, new_value, tolerance)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for position, entries in enumerate(zip(old, new, strict=True)):
            yield from _leaves(f"{where}[{position}]", *entries, tolerance)
    else:
        yield where, old, new, tolerance


def _agree_but_for_ties(old: Any, new: Any) -> bool:
    """Return True if two neighbour lists are equal up to the order of ties."""
    if not (_is_list_of_pairs(old) and _is_list_of_pairs(new)):
        return False
    if len(old) != len(new):
        return False
    # Neighbours with tied cosines form a run. Each run is compared as a set.
    cosines = [cosine for _, cosine in new]
    runs = list(accumulate((x - y > TIE for x, y in pairwise(cosines)), initial=0))
    if _names_by_run(runs, old) != _names_by_run(runs, new):
        return False
    return all(
        _agree("", old_cosine, new_cosine, 0.0)
        for (_, old_cosine), (_, new_cosine) in zip(old, new, strict=True)
    )


def _is_list_of_pairs(value: Any) -> bool:
    """Return True for a list of lists with two entries."""
    return isinstance(value, list) and all(
        isinstance(entry, list) and len(entry) == 2 for entry in value
    )


def _names_by_run(runs: Sequence[int], entries: Sequence[Any]) -> list[tuple[int, str]]:
    """Return the names of neighbours with the run of each, sorted."""
    # Without entries there still is one run, so the lengths can differ.
    pairs = zip(runs, entries, strict=False)
    return sorted((run, repr(name)) for run, (name, _) in pairs)


def _agree(where: str, old: Any, new: Any, tolerance: float) -> bool:
    """Return True if two values agree up to rounding and up to folders."""
    if is_number(old) and is_number(new):
        # Drift is rounding, which differs between machines, so both values have to lie
        # within the tolerance.
        if DRIFT.search(where) and 0 <= old <= tolerance and 0 <= new <= tolerance:
            return True
        absolute = ROUNDING
        if where.rpartition(".")[2] in OWN_SCALE:
            absolute = 0.0
        return math.isclose(old, new, rel_tol=TIE, abs_tol=absolute)
    if not (isinstance(old, str) and isinstance(new, str)):
        return type(old) is type(new) and bool(old == new)
    if FILE.search(where):
        return Path(old).name == Path(new).name
    return old == new


def _largest_tolerance(record: Mapping[str, Any]) -> float:
    """Return the largest tolerance for the drift of a prediction."""
    drifts, head = list(record["drift"]), record["head"]
    if head is not None:
        drifts += [head["centred"], *head["equivalents"]]
    return max((float(drift["tolerance"]) for drift in drifts), default=0.0)


def _shown(value: Any) -> str:
    """Write a value as JSON does.

    Long texts are cut, and only the number of entries is written for a list or object.
    """
    if value is ABSENT:
        return "nothing"
    if isinstance(value, Mapping):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) > 120:
        text = f"{text[:120]}..."
    return escaped(text)
