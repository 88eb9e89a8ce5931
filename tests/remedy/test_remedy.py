"""`fix` writes files that read back as the same vectors, and states what they cost."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit import audit
from embaudit.canonical import EXPONENTS, at_exponent, identified_cosines
from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import GeneralLinear
from embaudit.io import load, save
from embaudit.model import LINKS, FactorModel, softmax_link
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

IDS = {
    "integers": np.arange(100, 130),
    "text": np.array([f"item-{i}-é" for i in range(30)]),
}

ALL_PAIRS = np.column_stack(np.triu_indices(30, 1))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


make = partial(random_model, n=50, scales=(1, np.geomspace(2, 0.2, 5)), means=(0.3, 0))


@given(
    seed=st.integers(0, 2**32 - 1),
    kappa=st.floats(1, 1e4),
    role=st.sampled_from(["left", "right"]),
)
@settings(max_examples=25)
def test_prediction_vectors_have_the_cosines_of_the_scores_in_every_equivalent_model(
    seed, kappa, role
):
    model = make(seed)
    scores = model.scores() if role == "left" else model.scores().T
    expected = unit(scores) @ unit(scores).T
    gauged = GeneralLinear(5, max_condition=kappa).sample(rng=seed).act(model)
    for equivalent, tolerance in ((model, 1e-10), (gauged, 1e-9)):
        rows = unit(fix(equivalent, "prediction", role=role).vectors(role))
        np.testing.assert_allclose(rows @ rows.T, expected, atol=tolerance)
        rows = fix(equivalent, "prediction", role=role, unit=True).vectors(role)
        np.testing.assert_allclose(rows @ rows.T, expected, atol=tolerance)


TEXT_FILES = (".txt", ".bin")
"""Formats of word2vec: ids are words, and numbers have the precision of float32."""


@pytest.mark.parametrize(
    ("suffix", "ids"),
    [
        *((".npz", ids) for ids in ("integers", "text", None)),
        *((".parquet", ids) for ids in ("integers", "text", None)),
        *((".feather", ids) for ids in ("integers", "text", None)),
        *((".csv", ids) for ids in ("integers", "text", None)),
        *((".txt", ids) for ids in ("integers", "text", None)),
        *((".bin", ids) for ids in ("integers", "text", None)),
        (".safetensors", "integers"),
        (".safetensors", None),
        (".npy", None),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_read_back_as_the_same_vectors_with_ids(tmp_path, suffix, ids, dtype):
    model = make(1, dtype=dtype, right_ids=None if ids is None else IDS[ids])
    remedy = fix(model, "prediction")
    back = load(remedy.write(tmp_path / f"v{suffix}"), kind="vectors")

    tolerance = 1e-6 if dtype == np.float32 or suffix in TEXT_FILES else 1e-15
    np.testing.assert_allclose(
        back.right, remedy.vectors(), atol=tolerance * np.abs(back.right).max()
    )
    np.testing.assert_allclose(
        back.cosines("right", ALL_PAIRS),
        identified_cosines(model, role="right", pairs=ALL_PAIRS),
        atol=10 * tolerance,
    )
    if ids is not None:
        written = IDS[ids].astype(str) if suffix in TEXT_FILES else IDS[ids]
        assert back.right_ids.tolist() == written.tolist()


@pytest.mark.parametrize(
    ("suffix", "ids"),
    [(".npy", "integers"), (".npy", "text"), (".safetensors", "text")],
)
def test_ids_that_a_format_cannot_hold_are_refused_and_nothing_is_written(
    tmp_path, suffix, ids
):
    remedy = fix(make(1, right_ids=IDS[ids]), "prediction")
    with pytest.raises(InputError, match=rf"can record ids; got a {suffix} file"):
        remedy.write(tmp_path / f"v{suffix}")
    assert not list(tmp_path.iterdir())


BIASES = {
    "left_bias": np.random.default_rng(2).standard_normal(50),
    "right_bias": np.random.default_rng(3).standard_normal(30),
}


@pytest.mark.parametrize(
    ("kind", "exponent"),
    [("balanced", 0.5), ("left-whitened", 0.0), ("right-whitened", 1.0)],
)
@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias"), ("right_bias",)])
@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_canonical_kinds_are_equivalent_models_in_a_file(
    tmp_path, kind, exponent, biases, link
):
    fields = {name: BIASES[name] for name in biases}
    model = make(2, link=link, offset=0.5, left_ids=np.arange(50), **fields)
    remedy = fix(model, kind)
    back = load(remedy.write(tmp_path / "m.npz"))

    expected = at_exponent(model, exponent)
    np.testing.assert_allclose(back.right, expected.right, atol=1e-12)
    np.testing.assert_allclose(back.predictions(), model.predictions(), atol=1e-11)
    np.testing.assert_allclose(remedy.to_model().scores(), back.scores(), atol=1e-12)
    assert back.link == model.link
    assert back.left_ids.tolist() == list(range(50))


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("balanced", "NO"),
        ("left-whitened", "BY CONVENTION"),
        ("right-whitened", "NO"),
    ],
)
def test_a_canonical_kind_turns_no_no_of_an_audit_into_a_yes(kind, answer):
    """Equal predictions leave the cosines as open as before."""
    model = make(2, offset=0.5)
    assert audit(model, quick=True).answer.word == "NO"
    remedy = fix(model, kind)
    assert audit(remedy.to_model(), quick=True).answer.word == answer
    assert "turns no NO of an audit into a YES." in remedy.explain()


@pytest.mark.parametrize("kind", EXPONENTS)
def test_one_direction_kept_fixes_all_cosines_and_no_other_answer_is_promised(kind):
    """Rows of one dimension have the cosines 1 and -1 in every equivalent model."""
    remedy = fix(make(2, offset=0.5), kind, dimensions=1)
    assert audit(remedy.to_model(), quick=True).answer.word == "YES"
    assert "turns no NO of an audit into a YES." not in remedy.explain()


@pytest.mark.parametrize("kind", EXPONENTS)
def test_a_canonical_kind_keeps_directions_that_predictions_hardly_see(kind):
    """The scores have the singular values 1, 0.5 and 1e-9, so their rank is 3.

    Both sides have orthonormal columns before the items are scaled.
    """
    users, _ = np.linalg.qr(np.random.default_rng(50).normal(size=(50, 3)))
    items, _ = np.linalg.qr(np.random.default_rng(40).normal(size=(40, 3)))
    model = FactorModel.from_arrays(users, items * [1, 0.5, 1e-9])

    fixed = fix(model, kind).to_model()
    assert fixed.rank == 3
    expected = at_exponent(model, EXPONENTS[kind])
    np.testing.assert_allclose(fixed.left, expected.left)


def test_centred_softmax_labels_have_mean_zero_and_the_same_probabilities(tmp_path):
    model = make(3, link="softmax", right_bias=np.arange(30.0))
    back = load(fix(model, "centred").write(tmp_path / "m.npz"))
    np.testing.assert_allclose(back.right.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(back.left.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(back.predictions(), model.predictions(), rtol=1e-11)


HEAD_PARTS = {
    "bias": {"right_bias": np.linspace(-1, 1, 9)},
    "labels": {"right_names": [f"label {i}" for i in range(9)]},
    "repeated labels": {"right_names": ["a"] * 9},
    "ids": {"right_ids": np.arange(9) * 7},
    "ids and labels": {
        "right_ids": np.arange(9) * 7,
        "right_names": [f"label {i}" for i in range(9)],
    },
    "nothing else": {},
}
KEPT = {
    ".npz": set(HEAD_PARTS),
    ".safetensors": set(HEAD_PARTS),
    ".parquet": {"labels", "repeated labels", "ids", "ids and labels", "nothing else"},
    ".feather": {"labels", "repeated labels", "ids", "ids and labels", "nothing else"},
    ".npy": set(),
    ".txt": set(),
    ".csv": set(),
}
"""Parts of a head that a format can hold. A .csv file cannot hold the link."""
WEIGHTS = np.random.default_rng(4).standard_normal((9, 3)) + 1


def head_with(part):
    return FactorModel.from_softmax(WEIGHTS).replace(**HEAD_PARTS[part])


@pytest.mark.parametrize(
    ("suffix", "part"),
    [(suffix, part) for suffix in KEPT for part in HEAD_PARTS if part in KEPT[suffix]],
)
def test_a_file_holds_the_whole_head(tmp_path, suffix, part):
    head = head_with(part)
    back = load(fix(head, "centred").write(tmp_path / f"h{suffix}"))
    assert back.link.name == "softmax"
    np.testing.assert_allclose(back.right, WEIGHTS - WEIGHTS.mean(axis=0), atol=1e-14)
    for field in HEAD_PARTS[part]:
        np.testing.assert_array_equal(getattr(back, field), getattr(head, field))
    assert (back.right_bias is None) == (part != "bias")


@pytest.mark.parametrize(
    ("suffix", "part"),
    [
        (suffix, part)
        for suffix in KEPT
        for part in HEAD_PARTS
        if part not in KEPT[suffix]
    ],
)
def test_a_format_that_cannot_hold_the_whole_head_is_refused_and_nothing_is_written(
    tmp_path, suffix, part
):
    sentence = rf"can record .*; got a {suffix} file; write \.npz.*\.safetensors"
    with pytest.raises(InputError, match=sentence):
        fix(head_with(part), "centred").write(tmp_path / f"h{suffix}")
    assert not list(tmp_path.iterdir())


def test_label_rows_of_length_1_are_vectors_and_no_head():
    """Without the lengths of its rows a head predicts other probabilities."""
    fixed = fix(head_with("nothing else"), "centred", unit=True).to_model()
    assert fixed.link.name == "identity"


TITLED = make(1, right_ids=IDS["integers"], right_names=IDS["text"])


def test_a_file_of_vectors_and_ids_leaves_titles_out_and_the_remedy_says_so(tmp_path):
    remedy = fix(TITLED, "prediction")
    path = remedy.write(tmp_path / "v.faiss")
    assert load(path).right_ids.tolist() == IDS["integers"].tolist()
    assert remedy.lost_fields(path).endswith(
        "A .faiss file has ids and no titles: join them by id with items=TABLE."
    )
    assert remedy.lost_fields("v.parquet") == ""


def test_titles_without_ids_are_not_left_out_of_a_file(tmp_path):
    remedy = fix(TITLED.replace(right_ids=None), "prediction")
    with pytest.raises(InputError, match=r"can record titles; got a \.faiss file"):
        remedy.write(tmp_path / "v.faiss")


def test_a_model_that_is_saved_loses_no_titles(tmp_path):
    with pytest.raises(InputError, match=r"can record titles; got a \.faiss file"):
        save(TITLED.replace(left=None), tmp_path / "v.faiss")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
@pytest.mark.parametrize(
    "link",
    [
        softmax_link(soft_cap=3.0),
        softmax_link(unit_rows=True),
        LINKS["softmax"],
        "cosine",
        "sigmoid",
    ],
)
def test_a_link_in_a_file_keeps_its_parameters(tmp_path, suffix, link):
    model = FactorModel.from_arrays(left=None, right=np.eye(3), link=link)
    path = tmp_path / f"h{suffix}"
    save(model, path)
    assert load(path).link == model.link
    assert load(path, kind="vectors").right.tolist() == np.eye(3).tolist()


# A shift of the labels adds one number to all logits of an input. tanh, each sigmoid
# and the lengths of unit rows notice this number; a plain softmax does not.
SEES_SHIFTS = pytest.mark.parametrize(
    "link", [softmax_link(soft_cap=3.0), "sigmoid", softmax_link(unit_rows=True)]
)


def inputs_and_labels(link):
    """A head with 5 inputs and 9 labels, whose mean label is not zero."""
    draw = np.random.default_rng(7)
    labels = draw.standard_normal((9, 3)) + 1
    inputs = draw.standard_normal((5, 3))
    return FactorModel.from_arrays(left=inputs, right=labels, link=link)


@SEES_SHIFTS
def test_centring_labels_changes_predictions_that_see_shifts(link):
    head = inputs_and_labels(link)
    centred = head.replace(right=head.right - head.right.mean(axis=0))
    assert np.abs(centred.predictions() - head.predictions()).max() > 0.01


@SEES_SHIFTS
def test_a_head_whose_predictions_see_shifts_is_not_centred(link):
    head = inputs_and_labels(link).replace(left=None)
    with pytest.raises(EquivalenceError, match="centring must keep the predictions"):
        fix(head, "centred")


@SEES_SHIFTS
def test_inputs_are_centred_for_every_link_if_the_bias_of_the_labels_absorbs_that(link):
    """A shift of the inputs adds one number to each label, as its bias does."""
    head = inputs_and_labels(link)
    head = head.replace(left=head.left + 1, right_bias=np.arange(9.0))
    centred = fix(head, "centred").to_model()
    np.testing.assert_allclose(centred.left.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(centred.scores(), head.scores(), atol=1e-12)


@pytest.fixture(scope="module")
def model_and_remedy_of_3_dimensions():
    """A model of 5 dimensions, and its left-whitened form cut to 3 of them."""
    model = make(6)
    return model, fix(model, "left-whitened", dimensions=3)


def test_the_energy_lost_is_the_share_of_the_squared_scores(
    model_and_remedy_of_3_dimensions,
):
    model, remedy = model_and_remedy_of_3_dimensions
    lost = model.scores() - remedy.to_model().scores()
    expected = np.sum(lost**2) / np.sum(model.scores() ** 2)
    assert remedy.reduction.energy_lost == pytest.approx(expected)


def test_no_score_loses_more_than_the_fourth_singular_value(
    model_and_remedy_of_3_dimensions,
):
    """The three largest of five singular values are kept; the fourth is lost."""
    model, remedy = model_and_remedy_of_3_dimensions
    fourth = np.linalg.svd(model.scores(), compute_uv=False)[3]
    assert remedy.reduction.largest_singular_value_lost == pytest.approx(fourth)
    lost = model.scores() - remedy.to_model().scores()
    assert np.abs(lost).max() <= fourth


def test_the_cosine_errors_are_against_all_dimensions_of_the_same_form(
    model_and_remedy_of_3_dimensions,
):
    model, remedy = model_and_remedy_of_3_dimensions
    before = at_exponent(model, 0.0).cosines("right", ALL_PAIRS)
    after = remedy.to_model().cosines("right", ALL_PAIRS)
    errors = np.abs(after - before)
    # The reported errors are those of 4,096 draws from 435 pairs, so every pair is
    # among them, but not equally often.
    assert remedy.reduction.max_cosine_error == pytest.approx(errors.max())
    assert remedy.reduction.mean_cosine_error == pytest.approx(errors.mean(), rel=0.1)


def test_the_explanation_names_the_dimensions_that_are_kept(
    model_and_remedy_of_3_dimensions,
):
    _, remedy = model_and_remedy_of_3_dimensions
    assert "Keeping 3 of 5 directions drops" in remedy.explain()


def test_keeping_all_dimensions_costs_nothing():
    assert fix(make(6), "left-whitened", dimensions=5).reduction is None


def test_verify_refuses_a_file_with_one_number_changed(tmp_path):
    remedy = fix(make(9), "prediction")
    path = remedy.write(tmp_path / "v.npy")
    other = np.load(path)
    other[-1, 0] += 1e-6
    np.save(path, other)
    with pytest.raises(InputError, match="the vectors read back are"):
        remedy.verify(path)


def test_a_table_of_vectors_holds_one_side_only(tmp_path):
    path = tmp_path / "v.parquet"
    with pytest.raises(
        InputError,
        match="those of one side; got users and items; choose one side with role",
    ):
        fix(make(0), "balanced").write(path)
    fix(make(0), "balanced", role="left").write(path)
    assert load(path).n_right == 50


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = fix(make(0)).write(tmp_path / "v.npz")
    with pytest.raises(InputError, match="does not exist yet"):
        fix(make(0)).write(path)
    fix(make(1)).write(path, force=True)
    np.testing.assert_array_equal(load(path).right, fix(make(1)).vectors())


def test_kinds_that_need_predictions_refuse_one_side_alone():
    alone = FactorModel.from_vectors([[1.0, 2.0]])
    for kind in ("prediction", "balanced"):
        sentence = f"{kind} vectors must be read from the predictions.*add the users"
        with pytest.raises(InputError, match=sentence):
            fix(alone, kind)


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv"])
@pytest.mark.parametrize("row", [0, 15, 29])
def test_verify_refuses_a_file_with_another_row(tmp_path, suffix, row):
    remedy = fix(make(9), "prediction")
    path = remedy.write(tmp_path / f"v{suffix}")
    remedy.verify(path)
    model = load(path, kind="vectors")
    rows = model.right.copy()
    rows[row] += 1
    save(model.replace(right=rows), path, force=True)
    with pytest.raises(
        InputError,
        match="must hold the vectors that were written; the vectors read back are",
    ):
        remedy.verify(path)


MODEL = random_model(n=9, p=8, k=3)
SHIFTED = MODEL.replace(left_bias=np.zeros(9))
HEAD = FactorModel.from_softmax(MODEL.right)
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("model", "kind", "options", "error", "sentence"),
    [
        (MODEL, "whitened", {}, InputError, "as must be one of prediction, balanced"),
        (
            MODEL,
            "prediction",
            {"dimensions": 4},
            InputError,
            "dimensions must be an integer from 1 to 3; got 4",
        ),
        (
            MODEL,
            "balanced",
            {"dimensions": 0},
            InputError,
            "dimensions must be an integer from 1 to 3; got 0",
        ),
        (
            MODEL,
            "balanced",
            {"unit": True},
            InputError,
            "unit must be left out for a model, .*; choose one side with role",
        ),
        (
            MODEL,
            "centred",
            {"dimensions": 2},
            InputError,
            "dimensions must be left out for centred vectors",
        ),
        (
            MODEL,
            "centred",
            {},
            EquivalenceError,
            "when users or items are shifted, .*; use as_='prediction'",
        ),
        (
            SHIFTED,
            "centred",
            {"role": "left"},
            EquivalenceError,
            "when users are shifted, since no free bias absorbs it",
        ),
        (
            MODEL.replace(link="sigmoid", left=None),
            "centred",
            {},
            EquivalenceError,
            "sigmoid link whose predictions change when items are shifted",
        ),
        (
            MODEL.replace(link="cosine"),
            "balanced",
            {},
            EquivalenceError,
            "predicts cosines must keep its lengths .*; use as_='prediction'",
        ),
        (
            HEAD,
            "folded",
            {},
            InputError,
            "a head whose final norm is known; .*, or use as_='centred'",
        ),
        (
            MODEL,
            "folded",
            {},
            InputError,
            "a head whose final norm is known; got no head",
        ),
        (
            HEAD,
            "folded-centred",
            {"final_norm": RMS, "dimensions": 2},
            InputError,
            "all dimensions of the labels; got dimensions",
        ),
        (
            HEAD,
            "folded",
            {"final_norm": RMS, "role": "left"},
            InputError,
            "all dimensions of the labels; got the inputs",
        ),
    ],
)
def test_fix_refuses(model, kind, options, error, sentence):
    with pytest.raises(error, match=sentence):
        fix(model, kind, **options)


WHOLE_HEAD = HEAD.replace(left=MODEL.left)


@pytest.mark.parametrize(
    ("model", "kind", "options", "roles"),
    [
        # Vectors of predictions are of the items, or of the side that is named.
        (MODEL, "prediction", {}, ("right",)),
        (MODEL, "prediction", {"role": "item"}, ("right",)),
        (MODEL, "prediction", {"role": "left"}, ("left",)),
        # Other kinds change both sides, if there are two.
        (MODEL, "balanced", {}, ("left", "right")),
        (MODEL, "balanced", {"role": "user"}, ("left",)),
        (WHOLE_HEAD, "centred", {}, ("left", "right")),
        (HEAD, "centred", {}, ("right",)),
        # A norm is folded into the labels alone.
        (HEAD, "folded", {"final_norm": RMS}, ("right",)),
        (WHOLE_HEAD, "folded", {"final_norm": RMS}, ("right",)),
    ],
)
def test_the_sides_that_a_remedy_has(model, kind, options, roles):
    assert fix(model, kind, **options).roles == roles


def test_a_model_of_cosines_has_prediction_vectors_only(tmp_path):
    model = make(8, link="cosine")
    rows = load(fix(model, "prediction").write(tmp_path / "v.npz")).right
    np.testing.assert_allclose(
        FactorModel.from_vectors(rows).cosines("right", ALL_PAIRS),
        identified_cosines(model, role="right", pairs=ALL_PAIRS),
        atol=1e-12,
    )
    with pytest.raises(EquivalenceError, match="use as_='prediction'"):
        fix(model, "balanced")


COMPARED_ROWS = np.random.default_rng(0).normal(size=(9, 3))
BY_COSINE = FactorModel.from_vectors(COMPARED_ROWS, compared="cosine")
BY_DOT = FactorModel.from_vectors(COMPARED_ROWS, compared="dot")


def test_rows_compared_by_cosine_can_be_written_with_length_1(tmp_path):
    written = load(fix(BY_COSINE, unit=True).write(tmp_path / "u.npz"))
    np.testing.assert_allclose(written.right, unit(COMPARED_ROWS))
    assert written.compared == "cosine"


def test_the_frame_of_a_remedy_has_ids_titles_and_vectors():
    named = BY_COSINE.replace(
        right_ids=list("abcdefghi"), right_names=list("rstuvwxyz")
    )
    frame = fix(named, unit=True).to_frame()
    assert list(frame) == ["id", "title", "vector"]
    assert frame["id"][1] == "b"
    assert frame["title"][1] == "s"
    np.testing.assert_allclose(np.stack(frame["vector"]), unit(COMPARED_ROWS))


def test_rows_compared_by_dot_products_stay_as_they_are():
    np.testing.assert_array_equal(fix(BY_DOT).vectors(), COMPARED_ROWS)
    with pytest.raises(
        InputError, match="unit must be left out if rows are compared by dot product"
    ):
        fix(BY_DOT, unit=True)


@pytest.mark.parametrize("options", [{"as_": "centred"}, {"dimensions": 2}])
def test_rows_compared_with_each_other_have_no_second_side_to_compensate(options):
    with pytest.raises(InputError, match="must be one of two sides"):
        fix(BY_COSINE, **options)
