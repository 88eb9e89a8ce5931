"""Heads with the same probabilities: centred, made for a pair, and drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.core.plain import plain, plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.gauges import Gauge, GeneralLinear, Translation
from embaudit.heads.label_sample import LabelSample
from embaudit.model import FactorModel
from embaudit.model.drift import DriftSample
from embaudit.model.equivalence import Equivalence
from embaudit.movements.movement import Movement, MovementProbe


@dataclass(frozen=True)
class EquivalentHead:
    """Change of probabilities and of label cosines under a gauge.

    Probabilities stay if the gauge is one of this head.
    """

    name: str
    """Name of the gauge."""
    kind: str
    """One of centring, translation, linear, affine."""
    condition_number: float
    """κ of its linear part."""
    shift: float
    """Length of its translation of the labels, in median row lengths."""
    change: float
    """Largest relative change of a probability over the inputs."""
    tolerance: float
    """Largest change that rounding in float64 can explain."""
    movement: Movement
    """Movement of the label cosines."""
    gauge: Gauge | None = None
    """The gauge itself."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "name": self.name,
                "kind": self.kind,
                "condition_number": self.condition_number,
                "shift": self.shift,
                "change": self.change,
                "tolerance": self.tolerance,
                "ok": self.ok,
                **plain(self.movement),
            }
        )

    @property
    def ok(self) -> bool:
        """True if rounding explains the change of the probabilities."""
        return self.change <= self.tolerance


@dataclass(frozen=True)
class Construction:
    """An equivalent head in which two chosen labels have a given cosine."""

    names: tuple[str, str]
    """The labels."""
    before: float
    """Cosine of the two labels in the stored head."""
    target: float
    """−1 or 1."""
    after: float
    """Cosine of the two labels in the equivalent head."""
    shift: float
    """Length of the shift, in median row lengths."""
    change: float
    """Largest relative change of a probability over the inputs."""


def random_heads(
    panel: LabelSample, n_gauges: int, max_condition: float, rng: np.random.Generator
) -> Iterator[GaugedModel]:
    """Yield random translations, linear gauges, and products of the two.

    Translations are one median row long, and linear gauges have the given condition
    number. Gauges that change the predictions of the head are left out.
    """
    k = panel.model.rank
    translation = Translation(k, max_shift=panel.median_norm)
    linear = GeneralLinear(k, max_condition=max_condition)
    # Drawn gauges change the lengths of rows, and so what a head of unit rows predicts.
    if panel.model.predicts is Equivalence.COSINES:
        return
    for i in range(1, n_gauges + 1):
        # The product has the same two factors, so that their effects can be compared.
        stretch = linear.sample(rng=rng)
        yield GaugedModel.from_gauge(stretch, f"linear {i}", linear.kind)
        if "right" in panel.model.free_shifts:
            shift = translation.sample(rng=rng)
            yield GaugedModel.from_gauge(shift, f"translation {i}", translation.kind)
            yield GaugedModel.from_gauge(shift @ stretch, f"affine {i}", "affine")


def centring(panel: LabelSample) -> GaugedModel:
    """Return the translation that removes the mean row of the whole head."""
    gauge = Gauge.translation(panel.model.rank, right=-panel.mean)
    return GaugedModel.from_gauge(gauge, "mean row removed", "centring")


class HeadProbe:
    """Apply gauges to a panel and measure probabilities and label cosines.

    Parameters
    ----------
    panel : LabelSample
        Labels and inputs.
    n_pairs, n_neighbours, n_lists
        See `MovementProbe`.
    rng : numpy Generator
        Source of randomness.
    """

    def __init__(
        self,
        panel: LabelSample,
        *,
        n_pairs: int,
        n_neighbours: int | None = None,
        n_lists: int = N_QUERIES,
        rng: np.random.Generator,
    ) -> None:
        self.panel, self.sample = panel, DriftSample(panel.model, {})
        sizes: dict[str, Any] = {
            "n_pairs": n_pairs,
            "n_neighbours": n_neighbours,
            "n_lists": n_lists,
        }
        self.probe = MovementProbe(panel.model, ["right"], rng=rng, **sizes)

    def measure(self, made: EquivalentModel) -> EquivalentHead:
        """Measure one equivalent model, also one that a declared guard rules out."""
        after = self._apply(made.apply)
        drift = self.sample.drift(after, made.condition_number)
        return EquivalentHead(
            name=made.name,
            kind=made.kind,
            condition_number=made.condition_number,
            shift=made.shift / self.panel.median_norm,
            change=drift.max_abs,
            tolerance=drift.tolerance,
            movement=self.probe.measure(after)[0],
            gauge=made.gauge,
        )

    def construct(self, pair: tuple[int, int]) -> Iterator[Construction]:
        """Bring one pair of the panel to cosine −1 and to 1, by Nielsen's translations.

        `v = −(a + b)/2` leaves the rows `±(a − b)/2`, and `v = −a + (b − a)/2` leaves
        `(b − a)/2` and `3(b − a)/2`.
        """
        model = self.panel.model
        a, b = model.right[list(pair)]
        first, second = model.names("right")[list(pair)].astype(str)
        for target, shift in ((-1.0, -(a + b) / 2), (1.0, -a + (b - a) / 2)):
            after = self._apply(Gauge.translation(model.rank, right=shift).act)
            yield Construction(
                names=(str(first), str(second)),
                before=float(model.cosines("right", [pair])[0]),
                target=target,
                after=float(after.cosines("right", [pair])[0]),
                shift=float(np.linalg.norm(shift)) / self.panel.median_norm,
                change=self.sample.drift(after, 1.0).max_abs,
            )

    def _apply(self, change: Callable[[FactorModel], FactorModel]) -> FactorModel:
        """Change the head as a plain softmax head, without its guard.

        So a translation that a soft cap rules out can be measured, too.
        """
        model = self.panel.model
        return change(model.replace(link="softmax")).replace(link=model.link)
