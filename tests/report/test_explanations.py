"""`explain()` of models that are small enough to compute each number by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.model.final_norm import FinalNorm

vectors = ea.FactorModel.from_vectors
user_item = ea.FactorModel.from_user_item
head = ea.FactorModel.from_softmax

SIGNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) / 2
"""Two orthonormal columns, so `SIGNS · s` times `SIGNS · t` has singular values s t."""
FOUR_CORNERS = head([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
"""A head whose labels 0 and 1 are neighbours on a square and 0 and 2 are opposite."""


def at_angles(*degrees):
    """Return unit vectors in the plane."""
    radians = np.radians(degrees)
    return np.c_[np.cos(radians), np.sin(radians)]


def balanced_pair():
    """Return a balanced model with singular values 9 and 1."""
    return user_item(SIGNS * [3, 1], SIGNS * [3, 1])


def test_a_movement_gives_the_mean_and_the_largest_change_of_cosines():
    before = vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    after = vectors([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])
    # Cosines 0.6, 0, 0.8 become 0.6, 0.8, 0.96: changes 0, 0.8, 0.16 with mean 0.32.
    # The nearest rows 1, 2, 1 become 2, 2, 1.
    assert ea.movement(before, after).explain() == (
        "Over all 3 right pairs cosines moved by 0.320 on average and by at most 0.80; "
        "0 % change their sign and 67 % of the 1 nearest rows stay."
    )


def test_a_movement_counts_cosines_that_change_their_sign():
    before = vectors([[1.0, 0.0], [0.6, 0.8]])
    after = vectors([[1.0, 0.0], [-0.6, 0.8]])
    text = ea.movement(before, after).explain()
    assert "moved by 1.200 on average" in text
    assert "100 % change their sign" in text


def test_levels_give_the_median_and_the_top_percent_of_all_cosines():
    # East, north, north-east, south-east and west. Of the ten cosines one is -1,
    # three are -0.71, three are 0 and three are 0.71; levels are rounded down.
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]]
    assert ea.levels(vectors(rows)).explain() == (
        "Of all 10 pairs of items half have a cosine of at least 0.00, "
        "one in a hundred of at least 0.70."
    )


def test_twins_count_parallel_rows_and_name_the_largest_group():
    text = ea.twins(vectors([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).explain()
    assert text.startswith("50 % of 4 item rows have a duplicate")
    assert text.endswith("1 pair, 1 group, the largest of 2 rows (0, 1).")


def test_twins_report_that_no_two_rows_are_duplicates():
    text = ea.twins(vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).explain()
    assert text.startswith("No two of 3 item rows have a cosine above 1")


def test_rows_on_one_line_are_not_called_duplicates():
    text = ea.twins(vectors([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])).explain()
    assert text == "All item rows lie on one line, so none are called duplicates."


@pytest.mark.parametrize(
    ("users", "items", "sentence"),
    [
        (SIGNS, SIGNS * [9, 1], "exponent 0.00: the users are whitened"),
        (SIGNS * [9, 1], SIGNS, "exponent 1.00: the items are whitened"),
        (SIGNS * [3, 1], SIGNS * [3, 1], "exponent 0.50: balanced"),
        # 9^(1/4) = 1.73 lies between the exponents 0, 1/4 and 1/2.
        (
            SIGNS * [3**0.5, 1],
            SIGNS * [3**1.5, 1],
            "exponent 0.25: between left-whitened (a gauge of condition number 1.73 "
            "away) and balanced (1.73 away), near neither",
        ),
    ],
)
def test_a_position_names_the_standard_form_of_the_model(users, items, sentence):
    assert sentence in ea.position(user_item(users, items)).explain()


def test_a_position_gives_the_distance_to_the_nearest_standard_form():
    # A symmetric stretch with eigenvalues 2 and 1, in axes that are not singular ones.
    stretch = np.array([[1.5, 0.5], [0.5, 1.5]])
    model = balanced_pair()
    moved = user_item(model.left @ stretch, model.right @ np.linalg.inv(stretch))
    assert (
        "in none of the three standard forms; "
        "the balanced form is nearest, a stretch of 2 away"
    ) in ea.position(moved).explain()


@pytest.mark.parametrize(
    ("users", "items", "sentence"),
    [
        (
            np.c_[[1.0, 2.0, 3.0, 4.0], np.ones(4)],
            SIGNS * [3, 1],
            "Column 1 of the users is constant, so the items hold a bias there",
        ),
        (
            np.c_[[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]],
            SIGNS * [3, 1],
            "A mixture of columns of the users is constant",
        ),
        (
            np.c_[SIGNS * [3, 1], np.zeros(4)],
            np.c_[SIGNS * [3, 1], [1.0, 2.0, 4.0, 7.0]],
            "1 of the 3 dimensions is seen by no prediction; it moves the cosines",
        ),
        ([[1.0], [2.0]], [[1.0], [-1.0]], "The predictions see a single direction"),
    ],
)
def test_a_position_warns_of_biases_and_of_dimensions_without_effect(
    users, items, sentence
):
    assert sentence in ea.position(user_item(users, items)).explain()


@pytest.mark.parametrize(
    ("rows", "kappa", "width", "keep", "anything"),
    [
        # A right angle: a gauge of κ moves its cosine up to (κ² - 1) / (κ² + 1) = 0.6.
        ([[1.0, 0.0], [0.0, 2.0]], 2.0, "1.20", 0, 0),
        # tan 15° becomes tan 15° / 2 to 2 tan 15°: cosines 0.96 to 0.55.
        (at_angles(0, 30) * [[1.0], [2.0]], 2.0, "0.41", 100, 0),
        ([[1.0, 0.0], [0.0, 2.0]], None, "2.00", 0, 100),
    ],
)
def test_a_range_summary_gives_width_kept_signs_and_free_cosines(
    rows, kappa, width, keep, anything
):
    (summary, *_) = ea.range_summary(vectors(rows), budgets=[kappa], rng=0)
    text = summary.explain()
    bound = "any condition" if kappa is None else f"κ ≤ {kappa:g}"
    assert f"Under linear gauges of {bound} the cosines of 1 right pair" in text
    assert f"have ranges {width} wide on average" in text
    assert f"{keep} % keep their sign and {anything} % can be anything" in text


def test_ranges_of_listed_pairs_are_explained_like_a_summary():
    group = GeneralLinear(2, max_condition=2.0)
    ranges = ea.cosine_range(vectors([[1.0, 0.0], [0.0, 2.0]]), group, pairs=[[0, 1]])
    assert "have ranges 1.20 wide on average" in ranges.explain()


def test_certified_neighbours_separate_certain_entries_from_ties():
    # Rows 0 and 1 are 1° apart. Rows 2 and 3 are orthogonal to all others, so each has
    # three equally near rows and nothing is certain of its list.
    rows = np.zeros((4, 4))
    rows[:2, :2] = at_angles(0, 1)
    rows[2, 2] = rows[3, 3] = 1
    assert ea.certified_neighbours(vectors(rows), n=1).explain() == (
        "Of the entries of top-1 lists of 4 right rows, no linear gauge displaces: "
        "50 % within κ = 1.1, 50 % within κ = 1.5, 50 % within κ = 2. "
        "50 % tie with the first row left out, and nothing is certain of them."
    )


def test_an_attack_gives_the_movement_found_and_the_proven_bound():
    # diag(1, 2) takes (1, 1) and (1, -1) to (1, 2) and (1, -2): cosine 0 becomes -0.6.
    model = user_item(np.eye(2), [[1.0, 1.0], [1.0, -1.0]])
    attack = ea.worst_gauge(model, Diagonal(2, max_condition=2.0), rng=0)
    assert attack.explain() == (
        "The worst diagonal gauge found within κ = 2 was sought for 1 item-item "
        "cosine. It moves them by 0.60 on average. Proven: by at most 0.60."
    )


def test_argmaxable_counts_labels_that_can_be_the_most_probable():
    # Label 3 lies within the triangle of the others, so one of them always beats it.
    inside = head([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    assert ea.heads.argmaxable(inside).explain() == (
        "Of 4 labels, 3 can be the most probable one, 1 hardly can."
    )
    assert ea.heads.argmaxable(FOUR_CORNERS).explain() == (
        "All 4 labels can be the most probable one."
    )


def test_shared_halves_are_possible_for_neighbours_on_the_convex_hull():
    found = ea.heads.shared_halves(FOUR_CORNERS, [[0, 1], [0, 2]])
    assert found.explain() == "Of 2 pairs of labels, 1 can share ½/½, 1 cannot."


def test_projector_cosines_of_independent_labels_say_nothing_about_the_head():
    # Three labels in two dimensions: -1/(3 - 1), whatever the head.
    text = ea.heads.projector_cosines(head(np.eye(3)), pairs=[[0, 1]]).explain()
    assert "every projector cosine is -1/(V-1) = -0.5" in text
    assert "they say nothing about this head" in text


def test_projector_cosines_give_their_mean_size():
    # On the square, neighbours have projector cosine 0 and opposite corners -1.
    text = ea.heads.projector_cosines(FOUR_CORNERS, pairs=[[0, 1], [0, 2]]).explain()
    assert "2 pairs of 4 labels are 0.500 on average in size" in text


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        # Labels x and -x without bias are never both positive nor both negative.
        ([[1.0], [-1.0]], 2),
        (np.eye(2), 4),
    ],
)
def test_label_combinations_count_those_that_some_input_gives(rows, count):
    found = ea.heads.label_combinations(head(rows).replace(link="sigmoid"))
    assert found.explain() == (
        f"Some input gives {count} of the 4 combinations of 2 labels."
    )


def test_block_cosines_split_the_global_cosine_into_norms_and_blocks():
    # 3·3 of 25 is 0.36: block p has cosine 1 and weight 0.36, block q has cosine 0.
    x = {"p": [3.0, 0.0], "q": [0.0, 4.0]}
    y = {"p": [3.0, 0.0], "q": [4.0, 0.0]}
    blocks = ea.block_cosines(x, y)
    assert "The global cosine is 0.3600: 1.0000" in blocks.explain()
    assert "it can be 0.0000 to 1.0000" in blocks.explain()


def test_block_cosines_say_that_no_block_is_in_both_vectors():
    text = ea.block_cosines([1.0, 0.0], [0.0, 2.0]).explain()
    assert text.splitlines() == [
        "The global cosine is 0, because x or y is zero in each of 2 blocks (by "
        "coordinates, 2 entries).",
        "Zero blocks: 1 in x only, 1 in y only, 0 in both.",
    ]


def test_block_cosines_name_what_different_norms_cost():
    # Norms (1, √2) and (√2, 0) have cosine 1/√3, and block p has cosine 1/√2.
    x = {"p": [1.0, 0.0], "q": [1.0, 1.0]}
    y = {"p": [1.0, 1.0], "q": [0.0, 0.0]}
    text = ea.block_cosines(x, y).explain()
    assert "The global cosine is 0.4082: 0.5774" in text
    assert "× 0.7071, the weighted mean cosine" in text
    assert "Zero blocks: 0 in x only, 1 in y only, 0 in both." in text


def test_drift_distinguishes_rounding_from_other_predictions():
    model = user_item(2 * np.eye(2), np.eye(2))
    same = ea.drift(model, model, condition_number=1.0).explain()
    assert "moved by at most 0.0e+00, which rounding explains" in same
    # Score (1, 1) changes from 2·1 to 2·1.5.
    other = model.replace(right=[[1.0, 0.0], [0.0, 1.5]])
    moved = ea.drift(model, other, condition_number=1.0).explain()
    assert "moved by at most 1.0e+00, more than rounding explains" in moved


def test_an_evaluation_of_few_items_gives_precision_and_chance_without_a_verdict():
    items = vectors(at_angles(0, 5, 10, 90, 95, 100))
    text = ea.evaluate_similarities(items, list("aaabbb"), n_neighbours=2).explain()
    # Of the five others of each item two share its label.
    assert "100 % share a label with the query (precision)" in text
    assert "by chance it would be 40 %" in text
    assert "6 queries are too few to say which similarity is better" in text


def test_an_evaluation_names_the_similarity_that_is_better():
    # On a circle the nearest two of 40 items have the other label. The users weigh the
    # first column, which holds the label, 10,000 times as much as the circle.
    sign = (-1.0) ** np.arange(40)
    circle = at_angles(*np.arange(0, 360, 9))
    model = user_item(np.diag([100.0, 0.01, 0.01]), np.c_[0.1 * sign, circle])
    labels = np.where(sign > 0, "even", "odd")
    text = ea.evaluate_similarities(model, labels, n_neighbours=2).explain()
    assert "0 % share a label with the query (precision)" in text
    assert "by chance it would be 49 %" in text  # 19 of 39
    assert "By precision (100 % against 0 % by cosine), AUC (1.000 against" in text
    assert "prediction cosine serves best, with 95 % confidence" in text


def test_an_evaluation_reports_that_no_similarity_is_better_than_the_cosine():
    items = vectors(at_angles(*range(20), *range(90, 110)))
    text = ea.evaluate_similarities(items, ["a"] * 20 + ["b"] * 20, n_neighbours=2)
    sentence = "no similarity is better than the cosine with 95 % confidence"
    assert f"By precision, AUC or NDCG, {sentence}" in text.explain()


def test_a_simpson_report_gives_both_correlations_of_a_reversal():
    # Σ xy = 9.5 and Σ x² = Σ y² = 17.5 around the means of all rows; y falls by 1 per
    # step of x within each group.
    table = pd.DataFrame(
        {"x": np.arange(6.0), "y": [2.0, 1, 0, 5, 4, 3], "g": list("aaabbb")}
    )
    report = ea.simpson(table, "x", "y", "g", min_size=3, n_permutations=0)
    text = report.explain()
    assert "Reversal by g: over all 6 rows x and y correlate by +0.543" in text
    assert "within 2 groups by -1.000" in text
    assert (
        "opposite in 2 of 2 groups large enough to count (100 % of their rows)" in text
    )


def test_a_simpson_report_says_that_a_grouping_does_not_change_the_association():
    table = pd.DataFrame(
        {"x": np.arange(6.0), "y": np.arange(6.0), "g": list("aaabbb")}
    )
    report = ea.simpson(table, "x", "y", "g", min_size=3, n_permutations=0)
    assert report.explain() == (
        "Grouping by g does not reverse, remove or uncover the association: over all 6 "
        "rows x and y correlate by +1.000, within 2 groups by +1.000."
    )


@pytest.mark.parametrize(
    ("model", "scores"),
    [
        (balanced_pair(), "the items' scores over all 4 users."),
        (
            balanced_pair().replace(link="sigmoid"),
            "the items' logits over all 4 users.",
        ),
        (
            balanced_pair().replace(link="cosine"),
            "the items' predicted cosines over all 4 users.",
        ),
        (
            balanced_pair().replace(link="ranking"),
            "scores over all 4 users, each user's centred over the items.",
        ),
        (
            balanced_pair().replace(right_bias=np.arange(4.0)),
            "each item's centred over the users, so that no bias enters.",
        ),
    ],
)
def test_a_remedy_says_which_predictions_its_cosine_compares(model, scores):
    text = ea.fix(model).explain()
    assert text.startswith("item vectors of 2 dimensions, whose plain cosine is the")
    assert scores in text
    assert text.endswith("Index them by cosine.")


def test_a_remedy_with_fewer_dimensions_says_what_they_cost():
    # Of Σ s² = 81 + 1 the second direction holds 1/82. Cosines of ±80/82 become ±1
    # for four of the six pairs and stay -1 for two.
    text = ea.fix(balanced_pair(), role="left", dimensions=1, unit=True).explain()
    assert text.startswith(
        "user vectors of 1 dimension, whose plain cosine approximates"
    )
    assert "Keeping 1 of 2 directions drops 1 % of the scores' sum of squares." in text
    assert "cosines move by 0.016 on average and by at most 0.024" in text
    assert text.endswith(
        "Index them by dot product or cosine, "
        "which are the same for vectors of length 1."
    )


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("balanced", "each direction is shared out equally between the two sides"),
        ("left-whitened", "the items' cosines are prediction cosines"),
        ("right-whitened", "the users' cosines are prediction cosines"),
    ],
)
def test_a_remedy_in_a_standard_form_is_called_a_convention(kind, sentence):
    text = ea.fix(balanced_pair(), kind).explain()
    assert text.startswith(
        f"user and item vectors of 2 dimensions, in the {kind} gauge"
    )
    assert sentence in text
    assert "turns no NO of an audit into a YES" in text


def test_a_centred_remedy_says_what_a_shift_can_no_longer_do():
    labels = head([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    text = ea.fix(labels).explain()
    assert "label vectors of 2 dimensions, with a mean of 0" in text
    assert "what stretching the directions can do is not" in text
    of_one_side = ea.fix(vectors(SIGNS * [3, 1])).explain()
    assert "give the other side with left or left_file." in of_one_side


def test_a_folded_remedy_gives_the_condition_number_of_the_final_norm():
    labels = head([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    behind_norm = labels.replace(final_norm=FinalNorm("rms", [1.0, 4.0]))
    folded = ea.fix(behind_norm, "folded").explain()
    assert "with the gains of the final RMSNorm (κ = 4) multiplied in." in folded
    centred = ea.fix(behind_norm, "folded-centred").explain()
    assert "multiplied in, less their mean row." in centred


def test_compared_rows_need_no_remedy():
    text = ea.fix(vectors(SIGNS * [3, 1], compared="cosine")).explain()
    assert "their cosines follow from the predictions" in text


FIVE_ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("model", "sentences"),
    [
        # A metric of two dimensions has three numbers, and three directions fix them.
        (
            ea.FactorModel.from_arrays(left=np.eye(2), right=FIVE_ROWS, link="cosine"),
            [
                "The predictions pin the cosines within each side",
                "The item rows alone fix every number of a metric.",
                "has 3 numbers, and the rows fix all of them",
            ],
        ),
        (
            ea.FactorModel.from_arrays(left=np.eye(2), right=np.eye(2), link="cosine"),
            [
                "Whether the predictions pin the cosines within each side is "
                "undecided.",
                "No side alone fixes every number of a metric",
                "has 3 numbers, and the rows fix 2 of them",
            ],
        ),
        (
            ea.FactorModel.from_arrays(
                left=[[1.0, 0.0]], right=[[0.0, 1.0]], link="cosine"
            ),
            ["Whether the predictions pin the cosines within each side is undecided."],
        ),
        (
            head(FIVE_ROWS).replace(link=ea.softmax_link(unit_rows=True)),
            ["The label rows alone fix every number", "whose inputs are learned"],
        ),
        (
            vectors(FIVE_ROWS, compared="cosine"),
            ["The predictions fix every cosine", "are the predictions"],
        ),
        (
            vectors(FIVE_ROWS, compared="dot"),
            ["The predictions fix every cosine", "fix them but for a rotation"],
        ),
    ],
    ids=["items", "both sides", "undecided", "unit labels", "cosine", "dot"],
)
def test_the_pinned_test_says_what_fixes_the_cosines(model, sentences):
    text = ea.pinned_test(model).explain()
    for sentence in sentences:
        assert sentence in text


def random_pair():
    draw = np.random.default_rng(0)
    return user_item(draw.normal(size=(12, 2)), draw.normal(size=(12, 2)))


def test_a_comparison_attributes_a_stretch_to_the_gauge():
    model = random_pair()
    stretched = model.replace(left=model.left * [1, 4], right=model.right / [1, 4])
    text = ea.compare(model, stretched).explain()
    assert "The two models predict the same." in text
    assert (
        "A change of axes (one scale for each dimension, condition number 4) explains"
    ) in text
    assert (
        "By prediction cosine, which no change of axes moves, 100 % of 4 nearest users "
        "and 100 % of 4 nearest items stay."
    ) in text


def test_rescaled_models_can_replace_each_other_as_a_whole():
    model = random_pair()
    rescaled = model.replace(left=model.left / 2, right=model.right * 2)
    text = ea.compare(model, rescaled).explain()
    assert "The users' cosines are the same. The items' cosines are the same." in text
    assert text.endswith(
        "The models are equal up to one scale for all dimensions, "
        "so either of them can replace the other as a whole."
    )


def test_a_comparison_notices_that_items_have_each_others_vectors():
    model = random_pair()
    text = ea.compare(model, model.replace(right=model.right[::-1])).explain()
    assert "No change of axes explains any of it." in text
    assert "12 of 12 items now have the vector that another item had" in text


def test_a_comparison_of_one_side_does_not_judge_the_predictions():
    draw = np.random.default_rng(0)
    one, other = (vectors(draw.normal(size=(9, 3))) for _ in range(2))
    text = ea.compare(one, other).explain()
    assert "predictions could not be compared" in text
    assert "These 9 items are too few, or too alike, for 3 dimensions" in text


def test_a_head_report_measures_what_the_mean_row_does():
    # The mean row (10, 0) has length 10, and the median row √101 to √104. Rows at
    # (10, ±1) and (10, ±2) nearly coincide with it and oppose each other without it.
    # Only the outer two of four points on a line can be the most probable label.
    rows = head([[10.0, 1], [10, -1], [10, 2], [10, -2]])
    assert "most probable" not in ea.head_report(rows).explain()
    text = ea.head_report(rows, hull=True).explain()
    assert "The mean row is 0.99 of a typical row (median) long." in text
    assert "cosines differ by 1.30 on average" in text
    assert "Of 4 labels, 2 can be the most probable one, 2 hardly can." in text
    centred = ea.head_report(FOUR_CORNERS, hull=True).explain()
    assert "The mean row is 0 of a typical row (median) long." in centred
    assert "All 4 labels can be the most probable one." in centred


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (random_pair(), "NO: models that predict exactly the same have other cosines."),
        (
            vectors(random_pair().right),
            "UNKNOWN: these are vectors of one side.",
        ),
        (random_pair().replace(link="cosine"), "YES: item-item cosines are the same"),
        (
            vectors(random_pair().right, compared="cosine"),
            "YES: who is nearest is fixed, because training compared these rows with",
        ),
    ],
    ids=["pair", "one side", "predicted cosines", "compared rows"],
)
def test_an_audit_begins_with_its_answer_and_lists_its_findings(model, answer):
    audit = ea.audit(model, quick=True)
    text = audit.explain()
    assert text.startswith(answer)
    for finding in audit.findings:
        assert f"{finding.code} {finding.severity.title}: " in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ea.pinned_test(balanced_pair()),
            "the link must be a link that divides rows by their lengths; got identity",
        ),
        (
            lambda: ea.position(vectors(FIVE_ROWS)),
            "must be computed from the factors of both sides; "
            "got item factors only; add the users with left",
        ),
        (
            lambda: ea.twins(vectors(FIVE_ROWS), role="left"),
            "user factors must be loaded for this; got item factors only",
        ),
        (
            lambda: ea.cosine_range(
                balanced_pair().replace(link="cosine"),
                GeneralLinear(2, max_condition=2.0),
                pairs=[[0, 1]],
            ),
            "must preserve the cosines that this model predicts; got gauges that",
        ),
        (
            lambda: ea.compare(balanced_pair(), balanced_pair()),
            "the number of users in both models must be at least 8; got 4",
        ),
    ],
)
def test_a_question_that_a_model_cannot_answer_is_refused(call, message):
    with pytest.raises(ea.InputError) as refused:
        call()
    assert message in str(refused.value)
