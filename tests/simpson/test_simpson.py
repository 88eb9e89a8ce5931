"""Known reversals are found, undecided groupings are reported, and bad input is
refused.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather
from sklearn.datasets import load_iris

import embaudit as ea
from embaudit.errors import InputError
from embaudit.simpson import ReversalKind
from embaudit.simpson.report import kind_of_change

sys.path.insert(0, str(Path(__file__).parent))
from classics import berkeley, kidney_stones


@pytest.fixture(scope="module")
def admissions():
    return ea.simpson(berkeley(), "sex", "admitted", "department", counts="n")


def test_berkeley_admissions_have_the_published_reversal(admissions):
    assert admissions.n_rows == 4526
    # 557 of 1,835 women and 1,198 of 2,691 men were admitted.
    assert admissions.slope_pooled == pytest.approx(557 / 1835 - 1198 / 2691)
    assert admissions.kind is ReversalKind.PARTIAL
    assert admissions.r_pooled < -0.1
    assert 0 < admissions.r_within < 0.05
    assert admissions.p_value == 0.001
    assert admissions.n_permutations == 999
    # The part between departments opposes the part within them, and outweighs it.
    within, between = admissions.covariance_within, admissions.covariance_between
    assert between < -within < 0


def test_women_were_admitted_more_often_in_four_departments(admissions):
    groups = admissions.to_frame()
    assert list(groups.index) == list("ABCDEF")
    assert groups["opposes"].tolist() == [True, True, False, True, False, True]
    # In department A 89 of 108 women and 512 of 825 men.
    assert groups.loc["A", "slope"] == pytest.approx(89 / 108 - 512 / 825)
    # A, B, D and F have 933 + 585 + 792 + 714 of 4,526 applicants.
    assert admissions.share_reversed == pytest.approx(3024 / 4526)


def test_the_sentences_on_berkeley_name_groups_covariances_and_chance(admissions):
    text = admissions.explain()
    assert text.startswith("Partial reversal by department: over all 4,526 rows sex=wo")
    assert (
        "opposite in 4 of 6 groups large enough to count (67 % of their rows)" in text
    )
    assert (
        "A random grouping of the same sizes changes the correlation as much with "
        "probability 0.001 (999 permutations), which is significant at 0.05."
    ) in text
    assert admissions.notes == ("sex: man counts as 0, woman as 1",)


@pytest.mark.parametrize(
    ("p_value", "sentence"),
    [
        (0.05, "probability 0.05 (999 permutations), which is significant"),
        (0.050001, "probability 0.050001 (999 permutations), which is not significant"),
        (0.0512345, "probability 0.0512 (999 permutations), which is not significant"),
    ],
)
def test_a_p_value_next_to_alpha_is_not_rounded_to_it(admissions, p_value, sentence):
    assert sentence in replace(admissions, p_value=p_value).explain()


def test_kidney_stones_have_the_published_reversal():
    report = ea.simpson(kidney_stones(), "treatment", "success", "size", counts="n")
    assert report.kind is ReversalKind.REVERSAL
    # Nephrolithotomy succeeded in 289 of 350 cases, open surgery in 273 of 350.
    assert report.slope_pooled == pytest.approx(289 / 350 - 273 / 350)
    np.testing.assert_allclose(
        report.to_frame()["slope"], [55 / 80 - 192 / 263, 234 / 270 - 81 / 87]
    )
    assert report.is_significant


def test_iris_sepals_have_the_known_reversal():
    data = load_iris(as_frame=True)
    frame = data.frame.assign(species=data.target_names[data.target])
    length, width = "sepal length (cm)", "sepal width (cm)"
    report = ea.simpson(frame, length, width, "species")
    assert report.kind is ReversalKind.REVERSAL
    assert report.p_value == 0.001
    assert report.r_pooled == pytest.approx(frame[length].corr(frame[width]))
    assert report.to_frame()["opposes"].all()
    for species, rows in frame.groupby("species"):
        r = report.to_frame().loc[species, "r"]
        assert r == pytest.approx(rows[length].corr(rows[width]))


def clouds(within, between, seed=3, n=60):
    """Return five groups along a line of slope `between`, each of slope `within`."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(5), n)
    x = rng.standard_normal(5 * n)
    y = within * x + 0.3 * rng.standard_normal(5 * n)
    return pd.DataFrame(
        {
            "x": x + 3 * group,
            "y": y + 3 * between * group,
            "group": group.astype(str),
            "noise": rng.choice(["u", "v", "w"], 5 * n),
        }
    )


@pytest.mark.parametrize(
    ("within", "between", "kind"),
    [
        (-1.0, 1.0, ReversalKind.REVERSAL),
        (1.0, -1.0, ReversalKind.REVERSAL),
        (0.0, 1.0, ReversalKind.VANISHING),
        (1.0, -0.04, ReversalKind.MASKED),
    ],
)
def test_planted_kinds_are_found_and_significant(within, between, kind):
    report = ea.simpson(clouds(within, between), "x", "y", "group")
    assert report.kind is kind
    assert report.is_finding
    assert report.is_significant


def test_groups_that_agree_with_the_whole_change_nothing():
    report = ea.simpson(clouds(1.0, 1.0), "x", "y", "group")
    assert report.kind is ReversalKind.NONE
    assert not report.is_finding
    assert report.explain().startswith(
        "Grouping by group does not reverse, remove or uncover the association: over "
        "all 300 rows x and y correlate by +0."
    )


def test_a_grouping_at_random_changes_nothing_beyond_chance():
    report = ea.simpson(clouds(-1.0, 1.0), "x", "y", "noise")
    assert report.kind is ReversalKind.NONE
    assert report.p_value > 0.05


def test_several_columns_group_by_their_combinations():
    frame = clouds(-1.0, 1.0)
    report = ea.simpson(frame, "x", "y", ["group", "noise"], n_permutations=0)
    assert report.groups == ("group", "noise")
    groups = report.to_frame()
    assert groups.index.name == "group × noise"
    assert list(groups.index[:4]) == ["0, u", "0, v", "0, w", "1, u"]
    in_first = (frame["group"] == "0") & (frame["noise"] == "u")
    assert groups.loc["0, u", "n"] == in_first.sum()


def lines(*groups):
    """Return a table of groups (name, number of rows, slope, mean of x, mean of y)."""
    parts = []
    for name, n, slope, mean_x, mean_y in groups:
        x = np.linspace(-1, 1, n)
        parts.append(
            pd.DataFrame({"x": mean_x + x, "y": mean_y + slope * x, "g": name})
        )
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    ("groups", "min_size", "kind"),
    [
        # Means rise and groups fall.
        ([("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4)], 5, ReversalKind.REVERSAL),
        # A third group rises: it has 10 of 30 rows, and in the next row 22 of 42.
        (
            [("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4), ("c", 10, 0.5, 2, 2)],
            5,
            ReversalKind.PARTIAL,
        ),
        (
            [("a", 10, -3, 0, 0), ("b", 10, -3, 9, 9), ("c", 22, 0.5, 4, 4)],
            5,
            ReversalKind.NONE,
        ),
        # A rising group of 4 rows has no vote if a vote takes 5.
        (
            [("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4), ("c", 4, 0.5, 2, 2)],
            5,
            ReversalKind.REVERSAL,
        ),
        (
            [("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4), ("c", 4, 0.5, 2, 2)],
            4,
            ReversalKind.PARTIAL,
        ),
        # Slopes of +1 and -1 cancel within groups; the means rise.
        ([("a", 10, 1, 0, 0), ("b", 10, -1, 4, 4)], 5, ReversalKind.VANISHING),
        # The groups are parallel and far apart in y alone.
        ([("a", 10, 1, 0, 0), ("b", 10, 1, 0, 9)], 5, ReversalKind.MASKED),
        ([("a", 10, 1, 0, 0), ("b", 10, 1, 4, 4)], 5, ReversalKind.NONE),
        # One group alone has a vote, or a correlation.
        ([("a", 10, -1, 0, 0), ("b", 4, -1, 4, 4)], 5, ReversalKind.UNDECIDED),
        ([("a", 10, -1, 0, 0), ("b", 10, 0, 4, 4)], 5, ReversalKind.UNDECIDED),
    ],
)
def test_the_kind_depends_on_signs_shares_and_sizes_of_groups(groups, min_size, kind):
    report = ea.simpson(
        lines(*groups), "x", "y", "g", min_size=min_size, n_permutations=0
    )
    assert report.kind is kind


@pytest.mark.parametrize(
    ("r_pooled", "r_within", "share_reversed", "n_votes", "kind"),
    [
        (0.5, -0.5, 1.0, 2, ReversalKind.REVERSAL),
        (0.5, -0.5, 0.5, 2, ReversalKind.PARTIAL),
        (0.5, -0.5, 0.45, 2, ReversalKind.NONE),
        (0.5, 0.5, 0.0, 2, ReversalKind.NONE),
        # A quarter of the other correlation is next to none.
        (0.8, 0.2, 0.0, 2, ReversalKind.VANISHING),
        (0.8, 0.2001, 0.0, 2, ReversalKind.NONE),
        (0.8, 0.0, 0.0, 2, ReversalKind.VANISHING),
        (0.2, 0.8, 0.0, 2, ReversalKind.MASKED),
        (0.2001, 0.8, 0.0, 2, ReversalKind.NONE),
        # Differences by rounding decide nothing.
        (0.8, 0.2 + 1e-15, 0.0, 2, ReversalKind.VANISHING),
        (0.5, -0.5, 0.5 - 1e-15, 2, ReversalKind.PARTIAL),
        (1e-15, -0.5, 1.0, 2, ReversalKind.MASKED),
        (0.0, 0.0, 0.0, 2, ReversalKind.NONE),
        (0.5, -0.5, 1.0, 1, ReversalKind.UNDECIDED),
        (0.5, math.nan, 0.0, 0, ReversalKind.UNDECIDED),
    ],
)
def test_kinds_at_the_limits_of_signs_and_shares(
    r_pooled, r_within, share_reversed, n_votes, kind
):
    assert kind_of_change(r_pooled, r_within, share_reversed, n_votes) is kind


def test_a_p_value_equal_to_alpha_is_significant_whatever_the_rounding():
    # In float64 1 - 0.9 is smaller than 0.1, the least p-value of 9 permutations.
    frame = lines(("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4))
    for n_permutations, alpha in ((19, 0.05), (9, 1 - 0.9)):
        report = ea.simpson(
            frame, "x", "y", "g", alpha=alpha, n_permutations=n_permutations
        )
        assert report.p_value == 1 / (1 + n_permutations)
        assert report.is_significant


def test_an_undecided_report_says_what_the_groups_lack():
    frame = lines(("a", 10, -1, 0, 0), ("b", 4, -1, 4, 4))
    report = ea.simpson(frame, "x", "y", "g", n_permutations=0)
    assert report.explain() == (
        "Undecided by g: fewer than two groups have at least 5 rows and vary in both "
        "x and y."
    )


def test_skipped_rows_and_groups_without_a_vote_are_in_the_notes():
    frame = pd.concat(
        [
            lines(("a", 10, -1, 0, 0), ("b", 10, -1, 4, 4), ("tiny", 3, 1, 2, 2)),
            pd.DataFrame({"x": [2.0] * 8, "y": np.arange(8.0), "g": "flat"}),
            pd.DataFrame(
                {"x": [np.nan, 1, 1], "y": [1, np.nan, 1], "g": ["a", "a", None]}
            ),
        ]
    )
    report = ea.simpson(frame, "x", "y", "g", n_permutations=0)
    assert report.n_rows == 31
    assert report.n_missing == 3
    assert report.notes == (
        "3 of 34 rows skipped: x, y or the group is missing",
        "1 group of fewer than 5 rows, too small to count",
        "1 group in which x or y is constant, without a correlation",
    )
    kept = frame.dropna()
    assert report.r_pooled == pytest.approx(kept["x"].corr(kept["y"]))
    groups = report.to_frame()
    assert groups["votes"].to_dict() == {
        "a": True,
        "b": True,
        "flat": False,
        "tiny": False,
    }
    assert not groups.loc["tiny", "opposes"]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (["a", 1, None, "b"], ["1", "a", "b"]),
        (["1", 1, None, "b"], ["1", "1", "b"]),
        (pd.Categorical(list("abab"), categories=list("abc")), ["a", "b"]),
        (pd.array([3, 1, None, 2], dtype="Int64"), ["1", "2", "3"]),
        (pd.array([True, False, None, True], dtype="boolean"), ["False", "True"]),
    ],
)
def test_columns_of_every_type_group_rows(column, names):
    frame = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12.0) % 5})
    frame["g"] = pd.concat([pd.Series(column)] * 3, ignore_index=True)
    report = ea.simpson(frame, "x", "y", "g", n_permutations=0)
    assert sorted(report.to_frame().index) == names


def test_truth_values_and_two_categories_count_as_0_and_1():
    frame = pd.DataFrame(
        {
            "x": [True, False, True, True],
            "y": ["no", "yes", "yes", "no"],
            "g": list("aabb"),
        }
    )
    report = ea.simpson(frame, "x", "y", "g", n_permutations=0)
    assert (report.x, report.y) == ("x=True", "y=yes")
    # x is 1, 0, 1, 1 and y is 0, 1, 1, 0.
    assert report.slope_pooled == pytest.approx(1 / 3 - 1)


def test_every_source_of_a_table_gives_one_answer(tmp_path):
    frame = clouds(-1.0, 1.0, seed=1, n=12)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv.gz", index=False, sep="\t")
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    sources = [
        {name: frame[name].to_numpy() for name in frame},
        tmp_path / "t.csv",
        str(tmp_path / "t.tsv.gz"),
        tmp_path / "semicolons.csv",
        tmp_path / "t.parquet",
        tmp_path / "t.feather",
    ]
    expected = ea.simpson(frame, "x", "y", "group", n_permutations=99)
    for source in sources:
        report = ea.simpson(source, "x", "y", "group", n_permutations=99)
        assert report.effect == pytest.approx(expected.effect)
        assert report.p_value == expected.p_value


@pytest.mark.parametrize("separator", [",", "|", "\t"])
def test_texts_in_a_file_are_group_names_unchanged(tmp_path, separator):
    frame = pd.DataFrame({"x": np.arange(6.0), "y": [2.0, 1, 0, 5, 4, 3]})
    # In a file separated by bars a quote is a letter.
    first = '"NA' if separator == "|" else "NA"
    frame["group"] = [first, "01", "1"] * 2
    text = frame.to_csv(index=False, sep=separator).replace('"""NA"', '"NA')
    (tmp_path / "t.csv").write_text(text)
    report = ea.simpson(tmp_path / "t.csv", "x", "y", "group", n_permutations=0)
    assert sorted(report.to_frame().index) == sorted([first, "01", "1"])
    assert report.n_missing == 0


def test_a_column_of_digits_with_leading_zeros_is_a_quantity_if_it_is_x(tmp_path):
    text = "month,y,g\n01,3,a\n02,1,a\n03,2,b\n"
    (tmp_path / "t.csv").write_text(text)
    report = ea.simpson(tmp_path / "t.csv", "month", "y", "g", n_permutations=0)
    assert report.slope_pooled == pytest.approx(-0.5)


def test_counts_stand_for_rows():
    table = kidney_stones()
    rows = table.loc[table.index.repeat(table["n"])].drop(columns="n")
    columns = ("treatment", "success", "size")
    counted = ea.simpson(table, *columns, counts="n", n_permutations=9)
    assert counted.to_dict() == ea.simpson(rows, *columns, n_permutations=9).to_dict()


@pytest.mark.parametrize("rng", [7, None, np.random.default_rng(7)])
def test_the_seed_in_the_record_gives_the_same_p_value(rng):
    frame = clouds(0.5, 0.3, n=10)
    record = ea.simpson(frame, "x", "y", "noise", n_permutations=99, rng=rng).to_dict()
    again = ea.simpson(frame, "x", "y", "noise", n_permutations=99, rng=record["seed"])
    assert again.to_dict() == record
    # Two seeds can give the same p-value by chance, ten cannot.
    others = [
        ea.simpson(frame, "x", "y", "noise", n_permutations=99, rng=record["seed"] + i)
        for i in range(1, 11)
    ]
    assert {other.p_value for other in others} != {record["p_value"]}


def test_the_record_is_valid_json_without_numbers_that_do_not_exist():
    frame = lines(("a", 3, -1, 0, 0), ("b", 3, 0, 4, 4))
    report = ea.simpson(frame, "x", "y", "g", min_size=2, n_permutations=0)
    record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert record["kind"] == "undecided"
    assert record["p_value"] is None
    assert [group["group"] for group in record["by_group"]] == ["a", "b"]
    assert record["by_group"][0]["r"] == pytest.approx(-1)
    assert record["by_group"][1]["r"] is None


TABLE = {
    "x": [1.0, 2.0, 3.0, 4.0],
    "y": [2.0, 1.0, 4.0, 3.0],
    "g": ["a", "a", "b", "b"],
}
LISTS = pd.Series([[1]] * 4)


@pytest.mark.parametrize(
    ("table", "arguments", "sentence"),
    [
        (TABLE, {"x": "z"}, r"x must be a column of the table \(x, y, g\); got 'z'"),
        (TABLE, {"groups": "z"}, "groups must be a column of the table"),
        (
            TABLE,
            {"groups": []},
            r"groups must be a column or a list of columns; got \[\]",
        ),
        (TABLE, {"groups": [1]}, "groups must be a column or a list of columns"),
        (TABLE, {"groups": ["x"]}, "groups must be other columns than x, y and counts"),
        (TABLE, {"y": "x"}, "x and y must be two different columns"),
        (TABLE, {"counts": "x"}, "counts must be another column than x and y"),
        (TABLE, {"min_size": 1}, "min_size must be an integer from 2"),
        (TABLE, {"n_permutations": -1}, "n_permutations must be an integer from 0"),
        (TABLE, {"alpha": 0}, "alpha must be above 0 and at most 1"),
        (
            {**TABLE, "g": ["a"] * 4},
            {},
            "groups must be columns of at least two groups",
        ),
        (
            {**TABLE, "x": [1, 1, 1, 1]},
            {},
            "must be a column that varies; got a single",
        ),
        ({**TABLE, "x": [np.nan] * 4}, {}, "a column that varies; got no value"),
        ({**TABLE, "y": [1, 2, 3, np.inf]}, {}, "must be finite; got infinity"),
        ({**TABLE, "y": [1e101, 0, 1, 2]}, {}, "choose another unit"),
        ({**TABLE, "x": ["a", "b", "c", "a"]}, {}, "two categories; got 3 categories"),
        ({**TABLE, "x": np.arange(4) * 1j}, {}, "two categories; got 4 categories"),
        (
            {**TABLE, "x": [1, 2, np.nan, np.nan], "y": [np.nan, 1, 2, 3]},
            {},
            "x, y and a group; got 1 such row",
        ),
        ({"x": [1, 2], "y": [1]}, {}, "columns of the table must be of one length"),
        (
            {**TABLE, "n": [1, -1, 2, 2]},
            {"counts": "n"},
            "counts must be whole numbers",
        ),
        ({**TABLE, "n": [10**9] * 4}, {"counts": "n"}, "from 1 to 10,000,000"),
        (pd.DataFrame({0: [1, 2, 3], "y": [3, 1, 2]}), {"x": 0}, "as text; got 0"),
        (
            {"x": [], "y": [], "g": []},
            {},
            "must be a table with rows; got a header only",
        ),
        (pd.DataFrame(), {}, "must be a table with rows; got an empty"),
        (
            {**TABLE, "l": LISTS},
            {"groups": "l"},
            "the grouping 'l' must be a column of plain",
        ),
        ({**TABLE, "l": LISTS}, {"x": "l"}, "must be a column of plain values"),
        (
            pd.DataFrame(np.arange(16.0).reshape(4, 4) ** 2, columns=list("xygx")),
            {},
            "got several columns 'x'; rename these",
        ),
    ],
)
def test_simpson_refuses(table, arguments, sentence):
    arguments = {"x": "x", "y": "y", "groups": "g", **arguments}
    with pytest.raises(InputError, match=sentence):
        ea.simpson(table, **arguments)


def feather_without_rows(folder: Path) -> Path:
    kinds = {"x": pa.float64(), "y": pa.float64(), "v": pa.list_view(pa.float64())}
    table = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    feather.write_feather(table, str(folder / "t.feather"))
    return folder / "t.feather"


PARQUET_WITHOUT_ROWS = Path(__file__).with_name("list_view_without_rows.parquet")
"""Columns x and y of numbers, and v of list views; pyarrow 18 can only read it."""


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_file_without_rows_is_refused_even_with_a_column_of_list_views(
    tmp_path, suffix
):
    if suffix == ".parquet":
        path = PARQUET_WITHOUT_ROWS
    else:
        path = feather_without_rows(tmp_path)
    with pytest.raises(InputError, match="the table must be a table with rows"):
        ea.simpson(path, "x", "y", "v")


def test_the_room_of_this_name_does_not_hide_the_function():
    code = "import embaudit.simpson, embaudit as ea; print(callable(ea.simpson))"
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert printed.stdout == "True\n"
