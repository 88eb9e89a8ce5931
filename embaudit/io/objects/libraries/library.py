"""How the objects of one library become models of factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.errors import must_be
from embaudit.io.arrays import as_array
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.options import Request
from embaudit.model import FactorModel

FLAGS_OF_BIASES = ("biased", "use_bias")
"""Attributes that are False if a model of Surprise or cornac adds no biases. The model
can still hold biases of an earlier fit.
"""


@dataclass(frozen=True)
class Computed:
    """A value that a function computes from an object, instead of one attribute."""

    name: str
    """Name of the value in a report."""
    compute: Callable[[Any], Any]
    """Returns the value; None if the object has no such value."""


Place: TypeAlias = "str | Computed"
"""Where an object holds a value: the path of an attribute such as "trainset.mean", or a
function.
"""
Tables: TypeAlias = "tuple[Place | None, Place]"
"""Places of the left and the right factors. The left one is None for one table."""


@dataclass(frozen=True, eq=False)
class Found:
    """A value that an object holds, and the name of its place."""

    place: str
    value: Any


@dataclass(frozen=True, eq=False)
class Query:
    """A question to an object: what are the scores of one left row and right rows?"""

    source: Any
    """The object of the library."""
    model: FactorModel
    """The model that was read from it."""
    request: Request
    left: int
    """Number of the left row."""
    right: Indices
    """(n,) Numbers of the right rows, in ascending order."""

    @property
    def left_id(self) -> Any:
        """Id of the left row; its number if the model has no ids."""
        ids = self.model.left_ids
        return self.left if ids is None else ids[self.left]

    @property
    def right_ids(self) -> Any:
        """(n,) Ids of the right rows; their numbers if the model has no ids."""
        ids = self.model.right_ids
        return self.right if ids is None else ids[self.right]


@dataclass(frozen=True, kw_only=True)
class Library:
    """One library: the places of all fields of a model in its objects."""

    packages: tuple[str, ...]
    """Top-level packages that define its classes."""
    classes: tuple[str, ...] = ()
    """Names of its classes, or of classes that they inherit from; any by default."""
    tables: Sequence[Tables]
    """Places of the factors. The first entry whose places all exist counts."""
    fields: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Places of the biases, the ids and the offset, by the field of a model. The first
    place that exists counts.
    """
    build: Callable[[Any, dict[str, Any], Request], FactorModel]
    """Builds the model from an object and its fields, with link and objective."""
    options: tuple[str, ...] = ()
    """Options of `load` for facts that the objects do not state."""
    predicts: Mapping[str, Callable[[Query], Any]] = field(default_factory=dict)
    """Functions that return the scores of the library itself, by the method of the
    object that they call. The first method that the object has counts.
    """

    def find_tables(self, source: Any) -> dict[str, Found]:
        """Return the factors of an object by side; empty if it has none."""
        for left_place, right_place in self.tables:
            right = _find(source, right_place)
            if right is None:
                continue
            if left_place is None:
                return {"right": right}
            left = _find(source, left_place)
            if left is not None:
                return {"left": left, "right": right}
        return {}

    def read(self, source: Any, request: Request) -> Contents:
        """Read an object.

        Raises
        ------
        InputError
            If it has no factors: it is not fitted, or a model of another kind.
        """
        tables = self.find_tables(source)
        if not tables:
            raise must_be(
                f"a model of {self.packages[0]}",
                "fitted, with factors of users and items",
                f"{type(source).__name__} without factors",
                "fit it first, or pass the tables it multiplies to "
                "FactorModel.from_user_item",
            )
        found = {**tables, **self._find_fields(source)}
        model = self.build(source, _arrays(found), request)
        # A bias that no attribute holds is a column of the factors.
        places = {
            f"{side}_bias": f"a column of {x.place}" for side, x in tables.items()
        }
        for name, value in found.items():
            places[name] = value.place
        places["link"] = "its class"
        return Contents.from_model(
            model, places, own=self._own_scores(source, model, request)
        )

    def _find_fields(self, source: Any) -> dict[str, Found]:
        """Return the biases, the ids and the offset that an object adds."""
        has_biases = all(getattr(source, flag, True) for flag in FLAGS_OF_BIASES)
        found = {}
        for name, places in self.fields.items():
            if name.endswith(("_bias", "offset")) and not has_biases:
                continue
            for place in places:
                value = _find(source, place)
                if value is not None:
                    found[name] = value
                    break
        return found

    def _own_scores(
        self, source: Any, model: FactorModel, request: Request
    ) -> OwnScores | None:
        """Return the scores of the library itself; None if the object cannot score."""
        methods = [
            name for name in self.predicts if callable(getattr(source, name, None))
        ]
        if model.left_side is None or not methods:
            return None
        method = methods[0]
        predict = self.predicts[method]

        def scores(left: Indices, right: Indices) -> Floats:
            # Equal left rows stand side by side.
            scores_by_row = []
            for row in np.unique(left):
                query = Query(source, model, request, int(row), right[left == row])
                scores_by_row.append(as_array(predict(query)))
            return np.concatenate(scores_by_row)

        return OwnScores(scores, method)


def attribute(source: Any, path: str) -> Any:
    """Return the attribute of an object at a path; a method is called.

    None is returned if the object has no such attribute.

    Examples
    --------
    >>> attribute({"a": 1}, "items.__name__"), attribute({"a": 1}, "left.weight")
    ('items', None)
    """
    try:
        value = attrgetter(path)(source)
    except AttributeError:
        return None
    return value() if callable(value) else value


def _find(source: Any, place: Place) -> Found | None:
    """Return the value at a place with its name; None if the object has none there."""
    if isinstance(place, Computed):
        name, value = place.name, place.compute(source)
    else:
        name, value = place, attribute(source, place)
    return None if value is None else Found(name, value)


def _arrays(found: Mapping[str, Found]) -> dict[str, Any]:
    """Return factors, biases and ids as arrays, and the offset as a number.

    Ids of another number of rows than the factors are dropped, because they belong to
    another data set.
    """
    arrays: dict[str, Any] = {"left": None, "offset": 0.0}
    ids: dict[str, Any] = {}
    for name, entry in found.items():
        if name.endswith("_ids"):
            ids[name] = _ids(entry.value)
            continue
        array = as_array(entry.value)
        if name == "offset":
            arrays[name] = float(array)
        elif name.endswith("_bias"):
            arrays[name] = array.reshape(-1)
        else:
            arrays[name] = array
    for name, values in ids.items():
        factors = arrays[name.removesuffix("_ids")]
        if factors is not None and len(values) == len(factors):
            arrays[name] = values
    return arrays


def _ids(value: Any) -> Any:
    """Return ids in the order of their rows.

    Examples
    --------
    >>> _ids({"b": 1, "a": 0})
    array(['a', 'b'], dtype='<U1')
    """
    if isinstance(value, Mapping):
        # A map from ids to rows lists the ids in any order.
        return np.array(sorted(value, key=value.__getitem__))
    return as_array(value)
