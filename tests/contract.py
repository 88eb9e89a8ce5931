"""The laws of gauge groups, as a test class to inherit from.

`tests/gauges/test_groups.py` has one subclass for each group of the package. A subclass
sets `groups`, a Hypothesis strategy, and inherits one test per law.
"""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import ALL_LINKS, factor_models, gauge_groups, seeds

from embaudit.core.checked import Floats, Matrix
from embaudit.core.tolerances import EPS as EPS
from embaudit.errors import EquivalenceError
from embaudit.gauges import Gauge, GaugeGroup, GeneralLinear, Orthogonal
from embaudit.linalg.rows import row_norms, unit_rows
from embaudit.model import FactorModel
from embaudit.model.equivalence import Equivalence, largest_gap

SEEDS = range(5)
"""Samples that stand for a set where a law says "some" or "all"."""
LAW = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)


def rounding_bound(model: FactorModel, gauge: Gauge) -> Floats:
    """Bound how far rounding alone may move each score (n×p) when a gauge acts.

    With `a = ‖p‖‖M‖ + ‖u‖` and `b = ‖q‖‖M⁻ᵀ‖ + ‖v‖`, the largest the two moved rows can
    be, every product, sum and rounding to the stored precision u costs a few u·a·b, k
    of them in a dot product: `8 (k + 4) u (a b + |biases|)`. Differences of scores and
    of log-probabilities are bounded by twice that (and the log-sum-exp's own rounding).
    """
    left, right = model.factors("left"), model.right
    a = row_norms(left) * np.linalg.norm(gauge.matrix("left"), 2) + np.linalg.norm(
        gauge.left_shift
    )
    b = row_norms(right) * np.linalg.norm(gauge.matrix("right"), 2) + np.linalg.norm(
        gauge.right_shift
    )
    size = np.outer(a, b) + abs(model.offset)
    size += 0 if model.left_bias is None else np.abs(model.left_bias)[:, None]
    size += 0 if model.right_bias is None else np.abs(model.right_bias)
    unit = max(float(np.finfo(x.dtype).eps) for x in (left, right))
    bound: Floats = 8 * (model.rank + 4) * unit * size
    return bound


def assert_equivalent(before: FactorModel, after: FactorModel, gauge: Gauge) -> None:
    """Assert that the gauge moved no prediction by more than rounding can.

    The scores themselves are compared where the model predicts them or biases keep
    them, else what the link leaves of them.
    """
    if before.predicts is Equivalence.COSINES:
        # Cosines are bounded by 1, so that only the angle of a turned row counts; dot
        # products have its length besides, with that of a shift, which a bias takes up.
        longest = 1.0
        if "left" not in before.link.unit_sides:
            longest = float(
                before.side("left").norms.max() + np.linalg.norm(gauge.left_shift)
            )
            longest += (
                0.0
                if before.right_bias is None
                else float(np.abs(before.right_bias).max())
            )
        unit = max(
            float(np.finfo(before.factors(side).dtype).eps) for side in before.sides
        )
        bound = 32 * (before.rank + 4) * gauge.condition_number * unit * longest
        np.testing.assert_allclose(after.scores(), before.scores(), rtol=0, atol=bound)
        return
    bounds = rounding_bound(before, gauge)
    level = gauge.preserves_in(before)
    assert level >= before.predicts
    if level >= Equivalence.SCORES:
        assert (np.abs(after.scores() - before.scores()) <= bounds).all()
    for weaker in (Equivalence.PROBABILITIES, Equivalence.RANKINGS):
        if weaker <= level:
            gap = largest_gap(weaker, before.scores(), after.scores())
            assert gap <= 2 * bounds.max() + 8 * EPS * before.n_right


def _moved(x: Matrix, linear: Matrix, shift: Matrix) -> Matrix:
    """Apply the definition of a gauge, without the checks of `Gauge.act`."""
    return np.asarray(x, dtype=np.float64) @ linear + shift


def _cosines(x: Matrix, y: Matrix) -> Floats:
    return unit_rows(x) @ unit_rows(y).T


def _generic_model(rank: int) -> FactorModel:
    """Rows in general position, so that what a gauge can move does move."""
    rng = np.random.default_rng(0)
    return FactorModel.from_user_item(
        rng.standard_normal((6, rank)), rng.standard_normal((7, rank))
    )


def _movements(gauge: Gauge) -> dict[Equivalence | str, float]:
    """Measure how far a gauge moves each thing it might preserve, on the generic model
    without help from biases.
    """
    # Without biases a translation moves scores, as it does where nothing absorbs it.
    model = _generic_model(gauge.rank)
    assert model.left is not None
    left = _moved(model.left, gauge.matrix("left"), gauge.left_shift)
    right = _moved(model.right, gauge.matrix("right"), gauge.right_shift)
    before, after = model.left @ model.right.T, left @ right.T
    levels = (Equivalence.RANKINGS, Equivalence.PROBABILITIES, Equivalence.SCORES)
    gaps: dict[Equivalence | str, float] = {
        level: largest_gap(level, before, after) for level in levels
    }
    gaps[Equivalence.COSINES] = float(
        np.abs(_cosines(left, right) - _cosines(model.left, model.right)).max()
    )
    same_side = [
        _cosines(x, x) - _cosines(y, y)
        for x, y in ((left, model.left), (right, model.right))
    ]
    gaps["same-side cosines"] = max(float(np.abs(change).max()) for change in same_side)
    return gaps


def _members(group: GaugeGroup) -> list[Gauge]:
    """Yield samples, and what composing and scaling makes of them where it stays in the
    set.
    """
    # Fourth powers leave any budget that a sample spends, and a scale of 2 leaves sets
    # of rotations.
    samples = [group.sample(rng=seed) for seed in SEEDS]
    scaling = Gauge.diagonal(np.full(group.rank, 2.0))
    fourth_powers = [g @ g @ g @ g for g in samples]
    return [
        g
        for g in (*samples, *fourth_powers, scaling, *(scaling @ g for g in samples))
        if group.contains(g)
    ]


class GaugeGroupContract:
    """The laws of a gauge group: inherit, give `groups`, and every law is a test.

    The class is collected by pytest under a name that starts with Test. Draw budgets
    that can be told from rounding (1 or 1.01, not 1 + 1e-12) and that unbounded samples
    exceed (at most about 10).
    """

    groups: ClassVar[st.SearchStrategy[GaugeGroup]]
    """Sets of the kind under test, of several ranks, whole and within budgets."""

    @LAW
    @given(st.data())
    def test_identity_belongs_and_changes_nothing(self, data: st.DataObject) -> None:
        """The identity is a member, and acting with it returns the same numbers."""
        group = data.draw(self.groups)
        model = data.draw(factor_models(group.rank))
        same = group.identity().act(model)
        assert group.contains(group.identity())
        for field in ("left", "right", "left_bias", "right_bias"):
            np.testing.assert_array_equal(getattr(same, field), getattr(model, field))

    @LAW
    @given(st.data())
    def test_inverse_belongs_and_undoes(self, data: st.DataObject) -> None:
        """`g⁻¹` has the same κ, `g⁻¹ g` is the identity within rounding;

        `has_inverses` tells whether all belong.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        gauge = group.sample(rng=seed)
        # A translation of at most v has its inverse in the set, a shift applied before
        # a stretch may not.
        inside = [
            group.contains(g.inverse())
            for g in (gauge, *(group.sample(rng=seed) for seed in SEEDS))
        ]
        assert all(inside) if group.has_inverses else not all(inside)
        np.testing.assert_allclose(
            gauge.inverse().condition_number,
            gauge.condition_number,
            rtol=8 * group.rank * EPS,
        )
        atol = 64 * group.rank * EPS * gauge.condition_number
        scale = 1 + float(
            max(np.linalg.norm(gauge.left_shift), np.linalg.norm(gauge.right_shift))
        )
        for both in (gauge @ gauge.inverse(), gauge.inverse() @ gauge):
            for side in ("left", "right"):
                np.testing.assert_allclose(
                    both.matrix(side), np.eye(group.rank), rtol=0, atol=atol
                )
            np.testing.assert_allclose(
                np.stack([both.left_shift, both.right_shift]), 0, atol=atol * scale
            )

    @LAW
    @given(st.data())
    def test_composition_is_acting_twice(self, data: st.DataObject) -> None:
        """`(g @ h)` does what h and then g do, and is associative with the shifts
        included.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        g, h = group.sample(rng=seed), group.sample(rng=seed + 1)
        model = _generic_model(group.rank).replace(
            left_bias=np.ones(6), right_bias=np.ones(7)
        )
        once, twice = (g @ h).act(model), g.act(h.act(model))
        # Both sides round products of both maps: their condition numbers multiply.
        tolerance = (
            64 * (group.rank + 4) * EPS * g.condition_number * h.condition_number
        )
        for field in ("left", "right", "left_bias", "right_bias"):
            x, y = getattr(once, field), getattr(twice, field)
            np.testing.assert_allclose(
                x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max())
            )

    @LAW
    @given(st.data())
    def test_samples_belong_and_follow_their_seed(self, data: st.DataObject) -> None:
        """One seed, one gauge, whether given as a number or as a generator; and it
        belongs to the set.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        gauge, again = (
            group.sample(rng=seed),
            group.sample(rng=np.random.default_rng(seed)),
        )
        assert group.contains(gauge)
        assert gauge.rank == group.rank
        for field in ("left", "right", "left_shift", "right_shift"):
            np.testing.assert_array_equal(getattr(gauge, field), getattr(again, field))

    @LAW
    @given(st.data())
    def test_samples_spend_the_budget(self, data: st.DataObject) -> None:
        """The condition number of a sample is the budget, never above it beyond the
        rounding of measuring it.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        budget = group.max_condition
        if budget is None or group.rank == 1:
            return
        spent = group.sample(rng=seed).condition_number
        assert budget * (1 - 1e-9) <= spent <= budget * (1 + 8 * group.rank * EPS)

    @LAW
    @given(st.data())
    def test_predictions_stay(self, data: st.DataObject) -> None:
        """Check that every model that a sample may act on keeps its predictions; free
        biases absorb translations.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        gauge = group.sample(rng=seed)
        model = data.draw(factor_models(group.rank))
        # A model that the sample may not act on is given what lets it: a weaker link,
        # or biases that absorb its shift.
        if gauge.preserves_in(model) < model.predicts:
            link = "cosine" if gauge.fixes_cosines else "identity"
            model = model.replace(
                link=link,
                left_bias=np.ones(model.n_left),
                right_bias=np.ones(model.n_right),
            )
        assert_equivalent(model, gauge.act(model), gauge)

    @LAW
    @given(st.data())
    def test_what_is_not_preserved_is_refused(self, data: st.DataObject) -> None:
        """Check that without biases, a sample acts on exactly the models that predict
        no more than it preserves.
        """
        group, seed = data.draw(self.groups), data.draw(seeds())
        gauge = group.sample(rng=seed)
        assert gauge.preserves >= group.preserves
        for link in ALL_LINKS:
            model = _generic_model(group.rank).replace(link=link)
            try:
                gauge.act(model)
                refused = False
            except EquivalenceError:
                refused = True
            stretched = link.needs_lengths and not gauge.is_isometry
            assert refused == (gauge.preserves < model.predicts or stretched)

    @LAW
    @given(st.data())
    def test_preserves_is_the_strongest_level(self, data: st.DataObject) -> None:
        """The declared level stays, and the next one moves unless no cosine can."""
        group = data.draw(self.groups)
        moved = [_movements(group.sample(rng=seed)) for seed in SEEDS]
        level = group.preserves
        for weaker in Equivalence:
            if Equivalence.NOTHING < weaker <= level:
                assert max(gaps[weaker] for gaps in moved) < 1e-9
        # Where the group could keep more than it declares, gauges would be refused
        # without a reason.
        if level < Equivalence.COSINES and not group.fixes_cosines:
            stronger = (
                Equivalence.RANKINGS
                if level is Equivalence.NOTHING
                else Equivalence(level + 1)
            )
            assert max(gaps[stronger] for gaps in moved) > 1e-6

    @LAW
    @given(st.data())
    def test_cosines_stay_if_and_only_if_declared(self, data: st.DataObject) -> None:
        """`fixes_cosines` holds for every sample, or some sample moves a same-side
        cosine.
        """
        group = data.draw(self.groups)
        samples = [group.sample(rng=seed) for seed in SEEDS]
        moved = max(_movements(gauge)["same-side cosines"] for gauge in samples)
        assert moved < 1e-12 if group.fixes_cosines else moved > 1e-6
        assert group.fixes_cosines <= all(gauge.fixes_cosines for gauge in samples)

    @LAW
    @given(st.data())
    def test_is_group_tells_whether_composition_stays_inside(
        self, data: st.DataObject
    ) -> None:
        """Check that in a group every composition of members is a member; in a mere set
        some composition is not.
        """
        group = data.draw(self.groups)
        samples = [group.sample(rng=seed) for seed in SEEDS]
        inside = [group.contains(g @ h) for g, h in product(samples, samples)]
        assert all(inside) if group.is_group else not all(inside)

    @LAW
    @given(st.data())
    def test_inclusion_is_membership_of_all(self, data: st.DataObject) -> None:
        """`a <= b` holds exactly where every member of a is one of b, in both
        directions.
        """
        first = data.draw(self.groups)
        second = data.draw(
            gauge_groups(first.rank)
            | self.groups.filter(lambda group: group.rank == first.rank)
        )
        for a, b in ((first, second), (second, first), (first, first)):
            has_all = all(b.contains(gauge) for gauge in _members(a))
            missing = sorted(each.name for each in b.constraints - a.constraints)
            assert (a <= b) == has_all, (
                f"{a} <= {b} is {a <= b} (constraints of {b} that {a} lacks: "
                f"{missing}), but {b} contains every drawn gauge of {a}: {has_all}"
            )
            assert (b >= a) == (a <= b)

    @LAW
    @given(st.data())
    def test_another_rank_is_another_world(self, data: st.DataObject) -> None:
        """Gauges and sets of another rank neither belong, nor compare, nor act."""
        group = data.draw(self.groups)
        other = Orthogonal(group.rank + 1)
        assert not group.contains(other.identity())
        assert not group <= GeneralLinear(group.rank + 1)
        assert not other <= group
