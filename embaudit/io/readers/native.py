"""embaudit's own model file: an `.npz` without pickle that holds everything a FactorModel does."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.codecs import npz
from embaudit.io.codecs.npz import Npz
from embaudit.io.draft import FIELDS, LABELS, Draft, link_of, text_of
from embaudit.io.intake import Intake, Part
from embaudit.io.request import Request, as_kind
from embaudit.model import FactorModel

VERSION = 1
MARK = "embaudit_format"
ARRAYS = ("left", "right", *LABELS)


def recognises(path: Path) -> bool:
    """Whether the file says that it is ours."""
    return MARK in Npz(path)


def read(path: Path, request: Request) -> FactorModel:
    """Read a model that `save` wrote.

    Raises
    ------
    InputError
        If a newer version wrote it, or it is damaged.
    """
    stored = Npz(path)
    version = _scalar(stored, MARK, "iu")
    if version != VERSION:
        raise must_be(f"the format version of {path}", f"at most {VERSION}", version, "upgrade embaudit to read it")
    if "right" not in stored:
        raise InputError(f"{path} must hold an array named right; it holds {', '.join(stored.tensors)}; save it again.")
    arrays = {name: stored[name] for name in ARRAYS if name in stored}
    model = FactorModel(
        **{"left": None, **arrays},  # type: ignore[arg-type]
        link=link_of(_scalar(stored, "link", "U")),
        offset=_scalar(stored, "offset", "f"),
        roles=(_scalar(stored, "left_role", "U"), _scalar(stored, "right_role", "U")),
        objective=_scalar(stored, "objective", "U") or None,
    )
    return as_kind(model, request.kind)


def look(path: Path, request: Request) -> Intake:  # noqa: ARG001
    """Say which fields the file has, from headers alone."""
    stored = Npz(path)
    parts = (Part(name, name, stored.tensors[name].shape) for name in ARRAYS if name in stored)
    told = (Part(name, name) for name in ("link", "offset", "objective") if name in stored)
    known = {*ARRAYS, MARK, "link", "offset", "objective", "left_role", "right_role"}
    rest = (Part(name, "", tensor.shape) for name, tensor in stored.tensors.items() if name not in known)
    return Intake("embaudit", (str(path),), (*parts, *told), tuple(rest))


def _scalar(stored: Npz, name: str, kinds: str) -> Any:
    value = stored[name] if name in stored else np.empty(0)
    if value.shape != () or value.dtype.kind not in kinds:
        raise InputError(f"{name} in {stored.path} must be one value; got {value.dtype} {value.shape}; save it again.")
    return value.item()


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Everything."""
    return frozenset({"left", *FIELDS})


def write(file: IO[bytes], draft: Draft) -> None:
    """Write everything the model holds; precision is kept."""
    left_role, right_role = draft.roles
    scalars = {
        MARK: VERSION,
        "link": text_of(draft.link),
        "offset": float(draft.fields.get("offset", 0.0)),
        "left_role": left_role,
        "right_role": right_role,
        "objective": draft.fields.get("objective") or "",
    }
    labels = {name: draft.fields[name] for name in LABELS if draft.fields.get(name) is not None}
    npz.write(file, {name: np.asarray(value) for name, value in {**scalars, **labels}.items()}, draft.streams)
