"""A sample of rows is audited if a table has more than 4,096 columns, and the audit
says so.
"""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import embaudit as ea
from embaudit.auditing.audit import Audit
from embaudit.auditing.options import AuditOptions
from embaudit.auditing.recorded_equivalent import repeat_equivalent
from embaudit.auditing.wide import drawn_rows, quick_rows
from embaudit.errors import InputError
from embaudit.report.gate.forges import markdown
from embaudit.report.gate.gate import Gate
from embaudit.report.next_steps import Invocation
from embaudit.report.terminal import first_screen, print_audit

SENTENCE = (
    "Audited: 2,048 of 2,100 items, drawn at random, because rows have more than 4,096 "
    "columns. All figures and lists are about these rows."
)


def table_of(n: int, k: int) -> ea.FactorModel:
    rows = np.random.default_rng(0).standard_normal((n, k), dtype=np.float32)
    return ea.FactorModel.from_vectors(rows, ids=[f"row {i}" for i in range(n)])


def test_the_same_seed_draws_the_same_2048_rows() -> None:
    table = table_of(2_100, 4_097)
    rows = drawn_rows(table, (), rng=3)
    assert len(np.unique(rows)) == 2_048
    np.testing.assert_array_equal(rows, drawn_rows(table, (), rng=3))
    assert not np.array_equal(rows, drawn_rows(table, (), rng=4))


def test_rows_to_show_are_drawn_in_addition() -> None:
    table = table_of(2_100, 4_097)
    left_out = np.setdiff1d(np.arange(2_100), drawn_rows(table, (), rng=0))
    rows = drawn_rows(table, [f"row {left_out[0]}"], rng=0)
    assert len(rows) == 2_049
    assert left_out[0] in rows


@pytest.mark.parametrize(("n", "k"), [(2_048, 4_097), (2_100, 4_096)])
def test_few_rows_or_columns_are_audited_as_they_are(n: int, k: int) -> None:
    assert drawn_rows(table_of(n, k), (), rng=0) is None


def test_columns_of_zeros_do_not_count() -> None:
    rows = table_of(2_100, 4_097).right.copy()
    rows[:, 5] = 0
    assert drawn_rows(ea.FactorModel.from_vectors(rows), (), rng=0) is None


def test_all_rows_are_audited_if_the_sample_has_one_direction_only() -> None:
    rows = table_of(2_500, 4_097).right.copy()
    drawn = drawn_rows(ea.FactorModel.from_vectors(rows), (), rng=0)
    for same in (0.0, rows[0]):
        rows[drawn] = same
        assert drawn_rows(ea.FactorModel.from_vectors(rows), (), rng=0) is None


def test_heads_and_models_of_two_sides_are_not_cut_here() -> None:
    table = table_of(2_049, 4_097)
    assert drawn_rows(table.replace(link="softmax"), (), rng=0) is None
    both = ea.FactorModel.from_user_item(table.right[:2], table.right)
    assert drawn_rows(both, (), rng=0) is None


@pytest.fixture(scope="module")
def audit() -> Audit:
    return ea.audit(table_of(2_100, 4_097), quick=True, n_gauges=1, n_starts=0)


@pytest.mark.slow
def test_all_figures_are_about_the_drawn_rows(audit: Audit) -> None:
    assert audit.model.n_right == 2_048
    assert audit.evidence.movement[0][0].n_all_pairs == 2_048 * 2_047 // 2
    assert audit.predictions_hold


@pytest.mark.slow
def test_the_sentence_stands_on_the_screen_and_in_the_record(audit: Audit) -> None:
    assert audit.sample_sentence == SENTENCE
    screen = first_screen(audit, Invocation("table.npy"))
    assert SENTENCE in " ".join(screen.split())
    record = audit.to_dict()["model"]
    assert (record["n_right"], record["drawn_from"]) == (2_048, 2_100)


@pytest.fixture
def small_audit(monkeypatch: pytest.MonkeyPatch) -> Audit:
    """An audit of 20 of 60 rows of 14 columns, with one more row to show."""
    monkeypatch.setattr("embaudit.auditing.wide.MOST_COLUMNS", 12)
    monkeypatch.setattr("embaudit.auditing.wide.DRAWN_ROWS", 20)
    options = {"n_gauges": 1, "n_starts": 0}
    drawn = ea.audit(table_of(60, 14), **options)
    left_out = np.setdiff1d(table_of(60, 14).names("right"), drawn.model.names("right"))
    return ea.audit(table_of(60, 14), **options, show=[left_out[0]])


def test_every_text_names_the_sample(small_audit: Audit) -> None:
    sentence = (
        "Audited: 21 of 60 items, drawn at random except for 1 to show, because rows "
        "have more than 12 columns."
    )
    console = Console(file=StringIO(), width=400)
    print_audit(small_audit, console)
    texts = {
        "explain": small_audit.explain(),
        "--full": console.file.getvalue(),
        "--markdown": markdown(small_audit, Gate.from_options(None).judge(small_audit)),
    }
    for name, text in texts.items():
        assert sentence in text, name


def test_a_sample_is_verified_from_its_record(small_audit: Audit) -> None:
    shown = small_audit.options.show[0]
    assert [example.name for example in small_audit.evidence.examples] == [shown]
    assert ea.verify(small_audit.to_dict(), table_of(60, 14)).ok


def test_a_model_of_drawn_rows_is_not_made_for_all_rows(small_audit: Audit) -> None:
    name = small_audit.evidence.equivalents[0].name
    with pytest.raises(InputError, match="the audit must be an audit of all rows"):
        repeat_equivalent(small_audit.to_dict(), table_of(60, 14), name)


@pytest.fixture
def long_table(monkeypatch: pytest.MonkeyPatch) -> ea.FactorModel:
    """A table of 400 rows, of which a quick audit compares 60.

    The last 40 rows repeat the first 40, and row 7 is zero.
    """
    monkeypatch.setattr("embaudit.auditing.wide.QUICK_ROWS", 60)
    rows = table_of(400, 6).right.copy()
    rows[360:] = rows[:40]
    rows[7] = rows[367] = 0
    return ea.FactorModel.from_vectors(rows)


def test_a_quick_audit_of_a_long_table_states_the_rows_that_it_compares(
    long_table: ea.FactorModel,
) -> None:
    audit = ea.audit(long_table, quick=True)
    sentence = "Compared: 60 of 400 items, drawn at random, because the audit is quick."
    assert sentence in audit.explain()
    assert sentence in " ".join(first_screen(audit, Invocation("x.npy")).split())
    record = audit.to_dict()
    counts = [record["model"][name] for name in ("n_right", "drawn_from", "n_compared")]
    assert counts == [400, None, 60]
    assert {row["n_all_pairs"] for row in record["movement"]} == {60 * 59 // 2}
    assert ea.verify(record, long_table).ok


def test_a_quick_audit_describes_all_rows_of_a_long_table(
    long_table: ea.FactorModel,
) -> None:
    quick = ea.audit(long_table, quick=True, n_gauges=1, n_starts=0)
    full = ea.audit(long_table, n_gauges=1, n_starts=0)
    codes = ("EMB201", "EMB401")
    titles = [
        {one.code: one.title for one in found.findings if one.code in codes}
        for found in (quick, full)
    ]
    assert titles[0] == titles[1]
    assert set(titles[0]) == set(codes)
    for name in ("n_rows", "n_pairs", "n_groups", "share"):
        twins = [found.evidence.traits[0].twins for found in (quick, full)]
        assert getattr(twins[0], name) == getattr(twins[1], name)
    assert quick.fingerprint == full.fingerprint


def test_a_quick_audit_searches_its_sample_for_the_lists_of_an_index(
    long_table: ea.FactorModel,
) -> None:
    names = [f"row {number}" for number in range(400)]
    named = long_table.replace(right_names=names)
    options = AuditOptions(quick=True, n_gauges=1, n_starts=0, served="l2")
    rows = quick_rows(named, options, rng=0)
    assert rows is not None
    served = ea.audit(named, options=options).evidence.served
    assert served is not None
    (lists,) = served.directions
    directed = np.setdiff1d(rows, [7, 367])
    assert (lists.n_rows, lists.sampled_from) == (len(directed), 400)
    assert np.isin(lists.queries, directed).all()
    assert lists.measured_on == f"lists of all {len(directed)} items, a sample of 400"
    assert lists.labels.tolist() == [names[row] for row in lists.queries]

    # Brute force among the sampled rows.
    x = named.right[directed].astype(np.float64)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for query, share in zip(lists.queries, lists.kept_by_query, strict=True):
        own = int(np.flatnonzero(directed == query)[0])
        cosines = unit @ unit[own]
        squares = np.square(x - x[own]).sum(axis=1)
        cosines[own], squares[own] = -np.inf, np.inf
        by_distance = np.argsort(squares)[: lists.n]
        # Two equal rows can tie for the last place by cosine, and both belong to it.
        last = np.sort(cosines)[-lists.n] - 1e-9
        n_kept = min(np.count_nonzero(cosines[by_distance] >= last), lists.n)
        assert share == pytest.approx(n_kept / lists.n)

    # Lengths are those of all rows, whether or not they are in the sample.
    whole = ea.index_metric(named, "l2")
    assert served.length_ratio == whole.length_ratio
    assert served.has_zero_rows
    assert whole.directions[0].sampled_from is None


def test_a_quick_audit_searches_its_sample_for_queries(
    long_table: ea.FactorModel,
) -> None:
    queries = np.random.default_rng(1).standard_normal((50, 6))
    options = AuditOptions(quick=True, n_gauges=1, n_starts=0, queries=queries)
    rows = quick_rows(long_table, options, rng=0)
    assert rows is not None
    audit = ea.audit(long_table, options=options)
    reach = audit.evidence.reach
    assert reach is not None
    assert reach.sampled_from == 400
    # Rows are numbered as in the whole table. A copy of an earlier row is left out.
    first_rows = np.setdiff1d(np.arange(360), [7])
    np.testing.assert_array_equal(reach.rows, np.intersect1d(rows, first_rows))

    # Brute force among the sampled rows.
    x = long_table.right[reach.rows].astype(np.float64)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    best = np.argsort(-(queries @ unit.T), axis=1)[:, : reach.n]
    counts = np.bincount(best.ravel(), minlength=len(reach.rows))
    np.testing.assert_array_equal(reach.counts, counts)

    n = len(reach.rows)
    assert (
        reach.measured_on == f"lists of 50 queries among a sample of {n} of 400 items"
    )
    assert f"Only a sample of {n} of 400 items was searched." in reach.on_queries
    assert f"{n} sampled items" in reach.on_reach
    assert reach.all_items == "all sampled items"
    assert ea.audit(long_table, queries=queries, n_gauges=1, n_starts=0).evidence.reach
    assert ea.query_reach(long_table, queries).sampled_from is None


def test_rows_that_a_quick_audit_did_not_draw_decide_whether_cosines_are_fixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one dimension signs may be fixed; one row of 4,000 uses a second dimension."""
    monkeypatch.setattr("embaudit.auditing.wide.QUICK_ROWS", 60)
    rows = np.zeros((4_000, 2), dtype=np.float32)
    rows[:, 0] = np.where(np.arange(4_000) % 2, 1, -2)
    drawn = quick_rows(
        ea.FactorModel.from_vectors(rows), AuditOptions(quick=True), rng=0
    )
    rows[np.setdiff1d(np.arange(4_000), drawn)[0]] = [1, 1]
    audit = ea.audit(ea.FactorModel.from_vectors(rows), quick=True, n_gauges=1)
    assert audit.evidence.model.n_right == 60
    assert not audit.evidence.model.right[:, 1].any()
    assert audit.evidence.equivalence.moves("right") is True


@pytest.mark.parametrize("compared", ["cosine", "dot", "distance"])
def test_a_quick_audit_of_a_long_table_gives_the_answer_of_the_whole_audit(
    long_table: ea.FactorModel, compared: str
) -> None:
    few = {"n_gauges": 1, "n_starts": 0, "compared": compared}
    quick = ea.audit(long_table, quick=True, **few)
    assert quick.evidence.uncut is not None
    assert str(quick.answer) == str(ea.audit(long_table, **few).answer)


def test_a_quick_audit_compares_all_rows_of_a_short_table(
    long_table: ea.FactorModel,
) -> None:
    short = long_table.take(right=np.arange(60))
    assert quick_rows(short, AuditOptions(quick=True), rng=0) is None
    assert quick_rows(long_table, AuditOptions(), rng=0) is None
