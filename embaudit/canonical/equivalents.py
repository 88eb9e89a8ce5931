"""Equivalent models, each with what to call it: a gauge, or the way to a canonical one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    canonical_form,
    model_at,
)
from embaudit.canonical.row_span import turned
from embaudit.core.checked import Floats, Vector
from embaudit.core.plain import plain_dict
from embaudit.gauges import Gauge
from embaudit.linalg.mapped import Mapped
from embaudit.model import FactorModel, Role, SideName
from embaudit.model.equivalence import Equivalence

CANONICAL = "canonical"
"""The kind of the models at an exponent."""
PREDICTS: dict[Role, float] = {
    "right": EXPONENTS["left-whitened"],
    "left": EXPONENTS["right-whitened"],
}
"""The exponent at which the cosines within a side are prediction cosines."""


@dataclass(frozen=True, eq=False)
class EquivalentModel:
    """One way to the same predictions."""

    name: str
    """Name of the way the model was made, and a number; unique within an audit."""
    kind: str
    """Kind of the gauge: that of the group it was drawn from, "canonical", or what the gauge was made for."""
    title: str
    """Title of its family in a table; its name where it has none."""
    condition_number: float
    """κ of the gauge, its largest stretch over its smallest, 1 for a rotation; NaN where there is no gauge."""
    shift: float
    """Length of the longer translation, 0 without one."""
    gauge: Gauge | None
    """The gauge, or None where the model has directions no prediction sees, so that none reaches it."""
    exponent: float | None = None
    """The exponent of a canonical model."""
    map_condition: float = float("nan")
    """κ of the map that makes the model where no gauge does, in the directions that it keeps."""
    basis: Floats | None = None
    """(k, m) columns that span the rows of a model of very many columns, m or k of which the gauge acts on."""
    form: CanonicalForm | None = None
    """Canonical form that a canonical model is made with, of all rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "gauge": self.name,
                "kind": self.kind,
                "condition_number": self.condition_number,
                "shift": self.shift,
            }
        )

    @property
    def amplification(self) -> float:
        """Factor by which rounding may grow: κ of the gauge, or of the map."""
        return self.map_condition if self.gauge is None else self.condition_number

    @classmethod
    def by(
        cls,
        gauge: Gauge,
        name: str,
        kind: str,
        *,
        title: str | None = None,
        exponent: float | None = None,
        shift: float | None = None,
    ) -> EquivalentModel:
        """Name what a gauge makes of a model."""
        if shift is None:
            shift = max(
                float(np.linalg.norm(gauge.left_shift)),
                float(np.linalg.norm(gauge.right_shift)),
            )
        return cls(
            name, kind, title or name, gauge.condition_number, shift, gauge, exponent
        )

    @property
    def rank(self) -> int:
        """Columns that it acts on: of a model of very many, all for rescalings, the span of its rows for the others."""
        if self.gauge is not None:
            return self.gauge.rank
        assert self.form is not None
        return len(self.form.left_centre)

    def shift_in(self, model: FactorModel) -> float:
        """Return the length of its shift in typical (median) rows of the side that is shifted.

        Examples
        --------
        >>> model = FactorModel.from_softmax([[3.0, 4.0], [0.0, 5.0], [1.0, 0.0]])
        >>> EquivalentModel.by(Gauge.translation(2, right=[0.0, 10.0]), "one", "translation").shift_in(model)
        2.0
        """
        if not self.shift or self.gauge is None:
            return 0.0
        after = self.gauge.right_shift, self.gauge.left_shift
        right, left = map(
            np.linalg.norm, after if self.form is None else _centres(self.form)
        )
        return (
            self.shift / model.side("right" if right >= left else "left").median_length
        )

    def called(self, role: Role) -> str:
        """Name it to people by what its cosines of one kind of pairs are.

        Examples
        --------
        >>> first, *_ = canonical_models(FactorModel.from_user_item([[1.0], [2.0]], [[1.0]]))
        >>> first.name, first.called("right"), first.called("left")
        ('exponent 0 (users whitened)', 'users whitened (prediction cosine)', 'users whitened')
        """
        # The cosines of the whitened model differ from the prediction cosines if the
        # form leaves directions unchanged, or if the left rows keep their mean.
        form = self.form
        differs = form is not None and (
            form.leaves_alone
            or form.keeps_left_mean
            or (form.needs_new_bias and role != "right")
        )
        if (
            self.kind == CANONICAL
            and self.exponent == PREDICTS.get(role)
            and not differs
        ):
            return f"{self.title} (prediction cosine)"
        return self.title if self.kind == CANONICAL else self.name

    def of(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model, by a gauge with as many columns as before, or with all where it rescales them."""
        if self.basis is not None and model.rank != self.rank:
            is_stored = model.rank == len(self.basis)
            made = replace(self, basis=None).of(
                turned(model, self.basis if is_stored else self.basis.T)
            )
            return (
                turned(made, self.basis.T)
                if is_stored and self.gauge is not None
                else made
            )
        if self.gauge is not None:
            return self.gauge.act(model)
        assert self.exponent is not None
        assert self.form is not None
        return model_at(model, self.exponent, self.form.without_new_bias)

    def rows(self, model: FactorModel, side: SideName) -> Mapped:
        """Return the rows of one side in the equivalent model, made where they are asked for.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]])
        >>> one = next(canonical_models(model))
        >>> np.allclose(one.rows(model, "right")[:1], one.of(model).right[:1])
        True
        """
        x = model.factors(side)
        if self.form is not None and self.exponent is not None:
            # No gauge adds a bias, so the left rows keep a mean that only a new bias
            # could absorb.
            return self.form.without_new_bias.view(x, side, self.exponent)
        gauge, basis = self.gauge, self.basis
        assert gauge is not None
        if basis is None or model.rank == gauge.rank:
            return Mapped(x, partial(gauge.apply, side=side), gauge.rank)

        def moved(block: Floats) -> Floats:
            """Write rows of the span in the stored columns, on which the gauge acts."""
            return gauge.apply(block @ basis.T, side)

        return Mapped(x, moved, gauge.rank)


def canonical_models(model: FactorModel) -> Iterator[EquivalentModel]:
    """Yield the models at exponent 0, ½ and 1, where both sides are at hand and scores are what is predicted.

    Examples
    --------
    >>> [made.name for made in canonical_models(FactorModel.from_user_item([[1.0], [2.0]], [[1.0]]))]
    ['exponent 0 (users whitened)', 'exponent 0.5 (balanced)', 'exponent 1 (items whitened)']
    """
    if model.left is None or model.predicts is Equivalence.COSINES:
        return
    form = canonical_form(model)
    if form.needs_new_bias and not form.is_full_rank:
        # No gauge drops a direction, so these models are built directly. A new bias would
        # put them into another family, so the left rows keep their mean.
        form = canonical_form(model, keep_left_mean=True)
    titles = {
        "left-whitened": f"{model.title('left')}s whitened",
        "balanced": "balanced",
        "right-whitened": f"{model.title('right')}s whitened",
    }
    for name, exponent in EXPONENTS.items():
        yield replace(
            equivalent_at(form, exponent, f"exponent {exponent:g} ({titles[name]})"),
            title=titles[name],
        )


def _centres(form: CanonicalForm) -> tuple[Vector, Vector]:
    """Return what a gauge subtracts from right and from left rows before it changes their axes."""
    return form.right_centre, form.left_centre * form.shifts_left


def equivalent_at(form: CanonicalForm, exponent: float, name: str) -> EquivalentModel:
    """Name the model at an exponent."""
    gauge = form.gauge(exponent)
    if gauge is not None:
        # The length of a shift means something beside the rows at hand, before the axes change.
        shift = max(float(np.linalg.norm(centre)) for centre in _centres(form))
        return replace(
            EquivalentModel.by(gauge, name, CANONICAL, exponent=exponent, shift=shift),
            form=form,
        )
    # No gauge reaches the model: a direction that no prediction sees is dropped. Rounding grows by κ of the map.
    kappa = float(np.linalg.cond(form.maps(exponent)["left"]))
    return EquivalentModel(
        name, CANONICAL, name, float("nan"), 0.0, None, exponent, kappa, form=form
    )
