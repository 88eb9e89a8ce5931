"""Remedies that are equivalent models: canonical, centred, and of few dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from decaying import ALL_PAIRS_OF_ITEMS, N_ITEMS, N_USERS, decaying_model

from embaudit import audit
from embaudit.canonical import at_exponent
from embaudit.errors import EquivalenceError
from embaudit.io import load
from embaudit.model import FactorModel, softmax_link
from embaudit.remedy import fix
from embaudit.remedy.vectors import Remedy

EXPONENT_OF = {"balanced": 0.5, "left-whitened": 0.0, "right-whitened": 1.0}
"""Exponent of the singular values on the left side, for each canonical kind."""

# Canonical kinds in a file

BIASES = {
    "left_bias": np.random.default_rng(2).standard_normal(N_USERS),
    "right_bias": np.random.default_rng(3).standard_normal(N_ITEMS),
}
NAMES_OF_BIASES = [(), ("left_bias", "right_bias"), ("right_bias",)]


@dataclass(frozen=True)
class Canonical:
    """A model, one of its canonical forms, and this form read from its file."""

    model: FactorModel
    kind: str
    remedy: Remedy
    read: FactorModel


@pytest.fixture(
    params=product(EXPONENT_OF, NAMES_OF_BIASES, ["identity", "softmax"]), ids=str
)
def canonical(request, tmp_path):
    """Write a canonical form of each kind, with some biases and links, and read it."""
    kind, names, link = request.param
    biases = {name: BIASES[name] for name in names}
    user_ids = np.arange(N_USERS)
    model = decaying_model(2, link=link, offset=0.5, left_ids=user_ids, **biases)
    remedy = fix(model, kind)
    return Canonical(model, kind, remedy, load(remedy.write(tmp_path / "m.npz")))


def test_file_of_a_canonical_kind_has_the_rows_at_its_exponent(canonical):
    expected = at_exponent(canonical.model, EXPONENT_OF[canonical.kind])
    np.testing.assert_allclose(canonical.read.right, expected.right, atol=1e-12)


def test_file_of_a_canonical_kind_has_the_predictions_of_the_model(canonical):
    predictions = canonical.read.predictions()
    np.testing.assert_allclose(predictions, canonical.model.predictions(), atol=1e-11)


def test_file_of_a_canonical_kind_has_the_scores_of_the_remedy(canonical):
    scores = canonical.remedy.to_model().scores()
    np.testing.assert_allclose(scores, canonical.read.scores(), atol=1e-12)


def test_file_of_a_canonical_kind_has_the_link_of_the_model(canonical):
    assert canonical.read.link == canonical.model.link


def test_file_of_a_canonical_kind_has_the_ids_of_the_users(canonical):
    assert canonical.read.left_ids.tolist() == list(range(N_USERS))


# Answers of an audit

EACH_KIND = pytest.mark.parametrize("kind", EXPONENT_OF)
NO_YES = "turns no NO of an audit into a YES."


def audited_answer(model):
    return audit(model, quick=True).answer.word


@pytest.fixture(scope="module")
def free_model():
    """Return a model with scores that leave the cosines free."""
    return decaying_model(2, offset=0.5)


def test_audit_of_a_model_with_free_cosines_answers_no(free_model):
    assert audited_answer(free_model) == "NO"


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("balanced", "NO"),
        ("left-whitened", "BY CONVENTION"),
        ("right-whitened", "NO"),
    ],
)
def test_audit_of_a_canonical_form_does_not_answer_yes(free_model, kind, answer):
    """Equal predictions leave the cosines as open as before."""
    assert audited_answer(fix(free_model, kind).to_model()) == answer


@EACH_KIND
def test_explanation_of_a_canonical_form_says_that_no_answer_becomes_yes(
    free_model, kind
):
    assert NO_YES in fix(free_model, kind).explain()


@EACH_KIND
def test_audit_of_one_kept_direction_answers_yes(free_model, kind):
    """Rows of one dimension have the cosines 1 and -1 in every equivalent model."""
    remedy = fix(free_model, kind, dimensions=1)
    assert audited_answer(remedy.to_model()) == "YES"


@EACH_KIND
def test_explanation_of_one_kept_direction_does_not_speak_of_the_answer(
    free_model, kind
):
    assert NO_YES not in fix(free_model, kind, dimensions=1).explain()


# Directions with small singular values


@pytest.fixture(scope="module")
def model_with_a_small_singular_value():
    """Return a model whose scores have the singular values 1, 0.5 and 1e-9.

    Both sides have orthonormal columns before the items are scaled. So the scales are
    the singular values, and the smallest of them is far above rounding.
    """
    users, _ = np.linalg.qr(np.random.default_rng(50).normal(size=(50, 3)))
    items, _ = np.linalg.qr(np.random.default_rng(40).normal(size=(40, 3)))
    return FactorModel.from_arrays(users, items * [1, 0.5, 1e-9])


@EACH_KIND
def test_canonical_kind_keeps_the_number_of_dimensions(
    model_with_a_small_singular_value, kind
):
    assert fix(model_with_a_small_singular_value, kind).to_model().rank == 3


@EACH_KIND
def test_canonical_kind_keeps_the_direction_of_a_small_singular_value(
    model_with_a_small_singular_value, kind
):
    users = fix(model_with_a_small_singular_value, kind).to_model().left
    expected = at_exponent(model_with_a_small_singular_value, EXPONENT_OF[kind]).left
    np.testing.assert_allclose(users, expected)


# Centred softmax models


@pytest.fixture(scope="module")
def softmax_model():
    return decaying_model(3, link="softmax", right_bias=np.arange(30.0))


@pytest.fixture(scope="module")
def centred_model(softmax_model, tmp_path_factory):
    """Write the centred form of the softmax model, and read it."""
    path = tmp_path_factory.mktemp("centred") / "m.npz"
    return load(fix(softmax_model, "centred").write(path))


@pytest.mark.parametrize("role", ["left", "right"])
def test_centred_softmax_model_has_the_mean_row_zero_on_each_side(centred_model, role):
    rows = centred_model.left if role == "left" else centred_model.right
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-14)


def test_centred_softmax_model_has_the_same_probabilities(softmax_model, centred_model):
    probabilities = centred_model.predictions()
    np.testing.assert_allclose(probabilities, softmax_model.predictions(), rtol=1e-11)


# A shift of the labels adds one number to all logits of an input. tanh, each sigmoid
# and the lengths of unit rows depend on this number; a plain softmax does not.
DEPENDS_ON_SHIFTS = pytest.mark.parametrize(
    "link",
    [softmax_link(soft_cap=3.0), "sigmoid", softmax_link(unit_rows=True)],
    ids=["soft cap", "sigmoid", "unit rows"],
)


def inputs_and_labels(link):
    """Draw a head with 5 inputs and 9 labels, whose mean label is not zero."""
    draw = np.random.default_rng(7)
    labels = draw.standard_normal((9, 3)) + 1
    inputs = draw.standard_normal((5, 3))
    return FactorModel.from_arrays(left=inputs, right=labels, link=link)


@DEPENDS_ON_SHIFTS
def test_centring_by_hand_changes_predictions_that_depend_on_shifts(link):
    """This is the reason for the error that the next test expects."""
    head = inputs_and_labels(link)
    centred = head.replace(right=head.right - head.right.mean(axis=0))
    assert np.abs(centred.predictions() - head.predictions()).max() > 0.01


@DEPENDS_ON_SHIFTS
def test_head_is_not_centred_if_its_predictions_depend_on_shifts(link):
    head = inputs_and_labels(link).replace(left=None)
    with pytest.raises(EquivalenceError, match="centring must keep the predictions"):
        fix(head, "centred")


def head_with_shifted_inputs(link):
    """Return a head whose mean input is not zero, with a bias of the labels.

    A shift of the inputs adds one number to each label, so the bias can absorb it.
    """
    head = inputs_and_labels(link)
    return head.replace(left=head.left + 1, right_bias=np.arange(9.0))


@DEPENDS_ON_SHIFTS
def test_inputs_are_centred_if_the_labels_have_a_bias(link):
    centred = fix(head_with_shifted_inputs(link), "centred").to_model()
    np.testing.assert_allclose(centred.left.mean(axis=0), 0, atol=1e-12)


@DEPENDS_ON_SHIFTS
def test_scores_stay_if_inputs_are_centred(link):
    head = head_with_shifted_inputs(link)
    centred = fix(head, "centred").to_model()
    np.testing.assert_allclose(centred.scores(), head.scores(), atol=1e-12)


# Fewer dimensions


@pytest.fixture(scope="module")
def full_model():
    """Return a model of 5 dimensions."""
    return decaying_model(6)


@pytest.fixture(scope="module")
def cut_remedy(full_model):
    """Return the left-whitened form of the model, cut to 3 dimensions."""
    return fix(full_model, "left-whitened", dimensions=3)


@pytest.fixture(scope="module")
def lost_scores(full_model, cut_remedy):
    """Return the part of the scores that the cut removes."""
    return full_model.scores() - cut_remedy.to_model().scores()


def test_lost_energy_is_the_share_of_the_squared_scores(
    full_model, cut_remedy, lost_scores
):
    expected = np.sum(lost_scores**2) / np.sum(full_model.scores() ** 2)
    assert cut_remedy.reduction.energy_lost == pytest.approx(expected)


def test_largest_lost_singular_value_is_the_fourth(full_model, cut_remedy):
    singular_values = np.linalg.svd(full_model.scores(), compute_uv=False)
    reported = cut_remedy.reduction.largest_singular_value_lost
    assert reported == pytest.approx(singular_values[3])


def test_no_score_loses_more_than_the_largest_lost_singular_value(
    cut_remedy, lost_scores
):
    limit = cut_remedy.reduction.largest_singular_value_lost
    assert np.abs(lost_scores).max() <= limit


@pytest.fixture(scope="module")
def cosine_errors(full_model, cut_remedy):
    """Return the change of each item-item cosine against all dimensions of the form.

    There are fewer pairs than the remedy would sample, so it measures all of them.
    """
    whitened = at_exponent(full_model, EXPONENT_OF["left-whitened"])
    before = whitened.cosines("right", ALL_PAIRS_OF_ITEMS)
    after = cut_remedy.to_model().cosines("right", ALL_PAIRS_OF_ITEMS)
    return np.abs(after - before)


def test_max_cosine_error_is_the_largest_of_all_pairs(cut_remedy, cosine_errors):
    assert cut_remedy.reduction.max_cosine_error == pytest.approx(cosine_errors.max())


def test_mean_cosine_error_is_the_mean_of_all_pairs(cut_remedy, cosine_errors):
    expected = pytest.approx(cosine_errors.mean())
    assert cut_remedy.reduction.mean_cosine_error == expected


def test_explanation_names_the_numbers_of_kept_and_of_all_directions(cut_remedy):
    assert "Keeping 3 of 5 directions drops" in cut_remedy.explain()


def test_keeping_all_dimensions_costs_nothing(full_model):
    assert fix(full_model, "left-whitened", dimensions=5).reduction is None
