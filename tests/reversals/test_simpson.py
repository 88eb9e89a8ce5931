"""Reversals that are known are found, what cannot be judged is reported, what is wrong is refused clearly."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.stats
from pyarrow import feather
from sklearn.datasets import load_iris

from embaudit.errors import InputError
from embaudit.reversals import ReversalKind, SimpsonReport, simpson

sys.path.insert(0, str(Path(__file__).parent))
from classics import berkeley, kidney_stones

import embaudit as ea
from embaudit.reversals import Association, Grouping


@pytest.fixture(scope="module")
def admissions() -> SimpsonReport:
    return simpson(berkeley(), x="sex", y="admitted", counts="n")


def test_berkeley_admissions_have_the_published_reversal(
    admissions: SimpsonReport,
) -> None:
    (found,) = admissions.findings
    assert found.columns == ("department",)
    assert found.kind is ReversalKind.PARTIAL
    assert admissions.pooled.n == 4526
    assert admissions.pooled.slope == pytest.approx(557 / 1835 - 1198 / 2691)
    assert admissions.pooled.r < -0.1
    assert 0 < found.within.r < 0.05
    assert found.is_significant
    assert found.within.p > 0.05
    opposing = [
        level
        for level, opposes in zip(found.levels, found.opposes, strict=True)
        if opposes
    ]
    assert opposing == ["A", "B", "D", "F"]
    covariance = found.covariance
    assert covariance["within"] + covariance["between"] == pytest.approx(
        covariance["pooled"]
    )
    assert covariance["between"] < -covariance["within"] < 0
    assert (
        "opposite in 4 of 6 groups large enough to count (67 % of their rows)"
        in admissions.explain()
    )
    assert "sex: man counts as 0, woman as 1" in admissions.notes


def test_kidney_stones_have_the_published_reversal() -> None:
    report = simpson(kidney_stones(), x="treatment", y="success", counts="n")
    (found,) = report.findings
    assert found.kind is ReversalKind.REVERSAL
    assert report.pooled.slope == pytest.approx(289 / 350 - 273 / 350)
    np.testing.assert_allclose(
        found.moments.slope, [55 / 80 - 192 / 263, 234 / 270 - 81 / 87]
    )
    assert found.is_significant
    # The reversal is one of signs: neither difference by itself is beyond chance, as the paper's numbers have it.
    assert not found.is_confirmed
    assert report.pooled.p > 0.05


def test_iris_sepals_have_the_known_reversal() -> None:
    data = load_iris(as_frame=True)
    frame = data.frame.assign(species=data.target_names[data.target]).drop(
        columns="target"
    )
    report = simpson(frame, x="sepal length (cm)", y="sepal width (cm)")
    assert report.findings[0].columns == ("species",)
    assert report.findings[0].kind is ReversalKind.REVERSAL
    assert report.findings[0].opposes.all()
    assert report.findings[0].is_significant
    for g, level in enumerate(report["species"].levels):
        part = frame[frame["species"] == level]
        x, y = part["sepal length (cm)"], part["sepal width (cm)"]
        assert report["species"].moments.r[g] == pytest.approx(
            scipy.stats.pearsonr(x, y).statistic
        )
        assert report["species"].spearman[g] == pytest.approx(
            scipy.stats.spearmanr(x, y).statistic
        )
    assert report.pooled.r == pytest.approx(
        frame["sepal length (cm)"].corr(frame["sepal width (cm)"])
    )
    assert "petal width (cm): numbers cut into 4 bins of like size" in report.notes
    assert "petal length (cm) × species" in report.to_frame().index


def clouds(
    rng: np.random.Generator, within: float, between: float, n: int = 60
) -> pd.DataFrame:
    """Five groups along a line of slope `between`, each of slope `within`."""
    group = np.repeat(np.arange(5), n)
    x = rng.standard_normal(5 * n)
    y = within * x + 0.3 * rng.standard_normal(5 * n)
    noise = rng.choice(["u", "v", "w"], 5 * n)
    return pd.DataFrame(
        {
            "x": x + 3 * group,
            "y": y + 3 * between * group,
            "group": group.astype(str),
            "noise": noise,
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
def test_planted_kinds_are_found_and_confirmed(
    within: float, between: float, kind: ReversalKind
) -> None:
    report = simpson(clouds(np.random.default_rng(3), within, between), x="x", y="y")
    assert report.findings[0].columns == ("group",)
    assert report.findings[0].kind is kind
    assert report.findings[0].is_significant
    assert report.findings[0].is_confirmed


def test_where_groups_agree_nothing_is_found() -> None:
    table = clouds(np.random.default_rng(3), 1.0, 1.0)
    report = simpson(table, x="x", y="y")
    assert report.findings == ()
    assert (
        report.explain()
        == "No grouping changes the association of x and y (3 compared)."
    )
    alone = simpson(table[["x", "y", "noise"]], x="x", y="y").explain()
    assert alone == "No grouping changes the association of x and y (1 compared)."
    assert report["noise"].p_grouping > 0.05


def test_noise_groupings_are_seldom_called_significant() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(40):
        frame = pd.DataFrame(
            {"x": rng.standard_normal(60), "y": rng.standard_normal(60)}
        )
        for name in "abcd":
            frame[name] = rng.choice(["p", "q", "r"], 60)
        report = simpson(frame, x="x", y="y", depth=1, n_permutations=199, rng=rng)
        hits += any(grouping.is_significant for grouping in report.groupings)
    # At a true rate of 5 %, more than 7 of 40 has a probability below 0.2 %.
    assert hits <= 7


def test_missing_values_small_and_constant_groups_are_reported() -> None:
    rng = np.random.default_rng(5)
    frame = clouds(rng, -1.0, 1.0, n=20)
    frame.loc[0, "x"] = np.nan
    frame.loc[1:3, "y"] = np.nan
    frame.loc[20:24, "group"] = None
    tiny = pd.DataFrame(
        {"x": [0.0, 1.0], "y": [1.0, 5.0], "group": "tiny", "noise": "u"}
    )
    flat = pd.DataFrame(
        {"x": [2.0] * 8, "y": np.arange(8.0), "group": "flat", "noise": "v"}
    )
    frame = pd.concat([frame, tiny, flat], ignore_index=True).assign(
        id=lambda f: [f"row {i}" for i in f.index], one=1
    )
    report = simpson(frame, x="x", y="y", n_permutations=99, depth=1)
    assert report.n_missing == 4
    assert report.notes[0] == "4 of 110 rows left out: x or y is missing"
    for note in (
        "id: not tried as a grouping, it has 106 categories",
        "one: not tried as a grouping, it has a single value",
        "group: 5 rows without a group left out",
        "group: 1 group of fewer than 5 rows, too small to count",
        "group: 1 group in which x or y is constant, without a correlation",
    ):
        assert note in report.notes
    group = report["group"]
    assert group.kind is ReversalKind.REVERSAL
    assert group.pooled.n == 101
    kept = frame.dropna(subset=["x", "y", "group"])
    assert group.pooled.r == pytest.approx(kept["x"].corr(kept["y"]))
    table = group.to_frame()
    assert table.loc["tiny", "opposes"] == False  # noqa: E712
    assert not table.loc["flat", "votes"]
    assert table["covariance_within"].sum() + table[
        "covariance_between"
    ].sum() == pytest.approx(np.cov(kept["x"], kept["y"], bias=True)[0, 1])


def test_columns_of_every_type_are_read() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)}).assign(
        mixed=rng.choice(np.array([1, "a", None, 2.5], dtype=object), 60),
        category=pd.Categorical(rng.choice(list("ab"), 60), categories=list("abc")),
        date=pd.date_range("2020", periods=60),
        integer=pd.array(rng.integers(0, 3, 60), dtype="Int64"),
        boolean=pd.array(rng.integers(0, 2, 60) > 0, dtype="boolean"),
        lists=[[1]] * 60,
        complex=rng.normal(size=60) + 1j,
    )
    report = simpson(frame, x="x", y="y", depth=1, n_permutations=0)
    assert {g.name: len(g) for g in report.groupings} == {
        "mixed": 3,
        "category": 2,
        "integer": 3,
        "boolean": 2,
    }
    assert [note for note in report.notes if "not tried" in note] == [
        "date: not tried as a grouping, it has dates",
        "lists: not tried as a grouping, it has no plain values",
        "complex: not tried as a grouping, it has complex numbers",
    ]
    binary = simpson(
        frame, x="boolean", y="integer", groups="category", n_permutations=0
    )
    assert binary.pooled.r == pytest.approx(
        np.corrcoef(frame["boolean"].astype(float), frame["integer"])[0, 1]
    )


def test_every_source_of_a_table_gives_one_answer(tmp_path: Path) -> None:
    frame = clouds(np.random.default_rng(1), -1.0, 1.0, n=12)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    given: list[object] = [frame, {k: frame[k].to_numpy() for k in frame}]
    given += [tmp_path / "t.csv", str(tmp_path / "t.tsv.gz"), tmp_path / "t.parquet"]
    frame.to_feather(tmp_path / "t.feather")
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    given += [tmp_path / "t.feather", tmp_path / "semicolons.csv"]
    answers = [
        simpson(table, x="x", y="y", groups="group", n_permutations=99).to_dict()
        for table in given
    ]
    for answer in answers[1:]:
        assert answer["groupings"][0]["effect"] == pytest.approx(
            answers[0]["groupings"][0]["effect"]
        )
        assert (
            answer["groupings"][0]["p_grouping"]
            == answers[0]["groupings"][0]["p_grouping"]
        )


@pytest.mark.parametrize("separator", [",", "|", "\t"])
def test_texts_in_a_file_are_group_names_unchanged(
    tmp_path: Path, separator: str
) -> None:
    frame, rows = (
        clouds(np.random.default_rng(1), -1.0, 1.0, n=12)[["x", "y"]],
        np.arange(60),
    )
    # Beside a bar a quote is a letter.
    frame["group"] = ['"NA' if separator == "|" else "NA", "01", "1"] * 20
    frame["month"], frame["age"] = [f"{row % 12 + 1:02}" for row in rows], rows * 1.5
    (tmp_path / "t.csv").write_text(
        frame.to_csv(index=False, sep=separator).replace('"""NA"', '"NA')
    )
    report = simpson(
        tmp_path / "t.csv", x="x", y="y", min_size=2, depth=1, n_permutations=0
    )
    assert {g.name: len(g) for g in report.groupings} == {
        "group": 3,
        "month": 12,
        "age": 4,
    }
    assert report.n_missing == 0
    of_months = simpson(
        tmp_path / "t.csv",
        x="month",
        y="y",
        groups="group",
        min_size=2,
        n_permutations=0,
    )
    assert of_months.pooled.r == pytest.approx(np.corrcoef(rows % 12, frame["y"])[0, 1])


def test_counts_stand_for_rows() -> None:
    table = kidney_stones()
    rows = table.loc[table.index.repeat(table["n"])].drop(columns="n")
    a = simpson(
        table, x="treatment", y="success", counts="n", n_permutations=0
    ).to_dict()
    b = simpson(rows, x="treatment", y="success", n_permutations=0).to_dict()
    assert a == b


TABLE = {
    "x": [1.0, 2.0, 3.0, 4.0],
    "y": [2.0, 1.0, 4.0, 3.0],
    "g": ["a", "a", "b", "b"],
}


@pytest.mark.parametrize(
    ("table", "arguments", "sentence"),
    [
        (TABLE, {"x": "z"}, r"x must be a column of the table \(x, y, g\); got 'z'"),
        (TABLE, {"groups": "z"}, "groups must be a column of the table"),
        (
            {**TABLE, "z": np.ones(4) * 1j},
            {"groups": "z"},
            "must be categories or real numbers; got complex numbers",
        ),
        (TABLE, {"y": "x"}, "x and y must be two different columns"),
        (TABLE, {"groups": ["x"]}, "groups must be other columns than x and y"),
        ({**TABLE, "x": [1, 1, 1, 1]}, {}, "must be a column that varies; got one"),
        ({**TABLE, "x": [np.nan] * 4}, {}, "a column that varies; got no value"),
        ({**TABLE, "y": [1, 2, 3, np.inf]}, {}, "must be finite; got infinity"),
        ({**TABLE, "y": [1e61, 0, 1, 2]}, {}, "take another unit"),
        ({**TABLE, "x": ["a", "b", "c", "a"]}, {}, "two categories; got 3 categories"),
        (
            {**TABLE, "x": [1, 2, np.nan, np.nan], "y": [np.nan, 1, 2, 3]},
            {},
            "over at least 3 rows that have both; got 1",
        ),
        ({"x": [1, 2, 3], "y": [2, 1, 3]}, {}, "a column to group its rows by"),
        ({"x": [1, 2], "y": [1]}, {}, "columns of the table must be of one length"),
        (
            {**TABLE, "n": [1, -1, 2, 2]},
            {"counts": "n"},
            "counts must be whole numbers",
        ),
        ({**TABLE, "n": [10**9] * 4}, {"counts": "n"}, "from 1 to 50,000,000"),
        (TABLE, {"counts": "x"}, "counts must be another column than x and y"),
        (pd.DataFrame({0: [1, 2, 3], "y": [3, 1, 2]}), {"x": 0}, "as text; got 0"),
        ({"x": [], "y": [], "g": []}, {}, "must be one with rows; got a header only"),
        (pd.DataFrame(), {}, "must be one with rows; got nothing"),
        (TABLE, {"groups": [()]}, "groups must be names of columns, or tuples"),
        (
            {**TABLE, "l": pd.Series([[1]] * 4)},
            {"groups": "l"},
            "the grouping 'l' must be of plain values",
        ),
        ({**TABLE, "l": pd.Series([[1]] * 4)}, {"x": "l"}, "must be of plain values"),
        (TABLE, {"min_size": 1}, "min_size must be an integer from 2"),
        (
            pd.DataFrame(np.arange(12.0).reshape(4, 3) ** 2, columns=["x", "y", "x"]),
            {},
            "got several columns 'x'; rename them",
        ),
    ],
)
def test_simpson_refuses(table, arguments, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        simpson(table, **{"x": "x", "y": "y", **arguments})


def test_a_report_lists_at_least_one_finding() -> None:
    report = simpson(TABLE, x="x", y="y", min_size=2)
    with pytest.raises(InputError, match="limit must be an integer >= 1; got 0"):
        report.explain(limit=0)


def grouping(pooled, within, r=(-0.5, -0.5), n=(10.0, 10.0), p=(0.01, 0.01), **options):
    moments = SimpleNamespace(r=np.array(r), n=np.array(n))
    nothing = np.full(len(r), math.nan)
    pooled, within = (
        Association(20, one, 1.0, p=level)
        for one, level in zip((pooled, within), p, strict=True)
    )
    levels = tuple("abcd"[: len(r)])
    return Grouping(
        ("g",), levels, moments, pooled, within, nothing, nothing, 0.5, **options
    )


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"pooled": 0.5, "within": -0.5}, ReversalKind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5)}, ReversalKind.PARTIAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5), "n": (9.0, 11.0)}, ReversalKind.NONE),
        # Signs that agree, or of which one is none, are not opposed.
        ({"pooled": 0.5, "within": 0.5}, ReversalKind.NONE),
        ({"pooled": 0.8, "within": 0.2}, ReversalKind.VANISHING),
        ({"pooled": 0.8, "within": 0.2001}, ReversalKind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (0.05, 1.0)}, ReversalKind.VANISHING),
        ({"pooled": 0.8, "within": 0.2, "p": (0.0501, 0.0)}, ReversalKind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (math.nan, 1.0)}, ReversalKind.VANISHING),
        ({"pooled": 0.8, "within": 0.0}, ReversalKind.VANISHING),
        ({"pooled": 0.2, "within": 0.8}, ReversalKind.MASKED),
        ({"pooled": 0.2001, "within": 0.8}, ReversalKind.NONE),
        ({"pooled": 0.2, "within": 0.8, "p": (1.0, 0.05)}, ReversalKind.MASKED),
        ({"pooled": 0.2, "within": 0.8, "p": (0.0, 0.0501)}, ReversalKind.NONE),
        ({"pooled": 0.5, "within": math.nan}, ReversalKind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (4.0, 10.0), "min_size": 5}, ReversalKind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (5.0, 10.0), "min_size": 5}, ReversalKind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, math.nan)}, ReversalKind.UNDECIDED),
    ],
)  # fmt: skip
def test_the_kind_of_a_finding_depends_on_signs_shares_and_group_sizes(given, kind):
    found = grouping(**given)
    assert found.kind is kind
    assert found.is_finding is (kind not in (ReversalKind.NONE, ReversalKind.UNDECIDED))


def found(frame):
    return ea.simpson(
        frame, x="x", y="y", groups=["g"], min_size=3, n_permutations=0
    ).groupings[0]


PARQUET_WITHOUT_ROWS = Path(__file__).with_name("list_view_without_rows.parquet")
"""Columns x and y of numbers and v of list views; pyarrow 18 reads it but cannot write it."""


def feather_without_rows(folder: Path) -> Path:
    kinds = {"x": pa.float64(), "y": pa.float64(), "v": pa.list_view(pa.float64())}
    table = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    feather.write_feather(table, str(folder / "t.feather"))
    return folder / "t.feather"


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_file_without_rows_is_refused_even_with_a_column_of_list_views(
    tmp_path: Path, suffix: str
) -> None:
    if suffix == ".parquet":
        path = PARQUET_WITHOUT_ROWS
    else:
        path = feather_without_rows(tmp_path)
    with pytest.raises(InputError, match="the table must be one with rows"):
        simpson(path, x="x", y="y")
