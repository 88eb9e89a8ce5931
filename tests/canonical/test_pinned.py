"""Unit rows: pinned is proven and unbroken, free comes with an equivalent model, the rest is undecided."""

from __future__ import annotations

import numpy as np
import pytest
from adversary import break_claim

from embaudit.canonical import pinned_test
from embaudit.errors import EquivalenceError
from embaudit.model import FactorModel, Softmax

UNIT = Softmax(unit_rows=True)
CAPPED = Softmax(unit_rows=True, soft_cap=3.0)


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def cosine_model(n, p, k, seed=0):
    return FactorModel(rows(n, k, seed), rows(p, k, seed + 1000), link="cosine")


def changes(before, after):
    pairs = np.triu_indices(len(before), 1)
    return np.abs(unit(after) @ unit(after).T - unit(before) @ unit(before).T)[pairs]


def test_thirty_by_thirty_unit_rows_of_rank_16_are_free():
    model = cosine_model(30, 30, 16)
    found = pinned_test(model)
    twin = found.twin(model)
    assert (found.status, found.rank, found.needed) == ("free", 60, 136)
    np.testing.assert_allclose(
        unit(twin.left) @ unit(twin.right).T,
        unit(model.left) @ unit(model.right).T,
        atol=1e-14,
    )
    for side in ("left", "right"):
        moved = changes(model.factors(side), twin.factors(side))
        assert found.moved[side].mean_abs == pytest.approx(moved.mean())
        assert found.moved[side].max_abs == pytest.approx(moved.max())
        assert 0.03 < moved.mean() < 0.08
        assert 0.15 < moved.max() < 0.35
    assert found.residual < 1e-14
    assert f"{found.moved['right'].max_abs:.2g} at most (right)" in found.explain()
    with pytest.raises(EquivalenceError):
        found.witness.act(model)


def test_the_adversary_agrees_with_every_answer():
    answers = {"pinned": 0, "free": 0, "undecided": 0}
    for seed in range(21):
        draw = np.random.default_rng(seed)
        k = int(draw.integers(1, 4))
        n, p = draw.integers(k, 9, size=2)
        link = ("cosine", UNIT, CAPPED)[seed % 3]
        bias = rows(p, 1, seed)[:, 0] if seed % 2 else None
        model = FactorModel(
            rows(n + 2, k, seed), rows(p, k, seed + 99), link=link, right_bias=bias
        )
        found = pinned_test(model, rng=seed)
        answers[found.status] += 1
        broken = break_claim(model, starts=3, rng=seed)
        assert not (found.status == "pinned" and broken.found), (
            seed,
            found,
            broken.max_abs,
        )
        if found.moved and found.moved["right"].max_abs > 1e-3:
            twin = found.twin(model)
            assert model.link.gap(model.scores(), twin.scores()) < 1e-12
            assert broken.found
    assert answers["pinned"] >= 4
    assert answers["free"] >= 4


def test_what_is_too_large_says_so():
    wide = FactorModel(None, rows(200, 70), link=UNIT)
    assert (pinned_test(wide).status, pinned_test(wide).witness) == ("free", None)
    assert (
        pinned_test(
            FactorModel(None, rows(200, 70) * (np.arange(70) < 20), link=UNIT)
        ).status
        == "undecided"
    )
    sides = pinned_test(FactorModel(rows(80, 70), rows(200, 70), link="cosine"))
    told = "no other proof is tried; 2,309 more item rows in general position would decide it. At most 280 of 2,485"
    assert told in sides.explain()
    assert sides.rows_missing == {"left": 2429, "right": 2309}


def test_one_side_with_enough_rows_decides_above_the_size_that_is_decomposed():
    many, few = unit(rows(2400, 66)), unit(rows(300, 66, 1))
    for left, right in ((few, many), (many.astype(np.float32), few), (None, many)):
        assert pinned_test(FactorModel(left, right, link="cosine")).status == "pinned"
    thin = pinned_test(
        FactorModel(few.astype(np.float16), many.astype(np.float16), link="cosine")
    )
    assert (thin.status, thin.rows_missing) == ("undecided", {})
    wide = pinned_test(FactorModel(None, rows(200, 140), link="cosine"))
    assert (
        wide.because.endswith("no proof is tried above 8,400"),
        wide.rows_missing,
    ) == (True, {})


@pytest.mark.parametrize(("n", "k"), [(2, 2), (7, 4), (1, 3)])
def test_as_many_rows_more_as_are_missing_decide(n, k):
    """Copies, rows of zeros and lengths count for nothing, and one row less leaves it open."""
    x = np.vstack([rows(n, k), 3 * rows(n, k), np.zeros((2, k))])
    found = pinned_test(FactorModel(None, x, link="cosine"))
    missing = k * (k + 1) // 2 - n
    assert (found.status, found.rows_missing, found.to_dict()["rows_missing"]) == (
        "undecided",
        *[{"right": missing}] * 2,
    )
    assert (
        f"; {missing} more item row{'s' * (missing > 1)} in general position would decide it."
        in found.explain()
    )
    for more, status in ((missing - 1, "undecided"), (missing, "pinned")):
        later = pinned_test(
            FactorModel(None, np.vstack([x, rows(more, k, 9)]), link="cosine")
        )
        assert (later.status, bool(later.rows_missing)) == (
            status,
            status == "undecided",
        )


def cones(shares=(0.36, 0.68)):
    """Unit rows on one cone a side, such that a metric other than I keeps all lengths."""
    draw = np.random.default_rng(1)
    axes = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    for n, share in zip((300, 400), shares, strict=True):
        angle = draw.uniform(0, 2 * np.pi, n)
        sine = np.sqrt(1 - share)
        yield (
            np.column_stack(
                [sine * np.cos(angle), sine * np.sin(angle), np.full(n, np.sqrt(share))]
            )
            @ axes
        )


def as_bfloat16(x):
    bits = x.astype(np.float32).view(np.uint32) + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize("stored", [np.float16, np.float32, as_bfloat16])
@pytest.mark.parametrize("widened", [False, True])
def test_the_rounding_of_storage_fixes_no_number(stored, widened):
    """In float64 rows on two cones have another metric; what rounding adds to their span is no proof of none."""
    cast = stored if stored is as_bfloat16 else (lambda x: x.astype(stored))
    p, q = (cast(x).astype(np.float64) if widened else cast(x) for x in cones())
    both, labels = (
        pinned_test(FactorModel(p, q, link="cosine")),
        pinned_test(FactorModel(None, q, link=UNIT)),
    )
    assert (both.status, pinned_test(FactorModel(*cones(), link="cosine")).status) == (
        "undecided",
        "free",
    )
    assert (labels.status != "pinned", both.rows_missing) == (True, {})
    for k in (3, 16):
        p, q = (cast(unit(rows(600, k, seed))) for seed in (1, 2))
        assert pinned_test(FactorModel(p, q, link="cosine")).status == "pinned"
        assert pinned_test(FactorModel(None, q, link=UNIT)).status == "pinned"


def nearly_on_a_cone(gap, n=24, dtype=np.float64):
    """Unit rows with `x² + y² = 2z²` but for about a gap, and the metric that keeps their lengths as far."""
    draw = np.random.default_rng(0)
    angles, misses = draw.uniform(0, 2 * np.pi, n), gap * draw.uniform(-1, 1, n)
    z = np.sqrt(1 / 3 + misses)
    x = np.column_stack(
        [np.cos(angles), np.sin(angles), np.sign(draw.standard_normal(n))]
    )
    x *= np.column_stack([np.sqrt(1 - z**2)] * 2 + [z])
    return x.astype(dtype), np.eye(3) + 0.4 * np.diag([1.0, 1.0, -2.0])


@pytest.mark.parametrize(
    "link", ["cosine", Softmax(unit_rows=True, soft_cap=5.0), Softmax(unit_rows=True)]
)
@pytest.mark.parametrize(
    ("gap", "dtype", "status"),
    [
        *[(gap, np.float64, "undecided") for gap in (1e-12, 1e-9, 1e-8, 1e-7, 1e-6)],
        *[(gap, np.float64, "pinned") for gap in (1e-3, 1e-2)],
        (1e-8, np.float32, "undecided"),
        (1e-2, np.float32, "pinned"),
    ],
)
def test_rows_that_all_but_leave_a_metric_free_pin_nothing(gap, dtype, status, link):
    """A metric that turns cosines by a third keeps every length as well as training in float32 can tell."""
    rows, metric = nearly_on_a_cone(gap, dtype=dtype)
    axes, turned = (
        rows.astype(np.float64),
        rows.astype(np.float64) @ np.linalg.cholesky(metric),
    )
    assert np.abs(np.linalg.norm(turned, axis=1) - 1).max() < 2 * gap + 1e-6
    assert np.abs(turned @ turned.T - axes @ axes.T).max() > 0.3
    left = None if link == "cosine" else np.eye(3)
    # Under a cap equal probabilities do not say equal logits: nothing is ever pinned.
    capped = getattr(link, "soft_cap", None) is not None
    found = pinned_test(FactorModel(left, rows, link=link))
    assert found.status == ("undecided" if capped else status), found
    assert capped or found.status == "pinned" or "nearly" in found.because


@pytest.mark.parametrize("k", [2, 3, 4])
def test_axes_on_both_sides_are_pinned_by_both_sides_together(k):
    """Neither side spans, but `tr S + tr S⁻¹ = 2k` leaves the identity only."""
    found = pinned_test(FactorModel(np.eye(k), np.eye(k), link="cosine"))
    assert (found.status, found.rank, found.rank < found.needed) == ("pinned", k, True)
    assert "both sides hold one positive form" in found.because


def test_many_generic_rows_are_pinned_by_one_side():
    assert pinned_test(cosine_model(20, 400, 16)).status == "pinned"
    assert pinned_test(FactorModel(None, rows(400, 16), link=UNIT)).status == "pinned"
