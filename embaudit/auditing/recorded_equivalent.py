"""Repeat an equivalent model of an audit, by its name in the record of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from embaudit.auditing.audit import audit, declared
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.record import REMEDY, options_of, read_record, seed_of
from embaudit.auditing.verification import version_difference
from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.canonical.row_span import span_basis
from embaudit.core.words import nearest_to
from embaudit.errors import must_be
from embaudit.io import load
from embaudit.io.files import AnyPath
from embaudit.model import FactorModel
from embaudit.model.fingerprint import fingerprint


def repeat_equivalent(
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
    >>> repeat_equivalent(record, FactorModel.from_vectors([[1.0]]), "linear 1")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: embaudit_version of the audit must be "..."; got null...
    """
    record = read_record(record)
    difference = version_difference(record)
    if difference is not None:
        raise must_be(
            f"{difference.place} of the audit",
            difference.recomputed,
            difference.recorded,
            REMEDY,
        )
    # The rows to show are drawn after everything else, and rows may have no titles
    # here. The parts of the rows do not change the equivalent models.
    options = replace(options_of(record), show=(), by=None, queries=None)
    declared_model = declared(load(model), options)
    if record["input"].get("fingerprint") != fingerprint(declared_model):
        raise must_be(
            "the model",
            "the audited model",
            "a model with another fingerprint",
            "give the file that was audited, and read it with the same options",
        )
    audited = audit(model, options=options, rng=seed_of(record))
    if audited.whole is not None:
        raise must_be(
            "the audit",
            "an audit of all rows",
            "an audit of a sample, whose equivalent models change only the sampled "
            "rows",
            "choose a family of gauges instead",
        )
    equivalents = _equivalents_by_name(audited.evidence)
    if name not in equivalents:
        raise must_be(
            "the name",
            f"one of {', '.join(equivalents)}",
            repr(name),
            nearest_to(name, equivalents),
        )
    return declared_model, replace(equivalents[name], basis=span_basis(declared_model))


def _equivalents_by_name(evidence: Evidence) -> dict[str, EquivalentModel]:
    """Return the equivalent models and equivalent heads of an audit by their names."""
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
    return equivalents
