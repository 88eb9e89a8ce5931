"""What results say in words, of models of every kind: `told.txt` holds each branch of it for people to read."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from models import random_model
from snapshots import assert_section

import embaudit as ea
from embaudit.canonical import at_exponent, pinned_test
from embaudit.gauges import Gauge
from embaudit.model import Softmax
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import KINDS

TOLD = Path(__file__).with_name("told.txt")
NUMBER = re.compile(r"(?<![\w#])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
PAIR = random_model(k=4, scales=([4, 2, 1, 0.5], 1), means=(0.5, 0.3))
HEAD = random_model(n=None, k=4, means=(0, 1.0), link="softmax")
ALONE = ea.FactorModel.from_vectors(PAIR.right)
UNSEEN = PAIR.replace(left=PAIR.left * [1, 1, 1, 0])
LABELS = ["a", "b", "c"] * 10
MODELS = {
    "a pair": PAIR,
    **{f"at exponent {exponent}": at_exponent(PAIR, exponent) for exponent in (0, 0.02, 0.3, 0.5, 0.7, 1)},
    "nearly balanced": at_exponent(PAIR, 0.51),
    "fitted on the product": PAIR.replace(objective="product"),
    "fitted on the factors": PAIR.replace(objective="factors"),
    "with counts": PAIR.replace(left_counts=np.arange(40) + 1.0, right_counts=np.arange(30) + 1.0),
    "with biases": PAIR.replace(left_bias=np.arange(40.0), right_bias=np.arange(30.0)),
    "with a constant column": PAIR.replace(left=np.c_[PAIR.left[:, :3], np.ones(40)]),
    "with a constant mixture": PAIR.replace(left=np.c_[PAIR.left[:, :3], 1 + PAIR.left[:, 0]]),
    "one direction": random_model(k=1),
    "with a dimension that is not seen": UNSEEN,
    "with two that are not": PAIR.replace(left=PAIR.left * [1, 1, 0, 0]),
    "with copies": PAIR.replace(right=np.repeat(PAIR.right[:10], 3, axis=0)),
    "with a row of zeros": PAIR.replace(right=np.r_[PAIR.right[:29], np.zeros((1, 4))]),
    "with rows of zeros": PAIR.replace(right=np.r_[PAIR.right[:9], np.zeros((21, 4))], left_bias=np.zeros(40)),
    "a head of zeros": HEAD.replace(right=np.r_[HEAD.right[:9], np.zeros((21, 4))]),
    "equal rows": ea.FactorModel.from_vectors(np.ones((5, 2))),
    "cosines": PAIR.replace(link="cosine"),
    "cosines of few rows": random_model(n=5, p=6, k=4, link="cosine"),
    "cosines of an orthogonal pair": ea.FactorModel(left=np.eye(4), right=np.eye(4), link="cosine"),
    "rankings": PAIR.replace(link="ranking"),
    "probabilities": PAIR.replace(link="sigmoid"),
    "a head": HEAD,
    "a head of labels of length 1": HEAD.replace(link=Softmax(unit_rows=True)),
    "a head with a soft cap": HEAD.replace(link=Softmax(soft_cap=3.0)),
    "a head behind a norm": HEAD.replace(final_norm=FinalNorm("rms", [1.0, 2.0, 3.0, 0.5])),
    "a head with inputs": PAIR.replace(link="softmax", right_bias=np.arange(30) / 9),
    "vectors": ALONE,
    "vectors of length 1": ea.FactorModel.from_vectors(PAIR.right / np.linalg.norm(PAIR.right, axis=1, keepdims=True)),
    **{f"vectors compared by {by}": ea.FactorModel.from_vectors(PAIR.right, compared=by) for by in ("cosine", "dot")},
    "vectors on a line": ea.FactorModel.from_vectors([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]),
}  # fmt: skip
ROWS = {
    "position": ea.position, "pinned": pinned_test, "levels": ea.levels, "twins": ea.twins,
    "twins of users": partial(ea.twins, role="left"),
    **{f"fix as {as_}": partial(ea.fix, as_=as_) for as_ in (None, *KINDS)},
    "fix users, cut and of length 1": partial(ea.fix, role="left", dimensions=2, unit=True),
    "evaluate": partial(ea.evaluate_similarities, truth=LABELS, n_neighbours=3),
    "range": lambda model: ea.range_summary(model, n_pairs=20, rng=0)[0],
    "certified": partial(ea.certified_neighbours, n=2),
    "attack": partial(ea.worst_gauge, group=None, n_pairs=9, n_starts=1, n_steps=1, rng=0),
}  # fmt: skip


def other(scale=0.3, **fields):
    draw = np.random.default_rng(5)
    return PAIR.replace(
        right=PAIR.right + scale * draw.standard_normal((30, 4)), **fields
    )


TURN = Gauge.linear(
    np.diag([3.0, 1.0, 1.0, 0.5])
    @ np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
)
IDS = [f"i{row}" for row in range(30)]
CHANGES = {
    "nothing": (PAIR, PAIR),
    "a gauge": (PAIR, TURN.act(PAIR)),
    "a rotation": (PAIR, Gauge.linear(np.linalg.qr(TURN.right)[0]).act(PAIR)),
    "a diagonal gauge": (PAIR, Gauge.diagonal([3.0, 1.0, 1.0, 0.5]).act(PAIR)),
    "a scale": (PAIR, PAIR.replace(left=PAIR.left / 3, right=PAIR.right * 3)),
    "a gauge and more": (PAIR, TURN.act(other(0.1))),
    "a little": (PAIR, other(1e-4)),
    "much": (PAIR, other(3.0)),
    "biases": (PAIR, PAIR.replace(right_bias=np.arange(30.0))),
    "the link": (PAIR, PAIR.replace(link="sigmoid")),
    "rounding": (PAIR, PAIR.replace(left=PAIR.left.astype("f2") * 1.0, right=PAIR.right.astype("f2") * 1.0)),
    "what no prediction sees": (UNSEEN, UNSEEN.replace(right=UNSEEN.right + np.eye(4)[3])),
    "rows in another order": (PAIR.replace(right_ids=IDS), PAIR.replace(right_ids=IDS[::-1])),
    "two rows": (PAIR.replace(right_ids=IDS), PAIR.replace(right_ids=[*IDS[:2][::-1], *IDS[2:]])),
    "fewer rows": (PAIR.replace(right_ids=IDS), TURN.act(PAIR).replace(right_ids=IDS).take(right=np.arange(20))),
    "vectors": (ALONE, ea.FactorModel.from_vectors(PAIR.right @ TURN.right)),
    "vectors of five rows": tuple(ea.FactorModel.from_vectors(one.right[:5]) for one in (PAIR, other())),
    "vectors compared": tuple(ea.FactorModel.from_vectors(one.right, compared="cosine") for one in (PAIR, other())),
    "rankings": (PAIR.replace(link="ranking"), other(link="ranking")),
    "lengths of users of rankings": (PAIR.replace(link="ranking"), PAIR.replace(link="ranking", left=3 * PAIR.left)),
    "cosines": (PAIR.replace(link="cosine"), other(link="cosine")),
    "heads": (HEAD, HEAD.replace(right=HEAD.right + 1)),
    "heads far apart": (HEAD, HEAD.replace(right=9 * HEAD.right[::-1])),
    "zeros": tuple(one.replace(left=np.zeros((40, 4))) for one in (PAIR, other())),
    "heads behind norms": tuple(HEAD.replace(final_norm=FinalNorm("rms", gain)) for gain in ([1.0] * 4, [1, 2, 3, 4])),
}  # fmt: skip


def words(call):
    """Return what a result says, or why there is none, with `#` for each number."""
    try:
        said = call().explain()
    except ea.InputError as refused:
        said = f"refused: {refused}"
    return NUMBER.sub("#", said)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_told_of_models_of_every_kind(name):
    """Models of which the same is said stand in one line."""
    told = {}
    for title, model in MODELS.items():
        group = ea.gauges.Diagonal(model.rank, max_condition=2.0)
        call = ROWS[name] if name != "attack" else partial(ROWS[name], group=group)
        told.setdefault(words(partial(call, model)), []).append(title)
    assert_section(
        TOLD,
        name,
        "".join(f"{', '.join(models)}:\n  {said}\n" for said, models in told.items()),
    )
