"""`--compared` and `--objective cosine` on every command that reads a model."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    items, users = draw.standard_normal((40, 4)), draw.standard_normal((30, 4))
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (users, items)]
    np.save("rows.npy", items)
    np.savez("towers.npz", user_factors=unit[0], item_factors=unit[1])
    return items


def test_gauges_of_compared_rows_are_rotations(rows, embaudit):
    refused = embaudit("gauge", "rows.npy", "--compared", "dot", "--out", "g.npz")
    assert refused.code == 2
    assert "a family of gauges that keeps the cosines of this model" in refused.err
    assert (
        embaudit(
            "gauge",
            "rows.npy",
            "--compared",
            "dot",
            "--group",
            "orthogonal",
            "--out",
            "g.npz",
        ).code
        == 0
    )
    turned = ea.load("g.npz")
    assert turned.compared == "dot"
    np.testing.assert_allclose(turned.scores(), rows @ rows.T, atol=1e-12)
    assert (
        embaudit("compare", "rows.npy", "g.npz", "--compared", "dot", "--by-row").code
        == 0
    )


def test_fix_takes_the_objective(rows, embaudit):
    refused = embaudit("fix", "towers.npz", "--as", "balanced", "--out", "f.npz")
    assert refused.code == 2
    assert "--objective cosine" in refused.err
    assert (
        embaudit("fix", "towers.npz", "--objective", "cosine", "--out", "f.npz").code
        == 0
    )
    assert (
        embaudit(
            "fix",
            "towers.npz",
            "--objective",
            "factors",
            "--as",
            "balanced",
            "--out",
            "b.npz",
        ).code
        == 0
    )
    assert ea.load("b.npz").link.name == "identity"


@pytest.mark.parametrize("link", ["identity", "cosine", "sigmoid"])
@pytest.mark.parametrize(
    "command",
    ["audit rows.npy", "fix rows.npy --out f.npy", "compare rows.npy rows.npy"],
)
def test_a_link_next_to_compared_rows_is_refused(rows, embaudit, command, link):
    """An audit would answer YES, although the link contradicts the comparison."""
    result = embaudit(*command.split(), "--compared", "cosine", "--link", link)
    assert result.code == 2
    assert "--link must be omitted if --compared is given" in result.err
    with pytest.raises(ea.InputError, match="link must be omitted if compared is"):
        ea.audit("rows.npy", compared="cosine", link=link)
