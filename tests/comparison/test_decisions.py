"""Figures that judge a new model: kept neighbours, transferred thresholds, and swapped
vectors.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.gauges import Gauge
from embaudit.io import save
from embaudit.report.comparison_summary import summary_table

DRAW = np.random.default_rng(5)
USERS, ITEMS = DRAW.normal(size=(200, 4)), DRAW.normal(size=(150, 4)) + 0.4


def model(left=USERS, right=ITEMS):
    ids = {"user_ids": np.arange(len(left)), "item_ids": np.arange(len(right))}
    return ea.FactorModel.from_user_item(left, right, **ids)


@pytest.fixture(scope="module")
def gauged():
    """A model whose predictions are the same, and whose cosines are not."""
    return ea.compare(model(), Gauge.diagonal([9.0, 1.0, 0.2, 1.0]).act(model()))


@pytest.fixture(scope="module")
def nudged():
    """A model trained anew: nearly the same scores."""
    return ea.compare(model(), model(USERS + 0.15 * DRAW.normal(size=USERS.shape)))


@pytest.fixture(scope="module")
def shuffled():
    return ea.compare(model(), model(right=ITEMS[DRAW.permutation(len(ITEMS))]))


def test_a_gauge_changes_lists_by_cosine_but_none_by_prediction_cosine(gauged):
    for change in gauged.changes.values():
        assert change.predicted_kept == 1
        assert change.neighbour_shares["kept"] < 0.8
    lists = "100 % of 10 nearest users and 100 % of 10 nearest items stay."
    assert gauged.explain().count("By prediction cosine") == 1
    assert f"By prediction cosine, which no change of axes moves, {lists}" in (
        gauged.explain()
    )
    assert gauged.below({"kept": 0.9, "predicted": 0.9, "scores": 0.9}).keys() == {
        "kept"
    }


def test_kept_shares_of_lists_agree_with_brute_force_over_all_rows():
    """Against brute force: the nearest rows, and the nearest columns of the score
    matrix.
    """
    other = model(
        USERS + 0.5 * DRAW.normal(size=USERS.shape),
        ITEMS + 0.5 * DRAW.normal(size=ITEMS.shape),
    )
    change = ea.compare(model(), other, roles=["right"]).changes["right"]
    shares = {
        "kept": change.neighbour_shares["kept"],
        "predicted_kept": change.predicted_kept,
    }
    for name, rows in (
        ("kept", lambda one: one.right),
        ("predicted_kept", lambda one: one.scores().T),
    ):
        lists = []
        for one in (model(), other):
            unit = rows(one) / np.linalg.norm(rows(one), axis=1, keepdims=True)
            cosines = unit @ unit.T
            np.fill_diagonal(cosines, -2)
            lists.append(np.argsort(-cosines, axis=1)[:, :10])
        share = np.mean(
            [len(set(a) & set(b)) / 10 for a, b in zip(*lists, strict=True)]
        )
        # Every item was asked once, and cutting them in halves plays no part.
        assert shares[name] == pytest.approx(share, abs=1e-9)
        assert change.interval(name)[0] <= share <= change.interval(name)[1] < 1


def test_rows_that_are_duplicates_in_both_models_count_once():
    """The lists are those of distinct items, as an audit has them; what one model tells
    apart counts as two.
    """
    draw = np.random.default_rng(1)
    alone, of = (
        draw.normal(size=(60, 4)),
        np.concatenate([np.arange(60), draw.integers(60, size=90)]),
    )
    size = draw.uniform(1, 3, size=(150, 1))
    stretch = Gauge.diagonal([4.0, 1.0, 0.3, 1.0])
    distinct, every = (model(right=rows) for rows in (alone, alone[of] * size))
    once = ea.compare(distinct, stretch.act(distinct), roles=["right"]).changes["right"]
    change = (
        comparison := ea.compare(every, stretch.act(every), roles=["right"])
    ).changes["right"]
    assert change.n_duplicates == 90
    assert change.neighbour_shares == pytest.approx(once.neighbour_shares)
    assert change.neighbour_shares["kept"] < 0.7
    assert "Of 10 nearest items (duplicates count once)" in comparison.explain()
    assert all(
        len(x.before) == len({name.split()[-1] for name, _ in x.before}) == 10
        for x in change.examples
    )
    carried = [
        [(x.before, x.share, x.after) for x in each.thresholds]
        for each in (once, change)
    ]
    np.testing.assert_allclose(*carried)
    apart = model(right=draw.normal(size=(150, 4)))
    for pair in ((every, apart), (apart, every)):
        assert ea.compare(*pair, roles=["right"]).changes["right"].n_duplicates == 0


def test_a_side_has_the_same_numbers_whether_the_other_is_reported_or_not():
    other = model(right=ITEMS + 0.2 * DRAW.normal(size=ITEMS.shape))
    both = ea.compare(model(), other)
    alone = ea.compare(
        *(
            ea.FactorModel.from_vectors(one.right, ids=np.arange(150))
            for one in (model(), other)
        )
    )
    for name in ("total", "outcomes", "thresholds"):
        np.testing.assert_equal(
            getattr(alone.changes["right"], name), getattr(both.changes["right"], name)
        )


def test_shuffled_vectors_are_reported(shuffled, gauged, nudged):
    change = shuffled.changes["right"]
    assert change.n_displaced > 140
    assert (
        f"{change.n_displaced} of 150 items now have the vector that another item had"
        in shuffled.explain()
    )
    assert (
        shuffled.changes["left"].n_displaced == gauged.changes["right"].n_displaced == 0
    )
    assert shuffled.agreement.unlike[1] > 0.6
    assert "of 150 items correlate by less than 0.3." in shuffled.explain()
    assert list(shuffled.below({"rows": 0.97})) == ["rows"]
    assert (
        gauged.below({"rows": 1.0, "shared": 1.0}) == nudged.below({"rows": 0.97}) == {}
    )
    assert shuffled.statements[-1].endswith("check that ids fit their rows.")
    with pytest.raises(
        ea.InputError, match="the limit of kept must be a number from 0 to 1"
    ):
        gauged.below({"kept": "0.5"})
    assert "another item had" not in gauged.explain() + nudged.explain()
    assert "of their size" not in gauged.explain() + nudged.explain()
    others = (
        model(right=3 * ITEMS),
        model().replace(offset=3.0),
        model(np.where(USERS[:, :1] < 0, 0, USERS)),
    )
    texts = (
        "the second model are 3 times as large.",
        "% of their size, each row by one number.",
        "% of their size. Scores of",
    )
    for other, text in zip(others, texts, strict=True):
        assert text in ea.compare(model(), other).explain().split(" Yet ")[1]


def test_a_gate_reports_the_value_that_is_below_its_limit(tmp_path, embaudit):
    save(model(), tmp_path / "a.npz")
    save(Gauge.diagonal([9.0, 1.0, 0.2, 1.0]).act(model()), tmp_path / "b.npz")
    files = (tmp_path / "a.npz", tmp_path / "b.npz")
    kept, side = min(ea.compare(*files).kept_by_side["kept"])
    stops = embaudit("compare", *files, "--fail-below", f"kept={kept + 1e-6:.7f}")
    sentence = r"kept (\S+) \(neighbours of (\w+)s by cosine\) is below ([\d.]+\d)"
    value, title, limit = re.findall(sentence, stops.out)[-1]
    assert (
        stops.code,
        title,
        float(value) < float(limit) == round(kept + 1e-6, 7),
    ) == (1, side, True)
    both = embaudit("compare", *files, "--fail-below", "kept=1").out
    assert stops.out.splitlines()[-1].count(" is below ") == 1
    last = both.splitlines()[-1]
    for title in ("users", "items"):
        sentence = f"(neighbours of {title} by cosine) is below 1.0"
        assert last.count(sentence) == 1


@pytest.mark.parametrize("n", [-1, 10, 100_000, 2.0, True])
def test_neighbour_lists_must_be_shorter_than_the_number_of_rows(n):
    head = ea.FactorModel.from_softmax(np.random.default_rng(0).normal(size=(10, 6)))
    runs = (ea.audit, ea.head_report, lambda head, **n: ea.compare(head, head, **n))
    for run in (*runs, lambda head, **n: ea.movement(head, head, **n)):
        with pytest.raises(
            ea.InputError,
            match=r"^n_neighbours must be an integer (from 1 to 9|>= 1)[^;]*; got",
        ):
            run(head, n_neighbours=n)


@pytest.mark.parametrize("rng", [0, 1])
@pytest.mark.parametrize("n_inputs", [0, 300])
def test_changes_of_few_rows_are_those_of_all_pairs(n_inputs, rng):
    """Against numpy: neither a seed nor the halves of a gauge have a part in the 45
    pairs of 10 labels.
    """
    draw = np.random.default_rng(7)
    heads, inputs = (
        draw.standard_normal((2, 10, 6)),
        draw.standard_normal((n_inputs, 6)),
    )
    models = [
        ea.FactorModel.from_softmax(rows, embeddings=inputs if n_inputs else None)
        for rows in heads
    ]
    comparison = ea.compare(*models, by_row=True, roles=["right"], rng=rng)
    (change,) = comparison.changes.values()
    unit = heads / np.linalg.norm(heads, axis=2, keepdims=True)
    old, new = (unit @ unit.transpose(0, 2, 1))[:, *np.triu_indices(10, 1)]
    assert change.mean_total == pytest.approx(np.abs(new - old).mean(), abs=1e-12)
    assert change.correlation == pytest.approx(np.corrcoef(old, new)[0, 1], abs=1e-12)
    assert (
        change.mean_gauge + change.mean_unseen + change.mean_remainder
        == pytest.approx(change.mean_total)
    )
    assert change.cut_error == 0
    assert "all 45 pairs" in str(summary_table(comparison))


def test_the_share_of_rows_that_both_models_hold_is_reported_and_gated():
    whole = random_model(
        n=60, p=80, k=4, right_ids=np.arange(80), right_counts=np.ones(80)
    )
    some = whole.take(right=np.arange(60))
    fewer, more = ea.compare(whole, some), ea.compare(some, whole)
    assert fewer.below({"shared": 0.8}) == {"shared": (0.75, 0.8)}
    assert more.below({"shared": 1.0}) == {}
    for each in (fewer, more):
        assert each.statements[-1].startswith("For the rows that both models hold")
    assert (
        ea.compare(whole, whole).statements[-1]
        == "Nothing to do: either model can stand in for the other."
    )


@pytest.mark.slow
def test_of_more_than_50000_rows_a_sample_is_compared_and_all_are_counted():
    whole = random_model(
        n=40, p=68_000, k=3, right_ids=np.arange(68_000), right_counts=np.ones(68_000)
    )
    found = ea.compare(whole, whole.take(right=np.arange(51_000)), roles=["right"])
    assert len(found.changes["right"].match) == 50_000
    assert found.shares_kept()["shared"] == 0.75
