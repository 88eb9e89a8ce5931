"""`audit --show LABEL` finds labels whatever their capitals, if only one is meant."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def show(embaudit, tmp_path):
    """Return a function that audits a head of four labels and shows one of them."""
    np.savez(
        tmp_path / "head.npz",
        W=np.random.default_rng(3).standard_normal((4, 3)),
        b=np.zeros(4),
        labels=["e", "E", "apple", "Apfel"],
    )

    def run(label):
        few = ["--n-gauges=1", "--n-starts=0", "--n-neighbours=1"]
        return embaudit("audit", "head.npz", "--show", label, *few)

    return run


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("e", "e"), ("E", "E"), ("APPLE", "apple"), ("apf", "Apfel")],
)
def test_capitals_tell_labels_apart_only_if_they_have_to(show, wanted, found):
    assert f"Nearest to {found}:" in show(wanted).out


def test_a_beginning_of_two_labels_is_refused_with_both(show):
    refused = show("ap")
    assert refused.code == 2
    assert "show must be one id or title" in refused.err
    assert "'apple', 'Apfel'" in refused.err
