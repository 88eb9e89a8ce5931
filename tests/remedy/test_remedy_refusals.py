"""What cannot be mended is refused in whole sentences, and what fewer dimensions cost is counted on the pairs drawn."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.errors import EquivalenceError, InputError
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

MODEL = random_model(n=9, p=8, k=3)
SHIFTED = MODEL.replace(left_bias=np.zeros(9))
HEAD = FactorModel.from_softmax(MODEL.right)
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])
SEEN = "; the predictions see 3 of the 3 dimensions."
CENTRED = "centring must keep the predictions; got a model with {} link whose predictions change when {} are shifted, "
CENTRED += "since no free bias absorbs it; use as_='prediction'."


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
            "a model that predicts cosines must keep its lengths and angles; got as 'balanced'; use as_='prediction'.",
        ),
        (
            HEAD, "folded", {}, "folded vectors must be those of a head whose final norm is known; got one of which no "
            "norm is; read it with norm, or use as_='centred'.",
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


def test_each_side_is_made_where_it_is_named_or_where_it_is_the_only_one():
    assert fix(MODEL).roles == fix(MODEL, role="item").roles == ("right",)
    assert fix(MODEL, "balanced").roles == ("left", "right")
    assert fix(MODEL, "balanced", role="user").roles == fix(MODEL, role="left").roles == ("left",)
    assert fix(HEAD, "centred").roles == fix(HEAD, "folded", final_norm=RMS).roles == ("right",)
    whole = HEAD.replace(left=MODEL.left)
    assert fix(whole, "folded", final_norm=RMS).roles == ("right",)
    assert fix(whole, "centred").roles == ("left", "right")
