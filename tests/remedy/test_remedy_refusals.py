"""What cannot be mended is refused in whole sentences, and what fewer dimensions cost is counted on the pairs drawn."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.canonical import canonical_form
from embaudit.canonical.span import span_basis
from embaudit.errors import EquivalenceError, InputError
from embaudit.linalg.pairs import draw_pairs, pair_cosines
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

MODEL = random_model(n=9, p=8, k=3)
SHIFTED = MODEL.replace(left_bias=np.zeros(9))
HEAD = FactorModel.from_softmax(MODEL.right)
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])
SEEN = "; the predictions see 3 of the 3 dimensions."
CENTRED = "centring must keep the predictions; got a model with {} link whose predictions change when {} are shifted, "
CENTRED += 'since no free bias absorbs it; use as "prediction".'


@pytest.mark.parametrize(
    ("model", "as_", "options", "said"),
    [
        (
            MODEL, "whitened", {}, "as must be one of prediction, balanced, left-whitened, right-whitened, centred, "
            "folded, folded-centred; got 'whitened'.",
        ),
        (MODEL, "prediction", {"dimensions": 4}, f"dimensions must be an integer from 1 to 3; got 4{SEEN}"),
        (MODEL, "balanced", {"dimensions": 0}, f"dimensions must be an integer from 1 to 3; got 0{SEEN}"),
        (
            MODEL, "balanced", {"unit": True}, "unit must be left out for a model, whose lengths its predictions need; "
            "got True; pass role.",
        ),
        (
            MODEL, "centred", {"dimensions": 2},
            "dimensions must be left out for centred vectors, which keep them all; got 2.",
        ),
        (MODEL, "centred", {}, CENTRED.format("identity", "users or items")),
        (SHIFTED, "centred", {"role": "left"}, CENTRED.format("identity", "users")),
        (MODEL.replace(link="sigmoid", left=None), "centred", {}, CENTRED.format("sigmoid", "items")),
        (
            MODEL.replace(link="cosine"), "balanced", {},
            'a model that predicts cosines must keep its lengths and angles; got as "balanced"; use as "prediction".',
        ),
        (
            HEAD, "folded", {}, "folded vectors must be those of a head whose final norm is known; got one of which no "
            "norm is; name the tensor of its gains (--norm), or use as centred.",
        ),
        (
            HEAD, "folded-centred", {"final_norm": RMS, "dimensions": 2},
            "folded-centred vectors must be all dimensions of the labels; got dimensions; leave it out.",
        ),
        (
            HEAD, "folded", {"final_norm": RMS, "role": "left"},
            "folded vectors must be all dimensions of the labels; got the inputs; leave it out.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_mended_is_refused_in_a_sentence(model, as_, options, said):
    with pytest.raises(InputError) as refused:
        fix(model, as_, **options)
    assert str(refused.value) == said
    assert isinstance(refused.value, EquivalenceError) is (said.startswith(("centring", "a model that")))


def test_a_form_of_another_model_and_rows_of_no_ordinary_length_are_refused():
    form = canonical_form(MODEL)
    known, own = fix(MODEL, "balanced", form=form), fix(MODEL, "balanced")
    for role in ("left", "right"):
        np.testing.assert_allclose(known.vectors(role), own.vectors(role), atol=1e-12)
    with pytest.raises(InputError, match="form"):
        fix(random_model(1, n=9, p=8, k=3), "balanced", form=form)
    with pytest.raises(InputError, match="long"):
        fix(MODEL.replace(right=1e200 * MODEL.right), "centred", role="right")


@pytest.mark.parametrize(("as_", "role"), [("prediction", "right"), ("prediction", "left"), ("balanced", None)])
def test_fewer_dimensions_cost_what_drawn_pairs_lose(as_, role):
    rows = MODEL.right.copy()
    rows[3] = 0  # no cosine of this row is lost
    model = MODEL.replace(right=rows)
    for seed in (0, 5):
        whole, few = fix(model, as_, role=role), fix(model, as_, role=role, dimensions=2, rng=seed)
        side = role or "right"
        x = whole.vectors(side)
        np.testing.assert_allclose(few.vectors(side), x[:, :2], atol=1e-12)
        pairs = draw_pairs(len(x), 4_096, rng=np.random.default_rng(seed))
        lost = np.abs(pair_cosines(x[:, :2], x[:, :2], pairs) - pair_cosines(x, x, pairs))
        lost = lost[np.isfinite(lost)]
        s = np.linalg.svd(model.scores(), compute_uv=False)
        cost = few.reduction
        assert (cost.dimensions, cost.rank) == (2, 3)
        assert cost.mean_cosine_error == pytest.approx(lost.mean(), abs=1e-12)
        assert cost.max_cosine_error == pytest.approx(lost.max(), abs=1e-12)
        assert cost.energy_lost == pytest.approx(s[2] ** 2 / (s**2).sum())
        assert cost.largest_singular_value_lost == pytest.approx(s[2])


def test_each_side_is_made_where_it_is_named_or_where_it_is_the_only_one():
    assert fix(MODEL).roles == fix(MODEL, role="item").roles == ("right",)
    assert fix(MODEL, "balanced").roles == ("left", "right")
    assert fix(MODEL, "balanced", role="user").roles == fix(MODEL, role="left").roles == ("left",)
    assert fix(HEAD, "centred").roles == fix(HEAD, "folded", final_norm=RMS).roles == ("right",)
    whole = HEAD.replace(left=MODEL.left)
    assert fix(whole, "folded", final_norm=RMS).roles == ("right",)
    assert fix(whole, "centred").roles == ("left", "right")


def test_vectors_alone_are_centred_and_so_is_each_side_that_may_be_shifted():
    alone = fix(FactorModel.from_vectors(MODEL.right), "centred")
    np.testing.assert_allclose(alone.vectors(), MODEL.right - MODEL.right.mean(axis=0), atol=1e-12)
    assert (alone.roles, alone.biases, alone.unit) == (("right",), {}, False)
    both = fix(SHIFTED, "centred")  # items may be shifted, since a bias of the users takes that up
    np.testing.assert_allclose(both.vectors("right"), MODEL.right - MODEL.right.mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(both.vectors("left"), MODEL.left)
    np.testing.assert_allclose(both.to_model().scores(), SHIFTED.scores(), atol=1e-12)
    unit = fix(SHIFTED, "centred", role="right", unit=True)
    np.testing.assert_allclose(np.linalg.norm(unit.vectors(), axis=1), 1.0)
    assert unit.unit


@pytest.mark.parametrize(("as_", "role"), [("prediction", "left"), ("prediction", "right"), ("balanced", None)])
def test_of_very_many_columns_the_vectors_are_made_in_those_that_rows_span(as_, role, monkeypatch):
    model = random_model(n=3, p=4, k=12).replace(left_names=list("abc"), right_counts=np.arange(4))
    plain = fix(model, as_, role=role)
    monkeypatch.setitem(span_basis.__kwdefaults__, "most", 5)
    assert span_basis(model) is not None
    found = fix(model, as_, role=role)
    assert found.model is model
    assert found.columns == plain.columns == 3
    for side in found.roles:
        one, other = found.vectors(side), plain.vectors(side)
        assert one.shape == (len(model.factors(side)), 3)
        np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-12)
    if role is None:
        np.testing.assert_allclose(found.to_model().scores(), model.scores(), atol=1e-12)


def test_an_equal_model_keeps_what_is_known_of_its_entities():
    known = {
        "left_ids": np.arange(9) + 5, "right_ids": np.arange(8) + 50, "left_names": [f"u{i}" for i in range(9)],
        "right_names": [f"i{i}" for i in range(8)], "left_counts": np.arange(9), "right_counts": np.arange(8) + 3,
        "left_aside": np.arange(9) == 2, "right_aside": np.arange(8) > 5, "left_bias": np.arange(9.0), "offset": 0.5,
    }  # fmt: skip
    model = MODEL.replace(**known)
    made = fix(model, "balanced").to_model()
    for name, value in known.items():
        if name not in ("left_bias", "offset"):
            np.testing.assert_array_equal(getattr(made, name), value)
    assert (made.roles, made.link) == (model.roles, model.link)
    np.testing.assert_allclose(made.scores(), model.scores(), atol=1e-12)
    table = fix(model, role="left").to_model()
    assert table.left is None
    np.testing.assert_array_equal(table.right_ids, known["left_ids"])
    np.testing.assert_array_equal(table.right_names, known["left_names"])
    np.testing.assert_array_equal(table.right_aside, known["left_aside"])
    assert (table.roles, table.objective) == (("item", "user"), "prediction")


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
def test_what_a_file_cannot_say_is_said(suffix):
    assert fix(MODEL).lost_fields(f"vectors{suffix}") == (
        f"A {suffix} file cannot say that these are prediction vectors: audit it with --objective prediction."
    )
    assert fix(MODEL).lost_fields("vectors.npz") == ""
    assert fix(MODEL, "balanced", role="right").lost_fields(f"vectors{suffix}") == ""
    assert fix(MODEL, dimensions=2).lost_fields(f"vectors{suffix}") == ""
