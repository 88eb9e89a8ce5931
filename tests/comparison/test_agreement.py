"""Agreement of two models in their predictions, against small tables of scores."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.comparison.agreement import agreement
from embaudit.comparison.matching import Match
from embaudit.model import FactorModel


def all_rows(n):
    """Match every row of one model with the same row of the other model."""
    rows = np.arange(n)
    return Match(
        role="right",
        before=rows,
        after=rows,
        names=rows,
        only_before=0,
        only_after=0,
        key="row numbers",
    )


def agreement_of(before, after, top_n=10):
    """Compare all rows of two models that have the same rows."""
    n_users = before.n_right if before.left is None else before.n_left
    users, items = all_rows(n_users), all_rows(before.n_right)
    draw = np.random.default_rng(0)
    return agreement(before, after, users, items, rng=draw, top_n=top_n)


# Two users and three items. With users at the unit vectors, the scores are
#
#     before   1 0 2     after   1 0 2
#              0 1 1             0 1 2
BEFORE = FactorModel.from_user_item(np.eye(2), np.array([[1.0, 0], [0, 1], [2, 1]]))
AFTER = FactorModel.from_user_item(np.eye(2), np.array([[1.0, 0], [0, 1], [2, 2]]))


def test_all_users_and_items_of_a_small_model_are_compared():
    result = agreement_of(BEFORE, AFTER)
    assert result.n_rows == 2
    assert result.n_columns == 3


def test_the_score_distance_is_the_difference_over_the_size_of_the_first_scores():
    """One score differs by 1, and the squared scores before add up to 7."""
    result = agreement_of(BEFORE, AFTER)
    assert result.score_distance == pytest.approx(np.sqrt(1 / 7))


def test_the_distance_of_score_differences_centres_the_scores_of_each_user():
    """Only the second user has other scores.

    Centred scores before: (0, −1, 1) and (−2/3, 1/3, 1/3), whose squares add up to 8/3.
    The change (0, 0, 1) is (−1/3, −1/3, 2/3) when centred; its squares add up to 2/3.
    """
    result = agreement_of(BEFORE, AFTER)
    assert result.difference_distance == pytest.approx(np.sqrt((2 / 3) / (8 / 3)))


def test_the_scale_is_the_size_of_the_centred_scores_over_that_before():
    """Centred scores after: (0, −1, 1) and (−1, 0, 1), whose squares add up to 4."""
    result = agreement_of(BEFORE, AFTER)
    assert result.scale == pytest.approx(np.sqrt(4 / (8 / 3)))


def test_the_score_correlation_is_the_mean_over_the_users():
    """The scores of the second user, (0, 1, 1) and (0, 1, 2), correlate by √3/2."""
    result = agreement_of(BEFORE, AFTER)
    assert result.score_correlation == pytest.approx((1 + np.sqrt(3) / 2) / 2)


def test_the_ranking_overlap_is_the_share_of_the_best_items_that_stay():
    """The best item of the first user stays, that of the second user does not.

    Items 1 and 2 tie for the second user before. Item 1 comes first, and item 2 alone
    is best afterwards.
    """
    result = agreement_of(BEFORE, AFTER, top_n=1)
    assert result.top_n == 1
    assert result.ranking_overlap == 0.5


@pytest.mark.parametrize(("n_tied", "overlap"), [(3, 1.0), (8, 2 / 8)])
def test_an_item_that_ties_counts_by_its_chance_only_if_many_more_items_tie(
    n_tied, overlap
):
    """One user has eight items. In the second model, the best have equal scores."""
    scores = np.arange(8.0, 0, -1)[:, None]
    before = FactorModel.from_user_item(np.ones((1, 1)), scores)
    tied = scores.copy()
    tied[:n_tied] = 8.0
    after = FactorModel.from_user_item(np.ones((1, 1)), tied)
    assert agreement_of(before, after, top_n=2).ranking_overlap == overlap


def test_a_list_is_shorter_than_the_number_of_items():
    assert agreement_of(BEFORE, AFTER, top_n=10).top_n == 2


def test_a_model_agrees_with_itself_and_not_with_another():
    assert agreement_of(BEFORE, BEFORE).same
    assert not agreement_of(BEFORE, AFTER).same


@pytest.mark.parametrize(("distance", "same"), [(0.9e-5, True), (1.1e-5, False)])
@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_scores_are_the_same_up_to_a_relative_distance_of_1e_5(link, distance, same):
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((9, 3)), draw.standard_normal((8, 3))
    before = FactorModel.from_user_item(users, items, link=link)
    after = before.replace(left=users * (1 + distance))
    assert agreement_of(before, after).same == same


@pytest.mark.parametrize(("lead", "same"), [(0.9e-5, True), (1.1e-5, False)])
def test_rankings_are_the_same_if_only_leads_below_1e_5_are_lost(lead, same):
    """The two items in the middle change places; the scores have a spread of 1."""
    scores_before = np.array([-np.sqrt(2), 0, lead, np.sqrt(2)])
    scores_after = np.array([-np.sqrt(2), lead, 0, np.sqrt(2)])
    assert scores_before.std() == pytest.approx(1)
    before = FactorModel.from_user_item([[1.0]], scores_before[:, None], link="ranking")
    after = before.replace(right=scores_after[:, None])
    assert agreement_of(before, after).same == same


@pytest.mark.parametrize(
    ("link", "same"), [("identity", False), ("softmax", True), ("ranking", True)]
)
def test_one_shift_of_all_items_changes_scores_only(link, same):
    """It adds a constant to the scores of each user.

    Neither a probability nor the order of the items depends on this constant.
    """
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((2, 9, 3))
    before = FactorModel.from_user_item(users, items, link=link)
    after = before.replace(right=items + np.array([1.0, 2.0, 3.0]))
    assert agreement_of(before, after).same == same


SWAPPED = [1, 0, 2, 3]
"""Order of four items of which the first two have changed places."""


@pytest.mark.parametrize("scale", [1e4, 1e-4])
def test_a_lost_lead_is_measured_in_the_scores_before(scale):
    """The second item leads the first by 1e-3 before, and scores are about 1.

    So the order has changed, whatever the size of the scores after is.
    """
    items = np.array([[0.0], [1e-3], [1.0], [2.0]])
    before = FactorModel.from_user_item([[1.0]], items, link="ranking")
    after = before.replace(right=scale * items[SWAPPED])
    assert not agreement_of(before, after).same


def test_rankings_of_equal_scores_agree():
    level = FactorModel.from_user_item(np.eye(2), np.zeros((3, 2)), link="ranking")
    assert agreement_of(level, level).same


# Two tables of 60 vectors. Two thirds of the rows resemble each other in both.
N_VECTORS = 60


def two_tables(compared):
    draw = np.random.default_rng(5)
    before, after = draw.standard_normal((2, N_VECTORS, 8))
    after[:40] += before[:40]
    return (
        FactorModel.from_vectors(before, compared=compared),
        FactorModel.from_vectors(after, compared=compared),
    )


def scores_of_other_rows(model):
    """Return the scores of each row with all others, without the row itself."""
    is_other = ~np.eye(N_VECTORS, dtype=bool)
    return model.scores()[is_other].reshape(N_VECTORS, N_VECTORS - 1)


def correlations_by_row(before, after):
    scores = zip(scores_of_other_rows(before), scores_of_other_rows(after), strict=True)
    return np.array([np.corrcoef(old, new)[0, 1] for old, new in scores])


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_lists_of_neighbours_are_compared_without_the_row_itself(compared):
    before, after = two_tables(compared)
    best_before = np.argsort(-scores_of_other_rows(before), axis=1)[:, :10]
    best_after = np.argsort(-scores_of_other_rows(after), axis=1)[:, :10]
    n_common = 0
    for row in range(N_VECTORS):
        n_common += len(np.intersect1d(best_before[row], best_after[row]))
    result = agreement_of(before, after)
    assert result.ranking_overlap == pytest.approx(n_common / (10 * N_VECTORS))


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_similarities_are_correlated_without_the_row_itself(compared):
    before, after = two_tables(compared)
    expected = correlations_by_row(before, after).mean()
    assert agreement_of(before, after).score_correlation == pytest.approx(expected)


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_the_distance_of_similarities_is_without_the_row_itself(compared):
    before, after = two_tables(compared)
    old, new = scores_of_other_rows(before), scores_of_other_rows(after)
    expected = np.linalg.norm(new - old) / np.linalg.norm(old)
    assert agreement_of(before, after).score_distance == pytest.approx(expected)


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_rows_of_one_table_are_unlike_if_their_similarities_hardly_correlate(compared):
    """About as many rows are unlike as correlate by less than 0.3.

    They are not exactly as many, because the means of the columns are removed as well.
    """
    before, after = two_tables(compared)
    expected = np.mean(correlations_by_row(before, after) < 0.3)
    unlike = agreement_of(before, after).unlike
    assert len(unlike) == 1
    assert unlike[0] == pytest.approx(expected, abs=0.1)


def with_zero_users(model):
    """Return a model whose first ten users have vectors of zeros."""
    users = np.array(model.left)
    users[:10] = 0
    return model.replace(left=users)


DRAW_OF_ZEROS = np.random.default_rng(3)
FORTY_USERS = FactorModel.from_user_item(
    DRAW_OF_ZEROS.normal(size=(40, 4)), DRAW_OF_ZEROS.normal(size=(30, 4))
)


def test_users_of_zeros_that_get_a_vector_are_not_unlike():
    assert agreement_of(with_zero_users(FORTY_USERS), FORTY_USERS).unlike == (0, 0)


def test_users_whose_vectors_become_zero_are_compared():
    share, _ = agreement_of(FORTY_USERS, with_zero_users(FORTY_USERS)).unlike
    assert 0 < share <= 10 / 40


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_a_table_of_vectors_agrees_with_itself(compared):
    model = two_tables(compared)[0]
    assert agreement_of(model, model).same


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_the_comparison_of_vectors_writes_of_similarities(compared):
    text = ea.compare(*two_tables(compared)).explain()
    assert ". Their similarities correlate by 0" in text
    for word in ("user", "score", "embaudit fix"):
        assert word not in text
