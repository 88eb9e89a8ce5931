"""embaudit's own model file: an `.npz` without pickle with every field of a model."""

from __future__ import annotations

import json
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.draft import FIELDS, Draft, link_of, text_of
from embaudit.io.formats import register, register_writer
from embaudit.io.intake import Part
from embaudit.io.json_text import parsed
from embaudit.io.npy import Npz, write_npz
from embaudit.io.options import Request
from embaudit.model import ROW_FIELDS
from embaudit.model.final_norm import FinalNorm
from embaudit.model.tying import Tying

VERSION = 1
MARK = "embaudit_format"
"""Name of the array with the version of the format; no other library writes it."""
ARRAYS = ("left", "right", *ROW_FIELDS)
NORM, SHIFT, KIND = "final_norm_gain", "final_norm_shift", "final_norm_kind"
"""Names of the arrays of the final norm. KIND is one text, such as "rms 1e-06"."""
TYING = "tying"


def recognises(path: Path) -> bool:
    """Return True if the file holds the array that only embaudit writes."""
    return MARK in Npz(path).tensors


@register(
    "embaudit",
    suffixes=(".npz",),
    origin="embaudit's own model file",
    content="everything a model has",
    recognises=recognises,
)
def read(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine the fields of a model that `save` wrote.

    Raises
    ------
    InputError
        If a newer version wrote it, or it is damaged.
    """
    stored = Npz(path)
    version = _scalar(stored, MARK, "iu")
    if version != VERSION:
        raise must_be(
            Sentence("the format version of {}", File(path)),
            f"at most {VERSION}",
            version,
            "upgrade embaudit to read it",
        )
    if "right" not in stored.tensors:
        raise InputError(
            "{} must hold an array named right; it holds {}; save it again.",
            File(path),
            ", ".join(stored.tensors),
        )
    arrays = [name for name in ARRAYS if name in stored.tensors]
    fields = {
        name: Source(
            name, partial(stored.__getitem__, name), stored.tensors[name].shape
        )
        for name in arrays
    }
    fields["link"] = Source("link", lambda: link_of(_scalar(stored, "link", "U")))
    fields["offset"] = Source("offset", lambda: _scalar(stored, "offset", "f"))
    objective = _scalar(stored, "objective", "U")
    if objective:
        fields["objective"] = Source.from_value("objective", objective)
    if NORM in stored.tensors:
        fields["final_norm"] = Source(
            NORM, partial(_norm, stored), stored.tensors[NORM].shape
        )
    if TYING in stored.tensors:
        fields["tying"] = Source("", partial(_tying, stored))
    names = {*fields, "objective", MARK, NORM, SHIFT, KIND, "left_role", "right_role"}
    rest = (
        Part(name, "", tensor.shape)
        for name, tensor in stored.tensors.items()
        if name not in names
    )
    roles = _scalar(stored, "left_role", "U"), _scalar(stored, "right_role", "U")
    return Contents(fields, tuple(rest), roles=roles)


def _norm(stored: Npz) -> FinalNorm:
    """Read the final norm; kind and epsilon are one text."""
    kind, _, epsilon = str(_scalar(stored, KIND, "U")).partition(" ")
    try:
        shift = stored[SHIFT] if SHIFT in stored.tensors else None
        return FinalNorm(kind, stored[NORM], shift, float(epsilon))  # type: ignore[arg-type]
    except ValueError as error:
        what = Sentence("the final norm in {}", File(stored.path))
        raise must_be(
            what, "a norm that embaudit wrote", repr(kind), "save it again"
        ) from error


def _tying(stored: Npz) -> Tying:
    """Read a JSON list of the status, the name of the embeddings and the reason."""
    text = _scalar(stored, TYING, "U")
    try:
        status, embedding, because = map(str, parsed(text.encode()))
        return Tying(status, embedding, because)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        what = Sentence("the tying in {}", File(stored.path))
        raise must_be(
            what, "an entry that embaudit wrote", repr(text), "save it again"
        ) from error


def _scalar(stored: Npz, name: str, kinds: str) -> Any:
    """Read one value, whose type must be of one of some kinds of NumPy."""
    value = stored[name] if name in stored.tensors else np.empty(0)
    if value.shape != () or value.dtype.kind not in kinds:
        raise InputError(
            "{} in {} must be one value; got {} {}; save it again.",
            name,
            File(stored.path),
            value.dtype,
            value.shape,
        )
    return value.item()


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Return all fields of a model."""
    return frozenset({"left", *FIELDS})


@register_writer("embaudit", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write all fields of the model in their own precision."""
    left_role, right_role = draft.roles
    scalars = {
        MARK: VERSION,
        "link": text_of(draft.link),
        "offset": float(draft.fields.get("offset", 0.0)),
        "left_role": left_role,
        "right_role": right_role,
        "objective": draft.fields.get("objective") or "",
    }
    labels = {
        name: draft.fields[name]
        for name in ROW_FIELDS
        if draft.fields.get(name) is not None
    }
    norm: FinalNorm | None = draft.fields.get("final_norm")
    if norm is not None:
        labels[NORM] = norm.gain
        labels[KIND] = f"{norm.kind} {norm.epsilon!r}"
        if norm.shift is not None:
            labels[SHIFT] = norm.shift
    tying: Tying | None = draft.fields.get("tying")
    if tying is not None:
        labels[TYING] = json.dumps(astuple(tying))
    write_npz(
        file,
        {name: np.asarray(value) for name, value in {**scalars, **labels}.items()},
        draft.streams,
    )
