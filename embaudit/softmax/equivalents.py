"""Heads with the same probabilities: centred, made to order for a pair, and drawn at random; each one verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.gauges import Gauge, GeneralLinear, Translation
from embaudit.model.drift import rounding_bound
from embaudit.movements.movement import MovementProbe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from embaudit.movements.moved import Movement
    from embaudit.softmax.guards import Guard
    from embaudit.softmax.panel import Panel


@dataclass(frozen=True)
class HeadGauge:
    """A gauge and what to call it."""

    name: str
    """Unique within a report."""
    kind: str
    """One of centring, construction, translation, linear, affine."""
    gauge: Gauge
    """What it does."""


@dataclass(frozen=True)
class EquivalentHead:
    """What a gauge did to the probabilities (nothing, if it is one of this head) and to the label cosines."""

    name: str
    """What the gauge is called."""
    kind: str
    """One of centring, construction, translation, linear, affine."""
    condition_number: float
    """κ of its linear part."""
    shift: float
    """Length of its translation of the labels, in median row lengths."""
    change: float
    """Largest relative change of a probability over the inputs."""
    tolerance: float
    """What rounding in float64 can explain."""
    movement: Movement
    """How far the label cosines moved."""

    @property
    def ok(self) -> bool:
        """Whether rounding explains the change of the probabilities."""
        return self.change <= self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Return one flat record."""
        names = ("name", "kind", "condition_number", "shift", "change", "tolerance", "ok")
        return {name: getattr(self, name) for name in names} | self.movement.to_dict()


@dataclass(frozen=True)
class Construction:
    """An equal head in which two chosen labels have the cosine one asked for."""

    names: tuple[str, str]
    """The labels."""
    before: float
    """Their cosine as the head stands."""
    target: float
    """−1 or 1."""
    after: float
    """Their cosine in the equal head."""
    shift: float
    """Length of the shift, in median row lengths."""
    change: float
    """Largest relative change of a probability over the inputs."""


def pair_constructions(panel: Panel, pair: tuple[int, int]) -> Iterator[tuple[float, HeadGauge]]:
    """Yield the two translations of Nielsen's lemma for a pair of the panel.

    `v = −(a + b)/2` leaves the rows `±(a − b)/2`, of cosine −1; `v = −a + (b − a)/2` leaves `(b − a)/2` and
    `3(b − a)/2`, of cosine 1.
    """
    a, b = panel.model.right[list(pair)]
    for target, shift in ((-1.0, -(a + b) / 2), (1.0, -a + (b - a) / 2)):
        gauge = Gauge.translation(panel.model.rank, right=shift)
        yield target, HeadGauge(f"cosine of one pair made {target:+.0f}", "construction", gauge)


def random_gauges(
    panel: Panel, n_gauges: int, max_condition: float, guard: Guard, rng: np.random.Generator
) -> Iterator[HeadGauge]:
    """Yield translations one median row long, linear gauges of the condition number given, and both together.

    Those that a declared soft-cap or normalisation of the head rules out are left out.
    """
    k = panel.model.rank
    translation = Translation(k, max_shift=panel.median_norm)
    linear = GeneralLinear(k, max_condition=max_condition)
    for i in range(1, n_gauges + 1):
        if not guard.keeps_linear:
            return
        stretch = linear.sample(rng=rng)
        yield HeadGauge(f"linear {i}", "linear", stretch)
        if guard.keeps_translations:
            shift = translation.sample(rng=rng)
            yield HeadGauge(f"translation {i}", "translation", shift)
            yield HeadGauge(f"affine {i}", "affine", shift @ stretch)


def centring(panel: Panel) -> HeadGauge:
    """Make the translation that removes the mean row of the whole head."""
    return HeadGauge("mean row removed", "centring", Gauge.translation(panel.model.rank, right=-panel.mean))


class HeadProbe:
    """Applies gauges to a panel and measures what they do to probabilities and cosines.

    Parameters
    ----------
    panel : Panel
        Labels and inputs.
    guard : Guard
        What was declared of the head.
    n_pairs, n_neighbours
        See `MovementProbe`.
    rng : numpy Generator
        Source of randomness.
    """

    def __init__(
        self, panel: Panel, guard: Guard, *, n_pairs: int, n_neighbours: int, rng: np.random.Generator
    ) -> None:
        self.panel, self.guard = panel, guard
        self.probe = MovementProbe(panel.model, ["right"], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng)

    def measure(self, made: HeadGauge) -> EquivalentHead:
        """Apply one gauge."""
        before = self.panel.model
        after = made.gauge.act(before)
        kappa = made.gauge.condition_number
        return EquivalentHead(
            name=made.name,
            kind=made.kind,
            condition_number=kappa,
            shift=float(np.linalg.norm(made.gauge.right_shift)) / self.panel.median_norm,
            change=self.guard.change(before, after),
            tolerance=rounding_bound(before, after, kappa, np.arange(before.n_left)),
            movement=self.probe.measure(after)[0],
        )

    def construct(self, pair: tuple[int, int]) -> Iterator[Construction]:
        """Bring one pair of the panel to cosine −1 and to 1."""
        model, names = self.panel.model, self.panel.model.names("right").astype(str)
        for target, made in pair_constructions(self.panel, pair):
            after = made.gauge.act(model)
            yield Construction(
                names=(str(names[pair[0]]), str(names[pair[1]])),
                before=float(model.cosines("right", [pair])[0]),
                target=target,
                after=float(after.cosines("right", [pair])[0]),
                shift=float(np.linalg.norm(made.gauge.right_shift)) / self.panel.median_norm,
                change=self.guard.change(model, after),
            )
