"""Equivalent models: ways to other factors with the same predictions, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    canonical_form,
    form_without_new_bias,
    model_at,
)
from embaudit.canonical.row_span import turned
from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.plain import plain_dict
from embaudit.gauges import Gauge
from embaudit.linalg.mapped import Mapped
from embaudit.model import FactorModel, Role, SideName
from embaudit.model.equivalence import Equivalence

CANONICAL = "canonical"
"""The kind of the models at an exponent."""
PREDICTS: dict[SideName, float] = {
    "right": EXPONENTS["left-whitened"],
    "left": EXPONENTS["right-whitened"],
}
"""The exponent at which the cosines within a side are prediction cosines."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EquivalentModel(ABC):
    """A way to a model with the same predictions."""

    name: str
    """Name of the way, with a number; unique within an audit."""
    kind: str
    """Kind of the gauge: its group, "canonical", or the purpose it was made for."""
    title: str
    """Title of its family in a table; its name if it has no family."""
    gauge: Gauge | None
    """The gauge that leads to the model, or None if no gauge does."""
    condition_number: float
    """κ of the gauge, its largest stretch over its smallest; NaN without a gauge."""
    amplification: float
    """Factor by which rounding may grow: κ of the gauge, or of the map that is no
    gauge."""
    shift: float
    """Length of the longer translation, 0 without one."""
    shifted_side: SideName
    """The side of the longer translation."""
    basis: Floats | None = None
    """(k, m) orthonormal columns that span the rows of a model of very many columns.

    The way then acts on the m dimensions of the span or on all k stored columns.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "gauge": self.name,
                "kind": self.kind,
                "condition_number": self.condition_number,
                "shift": self.shift,
            }
        )

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of columns that the way acts on."""

    @abstractmethod
    def apply_to_columns(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model of a model with `rank` columns."""

    @abstractmethod
    def rows(self, model: FactorModel, side: SideName) -> Matrix | Mapped:
        """Return the rows of one side in the equivalent model.

        If there is a basis, the rows of the model are expressed in it.
        """

    def apply(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model.

        Rows are expressed in the columns that the way acts on. If these are the
        dimensions of the span, and no direction is dropped, the result is expressed in
        the stored columns again.
        """
        if self.basis is None or model.rank == self.rank:
            return self.apply_to_columns(model)
        if self.rank == len(self.basis):
            return self.apply_to_columns(turned(model, self.basis.T))
        moved = self.apply_to_columns(turned(model, self.basis))
        if moved.rank < self.rank:
            return moved
        return turned(moved, self.basis.T)

    def shift_in(self, model: FactorModel) -> float:
        """Return the length of the shift in typical (median) rows of the shifted side.

        Examples
        --------
        >>> model = FactorModel.from_softmax([[3.0, 4.0], [0.0, 5.0], [1.0, 0.0]])
        >>> gauge = Gauge.translation(2, right=[0.0, 10.0])
        >>> GaugedModel.from_gauge(gauge, "one", "translation").shift_in(model)
        2.0
        """
        if self.shift == 0:
            return 0.0
        return self.shift / model.side(self.shifted_side).median_length

    def title_for(self, role: Role) -> str:  # noqa: ARG002
        """Return the title of its cosines of one kind of pairs."""
        return self.name


@dataclass(frozen=True, eq=False, kw_only=True)
class GaugedModel(EquivalentModel):
    """The equivalent model that a gauge makes."""

    gauge: Gauge

    @classmethod
    def from_gauge(
        cls,
        gauge: Gauge,
        name: str,
        kind: str,
        *,
        title: str | None = None,
        shift: float | None = None,
    ) -> GaugedModel:
        """Name the model that a gauge makes.

        Parameters
        ----------
        gauge : Gauge
            Keeps the predictions.
        name, kind : str
            See `EquivalentModel`.
        title : str, optional
            By default the name.
        shift : float, optional
            By default the length of the longer shift of the gauge.
        """
        length, shifted_side = _longer(gauge.left_shift, gauge.right_shift)
        if shift is None:
            shift = length
        if title is None:
            title = name
        return cls(
            name=name,
            kind=kind,
            title=title,
            gauge=gauge,
            condition_number=gauge.condition_number,
            amplification=gauge.condition_number,
            shift=shift,
            shifted_side=shifted_side,
        )

    @property
    def rank(self) -> int:
        """Number of columns that the gauge acts on."""
        return self.gauge.rank

    def apply_to_columns(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model of a model with `rank` columns."""
        return self.gauge.act(model)

    def rows(self, model: FactorModel, side: SideName) -> Mapped:
        """Return the rows of one side, computed when they are taken.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[2.0, 0.0]], [[1.0, 1.0], [1.0, -1.0]])
        >>> gauge = Gauge.diagonal([2.0, 1.0])
        >>> doubled = GaugedModel.from_gauge(gauge, "doubled", "diagonal")
        >>> doubled.rows(model, "left")[:]
        array([[4., 0.]])
        """
        x = model.factors(side)
        gauge, basis = self.gauge, self.basis
        if basis is None or model.rank == gauge.rank:
            return Mapped(x, partial(gauge.apply, side=side), gauge.rank)

        def moved(block: Floats) -> Floats:
            """Write rows of the span in the stored columns, on which the gauge acts."""
            return gauge.apply(block @ basis.T, side)

        return Mapped(x, moved, gauge.rank)


@dataclass(frozen=True, eq=False, kw_only=True)
class CanonicalModel(EquivalentModel):
    """The equivalent model at an exponent of a canonical form."""

    form: CanonicalForm
    """A form that needs no new bias; see `form_without_new_bias`."""
    exponent: float
    """From 0 (left-whitened) to 1 (right-whitened)."""
    predicts: SideName | None
    """The side whose cosines are prediction cosines in this model, if there is one."""
    kind: str = CANONICAL

    @property
    def rank(self) -> int:
        """Number of columns of the model that was decomposed."""
        return len(self.form.left_centre)

    def apply_to_columns(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model of the decomposed model, or of some of its rows."""
        return model_at(model, self.exponent, self.form)

    def rows(self, model: FactorModel, side: SideName) -> Mapped:
        """Return the rows of one side, computed when they are taken.

        Examples
        --------
        >>> users, items = np.diag([2.0, 1.0]), [[1.0, 1.0], [1.0, -1.0]]
        >>> model = FactorModel.from_user_item(users, items)
        >>> one = next(canonical_models(model))
        >>> np.allclose(one.rows(model, "right")[:1], one.apply(model).right[:1])
        True
        """
        return self.form.view(model.factors(side), side, self.exponent)

    def title_for(self, role: Role) -> str:
        """Return the title of its cosines of one kind of pairs.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0]])
        >>> first, *_ = canonical_models(model)
        >>> first.title_for("right"), first.title_for("left")
        ('users whitened (prediction cosine)', 'users whitened')
        """
        if role == self.predicts:
            return f"{self.title} (prediction cosine)"
        return self.title


def canonical_models(model: FactorModel) -> Iterator[CanonicalModel]:
    """Yield the models at exponent 0, ½ and 1.

    No model is yielded if a side is missing, or if cosines are predicted.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0]])
    >>> for one in canonical_models(model):
    ...     print(one.name)
    exponent 0 (users whitened)
    exponent 0.5 (balanced)
    exponent 1 (items whitened)
    """
    if model.left is None or model.predicts is Equivalence.COSINES:
        return
    titles = {
        "left-whitened": f"{model.title('left')}s whitened",
        "balanced": "balanced",
        "right-whitened": f"{model.title('right')}s whitened",
    }
    for name, exponent in EXPONENTS.items():
        equivalent = equivalent_at(
            model, exponent, f"exponent {exponent:g} ({titles[name]})"
        )
        yield replace(equivalent, title=titles[name])


def equivalent_at(model: FactorModel, exponent: float, name: str) -> CanonicalModel:
    """Return the equivalent model at an exponent under a name."""
    form = form_without_new_bias(model)
    gauge = form.gauge(exponent)
    # The shift is given before the axes change, so that its length can be compared with
    # the lengths of the stored rows.
    shift, shifted_side = _longer(form.left_centre, form.right_centre)
    if gauge is None:
        shift = 0.0
        condition_number = float("nan")
        amplification = float(np.linalg.cond(form.maps(exponent)["left"]))
    else:
        condition_number = gauge.condition_number
        amplification = condition_number
    return CanonicalModel(
        name=name,
        title=name,
        gauge=gauge,
        condition_number=condition_number,
        amplification=amplification,
        shift=shift,
        shifted_side=shifted_side,
        form=form,
        exponent=exponent,
        predicts=_side_with_prediction_cosines(model, form, exponent),
    )


def _longer(left: Vector, right: Vector) -> tuple[float, SideName]:
    """Return the length of the longer of two vectors, and its side."""
    left_length = float(np.linalg.norm(left))
    right_length = float(np.linalg.norm(right))
    if right_length >= left_length:
        return right_length, "right"
    return left_length, "left"


def _side_with_prediction_cosines(
    model: FactorModel, form: CanonicalForm, exponent: float
) -> SideName | None:
    """Return the side whose cosines at an exponent of a form are prediction cosines.

    These are cosines of scores without the means of `canonical_form`. So the other side
    must have been decomposed without its mean, and the side itself must lose its mean.
    """
    # Directions that are kept unchanged are in no prediction cosine.
    if form.keeps_weak_directions:
        return None
    whole = canonical_form(model)
    keeps_left_mean = whole.left_centre.any() and not form.left_centre.any()
    if exponent == PREDICTS["left"] and not keeps_left_mean:
        return "left"
    # The maps of a form of full rank are those of the canonical form even if left rows
    # keep their mean, so that right rows are the same.
    if exponent == PREDICTS["right"] and (whole.is_full_rank or not keeps_left_mean):
        return "right"
    return None
