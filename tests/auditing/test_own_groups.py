"""A gauge group written elsewhere is audited, recorded and shown by its own name."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from embaudit.auditing import audit
from embaudit.errors import EquivalenceError
from embaudit.gauges import Diagonal, Gauge, GaugeGroup, GeneralLinear
from embaudit.model import Equivalence, FactorModel
from embaudit.report.terminal import print_audit


class UpperShear(GaugeGroup):
    """Ones on the diagonal and anything above it."""

    preserves = Equivalence.SCORES
    fixes_cosines = False
    is_group = True

    def __init__(self, rank):
        self.rank = rank

    def sample(self, *, rng=None):
        above = np.triu(
            np.random.default_rng(rng).standard_normal((self.rank, self.rank)), 1
        )
        return Gauge.linear(np.eye(self.rank) + 0.3 * above)

    def contains(self, gauge):
        return gauge.rank == self.rank and np.allclose(
            np.tril(gauge.left), np.eye(self.rank)
        )

    def includes(self, other):
        return isinstance(other, UpperShear)


class Titled(UpperShear):
    kind = "shear"
    title = "shears along the axes"


class Mistaken(UpperShear):
    """Claims more than it keeps."""

    def sample(self, *, rng=None):
        return Gauge.translation(
            self.rank, right=np.random.default_rng(rng).standard_normal(self.rank)
        )


@pytest.fixture
def model():
    draw = np.random.default_rng(0)
    return FactorModel.from_user_item(
        draw.standard_normal((40, 5)), draw.standard_normal((30, 5))
    )


@pytest.mark.parametrize(
    ("group", "kind", "title"),
    [
        (UpperShear, "upper shear", "random upper shear gauges"),
        (Titled, "shear", "shears along the axes"),
    ],
)
def test_an_own_group_is_audited_and_named_everywhere(model, group, kind, title):
    result = audit(model, groups=[group(5), "linear"], n_gauges=3)
    assert result.predictions_hold
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["group"]["kinds"] == [kind, "linear", "worst"]
    names = [f"{kind} {i}" for i in (1, 2, 3)]
    assert [record["gauge"] for record in found["drift"]][:3] == names
    assert all(record["mean_abs"] > 0.01 for record in found["movement"])
    assert set(result.to_frame()["gauge"]) >= set(names)
    assert f"3 {title}" in result.report()
    assert f"3 {title}" in result._repr_html_()
    console = Console(file=io.StringIO(), width=140)
    print_audit(result, console)
    assert f"3 {title}" in console.file.getvalue()


def test_an_own_group_is_not_averaged_with_those_it_derives_from(model):
    made = audit(
        model, groups=[UpperShear(5), Titled(5)], n_gauges=1
    ).evidence.equivalents
    assert len({one.title for one in made if one.kind != "worst"}) == 2


def test_gauges_of_several_condition_numbers_have_the_largest_named(model):
    for budgets, told in (
        ((3.0, 1.5), "of κ up to 3 move"),
        ((1.5, 1.5), "of κ = 1.5 move"),
    ):
        groups = [
            Diagonal(5, max_condition=budgets[0]),
            GeneralLinear(5, max_condition=budgets[1]),
        ]
        assert told in audit(model, groups=groups, n_gauges=1).explain()


def test_an_own_group_that_changes_predictions_is_refused(model):
    with pytest.raises(EquivalenceError, match="must preserve its scores"):
        audit(model, groups=[Mistaken(5)], n_gauges=1)
