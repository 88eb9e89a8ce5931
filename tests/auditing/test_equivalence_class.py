"""The description of the set of equivalent models, for every link and pattern of
biases.
"""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.auditing.equivalence_class import Freedom, equivalence_class_of
from embaudit.auditing.finding import Kind
from embaudit.gauges import Gauge
from embaudit.model import FactorModel, softmax_link

BOTH = ("right", "left")
PLANE = random_model(n=7, p=6, k=2)
LINE = random_model(n=7, p=6, k=1)
CAPPED, UNIT = softmax_link(soft_cap=3.0), softmax_link(unit_rows=True)
SHIFTED = (
    "One vector added to every {0} row changes no {1}, and can make two {0}s opposite."
)
LINEAR = (
    "A linear change of the axes changes no {} and, if large enough, can give two "
    "rows that are not parallel any cosine "
    "between -1 and 1."
)
SIGNS = (
    "In one dimension {} cosines are signs, "
    "and no model of one dimension with the same predictions turns one."
)
PROVEN, UNDECIDED = Kind.PROVEN, Kind.UNDECIDED


def biased(model, *sides):
    return model.replace(
        **{f"{side}_bias": np.zeros(len(model.factors(side))) for side in sides}
    )


def test_what_a_free_bias_lets_move():
    user, item = SHIFTED.format("user", "score"), SHIFTED.format("item", "score")
    inputs = equivalence_class_of(
        biased(PLANE, "right").replace(link=UNIT), ["left"]
    ).freedom["left"]
    assert inputs == Freedom(True, PROVEN, SHIFTED.format("user", "probability"))
    for sides, right, left in (
        (("left",), item, None),
        (("right",), None, user),
        (("left", "right"), item, user),
    ):
        for model in (PLANE, LINE):
            found = equivalence_class_of(biased(model, *sides), BOTH).freedom
            for role, text in (("right", right), ("left", left)):
                if text is not None:
                    assert found[role] == Freedom(True, PROVEN, text)
                elif model is PLANE:
                    assert found[role] == Freedom(True, PROVEN, LINEAR.format("score"))
                else:
                    titles = {"right": "item-item", "left": "user-user"}[role]
                    assert found[role] == Freedom(False, PROVEN, SIGNS.format(titles))
    assert (
        equivalence_class_of(biased(LINE, "left", "right"), ["cross"])
        .freedom["cross"]
        .because
        == item
    )
    assert (
        equivalence_class_of(biased(LINE, "right"), ["cross"]).freedom["cross"].because
        == user
    )


@pytest.mark.parametrize("turned", [False, True])
def test_what_no_prediction_sees_of_a_side_lies_outside_the_rows_of_the_other(turned):
    p, q = (
        random_model(n=5, p=7, k=32).left,
        random_model(n=5, p=7, k=32).right * np.geomspace(1, 1e-5, 32),
    )
    model = FactorModel.from_arrays(*((q, p) if turned else (p, q)))
    sides = model.left, model.right
    shares = [
        np.linalg.lstsq(y.T, x.T)[1] / (x**2).sum(axis=1)
        for x, y in (sides, sides[::-1])
    ]
    found = equivalence_class_of(model, BOTH).outside
    assert [found["left"], found["right"]] == pytest.approx(
        [share.max() for share in shares]
    )
    gauged = Gauge.diagonal(np.geomspace(1, 1e9, 5)).act(random_model(n=9, p=8, k=5))
    assert equivalence_class_of(gauged, BOTH).outside == {}


@pytest.mark.parametrize(
    ("link", "sides", "scope"),
    [
        ("softmax", (), "every model of rank 2 with the same predictions"),
        ("ranking", (), "linear maps and shifts of all items, among others"),
        (
            "ranking",
            BOTH,
            "linear maps and shifts of all items and shifts of all users, among others",
        ),
        (CAPPED, (), "linear maps, among others"),
        (CAPPED, ("right",), "linear maps and shifts of all users, among others"),
    ],
)
def test_the_set_is_called_whole_only_where_it_is(link, sides, scope):
    found = equivalence_class_of(biased(PLANE, *sides).replace(link=link), BOTH)
    assert (str(found.scope), found.scope.whole) == (scope, scope.startswith("every"))


@pytest.mark.parametrize(
    ("n_items", "sample"),
    [
        # 200 · 199 / 2 = 19,900 pairs are fewer than 20,000; of 201 items there are
        # 20,100.
        (200, "all 19,900 item-item pairs"),
        (201, "20,000 of 20,100 item-item pairs"),
        # 2,000 · 1,999 / 2 pairs. With one item more, pairs are drawn among 2,000
        # items.
        (2_000, "20,000 of 2 million item-item pairs"),
        (2_001, "20,000 of 2 million item-item pairs among 2,000 drawn rows"),
    ],
)
def test_the_movement_under_another_temperature_names_its_sample(n_items, sample):
    draw = np.random.default_rng(0)
    items, users = draw.standard_normal((n_items, 4)), draw.standard_normal((30, 4))
    towers = FactorModel.from_arrays(users, items, link="cosine", objective="clip")
    freedom = equivalence_class_of(towers, BOTH).freedom
    assert freedom["right"].because.endswith(f" on average, over {sample}.")
    assert freedom["left"].because.endswith("over all 435 user-user pairs.")


def test_a_row_of_zeros_is_not_counted_in_the_sample():
    items = np.vstack([np.eye(4), np.zeros(4)])
    towers = FactorModel.from_arrays(np.eye(4), items, link="cosine", objective="clip")
    because = equivalence_class_of(towers, ["right"]).freedom["right"].because
    assert because.endswith("over all 6 item-item pairs.")


def test_the_sample_is_one_of_all_rows_where_a_model_is_some_of_them():
    """20 of 40 items have 190 of 780 pairs."""
    rows = np.random.default_rng(0).standard_normal((40, 4))
    towers = FactorModel.from_arrays(rows, rows, link="cosine", objective="clip")
    some = towers.take(right=np.arange(20))
    found = equivalence_class_of(some, ["right"], uncut=towers)
    sample = "over 190 of 780 item-item pairs among 20 drawn rows."
    assert found.freedom["right"].because.endswith(sample)


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_rows_compared_with_each_other_are_proven_to_keep_their_cosines(compared):
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((40, 4)) * [4.0, 2.0, 1.0, 0.5] + 0.3
    table = FactorModel.from_vectors(rows, compared=compared)
    found = equivalence_class_of(table, ["right"])
    freedom = found.freedom["right"]
    assert (freedom.moves, str(freedom.kind)) == (False, "proven")
    models = "models that compare these rows with each other in the same way"
    assert found.scope.models == models
    assert models in freedom.because
    assert found.scope.whole
