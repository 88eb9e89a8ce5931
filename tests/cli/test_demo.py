"""`embaudit demo` shows the argument of the Netflix paper for every size of the
simulation.
"""

from __future__ import annotations

import pytest

SMALL = ["--n-users=20", "--n-items=20"]
SIZES = [
    pytest.param(20, 20, "10, penalties 0.2 (Eq. 1) and 0.4472", id="small"),
    pytest.param(
        500,
        80,
        "40, penalties 20 (Eq. 1) and 4.472",
        marks=pytest.mark.slow,
        id="larger",
    ),
]


@pytest.mark.parametrize(("n_users", "n_items", "rank_and_penalties"), SIZES)
def test_both_objectives_are_audited_and_only_one_identifies_cosines(
    embaudit, n_users, n_items, rank_and_penalties
):
    result = embaudit("demo", "--n-users", n_users, "--n-items", n_items)
    assert result.code == 0
    assert result.out.startswith(
        f"Rank {rank_and_penalties} (Eq. 2): the paper's, scaled to this size.\n"
        "Simulated "
    )
    assert result.out.endswith(
        "next, for a model of your own:\n  embaudit audit MODEL --out report.html\n"
    )
    product, factors = result.out.split("Eq. 2: squared loss")
    assert "not identified" in without_frame(product)
    assert "chosen by the regulariser" in without_frame(factors)
    for part in (product, factors):
        assert f"FactorModel({n_users} users × {n_items} items, " in part
        assert "item-item cosines (" in part
        for gauge in ("balanced", "8 random rescalings", "8 random linear maps"):
            assert gauge in part


def without_frame(text):
    """Join the words of a text that is wrapped inside of a frame."""
    return " ".join(text.replace("│", " ").split())


def test_the_seed_decides_the_simulation(embaudit):
    default = embaudit("demo", *SMALL).out
    assert embaudit("demo", *SMALL, "--rng=0").out == default
    assert embaudit("demo", *SMALL, "--rng=3").out != default
