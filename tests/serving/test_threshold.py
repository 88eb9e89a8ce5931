"""Thresholds on cosines: by unrelated or labelled pairs, and in another model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.model.fingerprint import fingerprint
from embaudit.serving import labelled_scores
from embaudit.serving.labelled_scores import LabelledScores
from embaudit.serving.threshold import threshold


def table(rows, **fields):
    return FactorModel.from_vectors(rows, **fields)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cosines_of(rows):
    rows = unit(rows)
    return (rows @ rows.T)[np.triu_indices(len(rows), 1)]


TOPICS = np.repeat(np.arange(60), 5)


def texts(seed=0, noise=1.0):
    """Draw 300 vectors of 60 topics."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((60, 16))
    return centres[TOPICS] + noise * draw.standard_normal((300, 16))


def labelled_texts(seed=0, n_queries=100):
    """Label four pairs of other topics and two of the same topic for each query."""
    draw = np.random.default_rng(seed)
    records = []
    for query in range(n_queries):
        same = np.flatnonzero((TOPICS[query] == TOPICS) & (np.arange(300) > query))
        other = np.flatnonzero((TOPICS[query] != TOPICS) & (np.arange(300) > 100))
        records += [(query, int(row), 1) for row in same[:2]]
        chosen = draw.choice(other, 4, replace=False).tolist()
        records += [(query, row, 0) for row in chosen]
    return pd.DataFrame(records, columns=["a", "b", "label"])


@pytest.fixture(scope="module")
def pairs():
    return labelled_texts()


# Laws


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.01, 100))
def test_a_rotation_and_a_scale_change_no_threshold(seed, scale):
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((40, 4))
    rotation = np.linalg.qr(draw.standard_normal((4, 4)))[0]
    lengths = draw.uniform(0.5, 2, size=(40, 1))
    labels = pd.DataFrame(
        {"a": np.repeat(range(20), 2), "b": np.arange(0, 40)[::-1] % 20 + 20}
    )
    labels["label"] = np.arange(40) % 2
    before = threshold(table(rows), level=0.05, pairs=labels).to_dict()
    turned = table(scale * lengths * (rows @ rotation))
    after = threshold(turned, level=0.05, pairs=labels).to_dict()
    assert before["explanation"] == after["explanation"]
    for name in ("levels",):
        first, second = before["unrelated"][name], after["unrelated"][name]
        for one, other in zip(first, second, strict=True):
            np.testing.assert_allclose(
                list(one.values()), list(other.values()), atol=1e-9
            )
    for one, other in zip(
        before["labelled"]["errors"], after["labelled"]["errors"], strict=True
    ):
        np.testing.assert_allclose(
            np.array(list(one.values()), dtype=float),
            np.array(list(other.values()), dtype=float),
            atol=1e-9,
        )


def test_fewer_pairs_reach_higher_scores():
    found = threshold(table(texts()))
    grid = np.linspace(-1, 1, 41)
    shares = [found.share_reaching(float(score)) for score in grid]
    values = [share.value for share in shares]
    assert values[0] == 1
    assert (np.diff(values) <= 0).all()
    assert all(share.low <= share.value <= share.high for share in shares)
    cuts = [threshold(table(texts()), level=level) for level in (0.2, 0.05, 0.01)]
    assert (np.diff([cut.threshold for cut in cuts]) > 0).all()


def test_a_score_that_no_pair_reaches_has_the_upper_end_of_a_lower_one():
    found = threshold(table(texts()))
    none = found.share_reaching(0.999999)
    assert none.value == 0
    assert 0 < none.high < 0.001


# Unrelated pairs, by brute force


@pytest.mark.parametrize("level", [0.3, 0.05, 0.01, 0.0011])
def test_the_cut_is_the_lowest_one_that_few_enough_pairs_reach(level):
    rows = texts()
    cosines = np.sort(cosines_of(rows))
    found = threshold(table(rows), level=level)
    assert (cosines >= found.threshold).mean() <= level
    # The next lower threshold lets one pair more pass.
    below = cosines[cosines < found.threshold].max()
    assert (cosines >= below).mean() > level
    assert found.threshold == pytest.approx(
        (below + cosines[cosines >= found.threshold].min()) / 2
    )
    low, high = found.interval
    assert low < found.threshold < high


def test_pairs_of_one_group_and_related_pairs_do_not_count(pairs):
    rows = texts()
    is_related = pairs["label"] == 1
    known = {
        tuple(sorted(pair)) for pair in pairs.loc[is_related, ["a", "b"]].to_numpy()
    }
    cosines = unit(rows) @ unit(rows).T
    unrelated = [
        cosines[i, j]
        for i, j in combinations(range(300), 2)
        if TOPICS[i] != TOPICS[j] and (i, j) not in known
    ]
    found = threshold(table(rows), groups=TOPICS, pairs=pairs)
    assert len(found.unrelated) == found.unrelated.total == len(unrelated)
    assert found.share_reaching(0.5).value == np.mean(np.array(unrelated) >= 0.5)
    assert found.n_left_out == 60 * 10
    ungrouped = threshold(table(rows), pairs=pairs)
    assert len(ungrouped.unrelated) == 300 * 299 // 2 - len(known)


def test_pairs_of_two_sides_are_the_default_of_two_sides():
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((40, 4)), draw.standard_normal((90, 4))
    model = FactorModel.from_user_item(left, right)
    cosines = (unit(left) @ unit(right).T).ravel()
    found = threshold(model, score=0.8)
    assert (found.role, found.title, found.n_candidates) == ("cross", "user-item", 90)
    assert found.share_reaching(0.8).value == (cosines >= 0.8).mean()
    cut = threshold(model, role="user")
    assert (cut.role, cut.n_candidates) == ("left", 39)


def test_a_score_counts_as_reached_in_spite_of_rounding():
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    found = threshold(table(rows), level=0.5)
    assert found.share_reaching(0.6).value == pytest.approx(2 / 3)
    assert found.share_reaching(0.8).value == pytest.approx(1 / 3)


def test_no_cut_parts_pairs_of_one_score():
    found = threshold(table(np.ones((30, 3))))
    assert found.threshold is None
    assert found.interval is None
    assert "No threshold lets only 1 % of" in found.conclusion
    assert found.settings()["threshold"] is None


@pytest.mark.parametrize(
    ("score", "is_high", "words"),
    [
        (0.9, True, "0.9 is high: "),
        (0.1, False, "0.1 is not high: 3"),
        (0.5, None, "0.5 is a borderline score: "),
    ],
)
def test_a_score_is_high_if_few_unrelated_pairs_reach_it(score, is_high, words):
    rows = texts()
    level = float((cosines_of(rows) >= 0.5).mean())
    found = threshold(table(rows), score=score, level=level)
    assert found.is_high is is_high
    assert words in found.explain()


def test_a_share_next_to_the_level_shows_on_which_side_it_lies():
    rows = texts()
    level = float((cosines_of(rows) >= 0.5).mean())
    found = threshold(table(rows), score=0.5, level=level + 1e-4)
    share = found.share_reaching(0.5).value
    assert level_digits(share, level + 1e-4) in found.explain()


def level_digits(share, level):
    """Write a share in percent with the fewest decimals that tell it from a level."""
    decimals = 0
    while f"{100 * share:.{decimals}f}" == f"{100 * level:.{decimals}f}":
        decimals += 1
    return f"{100 * share:.{decimals}f} %"


# Labelled pairs, compared with scikit-learn and by brute force


def ends_of(queries):
    """Pair each query with rows that no other pair has."""
    return np.column_stack([queries, 10**6 + np.arange(len(queries))])


def random_labels(seed, n_queries=60):
    draw = np.random.default_rng(seed)
    queries = np.repeat(np.arange(n_queries), draw.integers(2, 9, size=n_queries))
    is_related = draw.random(len(queries)) < 0.4
    offsets = draw.standard_normal(n_queries)[queries]
    scores = 0.5 * offsets + is_related + draw.standard_normal(len(queries))
    return LabelledScores.from_pairs(scores.round(1), is_related, ends_of(queries))


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_those_of_scikit_learn(seed):
    found = random_labels(seed)
    cuts = found.thresholds_of_recall()
    assert len(cuts) > 4
    for errors in found.errors(cuts, np.random.default_rng(0)):
        passes = found.scores >= errors.threshold
        labels = found.is_related
        assert errors.recall.value == pytest.approx(recall_score(labels, passes))
        assert errors.precision.value == pytest.approx(precision_score(labels, passes))
        assert errors.balanced_accuracy.value == pytest.approx(
            balanced_accuracy_score(labels, passes)
        )
        n_false = np.count_nonzero(passes & ~labels)
        assert errors.false_positives.value == pytest.approx(n_false / 60)
        assert errors.false_positive_rate.value == pytest.approx(
            n_false / np.count_nonzero(~labels)
        )
    assert found.auc() == pytest.approx(roc_auc_score(found.is_related, found.scores))


@pytest.mark.parametrize("seed", range(3))
def test_weighted_queries_are_repeated_queries(seed):
    found = random_labels(seed)
    weights = np.random.default_rng(seed).integers(3, size=60).astype(float)
    times = weights[found.queries].astype(int)
    labels = np.repeat(found.is_related, times)
    scores = np.repeat(found.scores, times)
    assert found.auc(weights) == pytest.approx(roc_auc_score(labels, scores))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "accuracy"])
@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_threshold_is_the_best_of_all(seed, scoring):
    found = random_labels(seed)
    measure = {
        "balanced_accuracy": balanced_accuracy_score,
        "f1": f1_score,
        "accuracy": lambda labels, passes: (labels == passes).mean(),
    }[scoring]
    different = np.unique(found.scores)
    cuts = (different[1:] + different[:-1]) / 2
    values = [measure(found.is_related, found.scores >= cut) for cut in cuts]
    best = max(values)
    highest = max(
        cut for cut, value in zip(cuts, values, strict=True) if value > best - 1e-12
    )
    assert found.choose(scoring) == pytest.approx(highest)


def test_the_bootstrap_error_of_a_recall_is_that_of_a_ratio_of_cluster_sums():
    found = random_labels(0, n_queries=400)
    labelled_scores.N_RESAMPLES, before = 4_000, labelled_scores.N_RESAMPLES
    try:
        (errors,) = found.errors([0.55], np.random.default_rng(0))
    finally:
        labelled_scores.N_RESAMPLES = before
    passes = found.scores >= 0.55
    n_related = np.bincount(found.queries, found.is_related)
    n_passing = np.bincount(found.queries, found.is_related & passes)
    share = n_passing.sum() / n_related.sum()
    residuals = n_passing - share * n_related
    error = np.sqrt((residuals**2).sum()) / n_related.sum()
    # Wilson's interval of a share near 1/2 is nearly symmetric.
    width = errors.recall.high - errors.recall.low
    assert width == pytest.approx(2 * 1.966 * error, rel=0.06)


def shared_population(n_queries, n_seconds, draw):
    """Draw labelled scores whose second rows recur and have effects, too."""
    n_pairs = 5 * n_queries
    queries = np.repeat(np.arange(n_queries), 5)
    seconds = draw.integers(n_seconds, size=n_pairs)
    prevalence = draw.beta(2, 3, size=n_seconds)[seconds]
    is_related = draw.random(n_pairs) < prevalence
    effects = draw.standard_normal(n_queries)[queries]
    effects += draw.standard_normal(n_seconds)[seconds]
    scores = 0.6 * effects + 1.2 * is_related + draw.standard_normal(n_pairs)
    ends = np.column_stack([queries, 10**6 + seconds])
    return LabelledScores.from_pairs(scores, is_related, ends)


def test_the_influence_of_a_pair_is_a_derivative():
    found = shared_population(30, 20, np.random.default_rng(0))
    cut = 0.5
    passes = found.scores >= cut

    def estimates(weights):
        related = weights * found.is_related
        unrelated = weights * ~found.is_related
        recall = related[passes].sum() / related.sum()
        rate = unrelated[passes].sum() / unrelated.sum()
        precision = related[passes].sum() / weights[passes].sum()
        is_higher = found.scores[:, None] > found.scores
        auc = related @ is_higher @ unrelated / (related.sum() * unrelated.sum())
        return np.array([precision, recall, rate, (recall + 1 - rate) / 2, auc])

    ones = np.ones(len(found))
    (errors,) = found.errors([cut], np.random.default_rng(0))
    values = [
        errors.precision.value,
        errors.recall.value,
        errors.false_positive_rate.value,
        errors.balanced_accuracy.value,
    ]
    np.testing.assert_allclose(estimates(ones), [*values, found.auc()])
    influences = [*found._influences(passes, values), found._auc_influence()]
    step = 1e-6
    for pair in range(0, len(found), 7):
        moved = ones.copy()
        moved[pair] += step
        slopes = (estimates(moved) - estimates(ones)) / step
        np.testing.assert_allclose(
            slopes, [influence[pair] for influence in influences], atol=1e-6
        )


def test_second_rows_that_recur_widen_intervals():
    found = shared_population(100, 15, np.random.default_rng(0))
    apart = LabelledScores.from_pairs(
        found.scores, found.is_related, ends_of(found.queries)
    )
    for sample in (found, apart):
        assert sample.n_queries == 100
    wide, narrow = (
        sample.auc_estimate(np.random.default_rng(0)) for sample in (found, apart)
    )
    assert wide.value == narrow.value
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)
    influence = found._auc_influence()
    assert apart._shared_variance(influence) < 1e-12


def test_the_choice_and_its_judgement_use_different_queries(pairs):
    found = threshold(table(texts()), pairs=pairs, groups=TOPICS).labelled
    assert (found.n_choosing, found.n_judging) == (50, 50)
    scores = found.scores
    choosing, judging = scores.halves(np.random.default_rng(0))
    assert not set(choosing) & set(judging)
    assert sorted([*choosing, *judging]) == list(range(100))


def test_both_halves_have_pairs_of_both_kinds():
    queries = np.arange(10)
    is_related = queries < 5
    found = LabelledScores.from_pairs(queries / 10, is_related, ends_of(queries))
    for seed in range(30):
        for half in found.halves(np.random.default_rng(seed)):
            kinds = is_related[half]
            assert kinds.any()
            assert not kinds.all()


def test_labels_recommend_a_cut_and_state_its_errors(pairs):
    found = threshold(table(texts()), pairs=pairs, groups=TOPICS, score=0.5)
    judged = found.labelled.judged
    assert found.threshold == judged.threshold
    assert found.interval is None
    text = found.explain()
    assert f"Cut at {found.threshold:.2f}: " in text
    assert "for 50 queries that took no part in the choice" in text
    assert "chosen for the largest balanced accuracy on 50 queries" in text
    assert "of the pairs labelled related" in text
    # Cosines of unrelated pairs alone would cut higher.
    by_level = threshold(table(texts()), groups=TOPICS)
    assert by_level.threshold > found.threshold
    at_level = found.labelled.at_level
    assert at_level.threshold == found.by_level.value
    assert at_level.recall.value < judged.recall.value


def test_pairs_may_be_given_by_ids_and_in_any_order(pairs):
    ids = np.array([f"t{row}" for row in range(300)])
    named = pairs.assign(a=ids[pairs["a"]], b=ids[pairs["b"]])
    named = named[["label", "b", "a"]].rename(columns={"a": "Query", "b": "doc_id"})
    found = threshold(table(texts(), ids=ids), pairs=named)
    expected = threshold(table(texts()), pairs=pairs)
    assert found.explain() == expected.explain()


def test_repeated_pairs_count_once_and_zero_rows_not_at_all(pairs):
    rows = texts()
    rows[0] = 0
    twice = pd.concat(
        [pairs, pairs[["b", "a", "label"]].set_axis(pairs.columns, axis=1)]
    )
    found = threshold(table(rows), pairs=twice)
    skipped = int((pairs["a"] == 0).sum())
    assert found.labelled.n_repeated == len(pairs)
    assert found.labelled.n_without_direction == skipped
    assert len(found.labelled.scores) == len(pairs) - skipped
    assert f"{len(pairs)} rows repeated a pair, {skipped} pairs had" in found.explain()


# Another model


def test_a_rotated_copy_has_the_same_threshold(pairs):
    rows = texts()
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((16, 16)))[0]
    copy = table(3 * rows @ rotation)
    for options in ({}, {"pairs": pairs}, {"pairs": pairs, "by": "share"}):
        found = threshold(table(rows), to=copy, **options)
        (carried,) = found.carried
        both = carried.threshold
        cuts = {both.before, both.low, both.after, both.high}
        assert cuts == {found.threshold}
        if "pairs" in options:
            assert carried.recall_before.value == carried.recall_after.value


@pytest.mark.parametrize("by", ["share", "error"])
def test_a_carried_threshold_lets_as_many_pairs_pass(pairs, by):
    rows = texts()
    other = np.tanh(rows) + 0.3
    found = threshold(table(rows), pairs=pairs, to=table(other), by=by, score=0.45)
    recommended, score = found.carried
    assert (recommended.before, score.before) == (found.threshold, 0.45)
    for carried in found.carried:
        both = carried.threshold
        if by == "share":
            known = {
                tuple(pair) for pair in pairs.query("label == 1")[["a", "b"]].to_numpy()
            }
            chosen = [pair for pair in combinations(range(300), 2) if pair not in known]
        else:
            chosen = pairs.query("label == 0")[["a", "b"]].to_numpy()
        first, second = np.array(chosen).T
        before = (unit(rows)[first] * unit(rows)[second]).sum(axis=1)
        after = (unit(other)[first] * unit(other)[second]).sum(axis=1)
        assert (after >= both.after).sum() == (before >= both.before).sum()
        assert both.low < both.after < both.high
        assert both.n_pairs == carried.n_pairs == len(before)
        assert carried.n_related == int((pairs["label"] == 1).sum())
    assert "In the other model, cut at" in found.explain()


def test_rows_are_matched_by_id_and_missing_rows_are_skipped(pairs):
    rows = texts()
    ids = np.array([f"t{row}" for row in range(300)])
    named = pairs.assign(a=ids[pairs["a"]], b=ids[pairs["b"]])
    order = np.random.default_rng(0).permutation(300)[:250]
    other = table(np.tanh(rows[order]), ids=ids[order])
    found = threshold(table(rows, ids=ids), pairs=named, to=other)
    (carried,) = found.carried
    kept = pairs["a"].isin(order) & pairs["b"].isin(order)
    assert carried.n_pairs == int((kept & (pairs["label"] == 0)).sum())
    assert carried.n_related == int((kept & (pairs["label"] == 1)).sum())


def test_no_threshold_is_carried_if_no_pair_reaches_it():
    found = threshold(table(texts()), to=table(np.tanh(texts())), score=0.99999)
    assert found.carried[1].threshold is None
    assert "No threshold of the other model lets as many unrelated" in found.explain()


def test_pairs_of_two_sides_are_carried():
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((60, 6)), draw.standard_normal((80, 6))
    users, items = [f"u{i}" for i in range(60)], [f"i{i}" for i in range(80)]
    model = FactorModel.from_user_item(left, right, user_ids=users, item_ids=items)
    other = FactorModel.from_user_item(
        np.tanh(left)[::-1], np.tanh(right), user_ids=users[::-1], item_ids=items
    )
    (carried,) = threshold(model, to=other).carried
    after = unit(np.tanh(left)) @ unit(np.tanh(right)).T
    assert (after >= carried.threshold.after).mean() == carried.threshold.share


# Intervals cover the number of the population in 95 % of the samples.

CENTRES = np.random.default_rng(7).standard_normal((25, 8))


def population(n, draw):
    """Draw rows whose cosines depend on each other: rows of 25 topics."""
    return 0.2 + CENTRES[draw.integers(25, size=n)] + draw.standard_normal((n, 8))


def quantile_of_population(level):
    draw = np.random.default_rng(123)
    first, second = (unit(population(1_500_000, draw)) for _ in range(2))
    return float(np.quantile((first * second).sum(axis=1), 1 - level))


def coverage_of_levels(n_samples, n_rows):
    """Return how often intervals hold the true cut, and the true share at that cut."""
    truth = quantile_of_population(0.02)
    hits = np.zeros(2)
    for seed in range(n_samples):
        rows = population(n_rows, np.random.default_rng(seed))
        found = threshold(table(rows), level=0.02)
        share = found.share_reaching(truth)
        low, high = found.interval
        hits += [low <= truth <= high, share.low <= 0.02 <= share.high]
    return hits / n_samples


def labelled_population(n_queries, draw):
    """Draw labelled scores with an effect of each query on scores and labels."""
    sizes = draw.integers(2, 9, size=n_queries)
    queries = np.repeat(np.arange(n_queries), sizes)
    is_related = draw.random(len(queries)) < draw.beta(2, 3, size=n_queries)[queries]
    effects = 0.6 * draw.standard_normal(n_queries)[queries]
    scores = effects + 1.2 * is_related + draw.standard_normal(len(queries))
    return LabelledScores.from_pairs(scores, is_related, ends_of(queries))


def coverage_of_labels(n_samples, n_queries, n_seconds=None):
    """Return how often intervals hold precision, recall, false positives and AUC."""
    cut = 0.9

    def sample_of(size, draw):
        if n_seconds is None:
            return labelled_population(size, draw)
        return shared_population(size, size * n_seconds // n_queries, draw)

    whole = sample_of(150_000, np.random.default_rng(99))
    passes = whole.scores >= cut
    truth = {
        "precision": whole.is_related[passes].mean(),
        "recall": passes[whole.is_related].mean(),
        "false_positive_rate": passes[~whole.is_related].mean(),
        "balanced_accuracy": balanced_accuracy_score(whole.is_related, passes),
    }
    hits = dict.fromkeys(truth, 0)
    auc_hits = 0
    for seed in range(n_samples):
        draw = np.random.default_rng(seed)
        sample = sample_of(n_queries, draw)
        (errors,) = sample.errors([cut], draw)
        for name, value in truth.items():
            estimate = getattr(errors, name)
            hits[name] += estimate.low <= value <= estimate.high
        auc = sample.auc_estimate(draw)
        auc_hits += auc.low <= whole.auc() <= auc.high
    return {
        name: count / n_samples for name, count in hits.items()
    }, auc_hits / n_samples


def coverage_of_carried(n_samples, n_rows, *, by_labels):
    """Return how often the interval of a carried threshold holds the true one."""
    draw = np.random.default_rng(5)
    first, second = (population(1_000_000, draw) for _ in range(2))
    before = (unit(first) * unit(second)).sum(axis=1)
    after = (unit(np.tanh(first)) * unit(np.tanh(second))).sum(axis=1)
    # Few labelled pairs reach 0.5, and an interval that ends at one of few scores holds
    # more than 95 %.
    score = 0.2 if by_labels else 0.5
    share = (before >= score).mean()
    truth = float(np.quantile(after, 1 - share))
    hits = 0
    for seed in range(n_samples):
        draw = np.random.default_rng(seed)
        rows = population(n_rows, draw)
        options = {}
        if by_labels:
            queries = np.repeat(np.arange(n_rows // 2), 6)
            others = n_rows // 2 + draw.integers(n_rows // 2, size=len(queries))
            labels = np.tile([0, 0, 0, 0, 0, 1], n_rows // 2)
            options["pairs"] = pd.DataFrame(
                {"a": queries, "b": others, "label": labels}
            ).drop_duplicates(["a", "b"])
        found = threshold(table(rows), to=table(np.tanh(rows)), score=score, **options)
        both = found.carried[-1].threshold
        hits += both.low <= truth <= both.high
    return hits / n_samples


FEW_SAMPLES = 400
"""Number of samples of a fast test; a coverage of 95 % then has an error of 1.1 %."""


def is_near_95_percent(coverage):
    return 0.92 <= coverage <= 0.98


def test_intervals_of_cuts_and_shares_cover_95_percent():
    coverage = coverage_of_levels(FEW_SAMPLES, 80)
    assert all(map(is_near_95_percent, coverage)), coverage


def test_intervals_of_labelled_pairs_cover_95_and_99_percent():
    shares, auc = coverage_of_labels(FEW_SAMPLES, 60)
    assert all(map(is_near_95_percent, shares.values())), shares
    assert auc >= 0.975, auc


def test_intervals_of_carried_thresholds_cover_95_percent():
    coverage = coverage_of_carried(FEW_SAMPLES, 60, by_labels=False)
    assert is_near_95_percent(coverage), coverage


@pytest.mark.slow
def test_intervals_cover_95_percent_of_many_samples():
    for n_rows in (60, 250):
        coverage = coverage_of_levels(1_500, n_rows)
        assert ((coverage >= 0.93) & (coverage <= 0.97)).all(), (n_rows, coverage)
    for n_queries, n_seconds in ((60, None), (100, 40)):
        shares, auc = coverage_of_labels(1_500, n_queries, n_seconds)
        assert all(0.93 <= share <= 0.97 for share in shares.values()), shares
        assert auc >= 0.98, auc
    coverage = coverage_of_carried(800, 100, by_labels=False)
    assert 0.93 <= coverage <= 0.97, coverage
    # The larger one of two estimated variances, and ends at one of few scores, make
    # this interval wider than it has to be. It must not be narrower.
    coverage = coverage_of_carried(800, 100, by_labels=True)
    assert 0.93 <= coverage <= 0.99, coverage


# Settings of a service


def test_settings_name_the_rule_and_the_model(pairs):
    model = table(texts())
    found = threshold(model, pairs=pairs, scoring="f1")
    settings_of = found.settings()
    assert settings_of["threshold"] == found.threshold
    assert settings_of["chosen_for"] == "f1"
    assert settings_of["model"] == {
        "fingerprint": fingerprint(model),
        "n_left": None,
        "n_right": 300,
        "n_columns": 16,
    }
    assert settings_of["carried"] is None
    assert threshold(model).settings()["chosen_for"] == "level"


def test_settings_hold_the_threshold_of_the_other_model(pairs):
    other = table(np.tanh(texts()))
    found = threshold(table(texts()), to=other, score=0.3)
    carried = found.settings()["carried"]
    assert carried["model"]["fingerprint"] == fingerprint(other)
    assert carried["by"] == "share"
    assert carried["threshold"] == found.carried[0].threshold.after
    permuted = pairs.assign(label=np.random.default_rng(0).permutation(pairs["label"]))
    none = threshold(table(texts()), pairs=permuted, to=other)
    assert none.carried == ()
    assert none.settings()["carried"]["threshold"] is None


@pytest.mark.parametrize(
    ("options", "warns"),
    [({}, False), ({"compared": "cosine"}, False), ({"compared": "dot"}, True)],
)
def test_a_training_by_another_measure_is_named(options, warns):
    text = threshold(table(texts(), **options)).explain()
    assert ("training compared item-item pairs by inner product" in text) is warns


def test_cosines_of_two_sides_are_not_their_scores():
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((40, 4)), draw.standard_normal((90, 4))
    model = FactorModel.from_user_item(left, right)
    words = "training compared user-item pairs by inner product"
    assert words in threshold(model).explain()
    assert "training compared" not in threshold(model, role="right").explain()
    cosine = FactorModel.from_user_item(left, right, link="cosine")
    assert "training compared" not in threshold(cosine).explain()


# Wrong arguments


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"level": 0}, "level must be a share of unrelated pairs above 0, and at most"),
        (
            {"level": 0.6},
            "level must be a share of unrelated pairs above 0, and at most",
        ),
        ({"level": np.nan}, "level must be a share"),
        ({"score": np.nan}, "score must be a finite number; got nan"),
        ({"score": 80}, "score must be a cosine, from -1 to 1; got 80"),
        ({"score": -1.5}, "score must be a cosine, from -1 to 1; got -1.5"),
        ({"scoring": "recall"}, "scoring must be one of"),
        ({"scoring": "f1"}, "scoring must be omitted unless pairs is given"),
        (
            {"scoring": "balanced_accuracy"},
            "scoring must be omitted unless pairs is given, the labelled "
            "pairs that choose",
        ),
        ({"by": "share"}, "by must be omitted unless to is given"),
        ({"to": table(texts()), "by": "error"}, "pairs must be given if a threshold"),
        ({"to": table(texts()), "by": "rank"}, "by must be"),
        ({"role": "cross"}, "users? .*must be"),
        (
            {"groups": ["a"] * 300},
            "groups must be labels that differ between some",
        ),
        ({"groups": TOPICS[:9]}, "groups must be a list of 300 labels"),
        ({"pairs": 3}, "pairs must be a path or a data frame; got int"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        threshold(table(texts()), **options)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda t: t.assign(label=t["label"] + 1),
            "column label .* 1 for related and 0",
        ),
        (lambda t: t.assign(label=0.5), "column label .*got 0.5 in row 0"),
        (lambda t: t.assign(label=np.nan), "column label .* must be finite numbers"),
        (lambda t: t.assign(label=1), "label.* 0 must be at least 5; got 0"),
        (lambda t: t.assign(label=0), "label.* 1 must be at least 5; got 0"),
        (lambda t: t.assign(a=0), "first column .* must be at least 5; got 1"),
        (
            lambda t: t.assign(a=t["a"] + 299),
            "row numbers of items, from 0 to 299, because the model has no ids; got",
        ),
        (
            lambda t: t.assign(a="x"),
            "row numbers of items, from 0 to 299, .*; got x in row",
        ),
        (
            lambda t: t.assign(b=t["a"]),
            "two different rows of the model; got the same row",
        ),
        (lambda t: t.drop(columns="label"), "must be a, b and label; got a, b"),
        (lambda t: t.rename(columns={"b": "x"}), "must be a, b and label; got a, x"),
        (lambda t: t[:0], "must be a table with rows; got no rows"),
        (
            lambda t: pd.concat([t, t.assign(label=1 - t["label"])]),
            "labelled 0 or 1; got the same pair with both labels",
        ),
    ],
)
def test_labelled_pairs_that_do_not_fit_are_refused(pairs, change, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        threshold(table(texts()), pairs=change(pairs))
    assert "\n" not in str(refused.value)


def test_unknown_ids_are_refused_or_skipped(pairs):
    ids = np.array([f"t{row}" for row in range(300)])
    named = pairs.assign(a=ids[pairs["a"]], b=ids[pairs["b"]])
    named.loc[3, "b"] = "gone"
    with pytest.raises(
        InputError, match="such as t0; got gone, which the model lacks, in row 3"
    ):
        threshold(table(texts(), ids=ids), pairs=named)
    found = threshold(table(texts(), ids=ids), pairs=named, partial=True)
    assert found.labelled.n_unknown == 1
    assert "Skipped: 1 row had an unknown id" in found.explain()


def test_groups_of_one_row_each_leave_all_pairs_unrelated():
    found = threshold(table(texts()), groups=np.arange(300))
    assert found.n_left_out == 0
    assert "All pairs count as unrelated, because no two rows" in found.explain()
