"""Drifts, links, pairs and sides: their bounds to the digit, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.errors import InputError
from embaudit.model.drift import Drift, drift, rounding_bound
from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import Link, Softmax
from embaudit.model.pairs import Pairs
from embaudit.model.side import Side
from embaudit.model.sizes import require_ordinary_size

EPS = np.finfo(float).eps


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


def test_what_no_model_holds_is_refused():
    alone = FactorModel.from_vectors(np.ones((3, 2), dtype=np.float32))
    assert repr(alone) == "FactorModel(3 items, 2 dimensions, identity link, float32, no users)"
    with pytest.raises(
        InputError, match="user bias must be given beside user factors; got no user factors; leave it out"
    ):
        alone.replace(left_bias=[1.0])
    with pytest.raises(TypeError, match="a model has no field height"):
        alone.replace(height=1)
