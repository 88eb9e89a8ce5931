"""The proof of an audit: what proves each of its claims that is shown or proven."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import embaudit.io.proofs.verify as checker
from embaudit._version import __version__
from embaudit.auditing.claims import Claim, Kind
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.proof import freedom, labels, limits, shown
from embaudit.auditing.proof.part import Part, dropping
from embaudit.canonical.span import span_basis
from embaudit.errors import must_be
from embaudit.foundation.checked import Floats
from embaudit.foundation.plain import plain
from embaudit.io.proofs.proof import FORMAT, Proof
from embaudit.model import FactorModel

Prover = Callable[[Evidence, Claim], Part]
Entry = tuple[dict[str, Any], Part]

PROVERS: dict[str, Prover] = {
    "moved": shown.moved,
    "origin": shown.origin,
    "origin-decides": shown.origin,
    "declared": shown.declared,
    "norm": shown.folded,
    "norm-decides": shown.folded,
    "shortest": shown.shortest,
    "stretched": shown.stretched,
    "reached": shown.reached,
    "range": limits.ranges,
    "certified": limits.certified,
    "bound": limits.bound,
    "free": freedom.free,
    "identification": freedom.other_metric,
    "pinned": freedom.pinned,
    "outside": freedom.outside,
    "argmax": labels.argmax,
    "simplex": labels.simplex,
}
"""What proves a claim, by what it is about."""
AS_STORED = ("norm", "norm-decides")
"""Claims about all columns as they are stored, however many."""


class _Shelf:
    """Arrays under short names, equal ones once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._known: dict[tuple[Any, ...], str] = {}

    def put(self, array: NDArray[Any]) -> str:
        array = np.ascontiguousarray(array)
        key = array.shape, str(array.dtype), array.tobytes()
        if key not in self._known:
            self._known[key] = f"a{len(self.arrays)}"
            self.arrays[self._known[key]] = array
        return self._known[key]


def prove(model: FactorModel, evidence: Evidence, claims: Iterable[Claim]) -> Proof:
    """Collect what proves each claim of an audit that is shown or proven.

    Parameters
    ----------
    model : FactorModel
        The whole model.
    evidence : Evidence
        What was measured on it.
    claims : iterable of Claim
        All of them.

    Raises
    ------
    InputError
        If the audit's own check failed: then nothing in it can be trusted.
    """
    if not evidence.predictions_hold:
        raise must_be("a proof", "of an audit whose predictions hold", "one where they moved (EMB001)")
    shelf, firm = _Shelf(), [claim for claim in claims if claim.kind in (Kind.SHOWN, Kind.PROVEN)]
    arrays = {name: getattr(model, name) for name in checker.SIDES}
    said = {
        "link": {"soft_cap": None, "unit_rows": False} | vars(model.link) | {"name": str(model.link.name)},
        "arrays": {name: None if x is None else checker.digest(np.asarray(x)) for name, x in arrays.items()},
    }
    span = span_basis(model)
    parts = [(claim.to_dict(), PROVERS[claim.about](evidence, claim)) for claim in firm]
    parts += _reductions(evidence)
    # Gains of a final norm belong to the columns that are stored.
    parts = [(claim, part if claim["name"] in AS_STORED else part.and_(span=span)) for claim, part in parts]
    entries = [_entry(*entry, said, shelf) for entry in (*parts, *_spans(span))]
    return Proof({"format": FORMAT, "embaudit_version": __version__, "model": said, "claims": entries}, shelf.arrays)


def _reductions(evidence: Evidence) -> list[Entry]:
    """State what limits rest on where predictions do not see every dimension."""
    found = evidence.fibre.reduction
    if found is None or found.is_whole:
        return []
    text = f"{found.effective_rank} of {evidence.model.rank} dimensions make the same predictions."
    return [_premise("reduction", text, dropping(evidence.model, found.basis, found.basis))]


def _spans(span: Floats | None) -> list[Entry]:
    """State what everything rests on where there are more columns than rows to span them."""
    if span is None:
        return []
    text = f"All rows lie in {span.shape[1]:,} of {len(span):,} dimensions."
    return [_premise("span", text, Part({"gauge_left": span}))]


def _premise(name: str, text: str, part: Part) -> Entry:
    scope = {"models": "the model at hand", "max_condition": None, "max_shift": None}
    return {"name": name, "kind": "proven", "text": text, "value": None, "scope": scope}, part


def _entry(claim: dict[str, Any], part: Part, said: dict[str, Any], shelf: _Shelf) -> dict[str, Any]:
    names = {name: shelf.put(array) for name, array in part.arrays.items()}
    whole = claim | {"proof": {"arrays": names, "numbers": part.numbers, **part.facts}}
    entry: dict[str, Any] = json.loads(json.dumps(plain(whole)))
    stored = [shelf.arrays[key] for _, key in sorted(names.items())]
    return entry | {"digest": checker.digest(entry, said, *stored)}
