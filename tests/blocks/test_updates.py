"""The network and the update rules of the notebook on updates and gradients, checked by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from embaudit.blocks import block_cosines

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "05_updates_and_gradients.ipynb"


@pytest.fixture(scope="module")
def network() -> dict[str, Any]:
    """Run the cells that define the network, without training anything."""
    if not NOTEBOOK.exists():
        pytest.skip("the notebooks are not beside these tests")
    names: dict[str, Any] = {}
    with threadpool_limits(1):
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            if "network" in cell.metadata.get("tags", []):
                exec(cell.source, names)
        yield names


def test_the_gradient_is_the_slope_of_the_loss(network: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    layers = network["initial"](rng)
    layers = {name: values + 0.1 * rng.standard_normal(values.shape) for name, values in layers.items()}
    x, labels = network["X"][:40], network["LABELS"][:40]
    _, gradient = network["loss_and_gradient"](layers, x, labels)
    for name, values in layers.items():
        direction = rng.standard_normal(values.shape)
        ends = [
            network["loss_and_gradient"]({**layers, name: values + h * direction}, x, labels)[0] for h in (1e-6, -1e-6)
        ]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx((gradient[name] * direction).sum(), rel=1e-4, abs=1e-7)


def test_rules_are_what_they_are_called(network: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    g, h = rng.standard_normal((2, 6, 4))
    turned = network["muon"](g, {}, 1)
    np.testing.assert_allclose(turned.T @ turned, np.eye(4), atol=1e-12)
    assert (turned * g).sum() == pytest.approx(np.linalg.svd(g, compute_uv=False).sum())
    memory: dict[str, Any] = {}
    network["momentum"](g, memory, 1)
    np.testing.assert_allclose(network["momentum"](h, memory, 2), 0.9 * g + h)
    np.testing.assert_allclose(network["adam"](g, {}, 1), np.sign(g), atol=1e-6)
    np.testing.assert_array_equal(network["sign"](g, {}, 1), np.sign(g))
    assert network["sgd"](g, {}, 1) is g


def test_local_cosines_of_sign_and_muon_have_closed_forms(network: dict[str, Any]) -> None:
    """Sign: ‖g‖₁/(√n‖g‖₂); first Muon step: nuclear norm/(√k‖G‖)."""
    layers = network["initial"](np.random.default_rng(3))
    _, gradient = network["loss_and_gradient"](layers, network["X"][:128], network["LABELS"][:128])
    dense = {name: g for name, g in gradient.items() if (g != 0).all() or g.ndim == 2}
    by_sign = block_cosines({name: network["sign"](g, {}, 1) for name, g in dense.items()}, dense)
    for cosine, g in zip(by_sign.cosines, dense.values(), strict=True):
        expected = np.abs(g).sum() / np.sqrt(np.count_nonzero(g)) / np.linalg.norm(g)
        assert cosine == pytest.approx(expected)
    matrices = {name: g for name, g in gradient.items() if g.ndim == 2}
    by_muon = block_cosines({name: network["muon"](g, {}, 1) for name, g in matrices.items()}, matrices)
    for cosine, g in zip(by_muon.cosines, matrices.values(), strict=True):
        values = np.linalg.svd(g, compute_uv=False)
        assert cosine == pytest.approx(values.sum() / np.sqrt(len(values)) / np.linalg.norm(g))
