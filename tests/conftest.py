"""Fixtures every test may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"

settings.register_profile("embaudit", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("embaudit")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a function that finds a real input, or skips the test where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"the real input {name} is not beside this checkout")
        return path

    return find
