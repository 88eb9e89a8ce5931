"""Every writer saves what `load` reads, and names the fields that it cannot save."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_files import refusal
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from models import ARRAY_FIELDS

from embaudit import FactorModel
from embaudit.io import list_formats, load, save
from embaudit.model import softmax_link
from embaudit.model.final_norm import FinalNorm

WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6
)


def assert_same(a: FactorModel, b: FactorModel) -> None:
    for field in ARRAY_FIELDS:
        x, y = getattr(a, field), getattr(b, field)
        assert (x is None) == (y is None), field
        if x is not None:
            assert x.dtype == y.dtype, field
            np.testing.assert_array_equal(x, y)
    assert (a.link, a.offset, a.roles, a.objective) == (
        b.link,
        b.offset,
        b.roles,
        b.objective,
    )


def through(model: FactorModel, suffix: str) -> FactorModel:
    with TemporaryDirectory() as folder:
        path = Path(folder, "model" + suffix)
        save(model, path)
        read = load(path)
        return read.replace(right=np.array(read.right))


@st.composite
def matrices(draw: st.DrawFn, rows: int, rank: int) -> Any:
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    elements = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
    return draw(hnp.arrays(dtype, (rows, rank), elements=elements))


def ids(rows: int, words: st.SearchStrategy[str] = WORDS) -> st.SearchStrategy[Any]:
    numbers = st.lists(
        st.integers(-(2**62), 2**62), min_size=rows, max_size=rows, unique=True
    ).map(np.array)
    texts = st.lists(words, min_size=rows, max_size=rows, unique=True).map(
        lambda s: np.array(s, dtype=np.str_)
    )
    return numbers | texts


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def bias(rows: int) -> st.SearchStrategy[Any]:
    return hnp.arrays(np.float64, rows, elements=st.floats(-1e9, 1e9))


def counts(rows: int) -> st.SearchStrategy[Any]:
    return hnp.arrays(np.float64, rows, elements=st.integers(0, 2**40).map(float))


OBJECTIVES = {
    "identity": ["product", "factors", "factors-counted", "non-negative", "none"],
    "softmax": ["softmax", "softmax-decay", "logistic", "logistic-decay"],
    "cosine": ["cosine"],
    "ranking": ["bpr"],
}
"""Some laws of training of each link."""


@st.composite
def models(draw: st.DrawFn) -> FactorModel:
    n, p, k = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    two = draw(st.booleans())
    link = draw(st.sampled_from([*OBJECTIVES]))
    objective = draw(maybe(st.sampled_from(OBJECTIVES[link])))
    # A model of non-negative training with a negative row is refused when it is read.
    rows = (
        (lambda size: matrices(size, k).map(np.abs))
        if objective == "non-negative"
        else (lambda size: matrices(size, k))
    )
    left = {
        "left": draw(rows(n)),
        "left_bias": draw(maybe(bias(n))),
        "left_ids": draw(maybe(ids(n))),
    }
    left["left_counts"] = draw(maybe(counts(n)))
    return FactorModel.from_arrays(
        **(left if two else {"left": None}),
        right=draw(rows(p)),
        link=link,
        right_bias=draw(maybe(bias(p))),
        offset=draw(st.floats(-1e9, 1e9)),
        roles=draw(st.tuples(WORDS, WORDS)),
        right_ids=draw(maybe(ids(p))),
        right_counts=draw(maybe(counts(p))),
        right_names=draw(maybe(st.lists(WORDS, min_size=p, max_size=p))),
        objective=objective,
    )


@settings(max_examples=60)
@given(models())
def test_our_own_format_keeps_everything(model: FactorModel) -> None:
    assert_same(model, through(model, ".npz"))


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@settings(max_examples=25)
@given(data=st.data())
def test_arrow_keeps_vectors_ids_and_titles(suffix: str, data: st.DataObject) -> None:
    p = data.draw(st.integers(1, 4))
    model = FactorModel.from_vectors(data.draw(matrices(p, 3)), ids=data.draw(ids(p)))
    model = model.replace(
        right_names=data.draw(maybe(st.lists(WORDS, min_size=p, max_size=p)))
    )
    assert_same(model, through(model, suffix))


CELLS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6
).map(lambda s: "i" + s)
"""Texts that no reader takes for numbers; line ends of their own are one character in a
table.
"""


@settings(max_examples=40)
@given(st.data())
def test_csv_keeps_vectors_ids_titles_and_counts(data: st.DataObject) -> None:
    p = data.draw(st.integers(1, 4))
    names, counted = (
        st.lists(CELLS, min_size=p, max_size=p),
        st.lists(st.integers(0, 9), min_size=p, max_size=p),
    )
    whole = st.lists(
        st.integers(-(2**62), 2**62), min_size=p, max_size=p, unique=True
    ).map(np.array)
    texts = st.lists(CELLS, min_size=p, max_size=p, unique=True)
    model = FactorModel.from_vectors(
        data.draw(matrices(p, 2)).astype(np.float64), ids=data.draw(texts | whole)
    )
    model = model.replace(
        right_names=data.draw(maybe(names)), right_counts=data.draw(maybe(counted))
    )
    assert_same(model, through(model, ".csv"))


@settings(max_examples=25)
@given(st.data())
def test_word2vec_binary_keeps_vectors_and_tokens(data: st.DataObject) -> None:
    p = data.draw(st.integers(1, 4))
    vectors = data.draw(matrices(p, 2)).astype(np.float32)
    plain = st.text(
        st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=6
    )
    tokens = data.draw(st.lists(plain, min_size=p, max_size=p, unique=True))
    model = FactorModel.from_vectors(
        np.where(np.abs(vectors) < 1e15, vectors, np.float32(1.0)), ids=tokens
    )
    assert_same(model, through(model, ".bin"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_bias", [True, False])
def test_safetensors_keeps_a_head(dtype: type, with_bias: bool) -> None:
    draw = np.random.default_rng(0)
    model = FactorModel.from_softmax(
        draw.normal(size=(5, 3)).astype(dtype),
        draw.normal(size=5) if with_bias else None,
    )
    assert_same(model, through(model, ".safetensors"))


ROWS = np.eye(3)
ALONE = FactorModel.from_vectors(ROWS)
MODELS = {
    "two sides": FactorModel.from_user_item(ROWS[:2], ROWS),
    "a bias": ALONE.replace(right_bias=[1.0, 2.0, 3.0]),
    "a link": ALONE.replace(link=softmax_link(soft_cap=2.0)),
    "a final norm": FactorModel.from_softmax(ROWS).replace(
        final_norm=FinalNorm("rms", [1.0, 2.0, 3.0])
    ),
    "how rows are compared": FactorModel.from_vectors(ROWS, compared="cosine"),
    "counts": ALONE.replace(right_counts=[1, 2, 3]),
    "titles": ALONE.replace(right_names=list("aab")),
    "ids": ALONE.replace(right_ids=list("abc")),
    "ids and titles": ALONE.replace(right_ids=list("abc"), right_names=list("def")),
    "vectors alone": ALONE,
}
HOLDS = {
    "two sides": ".npz",
    "a bias": ".npz",
    "a link": ".npz .safetensors .parquet .feather",
    "a final norm": ".npz",
    "how rows are compared": ".npz .safetensors .parquet .feather",
    "counts": ".npz .safetensors .parquet .feather .csv",
    "titles": ".npz .safetensors .parquet .feather .csv",
    "ids": ".npz .parquet .feather .csv .txt .bin",
    "ids and titles": ".npz .parquet .feather .csv",
    "vectors alone": ".npz .npy .safetensors .parquet .feather .csv .txt .bin .faiss",
}
"""The formats that keep each part of a model; only embaudit's own keeps all."""


def test_every_format_that_is_written_is_listed() -> None:
    listed = set(HOLDS["vectors alone"].split())
    missing = [
        entry.name
        for entry in list_formats()
        if entry.write is not None and listed.isdisjoint(entry.suffixes)
    ]
    assert not missing, f"HOLDS lacks the suffixes of {missing}"


@pytest.mark.parametrize("suffix", HOLDS["vectors alone"].split())
@pytest.mark.parametrize("part", HOLDS)
def test_a_format_keeps_a_part_of_a_model_or_refuses_it(
    tmp_path: Path, part: str, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    formats_that_hold = HOLDS[part].split()
    if suffix in formats_that_hold:
        save(MODELS[part], path)
        assert_kept(MODELS[part], load(path), suffix)
        return
    sentence = refusal(save, MODELS[part], path)
    assert formats_that_hold[0] in sentence, "the refusal names a format that holds it"
    assert not list(tmp_path.iterdir()), "nothing was written"


def assert_kept(model: FactorModel, read: FactorModel, suffix: str) -> None:
    np.testing.assert_array_equal(read.right, model.right)
    for field in ARRAY_FIELDS:
        value = getattr(model, field)
        if value is not None:
            np.testing.assert_array_equal(getattr(read, field), value)
    if suffix in HOLDS["a link"]:
        assert read.link == model.link
    if model.final_norm is not None:
        np.testing.assert_array_equal(read.final_norm.gain, model.final_norm.gain)


@pytest.mark.parametrize(
    ("suffix", "token", "is_kept"),
    [
        (".txt", "b", True),
        (".txt", "é", True),
        (".txt", "New York", False),
        (".txt", " a", False),
        (".txt", "a\nb", False),
        (".txt", "", False),
        (".bin", "b", True),
        (".bin", "New York", False),
        (".bin", "a\tb", False),
        (".bin", "a\x7f", False),
        (".bin", "", False),
        (".csv", "New York", True),
        (".csv", 'a,"b', True),
        (".csv", "a\nb", True),
        (".csv", "", False),
        (".parquet", "", True),
        (".parquet", " a\nb", True),
    ],
)
def test_an_id_is_kept_as_it_is_or_refused(
    tmp_path: Path, suffix: str, token: str, is_kept: bool
) -> None:
    model = ALONE.replace(right_ids=["x", "y", token])
    path = tmp_path / f"a{suffix}"
    if is_kept:
        save(model, path)
        assert load(path).right_ids.tolist() == ["x", "y", token]
    else:
        assert f"got {token!r}; save it as .parquet" in refusal(save, model, path)
        assert not list(tmp_path.iterdir())


def test_an_integer_behind_a_space_would_come_back_as_another_id(
    tmp_path: Path,
) -> None:
    """A table would read " 3" as the number 3."""
    model = ALONE.replace(right_ids=["1", "2", " 3"])
    sentence = refusal(save, model, tmp_path / "a.csv")
    assert "text that is read back unchanged; got ' 3'; save it as .parquet" in sentence


def test_rows_without_ids_are_numbered_where_a_format_needs_tokens(
    tmp_path: Path,
) -> None:
    save(ALONE, tmp_path / "v.vec")
    assert load(tmp_path / "v.vec").right_ids.tolist() == ["0", "1", "2"]
    save(ALONE, tmp_path / "v.parquet")
    assert load(tmp_path / "v.parquet").right_ids.tolist() == [0, 1, 2]


def test_rows_set_aside_and_names_of_both_sides_are_kept(tmp_path: Path) -> None:
    model = FactorModel.from_arrays(
        ROWS[:2],
        ROWS,
        right_aside=[True, False, True],
        left_names=["x", "y"],
        left_bias=[1.0, 2.0],
        offset=0.5,
        objective="implicit-als",
        roles=("text", "image"),
    )
    save(model, tmp_path / "m.npz")
    found = load(tmp_path / "m.npz")
    assert_same(model, found)
    assert found.right_aside.tolist() == [True, False, True]


def test_integers_that_need_64_bits_without_a_sign_become_texts(tmp_path: Path) -> None:
    for last, read_as in ((2**63, ["7", str(2**63)]), (8, [7, 8])):
        model = FactorModel.from_vectors(
            np.eye(2), ids=np.array([7, last], dtype=np.uint64)
        )
        for path in (tmp_path / f"{last}.parquet", tmp_path / f"{last}.feather"):
            save(model, path)
            assert load(path).right_ids.tolist() == read_as


def test_a_column_called_id_or_vector_is_that(tmp_path: Path) -> None:
    listed, numbered = (
        'id,title,vector\n1 2,(500),"[1,2]"\n3,Ran,"[3,4]"\n',
        "id,name,e0,e1\n7,Heat,1.,2.\n8,Ran,3,4\n",
    )
    partly, films = (
        numbered.replace("Ran", "").replace("name", "title"),
        ["Heat", "Ran"],
    )
    cases = (
        (listed, ["1 2", "3"], ["(500)", "Ran"]),
        (numbered, [7, 8], None),
        (partly, [7, 8], None),
        (numbered.replace("name", "title"), [7, 8], films),
        ("title,e0,e1\nHeat,1.,2.\nRan,3,4\n", None, films),
    )
    for text, ids, names in cases:
        (tmp_path / "v.csv").write_text(text)
        pd.read_csv(tmp_path / "v.csv").to_parquet(tmp_path / "v.parquet")
        for file in ("v.csv", "v.parquet")[: 1 + ("vector" not in text)]:
            model = load(tmp_path / file)
            read = [
                None if each is None else each.tolist()
                for each in (model.right_ids, model.right_names)
            ]
            assert (*read, model.right.tolist()) == (ids, names, [[1, 2], [3, 4]])
