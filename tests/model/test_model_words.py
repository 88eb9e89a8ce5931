"""What models, links, drifts and objectives say of themselves, word for word, and their bounds to the digit."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model
from records import open_records

from embaudit.errors import InputError
from embaudit.model import drift as module
from embaudit.model.drift import Drift, Sample, drift, rounding_bound
from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel
from embaudit.model.ids import are_row_numbers, require_lengths, require_most, require_one_kind, without_ids
from embaudit.model.links import Link, Softmax
from embaudit.model.objectives import OBJECTIVES, require_agreement
from embaudit.model.pairs import Pairs
from embaudit.model.side import Side, as_titles
from embaudit.model.sizes import require_ordinary_size, shape_question

EPS = np.finfo(float).eps


def test_records_are_closed():
    assert open_records("model") == set()


# --- drift -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bound_is_its_formula(dtype):
    left, right = np.array([[3.0, 4.0], [60.0, 80.0]], dtype=dtype), np.array([[0.0, 2.0], [1.0, 0.0]], dtype=dtype)
    model = FactorModel(left, right, left_bias=[0.5, 99.0], right_bias=[-7.0, 1.0], offset=-3.0)
    after = FactorModel(left * 2, right * 3, left_bias=[1.5, 0.0], right_bias=[0.0, 0.25])
    storage = float(np.finfo(dtype).eps)
    # Row 0 alone: lengths 5 and 10, the longest items 2 and 6; biases 3 + 0.5 + 7 + 1.5 + 0.25.
    wanted = 4 * EPS * (2**1.5 * 7.0 * 10.0 + 12.25) + 4 * storage * 60.0
    assert rounding_bound(model, after, 7.0, np.array([0])) == pytest.approx(wanted, rel=1e-14)
    ranked = [one.replace(link="ranking") for one in (model, after)]
    assert rounding_bound(*ranked, 7.0, np.array([0])) == pytest.approx(2 * wanted, rel=1e-14)
    cosines = [FactorModel(one.left, one.right, link="cosine") for one in (model, after)]
    assert rounding_bound(*cosines, 7.0, np.array([0])) == pytest.approx(4 * (EPS * 2**1.5 * 7.0 + storage), rel=1e-14)
    unit = [one.replace(link=Softmax(unit_rows=True), left_bias=None) for one in (model, after)]
    wanted = 4 * EPS * (2**1.5 * 7.0 * 5.0 + 10.25) + 4 * storage * 10.0
    assert rounding_bound(*unit, 7.0, np.array([0])) == pytest.approx(2 * wanted, rel=1e-14)


def test_one_narrow_side_sets_the_precision_of_storage():
    model = FactorModel(np.eye(2), np.eye(2, dtype=np.float32))
    single = float(np.finfo(np.float32).eps)
    wanted = 4 * EPS * 2**1.5 + 4 * single
    assert rounding_bound(model, model, 1.0, np.arange(2)) == pytest.approx(wanted, rel=1e-14)


def test_a_drift_in_words_and_numbers():
    model = FactorModel([[1.0, 0.0], [0.0, 2.0]], [[4.0, 0.0]])
    found = drift(model, model.replace(left=[[1.5, 0.0], [0.0, 2.0]]), condition_number=1.0)
    record = found.to_dict()
    tolerance = record.pop("tolerance")
    assert tolerance == pytest.approx(4 * EPS * (2**1.5 * 8.0 + 8.0))
    assert record == {
        "level": "scores",
        "max_abs": 2.0,
        "max_rel": 0.5,
        "n_rows": 2,
        "exact": True,
        "n_columns": None,
        "ok": False,
    }
    assert found.explain() == (
        "Over all 2 left rows the predictions (scores) moved by at most 2.0e+00, more than rounding explains (2.7e-14)."
    )
    few = Drift(Equivalence.RANKINGS, 1e-9, 1e-9, 1e-9, 1, False, 3)
    assert few.ok
    assert few.explain() == (
        "Over 1 left row and 3 right rows the predictions (rankings) moved by at most 1.0e-09, which rounding explains "
        "(1.0e-09)."
    )
    nothing = FactorModel([[0.0]], [[0.0]])
    assert drift(nothing, nothing.replace(left_bias=[0.5]), condition_number=1.0).max_rel == 0.5


def test_a_sample_of_a_large_model(monkeypatch):
    model = random_model(0, n=20, p=15, k=2)
    whole = Sample.of(model, np.random.default_rng(0))
    assert (whole.model is model, whole.exact, whole.n_columns) == (True, True, None)
    monkeypatch.setattr(module, "MAX_SCORES", 15 * 7 + 14)
    some = Sample.of(model, np.random.default_rng(0))
    assert (some.model.n_left, some.model.n_right, some.exact, some.n_columns) == (7, 15, False, None)
    monkeypatch.setattr(module, "MANY", 14)
    monkeypatch.setattr(module, "COLUMNS", 5)
    few = Sample.of(model, np.random.default_rng(0))
    assert (few.model.n_left, few.model.n_right, few.exact, few.n_columns) == (20, 5, False, 5)
    found = few.drift(few.model, 1.0)
    assert (found.exact, found.n_columns, found.n_rows, found.max_abs) == (False, 5, 20, 0.0)
    monkeypatch.setattr(module, "MANY", 15)
    assert Sample.of(model, np.random.default_rng(0)).n_columns is None
    monkeypatch.setattr(module, "MAX_SCORES", 1)
    assert Sample.of(model, np.random.default_rng(0)).model.n_left == 1
    assert drift(model, model, condition_number=1.0).n_rows == 1


def test_samples_of_a_small_model_are_one_whose_scores_are_computed_once(monkeypatch):
    model = random_model(0, n=20, p=15, k=2)
    after = model.replace(left=2 * np.asarray(model.left))
    first, *others = Sample.several(model, 3, np.random.default_rng(0))
    assert Sample.several(model, 0, np.random.default_rng(0)) == []
    assert [one is first for one in others] == [True, True]
    assert first.drift(after, 1.0) == drift(model, after, condition_number=1.0)
    asked, scores = [], type(model).scores
    monkeypatch.setattr(type(model), "scores", lambda self, *rows: asked.append(self) or scores(self, *rows))
    first.drift(after, 1.0)
    assert asked == [after]
    with pytest.raises(InputError, match="condition_number must be a number above 0; got 0"):
        first.drift(after, 0.0)
    monkeypatch.setattr(module, "MAX_SCORES", 15 * 7)
    drawn = Sample.several(model, 3, np.random.default_rng(0))
    assert len({one.model.left.tobytes() for one in drawn}) == 3
    np.testing.assert_array_equal(drawn[0].model.left, Sample.of(model, np.random.default_rng(0)).model.left)


# --- links -------------------------------------------------------------------------------------------------------


def test_links_by_their_names_and_levels():
    told = {str(link): (link.level.title, link.predicts.title, link.noun, link.sensitivity) for link in Link}
    assert told == {
        "identity": ("scores", "scores", "scores", 1.0),
        "softmax": ("probabilities", "probabilities", "logits", 2.0),
        "sigmoid": ("scores", "scores", "logits", 1.0),
        "cosine": ("cosines", "cosines", "predicted cosines", 1.0),
        "ranking": ("rankings", "rankings", "scores", 2.0),
    }
    assert {str(link): (link.sees_biases, link.unit_sides) for link in Link} == {
        "identity": (True, ()),
        "softmax": (True, ()),
        "sigmoid": (True, ()),
        "cosine": (False, ("left", "right")),
        "ranking": (True, ()),
    }
    assert (Link.IDENTITY == "identity", Link.IDENTITY == "cosine", Link.IDENTITY == Link.COSINE) == (
        True,
        False,
        False,
    )
    assert Softmax(soft_cap=3.0) == Softmax(soft_cap=3.0) != Softmax()
    assert len({Link.SOFTMAX, Softmax(), Link.COSINE}) == 2
    guards = [Softmax(), Softmax(soft_cap=30.0), Softmax(unit_rows=True), Softmax(2.5, True)]
    assert [link.guard for link in guards] == [
        "",
        "a logit soft-cap of 30",
        "label rows of length 1",
        "a logit soft-cap of 2.5 and label rows of length 1",
    ]
    assert [link.folded is link for link in guards] == [False, True, True, True]
    assert guards[0].folded is Link.RANKING
    for bad in (0.0, -1.0, np.nan, "3"):
        with pytest.raises(InputError, match=r"soft_cap must be a positive number; got .*; None declares no cap"):
            Softmax(soft_cap=bad)


@pytest.mark.parametrize(
    ("link", "biases", "free", "centred"),
    [
        ("identity", (), (), ()),
        ("identity", ("left_bias",), ("right",), ("right",)),
        ("identity", ("right_bias",), ("left",), ("left",)),
        ("softmax", (), ("right",), ("left", "right")),
        ("ranking", ("right_bias",), ("left", "right"), ("left", "right")),
        ("cosine", ("left_bias", "right_bias"), (), ()),
        (Softmax(unit_rows=True), ("right_bias",), (), ()),
        (Softmax(soft_cap=3.0), (), (), ()),
        (Softmax(soft_cap=3.0), ("left_bias",), ("right",), ("right",)),
    ],
)
def test_shifts_that_stay_free(link, biases, free, centred):
    model = random_model(0, n=4, p=3, k=2, link=link, biases=biases)
    assert model.free_shifts == free
    assert model.link.centred(model) == centred


def test_predictions_of_capped_logits():
    scores = np.array([[100.0, -1.0, 0.5]])
    capped = 3 * np.tanh(scores / 3)
    wanted = np.exp(capped) / np.exp(capped).sum()
    np.testing.assert_allclose(Softmax(soft_cap=3.0).predict(scores), wanted, rtol=1e-14)
    assert Softmax(soft_cap=3.0).gap(scores, scores + np.array([[0.0, 0.0, 1.0]])) > 0.1
    np.testing.assert_allclose(Link.SIGMOID.predict(scores), 1 / (1 + np.exp(-scores)), rtol=1e-14)


# --- pairs, sides, sizes -----------------------------------------------------------------------------------------


def test_roles_by_what_people_call_them():
    names = {"left": "left users user user-user", "right": "right items item item-item", "cross": "cross user-item"}
    for pairs, called in names.items():
        assert {Pairs.of(name, ("user", "item")) for name in called.split()} == {Pairs(pairs)}
    for bad in ("item-user", "both", 3):
        with pytest.raises(InputError) as refused:
            Pairs.of(bad, ("user", "item"))
        assert str(refused.value) == (
            f'role must be one of "left" (user), "right" (item), "cross" (user-item); got {bad!r}.'
        )
    with pytest.raises(InputError):
        Pairs.of("word", ("word", "word"))
    assert Pairs.of("right", ("word", "word")) is Pairs.RIGHT
    with pytest.raises(InputError, match='role must be one of "left", "right", "cross"; got \'both\''):
        Pairs("both")
    with pytest.raises(InputError, match='role must be one of "left", "right"; got \'cross\''):
        Pairs.CROSS.side  # noqa: B018
    model = random_model(0, n=4, p=3, k=2)
    assert [Pairs(name).titled(model) for name in names] == ["user-user", "item-item", "user-item"]
    assert [Pairs(name).n_pairs(model) for name in names] == [6, 3, 12]
    assert [Pairs(name).shape(model) for name in names] == [(4, None), (3, None), (4, 3)]


def test_halves_of_letters_are_kept_as_escapes():
    names = ["\ud7ff", "\ud800", "\udfff", "\ue000", "a"]
    told = ["\ud7ff", "\\ud800", "\\udfff", "\ue000", "a"]
    assert Side(np.eye(5), "item", names=names).names.tolist() == told
    for name, text in zip(names, told, strict=True):
        assert Side(np.eye(1), "item", names=[name]).names.tolist() == [text]


def test_sides_keep_what_was_computed_where_rows_stay():
    side = Side([[3.0, 4.0], [0.0, 0.0]], "item", ids=["a", "b"], counts=[1, 2], bias=[0.5, 1.5])
    assert side.directed.tolist() == [0]
    assert side.median_length == 2.5
    renamed = side.replace(title="label")
    assert (renamed.title, "norms" in vars(renamed)) == ("label", True)
    moved = side.replace(rows=[[1.0, 0.0], [0.0, 2.0]])
    assert (moved.norms.tolist(), moved.ids.tolist(), moved.counts.tolist()) == ([1.0, 2.0], ["a", "b"], [1.0, 2.0])
    with pytest.raises(InputError, match=r"item bias must be a vector of 1 numbers; got shape \(2,\)"):
        side.replace(rows=[[1.0, 0.0]])
    taken = side.take(np.array([1]))
    assert (taken.ids.tolist(), taken.counts.tolist(), taken.bias.tolist(), taken.names) == (["b"], [2.0], [1.5], None)
    assert side.labels.tolist() == ["a", "b"]
    assert Side(np.eye(2), "item").labels.tolist() == [0, 1]
    assert side.replace(names=["x", "y"]).labels.tolist() == ["x", "y"]
    with pytest.raises(InputError, match="item counts must be numbers >= 0; got -1"):
        side.replace(counts=[0, -1])
    for bad in ("item", ("a",), ("a", 2), ("a", "b", "c")):
        with pytest.raises(InputError, match="roles must be two texts"):
            as_titles(bad)


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.float64, 1e-100, 1e100), (np.float32, 1e-12, 1e12)])
def test_factors_of_no_ordinary_length_are_refused(dtype, low, high):
    for scale, fits in ((low * 1.01, True), (low / 2, False), (high, True), (high * 2, False), (0.0, True)):
        model = FactorModel.from_user_item(np.ones((2, 1)), np.array([[scale], [0.0]], dtype=dtype))
        if fits:
            require_ordinary_size(model)
            continue
        with pytest.raises(InputError) as refused:
            require_ordinary_size(model)
        assert str(refused.value) == (
            f"the longest of the item factors must be between {low:g} and {high:g} long in {np.dtype(dtype)}; got "
            f"{scale:.2g}; multiply them by a constant, which changes no cosine."
        )


def test_a_wide_matrix_is_asked_about_and_others_are_not():
    assert shape_question(FactorModel.from_vectors(np.ones((2, 3)))) == (
        "This is read as 2 items of 3 numbers each. Did you mean 3 items? Then read it with --transpose right."
    )
    for model in (
        FactorModel.from_vectors(np.ones((3, 3))),
        FactorModel.from_softmax(np.ones((2, 3))),
        FactorModel.from_user_item(np.ones((2, 3)), np.ones((2, 3))),
    ):
        assert shape_question(model) is None


def test_ids_of_two_worlds_are_not_joined():
    assert [are_row_numbers(np.array(ids)) for ids in (["0", "1"], [0, 2], ["a"], [0])] == [True, False, False, True]
    names = ("the model", "movies.csv")
    require_one_kind(np.arange(3), np.arange(3), names, what="item ids")
    require_one_kind(np.array(["a"]), np.array(["b"]), names, what="item ids")
    require_one_kind(np.arange(3), np.array([5, 0, 1, 2]), names, what="item ids")
    for one, two in ((np.arange(3), np.array([5, 1])), (np.array([5, 1]), np.arange(3))):
        with pytest.raises(InputError) as refused:
            require_one_kind(one, two, names, what="item ids")
        numbered, named = names if len(one) == 3 else names[::-1]
        assert str(refused.value) == (
            f"item ids must be of one kind on both sides; got row numbers 0 to 2 in {numbered} and ids such as 5 in "
            f"{named}; give both the same ids, or join by the order of the rows with by_row (--by-row) if that is what "
            "they share."
        )
    require_most(5, 10, "items", "movies.csv", partial=False)
    with pytest.raises(InputError) as refused:
        require_most(4, 10, "items", "movies.csv", partial=False)
    assert str(refused.value) == (
        "at least half of the items must be found in movies.csv; got 4 of 10; check the ids, or go on with those that "
        "match with partial (--partial)."
    )
    require_lengths(3, 3, names, what="items")
    assert str(without_ids("item", "the model", "movies.csv", option="item_ids")) == (
        "item ids must be in the model, to find its rows in movies.csv; got none; add them with item_ids (--item-ids), "
        "or join by the order of the rows with by_row (--by-row) if that is what they share."
    )


# --- objectives --------------------------------------------------------------------------------------------------


def test_what_each_objective_minimises():
    assert {name: row.loss for name, row in OBJECTIVES.items()} == {
        "product": "squared loss with a penalty on the product of the factors (Netflix paper, Eq. 1; linear denoising)",
        "factors": (
            "a loss with the same weight decay on every row of a side, on both sides (Netflix paper, Eq. 2; ALS)"
        ),
        "factors-counted": (
            "a loss with weight decay at every interaction (ALS-WR, Spark's ALS, SGD with L2 at every sample)"
        ),
        "decoupled-decay": "a loss with decay apart from its gradient (AdamW)",
        "none": "a loss on the scores without regularisation, with dropout on the scores, or skip-gram",
        "softmax": "cross-entropy over learned inputs (a network's last layer) without weight decay",
        "softmax-decay": "cross-entropy over learned inputs with weight decay on both sides",
        "logistic": "cross-entropy over given inputs (logistic regression) without weight decay",
        "logistic-decay": "cross-entropy over given inputs (logistic regression) with weight decay on all labels",
        "cosine": "a loss on the cosines themselves (normalised two-tower model)",
        "prediction": "nothing: the vectors were made to hold the prediction cosines (`embaudit fix --as prediction`)",
    }
    assert {row.sides for row in OBJECTIVES.values()} == {1, 2}
    with pytest.raises(InputError) as refused:
        require_agreement("prediction", Link.IDENTITY, sides=2)
    assert str(refused.value) == (
        "objective must be one of product, factors, factors-counted, decoupled-decay, none for a model with identity "
        "link; got 'prediction'; it is for vectors of one side."
    )
    with pytest.raises(InputError, match=r"; choose link identity or ranking for it\.$"):
        require_agreement("product", Link.SOFTMAX, sides=2)
    require_agreement("prediction", Link.IDENTITY, sides=1)


def test_models_show_their_shapes():
    model = random_model(0, n=4, p=3, k=2, biases=("left_bias", "right_bias"), link="softmax")
    assert repr(model) == "FactorModel(4 users × 3 items, rank 2, softmax link, float64, user bias, item bias)"
    alone = FactorModel.from_vectors(np.ones((3, 2), dtype=np.float32))
    assert repr(alone) == "FactorModel(3 items, rank 2, identity link, float32, no users)"
    assert (alone.n_left, alone.sides, alone.left_bias) == (0, ("right",), None)
    with pytest.raises(InputError) as refused:
        alone.side("left")
    assert (
        str(refused.value) == "user factors must be at hand for this; got item factors only; load both sides together."
    )
    with pytest.raises(
        InputError, match="user bias must be given beside user factors; got no user factors; leave it out"
    ):
        alone.replace(left_bias=[1.0])
    with pytest.raises(TypeError, match="a model has no field height"):
        alone.replace(height=1)
    some = model.take(right=np.array([2]))
    assert (some.n_left, some.n_right, some.right_bias.tolist()) == (4, 1, [model.right_bias[2]])
    assert model.take(left=np.array([1, 3])).left_bias.tolist() == model.left_bias[[1, 3]].tolist()
