"""What people give as a model: a model, a path to one, or a trained object of another library."""

from __future__ import annotations

import os

from embaudit.io.files import AnyPath
from embaudit.io.intake import Intake, Reading
from embaudit.io.objects.live import from_object, read_object
from embaudit.io.registry import load, read
from embaudit.model import FactorModel


def as_reading(given: FactorModel | AnyPath | object) -> tuple[FactorModel, Intake | None]:
    """Return a model as `as_model` does, and its intake where it was read from a file or an object.

    Examples
    --------
    >>> as_reading(FactorModel.from_vectors([[1.0, 2.0]]))
    (FactorModel(1 item, 2 dimensions, identity link, float64, no users), None)
    """
    if isinstance(given, (str, os.PathLike)):
        given = read(given)
    if isinstance(given, FactorModel):
        return given, None
    found = given if isinstance(given, Reading) else read_object(given)
    return found.model, found.intake


def as_model(given: FactorModel | AnyPath | object) -> FactorModel:
    """Return a model as it is, read one from a path, or take one from an object.

    Parameters
    ----------
    given : FactorModel, path, object or Reading
        What `load` or `from_object` takes; call them yourself where something has to be said about it.

    Raises
    ------
    InputError
        If the file cannot be read or the object is of no known kind.

    Examples
    --------
    >>> as_model({"W": [[1.0, 2.0]]})
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...
    """
    if isinstance(given, (FactorModel, Reading)):
        return given if isinstance(given, FactorModel) else given.model
    return load(given) if isinstance(given, (str, os.PathLike)) else from_object(given)


def source_of(given: object) -> str | None:
    """Say where a model comes from: its path, if that is what was given.

    Examples
    --------
    >>> source_of("model.npz"), source_of(object())
    ('model.npz', None)
    """
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
