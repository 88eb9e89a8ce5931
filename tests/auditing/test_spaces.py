"""Two spaces in one table are reported if they are mixed, and only then."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_tables import (
    MIXED,
    ONE_SPACE,
    complementing,
    mixed,
    one_space,
    rotation,
    topics,
)
from scipy.sparse import csr_array

import embaudit as ea
from embaudit.auditing.spaces import Relation, two_spaces
from embaudit.errors import InputError
from embaudit.linalg.alignment import alignment
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel

ROWS = one_space(np.random.default_rng(0), 500, 48)
TURNED = np.vstack([ROWS[:250], ROWS[250:] @ rotation(48, np.random.default_rng(1))])
"""500 rows, the second half in another coordinate system."""
QUICK = {"quick": True, "n_starts": 0, "compared": "cosine"}


def found_in(rows, parts=None, **given):
    """Search a table of vectors for two spaces."""
    parts = None if parts is None else np.array(parts)
    rng = np.random.default_rng(0)
    return two_spaces(FactorModel.from_vectors(rows, **given), "right", parts, rng=rng)


def audited(rows, ids=None, **given):
    model = FactorModel.from_vectors(rows, ids=ids)
    return ea.audit(model, **QUICK, **given)


def findings_of(audit):
    return [one for one in audit.findings if one.code == "EMB411"]


def test_a_table_of_two_spaces_has_no_yes_and_the_answer_names_the_parts():
    assert audited(ROWS).answer.word == "YES"
    found = audited(TURNED)
    assert str(found.answer) == (
        "CHECK FIRST: rows 0 to 249 and 250 to 499 do not share one coordinate system, "
        "which concerns 50 % of all pairs."
    )
    (finding,) = findings_of(found)
    assert finding.severity.title == "issue"
    # Half of the first part's partners lie in the second part: 2 · ½ · ½ of all pairs
    # lie across.
    assert finding.value == pytest.approx(0.5, abs=0.01)


def test_the_answer_names_the_ids_at_the_boundary():
    found = audited(TURNED, ids=[f"w{i}" for i in range(500)])
    assert "rows 0 to 249 and 250 to 499 (between the ids w249 and w250)" in str(
        found.answer
    )


@pytest.mark.parametrize(
    ("start", "stop", "boundaries"),
    [(0, 130, (130,)), (370, 500, (370,)), (117, 293, (117, 293))],
)
def test_a_part_is_found_wherever_it_lies_and_its_ends_to_a_few_rows(
    start, stop, boundaries
):
    rows = ROWS.copy()
    rows[start:stop] = rows[start:stop] @ rotation(48, np.random.default_rng(2))
    found = found_in(rows)
    assert found.boundaries == pytest.approx(boundaries, abs=3)


def test_the_length_of_rows_does_not_count():
    lengths = np.random.default_rng(3).lognormal(sigma=2, size=(500, 1))
    assert found_in(TURNED * lengths).boundaries == found_in(TURNED).boundaries


@pytest.mark.parametrize("name", MIXED)
def test_two_spaces_are_found(name):
    found = [found_in(MIXED[name](np.random.default_rng(seed))) for seed in range(3)]
    assert all(each is not None and each.is_clear for each in found)


@pytest.mark.parametrize("name", ONE_SPACE)
def test_one_space_raises_no_alarm(name):
    found = [
        found_in(ONE_SPACE[name](np.random.default_rng(seed))) for seed in range(3)
    ]
    assert found == [None] * 3


@pytest.mark.slow
def test_95_percent_of_280_mixed_tables_are_found():
    found = [
        found_in(table(np.random.default_rng(seed)))
        for table in MIXED.values()
        for seed in range(70)
    ]
    n_issues = sum(each is not None and each.is_clear for each in found)
    assert n_issues >= 0.95 * 280


@pytest.mark.slow
def test_at_most_3_of_300_tables_of_one_space_raise_an_alarm():
    found = [
        found_in(table(np.random.default_rng(seed)))
        for table in ONE_SPACE.values()
        for seed in range(60)
    ]
    assert sum(each is not None for each in found) <= 3


def orders(rows):
    """Return five orders of the rows of a table."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    axes = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)[2]
    return {
        "as stored": np.arange(len(rows)),
        "reversed": np.arange(len(rows))[::-1],
        "at random": np.random.default_rng(0).permutation(len(rows)),
        "by length": np.argsort(np.linalg.norm(rows, axis=1), kind="stable"),
        "by the first principal component": np.argsort(unit @ axes[0], kind="stable"),
    }


@pytest.mark.parametrize("name", ["wordvecs", "model2vec"])
def test_real_tables_raise_no_alarm_in_five_orders_and_one_when_half_is_turned(
    shared_data, name
):
    folder = shared_data(f"survey/{name}")
    if name == "wordvecs":
        stored = json.loads((folder / "wordvecs1000.json").read_text())
        rows = np.array(list(stored["vectors"].values()))
    else:
        rows = np.array(ea.load(folder).right, dtype=np.float64)
    rows = rows[np.linalg.norm(rows, axis=1) > 0]
    for order in orders(rows).values():
        assert found_in(rows[order]) is None
    turned = rows[orders(rows)["at random"]]
    half = len(rows) // 2
    turned[half:] = turned[half:] @ rotation(rows.shape[1], np.random.default_rng(1))
    found = found_in(turned)
    assert found.is_clear
    assert found.boundaries == pytest.approx((half,), abs=20)


def test_parts_that_complement_each_other_align_no_better_than_unrelated_ones():
    # The search by second moments alone reports them, so the other statistics decide.
    rows = complementing(np.random.default_rng(0))
    first, second = rows[:1000], rows[1000:]
    between = alignment(first.T @ first, second.T @ second)
    assert abs(between.z) < 4
    relation = Relation.from_rows(first, second)
    assert relation.directions > 10
    assert relation.exists
    second = second @ rotation(48, np.random.default_rng(1))
    assert not Relation.from_rows(first, second).exists
    assert found_in(np.vstack([first, second])).is_clear


def test_clusters_in_both_parts_relate_parts_that_share_no_directions():
    # Each axis of both parts has as many rows near it as every other axis. So all
    # directions have the same variance, and noise chooses the principal directions.
    rng = np.random.default_rng(0)
    axes = np.tile(np.vstack([np.eye(24), -np.eye(24)]), (13, 1))
    first, second = (
        unit_rows(axes + 0.1 * rng.normal(size=axes.shape)) for _ in range(2)
    )
    relation = Relation.from_rows(first, second)
    assert relation.directions < 4
    assert relation.shapes[1] > 6
    assert relation.exists
    assert not Relation.from_rows(first, second @ rotation(24, rng)).exists


def test_films_in_the_order_of_their_ids_are_one_space(shared_data):
    # Late ids are recent films, whose ratings come from other users.
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    users, user = np.unique(ratings["userId"], return_inverse=True)
    films, film = np.unique(ratings["movieId"], return_inverse=True)
    table = csr_array((ratings["rating"], (user, film)), (len(users), len(films)))
    model = ea.ProductPenaltyMF(50, alpha=1.0).fit(table).model(table)
    rows = ea.fix(model, "prediction", unit=True).vectors()
    assert found_in(rows) is None
    # If the last films are turned, they have a space of their own.
    turned = rows.copy()
    turned[6000:] = turned[6000:] @ rotation(50, np.random.default_rng(0))
    assert found_in(turned).is_clear


def test_separate_topics_are_a_tip_and_change_no_answer():
    # Five topics of 16 of 64 dimensions each, with nothing in common. All five together
    # span the 64 dimensions.
    rng = np.random.default_rng(0)
    found = audited(topics(rng, 5, 1500, width=16, shared=0.0, mean=0.0))
    (finding,) = findings_of(found)
    assert finding.severity.title == "tip"
    assert "may not share" in finding.title
    assert found.answer.word == "YES"


@pytest.mark.parametrize(
    "rows",
    [
        TURNED[150:345],
        np.random.default_rng(4).normal(size=(500, 48)),
        TURNED[:, :1],
        # Two parts of effective rank near 3, in unrelated planes.
        mixed(np.random.default_rng(5), 1000, 64, power=3.0),
    ],
    ids=["few rows", "no direction weighs more", "one column", "few directions"],
)
def test_where_the_test_has_no_power_nothing_is_said(rows):
    assert found_in(rows) is None


@settings(max_examples=15)
@given(
    n_zeros=st.integers(0, 100),
    seed=st.integers(0, 2**32 - 1),
    named=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_zero_columns_and_rotations_of_all_rows_change_nothing(
    n_zeros, seed, named, dtype
):
    names = np.where(np.arange(500) < 250, "old", "new") if named else None
    padded = np.pad(TURNED, ((0, 0), (0, n_zeros)))
    turned = padded @ rotation(48 + n_zeros, np.random.default_rng(seed))
    before, after = found_in(TURNED, names), found_in(turned.astype(dtype), names)
    assert after.boundaries == before.boundaries
    assert after.is_clear == before.is_clear
    assert after.deviation == pytest.approx(before.deviation, abs=1e-3)
    assert after.shared == pytest.approx(before.shared, abs=1e-4)
    padded[250:, :48] = ROWS[250:]
    turned = padded @ rotation(48 + n_zeros, np.random.default_rng(seed))
    assert found_in(turned.astype(dtype), names) is None


def test_separate_topics_that_leave_dimensions_empty_avoid_each_other():
    # Five topics of 8 of 64 dimensions span 40 dimensions. Unrelated parts would share
    # more directions in 40 dimensions, and nobody knows of the other 24.
    rows = topics(np.random.default_rng(0), 5, 1500, shared=0.0, mean=0.0)
    assert np.linalg.matrix_rank(rows) < 64
    assert found_in(rows) is None


def test_rows_that_are_too_few_to_span_their_columns_are_compared_in_all_columns():
    rng = np.random.default_rng(0)
    rows = one_space(rng, 300, 400)
    assert found_in(rows) is None
    rows[150:] = rows[150:] @ rotation(400, rng)
    found = found_in(rows)
    assert found.is_clear
    assert found.boundaries == pytest.approx((150,), abs=3)
    # Columns of zeros do not count.
    assert found_in(np.pad(rows, ((0, 0), (0, 99)))).z_centred == found.z_centred


def test_equal_rows_count_once():
    # Without their copies these are 150 rows, too few to search.
    rows = np.repeat(TURNED[175:325], 4, axis=0)
    assert found_in(rows) is None


def test_two_sides_and_heads_are_not_searched():
    inputs = np.random.default_rng(0).normal(size=(60, 48))
    for model in (
        FactorModel.from_user_item(inputs, TURNED),
        FactorModel.from_softmax(TURNED),
    ):
        found = ea.audit(model, quick=True, n_starts=0)
        assert not findings_of(found)


def test_named_parts_are_compared_in_any_order_of_their_rows():
    order = np.random.default_rng(6).permutation(500)
    names = np.where(order < 250, "old", "new")
    assert found_in(TURNED[order]) is None
    found = found_in(TURNED[order], names)
    assert {found.first, found.second} == {
        f"rows of {names[0]}",
        f"of {'old' if names[0] == 'new' else 'new'}",
    }
    assert found_in(ROWS[order], names) is None


def test_named_parts_that_complement_each_other_are_one_space():
    rows = complementing(np.random.default_rng(0))
    names = np.where(np.arange(2000) < 1000, "old", "new")
    assert found_in(rows, names) is None
    # A third part in a space of its own is found, next to a group of the first two.
    third = one_space(np.random.default_rng(1), 600, 48)
    names = np.append(names, ["other"] * 600)
    found = found_in(np.vstack([rows, third]), names)
    assert (found.first, found.second) == ("rows of old, new", "of other")


def test_parts_that_align_are_gathered():
    # Parts a and c are in one space, b is in the other; d has too few rows to decide.
    rows = np.vstack([TURNED[:150], TURNED[250:], TURNED[150:250]])
    names = ["a"] * 150 + ["b"] * 250 + ["c"] * 80 + ["d"] * 20
    found = found_in(rows, names)
    assert {found.first, found.second} in (
        {"rows of b", "of a, c"},
        {"rows of a, c", "of b"},
    )


def written(folder, name, rows, first):
    """Write rows with ids as CSV."""
    header = ",".join(["id", *(f"v{column}" for column in range(rows.shape[1]))])
    lines = [
        ",".join([f"w{first + number}", *map(repr, row)])
        for number, row in enumerate(rows.tolist())
    ]
    path = folder / name
    path.write_text("\n".join([header, *lines]))
    return path


def test_files_read_as_one_table_are_compared(tmp_path):
    # The last file has 110 rows of the other space: no boundary of 20 blocks is needed.
    paths = [
        written(tmp_path, "a.csv", TURNED[:200], 0),
        written(tmp_path, "b.csv", TURNED[250:360], 200),
    ]
    found = ea.audit(paths, **QUICK)
    assert "rows of a.csv and of b.csv do not share" in str(found.answer)
    same = [paths[0], written(tmp_path, "c.csv", ROWS[250:360], 200)]
    assert ea.audit(same, **QUICK).answer.word == "YES"


def test_files_of_parquet_read_as_one_table_are_compared(tmp_path):
    import pandas as pd

    paths = []
    for name, rows in (("a", TURNED[:200]), ("b", TURNED[250:360])):
        frame = pd.DataFrame({"id": [f"{name}{i}" for i in range(len(rows))]})
        frame["vector"] = list(rows)
        paths.append(tmp_path / f"{name}.parquet")
        frame.to_parquet(paths[-1])
    found = ea.audit(paths, **QUICK)
    assert "rows of a.parquet and of b.parquet do not share" in str(found.answer)


def test_a_column_of_the_items_names_the_parts(tmp_path):
    order = np.random.default_rng(6).permutation(500)
    table = tmp_path / "items.csv"
    lines = [f"{row},{'old' if row < 250 else 'new'},title {row}" for row in range(500)]
    table.write_text("\n".join(["id,revision,title", *lines]))
    model = FactorModel.from_vectors(TURNED[order], ids=order)
    assert ea.audit(model, **QUICK, items=table).answer.word == "YES"
    found = ea.audit(model, **QUICK, items=table, by="revision")
    (finding,) = findings_of(found)
    assert finding.severity.title == "issue"
    assert {"old", "new"} <= set(finding.title.split())
    assert found.to_dict()["options"]["by"] == "revision"


def test_a_table_of_ids_and_parts_needs_no_titles(tmp_path):
    table = tmp_path / "items.csv"
    parts = ["old"] * 250 + ["new"] * 250
    lines = [f"{row},{part}" for row, part in enumerate(parts)]
    table.write_text("\n".join(["id,revision", *lines]))
    model = FactorModel.from_vectors(TURNED, ids=np.arange(500))
    found = ea.audit(model, **QUICK, items=table, by="revision")
    assert "rows of old and of new do not share" in str(found.answer)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"by": "revision"}, "by must be given with items, the table"),
        ({"by": ["old"] * 499}, "one name for each of 500 rows; got 499"),
        ({"by": ["old"] * 500}, "names of 2 to 50 parts of the rows; got 1 part"),
        ({"by": [str(i) for i in range(500)]}, "got 500 parts"),
        ({"by": 7}, "by must be"),
    ],
)
def test_names_of_parts_that_are_none_are_refused(given, part):
    with pytest.raises(InputError) as error:
        audited(ROWS, **given)
    assert part in str(error.value)


def test_a_column_of_parts_that_the_items_do_not_have_is_refused(tmp_path):
    table = tmp_path / "items.csv"
    table.write_text("\n".join(["id,title", *(f"{row},t{row}" for row in range(500))]))
    model = FactorModel.from_vectors(ROWS, ids=np.arange(500))
    with pytest.raises(InputError, match="the by column must be one of id, title"):
        ea.audit(model, **QUICK, items=table, by="revision")


def test_parts_of_other_models_than_one_table_are_refused():
    head = FactorModel.from_softmax(ROWS)
    with pytest.raises(InputError, match="one table of vectors; got a softmax head"):
        ea.audit(head, by=["old", "new"] * 250)
