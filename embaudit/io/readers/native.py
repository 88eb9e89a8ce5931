"""embaudit's own model file: an `.npz` without pickle that holds everything a FactorModel does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.npz import Npz
from embaudit.io.files import written_whole
from embaudit.io.request import as_kind
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from pathlib import Path

    from embaudit.io.files import AnyPath
    from embaudit.io.request import Request

VERSION = 1
MARK = "embaudit_format"
ARRAYS = ("left", "right", "left_bias", "right_bias", "left_ids", "right_ids", "left_names", "right_names")


def recognises(path: Path) -> bool:
    """Whether the file says that it is ours."""
    return MARK in Npz(path)


def read(path: Path, request: Request) -> FactorModel:
    """Read a model that `write` wrote.

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
        raise InputError(f"{path} must hold an array named right; it holds {', '.join(stored.shapes)}; save it again.")
    arrays = {name: stored[name] for name in ARRAYS if name in stored}
    model = FactorModel(
        **{"left": None, **arrays},  # type: ignore[arg-type]
        link=_scalar(stored, "link", "U"),
        offset=_scalar(stored, "offset", "f"),
        roles=(_scalar(stored, "left_role", "U"), _scalar(stored, "right_role", "U")),
        objective=_scalar(stored, "objective", "U") or None,
    )
    return as_kind(model, request.kind)


def _scalar(stored: Npz, name: str, kinds: str) -> Any:
    value = stored[name] if name in stored else np.empty(0)
    if value.shape != () or value.dtype.kind not in kinds:
        raise InputError(f"{name} in {stored.path} must be one value; got {value.dtype} {value.shape}; save it again.")
    return value.item()


def write(model: FactorModel, path: AnyPath, *, force: bool = False) -> None:
    """Write everything the model holds; precision is kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from embaudit.io import load, save
    >>> model = FactorModel.from_user_item([[1.0]], [[2.0], [3.0]], item_ids=["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.npz"))
    ...     load(Path(folder, "model.npz")).right_ids
    array(['a', 'b'], dtype='<U1')
    """
    arrays = {name: getattr(model, name) for name in ARRAYS if getattr(model, name) is not None}
    with written_whole(path, force=force) as file:
        np.savez(
            file,
            allow_pickle=False,
            **{
                MARK: np.array(VERSION),
                "link": np.array(str(model.link)),
                "offset": np.array(model.offset),
                "left_role": np.array(model.roles[0]),
                "right_role": np.array(model.roles[1]),
                "objective": np.array(model.objective or ""),
                **arrays,
            },
        )
