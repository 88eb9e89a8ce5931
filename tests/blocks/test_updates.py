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
