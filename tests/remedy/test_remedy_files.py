"""Files of remedies: which parts each format holds, and which remedies are refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from decaying import ALL_PAIRS_OF_ITEMS, N_USERS, decaying_model

from embaudit.canonical import identified_cosines
from embaudit.errors import InputError
from embaudit.io import load, save
from embaudit.model import LINKS, FactorModel, softmax_link
from embaudit.remedy import fix

ITEM_IDS = {
    "no ids": None,
    "integers": np.arange(100, 130),
    "text": np.array([f"item-{i}-é" for i in range(30)]),
}

# Vectors and their ids

WORD2VEC_FORMATS = (".txt", ".bin")
"""Formats of word2vec: ids are words, and numbers have the precision of float32."""

READABLE_FILES = [
    *product([".npz", ".parquet", ".feather", ".csv", ".txt", ".bin"], ITEM_IDS),
    (".safetensors", "integers"),
    (".safetensors", "no ids"),
    (".npy", "no ids"),
]
DTYPES = [np.float32, np.float64]


def relative_rounding(suffix, dtype):
    """Return the relative rounding that a file of this format and type may show."""
    if dtype == np.float32 or suffix in WORD2VEC_FORMATS:
        return 1e-6
    return 1e-15


@pytest.mark.parametrize(("suffix", "ids"), READABLE_FILES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_file_reads_back_as_the_same_vectors(tmp_path, suffix, ids, dtype):
    model = decaying_model(1, dtype=dtype, right_ids=ITEM_IDS[ids])
    remedy = fix(model, "prediction")
    read = load(remedy.write(tmp_path / f"v{suffix}"), kind="vectors")
    tolerance = relative_rounding(suffix, dtype) * np.abs(read.right).max()
    np.testing.assert_allclose(read.right, remedy.vectors(), rtol=0, atol=tolerance)


@pytest.mark.parametrize(("suffix", "ids"), READABLE_FILES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_in_a_file_have_the_prediction_cosines(tmp_path, suffix, ids, dtype):
    """A cosine adds the rounding of five products and of two lengths."""
    model = decaying_model(1, dtype=dtype, right_ids=ITEM_IDS[ids])
    path = fix(model, "prediction").write(tmp_path / f"v{suffix}")
    cosines = load(path, kind="vectors").cosines("right", ALL_PAIRS_OF_ITEMS)
    expected = identified_cosines(model, role="right", pairs=ALL_PAIRS_OF_ITEMS)
    tolerance = 10 * relative_rounding(suffix, dtype)
    np.testing.assert_allclose(cosines, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("suffix", "ids"), [file for file in READABLE_FILES if file[1] != "no ids"]
)
def test_file_reads_back_with_the_same_ids(tmp_path, suffix, ids):
    written_ids = ITEM_IDS[ids]
    remedy = fix(decaying_model(1, right_ids=written_ids), "prediction")
    read = load(remedy.write(tmp_path / f"v{suffix}"), kind="vectors")
    if suffix in WORD2VEC_FORMATS:
        written_ids = written_ids.astype(str)
    assert read.right_ids.tolist() == written_ids.tolist()


FILES_WITHOUT_IDS = [(".npy", "integers"), (".npy", "text"), (".safetensors", "text")]


@pytest.mark.parametrize(("suffix", "ids"), FILES_WITHOUT_IDS)
def test_ids_that_a_format_cannot_hold_are_refused(tmp_path, suffix, ids):
    remedy = fix(decaying_model(1, right_ids=ITEM_IDS[ids]), "prediction")
    with pytest.raises(InputError, match=rf"can record ids; got a \{suffix} file"):
        remedy.write(tmp_path / f"v{suffix}")


@pytest.mark.parametrize(("suffix", "ids"), FILES_WITHOUT_IDS)
def test_nothing_is_written_if_ids_are_refused(tmp_path, suffix, ids):
    remedy = fix(decaying_model(1, right_ids=ITEM_IDS[ids]), "prediction")
    with pytest.raises(InputError):
        remedy.write(tmp_path / f"v{suffix}")
    assert not list(tmp_path.iterdir())


# Heads

LABEL_ROWS = np.random.default_rng(4).standard_normal((9, 3)) + 1
LABEL_NAMES = [f"label {i}" for i in range(9)]
LABEL_IDS = np.arange(9) * 7
HEAD_PARTS = {
    "bias": {"right_bias": np.linspace(-1, 1, 9)},
    "labels": {"right_names": LABEL_NAMES},
    "repeated labels": {"right_names": ["a"] * 9},
    "ids": {"right_ids": LABEL_IDS},
    "ids and labels": {"right_ids": LABEL_IDS, "right_names": LABEL_NAMES},
    "nothing else": {},
}
"""Fields of a head next to its rows."""
PARTS_WITHOUT_BIAS = [part for part in HEAD_PARTS if part != "bias"]
FILES_OF_WHOLE_HEADS = [
    *product([".npz", ".safetensors"], HEAD_PARTS),
    *product([".parquet", ".feather"], PARTS_WITHOUT_BIAS),
]
REFUSED_HEADS = [
    (".parquet", "bias", "the label bias"),
    (".feather", "bias", "the label bias"),
    (".npy", "bias", "the label bias"),
    (".npy", "labels", "titles"),
    (".npy", "repeated labels", "titles"),
    (".npy", "ids", "ids"),
    (".npy", "ids and labels", "ids"),
    (".npy", "nothing else", "the softmax link"),
    (".txt", "bias", "the label bias"),
    (".txt", "labels", "the softmax link"),
    (".txt", "repeated labels", "titles"),
    (".txt", "ids", "the softmax link"),
    (".txt", "ids and labels", "the softmax link"),
    (".txt", "nothing else", "the softmax link"),
    (".csv", "bias", "the label bias"),
    (".csv", "labels", "the softmax link"),
    (".csv", "repeated labels", "the softmax link"),
    (".csv", "ids", "the softmax link"),
    (".csv", "ids and labels", "the softmax link"),
    (".csv", "nothing else", "the softmax link"),
]
"""A format, the fields of a head, and the field that the format cannot hold."""


def head_with(part):
    return FactorModel.from_softmax(LABEL_ROWS).replace(**HEAD_PARTS[part])


def read_centred_head(tmp_path, suffix, part):
    """Write the centred form of a head, and read the file."""
    return load(fix(head_with(part), "centred").write(tmp_path / f"h{suffix}"))


@pytest.mark.parametrize(("suffix", "part"), FILES_OF_WHOLE_HEADS)
def test_file_of_a_head_holds_the_link(tmp_path, suffix, part):
    assert read_centred_head(tmp_path, suffix, part).link.name == "softmax"


@pytest.mark.parametrize(("suffix", "part"), FILES_OF_WHOLE_HEADS)
def test_file_of_a_head_holds_the_centred_rows(tmp_path, suffix, part):
    rows = read_centred_head(tmp_path, suffix, part).right
    centred = LABEL_ROWS - LABEL_ROWS.mean(axis=0)
    np.testing.assert_allclose(rows, centred, atol=1e-14)


@pytest.mark.parametrize(("suffix", "part"), FILES_OF_WHOLE_HEADS)
def test_file_of_a_head_holds_its_ids_labels_and_bias(tmp_path, suffix, part):
    head = read_centred_head(tmp_path, suffix, part)
    for field, values in HEAD_PARTS[part].items():
        np.testing.assert_array_equal(getattr(head, field), values)


@pytest.mark.parametrize(
    ("suffix", "part"), [file for file in FILES_OF_WHOLE_HEADS if file[1] != "bias"]
)
def test_file_of_a_head_without_a_bias_has_no_bias(tmp_path, suffix, part):
    assert read_centred_head(tmp_path, suffix, part).right_bias is None


@pytest.mark.parametrize(("suffix", "part", "missing"), REFUSED_HEADS)
def test_format_that_cannot_hold_the_whole_head_is_refused(
    tmp_path, suffix, part, missing
):
    sentence = (
        rf"can record {missing}; got a \{suffix} file; write \.npz.*\.safetensors"
    )
    with pytest.raises(InputError, match=sentence):
        fix(head_with(part), "centred").write(tmp_path / f"h{suffix}")


@pytest.mark.parametrize(("suffix", "part", "missing"), REFUSED_HEADS)
def test_nothing_is_written_if_a_head_is_refused(tmp_path, suffix, part, missing):
    with pytest.raises(InputError, match=missing):
        fix(head_with(part), "centred").write(tmp_path / f"h{suffix}")
    assert not list(tmp_path.iterdir())


def test_label_rows_of_length_1_are_vectors_and_no_head():
    """Without the lengths of its rows a head predicts other probabilities."""
    fixed = fix(head_with("nothing else"), "centred", unit=True).to_model()
    assert fixed.link.name == "identity"


# Titles

TITLED_MODEL = decaying_model(
    1, right_ids=ITEM_IDS["integers"], right_names=ITEM_IDS["text"]
)


def test_faiss_file_holds_the_ids_of_titled_vectors(tmp_path):
    path = fix(TITLED_MODEL, "prediction").write(tmp_path / "v.faiss")
    assert load(path).right_ids.tolist() == ITEM_IDS["integers"].tolist()


def test_remedy_says_that_a_faiss_file_has_no_titles():
    lost = fix(TITLED_MODEL, "prediction").lost_fields("v.faiss")
    assert lost.endswith(
        "A .faiss file has ids and no titles: join them by id with items=TABLE."
    )


def test_remedy_loses_no_field_in_a_parquet_file():
    assert fix(TITLED_MODEL, "prediction").lost_fields("v.parquet") == ""


def test_titles_without_ids_are_not_left_out_of_a_file(tmp_path):
    remedy = fix(TITLED_MODEL.replace(right_ids=None), "prediction")
    with pytest.raises(InputError, match=r"can record titles; got a \.faiss file"):
        remedy.write(tmp_path / "v.faiss")


# Models that are saved without a remedy


def test_titles_are_not_left_out_of_a_saved_model(tmp_path):
    with pytest.raises(InputError, match=r"can record titles; got a \.faiss file"):
        save(TITLED_MODEL.replace(left=None), tmp_path / "v.faiss")


@pytest.fixture(params=[".npz", ".safetensors", ".parquet"])
def model_path(tmp_path, request):
    """Return a path of each format that holds a link with its parameters."""
    return tmp_path / f"h{request.param}"


EACH_LINK = pytest.mark.parametrize(
    "link",
    [
        softmax_link(soft_cap=3.0),
        softmax_link(unit_rows=True),
        LINKS["softmax"],
        "cosine",
        "sigmoid",
    ],
    ids=["soft cap", "unit rows", "softmax", "cosine", "sigmoid"],
)


@EACH_LINK
def test_link_in_a_file_keeps_its_parameters(model_path, link):
    model = FactorModel.from_arrays(left=None, right=np.eye(3), link=link)
    save(model, model_path)
    assert load(model_path).link == model.link


@EACH_LINK
def test_model_with_a_link_can_be_read_as_vectors(model_path, link):
    model = FactorModel.from_arrays(left=None, right=np.eye(3), link=link)
    save(model, model_path)
    vectors = load(model_path, kind="vectors")
    np.testing.assert_array_equal(vectors.right, model.right)


# Sides and files that exist


def test_table_of_vectors_refuses_two_sides(tmp_path):
    sentence = "the vectors of one side; got users and items; choose one side with role"
    with pytest.raises(InputError, match=sentence):
        fix(decaying_model(), "balanced").write(tmp_path / "v.parquet")


def test_table_of_vectors_holds_one_chosen_side(tmp_path):
    remedy = fix(decaying_model(), "balanced", role="left")
    assert load(remedy.write(tmp_path / "v.parquet")).n_right == N_USERS


def test_existing_file_is_not_overwritten(tmp_path):
    path = fix(decaying_model(0)).write(tmp_path / "v.npz")
    with pytest.raises(InputError, match="does not exist yet"):
        fix(decaying_model(1)).write(path)
    np.testing.assert_array_equal(load(path).right, fix(decaying_model(0)).vectors())


def test_existing_file_is_overwritten_if_forced(tmp_path):
    path = fix(decaying_model(0)).write(tmp_path / "v.npz")
    fix(decaying_model(1)).write(path, force=True)
    np.testing.assert_array_equal(load(path).right, fix(decaying_model(1)).vectors())


# Verification of a file


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv"])
def test_verify_accepts_the_file_that_was_written(tmp_path, suffix):
    remedy = fix(decaying_model(9), "prediction")
    remedy.verify(remedy.write(tmp_path / f"v{suffix}"))


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv"])
@pytest.mark.parametrize("row", [0, 15, 29])
def test_verify_refuses_a_file_with_another_row(tmp_path, suffix, row):
    remedy = fix(decaying_model(9), "prediction")
    path = remedy.write(tmp_path / f"v{suffix}")
    model = load(path, kind="vectors")
    rows = model.right.copy()
    rows[row] += 1
    save(model.replace(right=rows), path, force=True)
    sentence = "must hold the vectors that were written; the vectors that were read"
    with pytest.raises(InputError, match=sentence):
        remedy.verify(path)


def test_verify_refuses_a_file_with_one_number_changed_by_a_millionth(tmp_path):
    remedy = fix(decaying_model(9), "prediction")
    path = remedy.write(tmp_path / "v.npy")
    rows = np.load(path)
    rows[-1, 0] += 1e-6
    np.save(path, rows)
    with pytest.raises(InputError, match="the vectors that were read"):
        remedy.verify(path)
