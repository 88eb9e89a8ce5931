"""Equivalent heads: the centred head, heads made for a pair of labels, random heads.

An equivalent head gives the same probabilities as the stored head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.core.checked import Vector
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

    Probabilities stay if the gauge is one of this head. A translation of a head with a
    soft cap is not, so it changes them.
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
    """Largest absolute change of a log-probability over the inputs. A small change is
    equal to the relative change of the probability."""
    tolerance: float
    """Largest change that rounding in float64 can explain."""
    movement: Movement
    """Movement of the label cosines."""
    gauge: Gauge | None = None
    """The gauge; None if no gauge leads to the model."""

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
    """Requested cosine, −1 or 1."""
    after: float
    """Cosine of the two labels in the equivalent head."""
    shift: float
    """Length of the translation of the labels, in median row lengths."""
    change: float
    """Largest absolute change of a log-probability over the inputs."""


def random_heads(
    panel: LabelSample, n_gauges: int, max_condition: float, rng: np.random.Generator
) -> Iterator[GaugedModel]:
    """Yield random translations, linear gauges, and products of the two.

    Translations are one median row long, and linear gauges have the given condition
    number. A head without free translations gets linear gauges only, and a head of unit
    rows gets none, because these gauges change the lengths of rows. The order of the
    draws is part of the result of an audit.
    """
    if panel.model.predicts is Equivalence.COSINES:
        return
    k = panel.model.rank
    translation = Translation(k, max_shift=panel.median_norm)
    linear = GeneralLinear(k, max_condition=max_condition)
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
    n_pairs : int
        Number of pairs of labels to draw.
    n_neighbours : int, optional
        Length of the neighbour lists; see `MovementProbe`.
    n_lists : int
        Number of neighbour lists to compare.
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
        self.panel = panel
        self.drift_sample = DriftSample(panel.model, {})
        self.probe = MovementProbe(
            panel.model,
            ["right"],
            n_pairs=n_pairs,
            n_neighbours=n_neighbours,
            n_lists=n_lists,
            rng=rng,
        )

    def measure(self, equivalent: EquivalentModel) -> EquivalentHead:
        """Measure an equivalent model.

        A translation is measured even if it changes probabilities because the head has
        a soft cap.
        """
        after = self._with_link(equivalent.apply(self._plain_head))
        drift = self.drift_sample.drift(after, equivalent.condition_number)
        return EquivalentHead(
            name=equivalent.name,
            kind=equivalent.kind,
            condition_number=equivalent.condition_number,
            shift=equivalent.shift / self.panel.median_norm,
            change=drift.max_abs,
            tolerance=drift.tolerance,
            movement=self.probe.measure(after)[0],
            gauge=equivalent.gauge,
        )

    def construct(self, pair: tuple[int, int]) -> tuple[Construction, Construction]:
        """Bring a pair of labels of the panel to cosine −1, and to cosine 1.

        For rows a and b, which must differ, the translation `v = −(a + b)/2` leaves
        `±(a − b)/2`, and `v = −a + (b − a)/2` leaves `(b − a)/2` and `3(b − a)/2`.

        References
        ----------
        Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026.
        """
        a, b = self.panel.model.right[list(pair)]
        opposite = self._construction(pair, -1.0, -(a + b) / 2)
        parallel = self._construction(pair, 1.0, -a + (b - a) / 2)
        return opposite, parallel

    def _construction(
        self, pair: tuple[int, int], target: float, shift: Vector
    ) -> Construction:
        """Measure the translation that brings a pair of labels to a target cosine."""
        model = self.panel.model
        first, second = (str(name) for name in model.names("right")[list(pair)])
        gauge = Gauge.translation(model.rank, right=shift)
        after = self._with_link(gauge.act(self._plain_head))
        return Construction(
            names=(first, second),
            before=float(model.cosines("right", [pair])[0]),
            target=target,
            after=float(after.cosines("right", [pair])[0]),
            shift=float(np.linalg.norm(shift)) / self.panel.median_norm,
            change=self.drift_sample.drift(after, 1.0).max_abs,
        )

    @property
    def _plain_head(self) -> FactorModel:
        """The head with a plain softmax link, on which every translation can act.

        A gauge refuses to translate a head with a soft cap.
        """
        return self.panel.model.replace(link="softmax")

    def _with_link(self, head: FactorModel) -> FactorModel:
        """Restore the link of the panel, so that its own probabilities are measured."""
        return head.replace(link=self.panel.model.link)
