"""Each field and each word of an attack."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.attacks import Attack, worst_gauge
from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import FactorModel

TABLE = np.array([[0, 1], [1, 2], [2, 0]])


def attack(objective="movement", group=None, role="right", achieved=0.25, bound=0.75, **options):
    group = GeneralLinear(2, max_condition=3.0) if group is None else group
    return Attack(Gauge.identity(2), objective, role, group, achieved, bound, 3, TABLE, **options)


def test_the_record_of_an_attack():
    assert attack().to_dict() == {
        "role": "right", "objective": "movement", "max_condition": 3.0, "achieved": 0.25, "bound": 0.75, "gap": 0.5,
        "n_items": 3,
    }  # fmt: skip
    lists = attack("neighbours", role="left")
    assert lists.to_dict() == {
        "role": "left", "objective": "neighbours", "max_condition": 3.0, "achieved": 0.25, "bound": 0.75, "gap": 0.5,
        "n_items": 3,
    }  # fmt: skip
    assert attack("neighbours", Orthogonal(2)).to_dict()["max_condition"] is None
    assert repr(attack()) == "Attack(movement of right: 0.25 achieved, at most 0.75)"
    assert repr(lists) == "Attack(neighbours of left: 0.25 achieved, at most 0.75)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bound": 0.741}, "κ = 3 was sought for 3 right-right cosines. It moves them by 0.25 on average. Proven: by "
         "at most 0.75."),
        ({"role": "left"}, "κ = 3 was sought for 3 left-left cosines. It moves them by 0.25 on average. Proven: by at "
         "most 0.75."),
        ({"role": "cross", "group": Diagonal(2)}, "κ = inf was sought for 3 left-right cosines. It moves them by 0.25 "
         "on average. Proven: by at most 0.75."),
        ({"objective": "neighbours"}, "κ = 3 was sought for 3 right-right lists. It drives out 25 % of their entries. "
         "Proven: at most 75 %."),
        ({"objective": "neighbours", "bound": 1.0}, "κ = 3 was sought for 3 right-right lists. It drives out 25 % of "
         "their entries. More is not ruled out."),
        ({"objective": "neighbours", "bound": 1.0, "group": GeneralLinear(2, max_condition=1.0)}, "κ = 1 was sought "
         "for 3 right-right lists. It drives out 25 % of their entries. Proven: at most 100 %, because of ties."),
        ({"objective": "neighbours", "bound": 0.0, "achieved": 0.0, "group": GeneralLinear(2, max_condition=1.0)},
         "κ = 1 was sought for 3 right-right lists. It drives out 0 % of their entries. Proven: at most 0 %."),
        ({"group": Affine(2, max_condition=2.0, max_shift=0.5)}, "κ = 2 and shifts of rights up to 0.5 was sought for "
         "3 right-right cosines. It moves them by 0.25 on average. Proven: by at most 0.75."),
        ({"group": Affine(2, side="left", max_condition=2.0, max_shift=0.5), "typical_row": 0.25}, "κ = 2 and shifts "
         "of lefts up to 2 typical rows was sought for 3 right-right cosines. It moves them by 0.25 on average. "
         "Proven: by at most 0.75."),
    ],
)  # fmt: skip
def test_an_attack_in_words(given, said):
    found = attack(**given)
    assert found.explain() == f"The worst {found.group.kind} gauge found within {said}"


def test_pairs_are_called_by_what_people_call_the_sides():
    assert attack(role="cross").explain(("word", "topic")).split(". ")[0] == (
        "The worst linear gauge found within κ = 3 was sought for 3 word-topic cosines"
    )
    shifted = attack(group=Affine(2, side="left", max_condition=2.0, max_shift=0.5), role="left")
    assert "shifts of words up to 0.5 was sought for 3 word-word cosines" in shifted.explain(("word", "topic"))


def test_where_no_row_has_a_list_nothing_can_be_driven_out_of_any():
    model, group = FactorModel.from_vectors(np.zeros((4, 2))), GeneralLinear(2, max_condition=2.0)
    found = worst_gauge(model, group, objective="neighbours", n=1, rng=0)
    assert (found.achieved, found.bound, found.n_items, len(found.table)) == (0.0, 0.0, 0, 0)


def test_what_has_no_budget_is_told_what_is_missing():
    for group in (Orthogonal(2), Diagonal(2), GeneralLinear(2), Affine(2, max_condition=2.0), Affine(2, max_shift=2.0)):
        with pytest.raises(InputError) as refused:
            worst_gauge(FactorModel.from_softmax(np.eye(2)), group)
        assert str(refused.value) == (
            "group must be Diagonal or GeneralLinear with a max_condition, or Affine with that and a max_shift; got "
            f"{group}; an attack needs a budget to spend."
        )
