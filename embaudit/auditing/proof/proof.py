"""Proof: the claims of an audit that can be checked, and what they are checked with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from embaudit._version import __version__
from embaudit.auditing.claims import Claim, Kind
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.proof import freedom, labels, limits, shown
from embaudit.auditing.proof import verify as checker
from embaudit.auditing.proof.part import Part, dropping
from embaudit.canonical.span import span_basis
from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Floats
from embaudit.foundation.plain import plain
from embaudit.io import as_model, written_whole
from embaudit.io.codecs import npz
from embaudit.io.files import AnyPath, existing_file
from embaudit.model import FactorModel

Prover = Callable[[Evidence, Claim], Part]
Entry = tuple[dict[str, Any], Part]

FORMAT = 1
"""Raised when a record changes its meaning."""
SIDES = ("left", "right", "left_bias", "right_bias")
"""The arrays of a model."""
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


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """The claims of an audit that are shown or proven, with all that a checker needs beside the model.

    Examples
    --------
    >>> from embaudit import FactorModel, audit
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(9, 2)), draw.normal(size=(8, 2)))
    >>> proof = audit(model, n_gauges=1, roles=["right"]).proof()
    >>> any(problem for _, problem in verify(proof, model))
    False
    """

    record: Mapping[str, Any]
    """What the model is, and the claims with their numbers; plain values."""
    arrays: Mapping[str, NDArray[Any]]
    """What the record names."""

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self.arrays.values())
        return f"Proof({len(self.record['claims'])} claims, {size / 2**20:.2g} MB)"

    @property
    def contents(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file, the record among them as text."""
        return {"record": np.array(json.dumps(self.record)), **self.arrays}

    def save(self, path: AnyPath, *, force: bool = False) -> None:
        """Write an `.npz` file that the checker reads.

        Raises
        ------
        InputError
            If it cannot be written, or is there already and `force` is not set.
        """
        with written_whole(path, force=force) as file:
            self.write(file)

    def write(self, file: BinaryIO) -> None:
        """Write it to a file that is open."""
        npz.write(file, self.contents, {})

    @classmethod
    def load(cls, path: AnyPath) -> Proof:
        """Read what `save` wrote; nothing is unpickled.

        Raises
        ------
        InputError
            If it is damaged, or no proof.
        """
        archive = npz.Npz(existing_file(path))
        remedy = "write one with `embaudit audit --proof`"
        if "record" not in archive:
            raise must_be("the proof", "a file that embaudit wrote", path, remedy)
        arrays = {name: archive[name] for name in archive.tensors}
        try:
            record = json.loads(str(arrays.pop("record")))
            known = record["format"] == FORMAT and {"link", "arrays"} <= set(record["model"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise must_be(
                "the proof", "a file that embaudit wrote", f"{path}, whose record is damaged", remedy
            ) from error
        if not known or not isinstance(record["claims"], list):
            raise must_be("the proof", f"of format {FORMAT}", f"{path}, of another one", remedy)
        return cls(record, arrays)


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
    arrays = {name: getattr(model, name) for name in SIDES}
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


def verify(proof: Proof | AnyPath, model: FactorModel | AnyPath | object) -> list[tuple[str, str]]:
    """Check every claim of a proof on a model.

    Parameters
    ----------
    proof : Proof or path
        What `Audit.proof` made.
    model : FactorModel, path or object
        What was audited.

    Returns
    -------
    list of (str, str)
        Each array of the model and each claim, with what is wrong; an empty text where it stands.

    Raises
    ------
    InputError
        If the file is damaged, or the model predicts by another link.
    """
    known = proof if isinstance(proof, Proof) else Proof.load(proof)
    given = as_model(model)
    said = known.record["model"]["link"]["name"]
    if str(given.link.name) != said:
        raise InputError(f"the model must have the {said} link of the proof; got {given.link.name}; name it by link.")
    return checker.verify(known.contents, {name: getattr(given, name) for name in SIDES})
