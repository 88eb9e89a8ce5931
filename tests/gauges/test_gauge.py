"""One gauge: what it accepts, how it acts, what it refuses, and how it composes."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from contract import EPS, assert_equivalent
from hypothesis import given
from hypothesis import strategies as st
from mpmath import matrix as mp_matrix
from mpmath import mp
from strategies import ALL_LINKS, factor_models, gauges, ranks, seeds

from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import Gauge, GeneralLinear
from embaudit.model import LINKS, FactorModel, Link, softmax_link
from embaudit.model.equivalence import Equivalence, largest_gap

RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.standard_normal((6, 3)), RNG.standard_normal((7, 3))
SHIFT = np.array([1.0, -2.0, 0.5])
TURN = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
SENTENCE = re.compile(r"^[^\n;]+ must [^\n;]+; got [^\n;]+(; [^\n;]+)?\.$")

KINDS = {
    "rotation": Gauge.linear(TURN),
    "one scale": Gauge.diagonal([-3.0, -3.0, -3.0]),
    "diagonal": Gauge.diagonal([1.0, 2.0, 4.0]),
    "linear": Gauge.linear(RNG.standard_normal((3, 3))),
    "right shift": Gauge.translation(3, right=SHIFT),
    "left shift": Gauge.translation(3, left=SHIFT),
    "affine": Gauge.translation(3, right=SHIFT) @ Gauge.diagonal([1.0, 2.0, 4.0]),
    "both shifts": Gauge.translation(3, left=SHIFT, right=SHIFT[::-1])
    @ Gauge.linear(TURN),
}
LINEAR = {"rotation", "one scale", "diagonal", "linear"}
ABSORBED_BY = {
    # link: {kind: the biases that must be free}. A kind that is not listed is refused
    # whatever the biases are.
    LINKS["identity"]: dict.fromkeys(LINEAR, "")
    | {
        "right shift": "left",
        "affine": "left",
        "left shift": "right",
        "both shifts": "left right",
    },
    LINKS["softmax"]: dict.fromkeys(LINEAR | {"right shift", "affine"}, "")
    | {"left shift": "right", "both shifts": "right"},
    LINKS["ranking"]: dict.fromkeys(LINEAR | {"right shift", "affine"}, "")
    | {"left shift": "right", "both shifts": "right"},
    LINKS["cosine"]: dict.fromkeys(["rotation", "one scale"], ""),
    softmax_link(unit_rows=True): {"rotation": "", "left shift": "right"},
}
ABSORBED_BY |= dict.fromkeys(
    (LINKS["sigmoid"], softmax_link(soft_cap=3.0)), ABSORBED_BY[LINKS["identity"]]
)
CASES = list(product(ALL_LINKS, KINDS, ["", "left", "right", "left right"]))


def model(link: Link = LINKS["identity"], biases: str = "") -> FactorModel:
    return FactorModel.from_arrays(
        left=LEFT,
        right=RIGHT,
        link=link,
        left_bias=np.arange(6.0) if "left" in biases else None,
        right_bias=np.arange(7.0) if "right" in biases else None,
        offset=0.5,
    )


def is_allowed(link: Link, kind: str, biases: str) -> bool:
    needed = ABSORBED_BY[link].get(kind)
    return needed is not None and set(needed.split()) <= set(biases.split())


@pytest.mark.parametrize(
    ("link", "kind", "biases"), [case for case in CASES if is_allowed(*case)]
)
def test_allowed_combinations_keep_the_predictions(
    link: Link, kind: str, biases: str
) -> None:
    before, gauge = model(link, biases), KINDS[kind]
    after = gauge.act(before)
    assert_equivalent(before, after, gauge)
    assert largest_gap(before.predicts, before.scores(), after.scores()) < 1e-12


@pytest.mark.parametrize(
    ("link", "kind", "biases"), [case for case in CASES if not is_allowed(*case)]
)
def test_other_combinations_are_refused_and_would_be_wrong(
    link: Link, kind: str, biases: str
) -> None:
    before, gauge = model(link, biases), KINDS[kind]
    with pytest.raises(EquivalenceError) as refusal:
        gauge.act(before)
    assert SENTENCE.match(str(refusal.value)), refusal.value
    # Every bias is changed by hand to absorb as much as it can. The predictions still
    # move.
    left = LEFT @ gauge.matrix("left") + gauge.left_shift
    right = RIGHT @ gauge.matrix("right") + gauge.right_shift
    absorbed: dict[str, np.ndarray] = {"left": left, "right": right}
    if before.left_bias is not None:
        absorbed["left_bias"] = before.left_bias - left @ gauge.right_shift
    if before.right_bias is not None:
        absorbed["right_bias"] = (
            before.right_bias - RIGHT @ gauge.matrix("right") @ gauge.left_shift
        )
    after = before.replace(**absorbed)
    assert largest_gap(before.predicts, before.scores(), after.scores()) > 1e-3


@given(st.data())
def test_no_gauge_moves_a_prediction(data: st.DataObject) -> None:
    """Draw any precision, link, biases and scale, and any gauge that can act."""
    before = data.draw(factor_models())
    gauge = data.draw(gauges(before.rank))
    if gauge.preserves_in(before) >= before.predicts:
        after = gauge.act(before)
        assert_equivalent(before, after, gauge)
        assert (after.left.dtype, after.right.dtype) == (
            before.left.dtype,
            before.right.dtype,
        )
        assert (after.link, after.offset, after.roles) == (
            before.link,
            before.offset,
            before.roles,
        )


@given(st.data())
def test_free_biases_absorb_every_affine_gauge(data: st.DataObject) -> None:
    before = data.draw(
        factor_models(links=st.just(LINKS["identity"]), biased=st.just(True))
    )
    gauge = data.draw(gauges(before.rank)) @ data.draw(gauges(before.rank))
    assert gauge.preserves_in(before) >= Equivalence.SCORES
    assert_equivalent(before, gauge.act(before), gauge)


@given(st.integers(2, 6), st.sampled_from([1e2, 1e5, 1e8, 1e12]), seeds())
def test_inverses_cancel_at_any_condition(
    rank: int, condition: float, seed: int
) -> None:
    gauge = GeneralLinear(rank, max_condition=condition).sample(rng=seed)
    both = gauge @ gauge.inverse()
    assert (
        np.abs(both.matrix("left") - np.eye(rank)).max() <= 8 * rank * EPS * condition
    )
    assert (
        np.abs(both.matrix("left") @ both.matrix("right").T - np.eye(rank)).max()
        <= 8 * rank * EPS * both.condition_number
    )


@given(st.data())
def test_inverses_undo_affine_gauges(data: st.DataObject) -> None:
    """A turn and a shift of both sides: the inverse has to turn its shift back."""
    rank = data.draw(ranks())
    rng = np.random.default_rng(data.draw(seeds()))
    shifts = {side: rng.standard_normal(rank) for side in ("left", "right")}
    gauge = Gauge.translation(rank, **shifts) @ GeneralLinear(
        rank, max_condition=5.0
    ).sample(rng=rng)
    before = FactorModel.from_arrays(
        rng.standard_normal((4, rank)),
        rng.standard_normal((5, rank)),
        left_bias=[0] * 4,
        right_bias=[0] * 5,
    )
    for there, back in ((gauge, gauge.inverse()), (gauge.inverse(), gauge)):
        after = back.act(there.act(before))
        for field in ("left", "right"):
            np.testing.assert_allclose(
                getattr(after, field), getattr(before, field), rtol=0, atol=1e-11
            )
        # One number, u · v of the second step, can stay behind: the left biases lose
        # it and the right biases gain it.
        exchanged = back.left_shift @ back.right_shift
        np.testing.assert_allclose(after.left_bias, -exchanged, rtol=0, atol=1e-10)
        np.testing.assert_allclose(after.right_bias, exchanged, rtol=0, atol=1e-10)


@pytest.mark.parametrize("condition", [10.0, 1e6, 1e12])
def test_condition_number_against_exact_arithmetic(condition: float) -> None:
    """κ² is the ratio of the extreme eigenvalues of MᵀM, in 80 digits."""
    gauge = GeneralLinear(4, max_condition=condition).sample(rng=3)
    with mp.workdps(80):
        m = mp_matrix(gauge.matrix("left").tolist())
        eigenvalues = sorted(mp.eigsy(m.T * m, eigvals_only=True))
        exact = float(mp.sqrt(eigenvalues[-1] / eigenvalues[0]))
    # M is stored to eps, which moves its smallest singular value by eps·κ relatively.
    assert gauge.condition_number == pytest.approx(
        exact, rel=16 * EPS * condition + 1e-14
    )
    assert gauge.condition_number == pytest.approx(condition, rel=1e-12)


def test_the_two_matrices_must_be_inverse() -> None:
    good = KINDS["linear"]
    for wrong in (good.right.T, 2 * good.right, good.right * (1 + 1e-9)):
        with pytest.raises(
            InputError, match=r"^left · rightᵀ must be the identity; got an error of"
        ):
            Gauge(good.left, wrong)
    for singular in (np.zeros((2, 2)), np.diag([1.0, 0.0]), np.ones((2, 2))):
        with pytest.raises(InputError, match="must be the identity"):
            Gauge(singular, singular)
    with pytest.raises(InputError, match="must be the identity"):
        Gauge(np.diag([1.0, 1e-20]), np.diag([1.0, 4e19]))


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.ones((2, 2)), [[1.0, 1.0], [1.0, 1.0 + 1e-16]]]
)
def test_singular_matrices_are_refused(matrix: object) -> None:
    with pytest.raises(
        InputError,
        match=r"^matrix must be invertible; got singular values from .+ to .+\.$",
    ):
        Gauge.linear(matrix)


BAD_MATRICES = [
    [["a"]],
    [[1j]],
    pytest.param([[object()]], id="object"),
    [[np.nan]],
    [[np.inf]],
    [[True]],
    [[1.0, 2.0]],
    [1.0],
    1.0,
    [],
    [[]],
    np.empty((0, 0)),
    [[1.0], [1.0, 2.0]],
    np.ones((2, 2, 2)),
    np.ma.array([[1.0]], mask=[[True]]),
    None,
]


@pytest.mark.parametrize("bad", BAD_MATRICES, ids=str)
def test_a_bad_matrix_is_one_sentence(bad: object) -> None:
    for build in (
        Gauge.linear,
        lambda m: Gauge(m, np.eye(1)),
        lambda m: Gauge(np.eye(1), m),
    ):
        with pytest.raises(InputError) as error:
            build(bad)
        assert SENTENCE.match(str(error.value)), error.value


@pytest.mark.parametrize(
    "bad",
    [["a"], [1j], [0.0, 1.0], [np.nan], [np.inf], [[1.0]], 1.0, [], [1e-310], None],
    ids=str,
)
def test_bad_scales_are_one_sentence(bad: object) -> None:
    with pytest.raises(InputError) as error:
        Gauge.diagonal(bad)
    assert SENTENCE.match(str(error.value)), error.value


@pytest.mark.parametrize(
    "bad", [["a", "b"], [1j, 0], [np.nan, 0], [1.0], 1.0, [[1.0, 2.0]]], ids=str
)
def test_bad_shifts_are_one_sentence(bad: object) -> None:
    for side in ("left", "right"):
        with pytest.raises(InputError, match=f"{side} shift of a gauge") as error:
            Gauge.translation(2, **{side: bad})
        assert SENTENCE.match(str(error.value)), error.value


@pytest.mark.parametrize("rank", [0, -1, 1.5, "2"])
def test_a_bad_rank_is_one_sentence(rank: object) -> None:
    for build in (Gauge.identity, Gauge.translation):
        with pytest.raises(InputError) as error:
            build(rank)
        assert SENTENCE.match(str(error.value)), error.value


def test_what_single_precision_cannot_hold_is_refused() -> None:
    """Not an infinity that the next check blames on a row of the caller's."""
    single = FactorModel.from_vectors(np.full((2, 2), 1e30, dtype=np.float32))
    gauge = Gauge.diagonal([1e-10, 1.0])
    with pytest.raises(
        InputError,
        match=r"^moved factors must be within float32; got 1\.0e\+40; store the model",
    ):
        gauge.act(single)
    assert gauge.act(single.replace(right=single.right.astype(np.float64))).right[
        0, 0
    ] == pytest.approx(1e40)


def test_levels_of_each_kind() -> None:
    levels = {
        kind: (gauge.preserves.title, gauge.fixes_cosines)
        for kind, gauge in KINDS.items()
    }
    assert levels == {
        "rotation": ("cosines", True),
        "one scale": ("cosines", True),
        "diagonal": ("scores", False),
        "linear": ("scores", False),
        "right shift": ("probabilities", False),
        "left shift": ("nothing", False),
        "affine": ("probabilities", False),
        "both shifts": ("nothing", False),
    }
