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
from embaudit.model import FactorModel, Softmax
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

IDS = {
    "integers": np.arange(100, 130),
    "text": np.array([f"item-{i}-é" for i in range(30)]),
}

ALL_PAIRS = np.column_stack(np.triu_indices(30, 1))


make = partial(random_model, n=50, scales=(1, np.geomspace(2, 0.2, 5)), means=(0.3, 0))


@given(
    seed=st.integers(0, 2**32 - 1),
    kappa=st.floats(1, 1e4),
    role=st.sampled_from(["left", "right"]),
)
@settings(max_examples=25)
def test_prediction_vectors_are_the_same_for_every_equivalent_model(seed, kappa, role):
    model = make(seed)
    table = model.scores() if role == "left" else model.scores().T
    expected = (
        table
        @ table.T
        / np.linalg.norm(table, axis=1)
        / np.linalg.norm(table, axis=1)[:, None]
    )
    gauged = GeneralLinear(5, max_condition=kappa).sample(rng=seed).act(model)
    for case in (model, gauged):
        rows = fix(case, "prediction", role=role).vectors(role)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(
            rows @ rows.T, expected, atol=1e-10 if case is model else 1e-9
        )
        unit = fix(case, "prediction", role=role, unit=True).vectors(role)
        np.testing.assert_allclose(
            unit @ unit.T, expected, atol=1e-10 if case is model else 1e-9
        )


@pytest.mark.parametrize(
    "suffix",
    [".npz", ".parquet", ".safetensors", ".txt", ".npy", ".feather", ".csv", ".bin"],
)
@pytest.mark.parametrize("ids", ["integers", "text", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_read_back_as_the_same_vectors_with_ids(tmp_path, suffix, ids, dtype):
    model = make(1, dtype=dtype, right_ids=None if ids is None else IDS[ids])
    remedy = fix(model, "prediction")
    if ids and (suffix == ".npy" or (suffix, ids) == (".safetensors", "text")):
        with pytest.raises(InputError, match=rf"can record ids; got a {suffix} file"):
            remedy.write(tmp_path / f"v{suffix}")
        assert not list(tmp_path.iterdir())
        return
    back = load(remedy.write(tmp_path / f"v{suffix}"), kind="vectors")
    tolerance = 1e-6 if dtype == np.float32 or suffix in (".txt", ".bin") else 1e-15
    np.testing.assert_allclose(
        back.right, remedy.vectors(), atol=tolerance * np.abs(back.right).max()
    )
    if ids:
        assert (
            back.right_ids.tolist()
            == (
                IDS[ids].astype(str) if suffix in (".txt", ".bin") else IDS[ids]
            ).tolist()
        )
    pairs = ALL_PAIRS
    np.testing.assert_allclose(
        back.cosines("right", pairs),
        identified_cosines(model, role="right", pairs=pairs),
        atol=10 * tolerance,
    )


@pytest.mark.parametrize("kind", ["balanced", "left-whitened", "right-whitened"])
@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias"), ("right_bias",)])
@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_canonical_kinds_are_equivalent_models_in_a_file(tmp_path, kind, biases, link):
    draw = np.random.default_rng(2)
    sizes = {"left_bias": 50, "right_bias": 30}
    model = make(
        2,
        link=link,
        offset=0.5,
        left_ids=np.arange(50),
        **{b: draw.standard_normal(sizes[b]) for b in biases},
    )
    remedy = fix(model, kind)
    back = load(remedy.write(tmp_path / "m.npz"))
    exponent = {"balanced": 0.5, "left-whitened": 0.0, "right-whitened": 1.0}[kind]
    np.testing.assert_allclose(
        back.right, at_exponent(model, exponent).right, atol=1e-12
    )
    assert back.link == model.link
    assert back.left_ids.tolist() == list(range(50))
    np.testing.assert_allclose(back.predictions(), model.predictions(), atol=1e-11)
    np.testing.assert_allclose(remedy.to_model().scores(), back.scores(), atol=1e-12)
    if not biases and link == "identity":
        # Equal predictions leave the cosines as open as before; of one direction kept, they may be fixed.
        words = [
            audit(each, quick=True).answer.word
            for each in (model, back, fix(model, kind, dimensions=1).to_model())
        ]
        assert words == [
            "NO",
            "NO" if kind != "left-whitened" else "AS A CONVENTION",
            "YES",
        ]
        told = [fix(model, kind, dimensions=n).explain() for n in (None, 1)]
        assert ["turns no NO of an audit into a YES." in text for text in told] == [
            True,
            False,
        ]


@pytest.mark.parametrize("kind", EXPONENTS)
def test_a_canonical_kind_keeps_directions_that_predictions_hardly_see(
    kind,
):
    q = [
        np.linalg.qr(np.random.default_rng(n).normal(size=(n, 3)))[0] for n in (50, 40)
    ]
    model = FactorModel(q[0], q[1] * [1, 0.5, 1e-9])
    expected = at_exponent(model, EXPONENTS[kind])
    np.testing.assert_allclose(fix(model, kind).to_model().left, expected.left)
    assert expected.rank == 3


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


@pytest.mark.parametrize("suffix", KEPT)
@pytest.mark.parametrize("part", HEAD_PARTS)
def test_a_file_holds_the_whole_head_or_is_refused(tmp_path, suffix, part):
    weights = np.random.default_rng(4).standard_normal((9, 3)) + 1
    head = FactorModel(
        left=None,
        right=weights,
        link="softmax",
        roles=("input", "label"),
        **HEAD_PARTS[part],
    )
    remedy = fix(head, "centred")
    path = tmp_path / f"h{suffix}"
    if part not in KEPT[suffix]:
        with pytest.raises(
            InputError, match=rf"can record .*; got a {suffix} file; write \.npz"
        ) as refused:
            remedy.write(path)
        assert (".safetensors" in str(refused.value).split("; write")[1]) == (
            part in KEPT[".safetensors"]
        )
        assert not list(tmp_path.iterdir())
        return
    back = load(remedy.write(path))
    assert back.link == "softmax"
    np.testing.assert_allclose(back.right, weights - weights.mean(axis=0), atol=1e-14)
    for field in HEAD_PARTS[part]:
        np.testing.assert_array_equal(getattr(back, field), getattr(head, field))
    assert part == "bias" or back.right_bias is None
    # A head without the lengths of its rows predicts otherwise, so these are vectors.
    assert fix(head, "centred", unit=True).to_model().link == "identity"


def test_titles_are_left_out_of_a_file_that_has_room_for_ids_only_and_the_user_is_told(
    tmp_path,
):
    titled, path = (
        make(1, right_ids=IDS["integers"], right_names=IDS["text"]),
        tmp_path / "v.faiss",
    )
    remedy = fix(titled, "prediction")
    assert load(remedy.write(path)).right_ids.tolist() == IDS["integers"].tolist()
    assert remedy.lost_fields(path).endswith(
        "A .faiss file has ids and no titles: join them by id, as --items does."
    )
    assert remedy.lost_fields("v.parquet") == ""
    # Without ids, or where the caller asks for the whole model, nothing stands in for the titles.
    for save_it in (
        fix(titled.replace(right_ids=None), "prediction").write,
        partial(save, titled.replace(left=None)),
    ):
        with pytest.raises(InputError, match=r"can record titles; got a \.faiss file"):
            save_it(tmp_path / "w.faiss")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
@pytest.mark.parametrize(
    "link",
    [Softmax(soft_cap=3.0), Softmax(unit_rows=True), Softmax(), "cosine", "sigmoid"],
)
def test_a_link_in_a_file_keeps_its_parameters(tmp_path, suffix, link):
    model = FactorModel(left=None, right=np.eye(3), link=link)
    save(model, tmp_path / f"h{suffix}")
    assert load(tmp_path / f"h{suffix}").link == model.link
    assert (
        load(tmp_path / f"h{suffix}", kind="vectors").right.tolist()
        == np.eye(3).tolist()
    )


@pytest.mark.parametrize(
    "link", [Softmax(soft_cap=3.0), "sigmoid", Softmax(unit_rows=True)]
)
def test_a_head_whose_predictions_see_shifts_is_not_centred(link):
    """A shift adds one number to all logits of an input, which tanh, each sigmoid and the lengths of rows notice."""
    draw = np.random.default_rng(7)
    head = FactorModel(left=None, right=draw.standard_normal((9, 3)) + 1, link=link)
    with pytest.raises(EquivalenceError, match="centring must keep the predictions"):
        fix(head, "centred")
    whole = head.replace(left=draw.standard_normal((5, 3)))
    moved = whole.replace(right=whole.right - whole.right.mean(axis=0))
    assert np.abs(moved.predictions() - whole.predictions()).max() > 0.01
    # Inputs may be shifted, whatever the link, where the labels have a bias.
    biased = whole.replace(right_bias=np.arange(9.0), left=whole.left + 1)
    centred = fix(biased, "centred").to_model()
    assert np.abs(centred.left.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(centred.scores(), biased.scores(), atol=1e-12)


def test_the_reported_cost_of_fewer_dimensions_is_that_of_the_scores_and_cosines():
    model = make(6)
    remedy = fix(model, "left-whitened", dimensions=3)
    lost = model.scores() - remedy.to_model().scores()
    cost = remedy.reduction
    s = np.linalg.svd(model.scores(), compute_uv=False)
    assert cost.energy_lost == pytest.approx(
        np.sum(lost**2) / np.sum(model.scores() ** 2)
    )
    assert cost.largest_singular_value_lost == pytest.approx(s[3])
    assert np.abs(lost).max() <= s[3]
    pairs = ALL_PAIRS
    change = np.abs(
        remedy.to_model().cosines("right", pairs)
        - at_exponent(model, 0.0).cosines("right", pairs)
    )
    assert cost.max_cosine_error == pytest.approx(
        change.max()
    )  # 4,096 draws of 435 pairs leave none out
    assert cost.mean_cosine_error == pytest.approx(change.mean(), rel=0.1)
    assert "Keeping 3 of 5 directions drops" in remedy.explain()
    assert fix(model, "left-whitened", dimensions=5).reduction is None


def test_verify_refuses_a_file_with_one_number_changed(tmp_path):
    remedy = fix(make(9), "prediction")
    path = remedy.write(tmp_path / "v.npy")
    other = np.load(path)
    other[-1, 0] += 1e-6
    np.save(path, other)
    with pytest.raises(InputError, match="what was read back differs"):
        remedy.verify(path)


def test_a_table_of_vectors_holds_one_side_only(tmp_path):
    with pytest.raises(
        InputError, match="those of one side; got users and items; pass role"
    ):
        fix(make(0), "balanced").write(tmp_path / "v.parquet")
    assert (
        load(
            fix(make(0), "balanced", role="left").write(tmp_path / "v.parquet")
        ).n_right
        == 50
    )


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = fix(make(0)).write(tmp_path / "v.npz")
    with pytest.raises(InputError, match="does not exist yet"):
        fix(make(0)).write(path)
    fix(make(1)).write(path, force=True)
    np.testing.assert_array_equal(load(path).right, fix(make(1)).vectors())


def test_kinds_that_need_predictions_refuse_one_side_alone():
    with pytest.raises(
        InputError,
        match=r"prediction vectors must be read from the predictions.*add the users",
    ):
        fix(FactorModel.from_vectors([[1.0, 2.0]]), "prediction")
    with pytest.raises(
        InputError, match="balanced vectors must be read from the predictions"
    ):
        fix(FactorModel.from_vectors([[1.0, 2.0]]), "balanced")


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
        match="must hold the vectors that were written; what was read back differs",
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
            "unit must be left out for a model, .*; pass role",
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


def test_both_sides_are_made_unless_one_is_named_or_the_kind_is_of_one_side():
    assert (
        fix(MODEL).roles
        == fix(MODEL, role="item").roles
        == fix(HEAD, "centred").roles
        == ("right",)
    )
    assert fix(MODEL, "balanced").roles == ("left", "right")
    assert (
        fix(MODEL, "balanced", role="user").roles
        == fix(MODEL, role="left").roles
        == ("left",)
    )
    whole = HEAD.replace(left=MODEL.left)
    assert {fix(each, "folded", final_norm=RMS).roles for each in (HEAD, whole)} == {
        ("right",)
    }
    assert fix(whole, "centred").roles == ("left", "right")


def test_a_model_of_cosines_has_prediction_vectors_only(tmp_path):
    model = make(8, link="cosine")
    rows = load(fix(model, "prediction").write(tmp_path / "v.npz")).right
    pairs = ALL_PAIRS
    np.testing.assert_allclose(
        FactorModel.from_vectors(rows).cosines("right", pairs),
        identified_cosines(model, role="right", pairs=pairs),
        atol=1e-12,
    )
    with pytest.raises(EquivalenceError, match="use as_='prediction'"):
        fix(model, "balanced")


def test_rows_compared_with_each_other_stay_as_they_are(tmp_path):
    rows = np.random.default_rng(0).normal(size=(9, 3))
    model = FactorModel.from_vectors(rows, compared="cosine")
    fix(model, unit=True).write(tmp_path / "u.npz")
    written = load(tmp_path / "u.npz")
    np.testing.assert_allclose(
        written.right, rows / np.linalg.norm(rows, axis=1, keepdims=True)
    )
    assert written.compared == "cosine"
    named = model.replace(right_ids=list("abcdefghi"), right_names=list("rstuvwxyz"))
    frame = fix(named, unit=True).to_frame()
    assert (list(frame), *frame.iloc[1, :2]) == (["id", "title", "vector"], "b", "s")
    np.testing.assert_allclose(np.stack(frame["vector"]), written.right)
    dots = FactorModel.from_vectors(rows, compared="dot")
    np.testing.assert_array_equal(fix(dots).vectors(), rows)
    with pytest.raises(
        InputError, match="unit must be left out where rows are compared by dot"
    ):
        fix(dots, unit=True)
    for options in ({"as_": "centred"}, {"dimensions": 2}):
        with pytest.raises(InputError, match="must be one of two sides"):
            fix(model, **options)
