"""Of a table of more than 4,096 columns, a sample of rows is audited, and says so."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import embaudit as ea
from embaudit.auditing.audit import Audit
from embaudit.auditing.recompute import equivalent_of
from embaudit.auditing.wide import drawn_rows
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
        "--markdown": markdown(small_audit, Gate.of(None).judge(small_audit)),
    }
    for name, text in texts.items():
        assert sentence in text, name


def test_a_sample_is_verified_from_its_record(small_audit: Audit) -> None:
    shown = small_audit.options.show[0]
    assert [example.name for example in small_audit.evidence.examples] == [shown]
    assert ea.verify(small_audit.to_dict(), table_of(60, 14)).ok


def test_a_model_of_drawn_rows_is_not_made_for_all_rows(small_audit: Audit) -> None:
    name = small_audit.evidence.equivalents[0].name
    with pytest.raises(InputError, match="the audit must be of all rows"):
        equivalent_of(small_audit.to_dict(), table_of(60, 14), name)
