"""Proof: the claims of an audit that can be checked, and what they are checked with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

import embaudit.io.proofs.verify as checker
from embaudit.errors import InputError, must_be
from embaudit.foundation.typed import typed
from embaudit.foundation.workers import one_blas_thread
from embaudit.io import as_model, written_whole
from embaudit.io.codecs import npz
from embaudit.io.files import AnyPath, existing_file
from embaudit.model import FactorModel

FORMAT = 1
"""Raised when a record changes its meaning."""


@dataclass(frozen=True, eq=False)
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

    @typed
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
    with one_blas_thread():
        return checker.verify(known.contents, {name: getattr(given, name) for name in checker.SIDES})
