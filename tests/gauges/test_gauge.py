"""One gauge: its action on models, its inverse, its condition number and its errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from contract import EPS, assert_equivalent
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import matrix as mp_matrix
from mpmath import mp
from strategies import ALL_LINKS, factor_models, gauges, ranks, seeds

from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import Gauge, GeneralLinear
from embaudit.model import LINKS, FactorModel, Link, softmax_link
from embaudit.model.equivalence import Equivalence, largest_gap

ONE_SENTENCE = re.compile(r"^[^\n;]+ must [^\n;]+; got [^\n;]+(; [^\n;]+)?\.$")


def assert_one_sentence(error: Exception) -> None:
    """Assert that an error reads `X must ...; got ...; remedy.` on one line."""
    assert ONE_SENTENCE.match(str(error)), error


def drawn_matrix(seed: int, n_rows: int) -> np.ndarray:
    """Draw Gaussian rows of three columns."""
    return np.random.default_rng(seed).standard_normal((n_rows, 3))


# Kinds of gauges, and the biases that each link needs for them

SHIFT = np.array([1.0, -2.0, 0.5])
ROTATION = Gauge.linear(np.linalg.qr(drawn_matrix(3, 3))[0])
DIAGONAL = Gauge.diagonal([1.0, 2.0, 4.0])
RIGHT_SHIFT = Gauge.translation(3, right=SHIFT)
BOTH_SHIFTS = Gauge.translation(3, left=SHIFT, right=SHIFT[::-1])

KINDS = {
    "rotation": ROTATION,
    "one scale": Gauge.diagonal([-3.0, -3.0, -3.0]),
    "diagonal": DIAGONAL,
    "linear": Gauge.linear(drawn_matrix(4, 3)),
    "right shift": RIGHT_SHIFT,
    "left shift": Gauge.translation(3, left=SHIFT),
    "affine": RIGHT_SHIFT @ DIAGONAL,
    "both shifts": BOTH_SHIFTS @ ROTATION,
}

NO_BIAS: frozenset[str] = frozenset()
LEFT_BIAS = frozenset({"left"})
RIGHT_BIAS = frozenset({"right"})
BOTH_BIASES = frozenset({"left", "right"})

NEEDED_FOR_SCORES = {
    "rotation": NO_BIAS,
    "one scale": NO_BIAS,
    "diagonal": NO_BIAS,
    "linear": NO_BIAS,
    "right shift": LEFT_BIAS,
    "affine": LEFT_BIAS,
    "left shift": RIGHT_BIAS,
    "both shifts": BOTH_BIASES,
}
NEEDED_FOR_ROWS_OF_SCORES = {
    "rotation": NO_BIAS,
    "one scale": NO_BIAS,
    "diagonal": NO_BIAS,
    "linear": NO_BIAS,
    "right shift": NO_BIAS,
    "affine": NO_BIAS,
    "left shift": RIGHT_BIAS,
    "both shifts": RIGHT_BIAS,
}
"""A softmax and a ranking ignore one number that is added to a row of scores."""
NEEDED_BIASES: dict[Link, dict[str, frozenset[str]]] = {
    LINKS["identity"]: NEEDED_FOR_SCORES,
    LINKS["sigmoid"]: NEEDED_FOR_SCORES,
    softmax_link(soft_cap=3.0): NEEDED_FOR_SCORES,
    LINKS["softmax"]: NEEDED_FOR_ROWS_OF_SCORES,
    LINKS["ranking"]: NEEDED_FOR_ROWS_OF_SCORES,
    LINKS["cosine"]: {"rotation": NO_BIAS, "one scale": NO_BIAS},
    softmax_link(unit_rows=True): {"rotation": NO_BIAS, "left shift": RIGHT_BIAS},
}
"""Biases that a model must have so that a kind of gauge can act on it.

A kind that is absent changes the predictions of the link, whatever the biases are.
"""


@dataclass(frozen=True)
class Case:
    """A model of some link and biases, and a kind of gauge."""

    link: Link
    kind: str
    biases: frozenset[str]

    @property
    def gauge(self) -> Gauge:
        """The gauge of this kind."""
        return KINDS[self.kind]

    @property
    def model(self) -> FactorModel:
        """A model of 6 left and 7 right rows with the link and the biases."""
        return FactorModel.from_arrays(
            left=drawn_matrix(1, 6),
            right=drawn_matrix(2, 7),
            link=self.link,
            left_bias=np.arange(6.0) if "left" in self.biases else None,
            right_bias=np.arange(7.0) if "right" in self.biases else None,
            offset=0.5,
        )

    @property
    def is_allowed(self) -> bool:
        """True if the biases of the model absorb the gauge."""
        needed = NEEDED_BIASES[self.link]
        return self.kind in needed and needed[self.kind] <= self.biases

    def __str__(self) -> str:
        link = self.link.name
        if self.link.soft_cap is not None:
            link = f"{link} with a soft cap"
        elif self.link == softmax_link(unit_rows=True):
            link = f"{link} of unit rows"
        biases = " and ".join(sorted(self.biases)) or "no"
        return f"{link}, {self.kind}, {biases} bias"


ALL_BIASES = [NO_BIAS, LEFT_BIAS, RIGHT_BIAS, BOTH_BIASES]
CASES = [Case(*fields) for fields in product(ALL_LINKS, KINDS, ALL_BIASES)]
EACH_ALLOWED_CASE = pytest.mark.parametrize(
    "case", [case for case in CASES if case.is_allowed], ids=str
)
EACH_FORBIDDEN_CASE = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.is_allowed], ids=str
)


def largest_change(before: FactorModel, after: FactorModel) -> float:
    """Return the largest change of a prediction."""
    return largest_gap(before.predicts, before.scores(), after.scores())


@EACH_ALLOWED_CASE
def test_allowed_gauge_moves_predictions_by_rounding_only(case: Case) -> None:
    """The bound grows with the rows and κ, as rounding does."""
    assert_equivalent(case.model, case.gauge.act(case.model), case.gauge)


@EACH_ALLOWED_CASE
def test_allowed_gauge_moves_small_predictions_by_less_than_1e_12(case: Case) -> None:
    """Small rows and a small κ allow a fixed bound, which guards the bound above."""
    assert largest_change(case.model, case.gauge.act(case.model)) < 1e-12


@EACH_FORBIDDEN_CASE
def test_forbidden_gauge_is_refused_in_one_sentence(case: Case) -> None:
    with pytest.raises(EquivalenceError) as refusal:
        case.gauge.act(case.model)
    assert_one_sentence(refusal.value)


def moved_by_hand(model: FactorModel, gauge: Gauge) -> FactorModel:
    """Apply a gauge to the rows, and let each bias absorb as much as it can."""
    mapped_right = model.right @ gauge.matrix("right")
    left = model.factors("left") @ gauge.matrix("left") + gauge.left_shift
    right = mapped_right + gauge.right_shift
    changes: dict[str, np.ndarray] = {"left": left, "right": right}
    if model.left_bias is not None:
        changes["left_bias"] = model.left_bias - left @ gauge.right_shift
    if model.right_bias is not None:
        changes["right_bias"] = model.right_bias - mapped_right @ gauge.left_shift
    return model.replace(**changes)


@EACH_FORBIDDEN_CASE
def test_forbidden_gauge_would_move_predictions(case: Case) -> None:
    """So the refusal is needed."""
    assert largest_change(case.model, moved_by_hand(case.model, case.gauge)) > 1e-3


# Drawn models and gauges


@st.composite
def models_with_acting_gauges(draw: st.DrawFn) -> tuple[FactorModel, Gauge]:
    """Draw any precision, link, biases and scale, and any gauge that can act."""
    model = draw(factor_models())
    gauge = draw(gauges(model.rank))
    assume(gauge.preserves_in(model) >= model.predicts)
    return model, gauge


@given(models_with_acting_gauges())
def test_no_gauge_moves_a_prediction(drawn: tuple[FactorModel, Gauge]) -> None:
    model, gauge = drawn
    assert_equivalent(model, gauge.act(model), gauge)


@given(models_with_acting_gauges())
def test_no_gauge_changes_the_precision_of_the_rows(
    drawn: tuple[FactorModel, Gauge],
) -> None:
    model, gauge = drawn
    moved = gauge.act(model)
    types_before = (model.factors("left").dtype, model.right.dtype)
    assert (moved.factors("left").dtype, moved.right.dtype) == types_before


@given(models_with_acting_gauges())
def test_no_gauge_changes_the_link_the_offset_or_the_roles(
    drawn: tuple[FactorModel, Gauge],
) -> None:
    model, gauge = drawn
    moved = gauge.act(model)
    fields_before = (model.link, model.offset, model.roles)
    assert (moved.link, moved.offset, moved.roles) == fields_before


@st.composite
def biased_models_with_affine_gauges(draw: st.DrawFn) -> tuple[FactorModel, Gauge]:
    """Draw a model with both biases and the identity link, and a product of gauges."""
    identity = st.just(LINKS["identity"])
    model = draw(factor_models(links=identity, biased=st.just(True)))
    return model, draw(gauges(model.rank)) @ draw(gauges(model.rank))


@given(biased_models_with_affine_gauges())
def test_affine_gauge_says_that_it_preserves_scores_if_both_biases_are_free(
    drawn: tuple[FactorModel, Gauge],
) -> None:
    model, gauge = drawn
    assert gauge.preserves_in(model) >= Equivalence.SCORES


@given(biased_models_with_affine_gauges())
def test_free_biases_absorb_every_affine_gauge(
    drawn: tuple[FactorModel, Gauge],
) -> None:
    model, gauge = drawn
    assert_equivalent(model, gauge.act(model), gauge)


# Inverses

CONDITIONS = st.sampled_from([1e2, 1e5, 1e8, 1e12])


def product_error(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest difference of a product of matrices from the identity."""
    return float(np.abs(first @ second - np.eye(len(first))).max())


def rounding_of_products(rank: int, condition: float) -> float:
    """Bound the rounding of M · M⁻¹.

    Each entry adds k products, whose rounding is at most eps ‖M‖ ‖M⁻¹‖ = eps κ. The
    factor 8 covers the rounding of the stored matrices.
    """
    return 8 * rank * EPS * condition


@given(rank=st.integers(2, 6), condition=CONDITIONS, seed=seeds())
def test_product_of_a_gauge_and_its_inverse_is_the_identity(
    rank: int, condition: float, seed: int
) -> None:
    gauge = GeneralLinear(rank, max_condition=condition).sample(rng=seed)
    both = gauge @ gauge.inverse()
    error = product_error(both.matrix("left"), np.eye(rank))
    assert error <= rounding_of_products(rank, condition)


@given(rank=st.integers(2, 6), condition=CONDITIONS, seed=seeds())
def test_matrices_of_this_product_are_inverse_to_each_other(
    rank: int, condition: float, seed: int
) -> None:
    gauge = GeneralLinear(rank, max_condition=condition).sample(rng=seed)
    both = gauge @ gauge.inverse()
    error = product_error(both.matrix("left"), both.matrix("right").T)
    assert error <= rounding_of_products(rank, both.condition_number)


@dataclass(frozen=True)
class RoundTrip:
    """A model, and the same model after a gauge and then its inverse acted on it."""

    before: FactorModel
    after: FactorModel
    undo: Gauge
    """The second of both gauges."""


@st.composite
def round_trips(draw: st.DrawFn) -> RoundTrip:
    """Draw a turn and a shift of both sides, which act and are undone.

    The inverse has to turn its shift back. It is drawn which of the two acts first. The
    biases of the model are 0, so they show what stays behind.
    """
    rank = draw(ranks())
    rng = np.random.default_rng(draw(seeds()))
    left_shift, right_shift = rng.standard_normal((2, rank))
    shifts = Gauge.translation(rank, left=left_shift, right=right_shift)
    gauge = shifts @ GeneralLinear(rank, max_condition=5.0).sample(rng=rng)
    before = FactorModel.from_arrays(
        rng.standard_normal((4, rank)),
        rng.standard_normal((5, rank)),
        left_bias=np.zeros(4),
        right_bias=np.zeros(5),
    )
    undo = gauge.inverse()
    if draw(st.booleans()):
        gauge, undo = undo, gauge
    return RoundTrip(before, undo.act(gauge.act(before)), undo)


@given(round_trips())
def test_inverse_restores_the_left_rows(trip: RoundTrip) -> None:
    np.testing.assert_allclose(trip.after.left, trip.before.left, rtol=0, atol=1e-11)


@given(round_trips())
def test_inverse_restores_the_right_rows(trip: RoundTrip) -> None:
    np.testing.assert_allclose(trip.after.right, trip.before.right, rtol=0, atol=1e-11)


@given(round_trips())
def test_inverse_restores_the_biases_but_for_one_number(trip: RoundTrip) -> None:
    """The left biases lose u · v, where u and v are the left and right shifts of the
    second gauge, and the right biases gain it.
    """
    exchanged = trip.undo.left_shift @ trip.undo.right_shift
    np.testing.assert_allclose(trip.after.left_bias, -exchanged, rtol=0, atol=1e-10)
    np.testing.assert_allclose(trip.after.right_bias, exchanged, rtol=0, atol=1e-10)


# Condition number


@pytest.mark.parametrize("condition", [10.0, 1e6, 1e12])
def test_condition_number_against_exact_arithmetic(condition: float) -> None:
    """κ² is the ratio of the extreme eigenvalues of MᵀM, in 80 digits."""
    gauge = GeneralLinear(4, max_condition=condition).sample(rng=3)
    with mp.workdps(80):
        m = mp_matrix(gauge.matrix("left").tolist())
        eigenvalues = sorted(mp.eigsy(m.T * m, eigvals_only=True))
        exact = float(mp.sqrt(eigenvalues[-1] / eigenvalues[0]))
    # M is stored to eps, which moves its smallest singular value by eps·κ relatively.
    tolerance = 16 * EPS * condition + 1e-14
    assert gauge.condition_number == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize("condition", [10.0, 1e6, 1e12])
def test_sampled_gauge_has_the_largest_allowed_condition_number(
    condition: float,
) -> None:
    gauge = GeneralLinear(4, max_condition=condition).sample(rng=3)
    assert gauge.condition_number == pytest.approx(condition, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "preserved", "fixes_cosines"),
    [
        ("rotation", "cosines", True),
        ("one scale", "cosines", True),
        ("diagonal", "scores", False),
        ("linear", "scores", False),
        ("right shift", "probabilities", False),
        ("left shift", "nothing", False),
        ("affine", "probabilities", False),
        ("both shifts", "nothing", False),
    ],
)
def test_each_kind_says_what_it_preserves(
    kind: str, preserved: str, fixes_cosines: bool
) -> None:
    gauge = KINDS[kind]
    assert (gauge.preserves.title, gauge.fixes_cosines) == (preserved, fixes_cosines)


# Errors


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(KINDS["linear"].right.T, id="transposed"),
        pytest.param(2 * KINDS["linear"].right, id="twice as large"),
        pytest.param(KINDS["linear"].right * (1 + 1e-9), id="slightly larger"),
    ],
)
def test_two_matrices_that_are_not_inverse_are_refused(wrong: np.ndarray) -> None:
    sentence = r"^left · rightᵀ must be the identity; got an error of"
    with pytest.raises(InputError, match=sentence):
        Gauge(KINDS["linear"].left, wrong)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(np.zeros((2, 2)), np.zeros((2, 2)), id="zeros"),
        pytest.param(np.diag([1.0, 0.0]), np.diag([1.0, 0.0]), id="projection"),
        pytest.param(np.ones((2, 2)), np.ones((2, 2)), id="ones"),
        pytest.param(
            np.diag([1.0, 1e-20]), np.diag([1.0, 4e19]), id="one wrong small scale"
        ),
    ],
)
def test_two_matrices_that_cannot_be_inverse_are_refused(
    left: np.ndarray, right: np.ndarray
) -> None:
    with pytest.raises(InputError, match="must be the identity"):
        Gauge(left, right)


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.ones((2, 2)), [[1.0, 1.0], [1.0, 1.0 + 1e-16]]]
)
def test_singular_matrices_are_refused(matrix: object) -> None:
    sentence = r"^matrix must be invertible; got singular values from .+ to .+\.$"
    with pytest.raises(InputError, match=sentence):
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


def gauge_with_left(matrix: object) -> Gauge:
    return Gauge(matrix, np.eye(1))


def gauge_with_right(matrix: object) -> Gauge:
    return Gauge(np.eye(1), matrix)


@pytest.mark.parametrize("build", [Gauge.linear, gauge_with_left, gauge_with_right])
@pytest.mark.parametrize("matrix", BAD_MATRICES, ids=str)
def test_error_of_a_bad_matrix_is_one_sentence(
    build: Callable[[object], Gauge], matrix: object
) -> None:
    with pytest.raises(InputError) as error:
        build(matrix)
    assert_one_sentence(error.value)


@pytest.mark.parametrize(
    "scales",
    [["a"], [1j], [0.0, 1.0], [np.nan], [np.inf], [[1.0]], 1.0, [], [1e-310], None],
    ids=str,
)
def test_error_of_bad_scales_is_one_sentence(scales: object) -> None:
    with pytest.raises(InputError) as error:
        Gauge.diagonal(scales)
    assert_one_sentence(error.value)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "shift", [["a", "b"], [1j, 0], [np.nan, 0], [1.0], 1.0, [[1.0, 2.0]]], ids=str
)
def test_error_of_a_bad_shift_is_one_sentence_that_names_the_side(
    side: str, shift: object
) -> None:
    with pytest.raises(InputError, match=f"{side} shift of a gauge") as error:
        Gauge.translation(2, **{side: shift})
    assert_one_sentence(error.value)


@pytest.mark.parametrize("build", [Gauge.identity, Gauge.translation])
@pytest.mark.parametrize("rank", [0, -1, 1.5, "2"])
def test_error_of_a_bad_rank_is_one_sentence(
    build: Callable[[object], Gauge], rank: object
) -> None:
    with pytest.raises(InputError) as error:
        build(rank)
    assert_one_sentence(error.value)


LARGE_FLOAT32_MODEL = FactorModel.from_vectors(np.full((2, 2), 1e30, dtype=np.float32))
"""A model whose right rows grow to 1e40 under the next gauge, beyond float32."""
ENLARGING_GAUGE = Gauge.diagonal([1e-10, 1.0])


def test_overflow_in_float32_is_refused() -> None:
    """Otherwise the overflow would produce inf, which a later check would report as bad
    input.
    """
    rule = "moved factors must be within the range of float32"
    with pytest.raises(InputError, match=rf"^{rule}; got 1\.0e\+40; store the model"):
        ENLARGING_GAUGE.act(LARGE_FLOAT32_MODEL)


def test_the_same_gauge_acts_on_the_model_in_float64() -> None:
    rows = LARGE_FLOAT32_MODEL.right.astype(np.float64)
    moved = ENLARGING_GAUGE.act(LARGE_FLOAT32_MODEL.replace(right=rows))
    assert moved.right[0, 0] == pytest.approx(1e40)
