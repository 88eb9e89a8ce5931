"""The papers' figures, computed and drawn once for all tests that look at them."""

from __future__ import annotations

from functools import partial

import pytest
from models import TINY

from embaudit.reproduce import netflix, nielsen, simpson


@pytest.fixture(scope="session")
def makers():
    """How each figure is made, the Netflix one of little data."""
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
    """The folder that each figure was saved to, and the files in it."""
    folder = tmp_path_factory.mktemp("figures")
    return {name: figure.save(folder / name) for name, figure in figures.items()}


@pytest.fixture(scope="session")
def drawings(figures):
    """Every picture, drawn."""
    drawn = {name: figure.plot().figure_ for name, figure in figures.items()}
    return drawn | {"remedies": figures["netflix"].plot_remedies().figure_}
