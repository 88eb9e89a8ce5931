"""What an audit measures, on what, and whose neighbours it shows."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.auditing import evidence as module
from embaudit.auditing.effort import Effort
from embaudit.auditing.evidence import PROBES, default_roles, gather, require_roles, with_probes
from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.model.one_table import with_objective
from embaudit.movements.bias_columns import beside_bias

pytestmark = pytest.mark.usefixtures("without_attacks")
SMALL = random_model(n=9, p=8, k=3)
ROWS = np.random.default_rng(1).standard_normal((12, 3))


def with_rows(n_left, n_right, **fields):
    sides = [None if n is None else np.eye(4)[:, :3][[0] * n + [3] * (4 - n)] for n in (n_left, n_right)]
    return FactorModel(*sides, **fields)


@pytest.mark.parametrize(
    ("n_left", "n_right", "roles"),
    [
        (2, 2, ("right", "left", "cross")), (1, 2, ("right", "cross")), (2, 1, ("left", "cross")), (0, 2, ("right",)),
        (2, 0, ("left",)), (None, 2, ("right",)),
    ],
)  # fmt: skip
def test_roles_are_those_that_have_two_rows_with_a_direction(n_left, n_right, roles):
    assert default_roles(with_rows(n_left, n_right)) == roles


def test_cosines_that_are_predicted_are_not_audited():
    assert default_roles(SMALL.replace(link="cosine")) == ("right", "left")
    with pytest.raises(InputError, match="a model to audit must be of two rows or more that are not zero on one side"):
        default_roles(with_rows(1, 1))
    assert require_roles(SMALL, ["left", "right"]) == ("left", "right")
    with pytest.raises(InputError, match="role must be one of right, left; got 'cross'"):
        require_roles(SMALL.replace(link="cosine"), ["cross"])


def test_a_side_that_is_missing_is_drawn_at_the_scale_of_the_other():
    assert with_probes(SMALL, np.random.default_rng(0)) is SMALL
    alone = FactorModel.from_vectors(100 * ROWS).replace(objective="product")
    made = with_probes(alone, np.random.default_rng(0))
    size = np.sqrt(np.mean((100 * ROWS) ** 2)) * np.sqrt(3)
    assert PROBES == 256
    np.testing.assert_allclose(made.left, np.random.default_rng(0).standard_normal((256, 3)) / size)
    assert made.objective is None
    nothing = with_probes(FactorModel.from_vectors(np.zeros((3, 2))), np.random.default_rng(0))
    np.testing.assert_allclose(nothing.left, np.random.default_rng(0).standard_normal((256, 2)))


def test_what_is_predicted_is_compared_on_the_pairs_and_lists_of_all_other_models():
    found = gather(SMALL, effort=Effort(n_gauges=1, n_pairs=20, n_lists=7), n_neighbours=2)
    visited = next(record for _, record in found.visits("right"))
    beside = found.predicted.of("right")
    assert (beside.n_pairs, beside.top_n, beside.n_lists) == (20, 2, 7)
    assert beside.pairs is visited.pairs
    assert beside.lists is visited.lists


def test_neighbours_are_laid_beside_those_with_the_bias_and_a_constant_where_both_sides_have_one():
    model = SMALL.replace(right_bias=np.arange(float(SMALL.n_right)))
    for one, both in ((model, False), (model.replace(left_bias=np.zeros(SMALL.n_left)), True)):
        found = gather(
            one, groups=["orthogonal"], roles=["right"], effort=Effort(n_gauges=1), n_neighbours=2, show=["3", "6"]
        )
        assert found.beside_bias == beside_bias(one.right_side, np.array([3, 6]), 2, both=both)
    assert (
        gather(model, groups=["orthogonal"], roles=["left"], about="left", effort=Effort(n_gauges=1)).beside_bias == ()
    )
    assert gather(SMALL, groups=["orthogonal"], roles=["right"], effort=Effort(n_gauges=1)).beside_bias == ()


def test_neighbours_are_shown_where_lists_changed_most():
    found = gather(SMALL, effort=Effort(n_gauges=3), n_neighbours=2, show=["3", "5"])
    assert found.chosen
    assert [example.name for example in found.examples] == ["3", "5"]
    assert all(len(example.before) == len(example.after) == 2 for example in found.examples)
    overlaps = {
        made.name: records[0].top_n_overlap for made, records in zip(found.equivalents, found.movement, strict=True)
    }
    assert overlaps[found.shown_in] == min(overlaps.values())
    twin = next(made for made in found.equivalents if made.name == found.shown_in).of(SMALL)
    for example in found.examples:
        for rows, listed in ((SMALL.right, example.before), (twin.right, example.after)):
            unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            cosines = unit @ unit[int(example.name)]
            best = [str(row) for row in np.argsort(-cosines) if str(row) != example.name][:2]
            assert [name for name, _ in listed] == best


def test_the_longest_twentieth_is_shown():
    lengths = np.arange(1.0, 201.0)
    model = FactorModel.from_vectors(np.column_stack([lengths, np.zeros(200)]))
    rows = [module._long_rows(model, "right", 3, np.random.default_rng(seed)) for seed in range(30)]
    assert {len(found) for found in rows} == {3}
    assert set(np.concatenate(rows)) == set(range(190, 200))
    short = FactorModel.from_vectors(np.column_stack([lengths[:30], np.zeros(30)]))
    assert module._long_rows(short, "right", 3, np.random.default_rng(0)).tolist() == [27, 28, 29]
    zeros = FactorModel.from_vectors(np.array([[1.0, 0], [0, 0], [0.5, 0], [0, 0]]))
    assert module._long_rows(zeros, "right", 3, np.random.default_rng(0)).tolist() == [0, 2]


def test_one_side_alone_has_no_position_and_is_checked_on_probes():
    found = gather(FactorModel.from_vectors(ROWS), effort=Effort(n_gauges=1))
    assert found.position is None
    assert {record.n_rows for record in found.drift} == {256}
    assert found.model.left is None


def test_what_was_asked_about_is_shown_and_answered():
    names = [f"user {i}" for i in range(9)]
    found = gather(SMALL.replace(left_names=names), effort=Effort(n_gauges=1), about="left", show=["user 7"])
    assert (found.role, found.about) == ("left", "left")
    assert [example.name for example in found.examples] == ["user 7"]
    assert [example.name for example in found.predicted.examples] == ["user 7"]
    assert [record.role for record in found.predicted.movement] == ["right", "left"]
    assert {len(example.before) for example in (*found.examples, *found.predicted.examples)} == {5}
    for options, chosen in (({"roles": ["left"], "about": "right"}, "left"), ({"about": "none"}, "right, left, cross")):
        with pytest.raises(InputError, match=f"role must be one of {chosen}; got '{options['about']}'"):
            gather(SMALL, **options)


def test_a_shown_row_is_no_twin_where_that_can_be():
    lengths = np.array([9.0, 8.0, 7.0, 6.0, 1.0, 1.0, 1.0])
    x = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 2], [2, 1]]) * lengths[:, None]
    draw = np.random.default_rng(0)
    assert module._long_rows(FactorModel.from_vectors(x), "right", 3, draw).tolist() == [4, 5, 6]
    assert module._long_rows(FactorModel.from_vectors(x), "right", 9, draw).tolist() == [4, 5, 6]
    assert module._long_rows(FactorModel.from_vectors(x[:4]), "right", 3, draw).tolist() == [0, 2]


def test_a_declared_objective_is_that_of_the_model_and_cosines_are_compared_where_it_trained_them():
    vectors, head = FactorModel.from_vectors(ROWS), FactorModel.from_softmax(ROWS)
    assert with_objective(vectors) is vectors
    declared = with_objective(vectors, "cosine")
    assert (declared.objective, declared.link) == ("cosine", "cosine")
    assert with_objective(declared) is declared
    assert with_objective(declared, "cosine") is declared
    made = [(one.objective, one.link) for one in (with_objective(SMALL, "product"), with_objective(head, "softmax"))]
    assert made == [("product", "identity"), ("softmax", "softmax")]
