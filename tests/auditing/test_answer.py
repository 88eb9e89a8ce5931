"""The answer: one word for every set of claims, why in a sentence, and nothing that no claim holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.auditing.answer import Answer, Word, answer
from embaudit.auditing.claims import Claim, Kind, Scope
from embaudit.auditing.predicted import by_prediction
from embaudit.canonical import identified_cosines
from embaudit.errors import InputError
from embaudit.kernels.pairs import all_pairs
from embaudit.model import FactorModel
from embaudit.movements.movement import MovementProbe

PART, WHOLE = Scope("linear maps"), Scope("every model of rank 2 with the same predictions", whole=True)


def claim(name, text="It is so.", value=None, kind=Kind.PROVEN, scope=PART, witness=None):
    return Claim(name, kind, "item-item cosines", scope, text, value, "", witness)


def answered(*claims, role="right"):
    return answer([claim(one) if isinstance(one, str) else one for one in claims], role)


FREE, ALONE = claim("free:right"), claim("one-side")
LISTED, LISTED_LITTLE = (claim("listed:right", "Some change.", value) for value in (0.05, 0.0499))
DIFFERS, DIFFERS_LITTLE = (
    claim("differs:right", "They differ.", value, scope=Scope("the cosines of what is predicted"))
    for value in (0.05, 0.0499)
)
ORIGIN, ORIGIN_QUIET = (claim("origin", value=value, witness=object()) for value in (0.05, 0.0499))
NEAR = "here they nearly are the cosines of what is predicted, but an equal model could hold others"


@pytest.mark.parametrize(
    ("claims", "word", "because", "cited"),
    [
        (
            ["predictions", "left-open"],
            "CANNOT BE SAID",
            "the check failed, as models that should predict the same do not",
            ("predictions",),
        ),
        (
            ["undecided:right", "chosen"],
            "CANNOT BE SAID",
            "nobody knows whether an equal model has other item-item cosines",
            ("undecided:right",),
        ),
        (
            [claim("pinned:right", scope=WHOLE), "left-open"],
            "YES",
            "every model with the same predictions has the same item-item cosines",
            ("pinned:right",),
        ),
        (["pinned:right"], "YES", "item-item cosines are the same in all linear maps", ("pinned:right",)),
        ([FREE, "made", "one-side"], "YES", "it is so", ("made",)),
        (
            [FREE, claim("agrees:right", scope=Scope("the cosines of what is predicted")), "chosen"],
            "AS A CONVENTION",
            "here they are the cosines of what is predicted, but an equal model could hold others",
            ("agrees:right", "free:right"),
        ),
        (
            [FREE, claim("outside:right", value=2.0), "chosen"],
            "NO",
            "they count 2 dimensions that no prediction sees",
            ("outside:right", "free:right"),
        ),
        (
            [FREE, ORIGIN, claim("origin-decides", value=0.05), "chosen"],
            "NO",
            "subtracting the average row from every row changes 5 % of nearest labels, but no probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, replace(ORIGIN, subject="cosines of 50 labels asked"), claim("origin-decides", value=0.05)],
            "NO",
            "subtracting the average row from every row changes 5 % of the nearest labels asked for, but no "
            "probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, ORIGIN_QUIET, claim("origin-decides", value=0.3), "chosen"],
            "NO",
            "subtracting the average row from every row moves them by 0.30 on average and changes no probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, claim("origin", witness=object()), claim("origin-decides", value=0.3)],
            "NO",
            "subtracting the average row from every row moves them by 0.30 on average and changes no probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, ORIGIN, claim("origin-decides", value=0.05), "twins:right"],
            "NO",
            "subtracting the average row from every row changes 5 % of nearest labels, but no probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, ORIGIN_QUIET, claim("origin-once", value=0.05), claim("origin-decides", value=0.3)],
            "NO",
            "subtracting the average row from every row changes 5 % of nearest labels, with copies counted once, but "
            "no probability",
            ("origin-decides", "origin", "origin-once", "free:right"),
        ),
        (
            [FREE, ORIGIN, claim("origin-once", value=0.0499), claim("origin-decides", value=0.3)],
            "NO",
            "subtracting the average row from every row moves them by 0.30 on average and changes no probability",
            ("origin-decides", "origin", "free:right"),
        ),
        (
            [FREE, "norm", claim("norm-decides", value=0.126), "chosen"],
            "NO",
            "folding in the final norm changes 13 % of the nearest labels asked for, but no probability",
            ("norm-decides", "norm", "free:right"),
        ),
        (
            [FREE, "norm", "norm-decides"],
            "NO",
            "folding in the final norm changes 0 % of the nearest labels asked for, but no probability",
            ("norm-decides", "norm", "free:right"),
        ),
        ([FREE, "listed:right"], "NO", "equal models may have others", ("free:right",)),
        ([FREE, "chosen"], "AS A CONVENTION", "it is so. Use them within this model only", ("chosen", "free:right")),
        (
            [FREE, "chosen", LISTED],
            "AS A CONVENTION",
            "it is so. Use them within this model only. Some change",
            ("chosen", "listed:right", "free:right"),
        ),
        (
            [FREE, LISTED, DIFFERS, "left-open"],
            "NO",
            "models that predict exactly the same have other cosines. Some change",
            ("listed:right", "free:right"),
        ),
        (
            [FREE, LISTED_LITTLE, DIFFERS],
            "NO",
            "models that predict exactly the same have other cosines. They differ",
            ("differs:right", "free:right"),
        ),
        (
            [claim("free:right", kind=Kind.SHOWN, value=0.123), "one-side"],
            "NO",
            "an equal model at hand moves them by up to 0.12",
            ("free:right",),
        ),
        ([FREE, LISTED_LITTLE, DIFFERS_LITTLE, "left-open"], "NO", "it is so", ("left-open", "free:right")),
        (
            [FREE, LISTED_LITTLE, DIFFERS_LITTLE],
            "AS A CONVENTION",
            NEAR,
            ("differs:right", "listed:right", "free:right"),
        ),
        ([FREE, DIFFERS_LITTLE], "AS A CONVENTION", NEAR, ("differs:right", "free:right")),
        (
            [FREE, ALONE],
            "CANNOT BE SAID",
            "without the side they are multiplied with, nothing tells these vectors from equal ones with other cosines",
            ("one-side", "free:right"),
        ),
        ([FREE, ALONE, "trained"], "CANNOT BE SAID", "it is so", ("trained", "one-side", "free:right")),
        (
            [FREE, ALONE, ORIGIN_QUIET, "stretched"],
            "CANNOT BE SAID",
            "centring changes little, but rescaled heads predict the same, and without inputs nothing tells them apart",
            ("origin", "one-side", "free:right"),
        ),
        (
            [FREE, ALONE, ORIGIN_QUIET],
            "CANNOT BE SAID",
            "centring changes little, but shifted heads predict the same, and without inputs nothing tells them apart",
            ("origin", "one-side", "free:right"),
        ),
        (
            [FREE, ALONE, "origin"],
            "CANNOT BE SAID",
            "rescaled heads predict the same, and without inputs nothing tells them apart",
            ("origin", "one-side", "free:right"),
        ),
        (
            [FREE, claim("moved:right", value=0.256)],
            "NO",
            "an equal model moves them by 0.26 on average",
            ("moved:right", "free:right"),
        ),
        (
            [FREE, claim("stretched", value=0.25)],
            "NO",
            "an equal model moves them by 0.25 on average",
            ("stretched", "free:right"),
        ),
        ([FREE], "NO", "equal models may have others", ("free:right",)),
    ],
)
def test_claims_make_the_answer(claims, word, because, cited):
    found = answered(*claims)
    assert found == Answer(Word(word), because, cited, "" if "predictions" in cited else "item-item cosines")
    assert str(found) == f"{word}: {because}."


def test_the_question_names_the_cosines_and_the_record_is_plain():
    found = answered("pinned:right")
    assert found.question == "Can these item-item cosines be read as likeness?"
    assert found.to_dict() == {
        "word": "YES",
        "because": "item-item cosines are the same in all linear maps",
        "cosines": "item-item cosines",
        "claims": ["pinned:right"],
    }


@pytest.fixture(scope="module")
def skewed():
    """A model whose users weigh its directions unequally, and of whose items one lies where no user looks."""
    model = random_model(3, n=30, p=12, k=4, scales=([4, 2, 1, 0], 1))
    rows = model.right.copy()
    rows[5] = [0, 0, 0, 1]
    return model.replace(right=rows)


def test_what_is_predicted_is_compared_pair_by_pair_and_list_by_list(skewed):
    rows = np.array([0, 5])
    found = by_prediction(
        MovementProbe(skewed, ["left", "right", "cross"], n_neighbours=3), side="right", rows=rows, n=3
    )
    seen = np.delete(np.arange(12), 5)
    pairs = seen[all_pairs(11)]
    moved = np.abs(identified_cosines(skewed, role="right", pairs=pairs) - skewed.cosines("right", pairs))
    assert found.of("right").mean_abs == pytest.approx(moved.mean())
    assert found.of("right").max_abs == pytest.approx(moved.max())
    assert found.of("right").n_zero == 1
    assert found.of("cross") is None
    assert [record.role for record in found.movement] == ["left", "right"]
    (example,) = found.examples  # a row without predictions has no neighbours by them
    scores = skewed.scores()[:, seen]
    cosines = scores.T @ scores / np.outer(*2 * [np.linalg.norm(scores, axis=0)])
    nearest = seen[np.argsort(-cosines[0])][1:4]
    assert [name for name, _ in example.after] == [str(row) for row in nearest]
    assert found.to_dict()["movement"][1]["n_pairs"] == 55


def test_where_rows_are_left_out_as_many_are_drawn_anew_from_the_same_seed(monkeypatch, skewed):
    sizes, row = {"n_pairs": 20, "n_neighbours": 2, "n_lists": 5}, {"side": "right", "rows": np.array([0]), "n": 1}
    first, again, other = (
        by_prediction(MovementProbe(skewed, ["right"], **sizes, rng=seed), **row).of("right") for seed in (3, 3, 4)
    )
    assert first.mean_abs == again.mean_abs != other.mean_abs
    assert (first.n_pairs, first.top_n, first.n_lists) == (20, 2, 5)
    assert 5 not in first.pairs
    assert 5 not in first.lists.rows


def test_where_nothing_is_predicted_nothing_is_compared():
    row = {"side": "right", "rows": np.array([0]), "n": 1}
    assert by_prediction(MovementProbe(FactorModel.from_vectors(np.eye(3)), ["right"]), **row) is None
    alike = FactorModel.from_user_item([[1.0], [2.0]], [[2.0], [2.0]], user_bias=[0.0, 0.0])
    assert by_prediction(MovementProbe(alike, ["right"]), **row) is None


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_answers_for_the_cosines_asked_about(skewed):
    names = {"left_names": [f"user {i}" for i in range(30)]}
    model = skewed.replace(right=skewed.right + 0.1, **names)
    found = audit(model, role="user", show=["user 7"], n_gauges=1)
    assert found.answer.cosines == "user-user cosines"
    assert found.evidence.predicted.examples[0].name == "user 7"
    assert found.evidence.examples[0].name == "user 7"
    assert found.to_dict()["answer"] == found.answer.to_dict()
    assert found.explain().splitlines()[0] == str(found.answer)
    with pytest.raises(InputError, match=r"role must be one of right; got 'left'\."):
        audit(skewed, roles=["right"], role="left")
