"""FactorModel: scores, predictions, cosines, single sides, memory maps and refusals."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from strategies import factor_models, one_sided_models

from embaudit.errors import InputError
from embaudit.model import LINK_NAMES, LINKS, FactorModel
from embaudit.model.equivalence import Equivalence
from embaudit.model.final_norm import FinalNorm

SENTENCE = re.compile(r"^[^\n;]+ must (be|have) [^\n;]+; got [^\n;]+(; [^\n;]+)?\.$")
LEFT = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
RIGHT = np.array([[1.0, 2.0], [3.0, 4.0]])
EPS = np.finfo(np.float64).eps


def slow_scores(model: FactorModel) -> np.ndarray:
    """Compute the definition of scores, one score at a time in long double."""
    left = model.left.astype(np.longdouble)
    right = model.right.astype(np.longdouble)
    scores = np.full((len(left), len(right)), np.longdouble(model.offset))
    for i, p in enumerate(left):
        for j, q in enumerate(right):
            scores[i, j] += (p * q).sum()
            if model.left_bias is not None:
                scores[i, j] += model.left_bias[i]
            if model.right_bias is not None:
                scores[i, j] += model.right_bias[j]
    return scores


def score_size(model: FactorModel) -> np.ndarray:
    """Sum the absolute values of all terms of each score."""
    absolute = {"offset": abs(model.offset)}
    for field in ("left", "right", "left_bias", "right_bias"):
        values = getattr(model, field)
        if values is not None:
            absolute[field] = np.abs(values)
    return slow_scores(model.replace(**absolute)).astype(float)


LINKS_OF_SCORES = [LINKS["identity"], LINKS["softmax"], LINKS["ranking"]]
"""Links that leave the scores as the products of rows."""


@given(factor_models(links=st.sampled_from(LINKS_OF_SCORES)))
def test_scores_are_their_definition(model: FactorModel) -> None:
    error = np.abs(model.scores() - slow_scores(model)).astype(float)
    # Each of k products and three further terms is rounded once and added once.
    rounding = 2 * (model.rank + 3) * EPS * score_size(model)
    assert (error <= rounding).all()


def test_probabilities_against_mpmath() -> None:
    rng = np.random.default_rng(0)
    head = FactorModel.from_softmax(
        10 * rng.standard_normal((5, 3)),
        rng.standard_normal(5),
        embeddings=LEFT @ np.ones((2, 3)),
    )
    with mp.workdps(40):
        for row, scores in zip(head.predictions(), head.scores(), strict=True):
            weights = [mp.exp(mpf(float(s))) for s in scores]
            exact = [float(w / mp.fsum(weights)) for w in weights]
            np.testing.assert_allclose(row, exact, rtol=1e-13)


def test_predictions_of_each_link() -> None:
    scores = LEFT @ RIGHT.T
    base = FactorModel.from_arrays(LEFT, RIGHT)
    np.testing.assert_array_equal(base.predictions(), scores)
    probabilities = base.replace(link="softmax").predictions()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    ranking = base.replace(link="ranking")
    assert ranking.predictions([0]).tolist() == [[1, 0]]
    # Of equal scores, the earlier row comes first.
    equal = ranking.replace(right=RIGHT[[0, 0]])
    assert equal.predictions([0]).tolist() == [[0, 1]]
    assert base.replace(link="cosine").predictions().max() <= 1 + EPS


def test_each_link_predicts_at_its_level() -> None:
    levels = {link: FactorModel(None, RIGHT, link).predicts for link in LINK_NAMES}
    assert levels == {
        "identity": Equivalence.SCORES,
        "softmax": Equivalence.PROBABILITIES,
        "sigmoid": Equivalence.SCORES,
        "cosine": Equivalence.COSINES,
        "ranking": Equivalence.RANKINGS,
    }


def test_zero_rows_have_no_cosine_and_are_counted() -> None:
    model = FactorModel.from_arrays(LEFT, [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert model.zero_rows("right").tolist() == [0, 2]
    assert model.zero_rows("left").tolist() == []
    assert np.isnan(model.cosines("right", [[0, 1]])).all()


@given(one_sided_models())
def test_one_side_answers_what_it_can_and_refuses_the_rest(model: FactorModel) -> None:
    assert (model.left, model.n_left, model.sides) == (None, 0, ("right",))
    assert "no users" in repr(model)
    model.cosines("right", [[0, 0]])
    refusal = (
        r"^user factors must be loaded for this; got item factors only; "
        r"load both sides together\.$"
    )
    for ask in (
        model.scores,
        model.predictions,
        lambda: model.factors("left"),
        lambda: model.names("left"),
        lambda: model.zero_rows("left"),
        lambda: model.cosines("left", [[0, 0]]),
        lambda: model.cosines("cross", [[0, 0]]),
    ):
        with pytest.raises(InputError, match=refusal):
            ask()


def test_memory_maps_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "items.npy", RIGHT.astype(np.float32))
    stored = np.load(tmp_path / "items.npy", mmap_mode="r")
    model = FactorModel.from_user_item(LEFT, stored)
    assert np.shares_memory(model.right, stored)
    assert np.shares_memory(model.replace(offset=1.0).right, stored)


BAD_FIELDS = [
    ("left", [[1.0, np.nan]], "user factors"),
    ("left", [[1.0], [1.0, 2.0]], "user factors"),
    ("left", [["a", "b"]], "user factors"),
    ("right", [[np.inf, 1.0]], "item factors"),
    ("right", [[1j, 1]], "item factors"),
    ("right", [], "item factors"),
    ("right", None, "item factors"),
    ("right", np.array([[1, None]], dtype=object), "item factors"),
    ("right", np.ones((2, 3)), "user and item factors"),
    ("left_bias", [1.0], "user bias"),
    ("right_bias", [1.0, np.nan], "item bias"),
    ("right_bias", ["a", "b"], "item bias"),
    ("right_bias", [[1.0], [1.0, 2.0]], "item bias"),
    ("offset", np.nan, "offset"),
    ("offset", "1", "offset"),
    ("offset", None, "offset"),
    ("offset", 1j, "offset"),
    ("offset", [1.0], "offset"),
    ("link", "logit", "link"),
    ("link", 3, "link"),
    ("left_ids", ["a", "b"], "user ids"),
    ("right_ids", ["a", "a"], "item ids"),
    ("right_ids", [7, 7], "item ids"),
    ("right_ids", np.array(["a", "a"], dtype=object), "item ids"),
    ("right_ids", [[1, 2], [3, 4]], "item ids"),
    ("right_ids", [[1], [1, 2]], "item ids"),
    ("right_ids", "ab", "item ids"),
    ("right_names", ["a"], "item names"),
]


@pytest.mark.parametrize(
    ("field", "bad", "name"),
    BAD_FIELDS,
    ids=[f"{field}-{i}" for i, (field, *_) in enumerate(BAD_FIELDS)],
)
def test_bad_fields_are_one_sentence(field: str, bad: object, name: str) -> None:
    with pytest.raises(InputError, match=f"^{name} must ") as error:
        FactorModel.from_arrays(**{"left": LEFT, "right": RIGHT, field: bad})
    assert SENTENCE.match(str(error.value)), error.value


@pytest.mark.parametrize("bad", [[[1.0], [1.0, 2.0]], [["a"]], 1.0, [[np.nan, 0.0]]])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda bad: FactorModel.from_user_item(bad, RIGHT), "user factors"),
        (lambda bad: FactorModel.from_user_item(LEFT, bad), "item factors"),
        (lambda bad: FactorModel.from_softmax(bad), "label factors"),
        (lambda bad: FactorModel.from_softmax(RIGHT, embeddings=bad), "input factors"),
        (lambda bad: FactorModel.from_vectors(bad), "item factors"),
    ],
)
def test_bad_factors_for_a_constructor_are_one_sentence(build, name, bad) -> None:
    with pytest.raises(InputError, match=f"^{name} must ") as error:
        build(bad)
    assert SENTENCE.match(str(error.value)), error.value


STATES = np.random.default_rng(0).standard_normal((7, 5)) + 2
GAIN = np.array([1.0, -2.0, 0.5, 3.0, 1.5])
SHIFT = np.arange(5.0)


def test_an_rmsnorm_divides_by_the_root_mean_square():
    norm = FinalNorm("rms", GAIN)
    wanted = STATES / np.sqrt((STATES**2).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(norm.normalised(STATES), wanted, rtol=1e-14)
    np.testing.assert_allclose(norm.applied(STATES), wanted * GAIN, rtol=1e-14)
    assert not norm.sums_to_zero
    assert norm.title == "RMSNorm"


def test_a_layernorm_takes_the_mean_off_and_adds_its_shift():
    norm = FinalNorm("layer", GAIN, SHIFT)
    centred = STATES - STATES.mean(axis=1, keepdims=True)
    wanted = centred / STATES.std(axis=1, keepdims=True)
    np.testing.assert_allclose(norm.normalised(STATES), wanted, rtol=1e-13)
    np.testing.assert_allclose(norm.applied(STATES), wanted * GAIN + SHIFT, rtol=1e-13)
    assert norm.sums_to_zero
    assert np.abs(norm.normalised(STATES).sum(axis=1)).max() < 1e-13


def test_the_condition_number_of_a_norm_is_that_of_its_gains_without_their_signs():
    norm = FinalNorm("rms", GAIN)
    assert norm.condition_number == 6.0
    assert FinalNorm("rms", [1.0, 0.0]).condition_number == np.inf
    assert (norm.width, norm.shift) == (5, None)
    assert repr(norm) == "FinalNorm(RMSNorm, width 5, κ = 6)"
    shifted = FinalNorm("layer", GAIN, SHIFT)
    assert repr(shifted) == "FinalNorm(LayerNorm, width 5, κ = 6, with a shift)"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("batch", GAIN), "the kind of a norm must be rms or layer; got 'batch'"),
        (("rms", np.zeros(3)), "gain must be numbers that are not all 0"),
        (("rms", [1.0, np.nan]), "gain must be finite; got nan at row 1"),
        (("rms", [[1.0]]), "gain must be a vector of 1 numbers"),
        (("rms", GAIN, None, -1e-6), "the epsilon of a norm must be a number >= 0"),
        (("rms", GAIN, None, np.inf), "the epsilon of a norm must be a number >= 0"),
        (("layer", GAIN, [1.0]), "shift must be a vector of 5 numbers; got shape (1,)"),
    ],
)
def test_a_final_norm_refuses_other_kinds_gains_shifts_and_epsilons(arguments, part):
    with pytest.raises(InputError, match=re.escape(part)):
        FinalNorm(*arguments)
