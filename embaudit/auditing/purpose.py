"""What tells one audit from another: pieces of one must never be taken for those of another."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from embaudit._version import __version__
from embaudit.auditing.fingerprint import fingerprint
from embaudit.errors import must_be
from embaudit.io.pieces import UnknownError, told_apart

if TYPE_CHECKING:
    from embaudit.model import FactorModel

NUMERICS = ("numpy", "scipy")
"""Packages whose versions decide on the last bits."""


def purpose(model: FactorModel, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Hash the version, the input and each parameter of an audit.

    Raises
    ------
    InputError
        If a parameter is no value, such as a group of one's own.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> one = FactorModel.from_vectors([[1.0], [2.0]])
    >>> other = FactorModel.from_vectors([[1.0], [2.0]], ids=["a", "b"])
    >>> mine, yours = (purpose(model, {"n_gauges": 2}) for model in (one, other))
    >>> [name for name in mine if mine[name] != yours[name]]
    ['input']
    """
    sides = [model.side(side) for side in model.sides]
    known = [(side.ids, side.names, side.counts, side.title) for side in sides]
    used = [f"{__version__}", *(f"{name} {version(name)}" for name in NUMERICS)]
    found = {"version": ", ".join(used), "input": told_apart((fingerprint(model), model.objective, known))}
    return found | {name: _told(name, value) for name, value in parameters.items()}


def _told(name: str, value: Any) -> str:
    try:
        return told_apart(value)
    except UnknownError as error:
        raise must_be(name, "made of what this package has, where pieces are kept", repr(value)) from error
