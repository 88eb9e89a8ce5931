"""The worst gauge within a budget that a search can find, beside what no gauge within it can exceed.

The best of several seeded starts is an inner bound, `embaudit.ranges` gives the outer one: *attack <= truth <=
certificate*. They differ for two reasons: the certificate lets every pair choose its own worst gauge, where the attack
must find one for all, and the search may stop at a local optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from embaudit.attacks.joint import JointSearch
from embaudit.attacks.metric import Metric, Moving
from embaudit.attacks.search import Search, Source, two_sources
from embaudit.attacks.spanned import NEAREST, ROWS, SPANNED, Lifted, span_of
from embaudit.attacks.targets import Lists, Movement, Target
from embaudit.errors import must_be
from embaudit.foundation.checked import RNG, Floats, Indices, Matrix, as_count, as_generator
from embaudit.foundation.parallel import one_blas_thread
from embaudit.foundation.plain import plain
from embaudit.foundation.progress import track
from embaudit.foundation.results import Result
from embaudit.foundation.words import ONCE, beside, counted, in_typical_rows, percent
from embaudit.gauges import Affine, Diagonal, Gauge, GaugeGroup, GeneralLinear
from embaudit.kernels.nearest import tie_of
from embaudit.kernels.rows import gram, sample_rows
from embaudit.model import FactorModel, Pairs, Role
from embaudit.model.sizes import require_model
from embaudit.ranges import certified_neighbours, cosine_range

Objective: TypeAlias = Literal["movement", "neighbours"]


@dataclass(frozen=True, eq=False)
class Attack(Result):
    """The worst gauge found, and the bound it cannot pass."""

    gauge: Gauge
    """A gauge within the budget."""
    objective: Objective
    role: Role
    group: GaugeGroup
    achieved: float
    """What the gauge does: mean ``|Δcos|`` over the pairs, or the share of list entries destroyed."""
    bound: float
    """What no gauge of the set can exceed, by ranges or certificates."""
    n_items: int
    """Number of pairs, or of list entries, both numbers are about."""
    table: Indices
    """The pairs (m, 2), or the rows with their lists (m, 1 + n), that these are."""
    lost_without_twins: float = float("nan")
    """Share of entries that it drives out of lists with one row of each group of twins; NaN where none were made."""
    typical_row: float | None = None
    """Median length of the rows that a shift moves, where its length is told in such."""

    @property
    def gap(self) -> float:
        """How far the truth may lie above what was achieved."""
        return self.bound - self.achieved

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        numbers = {"achieved": self.achieved, "bound": self.bound, "gap": self.gap, "n_items": self.n_items}
        numbers |= {} if self.objective == "movement" else {"lost_without_twins": self.lost_without_twins}
        budget = getattr(self.group, "max_condition", None)
        return dict(plain({"role": self.role, "objective": self.objective, "max_condition": budget, **numbers}))

    def explain(self, roles: tuple[str, str] = ("left", "right")) -> str:
        r"""Say in one sentence what was found and what is proven.

        Parameters
        ----------
        roles : tuple of str
            What the rows of both sides are, as in `model.roles`.

        Examples
        --------
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
        >>> found = worst_gauge(model, GeneralLinear(2, max_condition=3.0), n_pairs=1, rng=0).explain(model.roles)
        >>> print(*found.split(". "), sep="\n")
        The worst gauge found within κ = 3 was sought for 1 item-item cosine
        It moves them by 0.80 on average
        Proven: by at most 0.80.
        """
        reached = self.reached(roles)
        if self.objective == "movement":
            return f"{reached}. Proven: by at most {self.bound:.2f}."
        ties = ", because of ties" if self._budget == 1 and self.bound > 0 else ""
        if not ties and percent(self.bound) == "100 %":
            return f"{reached}. More is not ruled out."
        return f"{reached}. Proven: at most {percent(self.bound)}{ties}."

    @property
    def _budget(self) -> float:
        return getattr(self.group, "max_condition", None) or np.inf

    def reached(self, roles: tuple[str, str] = ("left", "right")) -> str:
        """Say what was found alone, without its full stop; the parameter is that of `explain`."""
        left, right = roles
        pairs = {"left": f"{left}-{left}", "right": f"{right}-{right}", "cross": f"{left}-{right}"}[self.role]
        found = f"The worst gauge found within κ = {self._budget:g}"
        if isinstance(self.group, Affine):
            title = right if self.group.side == "right" else left
            most = f"{self.group.max_shift:.3g}"
            if self.typical_row is not None and self.group.max_shift is not None:
                most = in_typical_rows(self.group.max_shift / self.typical_row)
            found += f" and shifts of {title}s up to {most}"
        if self.objective == "movement":
            sought = counted(self.n_items, f"{pairs} cosine")
            return f"{found} was sought for {sought}. It moves them by {self.achieved:.2f} on average"
        lost, sought = beside(self.achieved, self.lost_without_twins, ONCE), counted(len(self.table), f"{pairs} list")
        return f"{found} was sought for {sought}. It drives out {lost} of their entries"

    def __repr__(self) -> str:
        return f"Attack({self.objective} of {self.role}: {self.achieved:.4g} achieved, at most {self.bound:.4g})"


def _require_counts(objective: str, **counts: int) -> None:
    if objective not in ("movement", "neighbours"):
        raise must_be("objective", 'one of "movement", "neighbours"', repr(objective))
    unused = {"n_rows", "n"} if objective == "movement" else {"n_pairs"}
    for name, given in counts.items():
        as_count(given, name, least=0 if name == "n_steps" or name in unused else 1)


MANY = 5_000
"""Rows above which neighbour lists are attacked with the rows nearby; what is driven out is counted among all."""
NEARBY = 100
"""Rows outside each list that are nearby."""


def _require_budget(group: GaugeGroup) -> float:
    bounded = isinstance(group, (Diagonal, GeneralLinear, Affine)) and group.max_condition is not None
    if not bounded or (isinstance(group, Affine) and group.max_shift is None):
        raise must_be(
            "group",
            "Diagonal or GeneralLinear with a max_condition, or Affine with that and a max_shift",
            group,
            "an attack needs a budget to spend",
        )
    return float(group.max_condition)  # type: ignore[attr-defined]


def worst_gauge(
    model: FactorModel,
    group: GaugeGroup,
    *,
    role: Role | str = "right",
    objective: Objective = "movement",
    n_pairs: int = 2_000,
    n_rows: int = 100,
    n: int = 10,
    n_starts: int = 6,
    n_steps: int = 40,
    rng: RNG = 0,
) -> Attack:
    """Search a budget for the gauge that does most harm to the cosines while it keeps every prediction.

    Above 256 dimensions linear and affine attacks keep to the span of the rows that they are about, in which nothing is
    lost (see `embaudit.attacks.spanned`): pairs are then those of 64 drawn rows.

    Parameters
    ----------
    model : FactorModel
        The model.
    group : Diagonal, GeneralLinear or Affine
        With a `max_condition`; Affine with a `max_shift` too.
    role : {"right", "left", "cross"}
        Which cosines; cross pairs have no neighbour lists.
    objective : {"movement", "neighbours"}
        Maximise the mean ``|Δcos|`` of sampled pairs, or the share of top-n entries of sampled rows driven out.
    n_pairs, n_rows : int
        Size of the sample, of pairs or of rows.
    n : int
        Length of the lists.
    n_starts, n_steps : int
        Starting points, the best of many that are compared first, and gradient steps from each.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    Attack
        With what it achieved and what the ranges or certificates of the same sample allow at most.

    Raises
    ------
    InputError
        If the group has no budget, the objective does not fit the role, or a number is not one.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> attack = worst_gauge(model, GeneralLinear(2, max_condition=3.0), n_pairs=1, rng=0)
    >>> round(attack.achieved, 6), round(attack.bound, 6)
    (0.8, 0.8)
    """
    require_model(model)
    role = model.role(role)
    _require_budget(group)
    _require_counts(objective, n_pairs=n_pairs, n_rows=n_rows, n=n, n_starts=n_starts, n_steps=n_steps)
    draw = as_generator(rng)
    if objective == "movement" and _is_long(model, group) and role != "cross":
        return _movement_in_span(model, group, role, n_pairs, n_starts, n_steps, draw)
    if objective == "movement":
        build, bound, size, table = _movement_target(model, group, role, n_pairs, draw)
    else:
        build, bound, size, table = _list_target(model, group, role, n, n_rows, draw)
    still = Gauge.identity(model.rank)
    if not size or group.fixes_cosines:
        return Attack(still, objective, role, group, 0.0, bound, size, table)
    best = _Plan(model, group, role, build, bound, n_starts, n_steps, two_sources(draw)).best(draw)
    gauge = best.gauge(group, role) if best.value > 0 else still
    return Attack(gauge, objective, role, group, best.value, bound, size, table)


def _is_long(model: FactorModel, group: GaugeGroup) -> bool:
    """Whether attacks keep to a span: the scales of a diagonal gauge belong to columns, and cannot."""
    return model.rank > SPANNED and isinstance(group, (GeneralLinear, Affine))


def _of_rank(group: GaugeGroup, rank: int) -> GaugeGroup:
    """Return the set with its budgets in other dimensions, shifting right rows if any."""
    if isinstance(group, Affine):
        return replace(group, rank=rank, side="right")
    return GeneralLinear(rank, max_condition=_require_budget(group))


def _movement_in_span(
    model: FactorModel,
    group: GaugeGroup,
    role: Role,
    n_pairs: int,
    n_starts: int,
    n_steps: int,
    draw: np.random.Generator,
) -> Attack:
    """Attack the pairs of a few rows in the dimensions that these span, and one more where shifts leave them."""
    (factors, *_), still = Pairs(role).rows(model), Gauge.identity(model.rank)
    rows = sample_rows(model.side(role).directed, ROWS, draw)
    own = np.asarray(factors[rows], dtype=np.float64)
    axes = span_of(own, more=int(_shifting(group, role) is not None))
    small = FactorModel.from_softmax(own @ axes)
    inner = _of_rank(group, small.rank)
    build, bound, size, table = _movement_target(small, inner, "right", n_pairs, draw)
    if not size or group.fixes_cosines:
        return Attack(still, "movement", role, group, 0.0, bound, size, rows[table])
    best = _Plan(small, inner, "right", build, bound, n_starts, n_steps, two_sources(draw)).best(draw)
    gauge = best.lifted(axes).gauge(group, role) if best.value > 0 else still
    return Attack(gauge, "movement", role, group, best.value, bound, size, rows[table])


def _shifting(group: GaugeGroup, role: Role) -> Affine | None:
    """Return the group if its shifts can move these cosines."""
    if isinstance(group, Affine) and group.max_shift != 0 and role in ("cross", group.side):
        return group
    return None


class _Best(NamedTuple):
    """The best found: a metric, after a shift if there is one."""

    value: float
    metric: Moving
    shift: Floats | None = None

    def lifted(self, axes: Floats) -> _Best:
        """Return the same in all dimensions, found in a span of them."""
        assert isinstance(self.metric, Metric)
        shift = None if self.shift is None else axes @ self.shift
        return _Best(self.value, Lifted.of(self.metric, axes), shift)

    def gauge(self, group: GaugeGroup, role: Role) -> Gauge:
        """Make the gauge of the set."""
        linear = self.metric.gauge(role)
        if self.shift is None:
            return linear
        assert isinstance(group, Affine)
        return group.after(self.shift, linear)


class _Plan(NamedTuple):
    """What one attack searches, and with how much effort."""

    model: FactorModel
    group: GaugeGroup
    role: Role
    build: Callable[[FactorModel], Target]
    bound: float
    n_starts: int
    n_steps: int
    sources: tuple[Source, Source]
    """Of searches among diagonal gauges, and of those among all."""

    def best(self, draw: np.random.Generator) -> _Best:
        """Find the best gauge of the set."""
        # Threads of BLAS cost more than they give on k×k matrices.
        with one_blas_thread():
            shifting = _shifting(self.group, self.role)
            return self.linear() if shifting is None else self.affine(shifting, draw)

    def linear(self) -> _Best:
        """Find the best linear gauge."""
        target = self.build(self.model)
        if isinstance(target, Lists) and target.n_rivals > 0 and _is_long(self.model, self.group):
            near = target.nearby(NEAREST)
            axes = span_of(near.all)
            _, found = self.metric_for(small := near.turned(axes), small.all)
            lifted = Lifted.of(found, axes)
            return _Best(target.value(lifted), lifted)
        if not isinstance(target, Lists) or len(target.all) <= MANY or target.n_rivals == 0:
            return _Best(*self.metric_for(target, self._factors()))
        _, metric = self.metric_for(target.nearby(NEARBY), self._factors())
        return _Best(target.value(metric), metric)

    def affine(self, group: Affine, draw: np.random.Generator) -> _Best:
        """Find the best shift and linear gauge together."""
        rows = np.asarray(self.model.factors(group.side), dtype=np.float64)
        seen = rows if group.side == self.role else None
        joint = JointSearch(
            lambda shift: self.build(self.model.replace(**{group.side: rows + shift})),
            lambda target, shift, metric: self.metric_for(
                target, self._factors() if seen is None else seen + shift, metric
            ),
            group.side,
            _spread(rows),
            rows.mean(axis=0),
            float(group.max_shift or 0),
            self.bound,
            self.n_starts,
            self.n_steps,
            draw,
        )
        value, shift, metric = joint.best()
        return _Best(value, metric, shift)

    def _factors(self) -> Matrix:
        return Pairs(self.role).rows(self.model)[0]

    def metric_for(self, target: Target, rows: Matrix, first: Metric | None = None) -> tuple[float, Metric]:
        """Find the best metric for a target."""
        metric = first or Metric(None, np.zeros(rows.shape[1]))
        best = target.value(metric)
        window = 2 * np.log(_require_budget(self.group))
        if not window:
            return best, metric
        # A linear attack begins with the diagonal one of the same seed, so it never ends below that.
        kinds = [True] if isinstance(self.group, Diagonal) else [True, False]
        spread = _spread(rows)
        for diagonal, source in track(zip(kinds, self.sources, strict=False), "starting a search", len(kinds)):
            draws = np.random.default_rng(source.seed), source.drawn
            search = Search(target, spread, window, self.bound, self.n_starts, self.n_steps, diagonal, *draws)
            value, found = search.best(*([metric] if best > 0 and (metric.axes is None or not diagonal) else []))
            if value > best:
                best, metric = value, found
            if best >= self.bound:
                break
        return best, metric


def _spread(factors: Matrix) -> Floats:
    total = gram(factors)
    return np.asarray(total / max(float(np.trace(total)), np.finfo(float).tiny))


def _movement_target(
    model: FactorModel, group: GaugeGroup, role: Role, n_pairs: int, draw: np.random.Generator
) -> tuple[Callable[[FactorModel], Target], float, int, Indices]:
    pairs = Pairs(role).sample(model, n_pairs, rng=draw)
    found = cosine_range(model, group, role=role, pairs=pairs)
    before = found.before
    reach = np.maximum(found.upper - before, before - found.lower)
    known = int((~np.isnan(before)).sum())
    bound = float(np.nanmean(reach)) if known else 0.0
    return lambda shifted: Movement(shifted, role, pairs, before), bound, known, pairs


def _list_target(
    model: FactorModel, group: GaugeGroup, role: Role, n: int, n_rows: int, draw: np.random.Generator
) -> tuple[Callable[[FactorModel], Target], float, int, Indices]:
    if role == "cross":
        raise must_be("role", 'one of "left", "right" for neighbour lists', repr(role))
    total = len(model.factors(role))
    rows = np.sort(draw.permutation(total)[:n_rows])
    found = certified_neighbours(model, role=role, n=n, rows=rows, group=group if isinstance(group, Affine) else None)
    tie = tie_of(model.factors(role))
    target = Lists(model, role, found, tie)
    known = found.radii[np.isin(found.rows, target.rows)]
    bound = float((known <= _require_budget(group)).mean()) if known.size else 0.0
    # Lists that hold everything have no rival.
    size = int(known.size) if target.n_rivals > 0 else 0
    table = np.column_stack([target.rows, target.entries])
    return lambda shifted: Lists(shifted, role, found, tie), bound, size, table
