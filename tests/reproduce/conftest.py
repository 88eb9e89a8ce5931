"""The papers' figures, computed and drawn once for all tests of this folder."""

from __future__ import annotations

from functools import partial

import pytest
from models import TINY

from embaudit.reproduce import netflix, nielsen, simpson


@pytest.fixture(scope="session")
def makers():
    """Functions that make each figure, the Netflix one from little data."""
    return {
        "netflix": partial(netflix, size=TINY, n_seeds=2),
        "nielsen": nielsen,
        "simpson": simpson,
    }


@pytest.fixture(scope="session")
def figures(makers):
    """Each figure with its numbers."""
    return {name: make() for name, make in makers.items()}


@pytest.fixture(scope="session")
def saved(figures, tmp_path_factory):
    """The files of each figure, saved to a folder of its own."""
    folder = tmp_path_factory.mktemp("figures")
    return {name: figure.save(folder / name) for name, figure in figures.items()}


@pytest.fixture(scope="session")
def drawings(figures):
    """Every picture, drawn."""
    drawn = {name: figure.plot() for name, figure in figures.items()}
    drawn["remedies"] = figures["netflix"].plot_remedies()
    return drawn
